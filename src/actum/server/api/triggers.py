"""`/v1/triggers`: the triggers of the settings: list, pause, resume.

An event is told at `POST /v1/triggers/{name}`, which is another route group (`server/triggers.py`): the sender may be
somebody who has no key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from ...core.errors import UnknownName
from ...core.language.sentence import Sentence
from ...features.command import AnswerText, Command, CommandOption, FoundBy, ListColumn
from ...features.operation import AnswerKind, ApiReply, ApiRequest, Operation
from ...features.refusal import not_found
from ...runs.administration import put_on_record
from ...triggers.settings import TriggerTable
from .examples import ASKED_AT
from .fields import ListPart

if TYPE_CHECKING:
    from .api import Api  # agents and workflows, which the completion of a command needs none of


class TriggerChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a trigger is to stand.

    Attributes:
        paused: whether the trigger begins nothing from now on.
    """

    paused: bool


class TriggerInfo(Struct, frozen=True, kw_only=True):
    """A trigger.

    Attributes:
        name: the name of the trigger.
        tenant: the tenant whose runs it begins.
        workflow, agent, wake: what begins: one of the three; the others are empty.
        schedule, zone: when, as a cron expression in a time zone; empty for a trigger without a schedule.
        file: the file whose change is the event; empty for none.
        resource: the resource of an MCP server whose change is the event; empty for none.
        path: where a webhook is sent to; empty for a trigger that is no webhook.
        paused: whether the trigger begins nothing now.
        next: when the schedule comes next, in seconds since 1970; null for a trigger without a schedule, and for one
            that is paused.
        last_event: the id of the event that it took last; empty for none.
        last_at: when that event was told, in seconds since 1970; null for none.
        last_runs: the run that the last event began, or the runs that it woke.
    """

    name: str
    tenant: str
    workflow: str
    agent: str
    wake: str
    schedule: str
    zone: str
    file: str
    resource: str
    path: str
    paused: bool
    next: float | None
    last_event: str
    last_at: float | None
    last_runs: tuple[str, ...]


class TriggerPage(ListPart[TriggerInfo], frozen=True, kw_only=True):
    """The triggers.

    Attributes:
        items: the triggers, as the settings name them.
        next: always null: all triggers are told.
    """


