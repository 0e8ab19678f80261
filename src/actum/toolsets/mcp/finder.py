"""`mcp_list_tools` and `mcp_call_tool`: tools for an agent that finds MCP servers and their tools while it runs.

A server is one that was configured, by its name; where the program allows it also the address of one, which has to lead
to the open internet. A tool is called through the toolset of its server, so that what is kept back there is kept back
here, and its arguments and result are held to its own schemas. A policy sees only the name `mcp_call_tool`: the server
and the tool are in its arguments.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal, Self

import msgspec

from ...core.call import ToolCall, ToolResult
from ...core.errors import InvalidArguments, ToolError, UnknownTool
from ...core.interfaces import Context
from ...core.json import Json, JsonObject
from ...core.told_value import unfit
from ...core.tool import Tool
from ...protocols.mcp.config import McpServer, McpTransport
from ...schema.schema import compile_schema
from ...transport.guard import AddressRefused, Guard
from ...transport.http import HttpFailure
from ..wrappers import ToolLabels, labels_of
from .host import McpHost
from .listing import Usable
from .toolset import McpToolset

Prefix = Literal["mcp", "mcp_sse"]

NO_TOOL_LABELS: Mapping[str, ToolLabels] = {}
USUAL: tuple[Prefix, ...] = ("mcp",)

ADDRESSES_MAX = 16
"""The most servers by address that are held at a time; the one that was used longest ago gives up its place."""

_TRANSPORTS: dict[str, McpTransport] = {"mcp": "", "mcp_sse": "sse"}


class McpFinder:
    """The two tools.

    Args:
        host: the servers that were configured.
        urls: whether a server may also be given by its address.
        prefixes: under which names they are offered: `mcp_list_tools`, and `mcp_sse_list_tools` for servers by address
            that speak the old way over HTTP.
        guard: says which addresses may be reached; those of the open internet by default.
        labels: the operator's word on the tools of the servers, by a name or a pattern of names, such as `files_*`. The
            labels of their results hold here too.
    """

    generation = 0

    def __init__(
        self,
        host: McpHost,
        *,
        urls: bool = False,
        prefixes: Collection[Prefix] = USUAL,
        guard: Guard | None = None,
        labels: Mapping[str, ToolLabels] = NO_TOOL_LABELS,
    ) -> None:
        self._host = host
        self._labels = labels
        self._urls = urls
        self._guard = guard or Guard()
        self._found: dict[tuple[str, McpTransport], McpToolset] = {}
        self._tools = tuple(tool for prefix in prefixes for tool in self._definitions(prefix))

    async def list_tools(self) -> Sequence[Tool]:
        """The two tools, under each of their names."""
        return self._tools

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """List the tools of a server, or call one.

        Raises:
            ToolError: there is no such server, or it may not be reached.
            UnknownTool: it has no such tool that may be used.
            CallError: as by `McpToolset.execute`.
        """
        lists = call.name.endswith("_list_tools")
        prefix = call.name.removesuffix("_list_tools" if lists else "_call_tool")
        toolset = await self._toolset(str(call.arguments["server"]), _TRANSPORTS[prefix])
        usable = {each.name: each for each in (await toolset.usable()).values()}
        if lists:
            told: list[Json] = [_told(each.tool, name) for name, each in usable.items()]
            return ToolResult(call.id, structured={"tools": told, "kept_back": len(toolset.quarantined)})
        return await self._call(toolset, usable, call, context)

    async def _call(
        self, toolset: McpToolset, usable: Mapping[str, Usable], call: ToolCall, context: Context
    ) -> ToolResult:
        chosen = usable.get(str(call.arguments["tool"]))
        if chosen is None:
            raise UnknownTool(
                "This server has no tool of that name that may be used. It has: {usable}.", usable=", ".join(usable)
            )
        tool, given = chosen.tool, call.arguments.get("arguments")
        schema = compile_schema(tool.parameters, where=tool.name, foreign=True)
        checked = schema.check(given if isinstance(given, dict) else {})
        if checked.problems:
            raise InvalidArguments(
                [msgspec.structs.replace(each, path=f"arguments.{each.path}".rstrip(".")) for each in checked.problems]
            )
        result = await toolset.execute(ToolCall(call.id, tool.name, checked.arguments), context)
        if tool.result is not None and result.structured is not msgspec.UNSET:
            problems = compile_schema(tool.result, where=tool.name, blanks=True).problems(result.structured)
            if problems:
                raise unfit(problems[0], result)
        fields = labels_of(tool.name, self._labels).labels
        return msgspec.structs.replace(result, labels=fields) if fields else result

    async def _toolset(self, server: str, transport: McpTransport) -> McpToolset:
        """The toolset of a server by its name or address.

        Raises:
            ToolError: there is none, or it may not be reached.
        """
        known = self._host.servers
        if server in known:
            return known[server]
        of_address = next((each for each in known.values() if each.server.url == server and server), None)
        if of_address is not None:
            return of_address
        if not self._urls:
            raise ToolError("There is no server of this name. There are: {known}.", known=", ".join(known) or "none")
        try:
            await self._guard.check(server)
        except AddressRefused as refused:
            raise ToolError("This server may not be reached: {why}.", why=refused) from None
        except HttpFailure as failure:
            raise ToolError("This server can not be reached: {why}.", why=failure) from None
        key = (server, transport)
        toolset = self._found.pop(key, None) or McpToolset(
            McpServer(name="mcp", url=server, transport=transport), guard=self._guard, clock=self._host.clock
        )
        self._found[key] = toolset
        if len(self._found) > ADDRESSES_MAX:
            await self._found.pop(next(iter(self._found))).close()
        return toolset

    def _definitions(self, prefix: Prefix) -> tuple[Tool, Tool]:
        names: list[Json] = [*self._host.servers]
        server: JsonObject = {"type": "string", "description": "The server."}
        if self._urls:
            server["description"] = f"The server: its address, or one of these: {', '.join(map(str, names)) or 'none'}."
        elif names:
            server["enum"] = names
        return (
            Tool(
                name=f"{prefix}_list_tools",
                title="Tools of an MCP server",
                description="List the tools of an MCP server, each with its parameters.",
                parameters={"type": "object", "properties": {"server": server}, "required": ["server"]},
                effects=frozenset({"send"} if self._urls else {"read"}),
                sinks=("server",),
                foreign=True,
            ),
            Tool(
                name=f"{prefix}_call_tool",
                title="Call a tool of an MCP server",
                description=f"Call a tool of an MCP server, as {prefix}_list_tools tells it.",
                parameters={
                    "type": "object",
                    "properties": {
                        "server": server,
                        "tool": {"type": "string", "description": "The name of the tool."},
                        "arguments": {"type": "object", "description": "Its arguments, by its own parameters."},
                    },
                    "required": ["server", "tool"],
                },
                foreign=True,
                unjailed=any(toolset.server.unjailed for toolset in self._host.servers.values()),
            ),
        )

    async def close(self) -> None:
        """Leave the servers that were found by address; those of the host are its own."""
        while self._found:
            await self._found.popitem()[1].close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _told(tool: Tool, name: str) -> JsonObject:
    told: JsonObject = {"name": name, "description": tool.description, "parameters": tool.parameters}
    return {**told, "result": tool.result} if tool.result is not None else told
