"""A command in a jail reaches the hosts that its jail names, by the rules of the operator, and nothing else."""

from __future__ import annotations

import asyncio
import base64
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from actum import ToolCall
from actum.compose.settings import SandboxTable, Settings
from actum.compose.tools import load_tools
from actum.core.errors import ToolError, UsageError
from actum.core.interfaces import Context
from actum.core.json import JsonObject
from actum.protocols.mcp.config import McpJail, McpServer
from actum.sandbox.forwarder import Forwarder
from actum.sandbox.jail import Jail
from actum.sandbox.layers import start
from actum.sandbox.linux import landlock_abi
from actum.toolsets.code import CodeRunner, code_tools
from actum.toolsets.mcp.connection import McpConnection
from actum.toolsets.mcp.toolset import McpToolset
from actum.toolsets.scripts import ScriptToolset
from actum.transport.egress import Egress, EgressRules
from actum.transport.guard import Guard
from tests.patience import HANGS_S
from tests.peers.install import node
from tests.toolsets.mcp.test_jail import THIEF
from tests.toolsets.mcp.test_stdio import called, said

held = pytest.mark.skipif(landlock_abi() == 0, reason="this machine has no Landlock: nothing is run")
FETCH = """
import os, sys, urllib.error, urllib.request
for address in sys.argv[1:] or {addresses!r}:
    try:
        print(urllib.request.urlopen(address, timeout=10).read().decode().strip())
    except urllib.error.HTTPError as error:
        print(error.code, error.read().decode().strip())
"""


class Host:
    """A server on this machine, and the heads of the requests that it got."""

    def __init__(self) -> None:
        self.heads: list[bytes] = []
        self.port = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
        await writer.drain()
        writer.close()

    @property
    def address(self) -> str:
        return f"http://localhost:{self.port}"

    @property
    def egress(self) -> Egress:
        """The operator lets tools reach this host."""
        return Egress(EgressRules(private=(self.address,)))


