"""`Runner`: tools, with the policy, the limits and the journal for their calls.

    runner = Runner([add, pay], name="desk", policy=policy, journal=journal) result = await runner.call([ToolCall("1",
    "add", {"a": 1, "b": 2})], RunOptions(principal="ada"), by="person")

An agent has a runner and a model. A server, the command line, a schedule or a workflow has a runner alone. There is no
other way to a tool.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from ..call.asking.asker import LiveApprover
from ..call.asking.posted import take_posted
from ..call.choice import ALL, Choice
from ..call.limits.breaker import Breakers
from ..call.limits.limits import Limits
from ..call.limits.meters import RateLimiters
from ..call.path import CallPath
from ..call.plan import PolicyInputs, decide
from ..call.resolve import Catalog
from ..call.scope import RunContext
from ..core.budget import Budget, Price
from ..core.call import MediaPart, ToolCall
from ..core.clock import SystemClock
from ..core.errors import JournalError, ReplayDiverged, RunStopped, UsageError
from ..core.event import RunResult
from ..core.holder import Holder
from ..core.interfaces import Clock, Context, Journal, Peer, Toolset
from ..core.json import JsonObject
from ..core.message import Transcript
from ..core.model_settings import UNSET, ModelSettings, checked_settings
from ..core.policy import Ancestor, Answer, Approver, Defence, Facts, Policy
from ..core.process.tenant import acting_for
from ..core.run.ending import is_afterword
from ..core.run.ids import new_id
from ..core.run.record import CallsRequested, Ended, Entry, InputGiven, Requester, Started, TaskQueued, TaskStarted
from ..core.secrets.redaction import DEFAULT_REDACTION, Redaction
from ..core.secrets.store import SecretSource, secrets_for
from ..core.tool import SEARCH, Tool, brought_by_client, digest_of
from ..core.trace import NO_WAY, Way, trace_id, way_in
from ..core.under_way import call_under_way
from ..core.user import User
from ..journal.excerpt import READ_RESULT, ResultReader
from ..journal.kept_tools import keep_tools, kept_tools
from ..journal.kept_uses import put_beginning
from ..journal.memory import MemoryJournal
from ..journal.recording import CallRef, RunState
from ..journal.secrets import write_answer, write_request
from ..policy.labels import Label, Labelling, check_labels
from ..policy.origins import OriginIndex
from ..policy.published import look_at
from ..policy.rules import CAREFUL, DEFAULT, Barring
from ..storage.place import open_journal
from .below import (
    acts_for,
    answers_of,
    below,
    handed_down,
    id_below,
    is_begun,
    on_behalf,
    seen_above,
    telling_above,
    told_above,
)
from .caller_access import CallerAccess, RevokedKeys
from .cancel_watch import CancelWatch
from .captured import captured
from .direct import make_requested
from .given_tools import Toolish, sort_out, warn_of_undeclared
from .holding import holder_of, rest_or_leave
from .model_side import NO_MODEL, ModelSide
from .options import NO_OPTIONS, Emit, RunOptions
from .recorded import check_bound, check_needed, checked_id, done_after, sound, unknown_run
from .run import Run, Stopping
from .tool_search import ToolIndex, ToolSearch
from .wording import Phrases, developers_words

log = logging.getLogger("actum")

Answers = Callable[[RunState], list[InputGiven]]
"""Makes the records of the answers to the open questions of a run, from the state of the run."""


Begins = Callable[[Sequence[Entry]], TaskStarted | None]
"""Makes the record that begins an attempt at a task, from the entries of the run; None where there is none."""


def let_go(entries: Sequence[Entry]) -> Ended | None:
    """The latest end or pause of a run, whatever was answered since; None for a run under way, or interrupted.

    Args:
        entries: the entries of the run.
    """
    records = (entry.record for entry in reversed(entries))
    record = next((each for each in records if not (isinstance(each, InputGiven) or is_afterword(each))), None)
    return record if isinstance(record, Ended) else None


def unless_stopped(entries: Sequence[Entry]) -> None:
    """Refuse to go on with a run that was stopped: for runs that are woken by a time or by an answer.

    Args:
        entries: the entries of the run.

    Raises:
        RunStopped: the run was stopped.
    """
    ended = let_go(entries)
    if ended is not None and ended.status == "stopped":
        raise RunStopped("this run was stopped in the meantime")


NO_ATTACHMENTS: Mapping[str, MediaPart] = {}
TOLD_MAX = 10
"""The most tools of each kind that are named where a run's tools have changed."""


