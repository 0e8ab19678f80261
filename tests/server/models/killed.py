"""A server that is killed: the agent `desk` pays, and after that its model never answers in the first life of it.

    python -m tests.server.models.killed LISTENER JOURNAL BOOK KEY FIRST

LISTENER is the number of a file that listens already, so that no client finds the door shut between two lives.
The text of the key is KEY. What was paid stands in BOOK, a line each.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from pathlib import Path

from actum import Agent, tool
from actum.core.call import ToolCall
from actum.core.clock import SystemClock
from actum.core.message import Reply, ToolMessage
from actum.core.model import Request
from actum.runs.runner import Runner
from actum.server.access import Access
from actum.server.api.api import Api, GivenAgents
from actum.server.models.agents.executor import AgentExecutor
from actum.server.models.names import ModelNames
from actum.server.models.routes import ModelRoutes
from actum.server.verifier import SharedKey
from actum.server.web_application import WebApplication, WebApplicationSettings
from actum.testing import ScriptedModel
from tests.web import serving


class StuckModel(ScriptedModel):
    """Never answers once the tool was called."""

    def __init__(self, book: Path, *, is_first: bool) -> None:
        super().__init__(self._says)
        self._book, self._is_first = book, is_first

    async def reply(self, request: Request, emit=None) -> Reply:  # type: ignore[no-untyped-def]  # noqa: ANN001
        if self._is_first and isinstance(request.messages[-1], ToolMessage):
            self._book.with_suffix(".stuck").touch()
            await asyncio.Event().wait()
        return await super().reply(request, emit)

    def _says(self, request: Request) -> Reply | str:
        paid = isinstance(request.messages[-1], ToolMessage)
        return "Done." if paid else Reply.of(calls=[ToolCall("1", "pay", {"euros": 20})])


async def serve(listener: socket.socket, journal: str, book: Path, key: str, *, is_first: bool) -> None:
    """Serve until killed."""

    @tool(effects={"spend"})
    def pay(euros: int) -> str:
        """Pay."""
        with book.open("a") as file:
            file.write(f"{euros}\n")
        return "paid"

    model = StuckModel(book, is_first=is_first)
    agent: Agent[object] = Agent(model, [pay], name="desk", journal=journal)
    executor = AgentExecutor(
        Api(Runner(name="server", journal=agent.journal), GivenAgents({"desk": agent}), SystemClock())
    )
    door = ModelRoutes(ModelNames[str]({}, {"desk": "desk"}), executor=executor)
    application = WebApplication([door], WebApplicationSettings(access=Access(verifier=SharedKey(key, "ann"))))
    async with serving(application.app, listener):
        await asyncio.Event().wait()


if __name__ == "__main__":
    file_, journal_, book_, key_, first_ = sys.argv[1:]
    asyncio.run(serve(socket.socket(fileno=int(file_)), journal_, Path(book_), key_, is_first=first_ == "first"))
