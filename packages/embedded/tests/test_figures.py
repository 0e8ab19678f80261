"""Numbers that several signs say together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.json import JsonObject
from actum.core.message import Transcript, UserMessage
from actum.core.model import Request
from actum.core.tool import Tool
from actum_embedded.text.figures import find_figures
from packages.embedded.tests.harness import model

pytestmark = pytest.mark.row("L5")


@pytest.mark.parametrize(
    ("text", "coefficients"),
    [
        ("Solve 2x² - 3x + 1 = 0", {2: 2, 1: -3, 0: 1}),
        ("3x^2 + 4x - 7 = 0", {2: 3, 1: 4, 0: -7}),
        ("解方程 x^2-5x+6=0", {2: 1, 1: -5, 0: 6}),
        ("x² = 9", {2: 1, 1: 0, 0: -9}),
        ("-t**2 + 0.5t = 4", {2: -1, 1: 0.5, 0: -4}),
        ("2*y^3 - y^2 + 3*y - 1", {3: 2, 2: -1, 1: 3, 0: -1}),
        ("9.8 m/s^2", {}),
        ("3x + 2 = 5", {}),
        ("x^2", {}),
        ("x^2 + y^2 = 1", {}),
        ("y = x^2 + 1", {}),
        ("an area of 5 m^2", {}),
    ],
)
def test_each_term_of_a_polynomial_has_its_coefficient(text: str, coefficients: dict[int, float]) -> None:
    terms = [(each.detail.partition(":")[2], each.value) for each in find_figures(text)]
    assert {int(term.split("/")[0]): value for term, value in terms} == coefficients


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("I'm 5'11\" tall", [71]),
        ("6 ft 2 in", [74]),
        ("5 feet and 4 inches", [64]),
        ("at 33.87°S, 151.2°E", [-33.87, 151.2]),
        ("37.8651 N, 119.5383 W", [37.8651, -119.5383]),
        ("南纬33.87度，东经151.2度", [-33.87, 151.2]),
        ("the 1990's, 5' of snow", []),
        ("exits 4 N and the 5 E line", []),
    ],
)
def test_heights_and_coordinates_are_one_number_each(text: str, values: list[float]) -> None:
    assert [each.value for each in find_figures(text)] == values


@given(st.text(alphabet="0123456789xyz^*²³+-−= .'\"°NSEWft北纬", max_size=40))
def test_any_text_has_figures_that_lie_within_it(text: str) -> None:
    for each in find_figures(text):
        assert 0 <= each.whole[0] <= each.start < each.end <= each.whole[1] <= len(text)


ROOTS: JsonObject = {
    "type": "object",
    "properties": {letter: {"type": "number", "description": "A coefficient."} for letter in "abc"},
    "required": ["a", "b", "c"],
}


@pytest.mark.parametrize(
    ("question", "arguments"),
    [
        ("Solve the quadratic equation 2x² - 3x + 1 = 0", {"a": 2, "b": -3, "c": 1}),
        ("What are the roots of the quadratic equation x^2 - 16 = 0?", {"a": 1, "b": 0, "c": -16}),
        ("解一元二次方程 x^2-5x+6=0", {"a": 1, "b": -5, "c": 6}),
    ],
)
async def test_an_equation_fills_the_slots_of_its_coefficients(question: str, arguments: dict[str, float]) -> None:
    solve = Tool(name="solve_quadratic", description="Solve a quadratic equation ax^2 + bx + c = 0.", parameters=ROOTS)
    reply = await model().reply(Request(messages=Transcript([UserMessage.of(question)]), tools=(solve,)))
    assert [call.arguments for call in reply.calls] == [arguments]
