"""A local server in a jail reaches what was declared for it, whatever it tries, and keeps a folder of its own."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from actum import Agent, ToolCall
from actum.core.errors import CallTimeout, ToolError, Unavailable, UsageError
from actum.core.json import JsonObject
from actum.journal.audit import Wanted, audit
from actum.journal.memory import MemoryJournal
from actum.policy.rules import Rule, Rules
from actum.protocols.mcp.config import McpJail, McpServer
from actum.protocols.mcp.document import entry_of, server_of
from actum.sandbox.linux import landlock_abi
from actum.sandbox.process import JailedProcess, JailReport
from actum.testing import ScriptedModel
from actum.toolsets.mcp.connection import McpConnection
from actum.toolsets.mcp.jail import UNSEEN, OpenedOutside, home_of, unfit_for_jail, unreadable_files
from actum.toolsets.mcp.toolset import McpToolset
from actum.transport.process_tree import descendants, start_of
from tests.patience import HANGS_S
from tests.peers import install

from .test_stdio import called, said, until

held = pytest.mark.skipif(landlock_abi() == 0, reason="this machine has no Landlock: nothing is run")
ROOT = Path(__file__).parents[3]
THIEF = ROOT / "tests" / "mcp_servers" / "thief.py"


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("MY_SECRET_KEY", "hunter2")


def thief(*read: Path, write: tuple[Path, ...] = ()) -> McpServer:
    jail = McpJail(read=(str(THIEF), *map(str, read)), write=tuple(map(str, write)))
    return McpServer(name="thief", command=sys.executable, args=(str(THIEF),), jail=jail)


@held
@pytest.mark.row("T4")
async def test_a_server_that_reads_elsewhere_when_asked_for_the_weather_gets_nothing(tmp_path: Path) -> None:
    ssh, given, taken = tmp_path / "ssh", tmp_path / "given", tmp_path / "taken"
    for folder in (ssh, given, taken):
        folder.mkdir()
    taken.chmod(0o777)
    (ssh / "id").write_text("private", "ascii")
    (given / "a.txt").write_text("given", "ascii")
    listener = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    async with listener, McpConnection(thief(given, write=(taken,))) as connection:
        for tool, arguments, wanted in (
            ("weather", {"city": str(ssh / "id")}, "PermissionError"),
            ("weather", {"city": str(given / "a.txt")}, "got given"),
            ("weather", {"city": f"/proc/{os.getpid()}/environ"}, "PermissionError"),
            ("write", {"path": str(given / "a.txt"), "text": "x"}, "PermissionError"),
            ("write", {"path": str(taken / "b.txt"), "text": "x"}, "got 1"),
            ("write", {"path": "~/kept.txt", "text": "x"}, "got 1"),
            ("dial", {"port": port}, "PermissionError"),
        ):
            assert said(await called(connection, tool, **arguments)) == wanted, (tool, arguments)
        about = said(await called(connection, "about"))
        assert "hunter2" not in about
    assert (ssh / "id").read_text("ascii") == "private"


@held
async def test_a_server_keeps_its_own_folder_from_one_start_to_the_next_and_no_other_server_sees_it(
    tmp_path: Path,
) -> None:
    server = thief()
    async with McpConnection(server) as connection:
        await called(connection, "write", path="~/kept.txt", text="mine")
    kept = home_of(server, os.environ) / "kept.txt"
    assert kept.read_text("ascii") == "mine"
    async with McpConnection(server) as first, McpConnection(server) as second:
        for connection in (first, second):
            assert "kept.txt" in said(await called(connection, "about"))
    async with McpConnection(replace(server, args=(str(THIEF), "other"))) as other:
        assert "kept.txt" not in said(await called(other, "about"))
        assert said(await called(other, "weather", city=str(kept))) == "PermissionError"


@held
async def test_a_server_in_a_jail_leaves_no_process(tmp_path: Path) -> None:
    before = descendants(os.getpid())
    async with McpConnection(thief()) as connection:
        await called(connection, "about")
        tree = descendants(os.getpid()) - before
        assert tree
    await until(lambda: not [pid for pid, begun in tree if start_of(pid) == begun])


@held
async def test_a_jail_over_what_is_private_is_refused_and_nothing_is_started(tmp_path: Path) -> None:
    (tmp_path / "state" / "actum").mkdir(parents=True)
    for server in (thief(tmp_path / "state"), thief(tmp_path / "none")):
        connection = McpConnection(server)
        async with connection:
            with pytest.raises(Unavailable):
                await called(connection, "about")


@held
async def test_the_filesystem_server_of_others_is_held_by_the_kernel_and_not_by_its_good_will(tmp_path: Path) -> None:
    allowed, beside = tmp_path / "allowed", tmp_path / "beside"
    for folder in (allowed, beside):
        folder.mkdir()
        (folder / "a.txt").write_text(f"in {folder.name}", "ascii")
    script = install.npm_bin("mcp-server-filesystem")
    modules = next(folder for folder in script.parents if folder.name == "node_modules")
    jail = McpJail(read=(str(allowed), str(modules)))
    # The server itself would serve the whole folder: what it is told is wider than its jail.
    files = McpServer(name="files", command=str(install.node()), args=(str(script), str(tmp_path)), jail=jail)
    async with McpConnection(files) as connection:
        assert "in allowed" in said(await called(connection, "read_text_file", path=str(allowed / "a.txt")))
        denied = said(await called(connection, "read_text_file", path=str(beside / "a.txt")))
        assert "EACCES" in denied
        assert "in beside" not in denied


def test_a_wider_jail_is_another_server_for_approvals_and_one_without_a_jail_is_as_before() -> None:
    bare = McpServer(name="s", command="a")
    narrow, wide = (replace(bare, jail=McpJail(read=read)) for read in (("/a",), ("/a", "/b")))
    assert len({bare.identity, narrow.identity, wide.identity}) == 3
    assert bare.identity == replace(bare, no_jail=True).identity
    assert bare.identity == '["a",[],[],""]'
    assert server_of("s", entry_of(narrow), {}) == narrow
    refused: tuple[JsonObject, ...] = (
        {"url": "http://x", "jail": {}},
        {"command": "a", "jail": {}, "no_jail": True},
    )
    for entry in refused:
        with pytest.raises(UsageError, match="jail goes with"):
            server_of("s", entry, {})


class _Server(JailedProcess):
    """A server in a jail of which only one thing is known: what it has tried to open since the last look."""

    def __init__(self) -> None:
        self.tried: list[str] = []
        self.is_seen = True

    def report(self) -> JailReport:
        raise AssertionError("nobody asks how it ended")

    def opened_outside(self) -> list[str] | None:
        tried, self.tried = self.tried, []
        return tried if self.is_seen else None


def test_a_path_stands_on_the_record_of_a_call_only_when_no_other_call_was_under_way(
    caplog: pytest.LogCaptureFixture,
) -> None:
    outside, server = OpenedOutside(), _Server()
    with outside.of_server(server):
        server.tried.append("before")
        with outside.during() as ann:
            server.tried.append("of ann")
            with outside.during() as bob:
                server.tried.append("of ann or bob")
            server.tried.append("of ann again")
        server.tried.append("after")
    assert (list(ann), list(bob)) == (["of ann", "of ann again"], [])
    told = [record.getMessage() for record in caplog.records]
    assert [path for path in ("before", "of ann or bob", "after") if any(f"open {path} " in line for line in told)] == [
        "before", "of ann or bob", "after",
    ]  # fmt: skip


def test_where_the_machine_can_not_tell_what_a_server_opens_the_record_of_each_call_says_so() -> None:
    outside, server = OpenedOutside(), _Server()
    server.is_seen = False
    with outside.of_server(server):
        with outside.during() as ann, outside.during() as bob:
            pass
        with outside.during() as carl:
            pass
    assert [list(each) for each in (ann, bob, carl)] == [[UNSEEN]] * 3


def test_what_a_server_opens_late_for_a_call_that_nobody_waits_for_is_laid_to_no_other_call() -> None:
    for left in (asyncio.CancelledError(), CallTimeout("late"), TimeoutError()):
        outside, server = OpenedOutside(), _Server()
        with outside.of_server(server):
            with pytest.raises(type(left)), outside.during() as ann:
                server.tried.append("of ann")
                raise left
            server.tried.append("late, of ann")
            with outside.during() as bob:
                server.tried.append("of ann or bob")
        with outside.of_server(server):
            with pytest.raises(ToolError), outside.during():
                raise ToolError("the server answered that it failed")
            with outside.during() as carl:
                server.tried.append("of carl")
        assert (list(ann), list(bob), list(carl)) == (["of ann"], [], ["of carl"]), left


@held
@pytest.mark.row("T4")
async def test_what_a_server_tries_to_open_outside_its_jail_stands_on_record_with_the_call_once_a_run(
    tmp_path: Path,
) -> None:
    ssh, given = tmp_path / "ssh", tmp_path / "given"
    for folder in (ssh, given):
        folder.mkdir()
    (ssh / "id").write_text("private", "ascii")
    (given / "a.txt").write_text("given", "ascii")
    (given / "link").symlink_to(ssh / "id")
    toolset = McpToolset(thief(given), approve="all", wait_s=HANGS_S)
    journal = MemoryJournal()

    def asks(run: int) -> ScriptedModel:
        cities = [str(ssh / "id"), str(given / "a.txt"), str(ssh / "id"), str(ssh / "none"), str(given / "link")]
        calls = [[ToolCall(f"c{at}", "thief_weather", {"city": city})] for at, city in enumerate(cities)]
        return ScriptedModel([*calls, f"run {run}"])

    try:
        for run in (1, 2):
            agent = Agent(asks(run), tools=[toolset], journal=journal, policy=Rules(Rule("allow", final=True)))
            assert (await agent.run("What is the weather?", run_id=f"r{run}")).status == "done"
            lines = [line async for line in audit(journal, Wanted(run=f"r{run}", decision="kept_out"))]
            told = [path for line in lines for path in line.text.split("; ") if path.startswith(str(tmp_path))]
            assert told == [str(ssh / "id")], (run, told)  # once, though a link led there, too
            assert {(line.tool, line.effect) for line in lines} == {("thief_weather", "none")}
    finally:
        await toolset.close()


def test_what_installs_or_talks_to_a_daemon_is_told_that_it_can_not_be_jailed(tmp_path: Path) -> None:
    for command, word in (("npx", "install"), ("/usr/bin/uvx", "install"), ("docker", "another process"), ("node", "")):
        told = unfit_for_jail(McpServer(name="s", command=command, jail=McpJail()))
        assert (word in told) if word else told == "", command
        assert not told or "--no-jail" in told
    (tmp_path / "server.py").write_text("", "ascii")
    server = McpServer(name="s", command="python", args=("server.py",), cwd=str(tmp_path), jail=McpJail())
    assert unreadable_files(server) == ["server.py"]
    assert unreadable_files(replace(server, jail=McpJail(read=(str(tmp_path),)))) == []
