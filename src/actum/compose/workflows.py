"""Makes workflows out of settings: the tools, the policy, the prices and the journal are those of an agent.

A workflow of `[workflows.NAME]` is the same in every process that has the same settings: a process that is told its
name can go on with its runs.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import msgspec
from msgspec import Struct

from ..agents.agent import Agent
from ..core.errors import BadTool, JournalError, UnknownName, UsageError
from ..core.interfaces import Context, Journal, Toolset
from ..core.language.sentence import Sentence
from ..core.model import Model
from ..core.policy import Approver, Policy
from ..core.process.named_file import read_named
from ..core.run.record import Started
from ..core.secrets.store import SecretSource
from ..core.stored.definitions import TRIED, reference
from ..core.tool import Tool
from ..journal.recording import RunState
from ..runs.given_tools import Toolish
from ..transport.egress import Egress
from ..workflow.definition.graph import Definition
from ..workflow.definition.text import BadWorkflow
from ..workflow.definition.tool_names import called_names, plain_name, workflow_names
from ..workflow.load import read_definition
from ..workflow.node_models import NodeModels
from ..workflow.published import CallsOfTenants, PublishedCalls, PublishedWorkflows
from ..workflow.speaker import speaking_agent
from ..workflow.workflow import Workflow
from .agents import list_tools, open_policy
from .mistakes import meant
from .models import make_model
from .secrets import open_secrets
from .settings import RESERVED, Settings, WorkflowTable, model_table_name
from .settings_watch import open_egress
from .tools import load_tools, with_labels
from .upstreams.named_models import ModelsOfTenant, NamedModels


class WorkflowParts(Struct, frozen=True, kw_only=True):
    """What workflows of the settings are made with.

    Attributes:
        settings: what a person set.
        tools: what the nodes may call, of `load_tools`.
        journal: where runs are written down.
        approver: who can be asked.
        secrets: what tools and `http` nodes may ask for.
        egress: the operator's rules for outgoing requests.
        models: the models that the nodes name, by name.
        named: the models of `[models.*]`.
    """

    settings: Settings
    tools: Sequence[Toolish]
    journal: Journal
    named: NamedModels
    approver: Approver | None = None
    secrets: SecretSource | None = None
    egress: Egress | None = None
    models: Mapping[str, Model] | None = None

    def workflow(
        self,
        definition: Definition,
        *,
        name: str = "",
        used: Sequence[Toolish] = (),
        version: int = 0,
        uses: Mapping[str, int] | None = None,
        own: PublishedCalls | None = None,
    ) -> Workflow:
        """A workflow.

        Args:
            definition: the graph.
            name: what the runs are called on record; by default the name in the definition.
            used: the workflows and the published tools that the nodes may call beside the tools.
            version, uses: as for `Workflow`.
            own: has the models that the tenant has connected; None for none.

        Raises:
            UsageError: the policy can not be read.
        """
        return Workflow(
            definition,
            name=name,
            models=self.models,
            tools=with_labels([*self.tools, *used], self.settings.tool_labels),
            policy=open_policy(self.settings, self.journal),
            prices=self.settings.prices,
            journal=self.journal,
            approver=self.approver,
            secrets=self.secrets,
            egress=self.egress,
            version=version,
            uses=uses,
            offered=ModelsOfTenant(self.named, own),
            labels=self.settings.labels,
        )


TENANTS_MAX = 1_000
"""The most tenants whose published workflows are kept open."""
SPEAKERS_MAX = 500
"""The most agents for published workflows that are kept."""


class Workflows:
    """The workflows of the settings, each built when it is first asked for, and published ones beside them. The caller
    that makes this object closes it.

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
        self._egress = open_egress(settings, environment)
        self._secrets = open_secrets(environment)
        self._named = NamedModels(settings, environment)
        self._built: dict[str, Workflow] = {}
        self._agents: dict[str, Agent[object]] = {}
        self._published: dict[str, PublishedWorkflows] = {}
        self._open: dict[str, PublishedWorkflows | None] = {}
        self._speakers: dict[tuple[str, str, tuple[tuple[str, int], ...]], Agent[object]] = {}
        self._calls: CallsOfTenants | None = None

    def call_published(self, calls: CallsOfTenants) -> None:
        """Have the nodes of published workflows call what their tenant has published, too."""
        self._calls = calls
        self._published.clear()
        self._open.clear()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the workflows of the settings."""
        return tuple(self._settings.workflows)

    def get(self, name: str) -> Workflow:
        """The workflow of this name, without the publications that its nodes use: `opened` has them.

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
                raise UsageError("[workflows.{name}]: {why}", name=name, why=error) from None
        return self._built[name]

    async def opened(self, name: str) -> Workflow:
        """The workflow of this name, for a run that begins now: with the publications that its nodes use. They are
        those of the tenant without a name, which is the operator's: no other tenant can change what a workflow of the
        settings does.

        Raises:
            UnknownName: the settings have none.
            UsageError: the workflow can not be built; the message says why.
        """
        workflow = self.get(name)
        published = await self._operators(name)
        if published is None:
            return workflow
        try:
            return await published.with_used(workflow.definition)
        except (UsageError, BadWorkflow) as error:
            raise UsageError("[workflows.{name}]: {why}", name=name, why=error) from None

    async def _operators(self, name: str) -> PublishedWorkflows | None:
        """What opens the publications that a workflow of the settings uses; None where it uses none."""
        if name in self._open:
            return self._open[name]
        named = workflow_names(self.get(name).definition)
        table = workflow_table(self._settings, name)
        settings = workflow_settings(self._settings, table)
        tools = load_tools(settings, self._folder, self._egress)
        given = {tool.name for tool in await list_tools(tools)} if named else set()
        found: PublishedWorkflows | None = None
        if any("@" in each or each not in given for each in named):
            parts = self._parts(settings, tools, workflow_models(settings, table))
            found = await published_workflows(parts, name=name, calls=self._calls)
        self._open[name] = found
        return found

    async def _of_call(self, name: str, run_id: str, context: Context) -> Workflow:
        """The workflow that a call means: the run of the call goes on with what it began with."""
        entries = (await self._journal.read(run_id, tenant=context.tenant))[:1]
        if not entries or not entries[0].payload:
            return await self.opened(name)
        return await self.of(run_id, RunState(entries).beginning())

    async def published(self, tenant: str) -> PublishedWorkflows | None:
        """The published workflows of a tenant, with the tools of the settings; None where the journal keeps none."""
        if tenant not in self._published:
            try:
                tools = load_tools(self._settings, self._folder, self._egress)
                parts = self._parts(self._settings, tools)
                made = await published_workflows(parts, tenant=tenant, calls=self._calls)
            except UsageError:
                return None
            if len(self._published) >= TENANTS_MAX:
                self._published.pop(next(iter(self._published)))
            self._published[tenant] = made
        return self._published[tenant]

    async def look_at_published(self) -> None:
        """Read what the tenant without a name has published: lists then need no journal that answers at once."""
        published = await self.published("")
        if published is not None:
            with suppress(JournalError):
                await published.listed()

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
        is_tried = any(name.startswith(TRIED) for name in started.uses)
        if started.agent in self.names and not started.version and not is_tried:
            own = await self._operators(started.agent)
            return self.get(started.agent) if own is None else await own.of_run(run_id, tenant=started.tenant)
        published = await self.published(started.tenant)
        if published is None:
            raise UsageError(
                "there is no workflow {agent!r} here, and the journal keeps no published ones", agent=started.agent
            )
        return await published.of_run(run_id)

    def agent(self, name: str) -> Agent[object]:
        """An agent that stands for a workflow, for doors that know agents only.

        Raises:
            UnknownName, UsageError: as for `get`.
        """
        if name not in self._agents:
            self._agents[name] = speaking_agent(
                self.get(name),
                description=self.description(name),
                policy=self._speakers_policy(),
                limits=self._settings.limits,
                opened=partial(self._of_call, name),
            )
        return self._agents[name]

    def _speakers_policy(self) -> Policy | None:
        """The policy of agents that stand for workflows: where its rules say nothing, the call of a workflow asks
        nobody. The calls that the workflow makes may ask.
        """
        return open_policy(self._settings, self._journal, careful=False) if self._settings.policy else None

    def speaker(self, workflow: Workflow, tenant: str) -> Agent[object]:
        """An agent that stands for a workflow that a tenant has published."""
        named = (tenant, workflow.name, tuple(workflow.own_uses.items()))
        if named not in self._speakers:
            while len(self._speakers) >= SPEAKERS_MAX:
                del self._speakers[next(iter(self._speakers))]
            self._speakers[named] = speaking_agent(
                workflow,
                description=workflow.definition.description or f"Run the workflow {workflow.name!r}.",
                policy=self._speakers_policy(),
                limits=self._settings.limits,
            )
        return self._speakers[named]

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
        return [self.tool(name) for name in self.names]

    def tool(self, name: str) -> Toolset:
        """One of `tools`, by the name of its workflow. Raises as `get` does."""
        opened = partial(self._of_call, name)
        return self.get(name).as_tool(name, self.description(name), given_by="client", opened=opened)

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
                raise UsageError("{name!r} means two things: a tool, and [workflows.{name}]", name=name)
            if name in agents:
                raise UsageError("{name!r} means two things: an agent, and [workflows.{name}]", name=name)
            workflow = await self.opened(name)
            try:
                problems = await workflow.check(workflow.definition.text)
            except BadTool as error:
                raise UsageError("[workflows.{name}]: {why}", name=name, why=error) from None
            if problems:
                raise UsageError(
                    "[workflows.{name}]: {why} (line {line})", name=name, why=problems[0].message, line=problems[0].line
                )

    async def close(self) -> None:
        """End what is kept open between runs."""
        for workflow in self._built.values():
            await workflow.aclose()
        self._built.clear()
        self._agents.clear()
        self._published.clear()
        self._open.clear()
        self._speakers.clear()

    def _made(self, name: str, definition: Definition, table: WorkflowTable) -> Workflow:
        settings = workflow_settings(self._settings, table)
        pinned = next((each for each in called_names(definition) if "@" in each), "")
        if pinned:
            raise UsageError(
                "a workflow of the settings calls the tools of the settings, which have no versions: write {plain} "
                "instead of {pinned}, or publish the workflow",
                plain=plain_name(pinned),
                pinned=pinned,
            )
        numbered = {each: reference(each)[1] or 0 for each in workflow_names(definition) if "@" in each}
        tools = load_tools(settings, self._folder, self._egress)
        parts = self._parts(settings, tools, workflow_models(settings, table))
        return parts.workflow(definition, name=name, uses=numbered)

    def _parts(
        self, settings: Settings, tools: Sequence[Toolish], models: Mapping[str, Model] | None = None
    ) -> WorkflowParts:
        return WorkflowParts(
            settings=settings,
            tools=tools,
            journal=self._journal,
            secrets=self._secrets,
            egress=self._egress,
            models=models,
            named=self._named,
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
        known = ", ".join(settings.workflows) or Sentence(
            "none, since the settings have no [workflows.{name}]", name=name
        )
        raise UnknownName(
            "there is no workflow {name!r}; there are: {known}{meant}",
            name=name,
            known=known,
            meant=meant(name, settings.workflows),
        )
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
        return read_named(Path(path).expanduser())
    except OSError as error:
        raise UsageError("the workflow {path} can not be read: {why}", path=path, why=error.strerror) from None


async def published_workflows(
    parts: WorkflowParts, *, tenant: str = "", name: str = "", calls: CallsOfTenants | None = None
) -> PublishedWorkflows:
    """The published workflows in a journal.

    Args:
        parts: what they are made with.
        tenant: whose definitions are meant.
        name: what runs of a definition that is not published are called; by default the name in the definition.
        calls: what nodes may call of what a tenant has published; None for nothing.

    Raises:
        UsageError: the journal keeps no definitions.
    """

    listed = await list_tools(parts.tools, parts.settings.tool_labels)
    return workflows_of_tenant(parts, tenant=tenant, name=name, tools=listed, calls=calls)


def workflows_of_tenant(
    parts: WorkflowParts,
    *,
    tenant: str,
    name: str = "",
    tools: Sequence[Tool] = (),
    calls: CallsOfTenants | None = None,
) -> PublishedWorkflows:
    """The same, where the definitions of the tools are known.

    Args:
        parts, tenant, name, calls: as for `published_workflows`.
        tools: the tools; none for what only reads or takes out of use.

    Raises:
        UsageError: the journal keeps no definitions.
    """

    def make(definition: Definition, used: Sequence[Toolish], version: int, uses: Mapping[str, int]) -> Workflow:
        called = "" if version else name
        return parts.workflow(definition, used=used, version=version, uses=uses, name=called, own=own)

    means = partial(meaning_of, parts.settings)
    own = calls(tenant) if calls is not None else None
    models = NodeModels(parts.models or {}, ModelsOfTenant(parts.named, None))
    return PublishedWorkflows(parts.journal, make, tools=tools, tenant=tenant, means=means, calls=own, models=models)


def meaning_of(settings: Settings, name: str) -> str:
    """What a name means by the settings, as in `an agent`; empty for nothing. A published workflow can not have a name
    that means something.
    """
    if name in settings.workflows:
        return "a workflow of the settings"
    if name in settings.agents:
        return "an agent"
    if model_table_name(settings, name) is not None:
        return "a model"
    return "a name that this program uses itself" if name in RESERVED else ""
