"""What an MCP server says: definitions, results and questions as raw messages of the protocol. Pure.

Source: Model Context Protocol 2026-07-28 and 2025-11-25 (server/tools, client/elicitation, client/sampling).
"""

from __future__ import annotations

import base64
import hashlib
import re

import msgspec
from msgspec import UNSET

from ..core.call import MediaPart, TextPart, ToolCall, ToolResult
from ..core.event import Pending
from ..core.interfaces import Request
from ..core.json import Json, JsonObject, dumps
from ..core.message import Reply, SystemMessage, ToolMessage, UserMessage
from ..core.tool import Tool

MAX_TOKENS = 1024
"""Asked of a client's model where the tool says no number: the protocol wants one."""

_SERVED = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_TEXTUAL = re.compile(r"text/.*|application/(.*\+)?(json|xml)|application/(javascript|yaml|toml)")


def served_name(name: str) -> str:
    """What a tool is called in the protocol, which knows Latin letters only.

    >>> served_name("add"), served_name("天气")
    ('add', 'tool_4d9473')
    """
    if _SERVED.fullmatch(name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    readable = re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("_")[:100] or "tool"
    return f"{readable}_{digest}"


def definition_of(tool: Tool) -> JsonObject:
    """A tool as `tools/list` tells it; hints only where its effects are declared."""
    told: JsonObject = {"name": served_name(tool.name), "inputSchema": tool.parameters}
    if tool.title or served_name(tool.name) != tool.name:
        told["title"] = tool.title or tool.name
    if tool.description:
        told["description"] = tool.description
    if tool.result is not None:
        told["outputSchema"] = tool.result
    if tool.effects is not None:
        hints: JsonObject = {"readOnlyHint": tool.reads_only}
        if not tool.reads_only:
            hints["destructiveHint"] = bool(tool.effects & {"destroy", "spend", "execute"})
            hints["idempotentHint"] = tool.idempotent
        hints["openWorldHint"] = tool.foreign or "send" in tool.effects
        told["annotations"] = hints
    return told


def result_of(result: ToolResult, tool: Tool | None, *, any_value: bool) -> JsonObject:
    """The result of `tools/call`.

    Args:
        result: what the call came to.
        tool: what was called.
        any_value: this version lets a structured result be any value, not only an object.
    """
    if result.error is not None:
        return {"content": [{"type": "text", "text": result.text}], "isError": True}
    told: JsonObject = {"content": [block_of(part) for part in result.content], "isError": False}
    value = result.structured
    if value is UNSET or (value is None and result.content):
        return told
    if not result.content:
        told["content"] = [{"type": "text", "text": value if isinstance(value, str) else dumps(value)}]
    if isinstance(value, dict) or (any_value and tool is not None and tool.result is not None):
        told["structuredContent"] = value
    return told


def block_of(part: TextPart | MediaPart) -> JsonObject:
    """A part of a result as a block of content. Media with an address of their own are resources."""
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    kind = part.media_type.partition("/")[0]
    if part.url and not part.data:
        return {"type": "resource_link", "uri": part.url, "name": part.name or part.url, "mimeType": part.media_type}
    if not part.url and kind in ("image", "audio"):
        return {"type": kind, "data": base64.b64encode(part.data).decode(), "mimeType": part.media_type}
    address = part.url or f"attachment:{part.name or part.handle or 'file'}"
    return {"type": "resource", "resource": contents_of(address, part.media_type, part.data)}


def contents_of(uri: str, media_type: str, data: bytes) -> JsonObject:
    """The contents of a resource: as text where it is text, else as bytes."""
    told: JsonObject = {"uri": uri, "mimeType": media_type}
    if _TEXTUAL.fullmatch(media_type.partition(";")[0].strip().lower()):
        try:
            return {**told, "text": data.decode("utf-8")}
        except UnicodeDecodeError:
            pass
    return {**told, "blob": base64.b64encode(data).decode()}


# Asked of the client --------------------------------------------------------------------------------------------------

WANTED = {"elicitation": "elicitation", "approval": "elicitation", "sampling": "sampling", "roots": "roots"}
"""The capability of a client that each kind of question needs."""

_YES: JsonObject = {
    "type": "object",
    "properties": {"approve": {"type": "boolean", "title": "Approve this call?", "default": False}},
    "required": ["approve"],
}


def question_of(pending: Pending) -> tuple[str, JsonObject]:
    """The request that puts a question to a client: its method and params."""
    if pending.kind == "sampling":
        return "sampling/createMessage", _sampling(pending.request or {})
    if pending.kind == "roots":
        return "roots/list", {}
    if pending.url:
        asked: JsonObject = {"mode": "url", "message": pending.message, "url": pending.url}
        return "elicitation/create", {**asked, "elicitationId": pending.id}
    if pending.kind == "approval":
        return "elicitation/create", {"mode": "form", "message": _call_in_words(pending), "requestedSchema": _YES}
    return "elicitation/create", {
        "mode": "form",
        "message": pending.message,
        "requestedSchema": pending.schema or {"type": "object", "properties": {}},
    }


def _call_in_words(pending: Pending) -> str:
    call = pending.call
    arguments = [f"  {name} = {dumps(value)}" for name, value in call.arguments.items()] if call is not None else []
    return "\n".join([f"{call.name if call is not None else 'A call'} {pending.message}".rstrip(), *arguments])


def _sampling(said: JsonObject) -> JsonObject:
    request = msgspec.convert(said, Request)
    system = [message.text for message in request.messages if isinstance(message, SystemMessage)]
    told: JsonObject = {
        "messages": [_message(message) for message in request.messages if not isinstance(message, SystemMessage)],
        "maxTokens": request.max_tokens or MAX_TOKENS,
    }
    if system:
        told["systemPrompt"] = "\n\n".join(system)
    if request.temperature is not None:
        told["temperature"] = request.temperature
    if request.stop:
        told["stopSequences"] = list[Json](request.stop)
    if request.tools:
        told["tools"] = [definition_of(tool) for tool in request.tools]
        choice = request.tool_choice if request.tool_choice in ("auto", "none", "required") else "required"
        told["toolChoice"] = {"mode": choice}
    return told


def _message(message: UserMessage | Reply | ToolMessage) -> JsonObject:
    blocks: list[Json]
    if isinstance(message, ToolMessage):
        result = result_of(message.result, None, any_value=False)
        blocks = [{"type": "tool_result", "toolUseId": message.result.call_id, **result}]
        return {"role": "user", "content": blocks}
    if isinstance(message, UserMessage):
        blocks = [block_of(part) for part in message.content]
        return {"role": "user", "content": blocks[0] if len(blocks) == 1 else blocks}
    blocks = [block_of(part) for part in message.content if isinstance(part, TextPart | MediaPart)]
    blocks += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in message.calls
    ]
    return {"role": "assistant", "content": blocks[0] if len(blocks) == 1 else blocks}


