"""Opens the servers that tenants have published: MCP servers, APIs and remote agents.

What a tenant has published trusts no address: not even the named one may lead inside, unless the operator has opened
it. A tool is called only as it was published: one that is another by now is held back.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from fnmatch import fnmatchcase

from msgspec import structs

from ...core.call import ToolCall, ToolResult
from ...core.definition import BadText, TextProblem
from ...core.errors import ActumError, Unavailable, UnknownTool, UsageError
from ...core.interfaces import Context, Toolset
from ...core.language.sentence import Sentence
from ...core.tool import Tool
from ...core.user import User
from ...protocols.a2a.remote_agent import RemoteAgent
from ...protocols.mcp.config import McpServer
from ...protocols.mcp.document import server_of
from ...toolsets import mcp as mcp_tools
from ...toolsets.a2a.toolset import A2AToolset
from ...toolsets.declared.server import TOOLS_MAX, ServerCard, ServerDefinition
from ...toolsets.http.toolset import ApiToolset
from ...transport.egress import Egress
from ...transport.fetcher import Fetcher
from ...transport.guard import AddressRefused, Guard
from ...transport.http import HttpFailure
from ..apis import ApiChoice, DocumentSource, read_source, set_up
from ..secrets import open_secrets

ASK = "ask"
"""The name of the one tool of a server that is an agent."""
_INLINE = "https://document.invalid/"
"""The address of a document whose text is in the definition: no address in it is relative to a real one."""


class ServersOfTenant:
    """Opens the servers of one tenant; see `ServerPlaces`.

    Args:
        tenant: the tenant.
        environment: the variables of this process.
        egress: the operator's rules for outgoing calls.
        fetcher: sends requests that trust no address.
    """

    def __init__(self, tenant: str, environment: Mapping[str, str], egress: Egress, fetcher: Fetcher) -> None:
        self._tenant = tenant
        self._environment = environment
        self._egress = egress
        self._fetcher = fetcher

    async def look(self, definition: ServerDefinition) -> ServerCard:
        """The tools of a server as they are now; see `ServerPlaces.look`.

        Raises:
            BadText: the server can not be reached, or may not be.
        """
        try:
            await self._check(definition.url or definition.a2a or definition.base)
            async with AsyncExitStack() as stack:
                toolset, digests = await self._opened(definition)
                if isinstance(toolset, mcp_tools.McpToolset | A2AToolset):  # that of an API shares its connections
                    await stack.enter_async_context(toolset)
                tools = {_bare(tool.name, definition): tool for tool in await toolset.list_tools()}
        except BadText:
            raise
        except (ActumError, HttpFailure) as error:
            raise BadText([TextProblem(str(error)[:1_000], path=definition.place)]) from None
        kept = {name: tool for name, tool in tools.items() if _is_meant(name, definition)}
        if not kept or len(kept) > TOOLS_MAX:
            told = (
                f"the server has {len(kept)} tools that are meant" if kept else "the server has no tool that is meant"
            )
            raise BadText([TextProblem(told, hint="write only: [find_*]", path="only")])
        known = {name: digests.get(name, tool.digest) for name, tool in kept.items()}
        bare = tuple(structs.replace(tool, name=name) for name, tool in kept.items())
        return ServerCard(description=definition.description, tools=bare, digests=known)

    def open(self, definition: ServerDefinition, card: ServerCard) -> Toolset:
        """The tools of a server, pinned; see `ServerPlaces.open`."""
        return _Pinned(self, definition, card)

    async def opened(self, definition: ServerDefinition, pinned: Mapping[str, str]) -> Toolset:
        """The toolset of a server, whose operations of an API are those that were pinned."""
        return (await self._opened(definition, pinned))[0]

    async def _check(self, address: str) -> None:
        if address:
            try:
                await Guard(egress=self._egress).is_known(address)  # a name that is not known now may be later
            except AddressRefused as refused:
                told = Sentence("the address can not be called: {detail}", detail=str(refused))
                raise BadText([TextProblem(told)]) from None

    async def _opened(
        self, definition: ServerDefinition, pinned: Mapping[str, str] | None = None
    ) -> tuple[Toolset, Mapping[str, str]]:
        """The toolset, and what its tools are known by where that is not their definition."""
        if definition.openapi:
            return await self._api(definition, pinned)
        guard = Guard(egress=self._egress)
        if definition.a2a:
            agent = RemoteAgent(url=definition.a2a, name=ASK, headers=definition.headers)
            return A2AToolset(agent, guard=guard), {}
        server: McpServer = server_of(definition.name, {"url": definition.url, "headers": {**definition.headers}}, {})
        secrets = open_secrets(self._environment).of(User(self._tenant))
        return mcp_tools.McpToolset(server, approve="all", secrets=secrets, guard=guard), {}

    async def _api(
        self, definition: ServerDefinition, pinned: Mapping[str, str] | None
    ) -> tuple[Toolset, Mapping[str, str]]:
        guard = Guard(egress=self._egress)
        is_address = definition.openapi.startswith(("https://", "http://")) and "\n" not in definition.openapi
        found = DocumentSource(_INLINE, definition.openapi.encode())
        if is_address:
            found = await read_source(definition.openapi, self._egress, guard=guard)
        wanted = ApiChoice(definition.name, definition.only, definition.base, secrets=definition.secrets, search=False)
        setup = await set_up(wanted, definition.openapi if is_address else "", found, self._egress, guard=guard)
        for place in setup.origins:
            if place.startswith(_INLINE.rstrip("/")):
                told = "the document does not say where the API is"
                raise BadText([TextProblem(told, hint="write base: https://api.example.com", path="base")])
            await self._check(place)
        digests = {each.tool.name: setup.digest_of(each) for each in setup.api.operations}
        approved = digests if pinned is None else dict(pinned)
        setup = structs.replace(setup, approved=approved)
        return ApiToolset(setup, egress=self._egress, fetcher=self._fetcher), digests


class _Pinned:
    """The tools of a server as they were published. The server is reached when one of them is called.

    Args:
        places: opens the server.
        definition: the server.
        card: its tools as they were published.
    """

    generation = 0

    def __init__(self, places: ServersOfTenant, definition: ServerDefinition, card: ServerCard) -> None:
        self._places = places
        self._definition = definition
        self._card = card
        self._toolset: Toolset | None = None

    async def list_tools(self) -> tuple[Tool, ...]:
        """The tools as they were published."""
        return self._card.tools

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Make the call, of a tool that is the one that was published.

        Raises:
            UnknownTool: there is no such tool.
            Unavailable: the server can not be reached, or the tool is another one by now.
        """
        if call.name not in self._card.digests:
            raise UnknownTool("There is no tool {call!r}.", call=call.name)
        if self._toolset is None:
            try:
                self._toolset = await self._places.opened(self._definition, self._card.digests)
            except (UsageError, HttpFailure) as error:
                raise Unavailable("The server can not be used now: {why}. Nothing was done.", why=error) from None
        listed = {_bare(tool.name, self._definition): tool for tool in await self._toolset.list_tools()}
        own = listed.get(call.name)
        if own is None or not (self._definition.openapi or own.digest == self._card.digests[call.name]):
            raise Unavailable(
                "The tool {call!r} is another one than was published, or is gone. Nothing was done. A person who "
                "publishes the server anew approves the tool as it is now.",
                call=call.name,
            )
        return await self._toolset.execute(structs.replace(call, name=own.name), context)


def _bare(name: str, definition: ServerDefinition) -> str:
    """The name of a tool at its place. Those of an MCP server are told with the name of the server before them."""
    return name.removeprefix(f"{definition.name}_") if definition.url else name


def _is_meant(name: str, definition: ServerDefinition) -> bool:
    return bool(definition.openapi) or not definition.only or any(fnmatchcase(name, each) for each in definition.only)
