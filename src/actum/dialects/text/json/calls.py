"""Finds the calls that a model wrote as JSON into its text, whole or in pieces, in one pass.

A call stands anywhere: alone, between sentences, in a code fence, several in a row, in a list, in the wrappers of
native APIs; `call_shape` says what makes a call of an object. An object that is no call is text like any other.

    text ──{"key":──▶ json ──value ends──▶ behind a call ──▶ text

What happens inside the JSON is `json.value`'s affair; thoughts, and results that a model made up, are `text.reader`'s.

Limits: a text that shows the JSON of a call as an example is a call to this reader. An object that never ends holds
back what follows it until the input ends.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ..reader import Position
from ..speech import Speech
from ..toolbox import Toolbox
from .call_shape import KEY_TEXT
from .value import JsonValue

_EDGE = re.compile(r"[{\[`~<]")
_TAG_BEFORE = r"<tool_calls?>\s{0,64}"
_VALUE = rf"(?P<json>(?:\[\s{{0,64}})?\{{\s{{0,64}}{KEY_TEXT}\s{{0,16}}[:：])"
_FENCE_BEFORE = r"(?:`{1,8}|~{3,8})[ \t]{0,8}[\w+-]{0,20}\s{0,64}"
_START = re.compile(rf"(?:{_FENCE_BEFORE}|{_TAG_BEFORE})?{_VALUE}")
START = re.compile(rf"(?:{_FENCE_BEFORE})?{_VALUE}")
"""Where JSON begins that may hold a call: a fence, the bracket of a list, then a brace, a key and a colon."""

_MAY_FENCE = r"`{1,8}[ \t]{0,8}[\w+-]{0,20}\s{0,64}|~{1,2}\Z|~{3,8}[ \t]{0,8}[\w+-]{0,20}\s{0,64}"
_MAY_VALUE = (
    r"(?:\[\s{0,64})?"
    r"""(?:\{\s{0,64}(?:"[^"\\\n]{0,64}(?:"\s{0,16})?|'[^'\\\n]{0,64}(?:'\s{0,16})?|[“”][^“”"\n]{0,64}(?:[“”"]\s{0,16})?"""
    r"""|[^\W\d]\w{0,63}\s{0,16})?)?\Z"""
)
_MAY_START = re.compile(rf"(?:{_MAY_FENCE}|{_TAG_BEFORE})?{_MAY_VALUE}")
MAY_START = re.compile(rf"(?:{_MAY_FENCE})?{_MAY_VALUE}")
"""A text that more text may turn into `START`: the same, cut off anywhere."""

_TAGS = ("<tool_call>", "<tool_calls>")
_TAIL_TAGS = ("</tool_call>", "</tool_calls>")
_RUN = re.compile(r"`+|~+|.", re.DOTALL)
_LOOSE = re.compile(r"[\s,;，；、}\]]+")
_STRAY = str.maketrans("", "", "}]")


class JsonCalls:
    """A `CallReader`: it tells text and calls."""

    def __init__(self, box: Toolbox, speech: Speech) -> None:
        self._box = box
        self._speech = speech
        self._closing = False
        self._held = ""
        self._state: Callable[[str, int], int] = self._in_text
        # Around a call.
        self._run = ""
        self._loose: list[str] = []
        self._fence = "none"
        # In JSON.
        self._lead = ""
        self._value: JsonValue | None = None
        self.begun = 0

    @property
    def position(self) -> Position:
        """See `CallReader`."""
        if self._value is not None:
            return "value" if self._value.in_string else "call"
        return "behind" if self._state == self._behind_call else "prose"

    def end(self, *, last: bool) -> None:
        """Nothing more comes; see `CallReader`."""
        self._closing = True
        self.read("")
        if self._value is not None:
            text = self._value.break_off()
            if not self._value.used:
                self._say(self._lead + text)
            self._value = None

    def read(self, text: str) -> None:
        """Each state takes what it can from `at` on. One that takes nothing waits for the next piece to tell."""
        text, self._held, at = self._held + text, "", 0
        while at < len(text):
            state, before = self._state, at
            at = state(text, at)
            if at == before and state == self._state:
                self._held = text[at:]
                return

    # Text.

    def _in_text(self, text: str, at: int) -> int:
        edge = _EDGE.search(text, at)
        if edge is None or edge.start() > at:
            end = edge.start() if edge is not None else len(text)
            self._say(text[at:end])
            return end
        start = _START.match(text, at)
        if start is not None:
            self._begin_json(text[at : start.start("json")])
            return start.start("json")
        if not self._closing and (_MAY_START.match(text, at) or _may_become(_TAGS, text, at)):
            return at
        found = _RUN.match(text, at)
        assert found is not None
        self._say(found[0])
        self._run = text[at]
        self._state = self._in_run if self._run in "`~" else self._in_text
        return found.end()

    def _in_run(self, text: str, at: int) -> int:
        """Backticks or tildes that began no fence before a call: the rest of them do not begin one either."""
        if text[at] != self._run:
            self._state = self._in_text
            return at
        found = _RUN.match(text, at)
        assert found is not None
        self._say(found[0])
        return found.end()

    def _say(self, text: str) -> None:
        """Prose. What stood loosely behind the last call belongs to it, except brackets too many."""
        if self._loose:
            text = "".join(self._loose).translate(_STRAY) + text
            self._loose = []
        self._fence = "none"
        self._speech.say(text)

    # Behind a call: separators, brackets too many, the end of the fence.

    def _behind_call(self, text: str, at: int) -> int:
        loose = _LOOSE.match(text, at)
        if loose is not None:
            self._loose.append(loose[0])
        if self._fence == "ending" and text[at] not in "`~":
            self._fence = "none"
        if loose is not None:
            return loose.end()
        if self._fence != "none" and text[at] in "`~":
            self._fence = "ending"
            self._loose = []
            return at + 1
        for tag in _TAIL_TAGS:
            if text.startswith(tag, at):
                return at + len(tag)
        if not self._closing and _may_become(_TAIL_TAGS, text, at):
            return at
        self._state = self._in_text
        return at

    # JSON.

    def _begin_json(self, lead: str) -> None:
        if lead[:1] in ("`", "~"):
            self._fence = "open"
        self._lead = "".join(self._loose).translate(_STRAY) + lead
        self._loose = []
        self._value = JsonValue(self._box, self._speech)
        self.begun += 1
        self._state = self._in_json

    def _in_json(self, text: str, at: int) -> int:
        assert self._value is not None
        at = self._value.feed(text, at)
        if self._value.ended:
            value, self._value = self._value, None
            self._state = self._behind_call if value.used else self._in_text
            if not value.used:
                self._say(self._lead + value.source)
        return at


def _may_become(tags: tuple[str, ...], text: str, at: int) -> bool:
    """The text from here on is the beginning of one of the tags."""
    tail = text[at : at + 16]
    return any(tag.startswith(tail) for tag in tags)
