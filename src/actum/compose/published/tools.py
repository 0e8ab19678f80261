"""Makes the tools that tenants have published as declarations, with what the settings of the operator allow.

What a tenant has published trusts no address: not even the declared one may lead inside, unless the operator has opened
it. Code runs in a jail that sees neither the folders nor the variables which the operator's own scripts see.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import structs

from ...agents.agent import Agent
from ...agents.declared import AGENT
from ...agents.parts import AgentParts, Completes
from ...core.call import ToolCall, ToolResult
from ...core.definition import BadText, TextProblem
from ...core.errors import PermissionDenied, UnknownName, UsageError
from ...core.identity import Identity
from ...core.interfaces import Context, Journal, Toolset
from ...core.json import Json, JsonObject, dumps
from ...core.language.sentence import Sentence
from ...core.model import Model
from ...core.stored.definitions import as_written, checked_name, reference
from ...core.tool import Effects, Tool
from ...journal.recording import RunState
from ...server.api.api import AgentsByName, GivenAgents
from ...server.api.connected import TenantModels
from ...server.published import AgentsOfTenant, TenantAgents, agent_tool
from ...server.workflows import WorkflowsByName
from ...toolsets.declared.declaration import ToolDeclaration
from ...toolsets.declared.places import Elsewhere, declared_tool
from ...toolsets.declared.published import ALL, KIND, MadeTool, TenantTools
from ...toolsets.http.toolset import ANSWER_BYTES_MAX, ANSWER_S_MAX
from ...toolsets.wrappers import Wrapper, filtered, labels_of, renamed
from ...transport.fetcher import Fetcher
from ...transport.guard import AddressRefused, Guard
from ...workflow.workflow import Workflow
from ..agents import prompt_named
from ..settings import Settings
from ..settings_watch import open_egress
from ..tools import published_names
from ..user_code import kind_of, load_object
from ..workflows import meaning_of
from .prompts import published_prompt
from .servers import ASK, ServersOfTenant

NO_AGENTS: AgentsByName = GivenAgents({})
DEPTH_MAX = 8
"""The number of published agents and tools that may stand for one another, one below the next."""
_opened: ContextVar[tuple[str, ...]] = ContextVar("opened", default=())
TENANTS_MAX = 1_000
"""The number of tenants whose published tools are kept open."""
TASK = "task"


class DeclaredTools:
    """The published tools of all tenants.

    Args:
        settings: of the operator.
        environment: the variables of this process.
        folder: to which paths of the settings are relative.
        journal: keeps the texts, and the runs.
        workflows: the workflows of the server, which a declaration may name.
        agents: the agents of the server, likewise; they can be set later.

    Attributes:
        published_agents: the published agents of a tenant, which a declaration may name; None for none.
        models: opens the models that tenants have connected, which the nodes of their workflows may ask; None for none.
    """

    def __init__(
        self,
        settings: Settings,
        environment: Mapping[str, str],
        folder: Path,
        *,
        journal: Journal,
        workflows: WorkflowsByName,
        agents: AgentsByName = NO_AGENTS,
    ) -> None:
        self.settings = settings
        self.environment = environment
        self.folder = folder
        self.journal = journal
        self.workflows = workflows
        self.agents = agents
        self.published_agents: AgentsOfTenant | None = None
        self.models: Callable[[], TenantModels] | None = None
        self.egress = open_egress(settings, environment)
        self.guard = Guard(egress=self.egress)  # no address is named by a person here
        self.fetcher = Fetcher(self.guard, bytes_max=ANSWER_BYTES_MAX, seconds_max=ANSWER_S_MAX)
        own = settings.sandbox.jail(folder)
        self.jail = structs.replace(own, read=(), write=(), environment={})
        self._tenants: dict[str, TenantTools] = {}
        workflows.call_published(self.calls_of)

    def calls_of(self, tenant: str) -> CallsOfTenant:
        """What the nodes of a tenant's workflows may call of what the tenant has published."""
        return CallsOfTenant(self, tenant)

    def of(self, tenant: str) -> TenantTools:
        """The published tools of a tenant."""
        if tenant not in self._tenants:
            while len(self._tenants) >= TENANTS_MAX:
                del self._tenants[next(iter(self._tenants))]
            places = PlacesOfTenant(self, tenant)
            servers = ServersOfTenant(tenant, self.environment, self.egress, self.fetcher)
            self._tenants[tenant] = TenantTools(self.journal.definitions, places, servers, tenant=tenant)
        return self._tenants[tenant]

    def completing(self, settings: Settings) -> Completes:
        """What gives an agent of the settings what it takes from what its caller's tenant has published:
        `tools = ["published:*"]` and `instructions = "prompt:desk"`. What is published is the agent's with the next
        run; a run goes on with the publications with which it began.

        Args:
            settings: of the agent.
        """
        return partial(self._completed, published_names(settings.tools), prompt_named(settings.instructions))

    async def _completed(
        self,
        names: list[str],
        prompt: str,
        agent: AgentParts,
        tenant: str,
        began_with: Mapping[str, int] | None,
    ) -> AgentParts:
        instructions, uses = None, dict[str, int]()
        if prompt:
            instructions, uses = await published_prompt(self.journal.definitions, prompt, tenant, began_with)
        if not names:
            return agent.with_published((), uses, instructions)
        own = {tool.name for tool in await agent.list_tools()}
        without = own - {reference(name)[0] for name in names if name != ALL}
        made = await self.of(tenant).toolset(names, without=without, began_with=began_with)
        return agent.with_published([made.toolset], {**uses, **made.uses}, instructions)

    async def workflow(
        self, tenant: str, named: str, began_with: Mapping[str, int] | None
    ) -> tuple[Workflow, dict[str, int]]:
        """A workflow of the settings, or a published one, and the publications that it stands for.

        Args:
            tenant: whose it is.
            named: its name; `price@3` for a version.
            began_with: as for `DeclaredPlaces.make`.

        Raises:
            UsageError: there is none, or it can not be used now.
        """
        name, number = reference(named)
        if name in self.workflows.names and number is None:
            return await self.workflows.opened(name), {}
        published = await self.workflows.published(tenant)
        if published is None:
            raise UnknownName("nothing is published here")
        number = began_with.get(named, number) if began_with is not None else number
        workflow = await published.open(name, number, began_with=began_with)
        _check_no_circle(workflow.uses)
        return workflow, {named: workflow.version, **workflow.uses}

    async def workflow_of_run(self, workflow: Workflow, run_id: str, context: Context) -> Workflow:
        """The workflow that a call means: the run of the call goes on with what it began with."""
        entries = (await self.journal.read(run_id, tenant=context.tenant))[:1]
        if not entries or not entries[0].payload:
            return workflow
        return await self.workflows.of(run_id, RunState(entries).beginning())


