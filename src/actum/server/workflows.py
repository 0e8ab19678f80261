"""The workflows that a server serves: those of the operator, which are for all, and those that each tenant published.

A published workflow is a tool, an agent and the name of a model for the tenant that owns it. What doors list is read
without the texts (`workflow.listing`); a publication is opened when it is called. A publication or a rollback is seen
by the next request, in every process. A run keeps the publications with which it began: they stand in `Started.uses`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Protocol

from ..agents.agent import Agent
from ..core.errors import JournalError, UnknownName, UsageError
from ..core.run.record import Started
from ..core.tool import Tool
from ..runs.runner import Runner
from ..workflow.definition.text import BadWorkflow
from ..workflow.listing import ListedWorkflow
from ..workflow.published import PublishedWorkflows
from ..workflow.speaker import speaking_agent
from ..workflow.workflow import Workflow

LOOK_S = 1.0
"""So long a list waits for a journal that is busy, where an earlier list is known."""


class WorkflowsByName(Protocol):
    """The workflows of a server."""

    @property
    def names(self) -> Sequence[str]:
        """The names of the workflows that the operator set up."""

    def get(self, name: str) -> Workflow:
        """The workflow of a name, as the operator wrote it: it is asked what it takes and never run.

        Raises:
            UnknownName: there is none.
        """

    async def opened(self, name: str) -> Workflow:
        """The workflow of a name, for a run that begins now: with the publications that its nodes use.

        Raises:
            UnknownName: there is none.
            UsageError: a publication that it uses can not be opened.
        """

    def description(self, name: str) -> str:
        """What the workflow of a name is good for."""

    async def published(self, tenant: str) -> PublishedWorkflows | None:
        """The published workflows of a tenant; None where there are none."""

    def speaker(self, workflow: Workflow, tenant: str) -> Agent[object]:
        """An agent that stands for a workflow that a tenant has published."""

    async def default_tools(self) -> Sequence[Tool]:
        """The tools that published workflows may call."""

    async def of(self, run_id: str, started: Started) -> Workflow:
        """The workflow that can go on with a run, whose first record is `started`.

        Raises:
            UsageError: there is none.
        """


class GivenWorkflows:
    """Workflows that a program has made.

    Args:
        workflows: the workflows by name.
        published: the published workflows of a tenant; None where none are published.
        tools: what published workflows may call.
    """

    def __init__(
        self,
        workflows: Mapping[str, Workflow],
        published: Callable[[str], PublishedWorkflows] | None = None,
        tools: Sequence[Tool] = (),
    ) -> None:
        self._workflows = workflows
        self._published = published
        self._tools = tools

    @property
    def names(self) -> Sequence[str]:
        """The names of the workflows."""
        return tuple(self._workflows)

    def get(self, name: str) -> Workflow:
        """The workflow of a name.

        Raises:
            UnknownName: there is none.
        """
        if name not in self._workflows:
            raise UnknownName("there is no workflow {name!r}", name=name)
        return self._workflows[name]

    async def opened(self, name: str) -> Workflow:
        """The workflow of a name.

        Raises:
            UnknownName: there is none.
        """
        return self.get(name)

    def description(self, name: str) -> str:
        """What the workflow of a name is good for."""
        return self.get(name).definition.description

    def speaker(self, workflow: Workflow, tenant: str) -> Agent[object]:
        """An agent that stands for a workflow that a tenant has published."""
        return speaking_agent(workflow, description=workflow.definition.description)

    async def published(self, tenant: str) -> PublishedWorkflows | None:
        """The published workflows of a tenant; None where there are none."""
        return self._published(tenant) if self._published is not None else None

    async def default_tools(self) -> Sequence[Tool]:
        """The tools that published workflows may call."""
        return self._tools

    async def of(self, run_id: str, started: Started) -> Workflow:
        """The workflow that can go on with a run, whose first record is `started`.

        Raises:
            UsageError: there is none.
        """
        if started.version and self._published is not None:
            return await self._published(started.tenant).of_run(run_id)
        return self.get(started.agent)


class PublishedOffer:
    """What each tenant has published, as tools and agents.

    Args:
        workflows: the workflows of the server.
    """

    def __init__(self, workflows: WorkflowsByName) -> None:
        self._workflows = workflows

    async def listed(self, tenant: str) -> Mapping[str, ListedWorkflow]:
        """The workflows that a tenant has published, in the order of their names: the same object as long as nothing is
        published. While the journal does not answer, this is the list that was read last.
        """
        published = await self._workflows.published(tenant)
        if published is None:
            return {}
        try:
            async with asyncio.timeout(LOOK_S if published.latest is not None else None):
                return await published.listed()
        except (TimeoutError, JournalError):
            if published.latest is None:
                raise
            return published.latest

    async def publications_made(self, tenant: str) -> int:
        """How often a tenant has published something: read in the same time however much that is."""
        published = await self._workflows.published(tenant)
        return await published.publications_made() if published is not None else 0

    async def runner(self, among: Runner, tenant: str, name: str) -> Runner | None:
        """What makes a call of a published workflow as a tool; None where the tenant has none of this name.

        Args:
            among: judges and writes down the calls of the server.
            tenant: who calls.
            name: the name of the workflow.

        Raises:
            UsageError: the workflow can not be run now.
        """
        workflow = await self.open(tenant, name)
        return _caller(among, workflow) if workflow is not None else None

    async def runner_of(self, among: Runner, started: Started) -> Runner:
        """What can go on with a run of direct calls: with the publication with which the run began.

        Raises:
            UsageError: the workflow can not be run now.
        """
        if not started.uses:
            return among
        return _caller(among, await self._with_version(started, next(iter(started.uses))))

    async def agent(self, tenant: str, name: str) -> Agent[object] | None:
        """An agent that stands for a published workflow; None where the tenant has none of this name.

        Raises:
            UsageError: the workflow can not be run now.
        """
        workflow = await self.open(tenant, name)
        return self._workflows.speaker(workflow, tenant) if workflow is not None else None

    async def agent_of(self, started: Started) -> Agent[object] | None:
        """The agent that can go on with a run of an agent that stands for a published workflow; None for another run.

        Raises:
            UsageError: the workflow can not be run now.
        """
        if started.agent not in started.uses:
            return None
        return self._workflows.speaker(await self._with_version(started, started.agent), started.tenant)

    async def open(self, tenant: str, name: str) -> Workflow | None:
        """The publication in use of a tenant's workflow; None where the tenant has none of this name.

        Raises:
            UsageError: the workflow can not be run now.
        """
        published = await self._workflows.published(tenant)
        if published is None or name not in await published.listed():
            return None
        with suppress(UnknownName):
            try:
                return await published.open(name)
            except BadWorkflow as bad:
                raise _not_now(name, bad) from None
        return None

    async def _with_version(self, started: Started, name: str) -> Workflow:
        published = await self._workflows.published(started.tenant)
        if published is None:
            raise UsageError("the journal keeps no published workflows, and the run uses {name!r}", name=name)
        try:
            return await published.with_version(name, started.uses)
        except BadWorkflow as bad:
            raise _not_now(name, bad) from None


def _caller(among: Runner, workflow: Workflow) -> Runner:
    return among.with_tools([workflow.as_tool(given_by="client")]).with_uses(workflow.own_uses)


def _not_now(name: str, bad: BadWorkflow) -> UsageError:
    return UsageError("the workflow {name!r} can not be run now: {why}", name=name, why=bad.problems[0].message)
