"""Whose a session with a server is: all calls of a conversation or a run meet one state, and nobody else's. The server
is a process that counts.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from actum import Agent, Limits, ToolCall
from actum.core.errors import Unavailable
from actum.core.event import CallProgress, Event, RunResult
from actum.core.holder import Holder
from actum.core.interfaces import Toolset
from actum.core.json import JsonObject
from actum.core.policy import Answer
from actum.core.run.pending import Pending
from actum.core.run.record import InputRequested
from actum.journal.memory import MemoryJournal
from actum.policy.rules import Rule, Rules
from actum.protocols.mcp.config import McpServer
from actum.testing import FakeClock, Said, ScriptedModel
from actum.toolsets.mcp import McpToolset
from actum.toolsets.mcp.connection import McpConnection
from actum.toolsets.mcp.pool import GIVEN_BACK_S
from tests.patience import HANGS_S

from .test_stdio import children, is_alive, until

pytestmark = pytest.mark.row("T4")

COUNTER = Path(__file__).parents[2] / "mcp_servers" / "counter.py"
ANEW = "The server web was started anew; its state is gone."


class Yes:
    """A person who agrees to each call, says a name where one is asked for, and remembers what was asked."""

    def __init__(self) -> None:
        self.asked: list[Pending] = []
        self.hold = asyncio.Event()
        self.hold.set()

    async def ask(self, pending: Pending) -> Answer:
        self.asked.append(pending)
        if pending.kind != "elicitation":
            return Answer("approve")
        await self.hold.wait()
        return Answer("answer", arguments={"name": "Ada"})


class Web:
    """The server in the hands of a test."""

    def __init__(self, folder: Path, stack: AsyncExitStack) -> None:
        self.folder = folder
        self._stack = stack

    def server(self, *words: str, **options: object) -> McpServer:
        args = (str(COUNTER), str(self.folder), *words)
        return McpServer(name="web", command=sys.executable, args=args, **options)  # type: ignore[arg-type]

    def toolset(self, *words: str, clock: FakeClock | None = None, **options: object) -> McpToolset:
        toolset = McpToolset(self.server(*words, **options), clock=clock, wait_s=60)
        self._stack.push_async_callback(toolset.close)
        return toolset

    async def connection(self, *words: str, clock: FakeClock | None = None, **options: object) -> McpConnection:
        connection = McpConnection(self.server(*words, **options), clock=clock)
        return await self._stack.enter_async_context(connection)

    def starts(self) -> list[int]:
        """The processes that were started, in order."""
        file = self.folder / "starts"
        return [int(line) for line in file.read_text().split()] if file.exists() else []

    def go(self) -> None:
        (self.folder / "go").touch()


@pytest.fixture
async def web(tmp_path: Path) -> AsyncIterator[Web]:
    async with AsyncExitStack() as stack:
        yield Web(tmp_path, stack)
    assert children() == []


def calls(*names: str, **arguments: str) -> list[ToolCall]:
    return [ToolCall(str(at), f"web_{name}", {**arguments}) for at, name in enumerate(names)]


def agent(toolset: McpToolset, turns: Sequence[list[ToolCall]], person: Yes | None = None, **options: object) -> Agent:
    said = [each for turn in turns for each in (turn, "Done.")]
    return allowed(said, toolset, approver=person or Yes(), **options)


def allowed(said: Sequence[Said], *tools: Toolset, **options: object) -> Agent:
    """An agent whose calls need no approval, so that those of one turn are made at once."""
    return Agent(ScriptedModel(said), tools, policy=Rules(Rule("allow", final=True)), **options)  # type: ignore[arg-type]


def texts(result: RunResult) -> list[str]:
    return [outcome.text if outcome.error is None else outcome.error.message for _, outcome in result.calls]


async def counted(connection: McpConnection, holder: Holder) -> tuple[int, int]:
    """How often this holder's session has counted, and its process."""
    result = await connection.request("tools/call", {"name": "count", "arguments": {}}, holder=holder)
    number, pid = _text(result).split()
    return int(number), int(pid)


def _text(result: JsonObject) -> str:
    content = result["content"]
    assert isinstance(content, list)
    assert isinstance(content[0], dict)
    return str(content[0]["text"])


