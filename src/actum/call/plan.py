"""From a call to a plan: resolve, validate, decide.

Pure; what it can not let through it raises as the `CallError` it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from typing import Literal

import msgspec
from msgspec import Struct

from ..core.call import Problem, ToolCall
from ..core.errors import InvalidArguments, PermissionDenied
from ..core.interfaces import StandsForOthers
from ..core.json import JsonObject
from ..core.policy import Ancestor, Decision, Defence, Facts, Policy, Requirement
from ..core.run.pending import Quorum
from ..core.run.risk import Risk
from ..core.secret_values import SECRET, is_missing, shown_call, shown_repairs, taken_out
from ..core.tool import Tool
from ..journal.grant import APPROVED_FOR_RUN
from ..journal.recording import CallRef, CallStanding, RunState
from ..policy.defence import PREFIX, Judged
from ..policy.defence import judge as defend
from ..policy.defence import shown as shown_value
from ..policy.labels import Labelling
from ..policy.origins import Lookup
from ..policy.published import PublishedPolicy
from ..policy.rules import Barring
from ..policy.ruling import Required, first_known, rule_on
from ..schema.canonical import Unclear
from .canonical import written_out
from .resolve import Catalog, ResolvedTool, bound_tool


class PolicyInputs(Struct, frozen=True, kw_only=True):
    """The policies and facts by which a call is judged.

    Attributes:
        policy: who may call what.
        binding: the agent was given this policy, so that it also binds the runs that calls of this run start.
        ancestors: the runs above this run, whose policies bind it; the outermost first.
        facts: who makes the calls of this run; the time and the origins are known only when one is made.
        root: id and salt of the run, for idempotency keys.
        coerce: whether arguments that nearly fit are mended.
        extra: what becomes of arguments that the tool does not know.
        lets_in: whether the user of this run may use its agent now; None where that can not change.
        defence: as for `Agent`; None for calls that no model makes, and where the agent has none.
        done_elsewhere: tools that the run from which this one branched off has used since: their calls may do again
            what was done.
    """

    policy: Policy
    binding: bool = False
    ancestors: tuple[Ancestor, ...] = ()
    facts: Facts = Facts()
    root: str = ""
    coerce: bool = True
    extra: Literal["refuse", "drop"] = "refuse"
    lets_in: Callable[[], bool] | None = None
    defence: Defence | Literal["auto"] | None = None
    done_elsewhere: frozenset[str] = frozenset()

    def facts_at(self, now: float, origins: Lookup, brought: Callable[[], tuple[str, ...]]) -> Facts:
        """What policies may know now.

        Args:
            now: seconds since 1970.
            origins: looks up where arguments came from.
            brought: tells what brought foreign text; see `Facts.outside`.
        """
        return msgspec.structs.replace(self.facts, now=now, origins=origins, brought=brought)

    @property
    def published(self) -> tuple[PublishedPolicy, ...]:
        """The policies among these that a tenant publishes; it is looked before each call which version is in use."""
        policies = (self.policy, *(each.policy for each in self.ancestors))
        return tuple(each for each in policies if isinstance(each, PublishedPolicy))

    def bars(self, tool: Tool, now: float) -> bool:
        """Whether a policy denies every call of a tool, whatever the arguments are.

        Args:
            tool: the tool.
            now: seconds since 1970.
        """
        own = (self.policy, lambda: msgspec.structs.replace(self.facts, now=now))
        above = ((each.policy, each.facts) for each in self.ancestors)
        return any(isinstance(policy, Barring) and policy.bars(tool, facts()) for policy, facts in (own, *above))


class Plan(Struct, frozen=True):
    """A call that may be made, if only a person has to agree.

    Attributes:
        bound: the tool.
        said: the call as the model said it.
        call: the call with the arguments that the tool gets.
        repairs: what was mended, by the dialect or the schema.
        decision: what the policies said.
        key: the idempotency key.
        edited: the arguments are a person's.
        quorums, required, level: as in `ruling.Ruling`.
        meant: the name of the tool that the call is for, where the called tool stands for others; else empty.
        wants_mandate: as in `defence.Judged`.
        shown: the call as it is shown and written down: without the secret values in its arguments.
    """

    bound: ResolvedTool
    said: ToolCall
    call: ToolCall
    repairs: tuple[str, ...]
    decision: Decision
    key: str
    shown: ToolCall
    edited: bool = False
    quorums: tuple[Quorum, ...] = ()
    required: tuple[Required, ...] = ()
    level: int | None = None
    meant: str = ""
    wants_mandate: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which limits know the call."""
        return (self.bound.tool.name, self.meant) if self.meant else (self.bound.tool.name,)

    @property
    def all_quorums(self) -> tuple[Quorum, ...]:
        """The quorums that have to be met where a person is asked."""
        return self.quorums or (Quorum(self.decision.approvers or (), self.decision.quorum, self.decision.not_by),)


