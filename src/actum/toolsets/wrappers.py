"""Toolsets around toolsets: another name, fewer tools, several as one, and the operator's word on what tools do.

    tools = [prefixed("crm_", toolset), filtered("get_*", other), renamed({"search": "find_customer"}, third)]

A wrapper changes the definitions that a run is shown, and translates the name of a call back on its way down. All else
is the affair of the toolset inside: when its tools change, what was approved of them, how long its sessions live.
Policies, approvals and the record know a tool by the name that the wrapper shows.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from fnmatch import fnmatchcase
from typing import Protocol, Self, runtime_checkable

import msgspec
from msgspec import Struct

from ..core.call import ToolCall, ToolResult
from ..core.errors import BadTool, UnknownTool, UsageError
from ..core.interfaces import Context, Journal, ProbeResult, Probing, ReservedTools, StandsForOthers, Toolset
from ..core.policy import Facts
from ..core.run.task_request import TaskDefaults
from ..core.tool import Background, Effects, Tool, innermost

_MAGIC = "*?["


class ToolLabels(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the operator of a program says of tools that somebody else wrote. None: nothing is said.

    Attributes:
        effects: what using the tool does; an empty set for nothing at all.
        sinks: the parameters that say where something goes or who gets it.
        trusted: the fields of the result that nobody but the tool's owner could have written.
        idempotent: calling the tool twice with the same arguments is as good as once.
        timeout_s: seconds that one attempt may take.
        approval: every call waits for a person. False lifts the word of a less specific pattern, and never the
            tool's own.
        background: whether calls of the tool become tasks; see `core.tool.Tool`.
        answers: the result of a call is the answer of the run; see `core.tool.Tool`.
        knowledge: the tool is a source of knowledge; see `core.tool.Tool`.
        outside: whether results may hold text that an outsider wrote; see `core.tool.Tool`.
        named_by: which field of a record names the record; see `core.tool.Tool`.
        labels: the labels of fields of the result: the table `[tools."name".labels]`; see `core.tool.Tool`.
        tasks: what holds for tasks that call the tool where a request says nothing: the table `[tools."name".tasks]`.
    """

    effects: frozenset[Effects] | None = None
    sinks: tuple[str, ...] | None = None
    trusted: tuple[str, ...] | None = None
    idempotent: bool | None = None
    timeout_s: float | None = msgspec.field(default=None, name="timeout")
    approval: bool | None = None
    background: Background | None = None
    answers: bool | None = None
    knowledge: bool | None = None
    outside: bool | None = None
    named_by: dict[str, str] | None = None
    labels: dict[str, str] | None = None
    tasks: TaskDefaults | None = None

    def __post_init__(self) -> None:
        if self.timeout_s is not None and not self.timeout_s > 0:
            raise UsageError("timeout = {timeout_s!r}: give a number of seconds above 0", timeout_s=self.timeout_s)

    @property
    def said(self) -> tuple[str, ...]:
        """The names of the fields that are set."""
        return tuple(name for name in self.__struct_fields__ if getattr(self, name) is not None)

    def over(self, other: ToolLabels) -> ToolLabels:
        """These labels, and the other's for what is not said here."""
        return msgspec.structs.replace(other, **{name: getattr(self, name) for name in self.said})

    def on(self, tool: Tool) -> Tool:
        """The tool with these labels. Of the sinks only those are taken that the tool has as parameters. Where it has
        none of them, nothing is said of its sinks: to say that it has no sinks would let more pass.
        """
        if not self.said:
            return tool
        sinks = tuple(name for name in self.sinks or () if name in tool.property_schemas())
        return msgspec.structs.replace(
            tool,
            effects=tool.effects if self.effects is None else self.effects,
            sinks=sinks if sinks or self.sinks == () else tool.sinks,
            trusted=tool.trusted if self.trusted is None else self.trusted,
            vouched=tool.vouched or (tool.foreign and self.trusted is not None),
            idempotent=tool.idempotent if self.idempotent is None else self.idempotent,
            timeout_s=tool.timeout_s if self.timeout_s is None else self.timeout_s,
            approval=tool.approval or bool(self.approval),
            background=tool.background if self.background is None else self.background,
            answers=tool.answers if self.answers is None else self.answers,
            knowledge=tool.knowledge if self.knowledge is None else self.knowledge,
            outside=tool.outside if self.outside is None else self.outside,
            named_by=tool.named_by if self.named_by is None else self.named_by,
            labels=tool.labels if self.labels is None else self.labels,
            operator=tuple(dict.fromkeys((*tool.operator, *self.said))),
        )


