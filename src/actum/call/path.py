"""The one path from a call to its result. Nothing reaches a tool by another way.

    resolve, validate, decide (plan.py) -> approve -> limits -> intent on record -> execute -> outcome on record

Every step of it is in this file or named in it. What a refused or failed call is told stands in `core.errors`; what is
written down stands in `core.record`. A call that needs a person is parked: what it waits for is on record, no coroutine
waits, and the run is started anew when the answer is there.
"""

from __future__ import annotations

import asyncio
import logging
import random
import socket
import traceback
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from ..core.call import MediaPart, TextPart, ToolCall, ToolResult
from ..core.errors import (
    ApprovalDenied,
    ApprovalExpired,
    CallCancelled,
    CallError,
    CallTimeout,
    InDoubt,
    ResourceLimit,
    ToolBug,
    Unavailable,
)
from ..core.event import CallFinished, CallProgress, CallStarted, Event, Pending
from ..core.interfaces import Clock, Context, Journal
from ..core.json import Json
from ..core.record import Asked, Intended, Refused, Settled, new_id
from .limit import Limits
from .plan import Plan, Terms, decide, same_arguments
from .recording import Place, Recording
from .resolve import Catalog
from .retry import delay

log = logging.getLogger("actum.call")


class Scope(Struct, kw_only=True):
    """The run that calls are made for.

    Attributes:
        run_id: its id.
        journal: where it is written down.
        clock: its time.
        recording: what was on record when it was taken up.
        began: when it was taken up, less the seconds it had already used.
        deps: the program's own object for tools.
        attachments: by handle.
        emit: whoever watches; None when nobody does.
    """

    run_id: str
    journal: Journal
    clock: Clock
    recording: Recording
    began: float
    deps: object = None
    attachments: dict[str, MediaPart] = {}
    emit: Callable[[Event], None] | None = None

    def elapsed(self) -> float:
        """Seconds that the run has taken, without the time it was paused."""
        return self.clock.now() - self.began


