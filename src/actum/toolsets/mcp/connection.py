"""The connections to one MCP server: started when they are first needed, started again when they break, ended in order.

Requests come from any task; see `mcp.link` for the task that holds a connection. `mcp.pool` decides over which
connection a request goes: each holder has a session of its own. A server that can not be reached is tried again after
pauses that grow; meanwhile a caller is told so at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Literal, Self, TypeAlias

import msgspec
from msgspec import Struct

from ...core.clock import SystemClock
from ...core.errors import (
    CallError,
    CallTimeout,
    InvalidResult,
    Unavailable,
    UsageError,
)
from ...core.holder import Holder
from ...core.interfaces import Clock
from ...core.json import JsonObject
from ...protocols.mcp.config import McpEra, McpServer, McpTransport
from ..login import LoginFailed, LoginNeeded
from .error import (
    Lost,
    McpError,
    unreached,
)
from .jail import OpenedOutside
from .limit import TimeLimit
from .link import Logged, ServerLink
from .listener import PAUSES_S, Listener
from .pages import all_pages
from .pool import SessionPool
from .session import (
    NOBODY,
    Caller,
    McpSession,
    ServerFacts,
)
from .session_quota import SessionQuota
from .transport import STDERR_LINES, opened, reason

if TYPE_CHECKING:
    import httpx2

    from ...transport.guard import Guard

State = Literal["idle", "starting", "up", "resting", "closed"]
Tell: TypeAlias = Callable[[JsonObject], None]
Send: TypeAlias = Callable[[McpSession, TimeLimit, Tell], Awaitable[JsonObject]]

_NO_SESSION = {
    "Session terminated",  # the SDK, of an HTTP 404
    "Session not found",  # the TypeScript SDK's transport
    "Bad Request: No valid session ID provided",  # its example, which many servers copy
}
_QUIET = frozenset(
    {
        *("server/discover", "ping", "subscriptions/listen", "resources/subscribe", "resources/unsubscribe"),
        *("tools/list", "resources/list", "resources/templates/list", "prompts/list", "logging/setLevel"),
        "completion/complete",
    }
)
"""Requests during which no server asks back: they go over whatever connection there is."""
_KNOWS_US = (401, 403, 407, 408, 429)
"""Statuses that show that the server knows POST here. Any other status from 400 to 499 may mean that it does not."""
PROBE_S = {"stdio": 10.0, "http": 60.0, "sse": 10.0}
"""Seconds in which a server tells whether it is modern. A login has as long as a person needs."""
LOGIN_S = 600.0
PATIENT = 2
"""The number of failures in a row that are waited out; after more, a caller is told at once."""


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


class McpConnection:
    """The way to one server.

    Args:
        server: as it is configured.
        clock: time.
        auth: logs in at a remote one.
        changed: is told of each notification that belongs to no request, such as a list that changed.
        logged: is told what the server logs while no call is under way.
        secrets: that its configuration names.
        era: what was found out before, where that is remembered.
        guard: decides where requests may go; one that lets a person's own server through, by default.
        vet: looks at each connection once it is up, before anything else is done over it; may raise to refuse that.
        log_level: from which on it is to tell what it logs; empty for not at all.
        capabilities: what its callers will mostly be able to do: a handshake that is needed before the first of them
            comes declares it.
        quota: bounds how many sessions there are, where several connections to one server share the bound.

    Attributes:
        health: how it does.
        outside: what a local server tries to open outside its jail.
    """

    def __init__(
        self,
        server: McpServer,
        *,
        clock: Clock | None = None,
        auth: httpx2.Auth | None = None,
        changed: Callable[[str, JsonObject], None] | None = None,
        logged: Logged | None = None,
        secrets: Mapping[str, str] | None = None,
        era: McpEra = "auto",
        guard: Guard | None = None,
        vet: Callable[[McpSession], Awaitable[None]] | None = None,
        log_level: str = "",
        capabilities: JsonObject | None = None,
        quota: SessionQuota | None = None,
    ) -> None:
        if not server.command and not server.url:
            raise UsageError("MCP server {name!r}: give a command or a url", name=server.name)
        self.server = server
        self.health = Health()
        self._clock: Clock = clock or SystemClock()
        self._auth = auth
        self._changed = changed
        self._logged = logged
        self._secrets = secrets or {}
        self._era: McpEra = server.era if server.era != "auto" else era
        self._guard = guard
        self.outside = OpenedOutside()
        self._vet = vet
        self._log_level = log_level
        self._transport: McpTransport = server.transport or ("http" if server.url else "stdio")
        self._status = 0
        self._why = ""
        self._is_closed = self._broke = False
        self._facts: ServerFacts | None = None
        self._pool = SessionPool(server, quota or SessionQuota(server), self._clock, capabilities or {}, self._open)
        self._listener = Listener(server.name, self._pool, self._clock)

    # What others do with it -------------------------------------------------------------------------------------------

    @property
    def is_up(self) -> bool:
        """There is a session."""
        return any(link.is_up for link in self._pool.links)

    @property
    def rests_s(self) -> float:
        """Seconds until it is tried again, after it failed; 0 where it may be tried at once."""
        health = self.health
        pause = PAUSES_S[min(health.failures, len(PAUSES_S) - 1)]
        return max(0.0, health.since + pause - self._clock.now()) if health.state == "resting" else 0.0

    async def facts(self, *, caller: Caller = NOBODY, holder: Holder | None = None) -> ServerFacts:
        """What the server says of itself; it is reached for that, over the session of the holder where one is given.

        Raises:
            Unavailable: it can not be reached.
        """
        async with self._borrowed(caller, holder, "server/discover") as (_, session):
            return session.facts

    async def request(
        self,
        method: str,
        params: JsonObject,
        *,
        caller: Caller = NOBODY,
        holder: Holder | None = None,
        header_schema: JsonObject | None = None,
        paused: JsonObject | None = None,
        ready: Callable[[], None] | None = None,
        settles: bool = True,
    ) -> JsonObject:
        """Send a request and return its raw result; what the server asks back is answered by the caller.

        Args:
            caller: the caller on whose behalf the request is made.
            holder: the holder whose session is used; see `mcp.pool`.
            header_schema: the schema of the tool that is called.
            paused: where it stopped before; see `McpSession.request`.
            ready: is called once the connection is there, just before the request is sent; may raise to hold it back.
            settles: what the server answers with a task is waited for; else its handle is the result.

        Raises:
            Unavailable: the server can not be reached; nothing was sent.
            McpError: it refuses.
            CallTimeout: no word from it in time, or the connection was lost: it may have happened.
            InputRequired: it asks what nobody can answer now.
        """

        async def send(session: McpSession, limit: TimeLimit, progress: Tell) -> JsonObject:
            if ready is not None:
                ready()
            return await session.request(
                method, params, caller, limit, progress, header_schema, paused, settles=settles
            )

        return await self._in_time(method, caller, holder, send)

    async def request_once(
        self,
        method: str,
        params: JsonObject,
        *,
        caller: Caller = NOBODY,
        holder: Holder | None = None,
        header_schema: JsonObject | None = None,
    ) -> JsonObject:
        """As `request`, but what the server answers is returned as it is, also when it asks back."""

        async def send(session: McpSession, _: TimeLimit, progress: Tell) -> JsonObject:
            return await session.once(method, params, caller, progress, header_schema)

        return await self._in_time(method, caller, holder, send)

    async def list_all(
        self,
        method: str,
        *,
        caller: Caller = NOBODY,
        holder: Holder | None = None,
        note: Callable[[CallError | None], None] | None = None,
    ) -> list[JsonObject]:
        """All that a list holds, page by page.

        Args:
            method: `tools/list`, `resources/list`, `resources/templates/list` or `prompts/list`.
            note: is told why the list is not whole, and None where it is; left out, what was listed is not returned
                then.

        Raises:
            CallError: the server refuses the first page; or any, or its pages do not end, where nothing is noted.
        """

        async def send(params: JsonObject) -> JsonObject:
            return await self.request(method, params, caller=caller, holder=holder)

        listed = await all_pages(method, send)
        if note is not None:
            note(listed.fault)
        elif listed.fault is not None:
            raise listed.fault
        return listed.items

    async def notify(
        self, method: str, params: JsonObject, *, caller: Caller = NOBODY, holder: Holder | None = None
    ) -> None:
        """Send a notification."""
        async with self._borrowed(caller, holder, "ping") as (_, session):
            await session.notify(method, params)

    async def roots_changed(self, caller: Caller, *, holder: Holder | None = None) -> None:
        """Tell a server with a handshake that the directories of a caller are others than before: over the session of
        the holder, or without one over each session that was begun for such a caller. From now on it may ask for them
        while no request is under way.
        """
        for link in [each for each in self._pool.links if each.is_up and each.capabilities == caller.capabilities]:
            if holder is None or link.owner == holder.key:
                link.standing = caller
                assert link.session is not None
                await link.session.notify("notifications/roots/list_changed", {})

    async def close(self) -> None:
        """End all connections, in whatever task this is called, those that are being opened included."""
        self._is_closed = True
        await self._listener.close()
        await self._pool.close()
        self._become("closed")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # Listening --------------------------------------------------------------------------------------------------------

    def listen(self, uris: Sequence[str] = (), *, holder: Holder | None = None, caller: Caller = NOBODY) -> None:
        """From now on be told of lists that change, and of these resources; `changed` hears of it.

        A server without a handshake is asked by a request that stays open, and asked again when that breaks off.

        Args:
            uris: resources, beside those that are listened to already.
            holder: over whose session; over any where it is left out.
            caller: what the server is told that it may ask, where a session is opened for this.
        """
        self._listener.listen(uris, holder, caller)

    def unlisten(self, uris: Sequence[str], *, holder: Holder | None = None) -> None:
        """Be told of these resources no more. A server with a handshake has to be asked for that, too."""
        self._listener.unlisten(uris, holder, again=self._facts is not None and self._facts.era == "modern")

    async def listen_for(self, notifications: JsonObject, caller: Caller, *, holder: Holder | None = None) -> None:
        """Be told of these, beside all else, for as long as this is awaited; `changed` hears of it."""
        async with self._borrowed(caller, holder, "subscriptions/listen") as (_, session):
            await session.once("subscriptions/listen", {"notifications": notifications}, caller)

    # Sending ----------------------------------------------------------------------------------------------------------

    async def _in_time(self, method: str, caller: Caller, holder: Holder | None, send: Send) -> JsonObject:
        try:
            return await self._sent(method, caller, holder, send)
        except McpError as error:
            if not _lost_its_session(error):
                raise
        return await self._sent(method, caller, holder, send)  # the server forgot the session, and did nothing

    async def _sent(self, method: str, caller: Caller, holder: Holder | None, send: Send) -> JsonObject:
        async with self._borrowed(caller, holder, method) as (link, session):
            limit = TimeLimit(self._clock, self.server.timeout, self.server.max_timeout)

            def progress(told: JsonObject) -> None:
                limit.heard()
                caller.told("notifications/progress", told)

            link.limits.add(limit)
            try:
                async with limit.kept(method):
                    result = await send(session, limit, progress)
            except McpError as error:
                if _lost_its_session(error):
                    await link.end()
                raise
            except (Lost, Unavailable) as error:
                self._missed(link, error)
                raise
            finally:
                link.limits.discard(limit)
            self._answered()
            return result

    @asynccontextmanager
    async def _borrowed(
        self, caller: Caller, holder: Holder | None, method: str
    ) -> AsyncIterator[tuple[ServerLink, McpSession]]:
        """A connection for one request of this caller."""
        if method in _QUIET:
            link = await self._pool.any(caller, holder)
            yield link, self._session_of(link)
            return
        async with self._pool.lent(caller, holder) as link:
            yield link, self._session_of(link)

    def _session_of(self, link: ServerLink) -> McpSession:
        if link.session is None:
            raise unreached(self.server.name, "the connection broke.")
        return link.session

    # Opening ----------------------------------------------------------------------------------------------------------

    async def _open(self, capabilities: JsonObject) -> ServerLink:
        """Start a connection and have a look at it, after a pause where the last ones failed.

        Raises:
            Unavailable: it does not come up.
        """
        await self._pause()
        if self._is_closed:
            raise unreached(self.server.name, "its connection was closed.")
        self.health.restarts += self._broke
        self._broke = False
        if not self.is_up:
            self._become("starting")
        self._status = 0
        before = self._transport, self._era
        try:
            link = await self._started(capabilities)
        except Exception as error:  # noqa: BLE001 - the caller hears that the server can not be reached
            if not self._tries_another_way(error):
                failed = self._failed(error)
                if isinstance(error, CallTimeout):  # a hung server keeps everybody waiting: it is left alone for long
                    self.health.failures = max(self.health.failures, len(PAUSES_S) - 1)
                raise failed from None
            try:
                link = await self._started(capabilities)
            except Exception:  # noqa: BLE001 - the first failure is the one that is told
                self._transport, self._era = before
                raise self._failed(error) from None
        await self._look_at(link)
        return link

    async def _look_at(self, link: ServerLink) -> None:
        """Have a connection vetted, and let it be used."""
        session = self._session_of(link)
        self._facts = session.facts
        self._era = self._facts.era
        try:
            if self._vet is not None:
                await self._vet(session)
        except BaseException as error:
            await link.end()
            if isinstance(error, CallError):
                self._failed(error)
            raise
        link.open_up()
        self._become("up")

    def _tries_another_way(self, error: Exception) -> bool:
        """Whether it may be a server of old that can not bear to be asked for its era, and is spoken to as such now."""
        if self._may_be_of_old(error):
            self._transport = "sse"
            return True
        is_pinned = self.server.era != "auto" or self._era == "legacy"
        if self._transport == "stdio" and not is_pinned and isinstance(error, Unavailable):
            self._era = "legacy"  # some end themselves at any request before the handshake
            return True
        return False

    def _may_be_of_old(self, error: Exception) -> bool:
        """Whether a bare address may be that of a server that only knows the older SSE."""
        if self._transport != "http" or self.server.transport or not isinstance(error, CallError):
            return False
        return 400 <= self._status < 500 and self._status not in _KNOWS_US

    async def _pause(self) -> None:
        """After failures the next try waits; after several, the caller is told so at once."""
        left = self.rests_s
        if left > 0 and self.health.failures > PATIENT:
            raise unreached(self.server.name, f"{self._why} It is tried again in {left:.0f} s.")
        if left > 0:
            await self._clock.sleep(left)

    async def _started(self, capabilities: JsonObject) -> ServerLink:
        is_remote = self._transport != "stdio"
        link = ServerLink(
            capabilities, self._clock, self._log_level, self._changed, logged=self._logged, is_remote=is_remote
        )

        def note(status: int) -> None:
            self._status = status
            if self._transport == "sse" and not 200 <= status < 300:
                link.over.set()  # its answers come another way: nothing else would tell the waiting caller

        health = self.health
        streams = opened(
            self.server, self._transport, health.stderr, self._auth, self._secrets, note, self._guard, self.outside
        )
        self._pool.links.append(link)
        try:
            await link.start(streams, self._begin, f"mcp {self.server.name}")
        except BaseException:
            self._pool.links.remove(link)
            raise
        link.watch(lambda: self._left(link))
        return link

    def _left(self, link: ServerLink) -> None:
        """A connection ended."""
        self._pool.left(link)
        if not link.is_wanted_over:
            self._broke = True
            self._failed(ConnectionResetError())

    async def _begin(self, session: McpSession) -> None:
        """The first exchange. A login takes as long as a person needs."""
        patient = self._transport == "http"
        probe_s = LOGIN_S if self._auth is not None else PROBE_S[self._transport]
        begin_s = LOGIN_S if self._auth is not None else self.server.timeout
        era: McpEra = "legacy" if self._transport == "sse" else self._era
        try:
            await session.begin(era, probe_s, begin_s, silence_is_legacy=not patient)
        except (McpError, InvalidResult):
            if era == "auto" or self.server.era != "auto" or self._transport == "sse":
                raise
            await session.begin("auto", probe_s, begin_s, silence_is_legacy=not patient)  # it is not what it was

    # Health -----------------------------------------------------------------------------------------------------------

    def _answered(self) -> None:
        self.health.failures, self.health.problem = 0, ""
        if self.health.state == "resting":
            self._become("up")

    def _missed(self, link: ServerLink, error: CallError) -> None:
        """A request had no answer. Over HTTP that is of this one request: what is connected is a matter of each."""
        if self._transport == "http":
            self._failed(error)
        elif isinstance(error, Lost):
            self._broke = True
            link.over.set()

    def _failed(self, error: BaseException) -> CallError:
        """Count a failure, and return the error that the caller gets."""
        self.health.failures += 1
        self._why = reason(error, self.server, self._status)
        wrote = f" It wrote: {self.health.stderr[-1][:200]}" if self.health.stderr else ""
        self.health.problem = self._why + wrote  # for people; a model is told nothing that the server wrote
        self._become("resting")
        if isinstance(error, LoginNeeded | LoginFailed):  # another try would end the same
            return error
        return unreached(self.server.name, self._why)

    def _become(self, state: State) -> None:
        self.health.state, self.health.since = state, self._clock.now()


def _lost_its_session(error: McpError) -> bool:
    """The server does not know the session, after a restart say, and so did nothing."""
    return error.words in _NO_SESSION