NO_LABELS = ToolLabels()


def specificity(pattern: str) -> tuple[bool, int, int, str]:
    """How closely a pattern of names says which tool is meant; the larger wins. A plain name is above all patterns;
    then more letters before the first wildcard, then more letters, then the order of the alphabet.

    >>> max(["*", "crm_*", "crm_send_*", "crm_send_mail"], key=specificity)
    'crm_send_mail'
    """
    at = next((at for at, sign in enumerate(pattern) if sign in _MAGIC), len(pattern))
    letters = sum(sign not in "*?[]!" for sign in pattern)
    return at == len(pattern), at, letters, pattern


def labels_of(name: str, labels: Mapping[str, ToolLabels]) -> ToolLabels:
    """What all fitting patterns together say of the tool of this name: each field by the most specific pattern that
    says something of it.
    """
    found = NO_LABELS
    for pattern in sorted((each for each in labels if fnmatchcase(name, each)), key=specificity):
        found = labels[pattern].over(found)
    return found


def label_problems(
    tools: Sequence[Tool], labels: Mapping[str, ToolLabels], elsewhere: Collection[str] = ()
) -> list[tuple[str, str]]:
    """What can not be meant in labels, and which foreign tools nobody has said anything of.

    Args:
        tools: all tools of a run, by their own word.
        labels: as for `labelled`.
        elsewhere: the names of tools that other agents have under the same labels.

    Returns:
        The pattern or the tool, and what is the matter with it.
    """
    found: list[tuple[str, str]] = []
    for pattern, said in labels.items():
        fitting = [tool for tool in tools if fnmatchcase(tool.name, pattern)]
        if not fitting:
            if not any(fnmatchcase(name, pattern) for name in elsewhere):
                found.append((pattern, "fits no tool there is"))
            continue
        sinks = set(said.sinks or ()) - {name for tool in fitting for name in tool.property_schemas()}
        if sinks:
            found.append((pattern, f"names the sink {min(sinks)}, which is a parameter of no tool that it fits"))
        nearer = [
            [labels[each].said for each in _fitting(tool, labels) if _is_nearer(each, pattern)] for tool in fitting
        ]
        if said.said and all(set(said.said) <= {name for one in fields for name in one} for fields in nearer):
            found.append((pattern, "has no effect: patterns that are more specific set all of its fields"))
        for other in sorted({each for tool in fitting for each in _fitting(tool, labels)} - {pattern}):
            differ = [name for name in said.said if getattr(labels[other], name) not in (None, getattr(said, name))]
            if pattern < other and specificity(pattern)[:3] == specificity(other)[:3] and differ:
                found.append(
                    (pattern, f"and {other} are equally specific and say different {differ[0]}: {other} holds")
                )
    for tool in tools:
        shown = labels_of(tool.name, labels).on(tool)
        if tool.foreign and shown.effects is None:
            told = f'nobody says what using it does: [tools."{tool.name}"] effects = [...] in actum.toml'
            found.append((tool.name, told))
        if "" in shown.trusted and (tool.result or {}).get("type") in ("object", "array"):
            told = 'trusted = [""] is about a text alone, and covers nothing of the objects it returns: name the fields'
            found.append((tool.name, told))
    return found


def _fitting(tool: Tool, labels: Mapping[str, ToolLabels]) -> list[str]:
    return [pattern for pattern in labels if fnmatchcase(tool.name, pattern)]


def _is_nearer(one: str, other: str) -> bool:
    return specificity(one) > specificity(other)


