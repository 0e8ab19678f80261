"""One node of a workflow is tried alone, with pinned values for what the others would have given."""

import msgspec
import pytest

from actum import tool
from actum.core.errors import UnknownName, UsageError
from actum.core.json import Json, JsonObject
from actum.workflow.load import read_definition
from actum.workflow.only import only_node
from actum.workflow.workflow import Workflow

DESK: JsonObject = {
    "actum": "workflow/1",
    "name": "desk",
    "inputs": {
        "type": "object",
        "required": ["date", "budget"],
        "properties": {"date": {"type": "string"}, "budget": {"type": "integer"}},
        "additionalProperties": False,
    },
    "vars": {"found": 0},
    "nodes": {
        "find": {"type": "tool", "tool": "search", "with": {"date": "${inputs.date}"}},
        "fits": {"type": "if", "cases": [{"port": "cheap", "when": "find.output.exists(f, f.price <= inputs.budget)"}]},
        "book": {"type": "tool", "tool": "book", "with": {"flight": "${find.output[0].id}"}},
        "parts": {
            "type": "each",
            "over": "${find.output}",
            "nodes": {
                "count": {"type": "set", "add": {"found": 1}},
                "show": {"type": "say", "text": "${item.id} ${vars.found} ${find.text?}"},
            },
            "edges": ["count > show"],
            "output": "${show.text}",
        },
    },
    "edges": ["find > fits", "fits.cheap > book", "book > parts"],
}
FOUND: JsonObject = {"find": {"output": [{"id": "CA1", "price": 1500}, {"id": "MU2", "price": 9}]}}


class Airline:
    """Counts what is done."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def tools(self) -> list[object]:
        @tool(effects={"read"})
        def search(date: str) -> list[dict[str, object]]:
            """Search."""
            self.done.append(f"search {date}")
            return []

        @tool(effects={"spend"})
        def book(flight: str) -> str:
            """Book."""
            self.done.append(f"book {flight}")
            return f"booked {flight}"

        return [search, book]


async def tried(name: str, inputs: JsonObject, pins: JsonObject, airline: Airline | None = None) -> Json:
    alone = only_node(read_definition(msgspec.json.encode(DESK)), name, inputs, pins)
    flow = Workflow(alone.definition, (airline or Airline()).tools())  # type: ignore[arg-type]
    return (await flow.run(alone.inputs)).output


async def test_a_node_alone_reads_what_is_pinned_and_nothing_else_is_done() -> None:
    airline = Airline()
    assert await tried("book", {}, FOUND, airline) == {"output": "booked CA1", "text": "booked CA1", "files": []}
    assert airline.done == ["book CA1"]
    assert await tried("find", {"date": "2026-12-01"}, {}, airline) == {"output": [], "text": "[]", "files": []}
    assert airline.done == ["book CA1", "search 2026-12-01"]


async def test_a_container_and_a_node_inside_of_one_are_tried_too() -> None:
    assert await tried("parts", {}, FOUND | {"vars": {"found": 5}}) == {"output": ["CA1 6 ", "MU2 7 "]}
    pins: JsonObject = {"item": {"id": "X"}, "vars": {"found": 3}, "find": {"text": "two"}}
    assert await tried("parts/show", {}, pins) == {"output": "X 3 two", "text": "X 3 two"}
    assert await tried("fits", {"budget": 10}, FOUND) == {"output": "cheap"}


@pytest.mark.parametrize(
    ("name", "pins", "error", "words"),
    [
        ("boook", {}, UnknownName, "did you mean book?"),
        ("find/x", {}, UnknownName, "no node 'find/x'"),
        ("book", {}, UsageError, r'reads find.output\[0\].id: pin it, .* \{"find": \{"output": ...\}\}'),
        ("book", {"fnd": {}}, UnknownName, "did you mean find?"),
        ("book", {"find": [1]}, UsageError, "a pin is an object"),
        ("parts/show", {}, UsageError, r"\{\"item\": ...\}"),
    ],
)
async def test_what_is_missing_or_wrong_is_told_and_nothing_is_done(
    name: str, pins: JsonObject, error: type[Exception], words: str
) -> None:
    airline = Airline()
    with pytest.raises(error, match=words):
        await tried(name, {}, pins, airline)
    assert airline.done == []


async def test_a_pinned_value_with_an_expression_in_it_stays_a_text_and_is_the_users() -> None:
    hostile = "${env.KEY} ${secret:TOKEN} {{7*7}}"
    assert await tried("book", {}, {"find": {"output": [{"id": hostile}]}}) == {
        "output": f"booked {hostile}",
        "text": f"booked {hostile}",
        "files": [],
    }
