"""MCP's content blocks, resources and prompts, and our parts and messages. Pure.

What a server sends is a stranger's text: it is cleaned of what no person sees, and a block that is damaged or unknown
is said to be so, never dropped. Bytes pass as they are. A link to a resource becomes a line; nothing is fetched here.

Source: Model Context Protocol, 2025-11-25 and 2026-07-28, `ContentBlock`, `CallToolResult`, `ResourceContents`.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import re
from collections.abc import Iterable, Sequence

from msgspec import UNSET

from ...core.call import MediaPart, TextPart, ToolResult
from ...core.json import Json, JsonObject, dumps
from ...core.message import Message, Reply, UserMessage
from ..plain_text import plain, plain_json

Part = TextPart | MediaPart

QUOTED_CHARS = 500
ANY_TYPE = "application/octet-stream"

_TEXTUAL = re.compile(r"text/.*|application/(.*\+)?(json|xml)|application/(javascript|yaml|toml)")


def result_of(call_id: str, raw: JsonObject) -> ToolResult:
    """What a `tools/call` that did not fail came to.

    Args:
        raw: the `CallToolResult`.

    >>> result_of("1", {"content": [{"type": "text", "text": "5"}], "structuredContent": 5}).structured
    5
    """
    parts = parts_of(raw.get("content"))
    if "structuredContent" in raw:
        structured = plain_json(raw["structuredContent"])
        if parts and not any(isinstance(part, TextPart) for part in parts):
            parts = (TextPart(structured if isinstance(structured, str) else dumps(structured)), *parts)
        return ToolResult(call_id, parts, structured)
    links = [plain_json(block) for block in _blocks(raw.get("content")) if block.get("type") == "resource_link"]
    return ToolResult(call_id, parts, {"resourceLinks": links} if links else UNSET)


def refusal_of(raw: JsonObject) -> str:
    """What a `tools/call` says for itself that did fail; empty when it does not."""
    if raw.get("isError") is not True:
        return ""
    return result_of("", raw).text or "The tool failed and did not say why."


def parts_of(content: Json) -> tuple[Part, ...]:
    """The parts that content blocks stand for, in order."""
    return tuple(part for block in _blocks(content) for part in _parts(block))


def contents_of(raw: JsonObject) -> tuple[Part, ...]:
    """The parts of a `ReadResourceResult`."""
    return tuple(_content(item) for item in _blocks(raw.get("contents")))


def messages_of(raw: JsonObject) -> tuple[Message, ...]:
    """The messages of a `GetPromptResult`. They are a stranger's words, whatever role they claim."""
    return tuple(
        Reply(parts) if message.get("role") == "assistant" else UserMessage(parts)
        for message in _blocks(raw.get("messages"))
        for parts in [parts_of(message.get("content"))]
    )


def blocks_of(parts: Iterable[Part]) -> list[Json]:
    """The content blocks that say the same as parts of ours."""
    return [{"type": "text", "text": part.text} if isinstance(part, TextPart) else _block(part) for part in parts]


def answer_of(result: ToolResult) -> JsonObject:
    """A result of ours as a `CallToolResult`, with the text copy of a structured value."""
    if result.error is not None:
        return {"content": blocks_of([TextPart(result.error.message), *result.media]), "isError": True}
    content = blocks_of(result.content) if result.content or result.structured is UNSET else []
    answer: JsonObject = {"content": content or blocks_of([TextPart(result.text)]), "isError": False}
    if result.structured is not UNSET:
        answer["structuredContent"] = result.structured
    return answer


def _blocks(content: Json) -> Sequence[JsonObject]:
    """The blocks of what should be a list of them, and may be one alone; what is none is quoted."""
    found = content if isinstance(content, list) else [] if content is None else [content]
    return [block if isinstance(block, dict) else {"type": "", "text": block} for block in found]


def _parts(block: JsonObject) -> Iterable[Part]:
    match block:
        case {"type": "text", "text": str(text)}:
            yield TextPart(plain(text))
        case {"type": "image" | "audio" as kind, "data": str(data)}:
            yield _media(data, _said(block, "mimeType") or f"{kind}/*", "", kind)
        case {"type": "resource_link", "uri": str()}:
            yield TextPart(f"[resource: {_described(block)}]")
        case {"type": "resource", "resource": dict(resource)}:
            yield _content(resource)
        case _:
            yield TextPart(f"[content of an unknown kind: {plain(dumps(block))[:QUOTED_CHARS]}]")


def _content(resource: JsonObject) -> Part:
    """The contents of one resource."""
    blob, text, uri = resource.get("blob"), resource.get("text"), _said(resource, "uri")
    if isinstance(text, str):
        return TextPart(f"[resource: {_described(resource)}]\n{plain(text)}")
    if isinstance(blob, str):
        return _media(blob, _said(resource, "mimeType") or ANY_TYPE, uri.rstrip("/").rpartition("/")[2], "resource")
    return TextPart(f"[resource without contents: {_described(resource)}]")


def _media(data: str, media_type: str, name: str, kind: str) -> Part:
    try:
        return MediaPart(media_type, data=base64.b64decode(data, validate=True), name=name)
    except (binascii.Error, ValueError):
        return TextPart(f"[{kind} that can not be read: what came is no base64]")


def _described(resource: JsonObject) -> str:
    facts = [_said(resource, field) for field in ("title", "name", "uri", "mimeType", "description")]
    return ", ".join(dict.fromkeys(filter(None, facts)))


def _said(block: JsonObject, field: str) -> str:
    value = block.get(field)
    return plain(value)[:QUOTED_CHARS] if isinstance(value, str) else ""


def _block(part: MediaPart) -> JsonObject:
    kind = part.media_type.partition("/")[0]
    if part.url and not part.data:
        return {"type": "resource_link", "uri": part.url, "name": part.name or part.url, "mimeType": part.media_type}
    if kind in ("image", "audio") and not part.url:
        return {"type": kind, "data": base64.b64encode(part.data).decode(), "mimeType": part.media_type}
    uri = part.url or f"attachment:///{part.name or part.handle or 'file'}"
    return {"type": "resource", "resource": resource_of(uri, part.media_type, part.data)}


def resource_of(uri: str, media_type: str, data: bytes) -> JsonObject:
    """The contents of a resource: as text where it is text, else as bytes."""
    told: JsonObject = {"uri": uri, "mimeType": media_type}
    if _TEXTUAL.fullmatch(media_type.partition(";")[0].strip().lower()):
        with contextlib.suppress(UnicodeDecodeError):
            return {**told, "text": data.decode()}
    return {**told, "blob": base64.b64encode(data).decode()}
