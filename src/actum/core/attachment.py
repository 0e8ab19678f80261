"""`File`, `Image`, `Audio`, `Video`: media as a tool's function takes and returns them.

A model never sees the bytes as text. It passes the handle of an attachment (`att_1`), and the function gets the thing
itself; what the function returns goes to the model as a `MediaPart`.
"""

from __future__ import annotations

from typing import ClassVar, Self

from .call import MediaPart
from .json import dumps
from .tool import Tool

HANDLE = "Pass the handle of an attachment, such as att_1."
"""The end of the description of each parameter that takes a handle."""


def takes_files(tool: Tool) -> bool:
    """Whether a tool has a parameter that takes the handle of an attachment."""
    return HANDLE in dumps(tool.parameters)


class File:
    """A file that a tool is given or returns.

    Args:
        data: its bytes.
        media_type: its MIME type; the class's usual one when it is not said.
        name: a file name to show.
        url: where the bytes are, when they are not at hand.

    >>> File(b"a,b", media_type="text/csv", name="table.csv")
    File(3 bytes, media_type='text/csv', name='table.csv')
    """

    kind: ClassVar[str] = "file"
    family: ClassVar[str] = ""
    usual: ClassVar[str] = "application/octet-stream"

    __slots__ = ("data", "media_type", "name", "url")

    def __init__(self, data: bytes = b"", *, media_type: str = "", name: str = "", url: str = "") -> None:
        self.data = data
        self.media_type = media_type or self.usual
        self.name = name
        self.url = url

    @classmethod
    def of(cls, part: MediaPart) -> Self:
        """The same thing as a function takes it."""
        return cls(part.data, media_type=part.media_type, name=part.name, url=part.url)

    def part(self) -> MediaPart:
        """The attachment as a part of a message or a result."""
        return MediaPart(self.media_type, data=self.data, name=self.name, url=self.url)

    @classmethod
    def fits(cls, part: MediaPart) -> bool:
        """Whether an attachment is of this kind, by its MIME type."""
        return part.media_type.startswith(cls.family)

    def __repr__(self) -> str:
        where = self.url or f"{len(self.data)} bytes"
        return f"{type(self).__name__}({where}, media_type={self.media_type!r}, name={self.name!r})"


class Image(File):
    """A picture."""

    kind = "image"
    family = "image/"
    usual = "image/png"
    __slots__ = ()


class Audio(File):
    """A sound."""

    kind = "sound"
    family = "audio/"
    usual = "audio/wav"
    __slots__ = ()


class Video(File):
    """A film."""

    kind = "film"
    family = "video/"
    usual = "video/mp4"
    __slots__ = ()
