from __future__ import annotations

import pytest

from actum.core.json import DEPTH_MAX, Json, JsonObject, JsonProblem
from actum.dialects.text.tagged.tag_tree import read_tree

STOP: JsonObject = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}
ROOT: JsonObject = {"$defs": {"Stop": STOP}}


def read(text: str, schema: Json = None) -> Json:
    return read_tree(text, "!", schema, ROOT)


def test_the_schema_says_what_a_value_is_and_nothing_else_does() -> None:
    text = "!<city>02134!</city>!<days>3!</days>"
    assert read(text, STOP) == {"city": "02134", "days": 3}
    assert read(text, {"$ref": "#/$defs/Stop"}) == {"city": "02134", "days": 3}
    assert read(text) == {"city": "02134", "days": "3"}
    assert read(text, {"type": "object", "additionalProperties": {"type": "number"}}) == {"city": 2134, "days": 3}


def test_a_list_is_what_the_schema_calls_one_or_tags_that_are_all_items() -> None:
    text = "!<item>1!</item>!<item>2!</item>"
    assert read(text) == ["1", "2"]
    assert read(text, {"type": "array", "items": {"type": "integer"}}) == [1, 2]
    assert read("!<stop>a!</stop>", {"type": "array"}) == ["a"]
    assert read(text, {"type": "object"}) == {"item": ["1", "2"]}
    assert read("!<a>x!</a>!<b>y!</b>!<a>z!</a>") == {"a": ["x", "z"], "b": "y"}


def test_tags_without_their_mark_are_text() -> None:
    assert read("!<note>a <b>c</b>!</note>") == {"note": "a <b>c</b>"}


def test_white_space_between_tags_is_none_of_the_value() -> None:
    assert read("\n !<city> Oslo !</city>\n") == {"city": " Oslo "}


@pytest.mark.parametrize(
    "text",
    [
        "!<a>x",
        "!<a>x!</b>",
        "!</a>",
        "!<a>x!</a>!</a>",
        "to !<a>x!</a>",
        "!<a>x!</a> and",
        "!<a>" * (DEPTH_MAX + 2) + "!</a>" * (DEPTH_MAX + 2),
    ],
)
def test_tags_that_do_not_fit_have_no_value(text: str) -> None:
    with pytest.raises(JsonProblem):
        read(text)
