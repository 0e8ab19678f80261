"""An event begins one run, whoever tells of it and how often: by the intake, by the clock and by a file."""

from __future__ import annotations

import asyncio
import functools
import itertools
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from math import inf
from pathlib import Path

import pytest

from actum import Agent, tool
from actum.core.call import TextPart, ToolCall
from actum.core.clock import SystemClock
from actum.core.errors import InvalidArguments, TaskRefused, UnknownName, UsageError
from actum.core.interfaces import Journal
from actum.core.json import Json, JsonObject
from actum.core.message import Reply, UserMessage
from actum.core.run.record import Started
from actum.core.run.task import TaskLine, TaskOptions
from actum.journal.memory import MemoryJournal
from actum.policy.rules import Rule, Rules
from actum.runs.options import ConversationOptions
from actum.tasks.attempt import attempt
from actum.tasks.builder import Resumable
from actum.tasks.queue import TaskQueue
from actum.testing import FakeClock, ScriptedModel
from actum.triggers.event import TriggerEvent
from actum.triggers.intake import TargetAway, Targets, TooManyEvents, TriggerIntake, check_trigger, whose
from actum.triggers.settings import TriggerTable
from actum.triggers.watch import Watcher
from actum.workflow import Workflow
from actum.workflow.load import read_definition
from tests import warm
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


read_once = functools.cache(read_definition)


class Hall:
    """A journal, a light, and a intake of triggers."""

    def __init__(self, store: Store, triggers: dict[str, TriggerTable], policy: Rules | None = None) -> None:
        self.place = store.place
        self.clock = FakeClock(auto=True)
        self.lit: list[str] = []
        self.is_away = True
        self.journal: Journal = store.open(clock=self.clock)
        self.policy = policy
        self.queue = TaskQueue(self.journal, clock=self.clock)
        self.intake = TriggerIntake(triggers, Targets(self.workflow, self.agent), self.queue, self.journal, self.clock)

    def made(self, text: bytes = LAMP) -> Workflow:
        @tool(effects={"write"}, sinks=["room"])
        def set_light(room: str) -> str:
            """Switch a light on."""
            self.lit.append(room)
            return room

        policy = self.policy or Rules(Rule("allow"))
        return Workflow(read_once(text), [set_light], journal=self.journal, policy=policy, clock=self.clock)

    async def workflow(
        self, name: str, table: TriggerTable, inputs: JsonObject, options: TaskOptions, trace: str
    ) -> TaskLine:
        principal, tenant = whose(name, table)
        if table.workflow == "away" and self.is_away:
            raise TargetAway("it is away")
        made = self.made(WAITS if table.workflow == "order" else LAMP)
        return await self.queue.accept_workflow(
            made,
            inputs,
            options,
            ConversationOptions(principal=principal, tenant=tenant, trace=trace),
            given_by="event",
            queued_max=table.queued_max,
        )

    async def agent(
        self, name: str, table: TriggerTable, words: UserMessage, options: TaskOptions, trace: str
    ) -> TaskLine:
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
    intake = hall(press=TriggerTable(workflow="lamp"))
    event = TriggerEvent(trigger="press", id="e1", at=1.0, data={"room": "kitchen"})
    taken = await asyncio.gather(*(intake.intake.take(event) for _ in range(16)))
    (run_id,) = {each.run_id for each in taken}
    await intake.carry_out(run_id)
    assert (intake.lit, (await intake.intake.take(event)).how) == (["kitchen"], "known")
    other = await intake.intake.fire("press", {"room": "hall"}, id="e2")
    assert other.run_id != run_id
    started = (await intake.journal.read(run_id))[0].record
    assert isinstance(started, Started)
    assert (started.given_by, started.principal) == ("event", "trigger:press")


