"""Reads what a model meant as JSON after the strict parser refused it: once, and saying what was mended.

    single quotes, quotes of full width     {'a': 1}  {“a”：1}
    Python's words                          {"a": True, "b": None}
    commas too many, comments               {"a": 1,}  {"a": 1} // a
    text and keys without quotes            {city: Beijing}
    line breaks and quotes in a string      {"a": "he said "no" to me"}
    closing brackets missing at the end     only when asked to

A repair mends writing and never chooses between two meanings: a key with two values is refused, and so is a string
that may have ended at the end of a quotation in it (`"say "no", "b": 1`). Nor is a string completed that breaks off, a
missing comma or colon guessed, or `NaN` taken for a number. A value with more than `STEPS_MAX` parts is left as it is:
reading a part takes many times longer than the strict parser takes.

Repairs are for the record, and what was repaired is still to be validated by the tool's schema.
"""

from __future__ import annotations

import re

from ..core.json import DEPTH_MAX, Ambiguous, Json, JsonObject, JsonProblem, given_twice, parse

STEPS_MAX = 50_000
"""The most steps of reading: values, keys, and quotes, escapes and line breaks within strings."""

_SKIP = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)+", re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?=\s*(?:[,，}\]]|//|/\*|$))")
_BARE_VALUE = re.compile(r"""(?!//)[^\s,，{}\[\]"'“”](?:(?!\s//|\s/\*)[^,，{}\[\]"“”\n])*""")
_BARE_KEY = re.compile(r"[^\W\d]\w*")
_COLON = re.compile(r"[:：]")
_COMMA = re.compile(r"[,，]")
_ENDS = {"'": r"'", '"': r'"', "“": r'[”“"]', "”": r'[”“"]'}
_STRING_STEP = {opener: re.compile(rf"{end}|\\.|[\n\r\t]", re.DOTALL) for opener, end in _ENDS.items()}
_AFTER_STRING = re.compile(r"\s*(?:[,，:：}\]]|//|/\*|$)")
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "'": "'"}
_HEX = re.compile(r"[0-9a-fA-F]{4}")
_LITERALS: dict[str, Json] = {"true": True, "false": False, "null": None, "none": None, "undefined": None}
_NOT_A_NUMBER = frozenset(("nan", "infinity", "+infinity", "-infinity", "inf", "-inf"))
_TRAILING = re.compile(r"[\s}\];]*")


def mend(text: str, *, close: bool = False) -> tuple[Json, tuple[str, ...]]:
    """Read one value tolerantly.

    Args:
        text: the whole text of the value.
        close: add closing brackets that are missing at the end; right only where something shows that the model had
            finished the value.

    Returns:
        The value and what was mended, each a short phrase.

    Raises:
        JsonProblem: too broken, cut off, or nested deeper than 100 levels.

    >>> mend("{'city': 'Oslo', days: 3,}")
    ({'city': 'Oslo', 'days': 3}, ('single quotes', 'key without quotes', 'comma too many'))
    """
    reader = Reader(text, close=close)
    value = reader.value()
    rest = _TRAILING.match(text, reader.at)
    assert rest is not None
    if rest.end() != len(text) and reader.skip() != len(text):
        raise reader.problem("nothing more")
    if rest[0].strip(" \t\r\n;"):
        reader.note("bracket too many")
    return value, reader.repairs


class InnerQuotes:
    """Quotes inside a string that a model wrote without escaping them.

    As long as they come in pairs, or are apostrophes, the string has one reading. Where a quotation was opened and the
    next quote may end the string, that quote may as well end the quotation, and nobody knows which.
    """

    def __init__(self) -> None:
        self._open = False

    def pass_over(self, text: str, start: int, end: int) -> None:
        """A quote that does not end the string stands at `text[start:end]`."""
        before, after = text[start - 1 : start], text[end : end + 1]
        if text[start] == "'" and before.isalnum() and after.isalnum():
            return  # an apostrophe
        opens = bool(after.strip()) and (not before.isalnum() or after.isalnum())
        self._open = not self._open and opens

    def end_string(self) -> None:
        """The string ends here.

        Raises:
            Ambiguous: or a quotation in it does.
        """
        if self._open:
            raise Ambiguous("a quote that is not escaped may end the string or a quotation in it")


