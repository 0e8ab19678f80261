"""An event begins one run, whoever tells of it and how often: by the desk, by the clock and by a file."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from actum import tool
from actum.core.errors import InvalidArguments, UnknownName, UsageError
from actum.core.interfaces import Journal
from actum.core.json import JsonObject
from actum.core.message import UserMessage
from actum.core.record import Started
from actum.core.task import TaskLine, TaskOptions
from actum.journal.memory import MemoryJournal
from actum.policy.rules import Rule, Rules
from actum.tasks.attempt import attempt
from actum.tasks.builder import Resumable
from actum.tasks.queue import TaskQueue
from actum.testing import FakeClock
from actum.triggers.desk import Targets, TooManyEvents, TriggerDesk, check_trigger, whose
from actum.triggers.event import TriggerEvent
from actum.triggers.settings import TriggerTable
from actum.triggers.watch import Watcher
from actum.workflow import Workflow
from actum.workflow.load import read_definition
from tests.storage.conftest import Store

pytestmark = pytest.mark.row("A6")

LAMP = b"""
actum: workflow/1
name: lamp
inputs: {type: object, required: [room], properties: {room: {type: string}, on: {type: boolean}}}
nodes: {light: {type: tool, tool: set_light, with: {room: "${inputs.room}"}}}
edges: []
"""
WAITS = b"""
actum: workflow/1
name: order
nodes: {paid: {type: wait, event: "order 7"}, light: {type: tool, tool: set_light, with: {room: "${paid.output.room}"}}}
edges: [paid > light]
"""


class Hall:
    """A journal, a light, and a desk of triggers."""

    def __init__(self, store: Store, triggers: dict[str, TriggerTable], policy: Rules | None = None) -> None:
        self.place = store.place
        self.clock = FakeClock(auto=True)
        self.lit: list[str] = []
        self.journal: Journal = store.open(clock=self.clock)
        self.policy = policy
        self.queue = TaskQueue(self.journal, clock=self.clock)
        self.desk = TriggerDesk(triggers, Targets(self.workflow, self.agent), self.queue, self.journal, self.clock)

    def made(self, text: bytes = LAMP) -> Workflow:
        @tool(effects={"write"}, sinks=["room"])
        def set_light(room: str) -> str:
            """Switch a light on."""
            self.lit.append(room)
            return room

        policy = self.policy or Rules(Rule("allow"))
        return Workflow(read_definition(text), [set_light], journal=self.journal, policy=policy, clock=self.clock)

    async def workflow(self, name: str, table: TriggerTable, inputs: JsonObject, options: TaskOptions) -> TaskLine:
        principal, tenant = whose(name, table)
        made = self.made(WAITS if table.workflow == "order" else LAMP)
        return await self.queue.accept_workflow(
            made, inputs, options, given_by="event", principal=principal, tenant=tenant
        )

    async def agent(self, name: str, table: TriggerTable, words: UserMessage, options: TaskOptions) -> TaskLine:
        raise AssertionError

    async def build(self, started: Started) -> Resumable:
        return self.made(WAITS if started.agent == "order" else LAMP)

    async def carry_out(self, run_id: str) -> None:
        """As a worker would."""
        await attempt(self.journal, self, run_id, clock=self.clock, worker="w")


@pytest.fixture
async def hall(shared: Store) -> AsyncIterator[Callable[..., Hall]]:
    return lambda policy=None, **triggers: Hall(shared, triggers, policy)  # type: ignore[return-value]


async def test_an_event_that_is_told_sixteen_times_at_once_and_again_later_begins_one_run(
    hall: Callable[..., Hall],
) -> None:
    desk = hall(press=TriggerTable(workflow="lamp"))
    event = TriggerEvent(trigger="press", id="e1", at=1.0, data={"room": "kitchen"})
    taken = await asyncio.gather(*(desk.desk.take(event) for _ in range(16)))
    (run_id,) = {each.run_id for each in taken}
    await desk.carry_out(run_id)
    assert (desk.lit, (await desk.desk.take(event)).how) == (["kitchen"], "known")
    other = await desk.desk.fire("press", {"room": "hall"}, id="e2")
    assert other.run_id != run_id
    started = (await desk.journal.read(run_id))[0].record
    assert isinstance(started, Started)
    assert (started.given_by, started.principal) == ("event", "trigger:press")


async def test_what_an_event_says_is_never_the_users_word(hall: Callable[..., Hall]) -> None:
    """A rule that lets only trusted receivers through asks a person about the room that the event names."""
    rules = Rules(Rule("allow", when="trusted(room)"), Rule("ask"))
    desk = hall(press=TriggerTable(workflow="lamp", with_={"room": "${event.data.room}"}), policy=rules)
    run_id = (await desk.desk.fire("press", {"room": "kitchen"})).run_id
    await desk.carry_out(run_id)
    view = await desk.queue.look(run_id)
    assert (view.line.state, desk.lit) == ("waiting", [])


async def test_what_can_not_begin_is_told_and_limits_hold(hall: Callable[..., Hall]) -> None:
    desk = hall(
        press=TriggerTable(workflow="lamp", per_minute=3),
        told=TriggerTable(workflow="lamp", with_={"room": "${event.data.where}"}),
        go=TriggerTable(wake="order ${event.data.number}"),
    )
    with pytest.raises(InvalidArguments):
        await desk.desk.fire("press", {"lamp": 7})
    with pytest.raises(UsageError, match="no object"):
        await desk.desk.fire("press", ["kitchen"])
    with pytest.raises(UsageError, match="where"):
        await desk.desk.fire("told", {"room": "kitchen"})
    with pytest.raises(UnknownName, match="nothing waits"):
        await desk.desk.fire("go", {"number": 7})
    with pytest.raises(UnknownName, match="no trigger"):
        await desk.desk.fire("gone", {})
    begun = [await desk.desk.fire("press", {"room": "a"}, id="1")]
    with pytest.raises(TooManyEvents) as refused:  # the inputs that did not fit counted as well
        await desk.desk.fire("press", {"room": "a"}, id="2")
    assert refused.value.wait_s > 0
    assert (await desk.desk.fire("press", {"room": "a"}, id="1")).run_id == begun[0].run_id  # is known, and not counted


async def test_a_node_that_waits_for_an_event_is_woken_once(hall: Callable[..., Hall]) -> None:
    desk = hall(begin=TriggerTable(workflow="order"), go=TriggerTable(wake="order ${event.data.number}"))
    run_id = (await desk.desk.fire("begin", {})).run_id
    await desk.carry_out(run_id)
    assert (await desk.queue.look(run_id)).line.state == "waiting"
    event = TriggerEvent(trigger="go", id="p1", at=1.0, data={"number": 7, "room": "office"})
    taken = await asyncio.gather(desk.desk.take(event), desk.desk.take(event))
    assert {each.woken for each in taken} == {(run_id,)}
    await desk.carry_out(run_id)
    assert (await desk.desk.take(event)).how == "known"
    assert ((await desk.queue.look(run_id)).line.state, desk.lit) == ("succeeded", ["office"])


async def test_a_schedule_comes_once_with_two_servers_and_makes_up_for_what_was_missed(
    hall: Callable[..., Hall], tmp_path: Path
) -> None:
    words = {"workflow": "lamp", "with_": {"room": "hall"}, "schedule": "0 * * * *"}
    tables = {missed: TriggerTable(**words, missed=missed) for missed in ("once", "all", "skip")}  # type: ignore[arg-type]
    desk = hall(**tables)
    clock = desk.clock
    watchers = [Watcher(desk.desk, tmp_path), Watcher(desk.desk, tmp_path)]

    async def looked() -> dict[str, int]:
        await asyncio.gather(*(watcher.look() for watcher in watchers))
        found = await desk.journal.runs(limit=None)
        return {name: sum(run.principal == f"trigger:{name}" for run in found) for name in tables}

    clock.advance(3600 - clock.now() % 3600 + 10)  # ten seconds past an hour
    assert await looked() == {"once": 0, "all": 0, "skip": 0}  # it begins with the first look
    clock.advance(3600)
    assert await looked() == {"once": 1, "all": 1, "skip": 1}
    assert await looked() == {"once": 1, "all": 1, "skip": 1}
    clock.advance(5 * 3600 + 600)  # no server was there
    assert await looked() == {"once": 2, "all": 6, "skip": 1}
    watchers[:] = [Watcher(desk.desk, tmp_path)]  # begun anew
    assert await looked() == {"once": 2, "all": 6, "skip": 1}


async def test_each_change_of_a_file_is_an_event_also_back_to_what_it_was(
    hall: Callable[..., Hall], tmp_path: Path
) -> None:
    path = tmp_path / "plan.txt"
    desk = hall(plan=TriggerTable(workflow="lamp", file="plan.txt", with_={"room": "${event.data.text?}"}))
    watcher, numbers = Watcher(desk.desk, tmp_path), itertools.count(1)

    async def runs() -> int:
        await watcher.look()
        await Watcher(desk.desk, tmp_path).look()  # another server
        return len(await desk.journal.runs(limit=None))

    path.write_text("A", "utf-8")
    assert await runs() == 0
    for text in ("B", "A", "B"):
        path.write_text(text, "utf-8")
        wanted = next(numbers)
        assert (await runs(), await runs()) == (wanted, wanted)
    path.touch()
    assert await runs() == 3  # nothing in it changed
    path.unlink()
    assert await runs() == 3  # an event for which no run can begin, since there is no text, is over
    path.write_text("C", "utf-8")
    assert await runs() == 4


def test_a_trigger_that_can_not_be_is_told_at_the_start(hall: Callable[..., Hall]) -> None:
    for table, word in (
        (TriggerTable(), "one of workflow, agent and wake"),
        (TriggerTable(workflow="a", agent="b"), "one of"),
        (TriggerTable(agent="b"), "say ="),
        (TriggerTable(workflow="a", schedule="x"), "five fields"),
        (TriggerTable(workflow="a", schedule="* * * * *", file="f"), "not both"),
        (TriggerTable(workflow="a", id="somewhere"), "header:NAME"),
        (TriggerTable(workflow="a", per_minute=0), "greater than 0"),
    ):
        with pytest.raises(UsageError, match=word):
            check_trigger("t", table)
    with pytest.raises(UsageError, match="in memory"):
        in_memory = MemoryJournal()
        queue = TaskQueue(in_memory, clock=FakeClock())
        TriggerDesk({"t": TriggerTable(wake="x")}, Targets(_none, _none), queue, in_memory, FakeClock())


async def _none(*_: object) -> TaskLine:
    raise AssertionError