def reply_of(result: JsonObject) -> Reply:
    """What a client's model said: the result of `sampling/createMessage`."""
    content = result.get("content")
    parts: list[TextPart | MediaPart | ToolCall] = []
    for block in content if isinstance(content, list) else [content]:
        match block:
            case {"type": "text", "text": str(text)}:
                parts.append(TextPart(text))
            case {"type": "image" | "audio", "data": str(data), "mimeType": str(kind)}:
                parts.append(MediaPart(kind, base64.b64decode(data)))
            case {"type": "tool_use", "id": str(id_), "name": str(name), "input": dict(arguments)}:
                parts.append(ToolCall(id=id_, name=name, arguments=arguments))
            case _:
                continue
    reason, model = result.get("stopReason"), result.get("model")
    return Reply(
        tuple(parts),
        finish_reason=reason if isinstance(reason, str) else "",
        model=model if isinstance(model, str) else "",
    )


def answer_of(pending: Pending, result: JsonObject) -> tuple[str, JsonObject | None]:
    """What a client answered: the verdict, and what it gave.

    Returns:
        A `Verdict`, and for `answer` the value: the form, a `Reply` as JSON, or `{"roots": [...]}`.
    """
    if pending.kind == "sampling":
        return "answer", msgspec.to_builtins(reply_of(result))
    if pending.kind == "roots":
        roots = result.get("roots")
        found = [root.get("uri") for root in roots if isinstance(root, dict)] if isinstance(roots, list) else []
        return "answer", {"roots": [uri for uri in found if isinstance(uri, str)]}
    action, content = result.get("action"), result.get("content")
    given = content if isinstance(content, dict) else {}
    if pending.kind == "approval":
        return ("approve" if action == "accept" and given.get("approve") is True else "deny"), None
    if action == "accept":
        return "answer", given
    return ("deny" if action == "decline" else "cancel"), None
