"""A server of A2A as a process of its own: `racing SOCKET PLACE FOLDER`. The tool of its agent waits for a file."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import uvicorn

from actum import Agent, tool
from actum.compose.serving import Serving, open_doors
from actum.compose.settings import Settings
from actum.compose.tables.serve import ServeSettings
from actum.core.message import Reply, ToolMessage, UserMessage
from actum.core.model import Request
from actum.server import Access, Identity
from actum.server.api.api import GivenAgents
from actum.server.scopes import ALL_SCOPES
from actum.storage.postgres import PostgresJournal
from actum.storage.sqlite import SQLiteJournal
from actum.testing import ScriptedModel
from tests.server.api.test_runs import calls
from tests.server_process import inherited


def opened(place: str) -> SQLiteJournal | PostgresJournal:
    """The journal at a file or an address."""
    return PostgresJournal(place) if place.startswith("postgres") else SQLiteJournal(Path(place))


def says(request: Request) -> Reply | str:
    """Waits for the file that the question names, and answers."""
    if isinstance(request.messages[-1], ToolMessage):
        return "Done."
    (asked,) = [message for message in request.messages if isinstance(message, UserMessage)][-1:]
    return calls("wait", file=asked.text)


def main(number: str, place: str, folder: str) -> None:
    """Serve until the process is killed."""

    @tool(effects=["read"])
    async def wait(file: str) -> str:
        """Wait for a file."""
        (Path(folder) / f"{file}.waits").touch()
        while not (Path(folder) / file).exists():  # noqa: ASYNC110  # another process makes it
            await asyncio.sleep(0.001)
        return "opened"

    journal = opened(place)
    who = Identity(principal="ann", scopes=ALL_SCOPES)
    agents = GivenAgents({"desk": Agent(ScriptedModel(says), [wait], name="desk", journal=journal)})
    doors = open_doors(Settings(), [], agents, journal, who)
    application = Serving(doors, ServeSettings(), Access(), who=who, journal=journal).application
    server = uvicorn.Server(
        uvicorn.Config(application.app, log_config=None, timeout_keep_alive=240, proxy_headers=False)
    )
    server.run(sockets=[inherited(number)])


if __name__ == "__main__":
    main(*sys.argv[1:])
