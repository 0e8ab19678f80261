"""What several policies say of one call, as one ruling."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum import Tool, ToolCall
from actum.core.approver import voter
from actum.core.call import ToolResult
from actum.core.json import JsonObject
from actum.core.policy import Ancestor, Decision, Facts, Requirement
from actum.core.provenance import Origin, Origins
from actum.core.run.pending import Pending, Quorum
from actum.policy.ruling import Ruling, rule_on

pytestmark = pytest.mark.row("C4")

PAY = Tool(name="pay")
CALL = ToolCall("1", "pay", {"to": "ada"})
PEOPLE = ["ada", "bob", "cem", "dan"]


class Says:
    """A policy that always says the same, and keeps the facts that it was asked by."""

    def __init__(self, decision: Decision) -> None:
        self.decision = decision
        self.facts: list[Facts] = []

    def decide(self, tool: Tool, call: ToolCall, facts: Facts) -> Decision:
        self.facts.append(facts)
        return self.decision


async def nobody_looks(requirement: Requirement, rule: str, key: str) -> tuple[ToolResult, str]:
    raise AssertionError(requirement)


def above(agent: str, policy: Says | None, facts: Facts | None = None) -> Ancestor:
    return Ancestor(agent=agent, policy=policy, facts=lambda: facts or Facts(agent=agent), look_up=nobody_looks)


def ruling(*decisions: Decision) -> Ruling:
    """The ruling where these are the decisions, the outermost first."""
    *outer, own = map(Says, decisions)
    ancestors = [above(f"a{level}", policy) for level, policy in enumerate(outer)]
    return rule_on(PAY, CALL, Facts(agent="own"), own, ancestors)


def wants(quorum: Quorum) -> Decision:
    return Decision("ask", "rule", approvers=quorum.approvers or None, quorum=quorum.needs)


QUORUMS = st.lists(st.sampled_from(PEOPLE), unique=True).flatmap(
    lambda names: st.builds(Quorum, st.just(tuple(names)), st.integers(1, max(1, len(names))))
)


@given(st.lists(QUORUMS, min_size=1, max_size=4))
def test_the_question_of_several_policies_is_agreed_when_each_of_them_would_be(wanted: list[Quorum]) -> None:
    found = ruling(*map(wants, wanted))
    decision = found.decision
    asked = Pending(
        "ask", "approval", "", approvers=decision.approvers or (), needs=decision.quorum, quorums=found.quorums
    )
    everybody = [*PEOPLE, "eve", "fay", "gus", "hal"]
    for count in range(len(everybody) + 1):
        for some in combinations(everybody, count):
            people = [voter(name, tenant="", run_tenant="") for name in some]
            may = [person for person in people if person.is_among(asked.approvers)]
            assert asked.is_agreed(may) == all(quorum.left(may) == 0 for quorum in wanted), some
            assert not asked.is_agreed(may) or len(may) >= asked.needs


DENY, ALLOW, ASK = Decision("deny", "no", "Never."), Decision("allow", "yes"), Decision("ask", "who", "Why?")
ODD = Decision("maybe", "odd")  # type: ignore[arg-type]  # no verdict

SAYS: list[tuple[tuple[Decision, ...], str, str, int | None]] = [
    ((ALLOW,), "allow", "yes", None),
    ((ASK,), "ask", "who", 0),
    ((ALLOW, ALLOW), "allow", "a0: yes; own: yes", None),
    ((DENY, ALLOW), "deny", "a0: no", None),
    ((ALLOW, DENY), "deny", "own: no", None),
    ((ASK, DENY), "deny", "own: no", None),
    ((ASK, ALLOW, DENY, ALLOW), "deny", "a2: no", None),
    ((ODD, ALLOW), "maybe", "a0: odd", None),
    ((ASK, ALLOW), "ask", "a0: who", 0),
    ((ALLOW, ASK), "ask", "own: who", 1),
    ((ALLOW, ASK, ASK, ALLOW), "ask", "a1: who; a2: who", 1),
]


def test_one_no_denies_and_the_rules_that_decide_are_on_record() -> None:
    for decisions, verdict, rule, level in SAYS:
        found = ruling(*decisions)
        assert (found.decision.verdict, found.decision.rule, found.level) == (verdict, rule, level), decisions


def test_the_earliest_time_counts_and_a_reason_that_two_rules_share_is_told_once() -> None:
    late, soon = Decision("ask", "late", "Why?", expires_s=60.0), Decision("ask", "soon", "Why?", expires_s=5.0)
    decision = ruling(late, soon, ASK).decision
    assert (decision.expires_s, decision.reason) == (5.0, "Why? (a0: late; a1: soon; own: who)")


def test_an_agent_that_was_given_no_policy_adds_nothing() -> None:
    own = Says(ALLOW)
    found = rule_on(PAY, CALL, Facts(agent="own"), own, [above("boss", None), above("middle", None)])
    assert found.decision is ALLOW


def looking(**origins: tuple[Origin, ...]) -> Facts:
    """Facts of a run in whose conversation the arguments have these origins."""

    def look(arguments: JsonObject) -> Origins:
        return {name: origins.get(name, (Origin("model"),)) for name in arguments}

    return Facts(principal="ada", roles=("clerk",), agent="above", key_id="k1", now=5.0, origins=look)


def test_each_policy_judges_by_the_facts_of_its_own_run_and_the_agent_that_calls() -> None:
    boss, own = Says(ALLOW), Says(ALLOW)
    mail, user, task = Origin("tool", "mail"), Origin("user"), Origin("agent")
    at_boss, at_middle = looking(a=(user,)), looking(a=(mail,), b=(mail,), c=(task,))
    helper = Facts(principal="eve", agent="helper", origins=looking(b=(task,), c=(mail, task), d=(task,)).origins)
    rule_on(PAY, CALL, helper, own, [above("boss", boss, at_boss), above("middle", None, at_middle)])
    (theirs,), (ours,) = boss.facts, own.facts
    assert (theirs.principal, theirs.roles, theirs.key_id, theirs.now, theirs.agent) == (
        "ada",
        ("clerk",),
        "k1",
        5.0,
        "helper",
    )
    assert ours is helper
    found = theirs.origins({"a": 1, "b": 1, "c": 1, "d": 1})
    assert found == {"a": (user,), "b": (mail,), "c": (mail,), "d": (Origin("model"),)}


@pytest.mark.row("C3")
def test_a_policy_that_asks_a_list_of_nobody_is_a_no() -> None:
    for approvers, verdict in (((), "deny"), (None, "ask"), (("ada",), "ask")):
        asks = Decision("ask", "mine", approvers=approvers)
        assert ruling(asks).decision.verdict == verdict
        assert ruling(ALLOW, asks).decision.verdict == verdict