# One holder, one session ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_hundred_calls_at_once_meet_one_counter_in_one_process(web: Web, era: str) -> None:
    run = agent(web.toolset(era), [calls(*["count"] * 100)], limits=Limits(parallel=100, calls=200))

    result = await run.run("Go")

    numbers, pids = zip(*(text.split() for text in texts(result)), strict=True)
    assert {int(number) for number in numbers} == set(range(1, 101))
    assert len(set(pids)) == 1
    assert len(web.starts()) == 1


async def test_a_chat_keeps_its_page_over_two_turns(web: Web) -> None:
    chat = agent(web.toolset("legacy"), [calls("visit", url="https://example.org"), calls("page")])

    first = await chat.run("Open example.org", conversation="c1", principal="ada")
    second = await chat.run("What is open?", conversation="c1", principal="ada")

    assert texts(first) + texts(second) == ["opened https://example.org", "https://example.org"]
    assert len(web.starts()) == 1


async def test_a_later_run_of_the_same_principal_takes_an_idle_session_over_and_another_principal_never(
    web: Web,
) -> None:
    desk = agent(web.toolset("legacy"), [calls("visit", url="https://ada.example"), calls("page"), calls("page")])

    await desk.run("Go", principal="ada")
    hers = await desk.run("Go", principal="ada")
    his = await desk.run("Go", principal="bob")

    assert (texts(hers), texts(his)) == (["https://ada.example"], ["no page is open"])
    assert len(web.starts()) == 2


async def test_two_principals_and_two_runs_at_once_have_states_of_their_own(web: Web) -> None:
    toolset = web.toolset("legacy")

    async def visited(principal: str, number: int) -> list[str]:
        mine: list[Said] = [calls("visit", url=f"https://{principal}{number}.example"), calls("page"), "Done."]
        run = allowed(mine, toolset)
        return texts(await run.run("Go", principal=principal))

    who = [("ada", 1), ("ada", 2), ("bob", 1), ("", 1)]
    found = await asyncio.gather(*(visited(*each) for each in who))

    assert [pages[1] for pages in found] == [f"https://{name}{number}.example" for name, number in who]
    assert len(web.starts()) == 4


async def test_a_child_run_uses_the_session_of_its_root(web: Web) -> None:
    toolset = web.toolset("legacy")
    helper = allowed([calls("visit", url="https://child.example"), "Opened."], toolset)
    boss = allowed(
        [[ToolCall("1", "helper", {"task": "Open it"})], calls("page"), "Done."], helper.as_tool("helper"), toolset
    )

    result = await boss.run("Go")

    assert texts(result)[-1] == "https://child.example"
    assert len(web.starts()) == 1


async def test_calls_of_a_stateless_server_are_spread_over_as_many_sessions_as_it_may_have(web: Web) -> None:
    toolset = web.toolset("legacy", stateless=True, sessions=3)
    run = agent(toolset, [calls(*["hold"] * 12)], limits=Limits(parallel=12))
    events: list[Event] = []

    going = asyncio.create_task(run.run("Go", emit=events.append))
    await until(lambda: len([each for each in events if isinstance(each, CallProgress)]) == 12)
    web.go()

    assert set(texts(await going)) == {f"held by {pid}" for pid in web.starts()}
    assert len(web.starts()) == 3


# Bounds ---------------------------------------------------------------------------------------------------------------


async def test_who_comes_when_all_sessions_are_in_use_waits_and_is_told_in_time(web: Web) -> None:
    clock = FakeClock()
    way = await web.connection("legacy", clock=clock, sessions=2)
    ada, bob, eve = (Holder(name, "run:1") for name in ("ada", "bob", "eve"))
    await counted(way, ada)
    await counted(way, bob)

    waiting = asyncio.create_task(counted(way, eve))
    gone = asyncio.create_task(counted(way, Holder("mallory", "run:1")))
    assert await counted(way, ada) == (2, web.starts()[0])
    gone.cancel()
    await asyncio.wait([gone])
    clock.advance(61)
    with pytest.raises(Unavailable, match="All 2 sessions with the MCP server 'web' are in use") as late:
        await waiting
    assert late.value.effect == "none"

    again = asyncio.create_task(counted(way, eve))
    assert await counted(way, ada) == (3, web.starts()[0])
    bob.leave()
    assert (await again)[0] == 1  # his process was ended for hers
    assert len(children()) == 2


