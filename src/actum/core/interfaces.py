"""The protocols between the rooms: `Toolset` executes calls, `Journal` keeps the record, `Clock` is time.

`Model` is in `core.model`, `Policy` and `Approver` are in `core.policy`. `actum.testing` has a scripted model, toolset,
approver and clock for tests.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from decimal import Decimal
from pathlib import PurePath
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypedDict, Unpack, runtime_checkable

from msgspec import Struct

from .budget import Budget, Used
from .call import MediaPart, ToolCall, ToolResult
from .errors import SecretMissing, ToolError, UsageError
from .holder import Holder
from .json import Json, JsonObject
from .language.sentence import Sentence
from .message import Message, Reply
from .process.process_limits import NO_PROCESS_LIMITS, ProcessLimits
from .run.chain import SignedHead
from .run.noted import RecordKinds
from .run.pending import Elicited, Pending
from .run.record import Entry, InputGiven, Noted, Record
from .run.summary import ConversationSummary, OpenQuestion, RunSummary
from .run.task import TaskFigure, TaskFilter, TaskLine, TaskProgress, TaskState
from .secrets.given import GIVEN
from .stored.counts import Counts
from .stored.webhook import WebhookOutbox
from .tool import Tool
from .trace import traceparent_of
from .user import User

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from .event import Event
    from .stored.definitions import Definitions
    from .stored.held import HeldRuns
    from .stored.kept_object import ObjectStore
    from .stored.key import KeyStore
    from .stored.passed import PassedRequests
    from .stored.position import Positions
    from .stored.session import SessionStore
    from .stores import Stores

    Deps = TypeVar("Deps", default=object, covariant=True)
else:  # the default, which only type checkers read, is not in Python 3.11
    from typing import TypeVar

    Deps = TypeVar("Deps", covariant=True)
from .model import Request
from .policy import Ancestor, Facts


class InputRequired(Exception):
    """Raised by a running tool that can not go on before somebody answers. The call is parked until then.

    Args:
        pending: the question. Once it is answered, the call is executed again, with the answer in its context.
        run_id: the run that waits, where the tool's work is a run of its own.
        state: text that the tool will find again as `Context.state`.
    """

    def __init__(self, pending: Pending, run_id: str = "", state: str = "") -> None:
        super().__init__(pending.message)
        self.pending = pending
        self.run_id = run_id
        self.state = state


@runtime_checkable
class Peer(Protocol):
    """The program at the other end of a run, where a program asked for the run. Tools can turn to it while they run.

    A method returns None where the program can not answer now, but may later: the call is parked until then.
    """

    async def sample(self, request: Request) -> Reply | None:
        """Have the program's model answer.

        Raises:
            CallError: the program refuses.
        """

    async def roots(self) -> Sequence[str] | None:
        """The directories in which the program allows work, as `file://` addresses.

        Raises:
            CallError: the program refuses to tell.
        """

    def log(self, level: str, message: Json) -> None:
        """Receive a log message of a running tool. The levels are those of RFC 5424, in words."""


class ToolRequests(Protocol):
    """Carries out the requests that a running tool makes through its `Context`; see `call.asking.inquiry`."""

    async def ask(self, pending: Pending) -> InputGiven:
        """Have a person or a program answer.

        Raises:
            InputRequired: nobody can answer now.
        """

    async def sample(self, request: Request, key: str = "") -> Reply:
        """Have a model answer."""

    async def roots(self, key: str = "") -> tuple[str, ...]:
        """The directories to work in."""

    def log(self, level: str, message: Json) -> None:
        """Pass on a log message of the tool."""

    def held(self) -> AbstractContextManager[None]:
        """A block in which the time limit of the call stands still."""

    def beside(self, keys: tuple[str, ...]) -> None:
        """Say that the next question may belong to other calls, too; see `Context.beside`."""


class Context(Generic[Deps]):
    """What a running tool may know and do beside its arguments. A tool gets its context through a parameter annotated
    `Context`, or `Context[Deps]` with the type of `deps`.

    Attributes:
        run_id: the run that this call belongs to.
        call: the call, with the arguments as the tool gets them.
        key: the idempotency key: the same for every attempt at this call, for services that take one.
        attempt: 1 for the first attempt.
        principal, tenant, roles, key_id: the user on whose behalf the call is made; see `Facts`.
        deps: what the program passed as `context=` to `Agent.run`. The tool declares its type by `Context[Deps]`;
            nothing checks at run time that the program passed such an object.
        attachments: the run's attachments, by handle.
        answers: the answers so far in this run, by the id of the question.
        budget: what the run has used; for tools that start runs themselves.
        state: the text that the tool left when it was last parked; see `InputRequired`.
        peer: the other end of the run, for tools that start runs themselves.
        journal: where the run is written down, for tools that start runs themselves: those runs are written there, too.
            None where the context belongs to no run.
        holder: for whom a toolset keeps sessions open between calls: the conversation, or the run where there is none.
        process_limits: the operator's limits on the resources of the processes that carry out the call.
        opened_outside: files that a program tried to open outside its jail while it carried out the call. They go on
            record.
        begun: how often the code of the call began a run with the same words, by their digest; see `runs.below`.
        brought: what brought the code text that an outsider may have written, such as a run that it began.
        has_outcome: the call is over; anything that its code still does is not done for the call.
        heard: the conversation of the run so far, for agents that are told the conversation.
        emit: tells those who watch the run what happens in a run that the call begins; None where nobody watches.
    """

    __slots__ = (
        "_inquiry",
        "_lineage",
        "_note",
        "_progress",
        "_secrets",
        "_told",
        "_trace",
        "answers",
        "attachments",
        "attempt",
        "begun",
        "brought",
        "budget",
        "call",
        "deps",
        "emit",
        "has_outcome",
        "heard",
        "holder",
        "journal",
        "key",
        "key_id",
        "labels_seen",
        "opened_outside",
        "peer",
        "principal",
        "process_limits",
        "roles",
        "run_id",
        "state",
        "tenant",
    )

    def __init__(
        self,
        *,
        run_id: str,
        call: ToolCall,
        key: str,
        attempt: int,
        principal: str,
        deps: Deps,
        attachments: dict[str, MediaPart],
        answers: Mapping[str, InputGiven] | None = None,
        progress: Callable[[Context, Json], None] | None = None,
        secrets: Mapping[str, str] | None = None,
        told: set[str] | None = None,
        roles: tuple[str, ...] = (),
        key_id: str = "",
        budget: Budget | None = None,
        inquiry: ToolRequests | None = None,
        state: str = "",
        peer: Peer | None = None,
        journal: Journal | None = None,
        trace: str = "",
        lineage: Callable[[], tuple[Ancestor, ...]] | None = None,
        holder: Holder | None = None,
        tenant: str = "",
        process_limits: ProcessLimits = NO_PROCESS_LIMITS,
        note: Callable[[Context, Noted], None] | None = None,
        emit: Callable[[Event], None] | None = None,
        heard: Sequence[Message] = (),
    ) -> None:
        self.run_id = run_id
        self.call = call
        self.key = key
        self.attempt = attempt
        self.principal = principal
        self.tenant = tenant
        self.roles = roles
        self.key_id = key_id
        self.deps = deps
        self.attachments = attachments
        self.answers = answers or {}
        self._progress = progress
        self._secrets = {} if secrets is None else secrets
        self._told = set() if told is None else told
        self.budget = budget
        self._inquiry = inquiry
        self.state = state
        self.peer = peer
        self.journal = journal
        self._trace = trace
        self._lineage = lineage
        self._note = note
        self.emit = emit
        self.heard = heard
        self.holder = holder
        self.process_limits = process_limits
        self.opened_outside, self.brought, self.labels_seen = dict[str, None](), dict[str, None](), dict[str, None]()
        self.begun: dict[str, int] = {}
        self.has_outcome = False

    @property
    def traceparent(self) -> str:
        """This call as a span of a trace, for services that take one; see `core.trace`. Empty where there is none."""
        return traceparent_of(self._trace, self.key) if self._trace else ""

    @property
    def user(self) -> User:
        """The user on whose behalf the call is made."""
        return User(self.tenant, self.principal)

    @property
    def stores(self) -> Stores:
        """The tables of features, beside the journal of the run.

        Raises:
            UsageError: the context belongs to no run.
        """
        if self.journal is None:
            raise UsageError("there are no tables here: this context belongs to no run")
        return self.journal.stores

    @property
    def ancestors(self) -> tuple[Ancestor, ...]:
        """The runs whose policies bind a run that this call starts: the outermost first, this run last."""
        return self._lineage() if self._lineage is not None else ()

    async def elicit(
        self, message: str, schema: JsonObject | None = None, *, url: str = "", asker: str = "", key: str = ""
    ) -> Elicited:
        """Ask the user, by a form or by a page to visit. Ask before you act: where nobody can answer now, the call is
        parked, and the tool is executed anew from its beginning when the answer is there.

        Args:
            message: the question, and why it is asked.
            schema: JSON Schema of an object of plain values that the answer has to fit; without a schema the answer is
                a yes or no.
            url: a page where the user does what is needed, instead of a form.
            asker: the name of another party, where one asks.
            key: your own name for this question, so that its answer is found even if the words of the question change.

        Raises:
            InputRequired: nobody can answer now. Let the exception pass through.
        """
        form = schema or {"type": "object", "properties": {}}
        pending = Pending(
            "", "elicitation", message, self.call, schema=None if url else form, url=url, asker=asker, name=key
        )
        answer = await self._asking().ask(pending)
        if answer.verdict == "answer":
            return Elicited("accept", answer.arguments or {})
        return Elicited("decline" if answer.verdict == "deny" else "cancel")

    async def sample(self, request: Request, *, key: str = "") -> Reply:
        """Ask a model: the client's, where a program at the other end of the run offers one, else the run's own. The
        answer counts in the run's limits and goes on record.

        Raises:
            InputRequired: nobody can answer now. Let the exception pass through.
            CallError: a limit is reached, or the request is refused.
        """
        return await self._asking().sample(request, key)

    async def roots(self, *, key: str = "") -> tuple[str, ...]:
        """The directories in which the other end of the run allows work, as `file://` addresses.

        Raises:
            InputRequired: the directories are not known now. Let the exception pass through.
        """
        return await self._asking().roots(key)

    def log(self, level: str, message: Json) -> None:
        """Send a log message to the program that runs this tool.

        Args:
            level: `debug`, `info`, `notice`, `warning`, `error`, `critical`, `alert` or `emergency`.
            message: a sentence, or any JSON value.
        """
        self._asking().log(level, message)

    def held(self) -> AbstractContextManager[None]:
        """A block in which the time limit of this call stands still: somebody is being asked on behalf of the call."""
        return self._inquiry.held() if self._inquiry is not None else nullcontext()

    def beside(self, keys: tuple[str, ...]) -> None:
        """Say that the next question may belong to any of several calls, since the asker does not say to which.

        Args:
            keys: the idempotency keys of the other calls that are under way; they go on record with the question.
        """
        if self._inquiry is not None:
            self._inquiry.beside(keys)

    def _asking(self) -> ToolRequests:
        if self._inquiry is None:
            raise UsageError("nobody can be asked here: this context belongs to no run")
        return self._inquiry

    def spend(self, cost: Decimal) -> None:
        """Count a cost of this call for the run, in the currency of the run's prices.

        Raises:
            UsageError: the cost is not a `Decimal`, or is below 0.
        """
        if not isinstance(cost, Decimal) or not cost >= 0:
            raise UsageError("spend({cost!r}): give a Decimal, as in Decimal('0.02')", cost=cost)
        if self.budget is not None:
            self.budget.add_for(self.key, Used(cost=cost))

    def secret(self, name: str) -> str:
        """A secret of the agent, such as a key. It is in no argument, and is taken out of the tool's results.

        Raises:
            SecretMissing: the agent has no secret of this name.
            ToolError: the secret can't be read. Both messages say what a person can do.
        """
        try:
            value = self._secrets.get(name)
        except UsageError as why:  # such as a file of secrets whose key is not set
            raise ToolError(
                "The secret {name!r} can not be read: {why}.", effect="unknown", name=name, why=_without_folders(why)
            ) from None
        if value is None:
            raise SecretMissing(
                "there is no secret called {name!r}: pass it with Agent(secrets=...), or set it by `actum secrets set`",
                name=name,
            )
        self._told.add(value)
        GIVEN.add((value,))
        return value

    def conceal(self, *secrets: str) -> None:
        """Keep values out of everything that this run writes down or tells: keys that a tool has from elsewhere."""
        known = [secret for secret in secrets if secret]
        self._told.update(known)
        GIVEN.add(known)

    def progress(self, value: Json) -> None:
        """Tell those who watch how far this call is: a share, a sentence, any JSON. May be called from any thread."""
        if self._progress is not None:
            self._progress(self, value)

    def note(self, record: Struct, *, needed: bool = False) -> None:
        """Put a record of a feature on the record of the run, without secrets. May be called from any thread. A tool
        that is executed anew notes the record again.

        Args:
            record: a struct that the feature names among its `records`, whose feature is switched on.
            needed: the run must not go on where this record can not be read, because the feature is missing or older.

        Raises:
            UsageError: the record belongs to no feature that is on, is too long, or can not be written without a
                secret; or the call is over, or is only a check.
        """
        if self._note is None or self.journal is None:
            raise UsageError("{kind} can not be noted: no call of a run is under way here", kind=type(record).__name__)
        self._note(self, self.journal.record_kinds.noted(record, needed=needed))

    @property
    def is_over(self) -> bool:
        """Whether progress is told no more: the call has its outcome, or nobody watches."""
        return self._progress is None

    def close(self) -> None:
        """Say that the call has its outcome. Progress that a thread still tells is not passed on."""
        self._progress = None
        self.has_outcome = True


def _without_folders(why: UsageError) -> Sentence:
    """The sentence of an error for a model: each path is cut to its last name."""
    values = {
        name: PurePath(str(value)).name if isinstance(value, PurePath) or os.sep in str(value) else value
        for name, value in why.sentence.values.items()
    }
    return Sentence(why.sentence.template, **values)


@runtime_checkable
class Toolset(Protocol):
    """A source of tools."""

    @property
    def generation(self) -> int:
        """A number that changes whenever the list of tools does. Constant for a set that never changes."""

    async def list_tools(self) -> Sequence[Tool]:
        """The tools that exist now."""

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Carry out a call. The call path has resolved, validated and allowed the call, and put it on record.

        Raises:
            CallError: the call failed; the class says how.
        """