class PlacesOfTenant:
    """Makes tools of the declarations of one tenant; see `DeclaredPlaces`.

    Args:
        declared: what all tenants share.
        tenant: the tenant.
    """

    def __init__(self, declared: DeclaredTools, tenant: str) -> None:
        self._declared = declared
        self._tenant = tenant

    def shown(self, tool: Tool) -> Tool:
        """The definition with the operator's word on what the tool does."""
        return labels_of(tool.name, self._declared.settings.tool_labels).on(tool)

    def means(self, name: str) -> str:
        """What a name means by the settings; see `DeclaredPlaces.means`."""
        return meaning_of(self._declared.settings, name)

    async def make(self, declaration: ToolDeclaration, began_with: Mapping[str, int] | None = None) -> MadeTool:
        """The tool of a declaration; see `DeclaredPlaces.make`.

        Raises:
            BadText: the place can not be used as it is declared, or does more than the declaration says.
        """
        with opening(f"tool {declaration.name}", declaration.place):
            return await self._make(declaration, began_with)

    async def _make(self, declaration: ToolDeclaration, began_with: Mapping[str, int] | None) -> MadeTool:
        if declaration.workflow is not None:
            return await self._of_workflow(declaration, declaration.workflow, began_with)
        if declaration.agent is not None:
            return await self._of_agent(declaration, declaration.agent, began_with)
        if declaration.mcp is not None:
            return await self._of_server(declaration, declaration.mcp.server, declaration.mcp.tool, began_with)
        if declaration.a2a is not None:
            return await self._of_server(declaration, declaration.a2a.agent, ASK, began_with)
        shared = self._declared
        function = self._function(declaration.module) if declaration.module is not None else None
        made = declared_tool(
            declaration, function=function, jail=shared.jail, egress=shared.egress, fetcher=shared.fetcher
        )
        assert not isinstance(made, Tool), "a declaration without a place is published by nobody"
        return MadeTool(made)

    async def check(self, declaration: ToolDeclaration, who: Identity) -> tuple[Sentence | str, ...]:
        """Whether the address of the place may be reached, and whether the publisher may use what the place names; see
        `DeclaredPlaces.check`.

        Raises:
            BadText: it may not, or they may not.
        """
        if declaration.http is not None:
            return await self._check_address(declaration.http.url)
        named = declaration.workflow or declaration.agent
        if named is None:
            return ()
        if declaration.agent is not None:
            with naming("agent"):
                await self.check_agent(declaration.agent, who)
        elif not who.may_use("agent", reference(named)[0]):
            raise _missing(declaration, f"there is no workflow {reference(named)[0]!r} here that you may use")
        return ()

    async def _check_address(self, url: str) -> tuple[Sentence | str, ...]:
        """Whether an address may be called; what the publisher is told where its name is not known now."""
        address = urlsplit(url)
        try:
            is_known = await self._declared.guard.is_known(f"{address.scheme}://{address.netloc}")
        except AddressRefused as refused:
            told = Sentence("the address can not be called: {detail}", detail=str(refused))
            raise BadText([TextProblem(told, path="http.url")]) from None
        if is_known:
            return ()
        remark = Sentence(
            "the name of the host {host!r} is not known now: calls of the tool fail until it is",
            host=(address.hostname or "")[:100],
        )
        return (remark,)

    async def check_agent(self, named: str, who: Identity) -> None:
        """Whether the publisher of a text may use an agent that the text names.

        Raises:
            UsageError: there is no such agent, or none that they may use.
        """
        name = reference(named)[0]
        agent, _ = await self.agent(named, None)
        if not (who.may_use("agent", name) and agent.is_for(who.principal, who.roles)):
            raise UnknownName("there is no agent {name!r} here that you may use", name=name)

    def _function(self, spec: str) -> Callable[..., object]:
        """The function that `package.module:function` names, of a module that the operator allows.

        Raises:
            BadText: the operator does not allow the module, or there is no such function.
        """
        module, _, name = spec.partition(":")
        allowed = self._declared.settings.tool_modules
        if not _is_allowed(module, allowed):
            told = f"the module {module!r} is none of those that [tools] modules allows"
            raise BadText([TextProblem(told, hint="ask the operator of the server", path="module")])
        try:
            found = load_object(spec)
        except UsageError as error:
            raise BadText([TextProblem(error.sentence, path="module")]) from None
        if not callable(found) or isinstance(found, type) or name.startswith("_"):
            raise BadText([TextProblem(f"{spec} is {kind_of(found)}, and no function", path="module")])
        if not _is_allowed(str(getattr(inspect.unwrap(found), "__module__", "")), allowed):
            told = f"{name!r} is a function of another module, which [tools] modules does not allow"
            raise BadText([TextProblem(told, path="module")])
        return found

    async def _of_workflow(
        self, declaration: ToolDeclaration, named: str, began_with: Mapping[str, int] | None
    ) -> MadeTool:
        try:
            workflow, uses = await self._declared.workflow(self._tenant, named, began_with)
        except UsageError as error:
            raise _missing(declaration, str(error)) from None
        opened = partial(self._declared.workflow_of_run, workflow)
        toolset = workflow.as_tool(declaration.name, declaration.description, given_by="client", opened=opened)
        (tool,) = await toolset.list_tools()
        made = declared_tool(declaration, elsewhere=Elsewhere(toolset, tool.effects))
        assert not isinstance(made, Tool)
        return MadeTool(made, uses, is_kept=False)

    async def _of_server(
        self, declaration: ToolDeclaration, named: str, tool: str, began_with: Mapping[str, int] | None
    ) -> MadeTool:
        """A tool of a published server, or a skill of a published agent."""
        missing = f"there is no {_WORDS[declaration.place]} {named[:100]!r} of this tenant"
        try:
            made = await self._declared.of(self._tenant).open_server(checked_name(named), began_with=began_with)
        except UnknownName:
            raise _missing(declaration, missing) from None
        except BadText:
            raise
        except UsageError as error:
            raise _missing(declaration, str(error)) from None
        own = f"{named}_{tool}"
        found = next((each for each in await made.toolset.list_tools() if each.name == own), None)
        if found is None:
            raise _missing(declaration, f"{named!r} has no tool {tool[:100]!r}" if declaration.mcp else missing)
        inside = renamed({declaration.name: own}, filtered(own, made.toolset))
        if declaration.a2a is not None:
            skill = declaration.a2a.skill
            known = found.property_schemas().get("skill", {}).get("enum")
            if not isinstance(known, list) or skill not in known:
                raise _missing(declaration, f"the agent {named!r} has no skill {skill[:100]!r}")
            inside = _AsSkill(inside, skill)
        made_tool = declared_tool(declaration, elsewhere=Elsewhere(inside, found.effects))
        assert not isinstance(made_tool, Tool)
        return MadeTool(made_tool, made.uses, is_kept=False)

    async def agent(self, named: str, began_with: Mapping[str, int] | None) -> tuple[Agent[object], dict[str, int]]:
        """An agent of the settings, or a published one, and the publications that it stands for.

        Args:
            named: its name; `books@3` for a version of a published one.
            began_with: as for `DeclaredPlaces.make`.

        Raises:
            UsageError: there is none, or it can not be used now.
        """
        shared, (name, number) = self._declared, reference(named)
        if name in shared.agents.names or shared.published_agents is None:
            if number is not None:
                raise UnknownName("the agents of the settings have no versions: write agent: {name}", name=name)
            return shared.agents.get(name), {}
        agent = await shared.published_agents(self._tenant).open(name, began_with, number=number)
        return agent, as_written(agent.runner.uses, AGENT, name, number)

    async def _of_agent(
        self, declaration: ToolDeclaration, named: str, began_with: Mapping[str, int] | None
    ) -> MadeTool:
        with naming("agent"):
            agent, uses = await self.agent(named, began_with)
        does: frozenset[Effects] | None = frozenset()
        settings = self._declared.settings
        whole: AgentParts = agent
        if agent.takes_published:  # of these definitions, which may be staged
            completes = self._declared.completing(settings.of_agents.get(agent.name, settings))
            whole = await completes(agent, self._tenant, None)
        for tool in await whole.list_tools():
            does = None if does is None or tool.effects is None else does | tool.effects
        toolset: Toolset = ForItsUsers(agent.as_tool(declaration.name, declaration.description), agent)
        names = {name for name, _ in _properties(declaration)}
        toolset = _AsTask(toolset) if names and TASK not in names else toolset
        made = declared_tool(declaration, elsewhere=Elsewhere(toolset, does))
        assert not isinstance(made, Tool)
        return MadeTool(made, uses, is_kept=False)


