"""Clients of others at the gateway, each in an environment of its own, unmodified but for base URL and key."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actum.core.call import ToolCall
from actum.core.interfaces import Request
from actum.core.message import Reply, ToolMessage, UserMessage
from actum.server.models.upstream import ModelRoute
from tests.chat_server import ChatServer
from tests.peers import install
from tests.server.models.desk import desk
from tests.server.models.gateway import upstream
from tests.server.models.test_agents import add

CLIENTS = Path(install.__file__).parent / "clients"
PROGRAMS = {"gateway_langchain": "langchain", "gateway_openai_agents": "mcp2", "gateway_pydantic_ai": "mcp2"}


def script(request: Request) -> str | Reply:
    """Adds with a tool of the server, doubles with a tool of the client, and answers."""
    said = [message for message in request.messages if isinstance(message, UserMessage)]
    results = [message.result.text for message in request.messages if isinstance(message, ToolMessage)]
    if said[-1].text == "Sure?":
        return f"Sure: {' and '.join(results)}."
    if not results:
        return Reply.of(calls=[ToolCall("call_0", "add", {"a": 2, "b": 3})])
    if len(results) == 1:
        return Reply.of(calls=[ToolCall("call_0", "double", {"number": int(results[0])})])
    return f"It is {results[1]}."


@pytest.mark.row("S9")
@pytest.mark.parametrize("program", PROGRAMS)
async def test_a_client_of_others_has_its_own_tools_beside_governed_ones_streams_and_gets_a_structure(
    program: str,
) -> None:
    python = install.py_bin(PROGRAMS[program], "python")
    with ChatServer(lambda _: '{"value": 5}') as chat:
        async with desk(script, [add], passing={"fast": ModelRoute([upstream(chat.url)])}) as server:
            process = await asyncio.create_subprocess_exec(
                python,
                CLIENTS / f"{program}.py",
                *(f"{server.url}/v1", server.keys["ann"]),
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            said, problems = await asyncio.wait_for(process.communicate(), 100)
            assert process.returncode == 0, problems.decode()[-3_000:]
            heard = msgspec.json.decode(said, type=dict[str, Any])
            for way in ("chat False", "chat True", "responses False", "responses True"):
                assert heard[way] == ["It is 10.", "Sure: 5 and 10."], way  # the record gave the result of `add`
            assert heard["structured"] == 5
            assert "Did you mean desk" in heard["error"]
            runs = await server.journal.runs(limit=None)
            assert [run.status for run in runs] == ["done"] * 8
            assert chat.requests[0].json["response_format"]
