"""The seams between rooms, as protocols. Each has a fake that we ship in `actum.testing`.

`Model` says, `Toolset` does, `Policy` decides, `Approver` is a person, `Journal` remembers, `Clock` is time.
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
from .run.pending import Pending
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
from .policy import Ancestor


class InputRequired(Exception):
    """Raised by a running tool that can not go on before somebody answers: the call waits with it.

    Args:
        pending: what it waits for. Once that is answered the call is executed again, with the answer in its context.
        run_id: the run that waits, where the tool's work is another run.
        state: what the tool wants to find again as `Context.state`.
    """

    def __init__(self, pending: Pending, run_id: str = "", state: str = "") -> None:
        super().__init__(pending.message)
        self.pending = pending
        self.run_id = run_id
        self.state = state


class Elicited(Struct, frozen=True):
    """What came of asking the user.

    Attributes:
        action: the user gave what was asked for, would not, or went away without a choice.
        content: what they gave, in the shape of the schema.
    """

    action: Literal["accept", "decline", "cancel"]
    content: JsonObject = {}


@runtime_checkable
class Peer(Protocol):
    """The other end of a run that was asked for by a program: its tools can turn to it while they run.

    None says that it can not tell now, and may later: the call is parked until it does.
    """

    async def sample(self, request: Request) -> Reply | None:
        """Have its model answer.

        Raises:
            CallError: it will not.
        """

    async def roots(self) -> Sequence[str] | None:
        """The directories it lets be worked in, as `file://` addresses.

        Raises:
            CallError: it will not tell.
        """

    def log(self, level: str, message: Json) -> None:
        """Hear what a running tool tells of itself; levels are those of RFC 5424, in words."""


class ToolRequests(Protocol):
    """What stands behind a `Context` when a running tool asks for something; see `asking.inquiry`."""

    async def ask(self, pending: Pending) -> InputGiven:
        """Have somebody answer.

        Raises:
            Waiting: nobody can now.
        """

    async def sample(self, request: Request, key: str = "") -> Reply:
        """Have a model answer."""

    async def roots(self, key: str = "") -> tuple[str, ...]:
        """The directories to work in."""

    def log(self, level: str, message: Json) -> None:
        """Pass on what a tool tells."""

    def held(self) -> AbstractContextManager[None]:
        """A block in which the time limit of the call stands still."""

    def beside(self, keys: tuple[str, ...]) -> None:
        """What is asked next may be meant for other calls; see `Context.beside`."""


class Context(Generic[Deps]):
    """What a running tool may know and do besides its arguments. Tools ask for it by a parameter annotated `Context`,
    or `Context[Deps]` with the type of `deps`.

    Attributes:
        run_id: the run this call belongs to.
        call: the call, with the arguments that the tool gets.
        key: the idempotency key: the same for every attempt at this call, for services that take one.
        attempt: 1 for the first attempt.
        principal, tenant, roles, key_id: on whose behalf; see `Facts`.
        deps: what the program passed as `context=` to `Agent.run`. Its type is what the tool says by `Context[Deps]`;
            nothing checks at run time that the program passed such an object.
        attachments: the run's attachments by handle.
        answers: what was answered so far in this run, by the id of what was asked.
        budget: what the run has used; for tools that start runs themselves.
        state: what the tool left when it was last parked; see `InputRequired`.
        peer: the other end of the run, for tools that start runs themselves.
        journal: where the run is written down, for tools that start runs themselves: they are written there too. None
            where the context belongs to no run.
        holder: for whom a toolset keeps sessions open between calls: the conversation, or the run where there is none.
        process_limits: what the processes that carry out the call may use up, as the operator limits it.
        opened_outside: files that a program tried to open outside its jail while it carried out the call. They go on
            record.
        begun: how often the code of the call began a run with the same words, by their digest; see `runs.below`.
        brought: what brought the code text that an outsider may have written, such as a run that it began.
        has_outcome: the call is over; what its code still does is not done for the call.
        heard: the conversation of the run so far, for agents that are told of it.
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
        self.opened_outside: dict[str, None] = {}
        self.begun: dict[str, int] = {}
        self.brought: dict[str, None] = {}
        self.has_outcome = False

    @property
    def traceparent(self) -> str:
        """This call as a span of a trace, for services that take one; see `core.trace`. Empty where there is none."""
        return traceparent_of(self._trace, self.key) if self._trace else ""

    @property
    def user(self) -> User:
        """On whose behalf the call is made."""
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
            message: what is asked for and why.
            schema: JSON Schema of an object of plain values that the answer has to fit; a yes or no where it is left
                out.
            url: a page where the user does what is needed, instead of a form.
            asker: who asks, where it is another party.
            key: what you call this question, so that its answer is found though its words change.

        Raises:
            Waiting: nobody can answer now. Let it pass through.
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
        """Ask a model: the client's, where a program at the other end of the run offers one, else the run's own.
        It counts in the run's limits and is on record.

        Raises:
            Waiting: nobody can answer now. Let it pass through.
            CallError: a limit is reached, or it is refused.
        """
        return await self._asking().sample(request, key)

    async def roots(self, *, key: str = "") -> tuple[str, ...]:
        """The directories that the other end of the run lets be worked in, as `file://` addresses.

        Raises:
            Waiting: they are not known now. Let it pass through.
        """
        return await self._asking().roots(key)

    def log(self, level: str, message: Json) -> None:
        """Send a log message to the program that runs this tool.

        Args:
            level: `debug`, `info`, `notice`, `warning`, `error`, `critical`, `alert` or `emergency`.
            message: a sentence, or anything JSON.
        """
        self._asking().log(level, message)

    def held(self) -> AbstractContextManager[None]:
        """A block in which the time limit of this call stands still: somebody is asked something on its behalf."""
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
        """This call costs so much money: counted for the run, in the currency of its prices.

        Raises:
            UsageError: the cost is no Decimal, or below 0.
        """
        if not isinstance(cost, Decimal) or not cost >= 0:
            raise UsageError("spend({cost!r}): give a Decimal, as in Decimal('0.02')", cost=cost)
        if self.budget is not None:
            self.budget.add_for(self.key, Used(cost=cost))

    def secret(self, name: str) -> str:
        """A secret of the agent, such as a key: it is in no argument, and is kept out of what the tool returns.

        Raises:
            SecretMissing: the agent was given none of this name.
            ToolError: it can't be read. Both messages say what a person does about that.
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
        """Keep these out of what this run writes down and tells: keys that a tool has from elsewhere."""
        known = [secret for secret in secrets if secret]
        self._told.update(known)
        GIVEN.add(known)

    def progress(self, value: Json) -> None:
        """Tell those who watch how far this call is: a share, a sentence, any JSON. May be called from any thread."""
        if self._progress is not None:
            self._progress(self, value)

    def note(self, record: Struct, *, needed: bool = False) -> None:
        """Put a record of a feature on the record of the run, secrets left out. Any thread may. A tool that is executed
        anew notes anew.

        Args:
            record: a struct that the feature names among its `records`, whose feature is switched on.
            needed: the run can not go on where the record can not be read, since the feature is missing or older.

        Raises:
            UsageError: the record belongs to no feature that is on, is too long, or can not do without a secret; or
                the call is over, or only looks.
        """
        if self._note is None or self.journal is None:
            raise UsageError("{kind} can not be noted: no call of a run is under way here", kind=type(record).__name__)
        self._note(self, self.journal.record_kinds.noted(record, needed=needed))

    @property
    def is_over(self) -> bool:
        """The call has its outcome, or nobody watches: progress is not told any more."""
        return self._progress is None

    def close(self) -> None:
        """The call has its outcome; whatever a thread still tells of it is not heard."""
        self._progress = None
        self.has_outcome = True


def _without_folders(why: UsageError) -> Sentence:
    """The sentence of an error as a model may read it: of each path the name alone."""
    values = {
        name: PurePath(str(value)).name if isinstance(value, PurePath) or os.sep in str(value) else value
        for name, value in why.sentence.values.items()
    }
    return Sentence(why.sentence.template, **values)


@runtime_checkable
class Toolset(Protocol):
    """A place where tools live."""

    @property
    def generation(self) -> int:
        """A number that changes whenever the list of tools does. Constant for a set that never changes."""

    async def list_tools(self) -> Sequence[Tool]:
        """The tools there are now."""

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Do it. The call is resolved, validated, allowed and on record when it comes here, and only then.

        Raises:
            CallError: it could not be done; the class says what that means.
        """


