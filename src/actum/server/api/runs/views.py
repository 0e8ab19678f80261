"""The record of a run as callers see it: the types of `bodies`, made of entries and of the state that they fold to.

What is for the operator alone is left out: where in a tool's code an error happened, the instructions of an agent, what
a check of the policy found, and the words of an error that ended a run.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import structs

from ....core.call import ToolCall, ToolResult
from ....core.errors import JournalError
from ....core.identity import Identity
from ....core.json import JsonObject
from ....core.message import Usage
from ....core.run.mandate import MandateMade
from ....core.run.node_records import NodeBegan, NodeLeft
from ....core.run.noted import NO_KINDS, RecordKinds
from ....core.run.pending import Pending
from ....core.run.plan import PlanSteps, latest_plan
from ....core.run.record import (
    CallCompleted,
    CallParked,
    CallRefused,
    CallsRequested,
    Ended,
    Entry,
    InputGiven,
    InputRequested,
    Intended,
    ModelReplied,
    Noted,
    PrecheckDone,
    Record,
    Sampled,
    Started,
)
from ....core.run.summary import RunSummary
from ....core.stored.definitions import TRIED
from ....journal.recording import CallRef, RunState
from ....journal.timeline import calls_in
from ....policy.record_mask import RecordMask
from ...scopes import allows
from ..approvals.bodies import waiting_in
from ..calls import FAILED, SaidCall, call_failure, call_value, said_calls
from ..records import Recorded
from .bodies import EventType, RecalledMemory, RunCall, RunDetails, RunEvent, RunInfo, RunKind, RunStatus

STATUSES: Mapping[str, RunStatus] = {
    "running": "running",
    "waiting": "waiting",
    "paused": "paused",
    "interrupted": "interrupted",
    "done": "done",
    "stopped": "stopped",
    "failed": "failed",
    "forgotten": "forgotten",
}
"""How a run in the list of runs stands, for callers."""
_KINDS: Mapping[str, RunKind] = {
    "agent": "agent",
    "call": "call",
    "administration": "administration",
    "workflow": "workflow",
}


def told_model(name: str, who: Identity) -> str:
    """The name of a model. Where the server reaches the model is for administrators.

    Args:
        name: the name on record, such as `qwen3@10.0.0.5:8000` for a model at an address.
        who: the caller.
    """
    if allows(who, ("admin",)) or "@" not in name:
        return name
    from ....models.catalog import PROVIDERS  # noqa: PLC0415  # dialects, which the completion of a command needs none of

    if name.partition(":")[0] in PROVIDERS:
        return name
    return name.rpartition("@")[0]


def run_info(line: RunSummary, who: Identity) -> RunInfo:
    """A run in a list of runs.

    Args:
        line: the run in the list of runs.
        who: the caller.
    """
    return RunInfo(
        id=line.run_id,
        status=STATUSES.get(line.status, "unreadable"),
        agent=line.agent,
        kind=_KINDS.get(line.kind, "agent"),
        model=told_model(line.model, who),
        question=line.question,
        session=line.conversation,
        principal=line.principal,
        parent=line.parent,
        started=line.started,
        ended=line.ended,
    )


def run_details(line: RunSummary, recorded: Recorded, who: Identity, outputs: JsonObject | None = None) -> RunDetails:
    """A run, with its calls and what it waits for.

    Args:
        line: the run in the list of runs.
        recorded: the run.
        who: the caller.
        outputs: what a workflow gave.
    """
    info, state, ended = run_info(line, who), recorded.state, recorded.state.ended
    is_under_way = ended is None or info.status in ("running", "waiting", "interrupted")
    return RunDetails(
        id=info.id,
        status=info.status,
        agent=info.agent,
        kind=info.kind,
        model=info.model,
        question=info.question,
        session=info.session,
        principal=info.principal,
        parent=info.parent,
        started=info.started,
        ended=info.ended,
        text="" if ended is None or is_under_way else _words(ended),
        stop_reason="" if ended is None or is_under_way else ended.reason,
        usage=state.used().usage,
        own_usage=state.own_usage,
        calls=tuple(
            _run_call(state, CallRef(cause, index), call)
            for cause, calls in state.calls.items()
            for index, call in enumerate(calls)
        ),
        approvals=waiting_in(line, recorded),
        forked=recorded.started.forked,
        draft=next((name.removeprefix(TRIED) for name in recorded.started.uses if name.startswith(TRIED)), ""),
        outputs=outputs,
        plan=_plan(state),
        recalled=tuple(
            RecalledMemory(id=each.id, kind=each.kind, at=each.at, score=each.score)
            for each in recorded.started.recalled
        ),
    )


def _plan(state: RunState) -> PlanSteps:
    """The plan that a run wrote down last."""
    said = ((CallRef(cause, index), call) for cause, calls in state.calls.items() for index, call in enumerate(calls))
    return latest_plan((call.name, known[0]) for place, call in said if (known := state.outcome(place)) is not None)


def _run_call(state: RunState, place: CallRef, call: ToolCall) -> RunCall:
    known = state.outcome(place)
    result = known[0] if known is not None else None
    return RunCall(
        call=place.name,
        tool=call.name,
        arguments=call.arguments,
        is_over=result is not None,
        result=None if result is None else call_value(result),
        error=None if result is None else call_failure(result.error),
    )


def _words(ended: Ended) -> str:
    """What a caller is told at the end of a run. The words of an error are for the operator."""
    return FAILED if ended.status == "failed" else ended.text


class EventFold:
    """Makes the events of a run out of its entries: one event for each entry.

    Args:
        run_id: the run.
        record_kinds: the kinds of records that features bring here.
        mask: hides values with a label from the reader; None where nothing is hidden.
    """

    def __init__(self, run_id: str, record_kinds: RecordKinds = NO_KINDS, mask: RecordMask | None = None) -> None:
        self._run_id = run_id
        self._mask = mask
        self._record_kinds = record_kinds
        self._tools: dict[CallRef, str] = {}

    @property
    def has_hidden(self) -> bool:
        """Whether the entries so far have a value that is hidden from the reader."""
        return self._mask is not None and self._mask.has_hidden

    def take(self, entry: Entry) -> RunEvent:
        """The event of an entry. Every entry has to be given, from the first."""
        entry = entry if self._mask is None else self._mask.take(entry)
        try:
            record = entry.record
        except JournalError:
            return self._event(entry, "deleted")
        self._tools |= {CallRef(entry.number, index): call.name for index, call in enumerate(calls_in(record))}
        match record:
            case ModelReplied(reply=reply):
                return self._event(
                    entry, "model_replied", text=reply.text, calls=said_calls(reply.calls), usage=reply.usage
                )
            case CallsRequested(calls=calls):
                return self._event(entry, "calls_requested", calls=said_calls(calls))
            case Intended() | CallCompleted() | CallRefused() | PrecheckDone() | CallParked() | Sampled():
                return self._of_call(entry, record)
            case InputRequested(pending=pending):
                return self._asked(entry, record, pending)
            case _:
                return self._of_run(entry, record)

    def _of_run(self, entry: Entry, record: Record) -> RunEvent:
        match record:
            case Started():
                event = self._event(entry, "started", text=record.question)
                return structs.replace(event, forked=record.forked)
            case InputGiven():
                event = self._event(entry, "input_given", text=record.text, arguments=record.arguments)
                return structs.replace(event, approval=record.id, verdict=record.verdict, by=record.by)
            case NodeBegan():
                return structs.replace(self._event(entry, "node_began"), node=record.path)
            case NodeLeft():
                event = self._event(entry, "node_left", text="" if record.error is None else record.error.message)
                return structs.replace(event, node=record.path, status=record.status, port=record.port)
            case Noted():
                place = CallRef(record.cause, record.index)
                event = self._event(entry, "noted", text=self._record_kinds.shown(record))
                return structs.replace(event, call=place.name, tool=self._tools.get(place, ""))
            case Ended():
                event = self._event(entry, "ended", text=_words(record), usage=record.usage)
                return structs.replace(event, status=record.status, reason=record.reason)
            case _:
                if isinstance(record, MandateMade):
                    return self._event(entry, "mandate_made", text=record.line)
                return self._event(entry, _RARE.get(str(record.__struct_config__.tag), "other"))

    def _of_call(
        self, entry: Entry, record: Intended | CallCompleted | CallRefused | PrecheckDone | CallParked | Sampled
    ) -> RunEvent:
        place = CallRef(record.cause, record.index)
        match record:
            case Intended():
                event = self._event(entry, "intended", arguments=record.arguments)
                event = structs.replace(event, attempt=record.attempt, version=record.version, rule=record.rule)
                event = structs.replace(event, origins=record.origins)
            case CallCompleted():
                event = self._event(entry, "call_completed", result=record.result)
                event = structs.replace(event, is_final=record.final)
            case CallRefused():
                event = structs.replace(self._event(entry, "call_refused", result=record.result), rule=record.rule)
            case PrecheckDone():
                event = self._event(entry, "precheck_done")
            case CallParked():
                event = self._event(entry, "call_parked")
            case _:  # a Sampled
                event = self._event(entry, "sampled", usage=record.reply.usage)
        return structs.replace(event, call=place.name, tool=self._tools.get(place, ""))

    def _asked(self, entry: Entry, record: InputRequested, pending: Pending) -> RunEvent:
        event = self._event(entry, "input_requested", text=pending.message)
        event = structs.replace(event, approval=pending.id, kind=pending.kind, rule=record.rule)
        if pending.call is None:
            return event
        place = CallRef(record.cause, record.index)
        return structs.replace(event, call=place.name, tool=pending.call.name, arguments=pending.call.arguments)

    def _event(
        self,
        entry: Entry,
        kind: EventType,
        *,
        text: str = "",
        calls: tuple[SaidCall, ...] = (),
        arguments: JsonObject | None = None,
        result: ToolResult | None = None,
        usage: Usage | None = None,
    ) -> RunEvent:
        return RunEvent(
            run=self._run_id,
            number=entry.number,
            at=entry.at,
            type=kind,
            text=text,
            calls=calls,
            arguments=arguments,
            result=None if result is None else call_value(result),
            error=None if result is None else call_failure(result.error),
            usage=usage,
        )


_RARE: Mapping[str, EventType] = {
    "tools_changed": "tools_changed",
    "agent_changed": "agent_changed",
    "compacted": "compacted",
    "forgotten": "forgotten",
}
