"""Tests of origins are taken out of a condition by the names that stand in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.errors import UsageError
from actum.policy.condition import Condition
from actum.policy.origin_condition import OriginTest, taken_out

pytestmark = pytest.mark.row("C3")


def test_a_test_becomes_a_variable_wherever_it_stands_and_only_there() -> None:
    for source, text, names in (
        ("trusted(to)", "trusted_1", [("to",)]),
        ("! trusted ( to )", "! trusted_1", [("to",)]),
        ("trusted(to)&&from_user(payee.iban)", "trusted_1&&from_user_2", [("to",), ("payee", "iban")]),
        ('trusted("to-whom")', "trusted_1", [("to-whom",)]),
        ("trusted(in)", "trusted_1", [("in",)]),
        ("trusted(user)", "trusted_1", [("user",)]),
        ("trusted(\n to // the receiver )\n)", "trusted_1", [("to",)]),
        ("args.x == 'trusted(to)'", "args.x == 'trusted(to)'", []),
        ('args.x == """trusted(to)"""', 'args.x == """trusted(to)"""', []),
        ("true // trusted(to)", "true // trusted(to)", []),
        ("args.trusted", "args.trusted", []),
    ):
        written, tests = taken_out(source)
        assert (source, written, [test.names for test in tests.values()]) == (source, text, names)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("trusted(args.to)", r"trusted\(args.to\): write the name of an argument, such as trusted\(to\)"),
        ("trusted()", "write the name of an argument"),
        ("trusted(to, cc)", "write the name of an argument"),
        ("trusted(to[0])", "write the name of an argument"),
        ("trusted((to))", "write the name of an argument"),
        ("trusted(trusted(to))", "write the name of an argument"),
        ("trusted(args[args.x])", "write the name of an argument"),
        ("trusted('a' + 'b')", "write the name of an argument"),
        ("from_user('')", "write the name of an argument"),
        ("trusted", r"trusted is used with the name of an argument, as in trusted\(to\)"),
        ("args.to.trusted()", "trusted is used with the name of an argument"),
        ("trusted_1", "there is no variable 'trusted_1'"),
        ("trusted_1 || trusted(to)", "there is no variable 'trusted_1'"),
        ("trusted(to", "is no CEL"),
        ('["to"].all(name, trusted(name))', "'name' is a variable of a macro"),
        (" && ".join(["trusted(to)"] * 9), "looks up origins 9 times"),
        ('r"\\" == trusted(args.to) || "x" == ""', "trusted"),
    ],
)
def test_what_names_no_argument_is_refused_when_the_policy_is_loaded(source: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        Condition(source)


@given(st.text(alphabet="trusted(to)'\"\\/ .ab_1\n"))
def test_any_text_is_a_condition_or_refused(text: str) -> None:
    try:
        tests = Condition(text).tests
    except UsageError:
        return
    assert all(isinstance(test, OriginTest) and test.names for test in tests.values())
