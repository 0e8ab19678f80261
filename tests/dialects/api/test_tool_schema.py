"""One tool's schema never ends a request: each API is told what it takes, and the tool keeps what it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import cast

import msgspec
import pytest

from actum import Agent
from actum.core.call import ToolCall
from actum.core.event import CallDelta, CallSaid, Delta
from actum.core.json import Json, JsonObject, dumps
from actum.core.message import Reply, UserMessage
from actum.core.model import Request
from actum.core.tool import Tool
from actum.dialects import dialect
from actum.dialects.api.anthropic.dialect import AnthropicMessages
from actum.dialects.api.openai_chat.dialect import OpenAiChat
from actum.dialects.api.openai_responses.dialect import OpenAiResponses
from actum.dialects.api.tool_schema import unsaid
from actum.models import open_model
from actum.testing import RecordingToolset
from tests.chat_server import ChatServer, Raw, Said

APIS = ("openai_chat", "openai_functions", "openai_responses", "anthropic_messages", "gemini_content")
TEXT: JsonObject = {"type": "string"}
BY_ID: JsonObject = {"type": "object", "properties": {"id": TEXT}, "required": ["id"]}
BY_NAME: JsonObject = {"properties": {"name": TEXT, "in": {"type": "array"}}, "required": ["name"]}
KIND_A: JsonObject = {"type": "object", "properties": {"kind": {"const": "a"}, "a": TEXT}, "required": ["kind", "a"]}
KIND_B: JsonObject = {"type": "object", "properties": {"kind": {"const": "b"}}, "required": ["kind"]}
LONG = "a" * 70
SCHEMAS: dict[str, tuple[JsonObject, JsonObject, JsonObject | None]] = {
    "anyOf at the root": ({"type": "object", "anyOf": [BY_ID, BY_NAME]}, {"name": "x", "in": []}, {"in": []}),
    "oneOf at the root": ({"oneOf": [KIND_A, KIND_B]}, {"kind": "a", "a": "x"}, {"kind": "a"}),
    "allOf at the root": (
        {"allOf": [BY_ID, {"properties": {"n": {"type": "integer"}}}]},
        {"id": "x", "n": 1},
        {"n": 1},
    ),
    "only required in anyOf": (
        {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {"b": "x"},
        {},
    ),
    "a reference at the root": ({"$ref": "#/$defs/q", "$defs": {"q": BY_ID}}, {"id": "x"}, {}),
    "references in anyOf": (
        {"anyOf": [{"$ref": "#/$defs/q"}, {"$ref": "#/$defs/r"}], "$defs": {"q": BY_ID, "r": BY_NAME}},
        {"id": "x"},
        {},
    ),
    "not at the root": (
        {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "not": {"required": ["a", "b"]}},
        {"a": "x"},
        None,
    ),
    "no type": ({"properties": {"o": {"properties": {"p": TEXT}}}}, {"o": {"p": "x"}}, {"o": {"p": {}}}),
    "nothing": ({}, {}, None),
    "an array without items": (
        {"type": "object", "properties": {"l": {"type": "array"}, "m": {"type": ["array", "null"]}}},
        {"l": ["x"], "m": None},
        None,
    ),
    "arrays far inside": (
        {"type": "object", "properties": {"l": {"type": "array", "items": {"anyOf": [{"type": "array"}, TEXT]}}}},
        {"l": ["x"]},
        None,
    ),
    "items of old drafts": (
        {"type": "object", "properties": {"l": {"type": "array", "prefixItems": [TEXT, TEXT]}}},
        {"l": ["x", "y"]},
        None,
    ),
    "keys": (
        {
            "type": "object",
            "properties": {"城市": TEXT, "$filter": TEXT, "a b": {"properties": {"x/y": TEXT}}, LONG: TEXT, "ok": TEXT},
            "required": ["城市"],
        },
        {"城市": "北京", "$filter": "x", "a b": {"x/y": "z"}, LONG: "l", "ok": "o"},
        {"ok": "o"},
    ),
    "keys in a list of alternatives": (
        {
            "type": "object",
            "properties": {"l": {"type": "array", "items": {"anyOf": [{"properties": {"@id": TEXT}}, TEXT]}}},
        },
        {"l": [{"@id": "x"}, "y"]},
        None,
    ),
}
"""The schema, arguments that fit, and arguments that do not."""


def refusal(schema: Json, api: str, *, at_root: bool = True) -> str:
    """Why the real API refuses a request with this schema; empty where it takes the schema."""
    if not isinstance(schema, dict):
        return ""
    if at_root:
        if schema.get("type") != "object":
            return f"schema must be a JSON Schema of 'type: \"object\"', got {schema.get('type')}"
        if api.startswith("openai") and "properties" not in schema:
            return "object schema missing properties"
        forbidden = {"anyOf", "oneOf", "allOf", "enum", "not"} & schema.keys()
        if forbidden:
            return f"schema must not have {forbidden} at the top level"
    kinds = schema.get("type")
    if (
        api.startswith("openai")
        and "array" in (kinds if isinstance(kinds, list) else [kinds])
        and "items" not in schema
    ):
        return "array schema missing items"
    if "properties" in schema and kinds is None and "$ref" not in schema:
        return "an object must say its type"
    if isinstance(schema.get("items"), list):
        return "items is not of type object"
    pattern = {"anthropic_messages": r"[a-zA-Z0-9_.-]{1,64}", "gemini_content": r"[a-zA-Z_][a-zA-Z0-9_]{0,63}"}.get(api)
    for key in cast(JsonObject, schema.get("properties", {})):
        if pattern and not re.fullmatch(pattern, key):
            return f"Property keys should match pattern '{pattern}': {key}"
    if api == "gemini_content" and (unknown := schema.keys() & {"$ref", "$defs", "oneOf", "allOf", "const", "not"}):
        return f"Unknown name {unknown}"
    return next((why for part in parts(schema) if (why := refusal(part, api, at_root=False))), "")


def parts(schema: JsonObject) -> Iterator[Json]:
    for name in ("properties", "$defs"):
        yield from cast(JsonObject, schema.get(name, {})).values()
    for name in ("anyOf", "oneOf", "allOf", "items"):
        held = schema.get(name, [])
        yield from held if isinstance(held, list) else [held]


def declared(body: JsonObject, api: str) -> JsonObject:
    """The schema of the one tool of a request."""
    field = "functions" if api == "openai_functions" else "tools"
    (tool,) = cast(list[JsonObject], body[field])
    if api == "gemini_content":
        (tool,) = cast(list[JsonObject], tool["functionDeclarations"])
        return cast(JsonObject, tool.get("parameters", {"type": "object"}))
    if api == "openai_chat":
        tool = cast(JsonObject, tool["function"])
    return cast(JsonObject, tool["input_schema" if api == "anthropic_messages" else "parameters"])


def in_wire_keys(value: Json, schema: Json) -> Json:
    """Arguments with the keys that the schema on the wire has: a stand-in says in its description whose it is."""
    if isinstance(value, list):
        inner = cast(JsonObject, cast(JsonObject, schema).get("items", {}))
        branches = cast(list[Json], inner.get("anyOf", [inner]))
        return [in_wire_keys(item, branches[0] if isinstance(item, dict) else {}) for item in value]
    if not isinstance(value, dict):
        return value
    known = cast(dict[str, JsonObject], cast(JsonObject, schema).get("properties", {}))
    wires = {str(each.get("description", wire)).split(":")[0]: wire for wire, each in known.items()}
    return {
        (wire := name if name in known else wires.get(name, name)): in_wire_keys(item, known.get(wire, {}))
        for name, item in value.items()
    }


class Endpoint:
    """Refuses as the real API does, and calls the tool with these arguments one after another."""

    def __init__(self, api: str, script: Sequence[JsonObject]) -> None:
        self.api, self.script, self.asked = api, script, 0

    def __call__(self, body: JsonObject) -> Said:
        told = declared(body, self.api)
        if why := refusal(told, self.api):
            message = f"Invalid schema for function 'find': {why}"
            return Raw((dumps({"error": {"code": 400, "message": message}}).encode(),), status=400)
        self.asked += 1
        if self.asked > len(self.script):
            return "Found."
        arguments = cast(JsonObject, in_wire_keys(self.script[self.asked - 1], told))
        return Reply.of(calls=[ToolCall(f"call_{self.asked}", "find", arguments)])


@pytest.mark.parametrize("api", APIS)
async def test_a_model_gets_and_calls_a_tool_whose_schema_its_api_would_refuse(api: str) -> None:
    for case, (schema, fitting, wrong) in SCHEMAS.items():
        script = [fitting] if wrong is None else [wrong, fitting]
        find = Tool(name="find", description="Find.", parameters=schema, effects=frozenset({"read"}))
        tools = RecordingToolset([find])
        with ChatServer(Endpoint(api, script)) as server:
            url = server.url.replace("/v1", "/v1beta") if api == "gemini_content" else server.url
            result = await Agent(open_model(f"{url}#m", dialect=api), [tools]).run("Find it")
        assert (result.status, result.text) == ("done", "Found."), (case, result)
        assert [call.arguments for call in tools.executed] == [fitting], case
        assert [outcome.error is None for _, outcome in result.calls] == [each is fitting for each in script], case


def test_whole_and_streamed_say_the_same_and_history_goes_back() -> None:
    schema, fitting, _ = SCHEMAS["keys"]
    tool = Tool(name="find", parameters=schema)
    for api in ("anthropic_messages", "gemini_content"):
        spoken = dialect(api)
        body = spoken.encode_request(Request(messages=[UserMessage.of("?")], tools=(tool,), model="m"))
        wire = cast(JsonObject, in_wire_keys(fitting, declared(_json(body), api)))
        assert wire.keys() != fitting.keys()
        said = Reply.of(calls=[ToolCall("call_1", "find", wire)])
        whole = spoken.decode(spoken.encode_reply(said), tools=(tool,))
        stream = spoken.encoder().close(said)
        for cut in range(0, len(stream), 7):
            decoder = spoken.decoder(tools=(tool,))
            deltas: list[Delta] = [*decoder.feed(stream[:cut]), *decoder.feed(stream[cut:]), *decoder.close()]
            assert [call.arguments for call in decoder.reply.calls] == [fitting]
            pieces = "".join([each.arguments for each in deltas if isinstance(each, CallDelta)])
            assert pieces == decoder.reply.calls[0].arguments_text()
            assert [each.call.arguments for each in deltas if isinstance(each, CallSaid)] == [fitting]
        assert whole.calls[0].arguments == fitting


def test_strict_endpoints_are_told_what_they_take_too() -> None:
    for case, (schema, _, _) in SCHEMAS.items():
        tool = Tool(name="find", parameters=schema)
        for spoken in (OpenAiChat(strict=True), OpenAiResponses(strict=True), AnthropicMessages(strict=True)):
            body = spoken.encode_request(Request(messages=[UserMessage.of("?")], tools=(tool,), model="m"))
            assert not refusal(declared(_json(body), spoken.name), spoken.name), (case, spoken.name)


def test_a_schema_that_every_api_takes_goes_out_as_it_is_and_what_can_not_be_said_is_told() -> None:
    plain: JsonObject = {"type": "object", "properties": {"l": {"type": "array", "items": TEXT}}, "required": ["l"]}
    body = OpenAiChat().encode_request(Request(messages=[], tools=(Tool(name="find", parameters=plain),), model="m"))
    assert declared(_json(body), "openai_chat") == plain
    assert unsaid(plain) == []
    assert unsaid(SCHEMAS["anyOf at the root"][0]) == ["`anyOf` at the root of its parameters"]
    assert unsaid(SCHEMAS["keys"][0]) == []  # they go out under stand-ins


def _json(body: bytes) -> JsonObject:
    return msgspec.json.decode(body, type=JsonObject)
