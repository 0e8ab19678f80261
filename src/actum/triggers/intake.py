"""`TriggerIntake`: begins the run of an event, or wakes what waits for it. Each event does so once, in whatever
process.

The run is a task whose unique key is made of the trigger and the id of the event: a second telling of the event finds
the first run. The task is on record when `take` returns.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Literal
from weakref import WeakValueDictionary

from msgspec import Struct

from ..core.call import TextPart
from ..core.errors import Busy, CallError, JournalError, TaskRefused, UsageError
from ..core.interfaces import Clock, Journal
from ..core.json import Json, JsonObject, dumps, size_of_json
from ..core.language.sentence import Sentence
from ..core.message import UserMessage
from ..core.policy import Answer
from ..core.process.worker_thread import off_loop
from ..core.run.task import TaskLine, TaskOptions
from ..core.stored.counts import Rate
from ..core.stored.definitions import reference
from ..core.stored.position import Positions
from ..policy.lineage import From, Lineage
from ..policy.mandate import Mandate
from ..tasks.queue import TaskQueue, TaskView
from ..workflow.definition.expression import NoValue, compile_value
from .event import TriggerEvent
from .schedule import Schedule
from .settings import TriggerTable
from .states import LastEvent, TriggerPaused, TriggerStates
from .wake import WaitingNodes, nothing_waits

log = logging.getLogger("actum.triggers")

IN_MEMORY = Sentence("triggers begin tasks, which outlive a process, and the journal is in memory: use a file")
ALONE_S, ALONE_TRIES = 0.05, 600
"""How often, and for how many seconds each time, an event is waited for that another process is taking."""


_EVENT = "event"
"""What references in a trigger begin with."""


class TooManyEvents(UsageError):
    """A trigger has begun as many runs as it may for now.

    Args:
        wait_s: the seconds after which the next one may begin.
    """

    def __init__(self, name: str, most: int, wait_s: float) -> None:
        super().__init__("the trigger {name!r} begins {most} runs a minute at most", name=name, most=most)
        self.wait_s = wait_s


class TargetAway(UsageError):
    """What a trigger begins is not there now: the workflow was not published yet, or under another name. The event is
    not on record: tell of it again.
    """


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
        workflow: accepts a run of a workflow: by the trigger, its inputs, the options of the task and the `traceparent`
            of the event. Raises TargetAway where the workflow is not there.
        agent: accepts a question to an agent: by the trigger, the question, the options of the task and the
            `traceparent` of the event. Raises TargetAway where the agent is not there.
        go_on: goes on with a run that an event has woken, by its id and its tenant; None where only tasks go on.
    """

    def __init__(
        self,
        workflow: Callable[[str, TriggerTable, JsonObject, TaskOptions, str], Awaitable[TaskLine]],
        agent: Callable[[str, TriggerTable, UserMessage, TaskOptions, str], Awaitable[TaskLine]],
        go_on: Callable[[str, str], Awaitable[None]] | None = None,
    ) -> None:
        self.workflow = workflow
        self.agent = agent
        self.go_on = go_on


