"""Arithmetic in signs and in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.errors import ToolError
from actum.toolsets.everyday.calculator import calculate
from actum_embedded.text.expressions import find_expressions
from actum_embedded.text.numerals import find_numbers


def found(text: str) -> list[str]:
    return [each.text for each in find_expressions(text, find_numbers(text), [])]


@pytest.mark.parametrize(
    ("text", "expressions"),
    [
        ("What is 17 * 23?", ["17*23"]),
        ("(3+4)×2", ["(3+4)*2"]),
        ("seventeen times twenty-three, please", ["17*23"]),
        ("100 divided by 4 plus 3", ["100/4+3"]),
        ("15 percent of 80 and 20% of 150", ["15/100*80", "20/100*150"]),
        ("the square root of 144", ["sqrt(144)"]),
        ("2 to the power of 10", ["2**10"]),
        ("the sum of 3, 4 and 5", ["3+4+5"]),
        ("17乘以23，两百除以八", ["17*23", "200/8"]),
        ("二百五十六除以八再加十二", ["256/8+12"]),
        ("三加五，再乘以二；100减去30的差乘以2", ["(3+5)*2", "(100-30)*2"]),
        ("80的百分之十五", ["80*15/100"]),
        ("144的平方根，3的平方，2的10次方", ["sqrt(144)", "3**2", "2**10"]),
        ("一件大衣标价1299，打六五折是多少", ["1299*0.65"]),
        ("320的鞋打八折，以后再减50；120块的票打对折", ["320*0.8-50", "120*0.5"]),
        ("打9折", []),
        ("-4 + 5", ["-4+5"]),
        ("5 miles, drone A-17, 3 and 4, (5), -7", []),
        ("5 * (2 + 3", []),
    ],
)
def test_expressions_are_found(text: str, expressions: list[str]) -> None:
    assert found(text) == expressions


def test_what_is_something_else_is_no_expression() -> None:
    text = "2024-01-05"
    assert find_expressions(text, find_numbers(text), [(0, len(text))]) == []


def test_operands_and_operations_are_told() -> None:
    (expression,) = find_expressions("2 + 3", find_numbers("2 + 3"), [])
    assert (expression.operators, expression.operands) == (("add",), (2, 3))


_SIGNS = ["1", "23", "4.5", "+", "-", "*", "/", "(", ")", "%", "^", "√", "x", "sqrt("]
_WORDS = ["加", "乘以", "的平方", "平方根", "百分之十", "的", "plus", "of"]


@given(st.lists(st.sampled_from(_SIGNS + _WORDS), max_size=12))
def test_what_is_found_is_what_a_calculator_reads(pieces: list[str]) -> None:
    expressions = found(" ".join(pieces))
    refused = {text: said for text in expressions if (said := refusal(text))}
    has_no_value = ("zero", "too large", "real", "no value")
    assert {text: said for text, said in refused.items() if not any(word in said for word in has_no_value)} == {}


def refusal(text: str) -> str:
    """Why a calculator does not read a text; empty where it does."""
    try:
        calculate(text)
    except ToolError as error:
        return error.message
    return ""
