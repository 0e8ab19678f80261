"""One way to write a path or an address: what a rule compares is what the tool gets.

`/data/../etc/passwd`, a symbolic link, `HTTP://127.1:80/` and `http://127.0.0.1/` are each written out before a rule
sees them. What two readers could take for two things is refused: an encoded slash before `..`, a name and password in
an address, a backslash, a path of another machine that climbs.

It looks at the file system for symbolic links, and at nothing else. Limits: a link that is made between the look and
the tool's own is not seen, and neither are the links of another machine. Whether an address leads to a private network
is the transport's affair: names are not looked up here.
"""

from __future__ import annotations

import ipaddress
import os
import posixpath
import re
from collections.abc import Callable, Iterator
from typing import Literal
from urllib.parse import quote, unquote_to_bytes, urlsplit, urlunsplit

from ..core.json import Json, JsonObject

Kind = Literal["path", "url"]
Spot = tuple[tuple[str, ...], Kind]
"""Where in the arguments a path or an address stands: the names that lead there (`*` for every item of a list)."""

FORMATS: dict[str, Kind] = {
    **dict.fromkeys(("path", "file-path", "directory-path"), "path"),
    **dict.fromkeys(("uri", "iri", "url"), "url"),
}
"""Which `format` or `x-kind` of a JSON Schema declares what."""

PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21}
HOST_MAX = 253
DEPTH_MAX = 16
"""So deep in a schema is looked for paths and addresses."""

_CONTROL = re.compile(r"[\x00-\x20\x7f]")
_ENCODED = re.compile(r"%(?:25)*(?:2e|2f|5c|00)", re.IGNORECASE)
_TWICE = re.compile(r"%(?:25)+(?:2e|2f|5c|00)", re.IGNORECASE)
_ESCAPE = re.compile(r"%[0-9a-fA-F]{2}")
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]+")
_HOST = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?")
_TWO_READINGS = frozenset("ßςẞ\u200c\u200d")
"""Characters of a host that the two generations of IDNA read as two names."""
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_SAFE = "!$&'()*+,;=:@/%-._~[]?"


class Unclear(ValueError):
    """It can not be written in one way only; the message says what would do."""


def path(text: object, *, local: bool = True) -> str:
    """A path, absolute, without `.`, `..` and symbolic links.

    Args:
        local: it is one of this machine; else nothing is looked up, and one that is relative stays so.

    Raises:
        Unclear: what it means depends on who reads it.

    >>> path("/srv/./a//b", local=False)
    '/srv/a/b'
    """
    if not isinstance(text, str) or not text:
        raise Unclear("a path, as text")
    if "\0" in text or _ENCODED.search(text):
        raise Unclear("a path without encoded dots, slashes or NUL")
    if not local:
        if "\\" in text or text.startswith("~") or ".." in text.split("/"):
            raise Unclear("a path without '..', '~' and backslashes")
        return posixpath.normpath(text)
    if text.startswith("~"):
        text = os.path.expanduser(text)  # noqa: PTH111  # Path.expanduser raises where there is no home
        if text.startswith("~"):
            raise Unclear("a path that begins with a folder")
    try:
        return os.path.realpath(text)
    except (OSError, ValueError):
        raise Unclear("a path that can be looked up") from None


def under(text: object, folder: object, *, local: bool = True) -> bool:
    """Whether a path is this folder or lies in it, both written out.

    Raises:
        Unclear: one of them is unclear. `~` is: a tool may know no home.
    """
    if isinstance(text, str) and text.startswith("~"):
        raise Unclear("a path that begins with a folder")
    inner, outer = path(text, local=local), path(folder, local=local)
    if not os.path.isabs(outer):  # noqa: PTH117  # of another machine: a text
        raise Unclear("an absolute folder")
    return inner == outer or inner.startswith(outer.rstrip("/") + "/")


