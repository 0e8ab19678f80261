"""A server of A2A as a process of its own: `killable SOCKET FOLDER`. Its agent writes a line, waits, and answers."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import uvicorn

from actum import Agent, tool
from actum.compose.serving import Serving, open_doors
from actum.compose.settings import Settings
from actum.compose.tables.serve import ServeSettings
from actum.core.message import Reply, ToolMessage
from actum.core.model import Request
from actum.server import Access, Identity
from actum.server.api.api import GivenAgents
from actum.server.scopes import ALL_SCOPES
from actum.storage.sqlite import SQLiteJournal
from actum.testing import ScriptedModel
from tests.server.api.test_runs import calls
from tests.server_process import inherited


def agent_of(folder: Path, journal: SQLiteJournal) -> Agent[str]:
    @tool(effects=["write"])
    def note() -> str:
        """Write a line."""
        with (folder / "notes").open("a") as notes:
            notes.write("noted\n")
        return "noted"

    @tool(effects=["read"])
    async def wait() -> str:
        """Wait for a file."""
        (folder / "waits").touch()
        while not (folder / "open").exists():  # noqa: ASYNC110  # another process makes it
            await asyncio.sleep(0.02)
        return "opened"

    def says(request: Request) -> Reply | str:
        made = sum(isinstance(message, ToolMessage) for message in request.messages)
        return (calls("note"), calls("wait"), "Done.")[made]

    return Agent(ScriptedModel(says), [note, wait], name="desk", journal=journal)


def main(number: str, place: str) -> None:
    """Serve until the process is killed."""
    folder = Path(place)
    journal = SQLiteJournal(folder / "journal.db")
    who = Identity(principal="ann", scopes=ALL_SCOPES)
    agents = GivenAgents({"desk": agent_of(folder, journal)})
    doors = open_doors(Settings(), [], agents, journal, who)
    application = Serving(doors, ServeSettings(), Access(), who=who, journal=journal).application
    server = uvicorn.Server(
        uvicorn.Config(application.app, log_config=None, timeout_keep_alive=240, proxy_headers=False)
    )
    server.run(sockets=[inherited(number)])


if __name__ == "__main__":
    main(*sys.argv[1:])
