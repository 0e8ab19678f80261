"""What a run asks persons before a call is made, or after one that nobody knows the end of: the questions, on record.

Whether an answer covers the call that is to be made now is decided here, each time anew. The code that gets an answer
puts it on record; see `approve`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from ...core.call import ToolCall
from ...core.errors import ApprovalDenied, ApprovalExpired
from ...core.json import same
from ...core.policy import Decision
from ...core.run.ids import new_id
from ...core.run.pending import Pending
from ...core.run.record import InputRequested
from ...core.tool import Tool
from ...journal.grant import told
from ...journal.recording import CallRef, CallStanding
from ...policy.origins import Lookup
from ..limits.limits import Limits
from ..plan import Plan
from ..scope import RunContext

WORDS_MAX = 1_000
"""Characters of what a foreign tool says of itself that are shown with the question whether to call it."""

_DOUBT = "The program was interrupted during this call. It may or may not have happened. Did it?"


class Approvals:
    """Asks on behalf of one run.

    Args:
        scope: the run.
        limits: how long an approval may be waited for, where the policy does not say.
        origins: gives what tells where the arguments of a call came from.
    """

    def __init__(self, scope: RunContext, limits: Limits, origins: Callable[[CallRef], Lookup]) -> None:
        self._scope = scope
        self._limits = limits
        self._origins = origins

    def required(self, plan: Plan, standing: CallStanding) -> InputRequested | None:
        """What must be answered before this plan may be carried out: an approval, then the result of a call that the
        program makes itself; None when nothing is in the way.

        Raises:
            ApprovalDenied: the answer was no.
            ApprovalExpired: there was none in time, or it was given for other arguments.
        """
        approval = self._approval(plan, standing)
        if approval is not None or plan.bound.toolset is not None:
            return approval
        asked = standing.asked
        return self._ask(plan, standing.place, kind="result") if asked is None or asked.kind == "approval" else None

    def _approval(self, plan: Plan, standing: CallStanding) -> InputRequested | None:
        """What a person must say of this plan first; see `required`."""
        place, asked, answer = standing.place, standing.asked, standing.answer
        if answer is not None and answer.verdict == "deny":
            raise ApprovalDenied(f"A person said no to this call. {answer.text}".rstrip())
        seen = answer is not None and answer.expired
        if asked is not None and (seen or 0 < asked.pending.expires < self._scope.now()):
            raise ApprovalExpired(
                "The approval of this call came too late. The call was not made."
                if answer is None or seen
                else "The approval of this call has run out. The call was not made."
            )
        if asked is not None and asked.version != plan.bound.tool.digest:
            return self._ask(plan, place, "The tool has changed since this was asked. ")
        if asked is not None and answer is None:
            return asked
        if plan.decision.verdict == "allow":
            return None
        if asked is None or answer is None:
            return self._ask(plan, place)
        if asked.kind == "approval" and answer.verdict != "approve":
            raise ApprovalDenied("A person was asked about this call and did not say yes.")
        if asked.kind == "approval" and not asked.pending.includes(plan.all_quorums):
            return self._ask(plan, place, "The policy has changed since this was asked. ")
        if answer.arguments is not None:
            return None if plan.decision.rule == asked.rule else self._ask(plan, place, "The arguments were changed. ")
        if asked.pending.call is None or not same(asked.pending.call.arguments, plan.shown.arguments):
            raise ApprovalExpired("The approval was given for other arguments. The call was not made.")
        return None

    def _ask(
        self, plan: Plan, place: CallRef, note: str = "", kind: Literal["approval", "result"] = "approval"
    ) -> InputRequested:
        """Put the question on record."""
        approval, tool, call = kind == "approval", plan.bound.tool, plan.shown
        parameters = tuple(tool.property_schemas()) if approval else ()
        pending = Pending(
            id=new_id("ask"),
            kind=kind,
            message=note + plan.decision.reason + (_own_words(tool) if approval else ""),
            call=call,
            origins=self._origins(place)(plan.call.arguments),
            approvers=(plan.decision.approvers or ()) if approval else (),
            needs=plan.decision.quorum if approval else 1,
            not_by=plan.decision.not_by if approval else "",
            expires=self._expiry(plan.decision) if approval else 0.0,
            quorums=plan.quorums if approval else (),
            level=plan.level if approval else None,
            sinks=tool.sinks if approval else None,
            parameters=parameters,
            covers=str(told(call.arguments, tool.sinks, parameters)) if approval else "",
            secrets=plan.bound.secrets,
            risk=plan.decision.risk if approval else None,
        )
        asked = InputRequested(
            pending, place.cause, place.index, version=tool.digest, rule=plan.decision.rule, edited=plan.edited
        )
        self._scope.write(asked)
        return asked

    def _expiry(self, decision: Decision) -> float:
        """When an answer would come too late, in seconds since 1970; 0 for never."""
        seconds = decision.expires_s if decision.expires_s is not None else self._limits.approval_seconds
        return 0.0 if seconds is None else self._scope.now() + seconds

    def ask_doubt(self, call: ToolCall, place: CallRef) -> InputRequested:
        """Only a person can say what became of it."""
        pending = Pending(new_id("ask"), "doubt", _DOUBT, call, self._origins(place)(call.arguments))
        asked = InputRequested(pending, place.cause, place.index)
        self._scope.write(asked)
        return asked


def _own_words(tool: Tool) -> str:
    """A foreign tool's description of itself, for the person who decides, marked as the tool's own words."""
    if not tool.foreign or not tool.description:
        return ""
    cut = "…" if len(tool.description) > WORDS_MAX else ""
    return f" Its maker says of it: “{tool.description[:WORDS_MAX]}{cut}”"