def prefixed(prefix: str, toolset: Toolset) -> Toolset:
    """The toolset with a prefix before each name, so that two toolsets can have tools of one name.

    Args:
        prefix: such as `crm_`; letters, digits, `_`, `-` or `.`.
        toolset: the toolset.
    """
    if not prefix:
        raise UsageError('prefixed("", ...): give a prefix, such as "crm_"')
    return _Shown(toolset, lambda tool: msgspec.structs.replace(tool, name=prefix + tool.name))


def renamed(names: Mapping[str, str], toolset: Toolset) -> Toolset:
    """The toolset with other names for some of its tools.

    Args:
        names: the toolset's own name by the new name, as in `{"find_customer": "search"}`.
        toolset: the toolset.

    Raises:
        UsageError: one tool is given two new names.
    """
    new_names = {own: new for new, own in names.items()}
    if len(new_names) != len(names):
        raise UsageError("renamed(...): a tool is given two new names; give each tool one")
    return _Shown(toolset, lambda tool: msgspec.structs.replace(tool, name=new_names.get(tool.name, tool.name)))


def filtered(keep: str | Sequence[str] | Callable[[Tool], bool], toolset: Toolset) -> Toolset:
    """Some of the tools of a toolset. The others can not be called.

    Args:
        keep: a pattern of names such as `get_*`, several patterns, or a function that says of a tool whether it stays.
        toolset: the toolset.
    """
    if callable(keep):
        return _Shown(toolset, lambda tool: tool if keep(tool) else None)
    patterns = (keep,) if isinstance(keep, str) else tuple(keep)
    return _Shown(toolset, lambda tool: tool if any(fnmatchcase(tool.name, each) for each in patterns) else None)


def labelled(labels: Mapping[str, ToolLabels], toolset: Toolset) -> Toolset:
    """The toolset with the operator's word on what its tools do. A tool's own word holds where the labels say nothing.

    Args:
        labels: by a name or a pattern of names. Of several that fit, each field is taken from the most specific
            pattern that sets it.
        toolset: the toolset.
    """
    return _Shown(toolset, lambda tool: labels_of(tool.name, labels).on(tool))


def foreign(toolset: Toolset) -> Toolset:
    """The toolset with its tools declared foreign: another party says what they do.

    Args:
        toolset: the toolset.
    """
    return _Shown(toolset, lambda tool: msgspec.structs.replace(tool, foreign=True, operator=()))


def combined(*toolsets: Toolset) -> Toolset:
    """Several toolsets as one, to be wrapped together."""
    return _Combined(toolsets)


class _Life:
    """Opens and closes what is inside, where that can be opened and closed."""

    def __init__(self, inside: Sequence[Toolset]) -> None:
        self.inside = inside
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            for toolset in self.inside:
                if isinstance(toolset, AbstractAsyncContextManager):
                    await stack.enter_async_context(toolset)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self._stack.aclose()

    async def close(self) -> None:
        """Close the toolsets inside, where they can be closed."""
        for toolset in self.inside:
            if isinstance(toolset, _Closable):
                await toolset.close()

    @property
    def ends_when_cancelled(self) -> bool:
        """Whether the call path need not close a call that goes on after it was cancelled; see `AgentTool`."""
        return all(getattr(toolset, "ends_when_cancelled", False) for toolset in self.inside)


@runtime_checkable
class _Closable(Protocol):
    async def close(self) -> None: ...


