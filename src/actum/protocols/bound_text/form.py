"""Values in forms: `application/x-www-form-urlencoded` and `multipart/form-data`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from urllib.parse import quote_plus

from msgspec import Struct

from ...core.json import JsonObject, dumps
from .address import Span, check_escape, check_names, checked_query
from .part import Given, NoPlace, Parts, check_count

_BLANK_LINE = re.compile(r"\r?\n\r?\n")
_NAME_BEGUN = re.compile(r"(?i)[;\s]name=\"[^\"]*\Z")
_NAME_OF_PART = re.compile(r"(?i)[;\s]name=\"([^\"]*)\"")


def form_encoded(text: str) -> str:
    """A name or a value of a form.

    Raises:
        NoPlace: the text holds half of a character.
    """
    try:
        return quote_plus(text)
    except UnicodeEncodeError:
        raise NoPlace("expected whole characters, and not half of one") from None


def bind_form(parts: Parts) -> str:
    """A form that is written as a text.

    Raises:
        NoPlace: a value can not stand at its place.

    >>> bind_form(["note=", Given.of("a&b=1"), "&z=1"])
    'note=a%26b%3D1&z=1'
    """
    written, spans = "", list[Span]()
    for part in parts:
        if not isinstance(part, Given) or part.encoded in ("raw", "form"):
            written += part if isinstance(part, str) else part.text
            continue
        check_escape(written)
        if part.encoded == "query_string":
            written += checked_query(part.text)
            continue
        found = form_encoded(part.text)
        spans.append((len(written), len(written) + len(found)))
        written += found
    check_names(written, spans)
    return written


def form_of(fields: JsonObject) -> str:
    """A form. A list is a field for each item; null is no field.

    >>> form_of({"a": "1&b=2", "c": [1, 2], "d": None})
    'a=1%26b%3D2&c=1&c=2'
    """
    return "&".join(f"{form_encoded(name)}={form_encoded(text)}" for name, text in _pairs(fields))


def _pairs(fields: JsonObject) -> Iterable[tuple[str, str]]:
    for name, value in fields.items():
        for item in value if isinstance(value, list) else [value]:
            if item is not None:
                yield name, item if isinstance(item, str) else dumps(item)


class FormPart(Struct, frozen=True):
    """One part of `multipart/form-data`.

    Attributes:
        name: of the field.
        data: its content.
        media_type: of the content; empty for plain text.
        file_name: empty where the part is no file.
    """

    name: str
    data: bytes
    media_type: str = ""
    file_name: str = ""


def multipart(parts: Iterable[FormPart]) -> tuple[bytes, str]:
    """A body, and its content type. The boundary follows from the parts, so that no part can hold it."""
    written: list[bytes] = []
    for part in parts:
        head = f'Content-Disposition: form-data; name="{in_quotes(part.name)}"'
        if part.file_name:
            head += f'; filename="{in_quotes(part.file_name)}"'
        if part.media_type:
            head += f"\r\nContent-Type: {part.media_type}"
        written.append(head.encode() + b"\r\n\r\n" + part.data)
    boundary = "actum-" + hashlib.sha256(b"\0".join(written)).hexdigest()[:40]
    lines = b"".join(b"--%s\r\n%s\r\n" % (boundary.encode(), each) for each in written)
    return lines + b"--%s--\r\n" % boundary.encode(), f"multipart/form-data; boundary={boundary}"


def multipart_of(fields: JsonObject) -> tuple[bytes, str]:
    """Fields as `multipart/form-data`."""
    return multipart(FormPart(name, text.encode()) for name, text in _pairs(fields))


def in_quotes(text: str) -> str:
    """As WHATWG writes names in multipart/form-data."""
    return text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


def bind_multipart(media_type: str, parts: Parts) -> str:
    """A body of `multipart/form-data` that is written as a text.

    Raises:
        NoPlace: a value can not stand at its place, or the content type names no boundary.
    """
    named = re.search(r"boundary=(?:\"([^\"]+)\"|([^\s;\"]+))", media_type, re.IGNORECASE)
    if named is None:
        raise NoPlace("expected a boundary in the content type, or an object as the body")
    check_count(parts)
    mark = f"--{named[1] or named[2]}"
    place, written = _PartPlace(mark), list[str]()
    for part in parts:
        if not isinstance(part, Given) or part.encoded == "raw":
            text = part if isinstance(part, str) else part.text
            place.read(text)
        else:
            text = place.in_header(part.text) if place.is_in_header() else part.text
        written.append(text)
    whole = "".join(written)
    _check_boundaries(mark, whole, parts)
    place.check_names(whole)
    return whole


class _PartPlace:
    """Where a text of parts has come to.

    Args:
        mark: the mark before each part.
    """

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._has_begun = False
        self._header: str | None = None
        self._has_name = False

    def read(self, text: str) -> None:
        """Go on by words of the author."""
        _, mark, rest = text.rpartition(self._mark)
        if mark:
            self._has_begun, self._header = True, rest
        elif self._header is not None:
            self._header += text
        if self._header is not None and _BLANK_LINE.search(self._header):
            self._header = None

    def is_in_header(self) -> bool:
        """Whether a value is within quotes in the header of a part.

        Raises:
            NoPlace: the value is in a header without quotes, or in no part.
        """
        if not self._has_begun:
            raise NoPlace("expected the value inside of a part of the form")
        if self._header is None:
            return False
        line = self._header.rpartition("\n")[2]
        if line.count('"') % 2 == 0:
            raise NoPlace("expected the value within quotes, since it stands in the header of a part")
        self._has_name = self._has_name or bool(_NAME_BEGUN.search(line))
        self._header = '"'  # short, however many values follow
        return True

    def in_header(self, text: str) -> str:
        """A value within quotes in the header of a part.

        Raises:
            NoPlace: some readers would take the quote behind the value for a part of the value.
        """
        if "\\" in text:
            raise NoPlace("expected a value without \\ in the header of a part")
        return in_quotes(text)

    def check_names(self, written: str) -> None:
        """Whether no value is the name of another part.

        Raises:
            NoPlace: a value is.
        """
        if self._has_name:
            headers = (_BLANK_LINE.split(each, 1)[0] for each in written.split(self._mark))
            names = [found[1] for found in map(_NAME_OF_PART.search, headers) if found is not None]
            if len(set(names)) < len(names):
                raise NoPlace("expected a value that is not the name of another part of the form")


def _check_boundaries(mark: str, written: str, parts: Parts) -> None:
    """Whether values together with the author's words make no boundary more."""
    drawn = sum(part.count(mark) for part in parts if isinstance(part, str))
    drawn += sum(part.text.count(mark) for part in parts if isinstance(part, Given) and part.encoded == "raw")
    if written.count(mark) != drawn:
        raise NoPlace("expected a value without the boundary of the form")


def encoded_fields(media_type: str, fields: JsonObject) -> tuple[bytes, str] | None:
    """An object as the body of a form, and its content type; None where the content type is that of no form."""
    match media_type.partition(";")[0].strip().lower():
        case "application/x-www-form-urlencoded":
            return form_of(fields).encode(), media_type
        case "multipart/form-data":
            return multipart_of(fields)
        case _:
            return None
