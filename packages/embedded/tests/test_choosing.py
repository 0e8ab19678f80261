"""Which tool is meant, where no word of the question is a word of the tool."""

from __future__ import annotations

import pytest

from actum.core.json import JsonObject
from actum.core.tool import Tool
from actum_embedded.calls.choosing import Chooser
from actum_embedded.text.clauses import read
from actum_embedded.tools.likeness import Likeness, likeness
from actum_embedded.tools.selection import Shelf, index
from packages.embedded.tests.harness import TODAY


def tool(name: str, description: str, *parameters: str) -> Tool:
    properties: JsonObject = {each: {"type": "string"} for each in parameters}
    schema: JsonObject = {"type": "object", "properties": properties, "required": list(parameters)}
    return Tool(name=name, description=description, parameters=schema)


PHYSICIAN = tool("find_physician", "Finds physicians.", "place")
VEHICLE = tool("hire_vehicle", "Hires a vehicle.", "city")
CROPS = tool("crop_yield", "Harvest of farmland.", "crop", "country")


@pytest.mark.row("L5")
@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("I need a doctor in Berlin", "find_physician"),
        ("Is there a dentist in Oslo?", "find_physician"),
        ("I want to rent a car in Rome", "hire_vehicle"),
    ],
)
def test_a_tool_is_found_by_what_it_means(said: str, meant: str) -> None:
    chosen = Chooser(Shelf([PHYSICIAN, VEHICLE, CROPS])).choose(read(said, TODAY))
    assert chosen is not None
    assert chosen.indexed.tool.name == meant


def test_a_question_that_names_no_tool_goes_to_the_one_that_is_near() -> None:
    chooser = Chooser(Shelf([PHYSICIAN, VEHICLE, CROPS]), named=True)
    question = read("rice farming in Japan", TODAY)
    assert chooser.choose(question) is None
    guessed = chooser.guess(question)
    assert guessed is not None
    assert guessed.indexed.tool.name == "crop_yield"


def test_a_tool_that_no_word_names_is_chosen_where_all_else_speaks_for_it() -> None:
    chosen = Chooser(Shelf([PHYSICIAN, VEHICLE, CROPS])).choose(read("rice farming in Japan", TODAY))
    assert chosen is not None
    assert chosen.indexed.tool.name == "crop_yield"
    assert chosen.complete


@pytest.mark.parametrize("said", ["What a lovely evening", "Sing me a song", "Who wrote Hamlet?", "我想睡觉"])
def test_what_is_near_to_no_tool_gets_none(said: str) -> None:
    for offered in ([PHYSICIAN], [VEHICLE], [PHYSICIAN, VEHICLE, CROPS]):
        chooser = Chooser(Shelf(offered))
        assert chooser.choose(read(said, TODAY)) is None
        assert chooser.guess(read(said, TODAY)) is None


def test_a_long_text_is_no_question_to_guess_at() -> None:
    assert Chooser(Shelf([PHYSICIAN])).guess(read("my doctor in Berlin said " * 40, TODAY)) is None


def test_words_that_nobody_knows_are_near_to_nothing() -> None:
    assert likeness(read("zxqvw", TODAY), index(PHYSICIAN)) == Likeness()
