from __future__ import annotations

import pytest

from actum.core.event import RunResult
from actum.core.json import JsonObject
from examples.drone_desk import main as example
from examples.local_services.ways import FUNCTIONS, Way

FOUR_CALLS: list[tuple[str, JsonObject]] = [
    ("drone_data_query", {"drone_id": "1001"}),
    ("weather_query", {"city": ""}),
    ("search", {"query": "什么是无人机"}),
    ("search", {"query": "无人机的飞控是什么"}),
]

in_every_way = pytest.mark.parametrize("way", [pytest.param(way, id=way.dialect) for way in example.WAYS])


def calls(result: RunResult) -> list[tuple[str, JsonObject]]:
    return [(call.name, call.arguments) for call, _ in result.calls]


@in_every_way
@pytest.mark.row("S1", "S2", "S3", "S4", "A1")
async def test_four_calls_answer_the_question_and_the_one_without_a_city_is_asked_back(way: Way) -> None:
    first, second = await example.run(way)

    assert calls(first) == FOUR_CALLS
    assert first.steps == (5 if way is FUNCTIONS else 2)  # in 2023 a reply had one call
    drone, weather, *pages = [outcome for _, outcome in first.calls]
    assert drone.structured == {"drone_id": "1001", "status": "巡航中", "battery": 82, "altitude_m": 120}
    assert weather.error is not None
    assert [(problem.path, problem.rule) for problem in weather.error.problems] == [("city", "required")]
    assert all(page.error is None for page in pages)
    assert first.text.splitlines()[0] == "无人机 1001：巡航中，电量 82%，高度 120 米。"
    assert "由机载程序自主飞行的航空器" in first.text
    assert "飞控是无人机的控制核心" in first.text
    assert first.text.endswith("请问您要查询哪个城市的天气？")

    assert calls(second) == [("weather_query", {"city": "上海"})]
    assert second.text == "上海今天小雨，气温 23℃。"


@in_every_way
@pytest.mark.row("C2")
async def test_data_about_another_drone_than_was_asked_for_is_flagged_and_not_passed_off(way: Way) -> None:
    result = await example.run_mixed_up(way)

    (call, outcome), *_ = result.calls
    assert (call.name, call.arguments) == ("drone_data_query", {"drone_id": "1001"})
    assert outcome.error is not None
    assert outcome.error.code == "tool_error"
    assert outcome.error.message == "问的是无人机 1001，服务返回的却是无人机 101 的数据，不能采用。"
    assert result.text.startswith("无人机 1001：没有拿到它的数据。问的是无人机 1001，服务返回的却是无人机 101 的数据")
    assert "充电中" not in result.text


async def test_the_tool_that_was_offered_and_not_needed_works_too() -> None:
    async with example.opened() as (*_, crawl):
        page = await crawl("https://pedia.example/feikong")

    assert isinstance(page, dict)
    assert page["title"] == "飞控（飞行控制系统）"


@pytest.mark.row("L5")
async def test_the_embedded_model_looks_up_what_it_can_and_asks_for_the_city() -> None:
    first, second = await example.run_model()

    made = calls(first)
    assert ("drone_data_query", {"drone_id": "1001"}) in made
    searched = [str(arguments["query"]) for name, arguments in made if name == "search"]
    assert len(searched) == 2
    assert "无人机" in searched[0]
    assert "飞控" in searched[1]
    assert not any(name == "crawl" for name, _ in made)
    assert "巡航中" in first.text
    assert "飞控是无人机的控制核心" in first.text
    assert "哪个城市" in first.text
    assert calls(second) == [("weather_query", {"city": "上海"})]
    assert "小雨" in second.text


@pytest.mark.row("L5")
async def test_the_embedded_model_does_not_pass_off_another_drone_either() -> None:
    result, _ = await example.run_model("1001")

    assert "101 的数据，不能采用" in result.text
    assert "充电中" not in result.text
