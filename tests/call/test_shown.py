"""What is told of a reply while a model still says it has no secret values."""

from __future__ import annotations

from actum import Tool, ToolCall
from actum.call.resolve import Catalog
from actum.call.shown import without_secrets
from actum.core.event import CallDelta, CallSaid, Event, TextDelta, ThoughtEnded
from actum.core.json import JsonObject


async def test_the_arguments_of_a_call_with_a_secret_parameter_are_told_only_when_the_call_is_said() -> None:
    properties: JsonObject = {"password": {"type": "string"}}
    tools = [Tool(name="login", parameters={"type": "object", "properties": properties}), Tool(name="add")]
    told: list[Event] = []
    tell = without_secrets(told.append, await Catalog.of((), tools))
    events: list[Event] = [
        TextDelta("Hello."),
        CallDelta(0, "login", '{"pass', "1"),
        CallDelta(1, "add", '{"a"'),
        CallDelta(0, arguments='word":"hunter2"}'),
        CallDelta(1, arguments=":1}"),
        CallSaid(0, ToolCall("1", "login", {"password": "hunter2"}, raw='{"password":"hunter2"}')),
        CallSaid(1, ToolCall("2", "add", {"a": 1}, raw='{"a":1}')),
        ThoughtEnded(),
        CallDelta(0, "add", "{}"),
    ]
    for event in events:
        tell(event)
    assert told == [
        events[0],
        CallDelta(0, "login", "", "1"),
        events[2],
        events[4],
        CallSaid(0, ToolCall("1", "login", {"password": "[secret]"})),
        *events[6:],
    ]
