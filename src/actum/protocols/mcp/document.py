"""Configured MCP servers, out of the JSON that the clients of this protocol share, in all its spellings. Pure.

    {"mcpServers": {"files": {"command": "npx", "args": ["-y", "server-files", "/data"]},
                    "search": {"url": "http://127.0.0.1:8000/sse", "transport": "sse", "timeout": 60}}}

The wrapper may be `servers` (VS Code), `context_servers` (Zed), `mcp_servers` (Codex) or left out. A server may be a
bare address or a command line. `${VAR}`, `${VAR:-else}` and `${env:VAR}` are read from the environment;
`${secret:NAME}` stays as it is and is filled in when something is sent.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from typing import cast

import msgspec
from msgspec import Struct

from ...core.errors import UsageError
from ...core.json import Json, JsonObject
from .config import McpAuth, McpServer

WRAPPERS = ("mcpServers", "servers", "mcp_servers", "context_servers")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_INPUT = re.compile(r"\$\{input:([^}]*)\}")
_URL = re.compile(r"https?://\S+")

_TRANSPORTS: dict[str, str] = {
    "stdio": "stdio",
    "local": "stdio",
    "sse": "sse",
    "http": "http",
    "streamable-http": "http",
    "streamable_http": "http",
    "streamablehttp": "http",
    "remote": "http",
    "": "",
}
_SAME: dict[str, str] = {
    "type": "transport",
    "serverUrl": "url",
    "server_url": "url",
    "httpUrl": "url",
    "http_headers": "headers",
    "maxTimeout": "max_timeout",
    "max_total_timeout": "max_timeout",
    "tool_timeout_sec": "max_timeout",
    "startup_timeout_sec": "timeout",
    "includeTools": "include",
    "enabled_tools": "include",
    "excludeTools": "exclude",
    "disabled_tools": "exclude",
    "environment": "env",
}
"""Other words for our fields."""
_IGNORED: dict[str, str] = {
    "alwaysAllow": "approvals are given with `actum mcp approve` and the policy",
    "autoApprove": "approvals are given with `actum mcp approve` and the policy",
    "trust": "write `trusted` if what this server says of its own tools is to be believed",
    "description": "it is not needed",
    "gallery": "it is not needed",
    "note": "it is not needed",
    "source": "it is not needed",
}
_TEXTS = ("command", "cwd", "url", "transport", "era")
_FIELDS = tuple(name for name in McpServer.__struct_fields__ if name != "name")
MILLISECONDS_FROM = 3_600
"""A time limit from so many on is taken for milliseconds, as some clients write it."""


class Read(Struct, frozen=True):
    """What was read.

    Attributes:
        servers: in the order of the document.
        notes: what was left out or taken otherwise than it was written, a sentence each.
    """

    servers: tuple[McpServer, ...]
    notes: tuple[str, ...] = ()


def entries_of(document: JsonObject) -> JsonObject:
    """The servers of a document as they are written, by name.

    >>> list(entries_of({"search": {"url": "http://127.0.0.1:8000/sse"}}))
    ['search']

    Raises:
        UsageError: it holds none.
    """
    inner = document.get("mcp")
    found = next((document[word] for word in WRAPPERS if word in document), None)
    if found is None and isinstance(inner, dict):
        found = next((inner[word] for word in WRAPPERS if word in inner), inner)
    if found is None and document and all(_is_entry(value) for value in document.values()):
        found = document
    if not isinstance(found, dict):
        raise UsageError('there are no MCP servers in this: write {"mcpServers": {"name": {"command": ...}}}')
    return found


def read_servers(document: JsonObject, environment: Mapping[str, str], folder: str = "") -> Read:
    """The servers that a document configures.

    Args:
        document: the JSON.
        environment: for `${VAR}`.
        folder: for `${workspaceFolder}`.

    Raises:
        UsageError: one is not configured as it should be; the message names it, the field, and what to write.
    """
    servers: list[McpServer] = []
    notes: list[str] = []
    for name, entry in entries_of(document).items():
        servers.append(server_of(name, entry, environment, folder=folder, note=notes.append))
    return Read(tuple(servers), tuple(notes))


def server_of(
    name: str,
    entry: Json,
    environment: Mapping[str, str],
    *,
    folder: str = "",
    note: Callable[[str], None] = lambda _: None,
) -> McpServer:
    """One server.

    Args:
        name: what it is called here.
        entry: its fields, a bare address, or a command line.
        note: is told what was left out or taken otherwise.

    >>> server_of("s", "http://127.0.0.1:9000/sse", {}).url
    'http://127.0.0.1:9000/sse'
    >>> server_of("f", "npx -y files '/my data'", {}).args
    ('-y', 'files', '/my data')

    Raises:
        UsageError: it is not configured as it should be.
    """
    where = f"MCP server {name!r}"
    if not _NAME.fullmatch(name):
        raise UsageError(f"{where}: a name has 1 to 64 letters, digits, '_', '-' or '.'")
    if isinstance(entry, str):
        entry = _short(entry, where)
    if not isinstance(entry, dict):
        raise UsageError(f"{where}: expected its fields, an address, or a command line")
    fields = _renamed(entry, where, note)
    fields = cast(JsonObject, _expanded(fields, environment, folder, where))
    _normalise(fields, where, note)
    try:
        server = msgspec.convert({**fields, "name": name}, McpServer)
    except msgspec.ValidationError as wrong:
        raise UsageError(f"{where}: {_told(wrong)}") from None
    return _checked(server, where)


def _short(text: str, where: str) -> JsonObject:
    """A bare address or a command line."""
    if _URL.fullmatch(text.strip()):
        return {"url": text.strip()}
    try:
        command, *args = shlex.split(text)
    except ValueError:
        raise UsageError(f"{where}: {text!r} is neither an address nor a command line") from None
    return {"command": command, "args": list[Json](args)}


def _is_entry(value: Json) -> bool:
    return isinstance(value, dict) and bool({"command", "url", "serverUrl", "httpUrl"} & value.keys())


def _renamed(entry: JsonObject, where: str, note: Callable[[str], None]) -> JsonObject:
    """In our words."""
    fields: JsonObject = {}
    for word, value in entry.items():
        name = _SAME.get(word, word)
        if word == "enabled":
            fields["disabled"] = value is False
        elif word == "httpUrl":
            fields |= {"url": value, "transport": "http"}
        elif word == "bearer_token_env_var":
            fields["headers"] = {"Authorization": f"Bearer ${{env:{value}}}"}
        elif word in _IGNORED:
            note(f"{where}: {word} is left out; {_IGNORED[word]}")
        elif name in _FIELDS:
            fields[name] = value
        else:
            note(f"{where}: {word} is left out; it is not known here")
    return fields


def _expanded(value: Json, environment: Mapping[str, str], folder: str, where: str) -> Json:
    if isinstance(value, dict):
        return {key: _expanded(each, environment, folder, where) for key, each in value.items()}
    if isinstance(value, list):
        return [_expanded(each, environment, folder, where) for each in value]
    if not isinstance(value, str) or "${" not in value:
        return value
    asked = _INPUT.search(value)
    if asked is not None:
        raise UsageError(f"{where}: ${{input:{asked.group(1)}}} asks for input; write ${{env:NAME}} and set NAME")

    def variable(found: re.Match[str]) -> str:
        name, otherwise = found.groups()
        if name == "workspaceFolder":
            return folder
        if name not in environment and otherwise is None:
            raise UsageError(f"{where}: the variable {name} is not set, which {found.group()} names")
        return environment.get(name, otherwise or "")

    return _VARIABLE.sub(variable, value)


def _normalise(fields: JsonObject, where: str, note: Callable[[str], None]) -> None:
    transport = fields.get("transport", "")
    if isinstance(transport, str) and transport.lower() in _TRANSPORTS:
        fields["transport"] = _TRANSPORTS[transport.lower()]
    command = fields.get("command")
    if isinstance(command, list) and command:
        fields["command"], fields["args"] = command[0], [*command[1:], *cast(list[Json], fields.get("args") or [])]
    for name in ("timeout", "max_timeout"):
        value = fields.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and value >= MILLISECONDS_FROM:
            fields[name] = value / 1000
            note(f"{where}: {name} {value} is taken for milliseconds; here it is in seconds")
    for name in ("env", "headers"):
        table = fields.get(name)
        if isinstance(table, dict):
            fields[name] = {key: str(each) if isinstance(each, int | float) else each for key, each in table.items()}
    if fields.get("include") == []:
        note(f"{where}: include is an empty list, so none of its tools is used")
    for name in [name for name, value in fields.items() if value is None]:
        del fields[name]


def _checked(server: McpServer, where: str) -> McpServer:
    if bool(server.command) == bool(server.url):
        raise UsageError(f"{where}: give a command or a url, and not both")
    if server.url and not _URL.fullmatch(server.url):
        raise UsageError(f"{where}: url: expected http:// or https://, not {server.url[:100]!r}")
    if server.url and server.transport == "stdio":
        raise UsageError(f"{where}: transport stdio goes with a command, not with a url")
    if server.command and server.transport in ("http", "sse"):
        raise UsageError(f"{where}: transport {server.transport} goes with a url, not with a command")
    for name in ("timeout", "max_timeout"):
        if not getattr(server, name) > 0:
            raise UsageError(f"{where}: {name}: expected seconds above 0")
    if server.sessions < 0:
        raise UsageError(f"{where}: sessions: expected a number above 0, or 0 for the usual one")
    if server.max_timeout < server.timeout:
        return msgspec.structs.replace(server, max_timeout=server.timeout)
    return server


def _told(wrong: msgspec.ValidationError) -> str:
    """What is wrong, with the field and what to write."""
    words, _, place = str(wrong).partition(" - at `$.")
    field = place.rstrip("`").split("[")[0]
    return f"{field}: {words[0].lower()}{words[1:]}" if field else words


def entry_of(server: McpServer) -> JsonObject:
    """A server as it is written down."""
    written: JsonObject = msgspec.to_builtins(server)
    del written["name"]
    return {_WRITTEN.get(field, field): value for field, value in written.items()}


_WRITTEN = {"max_timeout": "maxTimeout"}

__all__ = ["McpAuth", "McpServer", "Read", "entries_of", "entry_of", "read_servers", "server_of"]
