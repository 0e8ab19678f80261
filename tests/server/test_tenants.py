"""Two tenants attack each other at every door. Each has a user `ann`, and what belongs to one does not exist for the
other: it is looked for by the same query as what is not there, and the answer is the same.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import httpx2
import pytest

from actum import Agent, Limits, Rule, Rules, ToolCall, UserLimits, tool
from actum.agents.conversation import before
from actum.core.errors import RateLimited, UnknownName
from actum.core.identity import Identity
from actum.core.interfaces import Context
from actum.core.json import JsonObject
from actum.core.message import Reply, UserMessage
from actum.core.model import Request
from actum.core.process.claim import claim_of_conversation
from actum.core.user import User
from actum.journal.memory import MemoryJournal
from actum.protocols.mcp.config import McpServer
from actum.runs.options import RunOptions
from actum.runs.runner import Runner
from actum.server.access import Access
from actum.server.mcp.auth import access_token, identity_of
from actum.server.mcp.resources import own_runs
from actum.server.mcp.service import McpService
from actum.storage.database import Row
from actum.storage.journal import DatabaseJournal
from actum.storage.schema import SQLITE
from actum.storage.sqlite import SQLiteDatabase
from actum.testing import Said, ScriptedModel
from actum.toolsets.mcp.connection import McpConnection
from actum.toolsets.mcp.error import McpError
from tests.mcp_service import Client, served
from tests.patience import HANGS_S
from tests.till import Till, pays_once

from .tasks import KNOWS, Desk, begun, look

pytestmark = pytest.mark.row("C7")


class WatchedDatabase(SQLiteDatabase):
    """A database that writes down which statements it is asked."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.asked: list[str] = []

    def execute(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        self.asked.append(statement)
        return super().execute(statement, values)


def heard(request: Request) -> Said:
    """Says what it was told."""
    said = [message.text for message in request.messages if isinstance(message, UserMessage | Reply)]
    return " | ".join(said)


async def told(attempt: Awaitable[object], run_id: str) -> str:
    """The error of an attempt, without the id that was named."""
    try:
        await attempt
    except UnknownName as error:
        return str(error).replace(run_id, "RUN")
    return "it worked"


# The Agent API --------------------------------------------------------------------------------------------------------


async def test_another_tenants_run_is_not_there_for_an_agent_and_is_looked_for_by_the_same_query(
    tmp_path: Path,
) -> None:
    database = WatchedDatabase(tmp_path / "j.db")
    journal = DatabaseJournal(database, SQLITE, now=time.time, key=None)
    till = Till()
    agent = Agent(ScriptedModel(pays_once), [till.pay], journal=journal)
    waits = await agent.run("Pay", run_id="known", principal="ann", tenant="north", conversation="c1")
    (pending,) = waits.pending
    south = {"principal": "ann", "tenant": "south"}
    yes = {pending.id: "approve"}
    attempts: dict[str, Callable[[str], Awaitable[object]]] = {
        "resume": lambda run_id: agent.resume(run_id, yes, **south),  # type: ignore[arg-type]
        "resume without a tenant": lambda run_id: agent.resume(run_id, yes, principal="ann"),
        "resume by any principal": lambda run_id: agent.resume(run_id, yes, tenant="south"),
        "runner": lambda run_id: Runner([till.pay], journal=journal).resume(run_id, yes, **south),  # type: ignore[arg-type]
        "fork": lambda run_id: agent.fork(run_id, 0, **south),
        "after": lambda run_id: agent.run("Go on", after=run_id, **south),  # type: ignore[arg-type]
        "after an entry": lambda run_id: agent.run("Go on", after=f"{run_id}@0", **south),  # type: ignore[arg-type]
    }
    for name, attempt in attempts.items():
        asked, answers = [], []
        for run_id in ("known", "unknown"):
            database.asked.clear()
            answers.append(await told(attempt(run_id), run_id))
            await journal.sync(run_id)
            asked.append(list(database.asked))
        assert answers[0] == answers[1] != "it worked", name
        assert asked[0] == asked[1], name
    assert await told(agent.compact("c1", **south), "c1") != "it worked"  # type: ignore[arg-type]
    assert till.paid == []
    done = await agent.resume("known", yes, principal="ann", tenant="north")
    assert (done.status, till.paid) == ("done", [1])
    await journal.close()


async def test_two_tenants_have_conversations_of_one_name_and_hear_nothing_of_each_other() -> None:
    journal = MemoryJournal()
    agent = Agent(ScriptedModel(heard), journal=journal)
    for tenant in ("north", "south"):
        await agent.run(f"I am {tenant}", conversation="c1", principal="ann", tenant=tenant)
    for tenant in ("north", "south", ""):
        answer = await agent.run("Who am I?", conversation="c1", principal="ann", tenant=tenant)
        other = {"north": "south", "south": "north"}.get(tenant, "north")
        assert (f"I am {other}" in answer.text, f"I am {tenant}" in answer.text) == (False, bool(tenant)), tenant
    assert await agent.compact("c1", principal="ann", tenant="north")
    assert len((await before(journal, User("south", "ann"), "c1")).messages) == 4
    async with journal.claim(claim_of_conversation("ann", "c1", "north")):  # one tenant keeps no other waiting
        assert (await agent.run("Again", conversation="c1", principal="ann", tenant="south")).status == "done"


async def test_a_child_a_branch_and_what_goes_on_stay_in_the_tenant() -> None:
    journal, seen = MemoryJournal(), list[tuple[str, str]]()

    @tool
    async def whose(ctx: Context) -> str:
        """Say on whose behalf."""
        seen.append((ctx.tenant, ctx.principal))
        return "said"

    child = Agent(ScriptedModel([ToolCall("1", "whose", {}), "Done."]), [whose], name="child", journal=journal)
    top = Agent(ScriptedModel([ToolCall("1", "child", {"task": "x"}), "Done."]), [child], name="top", journal=journal)
    await top.run("Go", run_id="r", principal="ann", tenant="north")
    branch = await Agent(ScriptedModel(heard), journal=journal).fork("r", 0, principal="ann", tenant="north")
    assert seen == [("north", "ann")]
    assert {run.tenant for run in await journal.runs()} == {"north"}
    assert await journal.read(branch, tenant="south") == []
    assert await journal.read(branch, tenant="north") == await journal.read(branch)
    await journal.forget("r")
    assert await journal.read("r", tenant="south") == []
    assert [run.tenant for run in await journal.runs() if run.run_id == "r"] == ["north"], "it stays the tenant's"


async def test_limits_of_a_user_are_those_of_a_tenants_user() -> None:
    @tool
    async def look() -> str:
        """Look."""
        return "seen"

    runner = Runner([look], limits=Limits(users=UserLimits(per_minute=1)))
    made = [
        await runner.call([ToolCall("1", "look", {})], RunOptions(principal="ann", tenant=tenant), by="person")
        for tenant in ("north", "north", "south")
    ]
    assert [result.error.code if result.error else "" for ((_, result),) in (each.calls for each in made)] == [
        "",
        "rate_limited",
        "",
    ]


async def test_a_tenant_whose_calls_fail_keeps_no_other_tenant_from_the_service() -> None:
    @tool
    async def fetch(ctx: Context) -> str:
        """Fetch."""
        if ctx.tenant == "north":
            raise RateLimited("Your account is blocked.")
        return "fetched"

    runner = Runner([fetch], limits=Limits(failures=1, attempts=1))
    made = [
        await runner.call([ToolCall("1", "fetch", {})], RunOptions(principal="ann", tenant=tenant), by="person")
        for tenant in ("north", "north", "south")
    ]
    codes = [result.error.code if result.error else "" for ((_, result),) in (each.calls for each in made)]
    assert codes == ["rate_limited", "unavailable", ""]


# MCP ------------------------------------------------------------------------------------------------------------------


class Tenants:
    """Whoever shows the name of a tenant is its `ann`, by the same program."""

    async def verify_token(self, token: str) -> Identity | None:
        return Identity(principal="ann", tenant=token[5:], key_id="app")


ACCESS = Access(verifier=Tenants(), resource="http://127.0.0.1/mcp")


def way(url: str, tenant: str) -> McpConnection:
    headers = {"Authorization": f"Bearer I am {tenant}"}
    return McpConnection(McpServer(name="ours", url=url, transport="http", headers=headers), era="modern")


async def refused(attempt: Awaitable[JsonObject], task_id: str) -> tuple[object, ...]:
    """With what a request was refused, without the id that it named."""
    with pytest.raises(McpError) as told:
        await attempt
    return (told.value.code, told.value.message.replace(task_id, "ID"))


async def test_a_task_of_another_tenant_is_not_there() -> None:
    desk = Desk()
    async with served(desk.service(), ACCESS) as url, way(url, "north") as north, way(url, "south") as south:
        task_id = await begun(north, "dig", {"name": "a hole"})
        for method in ("tasks/get", "tasks/cancel", "tasks/update"):
            more: JsonObject = {"inputResponses": {}} if method == "tasks/update" else {}
            answers = {
                await refused(south.request(method, {"taskId": named, **more}, caller=Client(KNOWS)), named)
                for named in (task_id, "mcp_0123456789")
            }
            assert len(answers) == 1, method
        desk.go.set()
        assert (await look(north, task_id, until="completed"))["status"] == "completed"


async def test_a_run_read_as_a_resource_is_not_there_for_another_tenant() -> None:
    journal = MemoryJournal()
    service = Desk().service(journal=journal, resources=[own_runs(journal)])
    async with served(service, ACCESS) as url, way(url, "north") as north, way(url, "south") as south:
        task_id = await begun(north, "fail")
        await look(north, task_id, until="completed")
        address = f"actum://runs/{task_id}"
        assert (await north.request("resources/read", {"uri": address}))["contents"]
        nowhere = "actum://runs/mcp_0123456789"
        answers = [await refused(south.request("resources/read", {"uri": each}), each) for each in (address, nowhere)]
        assert answers[0] == answers[1]


async def test_a_call_that_waits_is_gone_on_with_by_its_own_tenant_alone() -> None:
    till = Till()
    policy = Rules(Rule("ask", "pay"))
    journal = MemoryJournal()
    service = McpService([till.pay], policy=policy, journal=journal)
    ask: JsonObject = {"name": "pay", "arguments": {"amount": 1}}
    async with served(service, ACCESS) as url, way(url, "north") as north, way(url, "south") as south:
        await north.request("tools/call", ask)
        await south.request("tools/call", ask)
        await south.request("tools/call", ask)
    assert sorted(run.tenant for run in await journal.runs()) == ["north", "south"], "each goes on with its own"


async def test_a_session_of_another_tenant_is_not_there() -> None:
    hello: JsonObject = {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }
    listing: JsonObject = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    accept = {"accept": "application/json, text/event-stream"}
    async with served(Desk().service(), ACCESS) as url, httpx2.AsyncClient(timeout=HANGS_S) as http:
        opened = await http.post(url, json=hello, headers={**accept, "authorization": "Bearer I am north"})
        session = opened.headers["mcp-session-id"]
        answers = []
        for tenant, named in (("south", session), ("south", "0" * 32), ("north", session)):
            headers = {**accept, "authorization": f"Bearer I am {tenant}", "mcp-session-id": named}
            answered = await http.post(url, json=listing, headers=headers)
            answers.append((answered.status_code, answered.text.replace(named, "ID") if tenant == "south" else ""))
    assert answers[0] == answers[1]
    assert [status for status, _ in answers] == [404, 404, 200]


def test_users_of_two_tenants_are_two_for_the_sdk_whatever_their_names_are() -> None:
    users = [
        Identity(principal=principal, tenant=tenant, key_id="app")
        for tenant in ("", "north", "south")
        for principal in ("ann", '["north","ann"]', "\0" + '["north","ann"]', "")
    ]
    assert len({access_token(each).subject for each in users}) == len(users)
    assert [identity_of(access_token(each)) for each in users] == users
