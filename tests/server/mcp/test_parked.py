"""A call that waits for somebody else is known when it is made again: by another server, after a restart, and once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from actum import Rule, Rules, tool
from actum.call.asking.inbox import answer_pending, inbox
from actum.core.errors import JournalError
from actum.core.interfaces import Clock, Journal
from actum.core.json import JsonObject
from actum.core.policy import Answer
from actum.core.run.record import Ended
from actum.core.stored.kept_object import KeptObject
from actum.journal.memory import MemoryJournal
from actum.protocols.mcp.config import McpEra, McpServer
from actum.protocols.mcp.tasks import EXTENSION
from actum.server import Identity, McpService
from actum.server.mcp.gateway.gateway import McpGateway
from actum.server.mcp.tasks import TaskMode
from actum.storage.memory import MemoryDatabase
from actum.storage.place import open_journal
from actum.storage.tables.objects import DatabaseObjects
from actum.storage.writer import Writer
from actum.toolsets.mcp.connection import McpConnection
from actum.toolsets.mcp.error import McpError
from actum.workflow.load import read_definition
from actum.workflow.workflow import Workflow
from tests.mcp_service import Client, connected, served

from ..tasks import Pausing

ORDER = """\
actum: workflow/1
name: order
inputs: {type: object, properties: {what: {type: string}}}
nodes:
  reserve: {type: tool, tool: reserve, with: {what: "${inputs.what}"}}
  sure: {type: human, message: Sure?}
  send: {type: tool, tool: send, with: {what: "${inputs.what}"}}
