"""Two PDF files to read: as small as the format allows, each a real one with pages, a font and compressed text."""

from __future__ import annotations

import zlib
from pathlib import Path

WARRANTY = (
    "Warranty of the kettle K2\nThe warranty lasts 24 months from the day of purchase.\nIt does not cover limescale.",
    "How to claim\nSend the kettle with its receipt to the service desk.\nA repair takes ten working days.",
)
LEASE = ("Lease of flat 12\nThe rent is 980 a month, due on the third.\nNotice is three months.",)


def make_samples(folder: Path) -> None:
    """Write the samples into a folder, and one beside it that nobody is to read."""
    (folder / "home").mkdir(parents=True, exist_ok=True)
    (folder / "kettle.pdf").write_bytes(pdf(WARRANTY))
    (folder / "home" / "lease.pdf").write_bytes(pdf(LEASE))
    (folder.parent / "diary.pdf").write_bytes(pdf(("Nobody is to read this.",)))


def pdf(pages: tuple[str, ...]) -> bytes:
    """A PDF file with these texts on its pages, in Helvetica.

    Source: ISO 32000-1, 7.5 (file structure) and 9.4 (text objects).
    """
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {len(pages)} /Kids [{kids}] >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for number, text in enumerate(pages):
        content = f"{5 + 2 * number} 0 R"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {content} "
            "/Resources << /Font << /F1 3 0 R >> >> >>".encode()
        )
        objects.append(_stream(text))
    return _file(objects)


def _stream(text: str) -> bytes:
    """The content of a page: its lines, one below the other."""
    escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
    lines = " T* ".join(f"({line}) Tj" for line in escaped.splitlines())
    packed = zlib.compress(f"BT /F1 12 Tf 15 TL 72 770 Td {lines} ET".encode("cp1252"))
    return b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed)


def _file(objects: list[bytes]) -> bytes:
    """Number the objects, and write the table of where each begins."""
    written, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(written))
        written += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return (
        written
        + b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
        % (
            len(objects) + 1,
            table,
            len(objects) + 1,
            len(written),
        )
    )
