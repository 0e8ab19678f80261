"""Several MCP servers at once, as one toolset: one that hangs or does not start costs its own tools only.

All are looked at side by side, and none is waited for longer than its toolset's `wait_s`. `problems` says what is wrong
with a server. The server is tried again after a while, and its tools are taken in when it has listed them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Self

from ...core.call import ToolCall, ToolResult
from ...core.clock import SystemClock
from ...core.errors import (
    ActumError,
    UnknownName,
    UnknownTool,
    UsageError,
)
from ...core.interfaces import Clock, Context
from ...core.tool import Tool
from .toolset import McpToolset


class McpHost:
    """Several servers.

    Args:
        toolsets: one for each server; their names differ.
        clock: time.

    Attributes:
        clock: time.

    Raises:
        UsageError: two servers have one name.
    """

    def __init__(self, toolsets: Sequence[McpToolset], *, clock: Clock | None = None) -> None:
        self._toolsets = {toolset.server.name: toolset for toolset in toolsets}
        if len(self._toolsets) != len(toolsets):
            raise UsageError("two MCP servers have one name: it is what their tools are known by here")
        self.clock: Clock = clock or SystemClock()
        self._homes: dict[str, McpToolset] = {}
        self._refused: dict[str, str] = {}

    @property
    def servers(self) -> Mapping[str, McpToolset]:
        """The toolset of each server by its name."""
        return self._toolsets

    @property
    def problems(self) -> Mapping[str, str]:
        """What is the matter with servers, in a sentence each, by name; those that do well are not in it."""
        found = {name: toolset.problem or self._refused.get(name, "") for name, toolset in self._toolsets.items()}
        return {name: problem for name, problem in found.items() if problem}

    def server(self, name: str) -> McpToolset:
        """The toolset of a server.

        Raises:
            UnknownName: there is none of this name.
        """
        if name not in self._toolsets:
            raise UnknownName(
                "there is no MCP server {name!r}; there are: {known}",
                name=name,
                known=", ".join(self._toolsets) or "none",
            )
        return self._toolsets[name]

    @property
    def generation(self) -> int:
        """Changes when the tools of a server do, and when one that failed is to be tried again."""
        return sum(toolset.generation for toolset in self._toolsets.values())

    async def list_tools(self) -> Sequence[Tool]:
        """The tools of all servers, as far as they are known."""
        listed = await asyncio.gather(*map(self._list, self._toolsets.values()))
        self._homes = {
            tool.name: toolset for toolset, tools in zip(self._toolsets.values(), listed, strict=True) for tool in tools
        }
        return [tool for tools in listed for tool in tools]

    async def _list(self, toolset: McpToolset) -> Sequence[Tool]:
        name = toolset.server.name
        self._refused.pop(name, None)
        try:
            return await toolset.list_tools()
        except ActumError as error:
            self._refused[name] = str(error)
        return ()

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Make a call by the server that has the tool."""
        toolset = self._homes.get(call.name)
        if toolset is None:
            raise UnknownTool("{call} is not there any more.", call=call.name)
        return await toolset.execute(call, context)

    async def close(self) -> None:
        """End all servers."""
        await asyncio.gather(*(toolset.close() for toolset in self._toolsets.values()))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
