"""A call that was turned down is made once more in another way, or the user is told."""

from __future__ import annotations

import pytest

from actum.core.call import Failure, Problem
from actum.core.json import JsonObject
from actum.core.tool import Tool
from packages.embedded.tests.harness import (
    Talk,
    calls_of,
    named,
    tools,
)

pytestmark = pytest.mark.row("L5")


def parcels(**code: object) -> Tool:
    schema: JsonObject = {"type": "string", "description": "Number of the parcel.", **code}  # type: ignore[dict-item]
    return Tool(
        name="find_parcel",
        description="Tell where a parcel is.",
        parameters={"type": "object", "properties": {"code": schema}, "required": ["code"]},
    )


def invalid(path: str, rule: str, expected: str, received: str = "") -> Failure:
    return Failure("invalid_arguments", "Invalid arguments.", problems=(Problem(path, rule, expected, received),))


async def test_a_pattern_is_met() -> None:
    talk = Talk([parcels(pattern="^[A-Z]{2}-[0-9]{4}$")])
    assert calls_of(await talk.say("Where is my parcel de-2042?")) == [("find_parcel", {"code": "de-2042"})]
    again = await talk.hand_back(invalid("code", "pattern", "text that matches ^[A-Z]{2}-[0-9]{4}$", '"de-2042"'))
    assert calls_of(again) == [("find_parcel", {"code": "DE-2042"})]
    assert calls_of(await talk.hand_back("It is in Hamburg.")) == []


async def test_a_value_of_the_list_is_chosen() -> None:
    talk = Talk([parcels()])
    await talk.say("Where is parcel A1?")
    again = await talk.hand_back(invalid("code", "enum", 'one of "A-1", "B-2"', '"A1"'))
    assert calls_of(again) == [("find_parcel", {"code": "A-1"})]


async def test_a_type_is_changed_and_an_unknown_name_dropped() -> None:
    talk = Talk([parcels()])
    await talk.say("Where is parcel 77?")
    again = await talk.hand_back(invalid("code", "type", "integer", '"77"'))
    assert calls_of(again) == [("find_parcel", {"code": 77})]
    talk = Talk(named("desk", "weather"))
    await talk.say("weather in Paris tomorrow")
    again = await talk.hand_back(invalid("date", "additionalProperties", "only names like city"))
    assert calls_of(again) == [("weather", {"city": "Paris"})]


async def test_it_tries_only_once_more() -> None:
    talk = Talk([parcels(pattern="^[A-Z]+$")])
    await talk.say("Where is parcel abc1?")
    failure = invalid("code", "pattern", "text that matches ^[A-Z]+$")
    first = await talk.hand_back(failure)
    if first.calls:
        first = await talk.hand_back(failure)
    assert calls_of(first) == []
    assert "not accepted" in first.text


async def test_what_is_missing_is_asked_for() -> None:
    talk = Talk(named("desk", "weather"))
    await talk.say("weather in Paris")
    reply = await talk.hand_back(invalid("date", "required", "a date"))
    assert (calls_of(reply), reply.text) == ([], "Which day?")


async def test_a_place_is_tried_by_its_other_name() -> None:
    talk = Talk(tools("zh"))
    await talk.say("What's the weather in Fuzhou?")
    again = await talk.hand_back(Failure("tool_error", "没有这个城市：Fuzhou"))
    assert calls_of(again) == [("weather_query", {"city": "福州"})]


async def test_a_side_effect_is_not_tried_again() -> None:
    send = Tool(
        name="send_postcard",
        description="Send a postcard to a city.",
        parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        effects=frozenset({"send"}),
    )
    talk = Talk([send])
    await talk.say("Send a postcard to Paris")
    reply = await talk.hand_back(Failure("tool_error", "No stamps."))
    assert calls_of(reply) == []
    assert "No stamps." in reply.text


@pytest.mark.parametrize(
    ("code", "english", "chinese"),
    [
        ("tool_error", "did not work", "没有成功"),
        ("timeout", "took too long", "超时"),
        ("permission_denied", "not allowed", "没有权限"),
        ("approval_denied", "did not approve", "没有批准"),
        ("unavailable", "could not be reached", "连不上"),
        ("rate_limited", "too often", "太频繁"),
        ("tool_bug", "fault of its own", "自身出错"),
        ("in_doubt", "not known", "不清楚"),
        ("something_new", "did not work", "没有成功"),
    ],
)
async def test_a_failure_is_said_plainly_in_the_language_of_the_question(code: str, english: str, chinese: str) -> None:
    for said, words in (("What time is it?", english), ("现在几点了？", chinese)):
        talk = Talk(named("desk", "get_current_time"))
        await talk.say(said)
        reply = await talk.hand_back(Failure(code, "The message."))
        assert calls_of(reply) == []
        assert words in reply.text


async def test_one_that_fails_does_not_hide_the_others() -> None:
    talk = Talk(tools("desk"))
    await talk.say("weather and news for Paris")
    reply = await talk.hand_back({"condition": "sunny"}, Failure("unavailable", "down"))
    assert "sunny" in reply.text
    assert "News could not be reached" in reply.text
