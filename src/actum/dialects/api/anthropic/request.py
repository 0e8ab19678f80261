"""Reads what a client of the Anthropic Messages API asks. Pure.

Whatever is wrong is a `UsageError` that names the place (`messages[2].content[0]: ...`). Fields that have no place in a
`Request` go to its `extras`, tools of Anthropic's own among them. A mark for the cache on a block or a tool becomes the
mark on the whole request, which the API puts on the last block that can be kept. Not taken: files that were uploaded
before.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ....core.call import (
    Failure,
    MediaPart,
    TextPart,
    ToolResult,
)
from ....core.errors import ModelGarbled, UsageError
from ....core.json import Json, JsonObject, kind_of
from ....core.message import (
    Message,
    Reply,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from ....core.model import Request
from ....core.tool import NamedTool, Tool, ToolChoice
from ...error_answer import ThreadsNotServed
from ..data_url import base64_bytes, media_of_url
from ..openai_fields import (
    as_,
    declared,
    maybe,
    maybe_number,
    read_body,
)
from ..signatures import claimed
from .decoder import MessagesAnswer

_READ = frozenset(
    {
        *("model", "messages", "system", "stop_sequences", "max_tokens", "temperature", "top_p", "stream"),
        *("tools", "tool_choice", "output_config"),
    }
)
_IMAGE, _PDF = "image/*", "application/pdf"


def decode_request(wire: bytes) -> Request:
    """What a client asks.

    Raises:
        UsageError: it is no request of this API; the message names the place.
    """
    body = read_body(wire)
    if body.get("thread") is not None:
        raise ThreadsNotServed
    tools, others = _tools(maybe(list, body, "tools") or [])
    choice, parallel_calls = _tool_choice(body.get("tool_choice"))
    extras: JsonObject = {name: value for name, value in body.items() if name not in _READ}
    schema, rest = _output(maybe(dict, body, "output_config") or {})
    if rest:
        extras["output_config"] = rest
    if others:
        extras["tools"] = list(others)
    mark = next(_cache_marks(body), None)
    if mark is not None:
        extras.setdefault("cache_control", mark)
    system = [SystemMessage(text) for text in _instructions(body.get("system"))]
    return Request(
        messages=[*system, *_messages(as_(list, body.get("messages"), "messages"))],
        tools=tools,
        tool_choice=choice,
        parallel_calls=parallel_calls,
        stop=tuple([as_(str, text, "stop_sequences") for text in maybe(list, body, "stop_sequences") or []]),
        output_schema=schema,
        max_tokens=maybe(int, body, "max_tokens"),
        temperature=maybe_number(body, "temperature"),
        top_p=maybe_number(body, "top_p"),
        model=maybe(str, body, "model") or "",
        stream=maybe(bool, body, "stream") or False,
        extras=extras,
    )


def _tools(items: list[Json]) -> tuple[tuple[Tool, ...], list[JsonObject]]:
    """The client's tools, and those of Anthropic's own."""
    tools: list[Tool] = []
    others: list[JsonObject] = []
    for number, value in enumerate(items):
        item = as_(dict, value, f"tools[{number}]")
        if (item.get("type") or "custom") == "custom":
            tools.append(declared(item, "input_schema", f"tools[{number}]"))
        else:
            others.append(item)
    return tuple(tools), others


def _tool_choice(value: Json) -> tuple[ToolChoice, bool | None]:
    if value is None:
        return "auto", None
    choice = as_(dict, value, "tool_choice")
    alone = maybe(bool, choice, "disable_parallel_tool_use")
    parallel_calls = None if alone is None else not alone
    match choice:
        case {"type": "auto"}:
            return "auto", parallel_calls
        case {"type": "any"}:
            return "required", parallel_calls
        case {"type": "none"}:
            return "none", parallel_calls
        case {"type": "tool", "name": str(name)}:
            return NamedTool(name), parallel_calls
        case _:
            raise UsageError("tool_choice: type auto, any, none, or tool with a name was expected")


def _output(config: JsonObject) -> tuple[JsonObject | None, JsonObject]:
    """The schema of the answer, and what else is said of it."""
    match config.get("format"):
        case {"type": "json_schema", "schema": dict() as schema}:
            return schema, {name: value for name, value in config.items() if name != "format"}
        case _:
            return None, config


def _cache_marks(value: Json, levels: int = 4) -> Iterator[Json]:
    """Marks for the cache in instructions, tools, messages and their blocks, the last first."""
    if isinstance(value, list):
        for item in reversed(value):
            yield from _cache_marks(item, levels)
    elif isinstance(value, dict) and levels:
        if value.get("cache_control"):
            yield value["cache_control"]
        for name in ("messages", "content", "system", "tools"):
            yield from _cache_marks(value.get(name), levels - 1)


def _instructions(value: Json) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str):
        return [value]
    return [_text(part, f"system[{n}]") for n, part in enumerate(as_(list, value, "system"))]


def _messages(items: list[Json]) -> list[Message]:
    messages: list[Message] = []
    names: dict[str, str] = {}
    for number, value in enumerate(items):
        place = f"messages[{number}]"
        item = as_(dict, value, place)
        content = item.get("content")
        if not isinstance(content, str | list):
            raise UsageError(
                "{place}.content: string or array was expected, {kind} came", place=place, kind=kind_of(content)
            )
        match item.get("role"):
            case "user":
                messages += _said(content, names, f"{place}.content")
            case "assistant":
                reply = _reply(content, f"{place}.content")
                names = {call.id: call.name for call in reply.calls}
                messages.append(reply)
            case "system":
                messages += [SystemMessage(text) for text in _instructions(content)]
            case role:
                raise UsageError(
                    "{place}.role: {role!r} is none of user, assistant, system", place=place, role=str(role)[:40]
                )
    return messages


def _reply(content: Json, place: str) -> Reply:
    """A reply that the client hands back: read like one that an endpoint gives."""
    for number, block in enumerate(content if isinstance(content, list) else []):
        as_(dict, block, f"{place}[{number}]")
    answer = MessagesAnswer()
    try:
        answer.read_blocks(msgspec.json.encode(content))
    except ModelGarbled:
        raise UsageError("{place}: text or blocks were expected", place=place) from None
    answer.draft.ended = True
    answer.finish()
    return claimed(answer.reply)


def _said(content: str | list[Json], names: dict[str, str], place: str) -> list[Message]:
    """What the user says, with the answers to calls as messages of their own, in order."""
    if isinstance(content, str):
        return [UserMessage.of(content)]
    messages: list[Message] = []
    parts: list[TextPart | MediaPart] = []
    for number, value in enumerate(content):
        where = f"{place}[{number}]"
        block = as_(dict, value, where)
        if block.get("type") != "tool_result":
            parts += _parts(block, where)
            continue
        if parts:
            messages.append(UserMessage(tuple(parts)))
            parts = []
        messages.append(_answer(block, names, where))
    return [*messages, UserMessage(tuple(parts))] if parts else messages


def _answer(block: JsonObject, names: dict[str, str], place: str) -> ToolMessage:
    call_id = as_(str, block.get("tool_use_id"), f"{place}.tool_use_id")
    content = block.get("content")
    if content is None:
        content = []
    if isinstance(content, str):
        parts: list[TextPart | MediaPart] = [TextPart(content)]
    else:
        parts = [
            part
            for number, item in enumerate(as_(list, content, f"{place}.content"))
            for part in _parts(as_(dict, item, f"{place}.content[{number}]"), f"{place}.content[{number}]")
        ]
    result = ToolResult(call_id, tuple(parts))
    if block.get("is_error"):
        result = ToolResult(call_id, error=Failure("tool_error", result.text))
    return ToolMessage(names.get(call_id, ""), result)


def _parts(block: JsonObject, place: str) -> list[TextPart | MediaPart]:
    title = str(block.get("title") or "")
    match block:
        case {"type": "text"}:
            return [TextPart(_text(block, place))]
        case {"type": "tool_reference", "tool_name": str(name)}:
            return [TextPart(f"[found the tool {name}]")]
        case {"type": "image" | "document", "source": {"type": "base64", "data": str(data), **source}}:
            media_type = str(source.get("media_type") or _PDF)
            return [MediaPart(media_type, base64_bytes(data, f"{place}.source.data"), name=title)]
        case {"type": "image" | "document" as kind, "source": {"type": "url", "url": str(url)}}:
            return [media_of_url(url, _IMAGE if kind == "image" else _PDF, title, f"{place}.source.url")]
        case {"type": "document", "source": {"type": "text", "data": str(text)}}:
            return [MediaPart("text/plain", text.encode("utf-8", "replace"), name=title)]
        case {"type": "document", "source": {"type": "content", "content": content}}:
            return _nested(title, content, f"{place}.source.content")
        case {"type": "search_result", "content": content, **found}:
            return _nested(f"{title} {found.get('source') or ''}".strip(), content, f"{place}.content")
        case {"type": "image" | "document", "source": {"type": "file"}}:
            raise UsageError(
                "{place}.source: its bytes or URL are needed; uploaded files are not known here", place=place
            )
        case _:
            raise UsageError("{place}: a block of type text, image, document or tool_result was expected", place=place)


def _nested(title: str, content: Json, place: str) -> list[TextPart | MediaPart]:
    parts: list[TextPart | MediaPart] = [TextPart(title)] if title else []
    if isinstance(content, str):
        return [*parts, TextPart(content)]
    for number, item in enumerate(as_(list, content, place)):
        block = as_(dict, item, f"{place}[{number}]")
        if block.get("type") not in ("text", "image"):
            raise UsageError(
                "{place}[{number}]: a block of type text or image was expected", place=place, number=number
            )
        parts += _parts(block, f"{place}[{number}]")
    return parts


def _text(part: Json, place: str) -> str:
    match part:
        case {"type": "text", "text": str(text)}:
            return text
        case _:
            raise UsageError("{place}: a block of type text was expected, with its text", place=place)
