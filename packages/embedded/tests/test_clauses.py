"""Where a question is cut, and where not."""

from __future__ import annotations

import pytest

from actum.core.json import Json
from actum.core.message import Transcript, UserMessage
from actum.core.model import Request
from actum.core.tool import Tool
from actum_embedded.text.clauses import read, sentences
from packages.embedded.tests.harness import TODAY, model

pytestmark = pytest.mark.row("L5")


def tool(name: str, description: str, **properties: str) -> Tool:
    schemas: dict[str, Json] = {key: {"type": type_} for key, type_ in properties.items()}
    return Tool(
        name=name, description=description, parameters={"type": "object", "properties": schemas, "required": [*schemas]}
    )


CALCULATE = tool("calculate", "Calculates an arithmetic expression.", expression="string")
RULER = tool("history.ruler_in_year", "Who ruled a country in a year.", country="string", year="integer")


async def test_a_last_sentence_that_only_asks_for_all_of_it_gives_nothing() -> None:
    question = "John needs to know who was the ruler of France in 1660. Can you assist John with these tasks?"
    reply = await model().reply(Request(messages=Transcript([UserMessage.of(question)]), tools=(RULER,)))
    assert [call.arguments for call in reply.calls] == [{"country": "France", "year": 1660}]


def test_versus_ends_no_sentence() -> None:
    assert len(sentences(read("Look up Loving v. Virginia. Then call me.", TODAY))) == 2


@pytest.mark.parametrize(
    ("question", "offered", "made"),
    [
        ("What is the weather in Oslo, and what is 15% of 80?", CALCULATE, {"expression": "15/100*80"}),
        ("Who was the ruler of France in 1660, and who painted it?", RULER, {"country": "France", "year": 1660}),
        ("问两件事，25乘16是多少？", CALCULATE, {"expression": "25*16"}),
    ],
)
async def test_half_a_question_that_no_tool_answers_leaves_the_other_half(
    question: str, offered: Tool, made: dict[str, Json]
) -> None:
    reply = await model().reply(Request(messages=Transcript([UserMessage.of(question)]), tools=(offered,)))
    assert [call.arguments for call in reply.calls] == [made]
