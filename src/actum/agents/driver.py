"""Drives the loop of `turn.py`: does what it intends, live or out of the recording, and writes down what came of it.

A fresh run has an empty recording and a resumed one a full one; that is all the difference there is.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from decimal import Decimal
from typing import Literal, TypeVar

from msgspec import Struct

from ..call.asking.asker import LiveApprover
from ..call.asking.inbox import pending_of
from ..call.limits.meters import Account
from ..call.path import CallPath
from ..call.resolve import Catalog
from ..call.scope import RunContext
from ..core.budget import ZERO, Price
from ..core.call import ToolCall, ToolResult
from ..core.errors import ActumError, JournalError, ReplayDiverged
from ..core.event import Event, Pending, ReplyFinished, RunFinished, RunResult
from ..core.interfaces import Model, Request
from ..core.message import Message, ToolMessage, Transcript, Usage
from ..core.record import Ended, InputRequested, ToolsChanged, new_id
from ..core.record import ModelReplied as RepliedRecord
from ..journal.recording import CallRef
from .conversation import outcome
from .turn import AskUser, Called, CallModel, CallTools, Finish, ModelAnswered, Outcome, Turn, UserAnswered
from .wording import Phrases

T = TypeVar("T")


class _Stopped(Exception):
    """The run may not go on: a limit that the loop can not see is reached."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Driver(Struct, kw_only=True, dict=True):
    """Drives one run to its end or to its next pause.

    Attributes:
        scope: the run.
        model: who is asked.
        path: who performs its calls.
        transcript: the conversation, shared with the loop.
        loop: the loop itself, not yet begun.
        wording: the run's language.
        asker: asks whoever can be asked now.
        seconds: the run's time limit.
        price: of the model, where it is known.
        account: of the user, where users have limits.
        relist: the catalog as it is now, asked for before each step.
        accept: whether a changed prompt or changed tools may go on with a recorded run.
    """

    scope: RunContext
    model: Model
    path: CallPath
    transcript: Transcript
    loop: Turn
    wording: Phrases
    asker: LiveApprover
    seconds: float | None
    relist: Callable[[], Awaitable[Catalog]]
    price: Price | None = None
    account: Account | None = None
    accept: bool = False

    def __post_init__(self) -> None:
        self._steps = 0
        self._questions = 0
        self._reply_number = -1
        self._tools = self.scope.recording.tools or self.path.catalog.digest
        self._usage = Usage()
        self._began = False
        self._calls: list[tuple[ToolCall, ToolResult]] = []

    async def drive(self) -> RunResult:
        """Go on until the run is done, paused or stopped.

        Raises:
            ModelError: the model gave no answer; the run stands in the journal as failed and can be resumed.
            ReplayDiverged: the recorded run does not fit; nothing was done.
        """
        try:
            finish = await self._go_on()
        except _Stopped as stopped:
            finish = Finish(status="stopped", text=self.wording.stopped(stopped.reason), stop_reason=stopped.reason)
        except (ReplayDiverged, JournalError):
            raise
        except BaseException as error:  # whoever called hears of it; the record too
            await self._write_failure(error)
            raise
        finally:
            if self._began and self.account is not None:
                self.account.end_run()
        self._write_end(finish.status, finish.text, finish.stop_reason)
        await self.scope.journal.sync(self.scope.run_id)
        result = self._result(finish)
        self._emit(RunFinished(result))
        return result

    async def _go_on(self) -> Finish:
        task = asyncio.current_task()
        cancelled_before = task.cancelling() if task is not None else 0
        intention = next(self.loop)
        while True:
            outcome: Outcome
            if self.asker.cancelled or (task is not None and task.cancelling() > cancelled_before):
                raise asyncio.CancelledError  # a tool kept the cancellation to itself
            if type(intention) is CallModel:
                outcome = await self._ask_model()
            elif type(intention) is CallTools:
                outcome = await self._call_tools(intention)
            else:
                assert isinstance(intention, AskUser)
                outcome = await self._ask_user(intention)
            try:
                intention = self.loop.send(outcome)
            except StopIteration as end:
                finish: Finish = end.value
                return finish

    async def _ask_model(self) -> ModelAnswered:
        recording, step = self.scope.recording, self._steps
        self._steps += 1
        if step < len(recording.replies):
            self._reply_number, record = recording.replies[step]
            self._compare(record.intention, recording.tools_at[step])
            self._usage += record.reply.usage
            return ModelAnswered(record.reply, record.elapsed, record.cost)
        self._check_limits()
        await self._notice_tools()
        scope = self.scope
        began = scope.clock.now()
        request = Request(messages=self.transcript, tools=self.path.catalog.tools)
        reply = await self._in_time(self.model.reply(request, scope.emit))
        seconds = scope.clock.now() - began
        cost = self.price.of(reply.usage) if self.price is not None else ZERO
        record = RepliedRecord(self._intention(self._tools), reply, seconds, scope.elapsed(), cost)
        self._reply_number = scope.journal.append(scope.run_id, record)
        self._usage += reply.usage
        self._count(reply.usage.total_tokens, cost)
        self._emit(ReplyFinished(reply, seconds))
        return ModelAnswered(reply, record.elapsed, cost)

    def _check_limits(self) -> None:
        """Before the model is asked: what the loop can not see, since it lies outside of this run, lets it.

        Raises:
            _Stopped: it does not.
        """
        reason = self.scope.budget.exhausted_above()
        if self.account is not None:
            reason = reason or self.account.exhausted(self.scope.clock.now())
            if not reason and not self._began:
                reason = self.account.begin_run()
                self._began = not reason
        if reason:
            raise _Stopped(reason)

    def _count(self, tokens: int, cost: Decimal) -> None:
        self.scope.budget.add(0, tokens, cost)
        if self.account is not None:
            self.account.add(tokens, cost, self.scope.clock.now())

    def _intention(self, tools: str) -> str:
        return hashlib.sha256((self.transcript.digest + tools).encode()).hexdigest()

    def _compare(self, recorded: str, tools: str) -> None:
        started = self.scope.recording.beginning()
        taken_over = bool(started.forked) and self._reply_number <= started.fork_at
        if recorded != self._intention(tools) and not self.accept and not taken_over:
            raise ReplayDiverged(
                f"run {self.scope.run_id}: at step {self._steps} the model would be asked something else than it was. "
                "Resume with the prompt, tools and version it was started with, pass accept=True, or fork the run."
            )

    async def _notice_tools(self) -> None:
        """Before the model is asked: tools may have come and gone."""
        catalog = await self.relist()
        self.path.use(catalog)
        if catalog.digest == self._tools:
            return
        self._tools = catalog.digest
        self.scope.journal.keep(catalog.digest, catalog.definitions)
        self.scope.journal.append(self.scope.run_id, ToolsChanged(catalog.digest))

    async def _call_tools(self, intention: CallTools) -> Called:
        recording, number = self.scope.recording, self._reply_number
        before = recording.used_in(number, len(intention.calls))
        performing = self.path.perform_all(intention.calls, number, intention.refusals)
        try:
            results = await self._in_time(performing)
        except _Stopped:
            self._take_what_there_is(intention.calls)
            raise
        await self._answer_what_waits(intention, results)
        self._calls += [
            (call, result)
            for call, result in zip(intention.calls, results, strict=True)
            if isinstance(result, ToolResult)
        ]
        if recording.cut:
            results = [
                recording.told(CallRef(number, index), result) if isinstance(result, ToolResult) else result
                for index, result in enumerate(results)
            ]
        used = recording.used_in(number, len(results))
        if self.account is not None:
            fresh = used.beyond(before)
            self.account.add(fresh.tokens, fresh.cost, self.scope.clock.now())
        return Called(results, self._elapsed_after(len(results)), used)

    async def _answer_what_waits(self, intention: CallTools, results: list[ToolResult | Pending]) -> None:
        """Ask whoever is there until each call has its result, or waits for what was not answered now.

        One answer may bring the next question: a call with other arguments, one that waited behind another.
        """
        answers, later = self.scope.recording.answers, set[str]()
        for index, call in enumerate(intention.calls):
            tried = ""
            while isinstance(waiting := results[index], Pending) and waiting.id != tried:
                tried = waiting.id
                if tried not in answers and tried not in later:
                    await self.asker.answer(waiting)
                if tried not in answers:
                    later.add(tried)
                    break
                place, refusal = CallRef(self._reply_number, index), intention.refusals.get(index)
                results[index] = await self._in_time(self.path.perform(call, place, refusal))

    def _take_what_there_is(self, calls: Sequence[ToolCall]) -> None:
        """The time was up during these calls: each has an outcome on record, or was not made."""
        for index, call in enumerate(calls):
            place = CallRef(self._reply_number, index)
            result = outcome(self.scope.recording, place, call)
            self._calls.append((call, result))
            self.transcript.append(ToolMessage(call.name, self.scope.recording.told(place, result)))

    def _elapsed_after(self, calls: int) -> float:
        """As it was when the calls were on record, so that a replay sees the same time as the run did."""
        if self._steps > len(self.scope.recording.replies):
            return self.scope.elapsed()
        known = [self.scope.recording.outcome(CallRef(self._reply_number, index)) for index in range(calls)]
        recorded = [outcome[1] for outcome in known if outcome is not None]
        return max(recorded) if len(recorded) == calls else self.scope.elapsed()

    async def _ask_user(self, intention: AskUser) -> UserAnswered | Pending:
        recording = self.scope.recording
        self._questions += 1
        if self._questions > len(recording.questions):
            asked = InputRequested(new_id("ask"), "answer", intention.question, self._reply_number)
            self.scope.journal.append(self.scope.run_id, asked)
            recording.note_question(asked)
        asked = recording.questions[self._questions - 1]
        known = recording.answers.get(asked.id)
        if known is not None:
            return UserAnswered(known.text)
        pending = Pending(asked.id, asked.kind, asked.message)
        answer = await self.asker.answer(pending)
        return pending if answer is None else UserAnswered(answer.text)

    async def _in_time(self, work: Awaitable[T]) -> T:
        """Wait for work, for as long as the run may still take. Nobody who is asked is hurried by it."""
        if self.seconds is None:
            return await work
        limit = self.scope.clock.timeout(max(0.0, self.seconds - self.scope.elapsed()))
        self.scope.limit = limit
        try:
            async with limit:
                return await work
        except TimeoutError:
            if limit.expired():
                raise _Stopped("seconds") from None
            raise
        finally:
            self.scope.limit = None

    async def _write_failure(self, error: BaseException) -> None:
        if isinstance(error, asyncio.CancelledError):
            self._write_end("stopped", self.wording.stopped("cancelled"), "cancelled")
        else:
            self._write_end("failed", str(error) if isinstance(error, ActumError) else "", type(error).__name__)
        await self.scope.journal.sync(self.scope.run_id)

    def _write_end(self, status: Literal["done", "paused", "stopped", "failed"], text: str, reason: str = "") -> None:
        ended = Ended(status, text, reason, self._usage)
        if status == "done" and ended == self.scope.recording.ended:
            return  # a run that was done is told again
        self.scope.journal.append(self.scope.run_id, ended)

    def _result(self, finish: Finish) -> RunResult:
        shown = {pending.id for pending in finish.pending}
        beside = [asked for asked in self.scope.recording.midway() if finish.pending and asked.id not in shown]
        return RunResult(
            run_id=self.scope.run_id,
            status=finish.status,
            text=finish.text,
            output=finish.output,
            calls=tuple(self._calls),
            messages=tuple[Message, ...](self.transcript),
            usage=self._usage,
            steps=self._steps,
            cost=self.scope.budget.cost,
            stop_reason=finish.stop_reason,
            pending=(*finish.pending, *map(pending_of, beside)),
        )

    def _emit(self, event: Event) -> None:
        if self.scope.emit is not None:
            self.scope.emit(event)
