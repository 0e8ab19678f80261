"""A call that an MCP server answered with a task: asked after until it is over, and given what it asks for.

Knows nothing of connections: it is handed a way to send a request. Whoever stops waiting cancels the task.

Source: the MCP extension `io.modelcontextprotocol/tasks` (SEP-2663).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from ..core.errors import CallCancelled, ToolError
from ..core.interfaces import Clock
from ..core.json import Json, JsonObject
from ..protocols.mcp_tasks import OVER

Send = Callable[[str, JsonObject], Awaitable[JsonObject]]

POLL_S = (0.05, 30.0)
"""A server's word on how often to ask is taken within these bounds, in seconds."""

CANCEL_S = 5.0
"""How long a task that nobody waits for any more is given to hear of it, in seconds."""


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
    task_id = handle.get("taskId")
    if not isinstance(task_id, str) or not task_id:
        raise ToolError("The server answered with a task that has no id.", effect="unknown")
    params: JsonObject = {"taskId": task_id}
    answered: set[str] = set()
    message = ""
    task = handle
    try:
        while (status := str(task.get("status"))) not in OVER:
            if task.get("statusMessage") not in ("", None, message):
                message = str(task["statusMessage"])
                told(message)
            if status == "input_required":
                await _give(task.get("inputRequests"), params, send, answer, answered)
            await clock.sleep(_pause(task.get("pollIntervalMs")))
            task = await send("tasks/get", params)
    except asyncio.CancelledError:
        await asyncio.wait([asyncio.ensure_future(_cancel(send, params))], timeout=CANCEL_S)
        raise
    return outcome(task)


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
    except Exception:  # noqa: BLE001 - nobody waits for it any more, and whoever did hears that it was cancelled
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
        raise CallCancelled("The server cancelled this call; it may have happened in part.")
    why = error.get("message") if isinstance(error, dict) else None
    raise ToolError(f"The server could not do this. {why or ''}".rstrip(), effect="unknown")


def _pause(milliseconds: Json) -> float:
    least, most = POLL_S
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        return 1.0
    return min(max(least * 1000, milliseconds), most * 1000) / 1000  # in this order, that no number passes