def url(text: object) -> str:
    """An address: scheme and host in lower case, the host in ASCII, no default port, no `.` and `..` in its path, no
    needless escapes.

    Raises:
        Unclear: what it means depends on who reads it.

    >>> url("HTTP://EXAMPLE.com:80/a/%2e%2E/b?q=ü")
    'http://example.com/b?q=%C3%BC'
    """
    if not isinstance(text, str) or _CONTROL.search(text) or "\\" in text:
        raise Unclear("an address without blanks, backslashes and control characters")
    try:
        parts = urlsplit(text)
        number = parts.port
    except ValueError:
        raise Unclear("an address with a host and a port") from None
    scheme = parts.scheme.lower()
    if not scheme:
        raise Unclear("an address that begins with its scheme, such as https://")
    if not parts.netloc:
        if scheme in PORTS:
            raise Unclear("an address with a host")
        if parts.path.startswith("/"):  # file:
            return urlunsplit((scheme, "", _climbed(parts.path), _escaped(parts.query), _escaped(parts.fragment)))
        return f"{scheme}:{text[len(scheme) + 1 :]}"
    if "@" in parts.netloc:
        raise Unclear("an address without a user and password")
    name = _host(parts.hostname or "")
    place = f"[{name}]" if ":" in name else name
    if number is not None and number != PORTS.get(scheme):
        place += f":{number}"
    return urlunsplit((scheme, place, _climbed(parts.path), _escaped(parts.query), _escaped(parts.fragment)))


def host(text: object) -> str:
    """The host of an address, as `url` writes it.

    Raises:
        Unclear: it has none, or is unclear.

    >>> host("https://0x7f.1:8080/x")
    '127.0.0.1'
    """
    name = urlsplit(url(text)).hostname
    if not name:
        raise Unclear("an address with a host")
    return name


def domain(text: object) -> str:
    """The domain of an e-mail address, in lower case and ASCII.

    Raises:
        Unclear: it is not exactly one address.

    >>> domain("Ada@Example.COM")
    'example.com'
    """
    if not isinstance(text, str) or text.count("@") != 1 or re.search(r"[\s,;<>()\[\]\"'\\\x00-\x20\x7f]", text):
        raise Unclear("one e-mail address, without a name around it")
    who, _, name = text.partition("@")
    if not who:
        raise Unclear("an e-mail address with somebody before its @")
    return _host(name)


def spots(schema: JsonObject) -> tuple[Spot, ...]:
    """Where a schema declares paths and addresses."""
    return tuple(dict.fromkeys(_spots(schema, schema, (), 0)))


def written_out(arguments: JsonObject, where: tuple[Spot, ...], *, local: bool) -> tuple[JsonObject, list[str]]:
    """The arguments with every declared path and address written out; they themselves stay as they are.

    Args:
        local: paths are of this machine.

    Returns:
        The arguments, and the places that are written in another way now.

    Raises:
        Unclear: a value is; the first of its `args` is the place, the second what would do.
    """
    found: Json = arguments
    changed: list[str] = []
    for names, kind in where:
        found = _replaced(found, names, "", url if kind == "url" else lambda text: path(text, local=local), changed)
    assert isinstance(found, dict)
    return found, changed


def _replaced(value: Json, names: tuple[str, ...], at: str, write: Callable[[str], str], changed: list[str]) -> Json:
    if not names:
        if not isinstance(value, str):
            return value
        try:
            new = write(value)
        except Unclear as unclear:
            raise Unclear(at, str(unclear)) from None
        if new != value:
            changed.append(at)
        return new
    name, rest = names[0], names[1:]
    if name == "*" and isinstance(value, list):
        return [_replaced(item, rest, f"{at}[{index}]", write, changed) for index, item in enumerate(value)]
    if isinstance(value, dict) and name in value:
        return {**value, name: _replaced(value[name], rest, f"{at}.{name}" if at else name, write, changed)}
    return value