class CallsOfTenant:
    """The published tools and agents of a tenant, and its models, for the nodes of its workflows; see `PublishedCalls`.

    Args:
        declared: what all tenants share.
        tenant: the tenant.
    """

    def __init__(self, declared: DeclaredTools, tenant: str) -> None:
        self._declared = declared
        self._tenant = tenant

    async def publications_made(self) -> int:
        """How often a tool or an agent was published, or taken out of use."""
        agents = await self._declared.journal.definitions.publications_made(AGENT, tenant=self._tenant)
        return agents + await self._declared.of(self._tenant).publications_made()

    async def listed(self) -> Sequence[Tool]:
        """The definitions of those in use."""
        tools = {name: each.tool for name, each in (await self._declared.of(self._tenant).listed()).items()}
        own = self._agents()
        agents = await own.listed() if own is not None else {}
        return [*tools.values(), *(agent_tool(name, each.description) for name, each in agents.items())]

    async def open(self, name: str, began_with: Mapping[str, int] | None) -> tuple[Toolset, Mapping[str, int]] | None:
        """A tool or an agent; see `PublishedCalls.open`.

        Raises:
            UsageError: it can not be used now.
        """
        tools = self._declared.of(self._tenant)
        plain, number = reference(name) if "@" in name else (name, None)
        known = plain if began_with is None else name  # a run has a version that is named under that name
        try:
            if await tools.has(known, began_with):
                made = await tools.open(plain, number, began_with=began_with)
                return filtered(plain, made.toolset), as_written(made.uses, KIND, plain, number)
            if await self._has_agent(known, began_with):
                agent, uses = await PlacesOfTenant(self._declared, self._tenant).agent(name, began_with)
                return ForItsUsers(agent.as_tool(), agent), uses
        except UnknownName:
            if began_with is not None or number is not None:
                raise
        return None  # or taken out of use since the list was read

    async def model_names(self) -> Sequence[str]:
        """The names of the models that the tenant has connected."""
        models = self._declared.models
        return [row.name for row in await models().rows(self._tenant)] if models is not None else ()

    async def model(self, name: str) -> Model | None:
        """The model that the tenant has connected under a name; see `PublishedCalls.model`.

        Raises:
            UsageError: the model can not be asked now.
        """
        models = self._declared.models
        return await models().named(self._tenant, name) if models is not None else None

    def _agents(self) -> TenantAgents | None:
        of = self._declared.published_agents
        return of(self._tenant) if of is not None else None

    async def _has_agent(self, name: str, began_with: Mapping[str, int] | None) -> bool:
        own = self._agents()
        if own is None or name in self._declared.agents.names:
            return False
        return f"{AGENT}/{name}" in began_with if began_with is not None else name in await own.listed()


