"""A call that was answered with a task, whatever the server says of it."""

from __future__ import annotations

import asyncio
import math

import pytest

from actum.core.errors import CallCancelled, ToolError
from actum.core.json import Json, JsonObject
from actum.testing import FakeClock
from actum.toolsets.mcp.pages import all_pages
from actum.toolsets.mcp.task import POLL_S, collect, settle

pytestmark = pytest.mark.row("T4")

NUMBERS = [math.nan, math.inf, -math.inf, 10**400, -(10**400)]


@pytest.mark.parametrize("pause", NUMBERS)
async def test_a_task_is_asked_after_within_bounds_whatever_number_its_server_writes(pause: Json) -> None:
    async def send(method: str, params: JsonObject) -> JsonObject:
        return {"status": "completed", "result": {"content": []}}

    clock = FakeClock(auto=True)
    handle: JsonObject = {"taskId": "t", "status": "working", "pollIntervalMs": pause}
    assert await settle(handle, send, send, clock, print) == {"content": []}
    assert POLL_S[0] <= clock.slept[0] <= POLL_S[1]


async def test_a_task_whose_state_is_no_word_is_asked_after() -> None:
    async def send(method: str, params: JsonObject) -> JsonObject:
        return {"status": "failed", "error": "no object"}

    with pytest.raises(ToolError, match="could not do this"):
        await settle({"taskId": "t", "status": ["working"]}, send, send, FakeClock(auto=True), print)


class Older:
    """A server with a handshake, as far as a task of it goes.

    Args:
        states: the task's, one a look; it stays in the last.
    """

    def __init__(self, *states: JsonObject) -> None:
        self.states = list(states)
        self.sent: list[str] = []

    async def send(self, method: str, params: JsonObject) -> JsonObject:
        self.sent.append(f"{method} {params['taskId']}")
        if method == "tasks/get":
            return self.states.pop(0) if len(self.states) > 1 else self.states[0]
        return {"content": []}


WORKING: JsonObject = {"taskId": "t", "status": "working", "statusMessage": "digging", "pollInterval": 200}


@pytest.mark.parametrize("status", ["completed", "failed", "input_required"])
async def test_the_result_of_an_older_task_is_asked_for_when_it_has_one_or_wants_something(status: str) -> None:
    server, clock, told = Older(WORKING, {"status": status}), FakeClock(auto=True), list[str]()
    assert await collect(WORKING, server.send, clock, told.append) == {"content": []}
    assert server.sent == ["tasks/get t", "tasks/get t", "tasks/result t"]
    assert (clock.slept, told) == ([0.2, 0.2], ["digging"])


async def test_an_older_task_that_its_server_cancelled_has_no_result() -> None:
    server = Older({"status": "cancelled"})
    with pytest.raises(CallCancelled, match="may have happened in part"):
        await collect(WORKING, server.send, FakeClock(auto=True), print)
    assert server.sent == ["tasks/get t"]


async def test_an_older_task_that_nobody_waits_for_any_more_is_cancelled() -> None:
    server, clock = Older(WORKING), FakeClock()
    waiting = asyncio.create_task(collect(WORKING, server.send, clock, print))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert server.sent == ["tasks/cancel t"]


@pytest.mark.parametrize("ttl", NUMBERS)
async def test_a_list_holds_for_some_time_whatever_number_its_server_writes(ttl: Json) -> None:
    async def send(params: JsonObject) -> JsonObject:
        return {"tools": [], "ttlMs": ttl}

    holds_s = (await all_pages("tools/list", send)).holds_s
    assert holds_s is not None
    assert not math.isnan(holds_s)