@runtime_checkable
class ReservedTools(Protocol):
    """A toolset with tools that exist for some users alone. To others no list names such a tool, and a call of the tool
    is answered as a call of a tool that does not exist.
    """

    async def hidden_from(self, journal: Journal, facts: Facts) -> frozenset[str]:
        """The names of the tools that do not exist now for the user whom the facts name."""


class ProbeResult(Struct, frozen=True):
    """The finding of a probe about a call that may have happened.

    Attributes:
        status: the call happened, did not happen, or nobody can tell.
        result: the result, where the call happened and the result is known.
    """

    status: Literal["done", "not_done", "unknown"]
    result: ToolResult | None = None


@runtime_checkable
class Probing(Protocol):
    """A toolset that can find out whether a call happened. It is asked only for tools declared `probed`."""

    async def probe(self, call: ToolCall, context: Context) -> ProbeResult:
        """Find out whether this call happened, without changing anything. `context.key` is the key of the call."""


@runtime_checkable
class StandsForOthers(Protocol):
    """A toolset with a tool that calls many others, which its arguments name. Policies judge both tools."""

    def meant(self, call: ToolCall) -> tuple[Tool, ToolCall] | None:
        """The tool that a call is meant for, and the call as that tool would get it; None for an ordinary call.

        Raises:
            UnknownTool: there is no such tool.
            InvalidArguments: the arguments are not those of the tool.
            PermissionDenied: the tool may not be called in this way.
        """

    def stands_for(self, name: str) -> Sequence[Tool]:
        """The tools that the tool of this name calls; none where it is an ordinary tool."""

    def through(self, shown: Callable[[Tool], Tool | None]) -> Toolset:
        """The same toolset, with the names and descriptions of its tools as a run is shown them.

        Args:
            shown: returns the definition that a run is shown for one of the toolset's tools; None for a tool that is
                left out.
        """


