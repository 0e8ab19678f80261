"""The schema of an answer reaches the APIs that have structured output, where they take it; an agent works without."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import pytest

from actum import Agent, tool
from actum.core.errors import ModelRejected
from actum.core.json import Json, JsonObject
from actum.core.message import Reply, UserMessage
from actum.core.model import Request
from actum.dialects.api.openai_chat.dialect import OPENAI_CHAT
from actum.models import open_model
from actum.models.endpoint import Endpoint
from actum.testing import ScriptedModel
from tests.chat_server import ChatServer, Raw, Said


@dataclass
class Point:
    x: int
    y: int = 5


@tool(effects={"read"})
def look() -> str:
    """Look."""
    return "here"


SAID = '{"x": 1, "y": 2}'
PLACES = {
    "openai_chat": ("response_format", "json_schema", "schema"),
    "openai_responses": ("text", "format", "schema"),
    "anthropic_messages": ("output_config", "format", "schema"),
    "gemini_content": ("generationConfig", "responseSchema"),
}
"""Where each API has the schema of an answer in a request."""


def at(value: Json, *names: str) -> Json:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def fields(schema: Json) -> list[str]:
    properties = at(schema, "properties")
    assert isinstance(properties, dict)
    return list(properties)


async def test_each_api_with_structured_output_is_sent_the_schema_where_the_agent_has_no_tools() -> None:
    for dialect, place in PLACES.items():
        with ChatServer([SAID, SAID]) as server:
            model = open_model(f"{server.url}#m", dialect=dialect)
            result = await Agent(model, output_type=Point).run("Where?")
            assert result.output == Point(1, 2), dialect
            assert fields(at(server.requests[0].json, *place)) == ["x", "y"], dialect
            assert (await Agent(model, [look], output_type=Point).run("Where?")).status == "done"
            assert at(server.requests[1].json, *place) is None, dialect


async def test_a_provider_that_takes_a_schema_beside_tools_is_sent_both(monkeypatch: pytest.MonkeyPatch) -> None:
    for send, count in (("always", 2), ("alone", 1), ("never", 0)):
        with ChatServer([SAID, SAID]) as server:
            model = Endpoint(server.url, "m", native=True, send_schema=send)  # type: ignore[arg-type]
            await Agent(model, output_type=Point).run("Where?")
            await Agent(model, [look], output_type=Point).run("Where?")
            assert sum("response_format" in request.json for request in server.requests) == count, send


REFUSAL = Raw((b'{"error": {"message": "This response_format type is unavailable now"}}',), status=400)


async def test_an_endpoint_that_refuses_the_schema_is_asked_without_it_and_never_sent_it_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    said: list[Said] = [REFUSAL, SAID, SAID]
    with ChatServer(said) as server:
        agent = Agent(Endpoint(server.url, "m", native=True), output_type=Point)
        assert (await agent.run("Where?")).output == Point(1, 2)
        assert (await agent.run("Where?")).output == Point(1, 2)
        assert ["response_format" in request.json for request in server.requests] == [True, False, False]
    assert [record.message for record in caplog.records if "without the schema" in record.message] != []


async def test_a_schema_that_no_instructions_tell_is_sent_whatever_the_endpoint_is_known_to_take() -> None:
    schema: JsonObject = {"type": "object", "properties": {"x": {"type": "integer"}}}
    request = Request(messages=[UserMessage.of("Where?")], tools=(look.definition,), output_schema=schema)
    with ChatServer([SAID, REFUSAL]) as server:
        model = Endpoint(server.url, "m", native=True, send_schema="never")
        await model.reply(request)
        with pytest.raises(ModelRejected, match="unavailable"):
            await model.reply(request)
        assert ["response_format" in each.json for each in server.requests] == [True, True]


async def test_any_other_refusal_is_none_of_the_schema() -> None:
    for message, status in (("model is being loaded", 400), ("response_format needs a key", 401)):
        wire = msgspec.json.encode({"error": {"message": message}})
        with ChatServer([Raw((wire,), status=status), SAID]) as server:
            agent = Agent(Endpoint(server.url, "m", native=True), output_type=Point)
            with pytest.raises(ModelRejected, match=message):
                await agent.run("Where?")
            assert (await agent.run("Where?")).status == "done"
            assert ["response_format" in request.json for request in server.requests] == [True, True], message


async def test_a_strict_endpoint_is_asked_for_a_strict_answer_and_its_null_is_a_default() -> None:
    strict = msgspec.structs.replace(OPENAI_CHAT, strict=True)
    with ChatServer(['{"x": 1, "y": null}', '{"a": 1}']) as server:
        model = Endpoint(server.url, "m", dialect=strict, native=True)
        assert (await Agent(model, output_type=Point).run("Where?")).output == Point(1, 5)
        form = at(server.requests[0].json, "response_format", "json_schema")
        assert (at(form, "strict"), at(form, "schema", "required")) == (True, ["x", "y"])
        assert (await Agent(model, output_type=dict[str, int]).run("Where?")).output == {"a": 1}
        assert at(server.requests[1].json, "response_format", "json_schema", "strict") is None


async def test_an_api_that_would_allow_less_than_the_schema_is_not_sent_it() -> None:
    with ChatServer(['{"a": 1}']) as server:
        model = open_model(f"{server.url}#m", dialect="anthropic_messages")
        assert (await Agent(model, output_type=dict[str, int]).run("?")).output == {"a": 1}
        assert "output_config" not in server.requests[0].json


async def test_a_model_that_is_told_in_its_prompt_is_told_the_schema_once() -> None:
    seen: list[str] = []

    def script(request: JsonObject) -> Reply:
        seen.append(str(request["messages"]))
        return Reply.of(SAID)

    with ChatServer(script) as server:
        model = open_model(f"{server.url}#m", dialect="prompt_json")
        assert (await Agent(model, [look], output_type=Point).run("Where?")).output == Point(1, 2)
    assert seen[0].count("'x'") + seen[0].count('"x"') + seen[0].count('\\"x\\"') > 0
    assert seen[0].count('"properties":{"x"') == 1


async def test_each_request_of_a_run_holds_the_schema() -> None:
    model = ScriptedModel(["nothing", SAID])
    await Agent(model, output_type=Point).run("Where?")
    assert [fields(request.output_schema) for request in model.requests] == [["x", "y"], ["x", "y"]]
    plain = ScriptedModel(["Hi"])
    await Agent(plain).run("Hi")
    assert plain.requests[0].output_schema is None
