"""Finds known secrets in texts and numbers, as they are and encoded: base64, percent, form, hexadecimal, HTML, JSON.

Two ways, by what an encoding allows:

- Base64 and hexadecimal write the same bytes always alike, but for where the secret begins in a group of three bytes,
  the alphabet, the case, and white space between. So these forms are written down once for each secret and looked for.
- Percent, HTML and JSON escapes let the writer choose what to escape. So the text is unescaped, up to four times, and
  searched anew; what is found there is looked up in the text as it was.

A secret that is a number is also found as a number of JSON: `0123456` may come back as `123456` or `1.23456e5`.

A secret shorter than `ENCODED_LENGTH_MIN` is looked for only as it is: its short forms stand everywhere. What was
compressed, encrypted, spelled backwards, cut into fields, or encoded twice in base64 or in another way is not found.

Linear in the text: a bounded number of plain searches. Pure, and knows nothing of results; see `redaction`.
"""

from __future__ import annotations

import base64
import html
import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache

from msgspec import Struct

from .json import dumps, whole_text

VALUE_LENGTH_MIN = 4
"""A known secret shorter than this is not looked for: it would be found everywhere."""
ENCODED_LENGTH_MIN = 6
"""A known secret shorter than this is looked for only as it is."""
DEPTH_MAX = 4
"""A text is unescaped so many times."""

_STANDARD = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_HEX = "[0-9A-Fa-f]"
_TAIL = "%[89ABab]" + _HEX
_PERCENT = (  # a whole character of UTF-8
    f"%[0-7]{_HEX}|%[CDcd]{_HEX}{_TAIL}|%[Ee]{_HEX}(?:{_TAIL}){{2}}|%[Ff][0-7](?:{_TAIL}){{3}}"
)
_HTML = r"&(?:\#[xX][0-9A-Fa-f]{1,6}|\#[0-9]{1,7}|[A-Za-z][A-Za-z0-9]{1,31});?"
_JSON = (
    rf"\\(?:u[Dd][89ABab]{_HEX}{{2}}\\u[Dd][C-Fc-f]{_HEX}{{2}}|u{_HEX}{{4}}|x{_HEX}{{2}}"
    r"""|["'\\/bfnrt])"""
)
_ESCAPES = {sign: re.compile(escape) for sign, escape in {"%": _PERCENT, "&": _HTML, "\\": _JSON}.items()}
_ANY_ESCAPE = re.compile("|".join((_PERCENT, _HTML, _JSON)))
_CUT_ESCAPE = re.compile(
    r"(?:(?:%[0-9A-Fa-f]{0,2}){1,4}|&\#?[A-Za-z0-9]{0,32}|\\(?:u[0-9A-Fa-f]{0,3}|x[0-9A-Fa-f]?)?|\ufffd)\Z"
)
"""An escape that goes on behind the end of a text."""
_NUMBER = re.compile(r"\s*([+-]?[0-9]{1,400}(?:\.[0-9]{1,400})?(?:[eE][+-]?[0-9]{1,3})?)\s*", re.ASCII)
_DIGITS_MAX = 400
"""A number with more digits holds no secret that is looked for among numbers."""
_LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}

Span = tuple[int, int]


class _Form(Struct, frozen=True):
    """A secret in base64 or hexadecimal.

    Attributes:
        core: the characters that depend on the secret alone, to be found in a text without white space.
        before, after: the characters that may stand for its first and last bits, where it shares them with others.
        is_hex: which of the two.
    """

    core: str
    before: str = ""
    after: str = ""
    is_hex: bool = False

    def pattern(self) -> re.Pattern[str]:
        """Finds the form in a text with white space."""
        gap = r"[\s:-]*+" if self.is_hex else r"\s*+"
        core = gap.join(_any_of(each, is_hex=self.is_hex) for each in self.core)
        before = f"(?:{_any_of(self.before)}{gap})?" if self.before else ""
        after = f"(?:{gap}{_any_of(self.after)})?(?:{gap}=){{0,2}}" if self.after else ""
        return re.compile(before + core + after)

    def last(self, text: str, length: int) -> int:
        """Where so many characters of the core begin that stand at the end of a text with white space."""
        for at in range(len(text) - 1, -1, -1):
            if not (text[at].isspace() or (self.is_hex and text[at] in ":-")):
                length -= 1
            if not length:
                is_shared = at and self.before and re.match(_any_of(self.before), text[at - 1])
                return at - 1 if is_shared else at
        return 0


