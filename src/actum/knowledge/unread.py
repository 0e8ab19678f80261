"""Agents whose callers can not all read a collection that the agent has as a tool. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from msgspec import Struct

from .citing.sources import ADDRESS


class KnowingAgent(Struct, frozen=True):
    """An agent that has collections as tools.

    Attributes:
        agent: its name.
        collections: the names of the collections.
        callers: who may use the agent, as readers are written: `user:NAME`, which may hold patterns, and `role:NAME`;
            empty for everybody.
    """

    agent: str
    collections: tuple[str, ...]
    callers: tuple[str, ...]


class UnreadCollection(Struct, frozen=True):
    """A collection that not all callers of an agent can read.

    Attributes:
        agent: the name of the agent.
        collection: the name of the collection.
        command: lets them read it; safe to give to a shell, whatever a published text calls its callers.
    """

    agent: str
    collection: str
    command: str

    def __str__(self) -> str:
        return f"{self.agent}: not all who may use this agent can read the collection {self.collection}"


def knowing_agent(
    agent: str, tools: Iterable[object], *, users: Sequence[str], roles: Sequence[str]
) -> KnowingAgent | None:
    """An agent with the collections among its tools; None where there are none.

    Args:
        agent: its name.
        tools: its tools, as settings and texts name them.
        users, roles: who may use the agent; both empty for everybody.

    >>> knowing_agent("desk", ["add", "knowledge:rules"], users=["bob"], roles=["staff"])
    KnowingAgent(agent='desk', collections=('rules',), callers=('role:staff', 'user:bob'))
    """
    named = [each for each in tools if isinstance(each, str) and each.startswith(ADDRESS)]
    callers = (*(f"role:{role}" for role in roles), *(f"user:{user}" for user in users))
    return KnowingAgent(agent, tuple([each.removeprefix(ADDRESS) for each in named]), callers) if named else None


def unread(
    agents: Iterable[KnowingAgent], collection: str, owner: str, readers: Sequence[str]
) -> list[UnreadCollection]:
    """The agents whose callers can not all read a collection.

    Args:
        agents: those that have collections.
        collection: the name of the collection.
        owner: of the collection.
        readers: who may read it beside the owner.

    >>> desk = KnowingAgent("desk", ("rules",), ("role:staff", "user:bob"))
    >>> unread([desk], "rules", "bob", ["user:eve"])[0].command
    'actum knowledge readers rules user:eve role:staff'
    """
    found: list[UnreadCollection] = []
    for each in agents:
        missing = [caller for caller in each.callers if caller not in readers and caller != f"user:{owner}"]
        if "all" in readers or collection not in each.collections or (each.callers and not missing):
            continue
        has_patterns = any(sign in caller for caller in missing for sign in "*?[")
        wanted = ["all"] if not each.callers or has_patterns else [*readers, *missing]
        command = shlex.join(["actum", "knowledge", "readers", collection, *wanted])
        found.append(UnreadCollection(each.agent, collection, command))
    return found
