"""What a process for tasks builds agents of: the settings of the server, handed to it as they are.

    python -m actum.compose.task_child

is the command by which the local dispatcher starts a child. Settings go through its input and not its arguments, which
every user of the machine can read.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from ..agents.agent import Agent
from ..core.clock import SystemClock
from ..core.errors import UnknownName, UsageError
from ..core.event import RunResult
from ..core.interfaces import Clock, Journal
from ..core.run.record import Started
from ..core.secrets.redacted_log import redact_logs
from ..journal.kept_uses import with_all_uses
from ..journal.recording import RunState
from ..runs.given_tools import Toolish
from ..runs.options import Emit
from ..runs.run import Stopping
from ..runs.runner import Begins, Runner
from ..server.api.connected import TenantModels
from ..server.published import PublishedOffer, TenantAgents
from ..storage.place import open_journal as open_at
from ..tasks.builder import Builder, Resumable, Unfit
from ..tasks.child import main
from ..tasks.children import CountsAttempts, LocalSettings, TaskChildren
from ..tasks.local import LocalDispatcher
from ..tasks.queue import TaskLimits
from .agents import Agents, make_runner, open_agents
from .features import features_of, take_into_use
from .journals import journal_path, read_journal_key
from .published.agents import DeclaredAgents
from .published.tools import DeclaredTools
from .secrets import kept_secrets, open_secrets
from .settings import Settings
from .task_queue import DIRECT
from .tools import load_tools
from .user_code import look_in
from .workflows import Workflows, open_workflows

COMMAND = (sys.executable, "-P", "-m", "actum.compose.task_child")
"""`-P`: a file beside `actum.toml`, such as `redis.py`, takes the place of no library."""


class Setup(Struct, frozen=True, kw_only=True):
    """What a child is told.

    Attributes:
        settings: as the server read them.
        journal: the journal's file, or its address.
        folder: where the everyday tools may look at files.
        path: where the server finds modules; what the child does not know of it goes to the end of the child's path.
    """

    settings: Settings
    journal: str
    folder: str
    path: tuple[str, ...] = ()


class SettingsBuilder:
    """A `Builder` of what the settings describe: the agents by name, and the runner of direct calls.

    Args:
        settings: as read.
        environment: the variables of this process.
        folder: where the everyday tools may look at files.
        journal: where all runs are written down.
        agents: the agents of the settings.
        workflows: the workflows of the settings; None for workflows of the builder's own.
    """

    def __init__(
        self,
        settings: Settings,
        environment: Mapping[str, str],
        folder: Path,
        journal: Journal,
        agents: Agents,
        workflows: Workflows | None = None,
    ) -> None:
        self._settings = settings
        self._environment = environment
        self._folder = folder
        self._journal = journal
        self._agents = agents
        self._workflows = workflows or Workflows(settings, environment, folder, journal=journal)
        declared = DeclaredTools(
            settings, environment, folder, journal=journal, workflows=self._workflows, agents=agents
        )
        self._declared = declared
        declared.published_agents = self._agents_of
        declared.models = self._connected
        agents.completing = declared.completing
        self._published = PublishedOffer(self._workflows, declared.of, self._agents_of)
        self._made: DeclaredAgents | None = None
        self._models: TenantModels | None = None
        self._runner: Runner | None = None

    def can_build(self, name: str) -> bool:
        """Whether another process with these settings can build what runs of this name need."""
        return name in DIRECT or name in self._agents.names or name in self._workflows.names

    async def can_go_on(self, run_id: str, state: RunState) -> bool:
        """Whether another process with these settings can go on with a run: with the tools with which it began."""
        started = state.beginning()
        try:
            if started.workflow:
                return await (await self._workflows.of(run_id, started)).runner.fits(state)
            built = await self.build(started)
        except UsageError:
            return False
        runner = built.runner if isinstance(built, Agent) else built
        return isinstance(runner, Runner) and await runner.fits(state)

    async def build(self, started: Started) -> Resumable:
        try:
            if started.workflow:
                return WorkflowOfRun(self._workflows, started)
            started = await with_all_uses(started, self._journal)
            if not started.model and started.agent in DIRECT:
                return await self._published.runner_of(self._direct().known_as(started.agent), started)
            if not started.model:
                return self._agents.direct(started.agent)
            if (published := await self._published.agent_of(started)) is not None:
                return published
            speaks = started.agent in self._workflows.names
            agent = self._workflows.agent(started.agent) if speaks else self._agents.get(started.agent)
            agent = await agent.completed(started.tenant, started.uses)
            reference = await agent.reference()
        except UnknownName as error:
            raise Unfit(str(error)) from None
        except UsageError as error:
            raise Unfit("the agent {agent!r} can not be built here: {why}", agent=started.agent, why=error) from None
        if started.agent_digest and reference.digest != started.agent_digest:
            raise Unfit(
                "the settings of this process give the agent {agent!r} the digest {digest}, and the "
                "run was begun with {agent_digest}: the task is left for a worker whose settings fit",
                agent=started.agent,
                digest=reference.digest,
                agent_digest=started.agent_digest,
            )
        return agent

    def _agents_of(self, tenant: str) -> TenantAgents:
        if self._made is None:
            own = self._own_tools()
            self._made = DeclaredAgents(
                self._settings, journal=self._journal, own=own, tools=self._declared, models=self._connected()
            )
        return self._made.of(tenant)

    def _connected(self) -> TenantModels:
        """The models that tenants have connected."""
        if self._models is None:
            from .connections import open_connections  # noqa: PLC0415  # takes a while, and most tasks ask none

            secrets = kept_secrets(self._environment)
            self._models = open_connections(self._settings, self._environment, self._journal, secrets)
        return self._models

    def _own_tools(self) -> list[Toolish]:
        return [*load_tools(self._settings, self._folder), *self._workflows.tools]

    def _direct(self) -> Runner:
        if self._runner is None:
            self._runner = make_runner(
                self._settings,
                self._own_tools(),
                name=DIRECT[0],
                journal=self._journal,
                approver=None,
                secrets=open_secrets(self._environment),
            )
        return self._runner


class WorkflowOfRun:
    """Goes on with a run of a workflow, of the settings or published.

    Args:
        workflows: the workflows of the settings.
        started: the first record of the run.
    """

    def __init__(self, workflows: Workflows, started: Started) -> None:
        self._workflows = workflows
        self._started = started

    async def resume(
        self,
        run_id: str,
        *,
        emit: Emit | None = None,
        begins: Begins | None = None,
        stopping: Stopping | None = None,
    ) -> RunResult:
        """Go on with the run.

        Raises:
            Unfit: the workflow can not be built here.
        """
        try:
            workflow = await self._workflows.of(run_id, self._started)
        except UsageError as error:
            raise Unfit(
                "the workflow {agent!r} can not be built here: {why}", agent=self._started.agent, why=error
            ) from None
        return await workflow.resume(run_id, emit=emit, begins=begins, stopping=stopping, wait_s=0)


@asynccontextmanager
async def open_builder(setup: bytes) -> AsyncIterator[tuple[Journal, Builder]]:
    """The journal and the builder of a child, of its `Setup`."""
    told = msgspec.json.decode(setup, type=Setup)
    settings, folder = told.settings, Path(told.folder)
    for place in filter(None, told.path):
        look_in(Path(place))
    key = read_journal_key(settings.journal_key) if settings.journal_key else None
    features = features_of(settings)
    journal = open_at(told.journal, key=key, record_kinds=features.record_kinds)
    try:
        await take_into_use(features, journal)
        async with (
            open_agents(settings, os.environ, folder, journal=journal) as agents,
            open_workflows(settings, os.environ, folder, journal=journal) as workflows,
        ):
            yield journal, SettingsBuilder(settings, os.environ, folder, journal, agents, workflows)
    finally:
        await journal.close()


def setup_of(settings: Settings, environment: Mapping[str, str], folder: Path) -> bytes:
    """The `Setup` of children, as JSON.

    Args:
        settings: as read; each child builds agents of the same.
        environment: the variables of this process.
        folder: where the everyday tools may look at files.

    Raises:
        JournalError: there is no home folder to keep the journal in.
    """
    place = settings.journal if "://" in settings.journal else str(journal_path(settings, environment))
    return msgspec.json.encode(Setup(settings=settings, journal=place, folder=str(folder), path=tuple(sys.path)))


def task_children(
    settings: Settings,
    journal: Journal,
    environment: Mapping[str, str],
    folder: Path,
    *,
    local: LocalSettings | None = None,
    clock: Clock,
    counts: CountsAttempts | None = None,
) -> TaskChildren:
    """Child processes for tasks; the arguments are those of `local_dispatcher`."""
    setup = setup_of(settings, environment, folder)
    return TaskChildren(
        journal, COMMAND, setup=setup, environment=environment, clock=clock, settings=local, counts=counts
    )


def local_dispatcher(
    settings: Settings,
    journal: Journal,
    environment: Mapping[str, str],
    folder: Path,
    *,
    local: LocalSettings | None = None,
    limits: TaskLimits | None = None,
    builder: SettingsBuilder | None = None,
    counts: CountsAttempts | None = None,
) -> LocalDispatcher:
    """The local dispatcher of a server.

    Args:
        settings: as read; each child builds agents of the same.
        journal: of the server, in a database.
        environment: the variables of this process, which children get.
        folder: where the everyday tools may look at files.
        local: how many children, and how long they live.
        limits: how many tasks may run.
        builder: builds what carries out tasks in this process, where a tool may run there; with it, runs that are no
            tasks go on when their waits end.
        counts: counts what the attempts at tasks put on record; None for nobody.

    Raises:
        UsageError: the journal is in memory.
        JournalError: there is no home folder to keep the journal in.
    """
    clock = SystemClock()
    return LocalDispatcher(
        journal,
        task_children(settings, journal, environment, folder, local=local, clock=clock, counts=counts),
        clock=clock,
        limits=limits,
        builder=builder,
        can_go_on=builder.can_go_on if builder is not None else None,
    )


if __name__ == "__main__":
    redact_logs(os.environ)
    main(open_builder, SystemClock())
