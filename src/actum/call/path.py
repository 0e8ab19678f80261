"""The one path from a call to its result. Nothing reaches a tool by another way.

    judge (plan.py): resolve, validate, decide; pure
        -> ask (clearance.py): an earlier outcome, checks that rules require, approval by persons -> make (make.py):
        limits, intent on record, execute, outcome on record

The record of a call is read once, as a `CallStanding`, and read anew after the call has waited for its turn.
`core.errors` has the words for a call that is refused or fails; `core.run.record` has the records that are written. A
call that needs a person is parked: its question is on record, no coroutine waits, and the run is resumed when the
answer is there.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial

from ..core.call import ToolCall, ToolResult
from ..core.errors import CallError
from ..core.interfaces import Context
from ..core.json import JsonObject
from ..core.process.worker_thread import LARGE, off_loop
from ..core.provenance import Origins
from ..core.run.pending import Pending
from ..core.secret_values import taken_out, texts_of
from ..core.tool import Tool
from ..journal.recording import CallRef, CallStanding
from ..policy.lineage import KnownOrigins
from ..policy.origins import Lookup, OriginIndex
from ..policy.outside import OutsideText
from .asking.asker import LiveApprover
from .asking.question import Approvals
from .call_origins import CallOrigins
from .clearance import Clearance
from .limits.breaker import Breakers
from .limits.limits import Limits
from .limits.meters import RateLimiters, acquire
from .make import CallMaker
from .plan import Plan, PolicyInputs, granted, judge
from .references import LinkedCalls, Links
from .resolve import Catalog
from .run_defence import RunDefence
from .scope import RunContext


def _outside_text(scope: RunContext, catalog: Catalog) -> OutsideText:
    """Tells what brings foreign text to a run."""
    started = scope.recording.started
    if started is None:
        return OutsideText(scope.heard, catalog.tool)
    return OutsideText(scope.heard, catalog.tool, started.outside, scope.begins, is_below=bool(started.parent))


class _Alone:
    """Lets calls run side by side, and a sequential call alone."""

    def __init__(self) -> None:
        self._gate = asyncio.Lock()
        self._idle = asyncio.Event()
        self._idle.set()
        self._count = 0

    @contextlib.asynccontextmanager
    async def turn(self, alone: bool) -> AsyncIterator[None]:
        """A block in which a call runs."""
        async with self._gate:
            if alone:
                await self._idle.wait()
                yield
                return
            self._count += 1
            self._idle.clear()
        try:
            yield
        finally:
            self._count -= 1
            if not self._count:
                self._idle.set()


TURN = 64
"""After every this many calls of one reply, other tasks get their turn."""


class CallPath:
    """Performs the calls of one run.

    Args:
        scope: the run.
        catalog: the tools that the run may use.
        terms: the policies and facts by which calls are judged.
        limits: limits on how many calls run at a time, how long, and how often.
        breakers: the circuit breakers of the agent's tools, shared by its runs.
        meters: the rate limits of the agent's tools and users, shared likewise.
        asker: asks persons while the run goes on; without it nobody is asked.
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
        breakers = breakers or Breakers(limits.failures, limits.rest_seconds)
        self._meters = meters or RateLimiters(limits)
        self._scope = scope
        self._terms = terms
        self._published = terms.published
        outside = _outside_text(scope, catalog)
        said = OriginIndex(scope.heard, catalog.trusted, scope.requested, scope.instructions)
        said.naming = catalog.named_by
        self._origins = CallOrigins(said, outside, scope.recording)
        asker = asker or LiveApprover(scope, None)
        self._defence = RunDefence(scope, catalog, terms, asker)
        self._maker = CallMaker(scope, terms, limits, catalog, asker, self._origins, self._defence, breakers)
        self._clearance = Clearance(scope, Approvals(scope, limits, self._origins.of), self._maker)
        self._slots = asyncio.Semaphore(limits.parallel)
        self._turns: dict[str, asyncio.Lock] = {}

    def use(self, catalog: Catalog) -> None:
        """Use these tools from here on."""
        self.catalog = self._maker.catalog = catalog
        said = self._origins.said
        said.trust, said.naming, self._origins.outside.tool_named = catalog.trusted, catalog.named_by, catalog.tool
        self._defence.use(catalog)

    async def look(self) -> None:
        """Look which versions of published policies are in use: what follows is judged by these."""
        for policy in self._published:
            await policy.look(self._terms.facts.tenant)

    def bars(self, tool: Tool) -> bool:
        """Whether every call of a tool would be denied, whatever the arguments are."""
        return self._terms.bars(tool, self._scope.clock.now())

    def names_of(self, call: ToolCall) -> Sequence[str]:
        """The names by which limits know a call, as `Catalog.names_of`."""
        return self.catalog.names_of(call)

    def polled(self, name: str) -> bool:
        """Whether the tool of this name is meant to be called again and again with the same arguments."""
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

    def changes(self, name: str) -> bool:
        """Whether the tool of this name declares an effect beyond `read`."""
        bound = self.catalog.get(name)
        return bound is not None and bool((bound.tool.effects or frozenset()) - {"read"})

    def outside(self) -> tuple[str, ...]:
        """What has brought text that an outsider may have written to the run; see `Facts.outside`."""
        return self._origins.brought()

    def mark(self, above: Context) -> None:
        """Tell the call that began this run what the run was told by outsiders, and which labelled values it saw."""
        above.brought.update(dict.fromkeys(self.outside()))
        above.labels_seen.update(dict.fromkeys(self._maker.labels_seen()))

    def looked_up(self, arguments: JsonObject) -> Origins:
        """The origins of arguments, by what was said in the run."""
        return self._origins.said.of(arguments)

    async def perform_all(
        self,
        calls: Sequence[ToolCall],
        reply: int,
        refusals: Mapping[int, CallError],
        linked: LinkedCalls | None = None,
    ) -> list[ToolResult | Pending]:
        """Perform the calls of one reply: side by side, but those of a sequential tool alone. Results keep the order.

        Args:
            calls: the calls of the reply.
            reply: the number of the `ModelReplied` entry that holds the calls.
            refusals: why the loop itself refuses a call, by the index of the call.
            linked: how the calls use each other's results; None where they do not.
        """
        if linked is not None:
            return await self._perform_linked(linked, reply, refusals)
        if len(calls) == 1:
            return [await self.perform(calls[0], CallRef(reply, 0), refusals.get(0))]
        tasks: dict[int, asyncio.Task[ToolResult | Pending]] = {}
        results: dict[int, ToolResult | Pending] = {}
        parked: Pending | None = None
        try:
            async with asyncio.TaskGroup() as group:
                for index, call in enumerate(calls):
                    place, refusal = CallRef(reply, index), refusals.get(index)
                    if index % TURN == TURN - 1:
                        await asyncio.sleep(0)  # a reply may hold thousands, and other tasks need their turn
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

    async def _perform_linked(
        self, linked: LinkedCalls, reply: int, refusals: Mapping[int, CallError]
    ) -> list[ToolResult | Pending]:
        """Perform calls that use each other's results: each as soon as the calls that it needs are done."""
        calls = linked.calls
        results: dict[int, ToolResult | Pending] = {}
        tasks: dict[int, asyncio.Task[None]] = {}
        alone = _Alone()

        async def make(index: int) -> None:
            if needs := [tasks[each] for each in linked.links.needs(index)]:
                await asyncio.wait(needs)
            for each in linked.links.needs(index):
                needed = results.get(each)
                if not isinstance(needed, ToolResult):
                    if needed is not None:
                        results[index] = needed
                    return  # this call waits, too; without any result the journal failed, and the group ends
            place, sequential = CallRef(reply, index), self._is_sequential(calls[index].name)
            async with alone.turn(sequential), contextlib.nullcontext() if sequential else self._slots:
                done = {each: result for each, result in results.items() if isinstance(result, ToolResult)}
                call, refusal = linked.made(index, done, refusals.get(index))
                origins = None
                if index in linked.links.references and refusal is None:
                    origins = self._origins_of_linked(linked.links, index, call, done)
                results[index] = await self.perform(call, place, refusal, origins)

        try:
            async with asyncio.TaskGroup() as group:
                for index in range(len(calls)):
                    tasks[index] = group.create_task(make(index))
        except BaseExceptionGroup as failed:
            raise failed.exceptions[0] from None
        return [results[index] for index in range(len(calls))]

    def _origins_of_linked(self, links: Links, index: int, call: ToolCall, done: Mapping[int, ToolResult]) -> Lookup:
        lineage = links.lineage(index, self.catalog.trusted, done)
        return KnownOrigins(call.arguments, lambda: lineage, self._origins.said.of)

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
            refusal: why the loop refuses the call, if it does.
            origins: tells the origins of the call's arguments, where the caller knows them. Without it the origins are
                looked up in what was said in the run.

        Returns:
            The result, which may be a failure; or the question that the call waits for.
        """
        standing = self._scope.recording.standing(place)
        if standing.outcome is not None:
            return standing.outcome
        if origins is not None:
            self._origins.know(place, origins)
        try:
            if refusal is not None:
                raise refusal
            if not standing.was_made:
                self._scope.budget.count_call()
            if self._origins.said.unread > LARGE and not self.reads(call.name):
                await off_loop(self._origins.said.unread, self._origins.said.take_apart)
                standing = self._scope.recording.standing(place)
            if self._published:
                await self.look()
                standing = self._scope.recording.standing(place)
            plan = self._judge(call, standing)
            if plan.wants_mandate:
                await self._defence.make_mandate()
                plan, standing = self._judge_anew(call, place)
            if self._defence.is_on:
                self._defence.check_attended(plan, standing)
            if not plan.required or plan.bound.tool.reads_only:
                return await self._carry_out(plan, standing)
            async with self._turn_of(plan):  # nothing changes between the check and the call
                return await self._carry_out(*self._judge_anew(call, place))
        except CallError as error:
            return await self._clearance.turn_away(call, self._scope.recording.standing(place), error)
        finally:
            if origins is not None:
                self._origins.forget(place)

    async def _carry_out(self, plan: Plan, standing: CallStanding) -> ToolResult | Pending:
        """Make a call that the policy allows, after required checks and approvals."""
        allowed = await self._clearance.clear(plan, standing)
        if not isinstance(allowed, Plan):
            return allowed
        clock, user = self._scope.clock, self._terms.facts.user
        gates = self._meters.gates(user, clock.monotonic(), *allowed.names) if self._meters.gated else ()
        if not gates:
            return await self._make(allowed, standing)
        async with acquire(gates, clock, self._meters.counts):
            # A permission may have ended when the turn of the call comes.
            await self.look()
            plan, standing = self._judge_anew(plan.said, standing.place)
            allowed = await self._clearance.clear(plan, standing)
            return await self._make(allowed, standing) if isinstance(allowed, Plan) else allowed

    async def _make(self, plan: Plan, standing: CallStanding) -> ToolResult | Pending:
        """Make a call that is allowed, if its required checks still hold."""
        if standing.asked is not None:  # the checks were made before a person was asked
            await self._clearance.look_first(plan, standing)
        return await self._maker.make(plan, standing)

    def _judge(self, call: ToolCall, standing: CallStanding) -> Plan:
        """Judge a call as it would be made now: with the arguments that a person put in, and with the person's grants.

        Raises:
            CallError: the call must not be made.
        """
        scope = self._scope
        place, origins = standing.place, self._origins
        facts = self._terms.facts_at(scope.clock.now(), origins.of(place), partial(origins.brought, place))
        is_defended = self._defence.is_on and self._is_defended(call.name)
        if is_defended:
            facts = self._defence.facts(facts, origins.said)
        plan = judge(call, standing, self.catalog, self._terms, facts, defended=is_defended, labels=scope.labels)
        if plan.bound.secrets:
            scope.told.update(texts_of(taken_out(plan.call.arguments, plan.bound.secrets)[1]))
        if plan.decision.verdict == "ask" and standing.asked is None:
            return granted(plan, standing.place, scope.recording, scope.now())
        return plan

    def _is_defended(self, name: str) -> bool:
        """Whether the defence looks at calls of the tool of this name."""
        bound = self.catalog.get(name)
        if bound is None or bound.tool.from_client:  # the client carries the call out itself, and judges it
            return False
        return not bound.tool.reads_only and not bound.is_safe_by_itself

    def _judge_anew(self, call: ToolCall, place: CallRef) -> tuple[Plan, CallStanding]:
        """Judge a call once more, after it has waited."""
        standing = self._scope.recording.standing(place)
        return self._judge(call, standing), standing

    @contextlib.asynccontextmanager
    async def _turn_of(self, plan: Plan) -> AsyncIterator[None]:
        """A block in which no other call of the run that requires a check by the same tool is under way.

        A call that waits here holds no rate limit, and all calls take their turns in the same order. So no two calls
        wait for each other.
        """
        async with contextlib.AsyncExitStack() as turns:
            for name in sorted({each.requirement.tool for each in plan.required if not each.requirement.parallel}):
                await turns.enter_async_context(self._turns.setdefault(name, asyncio.Lock()))
            yield
