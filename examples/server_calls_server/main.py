"""An MCP server that calls another server. Three programs, three journals, one trace: each call says in its `_meta`
which trace it belongs to, and the run that it becomes on the other side writes that down."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from actum import Agent, Answer, ToolCall
from actum.cli.conversation.approve import TerminalApprover
from actum.cli.show.terminal import Terminal
from actum.events import RunResult
from actum.messages import Request, ToolMessage
from actum.storage.sqlite import SQLiteJournal
from actum.testing import Said, ScriptedApprover
from actum.toolsets.mcp import McpServer, McpToolset

sys.path.insert(0, str(Path(__file__).parents[2]))  # so that it also runs as a file

from examples.local_services.serving import serving
from examples.local_services.weather import weather_service
from examples.own_model import own_model, own_or_scripted
from examples.server_calls_server.one_trace import TracedRun, show
from examples.watch import heading, watch

QUESTION = "What do I pack for Shanghai?"
PROGRAM = str(Path(__file__).with_name("packing.py"))
JOURNALS = ("host.db", "packing.db", "weather.db")


def script(request: Request) -> Said:
    """What stands in for the model of the host."""
    last = request.messages[-1]
    if isinstance(last, ToolMessage):
        return last.result.text
    return ToolCall("1", "packing_packer", {"task": "What to pack for Shanghai"})


async def ask(folder: Path, own: str = "") -> RunResult:
    """Ask the host, which starts the packing server, which starts the weather server.

    Args:
        folder: for the journals.
        own: a model of one's own for the host, in the place of the script. The person at the terminal is asked then.
    """
    journal = SQLiteJournal(folder / "host.db")
    async with serving(weather_service()) as (url,):
        packing = McpServer(name="packing", command=sys.executable, args=(PROGRAM, url, str(folder)), trusted=True)
        async with McpToolset(packing, wait_s=60) as toolset:
            # An agent may do anything, so a person is asked before it is used.
            yes = TerminalApprover(Terminal()) if own else ScriptedApprover(Answer("approve"))
            agent = Agent(own_or_scripted(own, script), [toolset], name="host", journal=journal, approver=yes)
            result = await watch(agent, QUESTION)
    await journal.close()
    return result


def run(folder: Path, own: str = "") -> tuple[RunResult, list[TracedRun]]:
    """Ask, and show the trace."""
    result = asyncio.run(ask(folder, own))
    heading("One trace, out of three journals")
    return result, show([folder / name for name in JOURNALS])


def main(arguments: Sequence[str] | None = None) -> None:
    """Run it."""
    own = own_model(__doc__, arguments)
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder), own)


if __name__ == "__main__":
    main()
