"""`check` tells where a value can not be what a tool takes, and says nothing where that is not known."""

import dataclasses

import msgspec
import pytest

from actum import tool
from actum.core.json import JsonObject
from actum.testing import ScriptedModel
from actum.workflow.load import read_definition
from actum.workflow.workflow import Workflow


@dataclasses.dataclass
class Flight:
    id: str
    price: int
    stops: list[str]


@tool(effects={"read"})
def search(date: str) -> list[Flight]:
    """Search."""
    return []


@tool(effects={"read"})
def book(flight: str, seats: int = 1, notes: list[str] | None = None, by: dict[str, int] | None = None) -> str:
    """Book."""
    return ""


INPUTS: JsonObject = {
    "type": "object",
    "properties": {
        "n": {"type": "integer"},
        "text": {"type": "string"},
        "cities": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
        "any": {},
        "tree": {"anyOf": [{"$ref": "#/$defs/tree"}, {"type": "string"}]},
    },
    "$defs": {"tree": {"anyOf": [{"$ref": "#/$defs/tree"}, {"type": "array"}]}},
}


async def problems(book_with: JsonObject, over: object = None, **inner: object) -> list[tuple[str, str]]:
    nodes: JsonObject = {
        "find": {"type": "tool", "tool": "search", "with": {"date": "x"}},
        "ask": {"type": "model", "model": "m", "prompt": "?"},
        "risky": {"type": "tool", "tool": "search", "with": {"date": "x"}, "on_error": {"default": {"output": "none"}}},
    }
    node: JsonObject = {"type": "tool", "tool": "book", "with": {"flight": "x", **book_with}}
    edges = ["find > ask", "ask > risky"]
    if over is None:
        nodes["book"], edges = node, [*edges, "risky > book"]
    else:
        nodes["each"] = {"type": "each", "over": over, "nodes": {"book": node}}  # type: ignore[dict-item]
        edges.append("risky > each")
    text = msgspec.json.encode(
        {"actum": "workflow/1", "name": "w", "inputs": INPUTS, "env": {"most": 3}, "nodes": nodes, "edges": edges}
    )
    flow = Workflow(read_definition(text), [search, book], models={"m": ScriptedModel([])})
    return [(str(each.message), str(each.hint)) for each in await flow.check(text)]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"seats": "${find.output}"}, "book: seats is an array, and book takes an integer"),
        ({"seats": "${find.output[0].stops}"}, "book: seats is an array, and book takes an integer"),
        ({"flight": "${find.output[0]}"}, "book: flight is an object, and book takes a string"),
        ({"by": "${env.most}"}, "book: by is an integer, and book takes a null or an object"),
        ({"by": "${find.output?}"}, "book: by is an array, and book takes a null or an object"),
    ],
)
async def test_a_value_that_can_not_be_what_a_tool_takes_is_told(given: JsonObject, message: str) -> None:
    assert [said for said, _ in await problems(given)] == [message]


@pytest.mark.parametrize(
    "given",
    [
        {"seats": "${inputs.n}"},
        {"seats": "${ask.text}"},  # a text may be a number
        {"flight": "${find.output[0].price}"},  # a number is written as a text
        {"flight": "${inputs.any}"},
        {"seats": "${inputs.tree}"},  # a schema that speaks of itself
        {"flight": "${find.output[0].unknown}"},
        {"seats": "${risky.output}"},  # its default is a text
        {"seats": {"cel": "size(find.output)"}},
        {"notes": "${find.output[0].stops}"},
        {"flight": "${find.output|json}"},
        {"flight": "Flight ${find.output}"},
    ],
)
async def test_nothing_is_said_of_what_may_fit(given: JsonObject) -> None:
    assert await problems(given) == []


async def test_items_of_a_list_are_known_inside_of_each_and_each_goes_through_lists_alone() -> None:
    assert await problems({"flight": "${item.name}"}, over="${inputs.cities}") == []
    told = await problems({"seats": "${item}"}, over="${inputs.cities}")
    assert told == [("book: seats is an object, and book takes an integer", "name a part of item")]
    told = await problems({}, over="${inputs.n}")
    assert told == [("each: over is an integer, and each goes through a list", "")]