class Reader:
    """Reads values one after the other out of a text; `at` is where it stands."""

    def __init__(self, text: str, *, close: bool = False) -> None:
        self.text = text
        self.at = 0
        self._close = close
        self._steps = 0
        self._notes: dict[str, None] = {}

    @property
    def repairs(self) -> tuple[str, ...]:
        """What was mended so far, each once."""
        return tuple(self._notes)

    def note(self, repair: str) -> None:
        """Record a repair."""
        self._notes[repair] = None

    def problem(self, expected: str) -> JsonProblem:
        """The error for the text at this place."""
        return JsonProblem(f"{expected} was expected at character {self.at} of {len(self.text)}")

    def _step(self) -> None:
        """Count one more part.

        Raises:
            JsonProblem: there are too many.
        """
        self._steps += 1
        if self._steps > STEPS_MAX:
            raise JsonProblem(f"too large to mend: it has more than {STEPS_MAX} parts, and is no JSON")

    def skip(self) -> int:
        """Pass over white space and comments; returns the new place."""
        found = _SKIP.match(self.text, self.at)
        if found is not None:
            if "/" in found[0]:
                self.note("comment")
            self.at = found.end()
        return self.at

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """What matches here, not passed over."""
        return pattern.match(self.text, self.at)

    def take(self, pattern: re.Pattern[str]) -> str:
        """What matches here, passed over; empty where nothing does."""
        found = self.match(pattern)
        if found is None:
            return ""
        self.at = found.end()
        return found[0]

    def value(self, depth: int = 0) -> Json:
        """The value that stands here."""
        self._step()
        self.skip()
        char = self.text[self.at : self.at + 1]
        if depth > DEPTH_MAX:
            raise JsonProblem(f"nested deeper than {DEPTH_MAX} levels")
        if char == "{":
            return self._object(depth)
        if char == "[":
            return self._array(depth)
        if char and char in _ENDS:
            return self._string()
        return self._scalar()

    def key(self) -> str:
        """The key that stands here, with its colon."""
        self._step()
        self.skip()
        if self.text[self.at : self.at + 1] in _ENDS and self.at < len(self.text):
            name = self._string()
        else:
            name = self.take(_BARE_KEY)
            if not name:
                raise self.problem("a key")
            self.note("key without quotes")
        self.skip()
        colon = self.take(_COLON)
        if not colon:
            raise self.problem("a colon")
        if colon == "：":
            self.note("full-width punctuation")
        return name

    def _object(self, depth: int) -> JsonObject:
        value: JsonObject = {}
        self.at += 1
        while not self._ended("}", after_item=bool(value)):
            key = self.key()
            item = self.value(depth + 1)
            if key in value:
                self.note(given_twice(key, value[key], item))
            value[key] = item
        return value

    def _array(self, depth: int) -> list[Json]:
        value: list[Json] = []
        self.at += 1
        while not self._ended("]", after_item=bool(value)):
            value.append(self.value(depth + 1))
        return value

    def _ended(self, closer: str, *, after_item: bool) -> bool:
        """Pass over the text between two items, or the end; True at the end."""
        self.skip()
        comma = self.take(_COMMA) if after_item else ""
        if comma == "，":
            self.note("full-width punctuation")
        if comma:
            self.skip()
        here = self.text[self.at : self.at + 1]
        if here == closer:
            self.at += 1
        elif not here and self._close:
            self.note("closing bracket missing")
        elif not here or (after_item and not comma):
            raise self.problem(f"a comma or {closer!r}")
        else:
            return False
        if comma:
            self.note("comma too many")
        return True

    def _string(self) -> str:
        opener = self.text[self.at]
        if opener != '"':
            self.note("single quotes" if opener == "'" else "full-width punctuation")
        self.at += 1
        step, pieces, inner = _STRING_STEP[opener], list[str](), InnerQuotes()
        while True:
            self._step()
            found = step.search(self.text, self.at)
            if found is None:
                raise JsonProblem("a string breaks off")
            pieces.append(self.text[self.at : found.start()])
            self.at = found.end()
            mark = found[0]
            if mark[0] == "\\":
                pieces.append(self._escape(mark[1]))
            elif mark in "\n\r\t":
                pieces.append(mark)
                self.note("line break or tab in a string")
            elif _AFTER_STRING.match(self.text, self.at):
                inner.end_string()
                return "".join(pieces)
            else:
                inner.pass_over(self.text, found.start(), self.at)
                pieces.append(mark)
                self.note("quote in a string")

    def _escape(self, char: str) -> str:
        if char == "u":
            found = _HEX.match(self.text, self.at)
            if found is not None:
                self.at = found.end()
                return self._unicode(int(found[0], 16))
        if char in _ESCAPES:
            return _ESCAPES[char]
        self.note("escape that JSON does not have")
        return "\\" + char

    def _unicode(self, code: int) -> str:
        if 0xD800 <= code < 0xDC00 and self.text.startswith("\\u", self.at):
            low = _HEX.match(self.text, self.at + 2)
            if low is not None and 0xDC00 <= int(low[0], 16) < 0xE000:
                self.at = low.end()
                return chr(0x10000 + ((code - 0xD800) << 10) + int(low[0], 16) - 0xDC00)
        if 0xD800 <= code < 0xE000:
            self.note("half a surrogate pair: replaced by U+FFFD")
            return "\ufffd"
        return chr(code)

    def _scalar(self) -> Json:
        number = self.take(_NUMBER)
        if number:
            return parse(number)[0]
        word = self.take(_BARE_VALUE).rstrip()
        if not word:
            raise self.problem("a value")
        known = word.lower()
        if known in _NOT_A_NUMBER:
            raise JsonProblem(f"{word} is not JSON")
        if known in _LITERALS:
            if word not in ("true", "false", "null"):
                self.note(f"{word} is not JSON")
            return _LITERALS[known]
        self.note("text without quotes")
        return word
