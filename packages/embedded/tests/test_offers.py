"""What a slot has to choose from, and what is no value of it at all."""

from __future__ import annotations

import pytest

from actum.core.json import Json
from actum.core.tool import Tool
from actum_embedded.text.clauses import read
from actum_embedded.tools.selection import index
from actum_embedded.weighing.offers import offered
from packages.embedded.tests.harness import TODAY

pytestmark = pytest.mark.row("L5")


def values(said: str, name: str, description: str = "", type_: str = "string") -> list[Json]:
    properties: dict[str, Json] = {name: {"type": type_, "description": description}}
    tool = Tool(name="act", description="Acts.", parameters={"type": "object", "properties": properties})
    indexed = index(tool)
    return [each.value for each in offered(indexed.slots[0], indexed, read(said, TODAY))]


@pytest.mark.parametrize(
    ("said", "name", "whole", "part"),
    [
        ("华山医院皮肤科", "hospital", "华山医院", "华山"),
        ("抬头是云帆科技有限公司", "buyer", "云帆科技有限公司", "云帆科技"),
        ("茅台现在多少", "stock", "茅台", "茅台现在"),
        ("来杯美式", "drink", "美式", "来杯"),
        ("热拿铁一杯", "drink", "热拿铁", "热拿铁一杯"),
        ("骑车的话中关村到鸟巢", "origin", "中关村", "话中关村"),
        ("迪拜的客户，他们那儿几点", "place", "迪拜", "他们那儿"),
        ("把租赁合同.pdf我只要第3页", "file", "租赁合同.pdf", "合同.pdf我只要第"),
        ("Ann and I'd like tea", "guest", "Ann", "I'd"),
        ("Ann, but don't wait", "guest", "Ann", "don't"),
    ],
)
def test_no_part_of_a_name_is_offered_and_no_more_than_it(said: str, name: str, whole: str, part: str) -> None:
    found = values(said, name)
    assert whole in found
    assert part not in found


def test_beside_a_sum_a_number_alone_is_none() -> None:
    found = values("一件1299，打六五折", "expression", "Arithmetic, such as 2+3.")
    assert "1299*0.65" in found
    assert not {"1299", "一", 1299} & {*map(str, found)}


def test_the_name_of_a_month_is_its_number_where_that_is_wanted() -> None:
    assert 7 in values("how warm is it in July", "month", "Month from 1 to 12.", "integer")
    assert values("how warm is it in July", "days", "So many days.", "integer") == []
