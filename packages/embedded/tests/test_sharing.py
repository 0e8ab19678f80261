"""One tool for several values: as many calls as are asked for."""

from __future__ import annotations

import pytest

from actum.core.json import Json, JsonObject
from actum.core.message import Transcript, UserMessage
from actum.core.model import Request
from actum.core.tool import Tool
from packages.embedded.tests.harness import model

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


TICKETS = tool("museum_tickets", "Book tickets for a museum.", museum="string", amount="integer")
WAY = tool("travel_time", "How long it takes to travel somewhere.", destination="string")
RECORD = tool("criminal_record", "Find the criminal record of a person.", person_name="string")
TRIAL = tool("court_trial", "Find the trial in court of a person.", person_name="string")
COLOURS = tool("paint_colours", "Find paint of a brand and a finish.", brand="string", finish="string")
BREAD = tool("bake_bread", "Bake a loaf of bread.", flour="string")
READ = tool("read_document", "Read the text of a file.", path="string")
DELETE = tool("delete_file", "Delete a file.", path="string")


@pytest.mark.parametrize(
    ("question", "offered", "calls"),
    [
        (
            "Book 2 tickets for the Vasa Museum and tell me how long it takes to travel to the museum.",
            (TICKETS, WAY),
            [
                ("museum_tickets", {"museum": "Vasa Museum", "amount": 2}),
                ("travel_time", {"destination": "Vasa Museum"}),
            ],
        ),
        (
            "Bake a loaf of bread with 'rye' flour. Then find paint of the brand 'Linus' and a 'matt' finish of paint.",
            (COLOURS, BREAD),
            [("bake_bread", {"flour": "rye"}), ("paint_colours", {"brand": "Linus", "finish": "matt"})],
        ),
        (
            "First, bake 'rye' bread. Lastly, I need the area of a rectangle. The first is 4 long and 5 wide",
            (BREAD, AREA),
            [("bake_bread", {"flour": "rye"}), ("rectangle_area", {"length": 4, "width": 5})],
        ),
        (
            "Book 2 tickets for Vasa Museum. How long to travel to Oslo? Lastly, book the same for the Munch Museum.",
            (TICKETS, WAY),
            [
                ("museum_tickets", {"museum": "Vasa Museum", "amount": 2}),
                ("travel_time", {"destination": "Oslo"}),
                ("museum_tickets", {"museum": "Munch Museum", "amount": 2}),
            ],
        ),
        (
            "Find the criminal record of Mr. John Doe and the trial in court he had.",
            (RECORD, TRIAL),
            [("criminal_record", {"person_name": "Mr. John Doe"}), ("court_trial", {"person_name": "Mr. John Doe"})],
        ),
        (
            "读一下report.txt，然后把这个文件删了",
            (READ, DELETE),
            [("read_document", {"path": "report.txt"}), ("delete_file", {"path": "report.txt"})],
        ),
    ],
    ids=[
        "what `the` points to",
        "quotes side by side",
        "begun in one sentence, told in the next",
        "the same for another",
        "he",
        "the file of before",
    ],
)
async def test_parts_of_a_question_share_what_they_mean(
    question: str, offered: tuple[Tool, ...], calls: list[tuple[str, dict[str, Json]]]
) -> None:
    reply = await model().reply(Request(messages=Transcript([UserMessage.of(question)]), tools=offered))
    assert [(call.name, call.arguments) for call in reply.calls] == calls
