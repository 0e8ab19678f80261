"""Loops of a model: the same call with the same result, or ever new calls that all give the same. Pure but for counts.

Three things are counted, each over the steps of one run:

- the same call, the same result (`Repeats`): after `Limits.repeats` times it is turned away;
- a call whose text differs only in blanks and case (`Repeats`): the same after `LOOSE` times as many steps;
- ever new calls of one tool, the same result in each of many steps in a row (`SameResults`): only of tools that are
  declared to read. Thirty mails that each answer `sent` are thirty mails.

Tools that are declared `polled` are never in a loop. What happens in one step counts once, but for the very same call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
from msgspec import Struct

from ..core.call import TextPart, ToolCall, ToolResult
from ..core.json import JsonObject

OfTool = Callable[[str], bool]
"""Whether the tool of this name is declared to be of some kind."""

LOOSE = 2
"""Calls that differ only in blanks and case may give the same result in this many times `Limits.repeats` steps."""
LOOSE_MAX = 16 * 1024
"""Arguments of more characters are compared as they are."""
TOLD_STEPS = 8
"""The number of steps in a row with the same result from all calls of a tool, after which the model is told."""
STOPPED_STEPS = 16
"""The number of such steps after which the run is stopped."""


CallKey = tuple[str, bytes]
"""What a call is compared by: its tool, and its arguments as JSON."""


def key_of(call: ToolCall) -> CallKey:
    """What a call is compared by."""
    return call.name, _encode(call.arguments)


def _loose(key: CallKey) -> tuple[str, str]:
    """The key of a call without blanks and case."""
    text = key[1].decode()
    if len(text) <= LOOSE_MAX:
        if "\\" in text:  # a line break in a JSON string
            text = text.replace("\\n", "").replace("\\t", "").replace("\\r", "")
        text = "".join(text.casefold().split())
    return key[0], text


def outcome_of(result: ToolResult) -> str:
    """What a result is compared by: its text, or the kind of its failure without its reference, which is always new."""
    error = result.error
    if error is None:
        return result.text
    return f"{error.code}: {error.message.replace(error.reference or chr(0), '')}"


class _Steps(Struct):
    """In how many steps a call gave a result.

    Attributes:
        key: of the call.
        came: the result.
        last: the latest of the steps.
        count: how many steps.
    """

    key: CallKey
    came: str
    last: int
    count: int = 1

    def add(self, step: int) -> None:
        """The call gave the result in this step, too."""
        self.count += step != self.last
        self.last = step


class Repeats:
    """Counts how often the same call gave the same result.

    Calls of a tool are compared without blanks and case as soon as two different calls of the tool gave the same
    result: before that there is nothing to find.

    Args:
        allowed: how often it may be repeated.
        polled: whether the tool of this name is meant to be asked again and again.
    """

    def __init__(self, allowed: int, polled: OfTool) -> None:
        self._allowed = allowed
        self._polled = polled
        self._step = 0
        self._exact: dict[CallKey, tuple[str, int]] = {}
        self._by_result: dict[tuple[str, str], _Steps] = {}
        self._loosely: set[str] = set()  # names of tools
        self._loose: dict[tuple[str, str], _Steps] = {}
        self._told: set[tuple[str, str]] = set()

    def note(self, key: CallKey, came: str) -> None:
        """A call was made.

        Args:
            key: of the call.
            came: what it came to; see `outcome_of`.
        """
        last, times = self._exact.get(key, ("", 0))
        self._exact[key] = (came, times + 1 if came == last else 1)
        name = key[0]
        if name in self._loosely:
            self._note_loosely(key, came)
            return
        known = self._by_result.get((name, came))
        if known is None:
            self._by_result[name, came] = _Steps(key, came, self._step)
        elif known.key == key:
            known.add(self._step)
        else:
            self._loosely.add(name)
            self._loose[_loose(known.key)] = known
            self._note_loosely(key, came)

    def _note_loosely(self, key: CallKey, came: str) -> None:
        loose = _loose(key)
        known = self._loose.get(loose)
        if known is None or known.came != came:
            self._loose[loose] = _Steps(key, came, self._step)
        else:
            known.add(self._step)

    def is_loop(self, key: CallKey) -> bool:
        """The call gave the same result as often as it may, and is being made again."""
        known = self._exact.get(key)
        looping = known is not None and known[1] >= self._allowed
        if not looping and key[0] in self._loosely:
            steps = self._loose.get(_loose(key))
            looping = steps is not None and steps.count >= LOOSE * self._allowed
        return looping and not self._polled(key[0])

    def was_told(self, key: CallKey) -> bool:
        """The model has heard of this loop in an earlier step; the second time the run is stopped."""
        return _loose(key) in self._told

    def end_step(self, told: Iterable[CallKey]) -> None:
        """The step is over.

        Args:
            told: of the calls that were turned away, which the model hears.
        """
        self._step += 1
        for key in told:
            self._told.add(_loose(key))


class _Row(Struct):
    """Steps in a row in which the calls of a tool all gave the same.

    Attributes:
        came: what they gave; None where two calls of one step gave different results.
        steps: how many.
        calls: how many calls they had.
    """

    came: str | None
    steps: int = 0
    calls: int = 0


class SameResults:
    """Counts in how many steps in a row the calls of a tool that reads all gave the same result.

    A row ends with a step in which the tool is not called, or something is called that may change what the tool reads.

    Args:
        reads: whether the tool of this name only reads, and is not meant to be asked again and again.

    Attributes:
        is_loop: the row of equal results was long enough to stop the run.
    """

    def __init__(self, reads: OfTool) -> None:
        self.is_loop = False
        self._reads = reads
        self._rows: dict[str, _Row] = {}
        self._now: dict[str, _Row] = {}

    def note(self, name: str, came: str) -> None:
        """A call of the tool of this name was made in this step; `came` as for `Repeats.note`."""
        row = self._now.get(name)
        if row is None:
            row = self._rows.get(name)
            if row is None or row.came != came:
                row = _Row(came)
            row.steps += 1
            self._now[name] = row
        elif row.came != came:
            row.came = None
        row.calls += 1

    def end_step(self) -> dict[str, str]:
        """The step is over.

        Returns:
            What the model is to be told, by the name of a tool.
        """
        rows, self._now = self._now, {}
        if not rows:
            return {}  # every call was turned away
        if len(rows) > 1 and not all(map(self._reads, rows)):
            rows = {}
        self._rows = rows
        notes: dict[str, str] = {}
        for name, row in rows.items():
            if row.steps < TOLD_STEPS or row.came is None or not self._reads(name):
                continue
            self.is_loop = self.is_loop or row.steps >= STOPPED_STEPS
            if row.steps == TOLD_STEPS:
                notes[name] = (
                    f"[The last {row.calls} calls of `{name}` all gave this. Other arguments are not likely to give "
                    "more: do something else, or answer with what you know.]"
                )
        return notes


def with_note(result: ToolResult, note: str) -> ToolResult:
    """A result as the model is told it, with a note behind it."""
    if result.error is not None:
        error = msgspec.structs.replace(result.error, message=f"{result.error.message} {note}")
        return msgspec.structs.replace(result, error=error)
    content = result.content or (TextPart(result.text),)
    return msgspec.structs.replace(result, content=(*content, TextPart(note)))


_encode: Callable[[JsonObject], bytes] = msgspec.json.Encoder().encode
