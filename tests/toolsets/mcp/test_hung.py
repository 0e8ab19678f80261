"""Servers that hang, are dead or are slow to start: what they cost, and how their tools come in later. The servers are
processes.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from actum import Agent, ToolCall, tool
from actum.core.event import RunResult
from actum.core.interfaces import Toolset
from actum.core.run.record import ToolsChanged
from actum.journal.memory import MemoryJournal
from actum.policy.rules import Rules
from actum.protocols.mcp.config import McpServer
from actum.storage.pins import PinStore
from actum.testing import FakeClock, Said, ScriptedModel
from actum.toolsets.mcp import McpHost, McpToolset
from actum.toolsets.mcp.toolset import WAIT_S
from tests.toolsets.shifty_server import ADD, READS, SHIFTY, Shifty

from .test_stdio import children, odd, until

pytestmark = pytest.mark.row("T4")

DEAD = McpServer(name="dead", command="/there/is/no/such/program")
ALLOWED = Rules(default="allow")


@tool
def calculate(expression: str) -> str:
    """Calculate."""
    return f"{expression} is 42"


BUILT_IN = [ToolCall("1", "calculate", {"expression": "6 * 7"})]


def hung(name: str = "hung") -> McpServer:
    server = odd("mute")
    return McpServer(name=name, command=server.command, args=server.args)


def shifty_at(folder: Path, name: str) -> Shifty:
    (folder / name).mkdir()
    found = Shifty(folder / name)
    found.tell(tools=[ADD, READS])
    return found


def named(shifty: Shifty, name: str) -> McpServer:
    server = shifty.server()
    return McpServer(name=name, command=server.command, args=server.args)


def agent(said: Sequence[Said], tools: Sequence[object], journal: MemoryJournal | None = None) -> Agent:
    return Agent(ScriptedModel(said), tools, policy=ALLOWED, journal=journal)  # type: ignore[arg-type]


def texts(result: RunResult) -> list[str]:
    return [outcome.text for _, outcome in result.calls]


async def test_a_built_in_call_starts_no_server_and_another_only_its_own(tmp_path: Path) -> None:
    pins = PinStore(tmp_path / "pins.json")
    shifties = {f"s{number}": shifty_at(tmp_path, f"s{number}") for number in range(6)}
    servers = [*(named(shifty, name) for name, shifty in shifties.items()), hung(), DEAD]
    for server in servers:
        pins.approve(server.identity, [ADD, READS])
    async with McpHost([McpToolset(server, pins=pins) for server in servers]) as host:
        said: list[Said] = [BUILT_IN, "Done.", [ToolCall("1", "s3_add", {})], "Done."]
        both = agent(said, [calculate, host])
        assert len(await both.list_tools()) == 17  # those of the hung and the dead one, too
        assert texts(await both.run("Go")) == ["6 * 7 is 42"]
        assert children() == []

        assert texts(await both.run("Go")) == ["add was called"]

        assert [name for name, shifty in shifties.items() if shifty.heard()] == ["s3"]
        assert len(children()) == 1
        assert host.problems == {}


async def test_a_run_waits_for_unknown_servers_once_and_side_by_side_and_goes_on_without_them(tmp_path: Path) -> None:
    clock, shifty = FakeClock(), shifty_at(tmp_path, "well")
    servers = [named(shifty, "well"), hung("h1"), hung("h2"), DEAD]
    async with McpHost([McpToolset(server, clock=clock) for server in servers], clock=clock) as host:
        model = ScriptedModel([[ToolCall("1", "well_add", {})], "Done."] * 2)
        asking = Agent(model, [host], policy=ALLOWED)
        first = asyncio.create_task(asking.run("Go"))
        await until(lambda: host.server("well").known_tools != () and len(children()) == 3)
        clock.advance(WAIT_S - 0.1)
        assert not first.done()
        clock.advance(0.1)
        assert texts(await first) == ["add was called"]
        assert sorted(host.problems) == ["dead", "h1", "h2"]
        assert "has not told its tools yet" in host.problems["h1"]
        assert "no program" in host.problems["dead"]

        assert texts(await asking.run("Go")) == ["add was called"]  # and the clock has not moved
        assert len(children()) == 3  # nobody started them anew


class Gate:
    """A server that is slow to start: until somebody opens the gate."""

    def __init__(self, folder: Path) -> None:
        self.shifty = shifty_at(folder, "slow")
        self.file = folder / "gate"
        wait = f"while [ ! -e {self.file} ]; do sleep 0.01; done; exec {sys.executable} {SHIFTY} {self.shifty.folder}"
        self.server = McpServer(name="slow", command="/bin/sh", args=("-c", wait))

    def toolset(self, clock: FakeClock | None = None) -> McpToolset:
        return McpToolset(self.server, clock=clock, wait_s=WAIT_S if clock is not None else 60)


async def without(clock: FakeClock, going: asyncio.Task[RunResult]) -> None:
    """Let the time pass for which a run waits for a server."""

    def is_on() -> bool:
        clock.advance(1.0)
        return going.done() or bool(children())

    await until(is_on)
    clock.advance(WAIT_S)


async def test_tools_that_come_late_are_taken_in_at_a_later_step_and_a_replay_sees_the_same(tmp_path: Path) -> None:
    gate, clock, journal = Gate(tmp_path), FakeClock(), MemoryJournal()

    def desk(slow: McpToolset, opens: bool) -> list[object]:
        @tool
        async def look_around() -> str:
            """Look around."""
            if opens:
                gate.file.touch()
                await until(lambda: slow.known_tools != ())
            return "It is there now."

        @tool(approval=True)
        def pay() -> str:
            """Pay."""
            return "paid"

        return [look_around, pay, slow]

    said: list[Said] = [[ToolCall("1", "look_around", {})], [ToolCall("2", "slow_add", {}), ToolCall("3", "pay", {})]]
    slow = gate.toolset(clock)
    async with slow:
        model = ScriptedModel(said)
        run = Agent(model, desk(slow, opens=True), policy=Rules(), journal=journal)  # type: ignore[arg-type]
        going = asyncio.create_task(run.run("Go", run_id="r"))
        await without(clock, going)
        paused = await going
        assert paused.status == "paused"
    shown = [[each.name for each in request.tools] for request in model.requests]
    assert shown == [["look_around", "pay"], ["look_around", "pay", "slow_add", "slow_look"]]
    changed = [entry.record for entry in await journal.read("r") if isinstance(entry.record, ToolsChanged)]
    assert len(changed) == 1

    async with gate.toolset() as again:
        later = Agent(ScriptedModel(["Done."]), desk(again, opens=False), policy=Rules(), journal=journal)  # type: ignore[arg-type]
        result = await later.resume("r", {pending.id: "approve" for pending in paused.pending})
    assert result.status == "done"
    assert texts(result) == ["It is there now.", "add was called", "paid"]


async def test_a_run_that_began_without_a_server_goes_on_when_it_is_there(tmp_path: Path) -> None:
    gate, clock, journal = Gate(tmp_path), FakeClock(), MemoryJournal()

    @tool(approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    async with gate.toolset(clock) as slow:
        tools: list[Toolset] = [slow]
        run = Agent(ScriptedModel([[ToolCall("1", "pay", {})], "Done."]), [pay, *tools], journal=journal)
        going = asyncio.create_task(run.run("Go", run_id="r"))
        await without(clock, going)
        paused = await going
        gate.file.touch()
        await until(lambda: slow.known_tools != ())

        result = await run.resume("r", {pending.id: "approve" for pending in paused.pending})

    assert texts(result) == ["paid"]


async def test_a_server_that_hangs_after_it_was_known_is_waited_for_once_and_its_tools_stay(tmp_path: Path) -> None:
    clock, shifty = FakeClock(), shifty_at(tmp_path, "s")
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {SHIFTY} "$@"\n')
    program.chmod(0o700)
    server = McpServer(name="s", command=str(program), args=(str(shifty.folder),))
    async with McpToolset(server, clock=clock) as toolset:
        assert [each.name for each in await toolset.list_tools()] == ["s_add", "s_look"]
        await toolset.close()
        program.write_text(f"#!/bin/sh\nexec {sys.executable} -m tests.mcp_servers.odd mute\n")
        calls = asyncio.create_task(toolset.facts())  # somebody starts it, and it hangs now
        await until(lambda: len(children()) == 1)

        assert [each.name for each in await toolset.list_tools()] == ["s_add", "s_look"]
        calls.cancel()
        await asyncio.wait([calls])


async def test_a_server_that_is_dead_is_tried_again_after_pauses_and_costs_nothing_meanwhile() -> None:
    clock = FakeClock()
    async with McpHost([McpToolset(DEAD, clock=clock)], clock=clock) as host:
        asking = agent([BUILT_IN, "Done."] * 3, [calculate, host])
        for _ in range(2):
            assert texts(await asking.run("Go")) == ["6 * 7 is 42"]
        failures = host.server("dead").health.failures
        assert failures == 1
        clock.advance(60)
        assert texts(await asking.run("Go")) == ["6 * 7 is 42"]
        assert host.server("dead").health.failures == 2
