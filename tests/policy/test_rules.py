"""The rules of a policy and the default where none fits."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.call import ToolCall
from actum.core.errors import UsageError
from actum.core.json import Json, JsonObject
from actum.core.message import UserMessage
from actum.core.policy import Decision, Facts
from actum.core.provenance import Origin, Origins
from actum.core.tool import Effects, Tool
from actum.policy.condition import VALUES_MAX
from actum.policy.origins import OriginIndex
from actum.policy.rules import (
    CAREFUL,
    DEFAULT,
    Predicate,
    Require,
    Rule,
    Rules,
    Verdict,
)

CALL = ToolCall("1", "t", {})
pytestmark = pytest.mark.row("C3")


def tool(*effects: Effects, declared: bool = True, foreign: bool = False, approval: bool = False) -> Tool:
    return Tool(name="t", effects=frozenset(effects) if declared else None, foreign=foreign, approval=approval)


@pytest.mark.parametrize(
    ("subject", "default", "careful"),
    [
        (tool(declared=False), "allow", "allow"),
        (tool("read"), "allow", "allow"),
        (tool("write"), "allow", "ask"),
        (tool("read", "spend"), "allow", "ask"),
        (tool("read", foreign=True), "allow", "allow"),
        (tool("send", foreign=True), "ask", "ask"),
        (tool(declared=False, foreign=True), "ask", "ask"),
        (tool("read", approval=True), "ask", "ask"),
    ],
)
def test_without_rules_passed_functions_run_and_foreign_effects_ask(subject: Tool, default: str, careful: str) -> None:
    assert DEFAULT.decide(subject, CALL, Facts()).verdict == default
    assert CAREFUL.decide(subject, CALL, Facts()).verdict == careful


def test_the_first_rule_that_fits_decides() -> None:
    policy = Rules(Rule("allow", tools="t"), Rule("deny", tools="*"))
    assert policy.decide(tool("write"), CALL, Facts()).verdict == "allow"
    assert policy.decide(Tool(name="u"), CALL, Facts()).verdict == "deny"


def test_a_rule_can_be_for_some_users_and_some_effects() -> None:
    policy = Rules(Rule("allow", users="ada"), Rule("deny", effects=frozenset({"write"})))
    assert policy.decide(tool("write"), CALL, Facts(principal="ada")).verdict == "allow"
    assert policy.decide(tool("write"), CALL, Facts(principal="bob")).verdict == "deny"
    assert policy.decide(tool("read"), CALL, Facts(principal="bob")).verdict == "allow"


def test_a_tool_that_is_declared_for_approval_asks_even_where_a_rule_allows() -> None:
    assert Rules(Rule("allow")).decide(tool(approval=True), CALL, Facts()).verdict == "ask"
    assert Rules(Rule("deny")).decide(tool(approval=True), CALL, Facts()).verdict == "deny"


def test_a_decision_names_the_rule_that_made_it() -> None:
    assert Rules(Rule("deny", tools="t*")).decide(tool(), CALL, Facts()).rule == "rule 1: deny t*"


@pytest.mark.parametrize(
    "wrong",
    [{"then": "Deny"}, {"effects": "write"}, {"effects": {"wriite"}}, {"tools": 5}, {"users": [5]}],
    ids=["then", "effects as text", "no effect", "tools as number", "users as numbers"],
)
def test_a_rule_with_a_typing_error_is_refused_at_once(wrong: dict[str, object]) -> None:
    (name,) = wrong
    with pytest.raises(UsageError, match=rf"Rule\({name}="):
        Rule(**{"then": "deny", **wrong})  # type: ignore[arg-type]


def judged(policy: Rules, facts: Facts | None = None, subject: Tool | None = None, **arguments: Json) -> Decision:
    return policy.decide(subject or tool("write"), ToolCall("1", "t", arguments), facts or Facts())


@pytest.mark.parametrize(
    ("rule", "fitting", "other"),
    [
        (Rule("deny", users="ad*"), Facts(principal="ada"), Facts(principal="bob")),
        (Rule("deny", users=["eve", "bob"]), Facts(principal="bob"), Facts(principal="ada")),
        (Rule("deny", users="?*"), Facts(principal="ada"), Facts()),
        (Rule("deny", roles="clerk"), Facts(roles=("clerk", "guest")), Facts(roles=("guest",))),
        (Rule("deny", agents={"desk"}), Facts(agent="desk"), Facts(agent="desktop")),
        (Rule("deny", keys="k_*"), Facts(key_id="k_1"), Facts(principal="k_1")),
        (Rule("deny", when="now > timestamp('2026-01-01T00:00:00Z')"), Facts(now=1.8e9), Facts(now=1.7e9)),
        (Rule("deny", when="'clerk' in roles"), Facts(roles=("clerk",)), Facts()),
        (Rule("deny", when=lambda call, facts: facts.agent == "desk"), Facts(agent="desk"), Facts()),
    ],
    ids=["user", "users", "anybody", "role", "agent", "key", "time", "roles in CEL", "predicate"],
)
def test_a_rule_fits_by_who_calls_and_when(rule: Rule, fitting: Facts, other: Facts) -> None:
    assert judged(Rules(rule), fitting).verdict == "deny"
    assert judged(Rules(rule), other).verdict == "allow"


def test_a_user_has_the_roles_that_the_policy_knows_of_and_those_the_run_was_started_with() -> None:
    policy = Rules(Rule("deny", roles="clerk"), Rule("ask", roles="guest"), users={"ada": ["clerk"]})
    assert judged(policy, Facts(principal="ada")).verdict == "deny"
    assert judged(policy, Facts(principal="bob", roles=("guest",))).verdict == "ask"
    assert judged(policy, Facts(principal="bob")).verdict == "allow"


def test_tools_may_be_several_patterns() -> None:
    policy = Rules(Rule("deny", tools=["pay_*", "t"]))
    assert judged(policy, subject=Tool(name="pay_now")).verdict == "deny"
    assert judged(policy, subject=Tool(name="repay_now")).verdict == "allow"
    assert judged(policy, subject=Tool(name="T")).verdict == "allow"


@pytest.mark.parametrize("verdict", ["allow", "ask", "deny"])
def test_a_condition_without_a_value_denies_whatever_its_rule_says_and_names_it(verdict: Verdict) -> None:
    decision = judged(Rules(Rule("deny", tools="other"), Rule(verdict, when="args.amount < 100", where="p.toml:7")))
    assert decision.verdict == "deny"
    assert decision.rule == f"p.toml:7: {verdict} *: its condition has no value: KeyError: 'amount'"
    assert "amount" not in decision.reason


@pytest.mark.parametrize("predicate", [lambda call, facts: call.arguments["amount"] < 100, lambda call, facts: "yes"])
def test_a_predicate_that_fails_or_is_neither_true_nor_false_denies_too(predicate: Predicate) -> None:
    decision = judged(Rules(Rule("allow", when=predicate)))
    assert (decision.verdict, "its condition has no value" in decision.rule) == ("deny", True)


def test_origins_are_looked_up_only_for_a_condition_that_speaks_of_them() -> None:
    seen: list[JsonObject] = []

    def origins(arguments: JsonObject) -> Origins:
        seen.append(arguments)
        return {"to": (Origin("tool", "read_mail", "body"),)}

    policy = Rules(
        Rule("allow", when="args.to == 'ada'"),
        Rule(
            "deny",
            when='origins["to"].exists(origin, origin.source == "tool" && !origin.trusted)',
            reason="A stranger said so.",
        ),
    )
    facts = Facts(origins=origins)
    assert judged(policy, facts, to="ada").verdict == "allow"
    assert seen == []
    assert judged(policy, facts, to="eve").verdict == "deny"
    assert seen == [{"to": "eve"}]


@pytest.mark.parametrize("verdict", ["allow", "ask", "deny"])
def test_the_default_can_be_set_and_approval_still_asks(verdict: Verdict) -> None:
    policy = Rules(default=verdict)
    for subject in (tool("read"), tool(declared=False, foreign=True), tool("destroy")):
        assert judged(policy, subject=subject).verdict == verdict
    assert judged(policy, subject=tool(approval=True)).verdict == ("deny" if verdict == "deny" else "ask")


def test_an_asking_rule_says_who_how_many_and_until_when() -> None:
    users = {"ada": ["manager"], "bob": ["manager"], "eve": ["clerk"]}
    rule = Rule("ask", approvers=["role:manager", "zoe"], quorum=2, expires_s=60)
    decision = judged(Rules(rule, users=users))
    assert (decision.approvers, decision.quorum, decision.expires_s) == (
        ("role:manager", "ada", "bob", "zoe"),
        2,
        60,
    )


def test_a_delegate_may_answer_for_an_approver_but_does_not_count_beside_them() -> None:
    delegates = {"ada": ["carol"]}
    decision = judged(Rules(Rule("ask", approvers=["ada", "bob"]), delegates=delegates))
    assert decision.approvers == ("ada", "bob", "carol")
    with pytest.raises(UsageError, match="carol would count beside those they stand in for"):
        Rules(Rule("ask", approvers=["ada", "bob"], quorum=2), delegates=delegates)


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        (lambda: Rule("ask", approvers=["role:"]), "approvers: 'role:': write a user, user:NAME"),
        (lambda: Rule("ask", approvers=["ada", ""]), "approvers: '': write a user, user:NAME"),
        (lambda: Rules(Rule("ask", approvers=["ada"], quorum=2)), "rule 1: ask *: quorum = 2: there are 1 approvers"),
        (lambda: Rules(Rule("deny"), Rule("ask", when="1 +")), "rule 2: ask *: '1 +' is no CEL"),
        (lambda: Rules(Rule("ask", require=Require("f", "x > 1"))), "rule 1: ask *: there is no variable 'x'"),
        (lambda: Rules(default=cast(Verdict, "refuse")), "default='refuse': it is one of allow, ask, deny"),
        (lambda: Rule("deny", approvers=["ada"]), "belong to a rule that asks"),
        (lambda: Rule("deny", require=Require("f", "check")), "a rule that denies requires nothing"),
        (lambda: Rule("ask", quorum=0), "Rule(quorum=0)"),
        (lambda: Rule("ask", approvers="ada"), "Rule(approvers='ada')"),
    ],
)
def test_a_policy_that_can_not_be_meant_is_refused_when_it_is_made(rules: Callable[[], object], told: str) -> None:
    with pytest.raises(UsageError) as caught:
        rules()
    assert told in str(caught.value)


def test_a_required_check_comes_with_its_arguments_and_speaks_of_what_came() -> None:
    require = Require("balance", "check.amount >= args.amount", {"of": "args.to", "when": "now"}, "Too little.")
    policy = Rules(Rule("allow", require=Require("balance", "check.amount >= args.amount", {"of": "args.to"})))
    needed = judged(policy, to="ada", amount=5).require
    assert needed is not None
    assert (needed.tool, needed.arguments) == ("balance", {"of": "ada"})
    assert needed.fault({"amount": 5}) == ""
    assert needed.fault({"amount": 4}) == "check.amount >= args.amount is false"
    assert needed.fault("nothing").startswith("check.amount >= args.amount has no value")
    decision = judged(Rules(Rule("ask", require=require)))
    assert (decision.verdict, decision.require) == ("deny", None)  # `args.to` is missing


def test_the_arguments_of_a_check_are_json() -> None:
    needed = judged(Rules(Rule("allow", require=Require("f", "check", {"when": "now"}))), Facts(now=0.0)).require
    assert needed is not None
    assert needed.arguments == {"when": "1970-01-01T00:00:00Z"}


def test_a_tool_that_needs_approval_is_checked_all_the_same() -> None:
    decision = judged(Rules(Rule("allow", require=Require("f", "check"))), subject=tool("write", approval=True))
    assert decision.verdict == "ask"
    assert decision.require is not None


def test_a_decision_is_explained_rule_by_rule() -> None:
    policy = Rules(
        Rule("deny", tools="other"),
        Rule("deny", effects={"read"}),
        Rule("allow", users="ada", roles="clerk"),
        Rule("allow", when="args.amount < 100"),
        Rule("ask", where="p.toml:9"),
    )
    looks, decision = policy.explain(tool("write"), ToolCall("1", "t", {"amount": 500}), Facts(principal="bob"))
    assert [(look.rule, look.why_not) for look in looks] == [
        ("rule 1: deny other", "tools: t is none of other"),
        ("rule 2: deny *", "effects: write is none of read"),
        ("rule 3: allow *", "users: bob is none of ada"),
        ("rule 4: allow *", "when: args.amount < 100 is false"),
        ("p.toml:9: ask *", ""),
    ]
    assert decision.rule == "p.toml:9: ask *"
    looks, _ = Rules().explain(tool("write"), CALL, Facts())
    assert [look.rule for look in looks] == ["default"]


NAMES = st.sampled_from(["t", "u", "t*", "*"])
WHO = st.sampled_from([None, (), "ada", "bob", "*"])
CONDITIONS = ["", "args.n < 5", "args.n >= 5", "user == 'ada'", "args.gone > 1"]
rules = st.builds(
    Rule,
    st.sampled_from(["allow", "ask", "deny"]),
    tools=NAMES,
    users=WHO,
    effects=st.sampled_from([None, frozenset(), frozenset({"read"}), frozenset({"write", "send"})]),
    when=st.sampled_from(CONDITIONS),
)


def plainly(rule: Rule, subject: Tool, number: int, user: str) -> bool | None:
    """Whether a rule fits, in other words; None where nobody knows."""
    if rule.tools not in (subject.name, "*") and not (rule.tools == "t*" and subject.name == "t"):
        return False
    if rule.users not in (None, "*", user) or (
        rule.effects is not None and not rule.effects & (subject.effects or set())
    ):
        return False
    held = {"": True, "args.n < 5": number < 5, "args.n >= 5": number >= 5, "user == 'ada'": user == "ada"}
    return held.get(str(rule.when))


@given(st.lists(rules, max_size=6), st.sampled_from(["t", "u"]), st.integers(0, 9), st.sampled_from(["ada", "bob"]))
def test_the_first_rule_that_fits_decides_and_one_of_which_nobody_knows_denies(
    listed: list[Rule], name: str, number: int, user: str
) -> None:
    subject = Tool(name=name, effects=frozenset({"write"}))
    decision = Rules(*listed, default="ask").decide(subject, ToolCall("1", name, {"n": number}), Facts(principal=user))
    expected: tuple[str, str] = ("ask", "default: ask")
    for place, rule in enumerate(listed, 1):
        fits = plainly(rule, subject, number, user)
        if fits is not False:
            expected = ("deny" if fits is None else rule.then, f"rule {place}: {rule.then} {rule.tools}")
            break
    assert decision.verdict == expected[0]
    assert decision.rule.startswith(expected[1])


@pytest.mark.parametrize(
    ("rules", "barred"),
    [
        ([Rule("deny", tools="pay_*")], True),
        ([Rule("deny", users="eve")], True),
        ([Rule("deny", users="ada")], False),
        ([Rule("deny", effects={"spend"})], True),
        ([Rule("deny", when="args.amount > 5")], False),
        ([Rule("allow", when="args.amount < 5"), Rule("deny")], False),
        ([Rule("ask"), Rule("deny")], False),
        ([Rule("deny", when="args.amount > 5"), Rule("deny", tools="pay_*")], True),
    ],
)
def test_a_tool_is_barred_where_every_call_of_it_would_be_denied(rules: list[Rule], barred: bool) -> None:
    pay = Tool(name="pay_bill", effects=frozenset({"spend"}))
    assert Rules(*rules).bars(pay, Facts(principal="eve")) is barred
    assert Rules(default="deny").bars(pay, Facts(principal="eve"))


ANYBODY = Facts(principal="mallory", roles=("guest",), agent="desk", key_id="k1")


def test_an_empty_list_fits_nothing_in_allow_ask_and_deny_alike() -> None:
    verdicts: tuple[Verdict, ...] = ("allow", "ask", "deny")
    for verdict in verdicts:
        otherwise: Verdict = "allow" if verdict == "deny" else "deny"
        for field in ("tools", "users", "roles", "agents", "keys"):
            empties: tuple[Collection[str], ...] = ([], (), frozenset())
            for empty in empties:
                rule = Rule(verdict, **{field: empty})  # type: ignore[arg-type]
                assert judged(Rules(rule, default=otherwise), ANYBODY).verdict == otherwise, (verdict, field, empty)
                assert (rule.empty, rule.fits_all) == ((field,), False)
            rule = Rule(verdict, **{field: None})  # type: ignore[arg-type]
            assert judged(Rules(rule, default=otherwise), ANYBODY).verdict == verdict, (verdict, field)
        for effects in (set[Effects](), frozenset[Effects]()):
            assert judged(Rules(Rule(verdict, effects=effects), default=otherwise), ANYBODY).verdict == otherwise


def test_a_rule_for_an_empty_list_bars_no_tool_and_is_about_none() -> None:
    pay = Tool(name="pay", effects=frozenset({"spend"}))
    assert not Rules(Rule("deny", tools=[])).bars(pay, ANYBODY)
    assert not Rules(Rule("deny", effects=set())).bars(pay, ANYBODY)
    assert Rules(Rule("allow", users=[]), default="deny").bars(pay, ANYBODY)
    assert not Rule("allow", tools=[]).is_about(pay)
    assert not Rule("allow", effects=set()).is_about(pay)


def test_an_empty_list_is_told_as_the_reason_why_a_rule_does_not_fit() -> None:
    looks, _ = Rules(Rule("allow", users=[])).explain(tool("write"), CALL, ANYBODY)
    assert looks[0].why_not == "users: an empty list fits nothing"


def test_approvers_that_are_an_empty_list_are_refused_in_python_too() -> None:
    with pytest.raises(UsageError, match="nobody could ever answer"):
        Rule("ask", approvers=[])
    assert judged(Rules(Rule("ask", approvers=None))).approvers is None


def heard(text: str) -> Facts:
    return Facts(origins=OriginIndex([UserMessage.of(text)], lambda tool: ()).of)


def test_an_origin_test_is_looked_up_by_the_name_of_an_argument_and_never_by_its_value() -> None:
    facts = heard("Send 20 to ada-main")
    policy = Rules(Rule("allow", when="trusted(to)"), default="deny")
    for arguments, verdict in (
        ({"to": "ada-main", "amount": 99}, "allow"),
        ({"to": "mallory-1", "amount": 20}, "deny"),
        ({"to": "amount", "amount": 20}, "deny"),
        ({"amount": 20}, "deny"),
        ({"to.x": "ada-main"}, "deny"),
        ({"to": ["mallory-1"], "to[0]": "ada-main"}, "deny"),
        ({"to": True}, "deny"),
    ):
        assert (arguments, judged(policy, facts, **arguments).verdict) == (arguments, verdict)


def test_origin_tests_stand_beside_other_conditions_and_their_opposite_denies() -> None:
    facts = heard("Send 20 to ada-main")
    policy = Rules(Rule("deny", when="!trusted(to) || args.amount > 100"), default="allow")
    assert judged(policy, facts, to="ada-main", amount=20).verdict == "allow"
    assert judged(policy, facts, to="ada-main", amount=2000).verdict == "deny"
    assert judged(policy, facts, to="mallory-1", amount=20).verdict == "deny"
    assert judged(policy, facts, amount=20).verdict == "deny"


def test_a_part_of_an_argument_is_tested_by_the_names_that_lead_there() -> None:
    facts = heard("Send 20 to ada-main and 5 to bob-main")
    policy = Rules(Rule("allow", when='trusted(payments.to) && trusted("to-whom")'), default="deny")
    for payments, verdict in (
        ([{"to": "ada-main", "note": "hi"}, {"to": "bob-main"}], "allow"),
        ([{"to": "ada-main"}, {"to": "mallory-1"}], "deny"),
        ([{"to": "ada-main"}, {}], "deny"),
        ({"to": ["ada-main", "bob-main"]}, "allow"),
        ({"to": []}, "deny"),
        ([], "deny"),
        ("ada-main", "deny"),
    ):
        decision = judged(policy, facts, **{"payments": payments, "to-whom": "ada-main"})  # type: ignore[arg-type]
        assert (payments, decision.verdict) == (payments, verdict)


def test_a_key_counts_unless_the_schema_of_the_tool_declares_it() -> None:
    schema: JsonObject = {"type": "object", "properties": {"to": {"properties": {"name": {}}}}}
    subject = Tool(name="t", parameters=schema)
    policy = Rules(Rule("allow", when="trusted(to)"), default="deny")
    facts = heard("Send 20 to Ada")
    assert judged(policy, facts, subject, to={"name": "Ada"}).verdict == "allow"
    assert judged(policy, facts, subject, to={"mallory-1": "Ada"}).verdict == "deny"
    assert judged(policy, facts, subject, to={"Ada": 20}).verdict == "allow"


def test_trusted_takes_the_developer_and_trusted_fields_and_from_user_only_the_user() -> None:
    sources = (
        (Origin("user"), True, True),
        (Origin("developer"), True, False),
        (Origin("tool", "find", "email", trusted=True), True, False),
        (Origin("tool", "find", "email"), False, False),
        (Origin("user", part=True), False, False),
        (Origin("tool", "find", "email", trusted=True, part=True), False, False),
        (Origin("agent"), False, False),
        (Origin("memory"), False, False),
        (Origin("model"), False, False),
    )
    for origin, trusted, from_user in sources:

        def origins(arguments: JsonObject, origin: Origin = origin) -> Origins:
            return dict.fromkeys(arguments, (origin,))

        facts = Facts(origins=origins)
        for when, held in (("trusted(to)", trusted), ("from_user(to)", from_user)):
            policy = Rules(Rule("allow", when=when), default="deny")
            assert (origin, judged(policy, facts, to="x").verdict) == (origin, "allow" if held else "deny")


def test_an_origin_test_of_too_many_values_denies() -> None:
    policy = Rules(Rule("deny", when="!trusted(to)"), default="allow")
    many: list[Json] = ["ada-main"] * (VALUES_MAX + 1)
    for to in (many, nested(100_000)):
        decision = judged(policy, heard("ada-main"), to=to)
        assert (decision.verdict, "more than" in decision.rule) == ("deny", True)


def nested(depth: int) -> Json:
    """A list in a list, so deep."""
    value: Json = "ada-main"
    for _ in range(depth):
        value = [value]
    return value
