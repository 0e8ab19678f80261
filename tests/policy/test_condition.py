"""Conditions: what they may say, and that they are never true by accident."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.errors import UsageError
from actum.core.json import Json
from actum.policy.condition import (
    DEPTH_MAX,
    VALUES_MAX,
    Condition,
    ConditionFailed,
)

pytestmark = pytest.mark.row("C3")

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def holds(source: str, **variables: object) -> bool:
    return Condition(source).holds({"now": NOON, "roles": ["clerk"], "tool": "t", **variables})


@pytest.mark.parametrize(
    ("source", "args"),
    [
        ("args.amount < 100", {"amount": 99.5}),
        ("args.amount <= 99.5", {"amount": 99}),
        ('"clerk" in roles && tool == "t"', {}),
        ("has(args.note) ? size(args.note) < 10 : true", {}),
        ('under(args.path, "/srv/data")', {"path": "/srv/data/x"}),
        ('args.path.under("/srv/data")', {"path": "/srv/data/x"}),
        ('host(args.url) == "127.0.0.1"', {"url": "http://0x7f.1/"}),
        ('domain(args.to) in ["example.com"]', {"to": "a@EXAMPLE.com"}),
        ('args.to.matches("^[a-z]+@")', {"to": "ada@x"}),
        ("args.items.all(item, item.price > 0)", {"items": [{"price": 1}, {"price": 2}]}),
        ('args["to-whom"] == "ada"', {"to-whom": "ada"}),
        ("now.getHours() >= 9 && now.getHours() < 17", {}),
        ('now < timestamp("2026-06-01T00:00:00Z")', {}),
    ],
)
def test_a_condition_speaks_of_arguments_and_context(source: str, args: Json) -> None:
    assert holds(source, args=args)


@pytest.mark.parametrize(
    ("source", "args"),
    [
        ("args.amount < 100", {}),
        ("args.amount < 100", {"amount": "5"}),
        ("args.amount < 100", {"amount": None}),
        ("args.amount", {"amount": 5}),
        ("args.a / args.b > 0", {"a": 1, "b": 0}),
        ("args.a + 1 > 0", {"a": 2**63 - 1}),
        ("args.list[3] == 1", {"list": []}),
        ("args.list == args.list", {"list": ["\ud800"]}),
        ('under(args.path, "/data")', {"path": "/data/\0"}),
        ('under(args.path, "/data")', {"path": 5}),
        ('under(args.path, "/data") || true', {"path": "~/x"}),
        ("under(args.path)", {"path": "/data"}),
        ('host(args.url) != "evil.com"', {"url": "http://good.com@evil.com/"}),
        ('domain(args.to) == "x.y"', {"to": "a@x.y, b@z.y"}),
        ("args.n.map(x, args.n.map(y, x + y)).size() > 3", {"n": list(range(900))}),
        ("args.n.map(x, args.n).size() > 3", {"n": ["x" * 1_000] * 900}),
        ("args.n.exists(x, args.n.exists(y, x + y == -1))", {"n": list(range(900))}),
        ('under(args.path, "/data")', {"path": "./" * 1_000_000}),
    ],
)
def test_where_there_is_no_value_the_condition_fails_in_a_line(
    source: str, args: Json, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(ConditionFailed) as caught:
        holds(source, args=args)
    assert str(caught.value)
    assert "\n" not in str(caught.value)
    assert (capfd.readouterr(), caplog.text) == (("", ""), "")


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists))
def test_whatever_the_value_a_comparison_is_true_false_or_fails(value: Json) -> None:
    condition = Condition("args.amount <= 100")
    try:
        held = condition.holds({"args": {"amount": value}})
    except ConditionFailed:
        return
    assert isinstance(value, int | float)
    assert held == (value <= 100)


@pytest.mark.parametrize("depth", [DEPTH_MAX + 5, 100_000])
def test_a_value_that_is_too_deep_fails_instead_of_ending_the_process(depth: int) -> None:
    deep: Json = []
    for _ in range(depth):
        deep = [deep]
    with pytest.raises(ConditionFailed, match="deep"):
        holds("size(args.deep) > 0", args={"deep": deep})


def test_lists_are_bounded() -> None:
    assert holds("args.all(name, size(args[name]) > 0)", args={"list": [0] * (VALUES_MAX - 10)})
    with pytest.raises(ConditionFailed, match="more than 1000 values"):
        holds("size(args.list) > 0", args={"list": [0] * VALUES_MAX})


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("1 +", "is no CEL"),
        ("", "is no CEL"),
        ("(" * 500, "is no CEL"),
        ("arg.amount < 100", "no variable 'arg'; there are: args, user"),
        ("check.balance > 5", "no variable 'check'"),
        ("_put(0, true, args.path)", "no function '_put'"),
        ("beneath(args.path)", "no function 'beneath'; there are: bytes, contains"),
        ("size('" + "x" * 5_000 + "') > 1", "at most 4000 characters"),
        ("args.to.matches(args.pattern)", "matches() takes its pattern as a text in quotes"),
        ('args.to.matches("^a" + args.b)', "matches() takes its pattern as a text in quotes"),
        ("args.a.all(x, args.b.all(y, args.c.all(z, x + y == z)))", "3 times; 2 times are allowed"),
    ],
)
def test_what_is_no_condition_is_refused_when_it_is_made(source: str, told: str) -> None:
    with pytest.raises(UsageError, match=re.escape(told)):
        Condition(source)


def test_a_path_of_another_machine_is_taken_as_such() -> None:
    condition = Condition('under(args.path, "/data")')
    assert condition.holds({"args": {"path": "/data/x"}}, local=False)
    with pytest.raises(ConditionFailed, match="without '\\.\\.'"):
        condition.holds({"args": {"path": "/data/../x"}}, local=False)


def test_the_names_that_a_condition_speaks_of_are_known() -> None:
    assert Condition("roles.exists(role, role == user) && type(args.n) == int").names == {"roles", "user", "args"}


def test_without_the_library_the_extra_is_named() -> None:
    code = """
import sys
sys.modules["cel"] = None
from actum import Rule, Rules
Rules(Rule("deny", when=lambda call, facts: True))
try:
    Rules(Rule("deny", when="args.a > 1"))
except ValueError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "rule 1: deny *: conditions need CEL: pip install 'actum[policy]'\n"
