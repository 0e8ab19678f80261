"""Questions to the user."""

from __future__ import annotations

import pytest

from actum.core.json import JsonObject
from actum.core.tool import Tool
from actum_embedded.calls.step import Step
from actum_embedded.telling.asking import questions
from actum_embedded.telling.voice import Voice
from actum_embedded.text.clauses import read
from actum_embedded.tools.selection import index
from packages.embedded.tests.harness import TODAY


def asked(name: str, schema: JsonObject, *, chinese: bool) -> str:
    properties: JsonObject = {name: schema}
    parameters: JsonObject = {"type": "object", "properties": properties, "required": [name]}
    indexed = index(Tool(name="do", description="", parameters=parameters))
    step = Step(0, indexed, (), indexed.slots, (), read("", TODAY))
    return "".join(questions([(step, indexed.slots)], Voice(chinese)))


@pytest.mark.parametrize(
    ("name", "description", "chinese", "question"),
    [
        ("city", "Name of the city", True, "请问是哪个城市？"),
        ("pickup", "上车地点", True, "请问是哪个地点？（上车地点）"),
        ("start_date", "First day", True, "请问是哪一天？（开始日期，start date）"),
        ("tracking_number", "Number on the label", True, "请问是哪个编号？（快递单号，tracking number）"),
        ("amount", "How much", True, "请问金额是多少？（amount）"),
        ("start_date", "First day", False, "Which day? (start date)"),
        ("city", "Name of the city", False, "Which city?"),
    ],
)
def test_a_question_names_what_is_missing(name: str, description: str, chinese: bool, question: str) -> None:
    kind = "number" if name == "amount" else "string"
    assert asked(name, {"type": kind, "description": description}, chinese=chinese) == question


def test_choices_are_told_in_both_languages() -> None:
    assert "sick（病假）" in asked("leave_type", {"enum": ["annual", "sick"]}, chinese=True)
