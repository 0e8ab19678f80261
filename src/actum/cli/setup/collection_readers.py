"""Agents whose callers can not all read a collection that the agent has as a tool."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

from msgspec import Struct

from ...compose.settings import AgentTable, Settings
from ...compose.tools import KNOWLEDGE
from ...core.interfaces import Journal
from ...knowledge.collections import readers_of, take_into_use
from ...knowledge.tables import COLLECTIONS


class UnreadCollection(Struct, frozen=True):
    """A collection that not all callers of an agent can read.

    Attributes:
        agent: the name of the agent.
        collection: the name of the collection.
        command: lets them read it.
    """

    agent: str
    collection: str
    command: str

    def __str__(self) -> str:
        return f"{self.agent}: not all who may use this agent can read the collection {self.collection}"


async def unread_collections(
    settings: Settings, opened: AbstractAsyncContextManager[Journal]
) -> list[UnreadCollection]:
    """The collections that not all callers of the agents of the settings can read, as far as the tables say who calls.

    Args:
        settings: with the tables of the agents.
        opened: opens the journal beside which the collections are kept. A collection that is made later is not looked
            at, and no journal is opened where no agent has one.
    """
    named = [(name, table, _collections(settings.of_agents[name])) for name, table in settings.agents.items()]
    if not any(each for _, _, each in named):
        return []
    async with opened as journal:
        rows = {each.name: each for each in await (await take_into_use(journal)).find("", COLLECTIONS)}
    return [
        found
        for name, table, collections in named
        for each in collections
        if each in rows and (found := _unread(name, table, each, rows[each].owner, readers_of(rows[each]))) is not None
    ]


def _collections(settings: Settings) -> list[str]:
    return [
        each.removeprefix(KNOWLEDGE) for each in settings.tools if isinstance(each, str) and each.startswith(KNOWLEDGE)
    ]


def _unread(
    agent: str, table: AgentTable, collection: str, owner: str, readers: Sequence[str]
) -> UnreadCollection | None:
    if "all" in readers:
        return None
    callers = [*(f"role:{role}" for role in table.roles), *(f"user:{user}" for user in table.users)]
    missing = [each for each in callers if each not in readers and each != f"user:{owner}"]
    if callers and not missing:
        return None
    has_patterns = any(sign in each for each in missing for sign in "*?[")
    wanted = ["all"] if not callers or has_patterns else [*readers, *missing]
    return UnreadCollection(agent, collection, f"actum knowledge readers {collection} {' '.join(wanted)}")
