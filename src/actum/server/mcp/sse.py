"""HTTP+SSE, for clients that know no other way: a client listens on one stream and posts its messages elsewhere.

The SDK's transport keeps the sessions. A request that the SDK can not read is answered here, on the stream: that is the
one place where a client of this kind looks for the answer, and without it the client would wait for ever.

Limits: a session takes its messages from any request that knows its id and shows the credential that opened it. A
message that can not be read and has no id is refused with 400 alone.
Source: Model Context Protocol 2024-11-05 (basic/transports).
"""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs

import anyio
from mcp.server.lowlevel.server import Server
from mcp.server.sse import SseServerTransport
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, ErrorData, JSONRPCError
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from ...core.identity import Identity
from ...core.process.worker_thread import off_loop
from ..refusal import busy
from ..route_group import identity_of
from .exchange import Id
from .sessions import SESSIONS_MAX

_NO_LIMIT = 2**40
"""The application limits the size of a body; the SDK wants a limit of its own, which is never reached."""
_POST_HERE = re.compile(rb"session_id=([0-9a-f]+)")
_UNREADABLE = "The message can not be read: send a JSON-RPC message in UTF-8 as application/json"
_CLOSED = (anyio.ClosedResourceError, anyio.BrokenResourceError)


class SseEndpoint:
    """The streams of clients of the old kind; each client is served for as long as its stream is open.

    Args:
        server: what is served.
    """

    def __init__(self, server: Server[Any]) -> None:
        self._transport = SseServerTransport("/messages/", None, _NO_LIMIT)
        self._server = server
        self._open: set[asyncio.Task[None]] = set()
        self._streams: dict[str, _Stream] = {}

    def end_streams(self) -> None:
        """End all streams."""
        for serving in self._open:
            serving.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a client that listens."""
        if len(self._open) >= SESSIONS_MAX:
            raise busy(503, "The server has too many open sessions.")
        stream = _Stream(send, identity_of(scope).without_scopes(), self._streams)
        try:
            await self._serve(scope, receive, stream)
        finally:
            self._streams.pop(stream.session_id, None)
            await stream.end()

    async def post(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a message of a client."""
        body = bytearray()

        async def kept() -> Message:
            part = await receive()
            body.extend(part.get("body", b""))
            return part

        refused = _HeldRefusal(send)
        await self._transport.handle_post_message(scope, kept, refused)
        if not refused.is_held:
            return
        stream = self._stream_of(scope)
        request_id = await off_loop(len(body), _id_of, bytes(body)) if stream is not None else None
        if stream is None or request_id is None:
            await refused.release()
            return
        await Response("Accepted", 202)(scope, receive, send)
        await stream.tell(request_id, ErrorData(code=INVALID_REQUEST, message=_UNREADABLE))

    def _stream_of(self, scope: Scope) -> _Stream | None:
        """The stream of the session that a message is for, if the message comes from the user of the session."""
        named = parse_qs(scope["query_string"].decode("latin-1")).get("session_id", [""])
        stream = self._streams.get(named[-1])
        return stream if stream is not None and stream.owner == identity_of(scope).without_scopes() else None

    async def _serve(self, scope: Scope, receive: Receive, stream: _Stream) -> None:
        async with self._transport.connect_sse(scope, receive, stream) as (read, write):
            stream.messages = write
            options = self._server.create_initialization_options()
            serving = asyncio.create_task(self._server.run(read, write, options))
            self._open.add(serving)
            try:
                await asyncio.wait([serving])
                if not serving.cancelled():
                    serving.result()
            finally:
                self._open.discard(serving)
                serving.cancel()
                await write.aclose()
                await read.aclose()


class _Stream:
    """The stream of one client: sends the response and can end its body, since the SDK leaves a stream without its last
    piece when the server ends.

    Args:
        send: to the web server.
        owner: who listens.
        known: the streams by the ids of their sessions; this one is added as soon as its client is told the id.
    """

    def __init__(self, send: Send, owner: Identity, known: dict[str, _Stream]) -> None:
        self.owner = owner
        self._send = send
        self._known = known
        self._is_open = False
        self.session_id = ""
        self.messages: Any = None

    async def __call__(self, message: Message) -> None:
        self._is_open = message["type"] == "http.response.start" or message.get("more_body", False)
        if not self.session_id and (found := _POST_HERE.search(message.get("body", b""))):
            self.session_id = found[1].decode()
            self._known[self.session_id] = self
        await self._send(message)

    async def tell(self, request_id: Id, error: ErrorData) -> None:
        """Answer a request with an error, unless the client has left."""
        answer = JSONRPCError(jsonrpc="2.0", id=request_id, error=error)
        with suppress(*_CLOSED):
            await self.messages.send(SessionMessage(answer))

    async def end(self) -> None:
        """Send the last piece where none was sent, or the client would read a stream that was cut."""
        if self._is_open:
            await self({"type": "http.response.body", "body": b"", "more_body": False})


class _HeldRefusal:
    """Sends a response, but holds one with the status 400 back.

    Args:
        send: to the web server.

    Attributes:
        is_held: the response has this status.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._held: list[Message] = []
        self.is_held = False

    async def __call__(self, message: Message) -> None:
        self.is_held = self.is_held or message.get("status") == 400
        if self.is_held:
            self._held.append(message)
        else:
            await self._send(message)

    async def release(self) -> None:
        """Send what was held back."""
        for message in self._held:
            await self._send(message)


def _id_of(body: bytes) -> Id | None:
    """The id of a request that can not be read whole; None where there is none, or the message is an answer."""
    try:
        message = json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or "result" in message or "error" in message:
        return None
    found = message.get("id")
    is_id = (isinstance(found, int) and not isinstance(found, bool)) or (isinstance(found, str) and found.isascii())
    return found if is_id else None
