"""Files that a person gives along with a question: by `-a FILE`, or by a pipe into stdin.

A text becomes a part of the question, so that every model can read it; anything else is attached by its kind. A text
that is given so counts as the person's own words, as if they had typed it.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import mimetypes
import os
import select
import stat
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct, structs

from ...core.attachment import takes_files
from ...core.call import MediaPart, TextPart
from ...core.errors import UsageError
from ...core.message import UserMessage
from ...core.process.named_file import open_named
from ...core.tool import Tool
from ..language import tr
from ..show.terminal import said

TEXT_BYTES_MAX = 1_000_000
"""The most text in a question: more than the context window of most models holds."""

ATTACHED_BYTES_MAX = 20_000_000
"""The most bytes of all files of one question together: as much as the usual APIs take in one request."""

PATIENCE_S = 1.0
"""Seconds in which nothing comes through the pipe, after which the person is told what is waited for."""

STDIN = "stdin"

_MARKS: tuple[tuple[bytes, int, bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", 0, b"", "image/png"),
    (b"\xff\xd8\xff", 0, b"", "image/jpeg"),
    (b"GIF8", 0, b"", "image/gif"),
    (b"RIFF", 8, b"WEBP", "image/webp"),
    (b"RIFF", 8, b"WAVE", "audio/wav"),
    (b"BM", 6, b"\0\0\0\0", "image/bmp"),
    (b"II*\0", 0, b"", "image/tiff"),
    (b"MM\0*", 0, b"", "image/tiff"),
    (b"%PDF-", 0, b"", "application/pdf"),
    (b"ID3", 0, b"", "audio/mpeg"),
    (b"\xff\xfb", 0, b"", "audio/mpeg"),
    (b"OggS", 0, b"", "audio/ogg"),
    (b"fLaC", 0, b"", "audio/flac"),
    (b"", 4, b"ftypM4A", "audio/mp4"),
    (b"", 4, b"ftypheic", "image/heic"),
    (b"", 4, b"ftypavif", "image/avif"),
    (b"", 4, b"ftyp", "video/mp4"),
    (b"\x1aE\xdf\xa3", 0, b"", "video/webm"),
    (b"PK\x03\x04", 0, b"", "application/zip"),
    (b"\x1f\x8b", 0, b"", "application/gzip"),
)
"""How files of a kind begin: the first bytes, then the bytes at an offset, then the kind. The first row that fits."""

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class GivenFile(Struct, frozen=True):
    """A file as it was given.

    Attributes:
        name: its name, without the folder; `stdin` for what came through a pipe.
        size: how many bytes it has.
        part: the file as a part of what the person says.
        by_handle: the same file as a tool takes it, where `part` is a text, which has no handle.
    """

    name: str
    size: int
    part: TextPart | MediaPart
    by_handle: MediaPart | None = None

    @classmethod
    def of(cls, name: str, data: bytes) -> GivenFile:
        """A file of this name and these bytes.

        Raises:
            UsageError: it is a text that is too long for a question.
        """
        kind = media_type(name, data)
        text = None if kind.partition("/")[0] in ("image", "audio", "video") else as_text(data)
        if text is None:
            return cls(name, len(data), MediaPart(kind, data, name="" if name == STDIN else name))
        if len(data) > TEXT_BYTES_MAX:
            raise UsageError(
                "{name}: {size:,} bytes of text are too much for one question, which takes {most:,}. "
                "Give a part of it, or let a tool read the file",
                name=name,
                size=len(data),
                most=TEXT_BYTES_MAX,
            )
        shown = name.replace('"', "'")
        part = TextPart(f'<file name="{shown}">\n{text.rstrip()}\n</file>')
        return cls(name, len(data), part, MediaPart("text/plain" if name == STDIN else kind, data, name=name))

    def __str__(self) -> str:
        if isinstance(self.part, MediaPart):
            return tr("{name} ({kind}, {size} bytes)", name=self.name, kind=self.part.media_type, size=f"{self.size:,}")
        return tr("{name} (text, {size} bytes)", name=self.name, size=f"{self.size:,}")


def media_type(name: str, data: bytes) -> str:
    """The kind of a file, by its first bytes, else by its name.

    >>> media_type("plan", b"%PDF-1.7"), media_type("a.csv", b"1,2"), media_type("stdin", b"\\x00")
    ('application/pdf', 'text/csv', 'application/octet-stream')
    """
    for begin, offset, mark, kind in _MARKS:
        if data.startswith(begin) and data[offset : offset + len(mark)] == mark:
            if kind == "application/zip":  # so begin the files of office programs, too
                return mimetypes.guess_type(name)[0] or kind
            return kind
    return mimetypes.guess_type(name)[0] or "application/octet-stream"


def as_text(data: bytes) -> str | None:
    """The bytes as text; None where they are no text."""
    encoding = next((encoding for mark, encoding in _BYTE_ORDER_MARKS if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def read_file(path: str) -> GivenFile:
    """A file that was named by `-a`.

    Raises:
        UsageError: it can not be read, is empty, or is too large.
    """
    try:
        with open_named(Path(path).expanduser()) as file:
            data = file.read(ATTACHED_BYTES_MAX + 1)
    except OSError as error:
        raise UsageError(f"-a {path}: {error.strerror or error}") from None
    if not data:
        raise UsageError("-a {path}: the file is empty", path=path)
    if len(data) > ATTACHED_BYTES_MAX:
        raise UsageError(
            "-a {path}: the file is larger than {most:,} bytes, which is the most", path=path, most=ATTACHED_BYTES_MAX
        )
    return GivenFile.of(said(Path(path).name), data)


def read_pipe(tell: Callable[[str], None]) -> GivenFile | None:
    """What is piped into stdin, to its end; None where nothing is, as at a terminal or from `/dev/null`.

    Args:
        tell: is told what is waited for, where nothing comes.

    Raises:
        UsageError: it is too large.
    """
    stream: BinaryIO | None = getattr(sys.stdin, "buffer", None)  # stdin can be closed, and then there is None
    if stream is None or not _is_piped(stream, tell):
        return None
    data = stream.read(ATTACHED_BYTES_MAX + 1)
    if len(data) > ATTACHED_BYTES_MAX:
        raise UsageError(
            "stdin: more than {most:,} bytes came through the pipe, which is the most", most=ATTACHED_BYTES_MAX
        )
    return GivenFile.of(STDIN, data) if data.strip() else None


def _is_piped(stream: BinaryIO, tell: Callable[[str], None]) -> bool:
    """Whether a pipe, a socket or a file stands behind a stream, and not a terminal or another device."""
    try:
        number = stream.fileno()
        mode = os.fstat(number).st_mode
    except io.UnsupportedOperation:
        return True  # no file of the system's, but a stream of a program that calls this one
    except OSError:
        return False  # stdin was closed
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        with contextlib.suppress(OSError):  # Windows waits for sockets alone
            if not select.select([number], [], [], PATIENCE_S)[0]:
                tell(tr("Reading stdin to its end, for it belongs to the question. `< /dev/null` goes without."))
        return True
    return stat.S_ISREG(mode)


def with_files(message: UserMessage, files: Sequence[GivenFile], tools: Sequence[Tool] = ()) -> UserMessage:
    """What the person says, and behind it the files.

    Args:
        message: what the person says.
        files: the files.
        tools: where one of these tools takes files, a text is attached, too, so that it has a handle.

    Raises:
        UsageError: the files are too large.
    """
    if sum(file.size for file in files) > ATTACHED_BYTES_MAX:
        raise UsageError(
            "the files are larger than {most:,} bytes together, which is the most", most=ATTACHED_BYTES_MAX
        )
    content = [*message.content, *(file.part for file in files)]
    if any(takes_files(tool) for tool in tools):
        content += [file.by_handle for file in files if file.by_handle is not None]
    return structs.replace(message, content=tuple(content))


def told(files: Sequence[GivenFile]) -> str:
    """One line on what goes along: `With the question: notes.txt (text, 120 bytes), ...`."""
    return tr("With the question: {files}", files=", ".join(map(str, files)))
