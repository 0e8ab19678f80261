"""Finds what stands in a request and is read by nobody: fields inside of messages and tools that have no noun. Pure.

Whole fields of a request that have no place in `Request` are its `extras`; what is inside of a message has no such
place. Here the body is looked through for names that its dialect's reader does not know. What a model said, and values
that belong to the caller (schemas, arguments), are not looked into: there every name is known, or none is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from msgspec import Struct

from ...core.json import Json, JsonObject, dumps
from ..losses import Loss, shortened
from .model_errors import read_json
from .openai_fields import camel


class _Read(Struct, frozen=True):
    """What a dialect reads.

    Attributes:
        within: fields of the body that are looked through.
        known: names that are read there.
        whole: names of them whose values are taken as they are.
    """

    within: tuple[str, ...]
    known: frozenset[str]
    whole: frozenset[str]


_OPENAI_MEDIA = ("text", "url", "data", "format", "filename", "file_data", "input_audio", "refusal")
_READ = {
    "openai_chat": _Read(
        ("messages", "tools", "functions", "response_format"),
        frozenset(
            {
                *("role", "content", "type", "tool_call_id", "image_url", "file", "function", "description", "strict"),
                *("json_schema", *_OPENAI_MEDIA),
            }
        ),
        frozenset({"parameters", "schema", "name"}),
    ),
    "openai_responses": _Read(
        ("input", "tools"),
        frozenset(
            {
                *("role", "content", "type", "call_id", "id", "output", "status", "image_url", "file_url"),
                *("description", "strict", *_OPENAI_MEDIA),
            }
        ),
        frozenset({"parameters", "name"}),
    ),
    "anthropic_messages": _Read(
        ("system", "messages", "tools"),
        frozenset(
            {
                *("role", "content", "type", "text", "source", "data", "media_type", "url", "title", "tool_use_id"),
                *("is_error", "description", "strict"),
            }
        ),
        frozenset({"input_schema", "cache_control", "name"}),
    ),
    "gemini_content": _Read(
        ("systemInstruction", "contents", "tools"),
        frozenset(
            {
                *("role", "parts", "text", "inlineData", "fileData", "mimeType", "data", "fileUri", "displayName"),
                *("functionResponse", "functionDeclarations", "description", "id"),
            }
        ),
        frozenset({"parameters", "parametersJsonSchema", "response", "name"}),
    ),
}
_SAID_BY_A_MODEL = frozenset({"assistant", "model"})
_HEARD_ITEMS = frozenset({"message", "function_call_output", "custom_tool_call_output"})
_ALWAYS_STRICT = frozenset({"anthropic_messages", "gemini_content"})
"""Hold the model to the schema of an answer without being asked to."""
_WHY = "it has no place in what actum reads of a request"


def unread(wire: bytes, source: str, target: str) -> Iterator[Loss]:
    """What of a request's body its dialect does not read.

    Args:
        wire: a body that the dialect has read without an error.
        source: the dialect's name.
        target: that of the one that is written in.
    """
    body = cast(JsonObject, read_json(wire))
    if source == "gemini_content":
        body = camel(body)
        body["tools"] = _declarations(body.get("tools"))
    if read := _READ.get(source):
        for name in read.within:
            yield from _look(body.get(name), name, read, source)
    match body:
        case {"response_format": {"json_schema": {"strict": True}}} if target not in _ALWAYS_STRICT:
            yield Loss("response_format.json_schema.strict", "true", _WHY)
        case {"text": {"format": {"type": "json_schema", "strict": True}}} if target not in _ALWAYS_STRICT:
            yield Loss("text.format.strict", "true", _WHY)


def _look(value: Json, path: str, read: _Read, source: str) -> Iterator[Loss]:
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _look(item, f"{path}[{number}]", read, source)
    elif isinstance(value, dict):
        item = camel(value) if source == "gemini_content" else value
        if _is_kept_whole(item, path):
            return
        for name, inner in item.items():
            if name in read.whole and not (name == "name" and item.get("role") == "user"):
                continue
            if name in read.known:
                yield from _look(inner, f"{path}.{name}", read, source)
            elif inner not in (None, [], {}):
                yield Loss(f"{path}.{name}", shortened(dumps(inner)), _WHY)


def _is_kept_whole(item: JsonObject, path: str) -> bool:
    """What the model said, and tools of a provider's own, are kept with all they have."""
    if item.get("role") in _SAID_BY_A_MODEL:
        return True
    kind = item.get("type")
    if path.startswith("input["):
        return path.count(".") == 0 and kind is not None and kind not in _HEARD_ITEMS
    if path.startswith("tools[") and path.count(".") == 0:
        return kind not in (None, "function", "custom")
    return False


def _declarations(tools: Json) -> list[Json]:
    """Gemini's tools without its own, which are kept whole."""
    found = [camel(tool) for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    return [{"functionDeclarations": tool.get("functionDeclarations")} for tool in found]