class ProbeResult(Struct, frozen=True):
    """What a probe found out about a call that may have happened.

    Attributes:
        status: it happened, it did not, or nobody can tell.
        result: what it came to, where it happened and that is known.
    """

    status: Literal["done", "not_done", "unknown"]
    result: ToolResult | None = None


@runtime_checkable
class Probing(Protocol):
    """A toolset that can find out whether a call happened. It is asked only for tools declared `probed`."""

    async def probe(self, call: ToolCall, context: Context) -> ProbeResult:
        """Look, without changing anything, whether this call happened; `context.key` is the one it was made with."""


@runtime_checkable
class StandsForOthers(Protocol):
    """A toolset with a tool that stands for many others, which are named in its arguments. Policies judge both."""

    def meant(self, call: ToolCall) -> tuple[Tool, ToolCall] | None:
        """The tool that a call is for, and the call as this tool would get it; None where the call is for itself.

        Raises:
            UnknownTool: there is no such tool.
            InvalidArguments: the arguments are not those of the tool.
            PermissionDenied: the tool can not be called in this way.
        """

    def stands_for(self, name: str) -> Sequence[Tool]:
        """The tools for which the tool of this name stands; none where the tool is for itself."""

    def through(self, shown: Callable[[Tool], Tool | None]) -> Toolset:
        """The same toolset, which speaks of its tools as a run is shown them.

        Args:
            shown: gives the definition that a run is shown of one of the toolset's own; None for a tool that is left
                out.
        """


