"""Reads what a client of the Gemini API asks. Pure.

The body tells neither the model nor whether to stream: both are in the address, and the server puts them in. Every
mistake is a `UsageError` that names the place (`contents[2].parts[0]: ...`). Fields that have no place in a `Request`
go to its `extras`, tools of Gemini's own among them. Names may be written in either way that the API takes
(`systemInstruction`, `system_instruction`).

An answer to a call is matched by its id, or by its name to the first call that has none yet.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ....core.call import (
    Failure,
    MediaPart,
    TextPart,
    ToolCall,
    ToolResult,
)
from ....core.errors import ModelGarbled, UsageError
from ....core.json import Json, JsonObject, dumps
from ....core.message import (
    Message,
    Reply,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from ....core.model import Request
from ....core.tool import AllowedTools, NamedTool, Tool, ToolChoice
from ..openai_fields import (
    as_,
    camel,
    declared,
    maybe,
    maybe_number,
    read_body,
)
from ..signatures import claimed
from .decoder import ContentAnswer, base64_any

_READ = frozenset({"contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "model"})
_GENERATION = frozenset(
    {
        *("temperature", "topP", "seed", "maxOutputTokens", "stopSequences"),
        *("responseSchema", "responseJsonSchema", "responseMimeType"),
    }
)
_COUNTS = frozenset({"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"})


def decode_request(wire: bytes) -> Request:
    """What a client asks.

    Raises:
        UsageError: it is no request of this API; the message names the place.
    """
    body = camel(read_body(wire))
    tools, others = _tools(maybe(list, body, "tools") or [])
    generation = camel(maybe(dict, body, "generationConfig") or {})
    extras: JsonObject = {name: value for name, value in body.items() if name not in _READ}
    schema = _output_schema(generation)
    kept = {
        name: value
        for name, value in generation.items()
        if name not in _GENERATION or (name == "responseMimeType" and schema is None)
    }
    if kept:
        extras["generationConfig"] = dict(kept)
    if others:
        extras["tools"] = others
    choice, rest = _tool_choice(camel(maybe(dict, body, "toolConfig") or {}))
    if rest:
        extras["toolConfig"] = rest
    instructions = _instructions(body.get("systemInstruction"))
    return Request(
        messages=[*instructions, *_messages(_several(body.get("contents"), "contents"))],
        tools=tools,
        tool_choice=choice,
        stop=tuple([as_(str, text, "stopSequences") for text in maybe(list, generation, "stopSequences") or []]),
        output_schema=schema,
        max_tokens=maybe(int, generation, "maxOutputTokens"),
        temperature=maybe_number(generation, "temperature", "generationConfig."),
        top_p=maybe_number(generation, "topP", "generationConfig."),
        seed=maybe(int, generation, "seed"),
        model=(maybe(str, body, "model") or "").removeprefix("models/"),
        extras=extras,
    )


def _object(value: Json, place: str) -> JsonObject:
    return camel(as_(dict, value, place))


def _several(value: Json, place: str) -> list[Json]:
    """A list. Google takes one object for a list of one, as its own examples for curl write `contents` and `parts`."""
    return [value] if isinstance(value, dict) else as_(list, value, place)


def _tools(items: list[Json]) -> tuple[tuple[Tool, ...], list[Json]]:
    """The functions, and the tools of Gemini's own."""
    tools: list[Tool] = []
    others: list[Json] = []
    for number, value in enumerate(items):
        item = _object(value, f"tools[{number}]")
        for index, function in enumerate(maybe(list, item, "functionDeclarations") or []):
            place = f"tools[{number}].functionDeclarations[{index}]"
            tools.append(_tool(_object(function, place), place))
        rest: JsonObject = {name: found for name, found in item.items() if name != "functionDeclarations"}
        if rest:
            others.append(rest)
    return tuple(tools), others


def _tool(item: JsonObject, place: str) -> Tool:
    if item.get("parametersJsonSchema") is not None:
        return declared(item, "parametersJsonSchema", place)
    return declared({**item, "parameters": json_schema(item.get("parameters"))}, "parameters", place)


def json_schema(schema: Json) -> Json:
    """A `Schema` of the API as JSON Schema: types in small letters, `nullable` as a type, counts as numbers."""
    if not isinstance(schema, dict):
        return schema
    out: JsonObject = {}
    for name, value in camel(schema).items():
        match name, value:
            case "type", str(kind):
                out["type"] = kind.lower()
            case "properties", dict(properties):
                out["properties"] = {key: json_schema(inner) for key, inner in properties.items()}
            case "items", _:
                out["items"] = json_schema(value)
            case "anyOf", list(branches):
                out["anyOf"] = [json_schema(branch) for branch in branches]
            case (("nullable" | "propertyOrdering"), _):
                continue
            case _, str(digits) if name in _COUNTS and digits.isdecimal():
                out[name] = int(digits)
            case _:
                out[name] = value
    if schema.get("nullable") is True and isinstance(out.get("type"), str):
        out["type"] = [out["type"], "null"]
        if isinstance(values := out.get("enum"), list):
            out["enum"] = [*values, None]
    return out


def _output_schema(generation: JsonObject) -> JsonObject | None:
    schema = generation.get("responseJsonSchema")
    if schema is None:
        schema = json_schema(generation.get("responseSchema"))
    return schema if isinstance(schema, dict) else None


