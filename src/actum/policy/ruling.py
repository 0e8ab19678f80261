"""What all policies together say of one call: the policy of the agent that makes the call, and those above this agent.

An agent that is started by a call of another agent is bound by the other's policy, too. A call is put to every policy
on its way down, the outermost first, each with the facts of its own run and with `agent` being the agent that calls:

- one `deny` denies, and its reason is told;
- several `ask` are one question: it names each rule, and needs the approvers that each rule names;
- the call is allowed when nobody denies or asks.

An agent that was given no policy binds nothing below it. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import msgspec
from msgspec import Struct

from ..core.approver import AT, ROLE
from ..core.call import ToolCall
from ..core.json import JsonObject
from ..core.policy import Ancestor, Decision, Facts, Policy, Requirement
from ..core.provenance import Origin, Origins
from ..core.run.pending import Quorum
from ..core.tool import Tool
from .rules import DECLARED

LookUp = Callable[[JsonObject], Origins]
"""Looks up the origins of arguments in one conversation."""


class Required(Struct, frozen=True):
    """A check that has to be made before a call.

    Attributes:
        rule: the rule that requires the check, as it is called on record.
        requirement: the check.
        by: the run above whose policy requires the check, and with whose tools it is made; None for this run.
    """

    rule: str
    requirement: Requirement
    by: Ancestor | None = None


class Ruling(Struct, frozen=True):
    """What all policies together say of one call.

    Attributes:
        decision: the verdict. `approvers` are all who may answer, `quorum` the least number of persons.
        quorums: set where the rules that ask need different persons; see `record.InputRequested`.
        required: the checks that have to be made first.
        level: how many runs stand above the run of the outermost policy that asks; None where nobody asks.
    """

    decision: Decision
    quorums: tuple[Quorum, ...] = ()
    required: tuple[Required, ...] = ()
    level: int | None = None


class _Word(Struct, frozen=True):
    """What one policy says.

    Attributes:
        decision: what it says; its rule says whose rule it is.
        level: how many runs stand above the run of its agent.
        by: as in `Required`.
        declared: only the tool itself wants approval: no rule of this policy does.
    """

    decision: Decision
    level: int
    by: Ancestor | None
    declared: bool

    @property
    def required(self) -> tuple[Required, ...]:
        found = self.decision.require
        return (Required(self.decision.rule, found, self.by),) if found is not None else ()


def rule_on(
    tool: Tool,
    call: ToolCall,
    facts: Facts,
    policy: Policy,
    ancestors: Sequence[Ancestor] = (),
    meant: tuple[Tool, ToolCall] | None = None,
) -> Ruling:
    """Put a call to every policy on its way down.

    Args:
        tool: what is called.
        call: the call, with the arguments that the tool would get.
        facts: the facts of the run that makes the call.
        policy: the policy of the agent that makes the call.
        ancestors: the runs above this run, the outermost first.
        meant: the tool that the call is for where the called tool stands for others, and the call as that tool would
            get it. Every policy judges both.
    """
    if meant is None and (not ancestors or not any(each.policy is not None for each in ancestors)):
        alone = _word_of(policy, tool, call, facts)
        required = () if alone.require is None else (Required(alone.rule, alone.require),)
        return Ruling(alone, (), required, len(ancestors) if alone.verdict == "ask" else None)
    judged = [(tool, call)] if meant is None else [meant, (tool, call)]
    return _together([word for each in judged for word in _words(*each, facts, policy, ancestors)])


def _words(tool: Tool, call: ToolCall, facts: Facts, policy: Policy, ancestors: Sequence[Ancestor]) -> list[_Word]:
    """What each policy says, the outermost first."""
    if not any(each.policy is not None for each in ancestors):
        alone = _word_of(policy, tool, call, facts)
        return [_Word(alone, len(ancestors), None, alone.rule == DECLARED)]
    words: list[_Word] = []
    own_facts = [each.facts() for each in ancestors]
    lookups = [*(each.origins for each in own_facts), facts.origins]
    for level, ancestor in enumerate(ancestors):
        if ancestor.policy is None:
            continue
        origins = partial(first_known, lookups[level:])
        brought = partial(_all_brought, [own_facts[level].brought, facts.brought])
        theirs = msgspec.structs.replace(own_facts[level], agent=facts.agent, origins=origins, brought=brought)
        words.append(_named(ancestor.agent, _word_of(ancestor.policy, tool, call, theirs), level, ancestor))
    words.append(_named(facts.agent, _word_of(policy, tool, call, facts), len(ancestors), None))
    return words


def _word_of(policy: Policy, tool: Tool, call: ToolCall, facts: Facts) -> Decision:
    """What one policy says. A question that nobody may answer is a no."""
    decision = policy.decide(tool, call, facts)
    if decision.verdict != "ask" or decision.approvers is None or decision.approvers:
        return decision
    return msgspec.structs.replace(
        decision, verdict="deny", reason=f"Nobody may approve it. {decision.reason}".rstrip()
    )


def _named(agent: str, decision: Decision, level: int, by: Ancestor | None) -> _Word:
    """A decision whose rule says whose rule it is."""
    named = msgspec.structs.replace(decision, rule=f"{agent}: {decision.rule}")
    return _Word(named, level, by, decision.rule == DECLARED)


def _together(words: Sequence[_Word]) -> Ruling:
    """One ruling out of what several policies say."""
    for word in words:
        if word.decision.verdict not in ("allow", "ask"):  # what is no verdict lets nothing through
            return Ruling(word.decision)
    required = tuple(each for word in words for each in word.required)
    asking = [word for word in words if word.decision.verdict == "ask"]
    if words[-1].decision.verdict == "ask":  # what the tool declares is asked once, by the agent that has the tool
        asking = [word for word in asking if not word.declared or word is words[-1]]
    if not asking:
        final = all(word.decision.final for word in words)
        return Ruling(Decision("allow", "; ".join(word.decision.rule for word in words), final=final), (), required)
    quorums = _needed(
        [Quorum(word.decision.approvers or (), word.decision.quorum, word.decision.not_by) for word in asking]
    )
    times = [word.decision.expires_s for word in asking if word.decision.expires_s is not None]
    decision = Decision(
        "ask",
        "; ".join(word.decision.rule for word in asking),
        _reasons(asking),
        _approvers(quorums) or None,
        _least(quorums),
        min(times, default=None),
        not_by=quorums[0].not_by if len(quorums) == 1 else "",
    )
    return Ruling(decision, quorums if len(quorums) > 1 else (), required, asking[0].level)


def _reasons(asking: Sequence[_Word]) -> str:
    """Why a person is asked; where several rules ask, each rule is named behind its reason."""
    if len(asking) == 1:
        return asking[0].decision.reason
    rules: dict[str, list[str]] = {}
    for word in asking:
        rules.setdefault(word.decision.reason, []).append(word.decision.rule)
    return " ".join(f"{reason} ({'; '.join(some)})".lstrip() for reason, some in rules.items())


def _needed(quorums: Sequence[Quorum]) -> tuple[Quorum, ...]:
    """Without those that are met whenever another one is."""
    kept: list[Quorum] = []
    for quorum in dict.fromkeys(quorums):
        if any(_implies(other, quorum) for other in kept):
            continue
        kept = [*(other for other in kept if not _implies(quorum, other)), quorum]
    return tuple(kept)


def _implies(quorum: Quorum, other: Quorum) -> bool:
    """Whether persons who meet the first quorum always meet the other."""
    if quorum.needs < other.needs or other.not_by not in ("", quorum.not_by):
        return False
    return not other.approvers or (bool(quorum.approvers) and set(quorum.approvers) <= set(other.approvers))


def _approvers(quorums: Sequence[Quorum]) -> tuple[str, ...]:
    """All who may answer; empty for anybody."""
    if not all(quorum.approvers for quorum in quorums):
        return ()
    return tuple(dict.fromkeys(name for quorum in quorums for name in quorum.approvers))


def _least(quorums: Sequence[Quorum]) -> int:
    """The least number of persons that can meet all quorums; a lower bound where somebody counts for several."""
    named = [quorum for quorum in quorums if quorum.approvers]
    known = not any(ROLE in name or AT in name for quorum in named for name in quorum.approvers)
    apart = known and len({name for quorum in named for name in quorum.approvers}) == sum(
        len(q.approvers) for q in named
    )
    return max(sum(quorum.needs for quorum in named) if apart else 0, *(quorum.needs for quorum in quorums))


def first_known(lookups: Sequence[LookUp], arguments: JsonObject) -> Origins:
    """The origins of arguments, as a run above the calling run sees them.

    What stands in the conversation of the run above has the origins that it has there. What the run above knows nothing
    of has the origins that it has in the first conversation below in which it stands. The task that an agent hands down
    is no origin: its words are of the model that wrote them.

    Args:
        lookups: of the conversations, from the run above down to the run that calls.
    """
    found = lookups[0](arguments)
    for lookup in lookups[1:]:
        unknown = {path for path, origins in found.items() if all(origin.source == "model" for origin in origins)}
        if not unknown:
            break
        below = lookup(arguments)
        found |= {path: _handed_up(below.get(path, ())) for path in unknown}
    return found


def _all_brought(told: Sequence[Callable[[], tuple[str, ...]]]) -> tuple[str, ...]:
    """What brought foreign text to the conversation of a run above, or to that of the run that calls."""
    return tuple(dict.fromkeys(name for each in told for name in each()))


def _handed_up(origins: Sequence[Origin]) -> tuple[Origin, ...]:
    return tuple(origin for origin in origins if origin.source != "agent") or (Origin("model"),)
