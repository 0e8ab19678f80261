"""MCP's sampling (a server asks a client's model) and our `Request` and `Reply`, both ways. Pure.

Tools in such a request are the server's own affair: what the model says of them goes back to it, and nothing is called
here. Which model, what context and what else a server would like is not taken over.

Source: Model Context Protocol, 2025-11-25, Sampling; `CreateMessageRequestParams`, `CreateMessageResult`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import structs

from ...core.call import (
    REPEATED,
    Failure,
    MediaPart,
    TextPart,
    ToolCall,
    ToolResult,
    repeats,
)
from ...core.errors import UsageError
from ...core.json import Json, JsonObject
from ...core.message import (
    Message,
    RefusalPart,
    Reply,
    ReplyPart,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from ...core.model import Request
from ...core.tool import AllowedTools, NamedTool, Tool, ToolChoice
from ..plain_text import plain
from .content import (
    answer_of,
    blocks_of,
    parts_of,
    result_of,
)

BLOCKS_MAX = 1_000
"""The most blocks of a client's answer."""
_STOPPED = frozenset({"stop_sequence", "stopSequence"})


def request_of(params: JsonObject) -> Request:
    """What a server asks a model.

    Args:
        params: of `sampling/createMessage`.

    Raises:
        UsageError: it is no such request; the message says what is wrong.
    """
    system, limit, heat = params.get("systemPrompt"), params.get("maxTokens"), params.get("temperature")
    said, stops, tools = params.get("messages"), params.get("stopSequences"), params.get("tools")
    if not isinstance(said, list) or not said:
        raise UsageError("messages: at least one was expected")
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise UsageError("maxTokens: a whole number above 0 was expected")
    names: dict[str, str] = {}
    messages = [message for at, item in enumerate(said) for message in _messages(item, f"messages[{at}]", names)]
    if isinstance(system, str) and system:
        messages.insert(0, SystemMessage(plain(system)))
    return Request(
        messages=tuple(messages),
        tools=tuple(_tool(item, at) for at, item in enumerate(tools)) if isinstance(tools, list) else (),
        tool_choice=_choice(params.get("toolChoice")),
        stop=tuple(str(stop) for stop in stops) if isinstance(stops, list) else (),
        max_tokens=limit,
        temperature=heat if isinstance(heat, int | float) and not isinstance(heat, bool) else None,
    )


def result_of_reply(reply: Reply, request: Request) -> JsonObject:
    """A model's answer, as the server gets it: blocks in a list where it offered tools, else one block."""
    blocks = [block for part in reply.content for block in _said(part)]
    stop = "endTurn"
    if reply.calls and request.tools:
        stop = "toolUse"
    elif reply.cut_off == "length":
        stop = "maxTokens"
    elif reply.finish_reason in _STOPPED:
        stop = "stopSequence"
    content: Json = blocks
    if not request.tools:
        media = [part for part in reply.content if isinstance(part, MediaPart)]
        content = blocks_of(media)[0] if media and not reply.text else {"type": "text", "text": reply.text}
    return {"role": "assistant", "content": content, "model": reply.model or "unknown", "stopReason": stop}


def params_of(request: Request, max_tokens: int = 4096) -> JsonObject:
    """A request of ours, as another's client is asked it.

    Args:
        max_tokens: where the request does not say.
    """
    system = "\n\n".join(message.text for message in request.messages if isinstance(message, SystemMessage))
    params: JsonObject = {
        "messages": [_message(message) for message in request.messages if not isinstance(message, SystemMessage)],
        "maxTokens": request.max_tokens or max_tokens,
    }
    if system:
        params["systemPrompt"] = system
    if request.temperature is not None:
        params["temperature"] = request.temperature
    if request.stop:
        params["stopSequences"] = list(request.stop)
    if request.tools:
        params["tools"] = [
            {"name": tool.name, "description": tool.description, "inputSchema": tool.parameters}
            for tool in request.tools
        ]
        params["toolChoice"] = {"mode": _mode(request.tool_choice)}
    return params


def reply_of(result: JsonObject) -> Reply:
    """A `CreateMessageResult`, as what a model of ours would have said; a call that is said twice under one id is one.

    Raises:
        UsageError: it is none.
    """
    if result.get("role") != "assistant":
        raise UsageError("role: 'assistant' was expected")
    content, model = result.get("content"), result.get("model")
    if len(_list(content)) > BLOCKS_MAX:
        raise UsageError("content: at most {most} blocks", most=BLOCKS_MAX)
    parts = tuple(part for block in _list(content) for part in _reply_parts(block, "content", {}))
    return Reply(
        _said_once(parts),
        finish_reason=str(result.get("stopReason") or ""),
        model=model if isinstance(model, str) else "",
    )


