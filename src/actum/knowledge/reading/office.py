"""Word, Excel and PowerPoint files as pages, by the packages of the extra `documents`."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterable
from typing import Any

from .html import write_html
from .page import DocumentPage, PageWriter, UnreadableDocument

UNPACKED_BYTES_MAX = 200 * 1024 * 1024
ENTRIES_MAX = 20_000
HEAD_BYTES = 65_536
SHEET_CELLS_MAX = 2_000_000
_PROLOG = re.compile(rb"(?>\s+|\xef\xbb\xbf|\xff\xfe|\xfe\xff|<\?.*?\?>|<!--.*?-->)*+", re.DOTALL)
_ELEMENT = re.compile(rb"<[^!?]")
_OLE = b"\xd0\xcf\x11\xe0"


def _opened(data: bytes) -> io.BytesIO:
    """The file, if it is a package that can be unpacked.

    Raises:
        UnreadableDocument: it is encrypted, broken, or too large when unpacked.
    """
    if data.startswith(_OLE):  # an encrypted package is a file in a container of old Office
        raise UnreadableDocument("encrypted")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            entries = package.infolist()
            is_large = len(entries) > ENTRIES_MAX or sum(each.file_size for each in entries) > UNPACKED_BYTES_MAX
            has_entities = not is_large and any(_has_entities(package, each) for each in entries)
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, RuntimeError, zlib.error):
        raise UnreadableDocument("broken") from None
    if is_large or has_entities:
        raise UnreadableDocument("too_large" if is_large else "broken")
    return io.BytesIO(data)


def _has_entities(package: zipfile.ZipFile, part: zipfile.ZipInfo) -> bool:
    """Whether a part may declare entities, which no Office file does (ISO/IEC 29500-2, 8.1.4: no DTD): whether
    something else than an element comes behind its prolog, or its prolog is long.
    """
    if not part.filename.lower().endswith((".xml", ".rels")):
        return False
    with package.open(part) as opened:
        head = opened.read(HEAD_BYTES)
    found = _PROLOG.match(text := head.replace(b"\0", b""))
    return bool(head) and not _ELEMENT.match(text, found.end() if found is not None else 0)


def read_docx(data: bytes) -> DocumentPage:
    """The page of a Word file."""
    import mammoth  # noqa: PLC0415  # of an extra

    made = mammoth.convert_to_html(
        _opened(data), convert_image=mammoth.images.img_element(lambda image: {}), include_default_style_map=True
    )
    writer = PageWriter()
    write_html(writer, made.value)
    return writer.page()


def read_xlsx(data: bytes) -> DocumentPage:
    """The page of an Excel file: a row is a line. Hidden sheets, rows and columns are left out."""
    import openpyxl  # noqa: PLC0415  # of an extra

    book = openpyxl.load_workbook(_opened(data), data_only=True)
    writer = PageWriter()
    for sheet in book.worksheets:
        if sheet.sheet_state != "visible":
            continue
        if sheet.max_row * sheet.max_column > SHEET_CELLS_MAX:
            raise UnreadableDocument("too_large")
        with writer.heading(1):
            writer.words(sheet.title)
        for row in sheet.iter_rows():
            if not sheet.row_dimensions[row[0].row].hidden:
                writer.place(line=row[0].row)
                _write_row(
                    writer, [cell.value for cell in row if not sheet.column_dimensions[cell.column_letter].hidden]
                )
    return writer.page()


def _write_row(writer: PageWriter, values: Iterable[object]) -> None:
    told = ["" if value is None else str(value) for value in values]
    if not any(each.strip() for each in told):
        return
    writer.line()
    for number, text in enumerate(told):
        if number:
            writer.words(" | ")
        with writer.unit():
            writer.words(text)


def read_pptx(data: bytes) -> DocumentPage:
    """The page of a PowerPoint file: the slides in order, without hidden slides and without notes."""
    import pptx  # noqa: PLC0415  # of an extra

    writer = PageWriter()
    for number, slide in enumerate(pptx.Presentation(_opened(data)).slides, 1):
        if slide._element.get("show") == "0":  # python-pptx has no other way to ask
            continue
        title = slide.shapes.title
        writer.block()
        writer.place(page=number)
        if title is not None:
            with writer.heading(1):
                writer.words(title.text_frame.text)
        for shape in slide.shapes:
            if title is None or shape.shape_id != title.shape_id:
                _write_shape(writer, shape)
    return writer.page()


def _write_shape(writer: PageWriter, shape: Any) -> None:  # noqa: ANN401  # python-pptx tells no types
    for inner in getattr(shape, "shapes", ()):
        _write_shape(writer, inner)
    if shape.has_text_frame:
        for paragraph in shape.text_frame.paragraphs:
            writer.line()
            with writer.unit():
                writer.words("".join(run.text for run in paragraph.runs))
        writer.block()
    if getattr(shape, "has_table", False):
        for row in shape.table.rows:
            _write_row(writer, [cell.text for cell in row.cells])
        writer.block()
