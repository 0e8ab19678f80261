"""Writes the past of a conversation as input items of the Responses API, one message at a time. Pure.

A writer is called with the messages in order (`Transcript.render`). One message may become several items or none: what
is written is their JSON, divided by commas.

Items of this API go back as they came (`openai_responses.items`), except ids of messages and calls, which an endpoint
that stores nothing does not know. Reasoning that another API gave is left out: this one takes only its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

import msgspec

from ....core.call import (
    MediaPart,
    TextPart,
    ToolCall,
    ToolResult,
    names_found,
)
from ....core.json import Json, JsonObject
from ....core.message import (
    Message,
    ReasoningPart,
    Reply,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from ...tool_names import ToolNames
from ..call_wire import PastIds, arguments_text, readable
from ..data_url import data_url
from ..signatures import OPENAI
from .items import is_own, thought_item, woven

CALL_ID_CHARS_MAX = 64
_BY_CLIENT: JsonObject = {"execution": "client", "status": "completed"}
"""Of a search that is ours."""
_encode = msgspec.json.Encoder().encode


class ItemWriter:
    """Writes messages as items.

    Args:
        names: how tools are called on the wire.
        is_stored: the endpoint keeps what it said, so that a reasoning item may be sent back by its id alone.
        search: the name of the tool that is written as the API's own search; empty for none.
        loaded: the tools that the API is told of by the results of its search, as it takes them, by name.
    """

    def __init__(
        self,
        names: ToolNames,
        *,
        is_stored: bool = True,
        search: str = "",
        loaded: Mapping[str, JsonObject] | None = None,
    ) -> None:
        self._names = names
        self._search = search
        self._loaded = loaded or {}
        self._is_stored = is_stored
        self._ids = PastIds()

    def __call__(self, message: Message) -> bytes:
        return b",".join([_encode(item) for item in self._items(message)])

    def _items(self, message: Message) -> Iterable[JsonObject]:
        match message:
            case SystemMessage(text):
                return [{"role": "system", "content": text}]
            case UserMessage(content):
                return [{"role": "user", "content": _content(content)}]
            case ToolMessage(name, result):
                call_id = _short(self._ids.answered(result.call_id))
                if self._search and name == self._search:
                    tools: list[Json] = [self._loaded[each] for each in names_found(result) if each in self._loaded]
                    return [{"type": "tool_search_output", "call_id": call_id, **_BY_CLIENT, "tools": tools}]
                return [{"type": "function_call_output", "call_id": call_id, "output": _output(result)}]
            case Reply():
                return self._reply(message)

    def _reply(self, reply: Reply) -> Iterable[JsonObject]:
        ids = iter(self._ids.asked(reply.calls))
        said: JsonObject | None = None
        for part, beside in woven(reply):
            if isinstance(part, ToolCall):
                item: JsonObject | None = self._call(next(ids), part) | beside
            elif isinstance(part, ReasoningPart):
                item = self._thought(part, beside)
            elif part is None:
                item = beside
            else:
                text = part.describe() if isinstance(part, MediaPart) else part.text
                item = {"role": "assistant", "content": text, **_only_phase(beside)}
                if said is not None and said.get("phase") == item.get("phase"):
                    said["content"] = f"{said['content']}{text}"
                    continue
            if said is not None:
                yield said
            said = item if item is not None and "role" in item else None
            if item is not None and said is None:
                yield item
        if said is not None:
            yield said

    def _thought(self, part: ReasoningPart, beside: JsonObject) -> JsonObject | None:
        """The item as it came; None for a thought that is not from this API, or that the endpoint has forgotten."""
        is_ours = part.by == OPENAI or (not part.by and bool(beside))
        if not is_ours:
            return None
        item = thought_item(part, beside)
        if is_own(item):
            del item["id"]
        return item if self._is_stored or item.get("encrypted_content") or item.get("content") else None

    def _call(self, wire_id: str, call: ToolCall) -> JsonObject:
        if self._search and call.name == self._search:
            said = readable(call).arguments
            return {"type": "tool_search_call", "call_id": _short(wire_id), **_BY_CLIENT, "arguments": said}
        name, arguments = self._names.wire(call.name), arguments_text(readable(call))
        return {"type": "function_call", "call_id": _short(wire_id), "name": name, "arguments": arguments}


def _only_phase(beside: JsonObject) -> JsonObject:
    return {"phase": beside["phase"]} if "phase" in beside else {}


def _short(call_id: str) -> str:
    """An id that is not too long for this API; the same for a call and its answer."""
    return call_id if len(call_id) <= CALL_ID_CHARS_MAX else f"call_{hashlib.sha256(call_id.encode()).hexdigest()[:32]}"


def _output(result: ToolResult) -> str | list[Json]:
    """What a call came to: text, or a list where there is an image or a file that the model can see."""
    if result.error is None and any(_media(part) for part in result.content if isinstance(part, MediaPart)):
        return [item for part in result.content for item in _parts(part)]
    return result.text


def _content(content: tuple[TextPart | MediaPart, ...]) -> str | list[Json]:
    texts = [part.text for part in content if isinstance(part, TextPart)]
    if len(texts) == len(content) <= 1:
        return "".join(texts)
    return [item for part in content for item in _parts(part)]


def _parts(part: TextPart | MediaPart) -> list[JsonObject]:
    """Before an attachment stands its handle, by which the model hands it to a tool."""
    if isinstance(part, TextPart):
        return [{"type": "input_text", "text": part.text}]
    media = _media(part)
    if media is None or part.handle:
        return [{"type": "input_text", "text": part.describe()}, *([media] if media else [])]
    return [media]


def _media(part: MediaPart) -> JsonObject | None:
    """None for what this API can not be given: sound and film."""
    if part.media_type.startswith("image/"):
        return {"type": "input_image", "detail": "auto", "image_url": part.url or data_url(part)}
    if part.media_type.startswith(("audio/", "video/")):
        return None
    if part.data:
        return {"type": "input_file", "filename": part.name or "file", "file_data": data_url(part)}
    return {"type": "input_file", "file_url": part.url} if part.url else None
