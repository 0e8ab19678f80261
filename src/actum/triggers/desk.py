"""`TriggerDesk`: begins the run of an event, or wakes what waits for it. Each event does so once, in whatever process.

The run is a task whose unique key is made of the trigger and the id of the event: a second telling of the event finds
the first run. The task is on record when `take` returns.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Literal

from msgspec import Struct

from ..call.asking.inbox import answer_in_run, page_of_waiting
from ..core.call import TextPart
from ..core.counts import Rate
from ..core.errors import InvalidArguments, TaskRefused, UnknownName, UsageError
from ..core.interfaces import Answer, Clock, Journal
from ..core.json import Json, JsonObject, dumps
from ..core.message import UserMessage
from ..core.position import Positions
from ..core.task import TaskLine, TaskOptions
from ..tasks.queue import TaskQueue, TaskView
from ..workflow.expression import NoValue, compile_value
from ..workflow.lineage import From, Lineage
from .event import TriggerEvent
from .schedule import Schedule
from .settings import TriggerTable

log = logging.getLogger("actum.triggers")

PAGE = 100
"""So many questions are read at a time where those who wait for an event are looked for."""
WOKEN_MAX = 1_000


class TooManyEvents(UsageError):
    """A trigger has begun as many runs as it may for now.

    Args:
        wait_s: after so many seconds the next one may begin.
    """

    def __init__(self, name: str, most: int, wait_s: float) -> None:
        super().__init__(f"the trigger {name!r} begins {most} runs a minute at most")
        self.wait_s = wait_s


class TakenEvent(Struct, frozen=True, kw_only=True):
    """What became of an event.

    Attributes:
        event: its id.
        run_id: the run that it began; empty where it woke others.
        woken: the runs that it woke.
        how: the event began something now, or was known before.
    """

    event: str
    run_id: str = ""
    woken: tuple[str, ...] = ()
    how: Literal["begun", "known"] = "begun"


class Targets:
    """What triggers begin.

    Args:
        workflow: accepts a run of a workflow: by the trigger, its inputs and the options of the task.
        agent: accepts a question to an agent: by the trigger, the question and the options of the task.
    """

    def __init__(
        self,
        workflow: Callable[[str, TriggerTable, JsonObject, TaskOptions], Awaitable[TaskLine]],
        agent: Callable[[str, TriggerTable, UserMessage, TaskOptions], Awaitable[TaskLine]],
    ) -> None:
        self.workflow = workflow
        self.agent = agent


class TriggerDesk:
    """Begins what triggers begin.

    Args:
        triggers: the triggers by their names.
        targets: what they begin.
        queue: the tasks.
        journal: where runs are on record.
        clock: the time.

    Raises:
        UsageError: a trigger can not be, or the journal is in memory.
    """

    def __init__(
        self,
        triggers: Mapping[str, TriggerTable],
        targets: Targets,
        queue: TaskQueue,
        journal: Journal,
        clock: Clock,
    ) -> None:
        for name, table in triggers.items():
            check_trigger(name, table)
        if triggers and not queue.takes_tasks:
            raise UsageError("triggers begin tasks, which outlive a process, and the journal is in memory: use a file")
        self.triggers = dict(triggers)
        self.clock = clock
        self._targets = targets
        self._queue = queue
        self._journal = journal

    @property
    def positions(self) -> Positions:
        """How far schedules and files have come.

        Raises:
            UsageError: the journal keeps none.
        """
        found: Positions | None = getattr(self._journal, "positions", None)  # a journal may stand in another
        if found is None:
            raise UsageError("this journal keeps no positions of triggers: use a file or PostgreSQL")
        return found

    async def fire(self, name: str, data: Json, *, id: str = "", kind: str = "") -> TakenEvent:
        """Tell of an event, from a program.

        Args:
            name: of the trigger.
            data: what happened.
            id: of the event; the same id is the same event. Left out, the event is a new one.
            kind: the name of the kind of event.

        Raises:
            UnknownName: there is no such trigger, or nothing waits for the event that it wakes.
            TooManyEvents: the trigger begins no more for now.
            TaskRefused, InvalidArguments: the run can not begin.
            JournalError: nothing can be written.
        """
        self.table(name)
        given = id or secrets.token_hex(16)
        return await self.take(TriggerEvent(trigger=name, id=given, at=self.clock.now(), data=data, kind=kind))

    def table(self, name: str) -> TriggerTable:
        """The settings of a trigger.

        Raises:
            UnknownName: there is no such trigger.
        """
        if name not in self.triggers:
            raise UnknownName(f"there is no trigger {name!r}")
        return self.triggers[name]

    async def take(self, event: TriggerEvent) -> TakenEvent:
        """Begin what an event begins, unless it was told before; the arguments and errors are those of `fire`."""
        table = self.table(event.trigger)
        if table.wake:
            return await self._wake(table, event)
        principal, tenant = whose(event.trigger, table)
        if known_run := await self._queue.run_of_key(event.key, tenant=tenant, principal=principal):
            return TakenEvent(event=event.id, run_id=known_run, how="known")
        await self._check_rate(event.trigger, table)
        await self._queue.check_waiting(table.queued_max, tenant=tenant, principal=principal)
        options = TaskOptions(unique_key=event.key, max_retries=table.max_retries)
        try:
            if table.workflow:
                line = await self._targets.workflow(event.trigger, table, _inputs(table, event), options)
            else:
                words = UserMessage((TextPart(_text(table.say, event)),), "event")
                line = await self._targets.agent(event.trigger, table, words, options)
        except TaskRefused:
            # Told twice at once, and the trigger or the workflow was changed in between.
            known = await self._queue.keyed(event.key, tenant=tenant, principal=principal)
            if known is None:
                raise
            line = known
        return TakenEvent(event=event.id, run_id=line.run_id)

    async def take_watched(self, event: TriggerEvent) -> None:
        """Begin what an event begins that nobody told of, so that nobody could be answered. An event for which no run
        can ever begin is told in the log, and is over.

        Raises:
            TooManyEvents: the trigger begins no more for now.
            TaskRefused: too many tasks wait.
            JournalError: nothing can be written.
        """
        try:
            await self.take(event)
        except TooManyEvents:
            raise
        except TaskRefused as error:
            if error.code in ("queued_max", "journal"):
                raise
            log.error("trigger %s: the event %s begins nothing: %s", event.trigger, event.id, error)
        except (InvalidArguments, UsageError) as error:
            log.error("trigger %s: the event %s begins nothing: %s", event.trigger, event.id, error)

    async def wait(self, run_id: str, seconds: float) -> TaskView:
        """How a run stands when it has ended, waits for a person, or this time is over."""
        return await self._queue.wait(run_id, seconds)

    async def _check_rate(self, name: str, table: TriggerTable) -> None:
        if self._journal.counts is None:
            return
        (wait_s,) = await self._journal.counts.begin([Rate(f"trigger {name}", table.per_minute)])
        if wait_s > 0:
            raise TooManyEvents(name, table.per_minute, wait_s)

    async def _wake(self, table: TriggerTable, event: TriggerEvent) -> TakenEvent:
        """Wake the nodes that wait for a token. Which of them an event wakes is written down before the first is woken:
        told again, the event wakes what is left of these and no later one."""
        token, positions = _text(table.wake, event), self.positions
        known = await positions.find(event.key)
        is_new = False
        if known is None:
            found = await self._waiting(table.tenant, token)
            if not found:
                raise UnknownName(f"nothing waits for {token[:200]!r}")
            await self._check_rate(event.trigger, table)
            known = "\n".join(f"{run_id} {ask_id}" for run_id, ask_id in found)
            is_new = await positions.move(event.key, None, known)
            if not is_new:  # told twice at once
                known = await positions.find(event.key) or ""
        woken: list[str] = []
        answer = Answer("answer", text=dumps(event.data), by=whose(event.trigger, table)[0])
        for line in known.split("\n"):
            run_id, _, ask_id = line.partition(" ")
            woken.append(run_id)
            with suppress(UnknownName):  # it was woken before
                await answer_in_run(self._journal, run_id, ask_id, answer)
        return TakenEvent(event=event.id, woken=tuple(dict.fromkeys(woken)), how="begun" if is_new else "known")

    async def _waiting(self, tenant: str, token: str) -> list[tuple[str, str]]:
        """The runs of a tenant that wait for a token, each with what it asks under."""
        found: list[tuple[str, str]] = []
        cursor = ""
        while token and len(found) < WOKEN_MAX:
            page = await page_of_waiting(self._journal, limit=PAGE, cursor=cursor, tenant=tenant)
            for item in page.items:
                pending = item.asked.pending
                if pending.kind == "result" and pending.call is None and pending.name == token:
                    found.append((item.run.run_id, item.asked.id))
            cursor = page.next
            if not cursor:
                break
        return found


def whose(name: str, table: TriggerTable) -> tuple[str, str]:
    """On whose behalf the runs of a trigger are: the principal and the tenant."""
    return table.principal or f"trigger:{name}", table.tenant


def check_trigger(name: str, table: TriggerTable) -> None:
    """Whether a trigger can be.

    Raises:
        UsageError: it can not; the message names the trigger and the setting.
    """
    where = f"[triggers.{name}]"
    targets = [each for each in ("workflow", "agent", "wake") if getattr(table, each)]
    if len(targets) != 1:
        raise UsageError(f"{where}: say one of workflow, agent and wake")
    if table.agent and not table.say:
        raise UsageError(f'{where}: an agent has to be told something: say = "It happened: ${{event.data}}"')
    _check_source(where, table)
    if table.schedule:
        try:
            Schedule(table.schedule, table.zone)
        except UsageError as error:
            raise UsageError(f"{where}: {error}") from None
    _check_numbers(where, table)


def _check_source(where: str, table: TriggerTable) -> None:
    """Raises:
    UsageError: what is listened for can not be.
    """
    if sum(map(bool, (table.schedule, table.file, table.resource))) > 1:
        raise UsageError(f"{where}: say one of schedule, file and resource")
    if bool(table.resource) != bool(table.server):
        raise UsageError(f'{where}: a resource needs its MCP server: server = "NAME", resource = "ADDRESS"')
    if table.a2a and (not table.is_webhook or not table.secrets):
        raise UsageError(f'{where}: news of {table.a2a!r} come over HTTP, with a token: secret = "NAME"')
    place, _, path = table.id.partition(":")
    if table.id and (place not in ("header", "body") or not path):
        raise UsageError(f'{where}: id = "header:NAME" or "body:PATH", such as "body:data.id"')


def _check_numbers(where: str, table: TriggerTable) -> None:
    """Raises:
    UsageError: a number is out of its bounds.
    """
    counts, seconds = (table.per_minute, table.queued_max), (table.max_age_s, table.answer_s)
    if min(counts) < 1 or min(seconds) <= 0 or table.every_s < 1 or table.max_retries < 0:
        raise UsageError(
            f"{where}: per_minute, queued_max, max_age_s and answer_s are greater than 0, every_s is at least 1, "
            "max_retries is not below 0"
        )


class _EventValues:
    """What references in a trigger speak of."""

    def __init__(self, event: TriggerEvent) -> None:
        self._event = event

    def value(self, root: str) -> Json:
        if root != "event":
            raise NoValue(f"a trigger knows `event` alone, and not {root!r}")
        return self._event.told

    def lineage(self, root: str) -> Lineage:
        return From(())


def _inputs(table: TriggerTable, event: TriggerEvent) -> JsonObject:
    """The inputs of the workflow.

    Raises:
        UsageError: the event does not have what the trigger needs.
    """
    if table.with_ is None:
        if not isinstance(event.data, dict):
            raise UsageError("the data of the event are no object: say with `with` what the workflow is given")
        return event.data
    found = _value(table.with_, event)
    assert isinstance(found, dict)
    return found


def _text(said: str, event: TriggerEvent) -> str:
    found = _value(said, event)
    return found if isinstance(found, str) else dumps(found)


def _value(said: Json, event: TriggerEvent) -> Json:
    try:
        return compile_value(said).value(_EventValues(event))
    except NoValue as none:
        raise UsageError(f"the event does not have what the trigger needs: {none}") from None
