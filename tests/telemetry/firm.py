"""An agent that asks a child agent and a server of another process, in a process of its own that is killed.

    python -m tests.telemetry.firm JOURNAL ADDRESS

tells when the model is asked for the last time, and waits there for ever.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

from actum import Agent
from actum.core.call import ToolCall
from actum.core.interfaces import Journal
from actum.core.message import Reply
from actum.core.model import Request
from actum.policy.rules import Rules
from actum.protocols.mcp.config import McpServer
from actum.storage.sqlite import SQLiteJournal
from actum.testing import ScriptedModel
from actum.toolsets.mcp.toolset import McpToolset

RUN = "run_of_the_firm"
ASKED = Reply.of(
    calls=[ToolCall("c1", "clerk", {"task": "Add."}), ToolCall("c2", "far_weather", {"city": "Bonn"})],
)


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def firm(journal: Journal, way: McpToolset, *, waits: bool = False) -> Agent[object]:
    """The agent.

    Args:
        journal: of its runs, and of those of its child.
        way: to the other server.
        waits: the last answer of the model never comes.
    """

    policy = Rules(default="allow")
    child = Agent(
        ScriptedModel([Reply.of(calls=[ToolCall("c1", "add", {"a": 1, "b": 2})]), "3"]),
        [add],
        name="clerk",
        journal=journal,
        policy=policy,
    )

    def says(request: Request) -> str | Reply:
        if len(request.messages) < 3:
            return ASKED
        if waits:
            sys.stdout.write("the model is asked\n")
            sys.stdout.flush()
            signal.pause()
        return "Done."

    tools = [child.as_tool("clerk", "Adds."), way]
    return Agent(ScriptedModel(says), tools, name="firm", journal=journal, policy=policy)


def other(address: str) -> McpToolset:
    """The way to the other server."""
    return McpToolset(McpServer(name="far", url=address, transport="http"))


async def main(path: str, address: str) -> None:
    """Run until this process is killed."""
    async with other(address) as way:
        await firm(SQLiteJournal(Path(path)), way, waits=True).run("Go.", run_id=RUN)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
