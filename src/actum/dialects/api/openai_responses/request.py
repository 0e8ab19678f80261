"""Reads what a client of the Responses API asks: a plain string, or items of every shape. Pure.

Whatever is wrong is a `UsageError` that names the place (`input[2].content[0]: ...`). Fields that have no place in a
`Request` go to its `extras`, `previous_response_id`, `store` and `include` among them: what they mean is for the server
to say. Tools that a search of the client has loaded are tools of the request. Not taken: tools that are no functions,
files and items that are named by an id alone.
"""

from __future__ import annotations

from typing import cast

from ....core.call import MediaPart, TextPart, ToolResult
from ....core.errors import UsageError
from ....core.json import Json, JsonObject
from ....core.message import (
    Message,
    Reply,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from ....core.model import Request
from ....core.tool import SEARCH, Tool
from ..data_url import base64_bytes, media_of_url
from ..openai_fields import (
    as_,
    maybe,
    maybe_number,
    read_body,
    tool_choice,
    tools_at,
)
from ..signatures import claimed
from .decoder import ResponsesAnswer

_READ = frozenset(
    {
        *("model", "input", "instructions", "max_output_tokens", "temperature", "top_p", "stream"),
        *("tools", "tool_choice", "parallel_tool_calls"),
    }
)
_LOADED = "tool_search_output"
_ANSWERS = frozenset({"function_call_output", "custom_tool_call_output"})


def decode_request(wire: bytes) -> Request:
    """What a client asks.

    Raises:
        UsageError: it is no request of this API; the message names the place.
    """
    body = read_body(wire)
    extras = {name: value for name, value in body.items() if name not in _READ}
    tools = _tools(body, extras)
    schema = _output_schema(extras)
    instructions = maybe(str, body, "instructions")
    return Request(
        messages=[*([SystemMessage(instructions)] if instructions else []), *_messages(body.get("input"))],
        tools=tools,
        tool_choice=tool_choice(body),
        parallel_calls=maybe(bool, body, "parallel_tool_calls"),
        output_schema=schema,
        max_tokens=maybe(int, body, "max_output_tokens"),
        temperature=maybe_number(body, "temperature"),
        top_p=maybe_number(body, "top_p"),
        model=maybe(str, body, "model") or "",
        stream=maybe(bool, body, "stream") or False,
        extras=extras,
    )


def _tools(body: JsonObject, extras: JsonObject) -> tuple[Tool, ...]:
    """The tools of the request, and those that its conversation has loaded. The API's own search is put into extras."""
    listed = maybe(list, body, "tools") or []
    for item in listed:
        if isinstance(item, dict) and item.get("type") == "tool_search":
            extras["tool_search"] = item
    tools = tools_at({"tools": [item for item in listed if item is not extras.get("tool_search")]}, "tools")
    items = body.get("input")
    for number, said in enumerate(items if isinstance(items, list) else []):
        if isinstance(said, dict) and said.get("type") == _LOADED:
            place = f"input[{number}].tools"
            loaded = as_(list, said.get("tools"), place)
            functions = [each for each in loaded if not isinstance(each, dict) or each.get("type") == "function"]
            tools += tools_at({place: functions}, place)
    return tuple({tool.name: tool for tool in tools}.values())


def _output_schema(extras: JsonObject) -> JsonObject | None:
    """The schema in `text.format`, taken out; the other fields of `text` stay."""
    match extras.get("text"):
        case {"format": {"type": "json_schema", "schema": dict() as schema}, **rest}:
            del extras["text"]
            if rest:
                extras["text"] = cast(JsonObject, rest)
            return schema
        case _:
            return None


def _messages(value: Json) -> list[Message]:
    """The conversation; items in a row that the model said are one reply, answers are given their calls' names."""
    if isinstance(value, str):
        return [UserMessage.of(value)]
    messages: list[Message] = []
    names: dict[str, str] = {}
    said: list[JsonObject] = []
    for number, given in enumerate(as_(list, value, "input")):
        place = f"input[{number}]"
        item = as_(dict, given, place)
        heard = _heard(item, names, place)
        if heard is None:
            said.append(_checked(item, place))
            name = SEARCH if item.get("type") == "tool_search_call" else str(item.get("name") or "")
            names |= {str(item[id_]): name for id_ in ("id", "call_id") if item.get(id_)}
            continue
        if said:
            messages.append(_reply(said))
            said = []
        messages.append(heard)
    return [*messages, _reply(said)] if said else messages


def _heard(item: JsonObject, names: dict[str, str], place: str) -> Message | None:
    """A message to the model; None for what the model said itself."""
    kind, role = as_(str, item.get("type", "message"), f"{place}.type"), item.get("role")
    if kind in _ANSWERS:
        call_id = str(item.get("call_id") or item.get("id") or "")
        content = _content(item.get("output"), f"{place}.output")
        name = str(item.get("name") or names.get(call_id, ""))
        if not call_id:
            raise UsageError("{place}.call_id: the id of the call that this answers was expected", place=place)
        return ToolMessage(name, ToolResult(call_id, content))
    if kind == _LOADED and item.get("call_id"):
        found = [
            str(each.get("name")) for each in as_(list, item.get("tools"), f"{place}.tools") if isinstance(each, dict)
        ]
        text = f"Found the tools: {', '.join(found)}" if found else "No tool was found."
        return ToolMessage(SEARCH, ToolResult(str(item["call_id"]), (TextPart(text),)))
    if kind != "message":
        return None
    match role:
        case "user":
            return UserMessage(_content(item.get("content"), f"{place}.content"))
        case "system" | "developer":
            parts = _content(item.get("content"), f"{place}.content")
            if any(isinstance(part, MediaPart) for part in parts):
                raise UsageError(
                    "{place}.content: only text was expected in a message of the {role}", place=place, role=role
                )
            return SystemMessage("".join([part.text for part in parts if isinstance(part, TextPart)]))
        case "assistant":
            return None
        case _:
            raise UsageError(
                "{place}.role: {role!r} is none of system, developer, user, assistant", place=place, role=str(role)[:40]
            )


def _checked(item: JsonObject, place: str) -> JsonObject:
    """An item that the model said, if it can be read by itself."""
    match item:
        case {"type": "item_reference"}:
            raise UsageError("{place}: items are not stored here; send the item itself in place of its id", place=place)
        case {"type": "function_call" | "custom_tool_call" as kind}:
            as_(str, item.get("name"), f"{place}.name")
            as_(str, item.get("arguments" if kind == "function_call" else "input"), f"{place}.arguments")
        case {"type": "reasoning"} if item.get("summary") is not None:
            as_(list, item["summary"], f"{place}.summary")
        case {"role": "assistant"} if not isinstance(item.get("content"), str):
            as_(list, item.get("content"), f"{place}.content")
    return item


def _reply(items: list[JsonObject]) -> Reply:
    """What the model said, handed back by a client: read like what an endpoint gives."""
    answer = ResponsesAnswer(keep_own_ids=True)
    for item in items:
        answer.read_item({"type": "message", **item})
    answer.draft.ended = True
    answer.finish()
    return claimed(answer.reply)


def _content(content: Json, place: str) -> tuple[TextPart | MediaPart, ...]:
    if isinstance(content, str):
        return (TextPart(content),)
    return tuple([_part(part, f"{place}[{number}]") for number, part in enumerate(as_(list, content, place))])


def _part(part: Json, place: str) -> TextPart | MediaPart:
    match part:
        case {"type": "input_text" | "output_text" | "text", "text": str(text)} | str(text):
            return TextPart(text)
        case {"type": "input_image", "image_url": str(url)}:
            return media_of_url(url, "image/*", "", f"{place}.image_url")
        case {"type": "input_file", "file_data": str(data), **rest}:
            name = str(rest.get("filename") or "")
            return media_of_url(data, "application/octet-stream", name, f"{place}.file_data")
        case {"type": "input_file", "file_url": str(url), **rest}:
            name = str(rest.get("filename") or "")
            return media_of_url(url, "application/octet-stream", name, f"{place}.file_url")
        case {"type": "input_audio", "input_audio": {"data": str(data), "format": str(format_)}}:
            media_type = "audio/mpeg" if format_ == "mp3" else f"audio/{format_}"
            return MediaPart(media_type, base64_bytes(data, f"{place}.input_audio.data"))
        case {"type": "input_image" | "input_file"}:
            raise UsageError("{place}: its bytes or its URL are needed; uploaded files are not known here", place=place)
        case _:
            raise UsageError(
                "{place}: a part of type input_text, input_image or input_file was expected, with its value",
                place=place,
            )
