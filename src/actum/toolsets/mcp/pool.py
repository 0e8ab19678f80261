"""The sessions with one MCP server: which holder has which, who gets an idle one, and who waits.

A session belongs to one holder (a conversation, a run, a client): all of the holder's calls go over it, side by side,
so that they meet one state. An idle session may be taken over by another holder of the same user, never by another
user. A caller without a holder is one itself, for as long as a request of it is under way.

Two kinds of servers have no sessions to speak of: a remote one that speaks the protocol without a handshake, to which
one connection is shared by all, and one that is configured as `stateless`, whose sessions are lent to call by call.

Knows nothing of how a session is opened; see `mcp.connection`.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

from ...core.errors import Unavailable
from ...core.holder import Holder, HolderKey
from ...core.interfaces import Clock
from ...core.json import JsonObject
from ...core.user import User
from ...protocols.mcp.config import McpServer
from .error import unreached
from .link import ServerLink
from .session import NOBODY, Caller, OfRun
from .session_quota import SessionQuota

Owner: TypeAlias = HolderKey | Caller | None
"""Whose a session is: a holder's by its key, a caller's that has no holder, or nobody's yet."""
Open: TypeAlias = Callable[[JsonObject], Awaitable[ServerLink]]

GIVEN_BACK_S = 300.0
"""Seconds for which the session of a run that waits for a person is kept for it."""
REMEMBERED_MAX = 10_000
"""The most holders that are remembered to have had a session."""


class _Opening:
    """A session that is being opened, and those who wait for it.

    Attributes:
        link: the session, once it is there.
        task: opens it.
    """

    task: asyncio.Task[None]

    def __init__(self) -> None:
        self.link: ServerLink | None = None
        self._waiting = 0

    @property
    def is_expected(self) -> bool:
        """Somebody waits for it, and has not taken it yet: nobody else may."""
        return self._waiting > 0 or not self.task.done()

    async def failed(self) -> BaseException | None:
        """Wait until it is there; what went wrong, where it does not come. When nobody waits any more it is broken
        off.
        """
        self._waiting += 1
        try:
            await asyncio.wait([self.task])
        finally:
            self._waiting -= 1
            if not self._waiting and not self.task.done():
                self.task.cancel()
                await asyncio.wait([self.task])
        return asyncio.CancelledError() if self.task.cancelled() else self.task.exception()


