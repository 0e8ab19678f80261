"""Streamable HTTP, both eras of the protocol at one address: an ASGI application in front of the SDK's server.

A request that names a version without a handshake is whole by itself, and taken back by hanging up. Any other belongs
to a session. What is wrong with a request is told before anything of it is done.

Who may come in, and how large a body may be, is the affair of the application (`server/web_application.py`).

Limits: streams can not be taken up again (a request with `Last-Event-ID` is refused), and there are no batches.
Source: Model Context Protocol 2026-07-28 and 2025-11-25 (basic/transports).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from mcp.server.connection import Connection
from mcp.server.lowlevel.server import Server
from mcp.server.runner import ServerRunner
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    InboundLadderRejection,
    InboundModernRoute,
    classify_inbound_request,
    find_duplicated_routing_header,
    unsupported_protocol_version_rejection,
    validate_mcp_param_headers,
)
from mcp_types import CONNECTION_CLOSED, HEADER_MISMATCH, INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR, ErrorData
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from msgspec import UNSET
from starlette import datastructures
from starlette.types import Receive, Scope, Send

from ...core.identity import Identity
from ...core.process.worker_thread import off_loop
from ..route_group import identity_of
from .answer import PING_S, Headers, HttpAnswer, Outbox
from .exchange import (
    Exchange,
    Id,
    JsonRpcMessage,
    decode,
    refusal,
)
from .sessions import HELLO_BYTES_MAX, Session, Sessions

VERSION, SESSION, LAST_EVENT = "mcp-protocol-version", "mcp-session-id", "last-event-id"
LOOK_S = 0.5
"""Seconds between two looks, while the server ends, for what goes on although nobody waits for it."""
OPENS_AFTER_S = 1.0
"""A client with a handshake is given a stream this soon: there no status depends on how its request ends."""


class RequestRefused(Exception):
    """The request is not served.

    Args:
        status: of the response.
        error: that is told.
        request_id: whom it answers.
        headers: of the response.
    """

    def __init__(
        self,
        status: int,
        error: ErrorData | str,
        request_id: Id | None = None,
        headers: Headers = (),
    ) -> None:
        super().__init__(status)
        self.status = status
        self.error = ErrorData(code=INVALID_REQUEST, message=error) if isinstance(error, str) else error
        self.request_id = request_id
        self.headers = headers


class Incoming:
    """An HTTP request: its headers, and its body when that was read.

    Args:
        scope, receive, send: of the ASGI server.
        outbox: as for `HttpAnswer`.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send, outbox: Outbox | None = None) -> None:
        self._outbox = outbox
        self.scope, self.receive, self.send = scope, receive, send
        self.headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        accepted = {part.split(";")[0].strip().lower() for part in self.headers.get("accept", "").split(",")}
        self.takes_json = not accepted.isdisjoint(_JSON)
        self.takes_stream = not accepted.isdisjoint(_STREAM)

    async def message(self) -> JsonRpcMessage:
        """What it says.

        Raises:
            RequestRefused: it is no JSON, no message, or was not sent to its end.
        """
        body = await self._body()
        try:
            message = await off_loop(len(body), _decoded, body)
        except msgspec.ValidationError:
            raise RequestRefused(400, _NO_MESSAGE) from None
        except (ValueError, RecursionError):
            raise RequestRefused(400, ErrorData(code=PARSE_ERROR, message="Parse error")) from None
        if message.method is not UNSET and message.id is None:
            raise RequestRefused(400, _NO_MESSAGE)
        is_answer = message.id is not UNSET and (message.result is UNSET) != (message.error is UNSET)
        if message.method is UNSET and not is_answer:
            raise RequestRefused(400, _NO_MESSAGE)
        return message

    async def _body(self) -> bytearray:
        body = bytearray()
        while True:
            part = await self.receive()
            if part["type"] == "http.disconnect":  # nobody said that what came is all there is
                raise RequestRefused(400, "The request was cut off")
            body += part.get("body", b"")
            if not part.get("more_body"):
                return body

    def answer(self, headers: Headers = (), opens_after_s: float = PING_S) -> HttpAnswer:
        """Where it is answered; see `HttpAnswer`."""
        return HttpAnswer(self.receive, self.send, headers=headers, opens_after_s=opens_after_s, outbox=self._outbox)


