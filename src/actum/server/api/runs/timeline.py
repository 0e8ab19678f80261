"""`/v1/runs/{id}/timeline` and `/export`: a run as it went in time, and its record as it is kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct

from ....core.call import ToolResult
from ....core.errors import UnknownName
from ....core.json import Json, JsonObject
from ....core.message import Usage
from ....core.run.ids import child_id
from ....core.run.record import CallRefused, Ended, Started
from ....core.stored.definitions import TRIED
from ....features.operation import AnswerKind, ApiFile, ApiReply, ApiRequest, Operation
from ....journal.export import entry_line, faults, row_lines
from ....journal.recording import CallRef
from ....journal.timeline import (
    Attempt,
    CallSpan,
    DirectCalls,
    InputAsked,
    ModelTurn,
    NodeSpan,
    OtherEvent,
    Timeline,
)
from ...scopes import allows
from ..calls import CallFailure, call_failure, call_value
from ..examples import ASKED_AT, RUN
from .views import told_model

if TYPE_CHECKING:
    from ..api import Api  # agents and workflows, which the completion of a command needs none of

SpanKind = Literal["model", "call", "attempt", "check", "question", "node", "note"]
"""`model`: a turn of the model. `call`: a call, from the moment when it first came up; in it stand its attempts, what a
rule had looked up (`check`) and what a person was asked (`question`). `node`: of a workflow. `note`: anything else."""
SpanState = Literal["running", "waiting", "done", "failed", "denied", "skipped", "doubt"]
_encode = msgspec.json.Encoder().encode
_DENIED = {"permission_denied", "approval_denied"}


class RunSpan(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that took time in a run.

    Attributes:
        id: the id of the span within the run.
        parent: the id of the span around it; empty for a span of the run itself.
        kind: what it is.
        name: the model, the tool, the node, the kind of question, or what was noted.
        began: when it began, in seconds since 1970.
        ended: when it ended; null where it has not ended, or nobody knows.
        state: how it stands.
        attempt: the number of an attempt at a call, from 1.
        waited_s: the seconds that passed before this attempt, so that a service could recover.
        rule: the rule of the policy that allowed, asked for or denied it.
        by: who answered.
        text: what the model said, or what a person was asked or answered.
        arguments: what the tool got, or the node of a workflow that makes no call.
        result: what came back; of a node what the node gives, by name.
        error: why it failed.
        code: for a node that failed, the kind of the failure, such as `no_value`; `text` says what happened.
        run: the run that the call started.
        usage: the tokens of the turn.
    """

    id: str
    parent: str
    kind: SpanKind
    name: str
    began: float
    ended: float | None
    state: SpanState
    attempt: int = 0
    waited_s: float = 0.0
    rule: str = ""
    by: str = ""
    text: str = ""
    arguments: JsonObject | None = None
    result: Json = None
    error: CallFailure | None = None
    code: str = ""
    run: str = ""
    usage: Usage | None = None


class RunTimeline(Struct, frozen=True, kw_only=True):
    """A run as it went in time.

    Attributes:
        run: the id of the run.
        began: when its first entry was written, in seconds since 1970.
        latest: when its latest entry was written.
        waited_s: the seconds in which somebody was asked, each counted once.
        is_whole: whether the chain of its entries is as it was written.
        problems: what is wrong with the chain.
        children: the runs that its calls started.
        attempts: how often one call is tried at most; 0 where that is not on record.
        definition: the definition with which a run of a workflow began, as JSON text without positions, for callers
            with the scope `build`, or `admin` for a workflow of the settings; null for any other run.
        spans: what took time, in the order in which it began; a span comes after its parent.
    """

    run: str
    began: float
    latest: float
    waited_s: float
    is_whole: bool
    problems: tuple[str, ...]
    children: tuple[str, ...]
    attempts: int
    definition: str | None
    spans: tuple[RunSpan, ...]