@asynccontextmanager
async def host() -> AsyncIterator[Host]:
    made = Host()
    server = await asyncio.start_server(made.answer, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    async with server:
        yield made


async def asked(forwarder: Forwarder, request: str, *, password: bool = True) -> str:
    """The first line and the words of an answer of the forwarder."""
    reader, writer = await asyncio.open_connection("127.0.0.1", forwarder.port)
    pair = base64.b64encode(forwarder.environment["HTTP_PROXY"][len("http://") :].partition("@")[0].encode()).decode()
    given = f"Proxy-Authorization: Basic {pair}\r\n" if password else ""
    writer.write(f"{request} HTTP/1.1\r\n{given}\r\n".encode())
    answer = (await reader.read(65_536)).decode()
    writer.close()
    return answer


@held
@pytest.mark.row("C5")
async def test_code_reaches_the_host_that_is_named_and_no_other_host_port_or_number() -> None:
    async with host() as allowed, host() as other:
        code = FETCH.format(
            addresses=[
                f"{allowed.address}/path?q=1#part",
                other.address,
                f"http://127.0.0.1:{allowed.port}",
                f"http://a.localhost:{allowed.port}",
                "http://example.org",
            ]
        )
        egress = allowed.egress
        runner = CodeRunner(Jail(hosts=(allowed.address,)), egress)
        (text, *_) = await runner.run_python(code)
        told = getattr(text, "text", "").splitlines()
        assert told[0] == "hello"
        assert len(told) == 5
        assert all(line.startswith("403 ") and "is not one of the hosts" in line for line in told[1:]), told
        assert other.heads == []
        (head,) = allowed.heads
        assert head.startswith(b"GET /path?q=1 HTTP/1.1\r\n")
        assert b"Proxy-Authorization" not in head
        assert len(egress.refused) == 4
        session = (await runner.run_python("import urllib.request", None, "new", _context()))[1]
        name = getattr(session, "text", "").removeprefix("[session ").rstrip("]")
        again = f"urllib.request.urlopen({allowed.address!r}).read()"
        assert "b'hello'" in getattr((await runner.run_python(again, None, name, _context()))[0], "text", "")
        await runner.close()


@held
async def test_an_error_of_code_that_goes_around_the_proxy_says_how_its_hosts_are_reached() -> None:
    async with host() as allowed:
        runner = CodeRunner(Jail(hosts=(allowed.address,)), allowed.egress)
        around = f"import socket\nsocket.create_connection(('127.0.0.1', {allowed.port}))"
        through = f"import urllib.request\nurllib.request.urlopen({allowed.address + '/a'!r}).read()\n1/0"
        began = (await runner.run_python("1", None, "new", _context()))[1]
        session = getattr(began, "text", "").removeprefix("[session ").rstrip("]")
        for code, is_hinted in ((around, True), (through, False), (around, True)):
            for given in ("", session):
                with pytest.raises(ToolError) as raised:
                    await runner.run_python(code, None, given, _context())
                assert ("reached only through the proxy" in raised.value.message) == is_hinted, (code, given)
        await runner.close()
    with pytest.raises(ToolError) as raised:
        await CodeRunner(Jail()).run_python(around)
    assert "proxy" not in raised.value.message


@held
@pytest.mark.row("T4")
async def test_an_error_of_a_server_that_goes_around_the_proxy_says_how_its_hosts_are_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    async with host() as allowed:
        jail = McpJail(read=(str(THIEF),), hosts=(allowed.address,))
        server = McpServer(name="thief", command=sys.executable, args=(str(THIEF),), jail=jail)
        toolset = McpToolset(server, guard=Guard(egress=allowed.egress), approve="all", wait_s=HANGS_S)
        try:
            await toolset.list_tools()
            port: JsonObject = {"port": allowed.port}
            with pytest.raises(ToolError) as raised:
                await toolset.execute(ToolCall("c1", "thief_call_home", dict(port)), _context())
            assert "reached only through the proxy that HTTP_PROXY" in raised.value.message
            done = await toolset.execute(ToolCall("c2", "thief_fetch", {"url": allowed.address}), _context())
            assert done.text == "got hello"
            await toolset.execute(ToolCall("c3", "thief_dial", dict(port)), _context())  # it tells its own error
            with pytest.raises(ToolError) as raised:
                await toolset.execute(ToolCall("c4", "thief_call_home", {"port": "none"}), _context())
            assert "proxy" not in raised.value.message
        finally:
            await toolset.close()


def _context() -> Context:
    call = ToolCall("c1", "run_python", {})
    return Context(run_id="r", call=call, key="k", attempt=1, principal="", deps=None, attachments={})


@held
async def test_the_rules_of_the_operator_hold_for_a_host_that_the_jail_names() -> None:
    async with host() as allowed:
        jail = Jail(hosts=(allowed.address, "https://denied.example.org"))
        code = FETCH.format(addresses=[allowed.address])
        (closed, *_) = await CodeRunner(jail).run_python(code)  # a private address that nobody opened
        assert getattr(closed, "text", "").startswith("403 ")
        assert allowed.heads == []
        denied = Egress(EgressRules(deny=("denied.example.org",)))
        code = FETCH.replace("urllib.error.HTTPError", "OSError").replace(
            "error.code, error.read().decode().strip()", "error"
        )
        (told, *_) = await CodeRunner(jail, denied).run_python(code.format(addresses=["https://denied.example.org"]))
        assert "403" in getattr(told, "text", "")
        assert [refused.where for refused in denied.refused] == ["https://denied.example.org"]


async def test_a_name_that_leads_elsewhere_the_second_time_opens_nothing() -> None:
    answers = [
        ["127.0.0.1"],
        ["93.184.215.14", "10.0.0.1"],
        ["169.254.169.254"],
        ["::ffff:127.0.0.1"],
        ["fd00:ec2::254"],
    ]

    async def resolve(name: str, port: int) -> Sequence[str]:
        return answers.pop(0)

    forwarder = Forwarder(["http://rebinds.example.org", "rebinds.example.org"], Guard(resolve=resolve))  # type: ignore[arg-type]
    async with forwarder.listening():
        while answers:
            answer = await asked(forwarder, "CONNECT rebinds.example.org:443")
            assert answer.startswith("HTTP/1.1 403 "), answer
            assert "leads to an address that is not one of the open internet" in answer


async def test_what_is_no_request_of_the_jail_or_names_its_host_in_two_ways_is_refused() -> None:
    async with host() as allowed:
        forwarder = Forwarder([allowed.address], Guard(egress=allowed.egress))
        async with forwarder.listening():
            for request, status in (
                ("GET /", "400"),
                (f"GET http://x@localhost:{allowed.port}/", "400"),
                (f"GET http://localhost:{allowed.port}@example.org/", "400"),
                (f"GET http://localhost:{allowed.port}\\@example.org/", "400"),
                (f"GET ftp://localhost:{allowed.port}/", "400"),
                (f"CONNECT localhost:{allowed.port}/path", "400"),
                ("CONNECT localhost", "400"),
                (f"CONNECT localhost:{allowed.port}0000", "400"),
                (f"CONNECT x@localhost:{allowed.port}", "400"),
                (f"CONNECT 127.0.0.1:{allowed.port}", "403"),
                (f"CONNECT [::1]:{allowed.port}", "403"),
                (f"CONNECT 2130706433:{allowed.port}", "40"),
                (f"GET http://localhost:{allowed.port}/\r\n folded: x", "400"),
                (f"GET http://localhost:{allowed.port}/\0", "400"),
            ):
                assert (await asked(forwarder, request)).startswith(f"HTTP/1.1 {status}"), request
            assert (await asked(forwarder, f"GET {allowed.address}/", password=False)).startswith("HTTP/1.1 407")
            assert allowed.heads == []
            assert (await asked(forwarder, f"GET {allowed.address}/")).endswith("hello")
    for wrong in ("ftp://x", "a b", "10.0.0.0/8"):
        with pytest.raises(UsageError, match=r"Jail\(hosts="):
            Jail(hosts=(wrong,))


@held
@pytest.mark.row("T3")
async def test_a_script_reaches_a_host_only_where_it_and_the_operator_name_the_host(tmp_path: Path) -> None:
    async with host() as allowed:
        for name, hosts in (("with_host", f'["{allowed.address}"]'), ("without", "[]"), ("other", '["example.org"]')):
            header = f'# /// tool\n# description = "Fetches."\n# effects = ["read"]\n# hosts = {hosts}\n# ///\n'
            code = FETCH.format(addresses=[allowed.address]).replace("HTTPError as", "URLError as")
            (tmp_path / f"{name}.py").write_text(
                header + code.replace("error.code, error.read().decode().strip()", "error")
            )
        scripts = ScriptToolset(tmp_path, Jail(hosts=(allowed.address,)), egress=allowed.egress)
        tools = {tool.name: tool for tool in await scripts.list_tools()}
        assert set(tools) == {"with_host", "without"}
        assert [problem.problem for problem in scripts.problems] == [
            "hosts: 'example.org' is not one of the hosts that [sandbox] allows"
        ]
        assert (tools["with_host"].effects, tools["with_host"].idempotent) == (frozenset({"read", "send"}), False)
        assert (tools["without"].effects, tools["without"].idempotent) == (frozenset({"read"}), True)
        for name, wanted in (("with_host", "hello"), ("without", "name resolution")):
            assert wanted in (await scripts.execute(ToolCall("c1", name, {}), _context())).text
        assert len(allowed.heads) == 1


async def test_a_script_that_may_reach_a_host_only_reads_where_the_operator_says_so_of_each_of_its_hosts(
    tmp_path: Path,
) -> None:
    hosts = ("a.example.org", "b.example.org")
    for name, effects, reached in (
        ("one", '["read"]', '["a.example.org"]'),
        ("two", '["read"]', '["a.example.org", "b.example.org"]'),
        ("writes", '["read", "write"]', '["a.example.org"]'),
    ):
        header = f'# /// tool\n# description = "Asks."\n# effects = {effects}\n# hosts = {reached}\n# ///\n'
        (tmp_path / f"{name}.py").write_text(header, "ascii")
    (tmp_path / "undeclared.py").write_text(
        '# /// tool\n# description = "Asks."\n# hosts = ["a.example.org"]\n# ///\n', "ascii"
    )
    for said_so, reading in ((), set[str]()), (hosts[:1], {"one"}), (hosts, {"one", "two"}):
        settings = Settings(sandbox=SandboxTable(hosts=hosts, read_only_hosts=said_so), tools=(f"{tmp_path}/",))
        (toolset,) = load_tools(settings, tmp_path)
        assert isinstance(toolset, ScriptToolset)
        tools = {tool.name: tool for tool in await toolset.list_tools()}
        assert set(tools) == {"one", "two", "writes", "undeclared"}
        assert {name for name, tool in tools.items() if tool.reads_only} == reading, said_so
        assert {name for name, tool in tools.items() if not tool.approval} == reading, said_so
    with pytest.raises(UsageError, match=r"read_only_hosts: 'c\.example\.org' is not one of the hosts"):
        ScriptToolset(tmp_path, Jail(hosts=hosts), read_only_hosts=("c.example.org",))


def test_a_model_is_told_which_hosts_its_code_reaches_and_code_that_does_is_not_repeated() -> None:
    for jail, words, harmless in (
        (Jail(), "no network", True),
        (Jail(hosts=("a.example.org",)), "a.example.org", False),
    ):
        for tool in code_tools(jail):
            assert words in tool.definition.description
            assert tool.definition.idempotent is harmless


@held
@pytest.mark.row("T4")
async def test_a_server_in_a_jail_reaches_its_hosts_and_a_wider_jail_is_another_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    async with host() as allowed, host() as other:
        jail = McpJail(read=(str(THIEF),), hosts=(allowed.address,))
        server = McpServer(name="thief", command=sys.executable, args=(str(THIEF),), jail=jail)
        narrow = McpServer(name="thief", command=sys.executable, args=(str(THIEF),), jail=McpJail(read=(str(THIEF),)))
        assert server.identity != narrow.identity
        async with McpConnection(server, guard=Guard(egress=allowed.egress)) as connection:
            for address, wanted in ((allowed.address, "got hello"), (other.address, "HTTPError")):
                assert said(await called(connection, "fetch", url=address)) == wanted
            assert said(await called(connection, "dial", port=other.port)) == "PermissionError"
        assert (len(allowed.heads), other.heads) == (1, [])


@held
async def test_node_reaches_an_allowed_host_through_the_forwarder_and_no_other() -> None:
    code = """
    (async () => {
      for (const address of process.argv.slice(2)) {
        try {
          const answer = await fetch(address);
          console.log(answer.status, await answer.text());
        } catch (error) {
          console.log("failed", error.name);
        }
      }
      await new Promise((done) => {
        const socket = require("net").connect(Number(new URL(process.argv[3]).port), "127.0.0.1");
        socket.on("connect", () => done(console.log("connected")));
        socket.on("error", () => done(console.log("no connection")));
      });
    })();
    """
    async with host() as allowed, host() as other:
        egress = Egress(EgressRules(private=(allowed.address, other.address)))
        jail = Jail(read=(str(node()),), hosts=(allowed.address,))
        command = [str(node()), "main.js", f"{allowed.address}/a", f"{other.address}/b"]
        async with start(command, jail, files={"main.js": code.encode()}, egress=egress) as process:
            told = (await process.child.stdout.read()).decode()
            report = await process.ended()
    assert report.exit == 0, told
    first, second, third = told.splitlines()
    assert first == "200 hello"
    assert not second.startswith("200"), told
    assert third == "no connection"
    assert other.heads == []
