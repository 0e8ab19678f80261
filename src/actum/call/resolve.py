"""The tools of a run by name, each with its schema, which is compiled once and asked at every call."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import cached_property
from heapq import nlargest

import msgspec
from msgspec import Struct

from ..core.call import ToolCall
from ..core.cancellation import apart
from ..core.errors import BadTool, CallError, UnknownTool
from ..core.interfaces import Journal, ReservedTools, StandsForOthers, Toolset
from ..core.json import JsonObject
from ..core.policy import Facts
from ..core.process.worker_thread import off_loop
from ..core.secret_values import Path, paths_in, secret_paths, shown_call
from ..core.tool import ATTACHMENTS_PARAMETER, SEARCH, TASK_PARAMETERS, Tool, digest_of, innermost
from ..journal.excerpt import READ_RESULT
from ..schema.schema import Schema, compile_schema
from .canonical import Spot, spots

COMPARED_MAX = 30
"""30 names are compared letter by letter with one that does not exist: that takes some 60 µs each."""

COMPILED_MAX = 200
"""Schemas of at most 200 tools are compiled when they are listed, so that a bad schema is told before anything is done.
Of more tools, each schema is compiled at the first call: 10,000 schemas take 1.4 s and 260 MB, and few are called."""

_WORDS = re.compile(r"[_.\-]+")


class ResolvedTool(Struct, frozen=True, dict=True):
    """A tool and where it lives. Its schemas are made ready for use when they are first asked for.

    Attributes:
        toolset: None for a bare definition, which the program that uses actum carries out itself.
        standing: the toolset, where a call of the tool may be for another tool.
    """

    tool: Tool
    toolset: Toolset | None
    standing: StandsForOthers | None = None

    @cached_property
    def schema(self) -> Schema:
        """The schema of the arguments.

        Raises:
            BadTool: the definition has no schema that can be used.
        """
        tool = self.tool
        return compile_schema(tool.parameters, where=f"tool {tool.name!r}", foreign=not tool.paths_are_local)

    @cached_property
    def result(self) -> Schema | None:
        """The schema of the result; None where the tool declares none. Errors as for `schema`."""
        tool = self.tool
        if tool.result is None:
            return None
        where = f"result of tool {tool.name!r}"
        return compile_schema(tool.result, where=where, blanks=True, foreign=not tool.paths_are_local)

    @cached_property
    def spots(self) -> tuple[Spot, ...]:
        """Where paths and addresses stand in the arguments."""
        return spots(self.tool.parameters)

    @cached_property
    def secrets(self) -> tuple[Path, ...]:
        """Where the arguments hold secrets."""
        return secret_paths(self.tool.parameters)

    @cached_property
    def is_safe_by_itself(self) -> bool:
        """Whether the defence need not look at its calls: its toolset says so (`is_safe_by_itself = True`), since its
        calls are judged below, or take in words of the user alone. A foreign tool's word counts for nothing.
        """
        inside = [] if self.toolset is None or self.tool.foreign else list(innermost(self.toolset))
        return bool(inside) and all(getattr(each, "is_safe_by_itself", False) for each in inside)

    @cached_property
    def fault(self) -> BadTool | None:
        """Why no call of the tool can be made: its definition has a schema that can not be used."""
        try:
            _ = self.schema, self.result
        except BadTool as bad:
            return bad
        return None


class Catalog:
    """All tools that a run may use.

    Attributes:
        tools: their definitions, in the order of the toolsets.
    """

    def __init__(self, bound: Iterable[ResolvedTool]) -> None:
        self._bound: dict[str, ResolvedTool] = {}
        for item in bound:
            if item.tool.name in self._bound:
                raise BadTool(
                    "two tools are called {tool!r}: put the toolset of one of them into "
                    'prefixed("x_", ...), renamed({{"new_name": {tool!r}}}, ...) or filtered(...) of '
                    "actum.toolsets.wrappers; in actum.toml an entry of `tools` has prefix, rename "
                    "and only for that",
                    tool=item.tool.name,
                )
            self._bound[item.tool.name] = item
        self.tools: tuple[Tool, ...] = tuple(item.tool for item in self._bound.values())

    @classmethod
    async def of(cls, toolsets: Sequence[Toolset], bare: Sequence[Tool] = (), known: Catalog | None = None) -> Catalog:
        """List the tools of several toolsets. All are asked side by side: one may be slow to tell.

        Args:
            bare: definitions without a toolset.
            known: an older catalog, whose compiled schemas are used again.

        Raises:
            BadTool: a name is used twice, or a schema is bad, where there are at most `COMPILED_MAX` tools.
        """
        listed: list[tuple[Tool, Toolset | None]] = [
            (tool, toolset) for toolset, told in await _told(toolsets) for tool in told
        ]
        listed += [(tool, None) for tool in bare]
        bound = [_bind(tool, toolset, known) for tool, toolset in listed]
        if len(bound) > COMPILED_MAX:
            return cls(bound)
        size = sum(len(msgspec.json.encode(each.tool.parameters)) for each in bound if "schema" not in each.__dict__)
        return await off_loop(size, _compiled, cls(bound))

    async def with_toolset(self, toolset: Toolset) -> Catalog:
        """This catalog and the tools of one more toolset."""
        return Catalog([*self._bound.values(), *[_bind(tool, toolset, self) for tool in await toolset.list_tools()]])

    async def hidden_from(self, journal: Journal, facts: Facts) -> frozenset[str]:
        """The names of the tools that do not exist for a user now; see `ReservedTools`."""
        return frozenset[str]().union(*[await each.hidden_from(journal, facts) for each in self._reserved])

    async def for_user(self, journal: Journal, facts: Facts) -> Catalog:
        """The tools that exist for a user now: for the same tools the same catalog.

        Args:
            journal, facts: as for `ReservedTools.hidden_from`.
        """
        if not self._reserved:
            return self
        hidden = await self.hidden_from(journal, facts)
        if hidden not in self._without:
            left = [bound for name, bound in self._bound.items() if name not in hidden]
            self._without[hidden] = Catalog(left) if len(left) < len(self._bound) else self
        return self._without[hidden]

    @property
    def reserved(self) -> frozenset[str]:
        """The names of the tools of toolsets that have tools for some users alone."""
        toolsets = set(map(id, self._reserved))
        return frozenset([name for name, bound in self._bound.items() if id(bound.toolset) in toolsets])

    @cached_property
    def _reserved(self) -> tuple[ReservedTools, ...]:
        """The toolsets that have tools for some users alone."""
        has = [each for each in self.toolsets if any(isinstance(inner, ReservedTools) for inner in innermost(each))]
        return tuple([each for each in has if isinstance(each, ReservedTools)])

    @cached_property
    def _without(self) -> dict[frozenset[str], Catalog]:
        """What is left without some tools."""
        return {}

    @cached_property
    def handing_over(self) -> Catalog:
        """The same tools in a run that has attachments: those that hand a task to an agent take them along."""
        if not any(tool.parameters == TASK_PARAMETERS for tool in self.tools):
            return self
        return Catalog([_with_attachments(bound) for bound in self._bound.values()])

    @cached_property
    def serving(self) -> tuple[Tool, ...]:
        """The tools by which runs are served: they find other tools, read on in a result, or tell how a task stands."""
        names = (SEARCH, READ_RESULT)
        return tuple([tool for tool in self.tools if not tool.foreign and (tool.polled or tool.name in names)])

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the definitions, under which the journal keeps them."""
        return digest_of(self.tools)

    @cached_property
    def size(self) -> int:
        """How many bytes all definitions are, as JSON."""
        return len(msgspec.json.encode(self.tools))

    def get(self, name: str) -> ResolvedTool | None:
        """The tool of exactly this name."""
        return self._bound.get(name)

    def tool(self, name: str) -> Tool | None:
        """The definition of the tool of exactly this name."""
        bound = self._bound.get(name)
        return None if bound is None else bound.tool

    def names_of(self, call: ToolCall) -> tuple[str, ...]:
        """The names by which limits know a call: of its tool, and of the tool that the call is for where its tool
        stands for others.
        """
        bound = self._bound.get(call.name)
        meant = None
        if bound is not None and bound.standing is not None:
            with suppress(CallError):  # a call that is turned away later
                meant = bound.standing.meant(call)
        return (call.name,) if meant is None else (call.name, meant[0].name)

    def secret_paths(self, call: ToolCall) -> Sequence[Path]:
        """Where the arguments of a call hold secrets. The call may be of a tool that is not here, or may not fit."""
        bound = self._bound.get(call.name)
        if bound is None:
            return paths_in(call.arguments, ())
        declared = bound.tool.parameters.get("properties")
        return paths_in(call.arguments, bound.secrets, declared if isinstance(declared, dict) else ())

    def shown(self, call: ToolCall) -> ToolCall:
        """A call without its secret values."""
        return shown_call(call, self.secret_paths(call))

    def trusted(self, name: str) -> tuple[str, ...]:
        """Which fields of the results of the tool of this name are declared to be trusted; of a foreign tool only those
        that the operator named.
        """
        bound = self._bound.get(name)
        return bound.tool.trusted if bound is not None and (bound.tool.vouched or not bound.tool.foreign) else ()

    @cached_property
    def labels(self) -> dict[str, dict[str, str]]:
        """The labels of the results of tools, by the name of the tool."""
        return {tool.name: tool.labels_believed for tool in self.tools if tool.labels_believed}

    def named_by(self, name: str) -> Mapping[str, str]:
        """By what records in the results of the tool of this name are named; of a foreign tool only what the operator
        said.
        """
        tool = self.tool(name)
        return tool.named_by if tool is not None and (not tool.foreign or "named_by" in tool.operator) else {}

    @property
    def toolsets(self) -> tuple[Toolset, ...]:
        """Where the tools live, each place once."""
        found = {id(each.toolset): each.toolset for each in self._bound.values() if each.toolset is not None}
        return tuple(found.values())

    @cached_property
    def has_strangers(self) -> bool:
        """Whether a tool is foreign, or its results may hold text that an outsider wrote."""
        return any(tool.foreign or tool.outside for tool in self.tools)

    def resolve(self, name: str) -> ResolvedTool:
        """The tool that a model means by a name.

        Raises:
            UnknownTool: there is none; the message names those that come near, else the first few. Or its definition
                has no schema that can be used.
        """
        found = self._bound.get(name)
        if found is not None:
            if found.fault is not None:
                raise UnknownTool("{name!r} can not be called. {why}", name=name, why=found.fault)
            return found
        near = get_close_matches(name, self._related(name), n=3, cutoff=0.6) or list(self._bound)[:10]
        known = f"You may use: {', '.join(near)}." if near else "There are no tools in this run."
        raise UnknownTool("There is no tool called {name!r}. {known}", name=name[:64], known=known)

    def _related(self, name: str) -> list[str]:
        """The names to compare with: all, or where they are many, those that share the most words with it."""
        if len(self._bound) <= COMPARED_MAX:
            return list(self._bound)
        words = set(_WORDS.split(name.lower()))
        return nlargest(COMPARED_MAX, self._bound, key=lambda known: len(words & set(_WORDS.split(known.lower()))))


