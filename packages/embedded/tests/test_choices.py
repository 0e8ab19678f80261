"""Values that are chosen by what they mean."""

from __future__ import annotations

import pytest

from actum.core.json import Json, JsonObject
from actum.core.tool import Tool
from actum_embedded.calls.arguments import as_object, fill
from actum_embedded.text.clauses import read
from actum_embedded.tools.choices import listed_values
from actum_embedded.tools.selection import index
from packages.embedded.tests.harness import TODAY

pytestmark = pytest.mark.row("L5")


def found(name: str, schema: JsonObject, said: str) -> JsonObject:
    parameters: JsonObject = {"type": "object", "properties": {name: schema}, "required": []}
    tool = Tool(name="offers", parameters=parameters, description="Finds offers.")
    return as_object(fill(index(tool), read(said, TODAY)).arguments)


@pytest.mark.parametrize(
    ("type_", "description", "values"),
    [
        ("integer", "1 represents cleaning service, 2 for ironing service.", (1, 2)),
        ("integer", "1：男，2：女", (1, 2)),
        ("string", "'asc' for ascending order, 'desc' for descending order", ("asc", "desc")),
        ("integer", "The number of stars, 1 to 5.", ()),
        ("integer", "At most 10 for each user.", ()),
    ],
)
def test_a_description_may_list_the_values_with_what_they_stand_for(
    type_: str, description: str, values: tuple[Json, ...]
) -> None:
    assert listed_values(description, type_) == values


def test_an_explained_number_is_chosen_by_what_it_stands_for() -> None:
    service: JsonObject = {
        "type": "integer",
        "description": "The service. For example, 1 represents cleaning service, 2 for ironing service.",
    }
    assert found("service_id", service, "who does ironing near me?") == {"service_id": 2}
    assert found("service_id", service, "who does cleaning near me?") == {"service_id": 1}


def test_a_range_in_brackets_explains_nothing() -> None:
    stars: JsonObject = {
        "type": "string",
        "enum": ["1", "2", "3"],
        "description": "The star rating of the hotel (1 to 3 stars).",
    }
    assert found("star_rating", stars, "a hotel in Oslo") == {}


@pytest.mark.parametrize(
    ("name", "description", "said", "value"),
    [
        ("include_images", "Whether to include images.", "I want to see images", True),
        ("good_for_kids", "Whether it is suitable for children; suitability for kids.", "suitable for children", True),
        ("has_garage", "Whether it has a garage.", "and no garage", False),
        ("has_garage", "Whether it has a garage.", "I'm not concerned about a garage", None),
        ("avoid_tolls", "Avoid toll roads.", "the route from Oslo to Bergen avoiding tolls", True),
        ("symbols", "With special characters.", "a password of 20 characters without special characters", False),
    ],
)
def test_a_switch_is_read_from_what_it_is_about(name: str, description: str, said: str, value: bool | None) -> None:
    words: JsonObject = {"type": "string", "enum": ["True", "False", "dontcare"], "description": description}
    plain: JsonObject = {"type": "boolean", "description": description}
    assert found(name, plain, said).get(name) is value
    assert found(name, words, said).get(name) == (None if value is None else str(value))


def test_of_values_that_begin_alike_the_longest_one_said_is_meant() -> None:
    genre: JsonObject = {"type": "string", "enum": ["Comedy", "Comedy-drama"]}
    assert found("genre", genre, "a comedy-drama please") == {"genre": "Comedy-drama"}


def test_what_is_replaced_is_not_what_is_wanted() -> None:
    dish: JsonObject = {"type": "string", "enum": ["PIZZA", "BURGER"]}
    assert found("dish", dish, "switch from pizza to a burger") == {"dish": "BURGER"}
    assert found("dish", dish, "a burger instead of the pizza") == {"dish": "BURGER"}


def test_to_create_is_to_add_where_nothing_else_is() -> None:
    action: JsonObject = {"type": "string", "enum": ["add", "delete", "update"]}
    assert found("action", action, "create a todo: buy milk") == {"action": "add"}
    assert found("action", action, "remove the todo on milk") == {"action": "delete"}


def test_a_language_is_chosen_by_its_code() -> None:
    language: JsonObject = {"type": "string", "enum": ["en-US", "zh-CN", "es-ES"]}
    assert found("language", language, "read it in Spanish") == {"language": "es-ES"}


def test_the_end_of_a_files_name_chooses_nothing() -> None:
    format_: JsonObject = {"type": "string", "enum": ["docx", "pdf"]}
    assert found("target_format", format_, "年终总结.docx转成PDF") == {"target_format": "pdf"}
    assert found("target_format", format_, "convert report.docx into docx") == {"target_format": "docx"}


def test_words_that_mean_each_of_several_values_choose_none() -> None:
    kinds: JsonObject = {"type": "string", "enum": ["年假", "病假", "事假"]}
    assert found("leave_type", kinds, "下周二我要请一天假") == {}
    assert found("leave_type", kinds, "下周二我要请一天病假") == {"leave_type": "病假"}


@pytest.mark.parametrize(
    "said", ["convert 250 grams of sugar to cups", "how many cups are 250 grams of sugar?", "250 grams into cups"]
)
def test_what_a_number_counts_is_turned_into_the_other(said: str) -> None:
    unit: JsonObject = {"type": "string", "enum": ["cup", "gram", "ounce"]}
    properties: JsonObject = {"from_unit": unit, "to_unit": unit}
    tool = Tool(
        name="convert",
        parameters={"type": "object", "properties": properties, "required": ["from_unit", "to_unit"]},
        description="Converts a quantity.",
    )
    made = as_object(fill(index(tool), read(said, TODAY)).arguments)
    assert made == {"from_unit": "gram", "to_unit": "cup"}
