"""Finds known secrets in texts and numbers, as they are and encoded.

A text is read in all the ways of `encoded_text`: as it is, with its escapes resolved (percent, HTML, JSON, octal,
quoted-printable), without its blanks, and decoded from hexadecimal, base64, base32 and octal numbers, one in another.
In each reading the secrets are looked for in one pass each, whatever the case. What is found is looked up in the text
as it was. Base85 is the exception: its characters depend on the text around a secret, so that its whole groups of four
bytes are looked for as Ascii85 and RFC 1924 write them.

A secret that is a number is also found as a number of JSON: `0123456` may come back as `123456` or `1.23456e5`.

What is not found: see `docs/runs.md`, which lists the limits; a test holds each of them, both ways. A secret shorter
than `ENCODED_LENGTH_MIN` is looked for only as it is: its short forms stand everywhere.

Linear in the text. Pure, and knows nothing of results; see `redaction`.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import AnyStr

from ..json import dumps, whole_text
from .encoded_text import Kind, Span, TextReading, packed, readings, unescaped

VALUE_LENGTH_MIN = 4
"""A known secret shorter than this is not looked for: it would be found everywhere."""
ENCODED_LENGTH_MIN = 6
"""A known secret shorter than this is looked for only as it is."""
BEGINNING_LENGTH_MIN = 4
"""The fewest characters that are recognised as the beginning of a secret which the end of a text cuts."""

_CUT_ESCAPE = re.compile(
    rb"(?:(?:[%=][0-9A-Fa-f]{0,2}){1,4}|&#?[A-Za-z0-9]{0,32}|\\(?:u[0-9A-Fa-f]{0,3}|x[0-9A-Fa-f]?|[0-3][0-7]?)?)\Z"
)
"""An escape that goes on behind the end of a text."""
_NUMBER = re.compile(r"\s*([+-]?[0-9]{1,400}(?:\.[0-9]{1,400})?(?:[eE][+-]?[0-9]{1,3})?)\s*", re.ASCII)
_DIGITS_MAX = 400
"""A number with more digits holds no secret that is looked for among numbers."""
_GOES_ON = bytes(range(0x80, 0xC0))
"""The bytes of UTF-8 at which no character begins."""
_TOGETHER_BYTES = 200_000
"""Readings are looked through together up to this size: one look at all of them is cheaper where there are many."""


class SecretMatcher:
    """Finds some secrets, in any of the forms above.

    Args:
        secrets: the secrets.

    Attributes:
        has_numbers: whether a secret is a number.
        reach: the most characters that an encoded secret may take.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        self._plain: dict[str, None] = {}
        self._of_kind: dict[Kind, dict[bytes, None]] = {"plain": {}, "packed": {}, "decoded": {}}
        self._groups: dict[bytes, tuple[bool, bool]] = {}
        self._values: set[float] = set()
        self._digits: list[str] = []
        self.has_numbers = False
        self.reach = 64
        for secret in secrets:
            self.add(secret)

    def add(self, secret: str) -> None:
        """Look for another secret, too."""
        if len(secret) < VALUE_LENGTH_MIN:
            return
        self._plain |= dict.fromkeys((secret, _in_json(secret)))
        self._values.update(_values(secret))
        self.has_numbers = bool(self._values)
        self.reach = max(self.reach, 64 + 6 * len(_bytes(secret)))
        if len(secret) < ENCODED_LENGTH_MIN:
            return
        forms = list(_forms(secret))
        self._of_kind["plain"] |= dict.fromkeys(forms)
        self._of_kind["packed"] |= dict.fromkeys(form for form in map(packed, forms) if len(form) >= ENCODED_LENGTH_MIN)
        self._of_kind["decoded"] |= dict.fromkeys((*forms, *_wide_forms(secret)))
        self._groups |= _base85_forms(secret)
        digits = secret.strip().lstrip("+-0")
        if digits.isdecimal():
            self._digits.append(digits)

    def find(self, text: str, *, beginnings: bool = False) -> list[Span]:
        """Where secrets stand in the text, in order; spans that overlap are one.

        Args:
            text: what to look through.
            beginnings: also the beginning of a secret at the end of the text, which may go on elsewhere.
        """
        found = list(_places(text, self._plain))
        if self._groups and len(text) >= ENCODED_LENGTH_MIN:
            data = _bytes(text)
            spans = list(self._find_read(data))
            found += spans if len(data) == len(text) else _of_characters(data, spans)
        if beginnings and self._groups:
            found += ((begin, len(text)) for begin in self._find_beginnings(text))
        return united(found) if found else found

    def is_in(self, number: float) -> bool:
        """Whether a number is a secret, or its digits hold a secret.

        Args:
            number: a number of JSON; a truth value is none.
        """
        if not self._values or isinstance(number, bool):
            return False
        if number in self._values or -number in self._values:
            return True
        if isinstance(number, int) and number.bit_length() > 4 * _DIGITS_MAX:
            return False
        written = str(number)
        return any(len(digits) >= ENCODED_LENGTH_MIN and digits in written for digits in self._digits)

    def _find_read(self, data: bytes) -> Iterator[Span]:
        for several in _together(readings(data)):
            for kind, needles in self._of_kind.items():
                alike = [reading for reading in several if reading.kind == kind]
                whole = b"\0".join(reading.data for reading in alike).lower()
                for needle in needles:
                    if needle in whole:
                        for reading in alike:
                            yield from map(reading.in_text, _places(reading.data.lower(), (needle,)))
                if kind == "packed":
                    yield from self._find_groups(alike)

    def _find_groups(self, among: list[TextReading]) -> Iterator[Span]:
        whole = b"\0".join(reading.data for reading in among)
        for group, (before, behind) in self._groups.items():
            if group in whole:
                for reading in among:
                    for span in _places(reading.data, (group,)):
                        assert reading.parent is not None
                        yield reading.parent.in_text(_widened(reading, span, before=before, behind=behind))

    def _find_beginnings(self, text: str) -> Iterator[int]:
        """Where a secret begins that the end of the text cuts; at least four of its characters or bytes are there."""
        near = max(0, len(text) - 2 * self.reach)
        last = _bytes(text[near:])
        cut = _CUT_ESCAPE.search(last, max(0, len(last) - 40))
        for whole in (last,) if cut is None else (last, last[: cut.start()]):
            for reading in readings(whole):
                data = reading.data.lower()
                cut = _CUT_ESCAPE.search(data, max(0, len(data) - 40)) if reading.kind == "plain" else None
                for end in {len(data), cut.start() if cut is not None else len(data)}:
                    for needle in self._of_kind[reading.kind]:
                        length = _beginning_at_end(data[:end], needle)
                        if length:
                            begin = reading.in_text((end - length, end - length + 1))[0]
                            yield near + len(last[:begin].decode(errors="replace"))


