"""One connection to an MCP server, and the task that holds it.

The SDK's contexts want to be entered and left by one and the same task; a link has one that does nothing else. Requests
come from any task, and any may end it. Knows nothing of other links; see `mcp.connection`.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeAlias
from weakref import WeakKeyDictionary

import anyio
import anyio.abc
from mcp.shared.dispatcher import DispatchContext
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext

from ...core.errors import CallError
from ...core.holder import Holder, HolderKey
from ...core.interfaces import Clock
from ...core.json import JsonObject, dumps, size_of_json
from .error import McpError
from .limit import TimeLimit
from .session import (
    ASKED_MAX,
    NOBODY,
    TOLD_CHARS_MAX,
    Caller,
    McpSession,
    Nobody,
    OfRun,
    ask_live,
)

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams
    from mcp.shared._stream_protocols import WriteStream
    from mcp.shared.message import SessionMessage

log = logging.getLogger("actum.mcp")

Changed: TypeAlias = Callable[[str, JsonObject], None]
Logged: TypeAlias = Callable[[JsonObject, Holder | None], None]
"""Hears what a server logs outside of any call: the notification's params, and for whom the session is kept."""
Begin: TypeAlias = Callable[[McpSession], Awaitable[object]]
Dispatch: TypeAlias = DispatchContext[TransportContext]

END_S = 8.0
"""Seconds in which a remote server is told goodbye; a local one is ended in any case."""
REFUSED = -32603
UNREAD_MAX = 1_000
"""A server that leaves more of our messages unread, and goes on asking, is left."""
LOGGED_BYTES_MAX = 8 * 1024
"""A longer log message of a server is told as text: lists and objects would be work for every listener."""


