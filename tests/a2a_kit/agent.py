"""An agent that does what the official compatibility kit of A2A expects of a server: the id of each message says what.

`make a2a-kit` serves it by `actum serve`; `tests/server/a2a/test_kit.py` goes through the same scenarios without
the kit.

Kit of 1.0: ids such as `tck-artifact-file-1a2b`, after the scenarios in the kit's own files. Kit of 0.3: other ids, and
its tasks stay open, since that kit cancels and continues the tasks that it begins.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from actum import Agent, Context, ToolCall, tool
from actum.core.call import MediaPart, TextPart
from actum.core.errors import PermissionDenied
from actum.core.event import Delta, RunResult, TextDelta
from actum.core.interfaces import Journal
from actum.core.json import JsonObject
from actum.core.message import Reply, ToolMessage, UserMessage
from actum.core.model import Request
from actum.core.run.record import Started

RESUBSCRIBE_S = 5.0
"""The kit wants a task that it can subscribe to again for at least 4 seconds."""
HISTORY = "TCK history message"
"""Messages of this text continue a task that goes on to wait; the id of a message that continues is not told."""
_message_id: ContextVar[str] = ContextVar("message_id", default="")


@tool(effects=["read"])
async def make_file() -> MediaPart:
    """Make a file."""
    return MediaPart("text/plain", data=b"Generated file content", name="output.txt")


@tool(effects=["read"])
async def link_file() -> MediaPart:
    """Tell where a file is."""
    return MediaPart("text/plain", url="https://example.com/output.txt", name="output.txt")


@tool(effects=["read"])
async def ask(ctx: Context) -> str:
    """Ask the user."""
    answer = await ctx.elicit("What else?", {"type": "object", "properties": {"answer": {"type": "string"}}})
    return str(answer.content)


@tool(effects=["read"])
async def work() -> str:
    """Work for some seconds."""
    await asyncio.sleep(RESUBSCRIBE_S)
    return "worked"


ANSWERS = {
    "tck-artifact-text": "Generated text content",
    "tck-artifact-data": '{"key": "value", "count": 42}',
    "tck-message-response": "Direct message response",
    "tck-stream-001": "Stream hello from TCK",
    "tck-stream-003": "Stream task lifecycle",
    "tck-stream-ordering-001": "Ordered output",
    "tck-stream-artifact-text": "Streamed text content",
    "tck-stream-artifact-chunked": "chunk-1 chunk-2",
}
TOOLS = {
    "tck-artifact-file-url": "link_file",
    "tck-artifact-file": "make_file",
    "tck-stream-artifact-file": "make_file",
    "tck-input-required": "ask",
    "test-resubscribe-message-id": "work",
}


class KitModel:
    """Stands in for a model: says what the id of the message asks for."""

    name = "kit"

    async def reply(self, request: Request, emit: Callable[[Delta], None] | None = None) -> Reply:
        """Answer.

        Raises:
            PermissionDenied: the id asks for a rejection.
        """
        id_, last = _message_id.get(), request.messages[-1]
        if id_.startswith("tck-reject-task"):
            raise PermissionDenied("rejected")
        called = next((called for prefix, called in TOOLS.items() if id_.startswith(prefix)), "")
        is_old = not called and not id_.startswith("tck-")
        if is_old:
            called = "ask"
        goes_on = isinstance(last, ToolMessage) and called == "ask" and (is_old or HISTORY in last.result.text)
        if called and (isinstance(last, UserMessage) or goes_on):
            return Reply((ToolCall(f"c{len(request.messages)}", called, {}),))
        said = next((said for prefix, said in ANSWERS.items() if id_.startswith(prefix)), "Hello from TCK")
        if isinstance(last, ToolMessage) and id_.startswith(("tck-artifact", "tck-stream")):
            said = "Here it is."
        if emit is not None:
            for piece in filter(None, said.partition(" ")):
                emit(TextDelta(piece))
        return Reply((TextPart(said),))


class KitAgent(Agent[str]):
    """Hands the id of the message to the model."""

    @property
    def output_schema(self) -> JsonObject | None:
        """Answers that are JSON are told as data."""
        return {}

    def answers_by_message(self, message_id: str) -> bool:
        """See `actum.server.a2a.service.AnswersByMessage`."""
        return message_id.startswith("tck-message-response")

    async def run(self, question: str | UserMessage, **options: Any) -> RunResult[str]:  # noqa: ANN401
        door = (options.get("door") or {}).get("a2a", {})
        _message_id.set(door.get("message", ""))
        return await super().run(question, **options)

    async def resume(self, run_id: str, answers: Any = None, **options: Any) -> RunResult[str]:  # noqa: ANN401
        started = (await self.journal.read(run_id))[0].record
        assert isinstance(started, Started)
        door = started.door["a2a"]
        assert isinstance(door, dict)
        _message_id.set(str(door["message"]))
        return await super().resume(run_id, answers, **options)


def make_kit_agent(journal: Journal | None = None) -> KitAgent:
    """The agent, around a journal."""
    return KitAgent(KitModel(), [make_file, link_file, ask, work], name="kit", journal=journal)


agent = make_kit_agent()