class SecretMatcher:
    """Finds some secrets, in any of the forms above.

    Args:
        secrets: the secrets.

    Attributes:
        has_numbers: a secret is a number.
        reach: over so many characters a secret, encoded, may be spread.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        known = sorted({secret for secret in secrets if len(secret) >= VALUE_LENGTH_MIN}, key=len, reverse=True)
        long = [secret for secret in known if len(secret) >= ENCODED_LENGTH_MIN]
        self._open = list(dict.fromkeys(form for secret in long for form in _unescaped_forms(secret)))
        plain = [form for secret in known for form in (secret, _in_json(secret))]
        self._plain = list(dict.fromkeys([*plain, *self._open]))
        self._coded = list(dict.fromkeys(form for secret in long for form in _coded_forms(secret)))
        self._patterns: dict[_Form, re.Pattern[str]] = {}
        self._values = {value for secret in known for value in _values(secret)}
        self._digits = [digits for secret in long if (digits := secret.strip().lstrip("+-0")).isdecimal()]
        self.has_numbers = bool(self._values)
        self.reach = 64 + 6 * max((len(secret.encode(errors="replace")) for secret in known), default=0)

    def find(self, text: str, *, beginnings: bool = False) -> list[Span]:
        """Where secrets stand in the text, in order; spans that overlap are one.

        Args:
            text: what to look through.
            beginnings: also the beginning of a secret at the end of the text, which may go on elsewhere.
        """
        found = list(_places(text, self._plain))
        for view in _views(text) if self._open else ():
            found += map(view.in_text, self._find_coded(view.text))
            if view.before is not None:
                found += map(view.in_text, _places(view.text, self._open))
        if beginnings and self._open:
            found += ((begin, len(text)) for begin in self._find_beginnings(text))
        return _united(found) if found else found

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

    def _find_coded(self, text: str) -> Iterator[Span]:
        packed = "".join(text.split())
        in_base64 = packed.replace("-", "+").replace("_", "/")
        in_hex = packed.replace(":", "").replace("-", "").lower()
        for form in self._coded:
            if form.core in (in_hex if form.is_hex else in_base64):
                yield from (match.span() for match in self._pattern(form).finditer(text))

    def _find_beginnings(self, text: str) -> Iterator[int]:
        """Where a secret begins that the end of the text cuts; at least four of its characters or bytes are there."""
        near = max(0, len(text) - 2 * self.reach)
        last = text[near:]
        cut = _CUT_ESCAPE.search(last, max(0, len(last) - 40))
        for whole in (last,) if cut is None else (last, last[: cut.start()]):
            for view in _views(whole):
                cut = _CUT_ESCAPE.search(view.text, max(0, len(view.text) - 40))
                for end in {len(view.text), cut.start() if cut is not None else len(view.text)}:
                    for begin in self._beginnings_before(view.text[:end]):
                        yield near + view.in_text((begin, begin + 1))[0]

    def _beginnings_before(self, text: str) -> Iterator[int]:
        packed = "".join(text.split())
        in_base64 = packed.replace("-", "+").replace("_", "/")
        in_hex = packed.replace(":", "").replace("-", "").lower()
        for form in self._open:
            length = _beginning_at_end(text, form, 4)
            if length:
                yield len(text) - length
        for coded in self._coded:
            length = _beginning_at_end(*((in_hex, coded.core, 8) if coded.is_hex else (in_base64, coded.core, 6)))
            if length:
                yield coded.last(text, length)

    def _pattern(self, form: _Form) -> re.Pattern[str]:
        if form not in self._patterns:
            self._patterns[form] = form.pattern()
        return self._patterns[form]


@lru_cache(maxsize=32)
def matcher(secrets: frozenset[str]) -> SecretMatcher:
    """The matcher of these secrets; made once for each set of them."""
    return SecretMatcher(secrets)


class _View:
    """A text after some escapes in it were replaced by what they stand for.

    Args:
        text: the text after.
        before: the view that the escapes stand in; None for the text itself.
        escape: the escapes that were replaced.
    """

    def __init__(self, text: str, before: _View | None = None, escape: re.Pattern[str] = _ANY_ESCAPE) -> None:
        self.text = text
        self.before = before
        self._escape = escape
        self._begins: list[int] = []
        self._origins: list[Span] = []

    def in_text(self, span: Span) -> Span:
        """Where the characters of a span come from in the original text."""
        if self.before is None:
            return span
        if not self._begins:
            self._look_up(self.before.text)
        return self.before.in_text((self._origin(span[0])[0], self._origin(span[1] - 1)[1]))

    def _look_up(self, before: str) -> None:
        """Note where stretches begin in this text and in the one before: by turns what was kept and an escape."""
        self._begins, self._origins, shift = [0], [(0, 0)], 0
        for match in self._escape.finditer(before):
            begin, length = match.start() - shift, len(_meaning(match))
            self._begins += (begin, begin + length)
            self._origins += (match.span(), (match.end(), match.end()))
            shift += match.end() - match.start() - length

    def _origin(self, at: int) -> Span:
        """What a character of this text stood for: a whole escape, or itself."""
        place = bisect_right(self._begins, at) - 1
        if place % 2:
            return self._origins[place]
        begin = self._origins[place][1] + at - self._begins[place]
        return begin, begin + 1


def _views(text: str) -> Iterator[_View]:
    """The text, then the text with each kind of escape replaced, and with all kinds, again and again."""
    view = _View(text)
    yield view
    kinds = [escape for sign, escape in _ESCAPES.items() if sign in text]
    for escape in kinds if len(kinds) > 1 else ():
        one = escape.sub(_meaning, text)
        if one != text:
            yield _View(one, view, escape)
    for _ in range(DEPTH_MAX):
        if not any(sign in view.text for sign in _ESCAPES):
            return
        told = _ANY_ESCAPE.sub(_meaning, view.text)
        if told == view.text:
            return
        view = _View(told, view)
        yield view


def _meaning(escape: re.Match[str]) -> str:
    """The text that an escape stands for."""
    told = escape[0]
    if told[0] == "%":
        return bytes.fromhex(told.replace("%", "")).decode(errors="replace")
    if told[0] == "&" and told[1] == "#":  # also of what HTML does not allow
        digits = told[2:].rstrip(";")
        code = int(digits[1:], 16) if digits[0] in "xX" else int(digits)
        return chr(code) if code < 0xD800 or 0xDFFF < code < 0x110000 else "\ufffd"
    if told[0] == "&":
        return html.unescape(told)
    if told[1] in "ux" and len(told) > 2:
        codes = [int(code, 16) for code in told.replace("\\x", "\\u").split("\\u")[1:]]
        return "".join(map(chr, codes)).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _LETTERS.get(told[1], told[1])


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


def _unescaped_forms(secret: str) -> Iterator[str]:
    """What a text that holds the secret may hold once it was unescaped: a secret may look like an escape itself."""
    for view in _views(secret):
        if len(view.text) >= ENCODED_LENGTH_MIN:
            yield view.text
            yield view.text.replace(" ", "+")  # of a form


def _coded_forms(secret: str) -> Iterator[_Form]:
    """The secret, in UTF-8 as it is and inside of JSON and in UTF-16, in base64 and in hexadecimal."""
    for data in {
        secret.encode(errors="replace"),
        _in_json(secret).encode(),
        secret.encode("utf-16-le", errors="replace"),
    }:
        yield _Form(data.hex(), is_hex=True)
        yield from (_in_base64(data, ahead) for ahead in range(3))


def _in_base64(data: bytes, ahead: int) -> _Form:
    """The bytes in base64, with so many unknown bytes ahead of them."""
    first, end = ahead * 8, (ahead + len(data)) * 8
    zeros, ones = (base64.b64encode(fill * ahead + data + fill * 2).decode() for fill in (b"\0", b"\xff"))
    begin, stop = -(-first // 6), end // 6
    return _Form(
        zeros[begin:stop],
        _between(zeros, ones, begin - 1) if first % 6 else "",
        _between(zeros, ones, stop) if end % 6 else "",
    )


def _between(zeros: str, ones: str, at: int) -> str:
    """The characters whose known bits are those of two, one of them with the unknown bits 0, one with them 1."""
    low, high = _STANDARD.index(zeros[at]), _STANDARD.index(ones[at])
    unknown = low ^ high
    return "".join(each for code, each in enumerate(_STANDARD) if code & ~unknown == low)


def _any_of(signs: str, *, is_hex: bool = False) -> str:
    """A class of characters, with those that stand for the same in the other alphabet or case."""
    if is_hex:
        signs += signs.upper()
    else:
        signs += "".join({"+": "-", "/": "_"}.get(sign, "") for sign in signs)
    return f"[{re.escape(signs)}]"


def _beginning_at_end(text: str, form: str, least: int) -> int:
    """How many characters of the form's beginning stand at the end of the text; 0 for fewer than `least`."""
    at = max(0, len(text) - len(form) + 1)
    while (at := text.find(form[:least], at)) >= 0:
        if form.startswith(text[at:]):
            return len(text) - at
        at += 1
    return 0


def _places(text: str, forms: Iterable[str]) -> Iterator[Span]:
    for form in forms:
        at = text.find(form)
        while at >= 0:
            yield at, at + len(form)
            at = text.find(form, at + len(form))


def _united(spans: list[Span]) -> list[Span]:
    whole: list[Span] = []
    for begin, end in sorted(spans):
        if whole and begin < whole[-1][1]:
            whole[-1] = (whole[-1][0], max(whole[-1][1], end))
        else:
            whole.append((begin, end))
    return whole