def judge(
    call: ToolCall,
    standing: CallStanding,
    catalog: Catalog,
    terms: PolicyInputs,
    facts: Facts,
    *,
    defended: bool = False,
    labels: Labelling | None = None,
) -> Plan:
    """Judge a call as it would be made now: with the arguments that a person put in.

    Raises:
        CallError: as `decide`.
    """
    if standing.edited is None:
        return decide(call, standing.place, catalog, terms, facts, defended=defended, labels=labels)
    edited = msgspec.structs.replace(call, arguments=standing.edited, raw="", complete=True, repairs=())
    plan = decide(edited, standing.place, catalog, terms, facts, defended=defended, labels=labels)
    return msgspec.structs.replace(plan, said=call, edited=True)


def granted(plan: Plan, place: CallRef, state: RunState, now: float) -> Plan:
    """The plan of a call that a person would have to be asked about; allowed where a person has granted the call
    before: for the whole run, or in the run that asked for this task.
    """
    tool, rule, quorums = plan.bound.tool, plan.decision.rule, plan.all_quorums
    grant, handed = state.granted(tool, plan.call.arguments, rule, quorums, now), state.handed(place)
    approval = handed.approval if handed is not None else None
    if grant is not None:
        approved = f"{APPROVED_FOR_RUN}{grant.id}"
    elif approval is not None and approval.covers(tool.digest, rule, quorums, now):
        approved = f"approved in the run that asked for this task: {approval.id}"
    else:
        return plan
    return msgspec.structs.replace(
        plan, decision=msgspec.structs.replace(plan.decision, verdict="allow", rule=approved)
    )


