"""A real HTTP server on this machine that speaks the Chat Completions API from a script: no key, no model, true bytes.

    with ChatServer([Reply.of(calls=[call]), "It is 5."]) as server:
        model = Endpoint(server.url, "some-model")

A reply is encoded by our own served side, whole or streamed as the request asks. Where the exact bytes matter, a `Raw`
is given, which is sent as it is and can break off.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Self

import msgspec
import uvicorn
from msgspec import Struct
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from actum.core.call import ToolCall
from actum.core.json import JsonObject
from actum.core.message import Reply
from actum.dialects.openai_chat import OPENAI_CHAT, OPENAI_FUNCTIONS


class Raw(Struct, frozen=True):
    """An answer byte by byte.

    Attributes:
        body: sent in these pieces.
        status: of the answer.
        headers: of the answer.
        cut: the connection is dropped after the last piece, before the end that HTTP asks for.
    """

    body: tuple[bytes, ...]
    status: int = 200
    headers: dict[str, str] = {}
    cut: bool = False


Said = str | Reply | Raw


class Asked(Struct, frozen=True):
    """A request that came in."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> JsonObject:
        return msgspec.json.decode(self.body, type=JsonObject)

    @property
    def is_probe(self) -> bool:
        return b'"open_door"' in self.body


class _Cut(Exception):
    """Ends an answer in the middle."""


class ChatServer:
    """Serves while it is entered, in a thread of its own, on a port that is free.

    Args:
        script: the answers in order, or a function of the request's JSON that gives the next one.
        native: whether it calls a tool when an `Endpoint` probes for that.

    Attributes:
        requests: what was asked, in order, without the probes.
        probes: how often it was probed.
    """

    def __init__(self, script: Sequence[Said] | Callable[[JsonObject], Said], *, native: bool = True) -> None:
        self.requests: list[Asked] = []
        self.probes = 0
        self._script = script
        self._native = native
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"
        routes = [Route("/v1/chat/completions", self._answer, methods=["POST"])]
        config = uvicorn.Config(Starlette(routes=routes), log_level="critical", lifespan="off", ws="none")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)

    def __enter__(self) -> Self:
        self._socket.listen(128)  # whoever connects from now on waits until the server is up
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    async def _answer(self, http: HttpRequest) -> Response:
        body = await http.body()
        asked = Asked(http.url.path, dict(http.headers), body)
        said = self._next(asked)
        if isinstance(said, Raw):
            return StreamingResponse(_pieces(said), status_code=said.status, headers=said.headers)
        reply = Reply.of(said) if isinstance(said, str) else said
        dialect = OPENAI_FUNCTIONS if "functions" in asked.json else OPENAI_CHAT
        if asked.json.get("stream"):
            stream = dialect.encoder(model=reply.model, id_=reply.id or "chatcmpl-1").close(reply)
            return Response(stream, media_type="text/event-stream")
        return Response(dialect.encode_reply(reply), media_type="application/json")

    def _next(self, asked: Asked) -> Said:
        if asked.is_probe:
            self.probes += 1
            return Reply.of(calls=[ToolCall("probe", "open_door", {"number": 7})]) if self._native else "I can not."
        self.requests.append(asked)
        if callable(self._script):
            return self._script(asked.json)
        if len(self.requests) > len(self._script):
            error = {"error": {"message": "the script is at its end", "type": "server_error"}}
            return Raw((msgspec.json.encode(error),), status=410)
        return self._script[len(self.requests) - 1]


async def _pieces(raw: Raw) -> AsyncIterator[bytes]:
    for piece in raw.body:
        yield piece
    if raw.cut:
        raise _Cut
