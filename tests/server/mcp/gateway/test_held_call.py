"""Calls that wait on the line for their client: only so long, and only so many."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.client.context import ClientRequestContext
from mcp.shared.exceptions import MCPError

from actum.policy.rules import Rules
from actum.protocols.mcp.config import McpServer
from actum.server.mcp.gateway.gateway import McpGateway
from actum.server.mcp.gateway.held_call import KEPT_EACH_MAX, KEPT_S, LOST
from actum.testing import FakeClock
from tests.server_process import running


async def never(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
    raise AssertionError("nothing answers this by itself")


@asynccontextmanager
async def asking(clock: FakeClock | None = None) -> AsyncIterator[Client]:
    """A client of the official SDK, before a gateway to a server that has a handshake."""
    with running("tests.mcp_servers.behind") as url:
        servers = [McpServer(name="behind", url=url, era="legacy")]
        gateway = McpGateway(servers, policy=Rules(default="allow"), clock=clock)
        async with Client(gateway.server, mode="2026-07-28", elicitation_callback=never) as client:
            yield client


async def ask(client: Client, **more: object) -> types.CallToolResult | types.InputRequiredResult:
    return await client.session.call_tool("ask", {}, allow_input_required=True, **more)  # type: ignore[call-overload,no-any-return]


async def test_a_client_that_does_not_come_back_loses_its_call() -> None:
    clock = FakeClock()
    async with asking(clock) as client:
        asked = await ask(client)
        assert isinstance(asked, types.InputRequiredResult)
        assert asked.input_requests is not None
        clock.advance(KEPT_S + 1)
        await asyncio.sleep(0)
        answers = {key: types.ElicitResult(action="decline") for key in asked.input_requests}
        with pytest.raises(MCPError) as lost:
            await ask(client, input_responses=answers, request_state=asked.request_state)

    assert lost.value.message == LOST


async def test_an_answer_to_something_else_is_asked_for_again() -> None:
    async with asking() as client:
        asked = await ask(client)
        assert isinstance(asked, types.InputRequiredResult)
        wrong = {"something else": types.ElicitResult(action="decline")}
        again = await ask(client, input_responses=wrong, request_state=asked.request_state)

    assert isinstance(again, types.InputRequiredResult)
    assert again.input_requests == asked.input_requests


async def test_of_too_many_calls_of_one_user_the_one_that_waits_longest_is_given_up() -> None:
    async with asking() as client:
        kept = [await ask(client) for _ in range(KEPT_EACH_MAX + 1)]
        first, second = kept[:2]
        assert isinstance(first, types.InputRequiredResult)
        assert isinstance(second, types.InputRequiredResult)
        with pytest.raises(MCPError) as lost:
            await ask(client, request_state=first.request_state)
        still = await ask(client, request_state=second.request_state)

    assert lost.value.message == LOST
    assert isinstance(still, types.InputRequiredResult)
