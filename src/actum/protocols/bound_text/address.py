"""Values in addresses and paths.

A value at the beginning of an address is an address: it is kept as it is, and the code that sends the request judges
where it leads. Every other value is part of the host, of one segment of the path, or of the query, and can not leave
its place.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote, unquote_plus

from .part import Given, Later, NoPlace, Parts, check_count

UNRESERVED = "-._~"

_AUTHORITY = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://([^/?#\\]*)")
_SCHEME = re.compile(r"[^/?#]*:?/?")
_LABEL = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?")
_HOST = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?")
_WHOLE_HOST = re.compile(rf"(?:{_HOST.pattern}|\[[0-9A-Fa-f:.]+\])(?::[0-9]{{1,5}})?")
_PORT = re.compile(r"[0-9]{1,5}")
_QUERY = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?\[\]-]|%[0-9A-Fa-f]{2})*")
_TWO_MEANINGS = re.compile(r"[\x00-\x1f\x7f]|%[0-9A-Fa-f]{2}")
_SEGMENT_DOTS = re.compile(r"(?i)(?:\.|%2e){0,2}")
_HALF_ESCAPE = re.compile(r"%[0-9A-Fa-f]?\Z")
_SCHEME_OF = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_UNSEEN = re.compile(r"[\x00-\x20\x7f]")
_LINK_SCHEMES = {"http": "", "https": "", "ftp": "", "cid": "@", "mailto": "@+", "tel": "+"}
"""The schemes of links with values, and the characters that are not encoded in such a link."""

Span = tuple[int, int]


def percent_encoded(text: str, safe: str = UNRESERVED) -> str:
    """A text in which nothing ends or splits a part of an address (RFC 3986, section 2.1).

    Raises:
        NoPlace: the text holds half of a character.
    """
    try:
        return quote(text, safe=safe)
    except UnicodeEncodeError:
        raise NoPlace("expected whole characters, and not half of one") from None


def is_lost_segment(segment: str) -> bool:
    """Whether a segment of a path is none when the path is read: `.`, `..` or empty, dots encoded or not."""
    return bool(_SEGMENT_DOTS.fullmatch(segment))


def bind_address(parts: Parts) -> str:
    """An absolute address.

    Raises:
        NoPlace: a value can not stand at its place.

    >>> bind_address(["https://example.org/notes/", Given.of("a/b"), "?q=", Given.of("x&y=1")])
    'https://example.org/notes/a%2Fb?q=x%26y%3D1'
    """
    check_count(parts)
    written, spans = "", list[Span]()
    for index, part in enumerate(parts):
        if isinstance(part, str | Later):
            written += part if isinstance(part, str) else part.text
        elif not written or part.encoded == "raw":
            written += part.text
        else:
            following = parts[index + 1] if index + 1 < len(parts) else ""
            found = _bound(written, part, following, after_value=isinstance(parts[index - 1], Given))
            spans.append((len(written), len(written) + len(found)))
            written += found
    _check_parts(written, spans)
    _check_names_behind(written, spans)
    return written


def bind_link(parts: Parts) -> list[str]:
    """An address within another text, such as `href` of HTML, absolute or not: how each part is written.

    A value at the beginning is an address; one of a scheme that carries out code, such as `javascript:`, is refused.

    Raises:
        NoPlace: a value can not stand at its place.

    >>> bind_link(["/notes/", Given.of("a/b"), "?q=", Given.of("x&y=1")])
    ['/notes/', 'a%2Fb', '?q=', 'x%26y%3D1']
    """
    texts, written, spans = list[str](), "", list[Span]()
    for index, part in enumerate(parts):
        text = part if isinstance(part, str) else part.text
        if isinstance(part, Given) and part.encoded != "raw":
            if written.strip():
                text = _in_link(written, part, parts[index + 1] if index + 1 < len(parts) else "")
                spans.append((len(written), len(written) + len(text)))
            else:
                _check_link_scheme(f"{text}{''.join(each for each in parts[index + 1 :] if isinstance(each, str))}")
        texts.append(text)
        written += text
    _check_parts(written, spans)
    _check_names_behind(written, spans)
    return texts


def _in_link(written: str, given: Given, following: object) -> str:
    """A value behind the beginning of a link."""
    link = f"https:{written}" if written.startswith("//") else written
    if _AUTHORITY.match(link):
        return _bound(link, given, following, after_value=False)
    safe = _check_link_scheme(link)
    check_escape(link)
    if given.encoded == "query_string" and "?" in link:
        return checked_query(given.text)
    if "?" in link or "#" in link:
        return percent_encoded(given.text)
    if not safe:
        _check_segment(given.text)
    return percent_encoded(given.text, UNRESERVED + safe)


def _check_link_scheme(link: str) -> str:
    """The characters that are not encoded in a link of this scheme.

    Raises:
        NoPlace: the scheme is none that only leads somewhere. Readers skip blanks and control characters in it.
    """
    found = _SCHEME_OF.match(_UNSEEN.sub("", link))
    scheme = found[1].lower() if found is not None else "https"
    if scheme not in _LINK_SCHEMES:
        raise NoPlace(f"expected an address without a scheme, or one of {', '.join(_LINK_SCHEMES)}")
    return _LINK_SCHEMES[scheme]


def _bound(written: str, given: Given, following: object, *, after_value: bool) -> str:
    """A value behind what is written already."""
    authority = _AUTHORITY.fullmatch(written)
    if authority is not None:
        if after_value:
            raise NoPlace("the host of an address can not be told from what follows it: write a / between the values")
        return _in_authority(authority[1], given.text, following if isinstance(following, str) else None)
    if _AUTHORITY.match(written) is None and _SCHEME.fullmatch(written):
        raise NoPlace("expected the value at the beginning of the address, or behind its host")
    check_escape(written)
    if given.encoded == "query_string":
        if "?" not in written:
            raise NoPlace("expected a ? before a value that is declared a query_string")
        return checked_query(given.text)
    if "?" not in written and "#" not in written:
        _check_segment(given.text)
    return percent_encoded(given.text)


def _check_segment(text: str) -> None:
    """Whether two readers take a value for the same segment of a path, also where one of them decodes it twice."""
    pieces = re.split(r"[/\\]", text)
    if _TWO_MEANINGS.search(text) or (len(pieces) > 1 and {".", ".."} & set(pieces)):
        raise NoPlace(
            "expected a value without control characters, % before two digits, and '..' beside a /, "
            "since it is a part of the path"
        )


def _in_authority(before: str, text: str, following: str | None) -> str:
    ends = following is not None and following[:1] in ("", "/", "?", "#")
    if before.endswith(":"):
        pattern, expected = _PORT, "a port"
    elif before:
        pattern, expected = _LABEL, "one word of a host's name: letters, digits and -"
    elif ends:
        pattern, expected = _WHOLE_HOST, "a host, or a host and a port"
    elif following is not None and following.startswith(":"):
        pattern, expected = _HOST, "a host"
    else:
        pattern, expected = _LABEL, "one word of a host's name: letters, digits and -"
    if not pattern.fullmatch(text):
        raise NoPlace(f"expected {expected}, since the value stands in the host of an address")
    return text


def _check_parts(written: str, spans: list[tuple[int, int]]) -> None:
    """Whether each value is where its author put the value, now that all of the address is written."""
    authority = _AUTHORITY.match(written)
    begin = authority.end() if authority is not None else 0
    found = re.search(r"[?#]", written[begin:])
    end = begin + found.start() if found is not None else len(written)
    for start, stop in spans:
        if stop <= begin and authority is not None and "@" in authority[1]:
            raise NoPlace("expected no value in an address with a user's name")
        if begin <= start and stop <= end:
            first = written.rfind("/", begin, start) + 1 or begin
            last = written.find("/", stop, end)
            if is_lost_segment(written[first : last if last >= 0 else end]):
                raise NoPlace("expected a value that is not '.', '..' or empty, since it is a part of the path")


def check_escape(written: str) -> None:
    """Whether a value behind an author's words stays a value: the digits of `%2` may not come from a value.

    Raises:
        NoPlace: no.
    """
    if _HALF_ESCAPE.search(written):
        raise NoPlace("expected no value within an escape: two digits behind each %")


def _check_names_behind(written: str, spans: Sequence[Span]) -> None:
    """Whether no value is the name of another field in the query of an address."""
    mark = re.search(r"[?#]", written)
    if mark is not None and mark[0] == "?":
        begin = mark.end()
        check_names(written[begin:].partition("#")[0], [(start - begin, stop - begin) for start, stop in spans])


def check_names(fields: str, spans: Sequence[Span]) -> None:
    """Whether no value is the name of another field, which a receiver could take for the field of the author.

    Args:
        fields: a query or a form.
        spans: where values stand in it.

    Raises:
        NoPlace: a value is such a name.
    """
    names, by_value, begin = list[str](), set[str](), 0
    for each in fields.split("&"):
        name = each.partition("=")[0]
        names.append(unquote_plus(name))
        if any(start < begin + len(name) and stop > begin for start, stop in spans):
            by_value.add(names[-1])
        begin += len(each) + 1
    if any(names.count(name) > 1 for name in by_value):
        raise NoPlace("expected a value that is not the name of another field")


def checked_query(text: str) -> str:
    """A text that its author declares as a query.

    Raises:
        NoPlace: the text is none.
    """
    if not _QUERY.fullmatch(text):
        raise NoPlace("expected a query that is encoded already: no blanks, no #, and % only before two digits")
    return text


def bind_query(parts: Parts) -> str:
    """A query, without its `?`.

    Raises:
        NoPlace: a value can not stand at its place.

    >>> bind_query(["a=", Given.of("1&b=2")])
    'a=1%26b%3D2'
    """
    written, spans = "", list[Span]()
    for part in parts:
        if not isinstance(part, Given) or part.encoded == "raw":
            written += part if isinstance(part, str) else part.text
            continue
        check_escape(written)
        if part.encoded == "query_string":
            written += checked_query(part.text)
            continue
        found = percent_encoded(part.text)
        spans.append((len(written), len(written) + len(found)))
        written += found
    check_names(written, spans)
    return written


def bind_path(parts: Parts) -> str:
    """The path of a file. A value at the beginning is a path; every other value stays in one name of the path.

    Raises:
        NoPlace: a value has a /, or would be the name `.`, `..` or none.

    >>> bind_path(["notes/", Given.of("today"), ".md"])
    'notes/today.md'
    """
    written, spans = "", list[tuple[int, int]]()
    for part in parts:
        text = part if isinstance(part, str) else part.text
        if isinstance(part, Given) and part.encoded != "raw" and written:
            if re.search(r"[/\\\x00]", text):
                raise NoPlace("expected a value without /, since it is one name of a path")
            spans.append((len(written), len(written) + len(text)))
        written += text
    for start, stop in spans:
        last = written.find("/", stop)
        if written[written.rfind("/", 0, start) + 1 : last if last >= 0 else len(written)] in ("", ".", ".."):
            raise NoPlace("expected a value that is not '.', '..' or empty, since it is one name of a path")
    return written