NOTHING_READ: Mapping[str, int] = {}
"""No entry of any run is known already; see `Journal.read_each`."""


class RunFilter(TypedDict, total=False):
    """Which runs of a list are wanted. A field that is left out, None or empty fits all runs, unless it says otherwise.

    Attributes:
        run_id: only these runs.
        tenant: only runs of this tenant, which may be `""`; None for all.
        principal: only runs on behalf of this principal.
        agent, model: only runs of this name.
        status: only runs with this status in the list, or with one of these; see `RunSummary`.
        kind: only runs of this kind.
        conversation: only runs under this id. The same id under another owner, or tenant, is another conversation.
        owner: only runs that belong to this principal, which may be `""`; None for all.
        parent: only runs that calls of this run started; `""` for runs that no call started, None for all.
        since, until: only those that were started from the one on and before the other, in seconds since 1970.
        tool: only runs in which a call of this tool was asked for; as `error` and `version`, for lists of runs alone.
        error: only runs in which a call had this error, or that stopped for this reason.
        version: only runs by the publication of this number; 0 for all.
        text: only runs whose question has all words of this text.
    """

    run_id: tuple[str, ...]
    tenant: str | None
    principal: str
    agent: str
    model: str
    status: str | tuple[str, ...]
    kind: str
    conversation: str
    owner: str | None
    parent: str | None
    since: float | None
    until: float | None
    tool: str
    error: str
    version: int
    text: str


