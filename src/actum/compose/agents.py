"""An agent and its policy, as the settings describe them: the one agent of a command, and agents that have a name.

An agent of `[agents.NAME]` is the same in every process that has the same settings: a process that is told its name and
digest (`Agent.reference`) can run it, and go on with its runs.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

import msgspec

from ..agents.agent import Agent
from ..agents.identity import Naming, dialect_part
from ..agents.parts import AgentParts, Completes
from ..core.errors import ActumError, UsageError
from ..core.interfaces import Clock, Journal
from ..core.json import JsonObject
from ..core.model import Model
from ..core.policy import Approver
from ..core.run.task_request import NO_DEFAULTS, TaskDefaults
from ..core.secrets.store import SecretSource
from ..core.stored.definitions import reference
from ..core.tool import Tool
from ..journal.memory import MemoryJournal
from ..policy.file import PolicyFile
from ..policy.published import PublishedPolicy, policy_named
from ..policy.rules import CAREFUL, DEFAULT, Rules
from ..runs.given_tools import Toolish
from ..runs.runner import Runner
from ..tasks.background import in_background
from ..tasks.dispatcher import Dispatcher
from ..tasks.queue import TaskQueue
from ..toolsets.wrappers import ToolLabels, labelled, labels_of
from .mcp import open_finder, open_mcp, usable_servers
from .models import make_dialect, make_model
from .secrets import open_secrets
from .settings import FINDER, PROMPT, AgentTable, Settings, table_of
from .settings_watch import SettingsWatch, naming_now, open_egress
from .task_queue import open_queue
from .tools import load_tools, published_names, with_labels
from .user_code import kind_of, load_object, names_one_object

if TYPE_CHECKING:
    from ..toolsets.mcp.host import McpHost


log = logging.getLogger("actum")

Output = TypeVar("Output")
NO_LABELS: Mapping[str, ToolLabels] = {}
UNNAMED = "agent"
"""What runs of the one agent of settings without `[agents.*]` are called, in every program but a server."""


def make_agent(
    settings: Settings,
    model: Model,
    tools: Sequence[Toolish],
    *,
    journal: Journal,
    approver: Approver | None,
    name: str = UNNAMED,
    secrets: Mapping[str, str] | SecretSource | None = None,
    output_type: type = str,
) -> Agent:
    """An agent around a model of `make_model`, and tools of `load_tools`.

    Where the settings have no policy, the agent asks before every declared side effect: the person who types a command
    has not read the tools' code.

    Raises:
        UsageError: the policy can not be read.
    """
    return Agent(
        model,
        with_labels(tools, settings.tool_labels),
        output_type=output_type,
        instructions="" if prompt_named(settings.instructions) else settings.instructions,
        name=name,
        policy=open_policy(settings, journal),
        limits=settings.limits,
        prices=settings.prices,
        journal=journal,
        approver=approver,
        settings=settings.model_settings,
        truncation=settings.truncation,
        choose=settings.choose,
        always=settings.always,
        tool_choice=settings.tool_choice,
        plan=settings.plan,
        references=settings.references,
        cite=settings.cite,
        defence=settings.defence or "auto",
        labels=settings.labels,
        secrets=secrets,
    )


def prompt_named(instructions: str) -> str:
    """The published prompt that `instructions` of the settings name; empty where they are the instructions themselves.

    Raises:
        UsageError: the name is none.

    >>> prompt_named("prompt:desk@2"), prompt_named("Be kind.")
    ('desk@2', '')
    """
    if not instructions.startswith(PROMPT) or "\n" in instructions:
        return ""
    named = instructions.removeprefix(PROMPT)
    reference(named)
    return named


def takes_published(settings: Settings) -> bool:
    """Whether an agent of these settings takes something from what its caller's tenant has published."""
    return bool(published_names(settings.tools) or prompt_named(settings.instructions))


def with_background(settings: Settings, agent: Agent[Output], direct: Runner, queue: TaskQueue) -> Agent[Output]:
    """The agent, whose calls of tools that are declared so become tasks. Where there are none, the agent as it is shown
    is the same: so all processes with these settings have the same agent.

    Args:
        settings: of the agent.
        agent: the agent.
        direct: makes the calls: a runner with the same tools, which other processes build too.
        queue: accepts the tasks.
    """

    def defaults(tool: str) -> TaskDefaults:
        return labels_of(tool, settings.tool_labels).tasks or NO_DEFAULTS

    return agent.with_runner(in_background(direct, queue, defaults).known_as(agent.name))


def make_runner(
    settings: Settings,
    tools: Sequence[Toolish],
    *,
    name: str,
    journal: Journal,
    approver: Approver | None,
    secrets: SecretSource | None = None,
) -> Runner:
    """What makes calls of tools of `load_tools` without a model; the policy is that of `make_agent`.

    Raises:
        UsageError: the policy can not be read.
    """
    return Runner(
        with_labels(tools, settings.tool_labels),
        name=name,
        policy=open_policy(settings, journal),
        limits=settings.limits,
        prices=settings.prices,
        journal=journal,
        approver=approver,
        secrets=secrets,
        labels=settings.labels,
    )


