"""How many sessions with an MCP server there may be at a time, in all the pools of sessions that share the bound.

Who wants one more session asks here for quota: where the bound is reached, the session that was idle for the longest
time is ended, in whichever pool it is. A session that somebody needs is never ended for another.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from ...protocols.mcp.config import McpServer
from .link import ServerLink


class CountedPool(Protocol):
    """A pool of sessions that counts here."""

    def spare(self) -> ServerLink | None:
        """The session that was idle for the longest time and that nobody needs now; None where there is none."""


class SessionQuota:
    """The bound for one server.

    Args:
        server: as it is configured.

    Attributes:
        most: the most sessions.
        taken: how many sessions there are, those that are being opened or ended included.
    """

    def __init__(self, server: McpServer) -> None:
        self.most = server.sessions_max
        self.taken = 0
        self._tenants: list[CountedPool] = []
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def is_full(self) -> bool:
        """No further session may be opened."""
        return self.taken >= self.most

    def join(self, tenant: CountedPool) -> None:
        """A pool of sessions counts here from now on."""
        self._tenants.append(tenant)

    def quit(self, tenant: CountedPool) -> None:
        """It is closed."""
        if tenant in self._tenants:
            self._tenants.remove(tenant)

    def enter(self) -> None:
        """A session is being opened."""
        self.taken += 1

    def leave(self) -> None:
        """A session has ended, or was never opened."""
        self.taken -= 1
        self.notify()

    async def make(self) -> bool:
        """End a session that nobody needs.

        Returns:
            Whether there was one.
        """
        spare = [link for link in (tenant.spare() for tenant in self._tenants) if link is not None]
        if not spare:
            return False
        await min(spare, key=lambda link: link.idle_since).end()
        return True

    def notify(self) -> None:
        """Tell those who wait to look again, since something changed."""
        for future in self._waiting:
            if not future.done():
                future.set_result(None)

    async def wait(self) -> None:
        """Return when something has changed."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        try:
            await future
        finally:
            self._waiting.remove(future)