class Setting(Struct, frozen=True, kw_only=True):
    """What a run is given that is not on record: the caller gives it anew when it goes on with the run.

    Attributes:
        journal: where the run is written down.
        budget: what the run may use.
        deps: the program's own object for tools.
        emit: is told each event of the run.
        approver: who can be asked now, instead of the runner's own.
        peer: the program at the other end.
        accept: the run goes on although prompt or tools have changed.
        ancestors: the runs above this run, whose policies bind it.
        parent: the run whose call this run works for; empty where there is none.
        holder: for whom toolsets keep sessions open, instead of the conversation or the run.
        model_settings: how the model is asked in this run; this overrules the settings of its agent.
        begins: makes the record that begins an attempt at a task, of the entries of a run that nobody else can add to.
            The record is on disk before anything else is done. Raises where the attempt must not be made.
        stopping: says why the run is cancelled, where it is; see `run.Stopping`.
        above: the call that the run works for; None where the run works for no call.
    """

    journal: Journal
    budget: Budget
    deps: object = None
    emit: Emit | None = None
    approver: Approver | None = None
    peer: Peer | None = None
    accept: bool = False
    ancestors: tuple[Ancestor, ...] = ()
    parent: str = ""
    holder: Holder | None = None
    model_settings: ModelSettings = UNSET
    begins: Begins | None = None
    stopping: Stopping | None = None
    above: Context | None = None


