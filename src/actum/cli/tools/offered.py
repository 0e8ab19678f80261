"""The tools of the settings, and those that a tenant has published beside them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from ...compose.administration import open_application
from ...compose.agents import list_tools
from ...core.stored.definitions import PublicationInUse
from ...core.tool import Tool
from ...server.api.api import Api
from ...server.api.workflows.kind import WORKFLOWS
from ...toolsets.declared.published import KIND as TOOL
from ...toolsets.declared.server import SERVER
from .. import loading, options
from ..language import tr
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
                left_out = await _left_out(app, published, tenant)
        for kind, line in left_out:
            terminal.error(
                "{kind} {name} can not be read, and is left out: publish its file anew; `actum doctor` says more",
                kind=tr(kind),
                name=f"{line.name}@{line.number}",
            )
        names = {tool.name for tool in own}
        return [*own, *(tool for tool in published.values() if tool.name not in names)]

    return asyncio.run(command())


async def _left_out(app: Api, listed: Mapping[str, Tool], tenant: str) -> list[tuple[str, PublicationInUse]]:
    """What a tenant has in use that gives no tool, since this version of the program can not read it."""
    found: list[tuple[str, PublicationInUse]] = []
    for kind in (TOOL, SERVER, WORKFLOWS.name):
        for line in await app.journal.definitions.in_use(kind, tenant=tenant):
            is_there = (
                any(name.startswith(f"{line.name}_") for name in listed) if kind == SERVER else line.name in listed
            )
            found += [] if is_there else [(kind, line)]
    return found
