"""Agents whose callers can not all read a collection that the agent has as a tool."""

from __future__ import annotations

import os
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from ...agents.declared import AGENT, published_knowing
from ...compose.journals import journal_place
from ...compose.settings import Settings
from ...compose.tools import knowing_agents
from ...core.interfaces import Journal
from ...knowledge.citing.sources import ADDRESS
from ...knowledge.collections import readers_of, take_into_use
from ...knowledge.tables import COLLECTIONS
from ...knowledge.unread import UnreadCollection, unread
from ...storage.place import SCHEMES


async def unread_collections(
    settings: Settings, opened: AbstractAsyncContextManager[Journal]
) -> list[UnreadCollection]:
    """The collections that not all callers of an agent can read, as far as its `users` and `roles` say who calls.

    The agents are those of the settings and those that were published.

    Args:
        settings: with the tables of the agents.
        opened: opens the journal beside which the collections are kept. A collection that is made later is not looked
            at, and no journal is made for this.

    Raises:
        ActumError: the journal can not be opened, or does not answer.
    """
    if not _has_journal(settings):
        return []
    async with opened as journal:
        published = await journal.definitions.mentioning(AGENT, ADDRESS)
        agents = [*knowing_agents(settings), *published_knowing(published)]
        rows = await (await take_into_use(journal)).find("", COLLECTIONS)
    return [found for row in rows for found in unread(agents, row.name, row.owner, readers_of(row))]


def _has_journal(settings: Settings) -> bool:
    """Whether there may be collections and published agents: without the file of a journal there are none yet."""
    place = journal_place(settings, os.environ)
    return place.startswith(SCHEMES) or Path(place).is_file()
