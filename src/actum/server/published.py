"""What each tenant has published, as a server offers it: workflows as agents and tools, and tools.

What is published holds from the next request on, in every process. A run goes on with the publications with which it
began, which are in `Started.uses`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, Protocol, TypeVar

from ..agents.agent import Agent
from ..agents.declared import AGENT
from ..agents.identity import Naming
from ..core.definition import BadText, ReadDefinition
from ..core.errors import JournalError, UnknownName, UsageError
from ..core.identity import Identity
from ..core.interfaces import Journal
from ..core.run.record import Started
from ..core.stored.definitions import TRIED, PublicationInUse
from ..core.tool import TASK_PARAMETERS, Tool
from ..runs.runner import Runner
from ..toolsets.declared.published import USES, ListedTool, MadeTool, TenantTools
from ..toolsets.declared.server import SERVER_USES
from ..workflow.listing import ListedWorkflow
from ..workflow.workflow import Workflow
from .workflows import WorkflowsByName

LOOK_S = 1.0
"""How long a list waits for a busy journal, where an earlier list is known."""
TENANTS_MAX = 1_000
"""The number of tenants whose lists of tools are kept."""

NO_WORKFLOWS: Mapping[str, ListedWorkflow] = {}
NO_TOOLS: Mapping[str, ListedTool] = {}

Listed = TypeVar("Listed")
ToolsOfTenant = Callable[[str], TenantTools]
"""The published tools of a tenant."""
AgentsOfTenant = Callable[[str], "TenantAgents"]
"""The published agents of a tenant."""


class OfferedTools(NamedTuple):
    """What a tenant has published, as tools.

    Attributes:
        tools: by their names, in the order of these.
        names: the names.
        versions: the numbers of the publications in use, of tools that are no workflows.
        workflows, declared: the lists that this was made of.
        reserved: the tools that exist for some users alone.
    """

    tools: Mapping[str, Tool]
    names: Sequence[str]
    versions: Mapping[str, int]
    workflows: Mapping[str, ListedWorkflow]
    declared: Mapping[str, ListedTool]
    reserved: Sequence[ListedTool]

    def hidden_from(self, who: Identity) -> frozenset[str]:
        """The names of the tools that do not exist for a user."""
        return frozenset([each.tool.name for each in self.reserved if not each.is_for(who.principal, who.roles)])


class OfferedAgent(NamedTuple):
    """A published agent, or a workflow that stands for one.

    Attributes:
        description: what it is good for.
        publication: which publication is in use.
        users, roles: for whom it is; with neither, it is for everybody.
    """

    description: str
    publication: PublicationInUse
    users: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()

    def is_for(self, principal: str, roles: Collection[str]) -> bool:
        """Whether a user may use the agent, as far as lists tell."""
        if not (self.users or self.roles):
            return True  # as of nearly all of thousands
        return Naming(name=self.publication.name, users=self.users, roles=self.roles).lets_in(principal, roles)


class TenantAgents(Protocol):
    """The published agents of a tenant; `compose.published.agents` has them."""

    async def listed(self) -> Mapping[str, OfferedAgent]:
        """The agents in use, in the order of their names: the same object as long as nothing is published."""

    def means(self, name: str) -> str:
        """What a name means by the settings, such as `an agent`; empty for nothing."""

    async def open(
        self, name: str, began_with: Mapping[str, int] | None = None, *, number: int | None = None, user: str = ""
    ) -> Agent[object]:
        """The agent in use, another publication of it, or the one with which a run began.

        Args:
            name: what it is called.
            number: which publication, for a run that begins; None for the one in use.
            began_with: as in `Started.uses`; None for a run that begins.
            user: who asks: where upstreams of the model have weights, each user has one to begin with.

        Raises:
            UnknownName: there is no such publication.
            BadText: the publication can not be used now.
        """

    async def draft(self, name: str, text: int, began_with: Mapping[str, int] | None = None) -> Agent[object]:
        """The agent of a draft, for a try.

        Args:
            name: what it is called.
            text: the `number_of_text` of the draft.
            began_with: as for `open`.

        Raises:
            UnknownName: there is no draft.
            UsageError: the draft has another text by now.
            BadText: the draft can not be used.
        """

    async def check(self, name: str, text: str, tools: Mapping[str, Tool], who: Identity) -> ReadDefinition:
        """What is in a text that somebody wants to publish under a name.

        Args:
            name: the name.
            text: the text.
            tools: what the publisher may use, by name.
            who: the publisher.

        Raises:
            BadText: something is wrong with it.
        """


class PublishedOffer:
    """What each tenant has published, as tools and agents.

    Args:
        workflows: the workflows of the server.
        tools: the published tools of a tenant; None where nobody can publish any.
        agents: the published agents of a tenant, likewise.
        over: the same with the definitions of another journal, for checks; None where nothing is checked together.

    Attributes:
        workflows: the workflows of the server.
    """

    def __init__(
        self,
        workflows: WorkflowsByName,
        tools: ToolsOfTenant | None = None,
        agents: AgentsOfTenant | None = None,
        over: Callable[[Journal], PublishedOffer] | None = None,
    ) -> None:
        self.workflows = workflows
        self.over = over
        self._tools_of = tools
        self._agents_of = agents
        self._lists: dict[str, OfferedTools] = {}

    # Lists ------------------------------------------------------------------------------------------------------------

    async def listed(self, tenant: str) -> Mapping[str, ListedWorkflow]:
        """The workflows that a tenant has published, in the order of their names: the same object as long as nothing is
        published. While the journal does not answer, this is the list that was read last.
        """
        published = await self.workflows.published(tenant)
        return NO_WORKFLOWS if published is None else await _in_time(published.listed(), published.latest)

    async def look(self, tenant: str) -> None:
        """Read once what a tenant has published: from then on a list is told while the journal does not answer."""
        own = self.tools_of(tenant)
        if own is not None and own.latest is None:
            await own.listed()
        workflows = await self.workflows.published(tenant)
        if workflows is not None and workflows.latest is None:
            await workflows.listed()

    def tools_of(self, tenant: str) -> TenantTools | None:
        """The published tools of a tenant; None where nobody can publish any."""
        return self._tools_of(tenant) if self._tools_of is not None else None

    def agents_of(self, tenant: str) -> TenantAgents | None:
        """The published agents of a tenant; None where nobody can publish any."""
        return self._agents_of(tenant) if self._agents_of is not None else None

    async def agents(self, tenant: str) -> Mapping[str, OfferedAgent]:
        """What a tenant has published as agents, by name: its agents, and its workflows."""
        own = self.agents_of(tenant)
        found = dict(await own.listed()) if own is not None else {}
        workflows = await self.listed(tenant)
        return found | {name: OfferedAgent(each.description, each.publication) for name, each in workflows.items()}

    async def offered(self, tenant: str) -> OfferedTools:
        """What a tenant has published, as tools: the same object as long as nothing is published. A workflow and a tool
        of one name: the workflow is meant.
        """
        workflows, own = await self.listed(tenant), self.tools_of(tenant)
        declared = NO_TOOLS if own is None else await _in_time(own.listed(), own.latest)
        known = self._lists.get(tenant)
        if known is None or known.workflows is not workflows or known.declared is not declared:
            tools = {name: each.tool for name, each in declared.items()}
            tools |= {name: each.tool for name, each in workflows.items()}
            names = tuple(sorted(tools))
            of_tools = {name: each for name, each in declared.items() if name not in workflows and not each.server}
            versions = {name: each.publication.number for name, each in of_tools.items()}
            reserved = [each for name, each in declared.items() if each.is_for_some and name not in workflows]
            known = OfferedTools({name: tools[name] for name in names}, names, versions, workflows, declared, reserved)
            while len(self._lists) >= TENANTS_MAX:
                del self._lists[next(iter(self._lists))]
            self._lists[tenant] = known
        return known

    async def tools(self, tenant: str) -> Mapping[str, Tool]:
        """The tools of `offered`, by their names: the same object as long as nothing is published."""
        return (await self.offered(tenant)).tools

    async def publications_made(self, tenant: str) -> int:
        """How often a tenant has published something: read in the same time however much that is."""
        published, own = await self.workflows.published(tenant), self.tools_of(tenant)
        made = await published.publications_made() if published is not None else 0
        return made + (await own.publications_made() if own is not None else 0)

    # Calls ------------------------------------------------------------------------------------------------------------

    async def runner(self, among: Runner, tenant: str, name: str) -> Runner | None:
        """What makes a call of a published tool or workflow; None where the tenant has none of this name.

        Args:
            among: judges and writes down the calls of the server.
            tenant: who calls.
            name: the name of the tool.

        Raises:
            UsageError: it can not be called now.
        """
        workflow = await self.open(tenant, name)
        if workflow is not None:
            return _caller(among, workflow)
        own = self.tools_of(tenant)
        if own is None or name not in await own.listed():
            return None
        with suppress(UnknownName):
            return _with_tool(among, await _opened(own, name))
        return None

    async def runner_of_draft(self, among: Runner, tenant: str, name: str, text: int) -> Runner:
        """What tries the draft of a tool.

        Args:
            among, tenant, name: as for `runner`.
            text: the `number_of_text` of the draft.

        Raises:
            UsageError: the draft can not be tried.
        """
        own = self.tools_of(tenant)
        if own is None:
            raise UsageError("nobody can publish tools here")
        return _with_tool(among, await own.draft(name, text))

    async def runner_of(self, among: Runner, started: Started) -> Runner:
        """What can go on with a run of direct calls: with the publications with which the run began.

        Raises:
            UsageError: what the run calls can not be called now.
        """
        if not started.uses:
            return among
        named = next(iter(started.uses))
        is_try, named = named.startswith(TRIED), named.removeprefix(TRIED)
        if not named.startswith((USES, SERVER_USES)):
            return _caller(among, await self._with_version(started, named))
        own = self.tools_of(started.tenant)
        if own is None:
            raise UsageError("no published tools are kept here, and the run uses {name!r}", name=named)
        if is_try:
            return _with_tool(
                among, await own.draft(named.removeprefix(USES), started.uses[TRIED + named], started.uses)
            )
        if named.startswith(SERVER_USES):
            return _with_tool(among, await own.open_server(named.removeprefix(SERVER_USES), began_with=started.uses))
        return _with_tool(among, await _opened(own, named.removeprefix(USES), started.uses))

    async def is_withdrawn(self, started: Started, name: str) -> bool:
        """Whether a run calls a published tool that was taken out of use since.

        Args:
            started: the first record of the run.
            name: what the run calls.
        """
        own = self.tools_of(started.tenant)
        return own is not None and await own.is_withdrawn(name, started.uses)

    # Agents -----------------------------------------------------------------------------------------------------------

    async def agent(self, tenant: str, name: str, *, user: str = "", version: int = 0) -> Agent[object] | None:
        """A published agent, or one that stands for a published workflow; None where the tenant has none of this name.

        Args:
            tenant: whose it is.
            name: what it is called.
            user: who asks: a share of the users may get a canary.
            version: the number of a publication; 0 for the one that the user gets.

        Raises:
            UsageError: it can not be run now.
        """
        workflow = await self.open(tenant, name, version or await self.canary_for(tenant, name, user))
        if workflow is not None:
            return self.workflows.speaker(workflow, tenant)
        own = self.agents_of(tenant)
        line = (await own.listed()).get(name) if own is not None else None
        if own is None or line is None:
            return None
        with suppress(UnknownName):
            return await _agent(own, name, number=version or line.publication.number_for(user), user=user)
        return None

    async def canary_for(self, tenant: str, name: str, user: str) -> int:
        """The number of the publication of a workflow that a user gets in the place of the one in use; 0 for none."""
        line = (await self.listed(tenant)).get(name)
        number = line.publication.number_for(user) if line is not None else 0
        return number if line is not None and number != line.publication.number else 0

    async def agent_of_draft(self, tenant: str, name: str, text: int) -> Agent[object]:
        """The agent of a draft, for a try.

        Raises:
            UsageError: the draft can not be tried.
        """
        own = self.agents_of(tenant)
        if own is None:
            raise UsageError("nobody can publish agents here")
        return await own.draft(name, text)

    def stands_for(self, started: Started) -> bool:
        """Whether the agent of a run was published, or stands for a published workflow."""
        own = f"{AGENT}/{started.agent}"
        return not {started.agent, own, TRIED + own}.isdisjoint(started.uses)

    async def agent_of(self, started: Started) -> Agent[object] | None:
        """The agent that can go on with a run for which `stands_for` holds; None for another run.

        Raises:
            UsageError: it can not be run now.
        """
        if not self.stands_for(started):
            return None
        if started.agent in started.uses:
            return self.workflows.speaker(await self._with_version(started, started.agent), started.tenant)
        own = self.agents_of(started.tenant)
        if own is None:
            raise UsageError("no published agents are kept here, and the run uses {name!r}", name=started.agent)
        tried = started.uses.get(f"{TRIED}{AGENT}/{started.agent}")
        if tried is not None:
            return await own.draft(started.agent, tried, started.uses)
        return await _agent(own, started.agent, started.uses, user=started.principal or started.conversation)

    async def open(self, tenant: str, name: str, number: int = 0) -> Workflow | None:
        """A publication of a tenant's workflow, the one in use for 0; None where the tenant has none of this name.

        Raises:
            UsageError: the workflow can not be run now.
        """
        published = await self.workflows.published(tenant)
        if published is None or name not in await published.listed():
            return None
        with suppress(UnknownName):
            try:
                return await published.open(name, number or None)
            except BadText as bad:
                raise _not_now(name, bad) from None
        return None

    async def _with_version(self, started: Started, name: str) -> Workflow:
        published = await self.workflows.published(started.tenant)
        if published is None:
            raise UsageError("the journal keeps no published workflows, and the run uses {name!r}", name=name)
        try:
            return await published.with_version(name, started.uses)
        except BadText as bad:
            raise _not_now(name, bad) from None


def agent_tool(name: str, description: str) -> Tool:
    """The definition of a published agent as a tool, as lists tell it: what the agent does is not known there."""
    return Tool(name=name, description=description, parameters=TASK_PARAMETERS, idempotent=True)


async def _in_time(reading: Awaitable[Listed], latest: Listed | None) -> Listed:
    """A list; the one that was read last, while the journal does not answer."""
    try:
        async with asyncio.timeout(LOOK_S if latest is not None else None):
            return await reading
    except (TimeoutError, JournalError):
        if latest is None:
            raise
        return latest


async def _opened(own: TenantTools, name: str, uses: Mapping[str, int] | None = None) -> MadeTool:
    """A published tool: the one in use, or with the publications of a run.

    Raises:
        UnknownName: there is no such publication.
        UsageError: it can not be called now.
    """
    try:
        return await own.open(name, began_with=uses)
    except BadText as bad:
        raise UsageError(
            "the tool {name!r} can not be called now: {why}", name=name, why=bad.problems[0].message
        ) from None


async def _agent(
    own: TenantAgents, name: str, uses: Mapping[str, int] | None = None, *, number: int | None = None, user: str = ""
) -> Agent[object]:
    try:
        return await own.open(name, uses, number=number, user=user)
    except BadText as bad:
        raise UsageError(
            "the agent {name!r} can not be run now: {why}", name=name, why=bad.problems[0].message
        ) from None


def _caller(among: Runner, workflow: Workflow) -> Runner:
    return among.with_tools([workflow.as_tool(given_by="client")]).with_uses(workflow.own_uses)


def _with_tool(among: Runner, made: MadeTool) -> Runner:
    return among.with_tools([made.toolset]).with_uses(made.uses)


def _not_now(name: str, bad: BadText) -> UsageError:
    return UsageError("the workflow {name!r} can not be run now: {why}", name=name, why=bad.problems[0].message)
