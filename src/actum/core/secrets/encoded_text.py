"""The readings of a text: its bytes, and what they say once escapes are resolved and encodings are decoded.

    for reading in readings(b"key: cG93ZXI="):
        ...                                   # one of them holds b"power", and knows where that came from

A reading is made of the whole text at once and decodes whatever is there: whether something was encoded can not be
told from its looks. What lies between the characters of an encoding (blanks, line breaks, marks) is passed over, and
each alignment of bits is one reading, since an encoded word may begin anywhere. What a decoded reading says is read
again, so that one encoding is found inside another.

All work is linear: a bounded number of passes that run in C, and `NESTED_SHARE` bounds what is read again. Pure, and
knows nothing of secrets; see `secret_matcher`.
"""

from __future__ import annotations

import binascii
import html
import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from itertools import accumulate, compress
from math import gcd
from typing import Literal

from msgspec import Struct

Span = tuple[int, int]
Kind = Literal["plain", "packed", "decoded"]

UNESCAPE_MAX = 4
"""How many levels of nested escapes are resolved."""
NESTED_MAX = 2
"""How many levels of nested encodings are decoded."""
NESTED_SHARE = 4
"""The most decoded text that is read again, as a multiple of the text's length; of a short text all is read."""
_NESTED_LEAST, _NESTED_COST = 20_000, 256
"""The least share, which short texts are allowed, and the least size that each reading counts for: a short reading
takes as many steps."""

_HEX = b"[0-9A-Fa-f]"
_PERCENT = b"%" + _HEX + b"{2}"
_HTML = rb"&(?:#[xX][0-9A-Fa-f]{1,6}|#[0-9]{1,7}|[A-Za-z][A-Za-z0-9]{1,31});?"
_BACKSLASH = (
    rb"\\(?:u[Dd][89ABab]%b{2}\\u[Dd][C-Fc-f]%b{2}|u%b{4}|u\{%b{1,6}\}|U00(?:0%b|10)%b{4}|x%b{2}|[0-3][0-7]{2}"
    rb"|[\"'\\/bfnrt])"
).replace(b"%b", _HEX)
_QUOTED = b"=(?:" + _HEX + b"{2}|\r?\n)"
_SINGLE = {
    sign: re.compile(b"(%b)" % escape) for sign, escape in ((b"%", _PERCENT), (b"&", _HTML), (b"\\", _BACKSLASH))
}
_ANY_ESCAPE = re.compile(b"(%b)" % b"|".join((_PERCENT, _HTML, _BACKSLASH)))
_QUOTED_PRINTABLE = re.compile(b"(%b)" % _QUOTED)  # by itself: `key=ab12` looks like it
_LETTERS = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}

_BLANK = b" \t\n\r\v\f"
_SPREAD = bytes(set(range(0x20)) | {0x7F} | set(_BLANK))
"""Blanks, line breaks and the other control characters: a terminal shows nothing in their place."""
_UNSEEN_IN_UTF8 = (
    (re.compile(rb"\xc2[\x80-\xa0\xad]|\xcd\x8f|\xd8\x9c"), b"  "),
    (
        re.compile(
            rb"\xe2\x80[\x80-\x8f\xa8-\xaf]|\xe2\x81[\x9f-\xaf]|\xe3\x80\x80|\xe3\x85\xa4|\xef\xbb\xbf|\xef\xb8[\x80-\x8f]"
            rb"|\xef\xbe\xa0|\xef\xbf[\xb0-\xbb]|\xe1\xa0[\x8b-\x8f]|\xe1\x85[\x9f\xa0]|\xe1\x9a\x80|\xe1\x9e[\xb4\xb5]"
        ),
        b"   ",
    ),
    (re.compile(rb"\xf3\xa0[\x80-\x87][\x80-\xbf]|\xf0\x9d\x85[\xb3-\xba]|\xf0\x9b\xb2[\xa0-\xa3]"), b"    "),
)
"""What Unicode calls white space, control characters and "default ignorable": marks of direction, selectors of
variations, fillers, tags and joiners that nobody sees.
"""


class Encoding(Struct, frozen=True):
    """How bytes are written in an alphabet, where each character stands for `bits` bits.

    Attributes:
        bits: bits of one character.
        least: the least number of characters; fewer hold no secret that is looked for.
        table: maps the characters of all spellings to those that `number` reads.
        others: the bytes that are not in the alphabet.
        number: reads characters as one number.
    """

    bits: int
    least: int
    table: bytes
    others: bytes
    number: Callable[[bytes], int]


