"""The one path from a call to its result. Nothing reaches a tool by another way.

    resolve, validate, decide (plan.py) -> approve -> limits -> intent on record -> execute -> outcome on record

A call that an earlier process began, and of which it left no word, is *in doubt*: a tool that may be repeated runs
again with the same key, one that can look whether it happened is asked, every other waits for a person.

Every step of it is in this file or named in it. What a refused or failed call is told stands in `core.errors`; what is
written down stands in `core.record`. A call that needs a person is parked: what it waits for is on record, no coroutine
waits, and the run is started anew when the answer is there.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import logging
import random
import socket
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec import UNSET, Struct

from ..core.call import Effect, MediaPart, TextPart, ToolCall, ToolResult
from ..core.errors import (
    ApprovalDenied,
    ApprovalExpired,
    CallCancelled,
    CallError,
    CallTimeout,
    InDoubt,
    InvalidResult,
    ResourceLimit,
    ToolBug,
    Unavailable,
    tell_problem,
)
from ..core.event import CallFinished, CallProgress, CallStarted, Event, Pending
from ..core.interfaces import Clock, Context, Decision, Found, Journal, Probing, Toolset, Waiting
from ..core.json import Json, JsonObject, dumps
from ..core.message import Message
from ..core.provenance import Origins
from ..core.record import Asked, Intended, Refused, Settled, new_id
from ..core.redaction import DEFAULT_REDACTION, Redaction
from ..core.tool import Tool
from .approve import pending_of
from .breaker import Breakers
from .limit import Limits
from .origin import OriginIndex
from .plan import Plan, Terms, decide, same_arguments
from .recording import Place, Recording
from .resolve import Catalog
from .retry import delay

log = logging.getLogger("actum.call")

_DOUBT = "The program was interrupted during this call. It may or may not have happened. Did it?"
_WAS_DONE = "This call was made; what it returned is not known."
_WAS_NOT_DONE = "The program was interrupted before this call happened. It was not made."
_NOBODY_KNOWS = (
    "The program was interrupted during this call. It may or may not have happened; it was not repeated. "
    "Check its effect before you go on, and tell the user."
)


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
        secrets: that tools may ask for.
        redaction: what is kept out of results.
        told: the secrets that tools were given in this run.
        heard: the conversation, to look up where an argument came from.
    """

    run_id: str
    journal: Journal
    clock: Clock
    recording: Recording
    began: float
    deps: object = None
    attachments: dict[str, MediaPart] = {}
    emit: Callable[[Event], None] | None = None
    secrets: Mapping[str, str] = {}
    redaction: Redaction = DEFAULT_REDACTION
    told: set[str] = msgspec.field(default_factory=set)
    heard: Sequence[Message] = ()

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
        breakers: of the agent's tools, shared by its runs.
    """

    def __init__(
        self, scope: Scope, catalog: Catalog, terms: Terms, limits: Limits, breakers: Breakers | None = None
    ) -> None:
        self.catalog = catalog
        self._breakers = breakers or Breakers(limits.failures, limits.rest_seconds)
        self._scope = scope
        self._terms = terms
        self._limits = limits
        self._origins = OriginIndex(scope.heard, self._trusted)
        self._slots = asyncio.Semaphore(limits.parallel)
        self._progress = self._tell_progress if scope.emit is not None else None
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    def polled(self, name: str) -> bool:
        """Whether the tool of this name is meant to be asked again and again with the same arguments."""
        bound = self.catalog.get(name)
        return bound is not None and bound.tool.polled

    def _trusted(self, name: str) -> tuple[str, ...]:
        """Which fields of the results of the tool of this name are declared to be trusted; of a foreign one, none."""
        bound = self.catalog.get(name)
        return bound.tool.trusted if bound is not None and not bound.tool.foreign else ()

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
        tasks: dict[int, asyncio.Task[ToolResult | Pending]] = {}
        results: dict[int, ToolResult | Pending] = {}
        parked: Pending | None = None
        try:
            async with asyncio.TaskGroup() as group:
                for index, call in enumerate(calls):
                    place, refusal = Place(reply, index), refusals.get(index)
                    if not self._is_sequential(call.name):
                        tasks[index] = group.create_task(self._in_slot(call, place, refusal))
                        continue
                    if tasks:
                        await asyncio.wait(tasks.values())
                    results[index] = parked or await self.perform(call, place, refusal)
                    parked = next((each for each in [results[index]] if isinstance(each, Pending)), None)
        except BaseExceptionGroup as failed:  # not a call's failure, which is a result: the journal's, or a policy's
            raise failed.exceptions[0] from None
        results |= {index: task.result() for index, task in tasks.items()}
        return [results[index] for index in range(len(calls))]

    def _is_sequential(self, name: str) -> bool:
        bound = self.catalog.get(name)
        return bound is not None and bound.tool.sequential

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
        doubtful = recording.in_doubt(place)
        try:
            if refusal is not None:
                raise refusal
            plan = self._plan(call, place)
            if doubtful and not plan.bound.tool.repeatable:
                cleared = await self._clear_up(call, place, plan)
                if cleared is not None:
                    return cleared
            asked = self._standing_question(plan, place)
            if asked is None:
                self._breakers.check(plan.bound.tool.name, self._scope.clock.now())
        except CallError as error:
            cleared = await self._clear_up(call, place, None) if doubtful else None
            return cleared or self._refuse(call, place, error)
        if asked is not None:
            return pending_of(asked)
        if plan.bound.toolset is None:
            return self._hand_in(plan, place)
        return await self._execute(plan, plan.bound.toolset, place)

    def _plan(self, call: ToolCall, place: Place) -> Plan:
        """The call as it would be made now: with the arguments that a person put in, and under what they granted."""
        recording, said = self._scope.recording, call
        asked = recording.asked(place)
        arguments = recording.edited(asked)
        if arguments is not None:
            call = msgspec.structs.replace(call, arguments=arguments, raw="", complete=True, repairs=())
        plan = decide(call, place, self.catalog, self._terms)
        if arguments is not None:
            plan = msgspec.structs.replace(plan, said=said, edited=True)
        if plan.decision.verdict == "ask" and asked is None:
            now = self._scope.clock.now()
            grant = recording.granted(plan.bound.tool, plan.call.arguments, plan.decision.rule, now)
            if grant is not None:
                plan = msgspec.structs.replace(plan, decision=Decision("allow", f"approved for this run: {grant.id}"))
        return plan

    def _standing_question(self, plan: Plan, place: Place) -> Asked | None:
        """What a person must answer before this plan may be carried out; None when nothing is in the way.

        Raises:
            ApprovalDenied: the answer was no.
            ApprovalExpired: there was none in time, or it was given for other arguments.
        """
        asked = self._scope.recording.asked(place)
        answer = self._scope.recording.answers.get(asked.id) if asked is not None else None
        if answer is not None and answer.verdict == "deny":
            raise ApprovalDenied(f"A person said no to this call. {answer.text}".rstrip())
        if asked is not None and 0 < asked.expires < self._scope.clock.now():
            late = "came too late" if answer is None else "has run out"
            raise ApprovalExpired(f"The approval of this call {late}. The call was not made.")
        if asked is not None and asked.version != plan.bound.tool.digest:
            return self._ask(plan, place, "The tool has changed since this was asked. ")
        if asked is not None and answer is None:
            return asked
        if plan.decision.verdict == "allow" and plan.bound.toolset is not None:
            return None
        if asked is None or answer is None:
            return self._ask(plan, place)
        if asked.kind == "approval" and answer.verdict != "approve":
            raise ApprovalDenied("A person was asked about this call and did not say yes.")
        if answer.arguments is not None and plan.decision.rule != asked.rule:
            return self._ask(plan, place, "The arguments were changed. ")
        if answer.arguments is None and (
            asked.call is None or not same_arguments(asked.call.arguments, plan.call.arguments)
        ):
            raise ApprovalExpired("The approval was given for other arguments. The call was not made.")
        if plan.bound.toolset is None and asked.kind == "approval":  # a yes is no result: the program is to make it now
            return self._ask(msgspec.structs.replace(plan, decision=Decision("allow", plan.decision.rule)), place)
        return None

    def _ask(self, plan: Plan, place: Place, note: str = "") -> Asked:
        """Put the question on record."""
        asked = Asked(
            id=new_id("ask"),
            kind="approval" if plan.decision.verdict == "ask" else "result",
            message=note + plan.decision.reason,
            reply=place.reply,
            index=place.index,
            call=plan.call,
            version=plan.bound.tool.digest,
            rule=plan.decision.rule,
            origins=self._origins_of(plan.call),
            approvers=plan.decision.approvers,
            needs=plan.decision.quorum,
            expires=self._expiry(plan.decision),
            edited=plan.edited,
        )
        self._write_question(asked)
        return asked

    def _expiry(self, decision: Decision) -> float:
        """When an answer would come too late, in seconds since 1970; 0 for never."""
        seconds = decision.expires_s if decision.expires_s is not None else self._limits.approval_seconds
        return 0.0 if seconds is None else self._scope.clock.now() + seconds

    def _write_question(self, asked: Asked) -> None:
        self._scope.journal.append(self._scope.run_id, asked)
        self._scope.recording.note_question(asked)

    def _refuse(self, call: ToolCall, place: Place, error: CallError) -> ToolResult:
        """The call never reaches a tool; on record why."""
        result = ToolResult(call.id, error=error.failure())
        refused = Refused(place.reply, place.index, result, self._scope.elapsed(), error.rule)
        self._scope.journal.append(self._scope.run_id, refused)
        self._scope.recording.note_outcome(place, refused)
        self._tell_finished(call, result, 0.0)
        return result

    async def _clear_up(self, call: ToolCall, place: Place, plan: Plan | None) -> ToolResult | Pending | None:
        """An earlier process began this call and left no word of how it ended: find out, and do not just repeat it.

        Args:
            plan: None when the call would not be made now; a person can still say what became of it.

        Returns:
            What it came to, or whom it waits for; None when it did not happen, or a person wants it made again.
        """
        asked = self._scope.recording.doubt(place)
        answer = self._scope.recording.answers.get(asked.id) if asked is not None else None
        if answer is None and plan is not None and plan.bound.tool.probed:
            found = await self._probe(plan, place)
            if found.status == "done":
                result = found.result or ToolResult(call.id, (TextPart(_WAS_DONE),))
                return self._settle(call, place, msgspec.structs.replace(result, call_id=call.id), 0.0, "probed")
            if found.status == "not_done":
                return None
        if answer is None:
            return pending_of(asked or self._ask_doubt(plan.call if plan is not None else call, place))
        if answer.verdict == "retry" and plan is not None:
            return None
        if answer.verdict == "done":
            result = ToolResult(call.id, (TextPart(answer.text or _WAS_DONE),))
        else:
            effect: Effect = "none" if answer.verdict == "not_done" else "unknown"
            words = _WAS_NOT_DONE if effect == "none" else _NOBODY_KNOWS
            result = ToolResult(call.id, error=InDoubt(f"{words} {answer.text}".rstrip(), effect=effect).failure())
        return self._settle(call, place, result, 0.0, f"by {answer.by}")

    def _ask_doubt(self, call: ToolCall, place: Place) -> Asked:
        """Only a person can say what became of it."""
        asked = Asked(new_id("ask"), "doubt", _DOUBT, place.reply, place.index, call, origins=self._origins_of(call))
        self._write_question(asked)
        return asked

    async def _probe(self, plan: Plan, place: Place) -> Found:
        """Have the toolset look. What goes wrong there tells nothing about the call."""
        toolset, tool = plan.bound.toolset, plan.bound.tool
        if not isinstance(toolset, Probing):
            return Found("unknown")
        context = self._context(plan, self._scope.recording.attempts(place))
        try:
            async with self._scope.clock.timeout(self._seconds(tool)):
                found = await toolset.probe(plan.call, context)
        except Exception as error:  # noqa: BLE001 - a tool's own code; the log hears of it, the call stays in doubt
            log.error("the probe of tool %s failed: %s", tool.name, _where(error))
            return Found("unknown")
        finally:
            context.close()
        return found if isinstance(found, Found) else Found("unknown")

    def _hand_in(self, plan: Plan, place: Place) -> ToolResult:
        """The program carried out this call itself; its answer is the result."""
        asked = self._scope.recording.asked(place)
        answer = self._scope.recording.answers[asked.id] if asked is not None else None
        result = ToolResult(plan.said.id, (TextPart(answer.text if answer is not None else ""),))
        return self._settle(plan.said, place, result, 0.0)

    async def _execute(self, plan: Plan, toolset: Toolset, place: Place) -> ToolResult | Pending:
        """Run the tool, an intent on record before each attempt and an outcome after it."""
        scope, tool = self._scope, plan.bound.tool
        attempt = scope.recording.attempts(place)
        if scope.emit is not None:
            scope.emit(CallStarted(plan.call, plan.repairs))
        began = scope.clock.now()
        while True:
            attempt += 1
            await self._intend(plan, place, attempt)
            try:
                result, error, detail = await self._attempt(plan, toolset, place, attempt)
            except Waiting as waiting:
                return self._wait_with(waiting, place)
            if error is not None and error.effect == "unknown" and tool.probed:
                result, error = await self._looked_up(plan, place, result, error)
            self._breakers.note(tool.name, error, scope.clock.now())
            if plan.edited:
                result = _with_note(result, plan.call)
            wait = None if error is None else delay(error, tool, attempt, self._limits.attempts, random.random())
            seconds = scope.clock.now() - began
            result = self._settle(plan.said, place, result, seconds, detail, final=wait is None)
            if wait is None:
                return result
            try:
                await scope.clock.sleep(wait)
            except asyncio.CancelledError:
                assert error is not None
                self._settle_cancelled(plan, place, error.effect)
                raise

    async def _looked_up(
        self, plan: Plan, place: Place, result: ToolResult, error: CallError
    ) -> tuple[ToolResult, CallError | None]:
        """An attempt that failed without a word of what it did, once its toolset has looked."""
        found = await self._probe(plan, place)
        if found.status == "done":
            known = found.result or ToolResult("", (TextPart(_WAS_DONE),))
            return msgspec.structs.replace(known, call_id=result.call_id, error=None), None
        if found.status == "not_done":
            error.effect = "none"
            result = ToolResult(result.call_id, error=error.failure())
        return result, error

    async def _intend(self, plan: Plan, place: Place, attempt: int) -> None:
        """The intent of an attempt, on disk before a tool that may change anything starts."""
        scope, tool = self._scope, plan.bound.tool
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
                {} if tool.reads_only else self._origins_of(plan.call),
            ),
        )
        scope.recording.note_attempt(place, attempt)
        if not tool.reads_only:
            await scope.journal.sync(scope.run_id)

    def _wait_with(self, waiting: Waiting, place: Place) -> Pending:
        """The tool's work waits for a person elsewhere: so does this call, on record."""
        pending = waiting.pending
        if pending.id not in {asked.id for asked in self._scope.recording.waiting()}:
            self._write_question(
                Asked(
                    id=pending.id,
                    kind=pending.kind,
                    message=pending.message,
                    reply=place.reply,
                    index=place.index,
                    call=pending.call,
                    run=waiting.run_id,
                    origins=pending.origins,
                    approvers=pending.approvers,
                    needs=pending.needs,
                    expires=pending.expires,
                )
            )
        return pending

    async def _attempt(
        self, plan: Plan, toolset: Toolset, place: Place, attempt: int
    ) -> tuple[ToolResult, CallError | None, str]:
        """One attempt: its result, the error it failed by, and a detail for the record."""
        scope, tool = self._scope, plan.bound.tool
        context = self._context(plan, attempt)
        limit = scope.clock.timeout(self._seconds(tool))
        detail = ""
        error: CallError
        try:
            async with limit:
                result = _checked(await toolset.execute(context.call, context), plan)
            return result, None, ""
        except CallError as known:
            error = known
        except Waiting:
            raise
        except TimeoutError:
            what = "No answer in time" if limit.expired() else "The tool waited in vain for something"
            error = CallTimeout(f"{what}; it may have happened all the same.")
        except asyncio.CancelledError as cancelled:
            if _is_being_cancelled():
                self._settle_cancelled(plan, place, "none" if tool.reads_only else "unknown")
                raise
            error, detail = _translate(cancelled), _where(cancelled)
        except Exception as bug:  # the one place that hears of a tool's own: the record and the log do
            error, detail = _translate(bug), _where(bug)
            log.error("tool %s failed: %s (%s)", tool.name, detail, error.reference)
            log.debug("tool %s failed (%s)", tool.name, error.reference, exc_info=bug)
        finally:
            context.close()
        if tool.reads_only and error.effect == "unknown":
            error.effect = "none"
        return ToolResult(plan.said.id, error=error.failure()), error, detail

    def _origins_of(self, call: ToolCall) -> Origins:
        return self._origins.of(call.arguments)

    def _context(self, plan: Plan, attempt: int) -> Context:
        return Context(
            run_id=self._scope.run_id,
            call=msgspec.structs.replace(plan.call, arguments=_own(plan.call.arguments)),
            key=plan.key,
            attempt=attempt,
            principal=self._terms.principal,
            deps=self._scope.deps,
            attachments=self._scope.attachments,
            answers=self._scope.recording.answers,
            progress=self._progress,
            secrets=self._scope.secrets,
            told=self._scope.told,
        )

    def _seconds(self, tool: Tool) -> float | None:
        """How long one attempt may take."""
        return tool.timeout_s if tool.timeout_s is not None else self._limits.call_seconds

    def _settle_cancelled(self, plan: Plan, place: Place, effect: Effect) -> None:
        """The attempt is over and the call is not: what may have changed something is in doubt if the run goes on."""
        error = CallCancelled("The run was cancelled during this call.", effect=effect)
        result = self._settle(plan.said, place, ToolResult(plan.said.id, error=error.failure()), 0.0, final=False)
        self._tell_finished(plan.call, result, 0.0)

    def _settle(
        self, call: ToolCall, place: Place, result: ToolResult, seconds: float, detail: str = "", *, final: bool = True
    ) -> ToolResult:
        """Write down how an attempt ended, without secrets. What the journal can not hold is no result."""
        result = self._scope.redaction.clean(result, self._scope.told)
        settled = Settled(place.reply, place.index, result, seconds, self._scope.elapsed(), detail, final)
        try:
            self._scope.journal.append(self._scope.run_id, settled)
        except (TypeError, ValueError, RecursionError):
            error = InvalidResult("The tool returned something that is no value.").failure()
            settled = msgspec.structs.replace(settled, result=ToolResult(call.id, error=error))
            self._scope.journal.append(self._scope.run_id, settled)
        self._scope.recording.note_outcome(place, settled)
        if final:
            self._tell_finished(call, settled.result, seconds)
        return settled.result

    def _tell_finished(self, call: ToolCall, result: ToolResult, seconds: float) -> None:
        if self._scope.emit is not None:
            self._scope.emit(CallFinished(call, result, seconds))

    def _tell_progress(self, context: Context, value: Json) -> None:
        """Pass progress on, from whichever thread it is told."""
        if threading.get_ident() == self._thread:
            self._deliver(context, value)
        else:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody hears
                self._loop.call_soon_threadsafe(self._deliver, context, value)

    def _deliver(self, context: Context, value: Json) -> None:
        if self._scope.emit is not None and not context.is_over:
            self._scope.emit(CallProgress(context.call.id, self._scope.redaction.value(value, self._scope.told)))