class McpEndpoint:
    """Serves at one address.

    Args:
        server: what is served.
        hang_up: ends the streams of those who listen without a handshake.
    """

    def __init__(self, server: Server[Any], hang_up: Callable[[], None]) -> None:
        self.server = server
        self._hang_up = hang_up
        self._ending: asyncio.Task[None] | None = None
        self._sessions = Sessions(server)
        self._outbox = Outbox()
        self._state: Any = None

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """While it is up."""
        async with self.server.lifespan(self.server) as self._state:
            try:
                yield
            finally:
                if self._ending is not None:
                    self._ending.cancel()
                await self._sessions.close()

    def end_streams(self) -> None:
        """End the streams of those who listen, and, from now on, what nobody waits for any more."""
        if self._ending is None:
            self._ending = asyncio.create_task(self._keep_ending())

    async def _keep_ending(self) -> None:
        while True:
            self._sessions.hang_up()
            self._hang_up()
            await asyncio.sleep(LOOK_S)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        incoming = Incoming(scope, receive, send, outbox=self._outbox)
        try:
            if incoming.headers.get(VERSION) in _OF_HANDSHAKES:
                await self._in_session(incoming)
            else:
                await self._by_itself(incoming)
        except RequestRefused as refused:
            answer = incoming.answer(headers=refused.headers)
            await answer.end(refusal(refused.request_id, refused.error), refused.status)

    async def _posted(self, incoming: Incoming) -> JsonRpcMessage:
        """What a client says that can read the answer."""
        if not incoming.headers.get("content-type", "").lower().startswith("application/json"):
            raise RequestRefused(415, "Unsupported Media Type: send application/json")
        if not (incoming.takes_json and incoming.takes_stream):
            raise RequestRefused(406, "Not Acceptable: accept both application/json and text/event-stream")
        return await incoming.message()

    # Without a handshake ----------------------------------------------------------------------------------------------

    async def _by_itself(self, incoming: Incoming) -> None:
        if incoming.scope["method"] != "POST":
            raise RequestRefused(405, "Method Not Allowed", headers=((b"allow", b"POST"),))
        message = await self._posted(incoming)
        if message.method is UNSET:
            raise RequestRefused(400, _NO_MESSAGE)
        if message.id is UNSET:
            # There are none in this era; who sends one nonetheless is not answered with an error that nobody reads.
            _check(unsupported_protocol_version_rejection(incoming.headers[VERSION]), None)
            await incoming.answer().refuse(202)
            return
        route = self._route(incoming, message)
        connection = Connection.from_envelope(route.protocol_version, route.client_info, route.client_capabilities)
        exchange = Exchange(message, incoming.headers, incoming.answer())
        runner = ServerRunner(self.server, connection, self._state)
        async with connection.exit_stack:
            work = runner.on_request(exchange, str(message.method), message.params)
            await exchange.serve(work, ERROR_CODE_HTTP_STATUS, lambda: exchange.stop(_GONE))

    def _route(self, incoming: Incoming, message: JsonRpcMessage) -> InboundModernRoute:
        """What its headers and its envelope say, which have to agree.

        Raises:
            Refused: they do not.
        """
        number = message.id if isinstance(message.id, int | str) else None
        lines = datastructures.Headers(scope=incoming.scope)
        twice = find_duplicated_routing_header(lines.items()) if len(incoming.headers) < len(lines.raw) else None
        if twice is not None:
            mismatch = ErrorData(code=HEADER_MISMATCH, message=f"{twice} header appears more than once")
            raise RequestRefused(400, mismatch, number)
        method, params = message.method, message.params
        route = classify_inbound_request({"method": method, "params": params}, headers=incoming.headers)
        if isinstance(route, InboundLadderRejection):
            raise _refused(route, number)
        if method == "tools/call" and params is not None and self.server.get_tool_input_schema is not None:
            name, arguments = params.get("name"), params.get("arguments") or {}
            schema = self.server.get_tool_input_schema(name) if isinstance(name, str) else None
            if schema is not None and isinstance(arguments, dict) and _WANTS_HEADER in msgspec.json.encode(schema):
                _check(validate_mcp_param_headers(schema, arguments, lines), number)
        return route

    # With one ---------------------------------------------------------------------------------------------------------

    async def _in_session(self, incoming: Incoming) -> None:
        owner = identity_of(incoming.scope).without_scopes()
        method = incoming.scope["method"]
        if method not in ("GET", "POST", "DELETE"):
            raise RequestRefused(405, "Method Not Allowed", headers=((b"allow", b"GET, POST, DELETE"),))
        message = await self._posted(incoming) if method == "POST" else None
        named, session = incoming.headers.get(SESSION), None
        if named is not None:  # looked for when all has arrived: it may have ended meanwhile
            session = self._sessions.find(named, owner)
            if session is None:
                raise RequestRefused(404, "Session not found")
        if message is not None:
            await self._post(incoming, message, session, owner)
        elif session is None:
            raise RequestRefused(400, _NO_SESSION)
        elif method == "GET":
            await self._listen(incoming, session)
        else:
            await self._sessions.end(session)
            await incoming.answer().refuse(200)

    async def _post(
        self, incoming: Incoming, message: JsonRpcMessage, session: Session | None, owner: Identity
    ) -> None:
        is_request = message.id is not UNSET and message.method is not UNSET
        if session is None:
            if not is_request or message.method != "initialize":
                raise RequestRefused(400, _NO_SESSION)
            await self._open(incoming, message, owner)
        elif is_request:
            await session.request(message, incoming.headers, incoming.answer(opens_after_s=OPENS_AFTER_S))
        else:
            await incoming.answer().refuse(202)
            await session.hear(message, incoming.headers)

    async def _open(self, incoming: Incoming, message: JsonRpcMessage, owner: Identity) -> None:
        if len(msgspec.json.encode(message.params)) > HELLO_BYTES_MAX:
            told = f"params: what a client says of itself may be {HELLO_BYTES_MAX} bytes long at most"
            number = message.id if isinstance(message.id, int | str) else None
            raise RequestRefused(413, told, number)
        session = self._sessions.open(self._state, owner)
        if session is None:
            raise RequestRefused(503, ErrorData(code=INTERNAL_ERROR, message="Too many open sessions"))
        try:
            headers = ((SESSION.encode(), session.id.encode()),)
            await session.request(message, incoming.headers, incoming.answer(headers=headers))
        finally:
            if session.connection.client_params is None:  # it was not opened
                await self._sessions.end(session)

    async def _listen(self, incoming: Incoming, session: Session) -> None:
        if not incoming.takes_stream:
            raise RequestRefused(406, "Not Acceptable: text/event-stream is all there is")
        if LAST_EVENT in incoming.headers:  # a stream that told nothing of what was missed would pass for a replay
            raise RequestRefused(400, "Events are not kept here, so none can be sent again: make the request anew")
        if session.listens:
            raise RequestRefused(409, "Conflict: a session has one stream")
        await session.listen(incoming.answer())


def _decoded(body: bytearray) -> JsonRpcMessage:
    body.decode()  # msgspec passes over the names of fields that it does not know, whatever bytes they are
    return decode(body)


def _check(rejection: InboundLadderRejection | None, number: Id | None) -> None:
    if rejection is not None:
        raise _refused(rejection, number)


def _refused(rejection: InboundLadderRejection, number: Id | None) -> RequestRefused:
    error = ErrorData(code=rejection.code, message=rejection.message, data=rejection.data)
    return RequestRefused(ERROR_CODE_HTTP_STATUS.get(rejection.code, 200), error, number)


_JSON = frozenset({"*/*", "application/*", "application/json"})
_STREAM = frozenset({"*/*", "text/*", "text/event-stream"})
_OF_HANDSHAKES = frozenset({None, *HANDSHAKE_PROTOCOL_VERSIONS})
_WANTS_HEADER = b'"x-mcp-header"'
_NO_MESSAGE = "Body must be a single JSON-RPC request or notification object"
_NO_SESSION = "Bad Request: Missing session ID"
_GONE = ErrorData(code=CONNECTION_CLOSED, message="The client hung up")
