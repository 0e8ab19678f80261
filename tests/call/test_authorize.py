"""The rules of a policy and the default where none fits."""

from __future__ import annotations

import pytest

from actum.call.authorize import CAREFUL, DEFAULT, Rule, Rules
from actum.core.call import ToolCall
from actum.core.errors import UsageError
from actum.core.tool import Effects, Tool

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
    assert DEFAULT.decide(subject, CALL, "").verdict == default
    assert CAREFUL.decide(subject, CALL, "").verdict == careful


def test_the_first_rule_that_fits_decides() -> None:
    policy = Rules(Rule("allow", tools="t"), Rule("deny", tools="*"))
    assert policy.decide(tool("write"), CALL, "").verdict == "allow"
    assert policy.decide(Tool(name="u"), CALL, "").verdict == "deny"


def test_a_rule_can_be_for_some_principals_and_some_effects() -> None:
    policy = Rules(Rule("allow", principals=frozenset({"ada"})), Rule("deny", effects=frozenset({"write"})))
    assert policy.decide(tool("write"), CALL, "ada").verdict == "allow"
    assert policy.decide(tool("write"), CALL, "bob").verdict == "deny"
    assert policy.decide(tool("read"), CALL, "bob").verdict == "allow"


def test_a_tool_that_is_declared_for_approval_asks_even_where_a_rule_allows() -> None:
    assert Rules(Rule("allow")).decide(tool(approval=True), CALL, "").verdict == "ask"
    assert Rules(Rule("deny")).decide(tool(approval=True), CALL, "").verdict == "deny"


def test_a_decision_names_the_rule_that_made_it() -> None:
    assert Rules(Rule("deny", tools="t*")).decide(tool(), CALL, "").rule == "rule 1: deny t*"


@pytest.mark.parametrize(
    "wrong",
    [{"verdict": "Deny"}, {"effects": "write"}, {"effects": {"wriite"}}, {"tools": ["pay"]}, {"principals": "bob"}],
    ids=["verdict", "effects as text", "no effect", "tools as list", "principals as text"],
)
def test_a_rule_with_a_typing_error_is_refused_at_once(wrong: dict[str, object]) -> None:
    (name,) = wrong
    with pytest.raises(UsageError, match=rf"Rule\({name}="):
        Rule(**{"verdict": "deny", **wrong})  # type: ignore[arg-type]
