"""Values that are chosen, not copied: of enumerations, and true or false."""

from __future__ import annotations

import pytest

from actum.core.json import Json, JsonObject
from actum.core.tool import Tool
from actum_embedded.text.clauses import read
from actum_embedded.tools.choices import chosen_values, truth
from actum_embedded.tools.slots import Slot, slots_of
from packages.embedded.tests.harness import TODAY


def slot(name: str, schema: JsonObject) -> Slot:
    (found,) = slots_of(Tool(name="do", description="", parameters={"type": "object", "properties": {name: schema}}))
    return found


def chosen(name: str, values: list[Json], said: str) -> list[Json]:
    return [value for value, _, _ in chosen_values(slot(name, {"enum": values}), frozenset(), read(said, TODAY))]


@pytest.mark.parametrize(
    ("name", "values", "said", "meant"),
    [
        ("cabin_class", ["economy", "business", "first"], "要商务舱", "business"),
        ("cabin_class", ["economy", "business", "first"], "头等舱", "first"),
        ("sugar_level", ["none", "half", "full"], "不要糖", "none"),
        ("leave_type", ["annual", "sick", "personal"], "请三天事假", "personal"),
        ("service", ["standard", "same_day"], "当天送到", "same_day"),
        ("channel", ["wechat", "sms"], "发短信", "sms"),
        ("sort_by", ["relevance", "price_asc"], "价格从低到高", "price_asc"),
        ("target_language", ["en", "ja"], "翻译成日语", "ja"),
        ("费用类别", ["交通", "餐饮"], "昨天的打车费", "交通"),
        ("reason", ["damaged", "wrong_item", "not_received"], "东西坏了", "damaged"),
        ("reason", ["damaged", "wrong_item", "not_received"], "发错货了", "wrong_item"),
        ("flower", ["rose", "lily"], "一束玫瑰", "rose"),
        ("permission", ["view", "edit"], "可以编辑", "edit"),
    ],
)
def test_a_value_is_chosen_by_what_people_call_it(name: str, values: list[Json], said: str, meant: Json) -> None:
    assert chosen(name, values, said) == [meant]


def test_one_chinese_character_chooses_where_it_is_a_word_of_its_own() -> None:
    assert chosen("temperature", ["hot", "iced"], "一杯热拿铁") == ["hot"]
    assert chosen("temperature", ["hot", "iced"], "这里很热闹") == []


@pytest.mark.parametrize(
    ("name", "said", "meant"),
    [
        ("breakfast_included", "要含早餐的", True),
        ("breakfast_included", "不要早餐", False),
        ("private_room", "订个包间", True),
        ("direct_only", "有直飞的吗", True),
        ("avoid_tolls", "不走收费的路", True),
        ("avoid_tolls", "收费多少", None),
        ("direct_only", "什么时候有", None),
    ],
)
def test_yes_and_no_are_told_by_what_the_name_is_about(name: str, said: str, meant: bool | None) -> None:
    found = truth(slot(name, {"type": "boolean"}), frozenset(), read(said, TODAY))
    assert (found and found[0]) == meant
