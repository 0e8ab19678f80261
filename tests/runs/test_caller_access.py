"""A run ends with the access of whoever asked for it: a key that is revoked, an agent that is for others by now."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from actum import Agent, tool
from actum.agents.identity import Naming
from actum.agents.options import AgentOptions
from actum.call.asking.inbox import answer_pending
from actum.core.call import ToolCall
from actum.core.event import RunResult
from actum.core.message import Reply, ToolMessage
from actum.core.model import Request
from actum.core.policy import Answer
from actum.core.run.record import CallCompleted, CallsRequested, Ended, Intended, ModelReplied, TaskEnded, TaskQueued
from actum.core.run.task import TaskOptions
from actum.core.stored.key import new_key
from actum.journal.memory import MemoryJournal
from actum.runs.caller_access import ACCESS_REVOKED, AGE_S
from actum.runs.given_tools import Toolish
from actum.runs.options import RunOptions
from actum.runs.runner import Runner
from actum.storage.sqlite import SQLiteJournal
from actum.tasks.attempt import attempt
from actum.testing import FakeClock
from actum.workflow.load import read_definition
from actum.workflow.workflow import Workflow
from tests.patience import HANGS_S
from tests.server.memory_keys import MemoryKeys

pytestmark = pytest.mark.row("S3")

OPEN = Naming(name="desk")
FLOW = b"""\
actum: workflow/1
name: flow
nodes:
  first: {type: tool, tool: work}
  second: {type: tool, tool: pay}
edges: [first > second]
"""


class AsyncModel:
    """A model of a script that may wait."""

    name = "scripted"

    def __init__(self, script: Callable[[Request], Awaitable[Reply]]) -> None:
        self._script = script

    async def reply(self, request: Request, emit: object = None) -> Reply:
        return await self._script(request)


class Office:
    """A desk whose model works, pays and answers, asked with the key `ci` of ann; `boss` hands its task to the desk.

    Args:
        journal: where the runs and the keys are kept.
        at: when the access is taken away: while the desk's `work` is under way, or while its model answers.
        take: takes it away.
    """

    def __init__(self, journal: MemoryJournal, at: str, take: Callable[[Office], object]) -> None:
        self.journal, self._at, self._take = journal, at, take
        self.latest: Naming | None = OPEN
        self.latest_of_boss: Naming | None = OPEN
        self.asked = self.paid = self.worked = 0
        self.answers = asyncio.Event()
        work, pay = tool(effects={"read"})(self.work), tool(effects={"read"})(self.pay)
        self.tools: list[Toolish] = [work, pay]
        agent = Agent(AsyncModel(self._says), self.tools, name="desk", journal=journal)
        self.desk = agent.known_as(OPEN, latest=lambda: self.latest)
        boss = Agent(AsyncModel(self._hands_on), [self.desk], name="boss", journal=journal)
        self.boss = boss.known_as(Naming(name="boss"), latest=lambda: self.latest_of_boss)

    async def keys(self) -> None:
        """The keys `ci` of ann, and `other`."""
        for name in ("ci", "other"):
            await self.journal.keys.add(new_key(name, principal="ann")[1])

    async def taken(self) -> None:
        found = self._take(self)
        if asyncio.iscoroutine(found):
            await found

    async def work(self) -> str:
        """Work."""
        if self._at == "call":
            await self.taken()
        self.worked += 1
        return "worked"

    def pay(self) -> str:
        """Pay."""
        self.paid += 1
        return "paid"

    async def _says(self, request: Request) -> Reply:
        self.asked += 1
        results = [each.name for each in request.messages if isinstance(each, ToolMessage)]
        if not results:
            return Reply.of(calls=[ToolCall("1", "work", {})])
        if self._at == "model" and len(results) == 1:
            await self.taken()
            await self.answers.wait()
        return Reply.of(calls=[ToolCall("2", "pay", {})]) if len(results) == 1 else Reply.of("all is done")

    async def _hands_on(self, request: Request) -> Reply:
        is_over = isinstance(request.messages[-1], ToolMessage)
        return Reply.of("all is done") if is_over else Reply.of(calls=[ToolCall("1", "desk", {"task": "go"})])


async def revoke(office: Office, key: str = "ci") -> None:
    await office.journal.keys.revoke(key, at=1.0, by="root")


def narrowed(office: Office) -> None:
    office.latest = Naming(name="desk", roles=("boss",))


def gone(office: Office) -> None:
    office.latest = None


def above(office: Office) -> None:
    office.latest_of_boss = Naming(name="boss", users=("eva",))


TAKES: dict[str, tuple[Callable[[Office], object], str]] = {
    "the key is revoked": (revoke, "desk"),
    "the agent is for others": (narrowed, "desk"),
    "the agent is gone": (gone, "desk"),
    "the key is revoked, of a run below": (revoke, "boss"),
    "the agent above is for others": (above, "boss"),
}


@pytest.mark.parametrize("at", ["call", "model"])
@pytest.mark.parametrize("how", TAKES)
async def test_a_run_under_way_ends_on_record_and_what_it_was_doing_finishes(how: str, at: str) -> None:
    take, name = TAKES[how]
    office = Office(MemoryJournal(), at, take)
    await office.keys()
    agent = office.desk if name == "desk" else office.boss
    async with asyncio.timeout(HANGS_S):
        result = await agent.run("go", principal="ann", key_id="ci")
    assert (result.status, result.stop_reason) == ("stopped", ACCESS_REVOKED)
    assert (office.worked, office.paid, office.asked) == (1, 0, 1 if at == "call" else 2)
    runs = await office.journal.runs(limit=None)
    assert {run.agent for run in runs} == ({"desk"} if name == "desk" else {"boss", "desk"})
    for run in runs:
        records = [entry.record for entry in await office.journal.read(run.run_id)]
        assert isinstance(records[-1], Ended)
        assert (records[-1].status, records[-1].reason) == ("stopped", ACCESS_REVOKED), run.agent
        if run.agent == "desk":
            assert len([each for each in records if isinstance(each, CallCompleted)]) == 1, "the call has its outcome"


class AskedKeys(MemoryKeys):
    """Counts how the number of changes is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.ages_s: list[float] = []

    def changes(self, age_s: float = 0.0) -> int | None:
        self.ages_s.append(age_s)
        return super().changes()


