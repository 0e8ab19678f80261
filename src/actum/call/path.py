"""The one path from a call to its result. Nothing reaches a tool by another way.

    resolve, validate, decide (plan.py) -> approve (question.py) -> limits
        -> intent on record -> execute -> outcome on record

A call that an earlier process began, and of which it left no word, is *in doubt*: a tool that may be repeated runs
again with the same key, one that can look whether it happened is asked, every other waits for a person.

Every step of it is in this file or named in it. What a refused or failed call is told stands in `core.errors`; what is
written down stands in `core.record`. A call that needs a person is parked: what it waits for is on record, no coroutine
waits, and the run is started anew when the answer is there.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
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
    InDoubt,
    InvalidArguments,
    InvalidResult,
    ResourceLimit,
    Unavailable,
)
from ..core.event import CallFinished, CallProgress, CallStarted
from ..core.given_secrets import of_this_call
from ..core.interfaces import Ancestor, Context, Facts, InputRequired, ProbeResult, Probing, Requirement, Toolset
from ..core.json import Json, JsonObject, same
from ..core.pending import Pending
from ..core.process_limits import NO_PROCESS_LIMITS
from ..core.provenance import Origins
from ..core.record import CallCompleted, CallRefused, Intended, PrecheckDone
from ..core.redaction import RedactedStream
from ..core.secret_values import shown_problems, taken_out, texts_of
from ..core.under_way import inside
from ..core.worker_thread import LARGE, off_loop
from ..journal.excerpt import ResultReader, to_show
from ..journal.grant import APPROVED_FOR_RUN
from ..journal.recording import CallRef
from ..policy.origins import Lookup, OriginIndex
from ..policy.ruling import Required
from .asking.asker import LiveApprover
from .asking.inquiry import LiveToolRequests
from .asking.question import Approvals
from .call_origins import CallOrigins
from .limits.attempt_limit import AttemptLimit
from .limits.breaker import Breakers
from .limits.limits import Limits
from .limits.meters import RateLimit, RateLimiters, acquire
from .limits.retry import delay
from .noting import NoteWriter
from .outcome import checked, copy_arguments, raise_waiting, translate, where, with_note
from .plan import Plan, PolicyInputs, check_of, decide, denied
from .resolve import Catalog
from .scope import RunContext

log = logging.getLogger("actum.call")

_NOT_JAILED = "The tool {} runs in no jail, and the operator limits it by ToolLimits({}), which only a jail can hold."
_WAS_DONE = "This call was made; what it returned is not known."
_WAS_NOT_DONE = "The program was interrupted before this call happened. It was not made."
_NOBODY_KNOWS = (
    "The program was interrupted during this call. It may or may not have happened; it was not repeated. "
    "Check its effect before you go on, and tell the user."
)


class CallPath:
    """Performs the calls of one run.

    Args:
        scope: the run.
        catalog: the tools it may use.
        terms: by what calls are judged.
        limits: how many run at a time, how long, how often.
        breakers: of the agent's tools, shared by its runs.
        meters: of its tools and users, likewise.
        asker: who can be asked while it goes on; nobody, where it is left out.
    """

    def __init__(
        self,
        scope: RunContext,
        catalog: Catalog,
        terms: PolicyInputs,
        limits: Limits,
        breakers: Breakers | None = None,
        meters: RateLimiters | None = None,
        asker: LiveApprover | None = None,
    ) -> None:
        self.catalog = catalog
        self._breakers = breakers or Breakers(limits.failures, limits.rest_seconds)
        self._meters = meters or RateLimiters(limits)
        self._scope = scope
        self._terms = terms
        self._limits = limits
        self._origins = CallOrigins(OriginIndex(scope.heard, catalog.trusted, scope.requested))
        self._questions = Approvals(scope, limits, self._origins.of)
        self._asker = asker or LiveApprover(scope, None)
        self._slots = asyncio.Semaphore(limits.parallel)
        self._turns: dict[str, asyncio.Lock] = {}
        self._outside: dict[CallRef, tuple[str, ...]] = {}
        self._told_outside: set[str] = set()
        self._progress = self._tell_progress if scope.emit is not None else None
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._notes = NoteWriter(scope)

    def use(self, catalog: Catalog) -> None:
        """From here on there are these tools."""
        self.catalog = catalog
        self._origins.said.trust = catalog.trusted

    def names_of(self, call: ToolCall) -> Sequence[str]:
        """The names by which limits know a call, as `Catalog.names_of`."""
        return self.catalog.names_of(call)

    def polled(self, name: str) -> bool:
        """Whether the tool of this name is meant to be asked again and again with the same arguments."""
        bound = self.catalog.get(name)
        return bound is not None and bound.tool.polled

    def answers(self, name: str) -> bool:
        """Whether a result of the tool of this name is the answer of the run."""
        bound = self.catalog.get(name)
        return bound is not None and bound.tool.answers

    def reads(self, name: str) -> bool:
        """Whether the tool of this name is declared to read only."""
        bound = self.catalog.get(name)
        return bound is not None and bound.tool.reads_only

    async def perform_all(
        self, calls: Sequence[ToolCall], reply: int, refusals: Mapping[int, CallError]
    ) -> list[ToolResult | Pending]:
        """Perform the calls of one reply: side by side, but a tool declared sequential by itself. Results keep the
        order.

        Args:
            calls: what the model said.
            reply: number of the `ModelReplied` entry that holds them.
            refusals: calls that the loop itself turns away, by index.
        """
        if len(calls) == 1:
            return [await self.perform(calls[0], CallRef(reply, 0), refusals.get(0))]
        tasks: dict[int, asyncio.Task[ToolResult | Pending]] = {}
        results: dict[int, ToolResult | Pending] = {}
        parked: Pending | None = None
        try:
            async with asyncio.TaskGroup() as group:
                for index, call in enumerate(calls):
                    place, refusal = CallRef(reply, index), refusals.get(index)
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

    async def _in_slot(self, call: ToolCall, place: CallRef, refusal: CallError | None) -> ToolResult | Pending:
        async with self._slots:
            return await self.perform(call, place, refusal)

    async def perform(
        self,
        call: ToolCall,
        place: CallRef,
        refusal: CallError | None = None,
        origins: Lookup | None = None,
    ) -> ToolResult | Pending:
        """Take one call from request to record.

        Args:
            call: the call as it was asked for.
            place: which call of the run it is.
            refusal: why the loop turns the call away, if it does.
            origins: tells the origins of the call's arguments, where whoever makes the call knows them. Without it
                they are looked up in what was said.

        Returns:
            The result, which may be a failure; or what the call waits for.
        """
        known = self._scope.recording.outcome(place)
        if known is not None:
            return known[0]
        if origins is not None:
            self._origins.know(place, origins)
        try:
            if refusal is not None:
                raise refusal
            self._count(place)
            if self._origins.said.unread > LARGE and not self.reads(call.name):
                await off_loop(self._origins.said.unread, self._origins.said.take_apart)
            plan = self._plan(call, place)
            if not plan.required or plan.bound.tool.reads_only:
                return await self._carry_out(call, place, plan)
            async with self._turn_of(plan):  # nothing changes between the check and the call
                return await self._carry_out(call, place, self._plan(call, place))
        except CallError as error:
            return await self._turn_away(call, place, error)
        finally:
            if origins is not None:
                self._origins.forget(place)

    async def _carry_out(self, call: ToolCall, place: CallRef, plan: Plan) -> ToolResult | Pending:
        """Make a call that the policy allows, once all else that must be said of the call is said."""
        allowed = await self._allowed(call, place, plan)
        gates = self._gates(allowed) if isinstance(allowed, Plan) and self._meters.gated else ()
        if not gates:
            return await self._make(allowed, place)
        async with acquire(gates, self._scope.clock, self._meters.counts):
            # What allowed the call may be over when its turn comes.
            return await self._make(await self._allowed(call, place, self._plan(call, place)), place)

    async def _make(self, allowed: Plan | ToolResult | Pending, place: CallRef) -> ToolResult | Pending:
        """Make a call, if it is allowed."""
        if not isinstance(allowed, Plan):
            return allowed
        await self._check_last(allowed, place)
        return await self._execute(allowed, place)

    @contextlib.asynccontextmanager
    async def _turn_of(self, plan: Plan) -> AsyncIterator[None]:
        """A block in which no other call of the run is under way that requires a check by the same tool.

        Nobody who waits here holds a rate limit, and all take their turns in the same order: so no two wait for each
        other.
        """
        async with contextlib.AsyncExitStack() as turns:
            for name in sorted({each.requirement.tool for each in plan.required if not each.requirement.parallel}):
                await turns.enter_async_context(self._turns.setdefault(name, asyncio.Lock()))
            yield

    def _count(self, place: CallRef) -> None:
        """Count the call as one that the run makes, once.

        Raises:
            BudgetExceeded: a run above has made all the calls that it may.
        """
        if not self._scope.recording.was_made(place):
            self._scope.budget.count_call()

    async def _allowed(self, call: ToolCall, place: CallRef, plan: Plan) -> Plan | ToolResult | Pending:
        """Judge a call: what became of it earlier, what its rules want looked up, and what a person says.

        Args:
            plan: the call as it would be made now.

        Returns:
            The plan of the call, which may be made now; or what came of the call; or what it waits for.

        Raises:
            CallError: the call is not to be made.
        """
        recording = self._scope.recording
        if recording.in_doubt(place) and not plan.bound.tool.repeatable:
            cleared = await self._clear_up(call, place, plan)
            if cleared is not None:
                return cleared
        if recording.asked(place) is None:
            await self._look_first(plan, place)
        asked = self._questions.standing(plan, place)
        if asked is not None:
            return _for_program(asked.pending, plan)
        if plan.bound.toolset is None:
            return self._hand_in(plan, place)
        missing = recording.missing(place)
        return plan if missing is None else missing.pending

    async def _check_last(self, plan: Plan, place: CallRef) -> None:
        """Right before the tool runs: what was looked up before a person was asked is looked up anew.

        Raises:
            CallError: the call is not to be made.
        """
        if self._scope.recording.asked(place) is not None:
            await self._look_first(plan, place)
        self._breakers.check(
            plan.meant or plan.bound.tool.name, self._scope.clock.monotonic(), self._terms.facts.tenant
        )

    async def _turn_away(self, call: ToolCall, place: CallRef, error: CallError) -> ToolResult | Pending:
        """The call is not to be made. If an earlier process began it, somebody has to say what became of it."""
        doubtful = self._scope.recording.in_doubt(place)
        cleared = await self._clear_up(call, place, None) if doubtful else None
        return cleared or self._refuse(call, place, error)

    def _gates(self, plan: Plan) -> Sequence[RateLimit]:
        """What the limits of its tool and its user have the call go through."""
        return self._meters.gates(self._terms.facts.user, self._scope.clock.monotonic(), *plan.names)

    def _plan(self, call: ToolCall, place: CallRef) -> Plan:
        """The call as it would be made now: with the arguments that a person put in, and under what they granted."""
        recording, said = self._scope.recording, call
        asked = recording.asked(place)
        arguments = recording.edited(asked)
        if arguments is not None:
            call = msgspec.structs.replace(call, arguments=arguments, raw="", complete=True, repairs=())
        plan = decide(call, place, self.catalog, self._terms, self._facts(place))
        if plan.bound.secrets:
            self._scope.told.update(texts_of(taken_out(plan.call.arguments, plan.bound.secrets)[1]))
        if arguments is not None:
            plan = msgspec.structs.replace(plan, said=said, edited=True)
        if plan.decision.verdict == "ask" and asked is None:
            now = self._scope.now()
            rule, quorums = plan.decision.rule, plan.all_quorums
            grant = recording.granted(plan.bound.tool, plan.call.arguments, rule, quorums, now)
            handed = recording.handed(place)
            approval = handed.approval if handed is not None else None
            approved = ""
            if grant is not None:
                approved = f"{APPROVED_FOR_RUN}{grant.id}"
            elif approval is not None and approval.covers(plan.bound.tool.digest, rule, quorums, now):
                approved = f"approved in the run that asked for this task: {approval.id}"
            if approved:
                decision = msgspec.structs.replace(plan.decision, verdict="allow", rule=approved)
                plan = msgspec.structs.replace(plan, decision=decision)
        return plan

    def _facts(self, place: CallRef | None = None) -> Facts:
        """What policies may know of this run now, and of the call that they judge."""
        origins = self._origins.of(place)
        return msgspec.structs.replace(self._terms.facts, now=self._scope.clock.now(), origins=origins)

    def looked_up(self, arguments: JsonObject) -> Origins:
        """The origins of arguments, by what was said in the run."""
        return self._origins.said.of(arguments)

    def _lineage(self) -> tuple[Ancestor, ...]:
        """The runs that stand above a run which a call of this run starts."""
        terms = self._terms
        policy = terms.policy if terms.binding else None
        own = Ancestor(
            agent=terms.facts.agent,
            policy=policy,
            facts=self._facts,
            look_up=self._look_up,
            lets_in=terms.lets_in,
        )
        return (*terms.ancestors, own)

    async def _look_first(self, plan: Plan, place: CallRef) -> None:
        """Make the checks that policies want before this call, put them on record, and let them speak.

        What is on record is enough to ask a person by; before the call is made it is looked up anew.

        Raises:
            PermissionDenied: a check speaks against the call, or could not be made.
        """
        recording = self._scope.recording
        for required in plan.required:
            known = recording.check(place, required.rule)
            fresh = plan.decision.verdict == "allow" or recording.asked(place) is not None
            if known is None or fresh or not _is_same_check(known, required.requirement):
                known = await self._check(required, plan.key, place)
            if known.fault:
                raise denied(required.requirement.reason, f"{required.rule}: {known.fault}")

    async def _check(self, required: Required, key: str, place: CallRef) -> PrecheckDone:
        """Make one check, and put it on record in this run, whichever agent's tool it takes."""
        look_up = self._look_up if required.by is None else required.by.look_up
        requirement = required.requirement
        result, fault = await look_up(requirement, required.rule, key)
        checked = PrecheckDone(
            place.cause,
            place.index,
            requirement.tool,
            self._shown_check(requirement),
            await self._cleaned(result),
            fault,
            required.rule,
            self._scope.elapsed(),
        )
        self._scope.write(checked)
        return checked

    async def _look_up(self, requirement: Requirement, rule: str, key: str) -> tuple[ToolResult, str]:
        """Make a check with the tools of this run, for a call of this run or of a run below; see `Ancestor`."""
        if asyncio.get_running_loop() is not self._loop:  # the run below is in a thread of its own; these tools are not
            looking = asyncio.run_coroutine_threadsafe(self._look_up(requirement, rule, key), self._loop)
            return await asyncio.wrap_future(looking)
        result, fault = ToolResult(""), ""
        try:
            check = check_of(requirement, rule, key, self.catalog, self._terms)
            assert check.bound.toolset is not None
            result, error, detail = await self._attempt(check, check.bound.toolset, None, 1)
            if error is None:
                value = result.text if result.structured is UNSET else result.structured
                fault = requirement.fault(value)
            else:
                fault = f"{requirement.tool} failed: {error.code} {detail}".rstrip()
        except CallError as error:
            fault = f"the check can not be made: {error}"
        except InputRequired:
            fault = f"{requirement.tool} waits for a person"
        return await self._cleaned(result), fault

    async def _cleaned(self, result: ToolResult) -> ToolResult:
        """A result without secrets; a large one is looked through in a worker thread."""
        scope = self._scope
        return await off_loop(size_of(result), scope.redaction.clean, result, frozenset(scope.told))

    def _shown_check(self, requirement: Requirement) -> JsonObject:
        """The arguments of a check without secret values: those of the tool that is asked, and those of the call."""
        shown = self.catalog.shown(ToolCall("", requirement.tool, requirement.arguments)).arguments
        if self._scope.told:
            shown = {name: self._scope.redaction.value(value, self._scope.told) for name, value in shown.items()}
        return shown

    def _refuse(self, call: ToolCall, place: CallRef, error: CallError) -> ToolResult:
        """The call never reaches a tool; on record why."""
        result = ToolResult(call.id, error=self._told_of(call, error).failure())
        refused = CallRefused(place.cause, place.index, result, self._scope.elapsed(), error.rule)
        self._scope.write(refused)
        self._tell_finished(call, result, 0.0, place)
        return result

    def _told_of(self, call: ToolCall, error: CallError) -> CallError:
        """Why a call is refused, without its secret values."""
        paths = self.catalog.secret_paths(call)
        if not paths or not isinstance(error, InvalidArguments):
            return error
        told = InvalidArguments(shown_problems(error.problems, paths))
        told.rule = error.rule
        return told

    async def _clear_up(self, call: ToolCall, place: CallRef, plan: Plan | None) -> ToolResult | Pending | None:
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
            shown = plan.shown if plan is not None else self.catalog.shown(call)
            asked = asked or self._questions.ask_doubt(shown, place)
            return asked.pending
        if answer.verdict == "retry" and plan is not None:
            return None
        if answer.verdict == "done":
            result = ToolResult(call.id, (TextPart(answer.text or _WAS_DONE),))
        else:
            effect: Effect = "none" if answer.verdict == "not_done" else "unknown"
            words = _WAS_NOT_DONE if effect == "none" else _NOBODY_KNOWS
            result = ToolResult(call.id, error=InDoubt(f"{words} {answer.text}".rstrip(), effect=effect).failure())
        return self._settle(call, place, result, 0.0, f"by {answer.by}")

    async def _probe(self, plan: Plan, place: CallRef) -> ProbeResult:
        """Have the toolset look. What goes wrong there tells nothing about the call."""
        toolset, tool = plan.bound.toolset, plan.bound.tool
        if not isinstance(toolset, Probing):
            return ProbeResult("unknown")
        context = self._context(plan, self._scope.recording.attempts(place))
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

    def _hand_in(self, plan: Plan, place: CallRef) -> ToolResult:
        """The program carried out this call itself; its answer is the result."""
        asked = self._scope.recording.asked(place)
        answer = self._scope.recording.answers[asked.id] if asked is not None else None
        result = ToolResult(plan.said.id, (TextPart(answer.text if answer is not None else ""),))
        return self._settle(plan.said, place, result, 0.0)

    async def _execute(self, plan: Plan, place: CallRef) -> ToolResult | Pending:
        """Run the tool, an intent on record before each attempt and an outcome after it."""
        scope, tool, toolset = self._scope, plan.bound.tool, plan.bound.toolset
        assert toolset is not None
        attempt = scope.recording.attempts(place)
        if attempt:
            scope.budget.know(plan.key, scope.recording.used_by(place))
        if scope.emit is not None:
            scope.emit(CallStarted(plan.shown, plan.repairs))
        began = scope.clock.monotonic()
        while True:
            attempt += 1
            await self._intend(plan, place, attempt)
            try:
                result, error, detail = await self._attempt(plan, toolset, place, attempt)
            except InputRequired as waiting:
                used = scope.budget.used_by(plan.key)
                return self._questions.wait_with(waiting, place, used, repeatable=tool.repeatable)
            if error is not None and error.effect == "unknown" and tool.probed:
                result, error = await self._looked_up(plan, place, result, error)
            self._breakers.note(plan.meant or tool.name, error, scope.clock.monotonic(), self._terms.facts.tenant)
            if plan.edited:
                result = with_note(result, plan.shown)
            wait = None if error is None else delay(error, tool, attempt, self._limits.attempts, random.random())
            seconds = scope.clock.monotonic() - began
            settle = partial(self._settle, plan.said, place, result, seconds, detail, final=wait is None, plan=plan)
            try:
                cleaned = await self._cleaned(result) if wait is None and size_of(result) > LARGE else None
            except (TypeError, ValueError, RuntimeError):  # it is no value, or its tool still writes it
                cleaned = None
            except asyncio.CancelledError:  # the call was made, and how it ended belongs on record
                settle()
                raise
            result = settle(cleaned=cleaned)
            if wait is None:
                return result
            try:
                await scope.clock.sleep(wait)
            except asyncio.CancelledError:
                assert error is not None
                self._settle_cancelled(plan, place, error.effect)
                raise

    async def _looked_up(
        self, plan: Plan, place: CallRef, result: ToolResult, error: CallError
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

    async def _intend(self, plan: Plan, place: CallRef, attempt: int) -> None:
        """The intent of an attempt, on disk before a tool that may change anything starts."""
        scope, tool = self._scope, plan.bound.tool
        scope.write(
            Intended(
                place.cause,
                place.index,
                attempt,
                tool.name,
                tool.digest,
                plan.shown.arguments,
                plan.key,
                plan.decision.rule,
                plan.repairs,
                {} if tool.reads_only else self._origins.of(place)(plan.call.arguments),
                tool.unjailed,
            ),
        )
        if not tool.reads_only:
            await scope.journal.sync(scope.run_id)

    async def _attempt(
        self, plan: Plan, toolset: Toolset, place: CallRef | None, attempt: int
    ) -> tuple[ToolResult, CallError | None, str]:
        """One attempt: its result, the error it failed by, and a detail for the record.

        Args:
            place: None for a check, of which nothing is written down when it is cancelled.
        """
        scope, tool = self._scope, plan.bound.tool
        limit = AttemptLimit(scope.clock, self._seconds(plan))
        requests = self._requests(plan, place, limit) if place is not None else None
        context = self._context(plan, attempt, place, requests)
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
            error = CallTimeout(f"{what}; it may have happened all the same.")
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
            if context.opened_outside and place is not None:
                self._outside[place] = tuple(path for path in context.opened_outside if path not in self._told_outside)
                self._told_outside.update(context.opened_outside)
        if tool.reads_only and error.effect == "unknown":
            error.effect = "none"
        return ToolResult(plan.said.id, error.files, error=error.failure()), error, detail

    def _requests(self, plan: Plan, place: CallRef, limit: AttemptLimit) -> LiveToolRequests:
        """What the tool may ask of others while it runs."""
        return LiveToolRequests(
            scope=self._scope,
            asker=self._asker,
            call=plan.shown,
            tool=plan.bound.tool,
            place=place,
            key=plan.key,
            limit=limit,
        )

    def _context(
        self, plan: Plan, attempt: int, place: CallRef | None = None, requests: LiveToolRequests | None = None
    ) -> Context:
        """What the tool may know and do; a check, or a probe, asks nobody anything."""
        return Context(
            run_id=self._scope.run_id,
            call=msgspec.structs.replace(plan.call, arguments=copy_arguments(plan.call.arguments)),
            key=plan.key,
            attempt=attempt,
            principal=self._terms.facts.principal,
            tenant=self._terms.facts.tenant,
            roles=self._terms.facts.roles,
            key_id=self._terms.facts.key_id,
            deps=self._scope.deps,
            attachments=self._scope.attachments,
            answers=self._scope.recording.answers,
            progress=self._progress and partial(self._progress, self._scope.redaction.stream(self._scope.told)),
            secrets=self._scope.secrets,
            told=self._scope.told,
            budget=self._scope.budget,
            inquiry=requests,
            state=(self._scope.recording.parked(place) or "") if place is not None else "",
            peer=self._scope.peer,
            journal=self._scope.journal,
            trace=self._scope.trace,
            lineage=self._lineage,
            holder=self._scope.holder,
            process_limits=self._limits.processes_of(*plan.names),
            note=partial(self._notes.note, place) if place is not None else None,
        )

    def _seconds(self, plan: Plan) -> float | None:
        """How long one attempt may take."""
        return self._limits.seconds_of(plan.bound.tool.timeout_s, *plan.names)

    def _settle_cancelled(self, plan: Plan, place: CallRef, effect: Effect) -> None:
        """The attempt is over and the call is not: what may have changed something is in doubt if the run goes on."""
        error = CallCancelled("The run was cancelled during this call.", effect=effect)
        failed = ToolResult(plan.said.id, error=error.failure())
        result = self._settle(plan.said, place, failed, 0.0, final=False, plan=plan)
        self._tell_finished(plan.call, result, 0.0, place)

    def _settle(
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
        """Write down how an attempt ended, without secrets. What the journal can not hold is no result.

        Args:
            cleaned: the result without secrets, where that is known.
        """
        scope = self._scope
        used = scope.budget.used_by(plan.key) if plan is not None else NOTHING
        elapsed, outside = scope.elapsed(), self._outside.pop(place, ())
        try:
            result = cleaned or scope.redaction.clean(result, scope.told)
            if final and result.content:
                result = scope.keep_media(result)
            shown = self._shown(call, result, plan)
            settled = CallCompleted(
                place.cause, place.index, result, seconds, elapsed, detail, final, shown, used, outside
            )
            scope.write(settled)
        except (TypeError, ValueError, RecursionError, ResourceLimit) as bad:
            no_value = InvalidResult("The tool returned something that is no value.")
            result = ToolResult(call.id, error=(bad if isinstance(bad, ResourceLimit) else no_value).failure())
            settled = CallCompleted(place.cause, place.index, result, seconds, elapsed, detail, final, 0, used, outside)
            scope.write(settled)
        if final:
            self._tell_finished(call, result, seconds, place)
        return result

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

    def _tell_finished(self, call: ToolCall, result: ToolResult, seconds: float, place: CallRef) -> None:
        if self._scope.emit is not None:
            self._scope.emit(CallFinished(self.catalog.shown(call), result, seconds, place.name))

    def _tell_progress(self, clean: RedactedStream, context: Context, value: Json) -> None:
        """Pass progress on, from whichever thread it is told."""
        if threading.get_ident() == self._thread:
            self._deliver(clean, context, value)
        else:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody hears
                self._loop.call_soon_threadsafe(self._deliver, clean, context, value)

    def _deliver(self, clean: RedactedStream, context: Context, value: Json) -> None:
        if self._scope.emit is not None and not context.is_over:
            self._scope.emit(CallProgress(context.call.id, clean.value(value)))


def _for_program(pending: Pending, plan: Plan) -> Pending:
    """What a call waits for. Only a program that makes the call itself gets the secret values."""
    if pending.kind == "result" and plan.bound.secrets:
        return msgspec.structs.replace(pending, call=plan.call)
    return pending


def _is_same_check(known: PrecheckDone, required: Requirement) -> bool:
    return known.tool == required.tool and same(known.arguments, required.arguments)
