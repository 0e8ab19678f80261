"""MCP servers out of settings and files."""

from __future__ import annotations

from pathlib import Path

import pytest

from actum.compose.mcp import find_servers
from actum.core.errors import UsageError
from actum.protocols.mcp.config import McpAuth, McpServer

CORPUS = Path(__file__).parent.parent / "corpus" / "mcp_servers"
HERE = str(CORPUS)


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


def as_clients_write_them(folder: Path) -> dict[str, list[McpServer]]:
    """The servers in the files of other clients.

    Args:
        folder: in which actum is started.
    """
    home = ("/Users/username/Desktop", "/Users/username/Downloads")
    return {
        "claude_desktop": [
            McpServer(
                name="filesystem",
                command="npx",
                args=("-y", "@modelcontextprotocol/server-filesystem", *home),
                cwd=HERE,
            ),
            McpServer(
                name="Figma-AI-Bridge",
                command="npx",
                args=("-y", "figma-developer-mcp", "--stdio"),
                env={"FIGMA_API_KEY": "figd-0000", "PORT": "3333"},
                cwd=HERE,
            ),
        ],
        "vscode": [
            McpServer(name="Github", url="https://api.githubcopilot.com/mcp/"),
            McpServer(
                name="perplexity",
                command="npx",
                args=("-y", "server-perplexity-ask"),
                env={"PERPLEXITY_API_KEY": "pplx"},
                transport="stdio",
                cwd=HERE,
            ),
            McpServer(
                name="fetch",
                command="uvx",
                args=("mcp-server-fetch", "--root", f"{folder}/src"),
                transport="stdio",
                cwd=HERE,
            ),
        ],
        "cursor": [
            McpServer(
                name="local-server",
                command="python",
                args=(f"{folder}/tools/mcp_server.py",),
                env={"API_KEY": "k3y"},
                transport="stdio",
                cwd=HERE,
            ),
            McpServer(
                name="oauth-server",
                url="https://api.example.com/mcp",
                headers={"X-Client": folder.name},
                auth=McpAuth(client_id="your-oauth-client-id", scopes=("read", "write")),
            ),
        ],
        "zed": [
            McpServer(
                name="local",
                command="npx",
                args=("-y", "@modelcontextprotocol/server-memory"),
                env={"MEMORY_FILE": "/tmp/memory.json"},
                cwd=HERE,
            ),
            McpServer(name="flat", command="uvx", args=("mcp-server-git",), cwd=HERE),
            McpServer(name="remote", url="https://example.com/mcp", headers={"Authorization": "Bearer <token>"}),
        ],
    }


def test_the_files_of_other_clients_are_read_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    environment = {"ACTUM_SECRET_PERPLEXITY_KEY": "pplx", "API_KEY": "k3y", "HOME": "/home/someone"}
    expected = as_clients_write_them(tmp_path)
    assert {file.stem for file in CORPUS.iterdir()} == expected.keys()
    for client, servers in expected.items():
        read = find_servers([str(CORPUS / f"{client}.json")], environment)
        assert (client, list(read.servers)) == (client, servers)
    notes = find_servers([str(CORPUS / "zed.json")], environment).notes
    assert any("'mcp-server-github' is left out; it is an extension" in note for note in notes)


def test_the_answer_to_an_input_is_asked_for_by_the_name_of_its_variable() -> None:
    with pytest.raises(UsageError, match="set the variable ACTUM_SECRET_PERPLEXITY_KEY"):
        find_servers([str(CORPUS / "vscode.json")], {})