@lru_cache(maxsize=32)
def matcher(secrets: frozenset[str]) -> SecretMatcher:
    """The matcher of these secrets; made once for each set of them."""
    return SecretMatcher(secrets)


def _together(each: Iterator[TextReading]) -> Iterator[list[TextReading]]:
    """The readings, several small ones at a time."""
    several, size = list[TextReading](), 0
    for reading in each:
        several.append(reading)
        size += len(reading.data)
        if size > _TOGETHER_BYTES:
            yield several
            several, size = [], 0
    yield several


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _of_characters(data: bytes, spans: list[Span]) -> list[Span]:
    """Spans of characters, of spans of bytes in UTF-8."""
    begun: dict[int, int] = {}  # how many characters begin before a byte
    last, count = 0, 0
    for at in sorted({place for begin, end in spans for place in (begin + 1, end)}):
        count += len(data[last:at].translate(None, _GOES_ON))
        last, begun[at] = at, count
    return [(begun[begin + 1] - 1, begun[end]) for begin, end in spans]


def _values(secret: str) -> Iterator[float]:
    """What a JSON reader may have made of a secret that is a number, without its sign."""
    found = _NUMBER.fullmatch(secret)
    if found is not None:
        value = abs(float(found[1]))
        if math.isfinite(value) and value:
            yield value
        if found[1].lstrip("+-").isdecimal():
            yield abs(int(found[1]))