async def test_a_workflow_that_failed_is_not_tried_again_since_its_failure_is_on_record(
    hall: Callable[..., Hall],
) -> None:
    intake = hall(Rules(Rule("deny")), press=TriggerTable(workflow="lamp"))
    run_id = (await intake.intake.fire("press", {"room": "kitchen"})).run_id
    await intake.carry_out(run_id)
    line = (await intake.queue.look(run_id)).line
    assert (line.state, line.attempt, intake.lit) == ("failed", 1, [])


async def test_what_an_event_says_is_never_the_users_word(hall: Callable[..., Hall]) -> None:
    """A rule that lets only trusted receivers through asks a person about the room that the event names."""
    rules = Rules(Rule("allow", when="trusted(room)"), Rule("ask"))
    intake = hall(press=TriggerTable(workflow="lamp", with_={"room": "${event.data.room}"}), policy=rules)
    run_id = (await intake.intake.fire("press", {"room": "kitchen"})).run_id
    await intake.carry_out(run_id)
    view = await intake.queue.look(run_id)
    assert (view.line.state, intake.lit) == ("waiting", [])


async def test_what_can_not_begin_is_told_and_limits_hold(hall: Callable[..., Hall]) -> None:
    intake = hall(
        press=TriggerTable(workflow="lamp", per_minute=3),
        told=TriggerTable(workflow="lamp", with_={"room": "${event.data.where}"}),
        go=TriggerTable(wake="order ${event.data.number}"),
    )
    with pytest.raises(InvalidArguments):
        await intake.intake.fire("press", {"lamp": 7})
    with pytest.raises(UsageError, match="no object"):
        await intake.intake.fire("press", ["kitchen"])
    with pytest.raises(UsageError, match="where"):
        await intake.intake.fire("told", {"room": "kitchen"})
    with pytest.raises(UnknownName, match="nothing waits"):
        await intake.intake.fire("go", {"number": 7})
    with pytest.raises(UnknownName, match="no trigger"):
        await intake.intake.fire("gone", {})
    begun = [await intake.intake.fire("press", {"room": "a"}, id="1")]
    begun += [await intake.intake.fire("press", {"room": "a"}, id=each) for each in "23"]
    with pytest.raises(TooManyEvents) as refused:  # those that did not fit have not counted
        await intake.intake.fire("press", {"room": "a"}, id="4")
    assert refused.value.wait_s > 0
    assert (await intake.intake.fire("press", {"room": "a"}, id="1")).run_id == begun[
        0
    ].run_id  # is known, and not counted


async def test_a_node_that_waits_for_an_event_is_woken_once(hall: Callable[..., Hall]) -> None:
    intake = hall(begin=TriggerTable(workflow="order"), go=TriggerTable(wake="order ${event.data.number}"))
    run_id = (await intake.intake.fire("begin", {})).run_id
    await intake.carry_out(run_id)
    assert (await intake.queue.look(run_id)).line.state == "waiting"
    event = TriggerEvent(trigger="go", id="p1", at=1.0, data={"number": 7, "room": "office"})
    taken = await asyncio.gather(intake.intake.take(event), intake.intake.take(event))
    assert {each.woken for each in taken} == {(run_id,)}
    await intake.carry_out(run_id)
    assert (await intake.intake.take(event)).how == "known"
    assert ((await intake.queue.look(run_id)).line.state, intake.lit) == ("succeeded", ["office"])


async def test_an_event_that_comes_before_the_run_waits_is_refused_and_wakes_it_when_it_comes_again(
    hall: Callable[..., Hall],
) -> None:
    intake = hall(
        begin=TriggerTable(workflow="order"), go=TriggerTable(wake="order ${event.data.number}", per_minute=1)
    )
    run_id = (await intake.intake.fire("begin", {})).run_id
    paid: JsonObject = {"number": 7, "room": "office"}
    for _ in range(3):  # has not counted
        with pytest.raises(UnknownName, match="nothing waits"):
            await intake.intake.fire("go", paid, id="p1")
    await intake.carry_out(run_id)
    assert (await intake.intake.fire("go", paid, id="p1")).how == "begun"
    await intake.carry_out(run_id)
    assert intake.lit == ["office"]
    intake.clock.advance(61.0)
    with pytest.raises(UnknownName, match="nothing waits"):  # nor is anything kept for a later run
        await intake.intake.fire("go", paid, id="p2")


