from __future__ import annotations

import msgspec
import pytest

from actum.core.json import JsonObject
from examples.functions_2023 import main as example


@pytest.mark.row("S4")
async def test_weather_and_news_one_function_a_turn_and_then_the_same_for_another_city() -> None:
    results, model = await example.run()

    for result, city, weather in zip(results, ("Beijing", "Shanghai"), ("sunny, 26", "light rain, 23"), strict=True):
        assert [(call.name, call.arguments) for call, _ in result.calls] == [
            ("get_current_weather", {"city": city}),
            ("get_news", {"city": city}),
        ]
        assert result.text.startswith(f"{city}: {weather} °C.\n1. A new subway line opens in {city}")
        assert result.steps == 3
    assert len(model.requests) == 6


@pytest.mark.row("S4")
@pytest.mark.row("T1")
async def test_the_count_that_the_model_leaves_out_is_the_default_of_the_function() -> None:
    (first, _), model = await example.run()

    news = msgspec.json.decode(model.requests[0], type=JsonObject)["functions"]
    assert isinstance(news, list)
    assert isinstance(news[1], dict)
    assert news[1]["parameters"] == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Name of the city."},
            "count": {"type": "integer", "description": "How many headlines.", "default": 5},
        },
        "required": ["city"],
        "additionalProperties": False,
    }
    headlines = first.calls[1][1].structured
    assert isinstance(headlines, list)
    assert len(headlines) == 5


@pytest.mark.row("S4")
async def test_every_request_is_one_that_an_endpoint_of_2023_understands() -> None:
    _, model = await example.run()

    for body in model.requests:
        asked = msgspec.json.decode(body, type=JsonObject)
        assert "functions" in asked
        assert not asked.keys() & {"tools", "tool_choice", "parallel_tool_calls"}
    roles = [message.role for message in model.asked()[-1].messages]
    assert roles == [*("user", *("assistant", "function") * 2, "assistant"), *("user", *("assistant", "function") * 2)]
