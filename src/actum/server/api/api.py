"""`Api`: what the handlers of our own API share: tools, agents, the journal and the runs under way.

Every call and every run goes the way that it also goes without a server: `Runner.call` and `Agent.run`. A request that
names an `Idempotency-Key` makes the id of its run of that key and of the caller, so that the same request finds the run
again: in this process, in another, and after the run has ended.
"""

from __future__ import annotations

import asyncio
import copy
import hashlib
import hmac
from bisect import bisect_right
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING, Protocol

import msgspec
from msgspec import Struct

from ...agents.agent import Agent
from ...agents.identity import KnowsRoles
from ...core.errors import Busy, InvalidArguments, JournalError, UnknownName, UsageError
from ...core.event import RunResult
from ...core.identity import Identity, Usable
from ...core.interfaces import Clock, Journal
from ...core.language.error_words import problem_words
from ...core.message import UserMessage
from ...core.policy import Facts
from ...core.run.ids import new_id
from ...core.run.record import Started
from ...core.run.task_request import NO_DEFAULTS, TaskDefaults
from ...core.secrets.store import ModelKeyStore, SecretEntry, SecretStore
from ...core.stores import Stores
from ...core.tool import Tool
from ...core.user import User
from ...features.feature import NO_FEATURES, FeatureSet
from ...features.operation import ApiRequest, SettingsOf
from ...features.refusal import Refusal
from ...journal.kept_uses import with_all_uses
from ...journal.recording import RunState
from ...journal.watch import JournalWatch
from ...knowledge.unread import CallingPart
from ...policy.published import look_at
from ...runs.options import Emit
from ...runs.recorded import done_after
from ...runs.runner import Runner, unless_stopped
from ...runs.tool_search import ToolIndex
from ...tasks.queue import TaskQueue
from ...transport.http import HttpFailure
from ...triggers.states import TriggerStates
from ...workflow.speaker import WorkflowModel
from ..access_log import traceparent_of_request
from ..published import PublishedOffer
from ..scopes import allows
from ..workflows import GivenWorkflows, WorkflowsByName
from .connected import TenantModels
from .records import POLL_S, Recorded, Records, no_agent
from .work import RunJob, Work

if TYPE_CHECKING:
    from ..login.browser_sessions import BrowserSessions  # needs the types of a web framework

TRIES = 25
"""How often a run that another process is about to begin is looked for."""
INDEXES_MAX = 16
"""The published tools of this many tenants are kept in an index."""
ASSISTANT = "assistant"
"""The agent of a server whose settings name none, and the one that is meant where a caller names none."""

Begin = Callable[[Emit], Coroutine[object, object, RunResult]]


class Start(Struct, frozen=True):
    """A run that a request starts.

    Attributes:
        run_id: the id of the run.
        request: a digest of the request, where the id was made of a key; empty otherwise.
        trace: the `traceparent` that came with the request; empty where none came.
    """

    run_id: str
    request: str = ""
    trace: str = ""


class AgentsByName(Protocol):
    """The agents of a server."""

    @property
    def names(self) -> Sequence[str]:
        """The names of the agents."""

    def get(self, name: str) -> Agent[object]:
        """The agent of a name.

        Raises:
            UnknownName: there is none.
        """


class GivenAgents:
    """Agents that a program has made.

    Args:
        agents: the agents by name.
        elsewhere: agents by names that nobody is told here: they go on with runs that other programs began.
    """

    def __init__(
        self, agents: Mapping[str, Agent[object]], elsewhere: Mapping[str, Agent[object]] | None = None
    ) -> None:
        self._agents = agents
        self._all = {**(elsewhere or {}), **agents}

    @property
    def names(self) -> Sequence[str]:
        """The names of the agents."""
        return tuple(self._agents)

    def get(self, name: str) -> Agent[object]:
        """The agent of a name.

        Raises:
            UnknownName: there is none.
        """
        if name not in self._all:
            raise UnknownName("there is no agent {name!r}", name=name)
        return self._all[name]