class SessionPool:
    """The sessions with one server.

    Args:
        server: as it is configured.
        quota: bounds how many there are.
        clock: time.
        declared: capabilities that a session declares which is opened for nobody in particular.
        open: opens a session that declares these capabilities.

    Attributes:
        links: the sessions, those that are being opened included.
    """

    def __init__(self, server: McpServer, quota: SessionQuota, clock: Clock, declared: JsonObject, open: Open) -> None:
        self._server = server
        self._quota = quota
        self._clock = clock
        self._declared = declared
        self._open = open
        self.links: list[ServerLink] = []
        self._openings: dict[object, _Opening] = {}
        self._expected: list[_Opening] = []
        self._endings: set[asyncio.Task[None]] = set()
        self._had: dict[HolderKey, None] = {}
        self._is_closed = False
        quota.join(self)

    # Lending ----------------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def lent(self, caller: Caller, holder: Holder | None) -> AsyncIterator[ServerLink]:
        """The session of a holder, for one request during which the server may ask back.

        Raises:
            Unavailable: it can not be opened, or all sessions are in use for too long.
        """
        link = await self._get(holder.key if holder is not None else caller, holder, caller)
        self._note_use(link, caller, holder)
        link.callers.append(caller)
        try:
            yield link
        finally:
            link.callers.remove(caller)
            if not link.callers:
                link.idle_since = self._clock.now()
            self._quota.notify()

    async def any(self, caller: Caller, holder: Holder | None) -> ServerLink:
        """The session of a holder for a request during which no server asks back; any where no holder is given."""
        if holder is not None:
            return await self._get(holder.key, holder, caller)
        up = next((link for link in self.links if link.is_up), None)
        return up or await self._get(None, None, caller)

    async def listened(self, holder: Holder | None) -> ServerLink:
        """The session of a holder, or any where none is given, once there is one: none is opened for this."""
        while True:
            for link in self.links:
                if link.is_up and (holder is None or link.owner == holder.key or link.is_shared):
                    return link
            await self._quota.wait()

    async def _get(self, owner: Owner, holder: Holder | None, caller: Caller) -> ServerLink:
        late_at = 0.0
        while True:
            self._check_open()
            if holder is not None:
                holder.watch(self._heard_of)
            link = self._found(owner, caller)
            if link is not None:
                if owner is not None:
                    link.owner, link.holder = owner, holder
                return link
            opening = self._opening(owner)
            if opening is None and self._quota.is_full:
                late_at = late_at or self._clock.now() + self._server.timeout
                await self._make_room(owner, late_at)
                continue
            opening = opening or self._begin(owner, holder, caller)
            error = await opening.failed()
            if isinstance(error, asyncio.CancelledError):
                continue  # it was closed, or the caller that had it opened did not wait
            if error is not None:
                raise copy.copy(error)  # each of several who wait may write its own facts into the error

    def _found(self, owner: Owner, caller: Caller) -> ServerLink | None:
        """A session that this owner may use now, without another being opened."""
        up = [link for link in self.links if link.is_up]
        shared = next((link for link in up if link.is_shared), None)
        if shared is not None or owner is None:
            return shared or next(iter(up), None)
        if self._server.stateless:
            return self._copy(up, owner, caller)
        own = next((link for link in up if link.owner == owner), None)
        if own is not None:
            return own
        free = [link for link in up if link.declares(caller) and self._is_free(link) and _same(link.owner, owner)]
        handed = [link for link in free if link.holder is None or not link.holder.alone]
        ready = [link for link in handed if link.holder is None or link.holder.state == "left" or self._quota.is_full]
        return min(ready, key=lambda link: (link.owner is not None, link.idle_since), default=None)

    def _copy(self, up: list[ServerLink], owner: Owner, caller: Caller) -> ServerLink | None:
        """A session of a server that keeps no state: one that is free, or where all are in use, the owner's that has
        the least to do.
        """
        fitting = [link for link in up if link.declares(caller)]
        free = next((link for link in fitting if not link.callers), None)
        if free is not None or not self._quota.is_full:
            return free
        return min((link for link in fitting if link.owner == owner), key=lambda link: len(link.callers), default=None)

    def _opening(self, owner: Owner) -> _Opening | None:
        """A session that is being opened and may be this owner's."""
        if self._server.stateless and owner is not None:
            return None
        unclaimed = self._openings.get(None)
        return unclaimed if unclaimed is not None else self._openings.get(owner)

    def _begin(self, owner: Owner, holder: Holder | None, caller: Caller) -> _Opening:
        """Open a session in a task of its own: a caller that stops waiting for it breaks it off for nobody else."""
        capabilities = self._declared if caller is NOBODY and owner is None else caller.capabilities
        # Whether a remote server has sessions is known once one was opened: until then all wait for the first.
        alone = None if self._server.url and not self.links else owner
        key: object = object() if self._server.stateless and owner is not None else alone
        self._quota.enter()
        opening = self._openings[key] = _Opening()

        async def opened() -> None:
            try:
                link = await self._open(capabilities)
            except BaseException:
                self._quota.leave()
                raise
            link.owner, link.holder, link.idle_since = owner, holder, self._clock.now()
            opening.link = link
            if link in self.links:
                link.is_counted = True
            else:  # it has ended already
                self._quota.leave()

        def done(task: asyncio.Task[None]) -> None:
            del self._openings[key]
            if not task.cancelled():
                task.exception()  # the callers that waited may have gone
            self._quota.notify()

        opening.task = asyncio.create_task(opened(), name=f"mcp {self._server.name} opens")
        opening.task.add_done_callback(done)
        self._expected.append(opening)
        return opening

    async def _make_room(self, owner: Owner, late_at: float) -> None:
        """End a session that nobody needs, or wait until something has changed.

        Raises:
            Unavailable: all sessions were in use for too long.
        """
        if await self._quota.make():
            return
        now = self._clock.now()
        if now >= late_at:
            name, most = self._server.name, self._quota.most
            raise Unavailable(
                "All {most} sessions with the MCP server {name!r} are in use; nothing was sent.", most=most, name=name
            )
        paused = [link.left_at + GIVEN_BACK_S for link in self.links if link.holder and link.holder.state == "paused"]
        soon = [at for at in paused if at > now]
        limit = self._clock.timeout(min([late_at, *soon]) - now)
        try:
            async with limit:
                await self._quota.wait()
        except TimeoutError:
            if not limit.expired():
                raise

    def _note_use(self, link: ServerLink, caller: Caller, holder: Holder | None) -> None:
        """A holder's first call over a session: it hears whether it had another session before."""
        if holder is None or link.served == holder.key or link.is_shared or self._server.stateless:
            return
        link.served = holder.key
        if isinstance(caller, OfRun):
            caller.found_new(had=holder.key in self._had)
        self._had.pop(holder.key, None)
        self._had[holder.key] = None
        if len(self._had) > REMEMBERED_MAX:
            del self._had[next(iter(self._had))]

    # Giving back ------------------------------------------------------------------------------------------------------

    def _is_free(self, link: ServerLink) -> bool:
        """Nobody needs it now."""
        self._expected = [opening for opening in self._expected if opening.is_expected]
        if link.callers or any(opening.link is link for opening in self._expected):
            return False
        if link.holder is None or self._server.stateless:
            return True
        if link.holder.state == "paused":
            return self._clock.now() >= link.left_at + GIVEN_BACK_S
        return link.holder.state != "here"

    def spare(self) -> ServerLink | None:
        """The session that was idle for the longest time and that nobody needs now."""
        free = [link for link in self.links if link.is_up and link.is_idle and self._is_free(link)]
        return min(free, key=lambda link: link.idle_since, default=None)

    def _heard_of(self, holder: Holder) -> None:
        """A holder needs its session no more, or again."""
        for link in [link for link in self.links if link.holder is holder]:
            link.left_at = self._clock.now()
            if holder.state == "over" and not link.is_shared:
                self._end(link)
        if holder.state == "over":
            self._had.pop(holder.key, None)
        self._quota.notify()

    def _end(self, link: ServerLink) -> None:
        ending = asyncio.create_task(link.end())
        self._endings.add(ending)
        ending.add_done_callback(self._endings.discard)

    def left(self, link: ServerLink) -> None:
        """A session has ended."""
        self.links.remove(link)
        if link.is_counted:
            self._quota.leave()

    def _check_open(self) -> None:
        if self._is_closed:
            raise unreached(self._server.name, "its connection was closed.")

    async def close(self) -> None:
        """End all sessions, those that are being opened included."""
        self._is_closed = True
        openings = [opening.task for opening in self._openings.values()]
        await asyncio.gather(*(link.end() for link in self.links), *self._endings)
        for opening in openings:
            opening.cancel()
        if openings:
            await asyncio.wait(openings)
        await asyncio.gather(*(link.end() for link in self.links))  # one that came up meanwhile
        self._quota.notify()
        self._quota.quit(self)


def _same(one: Owner, other: Owner) -> bool:
    """Whether a session of one may be taken over by the other: they act for the same user, or it is nobody's."""
    return one is None or _user(one) == _user(other)


def _user(owner: Owner) -> User:
    return owner[0] if isinstance(owner, tuple) else User()


__all__ = ["GIVEN_BACK_S", "SessionPool"]
