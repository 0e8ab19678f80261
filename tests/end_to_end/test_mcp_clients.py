"""Clients of others in front of our MCP server: each is a real program, in each era of the protocol that it speaks."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import mcp_types as types
import msgspec
import pytest
from mcp.client.client import Client, ConnectMode
from mcp.client.stdio import StdioServerParameters

from actum.core.call import ToolCall
from actum.core.json import Json, JsonObject
from actum.core.message import Reply
from tests.chat_server import ChatServer
from tests.endurance import Volume, share
from tests.patience import HANGS_S
from tests.peers import install
from tests.peers.programs import free_port, listening

ROOT = Path(__file__).parents[2]
OURS = str(ROOT / "tests" / "peers" / "servers" / "ours.py")
CLIENTS = ROOT / "tests" / "peers" / "clients"
ENV = {"PYTHONPATH": str(ROOT / "src")}
"""What our server needs when a client starts it with next to no environment, should actum not be installed."""
STDIO: JsonObject = {"command": sys.executable, "args": [OURS, "stdio"], "env": {**ENV}}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Our server over HTTP."""
    port = str(free_port())
    with listening(sys.executable, OURS, "http", port, says="running on", env=ENV):
        yield f"http://127.0.0.1:{port}/mcp"


async def said_by(*command: str | Path, code: int = 0) -> str:
    """What a program printed. It has to end with this exit code."""
    path = os.pathsep.join([str(install.node().parent), os.environ.get("PATH", "")])
    done = await asyncio.to_thread(
        subprocess.run,
        [str(part) for part in command],
        env={**os.environ, "PATH": path},
        capture_output=True,
        timeout=HANGS_S,  # less than a test may take, so that the test itself tells of it
        check=False,
    )
    assert done.returncode == code, done.stderr.decode()[-2_000:]
    return done.stdout.decode()


def decoded(text: str) -> JsonObject:
    return msgspec.json.decode(text, type=JsonObject)


# The Inspector --------------------------------------------------------------------------------------------------------


IS_ERROR = 5


async def inspect(target: Sequence[str], era: str, method: str, *more: str, code: int = 0) -> JsonObject:
    """What the Inspector got for one request. A tool's arguments have to come last, or they take what follows along."""
    start = (str(install.node()), str(install.npm_bin("mcp-inspector")), "--cli", *target)
    flags = ("--connect-timeout", "90000", "--protocol-era", era, "--format", "json", "--quiet", "--method", method)
    result = decoded(await said_by(*start, *flags, *more, code=code))["result"]
    assert isinstance(result, dict)
    return result


@pytest.mark.endurance("src/actum/server/mcp")
@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("way", ["stdio", "http"])
async def test_the_inspector_lists_calls_and_reads(way: str, era: str, url: str) -> None:
    over_pipes = (sys.executable, OURS, "stdio", "-e", f"PYTHONPATH={ENV['PYTHONPATH']}")
    target = over_pipes if way == "stdio" else ("--transport", "http", "--server-url", url)
    listed, called, failed = await asyncio.gather(
        inspect(target, era, "tools/list", "--strict"),
        inspect(target, era, "tools/call", "--tool-name", "add", "--tool-arg", "a=2", "b=3"),
        inspect(target, era, "tools/call", "--tool-name", "fail", code=IS_ERROR),
    )
    assert "add" in str(listed["tools"])
    assert called["structuredContent"] == {"sum": 5}
    assert failed["isError"] is True
    if way == "stdio" and not Volume.whole:  # each request starts a server, which takes a second of CPU
        return
    read, prompt = await asyncio.gather(
        inspect(target, era, "resources/read", "--uri", "memo://read-me"),
        inspect(target, era, "prompts/get", "--prompt-name", "greet", "--prompt-args", "name=Ada"),
    )
    assert "Read me." in str(read["contents"])
    assert "hello to Ada" in str(prompt["messages"])


