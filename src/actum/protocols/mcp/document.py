"""Configured MCP servers, out of the JSON that the clients of this protocol share, in all its spellings. Pure.

    {"mcpServers": {"files": {"command": "npx", "args": ["-y", "server-files", "/data"]},
                    "search": {"url": "http://127.0.0.1:8000/sse", "transport": "sse", "timeout": 60}}}

The wrapper may be `servers` (VS Code), `context_servers` (Zed), `mcp_servers` (Codex) or left out. A server may be a
bare address or a command line. `${VAR}`, `${VAR:-else}` and `${env:VAR}` are read from the environment;
`${secret:NAME}` stays as it is and is filled in when something is sent. An editor asks its user for `${input:some-id}`;
here the variable `ACTUM_SECRET_SOME_ID` holds the value. `${workspaceFolder}`, `${userHome}` and the path separator are
known as well.

Limits: settings that only the editor itself can use are left out, each with a note: extensions of Zed, `envFile`.
"""

from __future__ import annotations

import posixpath
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
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]{0,1000}))?\}")
_INPUT = re.compile(r"\$\{input:([^}]{0,1000})\}")
_OF_THE_EDITOR = re.compile(r"\$\{(?:config|command):[^}]{0,1000}\}")
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
INPUT = "ACTUM_SECRET_"
"""The variable that holds the value of an input begins with this: values of such variables are never shown."""
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
    "settings": "it is not needed",
    "dev": "it is not needed",
    "envFile": "write its variables in `env`",
}
_TEXTS = ("command", "cwd", "url", "transport", "era")
_FIELDS = tuple(name for name in McpServer.__struct_fields__ if name != "name")
MILLISECONDS_FROM = 3_600
"""A time limit of this number or more is taken for milliseconds, as some clients write it."""


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
    for written, entry in entries_of(document).items():
        if is_extension(entry):
            notes.append(f"MCP server {written!r} is left out; it is an extension, which only the editor can start")
            continue
        name = name_for(written)
        if name != written:
            notes.append(f"MCP server {written!r} is called {name!r} here")
        if any(server.name == name for server in servers):
            raise UsageError("two MCP servers would both be called {name!r}: rename one of them", name=name)
        servers.append(server_of(name, entry, environment, folder=folder, note=notes.append))
    return Read(tuple(servers), tuple(notes))


def is_extension(entry: Json) -> bool:
    """Whether a server is an extension of an editor, whose command line only the editor knows.

    >>> is_extension({"source": "extension", "enabled": True, "settings": {}})
    True
    """
    return isinstance(entry, dict) and not _is_entry(entry) and (entry.get("source") == "extension")


def name_for(written: str) -> str:
    """What a server is called here that another client calls by a name with spaces or other signs.

    >>> name_for("@figma/AI Bridge"), name_for("files")
    ('figma-AI-Bridge', 'files')
    """
    return _NOT_IN_A_NAME.sub("-", written).strip("-.")[:64].rstrip("-.") or written


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
        raise UsageError("{where}: a name has 1 to 64 letters, digits, '_', '-' or '.'", where=where)
    if isinstance(entry, str):
        entry = _short(entry, where)
    if not isinstance(entry, dict):
        raise UsageError("{where}: expected its fields, an address, or a command line", where=where)
    fields = _renamed(entry, where, note)
    fields = cast(JsonObject, _expanded(fields, environment, folder, where))
    _normalise(fields, where, note)
    try:
        server = msgspec.convert({**fields, "name": name}, McpServer)
    except msgspec.ValidationError as wrong:
        raise UsageError("{where}: {wrong}", where=where, wrong=_told(wrong)) from None
    return _checked(server, where)


def _short(text: str, where: str) -> JsonObject:
    """A bare address or a command line."""
    if _URL.fullmatch(text.strip()):
        return {"url": text.strip()}
    try:
        command, *args = shlex.split(text)
    except ValueError:
        raise UsageError("{where}: {text!r} is neither an address nor a command line", where=where, text=text) from None
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
        elif word == "auth" and isinstance(value, dict) and "CLIENT_ID" in value:  # as Cursor writes it
            fields["auth"] = {"client_id": value["CLIENT_ID"], "scopes": value.get("scopes", [])}
            if "CLIENT_SECRET" in value:
                note(f"{where}: CLIENT_SECRET is left out; name it in `secret` of `auth`, and its issuer in `issuer`")
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
    theirs = _OF_THE_EDITOR.search(value)
    if theirs is not None:
        raise UsageError(
            "{where}: {theirs} is known to the editor alone; write its value, or ${{env:NAME}}",
            where=where,
            theirs=theirs.group(),
        )

    def given(found: re.Match[str]) -> str:
        name = INPUT + re.sub(r"\W", "_", found.group(1)).upper()
        if name not in environment:
            raise UsageError(
                "{where}: {found} asks for input; set the variable {name} to the answer",
                where=where,
                found=found.group(),
                name=name,
            )
        return environment[name]

    known = {
        "workspaceFolder": folder,
        "workspaceFolderBasename": posixpath.basename(folder),
        "userHome": environment.get("HOME") or environment.get("USERPROFILE", ""),
        "pathSeparator": "/",
    }

    def variable(found: re.Match[str]) -> str:
        name, otherwise = found.groups()
        if name in known:
            return known[name]
        if name not in environment and otherwise is None:
            raise UsageError(
                "{where}: the variable {name} is not set, which {found} names",
                where=where,
                name=name,
                found=found.group(),
            )
        return environment.get(name, otherwise or "")

    return _VARIABLE.sub(variable, _INPUT.sub(given, value.replace("${/}", "/")))


def _normalise(fields: JsonObject, where: str, note: Callable[[str], None]) -> None:
    transport = fields.get("transport", "")
    if isinstance(transport, str) and transport.lower() in _TRANSPORTS:
        fields["transport"] = _TRANSPORTS[transport.lower()]
    command = fields.get("command")
    if isinstance(command, dict):  # as Zed wrote it for long
        env, args = fields.get("env"), fields.get("args")
        fields["command"] = command.get("path")
        fields["args"] = args or command.get("args")
        fields["env"] = env or command.get("env")
    elif isinstance(command, list) and command:
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
        raise UsageError("{where}: give a command or a url, and not both", where=where)
    if server.jail is not None and (server.url or server.no_jail):
        raise UsageError("{where}: a jail goes with a command, and not with no_jail", where=where)
    if server.url and not _URL.fullmatch(server.url):
        raise UsageError("{where}: url: expected http:// or https://, not {url!r}", where=where, url=server.url[:100])
    if server.url and server.transport == "stdio":
        raise UsageError("{where}: transport stdio goes with a command, not with a url", where=where)
    if server.command and server.transport in ("http", "sse"):
        raise UsageError(
            "{where}: transport {transport} goes with a url, not with a command",
            where=where,
            transport=server.transport,
        )
    for name in ("timeout", "max_timeout"):
        if not getattr(server, name) > 0:
            raise UsageError("{where}: {name}: expected seconds above 0", where=where, name=name)
    if server.sessions < 0:
        raise UsageError("{where}: sessions: expected a number above 0, or 0 for the usual one", where=where)
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

__all__ = [
    "McpAuth",
    "McpServer",
    "Read",
    "entries_of",
    "entry_of",
    "is_extension",
    "name_for",
    "read_servers",
    "server_of",
]
