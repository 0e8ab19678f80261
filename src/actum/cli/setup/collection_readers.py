"""Agents whose callers can not all read a collection that the agent reaches by its tools."""

from __future__ import annotations

import os
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from ...compose.agents import open_agents
from ...compose.journals import journal_place
from ...compose.published.collection_agents import calling_parts
from ...compose.settings import Settings
from ...core.interfaces import Journal
from ...journal.memory import MemoryJournal
from ...knowledge.collections import take_into_use
from ...knowledge.tables import COLLECTIONS
from ...knowledge.unread import UnreadCollection
from ...server.api.definitions.references import unread
from ...storage.place import SCHEMES


async def unread_collections(
    settings: Settings, opened: AbstractAsyncContextManager[Journal]
) -> list[UnreadCollection]:
    """The collections that not all callers of an agent can read, as far as its `users` and `roles` say who calls.

    The agents are those of the settings, also those in Python code, and those that were published. The collections are
    those of all tenants.

    Args:
        settings: with the tables of the agents. The code of agents in Python is loaded.
        opened: opens the journal beside which the collections are kept. A collection that is made later is not looked
            at, and no journal is made for this.

    Raises:
        ActumError: the journal can not be opened, or does not answer.
    """
    if not has_journal(settings):
        return []
    async with open_agents(settings, os.environ, Path.cwd(), journal=MemoryJournal()) as agents:
        own = calling_parts(settings, Path.cwd(), agents.get)
    async with opened as journal:
        rows = await (await take_into_use(journal)).find_everywhere(COLLECTIONS)
        several = [await unread(journal.definitions, row, tenant=tenant, own=own) for tenant, row in rows]
    return [each for found in several for each in found]


def has_journal(settings: Settings) -> bool:
    """Whether there may be collections and published definitions: without the file of a journal there are none yet."""
    place = journal_place(settings, os.environ)
    return place.startswith(SCHEMES) or Path(place).is_file()