def _spots(schema: Json, document: JsonObject, names: tuple[str, ...], depth: int) -> Iterator[Spot]:
    if not isinstance(schema, dict) or depth > DEPTH_MAX:
        return
    for word in ("x-kind", "format"):
        kind = FORMATS.get(str(schema.get(word)))
        if kind is not None:
            yield names, kind
            break
    reference, definitions = schema.get("$ref"), document.get("$defs")
    if isinstance(reference, str) and isinstance(definitions, dict):
        yield from _spots(definitions.get(reference.removeprefix("#/$defs/")), document, names, depth + 1)
    for word in ("anyOf", "oneOf", "allOf"):
        choices = schema.get(word)
        for choice in choices if isinstance(choices, list) else ():
            yield from _spots(choice, document, names, depth + 1)
    properties = schema.get("properties")
    for name, inner in properties.items() if isinstance(properties, dict) else ():
        yield from _spots(inner, document, (*names, name), depth + 1)
    yield from _spots(schema.get("items"), document, (*names, "*"), depth + 1)


def _host(name: str) -> str:
    """A host in its one form."""
    if ":" in name:
        try:
            number = ipaddress.IPv6Address(name)
        except ValueError:
            raise Unclear("an address with a host") from None
        if number.scope_id:
            raise Unclear("an address without a zone")
        return str(number.ipv4_mapped or number)
    if "%" in name or _TWO_READINGS & set(name) or len(name) > HOST_MAX:
        raise Unclear("a host that can be read in one way only")
    try:
        name = name.encode("idna").decode().lower().removesuffix(".")
    except UnicodeError:
        raise Unclear("a host that is a name or an address") from None
    if not _HOST.fullmatch(name) or ".." in name:
        raise Unclear("a host that is a name or an address")
    return _ipv4(name) if _NUMBER.fullmatch(name.rpartition(".")[2]) else name


def _ipv4(name: str) -> str:
    """A host that ends in a number is an IPv4 address, in one of its many forms: `127.1`, `0x7f000001`, `017700000001`
    (WHATWG URL, section 3.5: an octal or hexadecimal part, and a last one that fills the rest)."""
    parts = name.split(".")
    if len(parts) > 4 or not all(_NUMBER.fullmatch(part) for part in parts):
        raise Unclear("an IPv4 address of four numbers")
    try:
        numbers = [_integer(part) for part in parts]
        *first, last = numbers
        value = sum(number << (8 * (3 - place)) for place, number in enumerate(first))
        if any(number > 255 for number in first) or last >= 256 ** (5 - len(numbers)):
            raise ValueError
        return str(ipaddress.IPv4Address(value + last))
    except ValueError:
        raise Unclear("an IPv4 address of four numbers") from None


def _integer(part: str) -> int:
    if part[:2] in ("0x", "0X"):
        return int(part[2:] or "0", 16)
    return int(part, 8) if len(part) > 1 and part[0] == "0" else int(part)


def _climbed(text: str) -> str:
    """The path of an address without `.` and `..`."""
    if _TWICE.search(text):
        raise Unclear("an address whose path is encoded once")
    segments: list[str] = []
    parts = _escaped(text).split("/")[1:] or [""]
    for place, part in enumerate(parts):
        pieces = re.split("%2F|%5C", part)
        if "%00" in part or (len(pieces) > 1 and {".", ".."} & set(pieces)):
            raise Unclear("an address whose path has no encoded slash beside '..'")
        if part == "..":
            del segments[-1:]
        elif part != ".":
            segments.append(part)
        if part in (".", "..") and place == len(parts) - 1:
            segments.append("")
    return "/" + "/".join(segments)


def _escaped(text: str) -> str:
    """Escapes in capitals, and only where they are needed; everything else that is no ASCII escaped."""
    return quote(_ESCAPE.sub(_escape, text), safe=_SAFE)


def _escape(found: re.Match[str]) -> str:
    byte = unquote_to_bytes(found.group())
    return byte.decode() if byte[0] in _UNRESERVED else found.group().upper()
