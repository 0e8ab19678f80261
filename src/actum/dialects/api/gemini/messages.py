"""Writes the past of a conversation as Gemini contents, one at a time, so that each is encoded once. Pure.

A writer is called with the messages in order (`Transcript.render`) and returns pieces for `turns.joined`. The content
after one with calls must hold an answer to each of them and nothing else. Gemini finds the call of an answer by its id,
or else by its name and order; an id that we made is only sent where a tool is called twice in one reply, because older
models know no ids. A call that was never answered is given an answer that says so, an answer to no call is written as
text.

Instructions at the beginning go into a field of their own, later ones are written where they stand, by the user. A
thought goes back only with its signature, and only if Gemini made that: as text it would look like an answer.
"""

from __future__ import annotations

from msgspec import UNSET

from ....core.call import (
    MediaPart,
    TextPart,
    ToolCall,
    ToolResult,
)
from ....core.json import Json
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
from ..call_wire import MADE_ID
from ..signatures import GEMINI, is_for
from ..turns import Turns
from .decoder import PARTS
from .encoder import call_part, media_part, thought_part

UNANSWERED = "There is no result of this call."


class ContentWriter:
    """Writes messages.

    Args:
        names: how tools are called on the wire.
    """

    def __init__(self, names: ToolNames) -> None:
        self._names = names
        self._turns = Turns("parts")
        self._waiting: list[tuple[str, str, str]] = []
        self._began = False

    def __call__(self, message: Message) -> bytes:
        match message:
            case SystemMessage() if not self._began:
                return b""
            case SystemMessage(text):
                return self._next("user", [{"text": text}] if text else [])
            case UserMessage(content):
                return self._next("user", [part for item in content for part in content_parts(item)])
            case Reply():
                return self._reply(message)
            case ToolMessage(name, result):
                self._began = True
                for number, (call_id, wire_name, wire_id) in enumerate(self._waiting):
                    if call_id == result.call_id:
                        del self._waiting[number]
                        return self._answers([response_part(wire_name, wire_id, result)])
                return self._next("user", [{"text": f"[result of {name}] {result.text}"}])

    def _reply(self, reply: Reply) -> bytes:
        before = self._next("user", [])
        said = [call.name for call in reply.calls]
        twice = len(set(said)) < len(said)
        self._waiting = [
            (call.id, self._names.wire(call.name), "" if MADE_ID.fullmatch(call.id) and not twice else call.id)
            for call in reply.calls
        ]
        wired = iter(self._waiting)

        def write(part: ReplyPart) -> Block | None:
            match part:
                case ToolCall():
                    _, name, wire_id = next(wired)
                    return call_part(part, name, wire_id)
                case ReasoningPart():
                    return thought_part(part) if is_for(part, GEMINI) and not part.redacted else None
                case MediaPart():
                    return media_part(part)
                case _:
                    return {"text": part.text} if part.text else None

        return before + self._turns.piece("model", weave(reply, PARTS, write))

    def _answers(self, parts: list[Block]) -> bytes:
        return self._turns.piece("user", parts, apart="answers")

    def _next(self, role: str, parts: list[Block]) -> bytes:
        """What is said after the answers to the calls of the last reply, which are all there by then."""
        self._began = True
        missing = [_response(name, wire_id, {"error": UNANSWERED}) for _, name, wire_id in self._waiting]
        self._waiting = []
        return self._answers(missing) + self._turns.piece(role, parts)


def response_part(name: str, wire_id: str, result: ToolResult) -> Block:
    """The answer to a call. An object stands for itself, anything else is its `output`, a failure its `error`."""
    if result.error is not None:
        return _response(name, wire_id, {"error": result.text})
    value: Json = result.text if result.content or result.structured is UNSET else result.structured
    if isinstance(value, dict) and not value.keys() & {"output", "error"}:
        return _response(name, wire_id, dict(value), result.media)
    return _response(name, wire_id, {"output": value}, result.media)


def _response(name: str, wire_id: str, response: Block, media: tuple[MediaPart, ...] = ()) -> Block:
    head: Block = {"id": wire_id} if wire_id else {}
    parts: Block = {"parts": [media_part(part) for part in media]} if media else {}
    return {"functionResponse": head | {"name": name, "response": response} | parts}


def content_parts(part: TextPart | MediaPart) -> list[Block]:
    """A part of the user's message; before an attachment stands its handle, by which the model hands it to a tool."""
    if isinstance(part, TextPart):
        return [{"text": part.text}] if part.text else []
    described: list[Block] = [{"text": part.describe()}] if part.handle or not (part.data or part.url) else []
    return [*described, *([media_part(part)] if part.data or part.url else [])]
