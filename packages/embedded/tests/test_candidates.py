"""What could go into a slot: every value that a question may mean for it is offered."""

from __future__ import annotations

from itertools import combinations

import pytest

from actum.core.json import Json
from actum.core.tool import Tool
from actum_embedded.calls.arguments import fill
from actum_embedded.text.clauses import read
from actum_embedded.tools.candidates import candidates
from actum_embedded.tools.selection import index
from actum_embedded.tools.slots import slots_of
from packages.embedded.tests.harness import TODAY

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
        ("Did Mrs. Kowalski write?", "Mrs. Kowalski"),
        ("brief me on Texas v. Johnson now", "Texas v. Johnson"),
        ("tickets for Mad Max: Fury Road today", "Mad Max: Fury Road"),
        ("who rules the Philippines", "Philippines"),
        ("put milk on my list for Trader Joe's now", "Trader Joe's"),
        ("Disney+ for the kids", "Disney+"),
        ("I brew pour-over with a filter", "pour-over"),
        ("cups of all-purpose flour", "all-purpose flour"),
        ("can I see him about my shoulder please", "my shoulder"),
        ("trivia for second graders", "second graders"),
        ("a song from the 80s", "80s"),
        ("the sales of this month", "this month"),
        ("the price of Bitcoin", "Bitcoin"),
        ("Solve v = u + a*t for t", "v = u + a*t"),
        ("方程2a+9=31里a等于几", "2a+9=31"),
        ("(3+4i)乘以(1-2i)", "3+4i"),
        ("Solve v = u + a*t for t", "t"),
        ("方程2a+9=31里a等于几", "a"),
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


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("water them on Tuesday and Thursday", ["Tuesday", "Thursday"]),
        ("grades: B, A+, C", ["B", "A+", "C"]),
        ("compare Etsy, Trader Joe's and Walgreens", ["Etsy", "Trader Joe's", "Walgreens"]),
    ],
)
def test_a_list_of_texts_may_be_as_it_was_said(question: str, values: list[Json]) -> None:
    assert values in offered(question, "string", many=True)


def test_a_power_of_a_number_is_a_value_and_one_of_a_unit_is_none() -> None:
    assert 217 in offered("Compute 18^217 mod 12", "integer")
    assert 2 not in offered("at 9 m/s^2", "integer")


@pytest.mark.parametrize(("question", "value"), [("17GB是多少MB", "GB"), ("麻烦要1.5kg牛腩", "kg")])
def test_a_unit_ends_where_chinese_begins(question: str, value: str) -> None:
    assert value in [span.text for span in read(question, TODAY).spans if span.kind == "unit"]


def test_a_generation_and_a_dimension_are_no_units() -> None:
    assert not [span for span in read("5G网络和3D电影", TODAY).spans if span.kind == "unit"]


@pytest.mark.parametrize(("name", "kind"), [("收款单位", "string"), ("原单位", "unit"), ("时间范围", "string")])
def test_a_unit_that_pays_is_no_unit_of_measure(name: str, kind: str) -> None:
    tool = Tool(name="act", description="", parameters={"type": "object", "properties": {name: {"type": "string"}}})
    assert slots_of(tool)[0].kind == kind


@pytest.mark.parametrize(
    ("question", "value"), [("用12mol/L的盐酸", 12), ("配500mL 0.1mol/L溶液", 0.1), ("31.6元/小时", 31.6)]
)
def test_a_rate_is_no_folder(question: str, value: float) -> None:
    assert value in offered(question, "number")


@pytest.mark.parametrize("said", ["借一天车给王明", "租一天的车", "一天一次", "住一晚的酒店"])
def test_a_clause_may_end_inside_of_a_word(said: str) -> None:
    rent = Tool(
        name="rent_car",
        description="Rent a car.",
        parameters={"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    )
    clause = read(said, TODAY)
    for start, end in combinations(range(len(said) + 1), 2):
        for each in fill(index(rent), clause.part(start, end)).arguments:
            assert start <= each.span.start < each.span.end <= end


@pytest.mark.parametrize(("question", "word"), [("My order is late.", "My"), ("It broke. This is why.", "This")])
def test_a_small_word_that_opens_a_sentence_is_no_value(question: str, word: str) -> None:
    assert word not in offered(question, "string")