def _of_digits(base: int) -> Callable[[bytes], int]:
    return lambda kept: int(kept, base)


def _of_base64(kept: bytes) -> int:
    missing = -len(kept) % 4
    return int.from_bytes(binascii.a2b_base64(kept + b"A" * missing), "big") >> 6 * missing


def _encoding(bits: int, least: int, alphabet: bytes, read: bytes, number: Callable[[bytes], int]) -> Encoding:
    others = bytes(set(range(256)) - set(alphabet))
    return Encoding(bits, least, bytes.maketrans(alphabet, read), others, number)


_UPPER, _LOWER = bytes(range(65, 91)), bytes(range(97, 123))
_DIGITS = b"0123456789"
_OF_32 = _DIGITS + _LOWER[:22]
ENCODINGS = (
    _encoding(4, 8, _DIGITS + b"abcdefABCDEF", _DIGITS + b"abcdef" * 2, _of_digits(16)),
    _encoding(6, 6, _UPPER + _LOWER + _DIGITS + b"+/-_", _UPPER + _LOWER + _DIGITS + b"+/+/", _of_base64),
    _encoding(5, 7, _UPPER + b"234567" + _LOWER, _OF_32 + _OF_32[:26], _of_digits(32)),
    _encoding(5, 7, _DIGITS + _LOWER[:22] + _UPPER[:22], _OF_32 + _OF_32[10:], _of_digits(32)),
)
"""Hexadecimal, base64 and base32, with both alphabets each of the latter two, in both cases where case means nothing.
"""

_NOT_OCTAL = bytes(set(range(256)) - set(b"01234567"))
_OCTAL_LEAST = 12
_OCTAL = bytes.maketrans(b"01234567", bytes(range(8)))
_HUNDREDS = bytes(value if value < 4 else 0 for value in range(256))

_IN_RUNS = _UPPER + _LOWER + _DIGITS + b"+/-_=%&\\#;:,{}\0" + _BLANK  # zeros: UTF-16
_RUNS = bytes(120 if byte in _IN_RUNS else 10 for byte in range(256))
_RUN_LEAST = 8


class TextReading:
    """What a text says, read in one way.

    Args:
        data: what it says.
        kind: `plain` for the text and for one whose escapes are resolved, `packed` where blanks are taken out,
            `decoded` for the bytes of an encoding.
        parent: what it was read from; None for the text itself.
        origin: finds the place of a span in the parent.
    """

    __slots__ = ("_origin", "data", "kind", "parent")

    def __init__(
        self,
        data: bytes,
        kind: Kind = "plain",
        parent: TextReading | None = None,
        origin: Callable[[Span], Span] | None = None,
    ) -> None:
        self.data = data
        self.kind = kind
        self.parent = parent
        self._origin = origin

    def in_parent(self, span: Span) -> Span:
        """The place of a span in the reading that this one was made from."""
        return span if self._origin is None else self._origin(span)

    def in_text(self, span: Span) -> Span:
        """The place of a span in the text."""
        span = self.in_parent(span)
        return span if self.parent is None else self.parent.in_text(span)


def readings(text: bytes) -> Iterator[TextReading]:
    """All readings of a text, the text itself first.

    Args:
        text: in UTF-8.
    """
    left = [max(_NESTED_LEAST, NESTED_SHARE * len(text))]
    yield from _readings(TextReading(text), NESTED_MAX, left)


def unescaped(text: bytes) -> Iterator[TextReading]:
    """The text, then the text with each kind of escape resolved, and with all kinds, again and again."""
    return (reading for reading, _ in _unescaped(TextReading(text)))


def _readings(reading: TextReading, depth: int, left: list[int]) -> Iterator[TextReading]:
    for plain, is_whole in _unescaped(reading):
        yield plain
        if is_whole:
            yield _packed(plain)
            for decoded in _decoded(plain):
                yield decoded
                runs = _runs(decoded, left) if depth else None
                if runs is not None:
                    yield from _readings(runs, depth - 1, left)


