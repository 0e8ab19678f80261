"""`TaskService`: every method of the protocol over runs, in values of A2A. Each version and binding translates to it.

A message begins a run of an agent, which this process carries out in a task of its own: a client that hangs up ends
nothing. A message on a task answers the question that its run waits for. A run whose process has ended is gone on with
by the next process that is asked about it: nothing that is on record is done again.

A message that comes again, with the same id and the same content from the same caller, joins its task as long as the
task is worked on.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextlib import suppress
from typing import Literal, Protocol, runtime_checkable

import msgspec
from a2a.utils.errors import (
    ContentTypeNotSupportedError,
    InvalidParamsError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from msgspec import Struct

from ...agents.agent import Agent
from ...call.asking.inbox import records_of
from ...core.errors import ActumError, Busy, JournalError, UsageError
from ...core.event import RunResult
from ...core.identity import Identity
from ...core.interfaces import RunFilter
from ...core.json import JsonObject
from ...core.message import UserMessage
from ...core.policy import Answer
from ...core.run.ending import last_entry
from ...core.run.ids import new_id
from ...core.run.pending import Pending
from ...core.run.record import Ended, Entry, InputGiven
from ...journal.conversations import span_name
from ...journal.follow import POLL_S
from ...journal.recording import RunState
from ...protocols.a2a.model import (
    A2AData,
    A2AMessage,
    A2APart,
    A2AState,
    A2ATask,
    A2AText,
)
from ...runs.ended_below import end_runs_below
from ...runs.options import Emit
from ...runs.other_values import know_others
from ...runs.recorded import is_run_id
from ...runs.runner import unless_stopped
from ..api.api import Api, Start, wait_for
from ..api.records import Recorded
from ..api.runs.operations import cancel_elsewhere
from ..api.work import RunJob
from ..models.agents.secret import NameSecret
from ..scopes import allows
from .answers import answers_in, text_of
from .failures import FINISHED, WORKING, NotAllowed
from .fold import ANSWER, DOOR, TaskFold, content_of, fold_of
from .follow import FollowedTask, LiveTasks, TaskListener, Told

log = logging.getLogger("actum.server.a2a")

Form = Literal["1.0", "0.3", "0.1"]
"""In which version of the protocol a task was begun; `0.1` is that of April 2025."""

ID_CHARS_MAX = 256
PARTS_MAX = 1_000
"""At most this many parts has a message."""
TOO_MANY_PARTS = f"message.parts: a message has at most {PARTS_MAX} parts"
INPUT_MODES = ("text/*", "application/json")
OUTPUT_MODES = ("text/plain", "application/json")
PAGE_MAX = 100
PAGE = 50
_LISTED_MAX = 2_000
"""The most runs that are looked at for one page of a list."""
_sorted = msgspec.json.Encoder(order="sorted")


class A2ARequest(Struct, frozen=True, kw_only=True):
    """What every request says.

    Attributes:
        who: makes the request.
        agent: the name of the agent that is asked.
        form: in which version of the protocol.
        trace, tracestate: the W3C headers of these names.
        base: the address of the server, as the client wrote it; empty where the binding does not say it.
        after: the number of the last entry that the client knows, of a stream that was cut; None where none is known.
    """

    who: Identity
    agent: str
    form: Form = "1.0"
    trace: str = ""
    tracestate: str = ""
    base: str = ""
    after: int | None = None


class Sent(Struct, frozen=True, kw_only=True):
    """What became of a message.

    Attributes:
        run_id: the task.
        listener: hears the words of the answer; None where the message joined a task.
        seen: the number of the last entry before the message; -1 for a new task.
        agent: the agent.
    """

    run_id: str
    agent: Agent[object]
    listener: TaskListener | None = None
    seen: int = -1


@runtime_checkable
class AnswersByMessage(Protocol):
    """An agent that answers some messages with a message and not with a task. The run is on record all the same."""

    def answers_by_message(self, message_id: str) -> bool:
        """Whether a message of this id is answered with a message."""


def plain_answer(agent: Agent[object], message: A2AMessage, task: A2ATask) -> A2AMessage | None:
    """The answer to a message as a message; None where the agent answers with its task."""
    if not isinstance(agent, AnswersByMessage) or task.status.state != "completed" or message.task_id:
        return None
    answer = next((each for each in task.artifacts if each.id == ANSWER), None)
    if answer is None or not agent.answers_by_message(message.id):
        return None
    return A2AMessage(role="agent", parts=answer.parts, id=f"{task.id}-{ANSWER}", context_id=task.context_id)


class ListedTasks(Struct, frozen=True, kw_only=True):
    """A part of a list of tasks.

    Attributes:
        tasks: the tasks, the latest first.
        following: names the next part; empty after the last.
        size: the most tasks of a part.
        total: the number of tasks of all parts.
    """

    tasks: tuple[A2ATask, ...]
    following: str
    size: int
    total: int


class TaskService:
    """The tasks of the agents of a server.

    Args:
        api: the runs, the journal and the agents.
        input_modes: the media types that messages may have, as patterns such as `image/*`.
        repeats: what a message that comes again after its task has ended does: it begins a `new` task, or it is
            answered with the `same`.
    """

    def __init__(self, api: Api, *, input_modes: Sequence[str] = (), repeats: Literal["new", "same"] = "new") -> None:
        self.api = api
        self.live = LiveTasks()
        self.input_modes = (*INPUT_MODES, *input_modes)
        self._repeats = repeats
        self._secret = NameSecret(api.journal)

    # Messages ---------------------------------------------------------------------------------------------------------

    async def send(self, asked: A2ARequest, message: A2AMessage, *, client_id: str = "") -> Sent:
        """Begin a task, go on with one, or join one.

        Args:
            asked: the request.
            message: what the caller says.
            client_id: what the client calls the task, where the client makes ids (April 2025).

        Raises:
            A2AError: the message is not taken; the class says why.
        """
        self._check(message)
        agent = await self.agent(asked, message.context_id)
        if message.task_id:
            return await self._go_on(asked, agent, message)
        if client_id and (known := await self.find(asked, client_id)) is not None:
            fold = await self._fold(asked, known, agent)
            if not fold.is_over:
                return await self._go_on(asked, agent, msgspec.structs.replace(message, task_id=known.run_id))
            if not message.context_id:
                message = msgspec.structs.replace(message, context_id=fold.context_id)
        return await self._begin(asked, agent, message, client_id)

    async def _begin(self, asked: A2ARequest, agent: Agent[object], message: A2AMessage, client_id: str) -> Sent:
        who = asked.who
        said = [agent.name, message.context_id, client_id, message.id, msgspec.to_builtins(message.parts)]
        is_known_again = bool(message.id or client_id)
        named = await self._named(who, "message", said) if is_known_again else new_id("msg")
        again = 0
        if is_known_again and (latest := await self._latest(named, who)) is not None:
            fold = await self._fold(asked, latest, agent)
            number = fold.door.get("again")
            again = number if isinstance(number, int) else 0
            if not fold.is_over or self._repeats == "same":
                return Sent(run_id=latest.run_id, agent=agent)
            again += 1
        drawn = hashlib.sha256(_sorted.encode([named, again])).hexdigest()[:32]
        start = Start(f"run_{drawn}", drawn)
        names = [named, *([await self._named(who, "client", [agent.name, client_id])] if client_id else [])]
        if span := span_name(asked.trace):
            names.append(span)
        door: JsonObject = {"message": message.id, "form": asked.form, "again": again}
        if client_id:
            door["client"] = client_id
        question = UserMessage(content_of(message.parts), "user" if who.speaks_for == "user" else "agent")
        self.api.check_question(agent, question)
        listener = self.live.listen(start.run_id)
        context = message.context_id or f"ctx_{drawn}"

        def carry_out(emit: Emit) -> Coroutine[object, object, RunResult]:
            return agent.run(
                question,
                conversation=context,
                principal=who.principal,
                tenant=who.tenant,
                roles=who.roles,
                key_id=who.key_id,
                run_id=start.run_id,
                request=start.request,
                names=names,
                door={DOOR: door},
                trace=asked.trace,
                tracestate=asked.tracestate,
                memory=who.is_one_person,
                emit=self.live.emitter(start.run_id, emit),
            )

        try:
            job = await self.api.begin(start, carry_out)
        except BaseException:
            self.live.leave(start.run_id, listener)
            raise
        if job is None:  # another process has begun it
            self.live.leave(start.run_id, listener)
            return Sent(run_id=start.run_id, agent=agent)
        return Sent(run_id=start.run_id, agent=agent, listener=listener)

    async def _go_on(self, asked: A2ARequest, agent: Agent[object], message: A2AMessage) -> Sent:
        """A message on a task."""
        recorded = await self.own(asked, message.task_id, agent)
        fold = await self._fold(asked, recorded, agent)
        if message.context_id and message.context_id != fold.context_id:
            raise InvalidParamsError("The task belongs to another context.")
        if fold.is_over:
            raise UnsupportedOperationError(FINISHED)
        waiting = fold.waiting
        if not fold.is_settled or not waiting:
            if _was_said(recorded, fold, message):
                return Sent(run_id=recorded.run_id, agent=agent, seen=fold.seen)
            raise UnsupportedOperationError(WORKING)
        who = asked.who
        answers = {id_: who.vouched(each) for id_, each in answers_in(message, waiting).items()}
        _check_may_answer(waiting, answers, who)
        listener = self.live.listen(recorded.run_id, fold.replies)
        try:
            await self._answer(recorded, agent, answers)
        except BaseException:
            self.live.leave(recorded.run_id, listener)
            raise
        return Sent(run_id=recorded.run_id, agent=agent, listener=listener, seen=fold.seen)

    async def _answer(self, recorded: Recorded, agent: Agent[object], answers: dict[str, Answer]) -> None:
        run_id = recorded.run_id
        if recorded.is_task:
            await agent.runner.answer(run_id, lambda state: records_of(state, answers))
            self.api.tasks.wake(run_id)
            return
        await self.api.started(self._resume(recorded, agent, answers))

    def _resume(self, recorded: Recorded, agent: Agent[object], answers: dict[str, Answer] | None = None) -> RunJob:
        run_id, started = recorded.run_id, recorded.started

        async def carry_out(emit: Emit) -> RunResult:
            began = await self.api.agent_of(started)  # with the publication with which the run began
            return await (began or agent).resume(
                run_id,
                answers,
                principal=started.principal,
                tenant=started.tenant,
                emit=self.live.emitter(run_id, emit),
                begins=unless_stopped,
            )

        return self.api.work.start(run_id, started.request, carry_out)

    async def finish(
        self, asked: A2ARequest, sent: Sent, *, at_once: bool = False, history: int | None = None
    ) -> A2ATask:
        """The task of a message, as soon as it has ended or waits for its client.

        Args:
            asked: the request.
            sent: the message.
            at_once: the task is wanted as it stands now.
            history: as in `TaskFold.task`.
        """
        if sent.listener is not None:
            self.live.leave(sent.run_id, sent.listener)
        while not at_once:
            job = self.api.work.get(sent.run_id)
            if job is not None:
                await wait_for(job)
                continue
            recorded = await self.own(asked, sent.run_id, sent.agent)
            fold = await self._fold(asked, recorded, sent.agent)
            if fold.is_settled:
                return fold.task(history=history)
            async for _ in self._followed(asked, fold, sent.agent):
                pass
            if self.live.is_ending:
                break
            await self.api.clock.sleep(POLL_S)
        recorded = await self.own(asked, sent.run_id, sent.agent)
        return (await self._fold(asked, recorded, sent.agent)).task(history=history)

    async def stream(self, asked: A2ARequest, sent: Sent) -> AsyncGenerator[Told, None]:
        """What happens in the task of a message: first the task, then its events."""
        recorded = await self.own(asked, sent.run_id, sent.agent)
        begins = recorded.entries[: max(sent.seen + 1, 1)]
        fold = await self._folded(asked, sent.run_id, begins, sent.agent)
        await know_others(fold.mask, self.api.journal, sent.run_id, recorded.entries[len(begins) :])
        for entry in recorded.entries[len(begins) :] if sent.seen >= 0 else ():
            if not fold.is_settled:
                break
            fold.take(entry)  # up to the answer: who answers knows that the task waits
        if sent.seen < 0 and sent.listener is not None and fold.status.state == "working":
            # The task was taken in by this very request: the client hears of that first.
            taken = msgspec.structs.replace(fold.status, state="submitted")
            yield Told(msgspec.structs.replace(fold.task(), status=taken), fold.seen)
            yield Told(fold.update(), fold.seen)
        else:
            yield Told(fold.task(), fold.seen)
        async for told in self._followed(asked, fold, sent.agent, sent.listener):
            yield told

    # Questions about tasks --------------------------------------------------------------------------------------------

    async def get(self, asked: A2ARequest, task_id: str, *, history: int | None = None) -> A2ATask:
        """A task as it stands; a run that was interrupted is gone on with.

        Raises:
            TaskNotFoundError: there is no such task for this caller.
        """
        agent = await self.agent(asked)
        recorded = await self.own(asked, task_id, agent)
        await self._revive(recorded, agent)
        return (await self._fold(asked, recorded, agent)).task(history=history)

    async def subscribe(self, asked: A2ARequest, task_id: str) -> AsyncGenerator[Told, None]:
        """What happens in a task from now on, or behind the last entry that the client knows.

        Raises:
            TaskNotFoundError: there is no such task for this caller.
            UnsupportedOperationError: the task has ended.
        """
        agent = await self.agent(asked)
        recorded = await self.own(asked, task_id, agent)
        fold = await self._fold(asked, recorded, agent)
        if asked.after is not None and 0 <= asked.after < fold.seen:
            fold = await self._folded(asked, task_id, recorded.entries[: asked.after + 1], agent)
        elif fold.is_over:
            raise UnsupportedOperationError("The task has ended: there is nothing to subscribe to.")
        else:
            yield Told(fold.task(), fold.seen)
        while True:
            async for told in self._followed(asked, fold, agent):
                yield told
            if asked.form != "1.0" or fold.is_over or not fold.is_settled:
                return
            # In 1.0 a subscription ends with the task, not when the task waits for its client.
            while not await self.api.journal.read(task_id, fold.seen):
                if self.live.is_ending:
                    return
                await self.api.clock.sleep(POLL_S)

    async def cancel(self, asked: A2ARequest, task_id: str) -> A2ATask:
        """Cancel a task, wherever it waits or is carried out.

        Raises:
            TaskNotFoundError: there is no such task for this caller.
            TaskNotCancelableError: the task has ended.
        """
        agent = await self.agent(asked)
        recorded = await self.own(asked, task_id, agent)
        if (await self._fold(asked, recorded, agent)).is_over:
            raise TaskNotCancelableError
        if not await self.api.work.cancel(task_id):
            if recorded.is_task:
                with suppress(ActumError):
                    await self.api.tasks.cancel(task_id, tenant=asked.who.tenant, principal=asked.who.principal)
            else:
                await cancel_elsewhere(self.api, task_id, asked.who)
        task = (await self._fold(asked, await self.own(asked, task_id, agent), agent)).task()
        if task.status.state != "canceled":
            raise TaskNotCancelableError
        return task

    async def page(
        self,
        asked: A2ARequest,
        *,
        context_id: str = "",
        state: A2AState | None = None,
        since: float | None = None,
        size: int = PAGE,
        behind: str = "",
        history: int | None = None,
        with_artifacts: bool = False,
    ) -> ListedTasks:
        """A part of the list of the caller's tasks of this agent, the latest first.

        Args:
            asked: the request.
            context_id: only tasks of this context.
            state: only tasks in this state.
            since: only tasks whose state changed at this time or later, in seconds since 1970.
            size: the most tasks of the page.
            behind: names the part; empty for the first.
            history, with_artifacts: as in `TaskFold.task`.

        Raises:
            InvalidParamsError: `behind` names no part.
        """
        agent, who = await self.agent(asked), asked.who
        wanted = RunFilter(tenant=who.tenant, agent=agent.name, kind="agent", parent="", owner=who.principal)
        if context_id:
            wanted["conversation"] = context_id
        journal, is_filtered = self.api.journal, state is not None or since is not None
        if behind and not (is_run_id(behind) and await self.find_own(asked, behind, agent)):
            raise InvalidParamsError("This page token is not known here: begin the list anew.")
        found: list[A2ATask] = []
        total = 0 if is_filtered else sum((await journal.count_runs(**wanted)).values())
        at, scanned, is_behind = "" if is_filtered else behind, 0, not (behind and is_filtered)
        limit = PAGE_MAX if is_filtered else size + 1
        while scanned < _LISTED_MAX:
            lines = await journal.runs(limit=limit, behind=at, **wanted)
            entries = await journal.read_each([line.run_id for line in lines])
            for line in lines:
                fold = await self._listed(asked, line.run_id, entries.get(line.run_id, []), agent)
                task = fold.task(history=history, with_artifacts=with_artifacts) if fold is not None else None
                if task is not None and _fits(task, state, since):
                    total += is_filtered
                    if is_behind and len(found) <= size:
                        found.append(task)
                is_behind = is_behind or line.run_id == behind
            if len(lines) < limit or (len(found) > size and not is_filtered):
                break
            at, scanned = lines[-1].run_id, scanned + len(lines)
        following = found[size - 1].id if len(found) > size else ""
        return ListedTasks(tasks=tuple(found[:size]), following=following, size=size, total=total)

    async def _listed(
        self, asked: A2ARequest, run_id: str, entries: Sequence[Entry], agent: Agent[object]
    ) -> TaskFold | None:
        """A task of a list; None where its record can not be read, or is of somebody else."""
        try:
            fold = await self._folded(asked, run_id, entries, agent)
            started = fold.state.beginning()
        except JournalError:
            return None
        return fold if started.user == asked.who.user else None

    # Whose tasks ------------------------------------------------------------------------------------------------------

    async def agent(self, asked: A2ARequest, context: str = "") -> Agent[object]:
        """The agent that is asked, in a context where one is known.

        Raises:
            Refusal: there is no such agent for the caller.
        """
        return await self.api.agent(asked.who, asked.agent, conversation=context)

    async def own(self, asked: A2ARequest, task_id: str, agent: Agent[object] | None = None) -> Recorded:
        """The caller's own task of the agent that is asked. Another caller's task is never there.

        Raises:
            TaskNotFoundError: there is no such task for this caller.
        """
        found = await self.find_own(asked, task_id, agent or await self.agent(asked))
        if found is None:
            raise TaskNotFoundError
        return found

    async def find_own(self, asked: A2ARequest, task_id: str, agent: Agent[object]) -> Recorded | None:
        """As `own`; None where there is no such task."""
        who = asked.who
        entries = await self.api.records.entries(task_id, who)
        try:
            recorded = Recorded(task_id, entries, RunState(entries))
            started = recorded.started
        except JournalError:
            return None
        is_own = started.user == who.user and started.agent == agent.name and not started.parent
        return recorded if is_own and not recorded.state.requested and not started.workflow else None

    async def find(self, asked: A2ARequest, client_id: str) -> Recorded | None:
        """The latest task that the client calls so; None where there is none."""
        agent = await self.agent(asked)
        return await self._latest(await self._named(asked.who, "client", [agent.name, client_id]), asked.who)

    async def _latest(self, name: str, who: Identity) -> Recorded | None:
        for run_id in await self.api.journal.named(name, limit=1):
            entries = await self.api.records.entries(run_id, who)
            if entries and entries[0].payload:
                return Recorded(run_id, entries, RunState(entries))
        return None

    async def _named(self, who: Identity, kind: str, said: Sequence[object]) -> str:
        """A name that no other caller can have, and nobody can guess."""
        told = _sorted.encode(["a2a", kind, who.tenant, who.issuer, who.principal, *said])
        return hmac.digest(await self._secret.get(), told, "sha256").hex()

    async def _fold(self, asked: A2ARequest, recorded: Recorded, agent: Agent[object]) -> TaskFold:
        return await self._folded(asked, recorded.run_id, recorded.entries, agent)

    async def _folded(self, asked: A2ARequest, run_id: str, entries: Sequence[Entry], agent: Agent[object]) -> TaskFold:
        """A task as the caller may see it: values with a label are masked for those who may not read them."""
        return fold_of(
            run_id,
            entries,
            await know_others(self.api.records.mask(asked.who), self.api.journal, run_id, entries),
            is_structured=is_structured(agent),
            remembers_users=agent.remembers_users,
        )

    # Runs that go on --------------------------------------------------------------------------------------------------

    async def _followed(
        self,
        asked: A2ARequest,
        fold: TaskFold,
        agent: Agent[object],
        listener: TaskListener | None = None,
    ) -> AsyncGenerator[Told, None]:
        """What happens in a task. A run that nobody carries out any more is gone on with, once."""
        revived = False
        while True:
            followed = FollowedTask(
                fold,
                self.api.journal,
                self.api.clock,
                self.live,
                lambda: self.api.work.get(fold.run_id),
                tenant=asked.who.tenant,
                listener=listener,
            )
            async for told in followed.events():
                yield told
            if fold.is_settled or self.live.is_ending:
                return
            recorded, listener = await self.own(asked, fold.run_id, agent), None
            if recorded.is_task:  # the queue begins it in its own time
                await self.api.clock.sleep(POLL_S)
            elif revived:
                return
            else:
                revived = True
                await self._revive(recorded, agent)

    async def _revive(self, recorded: Recorded, agent: Agent[object]) -> None:
        """Go on with a run whose process has ended. A run that can not be gone on with has failed."""
        run_id, journal = recorded.run_id, self.api.journal
        ended = recorded.state.ended
        is_waiting = ended is not None and ended.status == "paused" and bool(recorded.state.waiting())
        if recorded.is_over or recorded.is_task or is_waiting or self.api.work.get(run_id) is not None:
            return
        if await journal.driven([run_id]):
            return
        try:
            await self.api.started(self._resume(recorded, agent))
        except Busy:
            return
        except ActumError as error:
            log.warning("task %s can not be gone on with: %s", run_id, type(error).__name__)
            with suppress(Busy, JournalError):
                async with journal.claim(run_id):
                    latest = await journal.read(run_id)
                    if not (latest and isinstance(last_entry(latest).record, Ended)):
                        end = Ended("failed", "", type(error).__name__)
                        await end_runs_below(journal, run_id, end)
                        journal.append(run_id, end)
                        await journal.sync(run_id)

    async def revive(self, run_id: str) -> None:
        """Go on with a task of this protocol if its process has ended."""
        entries = await self.api.journal.read(run_id)
        with suppress(JournalError):
            recorded = Recorded(run_id, entries, RunState(entries))
            agent = await self.api.agent_of(recorded.started)
            if agent is not None and DOOR in recorded.started.door:
                await self._revive(recorded, agent)

    async def revive_all(self) -> None:
        """Go on with all tasks of this protocol whose process has ended; for the start of a server."""
        names = {self.api.agents.get(name).name for name in self.api.agents.names}
        for name in names:
            for line in await self.api.journal.runs(agent=name, status="running", kind="agent", limit=PAGE_MAX):
                await self.revive(line.run_id)
        # What stands for a published workflow, of whatever tenant.
        for line in await self.api.journal.runs(parent="", status="running", kind="agent", limit=PAGE_MAX):
            if line.agent not in names:
                with suppress(UsageError):
                    await self.revive(line.run_id)

    # Messages that are taken ------------------------------------------------------------------------------------------

    def _check(self, message: A2AMessage) -> None:
        """Raises:
        InvalidParamsError: the message is not complete.
        ContentTypeNotSupportedError: it has a part of a type that is not taken.
        """
        if not message.parts:
            raise InvalidParamsError("message.parts: a message has at least one part")
        if len(message.parts) > PARTS_MAX:
            raise InvalidParamsError(TOO_MANY_PARTS)
        if message.role != "user":
            raise InvalidParamsError("message.role: the message of a client has the role of a user")
        for name, value in (
            ("messageId", message.id),
            ("contextId", message.context_id),
            ("taskId", message.task_id),
        ):
            if len(value) > ID_CHARS_MAX or any(sign < " " or "\ud800" <= sign <= "\udfff" for sign in value):
                raise InvalidParamsError(f"message.{name}: up to {ID_CHARS_MAX} characters, without control characters")
        for index, part in enumerate(message.parts):
            kind = media_type_of(part)
            if not any(_is_of(kind, pattern) for pattern in self.input_modes):
                raise ContentTypeNotSupportedError(
                    f"message.parts[{index}]: this media type is not taken; taken are {', '.join(self.input_modes)}"
                )


def is_structured(agent: Agent[object]) -> bool:
    """Whether an agent answers with JSON."""
    return agent.output_schema is not None


def media_type_of(part: A2APart) -> str:
    """The media type of a part, without its parameters."""
    usual = {A2AText: "text/plain", A2AData: "application/json"}.get(type(part), "application/octet-stream")
    said = part.media_type.partition(";")[0].strip().lower()
    return said or usual


def _is_of(kind: str, pattern: str) -> bool:
    return pattern in ("*/*", kind) or (pattern.endswith("/*") and kind.startswith(pattern[:-1]))


def _fits(task: A2ATask, state: A2AState | None, since: float | None) -> bool:
    return (state is None or task.status.state == state) and (since is None or (task.status.at or 0.0) >= since)


def _was_said(recorded: Recorded, fold: TaskFold, message: A2AMessage) -> bool:
    """Whether a message has come before: it began the task, or is what was last answered."""
    if message.id and fold.door.get("message") == message.id:
        return True
    if not message.id and fold.history and fold.history[0].parts == message.parts:
        return True
    given = [entry.record for entry in recorded.entries if isinstance(entry.record, InputGiven)]
    text = text_of(message.parts)
    return bool(given) and bool(text) and given[-1].text == text


def _check_may_answer(waiting: Sequence[Pending], answers: dict[str, Answer], who: Identity) -> None:
    """Raises:
    NotAllowed: the caller may not approve.
    """
    kinds = {each.id: each.kind for each in waiting}
    if any(kinds[id_] in ("approval", "doubt") for id_ in answers) and not allows(who, ("approve",)):
        raise NotAllowed("The task waits for a person: an approval needs a key with the scope approve.")
