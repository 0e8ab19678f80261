"""What was said before: an answer to our question, a follow-up, a result that a later question means."""

from __future__ import annotations

import pytest

from actum.core.json import JsonObject
from actum.core.message import UserMessage
from actum_embedded.conversation import TURNS_MAX, instructions_of, turns_of
from packages.embedded.tests.harness import Talk, calls_of, tools

pytestmark = pytest.mark.row("L5")

WEATHER: JsonObject = {"condition": "sunny", "temperature_c": 21}


async def test_a_missing_city_is_asked_for_and_the_answer_fills_it() -> None:
    talk = Talk(tools("desk"))
    asked = await talk.say("What is the weather today?")
    assert (calls_of(asked), asked.text) == ([], "Which city?")
    assert calls_of(await talk.say("Shanghai")) == [("weather", {"city": "Shanghai", "date": "2026-11-20"})]


async def test_a_missing_city_is_asked_for_in_chinese() -> None:
    talk = Talk(tools("zh"))
    assert (await talk.say("今天天气怎么样？")).text == "请问是哪个城市？"
    assert calls_of(await talk.say("福州")) == [("weather_query", {"city": "福州"})]


@pytest.mark.parametrize(
    ("answer", "city"),
    [
        ("in berlin please", "berlin"),
        ("Atlantis", "Atlantis"),
        ("it's Paris, for tomorrow", "Paris"),
        ("上海吧", "上海"),
    ],
)
async def test_the_answer_may_be_worded_freely(answer: str, city: str) -> None:
    talk = Talk(tools("desk"))
    await talk.say("What's the weather?")
    ((_, arguments),) = calls_of(await talk.say(answer))
    assert arguments["city"] == city


@pytest.mark.parametrize(
    "word", ["此外", "另外", "首先", "其次", "除此之外", "再说", "besides", "Secondly", "furthermore"]
)
async def test_a_word_that_joins_sentences_is_no_value(word: str) -> None:
    chinese = not word.isascii()
    talk = Talk(tools("zh" if chinese else "desk"))
    await talk.say("查无人机的状态" if chinese else "What is the state of the drone?")
    assert calls_of(await talk.say(word)) == []
    both = (
        f"帮我查无人机1001的状态，{word}查一下天气" if chinese else f"State of drone 1001? {word}, what's the weather?"
    )
    assert calls_of(await Talk(tools("zh" if chinese else "desk")).say(both))[:1] == [
        ("drone_data_query", {"drone_id": "1001"})
    ]
    for ask in (f"帮我查无人机，{word}查一下天气", f"{word}，查天气") if chinese else (f"{word}, check the weather",):
        assert [call for call in calls_of(await Talk(tools("all")).say(ask)) if word in call[1].values()] == []


async def test_a_full_question_after_ours_is_a_new_question() -> None:
    talk = Talk(tools("all"))
    await talk.say("What's the weather?")
    assert calls_of(await talk.say("What is 3*4?")) == [("calculate", {"expression": "3*4"})]


async def test_a_full_question_does_not_take_the_city_of_the_one_before() -> None:
    talk = Talk(tools("desk"))
    await talk.say("What's the weather in Beijing?")
    await talk.hand_back(WEATHER)
    assert (await talk.say("What is the weather today?")).text == "Which city?"


async def test_the_text_of_a_note_may_say_anything() -> None:
    talk = Talk(tools("all"))
    assert calls_of(await talk.say("Write a note")) == []
    assert calls_of(await talk.say("check the weather in Paris")) == [
        ("write_note", {"text": "check the weather in Paris"})
    ]


async def test_what_was_asked_for_can_be_called_off() -> None:
    talk = Talk(tools("desk"))
    await talk.say("What's the weather?")
    called_off = await talk.say("never mind")
    assert (calls_of(called_off), called_off.text) == ([], "All right.")


@pytest.mark.parametrize("follow_up", ["and Shanghai?", "What about Shanghai?", "Shanghai?", "how about in Shanghai"])
async def test_a_follow_up_repeats_the_last_calls_for_another_city(follow_up: str) -> None:
    talk = Talk(tools("desk"))
    await talk.say("Weather and news for Beijing tomorrow")
    await talk.hand_back(WEATHER, [])
    made = calls_of(await talk.say(follow_up))
    assert [(name, arguments["city"]) for name, arguments in made] == [("weather", "Shanghai"), ("news", "Shanghai")]
    assert "count" not in made[1][1]


async def test_a_follow_up_in_chinese() -> None:
    talk = Talk(tools("desk"))
    await talk.say("北京明天的天气")
    await talk.hand_back(WEATHER)
    assert calls_of(await talk.say("那上海呢？")) == [("weather", {"city": "上海", "date": "2026-11-21"})]
    await talk.hand_back(WEATHER)
    assert calls_of(await talk.say("后天呢")) == [("weather", {"city": "上海", "date": "2026-11-22"})]


async def test_a_follow_up_for_two_cities_before_asks_once() -> None:
    talk = Talk(tools("desk"))
    await talk.say("weather in Beijing and Shanghai")
    await talk.hand_back(WEATHER, WEATHER)
    assert calls_of(await talk.say("and Guangzhou?")) == [("weather", {"city": "Guangzhou"})]


async def test_a_follow_up_with_a_tool_of_its_own_takes_what_it_lacks_from_before() -> None:
    talk = Talk(tools("all"))
    await talk.say("What's the capital of France?")
    await talk.hand_back({"country": "France", "capital": "Paris"})
    assert calls_of(await talk.say("and its population?")) == [
        ("country_facts", {"name": "France", "field": "population"})
    ]


async def test_an_earlier_result_fills_what_a_question_points_at() -> None:
    talk = Talk(tools("desk"))
    await talk.say("search for the Turing Award")
    await talk.hand_back([{"title": "Turing Award", "url": "https://example.org/turing"}])
    assert calls_of(await talk.say("open the first result")) == [("crawl", {"url": "https://example.org/turing"})]


async def test_the_day_may_stand_in_the_instructions() -> None:
    talk = Talk(tools("desk"), system="You are helpful. Today is Monday, March 2, 2026.")
    assert calls_of(await talk.say("weather in Oslo tomorrow")) == [("weather", {"city": "Oslo", "date": "2026-03-03"})]


def test_only_the_latest_turns_are_read() -> None:
    messages = [UserMessage.of(str(number)) for number in range(20)]
    assert [turn.text for turn in turns_of(messages)] == [str(number) for number in range(20 - TURNS_MAX, 20)]
    assert instructions_of(messages) == ""
