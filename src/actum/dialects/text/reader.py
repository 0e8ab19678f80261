"""`TextReader`: the decoder of every text dialect. It knows thoughts and made-up results; a `CallReader` knows calls.

    text ──▶ TextReader ──answer──▶ CallReader of the dialect ──▶ Speech
                        ──thought─▶ Speech, and a second CallReader that looks for calls in the thought

A thought ends at the mark that closes it, outside of the values of a call. Calls in a thought are part of it. Where the
output ends in the thought, the calls in it count if the dialect says so.

A closing mark without an opening one is what a model writes whose chat template opened the thought: everything before
it was the thought. Only the first mark of a reply can be one, and only where no thought was opened before it.

Behind a call, what looks like a result ends the reply: the model made it up (`invented_results`).

A call that never ends may hide a closing mark in its value. When the output has ended so, the text behind that mark is
read again, once in a reply, so that reading stays linear.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from msgspec import Struct

from ...core.event import Delta
from ...core.json import whole_text
from ...core.message import Reply
from .invented_results import CUT, EDGES, LOOSE, WORD, alternatives, prefix_free, unfinished_word
from .marks import Marks, NeedsMore, follows
from .speech import Speech
from .thought_marks import ThoughtMark, ThoughtMarks

Position = Literal["prose", "behind", "call", "value", "cut"]
"""Where a reader stands: in text; right behind a call; in a call; in a value of a call; in what is cut."""

_IN_TEXT = ("prose", "behind")
_NOTHING = Marks(())
_COLONS = ":："
_MAY_END_CALL = re.compile(rf"[\n{re.escape(EDGES)}]")
_BLANK_MAX = 64
"""The most white space before an opening mark that the prompt has written already."""


class CallReader(Protocol):
    """Reads text in any cut, and tells a `Speech` what is text and what is a call.

    Attributes:
        begun: how many times a call, or what may prove to be one, has begun.
    """

    begun: int

    @property
    def position(self) -> Position:
        """Where it stands, behind all that it was given."""

    def read(self, text: str) -> None:
        """Take more text."""

    def end(self, *, last: bool) -> None:
        """Nothing more comes: tell what was held back. A call that broke off is told as not complete.

        Args:
            last: the output is at its end, and not only the text before a thought.
        """


class PlainThought:
    """Reads a thought in which nothing but its end matters."""

    position: Position = "prose"
    begun = 0

    def __init__(self, speech: Speech) -> None:
        self._speech = speech

    def read(self, text: str) -> None:
        self._speech.think(text)

    def end(self, *, last: bool) -> None:
        pass


class ReplyMarks:
    """What a `TextReader` looks for in a text.

    In a text without an `eventful` character no mark begins and no call ends.

    Args:
        thoughts: the marks of thoughts.
        results: the marks that a result or the turn of another role begins with.
        opening_begins_line: an opening mark counts only where nothing stands before it in its line.

    Attributes:
        closing_of: each opening mark, with the marks that close its thought.
        closing: all closing marks.
        lone: the closing marks that also count without an opening mark.
        fixed: all marks.
        pattern: what is searched for: marks, and words that begin a line with a result.
        eventful: see above.
    """

    def __init__(
        self, thoughts: Sequence[ThoughtMarks], results: Sequence[str], *, opening_begins_line: bool = False
    ) -> None:
        self.closing_of = {mark: frozenset(marks.closing) for marks in thoughts for mark in marks.opening}
        self.closing = frozenset(mark for marks in thoughts for mark in marks.closing)
        self.lone = frozenset(mark for marks in thoughts if marks.lone for mark in marks.closing)
        self.opening_begins_line = opening_begins_line
        self.fixed = Marks((*self.closing_of, *self.closing, *prefix_free(results)))
        firsts = {mark[0] for mark in self.fixed.all}
        self.eventful = re.compile("[" + re.escape("".join(sorted({*firsts, *EDGES, "\n"}))) + "]")
        self.pattern = re.compile("|".join(filter(None, (alternatives(self.fixed.all), WORD))))


class TextRules(Struct, frozen=True):
    """What a `TextReader` has to know of a dialect.

    Attributes:
        marks: what it looks for.
        plain: the same without marks of thoughts.
        answer: makes a reader of answers; its second argument says whether it is the first of the reply.
        thought: makes a reader of thoughts.
        call_ends_thought: calls in a thought that is never closed count.
        last: a closing mark that is dropped where it ends the output; empty for none.
    """

    marks: ReplyMarks
    plain: ReplyMarks
    answer: Callable[[Speech, bool], CallReader]
    thought: Callable[[Speech], CallReader] = PlainThought
    call_ends_thought: bool = False
    last: str = ""


class _Stretch:
    """Reads text in which calls may stand, up to a made-up result."""

    def __init__(self, speech: Speech, reader: CallReader) -> None:
        self.speech = speech
        self._reader = reader
        self._cut: Literal["no", "begun", "noted"] = "no"

    @property
    def position(self) -> Position:
        return self._reader.position if self._cut == "no" else "cut"

    @property
    def unfinished(self) -> int | None:
        """The number of the call, or possible call, that the text is inside of now; None where it is in none."""
        return self._reader.begun if self.position in ("call", "value") else None

    @property
    def behind_call(self) -> bool:
        """A call was said in it."""
        return self.speech.has_call or self.position == "behind"

    def read(self, text: str) -> None:
        if self._cut == "no":
            self._reader.read(text)
        elif self._cut == "begun" and text.strip():
            self._cut = "noted"
            pending = self.speech.pending
            if pending:
                self.speech.note(CUT)
            self._reader.end(last=False)
            if not pending:
                self.speech.note(CUT)

    def cut(self) -> None:
        """A made-up result stands here. Its mark alone may only end the turn: it is put on record with what follows."""
        self._cut = "begun"

    def end(self, *, last: bool) -> None:
        if self._cut != "noted":
            self._reader.end(last=last)


class TextReader:
    """A decoder: feed it text in any cut, and it tells prose, reasoning and calls.

    Args:
        rules: of the dialect.
        thinking: the prompt ended with the mark that opens a thought.
        reasoned: the server tells reasoning in a field of its own, so marks of thoughts are text.

    Attributes:
        unclosed: the output ended in a thought that the prompt had opened.
    """

    def __init__(self, rules: TextRules, *, thinking: bool = False, reasoned: bool = False) -> None:
        self.unclosed = False
        self._rules = rules
        self._marks = rules.plain if reasoned else rules.marks
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._closing = False
        self._held = ""
        self._uneventful = True  # no call was said, so that no word for a result counts
        self._line = ThoughtMark()
        self._speech = Speech()
        # All text, as long as it may have to be told again in another way.
        self._raw: list[str] = []
        self._raw_length = 0
        # The first closing mark inside of a value of the latest call: its place, its length, and which call that is.
        self._passed_over: tuple[int, int, int] | None = None
        self._reread = False
        # In a thought: who tells it, and what closes it.
        self._thought: CallReader | None = None
        self._closers: frozenset[str] = frozenset()
        self._by_prompt = thinking and not reasoned
        self._stretch = _Stretch(self._speech, rules.answer(self._speech, not self._by_prompt))
        if reasoned:
            self._speech.settled = True
        elif thinking:
            self._begin_thought(self._marks.closing)

    @property
    def reply(self) -> Reply:
        """All that was said; whole after `close`."""
        return self._speech.reply

    @property
    def settled(self) -> bool:
        """What was told stays as it is: no `ThoughtEnded` can come any more."""
        return self._speech.settled or self._closing

    def feed(self, chunk: bytes | str) -> list[Delta]:
        """Take the next piece and return what became certain by it."""
        text = whole_text(chunk) if isinstance(chunk, str) else self._utf8.decode(chunk)
        if self._uneventful and not self._held and self._marks.eventful.search(text) is None:
            self._pass(text)
        else:
            self._read(text)
            self._uneventful = not self._stretch.behind_call
        return self._speech.take()

    def close(self, *, cut_off: bool = False) -> list[Delta]:
        """The input is at its end: return what was held back; see `TextDecoder`."""
        self._closing = True
        self._read(self._utf8.decode(b"", True))
        if (mark := self._swallowed()) is not None:
            self._read_again(*mark)
        if self._thought is not None:
            self._end_unclosed_thought()
        else:
            self._speech.cut_off = cut_off
            self._stretch.end(last=True)
        return self._speech.take()

    # Marks.

    def _read(self, text: str) -> None:
        text, self._held, at = self._held + text, "", 0
        while (found := self._marks.pattern.search(text, at)) is not None:
            self._pass(text[at : found.start()])
            at = found.start()
            quoted = self._quoted(text[found.end() : found.end() + 1]) if found[0][-1] not in _COLONS else False
            dropped = not quoted and self._ends_output(found, text)
            if isinstance(quoted, NeedsMore) or isinstance(dropped, NeedsMore):
                self._held = text[at:]
                return
            if not dropped and (quoted or not self._take(found)):
                self._pass(found[0])
            at = found.end()
        if self._closing:
            self._pass(text[at:])
            return
        certain = self._marks.fixed.hold(text, at, len(text))
        if self._stretch.behind_call or _MAY_END_CALL.search(text, at, certain):
            word = unfinished_word(text, at)
            if word < certain:
                self._pass(text[at:word])
                at = word
                certain = word if self._stretch.behind_call else certain
        self._pass(text[at:certain])
        self._held = text[certain:]

    def _quoted(self, behind: str) -> bool | NeedsMore:
        if self._stretch.position in ("call", "value"):
            return False
        return self._line.quotes(behind, closing=self._closing)

    def _ends_output(self, found: re.Match[str], text: str) -> bool | NeedsMore:
        """Whether a closing mark, of no thought any more, is the last that the model wrote."""
        if found[0] != self._rules.last or self._thought is not None or not self._speech.settled:
            return False
        return follows(_NOTHING, text, found.end(), closing=self._closing)

    def _pass(self, text: str) -> None:
        """Text without marks that count."""
        if not text:
            return
        self._line.pass_over(text)
        if self._thought is not None or not self._speech.settled:
            self._raw.append(text)
            self._raw_length += len(text)
        if self._thought is not None:
            self._thought.read(text)
        self._stretch.read(text)

    def _take(self, found: re.Match[str]) -> bool:
        """Whether a mark counts; what it means is then done."""
        mark = found[0]
        if mark in self._marks.closing:
            return self._take_closing(mark)
        if mark in self._marks.closing_of:
            return self._take_opening(mark)
        return self._take_result(mark, word=mark[-1] in _COLONS)

    def _forget_raw(self) -> None:
        self._raw, self._raw_length, self._passed_over = [], 0, None

    # Thoughts.

    def _take_opening(self, mark: str) -> bool:
        if self._thought is not None:  # the prompt opened it already
            return self._by_prompt and self._raw_length < _BLANK_MAX and not "".join(self._raw).strip()
        position = self._stretch.position
        if position == "cut":
            self._speech.settled = True
            return True
        if position not in _IN_TEXT or (self._marks.opening_begins_line and not self._line.blank):
            return False
        self._stretch.end(last=False)
        self._by_prompt = False
        self._begin_thought(self._marks.closing_of[mark])
        return True

    def _begin_thought(self, closers: frozenset[str]) -> None:
        self._speech.begin_thought()
        self._forget_raw()
        self._line = ThoughtMark()
        self._closers = closers
        self._thought = self._rules.thought(self._speech)
        branch = self._speech.branch()
        self._stretch = _Stretch(branch, self._rules.answer(branch, False))

    def _take_closing(self, mark: str) -> bool:
        if self._thought is None:
            if self._speech.settled or mark not in self._marks.lone:
                return False
        elif mark not in self._closers:
            return False
        if self._stretch.position == "value" and not self._reread:
            self._pass_over(mark)
            return False
        if self._thought is None:
            self._end_lone_thought()
        else:
            self._thought.end(last=False)
            self._begin_answer()
        return True

    def _pass_over(self, mark: str) -> None:
        """A closing mark in a value of a call is data, if the call is ever finished."""
        call = self._stretch.unfinished
        known = self._passed_over is not None and self._passed_over[2] == call
        if call is not None and not known and not self._line.quotes("", closing=True):
            self._passed_over = (self._raw_length, len(mark), call)

    def _swallowed(self) -> tuple[int, int] | None:
        """Place and length of the first closing mark in the values of a call that was never finished."""
        if self._reread or self._passed_over is None or self._passed_over[2] != self._stretch.unfinished:
            return None
        return self._passed_over[:2]

    def _read_again(self, place: int, length: int) -> None:
        """A closing mark ended the thought, though it stood in a value: no half call may swallow the answer."""
        raw = "".join(self._raw)
        self._reread = True
        if self._thought is None:
            self._raw = [raw[:place]]
            self._end_lone_thought()
        else:
            self._thought.end(last=False)
            self._speech.retell_thought(self._thought_text(raw[:place]))
            self._begin_answer()
        self._read(raw[place + length :])

    def _begin_answer(self) -> None:
        self._thought = None
        self._forget_raw()
        self._line = ThoughtMark()
        self._stretch = _Stretch(self._speech, self._rules.answer(self._speech, False))

    def _end_lone_thought(self) -> None:
        """The prompt opened a thought and nobody knew: all that was said so far was reasoning."""
        raw = "".join(self._raw)
        if raw.strip():
            self._speech = self._speech.taken_back(self._thought_text(raw))
        self._speech.settled = True
        self._begin_answer()

    def _thought_text(self, raw: str) -> str:
        """The text of a whole thought, without marks that only servers are meant to see."""
        speech = Speech()
        reader = self._rules.thought(speech)
        reader.read(raw)
        reader.end(last=False)
        return speech.reply.reasoning

    def _end_unclosed_thought(self) -> None:
        """The output ended in a thought."""
        assert self._thought is not None
        self._thought.end(last=False)
        self._stretch.end(last=False)
        if self._rules.call_ends_thought and self._stretch.speech.has_call:
            self._speech.adopt(self._stretch.speech)
        else:
            self.unclosed = self._by_prompt

    # Made-up results.

    def _take_result(self, mark: str, *, word: bool) -> bool:
        stretch = self._stretch
        position = stretch.position
        bracket = mark.isascii() and not any(map(str.isalpha, mark))  # no mark but right behind a call
        if position in _IN_TEXT:
            behind = position == "behind" and (not word or self._line.tail.rstrip(LOOSE)[-1:] in EDGES)
            counts = stretch.behind_call and (behind or (self._line.blank if word else not bracket))
        elif word:  # a list of calls that was never closed
            counts = position == "call" and stretch.behind_call and not stretch.speech.in_call and self._line.blank
        else:
            counts = position == "call" and not bracket and (stretch.behind_call or stretch.speech.in_call)
        if not counts:
            return False
        stretch.cut()
        if self._thought is None:
            if not self._speech.settled:
                self._raw.append(mark)
            return True
        self._thought.read(mark)
        self._raw.append(mark)
        self._raw_length += len(mark)
        return True