class Wrapper(_Life):
    """A toolset around another toolset. As it is, it changes nothing: override `list_tools` to list other tools or
    definitions, or `execute` to do something before or after each call.

        class Logged(Wrapper):
            async def execute(self, call: ToolCall, context: Context) -> ToolResult:
                log.info("%s is called", call.name)
                return await super().execute(call, context)

    For other names there is `renamed`: a call comes under the name that `list_tools` tells.

    Args:
        toolset: the toolset inside.

    Raises:
        UsageError: `list_tools` is overridden, and tools inside stand for others that it does not list: override
            `shown` then.
    """

    def __init__(self, toolset: Toolset) -> None:
        stands = any(isinstance(each, StandsForOthers) for each in innermost(toolset))
        if stands and type(self).list_tools is not Wrapper.list_tools:
            raise UsageError(
                "{kind} lists tools in its own way, and would miss those that a tool inside stands "
                "for: override shown() in the place of list_tools()",
                kind=type(self).__name__,
            )
        self._toolset = toolset
        if isinstance(toolset, StandsForOthers):
            self._toolset = toolset.through(self._kept)
        super().__init__((self._toolset,))
        self._own: Mapping[str, str] = {}

    def shown(self, tool: Tool) -> Tool | None:
        """The definition that a run is shown of one of the tools inside, also of one that another tool stands for; None
        for a tool that is left out. By default the tool as it is.

        Args:
            tool: as the toolset inside defines it.
        """
        return tool

    @property
    def ends_when_cancelled(self) -> bool:
        """As the toolset inside says, unless `execute` does something of its own."""
        return type(self).execute is Wrapper.execute and super().ends_when_cancelled

    @property
    def generation(self) -> int:
        """The generation of the toolset inside."""
        return self._toolset.generation

    async def list_tools(self) -> Sequence[Tool]:
        """The tools as a run is shown them.

        Raises:
            BadTool: two tools get one name.
        """
        own: dict[str, str] = {}
        found: list[Tool] = []
        for tool in await self._toolset.list_tools():
            shown = self._kept(tool)
            if shown is None:
                continue
            if shown.name in own:
                raise BadTool(
                    "{own!r} and {tool!r} are both called {shown!r} by a wrapper",
                    own=own[shown.name],
                    tool=tool.name,
                    shown=shown.name,
                )
            own[shown.name] = tool.name
            found.append(shown)
        self._own = own
        return tuple(found)

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Make the call under the toolset's own name.

        Raises:
            UnknownTool: the wrapper shows no such tool, or does not any more.
        """
        return await self._toolset.execute(await self._inner(call), context)

    async def hidden_from(self, journal: Journal, facts: Facts) -> frozenset[str]:
        """What the toolset inside says; see `ReservedTools`."""
        if not isinstance(self._toolset, ReservedTools):
            return frozenset()
        if not self._own:
            await self.list_tools()
        hidden = await self._toolset.hidden_from(journal, facts)
        return frozenset([shown for shown, own in self._own.items() if own in hidden])

    async def probe(self, call: ToolCall, context: Context) -> ProbeResult:
        """Ask the toolset inside; see `Probing`."""
        if not isinstance(self._toolset, Probing):
            return ProbeResult("unknown")
        return await self._toolset.probe(await self._inner(call), context)

    def meant(self, call: ToolCall) -> tuple[Tool, ToolCall] | None:
        """What the toolset inside says, with the definition that the wrapper makes of it; see `StandsForOthers`.

        Raises:
            UnknownTool: the wrapper leaves the tool out; or as `StandsForOthers.meant`.
        """
        own = self._own.get(call.name)
        if own is None or not isinstance(self._toolset, StandsForOthers):
            return None
        found = self._toolset.meant(call if own == call.name else msgspec.structs.replace(call, name=own))
        if found is None:
            return None
        shown = self.shown(found[0])
        if shown is None:
            raise UnknownTool("There is no tool {found!r}: it was left out.", found=found[0].name)
        return shown, msgspec.structs.replace(found[1], name=shown.name)

    def stands_for(self, name: str) -> Sequence[Tool]:
        """What the toolset inside says, with the definitions that the wrapper makes; see `StandsForOthers`."""
        if not isinstance(self._toolset, StandsForOthers):
            return ()
        found = (self.shown(tool) for tool in self._toolset.stands_for(self._own.get(name, name)))
        return [tool for tool in found if tool is not None]

    def through(self, shown: Callable[[Tool], Tool | None]) -> Toolset:
        """The same wrapper around a toolset that knows how its tools are shown; see `StandsForOthers`."""
        if not isinstance(self._toolset, StandsForOthers):
            return self
        again = copy.copy(self)
        again._own = {}

        def twice(tool: Tool) -> Tool | None:
            once = again._kept(tool)
            return None if once is None else shown(once)

        again._toolset = self._toolset.through(twice)
        again.inside = (again._toolset,)
        return again

    def _kept(self, tool: Tool) -> Tool | None:
        """A tool as a run is shown it. A tool that stands for others stays as long as one of the others does."""
        shown = self.shown(tool)
        if shown is None and isinstance(self._toolset, StandsForOthers):
            return tool if any(self.shown(each) for each in self._toolset.stands_for(tool.name)) else None
        return shown

    async def _inner(self, call: ToolCall) -> ToolCall:
        if call.name not in self._own:
            await self.list_tools()  # a process that goes on with a run may not have listed the tools yet
        own = self._own.get(call.name)
        if own is None:
            raise UnknownTool("{call} is not there any more.", call=call.name)
        return call if own == call.name else msgspec.structs.replace(call, name=own)


class _Shown(Wrapper):
    """A toolset with other definitions.

    Args:
        toolset: the toolset inside.
        shown: as `Wrapper.shown`.
    """

    def __init__(self, toolset: Toolset, shown: Callable[[Tool], Tool | None]) -> None:
        self._shown = shown
        super().__init__(toolset)

    def shown(self, tool: Tool) -> Tool | None:
        return self._shown(tool)


class _Combined(_Life):
    """Several toolsets as one."""

    def __init__(self, toolsets: Sequence[Toolset]) -> None:
        super().__init__(tuple(toolsets))
        self._homes: Mapping[str, Toolset] = {}

    @property
    def generation(self) -> int:
        """Changes when the generation of a toolset inside does; generations only grow."""
        return sum(toolset.generation for toolset in self.inside)

    async def list_tools(self) -> Sequence[Tool]:
        """The tools of all.

        Raises:
            BadTool: two tools have one name.
        """
        listed = await asyncio.gather(*(toolset.list_tools() for toolset in self.inside))
        homes: dict[str, Toolset] = {}
        for toolset, tools in zip(self.inside, listed, strict=True):
            for tool in tools:
                if tool.name in homes:
                    raise BadTool(
                        "combined(...): two tools are called {tool!r}: wrap one of the toolsets in "
                        'prefixed("x_", toolset), or use renamed(...) or filtered(...)',
                        tool=tool.name,
                    )
                homes[tool.name] = toolset
        self._homes = homes
        return [tool for tools in listed for tool in tools]

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Make the call by the toolset that has the tool.

        Raises:
            UnknownTool: no toolset has it.
        """
        return await (await self._home(call.name)).execute(call, context)

    async def hidden_from(self, journal: Journal, facts: Facts) -> frozenset[str]:
        """What the toolsets inside say; see `ReservedTools`."""
        reserved = [each for each in self.inside if isinstance(each, ReservedTools)]
        return frozenset[str]().union(*[await each.hidden_from(journal, facts) for each in reserved])

    async def probe(self, call: ToolCall, context: Context) -> ProbeResult:
        """Ask the toolset that has the tool; see `Probing`."""
        home = await self._home(call.name)
        return await home.probe(call, context) if isinstance(home, Probing) else ProbeResult("unknown")

    def meant(self, call: ToolCall) -> tuple[Tool, ToolCall] | None:
        """What the toolset that has the tool says; see `StandsForOthers`."""
        home = self._homes.get(call.name)
        return home.meant(call) if isinstance(home, StandsForOthers) else None

    def stands_for(self, name: str) -> Sequence[Tool]:
        """What the toolset that has the tool says; see `StandsForOthers`."""
        home = self._homes.get(name)
        return home.stands_for(name) if isinstance(home, StandsForOthers) else ()

    def through(self, shown: Callable[[Tool], Tool | None]) -> Toolset:
        """The toolsets inside, told how their tools are shown; see `StandsForOthers`."""
        return _Combined([each.through(shown) if isinstance(each, StandsForOthers) else each for each in self.inside])

    async def _home(self, name: str) -> Toolset:
        if name not in self._homes:
            await self.list_tools()
        if name not in self._homes:
            raise UnknownTool("{name} is not there any more.", name=name)
        return self._homes[name]
