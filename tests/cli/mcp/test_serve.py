"""`actum mcp serve`: a program that any MCP client can start or reach."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from actum.protocols.mcp.config import McpEra, McpServer
from actum.toolsets.mcp.connection import McpConnection
from tests import warm
from tests.patience import HANGS_S

from ..conftest import Run

PATHS = {name: value for name, value in os.environ.items() if name == "PYTHONPATH"}
SERVE = ("-m", "actum", "mcp", "serve")
TOOLS = '''
from actum.server import prompt


def add(a: int, b: int) -> int:
    """Add two numbers."""
    print("this is no message of the protocol")
    return a + b


@prompt
def review(code: str) -> str:
    """Review code."""
    return f"Review this: {code}"
'''


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    path = tmp_path / "tools.py"
    path.write_text(TOOLS, "utf-8")
    return path


@pytest.mark.row("P2")
@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_it_is_started_by_a_client_and_nothing_but_the_protocol_stands_on_its_stdout(
    era: McpEra, tools: Path
) -> None:
    arguments = (*SERVE, "--tools", str(tools), "--journal", "memory", "--folder", f"here={tools.parent}")
    server = McpServer(name="x", command=sys.executable, args=arguments, env=PATHS)
    async with McpConnection(server, era=era) as way:
        assert (await way.facts()).era == era
        result = await way.request("tools/call", {"name": "add", "arguments": {"a": 2, "b": 3}})
        assert result["content"] == [{"type": "text", "text": "5"}]
        assert "here:///tools.py" in [each["uri"] for each in await way.list_all("resources/list")]
        assert "serves 1 tool" in "\n".join(way.health.stderr)


@pytest.mark.parametrize("place", ["tools.py", "tools.py:review"])
async def test_it_serves_the_prompts_of_a_file(place: str, tools: Path) -> None:
    where = str(tools.parent / place)
    arguments = (*SERVE, "--tools", str(tools), "--journal", "memory", "--prompts", where)
    async with McpConnection(McpServer(name="x", command=sys.executable, args=arguments, env=PATHS)) as way:
        assert [each["name"] for each in await way.list_all("prompts/list")] == ["review"]
        filled = await way.request("prompts/get", {"name": "review", "arguments": {"code": "x = 1"}})
        assert filled["messages"] == [{"role": "user", "content": {"type": "text", "text": "Review this: x = 1"}}]
        assert "serves 1 tool, 1 prompt on stdin" in "\n".join(way.health.stderr)


def test_it_ends_with_its_stdin() -> None:
    done = warm.run(
        [sys.executable, *SERVE, "--journal", "memory"], input=b"", capture_output=True, timeout=HANGS_S, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"")


@asynccontextmanager
async def reached(tools: Path, *more: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """The program while it serves over HTTP, and where."""
    process = await warm.start(
        sys.executable,
        *[*SERVE, "--tools", str(tools), "--journal", "memory", "--http", "127.0.0.1:0", *more],
        stderr=asyncio.subprocess.PIPE,
        env={**PATHS, "THE_KEY": "k" * 32, "HOME": str(tools.parent)},
    )
    assert process.stderr is not None
    try:
        said = (await process.stderr.readline()).decode()
        yield process, next(word for word in said.split() if word.startswith("http://"))
    finally:
        if process.returncode is None:
            process.terminate()
        await process.communicate()


async def test_it_is_reached_over_http_with_a_key(tools: Path) -> None:
    async with reached(tools, "--key-env", "THE_KEY") as (_, url):
        server = McpServer(name="x", url=url, transport="http", headers={"Authorization": f"Bearer {'k' * 32}"})
        async with McpConnection(server) as way:
            assert [each["name"] for each in await way.list_all("tools/list")] == ["add"]


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_it_ends_although_somebody_listens(era: McpEra, tools: Path) -> None:
    client_info = {"name": "t", "version": "1"}
    accept = {"accept": "application/json, text/event-stream"}
    async with reached(tools) as (process, url), httpx2.AsyncClient(timeout=HANGS_S) as client:
        if era == "legacy":
            hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client_info}
            message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
            opened = await client.post(url, json=message, headers=accept)
            headers = {**accept, "mcp-session-id": opened.headers["mcp-session-id"]}
            listening = client.stream("GET", url, headers=headers)
        else:
            at = "io.modelcontextprotocol/"
            meta = {f"{at}protocolVersion": "2026-07-28", f"{at}clientCapabilities": {}}
            params = {"notifications": {"toolsListChanged": True}, "_meta": meta}
            message = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}
            headers = {**accept, "mcp-protocol-version": "2026-07-28", "mcp-method": "subscriptions/listen"}
            listening = client.stream("POST", url, json=message, headers=headers)
        async with listening as stream:
            lines = stream.aiter_lines()
            await anext(lines)
            process.terminate()
            assert not [line for line in [each async for each in lines] if "error" in line]
            await process.wait()


async def test_it_ends_although_a_request_never_does(tools: Path) -> None:
    async with reached(tools) as (process, url):
        address = httpx2.URL(url)
        reader, writer = await asyncio.open_connection(address.host, address.port)
        head = f"POST /mcp HTTP/1.1\r\nhost: {address.host}:{address.port}\r\nexpect: 100-continue\r\n"
        about = "content-type: application/json\r\naccept: application/json, text/event-stream\r\n"
        writer.write(f"{head}{about}content-length: 9\r\n\r\n".encode())
        assert b"100" in await reader.readline(), "its body is waited for"
        process.terminate()
        await process.wait()
        writer.close()


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--http", "0.0.0.0:0"], "others than this machine"),
        (["--http", "nowhere"], "write an address and a port"),
        (["--sse"], "say where"),
        (["--http", ":0", "--key-env", "NOT_THERE"], "is empty"),
        (["--http", ":0", "--issuer", "https://login.example.org"], "needs --resource"),
        (["--folder", "here"], "write a name and a path"),
        (["--prompts", "actum.toolsets.everyday"], "holds no prompts"),
        (["--prompts", "nowhere.py"], "there is no file"),
    ],
)
def test_what_can_not_be_meant_is_told_in_a_line(flags: list[str], told: str) -> None:
    done = warm.run(
        [sys.executable, *SERVE, "--journal", "memory", *flags],
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )
    assert done.returncode == 2
    assert told in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


@pytest.fixture
def approved(tmp_path: Path) -> dict[str, str]:
    """Variables for a person who has approved the server `desk`."""
    env = {**PATHS, "XDG_CONFIG_HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
    actum = [sys.executable, "-m", "actum", "mcp"]
    for words in (
        ["add", "desk", "--no-jail", "--", sys.executable, "-m", "tests.mcp_servers.desk", "stdio"],
        ["approve", "desk", "--yes"],
    ):
        warm.run([*actum, *words], env={**os.environ, **env}, check=True, capture_output=True, timeout=HANGS_S)
    return env


async def test_it_stands_in_front_of_a_server_and_passes_on_what_was_approved(approved: dict[str, str]) -> None:
    arguments = (*SERVE, "--upstream", "desk", "--journal", "memory")
    server = McpServer(name="x", command=sys.executable, args=arguments, env=approved)
    async with McpConnection(server) as way:
        tools = [tool["name"] for tool in await way.list_all("tools/list")]
        refused = await way.request("tools/call", {"name": "add", "arguments": {"a": 2, "b": 3}})
        stderr = "\n".join(way.health.stderr)

    assert "add" in tools
    assert refused["isError"] is True, "it declares no effects, so a person has to agree"
    assert "serves what desk serves" in stderr


async def test_the_operator_says_what_the_tools_of_a_server_in_front_of_which_it_stands_do(
    approved: dict[str, str], tmp_path: Path
) -> None:
    """The same call is refused above, where nobody said that it has no effects."""
    (tmp_path / "actum.toml").write_text('[tools."add"]\neffects = ["read"]\n', "utf-8")
    arguments = (*SERVE, "--upstream", "desk", "--journal", "memory")
    server = McpServer(name="x", command=sys.executable, args=arguments, env=approved, cwd=str(tmp_path))
    async with McpConnection(server) as way:
        added = await way.request("tools/call", {"name": "add", "arguments": {"a": 2, "b": 3}})
    assert added["content"] == [{"type": "text", "text": "5"}]


def test_a_gateway_serves_nothing_of_its_own() -> None:
    done = warm.run(
        [sys.executable, *SERVE, "--upstream", "desk", "--runs"],
        capture_output=True,
        timeout=HANGS_S,
        check=False,
        text=True,
    )
    assert done.returncode == 2
    assert "leave out --tools" in done.stderr


@pytest.mark.row("T9")
def test_a_call_that_waits_is_gone_on_with_by_another_process_of_the_server(run: Run, home: Path) -> None:
    paths = [word for name, value in PATHS.items() for word in ("--env", f"{name}={value}")]
    run("mcp", "add", "mine", "--no-jail", *paths, "--", sys.executable, *SERVE, "--tools", "tools.py")
    assert run("mcp", "approve", "mine", "--yes").exit_code == 0
    waits = run("call", "mine_keep", "text=milk", "--yes", "--tools", "none")
    assert (waits.exit_code, (home / "kept.txt").exists()) == (3, False)
    waiting = json.loads(run("approvals", "list", "--json").stdout)["items"]
    (mine,) = [each for each in waiting if each["kind"] == "elicitation"]
    assert run("approvals", "answer", mine["id"], "approve=yes").exit_code == 0
    done = run("resume", mine["run"], "--tools", "none")
    assert (done.exit_code, done.stdout, (home / "kept.txt").read_text()) == (0, "kept\n", "milk")