class AskedJournal(MemoryJournal):
    """A journal with such keys."""

    def __init__(self) -> None:
        super().__init__()
        self.asked_keys = AskedKeys()

    @property
    def keys(self) -> AskedKeys:
        return self.asked_keys


async def test_the_first_look_of_a_run_wants_the_latest_and_further_ones_what_was_so_a_moment_ago() -> None:
    journal = AskedJournal()
    office = Office(journal, "", nothing)
    await office.keys()
    for _ in range(2):
        journal.asked_keys.ages_s.clear()
        assert (await office.desk.run("go", principal="ann", key_id="ci")).status == "done"
        assert journal.asked_keys.ages_s[0] == 0.0
        assert set(journal.asked_keys.ages_s[1:]) == {AGE_S}


async def nothing(office: Office) -> None:
    """Nothing is taken away."""


async def other(office: Office) -> None:
    await revoke(office, "other")


async def ended(office: Office) -> None:
    """A key that has ended: that time says how long new requests may come."""
    await office.journal.keys.add(new_key("short", principal="ann", expires_at=1.0)[1])


async def namesake(office: Office) -> None:
    """A key of another user, with the id that a program has at an issuer of tokens."""
    await office.journal.keys.add(new_key("program", principal="eva")[1])
    await revoke(office, "program")


KEEPS = {"nothing": (nothing, "ci"), "another key": (other, "ci"), "the time of the key": (ended, "short")}


@pytest.mark.parametrize(("take", "key"), [*KEEPS.values(), (namesake, "program")], ids=[*KEEPS, "a namesake"])
async def test_a_run_goes_on_whose_caller_has_lost_nothing(take: Callable[[Office], object], key: str) -> None:
    office = Office(MemoryJournal(), "call", take)
    await office.keys()
    result = await office.desk.run("go", principal="ann", key_id=key)
    assert (result.status, result.text, office.paid) == ("done", "all is done", 1)