def _unescaped(reading: TextReading) -> Iterator[tuple[TextReading, bool]]:
    """The readings, each with whether all its escapes are taken alike: only such ones are decoded."""
    yield reading, True
    data = reading.data
    kinds = [escape for sign, escape in _SINGLE.items() if sign in data]
    for escape in kinds if len(kinds) > 1 else ():
        one = _resolved(reading, escape)
        if one is not None:
            yield one, False
    last = reading
    for following in _chain(reading):
        yield following, True
        last = following
    for begun in {id(each): each for each in (reading, last)}.values():
        quoted = _resolved(begun, _QUOTED_PRINTABLE) if b"=" in begun.data else None
        if quoted is not None:
            yield quoted, True
            yield from ((following, True) for following in _chain(quoted))


def _chain(reading: TextReading) -> Iterator[TextReading]:
    """The reading with all its escapes resolved, again and again."""
    for _ in range(UNESCAPE_MAX):
        following = _resolved(reading, _ANY_ESCAPE)
        if following is None:
            return
        yield following
        reading = following


def _resolved(reading: TextReading, escape: re.Pattern[bytes]) -> TextReading | None:
    """The reading with these escapes resolved; None where that changes nothing."""
    before = reading.data
    parts = escape.split(before)  # by turns what is kept and an escape
    if len(parts) == 1:
        return None
    meanings = {each: _meaning(each) for each in set(parts[1::2])}
    meant = parts.copy()
    meant[1::2] = [meanings[each] for each in parts[1::2]]
    told = b"".join(meant)
    return None if told == before else TextReading(told, "plain", reading, _Stretches(parts, meant).origin)


class _Stretches:
    """Where the stretches of a text begin whose escapes were resolved; looked up when somebody asks.

    Args:
        before: by turns what was kept and an escape.
        after: the same, with what each escape stands for.
    """

    def __init__(self, before: list[bytes], after: list[bytes]) -> None:
        self._before, self._after = before, after
        self._begins: list[int] = []
        self._origins: list[int] = []

    def origin(self, span: Span) -> Span:
        if not self._begins:
            self._begins = [0, *accumulate(map(len, self._after))]
            self._origins = [0, *accumulate(map(len, self._before))]
        return self._of(span[0])[0], self._of(span[1] - 1)[1]

    def _of(self, at: int) -> Span:
        """What a byte stood for: a whole escape, or itself."""
        place = bisect_right(self._begins, at) - 1
        if place % 2:
            return self._origins[place], self._origins[place + 1]
        begin = self._origins[place] + at - self._begins[place]
        return begin, begin + 1


def _meaning(escape: bytes) -> bytes:
    """The bytes that an escape stands for."""
    sign, rest = escape[:1], escape[1:]
    if sign in b"%=":
        return bytes.fromhex(rest.decode()) if rest.strip() else b""
    if sign == b"&":
        return _in_utf8(_character(rest.rstrip(b";")))
    if rest[:2] == b"u{" or rest[:1] == b"U":
        return _in_utf8(_coded(int(rest[1:].strip(b"{}"), 16)))
    if rest[:1] == b"u":
        codes = [int(code, 16) for code in rest[1:].split(b"\\u")]
        if len(codes) == 1:
            return _in_utf8(chr(codes[0]))
        return _in_utf8(b"".join(code.to_bytes(2, "little") for code in codes).decode("utf-16-le"))
    if rest[:1] == b"x":
        return bytes.fromhex(rest[1:].decode())
    if rest.isdigit():
        return bytes([int(rest, 8)])
    return _LETTERS.get(rest, rest)


def _character(name: bytes) -> str:
    """The character of an HTML reference, also of one that HTML does not allow."""
    if name[:1] != b"#":
        return html.unescape(f"&{name.decode()};")
    digits = name[1:].lower()
    code = int(digits[1:], 16) if digits[:1] == b"x" else int(digits)
    return _coded(code)


def _coded(code: int) -> str:
    return chr(code) if code < 0xD800 or 0xDFFF < code < 0x110000 else "\ufffd"