async def test_what_an_event_says_to_a_node_that_waits_is_never_the_users_word(hall: Callable[..., Hall]) -> None:
    rules = Rules(Rule("allow", when="trusted(room)"), Rule("ask"))
    intake = hall(rules, begin=TriggerTable(workflow="order"), go=TriggerTable(wake="order 7"))
    run_id = (await intake.intake.fire("begin", {})).run_id
    await intake.carry_out(run_id)
    await intake.intake.fire("go", {"room": "office"})
    await intake.carry_out(run_id)
    view = await intake.queue.look(run_id)
    assert (view.line.state, [asked.kind for asked in view.waiting], intake.lit) == ("waiting", ["approval"], [])


async def test_an_event_that_is_told_again_when_the_run_that_it_woke_was_forgotten_wakes_nothing(
    hall: Callable[..., Hall],
) -> None:
    intake = hall(begin=TriggerTable(workflow="order"), go=TriggerTable(wake="order 7"))
    run_id = (await intake.intake.fire("begin", {})).run_id
    await intake.carry_out(run_id)
    woken = await intake.intake.fire("go", {"room": "office"}, id="p1")
    await intake.carry_out(run_id)
    await intake.journal.forget(run_id)
    again = await intake.intake.fire("go", {"room": "office"}, id="p1")
    assert (again.woken, again.how, intake.lit) == (woken.woken, "known", ["office"])


async def test_of_two_events_for_one_node_at_two_servers_one_wakes_it_and_the_other_hears_that_nothing_waits(
    hall: Callable[..., Hall],
) -> None:
    tables = {"begin": TriggerTable(workflow="order"), "go": TriggerTable(wake="order 7")}
    servers = [hall(**tables), hall(**tables)]
    for server in servers:
        server.intake.clock = SystemClock()
    run_id = (await servers[0].intake.fire("begin", {})).run_id
    await servers[0].carry_out(run_id)

    async def fire(server: Hall, room: str) -> str:
        try:
            taken = await server.intake.fire("go", {"room": room}, id=room)
        except UnknownName:
            return ""
        assert taken.woken == (run_id,)
        return room

    events = [(server, f"room {number}") for number, server in enumerate(servers * 4)]
    (won,) = filter(None, await asyncio.gather(*(fire(server, room) for server, room in events)))
    await servers[0].carry_out(run_id)
    assert servers[0].lit == [won]
    again = await asyncio.gather(*(fire(server, room) for server, room in reversed(events)))
    assert list(filter(None, again)) == [won]  # told again, each hears the same


async def test_the_rate_counts_what_began_at_two_servers_within_a_minute(hall: Callable[..., Hall]) -> None:
    table = TriggerTable(workflow="lamp", per_minute=3)
    servers = [hall(press=table, other=table), hall(press=table, other=table)]
    for server in servers:
        server.intake.clock = SystemClock()  # a server really waits while the other one takes an event

    async def begins(server: Hall, id: str, data: Json) -> bool:
        try:
            return bool((await server.intake.fire("press", data, id=id)).run_id)
        except (TooManyEvents, InvalidArguments):
            return False

    assert not await begins(servers[0], "bad", {"lamp": 7})  # does not count
    at_once = [begins(server, "e1", {"room": "a"}) for server in servers * 5]  # counts once
    assert all(await asyncio.gather(*at_once))
    told = await asyncio.gather(*(begins(server, f"e{n}", {"room": "a"}) for n in range(2, 9) for server in servers))
    assert sum(told) == 4  # two more, each at both servers
    assert len(await servers[0].journal.runs(limit=None)) == 3
    assert (await servers[1].intake.fire("other", {"room": "a"})).run_id  # each trigger has a rate of its own
    refused = next(f"e{n}" for n, began in zip(range(2, 9), told[::2], strict=True) if not began)
    for server in servers:
        server.clock.advance(61.0)
    assert await begins(servers[1], refused, {"room": "a"})