class Runner:
    """Makes runs with a set of tools.

    Args:
        tools: functions, `@tool` functions, toolsets, agents; also bare `Tool` definitions, whose calls pause the run
            for the program to carry out itself.
        name: the name of the runs on record: that of the agent, or of the server.
        policy: decides which calls are allowed. None: local tools run, and foreign tools with side effects ask.
        supervised: the name of the supervised model that makes the calls. Without a policy, local tools that declare an
            effect beyond `read` then ask as well.
        limits, prices, approver, coerce, extra_arguments, secrets, redaction: as for `Agent`.
        journal: where runs are written down: a file, `postgresql://...`, or a `Journal`; in memory by default.
        clock: the time.
        choice: how many of the tools a model is shown; all by default.
        defence, labels: as for `Agent`.

    Raises:
        BadTool: two tools of one name, or a bad schema (those of toolsets are seen when a run starts).
    """

    def __init__(
        self,
        tools: Sequence[Toolish] = (),
        *,
        name: str = "agent",
        policy: Policy | None = None,
        supervised: str = "",
        limits: Limits | None = None,
        prices: Mapping[str, Price] | None = None,
        journal: Journal | str | Path | None = None,
        approver: Approver | None = None,
        coerce: bool = True,
        extra_arguments: Literal["refuse", "drop"] = "refuse",
        secrets: Mapping[str, str] | SecretSource | None = None,
        redaction: Redaction = DEFAULT_REDACTION,
        clock: Clock | None = None,
        choice: Choice = ALL,
        defence: Defence | Literal["auto"] | None = None,
        labels: Mapping[str, Label] | None = None,
    ) -> None:
        self.name = name
        self.labels: Mapping[str, Label] = labels or {}
        self._defence = defence
        self.choice = choice
        self.tool_index = ToolIndex()
        self.limits = limits or Limits()
        self.limits_recorded: JsonObject = msgspec.to_builtins(self.limits)
        self.prices = prices or {}
        self.clock: Clock = clock or SystemClock()
        self.journal: Journal = _opened(journal) or MemoryJournal(self.clock)
        self._has_own_journal = journal is not None
        self._supervised = supervised if policy is None else ""
        self._policy: Policy = policy if policy is not None else CAREFUL if supervised else DEFAULT
        self._binding = policy is not None
        self._approver = approver
        self._coerce = coerce
        self._extra = extra_arguments
        self._secrets: Mapping[str, str] | SecretSource = {} if secrets is None else secrets
        self._redaction = redaction
        self._breakers = Breakers(self.limits.failures, self.limits.rest_seconds)
        self._meters = RateLimiters(self.limits, name, self.journal.counts)
        self._toolsets, self._bare = sort_out(tools)
        self.client_tools: tuple[Tool, ...] = ()
        self.uses: Mapping[str, int] = {}
        self._catalog: Catalog | None = None
        self._generations: tuple[int, ...] = ()
        self._watch = CancelWatch()
        self._revoked = RevokedKeys()

    def with_tools(self, tools: Sequence[Toolish]) -> Runner:
        """The same runner with other tools, in the same journal. The limits count the use of both together.

        Raises:
            BadTool: a schema is bad.
        """
        other = copy.copy(self)
        other._toolsets, other._bare = sort_out(tools)
        other._catalog, other._generations = None, ()
        other.tool_index = ToolIndex()
        return other

    def with_more_tools(self, toolsets: Sequence[Toolset]) -> Runner:
        """The same runner with further toolsets beside its tools. The limits count the use of both together."""
        other = copy.copy(self)
        other._toolsets = [*self._toolsets, *toolsets]
        other._generations = ()  # the catalog stays, so that its compiled schemas are used again
        other.tool_index = ToolIndex()
        return other

    def with_client_tools(self, tools: Sequence[Tool]) -> Runner:
        """The same runner with the tools of a client beside its own; see `Started.client_tools`. A call of such a tool
        waits for its result, as that of a bare definition does.

        Args:
            tools: the tools of the client; they replace those of another client.
        """
        other = copy.copy(self)
        before = {tool.name for tool in self.client_tools}
        other.client_tools = brought_by_client(tools)
        other._bare = [*(tool for tool in self._bare if tool.name not in before), *other.client_tools]
        other._catalog, other._generations = None, ()
        return other

    @property
    def is_published(self) -> bool:
        """Whether the agent or workflow of the runs was published, so that every process can open it."""
        return self.name in self.uses or f"agent/{self.name}" in self.uses

    def with_surroundings(self, journal: Journal | None, clock: Clock | None) -> Runner:
        """The same runner with another journal or clock, which counts limits anew; None keeps its own."""
        other = copy.copy(self)
        other.journal, other.clock = journal or self.journal, clock or self.clock
        other._has_own_journal = self._has_own_journal or journal is not None
        other._breakers = Breakers(self.limits.failures, self.limits.rest_seconds)
        other._meters = RateLimiters(self.limits, self.name, other.journal.counts)
        other._watch = CancelWatch()
        return other

    def with_uses(self, uses: Mapping[str, int]) -> Runner:
        """The same runner, with tools that are made of these publications; see `Started.uses`."""
        other = copy.copy(self)
        other.uses = dict(uses)
        return other

    def known_as(
        self,
        name: str,
        *,
        journal: Journal | None = None,
        approver: Approver | None = None,
        wrap: Callable[[Toolset], Toolset] | None = None,
    ) -> Runner:
        """The same runner under another name. The limits count the use of both together.

        Args:
            name: the name of its runs on record.
            journal: where its runs are written down, instead.
            approver: who can be asked, instead.
            wrap: puts a wrapper around each toolset.
        """
        other = copy.copy(self)
        other.name = name
        other.journal = journal or self.journal
        other._has_own_journal = self._has_own_journal or journal is not None
        other._approver = approver or self._approver
        if wrap is not None:
            other._toolsets = [wrap(toolset) for toolset in self._toolsets]
            other._catalog, other._generations = None, ()
        return other

    def with_policy(self, policy: Policy) -> Runner:
        """The same runner with another policy, which also binds the runs that its calls begin."""
        other = copy.copy(self)
        other._policy, other._binding = policy, True
        return other

    @property
    def policy(self) -> Policy:
        """The policy that decides which calls are allowed."""
        return self._policy

    @property
    def reading(self) -> tuple[bool, str]:
        """How arguments are read: whether nearly fitting ones are mended, and how unknown ones are treated."""
        return self._coerce, self._extra

    @property
    def definitions(self) -> Sequence[Tool]:
        """The bare definitions, whose calls the program carries out itself."""
        return tuple(self._bare)

    @property
    def toolsets(self) -> Sequence[Toolset]:
        """The toolsets of the tools."""
        return tuple(self._toolsets)

    # Tools ------------------------------------------------------------------------------------------------------------

    async def list_tools(self) -> Sequence[Tool]:
        """The definitions of the tools."""
        return (await self.catalog()).tools

    async def catalog(self) -> Catalog:
        """The tools as they are now; listed and compiled again only when a toolset says that it has changed."""
        generations = tuple([toolset.generation for toolset in self._toolsets])
        if self._catalog is None or generations != self._generations:
            catalog = await Catalog.of(self._toolsets, self._bare, known=self._catalog)
            if self.choice.places_in(catalog) and catalog.get(SEARCH) is None:
                catalog = await catalog.with_toolset(ToolSearch(self.tool_index, self.catalog))
            self._catalog, self._generations = catalog, generations
            if self._supervised:
                warn_of_undeclared(self._supervised, self._catalog.tools)
        return self._catalog

    async def shown_first(self, journal: Journal, facts: Facts) -> tuple[str, tuple[Tool, ...]]:
        """The tools that a run begins with, and their digest: all, or none where the first step chooses them.

        Args:
            journal, facts: as for `Catalog.for_user`.
        """
        catalog = await (await self.catalog()).for_user(journal, facts)
        return (digest_of(()), ()) if self.choice.places_in(catalog) else (catalog.digest, catalog.tools)

    def bars(self, tool: Tool, facts: Facts) -> bool:
        """Whether the policy denies a user every call of a tool, whatever the arguments are."""
        return isinstance(self._policy, Barring) and self._policy.bars(tool, facts)

    async def hidden_from(self, facts: Facts) -> frozenset[str]:
        """The names of the tools that do not exist for a user now; see `ReservedTools`."""
        return await (await self.catalog()).hidden_from(self.journal, facts)

    def listing(
        self,
        state: RunState,
        attachments: Mapping[str, MediaPart] = NO_ATTACHMENTS,
        *,
        journal: Journal | None = None,
    ) -> Callable[[], Awaitable[Catalog]]:
        """A function that lists the tools of a run. Once a result was cut, the list has the tool that reads the rest;
        once there are attachments, the agents in the list take attachments.

        Args:
            state: of the run.
            attachments: of the run.
            journal: of the run: tools that do not exist for the user of the run are left out. None lists those too.
        """
        known: dict[Catalog, Catalog] = {}
        facts = Facts.of(state.beginning()) if journal is not None else None

        async def listed() -> Catalog:
            catalog = await self.catalog()
            if journal is not None and facts is not None:
                catalog = await catalog.for_user(journal, facts)
            if attachments:
                catalog = catalog.handing_over
            if not state.cut or catalog.get(READ_RESULT) is not None:
                return catalog
            if catalog not in known:
                reader = ResultReader(state, self.limits.result_bytes or min(state.cut.values()))
                known[catalog] = await catalog.with_toolset(reader)
            return known[catalog]

        return listed

    # Calls that are asked for directly --------------------------------------------------------------------------------

    async def call(
        self,
        calls: Sequence[ToolCall],
        options: RunOptions = NO_OPTIONS,
        *,
        by: Requester,
        speaks_for: Literal["", "user"] = "",
        drawn: bool = False,
        stopping: Stopping | None = None,
    ) -> RunResult:
        """Make calls that somebody asks for directly: a run without a model.

        Args:
            calls: the calls.
            options: as for `Agent.run`.
            by: who asks, and so the origin of the arguments: `person` is the user; the words of a `client` may be its
                model's and do not count as the user's.
            speaks_for: `user` where the operator trusts this client to say only what its user said.
            drawn: `run_id` was just made by `new_id`, so that the journal need not be asked whether it has such a run.
            stopping: as in `Setting`.

        Returns:
            The results of the calls. `status` is `paused` when somebody must be asked, and `stopped` at a limit.

        Raises:
            UsageError: a run of this id exists.
            BudgetExceeded: agents would be nested too deep, those of other programs counted.
        """
        above = call_under_way()
        drawn = drawn or (options.run_id is None and above is None)
        options = on_behalf(options, above)
        if options.run_id is not None:
            run_id = checked_id(options.run_id)
        else:
            run_id = new_id("run") if above is None else id_below(above, self.name, list(calls), acts_for(options))
        started = await self._beginning(options)
        setting = self.setting(options, above=above, stopping=stopping)
        requested = CallsRequested(tuple(calls), by, speaks_for)
        if above is None:
            return await self._make(run_id, started, requested, setting, drawn=drawn)
        if await is_begun(run_id, setting.journal, above):
            result = await self._resumed(run_id, partial(handed_down, above.answers), setting)
        else:
            requested = CallsRequested(tuple(calls), "client" if by == "person" else by)
            result = await self._make(run_id, below(started, above), requested, setting, drawn=False)
        told_above(result)
        return result

    async def _make(
        self, run_id: str, started: Started, requested: CallsRequested, setting: Setting, *, drawn: bool
    ) -> RunResult:
        """Begin a run of direct calls, and make the calls."""
        journal = setting.journal
        async with journal.claim(run_id):
            if not drawn and await journal.read(run_id):
                raise UsageError("there is a run {wanted!r} already: use resume() to go on with it", wanted=run_id)
            state = await self.start(run_id, started, setting)
            write_request(journal, run_id, state, requested, (await self.catalog()).secret_paths)
            return await self._make_requested(run_id, state, setting)

    async def _beginning(self, options: RunOptions) -> Started:
        """The first record of a run of direct calls."""
        options = options.checked()
        return Started(
            agent=self.name,
            model="",
            said=(),
            tools=(await self.shown_first(self.journal, Facts.of(options)))[0],
            limits=self.limits_recorded,
            principal=options.principal,
            tenant=options.tenant,
            roles=tuple(options.roles),
            key_id=options.key_id,
            trace=options.trace,
            tracestate=options.tracestate,
            request=options.request,
            uses=dict(self.uses),
            without_memory=not options.memory,
        )

    async def queue(
        self,
        requested: CallsRequested,
        task: TaskQueued,
        options: RunOptions,
        *,
        drawn: bool = False,
    ) -> int:
        """Put calls on record as a task, to be made later: by `resume`, in this process or another.

        Args:
            requested: the calls, and who asks for them.
            task: what the caller asked for beside the calls.
            options: as for `Agent.run`; those that do not go on record are not used. `run_id` is the id of the task.
            drawn: the id was just made by `new_id`: nobody else can know it, so that no claim is needed.

        Returns:
            The number of the entry of the task.

        Raises:
            UsageError: a run of this id exists.
            Busy: somebody is beginning a run of this id.
        """
        run_id, started = checked_id(options.run_id or new_id("run")), await self._beginning(options)
        setting = self.setting()
        async with nullcontext() if drawn else self.journal.claim(run_id):
            if not drawn and await self.journal.read(run_id):
                raise UsageError("there is a run {wanted!r} already: use resume() to go on with it", wanted=run_id)
            state = await self.start(run_id, started, setting)
            write_request(self.journal, run_id, state, requested, (await self.catalog()).secret_paths)
            number = self.journal.append(run_id, task)
            await self.journal.sync(run_id)
            return number

    async def check_calls(self, requested: CallsRequested, facts: Facts) -> None:
        """Judge calls before they are made: by their arguments, and by a policy that denies them outright. The calls
        are judged again when they are made.

        Args:
            requested: the calls, and who asks for them.
            facts: the user on whose behalf the calls are asked for.

        Raises:
            UnknownTool: there is no tool of this name.
            InvalidArguments: the arguments are not complete, or do not fit the schema.
            PermissionDenied: the policy denies the call.
        """
        catalog = await self.catalog()
        facts = msgspec.structs.replace(facts, origins=OriginIndex((), catalog.trusted, (requested,)).of)
        inputs = PolicyInputs(policy=self._policy, facts=facts, coerce=self._coerce, extra=self._extra)
        await look_at(self._policy, facts.tenant)
        for index, call in enumerate(requested.calls):
            decide(call, CallRef(0, index), catalog, inputs, facts)

    async def resume(
        self,
        run_id: str,
        answers: Mapping[str, Answer | str] | None = None,
        *,
        principal: str | None = None,
        tenant: str | None = None,
        context: object = None,
        accept: bool = False,
        approver: Approver | None = None,
        peer: Peer | None = None,
        holder: Holder | None = None,
        emit: Emit | None = None,
        begins: Begins | None = None,
        stopping: Stopping | None = None,
    ) -> RunResult:
        """Go on with calls that wait or were interrupted; the arguments are those of `Agent.resume`.

        Raises:
            UnknownName: there is no such run (of this user), or no open question with such an id.
            ReplayDiverged: the tools have changed; nothing was done.
            UsageError: the run has a model: only its agent can go on with it.
        """
        above = call_under_way()
        journal = await self.journal_of(run_id, above)
        await self.check_user(run_id, principal, tenant, journal)
        setting = self.setting(
            RunOptions(context=context, approver=approver, peer=peer, holder=holder, emit=emit),
            accept=accept,
            above=above,
            journal=journal,
            begins=begins,
            stopping=stopping,
        )
        said = partial(answers_of, answers=answers or {}, above=above, is_shared=journal.is_shared)
        result = await self._resumed(run_id, said, setting)
        return await seen_above(result, journal, above)

    async def _resumed(self, run_id: str, answers: Answers, setting: Setting) -> RunResult:
        async with self.taken_up(run_id, answers, setting) as state:
            return await self.go_on(run_id, state, setting)

    async def go_on(self, run_id: str, state: RunState, setting: Setting) -> RunResult:
        """Go on with a run without a model, which the caller has taken up.

        Raises:
            UsageError: the run has a model.
        """
        if not state.requested:
            raise UsageError("run {run!r} has a model: go on with it by its agent", run=run_id)
        return await self._make_requested(run_id, state, setting)

    async def _make_requested(self, run_id: str, state: RunState, setting: Setting) -> RunResult:
        async with self.at_work(run_id, state, setting) as run:
            run.begin()
            return await make_requested(run, self.limits)

    # What every run has -----------------------------------------------------------------------------------------------

    def setting(
        self,
        options: RunOptions = NO_OPTIONS,
        *,
        accept: bool = False,
        agent: object = None,
        model_settings: ModelSettings | None = None,
        above: Context | None = None,
        journal: Journal | None = None,
        begins: Begins | None = None,
        stopping: Stopping | None = None,
    ) -> Setting:
        """Make the setting of a run.

        Args:
            options: of the options of the run, those that do not go on record and those on runs above are used.
            above: the call that the run works for; None where the run works for no call.
            journal: where the run is written down; by default as `journal_below` says.
            accept, model_settings, begins, stopping: as in `Setting`; agent: as for `budget`.

        Raises:
            LoopDetected, BudgetExceeded: a run below this call is not allowed.
        """
        return Setting(
            journal=journal or self.journal_below(above),
            budget=self.budget(agent, way=options.way)
            if above is None
            else self.budget(agent, above.budget, above.key),
            ancestors=above.ancestors if above is not None else (),
            parent=above.run_id if above is not None else "",
            deps=options.context,
            emit=options.emit,
            approver=options.approver,
            peer=options.peer,
            accept=accept,
            holder=options.holder,
            model_settings=checked_settings(model_settings),
            begins=begins,
            stopping=stopping,
            above=above,
        )

    def journal_below(self, above: Context | None) -> Journal:
        """Where a run is written down: in the runner's journal, or in the journal of the run above where the runner was
        given none.
        """
        journal = above.journal if above is not None else None
        return self.journal if journal is None or self._has_own_journal else journal

    async def journal_of(self, run_id: str, above: Context | None) -> Journal:
        """The journal that has a run: the runner's own, or the journal of the call that began the run."""
        journal = self.journal_below(above)
        return journal if journal is self.journal or await journal.read(checked_id(run_id)) else self.journal

    def budget(self, agent: object = None, above: Budget | None = None, call: str = "", way: Way = NO_WAY) -> Budget:
        """Make the budget of a run.

        Args:
            agent: the agent of the run, so that no agent waits for itself; None for a run without a model.
            above: the budget of the run above, whose call this run works for.
            call: the idempotency key of that call.
            way: the agents above the run in other programs.
        """
        return Budget(
            self.limits.shared(),
            agent,
            depth=self.limits.depth,
            prices=self.prices,
            above=above,
            call=call,
            way=way,
        )

    async def start(self, run_id: str, started: Started, setting: Setting) -> RunState:
        """Put the beginning of a run on record. The caller has claimed the run."""
        keep_tools(setting.journal, *await self.shown_first(setting.journal, Facts.of(started)))
        return put_beginning(started, run_id, setting.journal)

    @asynccontextmanager
    async def taken_up(
        self,
        run_id: str,
        answers: Answers,
        setting: Setting,
        check: Callable[[RunState], None] = lambda state: None,
    ) -> AsyncIterator[RunState]:
        """Claim a run that is on record for a block, and add the answers since.

        Args:
            run_id: the run.
            answers: makes the records of the answers.
            setting: what the run is given that is not on record.
            check: raises an error where the run must not go on.

        Raises:
            UnknownName: there is no such run.
            JournalError: the record was changed, or its secret values can not be read without the journal's key.
            ReplayDiverged: the tools have changed.
            FeatureMissing: the run needs a record that can not be read here.
            UsageError: the policy of an agent above binds this run, or the run was interrupted before its calls were on
                record.
        """
        journal = setting.journal
        async with journal.claim(checked_id(run_id)):
            entries = sound(run_id, await journal.read(run_id))
            if not entries:
                raise unknown_run(run_id)
            state = RunState(entries)
            if state.hidden:
                state = RunState(entries, await journal.hidden(run_id))
            check_bound(run_id, state.beginning(), above=setting.parent)
            check_needed(run_id, state, journal)
            if not (state.requested or state.beginning().said or state.beginning().workflow):
                raise UsageError(
                    "run {run!r} was interrupted before its calls were on record: nothing was done, "
                    "so make the calls anew",
                    run=run_id,
                )
            answered = answers(state)
            check(state)
            other = "" if setting.accept else await self._other_tools(journal, state)
            if other:
                raise ReplayDiverged(
                    "run {run}: the tools are not those it was started with ({other}). Resume with "
                    "the same tools, or pass accept=True.",
                    run=run_id,
                    other=other,
                )
            begun = setting.begins(entries) if setting.begins is not None else None
            if state.beginning().workflow:
                await take_posted(journal, run_id, state)
                answered = [record for record in answered if record.id not in state.answers]
            for record in answered:
                write_answer(journal, run_id, state, record)
            if begun is not None:
                state.take(journal.append(run_id, begun), begun)
                await journal.sync(run_id)  # an attempt that ends this process counts, too
            yield state

    async def answer(self, run_id: str, answers: Answers) -> RunState:
        """Put answers on record, without going on with the run.

        Args:
            run_id: the run.
            answers: makes the records out of the state of the run.

        Returns:
            The state of the run with the answers.
        """
        async with self.journal.claim(run_id):
            state = RunState(await self.journal.read(run_id))
            for record in answers(state):
                write_answer(self.journal, run_id, state, record)
            await self.journal.sync(run_id)
        return state

    async def check_user(
        self, run_id: str, principal: str | None, tenant: str | None, journal: Journal | None = None
    ) -> None:
        """Check that the user who asks may know of a run, before anything is said of it.

        Args:
            run_id: the run.
            principal: the user who asks; None for every principal of the tenant.
            tenant: the tenant of the user who asks. None where the program itself asks; but a principal without a
                tenant is one of the tenant `""`, so a program that forgets the tenant reaches no other tenant's run.
            journal: the journal that has the run; by default this runner's own.

        Raises:
            UnknownName: the run is on behalf of another user, or not there.
        """
        if principal is None and tenant is None:
            return
        tenant = tenant or ""
        first = (await (journal or self.journal).read(checked_id(run_id), tenant=tenant))[:1]
        try:
            known = RunState(first).beginning().user
        except JournalError:
            known = None
        if known is None or known != User(tenant, known.principal if principal is None else principal):
            raise unknown_run(run_id)

    async def fits(self, state: RunState) -> bool:
        """Whether the tools are those that the run was begun with, so that this runner can go on with the run."""
        return not await self._other_tools(self.journal, state)

    async def _other_tools(self, journal: Journal, state: RunState) -> str:
        """Which tools differ from those that the run was shown last, in words; empty where none does.

        New tools of servers, and the tool that reads the rest of a long result, do not count: a model is shown them at
        its next step. Nor does another `version` of a tool, which only ends the approvals of the tool's calls.
        """
        catalog = await self.listing(state)()
        handing = catalog.handing_over
        chooses = self.choice.places_in(catalog) > 0
        if not chooses and state.tools in (catalog.digest, handing.digest):
            return ""
        try:
            shown = await kept_tools(journal, state.tools)
        except JournalError:
            return "what it was shown is not on record"
        known = {tool.name: _shown_digest(tool) for tool in shown}
        now = {tool.name: _shown_digest(tool) for tool in catalog.tools}
        later = {tool.name: _shown_digest(tool) for tool in handing.tools}
        may_come = {tool.name for tool in catalog.tools if tool.foreign or (tool.name == READ_RESULT and state.cut)}
        may_come |= catalog.reserved
        differ = {
            "gone": [name for name in known if name not in now],
            "changed": [
                name for name, digest in known.items() if name in now and digest not in (now[name], later[name])
            ],
            "new": [name for name in now if name not in known and name not in may_come] if not chooses else [],
        }
        return "; ".join(f"{how}: {', '.join(map(repr, names[:TOLD_MAX]))}" for how, names in differ.items() if names)

    @asynccontextmanager
    async def at_work(
        self, run_id: str, state: RunState, setting: Setting, model: ModelSide = NO_MODEL
    ) -> AsyncIterator[Run]:
        """Carry out, for a block, a run that this process has claimed."""
        started, budget = state.beginning(), setting.budget
        budget.take_up(state.used())
        if started.tracestate:
            budget.way = way_in(started.tracestate)
        context = RunContext(
            run_id=run_id,
            journal=setting.journal,
            clock=self.clock,
            recording=state,
            began=self.clock.monotonic() - state.elapsed,
            epoch=max(self.clock.now(), state.latest) - self.clock.monotonic(),
            deps=setting.deps,
            attachments={**model.attachments, **state.media()},
            emit=telling_above(setting.emit, setting.above, self.name, run_id),
            secrets=secrets_for(self._secrets, started.user),
            redaction=self._redaction,
            told=set(state.secrets),
            heard=model.heard,
            begins=model.begins,
            instructions={started.instructions: developers_words(started)},
            requested=[requested for _, requested in state.requested],
            budget=budget,
            peer=setting.peer,
            limits=self.limits,
            sample=model.sample,
            asks_mandates=model.asks_mandates,
            price=model.price,
            trace=trace_id(run_id, started.trace),
            holder=setting.holder or holder_of(run_id, state, model.heard),
        )
        if (seconds := self.limits.seconds) is not None:
            budget.left_s = lambda: seconds - context.elapsed()
        inputs = PolicyInputs(
            policy=self._policy,
            binding=self._binding,
            ancestors=setting.ancestors,
            facts=Facts.of(started, self.name),
            root=f"{run_id}{started.salt}",
            done_elsewhere=await done_after(setting.journal, started) if started.forked else frozenset(),
            coerce=self._coerce,
            extra=self._extra,
            lets_in=model.lets_in,
            defence=self._defence,
        )
        asker = LiveApprover(context, setting.approver or self._approver, len(setting.ancestors))
        catalog = await self.listing(state, context.attachments, journal=setting.journal)()
        if isinstance(model.heard, Transcript) and (self.labels or catalog.labels or started.labels_seen):
            check_labels(self.labels, catalog.labels)
            context.labels = Labelling(self.labels, model.name, model.heard, model.begins, started.labels_seen)
        path = CallPath(context, catalog, inputs, self.limits, self._breakers, self._meters, asker)
        await path.look()
        account = self._meters.account(started.user, self.clock.monotonic())
        context.counts_tokens = budget.counts_tokens or (account is not None and account.counts_tokens)
        phrases = Phrases.for_text(started.question)
        access = CallerAccess(started, setting.journal, inputs, self._revoked)
        run = Run(context, path, asker, phrases, self.limits.seconds, account, self._watch, access, setting.stopping)
        try:
            with acting_for(started.tenant), captured(run_id, self.name, setting.journal) as run.captured:
                yield run
        finally:
            if setting.above is not None:  # its result is told there, and what the code of the call says of it
                path.mark(setting.above)
            if setting.holder is None:
                assert context.holder is not None
                rest_or_leave(context.holder, paused=run.is_paused, comes_back=bool(started.conversation))


def _shown_digest(tool: Tool) -> str:
    """The digest of a tool's definition without its version."""
    return msgspec.structs.replace(tool, version="").digest if tool.version else tool.digest


def _opened(journal: Journal | str | Path | None) -> Journal | None:
    return open_journal(journal) if isinstance(journal, str | Path) else journal
