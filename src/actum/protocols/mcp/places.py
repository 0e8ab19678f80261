"""Where other clients of MCP keep the servers that they know. Pure: paths, not files."""

from __future__ import annotations

from msgspec import Struct


class ClientFile(Struct, frozen=True):
    """A file in which a client keeps its servers.

    Attributes:
        client: what a person calls it, as `actum mcp import` takes it.
        title: its name.
        path: the file; `~` is the home folder, else below the project's.
        systems: where the file is there, as `sys.platform` says it; empty for all systems.
    """

    client: str
    title: str
    path: str
    systems: tuple[str, ...] = ()


LINUX, MAC, WINDOWS = ("linux",), ("darwin",), ("win32",)

PLACES = (
    ClientFile("claude", "Claude Desktop", "~/.config/Claude/claude_desktop_config.json", LINUX),
    ClientFile("claude", "Claude Desktop", "~/Library/Application Support/Claude/claude_desktop_config.json", MAC),
    ClientFile("claude", "Claude Desktop", "~/AppData/Roaming/Claude/claude_desktop_config.json", WINDOWS),
    ClientFile("claude-code", "Claude Code", ".mcp.json"),
    ClientFile("claude-code", "Claude Code", "~/.claude.json"),
    ClientFile("vscode", "VS Code", ".vscode/mcp.json"),
    ClientFile("vscode", "VS Code", "~/.config/Code/User/mcp.json", LINUX),
    ClientFile("vscode", "VS Code", "~/Library/Application Support/Code/User/mcp.json", MAC),
    ClientFile("vscode", "VS Code", "~/AppData/Roaming/Code/User/mcp.json", WINDOWS),
    ClientFile("vscode", "VS Code", ".vscode/settings.json"),
    ClientFile("vscode", "VS Code", "~/.config/Code/User/settings.json", LINUX),
    ClientFile("vscode", "VS Code", "~/Library/Application Support/Code/User/settings.json", MAC),
    ClientFile("cursor", "Cursor", ".cursor/mcp.json"),
    ClientFile("cursor", "Cursor", "~/.cursor/mcp.json"),
    ClientFile("windsurf", "Windsurf", "~/.codeium/windsurf/mcp_config.json"),
    ClientFile("gemini", "Gemini CLI", ".gemini/settings.json"),
    ClientFile("gemini", "Gemini CLI", "~/.gemini/settings.json"),
    ClientFile("codex", "Codex", "~/.codex/config.toml"),
    ClientFile("lmstudio", "LM Studio", "~/.lmstudio/mcp.json"),
    ClientFile("zed", "Zed", ".zed/settings.json"),
    ClientFile("zed", "Zed", "~/.config/zed/settings.json", (*LINUX, *MAC)),
    ClientFile("zed", "Zed", "~/AppData/Roaming/Zed/settings.json", WINDOWS),
)

CLIENTS = tuple(dict.fromkeys(place.client for place in PLACES))


def places_of(client: str = "") -> tuple[ClientFile, ...]:
    """The files of a client; of all, where none is named.

    >>> [place.path for place in places_of("codex")]
    ['~/.codex/config.toml']
    """
    return tuple(place for place in PLACES if not client or place.client == client)
