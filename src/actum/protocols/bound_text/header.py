"""Values in headers of HTTP."""

from __future__ import annotations

import re
from collections.abc import Callable

from .part import Given, NoPlace, Parts, check_count

VISIBLE = re.compile(r"[\x20-\x7e\t]*")
"""What a header can hold without a doubt."""
COOKIE = re.compile(r"[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*")
"""What the value of a cookie can hold (RFC 6265, section 4.1.1)."""

_UNFIT = re.compile(r"[^\t\x20-\x7e\x80-\xff]")
_DIVIDED = re.compile(r"[,;=\"]")
_DIVIDES = re.compile(r"[,;\"]")
_CREDENTIAL = re.compile(r"[\s,;\"]")


def bind_header(name: str, parts: Parts) -> str:
    """The value of a header.

    No value ends a header. Where the author's own words divide the header (by `,`, `;`, `=` or a quotation mark), a
    value has no `,`, no `;` and no quotation mark; within quotation marks it is a quoted string (RFC 9110, section
    5.6.4).

    Args:
        name: of the header.
        parts: what its value is made of.

    Raises:
        NoPlace: a value can not stand at its place.

    >>> bind_header("If-Match", ['"', Given.of('a"b'), '"'])
    '"a\\\\"b"'
    """
    check_count(parts)
    has_delimiters = any(isinstance(part, str) and _DIVIDED.search(part) for part in parts)
    written, in_quotes = "", False
    for part in parts:
        if not isinstance(part, Given):
            words = part if isinstance(part, str) else part.text
            in_quotes ^= re.sub(r"\\.", "", words).count('"') % 2 == 1
            written += words
            continue
        text = part.text
        if _UNFIT.search(text):
            raise NoPlace("expected a value without line breaks and signs beyond Latin-1, since it stands in a header")
        if part.encoded != "raw" and len(parts) > 1:
            text = _inside(name.lower(), text, in_quotes=in_quotes, has_delimiters=has_delimiters)
        written += text
    return written


def _inside(name: str, text: str, *, in_quotes: bool, has_delimiters: bool) -> str:
    """A value beside other words of a header."""
    if name == "cookie":
        if not COOKIE.fullmatch(text):
            raise NoPlace("expected characters that a cookie can hold: visible ASCII without ',', ';' and quotes")
        return text
    if in_quotes:
        return text.replace("\\", "\\\\").replace('"', '\\"')
    if name in ("authorization", "proxy-authorization") and _CREDENTIAL.search(text):
        raise NoPlace("expected a credential without blanks, ',', ';' and quotes")
    if has_delimiters and _DIVIDES.search(text):
        raise NoPlace("expected a value without ',', ';' and quotes, which divide the header here")
    return text


def filled_header(name: str, words: str, pattern: re.Pattern[str], value_of: Callable[[str], str]) -> str:
    """The value of a header in which names stand for values.

    Args:
        name: of the header.
        words: as they are configured.
        pattern: finds a name; its one group is the name.
        value_of: gives the value of a name.

    Raises:
        NoPlace: a value can not stand at its place.
    """
    parts = [Given.of(value_of(each)) if at % 2 else each for at, each in enumerate(pattern.split(words))]
    return bind_header(name, [part for part in parts if part != ""])
