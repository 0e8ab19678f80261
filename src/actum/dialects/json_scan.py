"""Where the brackets and commas of a JSON value stand, found in text that comes in pieces.

It looks at each character once, whatever the cuts, and keeps nothing of the text. It knows nesting, strings and escapes
and nothing else: whether the value is JSON is for a parser to say, once it is whole. Strings in single and full-width
quotes count too, because models write them; inside a string of double quotes those are ordinary characters.

Its limit: an unescaped quote in a string turns inside out what follows, so the end of such a value may not be found.
"""

from __future__ import annotations

import re

_MARKS = re.compile("""["'“”{}\\[\\],，]""")
_IN_STRING = {
    quote: re.compile(rf"(?:[^{ends}\\]++|\\.)*+", re.DOTALL)
    for quote, ends in (('"', '"'), ("'", "'"), ("“", '“”"'), ("”", '“”"'))
}
"""What is inside of a string, by the quote that opened it: up to what closes it, or to half an escape."""
_OPENER = {"}": "{", "]": "["}
_BEFORE_SINGLE_QUOTE = frozenset(" \t\r\n{[,，:：(")
"""What may stand before a single quote that opens a string. After a letter it is an apostrophe."""


class JsonScan:
    """Follows one value from its first bracket to its last.

    >>> scan = JsonScan()
    >>> scan.next('{"a": [1', 0), scan.next('{"a": [1', 1), scan.next('{"a": [1', 7)
    ((0, '{'), (6, '['), (8, ''))
    >>> scan.depth
    2
    """

    __slots__ = ("_counts", "_escaped", "_last", "_open", "_string")

    def __init__(self) -> None:
        self._open: list[str] = []
        self._counts = {"{": 0, "[": 0}
        self._string: re.Pattern[str] | None = None
        self._escaped = False
        self._last = " "

    @property
    def depth(self) -> int:
        """How many brackets are open."""
        return len(self._open)

    @property
    def in_string(self) -> bool:
        """The text so far ends inside a string."""
        return self._string is not None

    def next(self, text: str, at: int) -> tuple[int, str]:
        """The next mark outside of strings.

        Args:
            text: the piece that is being read.
            at: where to go on in it: after the last mark that was found, 0 in a new piece.

        Returns:
            Its place and the mark: `{`, `[`, `}`, `]` or `,` (a full-width comma is told as `,`); or the end of the
            text and an empty string where the piece has no more. A closing bracket closes what stands open inside its
            own; one that closes nothing is passed over.
        """
        while at < len(text):
            if self._string is not None:
                at = self._skip_string(text, at, self._string)
                continue
            found = _MARKS.search(text, at)
            if found is None:
                break
            at, char = found.start(), found[0]
            if char in _IN_STRING:
                before = text[at - 1] if at else self._last
                if char != "'" or before in _BEFORE_SINGLE_QUOTE:
                    self._string = _IN_STRING[char]
            elif self._take(char):
                self._last = char
                return at, "," if char == "，" else char
            at += 1
        if text:
            self._last = text[-1]
        return len(text), ""

    def _skip_string(self, text: str, at: int, inside: re.Pattern[str]) -> int:
        if self._escaped:
            self._escaped = False
            at += 1
        rest = inside.match(text, at)
        assert rest is not None  # it may be empty
        at = rest.end()
        if at == len(text):
            return at
        if text[at] == "\\":
            self._escaped = True
        else:
            self._string = None
        return at + 1

    def _take(self, char: str) -> bool:
        """A comma, or a bracket that opens or closes something."""
        if char in "{[":
            self._open.append(char)
            self._counts[char] += 1
        elif char in "}]":
            opener = _OPENER[char]
            if not self._counts[opener]:
                return False
            last = ""
            while last != opener:
                last = self._open.pop()
                self._counts[last] -= 1
        return True
