"""A real HTTP server on this machine that speaks model APIs from a script: no key, no model, true bytes.

    with ChatServer([Reply.of(calls=[call]), "It is 5."]) as server:
        model = Endpoint(server.url, "some-model")

The path tells the API. A reply is encoded by our own served side, whole or streamed as the request asks. Where the
exact bytes matter, a `Raw` is given, which is sent as it is and can break off. All servers of a process share one port
and differ by their path, because to start and stop one takes longer than most tests.
"""

from __future__ import annotations

import atexit
import functools
import itertools
import re
import socket
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Self

import msgspec
import uvicorn
from msgspec import Struct
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from actum.core.call import ToolCall
from actum.core.json import JsonObject
from actum.core.message import Reply
from actum.dialects.api.anthropic.dialect import ANTHROPIC_MESSAGES, AnthropicMessages
from actum.dialects.api.gemini.dialect import GEMINI_CONTENT, GeminiContent
from actum.dialects.api.ollama_generate import OLLAMA_GENERATE, OllamaGenerate
from actum.dialects.api.openai_chat.dialect import OPENAI_CHAT, OPENAI_FUNCTIONS, OpenAiChat
from actum.dialects.api.openai_completions import OPENAI_COMPLETIONS, OpenAiCompletions
from actum.dialects.api.openai_responses.dialect import OPENAI_RESPONSES, OpenAiResponses

APIS: dict[
    str, OpenAiChat | OpenAiCompletions | OllamaGenerate | OpenAiResponses | AnthropicMessages | GeminiContent
] = {
    "/api/generate": OLLAMA_GENERATE,
    "/chat/completions": OPENAI_CHAT,
    "/completions": OPENAI_COMPLETIONS,
    "/messages": ANTHROPIC_MESSAGES,
    "/responses": OPENAI_RESPONSES,
    ":generateContent": GEMINI_CONTENT,
    ":streamGenerateContent": GEMINI_CONTENT,
}
"""By the end of the path."""
_AN_API = re.compile(r"/(v\d|api/)")


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
    query: str
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
    """Serves while it is entered, in a thread beside the test.

    Args:
        script: the answers in order, or a function of the request's JSON that gives the next one.
        native: whether it calls a tool when an `Endpoint` probes for that.
        probe: what it says to a probe instead.
        anywhere: its API is at every path, and not only below a version.
        models: the models that it lists; they are listed for a `GET` of `/v1/models`.

    Attributes:
        requests: what was asked, in order, without the probes.
        probes: how often it was probed.
        everything: what was asked, the probes among it.
        probe: what it says to the next probe.
        looked: the requests for the list of models.
    """

    def __init__(
        self,
        script: Sequence[Said] | Callable[[JsonObject], Said],
        *,
        native: bool = True,
        probe: Said | None = None,
        anywhere: bool = False,
        models: Sequence[str] = (),
    ) -> None:
        self.requests: list[Asked] = []
        self.probes = 0
        self.everything: list[Asked] = []
        self.looked: list[Asked] = []
        self._models = models
        self._anywhere = anywhere
        self._script = script
        call = Reply.of(calls=[ToolCall("probe", "open_door", {"number": 7})])
        self.probe: Said = probe or (call if native else "I can not open doors.")
        self._path = f"/{next(_numbers)}"
        self.url = f"http://127.0.0.1:{_port()}{self._path}/v1"

    def __enter__(self) -> Self:
        _entered[self._path] = self
        return self

    def __exit__(self, *_: object) -> None:
        del _entered[self._path]

    async def answer(self, http: HttpRequest) -> Response:
        """The next answer of the script."""
        path = http.url.path.removeprefix(self._path)
        asked = Asked(path, http.url.query, dict(http.headers), await http.body())
        if http.method == "GET":
            self.looked.append(asked)
            return JSONResponse({"object": "list", "data": [{"id": name} for name in self._models]})
        if not (self._anywhere or _AN_API.match(path)):
            return JSONResponse({"detail": "Not Found"}, 404)
        said = self._next(asked)
        if isinstance(said, Raw):
            return StreamingResponse(_pieces(said), status_code=said.status, headers=said.headers)
        reply = Reply.of(said) if isinstance(said, str) else said
        dialect = next(api for end, api in APIS.items() if path.endswith(end))
        if "functions" in asked.json:
            dialect = OPENAI_FUNCTIONS
        if asked.json.get("stream") or "stream" in path:
            stream = dialect.encoder(model=reply.model, id_=reply.id or "answer-1").close(reply)
            return Response(stream, media_type="text/event-stream")
        return Response(dialect.encode_reply(reply), media_type="application/json")

    def _next(self, asked: Asked) -> Said:
        self.everything.append(asked)
        if asked.is_probe:
            self.probes += 1
            return self.probe
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


_numbers = itertools.count(1)
_entered: dict[str, ChatServer] = {}


async def _dispatch(http: HttpRequest) -> Response:
    server = _entered.get(f"/{http.path_params['number']}")
    return await server.answer(http) if server else Response("this server was left", status_code=404)


@functools.cache
def _port() -> int:
    """Starts the one HTTP server of this process."""
    listening = socket.create_server(("127.0.0.1", 0))  # whoever connects from now on waits until it is up
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # or each answer in pieces waits 40 ms for an ACK
    routes = [Route("/{number}/{version}/{path:path}", _dispatch, methods=["GET", "POST"])]
    server = uvicorn.Server(
        uvicorn.Config(
            Starlette(routes=routes), log_level="critical", timeout_keep_alive=240, lifespan="off", ws="none"
        )
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()

    def stop() -> None:
        server.should_exit = True
        thread.join()

    atexit.register(stop)
    port: int = listening.getsockname()[1]
    return port
