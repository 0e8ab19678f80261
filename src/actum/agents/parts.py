"""`AgentParts`: what an agent is made of, and the same agent with another part instead of one. Nothing runs here."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, Self, cast

import msgspec

from ..core.errors import UsageError
from ..core.interfaces import Clock, Journal, Toolset
from ..core.json import Json, JsonObject
from ..core.model import Model
from ..core.model_settings import ModelSettings
from ..core.policy import Approver
from ..core.run.mandate import MandatedCall
from ..core.tool import Tool, ToolChoice, innermost, named_tools
from ..journal.kept_uses import with_all_uses
from ..journal.recording import RunState
from ..memory.memory import Memory, memory_part, read_memory
from ..memory.tools import MemoryTools, tools_of
from ..models.catalog import open_model
from ..policy.mandate import Mandate
from ..runs.given_tools import Toolish
from ..runs.runner import Runner
from ..storage.place import open_journal
from .agent_name import AgentName
from .agent_tool import AgentTool
from .brief import Brief
from .citing import quote_name, with_quote
from .identity import AgentRef, Naming, digest_of
from .options import AgentFields
from .override import Replaced, replaced, replacing
from .planning import PlanToolset
from .tool_choice import ChosenTools, check_names, read_tool_choice

Completes = Callable[["AgentParts", str, Mapping[str, int] | None], Awaitable["AgentParts"]]
"""Gives an agent what it takes from what a tenant has published: in use now, or as it was when a run began."""


class AgentParts:
    """What an agent is made of.

    Attributes:
        name: what the agent is called in records and as a tool.
        model: what answers.
        settings: how the model is asked.
        truncation, tool_choice: as for `Agent`.
        plans: whether the model writes down plans.
        memory: what the agent remembers of its users; None where each of its runs stands alone.
        runner: makes the calls.
    """

    name: str
    model: Model
    settings: ModelSettings
    truncation: Literal["auto", "disabled"]
    tool_choice: ToolChoice
    plans: bool
    memory: Memory | None
    runner: Runner
    _brief: Brief
    _dialect: Json
    _named: AgentName
    _completes: Completes | None
    _origin: object  # what all copies of the agent have in common
    _replaced: Replaced | None  # what was put into this copy by `override`
    _base: AgentParts | None  # which this agent completes: no agent waits for itself

    @property
    def journal(self) -> Journal:
        """Where the agent's runs are written down."""
        return self.runner.journal

    @property
    def description(self) -> str:
        """What the agent is for, as the settings say it; empty where they do not."""
        return self._named.description

    @property
    def is_open(self) -> bool:
        """Whether any user may use the agent, as far as its name in the settings is concerned."""
        return self._named.is_open

    def is_for(self, principal: str, roles: Sequence[str]) -> bool:
        """Whether a user may use the agent, as far as its name in the settings is concerned.

        Args:
            principal: the user.
            roles: the roles of the user, beside those that the agent's policy knows of.
        """
        return self._named.is_for(principal, roles, self.runner.policy)

    @property
    def output_schema(self) -> JsonObject | None:
        """The JSON Schema of the answer; None where the agent answers with text."""
        return self._brief.schema

    @property
    def clock(self) -> Clock:
        """The agent's time."""
        return self.runner.clock

    def known_as(
        self,
        naming: Naming,
        *,
        journal: Journal | None = None,
        approver: Approver | None = None,
        wrap: Callable[[Toolset], Toolset] | None = None,
        latest: Callable[[], Naming | None] | None = None,
    ) -> Self:
        """The same agent under a name by which other processes build it too; see `compose.agents`.

        Args:
            naming: the name, who may use the agent, and what else belongs to the name.
            journal: where its runs are written down, instead.
            approver: who can be asked, instead.
            wrap: puts a wrapper around each toolset.
            latest: tells who may use the agent by now, beside `naming`; None of it where nobody may any more.
        """
        other = copy.copy(self)
        other.name = naming.name
        other.runner = self.runner.known_as(naming.name, journal=journal, approver=approver, wrap=wrap)
        other._named = AgentName(naming, latest)
        return other if naming.memory is None else other.with_memory(read_memory(naming.memory, naming.name))

    @property
    def remembers_users(self) -> bool:
        """Whether what a user says in one conversation is found in another."""
        return self.memory is not None and self.memory.user

    def with_memory(self, memory: Memory | None) -> Self:
        """The same agent with another memory, and the tools of the memory."""
        other = copy.copy(self)
        other.memory = memory
        kept = [
            each
            for each in self.runner.toolsets
            if not any(isinstance(inner, MemoryTools) for inner in innermost(each))
        ]
        own = tools_of(memory)
        if own or len(kept) < len(self.runner.toolsets):
            other.runner = self.runner.with_tools([*self.runner.definitions, *kept]).with_more_tools(own)
        return other

    @contextmanager
    def override(
        self,
        *,
        model: str | Model | None = None,
        tools: Sequence[Toolish] | None = None,
        journal: Journal | str | Path | None = None,
        clock: Clock | None = None,
    ) -> Iterator[None]:
        """A block in which this agent has other parts, for tests: wherever the program runs the agent, also as a tool
        of another one, and in asyncio tasks and threads that begin in the block. Other runs are not touched. Of two
        blocks, one in the other, the inner one holds.

        A task that is queued in the block would be carried out elsewhere, by the agent as it is: that is refused.

        Args:
            model: is asked instead, such as `actum.testing.TestModel()`.
            tools: are there instead of all others.
            journal: has the runs instead.
            clock: tells the time instead.

        Raises:
            UnknownName: there is no such model.
            BadTool: two tools of one name, or a bad schema.
            UsageError: a part is none.

        >>> from actum import Agent
        >>> from actum.testing import TestModel
        >>> agent = Agent("ollama:qwen3")
        >>> with agent.override(model=TestModel(text="Hello.")):
        ...     agent.run_sync("Hi").text
        'Hello.'
        """
        parts = Replaced(
            model=None if model is None else open_model(model),
            tools=tools,
            journal=open_journal(journal) if isinstance(journal, str | Path) else journal,
            clock=clock,
        )
        self._with(parts)  # what can not be used is refused here
        with replacing(self._origin, parts):
            yield

    def in_force(self) -> Self:
        """The agent as it is here and now: this one, or with the parts of an `override` around."""
        parts = replaced(self._origin)
        return self if parts is None or parts is self._replaced else self._with(parts)

    def _with(self, parts: Replaced) -> Self:
        other = copy.copy(self) if parts.tools is None else self.with_tools(parts.tools)
        other._replaced = parts
        other.model = parts.model or self.model
        if parts.journal is not None or parts.clock is not None:
            other.runner = other.runner.with_surroundings(parts.journal, parts.clock)
        return other

    def with_runner(self, runner: Runner, model: Model | None = None) -> Self:
        """The same agent, whose calls another runner makes; another model is asked where one is given."""
        other = copy.copy(self)
        other.runner, other.model = runner, model or self.model
        return other

    def completed_by(self, completes: Completes) -> Self:
        """The same agent, which takes something from what its caller's tenant has published; see `completed`."""
        other = copy.copy(self)
        other._completes = completes
        return other

    @property
    def takes_published(self) -> bool:
        """Whether the agent takes something from what its caller's tenant has published."""
        return self._completes is not None

    async def completed(self, tenant: str, began_with: Mapping[str, int] | None = None) -> Self:
        """The agent with what it takes from what a tenant has published. Each run begins with it.

        Args:
            tenant: the tenant.
            began_with: the publications with which a run began, as in `Started.uses`; None for those in use.

        Raises:
            UsageError: something that the agent takes is not there, or can not be used now.
        """
        if self._completes is None:
            return self
        return cast("Self", await self._completes(self, tenant, began_with))

    async def _of_run(self, run_id: str, journal: Journal) -> Self:
        """The agent with the publications with which a run began."""
        if self._completes is None:
            return self
        started = await with_all_uses(RunState((await journal.read(run_id))[:1]).beginning(), journal)
        return await self.completed(started.tenant, started.uses)

    def with_published(
        self, toolsets: Sequence[Toolset], uses: Mapping[str, int], instructions: str | None = None
    ) -> Self:
        """The same agent with what was published beside its own.

        Args:
            toolsets: beside its tools.
            uses: the publications that it stands for, as in `Started.uses`.
            instructions: in the place of its own; None to keep them.
        """
        other = copy.copy(self)
        other._completes, other._base = None, self._base or self
        other.runner = self.runner.with_more_tools(toolsets).with_uses({**self.runner.uses, **uses})
        if instructions is not None:
            other._brief = msgspec.structs.replace(self._brief, instructions=instructions)
        return other

    async def reference(self) -> AgentRef:
        """The agent as another process has to be told of it, to run it or to go on with its runs.

        Raises:
            UsageError: the agent has no name by which another process could build it.
        """
        if self._named.made is None:
            raise UsageError(
                "the agent {name!r} can not be handed to another process, which would not know how "
                "to build it: name it in actum.toml, as in agents.{name} = {{python = "
                '"package.module:agent"}}',
                name=self.name,
            )
        parts = await self.parts()
        return AgentRef(name=self.name, digest=digest_of(parts), parts=parts)

    async def parts(self) -> dict[str, str]:
        """The digest of each part of this agent, by its name; see `agents.identity`."""
        inside = [toolset for given in self.runner.toolsets for toolset in innermost(given)]
        below = [each.agent for each in inside if isinstance(each, AgentTool) and isinstance(each.agent, AgentParts)]
        values: dict[str, object] = {
            "settings": [self.settings.recorded, sorted(name.lower() for name in self.settings.headers)],
            "instructions": self._brief.part,
            "agents": sorted([digest_of(await each.parts()) for each in below]),
            "output": self._brief.schema if self.tool_choice == "auto" else [self._brief.schema, self.tool_choice],
        }
        conversation = [self.truncation, memory_part(self.memory)]
        return await self._named.parts(self.runner, self.model.name, self._dialect, conversation, values)

    async def _quote(self) -> str:
        """The name of the tool by which its model cites, as the model knows it; empty where the agent does not cite."""
        return await quote_name(self.runner) if self._brief.cite else ""

    async def _recorded(self) -> AgentFields:
        """The record of an agent that has a name."""
        if self._named.made is None:
            return {}
        parts = await self.parts()
        return {"agent_digest": digest_of(parts), "agent_parts": parts}

    def with_tools(self, tools: Sequence[Toolish]) -> Self:
        """The same agent with other tools, in the same journal. What both use of their limits is counted together.

        Args:
            tools: as for `Agent`.

        Raises:
            BadTool: a schema is bad.
        """
        other = copy.copy(self)
        own: list[Toolish] = [PlanToolset()] if self.plans else []
        other.runner = with_quote(self.runner.with_tools([*tools, *own, *tools_of(self.memory)]), self._brief.cite)
        return other

    def with_client_tools(self, tools: Sequence[Tool], answer_schema: JsonObject | None = None) -> Self:
        """The same agent with the tools of a client of a server beside its own, for one run. They are not part of the
        agent. They are on record with the run, where `resume` finds them.

        Args:
            tools: bare definitions. A call of such a tool pauses the run until its result is given.
            answer_schema: JSON Schema of an object that the client wants the answer to fit.

        Raises:
            UsageError: the agent has a form of answer of its own.
            BadTool: the schema can not be used.
        """
        own = self.in_force()
        other = copy.copy(own)
        other._brief = own._brief.for_client(answer_schema)
        other.runner = own.runner.with_client_tools(tools)
        return other

    async def checked_choice(self, said: ChosenTools | None) -> ToolChoice:
        """The tool choice of a run: what is said for the run, or the agent's own.

        Raises:
            UsageError: it is none, or names a tool that the agent does not have.
        """
        choice = self.tool_choice if said is None else read_tool_choice(said)
        if named_tools(choice):
            check_names(choice, {tool.name for tool in await self.runner.list_tools()})
        return choice

    async def checked_mandate(self, said: Mandate | JsonObject | None) -> tuple[MandatedCall, ...] | None:
        """The mandate that is given for a run.

        Raises:
            UsageError: it is none, or names what there is not.
        """
        if said is None:
            return None
        return Mandate.of(said).checked({tool.name: tool for tool in await self.all_tools()}).calls

    async def all_tools(self) -> Sequence[Tool]:
        """The tools of this agent, and of the agents that are tools of it."""
        inside = [toolset for given in self.runner.toolsets for toolset in innermost(given)]
        below = [each for each in inside if isinstance(each, AgentTool)]
        found = [tool for each in below for tool in await each.tools_below()]
        return [*found, *await self.runner.list_tools()]

    async def list_tools(self) -> Sequence[Tool]:
        """The tools that the model is shown."""
        return await self.in_force().runner.list_tools()
