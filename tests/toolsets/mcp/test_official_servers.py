"""The official servers in a jail: what was declared works, what was not declared fails, and the audit says what."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from actum import Agent, ToolCall
from actum.core.json import JsonObject
from actum.journal.audit import Wanted, audit
from actum.journal.memory import MemoryJournal
from actum.policy.rules import Rule, Rules
from actum.protocols.mcp.config import McpJail, McpServer
from actum.sandbox.linux import landlock_abi
from actum.testing import ScriptedModel
from actum.toolsets.mcp.connection import McpConnection
from actum.toolsets.mcp.toolset import McpToolset
from tests.patience import HANGS_S
from tests.peers import install, programs

from .test_stdio import called, said

pytestmark = [
    pytest.mark.skipif(landlock_abi() == 0, reason="this machine has no Landlock: nothing is run"),
    pytest.mark.row("T4"),
]


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("MY_SECRET_KEY", "hunter2")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that each user of the machine reaches: as root, a call in a jail runs as a user of its own."""
    with tempfile.TemporaryDirectory(prefix="actum-servers-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def made(folder: Path) -> Path:
    """A folder that a server in a jail may write, whichever user the server runs as."""
    folder.mkdir()
    folder.chmod(0o777)
    return folder


def repository(folder: Path) -> Path:
    """A repository of git, with a file that was not committed."""
    (made(folder) / "a.txt").write_text("new", "ascii")
    for words in (("init", "-q"), ("config", "user.name", "ann"), ("config", "user.email", "ann@example.org")):
        subprocess.run(["git", *words], cwd=folder, check=True)
    for path in folder.rglob("*"):
        path.chmod(0o777)
    return folder


def jailed(server: McpServer, *read: Path, write: tuple[Path, ...] = ()) -> McpServer:
    """A server that reads its own packages and these folders."""
    script = Path(server.args[0]) if Path(server.command) == install.node() else Path(server.command)
    npm = next((folder for folder in script.parents if folder.name == "node_modules"), None)
    own = npm or script.parents[1]
    jail = McpJail(read=(str(own), *map(str, read)), write=tuple(map(str, write)))
    return replace(server, jail=jail)


async def kept_out(server: McpServer, tool: str, arguments: JsonObject) -> list[str]:
    """What the audit says that a server tried to open outside its jail for a call."""
    toolset, journal = McpToolset(server, approve="all", wait_s=HANGS_S), MemoryJournal()
    model = ScriptedModel([[ToolCall("c1", f"{server.name}_{tool}", arguments)], "done"])
    agent = Agent(model, tools=[toolset], journal=journal, policy=Rules(Rule("allow")))
    try:
        assert (await agent.run("Do that.", run_id="r")).status == "done"
    finally:
        await toolset.close()
    lines = [line async for line in audit(journal, Wanted(run="r", decision="kept_out"))]
    assert all(line.tool == f"{server.name}_{tool}" for line in lines)
    return [path for line in lines for path in line.text.split("; ")]


async def test_the_filesystem_server_reads_and_writes_the_declared_folders_and_no_other(open_folder: Path) -> None:
    given, taken, beside = (open_folder / name for name in ("given", "taken", "beside"))
    for folder in (given, taken, beside):
        (made(folder) / "a.txt").write_text(f"in {folder.name}", "ascii")
    # The server itself would serve the third folder, too: what it is told is wider than its jail.
    server = jailed(
        programs.npm("files", "mcp-server-filesystem", str(given), str(taken), str(beside)), given, write=(taken,)
    )
    async with McpConnection(server) as connection:
        for folder, reads, writes in ((given, True, False), (taken, True, True), (beside, False, False)):
            told = said(await called(connection, "read_text_file", path=str(folder / "a.txt")))
            assert (f"in {folder.name}" in told) is reads, (folder, told)
            told = said(await called(connection, "write_file", path=str(folder / "b.txt"), content="new"))
            assert (folder / "b.txt").exists() is writes, told
    path = str(beside / "a.txt")
    assert path in await kept_out(server, "read_text_file", {"path": path})


async def test_the_git_server_works_on_the_declared_repository_and_on_no_other(open_folder: Path) -> None:
    mine, other = (repository(open_folder / name) for name in ("mine", "other"))
    # As root, the user of the jail is not the owner of the repository, which git wants to be told of.
    names = ("GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0", "GIT_CONFIG_VALUE_0", "GIT_CONFIG_NOSYSTEM")
    env = dict(zip(names, ("1", "safe.directory", "*", "1"), strict=True))
    git = replace(programs.py("git", "mcp2", "mcp-server-git"), env=env)
    reads, writes = jailed(git, mine), jailed(git, write=(mine,))
    for server, may_write in ((reads, False), (writes, True)):
        async with McpConnection(server) as connection:
            assert "a.txt" in said(await called(connection, "git_status", repo_path=str(mine)))
            assert "a.txt" not in said(await called(connection, "git_status", repo_path=str(other)))
            await called(connection, "git_add", repo_path=str(mine), files=["a.txt"])
            await called(connection, "git_commit", repo_path=str(mine), message="first")
            assert any((mine / ".git" / "refs" / "heads").iterdir()) is may_write
    tried = await kept_out(writes, "git_status", {"repo_path": str(other)})
    assert any(path.startswith(str(other)) for path in tried), tried


async def test_the_memory_server_keeps_its_memory_in_the_declared_folder_and_in_no_other(tmp_path: Path) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    for folder in (mine, other):
        made(folder)
    entity: JsonObject = {"name": "ann", "entityType": "person", "observations": ["likes tea"]}

    def keeping(file: Path) -> McpServer:
        return jailed(programs.npm("memory", "mcp-server-memory", env={"MEMORY_FILE_PATH": str(file)}), write=(mine,))

    for folder, works in ((mine, True), (other, False)):
        server = keeping(folder / "memory.jsonl")
        async with McpConnection(server) as connection:
            await called(connection, "create_entities", entities=[entity])
        assert (folder / "memory.jsonl").exists() is works, folder
        async with McpConnection(server) as connection:  # another process of the server
            assert ("likes tea" in said(await called(connection, "read_graph"))) is works, folder
    secret = other / "memory.jsonl"
    secret.write_text(json.dumps({"type": "entity", **entity}) + "\n", "ascii")
    assert str(secret) in await kept_out(keeping(secret), "read_graph", {})


async def test_the_everything_server_has_neither_our_environment_nor_a_network() -> None:
    server = jailed(programs.npm("all", "mcp-server-everything"))
    heard: list[bool] = []

    def hear(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(True)
        writer.close()

    listener = await asyncio.start_server(hear, "127.0.0.1", 0)
    async with listener, McpConnection(server) as connection:
        assert "hello" in said(await called(connection, "echo", message="hello"))
        assert "5" in said(await called(connection, "get-sum", a=2, b=3))
        assert "hunter2" not in said(await called(connection, "get-env"))
        address = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/"
        fetch: JsonObject = {"name": "a.gz", "data": address, "outputType": "resource"}
        fetched = await connection.request("tools/call", {"name": "gzip-file-as-resource", "arguments": fetch})
        assert fetched["isError"] is True, fetched
    assert heard == []
    assert os.environ["MY_SECRET_KEY"] == "hunter2"
