"""The answer to a client, as a fold of what happens in a run: what is said, the calls that are made here, and the end.

A client that listens is told pieces as they happen, and every other client is told the same pieces out of the record.
Both ways end in the same `Ending`, which is always read from the record. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from ....agents.output import fitting
from ....core.call import TextPart, ToolCall, ToolResult
from ....core.event import CallFinished, Event, ReplyFinished, TextDelta
from ....core.json import JsonObject, dumps
from ....core.message import RefusalPart, Reply, Usage
from ....core.run.pending import Pending
from ....core.run.record import CallCompleted, CallRefused, Ended, Entry, ModelReplied
from ....journal.recording import CallRef, RunState
from ....knowledge.citing.references import QuoteReference, reference_of, references_in
from ....policy.record_mask import RecordMask
from ....runs.caller_access import ACCESS_REVOKED


class Said(Struct, frozen=True):
    """A piece of what the model says.

    Attributes:
        text: the words.
        begins: the words begin a new reply of the model.
    """

    text: str
    begins: bool = False


class ServerCall(Struct, frozen=True):
    """A call that was made here, or turned away.

    Attributes:
        place: which call of the run; see `CallRef.name`.
        call: without secret values.
        result: the result of the call.
        references: the quotes that the words before the call may cite.
    """

    place: str
    call: ToolCall
    result: ToolResult
    references: tuple[QuoteReference, ...] = ()


Piece: TypeAlias = Said | ServerCall

How = Literal["done", "calls", "waits", "asks", "stopped", "failed", "cancelled", "running"]
"""How an answer ends: with the model's words, with calls that the client is to make, with something that a person has
to say first, with a question to the user, at a limit, with an error, cancelled; or not yet. An answer whose form is not
the demanded one is an error, too."""
INVALID_OUTPUT = "invalid_output"
"""The reason of a run that was stopped because no answer of its model had the demanded form."""


class Ending(Struct, frozen=True, kw_only=True):
    """How an answer ends.

    Attributes:
        run_id: the run.
        how: see `How`.
        calls: what the run waits for from the client.
        waiting: what the run waits for from a person, each with the place of its call.
        text: what the user is to be told beyond what the model said; the whole answer where the client gave a schema
            for it, since nothing else is said then. The words of an error are for the operator, and never stand here.
        reason: of a run that was stopped or has failed.
        usage: the tokens of this answer.
        wants_form: the client gave a schema for the answer.
        references: the quotes of the run and of earlier turns, where its agent cites.
    """

    run_id: str
    how: How
    calls: tuple[Pending, ...] = ()
    waiting: tuple[tuple[Pending, str], ...] = ()
    text: str = ""
    reason: str = ""
    usage: Usage = Usage()
    wants_form: bool = False
    references: tuple[QuoteReference, ...] = ()

    @property
    def status(self) -> str:
        """How the run stands: `done`, `paused`, `stopped`, `failed`, `cancelled` or `running`."""
        return "paused" if self.how in ("calls", "waits", "asks") else self.how

    @property
    def is_cut(self) -> bool:
        """The answer is not the whole one, and no error either: it ended at a limit, was cancelled, or waits for
        somebody else than its client. Where a client demands a form, a question in plain words is no whole answer.
        """
        return self.how in ("stopped", "cancelled", "waits") or (self.how == "asks" and self.wants_form)


class AnswerFold:
    """Reads an answer out of the entries of a run.

    Args:
        run_id: the run.
        begins: the number of the first entry that belongs to the answer.
        until: with what the answer ends: with the first calls of the client, with the first pause of whatever kind, or
            with the end of the run.

    Attributes:
        before: the quotes of earlier turns, which the answer may cite.
    """

    def __init__(self, run_id: str, begins: int = 0, *, until: Literal["calls", "pause", "end"] = "calls") -> None:
        self.before: Sequence[QuoteReference] = ()
        self._until = until
        self._run_id = run_id
        self._begins = begins
        self._state = RunState()
        self._own: frozenset[str] = frozenset()
        self._before = Usage()
        self._said = ""
        self._held: list[Piece] = []
        self._is_cut = False

    @property
    def state(self) -> RunState:
        """What the entries say."""
        return self._state

    @property
    def is_cut(self) -> bool:
        """The answer is at its end, whatever the run does later."""
        return self._is_cut

    def take(self, entry: Entry) -> list[Piece]:
        """Take the next entry, the first one first.

        Returns:
            What it adds to the answer. An answer that ended with calls of the client ends there, also when the run went
            on.
        """
        record = entry.record
        if self._is_cut:
            return []
        if entry.number == self._begins:
            self._before = self._state.used().usage
        self._state.take(entry.number, record)
        if entry.number == 0:
            self._own = frozenset(tool.name for tool in self._state.beginning().client_tools)
        if entry.number < self._begins:
            return []
        match record:
            case ModelReplied(reply=reply) if self._state.beginning().cite and not reply.calls:
                return []  # what was accepted of it is told at the end
            case Ended(status="done", text=text) if self._state.beginning().cite:
                self._said = text
                return [Said(text, begins=True)] if text else []
            case ModelReplied(reply=reply):
                self._said = words_of(reply)
                is_told = self._said and self._state.beginning().answer_schema is None
                told: list[Piece] = [Said(self._said, begins=True)] if is_told else []
                self._held = [] if reply.calls else told  # an answer may be refused: then the model is asked again
                return told if reply.calls else []
            case Ended():
                how = self.ending().how
                self._is_cut = self._until != "end" and (
                    how == "calls" or (self._until == "pause" and how in ("waits", "asks"))
                )
                held, self._held = self._held, []
                return held
            case CallCompleted(cause, index, result, final=True) | CallRefused(cause, index, result):
                call = self._state.calls[cause][index]
                place = CallRef(cause, index).name
                return [] if call.name in self._own else [ServerCall(place, call, result, self._references())]
            case _:
                return []

    def ending(self) -> Ending:
        """How the answer ends, as far as the entries tell."""
        ended, waiting = self._state.ended, self._state.waiting()
        usage = self._state.used().usage.beyond(self._before)  # with that of agents below
        if ended is None or self._is_under_way(ended):
            return Ending(run_id=self._run_id, how="running", usage=usage)
        calls = tuple([asked.pending for asked in waiting if asked.kind == "result"])
        others = tuple(
            [(asked.pending, CallRef(asked.cause, asked.index).name) for asked in waiting if asked.kind != "result"]
        )
        how: How = "done"
        if ended.status == "paused":
            questions = [pending for pending, _ in others if pending.kind == "answer"]
            how = "asks" if len(questions) == len(others) == 1 else "waits" if others else "calls"
        elif ended.status == "stopped":
            ends: dict[str, How] = {"cancelled": "cancelled", INVALID_OUTPUT: "failed", ACCESS_REVOKED: "failed"}
            how = ends.get(ended.reason, "stopped")
        elif ended.status == "failed":
            how = "failed"
        schema = self._state.beginning().answer_schema
        told = "" if how in ("done", "calls") or (ended.text == self._said and schema is None) else ended.text
        if how == "done" and schema is not None:
            told = dumps(fitting(schema)(ended.text)[0])
        if ended.status == "failed":
            told = ""
        return Ending(
            run_id=self._run_id,
            how=how,
            calls=() if others else calls,
            waiting=others,
            text=told,
            reason=ended.reason,
            usage=usage,
            wants_form=schema is not None,
            references=self._references(),
        )

    def _references(self) -> tuple[QuoteReference, ...]:
        """The quotes that may be cited; none where the agent does not cite."""
        return (*self.before, *references_in(self._state)) if self._state.beginning().cite else ()

    def _is_under_way(self, ended: Ended) -> bool:
        """A pause is over as soon as nothing is waited for any more: somebody is about to go on with the run."""
        return ended.status == "paused" and not self._state.waiting()


def read_answer(run_id: str, entries: Iterable[Entry], begins: int = 0) -> tuple[list[Piece], Ending]:
    """An answer out of the record of its run.

    Args:
        run_id: the run.
        entries: all entries of the run.
        begins: the number of the first entry that belongs to the answer.

    Returns:
        The pieces and the ending.
    """
    fold = AnswerFold(run_id, begins)
    pieces = [piece for entry in entries for piece in fold.take(entry)]
    return pieces, fold.ending()


class LiveAnswer:
    """Tells the pieces of an answer while they happen, out of the events of the run.

    Args:
        own: the names of the client's own tools.
        mask: hides values with a label from the client.
        says_last: only the last reply is told, at the end, because it has to fit a schema of the client.
        references: the quotes that may be cited before the first call.

    Attributes:
        is_masked: a result has values that are hidden from the client. The model may repeat them in its words, so that
            what comes from then on is told out of the record, where the values are masked.
    """

    def __init__(
        self,
        own: Sequence[str],
        mask: RecordMask,
        *,
        says_last: bool = False,
        references: Sequence[QuoteReference] = (),
    ) -> None:
        self.is_masked = False
        self._mask = mask
        self._says_last = says_last
        self._references = tuple(references)
        self._own = frozenset(own)
        self._told = ""
        self._replies = 0
        self._calls: set[str] = set()

    def take(self, event: Event) -> list[Piece]:
        """Take the next event.

        Returns:
            What it adds to the answer.
        """
        if isinstance(event, CallFinished) and self._mask.hides((*event.result.labels.values(), *event.result.seen)):
            self.is_masked = True
        if self.is_masked:
            return []
        match event:
            case TextDelta() | ReplyFinished() if self._says_last:
                return []
            case TextDelta(text) if text:
                begins, self._told = not self._told, self._told + text
                return [Said(text, begins=begins)]
            case ReplyFinished(reply=reply):
                words, told, self._told = words_of(reply), self._told, ""
                self._replies += bool(words)
                return [Said(words, begins=True)] if words and not told else []
            case CallFinished(call=call, result=result, place=place) if place and call.name not in self._own:
                self._calls.add(place)
                made = reference_of(result)
                self._references += () if made is None else (made,)
                return [ServerCall(place, call, result, self._references)]
            case _:
                return []

    def has_told(self, piece: Piece) -> bool:
        """Whether a piece out of the record was told while it happened. Pieces are given in the order of the record."""
        if not self.is_masked:
            return True
        if isinstance(piece, ServerCall):
            return piece.place in self._calls
        self._replies -= 1
        return self._replies >= 0


def words_of(reply: Reply) -> str:
    """What a reply says to the user."""
    return "".join([part.text for part in reply.content if isinstance(part, TextPart | RefusalPart)])


def text_of(pieces: Iterable[Piece]) -> str:
    """All that is said in an answer."""
    return "".join([piece.text for piece in pieces if isinstance(piece, Said)])


def told_call(made: ServerCall) -> JsonObject:
    """A call that was made here, as it is told where an API has no words of its own for it."""
    error = made.result.error
    return {
        "call": made.call.name,
        "arguments": made.call.arguments,
        **({"error": error.message} if error is not None else {"result": made.result.text}),
    }
