"""Paths and addresses in one form: what is checked is, letter by letter, what a tool gets.

`/data/./a`, `HTTP://127.1:80/` and `http://127.0.0.1/` are each written out. What two readers could take for two
things is refused: an encoded slash, a name and password in an address, a backslash, a `..` that leads out.

`plain_path` and everything on addresses are functions of the text alone; `path`, `under` and `leads_inside` look at the
file system for symbolic links. Limits: a link that is made after the look is not seen (`actum.kinds.open_under` holds
then), and names of hosts are not looked up: a public name may lead to a private address, which only the code that
connects can see.
"""

from __future__ import annotations

import ipaddress
import os
import posixpath
import re
import unicodedata
from urllib.parse import SplitResult, quote, unquote_to_bytes, urlsplit, urlunsplit

from . import address_space

PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21}
"""Schemes that need a host, with the port that need not be said."""

HOST_MAX = 253
NAME_BYTES_MAX = 255
PATH_BYTES_MAX = 4095
"""What Linux takes as the name of a file and as a whole path."""
PATH_CHARS_MAX = 4 * PATH_BYTES_MAX
"""A path that is written with more characters is refused unread, though it may be short without its `.` and `..`."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_ENCODED = re.compile(r"%(?:25)*(?:2e|2f|5c|00)", re.IGNORECASE)
_TWICE = re.compile(r"%(?:25)+(?:2e|2f|5c|00)", re.IGNORECASE)
_ESCAPE = re.compile(r"%[0-9a-fA-F]{2}")
_STRAY = re.compile(r"%(?![0-9a-fA-F]{2})")
_ENCODED_CONTROL = re.compile(r"%(?:[01][0-9A-F]|7F)")
_AUTHORITY = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([^\[\]:@%]+))(?::([0-9]{0,5}))?")
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]+")
_HOST = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?")
_TWO_READINGS = frozenset("ßςẞ\u200c\u200d")
"""Characters of a host that the two generations of IDNA read as two names."""
_SLASHES = frozenset("/\\\u2044\u2215\u2571\u29f8\u29f5")
"""What is a slash, or looks like one and is no letter."""
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_SAFE = "!$&'()*+,;=:@/%-._~?"


class Unclear(ValueError):
    """It can not be written in one way only; the message says what would do."""


# Paths. ---------------------------------------------------------------------------------------------------------------


def plain_path(text: str) -> str:
    """A path without `.`, `..` and needless slashes, by its text alone; one that is relative stays so.

    `a/../b` becomes `b` even where `a` is a link that leads elsewhere: the tool gets `b`, in which nothing climbs.

    Args:
        text: with `/` between the names.

    Raises:
        Unclear: it climbs above where it begins, begins with `~` or a drive, holds a backslash, a control character,
            an encoded dot or slash, a look-alike of one, or is longer than a file system takes.

    >>> plain_path("notes/./2026//../todo.txt")
    'notes/todo.txt'
    """
    if len(text) > PATH_CHARS_MAX:
        raise Unclear(f"a path of at most {PATH_BYTES_MAX} bytes")
    if not text or _CONTROL.search(text):
        raise Unclear("a path without control characters")
    if "\\" in text or re.match(r"[A-Za-z]:(?:/|$)", text):
        raise Unclear("a path with / between its names, and no drive")
    if text.startswith("~"):
        raise Unclear("a path that does not begin with ~")
    if _ENCODED.search(text):
        raise Unclear("a path whose dots and slashes are not encoded")
    names: list[str] = []
    for name in text.split("/"):
        if name == "..":
            if not names:
                raise Unclear("a path that does not lead above where it begins")
            names.pop()
        elif name not in ("", "."):
            names.append(_file_name(name))
    found = ("/" if text.startswith("/") else "") + "/".join(names)
    if found.startswith("~"):  # what stood before it is gone by now
        raise Unclear("a path that does not begin with ~")
    if len(found.encode()) > PATH_BYTES_MAX:
        raise Unclear(f"a path of at most {PATH_BYTES_MAX} bytes")
    return found or "."


def _file_name(name: str) -> str:
    if len(name.encode()) > NAME_BYTES_MAX:
        raise Unclear(f"file names of at most {NAME_BYTES_MAX} bytes")
    plain = unicodedata.normalize("NFKC", name)
    if _SLASHES & set(plain) or not plain.strip(". "):
        raise Unclear("file names without look-alikes of dots and slashes")
    return name


def is_inside(text: str, folder: str) -> bool:
    """Whether a path is this folder or lies in it, by the text of both, which are plain and absolute."""
    return text == folder or text.startswith(folder.rstrip("/") + "/")


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
    if len(text) > PATH_CHARS_MAX:
        raise Unclear(f"a path of at most {PATH_BYTES_MAX} bytes")
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
    return _led(text)


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
    return is_inside(inner, outer)


def leads_inside(text: str, folder: str) -> bool:
    """Whether an absolute path lies in a folder once every symbolic link of this moment is followed.

    Raises:
        Unclear: the file system can not say.
    """
    return is_inside(_led(text), _led(folder))


def _led(text: str) -> str:
    """Where a path leads: absolute, every symbolic link followed. What does not exist is taken as it is written."""
    try:
        return os.path.realpath(text)
    except (OSError, ValueError):
        raise Unclear("a path that can be looked up") from None


def joined(folder: str, text: str) -> str:
    """A plain path seen from a folder; one that is absolute stays as it is."""
    return posixpath.normpath(posixpath.join(folder, text))


# Addresses. -----------------------------------------------------------------------------------------------------------


def url(text: object) -> str:
    """An address: scheme and host in lower case, the host in ASCII, no default port, no `.` and `..` in its path, no
    needless escapes.

    Raises:
        Unclear: what it means depends on who reads it.

    >>> url("HTTP://EXAMPLE.com:80/a/%2e%2E/b?q=ü")
    'http://example.com/b?q=%C3%BC'
    """
    if not isinstance(text, str) or " " in text or "\\" in text or _CONTROL.search(text):
        raise Unclear("an address without blanks, backslashes and control characters")
    if _STRAY.search(text):
        raise Unclear("an address with two hexadecimal digits after each %")
    try:
        parts = urlsplit(text)
    except ValueError:
        raise Unclear("an address with a host and a port") from None
    scheme = parts.scheme.lower()
    if not scheme:
        raise Unclear("an address that begins with its scheme, such as https://")
    if not parts.netloc and scheme in PORTS:
        raise Unclear("an address with a host")
    if not parts.netloc and not parts.path.startswith("/"):  # mailto:, urn:
        return f"{scheme}:{text[len(scheme) + 1 :]}"
    place = _place(parts.netloc, scheme) if parts.netloc else ""
    return urlunsplit((scheme, place, _climbed(parts.path), _escaped(parts.query), _escaped(parts.fragment)))


def split(address: str) -> tuple[SplitResult, str]:
    """The parts of an address that `url` wrote, and its host: a name in ASCII, or an IP address without brackets."""
    parts = urlsplit(address)
    return parts, parts.hostname or ""


def host(text: object) -> str:
    """The host of an address, as `url` writes it.

    Raises:
        Unclear: it has none, or is unclear.

    >>> host("https://0x7f.1:8080/x")
    '127.0.0.1'
    """
    _, name = split(url(text))
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
    return host_name(name)


def host_name(name: str) -> str:
    """A host in its one form: a name in lower case and ASCII, or an IP address.

    Raises:
        Unclear: it is neither, or can be read as two.

    >>> host_name("Bücher.example."), host_name("0x7f.1")
    ('xn--bcher-kva.example', '127.0.0.1')
    """
    if ":" in name:
        try:
            number = ipaddress.IPv6Address(name)
        except ValueError:
            raise Unclear("an address with a host") from None
        if number.scope_id:
            raise Unclear("an address without a zone")
        return str(address_space.plain(number))
    if "%" in name or (_TWO_READINGS | _SLASHES) & set(name) or len(name) > HOST_MAX:
        raise Unclear("a host that can be read in one way only")
    try:
        name = name.encode("idna").decode().lower().removesuffix(".")
    except UnicodeError:
        raise Unclear("a host that is a name or an address") from None
    if not _HOST.fullmatch(name) or ".." in name:
        raise Unclear("a host that is a name or an address")
    return _ipv4(name) if _NUMBER.fullmatch(name.rpartition(".")[2]) else name


_INDOORS = (".localhost", ".local", ".localdomain", ".internal", ".intranet", ".lan", ".home.arpa", ".onion")


def is_public(name: str) -> bool:
    """Whether a host may be one of the open internet: no private, loopback, link-local or reserved address, also not
    one inside of an IPv6 address, and no name that is only known indoors.

    A name is not looked up. The code that connects should ask this again of the address that the name has led to.

    Args:
        name: as `host_name` writes it.

    >>> is_public("example.org"), is_public("169.254.169.254"), is_public("localhost")
    (True, False, False)
    """
    try:
        number = ipaddress.ip_address(name)
    except ValueError:
        return "." in name and not name.endswith(_INDOORS)
    return address_space.is_public(number)


def _place(netloc: str, scheme: str) -> str:
    """Host and port of an address."""
    if "@" in netloc:
        raise Unclear("an address without a user and password")
    found = _AUTHORITY.fullmatch(netloc)
    if found is None or int(found[3] or 0) > 65535:
        raise Unclear("an address with a host and a port")
    name = host_name(found[1] or found[2])
    place = f"[{name}]" if ":" in name else name
    return f"{place}:{int(found[3])}" if found[3] and int(found[3]) != PORTS.get(scheme) else place


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
        if _ENCODED_CONTROL.search(part) or (len(pieces) > 1 and {".", ".."} & set(pieces)):
            raise Unclear("an address whose path has no encoded slash beside '..', and no control characters")
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