NOTHING_READ: Mapping[str, int] = {}
"""No entry of any run is known already; see `Journal.read_each`."""


class RunFilter(TypedDict, total=False):
    """Which runs of a list are wanted; what is left out, None or empty fits all, unless something else is said.

    Attributes:
        run_id: only these runs.
        tenant: only runs of this tenant, which may be `""`; None for all.
        principal: only runs on behalf of this principal.
        agent, model: only runs of this name.
        status: only runs that stand so, by the list, or in one of these ways; see `RunSummary`.
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
    """The list of tasks (`core.run.task`): an index, written in the transaction of the records that it follows from."""

    @property
    def outbox(self) -> WebhookOutbox:
        """The messages about the ends of tasks."""

    async def find(self, run_id: str, *, tenant: str | None = None, principal: str | None = None) -> TaskLine | None:
        """The line of a task; None where there is no such task of this user. None as a tenant or principal: of all."""

    async def states(self, run_ids: Sequence[str]) -> Mapping[str, TaskState]:
        """The states of these tasks; of a task that is not in the list there is none."""

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
        """How many tasks of each state and priority there are, of those that have not ended or are dead letters."""

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
        """The tasks that are to be begun next: those of the highest priority, and among them users take turns. Nothing
        is written down here: the process that begins a task claims its run.

        Args:
            now: seconds since 1970.
            home: as in `TaskLine`.
            limit: the most.
            running_max, tenant_running_max: the most tasks of one user, or of one tenant, that may run at a time.
            without: tasks to leave out.
        """

    async def next_time(self, *, home: str = "") -> float | None:
        """When the next task becomes due that is not due yet, in seconds since 1970."""

    async def late(self, now: float, *, limit: int = 100) -> Sequence[TaskLine]:
        """Tasks that have not ended, and whose deadline has passed."""

    async def running(self, *, home: str | None = "") -> Sequence[TaskLine]:
        """The tasks that are running, or were when their process ended; None as the home for all."""

    def tell_progress(self, run_id: str, value: Json, at: float, *, problem: str = "") -> None:
        """Write down how far a task is. Nobody waits until that is written.

        Args:
            run_id: the task.
            value: what its running tool told.
            at: when, in seconds since 1970.
            problem: of a task that waits: see `TaskLine`.
        """

    async def progress(self, run_id: str) -> TaskProgress | None:
        """How far a task was when that was last told."""

    async def drop(self, ended_before: float, *, limit: int = 1_000) -> int:
        """Delete the lines of tasks that ended before this time. Their runs stay.

        Returns:
            How many were deleted.
        """


class Journal(Protocol):
    """The record of runs: append-only, one chain a run. The only state that a run has."""

    @property
    def counts(self) -> Counts | None:
        """What all processes that write to this journal count together; None where no other process can."""

    @property
    def record_kinds(self) -> RecordKinds:
        """The kinds of records that the features of this process bring."""

    @property
    def tasks(self) -> TaskIndex | None:
        """The list of the tasks; None where no other process could carry a task out, as with a journal in memory."""

    @property
    def stores(self) -> Stores:
        """The tables of features, kept beside the runs, as is all that follows."""

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
        """Write down a record and return its number within the run, from 0. Order is kept; see `sync` for the disk."""

    def claim(self, name: str) -> AbstractAsyncContextManager[None]:
        """The right to drive a run (its id) or to add to a conversation (see `claim_of_conversation`) within a block.

        It ends with the block, or with the process: nobody waits for a lease of the dead to run out. Should two hold it
        all the same, the number of an entry is the fence: only one of them can write the next.

        Raises:
            Busy: somebody has it, in this process or another.
        """

    async def driven(self, run_ids: Sequence[str]) -> set[str]:
        """Those of these runs that somebody holds the claim on. One that is `running` and not among them was
        interrupted."""

    async def sync(self, run_id: str) -> None:
        """Return when everything appended to a run so far would survive a loss of power.

        Raises:
            JournalError: it could not be written, or another process wrote to this run.
        """

    def keep(self, digest: str, payload: bytes) -> None:
        """Hold a payload under its SHA-256 for records that refer to it, such as the definitions of tools."""

    def keeps(self, digest: str) -> bool:
        """Whether a payload is known to be kept under this digest, so that nobody need make it once more. Where this
        process has not kept the payload itself, the answer may be no although the payload is there.
        """

    async def kept(self, digest: str) -> bytes:
        """The payload kept under this digest.

        Raises:
            UnknownName: there is none.
        """

    @property
    def is_shared(self) -> bool:
        """Whether persons other than the user of this process may write to the journal."""

    def hide(self, run_id: str, words: bytes) -> str:
        """Hold secret values that were taken out of the next record of a run, until the run has ended; see
        `core.secret_values`. They are written with that record: both are there or neither.

        Returns:
            Their digest, for the record to refer to.
        """

    async def hidden(self, run_id: str) -> dict[str, bytes]:
        """The secret values of a run that has not ended, by their digests.

        Raises:
            JournalError: they were changed, or are encrypted with a key that this journal was not opened with.
        """

    async def hidden_intact(self, run_id: str) -> dict[str, bool]:
        """The digests of the secret values that are held for a run, and whether each is as it was sealed."""

    async def post(self, run_id: str, answer: bytes) -> None:
        """Keep an answer for a run that another process drives at the time, until that process takes the answer. The
        answer is on disk when this returns.

        Args:
            run_id: the run.
            answer: the record of the answer, as bytes; it may hold secret values.
        """

    async def posted(self, run_id: str) -> list[tuple[int, bytes]]:
        """The answers that are held for a run, in order, each with its place."""

    async def unpost(self, run_id: str, places: Sequence[int]) -> None:
        """Delete answers that are held for a run: they stand on its record now, or count for nothing."""

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
        """The entries of several runs, by the id of the run, asked for at once; a run that has none is left out.

        Args:
            run_ids: the runs, whosever they are.
            after: the number of the last entry of a run that is known already; of a run that is not named here, all
                entries are read.
        """

    async def edges(self, edge: Literal["first", "latest"]) -> list[tuple[str, Entry]]:
        """The id of every run that has entries, with its first or latest entry, in the order of ids.

        By the entries alone: a run is here whether the list of runs (`runs`) knows it or not.
        """

    async def mislabelled(self, run_id: str) -> list[int]:
        """The numbers of a run's entries whose kind, which a database keeps beside a record for those who query it, is
        not the record's.
        """

    async def runs(self, *, limit: int | None = 50, behind: str = "", **wanted: Unpack[RunFilter]) -> list[RunSummary]:
        """The latest runs, newest first. This list is an index: quick, and not sealed as the entries are.

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
        """What runs that have not ended may wait for, the oldest first; by an index, as `runs`. Whether a run still
        waits is said by its entries.

        Args:
            ask_id: only what is asked under this id.
            limit: the most questions that are returned; None for all.
            behind: only questions that follow this one in the list: its time, and its id.
            expired: only what expires between these two times, in seconds since 1970.
            wanted: only what such runs wait for.
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
        """Delete what a run's entries say, for good, and put on record that it was done. The chain still checks.

        Returns:
            How many payloads were deleted.

        Raises:
            UnknownName: there is no such run.
            Busy: it is being driven.
            UsageError: the journal is signed, and was not opened with its key.
        """

    async def heads(self) -> list[SignedHead]:
        """The ledger: heads signed when runs ended or paused, in order; empty where the journal has no key."""

    async def close(self) -> None:
        """Write what is left and let go of the file."""


class Clock(Protocol):
    """Time, so that tests need not wait for it."""

    def now(self) -> float:
        """Seconds since 1970, UTC: what stands on record. The clock may be set back, or forward, at any time."""

    def monotonic(self) -> float:
        """Seconds since some moment, by a clock that nobody sets: how long something takes is measured by it."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""

    def timeout(self, seconds: float | None) -> asyncio.Timeout:
        """A block that is ended with `TimeoutError` after this number of seconds; None for never."""

    def hold(self, timeout: asyncio.Timeout) -> AbstractContextManager[None]:
        """A block in which a timeout stands still, for as long as somebody is asked say."""
