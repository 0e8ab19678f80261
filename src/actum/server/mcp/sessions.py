"""Sessions of clients with a handshake: what lasts from one of their HTTP requests to the next.

A session is known by an id that only its client was told, and by the credential that opened it. It ends when its client
says so, when nothing was heard of it for half an hour, where there are too many, and with the process. Each request is
answered in its own task; to hang up does not take a request back, `notifications/cancelled` does.

Source: Model Context Protocol 2025-11-25 (basic/transports, basic/utilities/cancellation).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from mcp.server.connection import Connection
from mcp.server.lowlevel.server import Server
from mcp.server.runner import ServerRunner, aclose_shielded
from mcp.shared.dispatcher import CallOptions, as_request_id, coerce_request_id
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp_types import CONNECTION_CLOSED, INVALID_REQUEST, ErrorData
from msgspec import UNSET, UnsetType

from ...core.identity import Identity
from ...core.json import JsonObject
from .answer import HttpAnswer
from .exchange import (
    Exchange,
    Id,
    JsonRpcMessage,
    refusal,
    said,
)
from .holders import shares

SESSIONS_MAX = 1_000
"""The most open sessions. One costs about 10 KB, and what its client said of itself."""
HELLO_BYTES_MAX = 16 * 1024
"""The most bytes that a client may say of itself in its handshake: they are kept as long as the session."""
SESSION_IDLE_S = 30 * 60.0
SWEEPS = 30
"""How often idle sessions are looked for, in the time that a session may be idle."""
TELL_S = 5.0
"""A client that does not read is told no longer than this that it need not answer."""

CHANGES_MAX = 1_000
"""The most changes that are kept for a client until it listens; beyond that the oldest is forgotten."""
_CHANGES = frozenset(
    f"notifications/{what}"
    for what in ("tools/list_changed", "prompts/list_changed", "resources/list_changed", "resources/updated")
)
_CANCELLED = ErrorData(code=-32800, message="Request cancelled")
_TWICE = ErrorData(code=INVALID_REQUEST, message="A request of this id is under way")
_CLOSED = ErrorData(code=CONNECTION_CLOSED, message="Connection closed")


class Session:
    """One client's, and the channel to it beside those of its requests: the SDK's `Outbound`.

    Args:
        server: what is served.
        state: what that keeps while it serves.
        owner: who opened it.

    Attributes:
        id: its name.
        used_at: when it was last used, by the clock of the loop.
    """

    def __init__(self, server: Server[Any], state: Any, owner: Identity) -> None:  # noqa: ANN401  # the SDK's own
        self.id = uuid4().hex
        self.owner = owner
        self.used_at = asyncio.get_running_loop().time()
        self.connection = Connection.for_loop(self, session_id=self.id)
        self._runner = ServerRunner(server, self.connection, state)
        self._stream: HttpAnswer | None = None
        self._changes: dict[tuple[str, object], JsonObject] = {}
        self._exchanges: dict[Id, Exchange] = {}
        self._asked: dict[Id, asyncio.Future[JsonObject]] = {}
        self._number = 0

    def touch(self) -> None:
        """It is used now."""
        self.used_at = asyncio.get_running_loop().time()

    @property
    def is_used(self) -> bool:
        """Its client is on the line."""
        return self._stream is not None or not all(each.is_abandoned for each in self._exchanges.values())

    # What comes -------------------------------------------------------------------------------------------------------

    async def request(self, message: JsonRpcMessage, headers: Mapping[str, str], answer: HttpAnswer) -> None:
        """Answer a request."""
        exchange = Exchange(message, headers, answer, self.ask)
        number = coerce_request_id(exchange.request_id or 0)
        if number in self._exchanges:  # it could be taken back no more, and its answer be taken for that of the other
            await answer.end(refusal(exchange.request_id, _TWICE), 400)
            return
        self._exchanges[number] = exchange
        try:
            work = self._runner.on_request(exchange, str(message.method), message.params)
            await exchange.serve(work, {}, lambda: None)
        finally:
            del self._exchanges[number]
            self.touch()

    async def hear(self, message: JsonRpcMessage, headers: Mapping[str, str]) -> None:
        """Take what it tells, or answers to a question."""
        if message.method is UNSET:
            self._answered(message)
            return
        if message.method == "notifications/cancelled":
            number = as_request_id((message.params or {}).get("requestId"))
            exchange = None if number is None else self._exchanges.get(coerce_request_id(number))
            if exchange is not None:
                exchange.stop(_CANCELLED)
        await self._runner.on_notify(Exchange(message, headers, self._stream), str(message.method), message.params)

    def _answered(self, message: JsonRpcMessage) -> None:
        waiting = None if not isinstance(message.id, int | str) else self._asked.get(coerce_request_id(message.id))
        if waiting is None or waiting.done():
            return
        if isinstance(message.error, UnsetType):
            waiting.set_result(message.result if not isinstance(message.result, UnsetType) else {})
        else:
            code, words = message.error.get("code"), message.error.get("message")
            waiting.set_exception(MCPError(code if isinstance(code, int) else 0, str(words)[:2_000]))

    async def listen(self, answer: HttpAnswer) -> None:
        """Serve the one stream of what belongs to no request."""
        self._stream = answer
        try:
            for change in list(self._changes):
                await self._tell(answer, change)
            await answer.stay()
        finally:
            self._stream = None
            self.touch()

    def hang_up(self) -> None:
        """End that stream, and what goes on although its client is gone."""
        if self._stream is not None:
            self._stream.leave()
        for exchange in self._exchanges.values():
            if exchange.is_abandoned:
                exchange.stop(_CLOSED)

    @property
    def listens(self) -> bool:
        """It has that stream."""
        return self._stream is not None

    # What goes --------------------------------------------------------------------------------------------------------

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        """Tell it something that belongs to no request; nobody hears it where it does not listen.

        What has changed is told when it listens: its stream opens after its handshake, and may break and open again.
        """
        told = said(method, params)
        if method in _CHANGES:
            change = method, (params or {}).get("uri")
            self._changes[change] = told
            if len(self._changes) > CHANGES_MAX:
                del self._changes[next(iter(self._changes))]
            if self._stream is not None:
                await self._tell(self._stream, change)
        elif self._stream is not None:
            await self._stream.tell(told)

    async def _tell(self, stream: HttpAnswer, change: tuple[str, object]) -> None:
        """Tell of a change; what is not wholly sent is told again on the next stream."""
        if (told := self._changes.get(change)) is not None:  # else it was told meanwhile
            await stream.tell(told)
            if self._changes.get(change) is told and not stream.is_over:
                del self._changes[change]

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        """Ask it something that belongs to no request.

        Raises:
            NoBackChannelError: it does not listen.
            MCPError: it refuses, or has gone.
        """
        return await self.ask(method, params, self._stream)

    async def ask(self, method: str, params: Mapping[str, Any] | None, way: HttpAnswer | None) -> JsonObject:
        """Ask it something on one of its streams, and wait for what it says.

        Raises:
            NoBackChannelError: there is no such stream.
            MCPError: it refuses, or has gone.
        """
        if way is None:
            raise NoBackChannelError(method)
        self._number += 1
        number = self._number
        waiting: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
        self._asked[number] = waiting
        try:
            await way.tell({**said(method, params), "id": number})
            return await waiting
        except asyncio.CancelledError:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TELL_S):
                    await way.tell(said("notifications/cancelled", {"requestId": number}))
            raise
        finally:
            del self._asked[number]

    async def end(self) -> None:
        """Break off what is under way, and let go of all that it holds."""
        for exchange in list(self._exchanges.values()):
            exchange.stop(_CLOSED)
        for waiting in self._asked.values():
            if not waiting.done():
                waiting.set_exception(MCPError(_CLOSED.code, _CLOSED.message))
        self.hang_up()
        await aclose_shielded(self.connection)


class Sessions:
    """Those that are open.

    Args:
        server: what is served.
        idle_s: the seconds that a session may be unused; it ends soon after that.
    """

    def __init__(self, server: Server[Any], idle_s: float = SESSION_IDLE_S) -> None:
        self._server = server
        self._idle_s = idle_s
        self._open: dict[str, Session] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._sweeping: asyncio.TimerHandle | None = None

    def open(self, state: Any, owner: Identity) -> Session | None:  # noqa: ANN401  # the SDK's own
        """A new one; None where there are as many as there may be, and all are used."""
        if len(self._open) >= SESSIONS_MAX and not self._make_room():
            return None
        session = Session(self._server, state, owner)
        self._open[session.id] = session
        if self._sweeping is None:
            self._sweep()
        return session

    def find(self, session_id: str, owner: Identity) -> Session | None:
        """The one of this id; None also where it is somebody else's."""
        session = self._open.get(session_id)
        if session is None or session.owner != owner:
            return None
        session.touch()
        return session

    async def end(self, session: Session) -> None:
        """End one."""
        if self._open.pop(session.id, None) is not None:
            await session.end()

    def hang_up(self) -> None:
        """End the streams of those who listen, and what nobody waits for; the sessions stay."""
        for session in self._open.values():
            session.hang_up()

    async def close(self) -> None:
        """End all."""
        if self._sweeping is not None:
            self._sweeping.cancel()
            self._sweeping = None
        for session in list(self._open.values()):
            self._let_go(session)
        if self._ending:
            await asyncio.wait(self._ending)

    def _make_room(self) -> bool:
        """End one that is not used: the least used of the user who has most, in the tenant that has most. So nobody
        is kept out by another."""
        share = shares(session.owner.user for session in self._open.values())
        idle = [session for session in self._open.values() if not session.is_used]
        if idle:
            self._let_go(max(idle, key=lambda session: (share(session.owner.user), -session.used_at)))
        return bool(idle)

    def _sweep(self) -> None:
        """End those that were idle for too long."""
        loop = asyncio.get_running_loop()
        for session in list(self._open.values()):
            if not session.is_used and session.used_at + self._idle_s <= loop.time():
                self._let_go(session)
        self._sweeping = loop.call_later(self._idle_s / SWEEPS, self._sweep) if self._open else None

    def _let_go(self, session: Session) -> None:
        del self._open[session.id]
        ending = asyncio.create_task(session.end())
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)
