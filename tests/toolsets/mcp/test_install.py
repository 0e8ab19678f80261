"""The package of an `npx` server is installed in a jail that reaches the registry alone; the server has no network."""

from __future__ import annotations

import asyncio
import io
import json
import os
import tarfile
from pathlib import Path

import pytest
from msgspec.structs import replace

from actum.core.errors import UsageError
from actum.protocols.mcp.config import McpJail, McpServer
from actum.sandbox.linux import landlock_abi
from actum.toolsets.mcp.connection import McpConnection
from actum.toolsets.mcp.install.install import install_server
from actum.toolsets.mcp.install.package import tree_digest
from actum.transport.egress import Egress, EgressRules
from tests.peers.install import node_modules
from tests.toolsets.mcp.npm_registry import NpmRegistry
from tests.toolsets.mcp.test_stdio import called, said

held = pytest.mark.skipif(landlock_abi() == 0, reason="this machine has no Landlock: nothing is run")
FILESYSTEM = "@modelcontextprotocol/server-filesystem"


@held
@pytest.mark.row("T4")
async def test_an_npx_server_is_installed_from_the_configured_registry_alone_and_then_runs_without_a_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, given, registry = tmp_path / "home", tmp_path / "given", NpmRegistry(node_modules())
    for folder in (home, given):
        folder.mkdir()
    (given / "a.txt").write_text("given", "ascii")
    listener = await asyncio.start_server(registry.answer, "127.0.0.1", 0)
    async with listener:
        port = listener.sockets[0].getsockname()[1]
        registry.address = f"http://localhost:{port}"
        (home / ".npmrc").write_text(
            f"registry={registry.address}/\n//localhost:{port}/:_authToken=${{NPM_TOKEN}}\n", "ascii"
        )
        environment = {"HOME": str(home), "NPM_TOKEN": "npm-secret", "XDG_DATA_HOME": str(tmp_path / "data")}
        egress = Egress(EgressRules(private=(registry.address,)))
        server = McpServer(
            name="files", command="npx", args=("-y", FILESYSTEM, str(given)), jail=McpJail(read=(str(given),))
        )
        installed = await install_server(server, environment, egress)
        missing = McpServer(name="no", command="npx", args=("-y", "no-such-package-here"), jail=McpJail())
        with pytest.raises(UsageError, match="exit code 1"):
            await install_server(missing, environment, egress)
    assert any("npm-secret" in head for head in registry.heads)  # the user's settings were read
    own, *others = installed.packages
    assert own.name == FILESYSTEM
    assert others
    assert all(each.version and each.integrity.startswith("sha512-") for each in installed.packages)
    left = [path.name for path in (tmp_path / "data" / "actum" / "mcp" / "installed").iterdir()]
    place = tmp_path / "data" / "actum" / "mcp" / "installed" / left[0]
    assert left == [f"{FILESYSTEM.replace('/', '+')}-{tree_digest(place)}"]
    assert installed.server.identity != server.identity
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    async with McpConnection(installed.server) as connection:  # the registry is gone, and so is the network
        assert "given" in said(await called(connection, "read_text_file", path=str(given / "a.txt")))


async def test_a_command_of_npx_that_names_something_else_than_a_package_of_a_registry_is_refused() -> None:
    for args in (
        (),
        ("-y",),
        ("-c", "echo"),
        ("-y", "github:a/b"),
        ("-y", "./a"),
        ("-y", "https://a/b.tgz"),
        ("a@file:b",),
    ):
        with pytest.raises(UsageError):
            await install_server(McpServer(name="s", command="npx", args=args, jail=McpJail()), {"HOME": "/nowhere"})


@held
async def test_no_script_of_a_package_is_run_while_the_package_is_installed(tmp_path: Path) -> None:
    tiny, data = tmp_path / "modules" / "node_modules" / "tiny", tmp_path / "data"
    tiny.mkdir(parents=True)
    (tiny / "tiny.js").write_text("", "ascii")
    scripts = dict.fromkeys(("preinstall", "install", "postinstall", "prepare"), "touch ran")
    manifest = {"name": "tiny", "version": "1.0.0", "bin": "tiny.js", "scripts": scripts}
    (tiny / "package.json").write_text(json.dumps(manifest), "ascii")
    registry = NpmRegistry(tiny.parent)
    listener = await asyncio.start_server(registry.answer, "127.0.0.1", 0)
    async with listener:
        registry.address = f"http://localhost:{listener.sockets[0].getsockname()[1]}"
        environment = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(data), "NPM_CONFIG_REGISTRY": registry.address}
        server = McpServer(name="tiny", command="npx", args=("tiny",), jail=McpJail())
        egress = Egress(EgressRules(private=(registry.address,)))
        first, again = [await install_server(server, environment, egress) for _ in range(2)]
    assert again == first  # the same packages are the same server
    installed = [path.name for path in data.rglob("*") if path.is_file()]
    assert sorted(installed) == ["package.json", "tiny", "tiny.js"]  # the one without an ending is a link

    links = tmp_path / "links"
    links.mkdir()
    with tarfile.open(links / "tiny-1.0.tar.gz", "w:gz") as archive:
        text = f"open({str(tmp_path / 'ran')!r}, 'w')\n".encode()
        entry = tarfile.TarInfo("tiny-1.0/setup.py")
        entry.size = len(text)
        archive.addfile(entry, io.BytesIO(text))
    environment = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(data), "PIP_CONFIG_FILE": os.devnull}
    environment |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(links)}
    with pytest.raises(UsageError, match="no usable wheels"):
        await install_server(replace(server, command="uvx"), environment)
    assert not (tmp_path / "ran").exists()
    assert len([*(data / "actum" / "mcp" / "installed").iterdir()]) == 1
