"""`actum mcp config`: the entry of a host starts the server that was meant, and the host's file keeps all else."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from actum.protocols.mcp.hosts import HOSTS, Host, file_of

from ..conftest import Run

pytestmark = pytest.mark.row("D4")
SYSTEMS = ("linux", "darwin", "win32")


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.name)
def test_what_is_printed_is_what_the_table_of_the_guide_says(run: Run, host: Host) -> None:
    guide = (Path(__file__).parents[3] / "docs" / "hosts.md").read_text("utf-8")
    paths = [f"`{file_of(host, system)}`" if file_of(host, system) else "-" for system in SYSTEMS]
    assert f"| {host.title} | `{host.name}` | `{host.key}` | {' | '.join(paths)} |" in guide
    assert f"[{host.title}]({host.page}), {host.read}" in guide
    printed = run("mcp", "config", host.name, "--tools", "tools.py")
    document = json.loads(printed.stdout)
    entry = document[host.key]["actum"]
    assert (list(document), Path(entry["command"]).is_absolute()) == ([host.key], True)
    assert entry["args"][-6:] == ["mcp", "serve", "--in", os.getcwd(), "--tools", "tools.py"]  # noqa: PTH109
    assert entry.get("type") == ("stdio" if host.typed else None)
    told = json.loads(run("mcp", "config", host.name, "--name", "mine", "--json").stdout)
    assert (told["host"], told["key"], told["name"]) == (host.name, host.key, "mine")


async def test_the_official_client_starts_an_entry_anywhere_and_calls_its_tool(
    run: Run, tmp_path_factory: pytest.TempPathFactory
) -> None:
    entry = json.loads(run("mcp", "config", "claude", "--tools", "tools.py").stdout)["mcpServers"]["actum"]
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    way = StdioServerParameters(command=entry["command"], args=entry["args"], env=entry.get("env"), cwd=elsewhere)
    async with Client(way) as client:
        assert "add" in [tool.name for tool in (await client.list_tools()).tools]
        assert "5" in str((await client.call_tool("add", {"a": 2, "b": 3})).content)


def test_no_secret_is_in_an_entry_and_the_variables_that_are_missing_are_named(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACTUM_JOURNAL", "postgresql://me:hunter2@db/actum")
    monkeypatch.setenv("ACTUM_SECRETS_KEY", "hunter2")
    (home / "actum.toml").write_text('base_url = "${CRM_URL}"\nmodel = "embedded"\n', "utf-8")
    printed = run("mcp", "config", "cursor", "--tools", "tools.py")
    assert "hunter2" not in printed.output
    assert "ACTUM_LANG" in printed.stdout
    assert "variables that Cursor may not have: CRM_URL" in re.sub(r"\s+", " ", printed.stderr)


def test_a_file_of_a_host_is_changed_after_the_difference_was_shown_and_keeps_the_rest(run: Run, home: Path) -> None:
    path = home / ".cursor" / "mcp.json"
    refused = run("mcp", "config", "cursor", "--write", "--yes")
    assert (refused.exit_code, "install it and start it once" in re.sub(r"\s+", " ", refused.stderr)) == (2, True)
    path.parent.mkdir()
    assert run("mcp", "config", "cursor", "--write", "--yes").exit_code == 0
    assert list(json.loads(path.read_text("utf-8"))["mcpServers"]) == ["actum"]
    before = '{\n  // mine\n  "mcpServers": {\n    "other": {"command": "x"} // stays\n  }\n}\n'
    path.write_text(before, "utf-8")
    path.chmod(0o640)
    asked = run("mcp", "config", "cursor", "--write")
    assert (asked.exit_code, path.read_text("utf-8")) == (1, before)
    assert '+    "actum": {' in asked.stderr
    done = run("mcp", "config", "cursor", "--write", "--yes")
    assert (done.exit_code, "// stays" in path.read_text("utf-8"), path.stat().st_mode & 0o777) == (0, True, 0o640)
    assert path.with_name("mcp.json.before-actum").read_text("utf-8") == before
    assert "nothing was changed" in run("mcp", "config", "cursor", "--write", "--yes").stderr
    assert run("mcp", "config", "cursor", "--remove", "--yes").exit_code == 0
    assert "actum" not in path.read_text("utf-8")
    path.write_text('{"mcpServers": {"a": 1,}, "b" 2}', "utf-8")
    broken = run("mcp", "config", "cursor", "--write", "--yes")
    assert (broken.exit_code, "line 1 column" in broken.stderr) == (2, True)
    assert path.read_text("utf-8") == '{"mcpServers": {"a": 1,}, "b" 2}'


def test_a_host_without_a_file_and_one_that_nobody_knows_are_told(run: Run) -> None:
    assert "keeps its servers in no file" in re.sub(
        r"\s+", " ", run("mcp", "config", "cherry-studio", "--write").stderr
    )
    unknown = run("mcp", "config", "emacs")
    assert (unknown.exit_code, "claude-code" in unknown.stderr) == (2, True)
    assert run("mcp", "config", "zed", "--write", "--remove").exit_code == 2