async def test_no_more_tasks_of_a_trigger_wait_than_may_however_many_events_come_at_once(
    hall: Callable[..., Hall],
) -> None:
    intake = hall(press=TriggerTable(workflow="lamp", queued_max=20, per_minute=1_000))

    async def begins(number: int) -> bool:
        try:
            return bool((await intake.intake.fire("press", {"room": str(number)}, id=str(number))).run_id)
        except TaskRefused as refused:
            return refused.code != "queued_max"

    running: set[asyncio.Task[bool]] = set()
    for number in range(120):  # they come while others are being written
        running.add(asyncio.create_task(begins(number)))
        await asyncio.sleep(0)
        if number % 8 == 0:
            await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    begun = sum(await asyncio.gather(*running))
    assert 0 < begun <= 20  # one that is being written while the list is asked may count twice
    begun += sum([await begins(number) for number in range(200, 220)])
    assert begun == 20 == len(await intake.journal.runs(limit=None))


async def test_events_that_two_processes_are_told_at_the_same_moment_begin_one_run_each_and_count_once(
    shared: Store, tmp_path: Path
) -> None:
    number = 25
    script = tmp_path / "press.py"
    script.write_text(
        "import asyncio, json, sys\n"
        "from actum.core.clock import SystemClock\n"
        "from tests.triggers.test_desk import Hall, Store, TriggerTable\n"
        "async def main():\n"
        f"    hall = Hall(Store(sys.argv[1]), {{'press': TriggerTable(workflow='lamp', per_minute={number})}})\n"
        "    hall.intake.clock = SystemClock()\n"
        "    await hall.journal.runs(limit=1)\n"
        "    print('ready', flush=True)\n"
        "    sys.stdin.readline()\n"
        f"    events = [(f'e{{n}}', {{'room': f'room {{n}}'}}) for n in range({number})]\n"
        "    taken = await asyncio.gather(*(hall.intake.fire('press', data, id=id) for id, data in events))\n"
        "    print(json.dumps([each.run_id for each in taken]))\n"
        "    await hall.journal.close()\n"
        "asyncio.run(main())\n",
        "utf-8",
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    pipe = asyncio.subprocess.PIPE
    await shared.open().runs(limit=1)
    processes = [
        await warm.start(sys.executable, str(script), shared.place, env=environment, stdin=pipe, stdout=pipe)
        for _ in range(3)
    ]
    for process in processes:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"ready\n"
    told = [json.loads(out) for out, _ in await asyncio.gather(*(each.communicate(b"\n") for each in processes))]
    assert told[0] == told[1] == told[2]
    intake = Hall(shared, {})
    runs = [run.run_id for run in await intake.journal.runs(limit=None)]
    assert sorted(runs) == sorted(told[0])
    for run_id in runs:
        await intake.carry_out(run_id)
    assert sorted(intake.lit) == sorted(f"room {n}" for n in range(number))


async def test_a_schedule_comes_once_with_two_servers_and_makes_up_for_what_was_missed(
    hall: Callable[..., Hall], tmp_path: Path
) -> None:
    words = {"workflow": "lamp", "with_": {"room": "hall"}, "schedule": "0 * * * *"}
    tables = {missed: TriggerTable(**words, missed=missed) for missed in ("once", "all", "skip")}  # type: ignore[arg-type]
    intake = hall(**tables)
    clock = intake.clock
    watchers = [Watcher(intake.intake, tmp_path), Watcher(intake.intake, tmp_path)]

    async def looked() -> dict[str, int]:
        await asyncio.gather(*(watcher.look() for watcher in watchers))
        found = await intake.journal.runs(limit=None)
        return {name: sum(run.principal == f"trigger:{name}" for run in found) for name in tables}

    clock.advance(3600 - clock.now() % 3600 + 10)  # ten seconds past an hour
    assert await looked() == {"once": 0, "all": 0, "skip": 0}  # it begins with the first look
    clock.advance(3600)
    assert await looked() == {"once": 1, "all": 1, "skip": 1}
    assert await looked() == {"once": 1, "all": 1, "skip": 1}
    clock.advance(5 * 3600 + 600)  # no server was there
    assert await looked() == {"once": 2, "all": 6, "skip": 1}
    watchers[:] = [Watcher(intake.intake, tmp_path)]  # begun anew
    assert await looked() == {"once": 2, "all": 6, "skip": 1}


async def test_each_change_of_a_file_is_an_event_also_back_to_what_it_was(
    hall: Callable[..., Hall], tmp_path: Path
) -> None:
    path = tmp_path / "plan.txt"
    intake = hall(plan=TriggerTable(workflow="lamp", file="plan.txt", with_={"room": "${event.data.text?}"}))
    watcher, numbers = Watcher(intake.intake, tmp_path), itertools.count(1)

    async def runs() -> int:
        await watcher.look()
        await Watcher(intake.intake, tmp_path).look()  # another server
        return len(await intake.journal.runs(limit=None))

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
        (TriggerTable(workflow="a", schedule="* * * * *", file="f"), "one of schedule"),
        (TriggerTable(workflow="a", resource="notes://a"), "server ="),
        (TriggerTable(workflow="a", server="notes"), "resource ="),
        (TriggerTable(workflow="a", id="somewhere"), "header:NAME"),
        (TriggerTable(workflow="a", every_s=0.5), "every_s"),
        (TriggerTable(workflow="a", per_minute=0), "greater than 0"),
        (TriggerTable(agent="b", say="Hi", mandate={"calls": [], "more": 1}), "no mandate"),
        (TriggerTable(agent="b", say="Hi", mandate={"calls": [{"tool": "x", "arguments": {"n": inf}}]}), "no mandate"),
    ):
        with pytest.raises(UsageError, match=word):
            check_trigger("t", table)
    with pytest.raises(UsageError, match="in memory"):
        in_memory = MemoryJournal()
        queue = TaskQueue(in_memory, clock=FakeClock())
        TriggerIntake({"t": TriggerTable(wake="x")}, Targets(_none, _none), queue, in_memory, FakeClock())


