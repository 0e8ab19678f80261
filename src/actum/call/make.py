"""Makes calls that may be made: the intent on record, the tool's own code within its limits, the outcome on record.

Checks that rules require, and probes of calls that are in doubt, run the same way and leave no intent.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import threading
from collections.abc import Callable
from functools import partial

import msgspec
from msgspec import UNSET

from ..core.budget import NOTHING
from ..core.call import TEXTLESS, Effect, TextPart, ToolCall, ToolResult, size_of
from ..core.cancellation import Waiting, begin, cancellable, finish
from ..core.errors import (
    CallCancelled,
    CallError,
    CallTimeout,
    FeatureMissing,
    InvalidArguments,
    ResourceLimit,
    ToolError,
    Unavailable,
)
from ..core.event import CallFinished, CallProgress, CallStarted, Event
from ..core.interfaces import Context, InputRequired, ProbeResult, Probing, Toolset
from ..core.json import Json
from ..core.policy import Ancestor, Facts, Requirement, shows_none
from ..core.process.loop_mailbox import LoopMailbox
from ..core.process.process_limits import NO_PROCESS_LIMITS
from ..core.process.worker_thread import LARGE, off_loop
from ..core.run.pending import Pending
from ..core.run.record import CallCompleted, CallParked, CallRefused, InputRequested, Intended
from ..core.secret_values import shown_problems
from ..core.secrets.given import of_this_call
from ..core.secrets.redaction import WORK, Redaction
from ..core.told_value import sound
from ..core.under_way import inside
from ..journal.excerpt import ResultReader, to_show
from ..journal.recording import CallRef, CallStanding
from ..policy.labels import Labelling
from ..policy.outside import has_foreign_text
from .asking.asker import LiveApprover
from .asking.inquiry import LiveToolRequests
from .call_origins import CallOrigins
from .limits.attempt_limit import AttemptLimit
from .limits.breaker import Breakers
from .limits.limits import Limits
from .limits.retry import delay
from .noting import NoteWriter
from .outcome import WAS_DONE, checked, copy_arguments, raise_waiting, translate, where, with_note
from .plan import Plan, PolicyInputs, check_of
from .resolve import Catalog
from .run_defence import RunDefence
from .scope import RunContext

log = logging.getLogger("actum.call")

_UNSOUND = (TypeError, ValueError, AttributeError, RecursionError)
"""Raised by whatever reads a result into which its tool put what JSON can't hold."""
_NOT_JAILED = "The tool {} runs in no jail, and the operator limits it by ToolLimits({}), which only a jail can hold."


