"""Finds the calls that a model wrote as JSON into its text, whole or in pieces, in one pass.

A call stands anywhere: alone, between sentences, in a code fence, several in a row, in a list, in the wrappers of
native APIs; `call_shape` says what makes a call of an object. An object that is no call is text like any other. Text in
`<think>` is reasoning, and no call is read out of it.

    text ──{"key":──▶ json ──value ends──▶ behind a call ──▶ text          text ──<think>──▶ thought ──</think>──▶ text

A value is followed by its brackets and commas alone (`JsonScan`). Each object on the way in, `LEVELS_MAX` deep, is a
`Frame` and may prove to be a call. From the moment that the name of a tool and the bracket of its arguments were seen
it *is* one: its arguments are told as they come, and where it breaks off it is reported as not complete.

Limits: a text that shows the JSON of a call as an example is a call to this reader. An object that never ends holds
back what follows it until the input ends.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable

from msgspec import structs

from ..core.event import Delta
from ..core.message import Reply
from .call_shape import ARGUMENT_KEYS, KEY_TEXT, TEXT_KEYS, THOUGHT_KEYS, WRAPPER_KEYS, Frame, with_repairs
from .json_scan import JsonScan
from .speech import Said, Speech
from .toolbox import Toolbox, read_object

LEVELS_MAX = 6
"""How deep in other values a call is looked for."""

_EDGE = re.compile(r"[{\[`~<]")
_START = re.compile(
    r"(?:(?:`{1,8}|~{3,8})[ \t]{0,8}[\w+-]{0,20}\s{0,64}|<tool_calls?>\s{0,64})?"
    rf"(?P<json>(?:\[\s{{0,64}})?\{{\s{{0,64}}{KEY_TEXT}\s{{0,16}}[:：])"
)
"""Where JSON begins that may hold a call: a fence or a tag, the bracket of a list, then a brace, a key and a colon."""

_MAY_START = re.compile(
    r"(?:`{1,8}[ \t]{0,8}[\w+-]{0,20}\s{0,64}|~{1,2}\Z|~{3,8}[ \t]{0,8}[\w+-]{0,20}\s{0,64}|<tool_calls?>\s{0,64})?"
    r"(?:\[\s{0,64})?"
    r"""(?:\{\s{0,64}(?:"[^"\\\n]{0,64}(?:"\s{0,16})?|'[^'\\\n]{0,64}(?:'\s{0,16})?|[“”][^“”"\n]{0,64}(?:[“”"]\s{0,16})?"""
    r"""|[^\W\d]\w{0,63}\s{0,16})?)?\Z"""
)
"""A text that more text may turn into `_START`: the same, cut off anywhere."""

_TAG = re.compile(r"<(/?)think(?:ing)?>")
_TAGS = ("<think>", "</think>", "<thinking>", "</thinking>", "<tool_call>", "<tool_calls>")
_TAIL_TAGS = ("</tool_call>", "</tool_calls>")
_THOUGHT_END = re.compile(r"</think(?:ing)?>")
_RUN = re.compile(r"`+|~+|.", re.DOTALL)
_LOOSE = re.compile(r"[\s,;，；、}\]]+")
_STRAY = str.maketrans("", "", "}]")
_RESIDUE_EDGE = " \t\r\n,}]`~"


class JsonCalls:
    """A decoder: feed it text in any cut, and it tells prose, reasoning and calls."""

    def __init__(self, box: Toolbox) -> None:
        self._box = box
        self._speech = Speech()
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._closing = False
        self._held = ""
        self._state: Callable[[str, int], int] = self._in_text
        # Around a call.
        self._run = ""
        self._loose: list[str] = []
        self._fence = "none"
        # In JSON.
        self._lead = ""
        self._scan = JsonScan()
        self._frames: list[Frame] = []
        self._left_over: list[str] = []
        self._skipping = 0
        self._arguments: list[str] | None = None

    @property
    def reply(self) -> Reply:
        """All that was said."""
        return self._speech.reply

    def feed(self, chunk: bytes | str) -> list[Delta]:
        """Take the next piece and return what became certain by it."""
        self._read(chunk if isinstance(chunk, str) else self._utf8.decode(chunk))
        return self._speech.take()

    def close(self) -> list[Delta]:
        """The input is at its end: return what was held back. A call that broke off is reported as not complete."""
        self._closing = True
        self._read(self._utf8.decode(b"", True))
        if self._frames:
            self._break_off()
        return self._speech.take()

    def _read(self, text: str) -> None:
        """Each state takes what it can from `at` on. One that takes nothing waits for the next piece to tell."""
        text, self._held, at = self._held + text, "", 0
        while at < len(text):
            state, before = self._state, at
            at = state(text, at)
            if at == before and state == self._state:
                self._held = text[at:]
                return

    # Prose and reasoning.

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
        tag = _TAG.match(text, at)
        if tag is not None:
            self._state = self._in_text if tag[1] else self._in_thought
            return tag.end()
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

    def _in_thought(self, text: str, at: int) -> int:
        found = _THOUGHT_END.search(text, at)
        if found is not None:
            self._speech.think(text[at : found.start()])
            self._state = self._in_text
            return found.end()
        tail = text.rfind("<", max(at, len(text) - len("</thinking>")))
        end = tail if tail >= 0 and not self._closing and _may_become(_TAGS, text, tail) else len(text)
        self._speech.think(text[at:end])
        return end

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
        self._scan = JsonScan()
        self._left_over = []
        self._state = self._in_json

    def _in_json(self, text: str, at: int) -> int:
        while at < len(text):
            place, mark = self._scan.next(text, at)
            if self._frames:
                self._take(text[at:place])
            if not mark:
                return place
            self._take_mark(mark, text[place])
            at = place + 1
            if not self._frames:
                break
        return at

    def _take(self, text: str) -> None:
        if self._arguments is None:
            self._frames[-1].add(text)
        else:
            self._arguments.append(text)
            self._speech.call_text(text)

    def _take_mark(self, mark: str, char: str) -> None:
        depth = self._scan.depth
        if self._skipping:
            if depth >= self._skipping - 1:
                self._take(char)
            if depth >= self._skipping:
                return
            self._end_skipping(cut=depth < self._skipping - 1)
            if depth == len(self._frames):
                return
        if mark == ",":
            self._frames[-1].end_segment(char)
        elif mark in "{[":
            self._open(mark)
        else:
            while len(self._frames) > depth:
                self._close_frame(char if len(self._frames) == depth + 1 else "")

    def _open(self, mark: str) -> None:
        """A bracket opens in the innermost frame: arguments, a frame of its own, or something to pass over."""
        if not self._frames:
            self._frames.append(Frame(mark, trusted=True))
            return
        frame = self._frames[-1]
        key = frame.key
        if frame.said is not None and not frame.segment.strip():  # the next object, and this one was never closed
            self._end_call(frame, "closing bracket missing")
        if mark == "{" and key in ARGUMENT_KEYS and frame.name is None and not frame.used:
            frame.name = frame.called(key, self._box)
            if frame.name is not None:
                self._speak_around()
                self._speech.begin_call(frame.name[0])
                self._arguments = []
        data = self._arguments is not None or frame.said is not None or key in ARGUMENT_KEYS
        if not data and len(self._frames) < LEVELS_MAX:
            trusted = frame.trusted and (frame.kind == "[" or key in WRAPPER_KEYS or not key)
            self._frames.append(Frame(mark, trusted=trusted))
        else:
            self._skipping = self._scan.depth
            self._take(mark)

    def _end_skipping(self, *, cut: bool) -> None:
        """What was passed over is at its end; `cut`: by a bracket that closes more than that."""
        self._skipping = 0
        if self._arguments is None:
            return
        frame = self._frames[-1]
        assert frame.name is not None
        name, repairs = frame.name
        said = read_object(name, "".join(self._arguments), close=cut)
        frame.said = structs.replace(said, repairs=(*repairs, *said.repairs))
        frame.drop_segment()
        self._arguments = None

    def _close_frame(self, mark: str) -> None:
        frame = self._frames[-1]
        frame.end_segment(mark)
        if frame.said is not None:
            self._end_call(frame)
        elif frame.kind == "{" and not frame.used:
            self._settle(frame, frame.settle(self._box))
        if frame.used:
            self._speak(frame)
        self._frames.pop()
        if not self._frames:
            self._end_json(frame)
        elif frame.used:
            self._frames[-1].used = True
            self._frames[-1].drop_segment()
        else:
            self._frames[-1].add(frame.source)
            if self._frames[-1].kind == "[":
                self._left_over.append(frame.source)

    def _end_json(self, frame: Frame) -> None:
        if frame.used:
            self._state = self._behind_call
            for text in self._left_over:
                self._speech.say(text)
        else:
            self._state = self._in_text
            self._say(self._lead + frame.source)

    def _settle(self, frame: Frame, said: Said | None) -> None:
        """An object is at its end: it is a call, an answer, or text."""
        if said is not None:
            frame.used = True
            self._speak_around()
            self._speech.call(said)
            return
        answer = frame.answer()
        if answer:
            frame.used = True
            self._speech.say(answer)

    def _end_call(self, frame: Frame, *repairs: str) -> None:
        assert frame.said is not None
        self._speech.end_call(with_repairs(frame.said, *frame.others(), *repairs))
        frame.said = None
        frame.used = True

    def _speak_around(self) -> None:
        """A call is certain: what stood before it in the objects around it is said first."""
        for frame in self._frames:
            self._speak(frame)

    def _speak(self, frame: Frame) -> None:
        for thought in frame.strings(THOUGHT_KEYS):
            self._speech.think(thought, apart=True)
        for text in frame.strings(TEXT_KEYS):
            self._speech.say(text, apart=True)

    def _break_off(self) -> None:
        """The input ended in JSON: the innermost object that is a call broke off; if there is none, it is all text."""
        if self._arguments is not None:
            name, repairs = self._frames[-1].name or ("", ())
            self._speech.end_call(Said(name, {}, "".join(self._arguments), complete=False, repairs=repairs))
            return
        rest: list[str] = []
        for frame in reversed(self._frames):
            if frame.said is not None:
                self._end_call(frame, "closing bracket missing")
            elif frame.kind == "{" and not frame.used:
                said = frame.broken_off(self._box)
                if said is not None:
                    self._speak_around()
                    self._speech.call(said)
                    return
            if frame.used:
                residue = (frame.segment + "".join(reversed(rest))).strip(_RESIDUE_EDGE)
                if not residue.startswith('"'):
                    self._speech.say(residue, apart=True)
                return
            rest.append(frame.source)
        self._say(self._lead + "".join(reversed(rest)))


def _may_become(tags: tuple[str, ...], text: str, at: int) -> bool:
    """The text from here on is the beginning of one of the tags."""
    tail = text[at : at + 16]
    return any(tag.startswith(tail) for tag in tags)