class CallPath:
    """Performs the calls of one run.

    Args:
        scope: the run.
        catalog: the tools it may use.
        terms: by what calls are judged.
        limits: how many run at a time, how long, how often.
    """

    def __init__(self, scope: Scope, catalog: Catalog, terms: Terms, limits: Limits) -> None:
        self.catalog = catalog
        self._scope = scope
        self._terms = terms
        self._limits = limits
        self._slots = asyncio.Semaphore(limits.parallel)
        self._progress = self._tell_progress if scope.emit is not None else None

    def polled(self, name: str) -> bool:
        """Whether the tool of this name is meant to be asked again and again with the same arguments."""
        bound = self.catalog.get(name)
        return bound is not None and bound.tool.polled

    async def perform_all(
        self, calls: Sequence[ToolCall], reply: int, refusals: Mapping[int, CallError]
    ) -> list[ToolResult | Pending]:
        """Perform the calls of one reply: side by side, but a tool declared sequential by itself. Results keep the
        order.

        Args:
            calls: what the model said.
            reply: number of the `Replied` entry that holds them.
            refusals: calls that the loop itself turns away, by index.
        """
        if len(calls) == 1:
            return [await self.perform(calls[0], Place(reply, 0), refusals.get(0))]
        tasks: list[asyncio.Task[ToolResult | Pending]] = []
        try:
            async with asyncio.TaskGroup() as group:
                for index, call in enumerate(calls):
                    bound = self.catalog.get(call.name)
                    alone = bound is not None and bound.tool.sequential
                    if alone and tasks:
                        await asyncio.wait(tasks)
                    tasks.append(group.create_task(self._in_slot(call, Place(reply, index), refusals.get(index))))
                    if alone:
                        await asyncio.wait(tasks)
        except BaseExceptionGroup as failed:  # not a call's failure, which is a result: the journal's, or a policy's
            raise failed.exceptions[0] from None
        return [task.result() for task in tasks]

    async def _in_slot(self, call: ToolCall, place: Place, refusal: CallError | None) -> ToolResult | Pending:
        async with self._slots:
            return await self.perform(call, place, refusal)

    async def perform(self, call: ToolCall, place: Place, refusal: CallError | None = None) -> ToolResult | Pending:
        """Take one call from request to record.

        Returns:
            The result, which may be a failure; or what the call waits for.
        """
        recording = self._scope.recording
        known = recording.outcome(place)
        if known is not None:
            return known[0]
        try:
            if refusal is not None:
                raise refusal
            plan = decide(call, place, self.catalog, self._terms)
            asked = self._standing_question(plan, place)
        except CallError as error:
            return self._refuse(call, place, error)
        if recording.in_doubt(place) and not plan.bound.tool.repeatable:
            return self._settle_doubt(plan, place)
        if asked is not None:
            return _pending(asked)
        if plan.bound.toolset is None:
            return self._hand_in(plan, place)
        return await self._execute(plan, place)

    def _standing_question(self, plan: Plan, place: Place) -> Asked | None:
        """What a person must answer before this plan may be carried out; None when nothing is in the way.

        Raises:
            ApprovalDenied: the answer was no.
            ApprovalExpired: the answer was given for other arguments, or another version of the tool.
        """
        kind = "approval" if plan.decision.verdict == "ask" else "result"
        if kind == "result" and plan.bound.toolset is not None:
            return None
        recording = self._scope.recording
        asked = recording.asked(place)
        if asked is None:
            return self._ask(plan, place)
        answer = recording.answers.get(asked.id)
        if answer is None:
            return asked
        if answer.verdict == "deny":
            raise ApprovalDenied(f"A person said no to this call. {answer.text}".rstrip())
        if asked.version != plan.bound.tool.digest or asked.call is None:
            raise ApprovalExpired("The tool has changed since this call was approved. It was not made.")
        if not same_arguments(asked.call.arguments, plan.call.arguments):
            raise ApprovalExpired("The approval was given for other arguments. The call was not made.")
        return None

    def _ask(self, plan: Plan, place: Place) -> Asked:
        """Put the question on record."""
        bare = plan.bound.toolset is None
        asked = Asked(
            id=new_id("ask"),
            kind="result" if bare else "approval",
            message=plan.decision.reason,
            reply=place.reply,
            index=place.index,
            call=plan.call,
            version=plan.bound.tool.digest,
            rule=plan.decision.rule,
        )
        self._scope.journal.append(self._scope.run_id, asked)
        self._scope.recording.ask(asked)
        return asked

    def _refuse(self, call: ToolCall, place: Place, error: CallError) -> ToolResult:
        """The call never reaches a tool; on record why."""
        result = ToolResult(call.id, error=error.failure())
        elapsed = self._scope.elapsed()
        self._scope.journal.append(self._scope.run_id, Refused(place.reply, place.index, result, elapsed))
        self._tell_finished(call, result, 0.0)
        return result

    def _settle_doubt(self, plan: Plan, place: Place) -> ToolResult:
        """An earlier process began this call and left no word: say so, and do not do it again."""
        error = InDoubt(
            "The program was interrupted during this call. It may or may not have happened; it was not repeated. "
            "Check its effect before you go on, and tell the user."
        )
        return self._settle(plan.call, place, ToolResult(plan.call.id, error=error.failure()), 0.0)

    def _hand_in(self, plan: Plan, place: Place) -> ToolResult:
        """The program carried out this call itself; its answer is the result."""
        asked = self._scope.recording.asked(place)
        answer = self._scope.recording.answers[asked.id] if asked is not None else None
        result = ToolResult(plan.call.id, (TextPart(answer.text if answer is not None else ""),))
        return self._settle(plan.call, place, result, 0.0)

    async def _execute(self, plan: Plan, place: Place) -> ToolResult:
        """Run the tool, an intent on record before each attempt and an outcome after it."""
        scope, tool = self._scope, plan.bound.tool
        attempt = scope.recording.attempts(place)
        if scope.emit is not None:
            scope.emit(CallStarted(plan.call, plan.repairs))
        began = scope.clock.now()
        while True:
            attempt += 1
            scope.journal.append(
                scope.run_id,
                Intended(
                    place.reply,
                    place.index,
                    attempt,
                    tool.name,
                    tool.digest,
                    plan.call.arguments,
                    plan.key,
                    plan.decision.rule,
                    plan.repairs,
                ),
            )
            if not tool.reads_only:
                await scope.journal.sync()
            result, error, detail = await self._attempt(plan, place, attempt)
            wait = None if error is None else delay(error, tool, attempt, self._limits.attempts, random.random())
            if wait is None:
                return self._settle(plan.call, place, result, scope.clock.now() - began, detail)
            self._settle(plan.call, place, result, scope.clock.now() - began, detail, final=False)
            await scope.clock.sleep(wait)

    async def _attempt(self, plan: Plan, place: Place, attempt: int) -> tuple[ToolResult, CallError | None, str]:
        """One attempt: its result, the error it failed by, and a detail for the record."""
        scope, tool, call = self._scope, plan.bound.tool, plan.call
        assert plan.bound.toolset is not None
        context = Context(
            run_id=scope.run_id,
            call=call,
            key=plan.key,
            attempt=attempt,
            principal=self._terms.principal,
            deps=scope.deps,
            attachments=scope.attachments,
            progress=self._progress,
        )
        seconds = tool.timeout_s if tool.timeout_s is not None else self._limits.call_seconds
        detail = ""
        try:
            async with scope.clock.timeout(seconds):
                return await plan.bound.toolset.execute(call, context), None, ""
        except CallError as known:
            error = known
        except asyncio.CancelledError:
            error = CallCancelled("The run was cancelled during this call.", effect="none" if tool.reads_only else None)
            self._settle(call, place, ToolResult(call.id, error=error.failure()), 0.0)
            raise
        except TimeoutError:
            error = CallTimeout(f"No answer within {seconds} seconds; it may have happened all the same.")
        except Exception as bug:  # the one place that hears of a tool's own exceptions: the record and the log
            error, detail = _translate(bug), _where(bug)
            log.error("tool %s failed: %s (%s)", tool.name, detail, error.reference)
            log.debug("tool %s failed (%s)", tool.name, error.reference, exc_info=bug)
        if tool.reads_only and error.effect == "unknown":
            error.effect = "none"
        return ToolResult(call.id, error=error.failure()), error, detail

    def _settle(
        self, call: ToolCall, place: Place, result: ToolResult, seconds: float, detail: str = "", *, final: bool = True
    ) -> ToolResult:
        """Write down how an attempt ended."""
        elapsed = self._scope.elapsed()
        self._scope.journal.append(
            self._scope.run_id, Settled(place.reply, place.index, result, seconds, elapsed, detail, final)
        )
        if final:
            self._tell_finished(call, result, seconds)
        return result

    def _tell_finished(self, call: ToolCall, result: ToolResult, seconds: float) -> None:
        if self._scope.emit is not None:
            self._scope.emit(CallFinished(call, result, seconds))

    def _tell_progress(self, call: ToolCall, value: Json) -> None:
        if self._scope.emit is not None:
            self._scope.emit(CallProgress(call.id, value))


def _pending(asked: Asked) -> Pending:
    return Pending(asked.id, asked.kind, asked.message, asked.call)


def _translate(bug: Exception) -> CallError:
    """What an exception of a tool's code means to us. Its own words stay out: they may hold paths and secrets."""
    reference = new_id("ref")
    match bug:
        case (
            ConnectionRefusedError() | socket.gaierror()
        ):  # this one connection; what the tool did before, nobody knows
            return Unavailable("The tool's service can not be reached.", reference=reference, effect="unknown")
        case ConnectionError():
            return CallTimeout("The connection was lost; it may have happened all the same.", reference=reference)
        case MemoryError():
            return ResourceLimit("The tool ran out of memory.", reference=reference)
        case _:
            return ToolBug(f"The tool failed by an internal error (reference {reference}).", reference=reference)


def _where(bug: Exception) -> str:
    """The exception's class and the innermost line of code, without its message."""
    frames = traceback.extract_tb(bug.__traceback__)
    place = f" at {frames[-1].filename}:{frames[-1].lineno} in {frames[-1].name}" if frames else ""
    return f"{type(bug).__name__}{place}"
