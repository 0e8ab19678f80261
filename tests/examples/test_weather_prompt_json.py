from __future__ import annotations

import msgspec
import pytest

from actum.core.json import JsonObject
from examples.local_services.chat import ChatService
from examples.weather_prompt_json import main as example


def fields(model: ChatService) -> list[set[str]]:
    return [set(msgspec.json.decode(body, type=JsonObject)) for body in model.requests]


@pytest.mark.row("S1")
async def test_a_model_without_tools_calls_by_the_json_that_its_prompt_asks_for() -> None:
    result, model = await example.run()

    ((call, outcome),) = result.calls
    assert (call.name, call.arguments, call.repairs) == ("weather", {"city": "北京"}, ())
    assert outcome.structured == {"city": "北京", "weather": "晴", "temperature": 26}
    assert (result.status, result.text) == ("done", "北京今天晴，气温 26℃。")
    assert len(model.requests) == 2
    assert not any(asked & {"tools", "functions"} for asked in fields(model))


@pytest.mark.row("S1")
async def test_the_system_prompt_is_made_of_the_tool_in_the_language_of_the_question() -> None:
    _, model = await example.run()

    first, second = model.asked()
    system = first.messages[0]
    assert system.role == "system"
    assert system.text.startswith("你是一个天气助手")
    assert "weather：查询一个城市今天的天气。\n参数：\n- city（string，必填）：城市名" in system.text
    assert '{"tool": "工具名"' in system.text
    assert second.messages[0] == system


@pytest.mark.row("S1")
async def test_a_question_that_needs_no_tool_is_answered_in_plain_text() -> None:
    result, model = await example.run("你好")

    assert (result.text, result.calls) == ("我可以查询一个城市今天的天气。", ())
    assert len(model.requests) == 1


@pytest.mark.row("S8")
async def test_untold_it_is_found_out_that_the_endpoint_knows_no_tools() -> None:
    result, model = await example.run(dialect="auto")

    assert result.text == "北京今天晴，气温 26℃。"
    assert ["tools" in asked for asked in fields(model)] == [True, False, False]