def open_policy(
    settings: Settings, journal: Journal | None = None, *, careful: bool = True
) -> Rules | PolicyFile | PublishedPolicy:
    """The policy that the settings name.

    Args:
        settings: `policy` is a file, or `published:NAME`.
        journal: keeps the published policies; None where nothing is judged.
        careful: whether side effects of local tools ask too where the rules say nothing.

    Raises:
        UsageError: it can not be read, or is no policy.
    """
    name = policy_named(settings.policy)
    if name:
        return PublishedPolicy(name, journal.definitions if journal is not None else None, careful=careful)
    if not settings.policy:
        return CAREFUL if careful else DEFAULT
    return PolicyFile(Path(settings.policy).expanduser(), careful=careful)


def policy_files(settings: Settings) -> tuple[str, ...]:
    """The files of the policies that the settings name, without those that are published."""
    every = (settings, *settings.of_agents.values())
    return tuple(dict.fromkeys(each.policy for each in every if each.policy and not policy_named(each.policy)))


async def list_tools(tools: Sequence[Toolish], labels: Mapping[str, ToolLabels] = NO_LABELS) -> Sequence[Tool]:
    """The definitions of these tools, as an agent would show them to its model.

    Args:
        tools: the tools.
        labels: the operator's word on them.

    Raises:
        BadTool: two of one name, or a bad schema.
    """
    return await Runner(with_labels(tools, labels)).list_tools()