async def _told(toolsets: Sequence[Toolset]) -> Sequence[tuple[Toolset, Sequence[Tool]]]:
    """What each toolset lists."""
    if len(toolsets) == 1:
        return [(toolsets[0], await _listed(toolsets[0]))]
    told = await asyncio.gather(*map(_listed, toolsets), return_exceptions=True)
    found: list[tuple[Toolset, Sequence[Tool]]] = []
    for toolset, tools in zip(toolsets, told, strict=True):
        if isinstance(tools, BaseException):
            raise tools
        found.append((toolset, tools))
    return found


async def _listed(toolset: Toolset) -> Sequence[Tool]:
    return await apart(toolset.list_tools(), type(toolset).__name__)


def bound_tool(tool: Tool) -> ResolvedTool:
    """A tool by itself, with its schemas ready for use."""
    return _bind(tool, None, None)


def _bind(tool: Tool, toolset: Toolset | None, known: Catalog | None) -> ResolvedTool:
    bound = ResolvedTool(tool, toolset, toolset if isinstance(toolset, StandsForOthers) else None)
    before = known.get(tool.name) if known is not None else None
    if before is not None and before.tool == tool:
        bound.__dict__.update(before.__dict__)  # what was made ready
    return bound


def _with_attachments(bound: ResolvedTool) -> ResolvedTool:
    tool = bound.tool
    if tool.parameters != TASK_PARAMETERS:
        return bound
    properties: JsonObject = {**tool.property_schemas(), **ATTACHMENTS_PARAMETER}
    return ResolvedTool(
        msgspec.structs.replace(tool, parameters=TASK_PARAMETERS | {"properties": properties}),
        bound.toolset,
        bound.standing,
    )


def _compiled(catalog: Catalog) -> Catalog:
    """The catalog with all schemas compiled.

    Raises:
        BadTool: a schema can not be used.
    """
    for tool in catalog.tools:
        bound = catalog.get(tool.name)
        if bound is not None and bound.fault is not None:
            raise bound.fault
    return catalog