class ServerLink:
    """One connection.

    Args:
        capabilities: that are declared where it begins with a handshake.
        is_remote: the server is no process of ours.
        clock: time.
        log_level: see `McpSession`.
        changed: is told of each notification that belongs to no request.
        logged: is told what the server logs while no call is under way.

    Attributes:
        callers: on whose behalf requests are under way in which the server may ask back, the oldest first; all of one
            holder.
        owner, holder: whose it is; see `mcp.pool`.
        served: the holder that made a call over it last.
        idle_since: when the last of its calls was over.
        left_at: when its holder told that it needs the session no more, or again.
        is_counted: it counts in the bound of sessions.
        standing: whom it may ask while there are none.
        limits: the time limits of all requests that are under way.
        session: while it is up.
        over: it has ended, or is to end.
        is_wanted_over: it ended because we wanted it to.
    """

    def __init__(
        self,
        capabilities: JsonObject,
        clock: Clock,
        log_level: str,
        changed: Changed | None,
        *,
        logged: Logged | None = None,
        is_remote: bool = False,
    ) -> None:
        self.capabilities = capabilities
        self.callers: list[Caller] = []
        self.owner: HolderKey | Caller | None = None
        self.holder: Holder | None = None
        self.served: HolderKey | None = None
        self.idle_since = 0.0
        self.left_at = 0.0
        self.is_counted = False
        self.standing: Caller = NOBODY
        self.limits: set[TimeLimit] = set()
        self.session: McpSession | None = None
        self.over = asyncio.Event()
        self.is_wanted_over = False
        self._is_remote = is_remote
        self._is_ready = False
        self._clock = clock
        self._log_level = log_level
        self._changed = changed
        self._logged = logged
        self._turns: WeakKeyDictionary[Caller, asyncio.Lock] = WeakKeyDictionary()
        self._questions = 0
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[None] | None = None

    @property
    def is_up(self) -> bool:
        """Whether a request can be sent."""
        return self._is_ready and self.session is not None and not self.over.is_set()

    @property
    def is_idle(self) -> bool:
        """Nobody uses it."""
        return not self.callers and not self.limits

    @property
    def is_shared(self) -> bool:
        """There is no session behind it: to a remote server without a handshake, each request stands for itself."""
        return self._is_remote and self.session is not None and self.session.facts.era == "modern"

    def declares(self, caller: Caller) -> bool:
        """Whether the server was told what this caller can be asked. Without a handshake, each request tells that."""
        is_modern = self.session is not None and self.session.facts.era == "modern"
        return is_modern or caller is NOBODY or self.capabilities == caller.capabilities

    @property
    def asked(self) -> Caller:
        """Whom the server means when it turns to us: of the calls that are under way, which are all of one holder, the
        oldest that is not being asked something already: that one's server waits for the answer.
        """
        askable = [each for each in self.callers if each is not NOBODY] or [self.standing]
        return next((each for each in askable if not self._turn(each).locked()), askable[0])

    def _turn(self, caller: Caller) -> asyncio.Lock:
        """Held while a caller is asked something: it is asked one thing at a time."""
        return self._turns.setdefault(caller, asyncio.Lock())

    def open_up(self) -> None:
        """It was looked at: from now on it can be used."""
        self._is_ready = True

    async def start(self, streams: AbstractAsyncContextManager[TransportStreams], begin: Begin, name: str) -> None:
        """Connect, and return when it is up.

        Args:
            streams: the way to the server, as a context that is entered and left by the link's task.
            begin: the first exchange.
            name: of the task.

        Raises:
            Exception: whatever went wrong on the way.
        """
        # Not in the context of the first caller: its trace is not that of later callers.
        self._task = asyncio.create_task(self._hold(streams, begin), name=name, context=contextvars.Context())
        try:
            await asyncio.shield(self._ready)
        except BaseException:
            await self.end()
            raise

    async def end(self) -> None:
        """Leave it, from whatever task, and return when it is left."""
        assert self._task is not None
        if not self._ready.done() and not self.over.is_set():
            self._task.cancel()  # once: a second time would break off the end itself
        self.is_wanted_over = True
        self.over.set()
        if self._task is not asyncio.current_task():
            await asyncio.wait([self._task])

    def watch(self, done: Callable[[], None]) -> None:
        """Have something called when its task has ended."""
        assert self._task is not None
        self._task.add_done_callback(lambda _: done())

    async def _hold(self, streams: AbstractAsyncContextManager[TransportStreams], begin: Begin) -> None:
        """Enter the SDK's contexts, wait until the connection is over, and leave them."""
        try:
            with anyio.CancelScope() as scope:
                async with streams as pair, anyio.create_task_group() as group:
                    heard, said = pair
                    dispatcher: JSONRPCDispatcher[TransportContext] = JSONRPCDispatcher(
                        heard, _Outgoing(said, self.over)
                    )
                    await group.start(self._serve, dispatcher)
                    session = McpSession(dispatcher, self._clock, self.capabilities, self._log_level)
                    await begin(session)
                    self.session = session
                    self._ready.set_result(None)
                    await self.over.wait()
                    scope.deadline = anyio.current_time() + END_S
                    group.cancel_scope.cancel()
        except BaseException as error:  # the caller that waits for the connection hears of it
            cause = _innermost(error)
            if not self._ready.done():
                self._ready.set_exception(cause if isinstance(cause, Exception) else ConnectionAbortedError())
                self._ready.exception()  # the caller that waited may have gone: nothing warns that nobody looked
            if not isinstance(error, Exception):
                raise
            log.debug("the connection ended with %s", type(cause).__name__)
        finally:
            self.session = None
            self.over.set()

    # What the server says ---------------------------------------------------------------------------------------------

    async def _serve(
        self, dispatcher: JSONRPCDispatcher[TransportContext], *, task_status: anyio.abc.TaskStatus[None]
    ) -> None:
        async def answer(_: Dispatch, method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
            if self._questions >= ASKED_MAX:
                raise MCPError(code=REFUSED, message=f"at most {ASKED_MAX} things are answered at once")
            self._questions += 1
            try:
                return await self._answer(method, dict(params or {}))
            finally:
                self._questions -= 1

        async def hear(_: Dispatch, method: str, params: Mapping[str, Any] | None) -> None:
            self._hear(method, dict(params or {}))

        try:
            await dispatcher.run(answer, hear, task_status=task_status)
        finally:
            self.over.set()

    async def _answer(self, method: str, params: JsonObject) -> JsonObject:
        """What a server of old asks while it serves; each call one thing at a time, and meanwhile no time passes."""
        if method == "ping":
            return {}
        asked = self.asked
        async with self._turn(asked):
            with ExitStack() as held:
                for limit in self.limits:
                    held.enter_context(limit.held())
                for caller in self.callers:
                    if isinstance(caller, OfRun):
                        held.enter_context(caller.held())
                try:
                    self._note_others(asked)
                    return await ask_live(asked, method, params)
                except McpError as error:
                    raise MCPError(code=error.rpc_code, message=error.words) from None
                except CallError as error:
                    raise MCPError(code=REFUSED, message=str(error)) from None
                except Exception:  # a fault of ours; a stranger is told nothing of it
                    log.exception("%s could not be answered", method)
                    raise MCPError(code=REFUSED, message="it could not be answered") from None

    def _note_others(self, asked: Caller) -> None:
        """The record says which other calls a question may be meant for: the server does not tell."""
        if isinstance(asked, OfRun):
            asked.beside(tuple(each.key for each in self.callers if each is not asked and isinstance(each, OfRun)))

    def _hear(self, method: str, params: JsonObject) -> None:
        if method == "notifications/message":
            params = as_logged(params)
            calls = [each for each in self.callers if not isinstance(each, Nobody)]
            if calls:
                (self.asked if self.asked in calls else calls[0]).told(method, params)
            elif self._logged is not None:
                self._logged(params, self.holder)
        elif self._changed is not None and method not in ("notifications/cancelled", "notifications/progress"):
            self._changed(method, params)


class _Outgoing:
    """What is sent to a server. Each message that the server does not take is a task that waits: their number is
    bounded, since a server decides how often it asks.
    """

    def __init__(self, stream: WriteStream[SessionMessage], over: asyncio.Event) -> None:
        self._stream = stream
        self._over = over
        self._unread = 0

    async def send(self, item: SessionMessage, /) -> None:
        if self._unread >= UNREAD_MAX:
            self._over.set()
            raise anyio.ClosedResourceError
        self._unread += 1
        try:
            await self._stream.send(item)
        finally:
            self._unread -= 1

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._stream.__aexit__(kind, error, trace)


def as_logged(logged: JsonObject) -> JsonObject:
    """What a server logs; of what is long the level, and the beginning as text."""
    if size_of_json(logged) <= LOGGED_BYTES_MAX:
        return logged
    data, level = logged.get("data"), logged.get("level")
    text = data if isinstance(data, str) else dumps(data)
    cut = f"{text[:TOLD_CHARS_MAX]} [cut: at most {TOLD_CHARS_MAX} characters are kept]"
    return {"level": level if isinstance(level, str) else "", "data": cut}


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
