"""Results as sentences, lists and tables, in both languages."""

from __future__ import annotations

import pytest

from actum.core.json import Json
from packages.embedded.tests.harness import Talk, named, tools

pytestmark = pytest.mark.row("L5")


async def answer(said: str, *results: Json, group: str = "desk") -> str:
    talk = Talk(tools(group))
    await talk.say(said)
    return (await talk.hand_back(*results)).text


@pytest.mark.parametrize(
    ("said", "result", "text"),
    [
        ("When was Jay Chou born?", "1979-01-18", "Birthday of Jay Chou: 1979-01-18."),
        ("周杰伦的生日是哪天？", {"name": "周杰伦", "birthday": "1979-01-18"}, "周杰伦的生日：1979-01-18。"),
        (
            "What's the weather in Oslo?",
            {"city": "Oslo", "condition": "snow", "temperature_c": -3.5, "humidity_percent": 80},
            "Weather in Oslo: condition snow, temperature -3.5 °C, humidity 80%.",
        ),
        (
            "奥斯陆的天气",
            {"city": "Oslo", "condition": "下雪", "temperature_c": -3.5, "windy": True},
            "奥斯陆的天气：天气下雪，气温 -3.5 °C，windy 是。",
        ),
        ("What's the weather in Oslo?", "Oslo: snow, -3 °C", "Oslo: snow, -3 °C."),
        ("What's the weather in Oslo?", '{"condition": "snow"}', "Condition in Oslo: snow."),
        ("What's the weather in Oslo?", None, "Weather in Oslo: nothing found."),
        ("What's the weather in Oslo?", [], "Weather in Oslo: nothing found."),
        ("What's the weather in Oslo?", {}, "Weather in Oslo: done."),
        ("从东京到首尔怎么走", {"distance_km": 1160.25}, "从东京到首尔的距离：1160.25 km。"),
        ("any news about Rome?", ["One", "Two"], "News in Rome: One, Two."),
    ],
)
async def test_a_result_becomes_a_sentence(said: str, result: Json, text: str) -> None:
    assert await answer(said, result) == text


@pytest.mark.parametrize(
    ("said", "result", "text"),
    [
        ("What is 17*23?", {"expression": "17*23", "result": 391}, "17*23 = 391."),
        (
            "5 miles in km",
            {"value": 5, "from_unit": "mi", "result": 8.04672, "to_unit": "km"},
            "5 mi = 8.04672 km.",
        ),
        (
            "法国的人口",
            {"country": "France", "country_zh": "法国", "population": 68600000, "population_year": 2024},
            "法国的人口：68,600,000（人口年份 2024）。",
        ),
        (
            "capital of France",
            {"country": "France", "country_zh": "法国", "capital": "Paris", "capital_zh": "巴黎"},
            "Capital of France: Paris.",
        ),
        ("明天是星期几", {"date": "2026-11-21", "weekday": "Saturday"}, "2026-11-21 是星期六。"),
        ("Write a note: buy milk", {"noted_in": "notes/notes.txt", "bytes": 9}, "Noted in notes/notes.txt."),
        (
            "Where are the *.zip files?",
            {"pattern": "*.zip", "files": [], "more": False},
            "Files for *.zip: nothing found.",
        ),
    ],
)
async def test_the_everyday_tools_are_told_in_sentences(said: str, result: Json, text: str) -> None:
    assert await answer(said, result, group="everyday") == text


async def test_rows_become_a_table() -> None:
    rows: Json = {"columns": ["name", "population"], "rows": [["India", 1451000000], ["a|b", None]], "more": False}
    assert await answer("select name, population from countries", rows, group="everyday") == (
        "Data:\n| name | population |\n|---|---|\n| India | 1,451,000,000 |\n| a\\|b | – |"
    )


async def test_objects_become_a_table_or_bullets() -> None:
    short: Json = [{"title": "One", "count": 1}, {"title": "Two", "count": 20000}]
    assert await answer("any news about Rome?", short) == (
        "News in Rome:\n| title | count |\n|---|---|\n| One | 1 |\n| Two | 20,000 |"
    )
    long: Json = [{"title": "One", "url": "http://x/1", "snippet": "word " * 20}, {"title": "Two"}]
    assert await answer("search for Rome", long) == (
        "Search for “Rome”:\n- One: " + ("word " * 20) + " (http://x/1)\n- Two"
    )


async def test_a_long_list_and_a_long_text_are_cut_and_said_to_be() -> None:
    assert (await answer("any news about Rome?", [f"Headline {n}" for n in range(30)])).endswith("… and 18 more.")
    told = await answer("search for Rome", "word " * 5_000)
    assert told.endswith("…")
    assert len(told) < 2_000


async def test_several_results_are_put_together() -> None:
    assert await answer("What's the weather in Oslo and the birthday of Jay Chou?", "snow", "1979-01-18") == (
        "Weather in Oslo: snow. Birthday of Jay Chou: 1979-01-18."
    )


@pytest.mark.parametrize(
    ("said", "result"),
    [
        ("state of drone 1001", {"drone_id": "101", "state": "flying"}),
        ("state of drone 1001", "Drone 101 is flying."),
        ("无人机1001的状态", "无人机 101：飞行中"),
    ],
)
async def test_an_answer_about_another_id_is_not_passed_off(said: str, result: Json) -> None:
    told = await answer(said, result)
    assert "1001" in told
    assert "101" in told
    assert "flying" not in told
    assert "飞行中" not in told


@pytest.mark.parametrize(
    "result",
    [{"drone_id": "1001", "state": "flying"}, {"drone_id": 1001, "state": "flying"}, "Drone 1001 is flying at 101 m."],
)
async def test_an_answer_about_the_right_id_is_told(result: Json) -> None:
    assert "flying" in await answer("state of drone 1001", result)


async def test_braces_in_a_result_are_just_text() -> None:
    assert await answer("When was Jay Chou born?", "{head} {0} %s") == "Birthday of Jay Chou: {head} {0} %s."


async def test_the_language_is_that_of_the_question() -> None:
    talk = Talk(named("desk", "weather"))
    await talk.say("天气怎么样？")
    await talk.say("Oslo")
    assert (await talk.hand_back({"temperature_c": 3})).text == "Oslo的气温：3 °C。"