edges: [reserve > sure, sure > send]
outputs: {sent: "${send.output?}"}
"""
both = pytest.mark.parametrize("era", ["legacy", "modern"])


class Shop:
    """What was done, by however many servers."""

    def __init__(self, orders_at_once: int = 1) -> None:
        self.done: list[str] = []
        self.together = asyncio.Barrier(orders_at_once)
        self.sending = asyncio.Event()
        self.may_send = asyncio.Event()
        self.may_send.set()

    def service(
        self,
        journal: Journal,
        *,
        name: str = "shop",
        who: Identity | None = None,
        clock: Clock | None = None,
        tasks: Mapping[str, TaskMode] | None = None,
        more: str = "",
    ) -> McpService:
        @tool(effects={"write"})
        async def reserve(what: str) -> str:
            """Reserve something."""
            await self.together.wait()
            self.done.append(f"reserved {what}")
            return "reserved"

        @tool(effects={"send"})
        async def send(what: str) -> str:
            """Send something."""
            self.sending.set()
            await self.may_send.wait()
            self.done.append(f"sent {what}")
            return "sent"

        flow = Workflow(read_definition(f"{ORDER}description: '{more}'"), [reserve, send], journal=journal)
        return McpService([flow], name=name, journal=journal, who=who, clock=clock, tasks=tasks)


async def order(way: McpConnection, what: str = "tea") -> str:
    """What is told to whoever orders."""
    asked: JsonObject = {"name": "order", "arguments": {"what": what}}
    result = await way.request("tools/call", asked, caller=Client({}))
    return str(result["content"])


async def say_yes(journal: Journal) -> None:
    (item,) = await inbox(journal)
    await answer_pending(journal, item.asked.id, Answer("answer", "yes"))


@both
async def test_a_call_that_waits_is_known_after_a_restart_and_at_another_server(era: McpEra, tmp_path: Path) -> None:
    shop = Shop()
    async with AsyncExitStack() as stack:
        journals = [open_journal(tmp_path / "j.db") for _ in range(3)]
        first, second, third = [await stack.enter_async_context(connected(shop.service(j), era)) for j in journals]
        assert "has begun and waits for a person" in await order(first)
        assert "has begun and waits for a person" in await order(second)
        assert len(await inbox(journals[2])) == 1
        await say_yes(journals[1])
        assert "sent" in await order(third)
        assert shop.done == ["reserved tea", "sent tea"]
        assert "has begun and waits" in await order(first)  # the earlier order is over: this is another one
        assert shop.done == ["reserved tea", "sent tea", "reserved tea"]
    for journal in journals:
        await journal.close()


@both
async def test_a_call_of_somebody_else_or_of_another_server_is_another_call(era: McpEra) -> None:
    shop, journal = Shop(), MemoryJournal()
    for name, tenant, principal, what in (
        ("shop", "", "ann", "tea"),
        ("shop", "", "eve", "tea"),
        ("shop", "b", "ann", "tea"),
        ("store", "", "ann", "tea"),
        ("shop", "", "ann", "coffee"),
    ):
        service = shop.service(journal, name=name, who=Identity(tenant=tenant, principal=principal))
        async with connected(service, era) as way:
            assert "has begun and waits" in await order(way, what)
    assert len(shop.done) == 5 == len(await inbox(journal))


@both
async def test_a_call_that_somebody_goes_on_with_is_waited_for_and_not_begun_again(era: McpEra) -> None:
    shop, journal, clock = Shop(), MemoryJournal(), Pausing()
    service = shop.service(journal, clock=clock)
    async with connected(service, era) as way:
        await order(way)
        shop.may_send.clear()
        await say_yes(journal)
        (run,) = await journal.runs(kind="call")
        going_on = asyncio.ensure_future(service.runner.resume(run.run_id))  # as a server does with an answer
        await shop.sending.wait()
        clock.paused.clear()
        again = asyncio.ensure_future(order(way))
        await clock.paused.wait()
        shop.may_send.set()
        assert "sent" in await again
        await going_on
    assert shop.done == ["reserved tea", "sent tea"]


@both
async def test_a_call_that_was_cancelled_as_it_waited_says_so_and_begins_anew_after_that(era: McpEra) -> None:
    shop, journal = Shop(), MemoryJournal()
    async with connected(shop.service(journal), era) as way:
        await order(way)
        (run,) = await journal.runs(kind="call")
        async with journal.claim(run.run_id):
            journal.append(run.run_id, Ended("stopped", "", "cancelled"))
        assert f"This call was stopped (run {run.run_id})" in await order(way)
        assert shop.done == ["reserved tea"]
        assert "has begun and waits" in await order(way)
    assert shop.done == ["reserved tea", "reserved tea"]


@both
async def test_two_calls_alike_that_wait_are_gone_on_with_one_after_the_other(era: McpEra) -> None:
    shop, journal = Shop(orders_at_once=2), MemoryJournal()
    async with connected(shop.service(journal), era) as way:
        await asyncio.gather(order(way), order(way))
        waiting = await inbox(journal)
        assert len(waiting) == 2
        for item in waiting:
            await answer_pending(journal, item.asked.id, Answer("answer", "yes"))
        assert ["sent" in await order(way) for _ in range(2)] == [True, True]
    assert sorted(shop.done) == ["reserved tea"] * 2 + ["sent tea"] * 2


async def test_a_call_that_became_a_task_is_followed_by_its_handle_and_the_same_call_is_another() -> None:
    shop, journal = Shop(), MemoryJournal()
    knows = Client({"extensions": {EXTENSION: {}}})
    asked: JsonObject = {"name": "order", "arguments": {"what": "tea"}}
    async with connected(shop.service(journal, tasks={"order": "always"})) as way:
        handles = [await way.request_once("tools/call", asked, caller=knows) for _ in range(2)]
        assert [handle["resultType"] for handle in handles] == ["task", "task"]
        assert handles[0]["taskId"] != handles[1]["taskId"]
        while True:
            if len(await inbox(journal)) == 2:
                break
            await asyncio.sleep(0.01)
        third = await way.request_once("tools/call", asked, caller=knows)
        assert third["taskId"] not in [handle["taskId"] for handle in handles]


@both
async def test_a_call_whose_run_is_on_record_no_more_begins_anew(era: McpEra) -> None:
    shop, journal = Shop(), MemoryJournal(runs_max=3)
    async with connected(shop.service(journal), era) as way:
        await order(way)
        await say_yes(journal)
        (run,) = await journal.runs(kind="call")
        await shop.service(journal).runner.resume(run.run_id)
        for number in range(3):  # the runs that have ended make quota for others
            await order(way, f"tea {number}")
        assert await journal.read(run.run_id) == []
        assert "has begun and waits" in await order(way)
    assert shop.done.count("reserved tea") == 2


@both
async def test_a_call_whose_tools_have_changed_says_so_and_who_can_help_and_repeats_nothing(era: McpEra) -> None:
    shop, journal = Shop(), MemoryJournal()
    async with connected(shop.service(journal), era) as way:
        await order(way)
    (run,) = await journal.runs(kind="call")
    async with connected(shop.service(journal, more="Now by night, too."), era) as way:
        for _ in range(2):
            with pytest.raises(McpError, match=f"actum resume {run.run_id} --accept"):
                await order(way)
        assert shop.done == ["reserved tea"]
        async with journal.claim(run.run_id):
            journal.append(run.run_id, Ended("stopped", "", "cancelled"))
        assert "Made again, it begins anew" in await order(way)
        assert "has begun and waits" in await order(way)


class FullDisk(DatabaseObjects):
    """Objects on a disk that is full."""

    async def put(self, kept: KeptObject) -> None:
        raise JournalError("the disk is full")


class FullJournal(MemoryJournal):
    """A journal whose objects are on a disk that is full."""

    @property
    def objects(self) -> FullDisk:
        return FullDisk(Writer(MemoryDatabase(), threaded=False), lambda: None)


async def test_a_call_that_can_not_be_noted_is_answered_all_the_same() -> None:
    shop, journal = Shop(), FullJournal()
    async with connected(shop.service(journal)) as way:
        assert "has begun and waits" in await order(way)
    assert len(await inbox(journal)) == 1


@both
async def test_a_call_through_a_gateway_that_waits_is_known_at_another_gateway(era: McpEra, tmp_path: Path) -> None:
    paid: list[int] = []

    @tool(effects={"write"})
    async def pay(amount: int) -> str:
        """Pay somebody."""
        paid.append(amount)
        return f"paid {amount}"

    asked: JsonObject = {"name": "pay", "arguments": {"amount": 5}}
    policy = Rules(Rule("ask", tools="*pay", approvers=["boss"]), default="allow")
    journals = [open_journal(tmp_path / "j.db") for _ in range(2)]
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(served(McpService([pay])))
        behind = [McpServer(name="bank", url=url, transport="http")]
        ways = [
            await stack.enter_async_context(connected(McpGateway(behind, policy=policy, journal=journal), era))
            for journal in journals
        ]
        told = [await way.request("tools/call", asked, caller=Client({})) for way in (*ways, *ways)]
        assert ["This call was not made" in str(each["content"]) for each in told] == [True] * 4
        (item,) = await inbox(journals[0])
        await answer_pending(journals[0], item.asked.id, Answer("approve", by="boss"))
        assert "paid 5" in str(await ways[1].request("tools/call", asked, caller=Client({})))
        assert "not made" in str(await ways[0].request("tools/call", asked, caller=Client({})))
    assert paid == [5]
    for journal in journals:
        await journal.close()
