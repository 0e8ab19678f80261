"""`Run`: one run that this process carries out, with a model or without one.

A run is its record in the journal. The driver of a run asks it to perform calls, and tells it how the work ended. The
run keeps the record, the time limit and the limits of its user, and asks persons who are there.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from decimal import Decimal
from typing import Literal, TypeVar

import msgspec
from msgspec import Struct

from ..call.asking.asker import LiveApprover
from ..call.limits.meters import Account
from ..call.path import CallPath
from ..call.references import LinkedCalls
from ..call.scope import RunContext
from ..core.budget import NOTHING, Used
from ..core.call import Failure, ToolCall, ToolResult
from ..core.cancellation import cancellable, cancellations
from ..core.errors import ActumError, CallError, CanNotBeAsked, JournalError, ReplayDiverged
from ..core.event import Event, RunFinished, RunResult, RunStarted
from ..core.interfaces import Journal
from ..core.json import JsonObject
from ..core.message import Transcript, Usage
from ..core.run.node_records import NODE_VALUE_BYTES_MAX
from ..core.run.pending import Pending
from ..core.run.plan import PlanSteps
from ..core.run.record import Ended
from ..core.secrets.given import GIVEN
from ..journal.recording import CallRef, RunState
from ..policy.origins import Lookup
from .caller_access import ACCESS_REVOKED, CallerAccess
from .cancel_watch import CancelWatch
from .captured import CapturedRun
from .wording import Phrases

T = TypeVar("T")

NOT_MADE = Failure("cancelled", "This call was not carried out: the run ended before it.")
IN_DOUBT = Failure(
    "in_doubt",
    "The run was interrupted during this call. It may or may not have happened; it was not repeated.",
    "unknown",
)


class Stopped(Exception):
    """The run may not go on: a limit is reached."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Stopping(Struct):
    """Why a run is cancelled, as the canceller says.

    Attributes:
        reason: the reason on record; empty for `cancelled`.
        is_interrupted: no end is written: the run is to go on later, as after the end of its process.
    """

    reason: str = ""
    is_interrupted: bool = False


class Finish(Struct, frozen=True, kw_only=True):
    """How the work of a run ended; the fields are those of `RunResult`, and `outputs` for the record: what a workflow
    gave."""

    status: Literal["done", "paused", "stopped"]
    text: str = ""
    output: object = None
    stop_reason: str = ""
    pending: tuple[Pending, ...] = ()
    outputs: JsonObject | None = None


