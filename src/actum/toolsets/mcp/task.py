"""A call that an MCP server answered with a task: the task is polled until it is over, and given what it asks for.

This file knows nothing of connections: it is handed a way to send a request. A caller that stops waiting cancels the
task.

Source: the MCP extension `io.modelcontextprotocol/tasks` (SEP-2663); Model Context Protocol 2025-11-25, Tasks.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from ...core.errors import CallCancelled, ToolError
from ...core.interfaces import Clock
from ...core.json import Json, JsonObject
from ...protocols.mcp.tasks import OVER

Send = Callable[[str, JsonObject], Awaitable[JsonObject]]

POLL_S = (0.05, 30.0)
"""A server's word on how often to ask is taken within these bounds, in seconds."""

WORDS_MAX = 8_000
"""The most characters that are told of a server's words about a task that failed."""

CANCEL_S = 5.0
"""How long a task that nobody waits for any more is given to hear of it, in seconds."""

_CANCELLED = "The server cancelled this call; it may have happened in part."


class Watch:
    """A task that is looked at now and then, until it is over.

    Args:
        handle: what the server answered the call with.
        send: sends a request to the server and returns its raw result.
        clock: time.
        told: hears each new message about the task's state.

    Attributes:
        task: how it was when it was looked at last.
        params: that name it.

    Raises:
        ToolError: it is no task.
    """

    def __init__(self, handle: JsonObject, send: Send, clock: Clock, told: Callable[[str], None]) -> None:
        task_id = handle.get("taskId")
        if not isinstance(task_id, str) or not task_id:
            raise ToolError("The server answered with a task that has no id.", effect="unknown")
        self.params: JsonObject = {"taskId": task_id}
        self._send = send
        self._clock = clock
        self._told = told
        self._message = ""
        self._take(handle)

    @property
    def status(self) -> str:
        """How far it is, in the server's word."""
        return str(self.task.get("status"))

    def _take(self, task: JsonObject) -> None:
        self.task = task
        if self.status not in OVER and task.get("statusMessage") not in ("", None, self._message):
            self._message = str(task["statusMessage"])
            self._told(self._message)

    async def look(self) -> None:
        """Look again, as soon as its server takes that for worth while."""
        await self._clock.sleep(_pause(self.task.get("pollIntervalMs", self.task.get("pollInterval"))))
        self._take(await self._send("tasks/get", self.params))

    @asynccontextmanager
    async def needed(self) -> AsyncIterator[None]:
        """A block that needs the task: if it is cancelled, so is that."""
        try:
            yield
        except asyncio.CancelledError:
            await asyncio.wait([asyncio.ensure_future(_cancel(self._send, self.params))], timeout=CANCEL_S)
            raise


async def settle(handle: JsonObject, send: Send, answer: Send, clock: Clock, told: Callable[[str], None]) -> JsonObject:
    """Wait for a task.

    Args:
        handle: the `CreateTaskResult`.
        send: sends a request to the server and returns its raw result.
        answer: answers what the server asks: method and params to result.
        clock: time.
        told: hears each new message about the task's state.

    Returns:
        The raw result of the call that the task was made for.

    Raises:
        ToolError: the task failed, in the words of the server; or it is no task.
        CallCancelled: the server cancelled it: it may have happened in part.
    """
    watch, answered = Watch(handle, send, clock, told), set[str]()
    async with watch.needed():
        while watch.status not in OVER:
            if watch.status == "input_required":
                await _give(watch.task.get("inputRequests"), watch.params, send, answer, answered)
            await watch.look()
    return outcome(watch.task)


async def collect(handle: JsonObject, send: Send, clock: Clock, told: Callable[[str], None]) -> JsonObject:
    """Wait for a task of a server with a handshake, and get its result.

    What such a server asks meanwhile it asks while it is asked for the result, like during any other request.

    Args:
        handle, send, clock, told: as for `settle`; the handle is the `task` of the `CreateTaskResult`.

    Raises:
        ToolError: it is no task.
        CallCancelled: as for `settle`.
        McpError: it failed with an error of the protocol.
    """
    watch = Watch(handle, send, clock, told)
    async with watch.needed():
        while watch.status not in {*OVER, "input_required"}:
            await watch.look()
        if watch.status == "cancelled":
            raise CallCancelled(_CANCELLED)
        return await send("tasks/result", watch.params)


async def _give(requests: Json, params: JsonObject, send: Send, answer: Send, answered: set[str]) -> None:
    """Answer what is asked and was not asked before, each for itself: another may take its time."""
    for key, request in requests.items() if isinstance(requests, dict) else ():
        if key in answered or not isinstance(request, dict):
            continue
        answered.add(key)
        asked = request.get("params")
        given = await answer(str(request.get("method")), asked if isinstance(asked, dict) else {})
        await send("tasks/update", {**params, "inputResponses": {key: given}})


async def _cancel(send: Send, params: JsonObject) -> None:
    try:
        await send("tasks/cancel", params)
    except Exception:  # noqa: BLE001 - nobody waits for it any more, and the caller hears that it was cancelled
        return


def outcome(task: JsonObject) -> JsonObject:
    """What a task that is over came to: the raw result of its call.

    Raises:
        ToolError: it failed, in the words of the server.
        CallCancelled: the server cancelled it: it may have happened in part.
    """
    result, error = task.get("result"), task.get("error")
    if task["status"] == "completed" and isinstance(result, dict):
        return result
    if task["status"] == "cancelled":
        raise CallCancelled(_CANCELLED)
    why = error.get("message") if isinstance(error, dict) else None
    words = str(why or "")[:WORDS_MAX]
    raise ToolError(f"The server could not do this. {words}".rstrip(), effect="unknown")


def _pause(milliseconds: Json) -> float:
    least, most = POLL_S
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        return 1.0
    return min(max(least * 1000, milliseconds), most * 1000) / 1000  # in this order, that no number passes
