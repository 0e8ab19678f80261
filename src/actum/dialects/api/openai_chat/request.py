"""Reads what a client of the Chat Completions API asks: in the form of today, that of 2023, and those between. Pure.

Whatever is wrong is a `UsageError` that names the place (`messages[2].content: ...`). Fields that have no place in a
`Request` go to its `extras`. Not taken: tools that are no functions, and files that were uploaded before.
"""

from __future__ import annotations

from ....core.call import (
    MediaPart,
    TextPart,
    ToolCall,
    ToolResult,
)
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
from ..data_url import base64_bytes, media_of_url
from ..openai_fields import (
    as_,
    maybe,
    maybe_number,
    read_body,
    tool_choice,
    tools_at,
)
from .decoder import ChatAnswer

_READ = frozenset(
    {
        *("model", "messages", "stop", "max_tokens", "max_completion_tokens", "temperature", "top_p", "seed", "stream"),
        *("tools", "tool_choice", "parallel_tool_calls", "functions", "function_call"),
    }
)


def decode_request(wire: bytes) -> Request:
    """What a client asks.

    Raises:
        UsageError: it is no request of this API; the message names the place.
    """
    body = read_body(wire)
    tools = (*tools_at(body, "tools"), *tools_at(body, "functions"))
    extras = {name: value for name, value in body.items() if name not in _READ}
    schema = _output_schema(body.get("response_format"))
    if schema is not None:
        del extras["response_format"]
    limit = "max_tokens" if body.get("max_completion_tokens") is None else "max_completion_tokens"
    return Request(
        messages=_messages(as_(list, body.get("messages"), "messages")),
        tools=tools,
        tool_choice=tool_choice(body),
        parallel_calls=maybe(bool, body, "parallel_tool_calls"),
        stop=_stop(body.get("stop")),
        output_schema=schema,
        max_tokens=maybe(int, body, limit),
        temperature=maybe_number(body, "temperature"),
        top_p=maybe_number(body, "top_p"),
        seed=maybe(int, body, "seed"),
        model=maybe(str, body, "model") or "",
        stream=maybe(bool, body, "stream") or False,
        extras=extras,
    )


_FORMS = {"tools": ("tools", "tool_choice", "parallel_tool_calls"), "functions": ("functions", "function_call")}


def forms_of(body: JsonObject) -> set[str]:
    """In which forms a request speaks of tools: `tools` is that of today, `functions` that of 2023."""
    found: set[str] = set()
    for form, fields in _FORMS.items():
        if any(body.get(field) is not None for field in fields):
            found.add(form)
    said = body.get("messages")
    for message in said if isinstance(said, list) else ():
        if not isinstance(message, dict):
            continue
        if message.get("tool_calls") or message.get("role") == "tool":
            found.add("tools")
        if message.get("function_call") or message.get("role") == "function":
            found.add("functions")
    return found


def is_of_2023(body: JsonObject) -> bool:
    """Whether a request is to be answered in the form of 2023: it offers functions, or speaks of no tools but those.

    >>> is_of_2023({"messages": [{"role": "function", "name": "add", "content": "5"}]})
    True
    """
    offers = body.get("functions") or body.get("function_call") is not None
    return bool(offers) or forms_of(body) == {"functions"}


def _stop(value: Json) -> tuple[str, ...]:
    if value is None:
        return ()
    texts = value if isinstance(value, list) else [value]
    return tuple([as_(str, text, "stop") for text in texts])


def _output_schema(response_format: Json) -> JsonObject | None:
    match response_format:
        case {"type": "json_schema", "json_schema": {"schema": dict() as schema}}:
            return schema
        case _:
            return None


def _messages(items: list[Json]) -> list[Message]:
    """The messages; an answer to a call is given the call's name, and in the form of 2023 its id."""
    messages: list[Message] = []
    calls: list[ToolCall] = []
    for number, value in enumerate(items):
        place = f"messages[{number}]"
        item = as_(dict, value, place)
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
                    "{place}.role: {role!r} is none of system, developer, user, assistant, tool, function",
                    place=place,
                    role=str(role)[:40],
                )
    return messages


def _reply(item: JsonObject) -> Reply:
    """A reply that the client hands back: read like one that an endpoint gives."""
    answer = ChatAnswer()
    answer.read_message(item, whole=True)
    answer.draft.ended = True
    answer.finish()
    return answer.reply


def _answer(item: JsonObject, calls: list[ToolCall], place: str) -> ToolMessage:
    """The answer to the first call that fits and has none yet: by its id, or in the form of 2023 by its name."""
    id_, name = item.get("tool_call_id"), item.get("name")
    content = _result(item.get("content"), f"{place}.content")
    for number, call in enumerate(calls):
        if id_ == call.id or (id_ is None and name in (None, call.name)):
            del calls[number]
            return ToolMessage(call.name, ToolResult(call.id, content))
    if not id_ and not name:
        raise UsageError("{place}: there is no call before it that this could answer; give tool_call_id", place=place)
    return ToolMessage(str(name or ""), ToolResult(str(id_ or ""), content))


def _result(content: Json, place: str) -> tuple[TextPart | MediaPart, ...]:
    """What a call came to. The API takes texts alone; clients of servers that take pictures, too, send them here."""
    kinds = {part.get("type") for part in content if isinstance(part, dict)} if isinstance(content, list) else set()
    return (TextPart(_text(content, place)),) if kinds <= {None, "text"} else _content(content, place)


def _text(content: Json, place: str) -> str:
    """Text, where no other content can be."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    texts = []
    for number, part in enumerate(as_(list, content, place)):
        match part:
            case {"text": str(text)} | str(text):
                texts.append(text)
            case _:
                raise UsageError("{place}[{number}]: a text part was expected", place=place, number=number)
    return "".join(texts)


def _content(content: Json, place: str) -> tuple[TextPart | MediaPart, ...]:
    if isinstance(content, str):
        return (TextPart(content),)
    return tuple([_part(part, f"{place}[{number}]") for number, part in enumerate(as_(list, content, place))])


def _part(part: Json, place: str) -> TextPart | MediaPart:
    match part:
        case {"type": "text", "text": str(text)} | str(text):
            return TextPart(text)
        case {"type": "image_url", "image_url": {"url": str(url)} | str(url)}:
            return media_of_url(url, "image/*", "", f"{place}.image_url")
        case {"type": "input_audio", "input_audio": {"data": str(data), "format": str(format_)}}:
            media_type = "audio/mpeg" if format_ == "mp3" else f"audio/{format_}"
            return MediaPart(media_type, base64_bytes(data, f"{place}.input_audio.data"))
        case {"type": "file", "file": {"file_data": str(data), **rest}}:
            return media_of_url(
                data, "application/octet-stream", str(rest.get("filename") or ""), f"{place}.file.file_data"
            )
        case {"type": "file"}:
            raise UsageError(
                "{place}.file: its bytes are needed as file_data; uploaded files are not known here", place=place
            )
        case _:
            raise UsageError(
                "{place}: a part of type text, image_url, input_audio or file was expected, with its value", place=place
            )