def _tool_choice(config: JsonObject) -> tuple[ToolChoice, JsonObject]:
    """The choice, and what else is said of tools."""
    place = "toolConfig.functionCallingConfig"
    calling = camel(maybe(dict, config, "functionCallingConfig") or {})
    rest: JsonObject = {name: value for name, value in config.items() if name != "functionCallingConfig"}
    allowed = tuple(
        [as_(str, name, f"{place}.allowedFunctionNames") for name in maybe(list, calling, "allowedFunctionNames") or []]
    )
    match str(calling.get("mode") or "AUTO").upper(), allowed:
        case (("AUTO" | "MODE_UNSPECIFIED" | "VALIDATED"), ()):
            return "auto", rest
        case (("AUTO" | "MODE_UNSPECIFIED" | "VALIDATED"), _):
            return AllowedTools(allowed), rest
        case "NONE", _:
            return "none", rest
        case "ANY", ():
            return "required", rest
        case "ANY", (name,):
            return NamedTool(name), rest
        case "ANY", _:
            return AllowedTools(allowed, "required"), rest
        case mode, _:
            raise UsageError(
                "{place}.mode: {mode!r} is none of AUTO, ANY, NONE, VALIDATED", place=place, mode=mode[:40]
            )


def _instructions(value: Json) -> list[SystemMessage]:
    if value is None:
        return []
    if isinstance(value, str):
        return [SystemMessage(value)]
    parts = _several(_object(value, "systemInstruction").get("parts") or [], "systemInstruction.parts")
    said = [_object(part, f"systemInstruction.parts[{n}]").get("text") for n, part in enumerate(parts)]
    return [SystemMessage(text) for text in said if isinstance(text, str)]


def _messages(items: list[Json]) -> list[Message]:
    messages: list[Message] = []
    calls: list[ToolCall] = []
    for number, value in enumerate(items):
        place = f"contents[{number}]"
        item = _object(value, place)
        listed = _several(item.get("parts") or [], f"{place}.parts")
        parts = [_part(part, f"{place}.parts[{n}]") for n, part in enumerate(listed)]
        match item.get("role") or "user":
            case "model":
                reply = _reply(parts, place)
                calls = list(reply.calls)
                messages.append(reply)
            case "user" | "function":
                messages += _said(parts, calls, place)
            case role:
                raise UsageError("{place}.role: {role!r} is neither user nor model", place=place, role=str(role)[:40])
    return messages


def _part(value: Json, place: str) -> JsonObject:
    """A part with the names of what we know in the API's usual way."""
    part = _object(value, place)
    for name in ("inlineData", "fileData", "functionCall", "functionResponse"):
        if name in part:
            part[name] = _object(part[name], f"{place}.{name}")
    return part


def _reply(parts: list[JsonObject], place: str) -> Reply:
    """A reply that the client hands back: read like one that an endpoint gives."""
    answer = ContentAnswer()
    try:
        answer.read_parts([msgspec.Raw(msgspec.json.encode(part)) for part in parts])
    except ModelGarbled:
        raise UsageError("{place}.parts: parts of a reply were expected", place=place) from None
    answer.finish()
    return claimed(answer.reply)


def _said(parts: list[JsonObject], calls: list[ToolCall], place: str) -> list[Message]:
    """What the user says, with the answers to calls as messages of their own, in order."""
    messages: list[Message] = []
    said: list[TextPart | MediaPart] = []
    for number, part in enumerate(parts):
        where = f"{place}.parts[{number}]"
        response = part.get("functionResponse")
        if not isinstance(response, dict):
            said.append(_content(part, where))
            continue
        if said:
            messages.append(UserMessage(tuple(said)))
            said = []
        messages.append(_answer(response, calls, f"{where}.functionResponse"))
    return [*messages, UserMessage(tuple(said))] if said else messages


def _answer(response: JsonObject, calls: list[ToolCall], place: str) -> ToolMessage:
    name, id_ = as_(str, response.get("name"), f"{place}.name"), maybe(str, response, "id") or ""
    fits = [call for call in calls if (call.id == id_ if id_ else call.name == name)]
    if fits:
        calls.remove(fits[0])
    call_id = fits[0].id if fits else id_
    value = maybe(dict, response, "response") or {}
    parts = maybe(list, response, "parts") or []
    media = tuple([_content(_part(part, f"{place}.parts[{n}]"), f"{place}.parts[{n}]") for n, part in enumerate(parts)])
    match value:
        case {"error": str(words), **rest} if not rest:
            return ToolMessage(name, ToolResult(call_id, error=Failure("tool_error", words)))
        case {"output": str(words), **rest} if not rest:
            return ToolMessage(name, ToolResult(call_id, (TextPart(words), *media)))
        case {"output": output, **rest} if not rest:
            return ToolMessage(name, _result(call_id, output, media))
        case _:
            return ToolMessage(name, _result(call_id, value, media))


def _result(call_id: str, value: Json, media: tuple[TextPart | MediaPart, ...]) -> ToolResult:
    """A result that is a value. Beside media it is told as text: where a result has parts, only these are told."""
    return ToolResult(call_id, (TextPart(dumps(value)), *media)) if media else ToolResult(call_id, (), value)


def _content(part: JsonObject, place: str) -> TextPart | MediaPart:
    match part:
        case {"text": str(text)}:
            return TextPart(text)
        case {"inlineData": {"data": str(data), **more}}:
            try:
                found = base64_any(data)
            except ValueError:
                raise UsageError("{place}.inlineData.data: it is not base64", place=place) from None
            return MediaPart(_type(more), found, name=str(more.get("displayName") or ""))
        case {"fileData": {"fileUri": str(url), **more}}:
            return MediaPart(_type(more), url=url, name=str(more.get("displayName") or ""))
        case _:
            raise UsageError(
                "{place}: text, inlineData, fileData or functionResponse was expected, with its value", place=place
            )


def _type(found: Mapping[object, object]) -> str:
    return str(found.get("mimeType") or "application/octet-stream")
