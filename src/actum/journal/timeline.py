"""A run as it went in time: steps, calls, attempts, and what was waited for. The one fold of what is shown of a run.

The tree in a terminal, the page with a waterfall, the audit and the views of other APIs are made of it. What a run goes
on with is `RunState` (`recording.py`). Times are those of the entries, in seconds since 1970. Knows nothing of how it
is drawn, and judges nothing: `export.py` checks the chain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct, field

from ..core.call import ToolCall
from ..core.errors import JournalError
from ..core.run.ending import is_afterword
from ..core.run.mandate import MandateMade
from ..core.run.node_records import NodeBegan, NodeLeft
from ..core.run.record import (
    AgentChanged,
    CallCompleted,
    CallParked,
    CallRefused,
    CallsRequested,
    Compacted,
    ConversationRead,
    Ended,
    Entry,
    Forgotten,
    InputGiven,
    InputRequested,
    Intended,
    ModelReplied,
    Noted,
    PrecheckDone,
    Record,
    Sampled,
    Started,
    TaskRecord,
    ToolsChanged,
)
from .recording import CallRef

NAMELESS = ToolCall("", "", {})
"""Stands for a call of which nothing but its attempts and its outcome is on record."""


class InputAsked(Struct):
    """What somebody was asked, and what was said, each word with its time; an approval may need several."""

    asked: InputRequested
    at: float
    answers: list[tuple[InputGiven, float]] = field(default_factory=list)

    @property
    def answered(self) -> InputGiven | None:
        """The last word so far."""
        return self.answers[-1][0] if self.answers else None

    @property
    def answered_at(self) -> float | None:
        """When it came."""
        return self.answers[-1][1] if self.answers else None


class Attempt(Struct):
    """One attempt at a call.

    Attributes:
        ended: when it had its outcome, or began to wait for a person elsewhere; None when there is no word of it.
        settled: that outcome.
        waited_s: seconds after the attempt before it, so that a service could recover.
        number: of the entry that it began with.
    """

    intended: Intended
    at: float
    ended: float | None = None
    settled: CallCompleted | None = None
    waited_s: float = 0.0
    number: int = 0

    @property
    def left_unknown(self) -> bool:
        """It was broken off, and nobody knows what it did until then."""
        error = self.settled.result.error if self.settled is not None and not self.settled.final else None
        return error is not None and error.effect == "unknown"


class Check(Struct, frozen=True):
    """What a policy wanted looked up before a call, and when it was."""

    checked: PrecheckDone
    at: float


class Sample(Struct, frozen=True):
    """What a running tool asked a model, and when it had the answer."""

    sampled: Sampled
    at: float


class CallSpan(Struct):
    """A call: what was looked up and asked about it, the attempts at it, and what came of it.

    Attributes:
        samples: what its tool asked a model while it ran.
        outcome: its last word; None while there is none.
        ended: when that was written.
    """

    call: ToolCall
    attempts: list[Attempt] = field(default_factory=list)
    questions: list[InputAsked] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    outcome: CallCompleted | CallRefused | None = None
    ended: float | None = None

    @property
    def begun(self) -> float | None:
        """When it first came up; None when nothing was done about it yet."""
        happened: list[Attempt | InputAsked | Check] = [*self.attempts, *self.questions, *self.checks]
        times = [each.at for each in happened]
        return min(times, default=self.ended)

    @property
    def in_doubt(self) -> bool:
        """It was begun and there is no word of how it ended, or of what it did: it is under way, or nobody knows."""
        if self.outcome is not None or not self.attempts:
            return False
        last = self.attempts[-1]
        return last.ended is None or last.left_unknown


class ModelTurn(Struct):
    """The model's turn, and the calls that it said. It began `replied.seconds` before `at`."""

    number: int
    at: float
    replied: ModelReplied
    calls: list[CallSpan]

    @property
    def begun(self) -> float:
        return self.at - self.replied.seconds


class DirectCalls(Struct):
    """Calls that somebody asked for without a model."""

    number: int
    at: float
    requested: CallsRequested
    calls: list[CallSpan]