async def _none(*_: object) -> TaskLine:
    raise AssertionError


async def test_an_event_that_is_told_again_when_its_task_has_left_the_list_finds_its_run(
    hall: Callable[..., Hall],
) -> None:
    intake = hall(press=TriggerTable(workflow="lamp"))
    begun = await intake.intake.fire("press", {"room": "hall"}, id="e1")
    await intake.carry_out(begun.run_id)
    assert intake.journal.tasks is not None
    intake.clock.advance(1e7)
    assert await intake.journal.tasks.drop(intake.clock.now()) == 1
    again = await intake.intake.fire("press", {"room": "hall"}, id="e1")
    assert (again.run_id, again.how, intake.lit) == (begun.run_id, "known", ["hall"])


async def test_an_event_that_is_told_again_when_its_run_was_forgotten_begins_nothing(hall: Callable[..., Hall]) -> None:
    intake = hall(press=TriggerTable(workflow="lamp"))
    begun = await intake.intake.fire("press", {"room": "hall"}, id="e1")
    await intake.carry_out(begun.run_id)
    await intake.journal.forget(begun.run_id)
    again = await intake.intake.fire("press", {"room": "hall"}, id="e1")
    assert (again.run_id, again.how, intake.lit) == (begun.run_id, "known", ["hall"])