async def test_a_session_of_a_run_that_waits_for_a_person_is_kept_for_five_minutes(web: Web) -> None:
    clock = FakeClock()
    way = await web.connection("legacy", clock=clock, sessions=1, timeout=10_000.0)
    paused, other = Holder("ada", "run:1"), Holder("ada", "run:2")
    await counted(way, paused)
    paused.pause()

    clock.advance(GIVEN_BACK_S - 1)
    waiting = asyncio.create_task(counted(way, other))
    assert await counted(way, paused) == (2, web.starts()[0])  # it is still its own
    assert not waiting.done()
    clock.advance(2)

    assert await waiting == (3, web.starts()[0])


async def test_what_belongs_to_a_holder_that_is_over_is_ended_with_it(web: Web) -> None:
    way = await web.connection("legacy")
    client = Holder("ada", "client:1")
    _, pid = await counted(way, client)

    client.end()

    await until(lambda: not is_alive(pid))
    assert (await counted(way, Holder("ada", "client:2")))[0] == 1


# A session that is gone -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_server_that_dies_fails_all_its_calls_at_once_and_the_next_is_told(web: Web, era: str) -> None:
    clock = FakeClock(auto=True)
    said: list[Said] = [calls(*["hold"] * 10, "die"), calls("page"), calls("page"), "Done."]
    run = allowed(said, web.toolset(era, clock=clock))

    result = await asyncio.wait_for(run.run("Go"), HANGS_S)

    lost, told, after = texts(result)[:11], *texts(result)[11:]
    assert all("lost" in text for text in lost)
    assert (told, after) == (f"{ANEW}\nno page is open", "no page is open")
    assert len(web.starts()) == 2


async def test_a_conversation_that_goes_on_in_another_process_is_told_that_the_state_is_gone(web: Web) -> None:
    journal = MemoryJournal()
    async with McpToolset(web.server("legacy"), wait_s=60) as toolset:
        await agent(toolset, [calls("visit", url="x")], journal=journal).run("Go", conversation="c", principal="ada")

    again = agent(web.toolset("legacy"), [calls("page")], journal=journal)
    result = await again.run("Go", conversation="c", principal="ada")

    assert texts(result) == [f"{ANEW}\nno page is open"]


# Several calls at once ------------------------------------------------------------------------------------------------


async def test_a_question_during_several_calls_is_asked_once_and_recorded_with_all_of_them(web: Web) -> None:
    clock, person, journal = FakeClock(), Yes(), MemoryJournal()
    person.hold.clear()
    toolset = web.toolset("legacy", clock=clock)
    said: list[Said] = [calls("hold", "hold", "ask"), "Done."]
    run = allowed(said, toolset, approver=person, journal=journal, clock=clock)
    going = asyncio.create_task(run.run("Go", run_id="r"))
    await until(lambda: any(pending.kind == "elicitation" for pending in person.asked))
    clock.advance(100_000)  # a person's time is nobody's: none of the three calls runs out of it
    person.hold.set()
    web.go()
    result = await going

    assert [outcome.error for _, outcome in result.calls] == [None] * 3
    assert '"name": "Ada"' in texts(result)[2]
    assert [pending.kind for pending in person.asked].count("elicitation") == 1
    records = [entry.record for entry in await journal.read("r")]
    (asked,) = [record for record in records if isinstance(record, InputRequested) and record.kind == "elicitation"]
    assert len(asked.beside) == 2


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_progress_and_cancellation_reach_the_call_that_is_meant(web: Web, era: str) -> None:
    toolset = web.toolset(era)
    events: list[Event] = []
    both = agent(toolset, [calls("hold", "hold")]).run("Go", principal="ada", conversation="c", emit=events.append)
    going = asyncio.create_task(both)
    await until(lambda: len([each for each in events if isinstance(each, CallProgress)]) == 2)
    other = asyncio.create_task(agent(toolset, [calls("hold")]).run("Go", principal="bob"))
    await until(lambda: len(web.starts()) == 2)
    other.cancel()
    await asyncio.wait([other])
    web.go()

    assert texts(await going) == [f"held by {web.starts()[0]}"] * 2
    assert {each.call_id for each in events if isinstance(each, CallProgress)} == {"0", "1"}