async def list_triggers(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """The triggers of the caller's tenant."""
    tables = api.triggers.triggers.items()
    items = [await _info(api, name, table) for name, table in tables if asked.tenant in (None, table.tenant)]
    return ApiReply(TriggerPage(items=tuple(items), next=None))


async def change_trigger(api: Api, asked: ApiRequest[None, TriggerChange]) -> ApiReply:
    """Pause or resume a trigger of the caller's tenant."""
    name, who, states = asked.names["name"], asked.who, api.triggers
    try:
        table = states.table(name)
    except UnknownName:
        raise not_found("trigger") from None
    if asked.tenant not in (None, table.tenant):
        raise not_found("trigger")
    changed = await (states.pause(name) if asked.body.paused else states.resume(name, api.clock.now()))
    if changed:
        act = "triggers.pause" if asked.body.paused else "triggers.resume"
        await put_on_record(
            api.journal, act, {"name": name}, principal=who.principal, key_id=who.key_id, tenant=table.tenant
        )
    return ApiReply(await _info(api, name, table))


async def _info(api: Api, name: str, table: TriggerTable) -> TriggerInfo:
    states = api.triggers
    paused, last = await states.is_paused(name), await states.last(name)
    return TriggerInfo(
        name=name,
        tenant=table.tenant,
        workflow=table.workflow,
        agent=table.agent,
        wake=table.wake,
        schedule=table.schedule,
        zone=table.zone if table.schedule else "",
        file=table.file,
        resource=table.resource,
        path=f"/v1/triggers/{name}" if table.is_webhook else "",
        paused=paused,
        next=None if paused else states.next_at(name, api.clock.now()),
        last_event=last.id if last else "",
        last_at=last.at if last else None,
        last_runs=last.run_ids if last else (),
    )


async def _named(api: Api, name: str) -> str:
    api.triggers.table(name)
    return name


def _when(trigger: TriggerInfo) -> str:
    watched = f"{trigger.schedule} {trigger.zone}" if trigger.schedule else trigger.file or trigger.resource
    return watched or f"POST {trigger.path}"


def _begins(trigger: TriggerInfo) -> str:
    return trigger.workflow or trigger.agent or f"wakes {trigger.wake}"


def _state(trigger: TriggerInfo) -> str:
    return str(Sentence("paused") if trigger.paused else Sentence("active"))


def _told_of_change(trigger: TriggerInfo, names: Mapping[str, str]) -> Sequence[AnswerText]:
    paused = AnswerText(
        "{name} is paused: it begins nothing, at any server of this journal.",
        values={"name": trigger.name},
        is_note=True,
    )
    active = AnswerText(
        "{name} begins runs again. What was missed is not made up for.", values={"name": trigger.name}, is_note=True
    )
    return [paused if trigger.paused else active]


_LIST = Command(
    words=("trigger", "list"),
    help="List the triggers.",
    columns=(
        ListColumn("name", "name"),
        ListColumn("when", made_of=_when),
        ListColumn("begins", made_of=_begins),
        ListColumn("state", form="word", made_of=_state),
        ListColumn("next", "next", "minute"),
        ListColumn("last event", "last_at", "minute"),
    ),
    empty="There is no trigger: actum trigger add NAME --workflow NAME",
)
_NAME = {"name": CommandOption(metavar="NAME", help="The name of the trigger.")}
_FOUND_BY = FoundBy(
    operation="listTriggers", field="name", about=("workflow", "agent"), noun="trigger", is_whole=True, look_up=_named
)
_PAUSE = Command(
    words=("trigger", "pause"),
    help="Pause a trigger: it begins nothing, at any server of this journal, until `actum trigger resume`.",
    options=_NAME,
    given={"paused": True},
    found_by=_FOUND_BY,
    show=_told_of_change,
)
_RESUME = Command(
    words=("trigger", "resume"),
    help="Have a trigger begin runs again. A schedule does not make up for what it missed.",
    options=_NAME,
    given={"paused": False},
    found_by=_FOUND_BY,
    show=_told_of_change,
)
_MORNING = {
    "name": "morning",
    "tenant": "",
    "workflow": "lamp",
    "agent": "",
    "wake": "",
    "schedule": "0 7 * * MON-FRI",
    "zone": "Europe/Berlin",
    "file": "",
    "resource": "",
    "path": "",
    "paused": False,
    "next": ASKED_AT + 3_600,
    "last_event": "1793516400",
    "last_at": ASKED_AT,
    "last_runs": ["run_4f1c"],
}
OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="listTriggers",
        method="get",
        path="/v1/triggers",
        tag="triggers",
        summary="List the triggers of your tenant: what each begins, its last event, and when it is next due.",
        scopes=("admin",),
        replies={200: AnswerKind(means="The triggers.", body=TriggerPage, example={"items": [_MORNING], "next": None})},
        handler=list_triggers,
        command=_LIST,
    ),
    Operation(
        id="changeTrigger",
        method="patch",
        path="/v1/triggers/{name}",
        tag="triggers",
        summary="Pause a trigger, or have it begin runs again.",
        description=(
            "This holds for all servers of the journal and is kept over restarts. A paused webhook is answered 409 and "
            "begins nothing; a schedule does not make up for what it missed while it was paused."
        ),
        scopes=("admin",),
        names={"name": "The name of a trigger."},
        body=TriggerChange,
        example={"paused": True},
        replies={200: AnswerKind(means="The trigger.", body=TriggerInfo, example=_MORNING)},
        handler=change_trigger,
        is_recorded=True,
        command=_PAUSE,
        more_commands=(_RESUME,),
    ),
)
