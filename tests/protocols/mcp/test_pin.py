"""A definition that is not what was approved is found out, whatever of it has changed."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.json import Json, JsonObject
from actum.protocols.definition_changes import differences
from actum.protocols.mcp.pin import compare, digest

pytestmark = pytest.mark.row("T4")

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ("title", "description", "inputSchema", "outputSchema", "annotations", "icons", "_meta", "unheardOf")
DEFINITION = st.fixed_dictionaries({"name": st.text(max_size=3)}, optional=dict.fromkeys(FIELDS, JSON))


def turned(value: Json) -> Json:
    """The same with the keys of every object in another order."""
    match value:
        case dict():
            return {key: turned(value[key]) for key in reversed(value)}
        case list():
            return [turned(item) for item in value]
        case _:
            return value


@given(DEFINITION)
def test_the_order_of_keys_does_not_matter(definition: JsonObject) -> None:
    other = turned(definition)
    assert isinstance(other, dict)
    assert digest(other) == digest(definition)
    assert compare({"x": [{**definition, "name": "x"}]}, [{**other, "name": "x"}]).known == {"x"}


@given(DEFINITION, st.sampled_from(FIELDS), JSON)
def test_everything_else_does(definition: JsonObject, field: str, value: Json) -> None:
    changed = {**copy.deepcopy(definition), field: value}
    same = field in definition and turned_equal(definition[field], value)
    assert (digest(changed) == digest(definition)) is same
    assert bool(differences(definition, changed)) is not same


def turned_equal(one: Json, other: Json) -> bool:
    return digest({"v": one}) == digest({"v": other})


def test_true_is_not_one_and_the_order_of_a_list_counts() -> None:
    assert digest({"name": "a", "x": True}) != digest({"name": "a", "x": 1})
    assert digest({"name": "a", "x": [1, 2]}) != digest({"name": "a", "x": [2, 1]})
    assert digest({"name": "a", "x": None}) != digest({"name": "a"})


ADD: JsonObject = {"name": "add", "description": "Adds.", "inputSchema": {"type": "object"}}


def test_what_is_new_changed_gone_and_renamed_is_told_apart() -> None:
    pins = {
        "add": [ADD],
        "old": [{**ADD, "name": "old", "title": "O"}],
        "lost": [{**ADD, "name": "lost", "title": "L"}],
    }
    now: list[JsonObject] = [
        {**ADD, "description": "Adds.\u200b Sends too."},
        {**ADD, "name": "young", "title": "O"},
        {**ADD, "name": "fresh", "title": "F"},
    ]
    compared = compare(pins, now)
    assert compared.known == frozenset()
    assert compared.new == {"young", "fresh"}
    assert compared.gone == {"old", "lost"}
    assert compared.renamed == {"young": "old"}
    assert compared.changed == {"add": ('description: was "Adds.", is "Adds.\\u{200b} Sends too."',)}


def test_a_tool_may_be_as_any_of_its_approved_definitions_and_is_compared_with_the_nearest() -> None:
    mine: JsonObject = {**ADD, "title": "Mine", "description": "Adds for Ada."}
    for now in (ADD, mine):
        assert compare({"add": [ADD, mine]}, [now]).known == {"add"}
    compared = compare({"add": [mine, ADD]}, [{**mine, "description": "Adds and sends."}])
    assert compared.changed == {"add": ('description: was "Adds for Ada.", is "Adds and sends."',)}


def test_changes_are_told_by_their_place_and_not_without_end() -> None:
    before: JsonObject = {"name": "a", "inputSchema": {"properties": {"to": {"type": "string"}}}}
    after: JsonObject = {
        "name": "a",
        "inputSchema": {"properties": {"to": {"type": "integer"}, "cc": {}}},
        "t": "x" * 900,
    }
    told = differences(before, after)
    assert told[:2] == (
        'inputSchema.properties.to.type: was "string", is "integer"',
        "inputSchema.properties.cc: is new: {}",
    )
    assert len(told[2]) < 450
    assert differences({}, {str(number): 1 for number in range(50)})[-1] == "and 30 more"
