"""Reads ReAct: parts that begin with a marker on a line (`react.markers`), as text, reasoning and calls, in any cut.

    Thought, Plan            reasoning
    Action + Action Input    a call; several pairs are several calls
    Answer                   text; so is a reply without any marker
    Observation              behind a call it is made up: it and all behind it is cut, and the call's `repairs` say so
    Question                 a question to the user at the end of the reply; before another step, when the model has
                             called or answered already, it is the model playing the next round, and cut

Limits: a line of an answer that begins with `Thought:` or `Action:` ends the answer. A text without markers is held
back up to `PREAMBLE_MAX` characters, because a thought may stand there.
"""

from __future__ import annotations

import re
from typing import Literal

from msgspec import structs

from ....core.call import TextPart
from ....core.json import dumps
from ...json_scan import JsonScan
from ..invented_results import CUT
from ..json.call_shape import with_repairs
from ..reader import Position
from ..speech import CallRead, Speech
from ..toolbox import Toolbox, read_input, read_object
from .action import (
    Named,
    Step,
    name_action,
    read_action,
    read_answer,
    said_by,
    unwrap,
)
from .markers import Kind, Marker, find_marker

PREAMBLE_MAX = 300
"""Characters without a marker after which a text is an answer and no thought."""

State = Literal["start", "prose", "thought", "action", "input", "answer", "question", "cut"]

_STEPS: frozenset[Kind] = frozenset(("thought", "plan", "action", "answer", "question", "observation"))
_IN_ANSWER: frozenset[Kind] = frozenset(("thought", "action", "question", "observation"))
HEARD: dict[State, frozenset[Kind]] = {
    "start": _STEPS,
    "prose": _IN_ANSWER | {"answer"},
    "thought": _STEPS,
    "action": _STEPS | {"input"},
    "input": _STEPS,
    "answer": _IN_ANSWER,
    "question": _STEPS - {"question"},
}
"""Which markers end which part."""

_FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*[\w+-]*[ \t]*\n?")
_IN_QUOTES = re.compile(r"""\s*(?:"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|“[^”]*”)\s*""", re.DOTALL)
_INLINE = re.compile(r"(?<!\w)(?:(Action|行动|动作)|Final Answer|Answer|最终答案|回答)\s*[:：]")
_BEHIND_EDGE = " \t\r\n`~}]"