class NodeSpan(Struct):
    """A node of a workflow: from when it began, or was left where it only computes a value.

    Attributes:
        began: its beginning; None where it only computes a value.
        calls: the call that it makes, if it makes one.
        left: its end; None where there is none yet.
        left_at: when it ended.
    """

    number: int
    at: float
    path: str
    began: NodeBegan | None
    calls: list[CallSpan]
    left: NodeLeft | None = None
    left_at: float = 0.0


Row = ModelTurn | DirectCalls | InputAsked | NodeSpan
"""What happened in a run, beside what is told of the run as a whole (`OtherEvent`)."""


RowRecord = ToolsChanged | AgentChanged | MandateMade | Compacted | Noted | Forgotten | Ended | TaskRecord


class OtherEvent(Struct, frozen=True):
    """Something else that happened. `record` is None where it was deleted or can not be read."""

    number: int
    at: float
    record: RowRecord | None


class Timeline:
    """A run's entries, as they belong together.

    Attributes:
        started: what the run began with; None when that was deleted.
        began, latest: when its first and its latest entry were written.
        rows: steps, questions to the user and notes, in order.
    """

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.started: Started | None = None
        self.began = 0.0
        self.latest = 0.0
        self.rows: list[Row | OtherEvent] = []
        self._calls: dict[CallRef, CallSpan] = {}
        self._asked: dict[str, InputAsked] = {}
        self._nodes: dict[int, NodeSpan] = {}
        self._is_empty = True
        for entry in entries:
            self.take(entry, _read(entry))

    def steps(self) -> Iterator[ModelTurn]:
        """The model's turns."""
        return (row for row in self.rows if isinstance(row, ModelTurn))

    def calls(self) -> Iterator[CallSpan]:
        """Every call, whoever asked for it."""
        return (call for row in self.rows if isinstance(row, ModelTurn | DirectCalls | NodeSpan) for call in row.calls)

    def call(self, place: CallRef) -> CallSpan | None:
        """The call at a place; None where nothing is on record of one."""
        return self._calls.get(place)

    def question(self, ask_id: str) -> InputAsked | None:
        """What somebody was asked under an id."""
        return self._asked.get(ask_id)

    def questions(self) -> Iterator[InputAsked]:
        """Everything that somebody was asked."""
        yield from self._asked.values()

    def nodes(self) -> Iterator[NodeSpan]:
        """The nodes of a workflow."""
        return (row for row in self.rows if isinstance(row, NodeSpan))

    @property
    def waited_s(self) -> float:
        """Seconds that passed while somebody was asked, each counted once."""
        spans = [(each.at, each.answered_at) for each in self.questions() if each.answered_at is not None]
        return sum(end - begin for begin, end in union(spans))

    def busy(self) -> list[tuple[float, float]]:
        """When something was going on: the model was asked, a tool ran or was waited for to recover."""
        spans = [(step.begun, step.at) for step in self.steps()]
        for call in self.calls():
            spans += [(each.at - each.waited_s, each.ended) for each in call.attempts if each.ended is not None]
        return union(spans)

    def take(self, entry: Entry, record: Record | None) -> None:
        """Take the next entry.

        Args:
            entry: the entry, the first one first.
            record: its record; None where it was deleted or can not be read.
        """
        self._extend(entry, record)
        spans = self._spans(entry, calls_in(record))
        match record:
            case Started():
                self.started = record
            case ModelReplied():
                self.rows.append(ModelTurn(entry.number, entry.at, record, spans))
            case CallsRequested():
                self.rows.append(DirectCalls(entry.number, entry.at, record, spans))
            case Intended():
                self._begin(record, entry)
            case CallCompleted() | CallRefused():
                self._end(record, entry.at)
            case PrecheckDone():
                self._call(CallRef(record.cause, record.index)).checks.append(Check(record, entry.at))
            case InputRequested():
                self._ask(InputAsked(record, entry.at))
            case InputGiven():
                question = self._asked.get(record.id)
                if question is not None:
                    question.answers.append((record, max(question.at, entry.at)))
            case NodeBegan() | NodeLeft():
                self._take_node(record, entry, spans)
            case CallParked() | Sampled():
                self._midway(record, entry.at)
            case other:
                self._note(entry, other)

    def _extend(self, entry: Entry, record: Record | None) -> None:
        """The run lasted until this entry; an afterword may come days later."""
        if self._is_empty:
            self.began = self.latest = entry.at
        elif record is None or not is_afterword(record):
            self.latest = max(self.latest, entry.at)
        self._is_empty = False

    def _note(self, entry: Entry, record: RowRecord | ConversationRead | None) -> None:
        if not isinstance(record, ConversationRead):  # which nobody looks for in a run
            self.rows.append(OtherEvent(entry.number, entry.at, record))

    def _take_node(self, record: NodeBegan | NodeLeft, entry: Entry, spans: list[CallSpan]) -> None:
        node = self._nodes.get(record.began) if isinstance(record, NodeLeft) else None
        if node is None:
            began = record if isinstance(record, NodeBegan) else None
            node = NodeSpan(entry.number, entry.at, record.path, began, spans)
            self._nodes[entry.number] = node
            self.rows.append(node)
        if isinstance(record, NodeLeft):
            node.left, node.left_at = record, entry.at

    def _spans(self, entry: Entry, calls: Sequence[ToolCall]) -> list[CallSpan]:
        """The calls that an entry asks for."""
        spans = [CallSpan(call) for call in calls]
        self._calls |= {CallRef(entry.number, index): span for index, span in enumerate(spans)}
        return spans

    def _call(self, place: CallRef) -> CallSpan:
        """The call at a place; a nameless one where the entry that asked for it was deleted."""
        return self._calls.setdefault(place, CallSpan(NAMELESS))

    def _begin(self, record: Intended, entry: Entry) -> None:
        call = self._call(CallRef(record.cause, record.index))
        before = call.attempts[-1] if call.attempts else None
        failed_at = before.ended if before is not None and before.settled is not None else None
        waited_s = max(0.0, entry.at - failed_at) if failed_at is not None else 0.0
        call.attempts.append(Attempt(record, entry.at, waited_s=waited_s, number=entry.number))

    def _end(self, record: CallCompleted | CallRefused, at: float) -> None:
        call = self._call(CallRef(record.cause, record.index))
        final = isinstance(record, CallRefused) or record.final
        attempt = call.attempts[-1] if call.attempts else None
        if isinstance(record, CallCompleted) and attempt is not None and attempt.ended is None:
            found_out_later = final and not record.seconds and at > attempt.at  # by a probe, or by a person
            if not found_out_later:
                attempt.ended, attempt.settled = max(attempt.at, at), record
        if final:
            call.outcome, call.ended = record, at

    def _midway(self, record: CallParked | Sampled, at: float) -> None:
        """A running tool asked a model, or stopped until somebody answers."""
        if isinstance(record, Sampled):
            self._call(CallRef(record.cause, record.index)).samples.append(Sample(record, at))
            return
        attempts = self._call(CallRef(record.cause, record.index)).attempts
        if attempts:
            attempts[-1].ended = at

    def _ask(self, question: InputAsked) -> None:
        asked = self._asked[question.asked.id] = question
        if question.asked.index < 0:
            self.rows.append(asked)
        else:
            call = self._call(CallRef(question.asked.cause, question.asked.index))
            call.questions.append(asked)
            if question.asked.run and call.attempts:
                call.attempts[-1].ended = question.at


def union(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """The same time, in spans that do not overlap, in order.

    >>> union([(4, 5), (0, 2), (1, 3)])
    [(0, 3), (4, 5)]
    """
    whole: list[tuple[float, float]] = []
    for begin, end in sorted(spans):
        if whole and begin <= whole[-1][1]:
            whole[-1] = (whole[-1][0], max(whole[-1][1], end))
        else:
            whole.append((begin, end))
    return whole


def calls_in(record: Record | None) -> Sequence[ToolCall]:
    """The calls that a record asks for; their places are the number of its entry and their index."""
    match record:
        case ModelReplied():
            return record.reply.calls
        case CallsRequested():
            return record.calls
        case NodeBegan() if record.call is not None:
            return (record.call,)
        case _:
            return ()


def _read(entry: Entry) -> Record | None:
    try:
        return entry.record
    except JournalError:
        return None
