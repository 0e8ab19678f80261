"""What speaks for a piece of the question going into a slot."""

from __future__ import annotations

import pytest

from actum.core.json import Json, JsonObject
from actum.core.tool import Tool
from actum_embedded.text.clauses import read
from actum_embedded.tools.candidates import View
from actum_embedded.tools.selection import index
from actum_embedded.weighing.features import (
    aim_of,
    begins,
    ends,
    inside,
    nothing,
)
from actum_embedded.weighing.offers import offered
from packages.embedded.tests.harness import TODAY

pytestmark = pytest.mark.row("L5")

TEXT: JsonObject = {"type": "string"}
LIST: JsonObject = {"type": "array", "items": {"type": "string"}}


def features(question: str, value: Json, **properties: JsonObject) -> set[str]:
    """Those of a value for the first of a tool's parameters; of nothing where the value is None."""
    named: dict[str, Json] = {**properties}
    tool = Tool(name="act", description="Act.", parameters={"type": "object", "properties": named})
    indexed, clause = index(tool), read(question, TODAY)
    slot = indexed.slots[0]
    aim, view, found = aim_of(slot, indexed), View.of(clause), offered(slot, indexed, clause)
    if value is None:
        return set(nothing(aim, view, found))
    each = next(each for each in found if each.value == value)
    return {*begins(aim, view, each.first), *ends(aim, view, each.last), *inside(aim, view, each, 0)}


def test_a_value_that_the_description_shows_is_known_and_missed_when_left_out() -> None:
    often: JsonObject = {"type": "string", "description": "How often (e.g., daily, weekly)."}
    assert {"is=shown|string", "example=same"} <= features("a weekly report", "weekly", often=often)
    assert "none|may|example=True" in features("a weekly report", None, often=often)
    assert "none|may|example=False" in features("a report", None, often=often)


def test_a_part_of_an_unbroken_word_is_told() -> None:
    found = features("log in with secure@123 please", "123", password=TEXT)
    assert "touches first=@n|string" in found
    assert not any(each.startswith("touches last") for each in found)


def test_one_of_several_in_a_row_is_told_beside_an_array() -> None:
    said = 'compare "soap", "salt" and "sand" in Texas'
    assert "in a row: True True of several" in features(said, "salt", region=TEXT, methods=LIST)
    assert not any(each.startswith("in a row") for each in features(said, "Texas", region=TEXT, methods=LIST))
    assert "forms=1" in features(said, ["soap", "salt", "sand"], methods=LIST)
    assert "list goes on" in features(said, ["soap", "salt"], methods=LIST)


def test_a_cue_beyond_an_and_counts_as_another_one() -> None:
    said = "the width is 4 and the height 7"
    number: JsonObject = {"type": "integer"}
    assert "a:nearest=other&|integer" in features(said, 4, width=number, height=number)
    assert "b:nearest=own|integer" in features(said, 4, width=number, height=number)
