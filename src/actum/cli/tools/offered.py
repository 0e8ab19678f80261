"""The tools of the settings, and those that a tenant has published beside them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ...compose.administration import open_application
from ...compose.agents import list_tools
from ...core.tool import Tool
from .. import loading, options
from ..show.terminal import Terminal


def offered_tools(terminal: Terminal, where: list[str] | None, mcp: list[str] | None, tenant: str) -> Sequence[Tool]:
    """The definitions of the tools that were named, and of the published ones. No journal is made for this.

    Args:
        where, mcp: as for `loading.listed_tools`.
        tenant: whose published tools are meant.
    """

    settings = options.read(tools=where, mcp=mcp)
    has_journal = options.has_journal(settings)

    async def command() -> Sequence[Tool]:
        async with loading.tools(settings, terminal) as loaded:
            own = await list_tools(loaded.tools, settings.tool_labels)
            if not has_journal:
                return own
            async with open_application(settings, loaded.tools) as app:
                published = await app.published.tools(tenant)
        names = {tool.name for tool in own}
        return [*own, *(tool for tool in published.values() if tool.name not in names)]

    return asyncio.run(command())
