"""A JSON value in which calls may stand, followed from its first bracket to its last, whole or in pieces.

A value is followed by its brackets and commas alone (`JsonScan`). Each object on the way in, `LEVELS_MAX` deep, is a
`Frame` and may prove to be a call. From the moment that the name of a tool and the bracket of its arguments were seen
it *is* one: its arguments are told as they come, and where it breaks off it is reported as not complete. The text
around the value is known to its reader: `json.calls` finds it in prose, `tagged.bodies` in a model's own mark-up.
"""

from __future__ import annotations

from msgspec import structs

from ...json_scan import JsonScan
from ..speech import CallRead, Speech
from ..toolbox import Toolbox, read_object
from .call_shape import ARGUMENT_KEYS, TEXT_KEYS, THOUGHT_KEYS, WRAPPER_KEYS, Frame, with_repairs

LEVELS_MAX = 6
"""How deep in other values a call is looked for."""

_RESIDUE_EDGE = " \t\r\n,}]`~"


class JsonValue:
    """One value.

    Args:
        box: the tools.
        speech: is told the calls in it.
        tagged: the value is inside mark-up that holds only calls, so a name alone makes a call.

    Attributes:
        ended: its last bracket was seen.
        used: there was a call or an answer in it. If there was none, it is text, which `source` has.
    """

    def __init__(self, box: Toolbox, speech: Speech, *, tagged: bool = False) -> None:
        self.ended = False
        self.used = False
        self.source = ""
        self._box = box
        self._speech = speech
        self._tagged = tagged
        self._scan = JsonScan()
        self._frames: list[Frame] = []
        self._left_over: list[str] = []
        self._skipping = 0
        self._arguments: list[str] | None = None

    @property
    def in_string(self) -> bool:
        """The text so far ends inside a string."""
        return self._scan.in_string

    def feed(self, text: str, at: int) -> int:
        """Take the text from a place on, to the end of the value; returns the place behind what was taken."""
        while at < len(text) and not self.ended:
            place, mark = self._scan.next(text, at)
            if self._frames:
                self._take(text[at:place])
            if not mark:
                return place
            self._take_mark(mark, text[place])
            at = place + 1
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
            self._frames.append(Frame(mark, trusted=True, tagged=self._tagged))
            return
        frame = self._frames[-1]
        key = frame.key
        if frame.said is not None and not frame.segment.strip():  # the next object, and this one was never closed
            self._end_call(frame, "closing bracket missing")
        if mark == "{" and key in ARGUMENT_KEYS and frame.name is None and not frame.used:
            frame.name = frame.called(key, self._box)
            if frame.name is not None:
                self._speak_around()
                self._speech.begin_call(frame.name[0], frame.call_id)
                self._arguments = []
        data = self._arguments is not None or frame.said is not None or key in ARGUMENT_KEYS
        if not data and len(self._frames) < LEVELS_MAX:
            trusted = frame.trusted and (frame.kind == "[" or key in WRAPPER_KEYS or not key)
            self._frames.append(Frame(mark, trusted=trusted, tagged=self._tagged))
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
            self._end_call(frame, *([] if mark else ["closing bracket missing"]))
        elif frame.kind == "{" and not frame.used:
            self._settle(frame, frame.settle(self._box))
        if frame.used:
            self._speak(frame)
        self._frames.pop()
        if not self._frames:
            self._end(frame)
        elif frame.used:
            self._frames[-1].used = True
            self._frames[-1].drop_segment()
        else:
            self._frames[-1].add(frame.source)
            if self._frames[-1].kind == "[":
                self._left_over.append(frame.source)

    def _end(self, frame: Frame) -> None:
        self.ended, self.used, self.source = True, frame.used, frame.source
        if frame.used:
            for text in self._left_over:
                self._speech.say(text)

    def _settle(self, frame: Frame, said: CallRead | None) -> None:
        """An object is at its end: it is a call, an answer, or text."""
        if said is not None:
            frame.used = True
            self._speak_around()
            self._speech.call(structs.replace(said, id=frame.call_id))
            return
        answer = frame.answer()
        frame.used = bool(answer) or frame.says_nothing
        self._speech.say(answer)

    def _end_call(self, frame: Frame, *repairs: str) -> None:
        assert frame.said is not None
        said = structs.replace(with_repairs(frame.said, *repairs), id=frame.call_id)
        self._speech.end_call(frame.finish(said, self._box))
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

    def break_off(self, *, closed: bool = False) -> str:
        """The text ended in the value: the innermost object that is a call broke off; if there is none, it is all text.

        Args:
            closed: the model went on with something else, so that only closing brackets are missing.

        Returns:
            What is text of it, where nothing in it was a call.
        """
        self.ended = True
        if self._arguments is not None:
            name, repairs = self._frames[-1].name or ("", ())
            source = "".join(self._arguments)
            said = read_object(name, source, close=True) if closed else CallRead(name, {}, source, complete=False)
            self._speech.end_call(structs.replace(said, repairs=(*repairs, *said.repairs), id=self._frames[-1].call_id))
            self.used = True
            return ""
        rest: list[str] = []
        for frame in reversed(self._frames):
            if frame.said is not None:
                self._end_call(frame, "closing bracket missing")
            elif frame.kind == "{" and not frame.used:
                broken = frame.broken_off(self._box, closed=closed)
                if broken is not None:
                    self.used = True
                    self._speak_around()
                    self._speech.call(structs.replace(broken, id=frame.call_id))
                    return ""
            if frame.used:
                self.used = True
                residue = (frame.segment + "".join(reversed(rest))).strip(_RESIDUE_EDGE)
                if not residue.startswith('"'):
                    self._speech.say(residue, apart=True)
                return ""
            rest.append(frame.source)
        return "".join(reversed(rest))