class Run:
    """One run that this process carries out.

    Args:
        context: what the calls of the run need to know of it.
        path: performs the calls.
        asker: asks persons who can be asked now.
        phrases: in the run's language.
        seconds: the run's time limit.
        account: of the run's user, where users have limits.
        watch: cancels the run where another process wants the run cancelled, and ends it with the caller's access.
        access: the access of the user who asked for the run.
        stopping: says why the run is cancelled, where it is.

    Attributes:
        state: what is on record of the run.
        calls: each call that was performed, with its result.
        usage: the tokens that the run's model used.
        is_paused: the run waits for somebody, and this process does not carry it out any more.
        models_asked: how many answers of the run's models are awaited.
        plan: the latest, where the agent makes one.
        captured: is told how the run ended, where somebody captures runs.
    """

    def __init__(
        self,
        context: RunContext,
        path: CallPath,
        asker: LiveApprover,
        phrases: Phrases,
        seconds: float | None,
        account: Account | None,
        watch: CancelWatch,
        access: CallerAccess,
        stopping: Stopping | None = None,
    ) -> None:
        self.context = context
        self.state: RunState = context.recording
        self.path = path
        self.phrases = phrases
        self.calls: list[tuple[ToolCall, ToolResult]] = []
        self.usage = Usage()
        self.is_paused = False
        self.models_asked = 0
        self.plan: PlanSteps = ()
        self.captured: CapturedRun | None = None
        self._calls_under_way = 0
        self._asker = asker
        self._seconds = seconds
        self._account = account
        self._stopping = stopping or Stopping()
        self._watch = watch
        self._access = access
        self._told_to_stop = ""
        self._counted = self._has_begun = False
        self._under_way = AsyncExitStack()
        self._task = asyncio.current_task()
        self._cancelled_before = cancellations()

    @property
    def run_id(self) -> str:
        """The run."""
        return self.context.run_id

    @property
    def journal(self) -> Journal:
        """Where the run is written down."""
        return self.context.journal

    def cancel(self, reason: str = "cancelled") -> None:
        """Stop the run, since another process wants the run cancelled: the run ends as `stopped`, and those who wait
        for the run get this result. A second call changes nothing.

        Args:
            reason: why, for the record.
        """
        if self._task is not None and not self._told_to_stop:
            self._told_to_stop = reason
            self._task.cancel()

    def _take_back(self) -> str:
        """Take back that `cancel` cancelled the task, which may go on with other things.

        Returns:
            The reason, where `cancel` did so, and nobody else; else empty.
        """
        if not self._told_to_stop or self._task is None:
            return ""
        reason, self._told_to_stop = self._told_to_stop, ""
        return reason if self._task.uncancel() <= self._cancelled_before else ""

    async def carry_out(self, work: Awaitable[Finish]) -> Finish:
        """Do the work of the run, and write down how it ended.

        Args:
            work: the work, up to its end or to the next pause.

        Raises:
            ReplayDiverged, JournalError: the record does not fit, or can not be written; nothing more is written.
        """
        self._watch.add(self)
        try:
            finish = await self._apart(work)
        except Stopped as stopped:
            text = self.phrases.stopped(stopped.reason)
            finish = Finish(status="stopped", text=text, stop_reason=stopped.reason)
        except (ReplayDiverged, JournalError):
            raise
        except BaseException as error:  # the caller hears of it; the record too
            self._watch.remove(self)
            reason = self._take_back() if isinstance(error, asyncio.CancelledError) else ""
            if not reason:
                await self._write_failure(error)
                raise
            finish = Finish(status="stopped", text=self.phrases.stopped(reason), stop_reason=reason)
        finally:
            self._watch.remove(self)
            self._take_back()
            if self._counted:
                await self._under_way.aclose()
        self._write_end(finish.status, finish.text, finish.stop_reason, finish.outputs)
        self.is_paused = finish.status == "paused"
        await self.context.journal.sync(self.context.run_id)
        return finish

    async def _apart(self, work: Awaitable[Finish]) -> Finish:
        """Do the work in a task of its own. So whatever the work and the code that it calls do to their task, the task
        of the caller is cancelled by nobody but those who have that task: they alone count.
        """
        try:
            return await cancellable(work, None, "the work of a run")
        except asyncio.CancelledError as error:
            if self._is_cancelled:
                raise
            raise RuntimeError("the run was cancelled by code that it had called itself") from error

    @property
    def _is_cancelled(self) -> bool:
        """Somebody outside of the run, or a person who was asked, broke the run off."""
        task = self._task
        return self._asker.cancelled or (task is not None and task.cancelling() > self._cancelled_before)

    async def check_limits(self) -> None:
        """Whether the limits of the run's user, and of the runs above, let the run go on.

        Raises:
            Stopped: they do not.
        """
        reason = self.context.budget.exhausted_above()
        if self._account is not None:
            reason = reason or await self._account.exhausted(self.context.clock.monotonic())
            if not reason and not self._counted:
                reason = await self._account.begin_run(self._under_way)
                self._counted = not reason
        if reason:
            raise Stopped(reason)

    async def check_access(self) -> None:
        """Check that the user who asked for the run may still have it go on; before each step that is not on record
        yet.

        Raises:
            Stopped: the user may not.
            JournalError: this can not be found out now.
        """
        if self._access.can_be_lost and await self._access.is_lost():
            raise Stopped(ACCESS_REVOKED)

    async def look_at_access(self) -> None:
        """End the run in the middle of an answer of a model, where its caller's access is lost. A call that is under
        way finishes first, also in another branch of a workflow: nobody would know what it did.

        Raises:
            JournalError: nobody can tell now.
        """
        if self._only_asks and self._access.can_be_lost and await self._access.is_lost() and self._only_asks:
            self.cancel(ACCESS_REVOKED)

    @property
    def _only_asks(self) -> bool:
        return self.models_asked > 0 and not self._calls_under_way

    def check_cancelled(self) -> None:
        """Whether somebody broke the run off while a tool, or a person who was asked, kept the cancellation to itself.

        Raises:
            CancelledError: somebody did.
        """
        if self._is_cancelled:
            raise asyncio.CancelledError

    def count_reply(self, usage: Usage, cost: Decimal) -> None:
        """Count what a reply of the run's model used, for the run, for the runs above, and for the run's user."""
        self.usage += usage
        used = Used(tokens=usage.total_tokens, cost=cost, usage=usage)
        self.context.budget.add(used)
        if self._account is not None:
            self._count_for(self._account, used)

    def _count_for(self, account: Account, used: Used) -> None:
        account.add(used.tokens, used.cost, self.context.clock.monotonic())

    async def perform(
        self,
        calls: Sequence[ToolCall],
        cause: int,
        refusals: Mapping[int, CallError],
        linked: LinkedCalls | None = None,
    ) -> list[ToolResult | Pending]:
        """Perform the calls of one entry, and ask a person who is there about those that wait.

        Args:
            calls: the calls.
            cause: the number of the entry that asked for them.
            refusals: by index, why a call is not to be made.
            linked: how the calls use each other's results; None where they do not.

        Returns:
            The result of each call, or the question that it waits for.

        Raises:
            Stopped: the time of the run was up: each call then has its outcome in `calls`. Or the user who asked for
                the run has lost access: none of the calls was made.
        """
        if not all(self.state.outcome(CallRef(cause, at)) for at in range(len(calls))):
            await self.check_access()
        before = self.state.used_in(cause, len(calls)) if self._account is not None else NOTHING
        try:
            results = await self.in_time(self.path.perform_all(calls, cause, refusals, linked))
            if linked is None:
                await self._ask_about(calls, cause, refusals, results)
            else:
                results = await self._ask_about_linked(linked, cause, refusals, results)
        except Stopped:
            self.calls += [(call, self.outcome(CallRef(cause, at), call)) for at, call in enumerate(calls)]
            raise
        made = calls if linked is None else linked.links.made(results)
        self.calls += [
            (call, result) for call, result in zip(made, results, strict=True) if isinstance(result, ToolResult)
        ]
        if self._account is not None:
            self._count_for(self._account, self.state.used_in(cause, len(calls)).beyond(before))
        return results

    async def _ask_about(
        self,
        calls: Sequence[ToolCall],
        cause: int,
        refusals: Mapping[int, CallError],
        results: list[ToolResult | Pending],
    ) -> None:
        """Ask a person who is there until each call has its result, or waits for an answer that was not given now.

        One answer may bring the next question: a call with other arguments, one that waited behind another.
        """
        answers = self.state.answers
        later: set[str] = set()
        await self._ask_about_turn(results)
        for index, call in enumerate(calls):
            tried = ""
            while isinstance(waiting := results[index], Pending) and waiting.id != tried:
                tried = waiting.id
                if tried not in answers and tried not in later:
                    await self.ask(waiting)
                if tried not in answers:
                    later.add(tried)
                    break
                results[index] = await self.in_time(self.path.perform(call, CallRef(cause, index), refusals.get(index)))

    async def _ask_about_turn(self, results: Sequence[ToolResult | Pending]) -> None:
        """Ask a person who is there about all calls that wait as one question, where the person can be asked so."""
        waiting = {each.id: each for each in results if isinstance(each, Pending) and each.id not in self.state.answers}
        if len(waiting) > 1:
            with suppress(CanNotBeAsked):
                await self._asker.answer_turn(list(waiting.values()))

    async def _ask_about_linked(
        self,
        linked: LinkedCalls,
        cause: int,
        refusals: Mapping[int, CallError],
        results: list[ToolResult | Pending],
    ) -> list[ToolResult | Pending]:
        """The same for calls that use each other's results: an answer may let several go on."""
        asked: set[str] = set()
        while waiting := {each.id: each for each in results if isinstance(each, Pending) and each.id not in asked}:
            asked |= waiting.keys()
            await self._ask_about_turn(results)
            for each in waiting.values():
                if each.id not in self.state.answers:
                    await self.ask(each)
            if not any(each in self.state.answers for each in waiting):
                break
            results = await self.in_time(self.path.perform_all(linked.calls, cause, refusals, linked))
        return results

    async def _performed(
        self, call: ToolCall, ref: CallRef, refusal: CallError | None, origins: Lookup
    ) -> ToolResult | Pending:
        """Perform one call; until it is done, `look_at_access` ends nothing."""
        self._calls_under_way += 1
        try:
            return await self.path.perform(call, ref, refusal, origins)
        finally:
            self._calls_under_way -= 1

    async def make(
        self, call: ToolCall, ref: CallRef, refusal: CallError | None, origins: Lookup
    ) -> ToolResult | Pending:
        """Perform one call beside others, and ask a person who is there about it. The driver of the run sees to the
        time.

        Args:
            call: the call.
            ref: which call of the run it is.
            refusal: why the call is not to be made, where it is not.
            origins: tells the origins of its arguments.

        Returns:
            The result of the call, or the question that it waits for.

        Raises:
            Stopped: the user who asked for the run has lost access.
        """
        if self.state.outcome(ref) is None:
            await self.check_access()
        before = self.state.used_by(ref) if self._account is not None else NOTHING
        tried = ""
        result = await self._performed(call, ref, refusal, origins)
        while isinstance(result, Pending) and result.id != tried:
            tried = result.id
            if tried not in self.state.answers:
                await self.ask(result)
            if tried not in self.state.answers:
                break
            result = await self._performed(call, ref, refusal, origins)
        if isinstance(result, ToolResult):
            self.calls.append((call, result))
        if self._account is not None:
            self._count_for(self._account, self.state.used_by(ref).beyond(before))
        if isinstance(result, ToolResult) and result.error is not None:
            await self.check_access()  # why a run below was ended
        return result

    async def ask(self, pending: Pending) -> str | None:
        """Ask a person who is there now; the answer is put on record.

        Returns:
            The text of the answer; None when there is none now.
        """
        try:
            answer = await self._asker.answer(pending)
        except CanNotBeAsked:
            return None  # the question is on record, for somebody who can
        return None if answer is None else answer.text

    def outcome(self, ref: CallRef, call: ToolCall) -> ToolResult:
        """What a call that is over came to; a call without an outcome was not made, or nobody knows."""
        return outcome(self.state, ref, call)

    async def in_time(self, work: Awaitable[T]) -> T:
        """Wait for work, for as long as the run may still take. Nobody who is asked is hurried by the limit.

        Raises:
            Stopped: the time is up.
        """
        if self._seconds is None:
            return await work
        context = self.context
        limit = context.clock.timeout(max(0.0, self._seconds - context.elapsed()))
        context.limit = limit
        try:
            async with limit:
                return await work
        except TimeoutError:
            if limit.expired():
                raise Stopped("seconds") from None
            raise
        finally:
            context.limit = None

    async def _write_failure(self, error: BaseException) -> None:
        if isinstance(error, asyncio.CancelledError):
            if not self._stopping.is_interrupted:
                self._write_end("stopped", self.phrases.stopped("cancelled"), self._stopping.reason or "cancelled")
        else:
            text = GIVEN.without(str(error)) if isinstance(error, ActumError) else ""
            self._write_end("failed", text, GIVEN.without(type(error).__name__))
        await self.context.journal.sync(self.context.run_id)

    def _write_end(
        self,
        status: Literal["done", "paused", "stopped", "failed"],
        text: str,
        reason: str = "",
        outputs: JsonObject | None = None,
    ) -> None:
        kept = ""
        encoded = b"" if outputs is None else msgspec.json.encode(outputs)
        if len(encoded) > NODE_VALUE_BYTES_MAX:
            outputs, kept = None, hashlib.sha256(encoded).hexdigest()
            self.context.journal.keep(kept, encoded, self.run_id)
        ended = Ended(status, text, reason, self.usage, outputs, kept)
        if status == "done" and ended == self.state.ended:
            return  # a run that was done is told again
        self.context.write(ended)

    def result(self, finish: Finish, *, steps: int = 0) -> RunResult:
        """What the program is told of the run; also the last event.

        Args:
            finish: how the work ended.
            steps: how often the model was asked.
        """
        shown = {pending.id for pending in finish.pending}
        beside = [asked for asked in self.state.midway() if finish.pending and asked.id not in shown]
        heard = self.context.heard
        result = RunResult(
            run_id=self.context.run_id,
            status=finish.status,
            text=finish.text,
            output_or_none=finish.output,
            calls=tuple([(self.path.catalog.shown(call), result) for call, result in self.calls]),
            messages=heard.shown if isinstance(heard, Transcript) else tuple(heard),
            usage=self.context.budget.usage,
            own_usage=self.usage,
            steps=steps,
            cost=self.context.budget.cost,
            stop_reason=finish.stop_reason,
            pending=(*finish.pending, *(asked.pending for asked in beside)),
            plan=self.plan,
            recalled=self.state.beginning().recalled,
        )
        if self.captured is not None:
            self.captured.result = result
        self.tell(RunFinished(result))
        return result

    def begin(self) -> None:
        """Tell those who watch the run that it begins, or goes on: what is on record fits. A second time is no word."""
        if not self._has_begun:
            self._has_begun = True
            self.tell(RunStarted(self.run_id))

    def tell(self, event: Event) -> None:
        """Tell those who watch the run."""
        if not self._has_begun:
            self.begin()
        if self.context.emit is not None:
            self.context.emit(event)


def outcome(state: RunState, ref: CallRef, call: ToolCall) -> ToolResult:
    """What a call of a run came to that is over; a call without an outcome was not made, or nobody knows."""
    known = state.outcome(ref)
    if known is not None:
        return known[0]
    return ToolResult(call.id, error=IN_DOUBT if state.in_doubt(ref) else NOT_MADE)
