"""Makes the agents that tenants have published, of the tools and models that the server has.

An agent gets the tools that its text names and no others, each as it was when the run began. Its policy and
prices are those of the settings, and so are its limits, which a text can only lower.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct, structs

from ...agents.agent import Agent
from ...agents.declared import AGENT, AgentDefinition, PromptReference, read_agent
from ...agents.identity import Naming
from ...core.definition import BadText, ReadDefinition, TextProblem
from ...core.errors import UsageError
from ...core.identity import Identity
from ...core.interfaces import Journal, Toolset
from ...core.model import Model
from ...core.process.worker_thread import off_loop
from ...core.stored.definitions import TRIED, PublicationInUse, as_written, draft_tried, no_publication, reference
from ...core.tool import Tool
from ...core.user import User
from ...knowledge.browsing.browser import KnowledgeTool
from ...runs.given_tools import Toolish, sort_out
from ...server.api.connected import TenantModels
from ...server.published import OfferedAgent
from ...toolsets.declared.published import KIND
from ...toolsets.wrappers import Wrapper
from ..agents import list_tools, make_agent
from ..models import make_model
from ..secrets import open_secrets
from ..settings import Settings
from ..tools import KNOWLEDGE
from ..upstreams.named_models import NamedModels
from ..workflows import meaning_of
from .prompts import published_prompt
from .tools import DeclaredTools, ForItsUsers, PlacesOfTenant, naming, opening

TENANTS_MAX = 1_000
"""The number of tenants whose published agents are kept open."""
AGENTS_MAX = 200
"""The number of agents of a tenant that are kept."""


class _Card(Struct, tag="agent"):
    """What `about` tells of an agent that is for some users alone; of any other it is the description."""

    description: str = ""
    users: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()


def _about(definition: AgentDefinition) -> str:
    """What lists are told of a text, for `PublicationInUse.about`."""
    if not (definition.users or definition.roles):
        return definition.description
    card = _Card(definition.description, tuple(definition.users), tuple(definition.roles))
    return msgspec.json.encode(card).decode()


def _offered(line: PublicationInUse) -> OfferedAgent:
    with suppress(msgspec.MsgspecError):
        if line.about.startswith("{"):
            card = msgspec.json.decode(line.about, type=_Card)
            return OfferedAgent(card.description, line, card.users, card.roles)
    return OfferedAgent(line.about, line)


class DeclaredAgents:
    """The published agents of all tenants.

    Args:
        settings: of the operator.
        journal: keeps the texts, and the runs.
        own: the tools of the server.
        tools: the published tools.
        models: the models that tenants have connected; None for none.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        journal: Journal,
        own: Sequence[Toolish],
        tools: DeclaredTools,
        models: TenantModels | None = None,
    ) -> None:
        self.settings = settings
        self.journal = journal
        self.own = own
        self.tools = tools
        self.models = models
        self.named = NamedModels(settings, tools.environment)
        self.secrets = open_secrets(os.environ)
        self._tenants: dict[str, AgentsOfOne] = {}
        self._models: dict[str, Model] = {}

    def of(self, tenant: str) -> AgentsOfOne:
        """The published agents of a tenant."""
        if tenant not in self._tenants:
            while len(self._tenants) >= TENANTS_MAX:
                del self._tenants[next(iter(self._tenants))]
            self._tenants[tenant] = AgentsOfOne(self, tenant)
        return self._tenants[tenant]

    async def model(self, tenant: str, name: str, user: str = "") -> Model:
        """A model that the server offers to a tenant.

        Args:
            tenant: the tenant.
            name: its name; empty for the one that is asked where nothing is said.
            user: who asks: where upstreams have weights, each user has one to begin with.

        Raises:
            BadText: there is none of this name.
        """
        try:
            named = self.named.open(name, User(tenant, user)) if name else None
        except UsageError as error:
            raise BadText([TextProblem(error.sentence, path="model")]) from None
        if named is not None:
            return named
        if self.models is not None:
            connected = await (self.models.named(tenant, name) if name else self.models.default_model(tenant))
            if connected is not None:
                return connected
        own = {self.settings.model, *(each.model for each in self.settings.of_agents.values())}
        if name and name not in own:
            known = ", ".join(sorted({*own, *self.named.names} - {""})) or "none by name: leave model out"
            raise BadText(
                [TextProblem(f"there is no model {name[:100]!r} here", hint=f"there is {known}", path="model")]
            )
        if name not in self._models:
            chosen = self.settings if name in ("", self.settings.model) else None
            chosen = chosen or next(each for each in self.settings.of_agents.values() if each.model == name)
            self._models[name] = make_model(chosen)
        return self._models[name]