class ForItsUsers(Wrapper):
    """An agent as a tool: it does nothing for a user who may not use the agent."""

    def __init__(self, toolset: Toolset, agent: AgentParts) -> None:
        self._agent = agent
        super().__init__(toolset)

    @property
    def ends_when_cancelled(self) -> bool:
        """As `AgentTool`: the run of the agent writes down itself how it ended."""
        return True

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Hand the task over.

        Raises:
            PermissionDenied: the user may not use the agent.
        """
        if not self._agent.is_for(context.principal, context.roles):
            raise PermissionDenied("The agent {agent!r} is not for this user. Nothing was done.", agent=call.name)
        return await super().execute(call, context)


class _AsTask(Wrapper):
    """An agent as a tool with parameters of its own: their values are the task, as JSON."""

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Hand the task over."""
        return await super().execute(structs.replace(call, arguments={TASK: dumps(call.arguments)}), context)


@contextmanager
def naming(place: str) -> Iterator[None]:
    """A block in which something is opened that a text names: what is wrong with it is wrong with the text.

    Args:
        place: the field of the text.

    Raises:
        BadText: there is no such thing, or it can not be used now.
    """
    try:
        yield
    except BadText:
        raise
    except UsageError as error:
        raise BadText([TextProblem(error.sentence, path=place)]) from None