class ReactReader:
    """A `CallReader`: it tells text, reasoning and calls."""

    def __init__(self, box: Toolbox, speech: Speech) -> None:
        self._box = box
        self._speech = speech
        self._state: State = "start"
        self._held = ""
        self._closing = False
        self._line_start = True
        self._behind_marker = False
        # The part that is being read, where its text can not be told at once.
        self._part: list[str] = []
        self._length = 0
        self._marker = ""
        self._in_answer = False
        self._thought: list[str] = []
        # The input of an action.
        self._named: Named | None = None
        self._scan: JsonScan | None = None
        self._behind: list[str] = []
        self.begun = 0

    @property
    def position(self) -> Position:
        """See `CallReader`."""
        if self._state == "cut":
            return "cut"
        if self._state == "action" or (self._state == "input" and self._scan is None):
            return "call"
        if self._state == "input" and self._scan is not None:
            if self._scan.depth:
                return "value" if self._scan.in_string else "call"
            return "prose" if any(text.strip() for text in self._behind) else "behind"
        return "prose"

    def end(self, *, last: bool) -> None:
        """Nothing more comes; see `CallReader`."""
        self._closing = True
        self.read("")
        self._leave(None)
        if last and not self._speech.calls and not self._speech.has_text:
            self._answer_by_thought()

    # Lines and markers.

    def read(self, text: str) -> None:
        """Take more text."""
        text, self._held, at = self._held + text, "", 0
        while at < len(text) and self._state != "cut":
            if self._line_start and not (self._scan is not None and self._scan.in_string):
                end = self._read_line_start(text, at)
            else:
                end = text.find("\n", at) + 1 or len(text)
                self._take(text[at:end])
                self._line_start = text[end - 1] == "\n"
            if end < 0:
                self._held = text[at:]
                return
            at = end

    def _read_line_start(self, text: str, at: int) -> int:
        """Where the line goes on behind a marker, or begins if it has none; -1 where the next piece has to tell."""
        marker = find_marker(text, at, last=self._closing)
        if marker == "wait":
            return -1
        self._line_start = False
        if marker is None or not self._counts(marker):
            return at
        self._behind_marker = True
        self._enter(marker, text[at : marker.end])
        return marker.end

    def _counts(self, marker: Marker) -> bool:
        answering = self._state in ("prose", "answer")
        if marker.kind not in HEARD[self._state] or (answering and not marker.plain and marker.kind != "answer"):
            return False
        return marker.kind != "observation" or not answering or self._speech.calls > 0

    def _enter(self, marker: Marker, source: str) -> None:
        """A marker ends one part and begins another."""
        if marker.kind == "input":
            self._begin_input()
            return
        self._leave(marker.kind)
        if self._state == "cut":
            return
        self._marker, self._in_answer = source, self._state in ("prose", "answer")
        match marker.kind:
            case "observation":
                self._state = "cut" if self._speech.calls else "thought"
            case "plan" | "thought":
                self._state = "thought"
                self._thought = []
            case "action" | "answer" | "question":
                self._state = marker.kind

    def _take(self, text: str) -> None:
        """Text of the current part."""
        if self._behind_marker and self._state in ("thought", "answer"):
            text = text.lstrip(" \t")
            if not text:
                return
        self._behind_marker = False
        match self._state:
            case "thought":
                self._thought.append(text)
                self._speech.think(text)
            case "prose" | "answer":
                self._speech.say(text)
            case "input":
                self._take_input(text)
            case "start" if self._length or text.strip():
                self._part.append(text)
                self._length += len(text)
                if self._length > PREAMBLE_MAX:
                    self._speech.say(self._end_part())
                    self._state = "prose"
            case "action" | "question":
                self._part.append(text)
            case _:
                pass

    def _leave(self, next_kind: Kind | None) -> None:
        """The current part is at its end; `next_kind` is the marker that ends it, None at the end of the input."""
        match self._state:
            case "start":
                text = self._end_part()
                if next_kind is None:
                    self._speech.say(text)
                else:
                    self._speech.think(text)
                    self._thought = [text]
            case "question":
                self._end_question(next_kind)
            case "action":
                self._end_action(next_kind)
            case "input":
                self._end_input(next_kind)
            case _:
                pass

    def _end_part(self) -> str:
        text = "".join(self._part)
        self._part = []
        self._length = 0
        return text

    def _end_question(self, next_kind: Kind | None) -> None:
        text = self._end_part()
        if next_kind is None:
            self._speech.say(self._marker + text if self._in_answer else text.lstrip(), apart=True)
        elif self._speech.calls or self._speech.has_text:
            self._state = "cut"
        else:
            self._speech.think(text.lstrip(), apart=True)

    # Actions.

    def _end_action(self, next_kind: Kind | None) -> None:
        """An action without input, which may say all of the call itself."""
        text = self._end_part()
        step = read_action(text, self._box, ended=next_kind is None, known_only=self._in_answer)
        if step is not None:
            self._perform(self._broken(step, text) if next_kind is None else step, cut=next_kind == "observation")
        elif self._in_answer:
            self._speech.say(self._marker + text, apart=True)
            self._state = "answer"
        else:
            self._speech.think(self._marker + text, apart=True)

    def _broken(self, step: Step, source: str) -> Step:
        """The last call of an action is not complete where the endpoint broke the text off before the call's end."""
        calls = [at for at, part in enumerate(step) if isinstance(part, CallRead)]
        if not calls or not self._speech.cut_off:
            return step
        at, last = calls[-1], step[calls[-1]]
        assert isinstance(last, CallRead)
        # What follows a name without an input may be the beginning of `Action Input:`.
        is_open = not _is_whole(source) if at == len(step) - 1 else not last.arguments and not last.raw
        return [*step[:at], _unfinished(last, source), *step[at + 1 :]] if is_open else step

    def _perform(self, step: Step, *, cut: bool = False) -> None:
        for index, part in enumerate(step):
            match part:
                case CallRead():
                    last = cut and not any(isinstance(later, CallRead) for later in step[index + 1 :])
                    self._speech.call(with_repairs(part, CUT) if last else part)
                case TextPart(text):
                    self._speech.say(text, apart=True)
                case _:
                    self._speech.think(part.text, apart=True)

    def _begin_input(self) -> None:
        self._named = name_action(self._end_part(), self._box)
        self._scan = None
        self._behind = []
        self.begun += 1
        self._state = "input"
        if self._named is not None:
            self._speech.begin_call(self._named[0])

    def _take_input(self, text: str) -> None:
        """More of an input. An object is told as it comes, any other form when it is whole."""
        if self._scan is None:
            if self._part:
                self._part.append(text)
                return
            text = text.lstrip()
            if not text:
                return
            if text[0] != "{" or self._named is None:
                self._part.append(text)
                return
            self._scan = JsonScan()
        elif not self._scan.depth:
            self._behind.append(text)
            return
        end = self._end_of_object(self._scan, text)
        self._part.append(text[:end])
        self._speech.call_text(text[:end])
        self._behind.append(text[end:])

    def _end_of_object(self, scan: JsonScan, text: str) -> int:
        at = 0
        while True:
            at, mark = scan.next(text, at)
            if not mark:
                return at
            at += 1
            if not scan.depth:
                return at

    def _end_input(self, next_kind: Kind | None) -> None:
        source, close = self._end_part(), next_kind is not None
        if self._named is None:
            self._perform(read_answer(source))
            return
        name = self._named[0]
        if self._scan is not None:
            said = unwrap(read_object(name, source, close=close), self._box)
        else:
            source = self._split_fence(source)
            said = unwrap(read_input(name, source, self._box, close=close), self._box)
            if not close and self._speech.cut_off and not self._behind and not _is_whole(source):
                said = _unfinished(said, source)
            self._speech.call_text(dumps(said.arguments) if said.complete else said.raw)
        said = said_by(self._named, said)
        self._speech.end_call(with_repairs(said, CUT) if next_kind == "observation" else said)
        behind = "".join(self._behind).strip(_BEHIND_EDGE)
        if behind and not self._begins_observation(behind, next_kind):
            self._speech.say(behind, apart=True)
        self._scan = None

    def _split_fence(self, source: str) -> str:
        """The content of the code fence that the input begins with. The text behind the fence is kept apart."""
        fence = _FENCE.match(source)
        if fence is None:
            return source
        end = source.find(fence[1], fence.end())
        if end < 0:
            return source[fence.end() :]
        self._behind.append(source[end + len(fence[1]) :])
        return source[fence.end() : end]

    def _begins_observation(self, text: str, next_kind: Kind | None) -> bool:
        """The reply was stopped within the marker itself."""
        return next_kind is None and _may_begin(text.lower(), "observation", "观察")

    def _answer_by_thought(self) -> None:
        """Where only thoughts were said, use the last one, or the action or answer inside of it."""
        text = "".join(self._thought)
        inline = _INLINE.search(text)
        if inline is None:
            self._speech.say(text)
        elif inline[1]:
            source = text[inline.end() :]
            step = read_action(source, self._box, ended=True, known_only=True)
            self._perform(self._broken(step, source) if step else [TextPart(text)])
        else:
            self._speech.say(text[inline.end() :])


def _unfinished(said: CallRead, source: str) -> CallRead:
    return structs.replace(said, arguments={}, raw=said.raw or source, complete=False)


def _is_whole(source: str) -> bool:
    """Whether the text of an action or of its input ends in a mark that closes it."""
    return _IN_QUOTES.fullmatch(source) is not None or source.rstrip().endswith((*")）]】}", "```", "~~~"))


def _may_begin(text: str, *words: str) -> bool:
    """The text is the beginning of one of the words."""
    return any(word.startswith(text) for word in words)