class TriggerIntake:
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
            raise UsageError(IN_MEMORY)
        self.states = TriggerStates(triggers, journal.positions)
        self.triggers = self.states.triggers
        self.clock = clock
        self._targets = targets
        self._queue = queue
        self._journal = journal
        self._taken: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @property
    def positions(self) -> Positions:
        """How far schedules and files have come."""
        return self._journal.positions

    async def fire(self, name: str, data: Json, *, id: str = "", kind: str = "") -> TakenEvent:
        """Tell of an event, from a program.

        Args:
            name: of the trigger.
            data: what happened.
            id: of the event; the same id is the same event. Left out, the event is a new one.
            kind: the name of the kind of event.

        Raises:
            UnknownName: there is no such trigger, or nothing waits for the event that it wakes.
            TriggerPaused: the trigger is paused.
            TooManyEvents: the trigger begins no more for now.
            TargetAway: what the trigger begins is not there now.
            TaskRefused, InvalidArguments, PermissionDenied: the run can not begin.
            UsageError: the event does not have what the trigger needs.
            Busy: somebody else has been taking the event for too long.
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
        return self.states.table(name)

    async def take(self, event: TriggerEvent) -> TakenEvent:
        """Begin what an event begins, unless it was told before; the arguments and errors are those of `fire`."""
        table = self.table(event.trigger)
        await self.states.check(event.trigger)
        if (known := await self._known(table, event)) is not None:
            return known
        async with self._alone_with(event):
            if (known := await self._known(table, event)) is not None:  # told twice at once
                return known
            async with self._counted(event.trigger, table):
                taken = await (self._wake(table, event) if table.wake else self._begin(table, event))
        runs = tuple(filter(None, (taken.run_id, *taken.woken)))
        await self.states.took(event.trigger, LastEvent(event.id, event.at, runs))
        return taken

    async def _known(self, table: TriggerTable, event: TriggerEvent) -> TakenEvent | None:
        """What became of an event that was told before; None for a new one."""
        if table.wake:
            planned = await self._nodes.planned(event.key)
            return None if planned is None else await self._woken(table, event, planned, "known")
        principal, tenant = whose(event.trigger, table)
        run_id = await self._queue.run_of_key(event.key, tenant=tenant, principal=principal)
        return TakenEvent(event=event.id, run_id=run_id, how="known") if run_id else None

    async def _begin(self, table: TriggerTable, event: TriggerEvent) -> TakenEvent:
        options = TaskOptions(unique_key=event.key, max_retries=table.max_retries)
        if table.workflow:
            line = await self._targets.workflow(event.trigger, table, await _inputs(table, event), options, event.trace)
        else:
            words = UserMessage((TextPart(await _text(table.say, event)),), "event")
            line = await self._targets.agent(event.trigger, table, words, options, event.trace)
        return TakenEvent(event=event.id, run_id=line.run_id)

    async def _wake(self, table: TriggerTable, event: TriggerEvent) -> TakenEvent:
        found = await self._nodes.find(table.tenant, await _text(table.wake, event))
        return await self._woken(table, event, await self._nodes.plan(event.key, found), "begun")

    async def _woken(
        self, table: TriggerTable, event: TriggerEvent, planned: list[tuple[str, str]], how: Literal["begun", "known"]
    ) -> TakenEvent:
        answer = Answer("answer", text=dumps(event.data), by=whose(event.trigger, table)[0])
        woken = await self._nodes.wake(event.key, planned, answer)
        if not woken:
            raise nothing_waits(await _text(table.wake, event))
        return TakenEvent(event=event.id, woken=woken, how=how)

    @asynccontextmanager
    async def _alone_with(self, event: TriggerEvent) -> AsyncIterator[None]:
        """Nobody else takes this event within the block, in whatever process.

        Raises:
            Busy: somebody else has been taking it for too long.
        """
        lock = self._taken.setdefault(event.key, asyncio.Lock())
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(lock)
            for tries_left in reversed(range(ALONE_TRIES)):
                try:
                    await stack.enter_async_context(self._journal.claim(f"event {event.key}"))
                    break
                except Busy:
                    if not tries_left:
                        raise
                    await self.clock.sleep(ALONE_S)
            yield

    @asynccontextmanager
    async def _counted(self, name: str, table: TriggerTable) -> AsyncIterator[None]:
        """What begins within the block counts for the rate of a trigger; what then does not begin counts no more.

        Raises:
            TooManyEvents: the trigger begins no more for now.
        """
        counts, rate = self._journal.counts, Rate(f"trigger {name}", table.per_minute)
        if counts is None:
            yield
            return
        (wait_s,) = await counts.begin([rate])
        if wait_s > 0:
            raise TooManyEvents(name, table.per_minute, wait_s)
        try:
            yield
        except BaseException:
            with suppress(JournalError):  # then it counts for a minute
                await counts.take_back(rate.name)
            raise

    async def take_watched(self, event: TriggerEvent) -> None:
        """Begin what an event begins that nobody told of, so that nobody could be answered. An event for which no run
        can ever begin is told in the log, and is over, and so is one of a trigger that is paused, without a word.

        Raises:
            TooManyEvents: the trigger begins no more for now.
            TargetAway: what the trigger begins is not there now.
            Busy: somebody else has been taking the event for too long, or the journal is held.
            TaskRefused: too many tasks wait.
            JournalError: nothing can be written.
        """
        if await self._journal.held.is_on():
            raise Busy("the journal is held, since it was restored from a backup: actum runs release --all")
        try:
            await self.take(event)
        except TriggerPaused:
            return
        except (TooManyEvents, TargetAway, Busy):
            raise
        except TaskRefused as error:
            if error.code in ("queued_max", "journal"):
                raise
            log.error("trigger %s: the event %s begins nothing: %s", event.trigger, event.id, error)
        except (CallError, UsageError) as error:
            log.error("trigger %s: the event %s begins nothing: %s", event.trigger, event.id, error)

    async def _go_on(self, run_id: str, tenant: str) -> None:
        """Go on with a run that waits for nothing more."""
        self._queue.wake(run_id)
        if self._targets.go_on is not None:
            await self._targets.go_on(run_id, tenant)

    @property
    def _nodes(self) -> WaitingNodes:
        return WaitingNodes(self._journal, self.positions, self._go_on)

    async def wait(self, run_id: str, seconds: float) -> TaskView:
        """How a run stands when it has ended, waits for a person, or this time is over."""
        return await self._queue.wait(run_id, seconds)


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
        raise UsageError("{where}: say one of workflow, agent and wake", where=where)
    if table.agent and not table.say:
        raise UsageError(
            '{where}: an agent has to be told something: say = "It happened: ${{event.data}}"', where=where
        )
    _check_source(where, table)
    checks: dict[str, Callable[[], object]] = {
        "schedule": lambda: table.schedule and Schedule(table.schedule, table.zone),
        "mandate": lambda: table.mandate is not None and Mandate.of(table.mandate),
        "workflow": lambda: table.workflow and reference(table.workflow),
        "say": lambda: _check_references(table.say),
        "wake": lambda: _check_references(table.wake),
        "with": lambda: _check_references(table.with_),
    }
    for key, check in checks.items():
        try:
            check()
        except UsageError as error:
            raise UsageError("[triggers.{name}] {key}: {why}", name=name, key=key, why=error) from None
    _check_numbers(where, table)


def _check_references(written: Json) -> None:
    """Raises:
    UsageError: a reference can not be read, or speaks of something else than the event.
    """
    for each in compile_value(written).named():
        if each.root != _EVENT:
            raise UsageError("a trigger knows `event` alone, and not {root!r}", root=each.root)


def _check_source(where: str, table: TriggerTable) -> None:
    """Raises:
    UsageError: what is listened for can not be.
    """
    if sum(map(bool, (table.schedule, table.file, table.resource))) > 1:
        raise UsageError("{where}: say one of schedule, file and resource", where=where)
    if bool(table.resource) != bool(table.server):
        raise UsageError('{where}: a resource needs its MCP server: server = "NAME", resource = "ADDRESS"', where=where)
    if table.a2a and (not table.is_webhook or not table.secrets):
        raise UsageError(
            '{where}: news of {a2a!r} come over HTTP, with a token: secret = "NAME"', where=where, a2a=table.a2a
        )
    place, _, path = table.id.partition(":")
    if table.id and (place not in ("header", "body") or not path):
        raise UsageError('{where}: id = "header:NAME" or "body:PATH", such as "body:data.id"', where=where)


def _check_numbers(where: str, table: TriggerTable) -> None:
    """Raises:
    UsageError: a number is out of its bounds.
    """
    counts, seconds = (table.per_minute, table.queued_max), (table.max_age_s, table.answer_s)
    if min(counts) < 1 or min(seconds) <= 0 or table.every_s < 1 or table.max_retries < 0:
        raise UsageError(
            "{where}: per_minute, queued_max, max_age_s and answer_s are greater than 0, every_s is "
            "at least 1, max_retries is not below 0",
            where=where,
        )


class _EventValues:
    """What references in a trigger speak of."""

    def __init__(self, event: TriggerEvent) -> None:
        self._event = event

    def value(self, root: str) -> Json:
        if root != _EVENT:
            raise NoValue(f"a trigger knows `event` alone, and not {root!r}")
        return self._event.told

    def lineage(self, root: str) -> Lineage:
        return From(())


async def _inputs(table: TriggerTable, event: TriggerEvent) -> JsonObject:
    """The inputs of the workflow.

    Raises:
        UsageError: the event does not have what the trigger needs.
    """
    if table.with_ is None:
        if not isinstance(event.data, dict):
            raise UsageError("the data of the event are no object: say with `with` what the workflow is given")
        return event.data
    found = await _value(table.with_, event)
    assert isinstance(found, dict)
    return found


async def _text(said: str, event: TriggerEvent) -> str:
    found = await _value(said, event)
    return found if isinstance(found, str) else dumps(found)


async def _value(said: Json, event: TriggerEvent) -> Json:
    try:
        return await off_loop(size_of_json(event.data), compile_value(said).value, _EventValues(event))
    except NoValue as none:
        raise UsageError("the event does not have what the trigger needs: {why}", why=none) from None
