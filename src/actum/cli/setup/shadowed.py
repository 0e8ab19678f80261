"""Published definitions whose names came into the settings later: what the operator set up counts, and not they."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from msgspec import Struct

from ...compose.agents import list_tools
from ...compose.settings import Settings
from ...compose.tools import load_tools
from ...core.interfaces import Journal
from ...core.stored.definitions import KindName
from .collection_readers import has_journal

_MEANINGS: Mapping[KindName, tuple[str, ...]] = {
    "tool": ("tool", "workflow", "agent"),
    "agent": ("agent", "workflow"),
    "workflow": ("workflow", "agent", "tool"),
}
"""What in the settings takes the place of a definition of a kind."""


class ShadowedDefinition(Struct, frozen=True):
    """A published definition that is not used.

    Attributes:
        kind, name: what it is, and what it is called.
        tenant: whose it is.
        means: what the settings have under this name: `tool`, `agent` or `workflow`.
    """

    kind: KindName
    name: str
    tenant: str
    means: str


async def shadowed_definitions(
    settings: Settings, opened: AbstractAsyncContextManager[Journal]
) -> list[ShadowedDefinition]:
    """The published definitions in whose place something of the settings is used.

    Args:
        settings: what the operator set up.
        opened: opens the journal that keeps the definitions. No journal is made for this.

    Raises:
        ActumError: the journal can not be opened, or the tools of the settings can not be loaded.
    """
    if not has_journal(settings):
        return []
    async with opened as journal:
        published = await journal.definitions.in_use_everywhere()
    if not published:
        return []
    tools = await list_tools(load_tools(settings, Path.cwd()), settings.tool_labels)
    names = {
        "tool": {tool.name for tool in tools},
        "agent": {*settings.agents},
        "workflow": {*settings.workflows},
    }
    return [
        ShadowedDefinition(kind, name, tenant, means)
        for tenant, kind, name in published
        for means in [each for each in _MEANINGS.get(kind, ()) if name in names[each]][:1]
    ]
