"""Tools as a kind of definitions: declarations. Drafts and publications are at `/v1/tools/{name}/...`."""

from __future__ import annotations

from ....core.definition import ReadDefinition
from ....core.identity import Identity
from ....core.tool import SEARCH
from ....features.definition import DefinitionKind
from ....journal.excerpt import READ_RESULT
from ....runs.definitions import Publisher
from ....toolsets.declared.declaration import read_declaration
from ....toolsets.declared.difference import difference
from ....toolsets.declared.published import KIND
from ..api import Api
from ..definitions.operations import operations_of

_CODE = ("python", "shell", "module")
_OWN = frozenset({SEARCH, READ_RESULT})


async def _open(api: Api, who: Identity) -> Publisher | None:
    """What publishes the tools of the caller's tenant; None where nobody can publish any."""
    tools = api.published.tools_of(who.tenant)
    if tools is None:
        return None

    async def check(name: str, text: str) -> ReadDefinition:
        checked = await tools.check(name, text, who)
        declaration = checked.declaration
        return ReadDefinition(
            name=declaration.name,
            about=checked.about,
            names_secret=declaration.http is not None and bool(declaration.http.secret),
            is_code=declaration.place in _CODE,
            remarks=checked.remarks,
        )

    return Publisher(api.journal, KIND, "tools", check, tenant=who.tenant, means=tools.means)


async def _means(api: Api, who: Identity, name: str) -> str:
    """What else a name, or one that looks much the same, means on this server; empty for nothing."""
    if name in _OWN:
        return "a name that this program uses itself"
    if name in await api.published.listed(who.tenant):
        return "a published workflow"
    if name in api.workflows.names:
        return "a workflow of the settings"
    if name in api.agents.names:
        return "an agent"
    own = api.published.tools_of(who.tenant)
    line = (await own.listed()).get(name) if own is not None else None
    if line is not None and line.server:
        return f"a tool of the server {line.server!r}"
    for tool in await api.runner.list_tools():
        if tool.name == name:
            return "a tool"
        if _folded(tool.name) == _folded(name):
            return f"too much like the tool {tool.name!r}"
    return ""


def _folded(name: str) -> str:
    return name.casefold().translate(_ALIKE)


_ALIKE = str.maketrans({"-": "_", ".": "_", "0": "o", "1": "l"})


def _read(text: str) -> ReadDefinition:
    return ReadDefinition(name=read_declaration(text).name)


TOOLS = DefinitionKind(
    name=KIND,
    plural="tools",
    read=_read,
    difference=difference,
    open=_open,
    means=_means,
    may_see=lambda who, name: who.may_use("tool", name),
    readers=("build",),
    builders=("build",),
    uses_tools=True,
    own=frozenset({"list", "get"}),  # with those of the server, and their schemas
    stops=True,
    is_listed=False,
    example="weather.json",
    differs_in=": fields and parameters, and what breaks those who call it",
)
OPERATIONS = operations_of(TOOLS)