def decide(
    call: ToolCall,
    place: CallRef,
    catalog: Catalog,
    terms: PolicyInputs,
    facts: Facts,
    *,
    defended: bool = False,
    labels: Labelling | None = None,
) -> Plan:
    """Judge one call.

    Args:
        facts: those of `terms`, as they are now.
        defended: the defence judges what the policies allow.
        labels: the labelled values of the conversation, by which placeholders in arguments are replaced.

    Raises:
        UnknownTool: nothing has this name.
        InvalidArguments: they are not complete, or do not fit the schema.
        PermissionDenied: a policy refuses.
    """
    bound = catalog.resolve(call.name)
    said = call
    placeholders: JsonObject = {}
    if labels is not None and not bound.is_safe_by_itself:
        call, placeholders = _with_values(call, labels)
    try:
        call, repairs = fit(call, bound, terms)
    except InvalidArguments as invalid:
        raise _without_values(invalid) if placeholders else invalid from None
    meant = _meant(call, bound.standing, terms) if bound.standing is not None else None
    ruling = rule_on(bound.tool, call, facts, terms.policy, terms.ancestors, meant)
    decision, level = ruling.decision, ruling.level
    if decision.verdict not in ("allow", "ask"):  # what is no verdict lets nothing through
        raise denied(decision.reason, decision.rule)
    wants_mandate = False
    if defended and not bound.tool.reads_only:
        judged = _defended(meant or (bound.tool, call), decision, terms, facts)
        decision, wants_mandate = judged.decision, judged.wants_mandate
        level = _defending_level(terms) if level is None and decision.verdict == "ask" else level
    if labels is not None and decision.verdict == "allow" and not decision.final:
        decision = _labelled(bound.tool if meant is None else meant[0], call, decision, labels)
        level = _defending_level(terms) if level is None and decision.verdict == "ask" else level
    if decision.verdict == "allow" and call.name in terms.done_elsewhere and not bound.tool.reads_only:
        why = "The run that this one branched off from used this tool after that point."
        decision = msgspec.structs.replace(decision, verdict="ask", rule="branch", reason=why)
        level = len(terms.ancestors)
    shown = shown_call(call, bound.secrets) if bound.secrets else call
    if placeholders:
        shown = msgspec.structs.replace(shown, arguments={**shown.arguments, **placeholders})
        decision = _with_placeholders(decision, placeholders)
    return Plan(
        bound=bound,
        said=said,
        call=call,
        repairs=repairs,
        decision=decision,
        key=idempotency_key(terms.root, place, shown),
        shown=shown,
        quorums=ruling.quorums,
        required=ruling.required,
        level=level,
        meant="" if meant is None else meant[0].name,
        wants_mandate=wants_mandate,
    )


def _with_values(call: ToolCall, labels: Labelling) -> tuple[ToolCall, JsonObject]:
    """A call with values in the place of placeholders, and the arguments as they were that had placeholders."""
    filled = labels.filled(call.arguments)
    if filled is call.arguments:
        return call, {}
    before = {name: value for name, value in call.arguments.items() if filled[name] != value}
    return msgspec.structs.replace(call, arguments=filled, raw=""), before


def _without_values(invalid: InvalidArguments) -> InvalidArguments:
    """What is wrong with arguments, for a model that may not be told the values."""
    problems = [
        msgspec.structs.replace(each, received="", expected="a clear value" if each.rule == "clear" else each.expected)
        for each in invalid.problems
    ]
    return InvalidArguments(problems)


def _with_placeholders(decision: Decision, placeholders: JsonObject) -> Decision:
    """A decision whose words are for the record and the model: they name the placeholders and not the values."""
    risk = decision.risk
    if risk is None:
        return decision
    values = [
        msgspec.structs.replace(each, value=shown_value(placeholders[each.name])) if each.name in placeholders else each
        for each in risk.values
    ]
    new = msgspec.structs.replace(risk, values=tuple(values))
    return msgspec.structs.replace(decision, risk=new, reason=decision.reason.replace(str(risk), str(new)))


def _labelled(tool: Tool, call: ToolCall, decision: Decision, labels: Labelling) -> Decision:
    """A question, where a call may give labelled values to somebody who may not have them."""
    name = labels.barred(tool, call.arguments)
    if not name:
        return decision
    risk = Risk(tool.name, label=name)
    return msgspec.structs.replace(decision, verdict="ask", rule=f"{PREFIX}{name}", reason=str(risk), risk=risk)


def _defended(meant: tuple[Tool, ToolCall], decision: Decision, terms: PolicyInputs, facts: Facts) -> Judged:
    """What the defence says of a call, which the runs above may know more of."""
    lookups = [*(each.facts().origins for each in terms.ancestors), facts.origins]
    look_up = facts.origins if len(lookups) == 1 else partial(first_known, lookups)
    return defend(*meant, decision, facts, look_up)


def _defending_level(terms: PolicyInputs) -> int:
    """How many runs stand above the outermost run that has a defence."""
    levels = (level for level, each in enumerate(terms.ancestors) if each.defence is not None)
    return next(levels, len(terms.ancestors))


