"""What differs between two definitions, and what makes no difference."""

from __future__ import annotations

import msgspec
import pytest

from actum.core.json import JsonObject
from actum.workflow.definition.difference import difference
from actum.workflow.definition.text import BadWorkflow

from .test_load import FLIGHT

BASE = """\
actum: workflow/1
name: desk
nodes:
  find: {type: tool, tool: search, with: {date: today}}
  trips: {type: each, over: "${find.output}", parallel: 1, nodes: {price: {type: tool, tool: price_of},
          x: {type: note}}, edges: [], output: 1}
edges: [find > trips]
view: {find: [0, 0]}
"""


def told(old: str, new: str) -> list[str]:
    return [
        f"{each.kind} {each.what} {each.place}" + (f" {each.old!r} {each.new!r}" if each.what == "field" else "")
        for each in difference(old, new)
    ]


def test_positions_formatting_order_and_defaults_make_no_difference() -> None:
    assert told(FLIGHT, FLIGHT) == []
    moved: JsonObject = {
        "view": {"find": [9, 9], "trips": [1, 2]},
        "edges": ["find.out>trips"],
        "nodes": {
            "trips": {
                "output": 1,
                "nodes": {"x": {"type": "note", "text": ""}, "price": {"tool": "price_of", "type": "tool", "with": {}}},
                "over": "${find.output}",
                "type": "each",
                "on_error": "stop",
            },
            "find": {"tool": "search", "with": {"date": "today"}, "type": "tool", "title": ""},
        },
        "limits": {"steps": 500, "seconds": 1200, "parallel": 16},
        "name": "desk",
        "actum": "workflow/1",
        "description": "",
    }
    assert told(BASE, "# a comment\n" + BASE.replace("view: {find: [0, 0]}\n", "")) == []
    assert told(BASE, msgspec.json.encode(moved).decode()) == []


def test_each_kind_of_change_is_told_where_it_is() -> None:
    new = (
        BASE.replace("date: today", "date: tomorrow, seats: [1, 2]")
        .replace("tool: price_of", "tool: best_price")
        .replace("x: {type: note}", "y: {type: say, text: a}")
        .replace("edges: [],", "edges: [price > y],")
        .replace("edges: [find > trips]", "edges: [find.error > trips]")
        .replace("name: desk", "name: counter\nlimits: {steps: 5}\nenv: {a: 1}")
    )
    assert told(BASE, new) == [
        "added field env.a None 1",
        "changed field limits.steps 500 5",
        "changed field name 'desk' 'counter'",
        "changed field find.with.date 'today' 'tomorrow'",
        "added field find.with.seats None [1, 2]",
        "changed field trips/price.tool 'price_of' 'best_price'",
        "removed node trips/x",
        "added node trips/y",
        "added edge trips/price > trips/y",
        "removed edge find > trips",
        "added edge find.error > trips",
    ]
    back = difference(new, BASE)
    assert len(back) == 11
    assert {each.kind for each in back} == {"added", "removed", "changed"}


def test_drafts_that_are_not_finished_can_be_compared_and_what_is_no_definition_is_refused() -> None:
    half = BASE.replace("tool: search, ", "").replace("type: each", "type: eech")
    assert "removed field find.tool 'search' None" in told(BASE, half)
    assert "changed field trips.type 'each' 'eech'" in told(BASE, half)
    assert told("nodes: {a: 3}\nedges: 7", "nodes: [1]\nedges: [3, null]") != []
    assert told("true: 1", "true: true") == ["changed field true 1 True"]  # 1 and true are two values
    for text in ("[]", "", "3", "a: [", "x: 1\n" * 300_000):
        with pytest.raises(BadWorkflow):
            difference(BASE, text)