class CallMaker:
    """Makes the calls of one run.

    Args:
        scope: the run.
        terms: the policies and facts by which calls are judged.
        limits: how long an attempt may take, and how many there are.
        catalog: the tools of the run.
        asker: whom a running tool may ask.
        origins: tells where arguments came from.
        defence: the defence of the run.
        breakers: keep calls from tools that rest, and hear how calls end.

    Attributes:
        catalog: the tools of the run as they are now.
    """

    def __init__(
        self,
        scope: RunContext,
        terms: PolicyInputs,
        limits: Limits,
        catalog: Catalog,
        asker: LiveApprover,
        origins: CallOrigins,
        defence: RunDefence,
        breakers: Breakers,
    ) -> None:
        self.catalog = catalog
        self._scope = scope
        self._terms = terms
        self._limits = limits
        self._asker = asker
        self._origins = origins
        self._defence = defence
        self._breakers = breakers
        self._outside: dict[CallRef, tuple[str, ...]] = {}
        self._told_outside: set[str] = set()
        self._brought: set[CallRef] = set()
        self._labels_seen: dict[CallRef, tuple[str, ...]] = {}
        self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()
        self._notes = NoteWriter(scope)

    async def make(self, plan: Plan, standing: CallStanding) -> ToolResult | Pending:
        """Run the tool, an intent on record before each attempt and an outcome after it.

        Raises:
            Unavailable: the tool rests; it was not run.
        """
        scope, tool, toolset = self._scope, plan.bound.tool, plan.bound.toolset
        assert toolset is not None
        began, tenant = scope.clock.monotonic(), self._terms.facts.tenant
        self._breakers.check(plan.meant or tool.name, began, tenant)
        place, attempt = standing.place, standing.attempts
        if attempt:
            scope.budget.know(plan.key, scope.recording.used_by(place))
        if scope.emit is not None:
            scope.emit(CallStarted(plan.shown, plan.repairs))
        while True:
            attempt += 1
            await self._intend(plan, place, attempt)
            try:
                result, error, detail = await self._attempt(plan, toolset, standing, attempt)
            except InputRequired as waiting:
                return self._park(waiting, plan, place)
            if error is not None and error.effect == "unknown" and tool.probed:
                result, error = await self._looked_up(plan, attempt, result, error)
            now = scope.clock.monotonic()
            self._breakers.note(plan.meant or tool.name, error, now, tenant)
            if plan.edited:
                result = with_note(result, plan.shown)
            wait = None if error is None else delay(error, tool, attempt, self._limits.attempts, random.random())
            took, final = now - began, wait is None
            result = await self.settled(plan.said, place, result, took, detail, final=final, plan=plan)
            if wait is None:
                return result
            try:
                await scope.clock.sleep(wait)
            except asyncio.CancelledError:
                assert error is not None
                self._settle_cancelled(plan, place, error.effect)
                raise

    async def _looked_up(
        self, plan: Plan, attempt: int, result: ToolResult, error: CallError
    ) -> tuple[ToolResult, CallError | None]:
        """An attempt that failed without a word of what it did, once its toolset has looked."""
        found = await self.probe(plan, attempt)
        if found.status == "done":
            known = found.result or ToolResult("", (TextPart(WAS_DONE),))
            return msgspec.structs.replace(known, call_id=result.call_id, error=None), None
        if found.status == "not_done":
            error.effect = "none"
            result = ToolResult(result.call_id, error=error.failure())
        return result, error

    async def _intend(self, plan: Plan, place: CallRef, attempt: int) -> None:
        """The intent of an attempt, on disk before a tool that may change anything starts."""
        scope, tool = self._scope, plan.bound.tool
        origins = {} if tool.reads_only else self._origins.of(place)(plan.call.arguments)
        made = (tool.name, tool.digest, plan.shown.arguments, plan.key, plan.decision.rule, plan.repairs)
        scope.write(Intended(place.cause, place.index, attempt, *made, origins, tool.unjailed))
        if not tool.reads_only:
            await scope.journal.sync(scope.run_id)

    async def _attempt(
        self, plan: Plan, toolset: Toolset, standing: CallStanding | None, attempt: int
    ) -> tuple[ToolResult, CallError | None, str]:
        """One attempt: its result, the error that it failed with, and a detail for the record.

        Args:
            standing: None for a check; a cancelled check is not written down.
        """
        scope, tool = self._scope, plan.bound.tool
        place = standing.place if standing is not None else None
        limit = AttemptLimit(scope.clock, self._seconds(plan))
        context = self._context(plan, attempt, standing, limit)
        detail = ""
        error: CallError
        known_before = of_this_call.set(scope.told)
        begun: ToolResult | Waiting[ToolResult] | None = None
        try:
            limits = context.process_limits
            if limits is not NO_PROCESS_LIMITS and limits.given and not tool.jailed:
                raise Unavailable(_NOT_JAILED.format(tool.name, ", ".join(limits.given)))
            begun = begin(toolset.execute(context.call, context), inside(context))
            if not isinstance(begun, Waiting):  # there is nothing that a time limit could end
                return checked(begun, plan), None, ""
            async with limit:
                grace = None if getattr(toolset, "ends_when_cancelled", False) else scope.clock
                return checked(await finish(begun, grace, tool.name), plan), None, ""
        except CallError as known:
            error = self._told_of(plan.call, known)
        except (InputRequired, FeatureMissing):  # a run below that can not go on here: nor can this one
            raise
        except TimeoutError:
            what = "No answer in time" if limit.expired else "The tool waited in vain for something"
            error = CallTimeout("{what}; it may have happened all the same.", what=what)
        except asyncio.CancelledError as cancelled:
            if self._asker.cancelled or (isinstance(begun, Waiting) and begun.is_unwanted):
                if place is None:
                    raise
                self._settle_cancelled(plan, place, "none" if tool.reads_only else "unknown")
                raise
            error, detail = translate(cancelled), where(cancelled)
        except Exception as bug:  # the one place that hears of a tool's own: the record and the log do
            raise_waiting(bug)
            error, detail = translate(bug), where(bug)
            log.error("tool %s failed: %s (%s)", tool.name, detail, error.reference)
            log.debug("tool %s failed (%s)", tool.name, error.reference, exc_info=bug)
        finally:
            of_this_call.reset(known_before)
            context.close()
            if context.brought or context.opened_outside or context.labels_seen:
                self._take_from(context, place)
        if tool.reads_only and error.effect == "unknown":
            error.effect = "none"
        return ToolResult(plan.said.id, error.files, error=error.failure()), error, detail

    def _take_from(self, context: Context, place: CallRef | None) -> None:
        """Keep what the code of an attempt has left for the record of its outcome; a check has none."""
        if place is None:
            return
        if context.brought:
            self._brought.add(place)
        if context.labels_seen:
            self._labels_seen[place] = tuple(sorted(context.labels_seen))
        if context.opened_outside:
            self._outside[place] = tuple(path for path in context.opened_outside if path not in self._told_outside)
            self._told_outside.update(context.opened_outside)

    def _context(
        self, plan: Plan, attempt: int, standing: CallStanding | None = None, limit: AttemptLimit | None = None
    ) -> Context:
        """What the tool may know and do; a check, or a probe, asks nobody anything and notes nothing."""
        scope, facts = self._scope, self._terms.facts
        asks = None
        if standing is not None and limit is not None:
            place, tool = standing.place, plan.bound.tool
            asks = LiveToolRequests(
                scope=scope, asker=self._asker, call=plan.shown, tool=tool, place=place, key=plan.key, limit=limit
            )
        return Context(
            run_id=scope.run_id,
            call=msgspec.structs.replace(plan.call, arguments=copy_arguments(plan.call.arguments)),
            key=plan.key,
            attempt=attempt,
            principal=facts.principal,
            tenant=facts.tenant,
            roles=facts.roles,
            key_id=facts.key_id,
            deps=scope.deps,
            attachments=scope.attachments,
            answers=scope.recording.answers,
            progress=self._told_by_tool(),
            secrets=scope.secrets,
            told=scope.told,
            budget=scope.budget,
            inquiry=asks,
            state=(standing.state or "") if standing is not None else "",
            peer=scope.peer,
            journal=scope.journal,
            trace=scope.trace,
            lineage=self._lineage,
            holder=scope.holder,
            process_limits=self._limits.processes_of(*plan.names),
            note=partial(self._notes.note, standing.place) if standing is not None else None,
            emit=self._tell_from_below if scope.emit is not None else None,
            heard=scope.heard,
        )

    def _seconds(self, plan: Plan) -> float | None:
        """How long one attempt may take."""
        return self._limits.seconds_of(plan.bound.tool.timeout_s, *plan.names)

    def _park(self, waiting: InputRequired, plan: Plan, place: CallRef) -> Pending:
        """The tool can not go on without an answer: its call waits for it, on record with what it used. A call that may
        be repeated, and waits for the run that it began, is simply made again.
        """
        pending = waiting.pending
        if not (waiting.run_id and plan.bound.tool.repeatable):
            self._scope.write(CallParked(place.cause, place.index, waiting.state, self._scope.budget.used_by(plan.key)))
        if pending.id not in {asked.id for asked in self._scope.recording.waiting()}:
            self._scope.write(InputRequested(pending, place.cause, place.index, run=waiting.run_id))
        return pending

    def _settle_cancelled(self, plan: Plan, place: CallRef, effect: Effect) -> None:
        """The attempt is over and the call is not: what may have changed something is in doubt if the run goes on."""
        error = CallCancelled("The run was cancelled during this call.", effect=effect)
        failed = ToolResult(plan.said.id, error=error.failure())
        result = self.settle(plan.said, place, failed, 0.0, final=False, plan=plan)
        self._tell(plan.call, result, 0.0, place)

    async def probe(self, plan: Plan, attempt: int) -> ProbeResult:
        """Have the toolset look what became of an attempt. What goes wrong there tells nothing about the call."""
        toolset, tool = plan.bound.toolset, plan.bound.tool
        if not isinstance(toolset, Probing):
            return ProbeResult("unknown")
        context = self._context(plan, attempt)
        try:
            async with self._scope.clock.timeout(self._seconds(plan)):
                look = toolset.probe(plan.call, context)
                found = await cancellable(look, self._scope.clock, tool.name, inside(context))
        except Exception as error:  # noqa: BLE001 - a tool's own code; the log hears of it, the call stays in doubt
            log.error("the probe of tool %s failed: %s", tool.name, where(error))
            return ProbeResult("unknown")
        finally:
            context.close()
        return found if isinstance(found, ProbeResult) else ProbeResult("unknown")

    async def look_up(self, requirement: Requirement, rule: str, key: str) -> tuple[ToolResult, str]:
        """Make a check with the tools of this run, for a call of this run or of a run below; see `Ancestor`."""
        if asyncio.get_running_loop() is not self._loop:  # the run below is in a thread of its own; these tools are not
            looking = asyncio.run_coroutine_threadsafe(self.look_up(requirement, rule, key), self._loop)
            return await asyncio.wrap_future(looking)
        result, fault = ToolResult(""), ""
        try:
            check = check_of(requirement, rule, key, self.catalog, self._terms)
            assert check.bound.toolset is not None
            result, error, detail = await self._attempt(check, check.bound.toolset, None, 1)
            if check.bound.tool.labels:
                result = msgspec.structs.replace(result, labels=check.bound.tool.labels_believed)
            if error is None:
                value = result.text if result.structured is UNSET else result.structured
                fault = requirement.fault(value)
            else:
                fault = f"{requirement.tool} failed: {error.code} {detail}".rstrip()
        except CallError as error:
            fault = f"the check can not be made: {error}"
        except InputRequired:
            fault = f"{requirement.tool} waits for a person"
        return await self.cleaned(result), fault

    def _lineage(self) -> tuple[Ancestor, ...]:
        """The runs that stand above a run which a call of this run starts."""
        terms = self._terms
        policy = terms.policy if terms.binding else None
        own = Ancestor(
            agent=terms.facts.agent,
            policy=policy,
            facts=self._facts,
            look_up=self.look_up,
            lets_in=terms.lets_in,
            defence=self._defence.handed_down,
            mandates=self._defence.own,
            labels_seen=self.labels_seen,
            shows=self._scope.labels.shows if self._scope.labels is not None else shows_none,
        )
        return (*terms.ancestors, own)

    def labels_seen(self) -> tuple[str, ...]:
        """The labels of values that the model of this run has seen. A run without a model may pass on any value."""
        labels, state = self._scope.labels, self._scope.recording
        if labels is not None:
            return labels.seen()
        before = state.started.labels_seen if state.started is not None else ()
        return tuple(dict.fromkeys((*before, *state.labels_seen)))

    def _facts(self) -> Facts:
        """What policies may know of this run now."""
        origins = self._origins
        return self._terms.facts_at(self._scope.clock.now(), origins.said.of, origins.brought)

    async def settled(
        self,
        call: ToolCall,
        place: CallRef,
        result: ToolResult,
        seconds: float,
        detail: str = "",
        *,
        final: bool = True,
        plan: Plan | None = None,
    ) -> ToolResult:
        """`settle`; of a large result it is first asked whether it is too large, and secrets are looked for in a worker
        thread. The call was made: how it ended is written down even where the run is cancelled meanwhile.
        """
        settle = partial(self.settle, call, place, seconds=seconds, detail=detail, final=final, plan=plan)
        work, refused = LARGE + 1, None
        with contextlib.suppress(*_UNSOUND):
            work = WORK * size_of(result)
            refused = self._too_large(call, result, plan) if work > LARGE else None
        if work <= LARGE or refused is not None:
            return settle(refused or result)
        known = frozenset(self._scope.told)
        looking = asyncio.ensure_future(off_loop(work, _looked_through, result, self._scope.redaction, known))
        cancelled: asyncio.CancelledError | None = None
        while not looking.done():
            try:
                await asyncio.wait([looking])
            except asyncio.CancelledError as told:
                cancelled = told
        is_clean = not looking.cancelled() and looking.exception() is None  # else its tool still writes it
        result = settle(result, cleaned=looking.result() if is_clean else None)
        if cancelled is not None:
            raise cancelled
        return result

    def settle(
        self,
        call: ToolCall,
        place: CallRef,
        result: ToolResult,
        seconds: float,
        detail: str = "",
        *,
        final: bool = True,
        plan: Plan | None = None,
        cleaned: ToolResult | None = None,
    ) -> ToolResult:
        """Write down how an attempt ended, without secrets. A mark replaces a value that JSON can't hold.

        Args:
            cleaned: the result without secrets, where that is known.
        """
        scope = self._scope
        used = scope.budget.used_by(plan.key) if plan is not None else NOTHING
        elapsed, outside = scope.elapsed(), self._outside.pop(place, ())

        def record(result: ToolResult, cleaned: ToolResult | None = None) -> ToolResult:
            shown = 0
            try:
                result = cleaned or scope.redaction.clean(result, scope.told)
                kind = plan.bound.tool.source_kind if plan is not None else ""
                if result.source_kind != kind:
                    result = msgspec.structs.replace(result, source_kind=kind)
                if self._brought or plan is None or plan.bound.tool.is_outside:
                    result = self._marked(place, call, result, plan)
                if self._labels_seen and place in self._labels_seen:
                    result = msgspec.structs.replace(result, seen=self._labels_seen[place])
                if scope.labels is not None or (plan is not None and plan.bound.tool.labels):
                    result = self._labelled(call, result, scope.labels)
                if final and result.content:
                    result = scope.keep_media(result)
                shown = self._shown(call, result, plan)
            except ResourceLimit as large:
                result = ToolResult(call.id, error=large.failure())
            scope.write(
                CallCompleted(place.cause, place.index, result, seconds, elapsed, detail, final, shown, used, outside)
            )
            return result

        try:
            result = record(result, cleaned)
        except _UNSOUND:
            result = record(sound(result))
        if final:
            self._tell(call, result, seconds, place)
        return result

    def _marked(self, place: CallRef, call: ToolCall, result: ToolResult, plan: Plan | None) -> ToolResult:
        """The result, with a mark where it holds text that an outsider may have written."""
        tool = plan.bound.tool if plan is not None else self.catalog.tool(call.name)
        if place in self._brought or (tool is not None and tool.is_outside and has_foreign_text(tool, result)):
            return msgspec.structs.replace(result, outside=True)
        return result

    def _labelled(self, call: ToolCall, result: ToolResult, labels: Labelling | None) -> ToolResult:
        """The result with the labels of its fields, which also say who may read them on record."""
        tool = self.catalog.tool(call.name)
        fields = {} if tool is None else tool.labels_believed
        if result.error is not None:  # the words of a tool that fails are its text
            fields = {"": fields[""]} if "" in fields and result.error.code == ToolError.code else {}
        if not fields:
            return result
        result = msgspec.structs.replace(result, labels=fields)
        if labels is not None:
            labels.know(result)
        return result

    def refuse(self, call: ToolCall, place: CallRef, error: CallError) -> ToolResult:
        """The call never reaches a tool; on record why."""
        tool = self.catalog.tool(call.name)
        failure = self._told_of(call, error).failure()
        result = ToolResult(call.id, error=failure, source_kind="" if tool is None else tool.source_kind)
        refused = CallRefused(place.cause, place.index, result, self._scope.elapsed(), error.rule)
        self._scope.write(refused)
        self._tell(call, result, 0.0, place)
        return result

    def _told_of(self, call: ToolCall, error: CallError) -> CallError:
        """Why a call is refused, without its secret values."""
        paths = self.catalog.secret_paths(call)
        if not paths or not isinstance(error, InvalidArguments):
            return error
        told = InvalidArguments(shown_problems(error.problems, paths))
        told.rule = error.rule
        return told

    async def cleaned(self, result: ToolResult) -> ToolResult:
        """A result without secrets; a large one is looked through in a worker thread."""
        scope = self._scope
        return await off_loop(WORK * size_of(result), scope.redaction.clean, result, frozenset(scope.told))

    def _tell(self, call: ToolCall, result: ToolResult, seconds: float, place: CallRef) -> None:
        """Tell those who watch the run that a call is over."""
        if self._scope.emit is not None:
            self._scope.emit(CallFinished(self.catalog.shown(call), result, seconds, place.name))

    def _shown(self, call: ToolCall, result: ToolResult, plan: Plan | None) -> int:
        """How many bytes of a result's text the model is shown; 0 for all.

        Raises:
            ResourceLimit: it is larger than a result may be.
        """
        if type(result.structured) in TEXTLESS and not result.content and result.error is None:
            return 0
        bound = self.catalog.get(call.name)
        reading = bound is not None and isinstance(bound.toolset, ResultReader)
        names = (call.name,) if plan is None else plan.names
        try:
            return to_show(result, None if reading else self._limits.bytes_of(*names), self._limits.result_bytes_max)
        except ResourceLimit as large:
            effect: Effect = "none" if bound is not None and bound.tool.reads_only else "done"
            raise ResourceLimit(large.message, effect=effect, limit=large.limit) from None

    def _too_large(self, call: ToolCall, result: ToolResult, plan: Plan | None) -> ToolResult | None:
        """What is told in the place of a result that is larger than a result may be; None where it is not."""
        try:
            self._shown(call, result, plan)
        except ResourceLimit as large:
            return ToolResult(call.id, error=large.failure())
        return None

    def _tell_from_below(self, event: Event) -> None:
        """Tell those who watch what happens in a run that a call began, from whichever thread."""
        emit = self._scope.emit
        assert emit is not None
        if threading.get_ident() == self._thread:
            emit(event)
        else:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody hears
                self._loop.call_soon_threadsafe(emit, event)

    def _told_by_tool(self) -> Callable[[Context, Json], None] | None:
        """What passes progress on, from whichever thread it is told; None where nobody watches."""
        emit = self._scope.emit
        if emit is None:
            return None
        clean = self._scope.redaction.stream(self._scope.told)
        teller: Context | None = None

        def deliver(value: Json) -> None:
            if teller is not None and not teller.is_over:
                emit(CallProgress(teller.call.id, clean.value(value)))

        mailbox = LoopMailbox(deliver)

        def tell(context: Context, value: Json) -> None:
            nonlocal teller
            teller = context
            mailbox.tell(value)

        return tell


def _looked_through(result: ToolResult, redaction: Redaction, known: frozenset[str]) -> ToolResult:
    """A result without secrets, and without what JSON can't hold."""
    try:
        cleaned = redaction.clean(result, known)
        msgspec.json.encode(cleaned)
    except _UNSOUND:
        return redaction.clean(sound(result), known)
    return cleaned
