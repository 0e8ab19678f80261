"""A call that was answered with a task, whatever the server says of it."""

from __future__ import annotations

import math

import pytest

from actum.core.errors import ToolError
from actum.core.json import Json, JsonObject
from actum.testing import FakeClock
from actum.toolsets.mcp_pages import all_pages
from actum.toolsets.mcp_task import POLL_S, settle

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


@pytest.mark.parametrize("ttl", NUMBERS)
async def test_a_list_holds_for_some_time_whatever_number_its_server_writes(ttl: Json) -> None:
    async def send(params: JsonObject) -> JsonObject:
        return {"tools": [], "ttlMs": ttl}

    _, holds_s = await all_pages("tools/list", send)
    assert holds_s is not None
    assert not math.isnan(holds_s)