def _in_utf8(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def packed(text: bytes) -> bytes:
    """A text in UTF-8 without blanks, line breaks, control characters and characters without width."""
    return _with_plain_blanks(text).translate(None, _SPREAD)


def _with_plain_blanks(data: bytes) -> bytes:
    if not data.isascii():
        for unseen, spaces in _UNSEEN_IN_UTF8:
            data = unseen.sub(spaces, data)
    return data


def _packed(reading: TextReading) -> TextReading:
    """The reading without blanks, line breaks, control characters and characters without width."""
    data = _with_plain_blanks(reading.data)
    kept = data.translate(None, _SPREAD)
    return TextReading(kept, "packed", reading, _Kept(data, _SPREAD).origin)


class _Kept:
    """Where the bytes of a text stand that are left when others are taken out; looked up when somebody asks."""

    def __init__(self, data: bytes, others: bytes) -> None:
        self._data, self._others = data, others
        self._places: array[int] | None = None

    def origin(self, span: Span) -> Span:
        if self._places is None:
            kept = self._data.translate(_mask(self._others))
            self._places = array("Q", compress(range(len(self._data)), kept))
        return self._places[span[0]], self._places[span[1] - 1] + 1


@lru_cache(8)
def _mask(others: bytes) -> bytes:
    return bytes(byte not in others for byte in range(256))


def _decoded(reading: TextReading) -> Iterator[TextReading]:
    """What the reading says in each encoding, at each alignment."""
    data = reading.data
    for encoding in ENCODINGS:
        source = data.replace(b"0x", b"  ") if encoding.bits == 4 else data
        kept = source.translate(encoding.table, encoding.others)
        if len(kept) >= encoding.least:
            yield from _by_bits(reading, encoding, kept, _Kept(source, encoding.others))
    kept = data.translate(_OCTAL, _NOT_OCTAL)
    if len(kept) >= _OCTAL_LEAST:
        yield from _by_threes(reading, kept, _Kept(data, _NOT_OCTAL))


def _by_bits(reading: TextReading, encoding: Encoding, kept: bytes, places: _Kept) -> Iterator[TextReading]:
    number, length = encoding.number(kept), len(kept)
    width = -(-encoding.bits * length // 8)
    data = reading.data

    def origin(shift: int, span: Span) -> Span:
        low, high = (width - span[1]) * 8 + shift, (width - 1 - span[0]) * 8 + shift + 7
        first = max(0, length - 1 - high // encoding.bits)
        begin, end = places.origin((first, length - low // encoding.bits))
        while end < len(data) and data[end] == 61:  # the padding, `=`
            end += 1
        return begin, end

    for shift in range(0, 8, gcd(encoding.bits, 8)):
        told = (number >> shift).to_bytes(width, "big")
        yield TextReading(told, "decoded", reading, partial(origin, shift))


def _by_threes(reading: TextReading, kept: bytes, places: _Kept) -> Iterator[TextReading]:
    """Octal numbers of three digits each, as `\\150\\151` and `150 151` write them."""

    def origin(ahead: int, span: Span) -> Span:
        return places.origin((ahead + 3 * span[0], ahead + 3 * span[1]))

    for ahead in range(3):
        count = (len(kept) - ahead) // 3
        planes = [kept[ahead + place :: 3][:count] for place in range(3)]
        hundreds, eights, ones = (
            int.from_bytes(plane, "big") for plane in (planes[0].translate(_HUNDREDS), planes[1], planes[2])
        )
        told = (hundreds * 64 + eights * 8 + ones).to_bytes(count, "big")  # no byte carries: 3 * 64 + 7 * 8 + 7 = 255

        yield TextReading(told, "decoded", reading, partial(origin, ahead))


def _runs(reading: TextReading, left: list[int]) -> TextReading | None:
    """The stretches that may be encoded themselves, as one text; None where there are none, or no room for them."""
    data = reading.data
    told, at = data.translate(_RUNS), 0
    begins, pieces = list[int](), list[bytes]()
    while (at := told.find(b"x" * _RUN_LEAST, at)) >= 0:
        end = told.find(b"\n", at)
        end = len(told) if end < 0 else end
        begins.append(at)
        pieces.append(data[at:end])
        at = end
    if not pieces:
        return None
    joined = b"\0".join(pieces)
    left[0] -= max(len(joined), _NESTED_COST)
    return TextReading(joined, "plain", reading, _Pieces(begins, pieces).origin) if left[0] >= 0 else None


class _Pieces:
    """Where the pieces of another text stand in a text, with one byte between two of them."""

    def __init__(self, begins: list[int], pieces: list[bytes]) -> None:
        self._begins, self._pieces = begins, pieces
        self._joined: list[int] = []

    def origin(self, span: Span) -> Span:
        if not self._joined:
            self._joined = [at + number for number, at in enumerate(accumulate(map(len, self._pieces), initial=0))]
        return self._of(span[0]), self._of(span[1] - 1) + 1

    def _of(self, at: int) -> int:
        place = min(bisect_right(self._joined, at), len(self._pieces)) - 1
        return self._begins[place] + at - self._joined[place]
