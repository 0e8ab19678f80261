"""What an agent is, as digests: whether an agent in another process is the same agent, and what differs. Pure.

An agent with a name can be built again in another process (`compose.agents`). Its digest covers what decides what the
agent does: the model, how the model is asked, instructions, definitions of tools, policy, limits, the shape of the
answer, and the agents below. The digest depends on no path, no order of tables and no process, and no secret goes into
it: of headers only the names. Of a function only the definition is covered (`@tool(version=...)` says that the code
behind it changed). Tools of MCP servers come and go while a run goes on: of a server only its name and address are
covered, and the run compares the definitions themselves; see `Runner.taken_up`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from fnmatch import fnmatchcase
from typing import Protocol, runtime_checkable

import msgspec
from msgspec import Struct

from ..core.json import Json, JsonObject
from ..core.tool import Tool
from ..dialects.base import Dialect
from ..memory.memory import Memory, MemoryWord
from ..runs.tool_search import SEARCH_TOOL

PART_CHARS = 32
"""The number of characters of each part's digest on record: 128 bits."""

_sorted = msgspec.json.Encoder(order="sorted")


class Naming(Struct, frozen=True, kw_only=True):
    """What an agent has besides its parts once it is known by a name.

    Attributes:
        name: the name.
        description: what the agent is good for, for an agent that may hand tasks to it.
        users, roles: who may use the agent: patterns of principals, and roles; the user must have one of the roles.
            Empty: anybody.
        memory: what the agent remembers, as for `Agent`; None for what it remembers by itself.
        servers: the MCP servers that it uses, with the addresses of those that have one.
        labels: what the operator says of tools, as JSON.
        dialect: how the model says a call, as `dialect_part`, where the model was opened before the agent was made.
    """

    name: str
    description: str = ""
    users: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    memory: Memory | MemoryWord | None = None
    servers: tuple[str, ...] = ()
    labels: JsonObject = {}
    dialect: Json = ""

    def lets_in(self, principal: str, roles: Collection[str]) -> bool:
        """Whether this user may use the agent: one of `users` or of `roles` fits."""
        if not (self.users or self.roles):
            return True
        named = bool(principal) and any(fnmatchcase(principal, user) for user in self.users)
        return named or not {*self.roles}.isdisjoint(roles)


class AgentRef(Struct, frozen=True, kw_only=True):
    """An agent as one process tells another of it: its name, and the digest of what the agent has to be.

    Attributes:
        name: in the settings of both processes.
        digest: `digest_of` its parts.
        parts: the digest of each part.
    """

    name: str
    digest: str
    parts: dict[str, str]


@runtime_checkable
class Digested(Protocol):
    """A policy that can tell by a digest whether it is the same policy in another process."""

    @property
    def digest(self) -> str:
        """SHA-256 of what it decides by, hexadecimal."""


@runtime_checkable
class KnowsRoles(Protocol):
    """A policy that knows the roles of users."""

    def roles_of(self, principal: str) -> AbstractSet[str]:
        """The roles of this user."""


def policy_part(policy: object) -> Json:
    """What tells a policy from others: its digest; of a policy of the program's own only the name of its class."""
    return policy.digest if isinstance(policy, Digested) else type(policy).__qualname__


def dialect_part(dialect: str | Dialect) -> Json:
    """What tells a dialect from others: its name, and the options that it was made with."""
    if isinstance(dialect, str):
        return dialect
    options = msgspec.structs.asdict(dialect) if isinstance(dialect, Struct) else {}
    return [dialect.name, {name: value for name, value in options.items() if isinstance(value, str | bool | int)}]


def own_tools(tools: Sequence[Tool], brought: Sequence[Tool]) -> list[str]:
    """The digests of the tools that are part of an agent: neither foreign, nor the tool that finds others.

    Args:
        tools: all that the agent has.
        brought: by the client of one run.
    """
    others = {tool.name for tool in brought}
    return sorted(
        tool.digest for tool in tools if not tool.foreign and tool is not SEARCH_TOOL and tool.name not in others
    )


def part(value: object) -> str:
    """The digest of one part: anything that can be JSON."""
    return hashlib.sha256(_sorted.encode(value)).hexdigest()[:PART_CHARS]


def digest_of(parts: Mapping[str, str]) -> str:
    """The digest of an agent with these parts."""
    return hashlib.sha256(_sorted.encode(dict(parts))).hexdigest()


def differing(one: Mapping[str, str], other: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the parts that are not the same in both."""
    return tuple(sorted(name for name in {*one, *other} if one.get(name) != other.get(name)))