async def test_what_is_approved_after_the_key_was_revoked_is_not_done() -> None:
    office = Office(MemoryJournal(), "", nothing)
    await office.keys()
    pay = tool(effects={"read"}, approval=True)(office.pay)
    runner = Runner([pay], journal=office.journal)
    waits = await runner.call([ToolCall("1", "pay", {})], RunOptions(principal="ann", key_id="ci"), by="client")
    await revoke(office)
    await answer_pending(office.journal, waits.pending[0].id, Answer("approve", by="eva"))
    result = await runner.resume(waits.run_id)
    assert (result.status, result.stop_reason, office.paid) == ("stopped", ACCESS_REVOKED, 0)


@pytest.mark.parametrize("take", [revoke, narrowed, gone], ids=["key", "for others", "gone"])
async def test_a_run_of_an_agent_that_waited_ends_on_record_once_it_is_answered(
    take: Callable[[Office], object],
) -> None:
    office = Office(MemoryJournal(), "", nothing)
    await office.keys()
    pay = tool(effects={"read"}, approval=True)(office.pay)
    desk = office.desk.with_tools([office.work, pay])
    waits = await desk.run("go", principal="ann", key_id="ci")
    assert waits.status == "paused"
    found = take(office)
    if asyncio.iscoroutine(found):
        await found
    await answer_pending(office.journal, waits.pending[0].id, Answer("approve", by="eva"))
    result = await desk.resume(waits.run_id)
    assert (result.status, result.stop_reason, office.paid) == ("stopped", ACCESS_REVOKED, 0)
    last = (await office.journal.read(waits.run_id))[-1].record
    assert isinstance(last, Ended)
    assert last.reason == ACCESS_REVOKED


async def test_a_run_that_was_done_is_told_again_after_the_key_was_revoked() -> None:
    office = Office(MemoryJournal(), "", nothing)
    await office.keys()
    runner = Runner(office.tools, journal=office.journal)
    for done, resume in (
        (await office.desk.run("go", principal="ann", key_id="ci"), office.desk.resume),
        (
            await runner.call([ToolCall("1", "pay", {})], RunOptions(principal="ann", key_id="ci"), by="client"),
            runner.resume,
        ),
    ):
        await revoke(office)
        before = await office.journal.read(done.run_id)
        again: RunResult = await resume(done.run_id)
        assert (again.status, again.text) == ("done", done.text)
        assert await office.journal.read(done.run_id) == before


async def test_a_workflow_begins_no_further_node() -> None:
    office = Office(MemoryJournal(), "call", revoke)
    await office.keys()
    flow = Workflow(read_definition(FLOW), office.tools, journal=office.journal)
    result = await flow.run({}, principal="ann", key_id="ci")
    assert (result.status, result.stop_reason) == ("stopped", ACCESS_REVOKED)
    assert (office.worked, office.paid) == (1, 0)


@pytest.mark.parametrize("how", ["call", "agent, its key", "agent, for others"])
async def test_a_task_is_not_begun_whose_caller_has_lost_access_since(how: str, tmp_path: Path) -> None:
    journal = SQLiteJournal(str(tmp_path / "j.db"))
    office = Office(journal, "", nothing)  # type: ignore[arg-type]
    await office.keys()
    runner = Runner(office.tools, journal=journal)
    queued = TaskQueued(options=TaskOptions(max_retries=3), due=0.0)
    if how == "call":
        await runner.queue(
            CallsRequested((ToolCall("1", "pay", {}),), "client"),
            queued,
            RunOptions(run_id="task", principal="ann", key_id="ci"),
        )
    else:
        await office.desk.queue("go", queued, AgentOptions(run_id="task", principal="ann", key_id="ci"))
    other = SQLiteJournal(str(tmp_path / "j.db"))  # as another process
    if how == "agent, for others":
        narrowed(office)
    else:
        await other.keys.revoke("ci", at=1.0, by="root")

    class Builder:
        async def build(self, started: object) -> object:
            return runner if how == "call" else office.desk

    line = await attempt(journal, Builder(), "task", clock=FakeClock(), worker="w")  # type: ignore[arg-type]
    records = [entry.record for entry in await journal.read("task")]
    assert records[-1] == TaskEnded("failed", ACCESS_REVOKED), (line, records)
    assert not [each for each in records if isinstance(each, ModelReplied | Intended)]
    assert (office.asked, office.paid) == (0, 0)
    await other.close()
    await journal.close()
