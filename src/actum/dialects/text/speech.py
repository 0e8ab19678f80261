"""`Speech`: what a text decoder has made out so far, as events for who watches and as the parts of a `Reply`.

Both come from the same few words (`say`, `think`, `begin_call`, ...), so they can not differ, and neither depends on
how the text was cut. White space at the edges of what is said is dropped; between two pieces of text that a call stands
between, the white space after the call is kept, or else that before it, so that `Reply.text` still reads well.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, structs

from ...core.call import TextPart, ToolCall
from ...core.event import (
    CallDelta,
    CallSaid,
    Delta,
    ReasoningDelta,
    TextDelta,
    ThoughtEnded,
)
from ...core.json import Json, JsonObject, dumps
from ...core.message import ReasoningPart, Reply, ReplyPart


class CallRead(Struct, frozen=True):
    """A call as it was read: see `ToolCall` for the fields. Its id is empty where the model gave none."""

    name: str
    arguments: JsonObject
    raw: str = ""
    complete: bool = True
    repairs: tuple[str, ...] = ()
    id: str = ""


class _Voice:
    """White space of one kind of text, held until something follows it."""

    __slots__ = ("_before_break", "_space", "begun")

    def __init__(self) -> None:
        self.begun = False
        self._before_break = ""
        self._space: list[str] = []

    def take(self, text: str, *, apart: bool) -> str:
        """What of the text, and of the white space before it, can be said now; `apart`: not without any white space."""
        body = text.lstrip()
        if self.begun and len(body) < len(text):
            self._space.append(text[: len(text) - len(body)])
        if not body:
            return ""
        lead = ("".join(self._space) or self._before_break or "\n" * apart) if self.begun else ""
        said = body.rstrip()
        self._space = [body[len(said) :]] if len(said) < len(body) else []
        self._before_break = ""
        self.begun = True
        return lead + said

    def pause(self) -> None:
        """Something else is said in between."""
        self._before_break = "".join(self._space) or self._before_break
        self._space = []


class Speech:
    """Collects what a model says in one reply. One call is said at a time.

    Attributes:
        waits: a call that has ended is told with what is said next, or by `release`, so that the text behind it can be
            noted on it.
        calls: how many have ended.
        settled: a thought was opened or closed, so that no closing mark makes reasoning of what was said before it.
        cut_off: the endpoint says that it broke the output off.
    """

    def __init__(self) -> None:
        self.waits = False
        self.cut_off = False
        self.settled = False
        self._ended: CallRead | None = None
        self._late: tuple[str, ...] = ()
        self._said_length = 0
        self._cited: list[str] | None = None
        self._cite_start = 0
        self._citations: list[Json] = []
        self._deltas: list[Delta] = []
        self._parts: list[ReplyPart] = []
        self._open: list[str] = []
        self._thinking = False
        self._text = _Voice()
        self._reasoning = _Voice()
        self._thought_pieces = 0
        self._ids: set[str] = set()
        self._id = ""
        self._begun = 0
        self._calls_before = 0
        self.calls = 0

    @property
    def has_text(self) -> bool:
        """Some text of an answer was said."""
        return self._text.begun

    @property
    def said_calls(self) -> int:
        """How many calls have ended, told or not."""
        return self.calls + (self._ended is not None)

    @property
    def has_call(self) -> bool:
        """A call has ended, told or not."""
        return self.calls > self._calls_before or self._ended is not None

    @property
    def in_call(self) -> bool:
        """A call has begun and has not ended."""
        return self._begun > self.said_calls

    @property
    def pending(self) -> bool:
        """A call has begun and was not told to be whole yet."""
        return self.in_call or self._ended is not None

    @property
    def reply(self) -> Reply:
        """All that was said so far."""
        extras: JsonObject = {"citations": list(self._citations)} if self._citations else {}
        return Reply(self._content(), extras=extras)

    def _content(self) -> tuple[ReplyPart, ...]:
        return (*self._parts, *self._open_part())

    def take(self) -> list[Delta]:
        """The events since the last time."""
        deltas, self._deltas = self._deltas, []
        return deltas

    def say(self, text: str, *, apart: bool = False) -> None:
        """Text of the answer; `apart`: it stood apart from the text before it, though no white space may show that."""
        if text:
            self.release()
            self._turn_to(thinking=False)
        said = self._text.take(text, apart=apart)
        if said:
            if self._cited is not None:
                if not self._cited:
                    self._cite_start = self._said_length + len(said) - len(said.lstrip())
                self._cited.append(said)
            self._said_length += len(said)
            self._open.append(said)
            self._deltas.append(TextDelta(said))

    def think(self, text: str, *, apart: bool = False) -> None:
        """Text of the reasoning; `apart` as in `say`."""
        if text:
            self.release()
            self._turn_to(thinking=True)
        said = self._reasoning.take(text, apart=apart)
        if said:
            self._thought_pieces += 1
            self._open.append(said)
            self._deltas.append(ReasoningDelta(said))

    def begin_thought(self) -> None:
        """Only reasoning is said from here on, until the thought is closed."""
        self.release()
        self.settled = True
        self._thought_pieces = 0

    def retell_thought(self, text: str) -> None:
        """The thought that is being said was this text alone. The reply changes; what was told stays told."""
        self._open = self._open[: len(self._open) - self._thought_pieces]
        self._thought_pieces = 0
        if text:
            self._turn_to(thinking=True)
            self._open.append(text)

    def branch(self) -> Speech:
        """A speech for text that may or may not belong to this one. The numbers of its calls go on from here."""
        branch = Speech()
        branch.calls = branch._calls_before = self.calls
        branch._ids = set(self._ids)
        return branch

    def adopt(self, branch: Speech) -> None:
        """The thought that is being said was never closed: the calls that a branch found in it count.

        The branch's text stays reasoning, and its calls are told now.
        """
        self.retell_thought("")
        self.pause()
        self._parts += [ReasoningPart(part.text) if isinstance(part, TextPart) else part for part in branch._content()]
        self.calls, self._ids = branch.calls, branch._ids
        self._deltas += [delta for delta in branch.take() if isinstance(delta, CallDelta | CallSaid)]

    def taken_back(self, thought: str) -> Speech:
        """A speech to go on with, in which all that was said so far is this one thought."""
        fresh = Speech()
        fresh._deltas = [*self._deltas, ThoughtEnded()]
        fresh.settled = True
        if thought:
            fresh._thinking = fresh._reasoning.begun = True
            fresh._open = [thought]
        return fresh

    def note(self, repair: str) -> None:
        """Put a repair on record at the last call, or at the one that is being said."""
        if self.pending:
            self._late = (repair,)
            return
        for place in range(len(self._parts) - 1, -1, -1):
            part = self._parts[place]
            if isinstance(part, ToolCall):
                self._parts[place] = structs.replace(part, repairs=(*part.repairs, repair))
                return

    def begin_citation(self) -> None:
        """What is said from here on rests on a source."""
        self._cited = []

    def end_citation(self, sources: str) -> None:
        """The source of what was said since then, in the model's own words: with its place in the text, an extra."""
        cited, self._cited = self._cited, None
        if cited:
            text = "".join(cited).lstrip()
            end = self._cite_start + len(text)
            self._citations.append({"text": text, "start": self._cite_start, "end": end, "sources": sources})

    def pause(self) -> None:
        """End the part of text or reasoning that is being said."""
        self._parts += self._open_part()
        self._open = []
        self._text.pause()
        self._reasoning.pause()

    def begin_call(self, name: str, call_id: str = "") -> None:
        """A call of this tool is certain; `call_id`: the model's own id of it, where that is known by now."""
        self.release()
        self.pause()
        self._begun = self.calls + 1
        self._id = self._unique(call_id) if call_id else ""
        self._deltas.append(CallDelta(self.calls, name=name, id=self._id))

    def call_text(self, source: str) -> None:
        """More source text of the arguments of the call that is being said."""
        if source:
            self._deltas.append(CallDelta(self.calls, arguments=source))

    def end_call(self, said: CallRead) -> None:
        """The call that is being said is at its end."""
        self._ended = said
        if not self.waits:
            self.release()

    def release(self, *repairs: str) -> None:
        """Tell the call that has ended, if it was not told; one that is complete with more repairs."""
        if self._ended is None:
            return
        said, self._ended = self._ended, None
        if said.complete and repairs:
            said = structs.replace(said, repairs=(*said.repairs, *repairs))
        late, self._late = self._late, ()
        index = self.calls
        self.calls += 1
        call = ToolCall(
            id=self._id or self._unique(said.id or f"call_{index}"),
            name=said.name,
            arguments=said.arguments,
            raw=said.raw,
            complete=said.complete,
            repairs=tuple(dict.fromkeys((*said.repairs, *late))),
        )
        self._ids.add(call.id)
        self._id = ""
        self._parts.append(call)
        self._deltas.append(CallSaid(index, call))

    def call(self, said: CallRead) -> None:
        """A whole call at once. Arguments that had to be mended are told as the JSON that they were mended to."""
        self.begin_call(said.name, said.id)
        self.call_text(dumps(said.arguments) if said.complete and (said.repairs or not said.raw) else said.raw)
        self.end_call(said)

    def _unique(self, call_id: str) -> str:
        """The id, or one made of it when an earlier call of this reply has it."""
        while call_id in self._ids:
            call_id = f"call_{self.calls}" if call_id != f"call_{self.calls}" else call_id + "_"
        return call_id

    def _turn_to(self, *, thinking: bool) -> None:
        if self._thinking != thinking:
            self.pause()
            self._thinking = thinking

    def _open_part(self) -> Sequence[ReplyPart]:
        text = "".join(self._open)
        if not text:
            return ()
        return (ReasoningPart(text),) if self._thinking else (TextPart(text),)
