"""What is asked before a call is made: what became of it earlier, what its rules want looked up, what a person says.

A call that an earlier process began, and whose outcome was never recorded, is *in doubt*: a tool that may be repeated
runs again with the same key, one that can look whether it happened is asked, every other waits for a person.
"""

from __future__ import annotations

import msgspec

from ..core.call import Effect, TextPart, ToolCall, ToolResult
from ..core.errors import CallError, InDoubt
from ..core.json import JsonObject, same
from ..core.policy import Requirement
from ..core.process.worker_thread import off_loop
from ..core.run.pending import Pending
from ..core.run.record import PrecheckDone
from ..core.secrets.redaction import WORK
from ..journal.recording import CallRef, CallStanding
from ..policy.ruling import Required
from .asking.question import Approvals
from .make import CallMaker
from .outcome import WAS_DONE
from .plan import Plan, denied
from .scope import RunContext

_WAS_NOT_DONE = "The program was interrupted before this call happened. It was not made."
_NOBODY_KNOWS = (
    "The program was interrupted during this call. It may or may not have happened; it was not repeated. "
    "Check its effect before you go on, and tell the user."
)


class Clearance:
    """Finds out, for one run, whether calls may be made.

    Args:
        scope: the run.
        approvals: asks persons.
        maker: makes the checks that rules require, and writes down how calls end.
    """

    def __init__(self, scope: RunContext, approvals: Approvals, maker: CallMaker) -> None:
        self._scope = scope
        self._approvals = approvals
        self._maker = maker

    async def clear(self, plan: Plan, standing: CallStanding) -> Plan | ToolResult | Pending:
        """Find out whether a call may be made now.

        Args:
            plan: the call as it would be made now.
            standing: what is on record of the call.

        Returns:
            The plan of the call, which may be made now; or its result; or the question that it waits for.

        Raises:
            CallError: the call is not to be made.
        """
        if standing.in_doubt and not plan.bound.tool.repeatable:
            cleared = await self._clear_up(plan.said, standing, plan)
            if cleared is not None:
                return cleared
        if standing.asked is None:
            await self.look_first(plan, standing)
        asked = self._approvals.required(plan, standing)
        if asked is not None:
            return _for_program(asked.pending, plan)
        if plan.bound.toolset is None:
            return await self._hand_in(plan, standing)
        return plan if standing.missing is None else standing.missing.pending

    async def turn_away(self, call: ToolCall, standing: CallStanding, error: CallError) -> ToolResult | Pending:
        """The call is not to be made. If an earlier process began it, somebody has to say what became of it."""
        cleared = await self._clear_up(call, standing, None) if standing.in_doubt else None
        return cleared or self._maker.refuse(call, standing.place, error)

    async def look_first(self, plan: Plan, standing: CallStanding) -> None:
        """Make the checks that policies want before this call, put them on record, and let them speak.

        What is on record is enough to ask a person by; before the call is made it is looked up anew.

        Raises:
            PermissionDenied: a check speaks against the call, or could not be made.
        """
        for required in plan.required:
            known = self._scope.recording.check(standing.place, required.rule)
            fresh = plan.decision.verdict == "allow" or standing.asked is not None
            if known is None or fresh or not _is_same_check(known, required.requirement):
                known = await self._check(required, plan.key, standing.place)
            if known.fault:
                raise denied(required.requirement.reason, f"{required.rule}: {known.fault}")

    async def _check(self, required: Required, key: str, place: CallRef) -> PrecheckDone:
        """Make one check, and put it on record in this run, whichever agent's tool it takes."""
        look_up = self._maker.look_up if required.by is None else required.by.look_up
        requirement = required.requirement
        result, fault = await look_up(requirement, required.rule, key)
        shown, cleaned = await self._shown_check(requirement), await self._maker.cleaned(result)
        now = self._scope.elapsed()
        tool, rule = requirement.tool, required.rule
        checked = PrecheckDone(place.cause, place.index, tool, shown, cleaned, fault, rule, now)
        self._scope.write(checked)
        return checked

    async def _shown_check(self, requirement: Requirement) -> JsonObject:
        """The arguments of a check without secret values: those of the tool that is asked, and those of the call."""
        shown = self._maker.catalog.shown(ToolCall("", requirement.tool, requirement.arguments)).arguments
        if self._scope.told:
            known = frozenset(self._scope.told)
            return await off_loop(WORK * len(msgspec.json.encode(shown)), self._scope.redaction.fields_of, shown, known)
        return shown

    async def _clear_up(self, call: ToolCall, standing: CallStanding, plan: Plan | None) -> ToolResult | Pending | None:
        """An earlier process began this call and left no word of how it ended: find out, and do not just repeat it.

        Args:
            plan: None when the call would not be made now; a person can still say what became of it.

        Returns:
            What it came to, or whom it waits for; None when it did not happen, or a person wants it made again.
        """
        place, answer = standing.place, standing.verdict
        if answer is None and plan is not None and plan.bound.tool.probed:
            found = await self._maker.probe(plan, standing.attempts)
            if found.status == "done":
                result = found.result or ToolResult(call.id, (TextPart(WAS_DONE),))
                return await self._maker.settled(
                    call, place, msgspec.structs.replace(result, call_id=call.id), 0.0, "probed"
                )
            if found.status == "not_done":
                return None
        if answer is None:
            shown = plan.shown if plan is not None else self._maker.catalog.shown(call)
            return (standing.doubt or self._approvals.ask_doubt(shown, place)).pending
        if answer.verdict == "retry" and plan is not None:
            return None
        if answer.verdict == "done":
            result = ToolResult(call.id, (TextPart(answer.text or WAS_DONE),), given=True)
        else:
            effect: Effect = "none" if answer.verdict == "not_done" else "unknown"
            words = _WAS_NOT_DONE if effect == "none" else _NOBODY_KNOWS
            result = ToolResult(call.id, error=InDoubt(f"{words} {answer.text}".rstrip(), effect=effect).failure())
        return await self._maker.settled(call, place, result, 0.0, f"by {answer.by}")

    async def _hand_in(self, plan: Plan, standing: CallStanding) -> ToolResult:
        """The program carried out this call itself; its answer is the result."""
        answer = standing.answer
        result = ToolResult(plan.said.id, (TextPart(answer.text if answer is not None else ""),))
        return await self._maker.settled(plan.said, standing.place, result, 0.0)


def _for_program(pending: Pending, plan: Plan) -> Pending:
    """What a call waits for. Only a program that makes the call itself gets the secret values."""
    if pending.kind == "result" and plan.bound.secrets:
        return msgspec.structs.replace(pending, call=plan.call)
    return pending


def _is_same_check(known: PrecheckDone, required: Requirement) -> bool:
    return known.tool == required.tool and same(known.arguments, required.arguments)
