"""What could go into a slot: every value that a question may mean for it is offered."""

from __future__ import annotations

import pytest

from actum.core.json import Json
from actum.core.tool import Tool
from actum.models.embedded.candidates import candidates
from actum.models.embedded.clauses import read
from actum.models.embedded.slots import slots_of
from tests.models.embedded.harness import TODAY

pytestmark = pytest.mark.row("L5")


def offered(question: str, type_: str, name: str = "thing", description: str = "", *, many: bool = False) -> list[Json]:
    schema: dict[str, Json] = {"type": type_, "description": description}
    if many:
        schema = {"type": "array", "items": {"type": type_}, "description": description}
    tool = Tool(name="act", description="Act.", parameters={"type": "object", "properties": {name: schema}})
    slot = slots_of(tool)[0]
    return [each.value for each in candidates(slot, read(question, TODAY))]


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("打印合同正本.pdf 5份", "合同正本.pdf"),
        ("预算表v1.xlsx重命名", "预算表v1.xlsx"),
        ("把IMG_2031.jpg亮度加十五", "IMG_2031.jpg"),
        ("2024-05迟到的人", "2024-05"),
        ("anything on Wednesday", "Wednesday"),
    ],
)
def test_a_text_may_be_this_piece(question: str, value: str) -> None:
    assert value in offered(question, "string")


@pytest.mark.parametrize(
    ("question", "name", "description", "value"),
    [
        ("年利率百分之六", "rate", "年利率，小数", 0.06),
        ("借两周", "days", "借期天数", 14),
        ("试用期半年", "period", "试用期（月）", 6),
        ("持续十分钟", "duration", "时长（秒）", 600),
        ("for two weeks", "stay", "Length in days.", 14),
        ("over one year", "term", "Term in months.", 12),
    ],
)
def test_a_number_may_be_this_in_the_unit_that_the_slot_asks_for(
    question: str, name: str, description: str, value: float
) -> None:
    assert value in offered(question, "number", name, description)