class Tasking(Struct, frozen=True):
    """How a server takes tasks on.

    Attributes:
        queue: accepts tasks.
        defaults: what the settings say of tasks that call a tool.
        check_webhook: raises an error where a task of this user may not tell an address of its end; None where no
            address is ever told.
    """

    queue: TaskQueue
    defaults: Callable[[str], TaskDefaults] = lambda _: NO_DEFAULTS
    check_webhook: Callable[[User, str], None] | None = None


class KeptSecrets(Struct, frozen=True):
    """The secrets of a server, as administrators see them.

    Attributes:
        store: keeps them; None where there is no place for them.
        variables: those of the environment, which can only be read. They are the operator's: only the tenant without a
            name is told of them.
        model_keys: keeps the keys of models, which no tool can name; None where there is no place for them.
    """

    store: SecretStore | None = None
    variables: tuple[SecretEntry, ...] = ()
    model_keys: ModelKeyStore | None = None


class Api:
    """What all handlers share.

    Args:
        runner: makes the calls of tools that are asked for directly.
        agents: the agents; all have to write to the journal of the runner.
        clock: the time.
        tasking: accepts tasks; None where nothing carries tasks out.
        workflows: the workflows, which write to the journal of the runner; None for none.
        features: the features that are on.
        secrets: the secrets that administrators set.
        browsers: the sessions of browsers; None where no key is wanted.
        connections: the models that tenants have connected; None where nobody can connect one.
        published: what tenants have published; by default their workflows alone.
        triggers: how the triggers of the settings stand; None for no triggers.

    Attributes:
        offers: the names of what the server has.
        calling: the agents and workflows of the settings, with what they may call.
        spaces: the memory spaces of the agents of the settings, by the names of the agents.
        watch: looks into the journal for all who follow runs here.
    """

    def __init__(
        self,
        runner: Runner,
        agents: AgentsByName,
        clock: Clock,
        tasking: Tasking | None = None,
        workflows: WorkflowsByName | None = None,
        features: FeatureSet = NO_FEATURES,
        secrets: KeptSecrets | None = None,
        browsers: BrowserSessions | None = None,
        connections: TenantModels | None = None,
        published: PublishedOffer | None = None,
        triggers: TriggerStates | None = None,
    ) -> None:
        self.triggers = triggers or TriggerStates({}, runner.journal.positions)
        self.browsers = browsers
        self.connections = connections
        self.offers: Sequence[str] = ()
        self.calling: Sequence[CallingPart] = ()
        self.spaces: Mapping[str, str] = {}
        self.secrets = secrets or KeptSecrets()
        self.features = features
        self.runner = runner
        self.workflows: WorkflowsByName = workflows or GivenWorkflows({})
        self.published = published or PublishedOffer(self.workflows)
        self.agents = agents
        self.clock = clock
        self.journal = runner.journal
        self.records = Records(runner.journal, clock, runner.labels)
        self.watch = JournalWatch(runner.journal, clock)
        self.work = Work()
        tasking = tasking or Tasking(TaskQueue(runner.journal, clock=clock, can_build=lambda _: False))
        self.tasks = tasking.queue
        self._tasking = tasking
        self._indexes: dict[str, ToolIndex] = {}

    @property
    def stores(self) -> Stores:
        """The tables of features, beside the journal."""
        return self.journal.stores

    def settings(self, kind: type[SettingsOf]) -> SettingsOf:
        """What is set for a feature; see `Application.settings`."""
        return self.features.settings(kind)

    def staged(self, journal: Journal) -> Api:
        """The same server, where tenants have published what another journal has; for checks.

        Raises:
            UsageError: nothing is checked together here.
        """
        if self.published.over is None:
            raise UsageError("this server takes no definitions together: publish each by itself")
        other = copy.copy(self)
        other.published = self.published.over(journal)
        other.workflows, other.journal, other._indexes = other.published.workflows, journal, {}
        return other

    # Tasks ------------------------------------------------------------------------------------------------------------

    def task_defaults(self, tool: str) -> TaskDefaults:
        """What the settings say of tasks that call a tool."""
        return self._tasking.defaults(tool)

    def check_webhook(self, who: Identity, address: str) -> None:
        """A task may tell this address of its end.

        Raises:
            Refusal: this server tells nobody, or the address may not be reached.
        """
        check = self._tasking.check_webhook
        if check is None:
            raise Refusal(422, "webhook", "This server tells no address of the end of a task.")
        try:
            check(User(who.tenant, who.principal), address)
        except (HttpFailure, UsageError, ValueError) as error:
            raise Refusal(422, "webhook", "The webhook can not be used: {why}.", why=error) from None

    # What a caller may use --------------------------------------------------------------------------------------------

    async def tools(self, who: Identity) -> list[Tool]:
        """All tools of this server and of the caller's tenant; those too that the caller is not shown."""
        own = await self.runner.list_tools()
        names = {tool.name for tool in own}
        return [*own, *(each for name, each in (await self.published.tools(who.tenant)).items() if name not in names)]

    async def shows(self, who: Identity) -> Callable[[Tool], bool]:
        """What tells whether a caller is shown a tool."""
        await look_at(self.runner.policy, who.tenant)
        facts = Facts.of(who, self.runner.name, self.clock.now())
        hidden = await self.runner.hidden_from(facts) | (await self.published.offered(who.tenant)).hidden_from(who)
        return lambda tool: (
            tool.name not in hidden and who.may_use("tool", tool.name) and not self.runner.bars(tool, facts)
        )

    async def tools_behind(self, who: Identity, last: str) -> Iterator[Tool]:
        """The tools of this server and of the caller's tenant in the order of their names, behind a name; those too
        that the caller is not shown. No more of a long list is looked at than is taken.
        """
        own, offered = await self.runner.list_tools(), await self.published.offered(who.tenant)
        names = {tool.name for tool in own}
        first = sorted((tool for tool in own if tool.name > last), key=_tool_name)
        later = islice(offered.names, bisect_right(offered.names, last), None)
        return merge(first, (offered.tools[name] for name in later if name not in names), key=_tool_name)

    async def search_tools(self, who: Identity, words: str, limit: int) -> list[Tool]:
        """The tools that the caller is shown and that fit some words, the best first."""
        tools, is_shown = await self.tools(who), await self.shows(who)
        own = await self.runner.list_tools()
        if len(tools) == len(own):
            return await self.runner.tool_index.search(own, words, limit, is_shown)
        return await self._index_of(who.tenant).search(tools, words, limit, is_shown)

    def _index_of(self, tenant: str) -> ToolIndex:
        """The index of the tools of a tenant that has published some. The index of the tenant that asked least recently
        is dropped where there are many.
        """
        index = self._indexes.pop(tenant, None) or ToolIndex()
        while len(self._indexes) >= INDEXES_MAX:
            del self._indexes[next(iter(self._indexes))]
        self._indexes[tenant] = index
        return index

    async def tool(self, who: Identity, name: str) -> Tool:
        """A tool that a caller may name. What the policy says of a call is told when the call is made.

        Raises:
            Refusal: there is no such tool for the caller.
        """
        await self.published.look(who.tenant)
        tool = next((tool for tool in await self.runner.list_tools() if tool.name == name), None)
        if tool is not None and name in await self.runner.hidden_from(Facts.of(who)):
            tool = None
        elif tool is None:
            offered = await self.published.offered(who.tenant)
            tool = None if name in offered.hidden_from(who) else offered.tools.get(name)
        if tool is None or not who.may_use("tool", name):
            raise Refusal(404, "unknown_tool", "There is no tool of this name that this key may use.")
        return tool

    async def runner_for(self, who: Identity, tool: str) -> Runner:
        """What makes a call of a tool that a caller may name: for what the caller's tenant has published, a runner with
        the publication in use.
        """
        if any(each.name == tool for each in await self.runner.list_tools()):
            return self.runner
        return await self.published.runner(self.runner, who.tenant, tool) or self.runner

    def lets_in(self, who: Identity, name: str) -> bool:
        """Whether a caller may use an agent of this server: by the caller's key, and by the agent's users and roles.

        Args:
            who: the caller.
            name: one of the names of `agents`.
        """
        return who.may_use("agent", name) and self.agents.get(name).is_for(who.principal, who.roles)

    async def agent(self, who: Identity, name: str, *, conversation: str = "", version: int = 0) -> Agent[object]:
        """An agent that a caller may use, or one that stands for a published workflow of the caller's tenant.

        Args:
            who: the caller.
            name: the name of the agent.
            conversation: the conversation in which the agent is asked; empty where it is not known.
            version: the number of a publication; 0 for the one that the caller gets.

        Raises:
            Refusal: there is no such agent for the caller.
        """
        names = self.agents.names
        if not name:
            name = ASSISTANT if ASSISTANT in names else names[0] if len(names) == 1 else ""
        agent: Agent[object] | None = None
        if name in names and not version:
            agent = await self._with_model(who.tenant, self.agents.get(name)) if self.lets_in(who, name) else None
        elif name not in names and who.may_use("agent", name):
            user = user_of(who, conversation)
            agent = await self.published.agent(who.tenant, name, user=user, version=version)
            agent = agent if agent is None or agent.is_for(who.principal, who.roles) else None
        if agent is None and version:
            raise Refusal(
                404,
                "unknown_agent",
                "There is no publication {version} of an agent of this name that this key may use.",
                version=version,
            )
        if agent is None:
            raise Refusal(404, "unknown_agent", "There is no agent of this name that this key may use.")
        return await agent.completed(who.tenant)

    async def _with_model(self, tenant: str, agent: Agent[object]) -> Agent[object]:
        """The agent, which asks the tenant's default model where it is the one that stands for no model of its own.

        Raises:
            UsageError: that model can not be asked now.
        """
        if self.connections is None or agent.name != self.connections.agent:
            return agent
        model = await self.connections.default_model(tenant)
        return agent if model is None else agent.with_runner(agent.runner, model)

    async def connected_name(self, tenant: str, agent: Agent[object]) -> str:
        """The name of the model that a tenant has connected for an agent; empty for the agent's own."""
        if self.connections is None or agent.name != self.connections.agent:
            return ""
        return await self.connections.default_name(tenant)

    def check_question(self, agent: Agent[object], question: UserMessage) -> None:
        """A message to an agent that stands for a workflow holds what the workflow takes.

        Raises:
            Refusal: it does not; each problem says which input it is about.
        """
        if not isinstance(agent.model, WorkflowModel):
            return
        try:
            agent.model.inputs_of(question.text)
        except InvalidArguments as error:
            raise Refusal(
                422,
                "inputs",
                "The message does not fit: {why}",
                problems=error.problems,
                why=problem_words(error.problems) if error.problems else error,
            ) from None

    async def agent_names(self, who: Identity) -> list[str]:
        """The names of the agents that a caller may use: those of the settings first."""
        own = self.agents.names
        allowed = [name for name in own if self.lets_in(who, name)]
        return [*allowed, *(name for name in await self.published_agents(who) if name not in own)]

    async def published_agents(self, who: Identity) -> list[str]:
        """The names of the published agents and workflows that a caller may know of: those that are for the caller,
        and for a caller who builds all that the caller's key allows.
        """
        policy = self.runner.policy
        roles = {*who.roles, *(policy.roles_of(who.principal) if isinstance(policy, KnowsRoles) else ())}
        builds = allows(who, ("build",))
        found = await self.published.agents(who.tenant)
        return [
            name
            for name, each in found.items()
            if who.may_use("agent", name) and (builds or each.is_for(who.principal, roles))
        ]

    async def agent_of(self, started: Started) -> Agent[object] | None:
        """The agent that can go on with a run; None where this server has none, and for a run of a workflow."""
        if started.workflow:
            return None
        started = await with_all_uses(started, self.journal)
        if (speaker := await self.published.agent_of(started)) is not None:
            return speaker
        if not self._has_agent(started):
            return None
        agent = await self._with_model(started.tenant, self.agents.get(started.agent))
        return await agent.completed(started.tenant, started.uses)

    async def check_go_on(self, who: Identity, recorded: Recorded) -> None:
        """A caller goes on only with runs that the caller could start.

        Raises:
            Refusal: the key allows no such run, or the agent is not for the caller any more; or the run branched off
                from a run that was forgotten, so that nobody can tell what must not be done again.
        """
        state = recorded.state
        tools = [call.name for _, requested in state.requested for call in requested.calls]
        named: list[tuple[Usable, str]] = (
            [("tool", tool) for tool in tools] if state.requested else [("agent", recorded.started.agent)]
        )
        is_for_caller = allows(who, ("admin",)) or await self._is_for(who, recorded.started)
        if not (is_for_caller and all(who.may_use(kind, name) for kind, name in named)):
            raise Refusal(403, "key", "This key may not use what this run uses.", run=recorded.run_id)
        try:
            await done_after(self.journal, recorded.started)
        except JournalError:
            raise Refusal(
                409,
                "forgotten",
                "This run branched off from a run that was forgotten: nothing can go on from here.",
                run=recorded.run_id,
            ) from None

    async def _is_for(self, who: Identity, started: Started) -> bool:
        """Whether the agent of a run is for a caller, as it is now; true for what is no agent of this server."""
        try:
            agent = await self.agent_of(started)
        except UsageError:
            return True  # it can not go on, which is told where it is tried
        return agent is None or agent.is_for(who.principal, who.roles)

    # Runs that requests start -----------------------------------------------------------------------------------------

    def start(self, asked: ApiRequest[object, object]) -> Start:
        """The run that a request starts: a new run, or the run of its `Idempotency-Key` and its caller."""
        if not asked.key:
            return Start(new_id("run"), trace=traceparent_of_request())
        who = asked.who
        named = hashlib.sha256(_sorted.encode([who.tenant, who.principal, asked.key])).hexdigest()
        # Keyed, so that a secret argument can not be guessed from the digest by a reader of the journal.
        said = _sorted.encode([asked.operation, dict(asked.names), asked.body])
        digest = hmac.digest(asked.key.encode(), said, "sha256").hex()[:32]
        return Start(f"run_{named[:32]}", digest, traceparent_of_request())

    async def begin(self, start: Start, make: Begin) -> RunJob | None:
        """Begin the run of a request, unless the same request has begun it before.

        Args:
            start: the run.
            make: carries the run out.

        Returns:
            The job that carries the run out here; None where the run was begun before and is not under way here.

        Raises:
            Refusal: another request was made with the same `Idempotency-Key`.
            UsageError: the run can not be begun.
        """
        for tried in range(TRIES):
            if start.request and await self.was_begun(start):
                return self.work.get(start.run_id)
            job = self.work.get(start.run_id) or self.work.start(start.run_id, start.request, make)
            try:
                await self.started(job)
                _check_same(job.request, start)
                return job
            except UsageError as error:
                if not start.request or tried == TRIES - 1:
                    raise
                is_own = job.request == start.request
                if is_own and not isinstance(error, Busy) and not await self.was_begun(start):
                    raise
            await self.clock.sleep(POLL_S / 4)  # another process is about to write the beginning of the run
        return None

    async def started(self, job: RunJob) -> RunJob:
        """A job whose run is on record.

        Raises:
            UsageError: the run could not be begun, or gone on with.
        """
        await asyncio.shield(job.begun)  # others wait for it, too
        if not job.is_recorded:
            await wait_for(job)
            if job.task.cancelled():
                raise Refusal(503, "stopping", "The run was cancelled before it began.", retry_after=1.0)
            job.task.result()  # raises what speaks against the run
        return job

    async def was_begun(self, start: Start) -> bool:
        """Whether the run of a request is on record.

        Raises:
            Refusal: another request was made with the same `Idempotency-Key`, or its run was forgotten.
        """
        entries = await self.journal.read(start.run_id)
        if not entries:
            return False
        try:
            started = RunState(entries[:1]).beginning()
        except JournalError:
            raise Refusal(409, "forgotten", "The run of this Idempotency-Key was forgotten. Use another key.") from None
        _check_same(started.request, start)
        return True

    async def settled(self, run_id: str, who: Identity) -> Recorded:
        """A run that has ended, or waits for somebody. A run that nobody carries out any more is gone on with.

        Raises:
            Refusal: there is no such run for the caller.
            UsageError: the run can not be gone on with.
        """
        while True:
            job = self.work.get(run_id)
            if job is not None:
                await wait_for(job)
                continue
            recorded = await self.records.run(run_id, who)
            if recorded.is_over:
                return recorded
            if await self.journal.driven([run_id]):
                await self.clock.sleep(POLL_S)
                continue
            ended = recorded.state.ended
            if ended is not None and ended.status == "paused" and recorded.state.waiting():
                return recorded
            job = self.go_on(recorded)
            await wait_for(job)
            if not job.task.cancelled() and (error := job.task.exception()) is not None:
                raise error
            return await self.records.run(run_id, who)

    def go_on(self, recorded: Recorded, *, accept: bool = False) -> RunJob:
        """Go on with a run that was paused or interrupted, in a task of its own.

        Raises:
            Busy: the run is under way here.
            UsageError: this server has no agent of the run's name.
        """
        run_id, (tenant, principal) = recorded.run_id, recorded.started.user
        started = recorded.started
        if recorded.state.requested:

            async def make_calls(emit: Emit) -> RunResult:
                runner = await self.published.runner_of(self.runner, await with_all_uses(started, self.journal))
                return await runner.resume(
                    run_id, principal=principal, tenant=tenant, accept=accept, emit=emit, begins=unless_stopped
                )

            return self.work.start(run_id, started.request, make_calls)
        if started.workflow:

            async def carry_out(emit: Emit) -> RunResult:
                workflow = await self.workflows.of(run_id, started)
                return await workflow.resume(
                    run_id,
                    principal=principal,
                    tenant=tenant,
                    accept=accept,
                    emit=emit,
                    begins=unless_stopped,
                    wait_s=0,
                )

            return self.work.start(run_id, started.request, carry_out)
        if not self.published.stands_for(started) and not self._has_agent(started):
            raise no_agent(recorded)

        async def answer(emit: Emit) -> RunResult:
            agent = await self.agent_of(started)
            if agent is None:
                raise no_agent(recorded)
            return await agent.resume(
                run_id, principal=principal, tenant=tenant, accept=accept, emit=emit, begins=unless_stopped
            )

        return self.work.start(run_id, started.request, answer)

    def _has_agent(self, started: Started) -> bool:
        """Whether this server has an agent that can go on with a run."""
        try:
            self.agents.get(started.agent)
        except UnknownName:
            return False
        return True


async def wait_for(job: RunJob) -> None:
    """Wait until a job has ended, however it ends. A cancelled wait does not cancel the job."""
    await asyncio.wait([job.task])


def user_of(who: Identity, conversation: str) -> str:
    """The name that a share is drawn by: the user; else the conversation, and without both a new name."""
    return who.principal or conversation or new_id("user")


def _check_same(request: str, start: Start) -> None:
    """Raises:
    Refusal: the run was started by another request.
    """
    if request != start.request:
        raise Refusal(
            409,
            "key_used",
            "This Idempotency-Key was used for another request. Use a new key for a new request.",
            run=start.run_id,
        )


def _tool_name(tool: Tool) -> str:
    return tool.name


_sorted = msgspec.json.Encoder(order="sorted")
