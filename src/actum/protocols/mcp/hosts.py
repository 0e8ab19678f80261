"""The programs that start MCP servers for people: in which form each wants a server, and in which file. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ...core.errors import UnknownName
from ...core.json import JsonObject
from ...core.language.sentence import Sentence
from .places import PLACES


class Host(Struct, frozen=True):
    """A program that starts MCP servers.

    Attributes:
        name: as `actum mcp config` takes it.
        title: the program's own name.
        key: the member of the file that holds the servers.
        typed: an entry says `"type": "stdio"`.
        after: what a person does when the file has changed.
        page: where the program's makers say all that.
        read: the day on which the page was read.
    """

    name: str
    title: str
    key: str
    typed: bool
    after: Sentence
    page: str
    read: str


HOSTS = (
    Host(
        "claude",
        "Claude Desktop",
        "mcpServers",
        False,
        Sentence("Quit Claude Desktop wholly and start it again."),
        "https://modelcontextprotocol.io/docs/develop/connect-local-servers",
        "2026-11-29",
    ),
    Host(
        "claude-code",
        "Claude Code",
        "mcpServers",
        True,
        Sentence("Start a new session; /mcp lists the servers."),
        "https://code.claude.com/docs/en/mcp",
        "2026-11-29",
    ),
    Host(
        "cursor",
        "Cursor",
        "mcpServers",
        False,
        Sentence("Start Cursor again, and look under Customize, MCPs."),
        "https://cursor.com/docs/mcp",
        "2026-11-29",
    ),
    Host(
        "vscode",
        "VS Code",
        "servers",
        True,
        Sentence("Choose Start above the entry in the file."),
        "https://code.visualstudio.com/docs/agents/reference/mcp-configuration",
        "2026-11-29",
    ),
    Host(
        "cherry-studio",
        "Cherry Studio",
        "mcpServers",
        False,
        Sentence("In Settings, MCP servers, choose to import from JSON, and paste the entry."),
        "https://docs.cherry-ai.com/advanced-basic/mcp",
        "2026-11-29",
    ),
    Host(
        "windsurf",
        "Windsurf",
        "mcpServers",
        False,
        Sentence("In the settings of Cascade, under MCP servers, choose Refresh."),
        "https://docs.windsurf.com/windsurf/cascade/mcp",
        "2026-11-29",
    ),
    Host(
        "zed",
        "Zed",
        "context_servers",
        False,
        Sentence("Zed starts the server by itself; the panel of the agent lists its tools."),
        "https://zed.dev/docs/ai/mcp",
        "2026-11-29",
    ),
)


def host_named(name: str) -> Host:
    """A host by its name.

    Raises:
        UnknownName: no host is called so.
    """
    for host in HOSTS:
        if host.name == name:
            return host
    raise UnknownName(
        "no host {name!r} is known; there are: {known}", name=name, known=", ".join(host.name for host in HOSTS)
    )


def file_of(host: Host, system: str) -> str:
    """The person's own file of a host, from `~` on; empty where the host takes its servers in a window only.

    Args:
        host: the host.
        system: `linux`, `darwin` or `win32`, as `sys.platform` says it.

    >>> file_of(host_named("vscode"), "win32")
    '~/AppData/Roaming/Code/User/mcp.json'
    """
    own = [place for place in PLACES if place.client == host.name and place.path.startswith("~")]
    return next((place.path for place in own if not place.systems or system in place.systems), "")


def entry_for(host: Host, command: str, arguments: Sequence[str], variables: dict[str, str]) -> JsonObject:
    """An entry in the form of a host.

    Args:
        host: the host.
        command: the program, an absolute path.
        arguments: of the program.
        variables: of its environment; no secrets.
    """
    entry: JsonObject = {"type": "stdio"} if host.typed else {}
    entry |= {"command": command, "args": list(arguments)}
    return entry | ({"env": {**variables}} if variables else {})
