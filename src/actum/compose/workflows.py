"""Makes workflows out of settings: the tools, the policy, the prices and the journal are those of an agent.

A workflow of `[workflows.NAME]` is the same in every process that has the same settings: whoever is told its name can
go on with its runs.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from ..agents.agent import Agent
from ..core.errors import BadTool, UnknownName, UsageError
from ..core.interfaces import Approver, Journal, Model, Toolset
from ..core.record import Started
from ..core.secret_store import SecretSource
from ..core.tool import Tool
from ..policy.file import PolicyFile
from ..runs.given_tools import Toolish
from ..transport.egress import Egress
from ..workflow.graph import Definition
from ..workflow.load import read_definition
from ..workflow.published import PublishedWorkflows
from ..workflow.speaker import speaking_agent
from ..workflow.text import BadWorkflow
from ..workflow.workflow import Workflow
from .agents import list_tools, open_policy
from .mistakes import meant
from .models import make_model
from .secrets import open_secrets
from .settings import Settings, WorkflowTable
from .tools import load_tools, with_labels


def make_workflow(
    settings: Settings,
    definition: Definition,
    tools: Sequence[Toolish],
    *,
    journal: Journal,
    approver: Approver | None,
    secrets: SecretSource | None = None,
    egress: Egress | None = None,
    name: str = "",
    models: Mapping[str, Model] | None = None,
    version: int = 0,
    uses: Mapping[str, int] | None = None,
) -> Workflow:
    """A workflow with tools of `load_tools`.

    Args:
        settings: what a person set.
        definition: the graph.
        tools: what the nodes may call.
        journal: where runs are written down.
        approver: who can be asked.
        secrets: what tools and `http` nodes may ask for.
        egress: the operator's rules for outgoing requests.
        name: what the runs are called on record; by default the name in the definition.
        models: the models that the nodes name, by name.
        version, uses: as for `Workflow`.

    Raises:
        UsageError: the policy can not be read.
    """
    return Workflow(
        definition,
        name=name,
        models=models,
        tools=with_labels(tools, settings.tool_labels),
        policy=open_policy(settings),
        prices=settings.prices,
        journal=journal,
        approver=approver,
        secrets=secrets,
        egress=egress,
        version=version,
        uses=uses,
    )


SHELVES_MAX = 1_000
"""The published workflows of so many tenants are kept open."""


class Workflows:
    """The workflows of the settings, each built when it is first asked for, and published ones beside them. Whoever
    makes this closes it.

    Args:
        settings: with the tables of the workflows.
        environment: the variables of this process.
        folder: where the files of definitions lie, and where the everyday tools may look at files.
        journal: where all runs are written down.
    """

    def __init__(self, settings: Settings, environment: Mapping[str, str], folder: Path, *, journal: Journal) -> None:
        self._settings = settings
        self._folder = folder
        self._journal = journal
        self._egress = Egress(settings.egress)
        self._secrets = open_secrets(environment)
        self._built: dict[str, Workflow] = {}
        self._agents: dict[str, Agent[object]] = {}
        self._shelves: dict[str, PublishedWorkflows] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the workflows of the settings."""
        return tuple(self._settings.workflows)

    def get(self, name: str) -> Workflow:
        """The workflow of this name.

        Raises:
            UnknownName: the settings have none.
            UsageError: the workflow can not be built; the message says why.
        """
        table = workflow_table(self._settings, name)
        if name not in self._built:
            try:
                definition = read_workflow_file(str(self._folder / Path(table.file).expanduser()))
                self._built[name] = self._made(name, definition, table)
            except (UsageError, BadWorkflow) as error:
                raise UsageError(f"[workflows.{name}]: {error}") from None
        return self._built[name]

    async def shelf(self, tenant: str) -> PublishedWorkflows | None:
        """The published workflows of a tenant, with the tools of the settings; None where the journal keeps none."""
        if tenant not in self._shelves:
            try:
                made = await published_workflows(
                    self._settings,
                    load_tools(self._settings, self._folder, self._egress),
                    journal=self._journal,
                    approver=None,
                    secrets=self._secrets,
                    egress=self._egress,
                    tenant=tenant,
                )
            except UsageError:
                return None
            if len(self._shelves) >= SHELVES_MAX:
                self._shelves.pop(next(iter(self._shelves)))
            self._shelves[tenant] = made
        return self._shelves[tenant]

    async def default_tools(self) -> Sequence[Tool]:
        """The tools that published workflows may call."""
        loaded = load_tools(self._settings, self._folder, self._egress)
        return await list_tools(loaded, self._settings.tool_labels)

    async def of(self, run_id: str, started: Started) -> Workflow:
        """The workflow that can go on with a run: with the definition and the publications with which the run began.

        Args:
            run_id: the run.
            started: its first record.

        Raises:
            UsageError: the workflow can not be built.
        """
        if started.agent in self.names and not started.version:
            return self.get(started.agent)
        shelf = await self.shelf(started.tenant)
        if shelf is None:
            raise UsageError(f"there is no workflow {started.agent!r} here, and the journal keeps no published ones")
        return await shelf.of_run(run_id)

    def agent(self, name: str) -> Agent[object]:
        """An agent that stands for a workflow, for doors that know agents only.

        Raises:
            UnknownName, UsageError: as for `get`.
        """
        if name not in self._agents:
            policy = PolicyFile(Path(self._settings.policy).expanduser()) if self._settings.policy else None
            self._agents[name] = speaking_agent(
                self.get(name), description=self.description(name), policy=policy, limits=self._settings.limits
            )
        return self._agents[name]

    def description(self, name: str) -> str:
        """What a workflow is good for."""
        workflow = self.get(name)
        said = workflow_table(self._settings, name).description or workflow.definition.description
        return said or f"Run the workflow {name!r}."

    @property
    def tools(self) -> list[Toolset]:
        """The workflows as tools of a server, whose arguments come from programs.

        Raises:
            UsageError: as for `get`.
        """
        return [self.get(name).as_tool(name, self.description(name), given_by="client") for name in self.names]

    async def check_names(self, tools: Sequence[Toolish], agents: Sequence[str]) -> None:
        """The names of the workflows mean nothing else on a server.

        Args:
            tools: those that the server offers beside the workflows.
            agents: the names of the agents.

        Raises:
            UsageError: a name means two things, or a workflow can not be built or names what is not there.
        """
        taken = {tool.name for tool in await list_tools(tools, self._settings.tool_labels)}
        for name in self.names:
            if name in taken:
                raise UsageError(f"{name!r} means two things: a tool, and [workflows.{name}]")
            if name in agents:
                raise UsageError(f"{name!r} means two things: an agent, and [workflows.{name}]")
            workflow = self.get(name)
            try:
                problems = await workflow.check(workflow.definition.text)
            except BadTool as error:
                raise UsageError(f"[workflows.{name}]: {error}") from None
            if problems:
                raise UsageError(f"[workflows.{name}]: {problems[0].message} (line {problems[0].line})")

    async def close(self) -> None:
        """End what is kept open between runs."""
        for workflow in self._built.values():
            await workflow.aclose()
        self._built.clear()
        self._agents.clear()
        self._shelves.clear()

    def _made(self, name: str, definition: Definition, table: WorkflowTable) -> Workflow:
        settings = workflow_settings(self._settings, table)
        return make_workflow(
            settings,
            definition,
            load_tools(settings, self._folder, self._egress),
            journal=self._journal,
            approver=None,
            secrets=self._secrets,
            egress=self._egress,
            name=name,
            models=workflow_models(settings, table),
        )