class AgentsOfOne:
    """The published agents of one tenant; see `TenantAgents`.

    Args:
        declared: what all tenants share.
        tenant: the tenant.
    """

    def __init__(self, declared: DeclaredAgents, tenant: str) -> None:
        self._declared = declared
        self._tenant = tenant
        self._definitions = declared.journal.definitions
        self._places = PlacesOfTenant(declared.tools, tenant)
        self._made = -1
        self._listed: Mapping[str, OfferedAgent] | None = None
        self._built: dict[tuple[object, ...], Agent[object]] = {}

    def means(self, name: str) -> str:
        """What a name means by the settings; see `TenantAgents.means`."""
        return meaning_of(self._declared.settings, name)

    async def listed(self) -> Mapping[str, OfferedAgent]:
        """The agents in use; see `TenantAgents.listed`."""
        made = await self._definitions.publications_made(AGENT, tenant=self._tenant)
        if self._listed is None or made != self._made:
            lines = await self._definitions.in_use(AGENT, tenant=self._tenant)
            self._made, self._listed = made, {each.name: _offered(each) for each in lines}
        return self._listed

    async def open(
        self, name: str, began_with: Mapping[str, int] | None = None, *, number: int | None = None, user: str = ""
    ) -> Agent[object]:
        """The agent in use, another publication, or the one with which a run began; see `TenantAgents.open`.

        Raises:
            UnknownName: there is no such publication.
            BadText: the publication can not be used now.
        """
        number = began_with[f"{AGENT}/{name}"] if began_with is not None and number is None else number
        publication = await self._definitions.published(AGENT, name, number, tenant=self._tenant)
        if publication is None:
            raise no_publication(AGENT, name, number)
        definition = await off_loop(len(publication.text), read_agent, publication.text)
        with opening(f"agent {name}", "tools"):
            return await self._agent(definition, {f"{AGENT}/{name}": publication.number}, began_with, user)

    async def draft(self, name: str, text: int, began_with: Mapping[str, int] | None = None) -> Agent[object]:
        """The agent of a draft, for a try; see `TenantAgents.draft`.

        Raises:
            UnknownName: there is no draft.
            UsageError: the draft has another text by now.
            BadText: the draft can not be used.
        """
        draft = await draft_tried(self._definitions, AGENT, name, text, tenant=self._tenant)
        definition = await off_loop(len(draft.text), read_agent, draft.text)
        return await self._agent(definition, {f"{TRIED}{AGENT}/{name}": text}, began_with)

    async def check(self, name: str, text: str, tools: Mapping[str, Tool], who: Identity) -> ReadDefinition:
        """What is in a text that somebody wants to publish; see `TenantAgents.check`.

        Raises:
            BadText: something is wrong with it.
        """
        definition = await off_loop(len(text), read_agent, text)
        told = "there is no tool {!r} here that you may use"
        missing = [
            TextProblem(told.format(each[:100]), path=f"tools.{place}")
            for place, each in enumerate(definition.tools)
            if not each.startswith(KNOWLEDGE) and reference(each)[0] not in tools  # a collection may be made later
        ]
        if missing:
            raise BadText(missing)
        with opening(f"agent {definition.name}", "tools"):
            for place, written in enumerate(definition.agents):
                with naming(f"agents.{place}"):
                    await self._places.check_agent(written, who)
            await self._agent(definition, {})
        return ReadDefinition(name=definition.name, about=_about(definition))

    async def _agent(
        self,
        definition: AgentDefinition,
        uses: Mapping[str, int],
        began_with: Mapping[str, int] | None = None,
        user: str = "",
    ) -> Agent[object]:
        declared = self._declared
        instructions, prompt = await self._instructions(definition, began_with)
        toolsets, pinned = await self._tools(definition, began_with)
        helpers, theirs = await self._agents(definition, began_with)
        uses = {**uses, **prompt, **pinned, **theirs}
        model = await declared.model(self._tenant, definition.model, user)
        known = (id(model), *uses.items())
        if began_with is None and known in self._built:
            return self._built[known]
        settings = structs.replace(
            declared.settings,
            instructions=instructions,
            choose=definition.choose,
            always=definition.always,
            cite=definition.cite or False,
            limits=definition.limits.within(declared.settings.limits),
            model_settings=definition.model_settings.over(declared.settings.model_settings),
            **_own_settings(definition),
        )
        made: Agent[object] = make_agent(
            settings,
            model,
            [*toolsets, *helpers],
            journal=declared.journal,
            approver=None,
            name=definition.name,
            secrets=declared.secrets,
        )
        naming = Naming(
            name=definition.name,
            description=definition.description,
            users=definition.users,
            roles=definition.roles,
            memory=definition.memory,
            labels=msgspec.to_builtins(settings.tool_labels, order="deterministic"),
        )
        named = made.known_as(naming)
        agent = named.with_runner(named.runner.with_uses(uses))
        if began_with is None and f"{AGENT}/{definition.name}" in uses:
            while len(self._built) >= AGENTS_MAX:
                del self._built[next(iter(self._built))]
            self._built[known] = agent
        return agent

    async def _instructions(
        self, definition: AgentDefinition, began_with: Mapping[str, int] | None
    ) -> tuple[str, dict[str, int]]:
        """The system prompt, and the publication that it is."""
        if not isinstance(definition.instructions, PromptReference):
            return definition.instructions, {}
        return await published_prompt(self._definitions, definition.instructions.prompt, self._tenant, began_with)

    async def _tools(
        self, definition: AgentDefinition, began_with: Mapping[str, int] | None
    ) -> tuple[list[Toolish], dict[str, int]]:
        """The tools, and the publications that they are."""
        own, bare = sort_out(self._declared.own)
        names = {tool.name for tool in await list_tools(self._declared.own, self._declared.settings.tool_labels)}
        wanted = {each for each in definition.tools if each in names}
        collections = [each for each in definition.tools if each.startswith(KNOWLEDGE)]
        found: list[Toolish] = [tool for tool in bare if tool.name in wanted]
        listed = [(toolset, {tool.name for tool in await toolset.list_tools()}) for toolset in own]
        found += [_Chosen(toolset, wanted) for toolset, has in listed if has & wanted]
        found += [KnowledgeTool(each.removeprefix(KNOWLEDGE)) for each in collections]
        uses: dict[str, int] = {}
        published = self._declared.tools.of(self._tenant)
        for written in definition.tools:
            if written in names or written in collections:
                continue
            name, number = reference(written)
            with naming(f"tools.{definition.tools.index(written)}"):
                if await self._is_workflow(written, began_with):
                    tool, used = await self._workflow(written, began_with)
                else:
                    made = await published.open(name, number, began_with=began_with)
                    tool, used = _Chosen(made.toolset, {name}), as_written(made.uses, KIND, name, number)
            found.append(tool)
            uses |= used
        return found, uses

    async def _agents(
        self, definition: AgentDefinition, began_with: Mapping[str, int] | None
    ) -> tuple[list[Toolset], dict[str, int]]:
        """The agents that this one may hand tasks to, and the publications that they are."""
        found: list[Toolset] = []
        uses: dict[str, int] = {}
        for place, written in enumerate(definition.agents):
            with naming(f"agents.{place}"):
                agent, used = await self._places.agent(written, began_with)
            found.append(ForItsUsers(agent.as_tool(), agent))
            uses |= used
        return found, uses

    async def _is_workflow(self, written: str, began_with: Mapping[str, int] | None) -> bool:
        """Whether a tool that an agent names is a workflow, of the settings or published."""
        workflows, name = self._declared.tools.workflows, reference(written)[0]
        if name in workflows.names:
            return True
        if began_with is not None:
            return written in began_with
        own = await workflows.published(self._tenant)
        return own is not None and name in await own.listed()

    async def _workflow(self, written: str, began_with: Mapping[str, int] | None) -> tuple[Toolset, dict[str, int]]:
        tools = self._declared.tools
        workflow, uses = await tools.workflow(self._tenant, written, began_with)
        return workflow.as_tool(opened=partial(tools.workflow_of_run, workflow)), uses


_OF_THE_TEXT = ("tool_choice", "plan", "references", "truncation")
"""The settings that the text of an agent can say; what is left out is that of `actum.toml`."""


def _own_settings(definition: AgentDefinition) -> dict[str, Any]:
    values = {name: getattr(definition, name) for name in _OF_THE_TEXT}
    return {name: value for name, value in values.items() if value is not None}


class _Chosen(Wrapper):
    """Those tools of a toolset that an agent names."""

    def __init__(self, toolset: Toolset, names: Collection[str]) -> None:
        self._names = frozenset(names)
        super().__init__(toolset)

    def shown(self, tool: Tool) -> Tool | None:
        return tool if tool.name in self._names else None
