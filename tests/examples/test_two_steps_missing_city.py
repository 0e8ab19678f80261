from __future__ import annotations

import pytest

from actum.core.event import RunResult
from actum.core.json import JsonObject
from examples.two_steps_missing_city import main as example


def calls(result: RunResult) -> list[tuple[str, JsonObject]]:
    return [(call.name, call.arguments) for call, _ in result.calls]


@pytest.mark.row("S1")
async def test_the_second_step_is_made_of_the_result_of_the_first() -> None:
    two_steps, *_ = await example.run()

    assert calls(two_steps) == [
        ("birthday", {"singer": "周杰伦"}),
        ("weather", {"city": "台北", "date": "1979-01-18"}),
    ]
    assert two_steps.text == "周杰伦的生日是 1979-01-18，那天台北阴，气温 16℃。"


@pytest.mark.row("S1")
@pytest.mark.row("C1")
async def test_a_city_that_nobody_named_is_asked_for_and_the_conversation_goes_on() -> None:
    _, asking, answered = await example.run()

    ((_, refused),) = asking.calls
    assert refused.error is not None
    assert [(problem.path, problem.rule) for problem in refused.error.problems] == [("city", "required")]
    assert (asking.status, asking.text) == ("done", "请问您想查询哪个城市的天气？")
    assert calls(answered) == [("weather", {"city": "深圳"})]
    assert answered.text == "深圳今天雷阵雨，气温 30℃。"


@pytest.mark.row("S1")
async def test_a_model_that_does_not_ask_is_not_let_through_and_the_loop_asks_instead() -> None:
    paused, done = await example.run_stubborn()

    assert paused.status == "paused"
    assert [(pending.kind, pending.message) for pending in paused.pending] == [
        ("answer", "调用 weather 还缺一项信息：请问“city”是什么？")
    ]
    assert all(result.error is not None for _, result in paused.calls)
    assert (done.status, done.text) == ("done", "深圳今天雷阵雨，气温 30℃。")


@pytest.mark.row("L5")
async def test_the_embedded_model_takes_both_steps_and_asks_for_the_city() -> None:
    two_steps, asking, answered = await example.run_model()

    assert calls(two_steps) == [
        ("birthday", {"singer": "周杰伦"}),
        ("weather", {"city": "台北", "date": "1979-01-18"}),
    ]
    assert "1979-01-18" in two_steps.text
    assert "气温 16" in two_steps.text
    assert (asking.status, asking.calls) == ("done", ())
    assert "哪个城市" in asking.text
    ((call, outcome),) = answered.calls
    assert (call.name, call.arguments["city"]) == ("weather", "深圳")
    assert outcome.error is None
    assert "雷阵雨" in answered.text