# The official client --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
@pytest.mark.parametrize("way", ["stdio", "http"])
async def test_the_official_client_is_served(way: str, mode: ConnectMode, url: str) -> None:
    asked: list[str] = []
    told: list[tuple[float, float | None, str | None]] = []

    async def elicit(context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"yes": True})

    async def sample(context: object, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        asked.append(str(params.max_tokens))
        return types.CreateMessageResult(
            role="assistant", content=types.TextContent(type="text", text="A thought."), model="m"
        )

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    parameters = StdioServerParameters(command=sys.executable, args=[OURS, "stdio"], env=ENV)
    target = parameters if way == "stdio" else url
    async with Client(target, mode=mode, elicitation_callback=elicit, sampling_callback=sample) as client:
        assert client.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
        assert "add" in [tool.name for tool in (await client.list_tools()).tools]
        assert (await client.call_tool("add", {"a": 2, "b": 3})).structured_content == {"sum": 5}
        assert (await client.call_tool("add", {"a": "many"})).is_error
        await client.call_tool("count", {"to": 2}, progress_callback=hear)
        assert _text(await client.call_tool("confirm", {"question": "Sure?"})) == "accept {'yes': True}"
        assert _text(await client.call_tool("think", {"about": "tea"})) == "A thought."
        assert (await client.read_resource("memo://read-me")).contents
        assert (await client.get_prompt("greet", {"name": "Ada"})).messages
    assert asked == ["Sure?", "50"]
    assert told == [(1.0, 2.0, "at 1"), (2.0, 2.0, "at 2")]


def _text(result: types.CallToolResult) -> str:
    return "".join(block.text for block in result.content if isinstance(block, types.TextContent))


# FastMCP's client, and agents of others -------------------------------------------------------------------------------


async def peer(program: str, target: JsonObject, *more: str) -> JsonObject:
    """What a client in the peers' environment printed."""
    python = install.py_bin("mcp2", "python")
    return decoded(await said_by(python, CLIENTS / f"{program}.py", json.dumps(target), *more))


@pytest.mark.parametrize("way", ["stdio", "http"])
async def test_fastmcps_client_is_served_in_each_of_its_modes(way: str, url: str) -> None:
    target: JsonObject = STDIO if way == "stdio" else {"url": url}
    calls = [["count", {"to": 2}], ["confirm", {"question": "Sure?"}], ["think", {"about": "tea"}]]
    modes = ["auto", "legacy", "2026-07-28"]
    python, client = install.py_bin("mcp2", "python"), CLIENTS / "fastmcp_client.py"
    said = await said_by(python, client, json.dumps(target), json.dumps(calls), ",".join(modes))
    seen = iter(msgspec.json.decode(said, type=list[JsonObject]))
    for mode, counted, confirmed, thought in zip(modes, seen, seen, seen, strict=True):
        told = [[1.0, 2.0, "at 1"], [2.0, 2.0, "at 2"]]
        assert (counted["text"], counted["progress"]) == ("2", told), mode
        assert (confirmed["text"], confirmed["asked"]) == ("accept {'yes': True}", ["Sure?"]), mode
        assert (thought["text"], thought["asked"]) == ("A sampled sentence.", ["tea"]), mode
        assert (counted["prompts"], counted["resources"]) == (["greet"], ["memo://read-me"]), mode


@pytest.mark.endurance("src/actum/server/mcp")
@pytest.mark.parametrize(
    ("library", "way"),
    share(
        [(library, way) for library in ("openai_agents", "pydantic_ai") for way in ("stdio", "http")],
        [("openai_agents", "stdio"), ("pydantic_ai", "http")],
    ),
)
async def test_an_agent_of_another_library_uses_our_tools(library: str, way: str, url: str) -> None:
    call = ToolCall("c1", "add", {"a": 2, "b": 3})
    with ChatServer([Reply.of(calls=[call]), "It is 5."]) as model:
        target: JsonObject = STDIO if way == "stdio" else {"url": url}
        said = await peer(f"{library}_client", target, model.url, "What is 2 + 3?")
    assert said["text"] == "It is 5."
    offered, told = (asked.json for asked in model.requests)
    assert _names(offered["tools"]) >= {"add", "count"}
    assert isinstance(told["messages"], list)
    assert "5" in str(told["messages"][-1])


def _names(tools: Json) -> set[Json]:
    assert isinstance(tools, list)
    functions = [tool["function"] for tool in tools if isinstance(tool, dict)]
    return {function["name"] for function in functions if isinstance(function, dict)}