def _said_once(parts: Sequence[ReplyPart]) -> tuple[ReplyPart, ...]:
    """The parts without the calls that only say again what another call with their id says."""
    named: dict[str, list[tuple[int, ToolCall]]] = {}
    for place, part in enumerate(parts):
        if isinstance(part, ToolCall) and part.id:
            named.setdefault(part.id, []).append((place, part))
    kept: dict[int, ReplyPart] = dict(enumerate(parts))
    for calls in named.values():
        again = repeats([call for _, call in calls])
        for number in again:
            del kept[calls[number][0]]
        if again:
            place, call = calls[0]
            kept[place] = structs.replace(call, repairs=(*call.repairs, REPEATED))
    return tuple(kept.values())


# Messages -------------------------------------------------------------------------------------------------------------


def _messages(item: Json, place: str, names: dict[str, str]) -> Iterator[Message]:
    """The messages that one of the protocol's is: results of tools stand alone.

    Args:
        names: of the tools that were called so far, by the id of the call.
    """
    if not isinstance(item, dict) or item.get("role") not in ("user", "assistant"):
        raise UsageError("{place}: a message of the user or the assistant was expected", place=place)
    blocks = _list(item.get("content"))
    if item["role"] == "assistant":
        yield Reply(tuple(part for block in blocks for part in _reply_parts(block, place, names)))
        return
    results = [block for block in blocks if isinstance(block, dict) and block.get("type") == "tool_result"]
    if results and len(results) != len(blocks):
        raise UsageError("{place}: results of tools stand in a message of their own", place=place)
    for block in results:
        call_id = block.get("toolUseId")
        if not isinstance(call_id, str) or call_id not in names:
            raise UsageError("{place}: a result of a tool without the call before it", place=place)
        yield ToolMessage(names[call_id], _result(call_id, block))
    if not results:
        yield UserMessage(parts_of(blocks))


def _result(call_id: str, block: JsonObject) -> ToolResult:
    result = result_of(call_id, block)
    if block.get("isError") is True:
        return ToolResult(call_id, error=Failure("tool_error", result.text or "The tool failed."))
    return result


def _reply_parts(block: Json, place: str, names: dict[str, str]) -> Iterator[ReplyPart]:
    if not isinstance(block, dict) or block.get("type") != "tool_use":
        yield from parts_of([block])
        return
    call_id, name, given = block.get("id"), block.get("name"), block.get("input")
    if not isinstance(call_id, str) or not isinstance(name, str) or not isinstance(given, dict):
        raise UsageError("{place}: a tool_use needs an id, a name and an input", place=place)
    names[call_id] = name
    yield ToolCall(call_id, name, given)


def _message(message: Message) -> JsonObject:
    match message:
        case ToolMessage(_, result):
            answer = answer_of(result)
            return {"role": "user", "content": [{"type": "tool_result", "toolUseId": result.call_id, **answer}]}
        case Reply():
            blocks = [block for part in message.content for block in _said(part)]
            return {"role": "assistant", "content": _alone(blocks)}
        case UserMessage(content):
            return {"role": "user", "content": _alone(blocks_of(content))}
        case SystemMessage(text):
            return {"role": "user", "content": [{"type": "text", "text": text}]}


def _alone(blocks: list[Json]) -> Json:
    """One block stands by itself: older versions know no list."""
    return blocks[0] if len(blocks) == 1 else blocks


def _said(part: ReplyPart) -> list[Json]:
    """The block of what a model said; none of what it thought."""
    match part:
        case ToolCall(id=call_id, name=name, arguments=arguments):
            return [{"type": "tool_use", "id": call_id, "name": name, "input": arguments}]
        case RefusalPart(text):
            return [{"type": "text", "text": text}]
        case TextPart() | MediaPart():
            return blocks_of([part])
        case _:
            return []


# Tools ----------------------------------------------------------------------------------------------------------------


def _tool(item: Json, at: int) -> Tool:
    if not isinstance(item, dict) or not isinstance(item.get("name"), str):
        raise UsageError("tools[{at}]: a tool with a name was expected", at=at)
    schema = item.get("inputSchema")
    return Tool(
        name=str(item["name"]),
        description=plain(str(item.get("description") or "")),
        parameters=schema if isinstance(schema, dict) else {"type": "object"},
        foreign=True,
    )


def _choice(said: Json) -> ToolChoice:
    mode = said.get("mode") if isinstance(said, dict) else None
    return "required" if mode == "required" else "none" if mode == "none" else "auto"


def _mode(choice: ToolChoice) -> str:
    match choice:
        case NamedTool():
            return "required"
        case AllowedTools(_, mode):
            return mode
        case _:
            return choice


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else [] if value is None else [value]
