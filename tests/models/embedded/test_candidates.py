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
    ],
)
def test_a_text_may_be_this_piece(question: str, value: str) -> None:
    assert value in offered(question, "string")
