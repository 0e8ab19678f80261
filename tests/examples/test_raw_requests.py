from __future__ import annotations

import msgspec
import pytest

from actum.core.json import JsonObject
from examples.raw_requests import main as example
from examples.raw_requests.endpoint import CALL


@pytest.mark.row("S3")
async def test_streamed_and_whole_a_call_without_arguments_is_made_and_its_result_told() -> None:
    streamed, whole, _ = await example.run()

    for result in (streamed, whole):
        ((call, outcome),) = result.calls
        assert (call.id, call.name, call.arguments) == (CALL["id"], "get_current_time", {})
        assert (call.raw, call.complete, call.repairs) == ("{}", True, ())
        assert result.text == f"现在是 {outcome.text}。"
        assert result.usage.cached_tokens == 2 * 128


@pytest.mark.row("S3")
async def test_streamed_and_whole_the_endpoint_is_sent_the_same_conversation() -> None:
    *_, model = await example.run()

    asked = [msgspec.json.decode(body, type=JsonObject) for body in model.requests]
    assert [body.get("stream", False) for body in asked] == [True, True, False, False]
    assert asked[0]["messages"] == asked[2]["messages"]
    call_1, call_2 = (without_result(asked[number]["messages"]) for number in (1, 3))
    assert call_1 == call_2
    assert all(body["tools"] == asked[0]["tools"] for body in asked)


def without_result(messages: object) -> object:
    assert isinstance(messages, list)
    return [{**message, "content": ""} if message["role"] == "tool" else message for message in messages]
