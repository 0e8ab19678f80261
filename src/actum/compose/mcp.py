"""MCP servers: those that the settings or the person's own file name, and the toolsets that use them.

The SDK of the protocol takes half a second to load, and few commands need it: `toolsets.mcp` loads the SDK when one of
its classes is asked for, and says which extra is missing where it is not installed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from ..core.errors import UsageError
from ..core.json import Json, JsonObject, JsonProblem, parse_object
from ..core.language.sentence import names_or_none
from ..core.process.named_file import read_named_text
from ..core.secrets.private_paths import keep_private
from ..core.toml import read_toml
from ..core.user import User
from ..protocols.jsonc import plain_json
from ..protocols.mcp.config import McpServer
from ..protocols.mcp.document import Read, read_servers, server_of
from ..storage.folders import state_folder, tokens_path
from ..storage.pins import PinStore
from ..storage.tokens import TokenStore
from ..storage.whole_file import alone_with, replace
from ..toolsets import mcp as mcp_tools
from ..toolsets.wrappers import ToolLabels
from ..transport.egress import Egress
from .extras import install, missing_extras
from .secrets import open_secrets, secret_file
from .settings import MCP_WAIT_S, MEMORY, MINE, Settings

if TYPE_CHECKING:
    from ..toolsets.mcp.finder import McpFinder
    from ..toolsets.mcp.host import McpHost
    from ..toolsets.mcp.toolset import McpToolset

NOBODY = User()
MCP_FILE = "mcp.json"
"""The person's MCP servers, beside the person's settings."""


def config_home(environment: Mapping[str, str]) -> Path:
    """The person's own configuration, in the folder of the XDG specification."""
    said = environment.get("XDG_CONFIG_HOME", "")
    home = Path(said) if said.startswith("/") else Path("~/.config").expanduser()
    keep_private(home / "actum")  # a server's environment may hold keys
    return home / "actum"


def mcp_file(environment: Mapping[str, str]) -> Path:
    """Where the person's MCP servers are configured, in the JSON that other clients know too."""
    return config_home(environment) / MCP_FILE


def mcp_pins(environment: Mapping[str, str]) -> PinStore:
    """What the person approved of MCP servers."""
    return PinStore(state_folder(environment) / "mcp-approved.json")


def mcp_keys(settings: Settings, environment: Mapping[str, str]) -> tuple[bytes, ...]:
    """The key with which a server that this user starts seals calls that wait; made when it is first needed.

    With a journal that outlives the process it does, too: a client may come back to another process of the same server.

    Raises:
        UsageError: it can not be kept.
    """
    if settings.journal == MEMORY:
        return ()
    path = state_folder(environment) / "mcp-seal.key"
    with alone_with(path):
        try:
            if not path.exists():
                replace(path, os.urandom(32))
            return (path.read_bytes(),)
        except OSError as error:
            raise UsageError("{path}: {why}", path=path, why=error.strerror) from None


def mcp_tokens(environment: Mapping[str, str]) -> TokenStore:
    """Where the person's logins at MCP servers are kept."""
    return TokenStore(tokens_path(environment), vault=secret_file(environment), warns=True)


def secrets_of(environment: Mapping[str, str], user: User = NOBODY) -> Mapping[str, str]:
    """The secrets that a configuration names as `${secret:NAME}`: of a user, where a server is reached for one user
    alone, else those that everybody shares. `ACTUM_SECRET_NAME` holds the one called `name`, where nobody set it.
    """
    return open_secrets(environment).of(user)


def read_document(path: Path) -> JsonObject:
    """A file of MCP servers: JSON, also with comments and trailing commas as editors write it, or TOML.

    Raises:
        UsageError: it can not be read.
    """
    try:
        text = read_named_text(path)
        return read_toml(text) if path.suffix == ".toml" else parse_object(plain_json(text))[0]
    except (OSError, ValueError, JsonProblem) as error:
        raise UsageError("{path} can not be read: {why}", path=path, why=error) from None


def names_file(word: str) -> bool:
    """Whether a word of `mcp` names a file of servers."""
    return "://" not in word and word.endswith((".json", ".jsonc", ".toml"))


def find_servers(words: Sequence[str], environment: Mapping[str, str]) -> Read:
    """The MCP servers that are meant.

    Args:
        words: `mine`, names of these, addresses, files; `none`.

    Raises:
        UsageError: there is none of a name, or one is not configured as it should be.
    """
    mine = mcp_file(environment)
    own = _servers_in(mine, Path.home(), environment) if mine.is_file() else Read(())
    servers: list[McpServer] = []
    notes: list[str] = []
    for word in words:
        if word == MINE:
            servers, notes = [*servers, *own.servers], [*notes, *own.notes]
        elif "://" in word:
            servers.append(server_of(_host(word), word, environment))
        elif names_file(word):
            file = Path(word).expanduser().absolute()
            read = _servers_in(file, file.parent, environment)
            servers, notes = [*servers, *read.servers], [*notes, *read.notes]
        elif word != "none":
            servers.append(_own_server(word, own.servers, mine))
    return Read(tuple({server.name: server for server in servers if not server.disabled}.values()), tuple(notes))


