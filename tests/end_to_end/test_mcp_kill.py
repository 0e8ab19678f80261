"""The other end of a call dies in the middle of it: what it did is told as it is, and not done again by itself."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

from actum import Agent, ToolCall
from actum.core.event import RunResult
from actum.core.interfaces import Journal
from actum.core.json import Json
from actum.core.policy import Answer
from actum.protocols.mcp.config import McpServer
from actum.server.mcp.service import McpService
from actum.storage.sqlite import SQLiteJournal
from actum.testing import ScriptedApprover, ScriptedModel
from actum.toolsets.mcp import McpToolset
from tests.peers import install
from tests.peers.programs import free_port, listening
from tests.peers.servers import ours
from tests.peers.stdio_wire import Wire, stdio_server

SERVERS = Path(__file__).parents[1] / "peers" / "servers"
CLIENT = SERVERS.parent / "clients" / "fastmcp_client.py"
OURS = str(SERVERS / "ours.py")
ROOT = Path(__file__).parents[2]


# A server of others, killed in a call of ours -------------------------------------------------------------------------


class Till:
    """The till of another program; what it took stands in its book."""

    def __init__(self, folder: Path) -> None:
        self.book, self._pipe = folder / "book", folder / "pipe"
        os.mkfifo(self._pipe)
        self._program = (str(SERVERS / "till.py"), str(self.book), str(self._pipe))

    def toolset(self, *, trusted: bool = False) -> McpToolset:
        """Its tools."""
        server = McpServer(name="till", command=sys.executable, args=self._program, trusted=trusted)
        return McpToolset(server, wait_s=60)

    async def called(self, toolset: McpToolset, tool: str, **arguments: Json) -> RunResult:
        """What comes of a call in which the server is killed."""
        model = ScriptedModel([ToolCall("1", f"till_{tool}", {**arguments, "hold": True}), "Done."])
        agent = Agent(model, [toolset], approver=ScriptedApprover(Answer("approve")))
        result, _ = await asyncio.gather(agent.run("Go"), asyncio.to_thread(self._kill))
        return result

    def _kill(self) -> None:
        with self._pipe.open() as pipe:
            os.kill(int(pipe.readline()), signal.SIGKILL)


@pytest.fixture
def till(tmp_path: Path) -> Till:
    return Till(tmp_path)


async def test_a_payment_whose_server_is_killed_is_told_as_unknown_and_not_made_again(till: Till) -> None:
    async with till.toolset() as toolset:
        result = await till.called(toolset, "pay", amount=5)
        ((_, told),) = result.calls
        assert told.error is not None
        assert (told.error.effect, till.book.read_text()) == ("unknown", "5\n")
        assert "may have happened" in told.text

        again = ScriptedModel([ToolCall("1", "till_look", {}), "Done."])  # the server is started anew
        seen = await Agent(again, [toolset], approver=ScriptedApprover(Answer("approve"))).run("Look")
        assert seen.calls[0][1].structured == {"result": ["5"]}
        assert toolset.health.restarts == 1


async def test_a_look_that_a_trusted_server_declares_as_such_is_made_again_by_itself(till: Till) -> None:
    till.book.write_text("7\n")
    async with till.toolset(trusted=True) as toolset:
        result = await till.called(toolset, "look")
    assert result.calls[0][1].structured == {"result": ["7"]}
    assert result.status == "done"


# A client of ours, or our server, killed in a call --------------------------------------------------------------------


class OwnTill:
    """The till of our own server, and the journal that outlives it."""

    def __init__(self, folder: Path) -> None:
        self.book, self.journal, self._told = folder / "book", folder / "journal.db", folder / "told"
        os.mkfifo(self._told)
        self.env = {"TILL": str(folder), "PYTHONPATH": str(ROOT / "src")}

    async def is_paid(self) -> None:
        """Wait until a payment was made, which is under way still."""
        await asyncio.to_thread(self._told.read_text)

    async def gone_on_with(
        self, verdict: Literal["done", "retry"], service: Callable[[Journal], McpService] = ours.service
    ) -> tuple[RunResult, RunResult]:
        """Take the one run up in another process, where the same is served, and answer what is in doubt."""
        journal = SQLiteJournal(self.journal)
        try:
            (run,) = await journal.runs()
            agent = service(journal).runner
            paused = await agent.resume(run.run_id)
            (doubt,) = paused.pending
            assert (doubt.kind, doubt.call and doubt.call.name) == ("doubt", "pay")
            result = await agent.resume(run.run_id, {doubt.id: Answer(verdict, text="It was paid.")})
            return paused, result
        finally:
            await journal.close()


@pytest.fixture
def own(tmp_path: Path) -> OwnTill:
    return OwnTill(tmp_path)


async def pay_and_hold(wire: Wire, own: OwnTill) -> None:
    wire.go_modern()
    await wire.begin("tools/call", {"name": "pay", "arguments": {"amount": 5, "hold": True}})
    await own.is_paid()


@pytest.mark.parametrize("how", ["the client goes", "the server is killed"])
async def test_a_payment_that_was_cut_off_is_in_doubt_and_not_repeated(how: str, own: OwnTill) -> None:
    async with stdio_server(sys.executable, OURS, "stdio", str(own.journal), env=own.env) as wire:
        await pay_and_hold(wire, own)
        if how == "the client goes":
            assert await wire.leave() == 0
        else:
            wire.process.kill()
            await wire.process.wait()

    paused, result = await own.gone_on_with("done")
    assert paused.status == "paused"
    assert (result.status, own.book.read_text()) == ("done", "5\n")
    assert result.calls[0][1].text == "It was paid."


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_payment_whose_client_over_http_is_killed_is_in_doubt_and_not_repeated(mode: str, own: OwnTill) -> None:
    port = str(free_port())
    with listening(sys.executable, OURS, "http", port, str(own.journal), env=own.env, says="running on") as server:
        target = f'{{"url": "http://127.0.0.1:{port}/mcp"}}'
        arguments = '{"amount": 5, "hold": true}'
        python = str(install.py_bin("mcp2", "python"))
        client = await asyncio.create_subprocess_exec(python, str(CLIENT), target, "pay", arguments, mode)
        await own.is_paid()
        client.kill()
        await client.wait()
        server.send_signal(signal.SIGINT)
        await asyncio.to_thread(server.wait)

    _, result = await own.gone_on_with("done")
    assert (result.status, own.book.read_text()) == ("done", "5\n")


async def test_what_actum_mcp_serve_was_killed_in_is_taken_up_by_its_journal(own: OwnTill, tmp_path: Path) -> None:
    tools = tmp_path / "tools.py"
    tools.write_text("from tests.peers.servers.ours import pay\n")
    policy = tmp_path / "policy.toml"
    policy.write_text('default = "allow"\n')  # without one, a payment waits for a person
    flags = ("--tools", f"{tools}:pay", "--journal", str(own.journal), "--policy", str(policy))
    command = ("-m", "actum", "mcp", "serve", *flags)
    roots = os.pathsep.join([str(ROOT), own.env["PYTHONPATH"]])
    async with stdio_server(sys.executable, *command, env={**own.env, "PYTHONPATH": roots}) as wire:
        await pay_and_hold(wire, own)
        wire.process.kill()
        await wire.process.wait()

    _, result = await own.gone_on_with("done", lambda journal: McpService([ours.pay], journal=journal))
    assert (result.status, own.book.read_text()) == ("done", "5\n")
