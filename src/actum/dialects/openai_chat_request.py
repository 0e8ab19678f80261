"""Reads what a client of the Chat Completions API asks: in the form of today, that of 2023, and those between. Pure.

Whatever is wrong is a `UsageError` that names the place (`messages[2].content: ...`). Fields that have no place in a
`Request` go to its `extras`. Not taken: tools that are no functions, and files that were uploaded before.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from typing import Literal, TypeVar

from ..core.call import MediaPart, TextPart, ToolCall, ToolResult
from ..core.errors import BadTool, UsageError
from ..core.interfaces import AllowedTools, NamedTool, Request, ToolChoice
from ..core.json import Json, JsonObject, JsonProblem, kind_of
from ..core.message import Message, Reply, SystemMessage, ToolMessage, UserMessage
from ..core.tool import Tool
from .openai_chat_decoder import ChatDecoder
from .openai_chat_error import read_json

T = TypeVar("T", str, bool, int, list[Json], dict[str, Json])

_READ = frozenset(
    {
        *("model", "messages", "stop", "max_tokens", "max_completion_tokens", "temperature", "stream"),
        *("tools", "tool_choice", "parallel_tool_calls", "functions", "function_call"),
    }
)
_DATA_URL = re.compile(r"data:(?P<type>[^;,]*)(?:;[^,]*)?;base64,", re.IGNORECASE)
_WORDS: dict[str, Literal["auto", "none", "required"]] = {
    "auto": "auto",
    "none": "none",
    "required": "required",
    "any": "required",
}


def decode_request(wire: bytes) -> Request:
    """What a client asks.

    Raises:
        UsageError: it is no request of this API; the message names the place.
    """
    try:
        body = read_json(wire)
    except JsonProblem as problem:
        raise UsageError(f"the body is no JSON: {problem}") from None
    body = _as(dict, body, "the body")
    tools = _tools(body)
    extras = {name: value for name, value in body.items() if name not in _READ}
    schema = _output_schema(body.get("response_format"))
    if schema is not None:
        del extras["response_format"]
    limit = "max_tokens" if body.get("max_completion_tokens") is None else "max_completion_tokens"
    return Request(
        messages=_messages(_as(list, body.get("messages"), "messages")),
        tools=tools,
        tool_choice=_tool_choice(body, tools),
        parallel_calls=_maybe(bool, body, "parallel_tool_calls"),
        stop=_stop(body.get("stop")),
        output_schema=schema,
        max_tokens=_maybe(int, body, limit),
        temperature=_temperature(body.get("temperature")),
        model=_maybe(str, body, "model") or "",
        stream=_maybe(bool, body, "stream") or False,
        extras=extras,
    )


def _as(kind: type[T], value: Json, place: str) -> T:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        example: Json = kind()
        raise UsageError(f"{place}: {kind_of(example)} was expected, {kind_of(value)} came")
    return value


def _maybe(kind: type[T], body: JsonObject, name: str) -> T | None:
    value = body.get(name)
    return None if value is None else _as(kind, value, name)


def _temperature(value: Json) -> float | None:
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    raise UsageError(f"temperature: number was expected, {kind_of(value)} came")


def _stop(value: Json) -> tuple[str, ...]:
    if value is None:
        return ()
    texts = value if isinstance(value, list) else [value]
    return tuple([_as(str, text, "stop") for text in texts])


def _output_schema(response_format: Json) -> JsonObject | None:
    match response_format:
        case {"type": "json_schema", "json_schema": {"schema": dict() as schema}}:
            return schema
        case _:
            return None


def _tools(body: JsonObject) -> tuple[Tool, ...]:
    tools = [_tool(item, f"tools[{n}]") for n, item in enumerate(_maybe(list, body, "tools") or [])]
    tools += [_function(item, f"functions[{n}]") for n, item in enumerate(_maybe(list, body, "functions") or [])]
    return tuple(tools)


def _tool(item: Json, place: str) -> Tool:
    item = _as(dict, item, place)
    if item.get("type", "function") != "function":
        raise UsageError(f"{place}.type: only 'function' is known here, not {str(item['type'])[:40]!r}")
    nested = item.get("function")
    return _function(item if nested is None else nested, place if nested is None else f"{place}.function")


def _function(item: Json, place: str) -> Tool:
    item = _as(dict, item, place)
    name = _as(str, item.get("name"), f"{place}.name")
    description = item.get("description") or ""
    parameters = item.get("parameters") or {"type": "object", "properties": {}}
    try:
        return Tool(
            name=name,
            description=_as(str, description, f"{place}.description"),
            parameters=_as(dict, parameters, f"{place}.parameters"),
        )
    except BadTool as error:
        raise UsageError(f"{place}: {error}") from None


def _tool_choice(body: JsonObject, tools: Sequence[Tool]) -> ToolChoice:
    place = "function_call" if body.get("tool_choice") is None else "tool_choice"
    names = {tool.name for tool in tools}
    match body.get(place):
        case None:
            return "auto"
        case str(word) if word in _WORDS:
            return _WORDS[word]
        case dict() as choice if choice.get("type") == "allowed_tools":
            return _allowed_tools(choice, names, place)
        case {"type": str(word)} if word in _WORDS:
            return _WORDS[word]
        case {"function": {"name": str(name)}} | {"name": str(name)} | str(name):
            return NamedTool(_known(name, names, place))
        case other:
            raise UsageError(f"{place}: a word, or an object with a name, was expected, {kind_of(other)} came")


def _allowed_tools(choice: JsonObject, names: set[str], place: str) -> AllowedTools:
    allowed = _as(dict, choice.get("allowed_tools", choice), f"{place}.allowed_tools")
    mode = allowed.get("mode", "auto")
    if mode not in ("auto", "required"):
        raise UsageError(f"{place}.allowed_tools.mode: 'auto' or 'required' was expected")
    chosen = []
    for number, item in enumerate(_as(list, allowed.get("tools"), f"{place}.allowed_tools.tools")):
        match item:
            case {"function": {"name": str(name)}} | {"name": str(name)} | str(name):
                chosen.append(_known(name, names, f"{place}.allowed_tools.tools[{number}]"))
            case _:
                raise UsageError(f"{place}.allowed_tools.tools[{number}]: the name of a tool was expected")
    return AllowedTools(tuple(chosen), "required" if mode == "required" else "auto")


def _known(name: str, names: set[str], place: str) -> str:
    if name not in names:
        among = ", ".join(sorted(names)) or "none"
        raise UsageError(
            f"{place}: {name[:80]!r} is neither a known word nor one of the tools of this request: {among}"
        )
    return name


def _messages(items: list[Json]) -> list[Message]:
    """The messages; an answer to a call is given the call's name, and in the form of 2023 its id."""
    messages: list[Message] = []
    calls: list[ToolCall] = []
    for number, value in enumerate(items):
        place = f"messages[{number}]"
        item = _as(dict, value, place)
        match item.get("role"):
            case "system" | "developer":
                messages.append(SystemMessage(_text(item.get("content"), f"{place}.content")))
            case "user":
                messages.append(UserMessage(_content(item.get("content"), f"{place}.content")))
            case "assistant":
                reply = _reply(item)
                calls = list(reply.calls)
                messages.append(reply)
            case "tool" | "function":
                messages.append(_answer(item, calls, place))
            case role:
                raise UsageError(
                    f"{place}.role: {str(role)[:40]!r} is none of system, developer, user, assistant, tool, function"
                )
    return messages