def usable_servers(words: Sequence[str], environment: Mapping[str, str]) -> Read:
    """The MCP servers that are meant. Where the package of the protocol is not installed, the servers of `mine` are
    left out, and a note says so: nobody asked for them by name, and all else goes on without them.

    Args:
        words: as for `find_servers`.

    Raises:
        UsageError: as by `find_servers`.
    """
    found = find_servers(words, environment)
    if MINE not in words or not missing_extras({"mcp"}):
        return found
    named = find_servers([word for word in words if word != MINE], environment)
    kept = {server.name for server in named.servers}
    lost = ", ".join(server.name for server in found.servers if server.name not in kept)
    note = f"MCP servers are left out, since a package is not installed: {lost}: {install('mcp')}"
    return Read(named.servers, (*found.notes, *([note] if lost else [])))


def own_server(name: str, entry: Json, environment: Mapping[str, str]) -> McpServer:
    """One of the person's own servers, as it is written down in their file.

    Raises:
        UsageError: it is not configured as it should be.
    """
    return _placed(server_of(name, entry, environment, folder=str(Path.cwd())), Path.home())


def _servers_in(file: Path, folder: Path, environment: Mapping[str, str]) -> Read:
    read = read_servers(read_document(file), environment, str(Path.cwd()))
    return msgspec.structs.replace(read, servers=tuple(_placed(server, folder) for server in read.servers))


def _placed(server: McpServer, folder: Path) -> McpServer:
    """A local server in the folder in which it is started, which is not whatever folder we are in: the same command
    line may run something else there, and was not approved for that.
    """
    if not server.command:
        return server
    jail = server.jail
    if jail is not None:
        read, write = _absolute(jail.read, folder), _absolute(jail.write, folder)
        jail = msgspec.structs.replace(jail, read=read, write=write)
    return msgspec.structs.replace(server, cwd=str(folder / Path(server.cwd).expanduser()), jail=jail)


def _absolute(paths: Sequence[str], folder: Path) -> tuple[str, ...]:
    return tuple(str((folder / Path(path).expanduser()).absolute()) for path in paths)


def _own_server(name: str, own: Sequence[McpServer], file: Path) -> McpServer:
    found = next((server for server in own if server.name == name), None)
    if found is None:
        known = names_or_none(server.name for server in own)
        raise UsageError(
            "there is no MCP server {name!r} in {file}; there are: {known}. `actum mcp add` adds one",
            name=name,
            file=file,
            known=known,
        )
    return msgspec.structs.replace(found, disabled=False)


def _host(url: str) -> str:
    """What a server at a bare address is called."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", urlsplit(url).netloc.rpartition("@")[2]).strip("-.") or "server"


def open_server(
    server: McpServer,
    environment: Mapping[str, str],
    *,
    egress: Egress | None = None,
    unseen: bool = False,
    wait_s: float = MCP_WAIT_S,
    tenant: str = "",
    changed: Callable[[str, JsonObject], None] | None = None,
) -> McpToolset:
    """The toolset of a server; only its approved tools are used. The caller closes it.

    Args:
        egress: the operator's rules for outgoing calls.
        unseen: every tool can be used, for a look that calls nothing.
        wait_s: seconds for which a run waits for the server, where nothing is known of it yet.
        tenant: the tenant whose approvals hold.
        changed: hears of lists and resources that changed.

    Raises:
        UsageError: the extra is not installed.
    """
    secrets = secrets_of(environment)
    auth = mcp_tools.oauth_of(server, mcp_tokens(environment), secrets=secrets, egress=egress)
    guard = mcp_tools.guard_of(server, egress)
    if unseen:
        return mcp_tools.McpToolset(server, approve="all", auth=auth, secrets=secrets, guard=guard)
    pins = mcp_pins(environment).of_tenant(tenant)
    return mcp_tools.McpToolset(
        server, pins=pins, auth=auth, secrets=secrets, guard=guard, wait_s=wait_s, changed=changed
    )


def open_mcp(
    servers: Sequence[McpServer],
    environment: Mapping[str, str],
    *,
    egress: Egress | None = None,
    wait_s: float = MCP_WAIT_S,
) -> McpHost | None:
    """A toolset of these servers; None where there are none.

    The caller closes the toolset. A server is started when one of its tools is called, or where nothing is known of it.
    """
    if not servers:
        return None
    return mcp_tools.McpHost([open_server(server, environment, egress=egress, wait_s=wait_s) for server in servers])


def open_finder(host: McpHost | None, labels: Mapping[str, ToolLabels]) -> McpFinder:
    """`mcp_list_tools` and `mcp_call_tool`, for the servers of a host, with the operator's word on their tools."""
    return mcp_tools.McpFinder(host or mcp_tools.McpHost([]), prefixes=("mcp", "mcp_sse"), labels=labels)


def check_extra() -> None:
    """See to it that the package of the protocol is installed.

    Raises:
        UsageError: it is not; the message says which extra of actum brings it.
    """
    _ = mcp_tools.McpToolset
