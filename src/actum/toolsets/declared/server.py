"""`ServerDefinition`: a place with many tools as one definition, `actum: server/1`. Pure.

    actum: server/1
    name: crm
    url: https://mcp.example.com/mcp                      # an MCP server; or openapi: ADDRESS, or a2a: ADDRESS
    headers: {Authorization: "Bearer ${secret:crm}"}
    only: [find_*]

Its tools are called `crm_find_customer`. They are pinned when the definition is published: a tool that is another one
by then is not called before somebody has published the definition anew.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Protocol

import msgspec
from msgspec import Meta, Struct, structs

from ...core.definition import BadText, DefinitionChange, OperatorOnly, TextProblem, fields_differ
from ...core.errors import UsageError
from ...core.interfaces import Toolset
from ...core.json import Json, JsonObject
from ...core.stored.definitions import checked_name
from ...core.tool import Tool
from ...protocols.definition_text import read_any_text, read_struct
from ...protocols.plain_text import plain

HEADER: Final = "server/1"
SERVER: Final = "server"
SERVER_USES: Final = f"{SERVER}/"
"""`server/crm: 2` in `Started.uses`: the run began with publication 2 of this server."""
TOOLS_MAX = 500
"""The number of tools that a published server may have."""
_PLACES = ("url", "openapi", "a2a")
_LOCAL = ("command", "args", "env", "cwd")
_SECRET = re.compile(r"\$\{secret:")


class ServerDefinition(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A place with many tools. Exactly one of `url`, `openapi` and `a2a` says where it is.

    Attributes:
        name: the name; its tools are called `NAME_TOOL`.
        description: what the place is good for, for people.
        url: the address of an MCP server.
        openapi: the address of an OpenAPI document, or its text.
        a2a: the address of an agent that is reached by A2A, or of its card.
        headers: sent to an MCP server or an agent; `${secret:NAME}` is a secret of the tenant.
        secrets: of an API, by the name of a security scheme of its document, the name of the secret.
        base: of an API, the address in the place of those of its document.
        only: patterns of the names of the tools that are meant; empty for all.
    """

    name: str
    description: str = ""
    url: str = ""
    openapi: str = ""
    a2a: str = ""
    headers: dict[str, str] = {}
    secrets: dict[str, str] = {}
    base: str = ""
    only: tuple[Annotated[str, Meta(min_length=1, max_length=200)], ...] = ()

    @property
    def place(self) -> str:
        """The name of the field that says where the server is."""
        return next(name for name in _PLACES if getattr(self, name))

    @property
    def names_secret(self) -> bool:
        """Whether a secret of the tenant is sent to the place."""
        return bool(self.secrets) or any(_SECRET.search(value) for value in self.headers.values())


class ServerCard(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is kept of a server beside its text, for `PublicationInUse.about`.

    Attributes:
        description: what the place is good for.
        tools: its tools as they were published, by their names there.
        digests: what each of them is known by, by its name.
    """

    description: str = ""
    tools: tuple[Tool, ...] = ()
    digests: Mapping[str, str] = {}


class ServerPlaces(Protocol):
    """Opens the servers of one tenant."""

    async def look(self, definition: ServerDefinition) -> ServerCard:
        """The tools of a server as they are now. No tool is called.

        Raises:
            BadText: the server can not be reached, or may not be.
        """

    def open(self, definition: ServerDefinition, card: ServerCard) -> Toolset:
        """The tools of a server, pinned, by their names there. Nothing is connected before one is called."""


def read_server(text: str) -> ServerDefinition:
    """The server that a text defines.

    Args:
        text: JSON, YAML or TOML.

    Raises:
        OperatorOnly: the text wants a program to be started here.
        BadText: something is wrong with it; each problem names its place and what would be right.
    """
    value = read_any_text(text).value
    local = [name for name in _LOCAL if name in value] if isinstance(value, dict) else []
    if local:
        told = f"{local[0]}: only the operator of this machine starts programs: `actum mcp add`"
        raise OperatorOnly([TextProblem(told, hint="give a url", path=local[0])])
    found = read_struct(text, HEADER, ServerDefinition)
    problems: list[TextProblem] = []
    try:
        checked_name(found.name)
    except UsageError as error:
        problems.append(TextProblem(error.sentence, path="name"))
    places = [name for name in _PLACES if getattr(found, name)]
    if len(places) != 1:
        told = f"a server is at one place, and here are {len(places)}: {', '.join(places) or 'none'}"
        problems.append(TextProblem(told, hint=f"write one of {', '.join(_PLACES)}"))
    for name, wanted in (("headers", ("url", "a2a")), ("secrets", ("openapi",)), ("base", ("openapi",))):
        if getattr(found, name) and not set(places) & set(wanted):
            problems.append(TextProblem(f"{name} goes with {' or '.join(wanted)}", hint="leave it out", path=name))
    for name, texts in (("description", [found.description]), ("headers", [*found.headers.values()])):
        if any(plain(each) != each for each in texts):
            problems.append(TextProblem(f"{name} has characters that nobody sees", hint="take them out", path=name))
    if problems:
        raise BadText(problems)
    return found


def read_server_card(about: str) -> ServerCard | None:
    """The card of a publication; None where this version of the program can not read it."""
    try:
        return msgspec.json.decode(about, type=ServerCard)
    except (msgspec.MsgspecError, UsageError):
        return None


def servers_differ(old: str, new: str) -> Sequence[DefinitionChange]:
    """How two definitions differ, field by field.

    Raises:
        BadText: one of the texts is no server.

    >>> [(each.kind, each.place, each.new) for each in servers_differ("name: a\\nurl: x", "name: a\\na2a: y")]
    [('added', 'a2a', 'y'), ('removed', 'url', None)]
    """
    return fields_differ(_fields(read_server(old)), _fields(read_server(new)))


def _fields(server: ServerDefinition) -> JsonObject:
    found: dict[str, Json] = msgspec.to_builtins(server, builtin_types=())
    return found


def shown_name(server: str, tool: Tool) -> Tool:
    """A tool of a server as others see it: under the name of both, and as somebody else's."""
    return structs.replace(tool, name=f"{server}_{tool.name}", foreign=True)