class Agents:
    """The agents of the settings, each built when it is first asked for. The caller that makes this object closes it.

    Args:
        settings: with the tables of the agents.
        environment: the variables of this process.
        folder: where the everyday tools may look at files.
        journal: where all runs are written down.
        approver: who can be asked while a run waits.
        dispatcher: is told of the tasks that models begin; None where only other processes carry tasks out.
        clock: tells when to look at the files of the settings again.

    Attributes:
        completing: gives an agent of these settings the published definitions of its caller's tenant that it uses; set
            by the code that opens those.
    """

    def __init__(
        self,
        settings: Settings,
        environment: Mapping[str, str],
        folder: Path,
        *,
        journal: Journal,
        approver: Approver | None = None,
        dispatcher: Dispatcher | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._settings = settings
        self._environment = environment
        self._folder = folder
        self._journal = journal
        self._approver = approver
        self._built: dict[str, Agent[object]] = {}
        self._direct: dict[str, Runner] = {}
        self._queue = open_queue(settings, journal, dispatcher)
        self._hosts: dict[tuple[str, ...], McpHost | None] = {}
        self._egress = open_egress(settings, environment)
        self._watch = SettingsWatch(settings, environment, clock=clock)
        self._secrets = open_secrets(environment)
        self.completing: Callable[[Settings], Completes] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the agents."""
        return tuple(self._settings.agents)

    @property
    def hosts(self) -> Sequence[McpHost]:
        """The MCP servers of the agents that were built."""
        return [host for host in self._hosts.values() if host is not None]

    def get(self, name: str) -> Agent[object]:
        """The agent of this name. Who may use the agent is checked when it is run.

        Raises:
            UnknownName: there is none.
            UsageError: the agent can not be built; the message says why.
        """
        table = table_of(self._settings, name)
        if name not in self._built:
            made = self._made(name, table)
            self._direct[name] = made.runner
            self._built[name] = with_background(self._settings.of_agents[name], made, made.runner, self._queue)
        return self._built[name]

    def direct(self, name: str) -> Runner:
        """What makes the calls that the agent of this name handed over to tasks.

        Raises:
            UnknownName, UsageError: as for `get`.
        """
        self.get(name)
        return self._direct[name]

    def visible(self, principal: str, roles: Sequence[str] = ()) -> tuple[str, ...]:
        """The names of the agents that this user may use, as far as the tables and these roles say."""
        return tuple(
            name
            for name, table in self._settings.agents.items()
            if (now := naming_now(self._watch, name)) is not None
            and now.lets_in(principal, roles)
            and _naming(name, table).lets_in(principal, roles)
        )

    async def close(self) -> None:
        """End the MCP servers."""
        for host in self.hosts:
            await host.close()
        self._hosts.clear()
        self._built.clear()
        self._direct.clear()

    def _made(self, name: str, table: AgentTable) -> Agent[object]:
        settings = self._settings.of_agents[name]
        labels = settings.tool_labels
        naming = _naming(name, table, labels=msgspec.to_builtins(labels, order="deterministic"))
        if table.python:
            agent = _in_code(name, table.python)
            return agent.known_as(
                naming,
                journal=self._journal,
                approver=self._approver,
                wrap=(lambda toolset: labelled(labels, toolset)) if labels else None,
                latest=partial(naming_now, self._watch, name),
            )
        tools: list[Toolish] = [
            *load_tools(settings, self._folder, self._egress),
            *map(self.get, table.agents),
        ]
        read = usable_servers(settings.mcp, self._environment)
        servers = read.servers
        if settings.mcp not in self._hosts:
            for note in read.notes:
                log.warning("%s", note)
            self._hosts[settings.mcp] = open_mcp(
                servers, self._environment, egress=self._egress, wait_s=settings.mcp_wait
            )
        host = self._hosts[settings.mcp]
        if FINDER in settings.tools:
            tools.append(open_finder(host, settings.tool_labels))
        elif host is not None:
            tools.append(host)
        agent = make_agent(
            settings,
            make_model(settings),
            tools,
            journal=self._journal,
            approver=self._approver,
            name=name,
            output_type=_output_type(name, table.output),
            secrets=self._secrets,
        )
        told = tuple(f"{server.name} {_place(server.url)}".rstrip() for server in servers)
        named = msgspec.structs.replace(naming, servers=told, dialect=dialect_part(make_dialect(settings)))
        agent = agent.known_as(named, latest=partial(naming_now, self._watch, name))
        return agent.completed_by(partial(self._completed, settings)) if takes_published(settings) else agent

    async def _completed(
        self, settings: Settings, agent: AgentParts, tenant: str, began_with: Mapping[str, int] | None
    ) -> AgentParts:
        if self.completing is None:
            raise UsageError(
                "the agent {name!r} takes what is published, and nothing is published here", name=agent.name
            )
        return await self.completing(settings)(agent, tenant, began_with)


@asynccontextmanager
async def open_agents(
    settings: Settings,
    environment: Mapping[str, str],
    folder: Path,
    *,
    journal: Journal,
    approver: Approver | None = None,
    dispatcher: Dispatcher | None = None,
) -> AsyncIterator[Agents]:
    """`Agents`, closed at the end of the block."""
    agents = Agents(settings, environment, folder, journal=journal, approver=approver, dispatcher=dispatcher)
    try:
        yield agents
    finally:
        await agents.close()


async def problems_of(settings: Settings, environment: Mapping[str, str], folder: Path) -> list[str]:
    """What speaks against the agents that the settings describe, or against the one agent where there are no tables.

    Args:
        settings, environment, folder: as for `Agents`.
    """
    journal = MemoryJournal()

    def alone() -> None:
        tools = load_tools(settings, folder)
        make_agent(settings, make_model(settings), tools, journal=journal, approver=None)

    async with open_agents(settings, environment, folder, journal=journal) as agents:
        of_agents: dict[str, list[str]] = {}
        for name in agents.names:
            of_agents.setdefault(_problem_of(partial(agents.get, name)), []).append(name)
        found = [_of_tables(problem, names, settings) for problem, names in of_agents.items() if problem]
        found += [_problem_of(build) for build in (*(() if agents.names else (alone,)), partial(open_policy, settings))]
    return [problem for problem in dict.fromkeys(found) if problem]


def _of_tables(problem: str, names: Sequence[str], settings: Settings) -> str:
    """A problem with the tables of the agents that have it, unless all agents have it or the problem names one."""
    is_of_all = len(names) > 1 and len(names) == len(settings.agents)
    if is_of_all or any(f"agents.{name}]" in problem for name in names):
        return problem
    return f"{', '.join(f'[agents.{name}]' for name in names)}: {problem}"


def _problem_of(build: Callable[[], object]) -> str:
    try:
        build()
    except ActumError as error:
        return str(error)
    return ""


async def tool_names(agents: Agents) -> set[str]:
    """The names of the tools of all agents that can be built, for a look at patterns of names."""
    found: set[str] = set()
    for name in agents.names:
        with suppress(ActumError):
            found |= {tool.name for tool in await agents.get(name).list_tools()}
    return found


def _naming(name: str, table: AgentTable, labels: JsonObject | None = None) -> Naming:
    return Naming(
        name=name,
        description=table.description,
        users=table.users,
        roles=table.roles,
        memory=table.memory,
        labels=labels or {},
    )


def _in_code(name: str, spec: str) -> Agent[object]:
    """The agent that is defined in code."""
    if not names_one_object(spec):
        raise UsageError(
            "[agents.{agent}]: python = {place!r}: write package.module:agent or file.py:agent", agent=name, place=spec
        )
    found = load_object(spec)
    if not isinstance(found, Agent):
        raise UsageError(
            "[agents.{agent}]: {place} is {kind}; needed is an object Agent(...)",
            agent=name,
            place=spec,
            kind=kind_of(found),
        )
    return found


def _output_type(name: str, spec: str) -> type:
    """The type of an agent's answers."""
    if not spec:
        return str
    found = load_object(spec) if names_one_object(spec) else None
    if not isinstance(found, type):
        raise UsageError(
            "[agents.{agent}]: output = {place!r}: write file.py:Name or module:Name of a class", agent=name, place=spec
        )
    return found


def _place(url: str) -> str:
    """The address of a server without user, password and query, which may hold a key."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}" if url else ""
