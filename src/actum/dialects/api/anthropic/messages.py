"""Writes the past of a conversation as Anthropic messages, one at a time, so that each is encoded once. Pure.

A writer is called with the messages in order (`Transcript.render`) and returns pieces for `turns.joined`. User and
model take turns here, and the message after a reply with calls must begin with an answer to each of them: answers and
what the user says next become one message, a call that was never answered is given an answer that says so, and an
answer to no call is written as text.

Instructions at the beginning go into a field of their own; later ones are written where they stand, by the user or, for
models that take it (Claude Opus 4.8 and later), by `system`. A thought goes back only with its signature, and only if
Anthropic made that: as text it would look like something that was said.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....core.call import (
    MediaPart,
    TextPart,
    ToolCall,
    ToolResult,
    names_found,
)
from ....core.message import (
    Message,
    ReasoningPart,
    Reply,
    ReplyPart,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from ...tool_names import ToolNames
from ..block_extras import Block, weave
from ..call_wire import PastIds
from ..data_url import base64_text
from ..native_search import NativeSearch
from ..signatures import ANTHROPIC, is_for
from ..turns import Turns
from .decoder import BLOCKS
from .encoder import ID_REFUSED, call_block, thought_block

IMAGES = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})
UNANSWERED = "There is no result of this call."


class MessageWriter:
    """Writes messages.

    Args:
        names: how tools are called on the wire.
        system_in_place: later instructions are written by `system`.
        search: what the model found by a search, where the API is told of it there.
    """

    def __init__(self, names: ToolNames, *, system_in_place: bool = False, search: NativeSearch | None = None) -> None:
        self._names = names
        self._search = search
        self._late = "system" if system_in_place else "user"
        self._turns = Turns("content")
        self._ids = PastIds(ID_REFUSED)
        self._began = False

    def __call__(self, message: Message) -> bytes:
        match message:
            case SystemMessage(text) if not self._began:
                return b""
            case SystemMessage(text):
                return self._next(self._late, [{"type": "text", "text": text}] if text.strip() else [])
            case UserMessage(content):
                return self._next("user", [block for part in content for block in content_blocks(part)])
            case Reply():
                before = self._next("user", [])
                wire_ids = iter(self._ids.asked(message.calls))
                blocks = weave(message, BLOCKS, lambda part: self._said(part, wire_ids))
                return before + self._turns.piece("assistant", blocks)
            case ToolMessage(name, result):
                self._began = True
                if self._ids.waits(result.call_id):
                    block = result_block(self._ids.answered(result.call_id), result)
                    return self._turns.piece("user", [block | self._loaded(name, result)])
                return self._next("user", [{"type": "text", "text": f"[result of {name}] {result.text}"}])

    def _loaded(self, name: str, result: ToolResult) -> Block:
        """The content of the result of a search, by which the API loads what was found: references and nothing else.
        Empty for any other result.
        """
        if self._search is None or name != self._search.name or result.error is not None:
            return {}
        found = [self._names.wire(each) for each in names_found(result) if each in self._search.found]
        return {"content": [{"type": "tool_reference", "tool_name": each} for each in found]} if found else {}

    def _next(self, role: str, blocks: list[Block]) -> bytes:
        """What is said after the answers to the calls of the last reply, which are all there by then."""
        self._began = True
        missing: list[Block] = [
            {"type": "tool_result", "tool_use_id": wire_id, "content": UNANSWERED, "is_error": True}
            for wire_id in self._ids.leave_unanswered()
        ]
        return self._turns.piece("user", missing) + self._turns.piece(role, blocks)

    def _said(self, part: ReplyPart, wire_ids: Iterator[str]) -> Block | None:
        match part:
            case ToolCall():
                return call_block(next(wire_ids), self._names.wire(part.name), part)
            case ReasoningPart():
                return thought_block(part) if is_for(part, ANTHROPIC) else None
            case MediaPart():
                return {"type": "text", "text": part.describe()}
            case _:  # the API takes no text that is blank
                return {"type": "text", "text": part.text} if part.text.strip() else None


def result_block(wire_id: str, result: ToolResult) -> Block:
    """The answer to a call; with blocks where it holds media, since the model can look at them."""
    content: object = result.text
    if result.error is None and any(isinstance(part, MediaPart) for part in result.content):
        content = [block for part in result.content for block in content_blocks(part)]
    block: Block = {"type": "tool_result", "tool_use_id": wire_id, "content": content}
    return block | {"is_error": True} if result.error is not None else block


def content_blocks(part: TextPart | MediaPart) -> list[Block]:
    """A part of the user's message; before an attachment stands its handle, by which the model hands it to a tool."""
    if isinstance(part, TextPart):
        return [{"type": "text", "text": part.text}] if part.text.strip() else []
    media = _media(part)
    if media is None or part.handle:
        return [{"type": "text", "text": part.describe()}, *([media] if media else [])]
    return [media]


def _media(part: MediaPart) -> Block | None:
    """None for what this API can not be given: sounds, films, and files that are neither PDF nor text."""
    title: Block = {"title": part.name} if part.name else {}
    located: Block = {"type": "url", "url": part.url}
    inline: Block = {"type": "base64", "media_type": part.media_type, "data": base64_text(part)}
    if part.media_type in IMAGES and part.data:
        return {"type": "image", "source": inline}
    if part.media_type.startswith("image/") and part.url:
        return {"type": "image", "source": located}
    if part.media_type == "application/pdf":
        return {"type": "document", "source": inline if part.data else located, **title}
    if part.media_type.startswith("text/") and part.data:
        text = part.data.decode("utf-8", "replace")
        return {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}, **title}
    return None
