"""The workflows that a server serves: those of the operator, which are for all, and those that each tenant published.

A published workflow is a tool, an agent and the name of a model for the tenant that owns it; see `published`. What
doors list is read without the texts (`workflow.listing`); a publication is opened when it is called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from ..agents.agent import Agent
from ..core.errors import UnknownName
from ..core.run.record import Started
from ..core.stored.definitions import TRIED
from ..core.tool import Tool
from ..workflow.published import CallsOfTenants, PublishedWorkflows
from ..workflow.speaker import speaking_agent
from ..workflow.workflow import Workflow


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
        """The tools of the settings that published workflows may call."""

    def call_published(self, calls: CallsOfTenants) -> None:
        """Have the nodes of published workflows call what their tenant has published, too.

        Args:
            calls: the published tools and agents of a tenant.
        """

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
        self._calls: CallsOfTenants | None = None

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
        if self._published is None:
            return None
        found = self._published(tenant)
        if self._calls is not None:
            found.calls = self._calls(tenant)
        return found

    async def default_tools(self) -> Sequence[Tool]:
        """The tools that published workflows may call."""
        return self._tools

    def call_published(self, calls: CallsOfTenants) -> None:
        """Have the nodes of published workflows call what their tenant has published, too."""
        self._calls = calls

    async def of(self, run_id: str, started: Started) -> Workflow:
        """The workflow that can go on with a run, whose first record is `started`.

        Raises:
            UsageError: there is none.
        """
        is_tried = any(name.startswith(TRIED) for name in started.uses)
        if (started.version or is_tried) and (own := await self.published(started.tenant)) is not None:
            return await own.of_run(run_id)
        return self.get(started.agent)