class TaskIndex(Protocol):
    """The list of tasks (`core.run.task`): an index, written in one transaction with the records."""

    @property
    def outbox(self) -> WebhookOutbox:
        """The messages about the ends of tasks."""

    async def find(self, run_id: str, *, tenant: str | None = None, principal: str | None = None) -> TaskLine | None:
        """The line of a task; None where this user has no such task. A tenant or principal of None means any."""

    async def states(self, run_ids: Sequence[str]) -> Mapping[str, TaskState]:
        """The states of these tasks. A task that is not in the list is left out."""

    async def list(self, *, limit: int | None = 50, behind: str = "", **wanted: Unpack[TaskFilter]) -> list[TaskLine]:
        """The latest tasks, newest first.

        Args:
            limit: the most tasks that are returned; None for all.
            behind: only those that follow this task in the list.
            wanted: see `TaskFilter`.
        """

    async def counts(self, **wanted: Unpack[TaskFilter]) -> dict[str, int]:
        """How many tasks there are, by their state."""

    async def queued(self, tenant: str, principal: str | None, *, most: int) -> int:
        """How many tasks of a user, or of all users of a tenant, wait to be begun; counted up to `most`."""

    async def figures(self, now: float) -> Sequence[TaskFigure]:
        """How many tasks of each state and priority there are, among those that have not ended or are dead letters."""

    async def keyed(self, tenant: str, principal: str, key: str) -> TaskLine | None:
        """The task of a user with this unique key; None where there is none."""

    async def next_due(
        self,
        now: float,
        *,
        home: str = "",
        limit: int = 1,
        running_max: int | None = None,
        tenant_running_max: int | None = None,
        without: Sequence[str] = (),
    ) -> Sequence[TaskLine]:
        """The tasks that are to be begun next: those of the highest priority. Among these, users take turns. Nothing is
        written down here: the process that begins a task claims its run.

        Args:
            now: seconds since 1970.
            home: as in `TaskLine`.
            limit: the most tasks that are returned.
            running_max, tenant_running_max: the most tasks of one user, or of one tenant, that may run at a time.
            without: tasks to leave out.
        """

    async def next_time(self, *, home: str = "") -> float | None:
        """When the next task that is not due yet becomes due, in seconds since 1970."""

    async def late(self, now: float, *, limit: int = 100) -> Sequence[TaskLine]:
        """Tasks that have not ended, and whose deadline has passed."""

    async def running(self, *, home: str | None = "") -> Sequence[TaskLine]:
        """The tasks that are running, or were when their process ended; None as `home` for all."""

    def tell_progress(self, run_id: str, value: Json, at: float, *, problem: str = "") -> None:
        """Write down the progress of a task. Returns before the disk has it.

        Args:
            run_id: the task.
            value: the progress that its running tool told.
            at: the time, in seconds since 1970.
            problem: the problem of a task that waits; see `TaskLine`.
        """

    async def progress(self, run_id: str) -> TaskProgress | None:
        """The progress of a task as it was last told; None where there is none."""

    async def drop(self, ended_before: float, *, limit: int = 1_000) -> int:
        """Delete the lines of tasks that ended before this time. Their runs stay.

        Returns:
            How many were deleted.
        """


