"""Agents whose callers can not all read a collection that the agent has as a tool."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from ...compose.settings import Settings
from ...compose.tools import knowing_agents
from ...core.interfaces import Journal
from ...knowledge.collections import readers_of, take_into_use
from ...knowledge.tables import COLLECTIONS
from ...knowledge.unread import UnreadCollection, unread


async def unread_collections(
    settings: Settings, opened: AbstractAsyncContextManager[Journal]
) -> list[UnreadCollection]:
    """The collections that not all callers of the agents of the settings can read, as far as the tables say who calls.

    Args:
        settings: with the tables of the agents.
        opened: opens the journal beside which the collections are kept. A collection that is made later is not looked
            at, and no journal is opened where no agent has one.
    """
    agents = knowing_agents(settings)
    if not agents:
        return []
    async with opened as journal:
        rows = await (await take_into_use(journal)).find("", COLLECTIONS)
    return [found for row in rows for found in unread(agents, row.name, row.owner, readers_of(row))]
