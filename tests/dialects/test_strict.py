"""Strict tools of hosted APIs: what goes out, what comes back, and what can not be asked for."""

from __future__ import annotations

import logging
from typing import cast

import jsonschema_rs
import msgspec
import pydantic
import pytest
from anthropic.types import ToolParam as AnthropicTool
from google.genai import types as google
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionToolParam
from openai.types.responses import FunctionToolParam

from actum.core.call import ToolCall
from actum.core.errors import UsageError
from actum.core.event import CallSaid
from actum.core.json import Json, JsonObject
from actum.core.message import Reply, UserMessage
from actum.core.model import Request
from actum.core.tool import Tool
from actum.dialects.api.anthropic.dialect import AnthropicMessages
from actum.dialects.api.gemini.dialect import GeminiContent
from actum.dialects.api.openai_chat.dialect import OpenAiChat
from actum.dialects.api.openai_responses.dialect import OpenAiResponses
from actum.dialects.api.schema_subset import OPENAI_STRICT, strictly, without_nulls
from actum.dialects.loose import Loose
from actum.models import open_model
from actum.models.endpoint import Endpoint
from actum.models.prompted import Recognising

from ..chat_server import ChatServer

BOOK = Tool(
    name="book",
    description="Books a table.",
    parameters={
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "Whose.", "maxLength": 40},
            "guests": {"type": "integer", "minimum": 1},
            "place": {"enum": ["in", "out"]},
            "wish": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "dishes": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"dish": {"$ref": "#/$defs/dish"}, "count": {"type": "integer"}},
                    "required": ["dish"],
                },
            },
        },
        "required": ["name"],
        "$defs": {"dish": {"type": "string", "enum": ["soup", "fish"]}},
    },
)
OPEN = Tool(name="store", parameters={"type": "object", "additionalProperties": {"type": "string"}})
TREE = Tool(
    name="tree",
    parameters={
        "type": "object",
        "properties": {"node": {"$ref": "#/$defs/node"}},
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
    },
)
ASKED = Request(messages=[UserMessage.of("A table for Ada.")], tools=(BOOK, OPEN, TREE, Tool(name="ping")))

CHAT = OpenAiChat(strict=True)
RESPONSES = OpenAiResponses(strict=True)
ANTHROPIC = AnthropicMessages(strict=True)
GEMINI = GeminiContent(strict=True)


def tools_of(wire: bytes) -> list[JsonObject]:
    return cast("list[JsonObject]", msgspec.json.decode(wire)["tools"])


@pytest.mark.row("S7")
def test_openai_gets_every_parameter_required_and_null_for_the_optional_ones() -> None:
    book, store, tree, ping = tools_of(CHAT.encode_request(ASKED))
    for tool in (book, store, tree, ping):
        pydantic.TypeAdapter(ChatCompletionToolParam).validate_python(tool)
    function = cast(JsonObject, book["function"])
    assert function["strict"] is True
    assert function["parameters"] == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "Whose. (maxLength: 40)"},
            "guests": {"type": ["integer", "null"], "minimum": 1},
            "place": {"anyOf": [{"enum": ["in", "out"], "type": "string"}, {"type": "null"}]},
            "wish": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "dishes": {
                "type": ["array", "null"],
                "items": {
                    "type": "object",
                    "properties": {
                        "dish": {"type": "string", "enum": ["soup", "fish"]},
                        "count": {"type": ["integer", "null"]},
                    },
                    "required": ["dish", "count"],
                    "additionalProperties": False,
                },
            },
        },
        "required": ["name", "guests", "place", "wish", "dishes"],
        "additionalProperties": False,
    }
    for loose, own in ((store, OPEN), (tree, TREE)):
        assert loose["function"] == {"name": own.name, "parameters": {"properties": {}, **own.parameters}}
    assert cast(JsonObject, ping["function"])["strict"] is True


def test_the_responses_api_is_asked_the_same() -> None:
    tools = tools_of(RESPONSES.encode_request(ASKED))
    for tool in tools:
        pydantic.TypeAdapter(FunctionToolParam).validate_python(tool)
    assert [tool["strict"] for tool in tools] == [True, False, False, True]
    (function, *_) = (cast(JsonObject, tool["function"]) for tool in tools_of(CHAT.encode_request(ASKED)))
    assert tools[0]["parameters"] == function["parameters"]


def test_anthropic_gets_closed_objects_and_the_rest_unstrict() -> None:
    tools = tools_of(ANTHROPIC.encode_request(ASKED))
    for tool in tools:
        pydantic.TypeAdapter(AnthropicTool).validate_python(tool)
    assert ["strict" in tool for tool in tools] == [True, False, False, True]
    assert cast(JsonObject, tools[0]["input_schema"])["additionalProperties"] is False
    assert tools[1]["input_schema"] == {"properties": {}, **OPEN.parameters}


def test_gemini_is_asked_to_validate() -> None:
    body = msgspec.json.decode(GEMINI.encode_request(ASKED))
    google.ToolConfig.model_validate(body["toolConfig"])
    assert body["toolConfig"]["functionCallingConfig"]["mode"] == "VALIDATED"


@pytest.mark.parametrize("dialect", [CHAT, RESPONSES, ANTHROPIC])
def test_what_can_not_be_asked_for_is_listed(dialect: OpenAiChat | OpenAiResponses | AnthropicMessages) -> None:
    assert dialect.loose(ASKED.tools) == (
        Loose("store", "none", "an object that may have any properties"),
        Loose("tree", "none", "a reference to node that can not be put in place"),
    )


