"""One tool for several values: as many calls as are asked for."""

from __future__ import annotations

import pytest

from actum.core.interfaces import Request
from actum.core.json import Json, JsonObject
from actum.core.message import Transcript, UserMessage
from actum.core.tool import Tool
from tests.models.embedded.harness import model

pytestmark = pytest.mark.row("L5")


def tool(name: str, description: str, **properties: str) -> Tool:
    schemas: dict[str, Json] = {key: {"type": type_} for key, type_ in properties.items()}
    parameters: JsonObject = {"type": "object", "properties": schemas, "required": [*properties]}
    return Tool(name=name, description=description, parameters=parameters)


ROOTS = tool("solve_quadratic", "Solve a quadratic equation.", a="integer", b="integer", c="integer")
AREA = tool("rectangle_area", "Area of a rectangle.", length="number", width="number")


@pytest.mark.parametrize(
    ("question", "offered", "arguments"),
    [
        ("Find the area of a rectangle with length 16 and width 16.", AREA, [{"length": 16, "width": 16}]),
        (
            "Area of a rectangle with length 3 and width 4, and of one with length 5 and width 6",
            AREA,
            [{"length": 3, "width": 4}, {"length": 5, "width": 6}],
        ),
        (
            "Solve the quadratic with a = 2, b = 5 and c = 3. Then solve the one with a = 1, b = -3 and c = 3.",
            ROOTS,
            [{"a": 2, "b": 5, "c": 3}, {"a": 1, "b": -3, "c": 3}],
        ),
    ],
)
async def test_as_many_calls_as_there_are_sets_of_values(
    question: str, offered: Tool, arguments: list[dict[str, Json]]
) -> None:
    reply = await model().reply(Request(messages=Transcript([UserMessage.of(question)]), tools=(offered,)))
    assert [call.arguments for call in reply.calls] == arguments
