"""A chat-completions endpoint on this machine. It speaks the true wire format; what it says comes from a short script.

The script stands in for a language model, the only thing here that is not real. It is a function of the request, so it
has to read what it is sent: the question, the results of tools. A script that cares for the last byte returns bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import msgspec
from msgspec import Struct
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from actum.core.json import JsonObject

PIECE = 7
"""Characters in a piece of a streamed answer."""


class WireFunction(Struct):
    """What is called, in both forms of the API. The arguments are JSON text."""

    name: str
    arguments: str


class WireCall(Struct):
    """An item of `tool_calls`."""

    id: str
    function: WireFunction
    type: str = "function"


class WirePart(Struct):
    """An item of a `content` that is a list; only text is read here."""

    text: str = ""


class WireMessage(Struct):
    """An item of `messages`, and what is answered."""

    role: str
    content: str | list[WirePart] | None = None
    tool_calls: list[WireCall] = []
    function_call: WireFunction | None = None
    tool_call_id: str = ""
    name: str = ""

    @property
    def text(self) -> str:
        """The content as text."""
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content)
        return self.content or ""


class WireRequest(Struct):
    """The body of a request, as far as it is read here."""

    model: str
    messages: list[WireMessage]
    stream: bool = False
    stop: str | list[str] = []


Said = WireMessage | bytes | Sequence[bytes]
"""What a script says: the assistant's message, the bytes of a whole answer, or the pieces of a streamed one."""

Script = Callable[[WireRequest], Said]


class ChatService:
    """The endpoint `/v1/chat/completions`.

    Args:
        script: what it says to a request.
        unknown: fields of a request that this endpoint does not know and refuses with status 400.

    Attributes:
        requests: the body of each request, in order.
    """

    def __init__(self, script: Script, unknown: Sequence[str] = ()) -> None:
        self.requests: list[bytes] = []
        self.app = Starlette(routes=[Route("/v1/chat/completions", self._answer, methods=["POST"])])
        self._script = script
        self._unknown = unknown

    def asked(self) -> list[WireRequest]:
        """The requests, read."""
        return [msgspec.json.decode(body, type=WireRequest) for body in self.requests]

    async def _answer(self, request: Request) -> Response:
        body = await request.body()
        self.requests.append(body)
        try:
            fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
            asked = msgspec.json.decode(body, type=WireRequest)
        except msgspec.DecodeError as error:
            return _refusal(str(error))
        for name in self._unknown:
            if name in fields:
                return _refusal(f"Unrecognized request argument supplied: {name}")
        said = self._script(asked)
        if isinstance(said, bytes):
            return Response(said, media_type="application/json")
        if not isinstance(said, WireMessage):
            return StreamingResponse(iter(said), media_type="text/event-stream")
        said.content = _until(said.text, asked.stop) if said.content is not None else None
        head: JsonObject = {"id": f"chatcmpl-{len(self.requests)}", "created": 1_700_000_000, "model": asked.model}
        if asked.stream:
            return StreamingResponse(_events(head, said), media_type="text/event-stream")
        return Response(_whole(head, said), media_type="application/json")


def _refusal(message: str) -> Response:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return Response(msgspec.json.encode({"error": error}), status_code=400, media_type="application/json")


def _until(text: str, stop: str | list[str]) -> str:
    """The text up to the first of the texts at which the client wants it to stop."""
    marks = [stop] if isinstance(stop, str) else stop
    return re.split("|".join(map(re.escape, marks)), text, maxsplit=1)[0] if any(marks) else text


def _whole(head: JsonObject, said: WireMessage) -> bytes:
    """The body of an answer that is not streamed."""
    message: dict[str, object] = {"role": "assistant", "content": said.content}
    if said.tool_calls:
        message["tool_calls"] = said.tool_calls
    if said.function_call:
        message["function_call"] = said.function_call
    choice = {"index": 0, "message": message, "finish_reason": _finish_reason(said)}
    usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    return msgspec.json.encode({**head, "object": "chat.completion", "choices": [choice], "usage": usage})


def _events(head: JsonObject, said: WireMessage) -> Iterator[bytes]:
    """The events of an answer that is streamed, its text and its arguments in pieces of a few characters."""
    for delta in _deltas(said):
        yield _event(head, delta)
    yield _event(head, {}, _finish_reason(said))
    yield b"data: [DONE]\n\n"


def _deltas(said: WireMessage) -> Iterator[object]:
    yield {"role": "assistant", "content": None if said.content is None else ""}
    for piece in _pieces(said.text):
        yield {"content": piece}
    for index, call in enumerate(said.tool_calls):
        opening = WireFunction(call.function.name, "")
        yield {"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": opening}]}
        for piece in _pieces(call.function.arguments):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
    if said.function_call:
        yield {"function_call": WireFunction(said.function_call.name, "")}
        for piece in _pieces(said.function_call.arguments):
            yield {"function_call": {"arguments": piece}}


def _event(head: JsonObject, delta: object, finish_reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    chunk = {**head, "object": "chat.completion.chunk", "choices": [choice]}
    return b"data: " + msgspec.json.encode(chunk) + b"\n\n"


def _pieces(text: str) -> Iterator[str]:
    return (text[at : at + PIECE] for at in range(0, len(text), PIECE))


def _finish_reason(said: WireMessage) -> str:
    return "tool_calls" if said.tool_calls else "function_call" if said.function_call else "stop"