def test_without_strict_tools_go_out_as_they_are() -> None:
    (book, *_) = tools_of(OpenAiChat().encode_request(ASKED))
    assert cast(JsonObject, book["function"])["parameters"] == BOOK.parameters
    assert OpenAiChat().loose(ASKED.tools) == ()


ARGUMENTS: JsonObject = {
    "name": "Ada",
    "guests": None,
    "place": None,
    "wish": None,
    "dishes": [{"dish": "soup", "count": None}, {"dish": "fish", "count": 2}],
}
MEANT: JsonObject = {"name": "Ada", "wish": None, "dishes": [{"dish": "soup"}, {"dish": "fish", "count": 2}]}


@pytest.mark.row("S7")
@pytest.mark.parametrize("dialect", [CHAT, RESPONSES])
def test_a_null_that_stands_for_nothing_is_nothing_again(dialect: OpenAiChat | OpenAiResponses) -> None:
    answer = Reply.of(calls=[ToolCall("c1", "book", ARGUMENTS), ToolCall("c2", "store", {"a": None})])
    whole = dialect.decode(dialect.encode_reply(answer), tools=ASKED.tools)
    assert [call.arguments for call in whole.calls] == [MEANT, {"a": None}]
    decoder, encoder = dialect.decoder(tools=ASKED.tools), dialect.encoder()
    wire = b"".join([*(encoder.feed(CallSaid(*item)) for item in enumerate(answer.calls)), encoder.close(answer)])
    said = [delta.call for delta in [*decoder.feed(wire), *decoder.close()] if isinstance(delta, CallSaid)]
    assert [call.arguments for call in said] == [MEANT, {"a": None}]
    assert decoder.reply.calls == tuple(said)
    assert decoder.ended
    jsonschema_rs.validator_for(BOOK.parameters).validate(said[0].arguments)


_TYPES: list[JsonObject] = [
    {"type": "string"},
    {"type": ["integer", "null"]},
    {"enum": ["a", None]},
    {"const": 1},
    {"type": "array", "items": {"type": "boolean"}},
    {"oneOf": [{"type": "number"}, {"type": "string"}]},
]


@given(
    properties=st.dictionaries(st.sampled_from("abcd"), st.sampled_from(_TYPES), max_size=4),
    required=st.sets(st.sampled_from("abcd")),
    inner=st.booleans(),
)
def test_a_call_of_nulls_fits_the_strict_schema_and_then_the_own_one(
    properties: dict[str, JsonObject], required: set[str], inner: bool
) -> None:
    listed: list[Json] = [*sorted(required & properties.keys())]
    schema: JsonObject = {"type": "object", "properties": {**properties}, "required": listed}
    if inner:
        schema = {"type": "object", "properties": {"x": schema}, "required": ["x"]}
    held = strictly(Tool(name="f", parameters=schema), OPENAI_STRICT)
    assert held is not None
    some: dict[str, Json] = {"0": "s", "1": 3, "2": "a", "3": 1, "4": [True], "5": 0.5}
    value: JsonObject = {
        name: some[str(_TYPES.index(part))] if name in required else None for name, part in properties.items()
    }
    said: JsonObject = {"x": value} if inner else value
    jsonschema_rs.validator_for(held).validate(said)
    jsonschema_rs.validator_for(schema).validate(without_nulls(said, schema, schema))


@pytest.mark.row("S7")
async def test_one_switch_asks_an_endpoint_for_strict_tools(caplog: pytest.LogCaptureFixture) -> None:
    asked: list[JsonObject] = []

    def answer(request: JsonObject) -> Reply:
        asked.append(request)
        return Reply.of(calls=[ToolCall("c1", "book", ARGUMENTS)])

    with ChatServer(answer) as server, caplog.at_level(logging.WARNING):
        model = open_model(f"{server.url}#m", constrained=True)
        reply = await model.reply(ASKED)
        await model.reply(ASKED)
    assert reply.calls[0].arguments == MEANT
    tools = cast("list[dict[str, JsonObject]]", asked[0]["tools"])
    assert [tool["function"].get("strict", False) for tool in tools] == [True, False, False, True]
    assert isinstance(model, Endpoint)
    assert [one.tool for one in model.loose] == ["store", "tree"]
    assert len(caplog.records) == 2


@pytest.mark.parametrize("name", ["openai:gpt-5", "anthropic:claude", "gemini:flash"])
@pytest.mark.parametrize("constrained", [True, False, None])
def test_the_providers_that_can_are_asked(name: str, constrained: bool | None) -> None:
    environment = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k"}
    model = open_model(name, dialect="native", constrained=constrained, environment=environment)
    endpoint = model if isinstance(model, Endpoint) else cast(Recognising, model).model
    assert getattr(cast(Endpoint, endpoint).dialect, "strict", None) is bool(constrained)


@pytest.mark.parametrize(
    ("name", "dialect", "constrained"),
    [
        ("deepseek:chat", "auto", True),
        ("openai:gpt-5", "prompt_json", True),
        ("openai:gpt-5", "openai_functions", True),
        ("openai:gpt-5", "native", "copy"),
        ("embedded", "auto", True),
    ],
)
def test_who_can_not_be_held_says_so(name: str, dialect: str, constrained: bool) -> None:
    environment = {"OPENAI_API_KEY": "k", "DEEPSEEK_API_KEY": "k"}
    with pytest.raises(UsageError, match=r"held|hold|constrained"):
        open_model(name, dialect=dialect, constrained=constrained, environment=environment)
