"""Agents whose callers can not all read a collection that the agent reaches by its tools. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from msgspec import Struct

from .citing.sources import ADDRESS, SEARCH_TOOL
from .collections import readers_of
from .tables import CollectionRow

ALL_TOOLS = "*"
"""What an agent calls that has all published tools."""


class CallingPart(Struct, frozen=True):
    """An agent, a workflow or a published tool, with what it may call.

    Attributes:
        name: its name; `books@3` for a version that is not in use.
        calls: what its tools, agents and workflows are called, as they are written: `add` or `add@3`; `ALL_TOOLS` for
            all tools that are published.
        callers: who may use an agent, as readers are written: `user:NAME`, which may hold patterns, and `role:NAME`;
            empty for everybody. None for a workflow or a tool, which have no callers of their own.
        is_published: whether it was published, and is no part of the settings.
        is_tool: whether it is a tool.
        number: that of the publication; 0 for none.
    """

    name: str
    calls: frozenset[str]
    callers: tuple[str, ...] | None = None
    is_published: bool = False
    is_tool: bool = False
    number: int = 0

    @property
    def called(self) -> tuple[str, ...]:
        """The names by which others call it.

        >>> CallingPart("desk", frozenset(), number=3).called, CallingPart("desk@2", frozenset(), number=2).called
        (('desk', 'desk@3'), ('desk@2',))
        """
        is_in_use = self.number and "@" not in self.name
        return (self.name, f"{self.name}@{self.number}") if is_in_use else (self.name,)


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


def callers_of(users: Sequence[str], roles: Sequence[str]) -> tuple[str, ...]:
    """Those who may use an agent, as readers are written; empty for everybody.

    >>> callers_of(["bob"], ["staff"])
    ('role:staff', 'user:bob')
    """
    return (*(f"role:{role}" for role in roles), *(f"user:{user}" for user in users))


def tools_of(collection: str) -> list[str]:
    """What the tool of a collection is called: where an agent is given it, and where a model or a workflow calls it."""
    return [f"{ADDRESS}{collection}", f"{SEARCH_TOOL}{collection}"]


def unread_by(part: CallingPart, collection: CollectionRow, *, tenant: str = "") -> UnreadCollection | None:
    """The collection, where not all callers of an agent that reaches the collection can read it.

    Args:
        part: the agent; of what is no agent there is nothing to tell.
        collection: the collection.
        tenant: whose collection it is.

    >>> rules = CollectionRow("rules", "col_1", "bob", "user:eve", "", 0, 0, 0, 0.0, 0.0)
    >>> desk = CallingPart("desk", frozenset(["knowledge:rules"]), callers_of(["bob"], ["staff"]))
    >>> unread_by(desk, rules).command
    'actum knowledge readers rules user:eve role:staff'
    """
    readers, callers = readers_of(collection), part.callers
    if callers is None or "all" in readers:
        return None
    missing = [each for each in callers if each not in readers and each != f"user:{collection.owner}"]
    if callers and not missing:
        return None
    has_patterns = any(sign in caller for caller in missing for sign in "*?[")
    wanted = ["all"] if not callers or has_patterns else [*readers, *missing]
    whose = ["--tenant", tenant] if tenant else []
    command = shlex.join(["actum", "knowledge", "readers", collection.name, *wanted, *whose])
    return UnreadCollection(part.name, collection.name, command)