@contextmanager
def opening(what: str, place: str) -> Iterator[None]:
    """A block in which a published agent or tool is opened, with what it stands for.

    Args:
        what: what is opened, such as `agent helper`.
        place: the field of its text that names others.

    Raises:
        BadText: it would stand for itself, or others stand too deep below one another.
    """
    above = _opened.get()
    if what in above or len(above) >= DEPTH_MAX:
        line = " > ".join([*above, what])
        told = f"nothing stands for itself: {line}" if what in above else f"too deep below one another: {line}"
        raise BadText([TextProblem(told[:1_000], hint="name another one", path=place)])
    token = _opened.set((*above, what))
    try:
        yield
    finally:
        _opened.reset(token)


def _check_no_circle(uses: Mapping[str, int]) -> None:
    """Raises:
    UsageError: a workflow that an agent or a tool names calls that agent or tool itself.
    """
    below = {each.partition("@")[0] for each in uses}
    again = next((each for each in _opened.get() if each.replace(" ", "/", 1) in below), None)
    if again is not None:
        raise UsageError("nothing stands for itself: {line}", line=" > ".join([*_opened.get(), again])[:1_000])


class _AsSkill(Wrapper):
    """A skill of a remote agent as a tool: the values of its parameters are the message, as JSON."""

    def __init__(self, toolset: Toolset, skill: str) -> None:
        self._skill = skill
        super().__init__(toolset)

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Ask the agent."""
        given: JsonObject = {"message": dumps(call.arguments), "skill": self._skill}
        return await super().execute(structs.replace(call, arguments=given), context)


_WORDS = {"mcp": "server", "a2a": "remote agent"}


def _missing(declaration: ToolDeclaration, told: str) -> BadText:
    return BadText([TextProblem(told, path=declaration.place)])


def _properties(declaration: ToolDeclaration) -> list[tuple[str, Json]]:
    found = declaration.parameters.get("properties")
    return list(found.items()) if isinstance(found, dict) else []


def _is_allowed(module: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(module, pattern) for pattern in patterns)
