"""MCP servers out of settings and files."""

from __future__ import annotations

from pathlib import Path

import pytest

from actum.compose.mcp import find_servers


def test_a_local_server_is_started_in_the_folder_of_its_file_and_approved_for_that(tmp_path: Path) -> None:
    folders = tmp_path / "mine", tmp_path / "hostile"
    for folder in folders:
        folder.mkdir()
        (folder / "mcp.json").write_text('{"tools": {"command": "python", "args": ["server.py"]}}', "utf-8")
    mine, hostile = (find_servers([str(folder / "mcp.json")], {}).servers[0] for folder in folders)
    assert (mine.cwd, hostile.cwd) == (str(folders[0]), str(folders[1]))
    assert mine.identity != hostile.identity


def test_ones_own_server_is_started_at_home_wherever_one_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    (home / ".config" / "actum").mkdir(parents=True)
    (home / ".config" / "actum" / "mcp.json").write_text(
        '{"one": {"command": "x"}, "two": {"command": "x", "cwd": "~/in"}, "three": {"url": "http://h/"}}', "utf-8"
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(tmp_path)
    assert [server.cwd for server in find_servers(["mine"], {}).servers] == [str(home), str(home / "in"), ""]
