"""The package of a `uvx` server is installed in a jail that reaches the index alone; the server has no network."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from actum.core.errors import Unavailable, UsageError
from actum.protocols.mcp.config import McpJail, McpServer
from actum.sandbox.linux import landlock_abi
from actum.toolsets.mcp.connection import McpConnection
from actum.toolsets.mcp.install.install import install_server, is_installed_first
from actum.toolsets.mcp.install.package import check_installed, tree_digest
from actum.transport.egress import Egress, EgressRules
from tests.peers.install import py_bin
from tests.toolsets.mcp.package_index import PackageIndex
from tests.toolsets.mcp.test_stdio import called, said

held = pytest.mark.skipif(landlock_abi() == 0, reason="this machine has no Landlock: nothing is run")
TIME = "mcp-server-time"


@asynccontextmanager
async def listening(index: PackageIndex) -> AsyncIterator[str]:
    """The address of an index, without its scheme."""
    listener = await asyncio.start_server(index.answer, "127.0.0.1", 0)
    async with listener:
        yield f"localhost:{listener.sockets[0].getsockname()[1]}"


def site_of(environment: str) -> Path:
    return next(py_bin(environment, "python").parents[1].glob("lib/python*/site-packages"))


@held
@pytest.mark.row("T4")
async def test_a_uvx_server_is_installed_from_the_configured_index_alone_and_then_runs_without_a_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, index = tmp_path / "home", PackageIndex(site_of("mcp2"), user="ann:index-secret")
    (home / ".config" / "pip").mkdir(parents=True)
    async with listening(index) as host:
        (home / ".config" / "pip" / "pip.conf").write_text(
            f"[global]\nindex-url = http://ann:index-secret@{host}/simple/\n", "ascii"
        )
        environment = {"HOME": str(home), "XDG_DATA_HOME": str(tmp_path / "data")}
        environment["PIP_CONFIG_FILE"] = str(home / ".config" / "pip" / "pip.conf")
        egress = Egress(EgressRules(private=(f"http://{host}",)))
        server = McpServer(name="time", command="uvx", args=(TIME, "--local-timezone", "UTC"), jail=McpJail())
        installed = await install_server(server, environment, egress)
        # Another way to say the same, with settings of uv.
        environment |= {"UV_DEFAULT_INDEX": f"http://ann:index-secret@{host}/simple/"}
        named = replace(server, command="pipx", args=("run", "--spec", TIME, *server.args))
        again = await install_server(named, environment, egress)
        missing = replace(server, args=("no-such-package-here",))
        with pytest.raises(UsageError, match="could not install") as refused:
            await install_server(missing, environment, egress)
        assert "index-secret" not in str(refused.value)
        with pytest.raises(UsageError, match="has no program other: it has mcp-server-time"):
            await install_server(replace(server, args=("--from", TIME, "other")), environment, egress)
    own, *others = installed.packages
    assert own.name == TIME
    assert others
    assert all(each.version and each.integrity.startswith("sha256-") for each in installed.packages)
    place = Path(installed.server.command).parents[1]
    assert [path.name for path in place.parent.iterdir()] == [place.name] == [f"{TIME}-{tree_digest(place)}"]
    assert again == installed  # the same packages are the same server
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    async with McpConnection(installed.server) as connection:  # the index is gone, and so is the network
        assert "UTC" in said(await called(connection, "get_current_time", timezone="UTC"))

    for change in ("changed", "added", "removed", "link"):
        file = next(place.glob("lib/*/site-packages/mcp_server_time/server.py"))
        before = file.read_bytes()
        new = file.with_name("new.py")
        if change == "changed":
            file.write_bytes(before + b"#")
        elif change == "removed":
            file.unlink()
        elif change == "added":
            new.write_bytes(b"")
        else:
            new.symlink_to("/etc")
        async with McpConnection(installed.server) as connection:
            with pytest.raises(Unavailable, match="not as it was installed"):
                await called(connection, "get_current_time", timezone="UTC")
        new.unlink(missing_ok=True)
        file.write_bytes(before)
    check_installed(installed.server, os.environ)


async def test_a_command_of_uvx_or_pipx_that_names_something_else_than_a_package_of_an_index_is_refused() -> None:
    for command, *args in (
        ("uvx",),
        ("uvx", "-q"),
        ("uvx", "--python", "3.9", "a"),
        ("uvx", "git+https://example.org/a"),
        ("uvx", "--from", "git+https://example.org/a", "a"),
        ("uvx", "--from", "./a", "a"),
        ("uvx", "--from"),
        ("uvx", "--with", "https://example.org/a.whl", "a"),
        ("uvx", "--index-url", "http://example.org", "a"),
        ("uvx", "a@file:b"),
        ("uvx", "a\n--index-url http://example.org"),
        ("uvx", "-r/etc/passwd"),
        ("pipx", "install", "a"),
        ("pipx", "run", "--spec", "a @ https://example.org/a.whl", "a"),
        ("uv", "tool", "run", "../a"),
    ):
        server = McpServer(name="s", command=command, args=tuple(args), jail=McpJail())
        assert is_installed_first(server), args
        with pytest.raises(UsageError, match=r"is not the name of a package|not known here|names no program|not run"):
            await install_server(server, {"HOME": "/nowhere"})
    assert not is_installed_first(McpServer(name="s", command="uv", args=("run", "server.py")))


@held
async def test_a_server_that_stands_in_a_jail_and_names_an_installer_is_not_started_and_says_what_to_do() -> None:
    for command in ("uvx", "npx", "pnpm", "docker"):
        server = McpServer(name="s", command=command, args=("a",), jail=McpJail())
        async with McpConnection(server) as connection:
            with pytest.raises(Unavailable, match="--no-jail"):
                await called(connection, "a")