def _in_json(secret: str) -> str:
    return dumps(whole_text(secret))[1:-1]


def _cases(secret: str) -> list[str]:
    """The secret, and what it is in capitals and in small letters where it has letters that ASCII has not."""
    return [secret] if secret.isascii() else list(dict.fromkeys((secret, secret.lower(), secret.upper())))


def _forms(secret: str) -> Iterator[bytes]:
    """What a reading that holds the secret may hold, in small letters: a secret may look like an escape itself."""
    for case in _cases(secret):
        yield _in_json(case).encode().lower()
        yield _in_latin(case).lower()
        for reading in unescaped(_bytes(case)):
            if len(reading.data) >= ENCODED_LENGTH_MIN:
                yield reading.data.lower()
                yield reading.data.replace(b" ", b"+").lower()  # of a form


def _in_latin(secret: str) -> bytes:
    """The secret as `\\xfc` and `%fc` write it where they mean characters and not bytes of UTF-8."""
    return b"".join(bytes([ord(sign)]) if ord(sign) < 256 else _bytes(sign) for sign in secret)


def _wide_forms(secret: str) -> Iterator[bytes]:
    for case in _cases(secret):
        yield case.encode("utf-16-le", "surrogatepass").lower()
        yield case.encode("utf-16-be", "surrogatepass").lower()


def _base85_forms(secret: str) -> Iterator[tuple[bytes, tuple[bool, bool]]]:
    """The whole groups of four bytes in the secret, in both alphabets, for each position that its first byte may have
    in a group. Each comes with whether the group before, and the group behind, holds more of the secret.
    """
    for data in dict.fromkeys((_bytes(secret), _bytes(secret.lower()), _bytes(secret.upper()))):
        for ahead in range(4):
            inside = data[ahead : ahead + (len(data) - ahead) // 4 * 4]
            if inside:
                ends = ahead > 0, ahead + len(inside) < len(data)
                yield base64.a85encode(inside), ends
                yield base64.b85encode(inside), ends


def _widened(reading: TextReading, span: Span, *, before: bool, behind: bool) -> Span:
    """Where groups of base85 stand in what was packed, with the groups beside them that hold more of the secret."""
    assert reading.parent is not None
    begin, end = reading.in_parent(span)
    data = reading.parent.data
    least, most = begin - 5 if before else begin, end + 5 if behind else end
    while begin > max(0, least) and 32 < data[begin - 1] < 127:
        begin -= 1
    while end < min(most, len(data)) and 32 < data[end] < 127:
        end += 1
    return begin, end


def _beginning_at_end(text: bytes, form: bytes) -> int:
    """How many bytes of the form's beginning stand at the end of the text; 0 for fewer than the least."""
    at = max(0, len(text) - len(form) + 1)
    while (at := text.find(form[:BEGINNING_LENGTH_MIN], at)) >= 0:
        if form.startswith(text[at:]):
            return len(text) - at
        at += 1
    return 0


def _places(text: AnyStr, forms: Iterable[AnyStr]) -> Iterator[Span]:
    for form in forms:
        at = text.find(form)
        while at >= 0:
            yield at, at + len(form)
            at = text.find(form, at + len(form))


def united(spans: list[Span]) -> list[Span]:
    """The spans in order; those that overlap are one."""
    whole: list[Span] = []
    for begin, end in sorted(spans):
        if whole and begin < whole[-1][1]:
            whole[-1] = (whole[-1][0], max(whole[-1][1], end))
        else:
            whole.append((begin, end))
    return whole