def _is_being_cancelled() -> bool:
    """Somebody cancels this task; else the cancellation is a tool's own doing."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _own(arguments: JsonObject) -> JsonObject:
    """A copy for the tool to do with as it likes: what is on record and what another attempt gets stays as it is."""
    if any(isinstance(value, list | dict) for value in arguments.values()):
        return copy.deepcopy(arguments)
    return dict(arguments)


def _checked(result: ToolResult, plan: Plan) -> ToolResult:
    """The result of this call, as the tool's own schema of results has it.

    Raises:
        InvalidResult: it is none.
    """
    if not isinstance(result, ToolResult):
        raise InvalidResult("The tool returned something that is no result.")
    if result.call_id != plan.said.id:
        result = msgspec.structs.replace(result, call_id=plan.said.id)
    schema = plan.bound.result
    if schema is not None and result.structured is not UNSET and result.error is None:
        problems = schema.problems(result.structured)
        if problems:
            raise InvalidResult(f"The tool returned what it did not promise: {tell_problem(problems[0])}")
    return result


def _with_note(result: ToolResult, call: ToolCall) -> ToolResult:
    """The model hears with which arguments a person had its call made."""
    if result.error is not None:
        return result
    note = TextPart(f"A person changed the arguments of this call before it was made: {dumps(call.arguments)}")
    content = result.content or (TextPart(result.text),)
    return msgspec.structs.replace(result, content=(note, *content))


def _translate(bug: BaseException) -> CallError:
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


def _where(bug: BaseException) -> str:
    """The exception's class and the innermost line of code, without its message."""
    frames = traceback.extract_tb(bug.__traceback__)
    place = f" at {frames[-1].filename}:{frames[-1].lineno} in {frames[-1].name}" if frames else ""
    return f"{type(bug).__name__}{place}"
