"""An MCP server that calls another server. Three programs, three journals, one trace: each call says in its `_meta`
which trace it belongs to, and the run that it becomes on the other side writes that down."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from actum import Agent, Answer, ToolCall
from actum.events import RunResult
from actum.messages import Request, ToolMessage
from actum.storage.sqlite import SQLiteJournal
from actum.testing import Said, ScriptedApprover, ScriptedModel
from actum.toolsets.mcp import McpServer, McpToolset

sys.path.insert(0, str(Path(__file__).parents[2]))  # so that it also runs as a file

from examples.local_services.serving import serving
from examples.local_services.weather import weather_service
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


async def ask(folder: Path) -> RunResult:
    """Ask the host, which starts the packing server, which starts the weather server."""
    journal = SQLiteJournal(folder / "host.db")
    async with serving(weather_service()) as (url,):
        packing = McpServer(name="packing", command=sys.executable, args=(PROGRAM, url, str(folder)), trusted=True)
        async with McpToolset(packing) as toolset:
            yes = ScriptedApprover(Answer("approve"))  # an agent may do anything: its use asks a person
            agent = Agent(ScriptedModel(script), [toolset], name="host", journal=journal, approver=yes)
            result = await watch(agent, QUESTION)
    await journal.close()
    return result


def run(folder: Path) -> tuple[RunResult, list[TracedRun]]:
    """Ask, and show the trace."""
    result = asyncio.run(ask(folder))
    heading("One trace, out of three journals")
    return result, show([folder / name for name in JOURNALS])


def main() -> None:
    """Run it."""
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder))


if __name__ == "__main__":
    main()
