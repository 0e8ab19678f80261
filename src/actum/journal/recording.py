"""What the entries of a run say: the fold by which a run goes on where it was, without doing anything twice.

Knows nothing of models or tools. A fresh run has an empty recording, so that there is no second path for resuming.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec
from msgspec import Struct

from ..core.approver import Voter
from ..core.budget import NOTHING, Used
from ..core.call import MediaPart, ToolCall, ToolResult
from ..core.errors import JournalError
from ..core.json import JsonObject
from ..core.message import Reply, Usage, UserMessage
from ..core.run.handed_over import HandedOver
from ..core.run.mandate import MandateMade
from ..core.run.node_records import NodeBegan, NodeLeft
from ..core.run.pending import Quorum
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
    TaskEnded,
    TaskQueued,
    TaskRecord,
    TaskRetrying,
    TaskStarted,
    ToolsChanged,
)
from ..core.secret_values import Secretive, differing_texts, filled, restored
from ..core.tool import Tool
from .excerpt import excerpt
from .grant import Grant

Rare = (
    PrecheckDone
    | ToolsChanged
    | AgentChanged
    | Compacted
    | ConversationRead
    | Noted
    | Forgotten
    | Sampled
    | MandateMade
    | CallParked
    | TaskRecord
)
"""The records that are rare in a run."""

MIDWAY = frozenset({"elicitation", "sampling", "roots"})
"""What a tool asks for while it runs."""

_TURNED_AWAY = frozenset({"budget_exceeded", "loop_detected"})

_sorted = msgspec.json.Encoder(order="sorted")


class CallRef(Struct, frozen=True):
    """Which call of a run: the number of the entry that asked for the call, and the index of the call in that entry.

    Ids made by models are unique only within a turn; this is unique within the run.
    """

    cause: int
    index: int

    @property
    def name(self) -> str:
        """The name by which a model may refer to the call."""
        return f"{self.cause}.{self.index}"


class CallStanding(Struct, frozen=True):
    """What is on record of one call: read once, and handed on.

    Attributes:
        place: which call it is.
        outcome: how the call ended; None when it has not.
        attempts: how many attempts at the call were begun.
        in_doubt: an attempt was begun and nobody knows how it ended: it may have happened.
        asked: what a person was asked before the call is made.
        answer: what the person said.
        edited: the arguments that a person put in the place of the model's; None where nobody did.
        doubt: what a person was asked about the latest attempt, where nobody knows how it ended.
        verdict: what the person said of that.
        state: what the tool left when it stopped to wait for an answer; None when it did not.
        missing: what the tool stopped for and nobody has given yet.
    """

    place: CallRef
    outcome: ToolResult | None = None
    attempts: int = 0
    in_doubt: bool = False
    asked: InputRequested | None = None
    answer: InputGiven | None = None
    edited: JsonObject | None = None
    doubt: InputRequested | None = None
    verdict: InputGiven | None = None
    state: str | None = None
    missing: InputRequested | None = None

    @property
    def was_made(self) -> bool:
        """The call was counted as one that the run makes, though it may have no outcome yet."""
        return self.attempts > 0 or self.asked is not None


class RunState:
    """A run's records, in the shapes in which the loop and the path ask for them.

    Attributes:
        started, ended: the first record, and the latest end or pause.
        replies: each reply of the model with the number of its entry.
        requested: each request for calls that no model made, with the number of its entry.
        calls: the calls of the run by the number of the entry that asked for them, in order.
        tools_at: for each reply, the digest of the tools it was given; `tools` is the latest.
        chosen: which tools the model is shown, where they changed or were chosen.
        agent: the agent that the run last went on with, where that was not the agent that began it.
        questions: what the user was asked, in order.
        answers: the answer that counts, by the id of what was asked; of an approval that needs several, the last one.
        compacted: the summary of what was said before, where this run made one.
        elapsed: seconds that the run had taken at its latest record.
        latest: when the latest of the entries was written that this state was read from, in seconds since 1970; 0 where
            it was read from none.
        sampled: what a model answered running tools, by the id of what was asked.
        cut: of the calls whose result was too long, how many bytes of it the model is shown.
        hidden: the digests of the secret values that were taken out of the records.
        shown: by the number of its entry, each reply that holds secret values, as it is shown: without them.
        secrets: the secret values, as texts.
        nodes: of a workflow, the beginnings and ends of its nodes, each with the number of its entry.
        needed: the records of features that the run needs to go on.
        mandates: what the user's words empower the agent to do, by how many messages of the user there were.
        outside: the names of the tools whose results brought text that an outsider may have written.
        labels_seen: the labels of values in results, whether the model was told the values or not.
        given_at: when each answer was written down, by the id of what was asked, as far as the state was read.

    Args:
        entries: the entries.
        words: the secret values by their digests (`Journal.hidden`), for a run that goes on. Without them the state
            holds `[secret]` in their places, which is right for whatever shows a run.
    """

    def __init__(self, entries: Iterable[Entry] = (), words: Mapping[str, bytes] | None = None) -> None:
        self.started: Started | None = None
        self.ended: Ended | None = None
        self.replies: list[tuple[int, ModelReplied]] = []
        self.requested: list[tuple[int, CallsRequested]] = []
        self.calls: dict[int, tuple[ToolCall, ...]] = {}
        self.questions: list[InputRequested] = []
        self.answers: dict[str, InputGiven] = {}
        self.compacted: Compacted | None = None
        self.elapsed = 0.0
        self.latest = 0.0
        self.tools = ""
        self.chosen: ToolsChanged | None = None
        self.agent: AgentChanged | None = None
        self.tools_at: list[str] = []
        self.sampled: dict[str, Reply] = {}
        self.cut: dict[CallRef, int] = {}
        self.outside, self.labels_seen = dict[str, None](), dict[str, None]()
        self.mandates: dict[int, MandateMade] = {}
        self._mandates_used: dict[int, Used] = {}
        self._outcomes: dict[CallRef, tuple[ToolResult, float]] = {}
        self._used: dict[CallRef, Used] = {}
        self._attempts: dict[CallRef, int] = {}
        self._open: set[CallRef] = set()
        self._asked: dict[CallRef, InputRequested] = {}
        self._doubts: dict[CallRef, InputRequested] = {}
        self._checks: dict[tuple[CallRef, str], PrecheckDone] = {}
        self._by_id: dict[str, InputRequested] = {}
        self._agreed: dict[tuple[str, bytes], dict[str, InputGiven]] = {}  # by whom
        self._grants: list[Grant] = []
        self._children: list[InputRequested] = []
        self._midway: list[InputRequested] = []
        self._parked: dict[CallRef, str] = {}
        self._requests: dict[CallRef, set[str]] = {}
        self.hidden: set[str] = set()
        self.shown: dict[int, Reply] = {}
        self.secrets: set[str] = set()
        self._edits: dict[CallRef, JsonObject] = {}
        self.nodes: list[tuple[int, NodeBegan | NodeLeft]] = []
        self.needed: list[Noted] = []
        self.given_at: dict[str, float] = {}
        self._nodes_left: set[int] = set()
        self._was_queued = self._has_read = False
        for entry in entries:
            record = entry.record
            if words and isinstance(record, Secretive) and record.hidden in words:
                self.take_apart(entry.number, record, restored(record, words[record.hidden]))
            else:
                self.take(entry.number, record)
            self.latest = max(self.latest, entry.at)
            if type(record) is InputGiven:
                self.given_at[record.id] = entry.at

    def take(self, number: int, record: Record) -> None:
        """Take in one more record of the run: while the run goes on, and when it is read back from the journal.

        Args:
            number: of the record's entry.
            record: the record.
        """
        match record:
            case Intended():
                self._begin_attempt(CallRef(record.cause, record.index), record.attempt)
            case CallCompleted() | CallRefused():
                self._end_attempt(CallRef(record.cause, record.index), record)
                self.elapsed = record.elapsed
            case NodeBegan() | NodeLeft():
                self._take_node(number, record)
            case ModelReplied():
                if record.hidden:
                    self.hidden.add(record.hidden)
                self.replies.append((number, record))
                self.calls[number] = record.reply.calls
                self.tools_at.append(self.tools)
                self.elapsed = record.elapsed
            case Started():
                self.started = record
                self.tools = record.tools
            case Ended():
                self.ended = record
            case CallsRequested():
                if record.hidden:
                    self.hidden.add(record.hidden)
                self.requested.append((number, record))
                self.calls[number] = record.calls
            case InputRequested():
                self._ask(record)
            case InputGiven():
                self._answer(record)
            case other:
                self._take_rare(number, other)

    def take_apart(
        self,
        number: int,
        shown: Secretive,
        whole: Secretive,
    ) -> None:
        """Take in a record that secret values were taken out of.

        Args:
            number: of the record's entry.
            shown: the record as it stands in the journal.
            whole: the record with its secret values.
        """
        if isinstance(shown, ModelReplied):
            self.shown[number] = shown.reply
        for one, other in zip(_arguments_of(shown), _arguments_of(whole), strict=True):
            self.secrets.update(differing_texts(one, other))
        self.take(number, whole)

    def _take_rare(self, number: int, record: Rare) -> None:
        match record:
            case PrecheckDone() | MandateMade():
                self._take_found(record)
            case CallParked():
                self._park(record)
            case Sampled():
                self.sampled[record.id] = record.reply
                self.elapsed = record.elapsed
                self._request(record.cause, record.index, record.id)
            case ToolsChanged():
                self.tools, self.chosen = record.tools, record
            case AgentChanged():
                self.agent = record
            case Compacted():
                self.compacted = record
            case ConversationRead():
                self._has_read = True
                self.started = _with_conversation(self.beginning(), record)
            case TaskQueued():
                self._was_queued = True
            case Noted():
                if record.needed:
                    self.needed.append(record)
            case Forgotten() | TaskStarted() | TaskRetrying() | TaskEnded():
                pass

    def _take_found(self, record: PrecheckDone | MandateMade) -> None:
        """What was found out before a call: by a check, or what the user's words empower the agent to do."""
        self.elapsed = record.elapsed
        if isinstance(record, PrecheckDone):
            self._checks[CallRef(record.cause, record.index), record.rule] = record
            return
        self.mandates.setdefault(record.message, record)
        used = Used(tokens=record.usage.total_tokens, cost=record.cost, usage=record.usage)
        self._mandates_used[record.cause] = self._mandates_used.get(record.cause, NOTHING) + used

    @property
    def has_read_conversation(self) -> bool:
        """Whether the run knows how its conversation stands. A run that was queued reads this when it begins."""
        return self._has_read or not self._was_queued

    def _take_node(self, number: int, record: NodeBegan | NodeLeft) -> None:
        self.nodes.append((number, record))
        self.elapsed = record.elapsed
        if isinstance(record, NodeLeft):
            self._nodes_left.add(record.began)
        elif record.call is not None:
            self.calls[number] = (record.call,)

    def standing(self, place: CallRef) -> CallStanding:
        """What is on record of this call."""
        asked, doubt, answers = self._asked.get(place), self._doubts.get(place), self.answers
        known = self._outcomes.get(place)
        return CallStanding(
            place,
            None if known is None else known[0],
            self._attempts.get(place, 0),
            place in self._open,
            asked,
            None if asked is None else answers.get(asked.id),
            None if asked is None else self._edited(asked),
            doubt,
            None if doubt is None else answers.get(doubt.id),
            self._parked.get(place),
            self._missing(place) if place in self._parked else None,
        )

    def results(self) -> list[ToolResult]:
        """The results of all calls that have their outcome."""
        return [result for result, _ in self._outcomes.values()]

    def outcome(self, place: CallRef) -> tuple[ToolResult, float] | None:
        """How this call ended, and when in the run; None when it has not."""
        return self._outcomes.get(place)

    def succeeded(self) -> set[str]:
        """The names of the tools that were called with success."""
        return {
            call.name
            for cause, calls in self.calls.items()
            for index, call in enumerate(calls)
            if (known := self._outcomes.get(CallRef(cause, index))) is not None and known[0].error is None
        }

    def media(self) -> dict[str, MediaPart]:
        """What the tools of the run returned beside text, by handle."""
        parts = [part for result, _ in self._outcomes.values() for part in result.media]
        return {part.handle: part for part in parts if part.handle}

    def told(self, place: CallRef, result: ToolResult) -> ToolResult:
        """What the model is shown of the result of this call."""
        shown = self.cut.get(place)
        return result if shown is None else excerpt(result, shown, place.name)

    def whole(self, name: str) -> ToolResult | None:
        """The result that was cut and is called so; None when there is none."""
        place = next((place for place in self.cut if place.name == name), None)
        return self._outcomes[place][0] if place is not None else None

    def used_by(self, place: CallRef) -> Used:
        """What a call has used up so far."""
        return self._used.get(place, NOTHING)

    def used_in(self, reply: int, calls: int) -> Used:
        """What the calls of one reply have used up."""
        if not (self._used or self._mandates_used):
            return NOTHING
        asked = self._mandates_used.get(reply, NOTHING)
        return sum((self.used_by(CallRef(reply, index)) for index in range(calls)), asked)

    @property
    def own_usage(self) -> Usage:
        """The tokens that the run's own model used."""
        return sum((record.reply.usage for _, record in self.replies), Usage())

    def used(self) -> Used:
        """What is on record that the run has used, with all that it started."""
        asked = Used(
            len(self._made()),
            sum(record.reply.usage.total_tokens for _, record in self.replies),
            sum((record.cost for _, record in self.replies), NOTHING.cost),
            self.own_usage,
        )
        return sum(self._mandates_used.values(), sum(self._used.values(), asked))

    def _made(self) -> set[CallRef]:
        """The calls that the run made, and was not kept from making by a limit."""
        refused = {
            place
            for place, (result, _) in self._outcomes.items()
            if result.error is not None and result.error.code in _TURNED_AWAY
        }
        return (self._outcomes.keys() - refused) | self._attempts.keys() | self._asked.keys()

    def in_doubt(self, place: CallRef) -> bool:
        """An attempt was begun and nobody knows how it ended: it may have happened."""
        return place in self._open

    def asked(self, place: CallRef) -> InputRequested | None:
        """What a person was asked about this call."""
        return self._asked.get(place)

    def was_asked(self, place: CallRef) -> bool:
        """A person was asked about this call, by itself or by an agent that works on it, after it was begun."""
        asked = [*self._children, *self._doubts.values(), *self._midway]
        return any(CallRef(each.cause, each.index) == place for each in asked)

    def asked_by_node(self, began: int) -> InputRequested | None:
        """What a node of a workflow asked a person last; `began` is the number of its `NodeBegan`."""
        asked = [each for each in self._midway if each.cause == began]
        return asked[-1] if asked else self._asked.get(CallRef(began, 0))

    def is_known(self, ask_id: str) -> bool:
        """Whether this was asked already."""
        return ask_id in self._by_id

    def parked(self, place: CallRef) -> str | None:
        """What the tool of this call left when it stopped to wait for an answer; None when it did not."""
        return self._parked.get(place)

    def _missing(self, place: CallRef) -> InputRequested | None:
        """What the tool of this call stopped for and nobody has given yet."""
        here = [asked for asked in (*self._midway, *self._children) if CallRef(asked.cause, asked.index) == place]
        return next((asked for asked in here if asked.id not in self.answers), None)

    def midway(self) -> list[InputRequested]:
        """What running tools asked for and nobody has given yet, in order."""
        return [asked for asked in self.waiting() if asked.kind in MIDWAY and not asked.run] if self._midway else []

    def _park(self, record: CallParked) -> None:
        """The tool of a call has stopped to wait for an answer: nothing of it is in doubt."""
        place = CallRef(record.cause, record.index)
        self._parked[place] = record.state
        if record.used is not NOTHING:
            self._used[place] = record.used
        self._open.discard(place)

    def _request(self, cause: int, index: int, ask_id: str) -> None:
        """The tool of a call asked a model or a person. A tool of another party that asks a model does both in one."""
        self._requests.setdefault(CallRef(cause, index), set()).add(ask_id)

    def requests_of(self, place: CallRef) -> int:
        """How many requests the tool of this call has made: asking a model, or a person."""
        return len(self._requests.get(place, ()))

    @property
    def asked_midway(self) -> int:
        """How many questions the tools of the run have put to persons while they ran."""
        return sum(asked.kind != "sampling" for asked in self._midway)

    def sampled_in(self, cause: int) -> int:
        """How often the tools of the calls of one entry asked a model."""
        asked = [ids for place, ids in self._requests.items() if place.cause == cause]
        return sum(ask_id in self.sampled for ids in asked for ask_id in ids)

    def check(self, place: CallRef, rule: str) -> PrecheckDone | None:
        """What was looked up last for this call, because this rule requires it."""
        return self._checks.get((place, rule))

    def waiting(self) -> list[InputRequested]:
        """The questions that are not yet answered, in order. A call that has its outcome, such as one whose
        approval ran out, waits for nothing any more.
        """
        asked = [*self._asked.values(), *self._doubts.values(), *self._children, *self._midway, *self.questions]
        ended, left = self._outcomes, self._nodes_left
        return [
            each
            for each in asked
            if each.id not in self.answers
            and CallRef(each.cause, each.index) not in ended
            and (each.cause not in left or each.cause < 0)
        ]

    @property
    def tenant(self) -> str:
        """The tenant of the run; empty as long as the first record is not known."""
        return self.started.tenant if self.started is not None else ""

    def beginning(self) -> Started:
        """The record that the run began with.

        Raises:
            JournalError: there is none.
        """
        if self.started is None:
            raise JournalError("this run has no Started record: it can not be shown or resumed")
        return self.started

    def _begin_attempt(self, place: CallRef, attempt: int) -> None:
        """An attempt at a call begins."""
        self._attempts[place] = attempt
        self._open.add(place)
        self._doubts.pop(place, None)

    def _end_attempt(self, place: CallRef, record: CallCompleted | CallRefused) -> None:
        """A call, or an attempt at it, has its outcome; an attempt stays in doubt where nobody knows what it did."""
        if isinstance(record, CallCompleted):
            if record.used is not NOTHING:
                self._used[place] = record.used
            if record.shown and record.final:
                self.cut[place] = record.shown
        if isinstance(record, CallRefused) or record.final:
            self._outcomes[place] = (record.result, record.elapsed)
            if record.result.labels or record.result.seen:
                self.labels_seen |= dict.fromkeys((*record.result.labels.values(), *record.result.seen))
            if record.result.outside:
                calls = self.calls.get(place.cause, ())
                self.outside[calls[place.index].name if place.index < len(calls) else "tool"] = None
        elif record.result.error is not None and record.result.error.effect == "unknown":
            return
        self._open.discard(place)

    def granted(
        self, tool: Tool, arguments: JsonObject, rule: str, quorums: Sequence[Quorum], now: float
    ) -> InputRequested | None:
        """The question whose approval for the whole run covers this call, too; see `Grant.covers`."""
        return next((grant.asked for grant in self._grants if grant.covers(tool, arguments, rule, quorums, now)), None)

    def handed(self, place: CallRef) -> HandedOver | None:
        """What another run knew of a call that it handed over to this run; None where no run did."""
        return next((requested.handed for number, requested in self.requested if number == place.cause), None)

    def _answer(self, answer: InputGiven) -> None:
        """A person answers. It counts at once, but a yes where several are needed: they have to agree to the same."""
        if answer.hidden:
            self.hidden.add(answer.hidden)
        asked = self._by_id.get(answer.id)
        if asked is not None and answer.verdict == "approve":
            agreed = self._agreed.setdefault((answer.id, _sorted.encode(answer.arguments)), {})
            tenant = self.tenant
            agreed[answer.voter(tenant).name] = answer
            if not asked.pending.is_agreed([each.voter(tenant) for each in agreed.values()]) and not answer.met:
                return
            if len(agreed) > 1:
                answer = _as_all_say(answer, agreed.values())
            if answer.for_run and asked.kind == "approval" and asked.pending.call is not None:
                arguments = asked.pending.call.arguments if answer.arguments is None else answer.arguments
                self._grants.append(Grant(asked, self._filled(asked, arguments), answer.free))
            if answer.arguments is not None and asked.pending.secrets:
                self._edits[CallRef(asked.cause, asked.index)] = self._filled(asked, answer.arguments)
        self.answers[answer.id] = answer

    def said_beside(self, cause: int, calls: int) -> list[UserMessage]:
        """What users said beside the results of calls that they gave.

        Args:
            cause: the number of the entry that asked for the calls.
            calls: how many.
        """
        places = [self._asked.get(CallRef(cause, index)) for index in range(calls)]
        given = [self.answers.get(asked.id) for asked in places if asked is not None]
        return [message for answer in given if answer is not None for message in answer.said]

    def agreed(self, ask_id: str, arguments: JsonObject | None = None) -> frozenset[str]:
        """Who has said yes so far: to these arguments in the place of the call's own, where they are given."""
        return frozenset(self._agreed.get((ask_id, _sorted.encode(arguments)), ()))

    def voters(self, ask_id: str) -> tuple[Voter, ...]:
        """The persons who have said yes so far to the call's own arguments."""
        said = self._agreed.get((ask_id, _sorted.encode(None)), {})
        return tuple(each.voter(self.tenant) for each in said.values())

    def _edited(self, asked: InputRequested) -> JsonObject | None:
        """The arguments that a person put in the place of the model's; None where nobody did."""
        answer = self.answers.get(asked.id)
        if answer is not None and answer.verdict == "approve" and answer.arguments is not None:
            return self._filled(asked, answer.arguments)
        if asked.edited and asked.pending.call is not None:
            return self._filled(asked, asked.pending.call.arguments)
        return None

    def _filled(self, asked: InputRequested, arguments: JsonObject) -> JsonObject:
        """Arguments that were asked about or put in, with the secret values that a person is not shown: those of the
        latest arguments that a person put in for this call, or the call's own.
        """
        if not asked.pending.secrets:
            return arguments
        place = CallRef(asked.cause, asked.index)
        calls = self.calls.get(asked.cause, ())
        own = calls[asked.index].arguments if 0 <= asked.index < len(calls) else {}
        return filled(filled(arguments, self._edits.get(place, {}), asked.pending.secrets), own, asked.pending.secrets)

    def question(self, ask_id: str) -> InputRequested | None:
        """What was asked under this id."""
        return self._by_id.get(ask_id)

    def _ask(self, asked: InputRequested) -> None:
        """A person is asked."""
        self._by_id[asked.id] = asked
        if asked.run:
            self._children.append(asked)
        elif asked.kind in MIDWAY:
            self._midway.append(asked)
            self._request(asked.cause, asked.index, asked.id)
        elif asked.kind == "answer":
            self.questions.append(asked)
        elif asked.kind == "doubt":
            self._doubts[CallRef(asked.cause, asked.index)] = asked
        else:
            self._asked[CallRef(asked.cause, asked.index)] = asked


def _arguments_of(record: Secretive) -> list[JsonObject]:
    match record:
        case ModelReplied():
            return [call.arguments for call in record.reply.calls]
        case CallsRequested():
            return [call.arguments for call in record.calls]
        case InputGiven():
            return [record.arguments or {}]


def _as_all_say(answer: InputGiven, said: Collection[InputGiven]) -> InputGiven:
    """The last of several approvals, as far as all of them go."""
    for_run = all(each.for_run for each in said)
    free = tuple(name for name in answer.free if all(name in each.free for each in said)) if for_run else ()
    return msgspec.structs.replace(answer, for_run=for_run, free=free)


def _with_conversation(started: Started, read: ConversationRead) -> Started:
    """The first record of a run that was queued, with the conversation as it stood when the run began."""
    return msgspec.structs.replace(
        started,
        previous=read.previous,
        seen=read.seen,
        open_runs=read.open_runs,
        variables=read.variables,
        variables_kept=read.variables_kept,
        labels_seen=read.labels_seen,
    )