def _reply(item: JsonObject) -> Reply:
    """A reply that the client hands back: read like one that an endpoint gives."""
    decoder = ChatDecoder()
    decoder.read_message(item, [], whole=True)
    decoder.ended = True
    decoder.close()
    return decoder.reply


def _answer(item: JsonObject, calls: list[ToolCall], place: str) -> ToolMessage:
    """The answer to the first call that fits and has none yet: by its id, or in the form of 2023 by its name."""
    id_, name = item.get("tool_call_id"), item.get("name")
    text = _text(item.get("content"), f"{place}.content")
    for number, call in enumerate(calls):
        if id_ == call.id or (id_ is None and name in (None, call.name)):
            del calls[number]
            return ToolMessage(call.name, ToolResult(call.id, (TextPart(text),)))
    if not id_ and not name:
        raise UsageError(f"{place}: there is no call before it that this could answer; give tool_call_id")
    return ToolMessage(str(name or ""), ToolResult(str(id_ or ""), (TextPart(text),)))


def _text(content: Json, place: str) -> str:
    """Text, where no other content can be."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    texts = []
    for number, part in enumerate(_as(list, content, place)):
        match part:
            case {"text": str(text)} | str(text):
                texts.append(text)
            case _:
                raise UsageError(f"{place}[{number}]: a text part was expected")
    return "".join(texts)


def _content(content: Json, place: str) -> tuple[TextPart | MediaPart, ...]:
    if isinstance(content, str):
        return (TextPart(content),)
    return tuple([_part(part, f"{place}[{number}]") for number, part in enumerate(_as(list, content, place))])


def _part(part: Json, place: str) -> TextPart | MediaPart:
    match part:
        case {"type": "text", "text": str(text)} | str(text):
            return TextPart(text)
        case {"type": "image_url", "image_url": {"url": str(url)} | str(url)}:
            return _media(url, "image/*", "", f"{place}.image_url")
        case {"type": "input_audio", "input_audio": {"data": str(data), "format": str(format_)}}:
            media_type = "audio/mpeg" if format_ == "mp3" else f"audio/{format_}"
            return MediaPart(media_type, _bytes(data, f"{place}.input_audio.data"))
        case {"type": "file", "file": {"file_data": str(data), **rest}}:
            return _media(data, "application/octet-stream", str(rest.get("filename") or ""), f"{place}.file.file_data")
        case {"type": "file"}:
            raise UsageError(f"{place}.file: its bytes are needed as file_data; uploaded files are not known here")
        case _:
            raise UsageError(
                f"{place}: a part of type text, image_url, input_audio or file was expected, with its value"
            )


def _media(url: str, default_type: str, name: str, place: str) -> MediaPart:
    head = _DATA_URL.match(url)
    if head is not None:
        return MediaPart(head["type"] or default_type, _bytes(url[head.end() :], place), name=name)
    if url.startswith(("http://", "https://")):
        return MediaPart(default_type, url=url, name=name)
    raise UsageError(f"{place}: a data: URL with base64 or an http(s) URL was expected")


def _bytes(text: str, place: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise UsageError(f"{place}: it is not base64") from None