async def test_two_events_with_equal_data_at_one_moment_are_two(hall: Callable[..., Hall]) -> None:
    intake = hall(press=TriggerTable(workflow="lamp"))
    runs = [await intake.intake.fire("press", {"room": "hall"}) for _ in range(2)]
    assert runs[0].run_id != runs[1].run_id


async def test_a_clock_that_is_set_back_silences_no_schedule_and_begins_nothing_twice(
    hall: Callable[..., Hall], tmp_path: Path
) -> None:
    intake = hall(hourly=TriggerTable(workflow="lamp", with_={"room": "hall"}, schedule="0 * * * *", missed="all"))
    watcher = Watcher(intake.intake, tmp_path)

    async def looked() -> int:
        await watcher.look()
        return len(await intake.journal.runs(limit=None))

    intake.clock.advance(3600 - intake.clock.now() % 3600 + 10)
    assert await looked() == 0
    intake.clock.advance(2 * 3600)
    assert await looked() == 2
    right = intake.clock.now()
    intake.clock.advance(-1.5 * 3600)  # an hour is about to come that began a run already
    assert await looked() == 2
    while intake.clock.now() < right:
        intake.clock.advance(1800)
        assert await looked() == 2
    intake.clock.advance(3600)
    assert await looked() == 3


async def test_a_run_that_waits_goes_on_when_its_trigger_has_been_removed(hall: Callable[..., Hall]) -> None:
    intake = hall(begin=TriggerTable(workflow="order"))
    run_id = (await intake.intake.fire("begin", {})).run_id
    await intake.carry_out(run_id)
    other = hall(go=TriggerTable(wake="order 7"))  # a server that does not know the trigger any more
    assert (await other.intake.fire("go", {"room": "hall"})).woken == (run_id,)
    await other.carry_out(run_id)
    assert other.lit == ["hall"]


async def test_what_an_agent_is_told_of_an_event_is_not_the_users_word(shared: Store) -> None:
    """The same words of a person would be trusted."""
    journal, lit = shared.open(), list[str]()

    @tool(effects={"write"}, sinks=["room"])
    def set_light(room: str) -> str:
        """Switch a light on."""
        lit.append(room)
        return room

    rules = Rules(Rule("allow", when="trusted(room)"), Rule("deny"))
    for source, wanted in (("event", []), ("user", ["kitchen"])):
        model = ScriptedModel([Reply.of(calls=[ToolCall("c1", "set_light", {"room": "kitchen"})]), "Done."])
        agent = Agent(model, [set_light], name="intake", journal=journal, policy=rules)
        await agent.run(UserMessage((TextPart("Light the kitchen."),), source))  # type: ignore[arg-type]
        assert lit == wanted, source


async def test_a_process_that_is_killed_after_the_event_is_on_record_leaves_a_run_that_begins_once(
    shared: Store, tmp_path: Path
) -> None:
    script = tmp_path / "press.py"
    script.write_text(
        "import asyncio, os, signal, sys\n"
        "from tests.triggers.test_desk import Hall, Store, TriggerTable\n"
        "async def main():\n"
        "    hall = Hall(Store(sys.argv[1]), {'press': TriggerTable(workflow='lamp')})\n"
        "    await hall.intake.fire('press', {'room': 'hall'}, id='e1')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())\n",
        "utf-8",
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    killed = await warm.start(sys.executable, str(script), shared.place, env=environment)
    assert await killed.wait() == -signal.SIGKILL
    intake = Hall(shared, {"press": TriggerTable(workflow="lamp")})
    (run,) = await intake.journal.runs(limit=None)
    again = await intake.intake.fire("press", {"room": "hall"}, id="e1")
    assert (again.run_id, again.how) == (run.run_id, "known")
    for _ in range(2):
        await intake.carry_out(run.run_id)
    assert intake.lit == ["hall"]