async def show_timeline(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """A run as it went in time."""
    recorded = await api.records.run(asked.names["id"], asked.who, beyond_own=("audit",))
    recorded = await api.records.shown(recorded, asked.who)
    timeline = Timeline(recorded.entries)
    children = [child.run_id for child in await api.journal.runs(parent=recorded.run_id, tenant=asked.who.tenant)]
    problems = faults(recorded.entries)
    model = told_model(recorded.started.model, asked.who)
    return ApiReply(
        RunTimeline(
            run=recorded.run_id,
            began=timeline.began,
            latest=timeline.latest,
            waited_s=timeline.waited_s,
            is_whole=not problems,
            problems=tuple(problems),
            children=tuple(children),
            attempts=_attempts(recorded.started),
            definition=await _definition(api, asked, recorded.started),
            spans=tuple(spans(timeline, model, children)),
        )
    )


def _attempts(started: Started) -> int:
    most = started.limits.get("attempts")
    return most if isinstance(most, int) else 0


async def _definition(api: Api, asked: ApiRequest[None, None], started: Started) -> str | None:
    """The text of the workflow with which a run began; None for another run, and for who may see no definition."""
    is_own = not started.version and not any(name.startswith(TRIED) for name in started.uses)
    readers = ("admin",) if is_own else ("build",)  # those of the settings are the operator's
    if not started.workflow or not allows(asked.who, readers):
        return None
    with suppress(UnknownName):
        return (await api.journal.kept(started.workflow)).decode()
    return None


async def export_run(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """The record of a run as lines of JSON: `actum journal verify --file` checks them without the journal."""
    recorded = await api.records.run(asked.names["id"], asked.who, beyond_own=("audit",))
    recorded = await api.records.shown(recorded, asked.who)
    lines = [_encode(entry_line(recorded.run_id, entry)) for entry in recorded.entries]
    lines += [_encode(line) for line in await row_lines(api.journal, recorded.run_id)]
    return ApiReply(ApiFile(f"{recorded.run_id}.jsonl", "application/jsonl", b"\n".join([*lines, b""])))


def spans(timeline: Timeline, model: str, children: Sequence[str] = ()) -> Iterator[RunSpan]:
    """What took time in a run.

    Args:
        timeline: the run.
        model: the name of its model, as the caller is told of it.
        children: the runs that its calls started.
    """
    for row in timeline.rows:
        match row:
            case ModelTurn():
                yield RunSpan(
                    id=str(row.number),
                    parent="",
                    kind="model",
                    name=model,
                    began=row.begun,
                    ended=row.at,
                    state="done",
                    text=row.replied.reply.text,
                    usage=row.replied.reply.usage,
                )
                yield from _calls(row.number, "", row.calls, children, row.at)
            case DirectCalls():
                yield from _calls(row.number, "", row.calls, children, row.at)
            case NodeSpan():
                yield from _node(row, children)
            case InputAsked():
                yield _question(row, row.asked.id, "")
            case OtherEvent():
                name = "deleted" if row.record is None else str(row.record.__struct_config__.tag)
                if not isinstance(row.record, Started | Ended):
                    yield _note(row, name)


def _note(row: OtherEvent, name: str) -> RunSpan:
    return RunSpan(id=str(row.number), parent="", kind="note", name=name, began=row.at, ended=row.at, state="done")


def _node(row: NodeSpan, children: Sequence[str]) -> Iterator[RunSpan]:
    left, state = row.left, "running"
    if left is not None:
        state = left.status if left.status in ("done", "failed", "skipped") else "done"
    yield RunSpan(
        id=str(row.number),
        parent="",
        kind="node",
        name=row.path,
        began=row.at,
        ended=row.left_at if left is not None else None,
        state=msgspec.convert(state, SpanState),
        arguments=row.began.inputs or None if row.began is not None else None,
        result=left.value or None if left is not None else None,
        text="" if left is None or left.error is None else left.error.message,
        code="" if left is None or left.error is None else left.error.code,
    )
    yield from _calls(row.number, str(row.number), row.calls, children, row.at)


def _calls(
    number: int, parent: str, calls: Sequence[CallSpan], children: Sequence[str], asked_at: float
) -> Iterator[RunSpan]:
    """The calls that an entry asked for."""
    for index, call in enumerate(calls):
        name = CallRef(number, index).name
        began = call.begun
        result = call.outcome.result if call.outcome is not None else None
        started = [child_id(each.intended.key) for each in call.attempts]
        yield RunSpan(
            id=name,
            parent=parent,
            kind="call",
            name=call.call.name,
            began=asked_at if began is None else began,
            ended=call.ended,
            state=_state(call),
            rule=_rule(call),
            arguments=call.attempts[-1].intended.arguments if call.attempts else call.call.arguments,
            result=None if result is None else call_value(result),
            error=_failure(result),
            run=next((each for each in started if each in children), ""),
        )
        for place, check in enumerate(call.checks):
            checked = check.checked
            yield RunSpan(
                id=f"{name}/check{place}",
                parent=name,
                kind="check",
                name=checked.tool,
                began=check.at,
                ended=check.at,
                state="failed" if checked.fault else "done",
                rule=checked.rule,
                arguments=checked.arguments,
                error=_failure(checked.result),
            )
        yield from (_question(each, f"{name}/{each.asked.id}", name) for each in call.questions)
        yield from (_attempt(each, name) for each in call.attempts)


def _attempt(attempt: Attempt, call: str) -> RunSpan:
    result = attempt.settled.result if attempt.settled is not None else None
    if result is None:
        state: SpanState = "running" if attempt.ended is None else "waiting"
    else:
        state = "doubt" if attempt.left_unknown else "failed" if result.error is not None else "done"
    return RunSpan(
        id=f"{call}/{attempt.intended.attempt}",
        parent=call,
        kind="attempt",
        name=attempt.intended.tool,
        began=attempt.at,
        ended=attempt.ended,
        state=state,
        attempt=attempt.intended.attempt,
        waited_s=attempt.waited_s,
        rule=attempt.intended.rule,
        error=_failure(result),
    )


def _question(question: InputAsked, name: str, parent: str) -> RunSpan:
    answered = question.answered
    if answered is None:
        state: SpanState = "waiting"
    else:
        state = "denied" if answered.verdict == "deny" else "done"
    return RunSpan(
        id=name,
        parent=parent,
        kind="question",
        name=question.asked.pending.kind,
        began=question.at,
        ended=question.answered_at,
        state=state,
        rule=question.asked.rule,
        by=", ".join(dict.fromkeys(each.by for each, _ in question.answers)),
        text=question.asked.pending.message,
    )


def _state(call: CallSpan) -> SpanState:
    """How a call stands."""
    if call.outcome is not None:
        error = call.outcome.result.error
        if error is None:
            return "done"
        return "denied" if error.code in _DENIED else "doubt" if error.effect == "unknown" else "failed"
    if any(each.answered is None for each in call.questions):
        return "waiting"
    return "running"


def _rule(call: CallSpan) -> str:
    """The rule by which a call was allowed or turned away, or asks."""
    if isinstance(call.outcome, CallRefused) and call.outcome.rule:
        return call.outcome.rule
    if call.attempts:
        return call.attempts[-1].intended.rule
    return call.questions[-1].asked.rule if call.questions else ""


def _failure(result: ToolResult | None) -> CallFailure | None:
    return None if result is None else call_failure(result.error)


_NAMES = {"id": "The id of a run."}
_SPAN = {
    "id": "1.0",
    "parent": "",
    "kind": "call",
    "name": "add",
    "began": ASKED_AT,
    "ended": ASKED_AT + 1,
    "state": "done",
    "arguments": {"a": 2, "b": 3},
    "result": 5,
}
OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="showTimeline",
        method="get",
        path="/v1/runs/{id}/timeline",
        tag="runs",
        summary="Get a run as it went in time: turns, calls, attempts, waits, and whether its record is whole.",
        scopes=("runs", "tools", "audit"),
        names=_NAMES,
        replies={
            200: AnswerKind(
                means="The run in time.",
                body=RunTimeline,
                example={
                    "run": RUN,
                    "began": ASKED_AT,
                    "latest": ASKED_AT + 1,
                    "waited_s": 0.0,
                    "is_whole": True,
                    "problems": [],
                    "children": [],
                    "attempts": 3,
                    "definition": None,
                    "spans": [_SPAN],
                },
            )
        },
        handler=show_timeline,
    ),
    Operation(
        id="exportRun",
        method="get",
        path="/v1/runs/{id}/export",
        tag="runs",
        summary="Get the record of a run as lines of JSON, each sealed by those before it.",
        description=(
            "`actum journal verify --file` checks the lines without the journal. The record has what a run's owner is "
            "not shown elsewhere, such as the instructions of the agent: it needs the scope `audit`."
        ),
        scopes=("audit",),
        names=_NAMES,
        replies={
            200: AnswerKind(
                means="The lines.",
                body=str,
                example=f'{{"type":"entry","run":"{RUN}","number":0,"at":{ASKED_AT}}}\n',
                media_type="application/jsonl",
            )
        },
        handler=export_run,
    ),
)
