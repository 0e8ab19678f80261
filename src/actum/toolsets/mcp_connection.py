"""The connections to one MCP server: started when they are first needed, started again when they break, ended in order.

The SDK's contexts want to be entered and left by one task; each connection has one that does nothing else (`_Link`).
Requests come from any task. A legacy server that may ask back is lent to one caller at a time, so that it is always
known whom it asks; others get a connection of their own.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import anyio
import msgspec
from mcp.shared.dispatcher import DispatchContext
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from msgspec import Struct

from ..core.clock import SystemClock
from ..core.errors import ActumError, CallError, CallTimeout, InvalidResult, Unavailable, UsageError
from ..core.interfaces import Clock
from ..core.json import Json, JsonObject
from ..protocols.mcp_config import McpEra, McpServer, McpTransport
from .mcp_error import INVALID_REQUEST, McpError, unreached
from .mcp_session import NOBODY, Caller, McpSession, ServerFacts, ask_live
from .mcp_transport import STDERR_LINES, opened

if TYPE_CHECKING:
    import httpx2

log = logging.getLogger("actum.mcp")

State = Literal["idle", "starting", "up", "resting", "closed"]
Tell: TypeAlias = Callable[[JsonObject], None]
Send: TypeAlias = Callable[[McpSession, asyncio.Timeout, Tell], Awaitable[JsonObject]]
Dispatch: TypeAlias = DispatchContext[TransportContext]
Status: TypeAlias = "anyio.abc.TaskStatus[None]"

_NO_ANSWER = (CallTimeout, InvalidResult)
_NO_SESSION = {
    "Session terminated",  # the SDK, of an HTTP 404
    "Session not found",  # the TypeScript SDK's transport
    "Bad Request: No valid session ID provided",  # its example, of which many servers are copies
}
_WORDS = {
    "ConnectError": "Nobody listens there",
    "ConnectTimeout": "Nobody answers there",
    "ConnectionResetError": "The connection broke",
}

LINKS_MAX = 8
"""So many connections to one legacy server are held at the same time."""
PAGES_MAX = 200
ITEMS_MAX = 10_000
PROBE_S = {"stdio": 10.0, "http": 60.0, "sse": 10.0}
"""Seconds in which a server tells whether it is modern. A login has as long as a person needs."""
LOGIN_S = 600.0
PATIENT = 2
"""So many failures in a row are waited out; after more, whoever asks is told at once."""
REFUSED = -32603
PAUSES_S = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
"""Seconds between a connection that broke and the next try; the last for ever."""


class Health(Struct):
    """How a server's connections do.

    Attributes:
        state: `resting` after one broke, until it is tried again.
        since: when that began, in seconds since 1970.
        restarts: how often one was started again.
        failures: how often it failed in a row.
        problem: what went wrong last, for people.
        stderr: the last lines that a local server wrote beside the protocol.
    """

    state: State = "idle"
    since: float = 0.0
    restarts: int = 0
    failures: int = 0
    problem: str = ""
    stderr: deque[str] = msgspec.field(default_factory=lambda: deque[str](maxlen=STDERR_LINES))


def _go() -> None:
    """Nothing holds it back."""


async def all_pages(
    method: str, send: Callable[[JsonObject], Awaitable[JsonObject]]
) -> tuple[list[JsonObject], float | None]:
    """All that a list holds, page by page, and for how many seconds it holds, where the server tells.

    Args:
        method: `tools/list`, `resources/list`, `resources/templates/list` or `prompts/list`.
        send: asks for a page with these parameters.

    Raises:
        McpError: the server refuses, or its pages do not end.
    """
    field = {"resources/templates/list": "resourceTemplates"}.get(method, method.partition("/")[0])
    items: list[JsonObject] = []
    seen: set[str] = set()
    ttls: list[float] = []
    params: JsonObject = {}
    for _ in range(PAGES_MAX):
        page = await send(params)
        found, ttl_ms, cursor = page.get(field), page.get("ttlMs"), page.get("nextCursor")
        items += [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []
        if isinstance(ttl_ms, int | float) and not isinstance(ttl_ms, bool):
            ttls.append(ttl_ms / 1000)
        if not isinstance(cursor, str):
            return items, min(ttls, default=None)
        if cursor in seen or len(items) > ITEMS_MAX:
            raise McpError(INVALID_REQUEST, f"the pages of {method} do not end")
        seen.add(cursor)
        params = {"cursor": cursor}
    raise McpError(INVALID_REQUEST, f"{method} has more than {PAGES_MAX} pages")


class Link:
    """One connection, and the task that holds it.

    Args:
        capabilities: that were declared when it began.

    Attributes:
        session: while it is up.
        caller: to whom it is lent.
        lent: how many requests use it.
        limits: the time limits of these.
        asking: one thing is asked at a time.
        vetting, is_vetted: it is looked at once.
        ready: done when it is up, or failed.
        over: it ended, or is to end.
        is_wanted_over: it ends because we want it to.
        task: holds it.
    """

    def __init__(self, capabilities: JsonObject) -> None:
        self.capabilities = capabilities
        self.session: McpSession | None = None
        self.caller: Caller = NOBODY
        self.lent = 0
        self.limits: set[asyncio.Timeout] = set()
        self.asking = asyncio.Lock()
        self.vetting = asyncio.Lock()
        self.is_vetted = False
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.over = asyncio.Event()
        self.is_wanted_over = False
        self.task: asyncio.Task[None] | None = None

    @property
    def is_up(self) -> bool:
        return self.session is not None and not self.over.is_set()

    async def end(self) -> None:
        """Leave it, from whatever task."""
        self.is_wanted_over = True
        self.over.set()
        if self.task is not None and self.task is not asyncio.current_task():
            await asyncio.wait([self.task])


class McpConnection:
    """The way to one server.

    Args:
        server: as it is configured.
        clock: time.
        auth: logs in at a remote one.
        changed: is told of each notification that belongs to no request, such as a list that changed.
        secrets: that its configuration names.
        era: what was found out before, where that is remembered.
        vet: looks at each connection once it is up, before anything else is done over it; may raise to refuse it.
        log_level: from which on it is to tell what it logs; empty for not at all.

    Attributes:
        health: how it does.
    """

    def __init__(
        self,
        server: McpServer,
        *,
        clock: Clock | None = None,
        auth: httpx2.Auth | None = None,
        changed: Callable[[str, JsonObject], None] | None = None,
        secrets: Mapping[str, str] | None = None,
        era: McpEra = "auto",
        vet: Callable[[McpSession], Awaitable[None]] | None = None,
        log_level: str = "",
    ) -> None:
        if not server.command and not server.url:
            raise UsageError(f"MCP server {server.name!r}: give a command or a url")
        self.server = server
        self.health = Health()
        self._clock: Clock = clock or SystemClock()
        self._auth = auth
        self._changed = changed
        self._secrets = secrets or {}
        self._era: McpEra = server.era if server.era != "auto" else era
        self._log_level = log_level
        self._vet = vet
        self._transport: McpTransport = server.transport or ("http" if server.url else "stdio")
        self._links: list[Link] = []
        self._uris: set[str] = set()
        self._listener: asyncio.Task[None] | None = None
        self._status = 0
        self._is_closed = False
        self._facts: ServerFacts | None = None
        self._opening = asyncio.Lock()
        self._freed = asyncio.Condition()

    # What others do with it -------------------------------------------------------------------------------------------

    async def facts(self, *, caller: Caller = NOBODY) -> ServerFacts:
        """What the server says of itself; it is reached for that.

        Raises:
            Unavailable: it can not be reached.
        """
        async with self._borrowed(caller) as session:
            return session.facts

    async def request(
        self,
        method: str,
        params: JsonObject,
        *,
        caller: Caller = NOBODY,
        header_schema: JsonObject | None = None,
        paused: JsonObject | None = None,
        ready: Callable[[], None] = _go,
    ) -> JsonObject:
        """Send a request and return its raw result; what the server asks back is answered by the caller.

        Args:
            caller: on whose behalf.
            header_schema: the schema of the tool that is called.
            paused: where it stopped before; see `McpSession.request`.
            ready: is called once the connection is there, just before the request is sent; may raise to hold it back.

        Raises:
            Unavailable: the server can not be reached; nothing was sent.
            McpError: it refuses.
            CallTimeout: no word from it in time, or the connection was lost: it may have happened.
            Waiting: it asks what nobody can answer now.
        """

        async def send(session: McpSession, limit: asyncio.Timeout, progress: Tell) -> JsonObject:
            ready()
            return await session.request(method, params, caller, limit, progress, header_schema, paused)

        return await self._in_time(method, caller, send)

    async def request_once(
        self, method: str, params: JsonObject, *, caller: Caller = NOBODY, header_schema: JsonObject | None = None
    ) -> JsonObject:
        """As `request`, but what the server answers is returned as it is, also when it asks back."""

        async def send(session: McpSession, _: asyncio.Timeout, progress: Tell) -> JsonObject:
            return await session.once(method, params, caller, progress, header_schema)

        return await self._in_time(method, caller, send)

    async def list_all(self, method: str, *, caller: Caller = NOBODY) -> list[JsonObject]:
        """All that a list holds, page by page; see `all_pages`."""

        async def send(params: JsonObject) -> JsonObject:
            return await self.request(method, params, caller=caller)

        return (await all_pages(method, send))[0]

    async def notify(self, method: str, params: JsonObject, *, caller: Caller = NOBODY) -> None:
        """Send a notification."""
        async with self._borrowed(caller) as session:
            await session.notify(method, params)

    async def close(self) -> None:
        """End all connections, in whatever task this is called."""
        self._is_closed = True
        if self._listener is not None:
            self._listener.cancel()
            await asyncio.wait([self._listener])
        async with self._opening:
            links, self._links = self._links, []
            await asyncio.gather(*(link.end() for link in links))
        self._become("closed")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # Listening --------------------------------------------------------------------------------------------------------

    def listen(self, uris: Sequence[str] = ()) -> None:
        """From now on be told of lists that change, and of these resources; `changed` hears of it.

        A server without a handshake is asked by a request that stays open, and asked again when that breaks off.
        """
        self._uris |= set(uris)
        if self._listener is not None:
            self._listener.cancel()
        self._listener = asyncio.create_task(self._keep_listening(), name=f"mcp {self.server.name} listens")

    async def _keep_listening(self) -> None:
        failures = 0
        while True:
            try:
                async with self._borrowed(NOBODY) as session:
                    if session.facts.era == "legacy":
                        for uri in sorted(self._uris):
                            await session.once("resources/subscribe", {"uri": uri}, NOBODY)
                        await self._link_of(session).over.wait()
                    else:
                        await session.once("subscriptions/listen", {"notifications": self._filter()}, NOBODY)
                failures = 0
            except McpError:
                return  # it does not do that
            except CallError:
                failures += 1
            await self._clock.sleep(PAUSES_S[min(failures + 1, len(PAUSES_S) - 1)])

    def _filter(self) -> JsonObject:
        wanted: JsonObject = dict.fromkeys(("toolsListChanged", "promptsListChanged", "resourcesListChanged"), True)
        if self._uris:
            wanted["resourceSubscriptions"] = list[Json](sorted(self._uris))
        return wanted

    # Lending ----------------------------------------------------------------------------------------------------------

    async def _in_time(self, method: str, caller: Caller, send: Send) -> JsonObject:
        try:
            return await self._sent(method, caller, send)
        except McpError as error:
            if not _lost_its_session(error):
                raise
        return await self._sent(method, caller, send)  # the server forgot the session, and did nothing

    async def _sent(self, method: str, caller: Caller, send: Send) -> JsonObject:
        async with self._borrowed(caller) as session:
            link = self._link_of(session)
            limit = self._clock.timeout(self.server.timeout)
            end = self._clock.now() + self.server.max_timeout

            def progress(told: JsonObject) -> None:
                caller.told("notifications/progress", told)
                self._extend(limit, end)

            link.limits.add(limit)
            try:
                async with limit:
                    return await send(session, limit, progress)
            except TimeoutError:
                if not limit.expired():
                    raise
                raise CallTimeout(
                    f"The server did not answer {method} in time; it may have happened all the same."
                ) from None
            except McpError as error:
                if _lost_its_session(error):
                    await link.end()
                raise
            except CallTimeout:
                if self._transport != "http":  # there it is one answer that broke off, not all
                    link.over.set()
                raise
            finally:
                link.limits.discard(limit)

    def _extend(self, limit: asyncio.Timeout, end: float) -> None:
        """A word came: the time without one begins anew, up to the hard end."""
        if limit.when() is None or limit.expired():
            return
        left = min(self.server.timeout, end - self._clock.now())
        limit.reschedule(asyncio.get_running_loop().time() + max(0.0, left))

    @asynccontextmanager
    async def _borrowed(self, caller: Caller) -> AsyncIterator[McpSession]:
        """A session for one request of this caller."""
        link = await self._lend(caller)
        assert link.session is not None
        try:
            if self._vet is not None and not link.is_vetted:
                async with link.vetting:
                    if not link.is_vetted:
                        await self._vet(link.session)
                        link.is_vetted = True
            yield link.session
        finally:
            link.lent -= 1
            if not link.lent:
                link.caller = NOBODY
            async with self._freed:
                self._freed.notify_all()

    async def _lend(self, caller: Caller) -> Link:
        while True:
            async with self._opening:
                link = self._fitting(caller)
                if link is None and len(self._links) < LINKS_MAX:
                    link = await self._open(caller)
                if link is not None:
                    link.lent += 1
                    if caller.capabilities:
                        link.caller = caller
                    return link
            async with self._freed:
                await self._freed.wait()

    def _fitting(self, caller: Caller) -> Link | None:
        """A connection that is up and can be this caller's."""
        self._links = [link for link in self._links if link.is_up]
        for link in self._links:
            assert link.session is not None
            if link.session.facts.era == "modern" or not caller.capabilities:
                return link
            if link.capabilities == caller.capabilities and link.caller in (NOBODY, caller):
                return link
        return None

    def _link_of(self, session: McpSession) -> Link:
        return next(link for link in self._links if link.session is session)

    # Opening ----------------------------------------------------------------------------------------------------------

    async def _open(self, caller: Caller) -> Link:
        """Start a connection, after a pause where the last ones failed.

        Raises:
            Unavailable: it does not come up.
        """
        if self._is_closed:
            raise unreached(self.server.name, "its connection was closed.")
        await self._pause()
        self._become("starting")
        self.health.restarts += self._facts is not None
        before = self._transport, self._era
        try:
            link = await self._started(caller)
        except Exception as error:  # noqa: BLE001 - whoever asks hears that the server can not be reached
            if not self._tries_another_way(error):
                raise self._failed(error) from None
            try:
                link = await self._started(caller)
            except Exception:  # noqa: BLE001 - the first failure is the one that is told
                self._transport, self._era = before
                raise self._failed(error) from None
        assert link.session is not None
        self._facts = link.session.facts
        self._era = self._facts.era
        self.health.failures, self.health.problem = 0, ""
        self._become("up")
        self._links.append(link)
        return link

    def _tries_another_way(self, error: Exception) -> bool:
        """Whether it may be a server of old that does not bear being asked, and is to be spoken to as such."""
        if self._transport == "http" and not self.server.transport and isinstance(error, (McpError, *_NO_ANSWER)):
            self._transport = "sse"
            return True
        if self._transport == "stdio" and self._era == "auto" and isinstance(error, Unavailable):
            self._era = "legacy"  # some end themselves at a request before the handshake
            return True
        return False

    async def _pause(self) -> None:
        """After failures the next try waits; after several, whoever asks is told so at once."""
        health = self.health
        pause = PAUSES_S[min(health.failures, len(PAUSES_S) - 1)]
        left = health.since + pause - self._clock.now() if health.state == "resting" else 0.0
        if left > 0 and health.failures > PATIENT:
            raise unreached(self.server.name, f"{health.problem} It is tried again in {left:.0f} s.")
        if left > 0:
            await self._clock.sleep(left)

    async def _started(self, caller: Caller) -> Link:
        link = Link(caller.capabilities)
        link.task = asyncio.create_task(self._hold(link), name=f"mcp {self.server.name}")
        try:
            await asyncio.shield(link.ready)
        except BaseException:
            link.task.cancel()
            await asyncio.wait([link.task])
            raise
        return link

    async def _hold(self, link: Link) -> None:
        """Enter the SDK's contexts, wait until the connection is over, and leave them: all in this task."""
        try:
            async with opened(
                self.server, self._transport, self.health.stderr, self._auth, self._secrets, self._note_status
            ) as streams:
                dispatcher: JSONRPCDispatcher[TransportContext] = JSONRPCDispatcher(*streams)
                async with anyio.create_task_group() as group:
                    await group.start(self._serve, link, dispatcher)
                    session = McpSession(dispatcher, self._clock, link.capabilities, self._log_level)
                    await self._begin(session)
                    link.session = session
                    link.ready.set_result(None)
                    await link.over.wait()
                    link.session = None
                    group.cancel_scope.cancel()
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - whoever waits for the connection hears of it, and so does the health
            if link.ready.done():
                log.debug("mcp %s: %s", self.server.name, type(error).__name__)
            else:
                link.ready.set_exception(_innermost(error))
        finally:
            link.session = None
            link.over.set()
            if link.ready.done() and not link.is_wanted_over and link in self._links:
                self._failed(ConnectionResetError())

    async def _begin(self, session: McpSession) -> None:
        """The first exchange. A login takes as long as a person needs."""
        patient = self._transport == "http"
        probe_s = LOGIN_S if self._auth is not None else PROBE_S[self._transport]
        begin_s = LOGIN_S if self._auth is not None else self.server.timeout
        era: McpEra = "legacy" if self._transport == "sse" else self._era
        await session.begin(era, probe_s, begin_s, silence_is_legacy=not patient)

    async def _serve(self, link: Link, dispatcher: JSONRPCDispatcher[TransportContext], *, task_status: Status) -> None:
        """Take what the server sends, until it stops."""

        async def answer(_: Dispatch, method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
            return await self._answer(link, method, dict(params or {}))

        async def hear(_: Dispatch, method: str, params: Mapping[str, Any] | None) -> None:
            self._hear(link, method, dict(params or {}))

        try:
            await dispatcher.run(answer, hear, task_status=task_status)
        finally:
            link.over.set()

    async def _answer(self, link: Link, method: str, params: JsonObject) -> dict[str, Any]:
        """What a legacy server asks of us while it serves; one thing at a time, and the time limits stand still."""
        if method == "ping":
            return {}
        async with link.asking:
            with contextlib.ExitStack() as held:
                for limit in link.limits:
                    held.enter_context(self._clock.hold(limit))
                try:
                    return await ask_live(link.caller, method, params)
                except McpError as error:
                    raise MCPError(code=error.rpc_code, message=error.words) from None
                except CallError as error:
                    raise MCPError(code=REFUSED, message=str(error)) from None

    def _hear(self, link: Link, method: str, params: JsonObject) -> None:
        if method == "notifications/message" and link.caller is not NOBODY:
            link.caller.told(method, params)
        elif self._changed is not None and method != "notifications/cancelled":
            self._changed(method, params)

    # Health -----------------------------------------------------------------------------------------------------------

    def _note_status(self, status: int) -> None:
        self._status = status

    def _failed(self, error: BaseException) -> CallError:
        self.health.failures += 1
        self.health.problem = self._words(_innermost(error))
        self._become("resting")
        return unreached(self.server.name, self.health.problem)

    def _words(self, error: BaseException) -> str:
        """What went wrong, for people, without what may be secret."""
        if self._status in (401, 403):
            return f"It answered HTTP {self._status}: it wants a login, or another one."
        if isinstance(error, FileNotFoundError):
            return f"There is no program {self.server.command!r}."
        if isinstance(error, PermissionError):
            return f"{self.server.command!r} may not be run."
        if isinstance(error, ActumError):
            return str(error)
        tail = f" It wrote: {self.health.stderr[-1][:200]}" if self.health.stderr else ""
        return f"{_WORDS.get(type(error).__name__, type(error).__name__)}.{tail}"

    def _become(self, state: State) -> None:
        self.health.state, self.health.since = state, self._clock.now()


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _lost_its_session(error: McpError) -> bool:
    """The server does not know the session, after a restart say, and so did nothing."""
    return error.words in _NO_SESSION
