"""The marks around a model's reasoning, and how a mark that is only quoted is told from one that counts. Pure.

    <think>The user wants the time.</think>It is noon.            a thought and an answer
    Write `</think>` behind the thought.                           a quoted mark: text

A mark is quoted where it stands right behind a quote or backtick that opens. A quote that closes says nothing: a
thought may end in `... said "no"</think>`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from .marks import WAIT, NeedsMore


class ThoughtMarks(Struct, frozen=True):
    """The marks that open and close a thought; each opening one goes with each closing one.

    Attributes:
        opening: the marks that open a thought.
        closing: the marks that close a thought.
        lone: a closing mark without an opening one ends a thought that the prompt had opened. False where the same mark
            ends every message, so that without an opening mark the closing mark says nothing about thoughts.
    """

    opening: tuple[str, ...]
    closing: tuple[str, ...]
    lone: bool = True


THINK = ThoughtMarks(("<think>", "<thinking>"), ("</think>", "</thinking>"))
"""What most models write, and what models fine-tuned on their output write beside the marks of their family."""


def thought_marks_of(pairs: Sequence[tuple[str, str]], *, lone: bool = True) -> tuple[ThoughtMarks, ...]:
    """The marks that count in the text of a family: its own, and those that most models write.

    Args:
        pairs: the opening and the closing mark of each way in which the family marks a thought.
        lone: see `ThoughtMarks`.
    """
    own = [pair for pair in pairs if pair[0] not in THINK.opening]
    if not own:
        return (THINK,)
    opening, closing = (tuple(dict.fromkeys(marks)) for marks in zip(*own, strict=True))
    return (ThoughtMarks(opening, closing, lone), THINK)


_ALWAYS_OPENS = "“‘„‚「『«‹"
_STRAIGHT = "\"'`"
_BEFORE_CLOSING = ".,!?;…)]}>%*_。，！？；）】」』”’\"'`"
_RUNS = {quote: re.compile(re.escape(quote) + "+") for quote in _STRAIGHT}
_FENCE_MIN = 3
_TAIL_MAX = 40
_DECORATION = " \t\r#>*_"


class ThoughtMark:
    """The text before a place in its line."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._blank = True
        self._tail = ""
        self._odd = dict.fromkeys(_STRAIGHT, False)
        self._unread: list[str] = []

    def pass_over(self, text: str) -> None:
        """The place is now behind this text, which is looked at when somebody asks."""
        if "\n" in text:
            self._begin()
            text = text[text.rfind("\n") + 1 :]
        self._unread.append(text)

    def _read(self) -> None:
        text, self._unread = "".join(self._unread), []
        if not text:
            return
        for quote, runs in _RUNS.items():
            if quote in text:
                count = len(runs.findall(text)) - (text[0] == quote == self._tail[-1:])
                self._odd[quote] ^= count % 2 == 1
        self._tail = (self._tail + text[-_TAIL_MAX:])[-_TAIL_MAX:]
        self._blank = self._blank and not text.strip(_DECORATION)

    @property
    def blank(self) -> bool:
        """Nothing stands here but white space and the signs that make a heading, a quotation or bold text."""
        self._read()
        return self._blank

    @property
    def tail(self) -> str:
        """The latest characters of the line."""
        self._read()
        return self._tail

    def quotes(self, behind: str, *, closing: bool) -> bool | NeedsMore:
        """Whether a mark at the place is quoted.

        Args:
            behind: the character behind the mark; empty where it did not come yet.
            closing: none will come.
        """
        quote = self.tail[-1:]
        if not quote or quote not in _STRAIGHT:
            return bool(quote) and quote in _ALWAYS_OPENS
        run = len(self._tail) - len(self._tail.rstrip(quote))
        before = self._tail[: len(self._tail) - run][-1:]
        fence = quote == "`" and run >= _FENCE_MIN
        if quote != "`" and run % 2 == 0:  # an empty string, which is closed
            return False
        if not fence and not (before.isalnum() or (before and before in _BEFORE_CLOSING)):
            return True
        if not self._odd[quote]:
            return False
        return behind == quote if behind or closing else WAIT