def _meant(call: ToolCall, standing: StandsForOthers, terms: PolicyInputs) -> tuple[Tool, ToolCall] | None:
    """The tool that a call is for, where the called tool stands for others, and the call as policies judge it.

    Raises:
        UnknownTool, InvalidArguments, PermissionDenied: as `StandsForOthers.meant`.
    """
    found = standing.meant(call)
    return None if found is None else (found[0], fit(found[1], bound_tool(found[0]), terms)[0])


def fit(call: ToolCall, bound: ResolvedTool, terms: PolicyInputs) -> tuple[ToolCall, tuple[str, ...]]:
    """The call as its tool would get it: arguments that fit the schema, paths and addresses written out.

    Returns:
        The call, and what was mended.

    Raises:
        InvalidArguments: they are not complete, or do not fit.
    """
    if not call.complete:
        raise InvalidArguments([_incomplete(call)])
    checked = bound.schema.check(call.arguments, coerce=terms.coerce, extra=terms.extra)
    if checked.problems:
        raise InvalidArguments(checked.problems)
    arguments, repairs = checked.arguments, call.repairs + checked.repairs
    if bound.secrets:
        if name := is_missing(arguments, bound.secrets):
            raise InvalidArguments([Problem(name, "secret", _DELETED, SECRET)])
        repairs = shown_repairs(repairs, taken_out(call.arguments, bound.secrets)[1])
    if bound.spots:
        try:
            arguments, changed = written_out(arguments, bound.spots, local=bound.tool.paths_are_local)
        except Unclear as unclear:
            raise InvalidArguments([Problem(unclear.args[0], "clear", unclear.args[1])]) from None
        repairs += tuple(f"{where}: written out" for where in changed)
    if arguments is not call.arguments:
        call = msgspec.structs.replace(call, arguments=arguments, raw="")
    return call, repairs


def denied(reason: str, rule: str) -> PermissionDenied:
    """The error of a call that the policy refuses: the reason for the model, the rule for the record."""
    error = PermissionDenied(f"This is not permitted. {reason}".rstrip())
    error.rule = rule
    return error


def check_of(requirement: Requirement, rule: str, key: str, catalog: Catalog, terms: PolicyInputs) -> Plan:
    """The plan of a check that a rule wants made before a call.

    Args:
        requirement: the check.
        rule: the rule that requires it.
        key: the idempotency key of the call that is judged.
        catalog: the tools of the agent whose policy requires the check.
        terms: of that agent's run.

    Raises:
        CallError: it can not be made: there is no such tool, it may change something, or the arguments do not fit.
    """
    check = ToolCall(f"check of {key[:12]}", requirement.tool, requirement.arguments)
    bound = catalog.resolve(requirement.tool)
    if not bound.tool.reads_only or bound.toolset is None:
        raise PermissionDenied("{tool} is not declared to read only", tool=requirement.tool)
    call, repairs = fit(check, bound, terms)
    shown = shown_call(call, bound.secrets)
    own_key = hashlib.sha256(_sorted.encode((key, call.name, shown.arguments))).hexdigest()
    return Plan(bound, call, call, repairs, Decision("allow", f"required by {rule}"), own_key, shown)


def idempotency_key(root: str, place: CallRef, call: ToolCall) -> str:
    """The same for every attempt at one call, and for no other: two payments that were meant twice differ in their
    place. The key is written down, so the call is given without secret values: a short password could be guessed. What
    has a label is guarded by the salt of the run in `root`, which readers from whom the value is hidden are not shown.
    """
    return hashlib.sha256(_sorted.encode((root, place.cause, place.index, call.name, call.arguments))).hexdigest()


def _incomplete(call: ToolCall) -> Problem:
    why = next((repair for repair in reversed(call.repairs)), "the text ended too early")
    return Problem("", "complete", f"one complete JSON object ({why})", call.raw[-60:])


_DELETED = (
    "the value itself: [secret] only stands in its place on record, and the value was deleted when an earlier run "
    "ended; ask the user for it"
)
_sorted = msgspec.json.Encoder(order="sorted")