@asynccontextmanager
async def open_workflows(
    settings: Settings, environment: Mapping[str, str], folder: Path, *, journal: Journal
) -> AsyncIterator[Workflows]:
    """`Workflows`, closed at the end of the block."""
    workflows = Workflows(settings, environment, folder, journal=journal)
    try:
        yield workflows
    finally:
        await workflows.close()


def workflow_table(settings: Settings, name: str) -> WorkflowTable:
    """The table of the workflow of this name.

    Raises:
        UnknownName: there is none; the message says what was probably meant.
    """
    table = settings.workflows.get(name)
    if table is None:
        known = ", ".join(settings.workflows) or f"none, since the settings have no [workflows.{name}]"
        raise UnknownName(f"there is no workflow {name!r}; there are: {known}{meant(name, settings.workflows)}")
    return table


def workflow_settings(settings: Settings, table: WorkflowTable) -> Settings:
    """The settings of a workflow: those of its table over those around it. A flag wins over the table."""
    if not table.tools or settings.sources.get("tools") == "flag":
        return settings
    return msgspec.structs.replace(settings, tools=table.tools)


def workflow_models(settings: Settings, table: WorkflowTable) -> dict[str, Model]:
    """The models that the table of a workflow names.

    Raises:
        UsageError: a model can not be opened.
    """
    return {
        name: make_model(msgspec.structs.replace(settings, model=spec, base_url=""))
        for name, spec in table.models.items()
    }


def read_workflow_file(path: str) -> Definition:
    """The definition in a file.

    Raises:
        BadWorkflow: something is wrong with the text.
        UsageError: the file can not be read.
    """
    return read_definition(workflow_text(path))


def workflow_text(path: str) -> bytes:
    """The text of a definition in a file.

    Raises:
        UsageError: the file can not be read.
    """
    try:
        return Path(path).expanduser().read_bytes()
    except OSError as error:
        raise UsageError(f"the workflow {path} can not be read: {error.strerror}") from None


async def published_workflows(
    settings: Settings,
    tools: Sequence[Toolish],
    *,
    journal: Journal,
    approver: Approver | None,
    secrets: SecretSource | None = None,
    egress: Egress | None = None,
    tenant: str = "",
    name: str = "",
    models: Mapping[str, Model] | None = None,
) -> PublishedWorkflows:
    """The published workflows of a journal's shelf, made with tools of `load_tools`.

    Args:
        settings, tools, journal, approver, secrets, egress, models: as for `make_workflow`.
        tenant: whose shelf is meant.
        name: what runs of a definition that is not published are called; by default the name in the definition.

    Raises:
        UsageError: the journal keeps no shelf.
    """

    def make(definition: Definition, used: Sequence[Workflow], version: int, uses: Mapping[str, int]) -> Workflow:
        return make_workflow(
            settings,
            definition,
            [*tools, *used],
            journal=journal,
            approver=approver,
            secrets=secrets,
            egress=egress,
            version=version,
            uses=uses,
            name="" if version else name,
            models=models,
        )

    given = [tool.name for tool in await list_tools(tools)]
    return PublishedWorkflows(journal, make, given=given, tenant=tenant)