class Journal(Protocol):
    """The record of runs: append-only, with one chain for each run. A run has no other state."""

    @property
    def counts(self) -> Counts | None:
        """The counters that all processes which write to this journal share; None where no other process can write."""

    @property
    def record_kinds(self) -> RecordKinds:
        """The kinds of records that the features of this process bring."""

    @property
    def tasks(self) -> TaskIndex | None:
        """The list of the tasks; None where no other process could carry a task out, as with a journal in memory."""

    @property
    def stores(self) -> Stores:
        """The tables of features. This and the following are kept beside the runs."""

    @property
    def keys(self) -> KeyStore:
        """The keys of a server."""

    @property
    def sessions(self) -> SessionStore:
        """The sessions of people who logged in."""

    @property
    def objects(self) -> ObjectStore:
        """Small objects that a server keeps for its callers."""

    @property
    def definitions(self) -> Definitions:
        """Texts that people write and publish, such as workflows."""

    @property
    def positions(self) -> Positions:
        """How far triggers have come."""

    @property
    def held(self) -> HeldRuns:
        """The runs that were unfinished when the journal was restored."""

    @property
    def passed(self) -> PassedRequests | None:
        """A line of each request for a model that was passed on to an upstream; None where none are kept, as with a
        journal in memory, which would only grow."""

    def now(self) -> float:
        """Seconds since 1970, by the clock that gives entries their time."""

    def append(self, run_id: str, record: Record) -> int:
        """Write down a record, in order, and return its number in the run, from 0. `sync` waits for the disk."""

    def claim(self, name: str) -> AbstractAsyncContextManager[None]:
        """The right to drive a run (its id) or to add to a conversation (see `claim_of_conversation`) within a block.

        A claim ends with the block, or with the process; there is no lease that has to run out. Should two processes
        hold one claim all the same, only one of them can write the entry with the next number.

        Raises:
            Busy: the claim is held already, in this process or another.
        """

    async def driven(self, run_ids: Sequence[str]) -> set[str]:
        """The runs whose claims are held, among these. A run that is `running` and not among them was interrupted."""

    async def sync(self, run_id: str) -> None:
        """Wait until everything that was appended to a run so far would survive a loss of power.

        Raises:
            JournalError: an entry could not be written, or another process wrote to this run.
        """

    def keep(self, digest: str, payload: bytes, run_id: str = "") -> None:
        """Hold a payload under its SHA-256 for records that refer to it, such as the definitions of tools. What belongs
        to one run, such as its large inputs, names the run, and is forgotten with it.
        """

    def keeps(self, digest: str) -> bool:
        """Whether a payload is known to be kept under this digest, so that it need not be made again. The answer may be
        False although the payload is there, where this process has not kept it itself.
        """

    async def kept(self, digest: str) -> bytes:
        """The payload kept under this digest.

        Raises:
            UnknownName: there is no such payload.
        """

    @property
    def is_shared(self) -> bool:
        """Whether persons other than the user of this process may write to the journal."""

    def hide(self, run_id: str, words: bytes) -> str:
        """Keep secret values that were taken out of the next record of a run, until the run has ended; see
        `core.secret_values`. The values are written with that record: both are on disk, or neither.

        Returns:
            The digest of the values, to which the record refers.
        """

    async def hidden(self, run_id: str) -> dict[str, bytes]:
        """The secret values of a run that has not ended, by their digests.

        Raises:
            JournalError: the values were changed, or are encrypted with a key that this journal was not opened with.
        """

    async def hidden_intact(self, run_id: str) -> dict[str, bool]:
        """The digests of the secret values that are kept for a run, each with whether the values are unchanged."""

    async def post(self, run_id: str, answer: bytes) -> None:
        """Keep an answer for a run that another process drives at the time, until that process takes the answer. The
        answer is on disk when this returns.

        Args:
            run_id: the run.
            answer: the record of the answer, as bytes; it may hold secret values.
        """

    async def posted(self, run_id: str) -> list[tuple[int, bytes]]:
        """The answers that are kept for a run, in order, each with its place."""

    async def unpost(self, run_id: str, places: Sequence[int]) -> None:
        """Delete answers that are kept for a run: they are on its record now, or do not count."""

    async def read(self, run_id: str, after: int = -1, *, tenant: str | None = None) -> list[Entry]:
        """The entries of a run in order, those behind number `after`; empty when there are none.

        Args:
            run_id: the run.
            after: the number of the last entry that is known already.
            tenant: the tenant that reads. A run of another tenant has no entries, and the look-up is the same as for a
                run that is not there. None where the program itself reads, and may read any run.

        Damaged entries are returned as they are found: `core.run.record.verify` and `Entry.record` report the damage.
        """

    async def read_each(
        self, run_ids: Sequence[str], after: Mapping[str, int] = NOTHING_READ
    ) -> dict[str, list[Entry]]:
        """The entries of several runs, by the id of the run, read in one go. A run without entries is left out.

        Args:
            run_ids: the runs, of any user.
            after: for each run, the number of the last entry that is known already. A run that is not named here is
                read from its beginning.
        """

    async def edges(self, edge: Literal["first", "latest"]) -> list[tuple[str, Entry]]:
        """The id of every run that has entries, with its first or latest entry, in the order of ids.

        This is read from the entries alone, so it has every run, even one that is missing in the list of runs (`runs`).
        """

    async def mislabelled(self, run_id: str) -> list[int]:
        """The numbers of a run's entries with a wrong kind: a database keeps the kind beside the record for queries,
        and there it differs from the record's own.
        """

    async def runs(self, *, limit: int | None = 50, behind: str = "", **wanted: Unpack[RunFilter]) -> list[RunSummary]:
        """The latest runs, newest first. The list is an index: quick to read, and not sealed as the entries are.

        Args:
            limit: the most runs that are returned; None for all.
            behind: only those that follow this run in the list; none, where there is no such run.
            wanted: see `RunFilter`.
        """

    async def statuses(self, *, limit: int = 50, tenant: str | None = None) -> dict[str, str]:
        """The status of each of the latest runs by the same list, newest first. A long question costs no more.

        Args:
            limit: the most runs.
            tenant: only runs of this tenant, which may be `""`; None for all.
        """

    async def is_listed(self, run_id: str, *, tenant: str | None = None) -> bool:
        """Whether a run is in the list of runs; for a tenant, whether it is a run of this tenant."""

    async def count_runs(self, *, most: int | None = None, **wanted: Unpack[RunFilter]) -> dict[str, int]:
        """How many runs there are, by their status; by the same index.

        Args:
            most: of each status this many are counted at most, where more have to be counted one by one; None for all.
            wanted: see `RunFilter`.
        """

    async def conversations(
        self, *, limit: int | None = 50, behind: str = "", owner: str | None = None, tenant: str | None = None
    ) -> list[ConversationSummary]:
        """Conversations, the one that was talked in last first; by an index, as `runs`.

        Args:
            limit: the most conversations that are returned; None for all.
            behind: only those whose latest turn follows this run in the list of runs.
            owner: only those that belong to this principal, which may be `""`; None for all.
            tenant: only those of this tenant, which may be `""`; None for all.
        """

    async def asked(
        self,
        *,
        ask_id: str = "",
        limit: int | None = 50,
        behind: tuple[float, str] | None = None,
        expired: tuple[float, float] | None = None,
        **wanted: Unpack[RunFilter],
    ) -> list[OpenQuestion]:
        """The questions that runs which have not ended may wait for, the oldest first; by an index, as `runs`. Only the
        entries of a run say whether it still waits.

        Args:
            ask_id: only the question with this id.
            limit: the most questions that are returned; None for all.
            behind: only questions that follow this one in the list: its time, and its id.
            expired: only questions that expire between these two times, in seconds since 1970.
            wanted: only questions of such runs.
        """

    async def count_asked(self) -> int:
        """How much `asked` finds, without a limit."""

    async def named(self, name: str, *, limit: int = 20) -> list[str]:
        """The ids of the runs that were begun under a name (`Started.names`), the latest first; by an index, as `runs`.
        A run that was forgotten has no names.

        Args:
            name: the name.
            limit: the most ids that are returned.
        """

    async def forget(self, run_id: str, by: str = "", reason: str = "") -> int:
        """Delete the content of a run's entries for good, and put that on record. The chain can still be verified.

        Returns:
            How many payloads were deleted.

        Raises:
            UnknownName: there is no such run.
            Busy: the run is being driven.
            UsageError: the journal is signed, but was not opened with its key.
        """

    async def heads(self) -> list[SignedHead]:
        """The ledger: heads signed when runs ended or paused, in order; empty where the journal has no key."""

    async def close(self) -> None:
        """Write all pending entries, and close the file or connection."""


class Clock(Protocol):
    """Time, as an object, so that tests need not wait."""

    def now(self) -> float:
        """Seconds since 1970, UTC: the time that goes on record. It may be set back, or forward, at any time."""

    def monotonic(self) -> float:
        """Seconds since some moment, by a clock that is never set. Use it to measure how long something takes."""

    async def sleep(self, seconds: float) -> None:
        """Wait for this number of seconds."""

    def timeout(self, seconds: float | None) -> asyncio.Timeout:
        """A block that is ended with `TimeoutError` after this number of seconds; None for never."""

    def hold(self, timeout: asyncio.Timeout) -> AbstractContextManager[None]:
        """A block in which a timeout stands still, such as while a person is being asked."""
