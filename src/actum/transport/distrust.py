"""Destinations that sent bytes which nobody had asked for. For a while no connection to them is kept.

Such bytes on a kept connection would be read as the answer to the next request, which may be another user's. What is
known is shared by all pools of connections of an event loop: what a destination did to a tool, it may do to a model.
"""

from __future__ import annotations

import asyncio
import logging
from weakref import WeakKeyDictionary

from .egress import Destination

DISTRUSTED_S = 600.0
"""Seconds for which a destination is used without kept connections."""
DESTINATIONS_MAX = 10_000

log = logging.getLogger("actum.transport")


class Distrust:
    """What is known to one event loop."""

    def __init__(self) -> None:
        self._until: dict[tuple[Destination, str | None], float] = {}

    def begin(self, to: Destination, why: str, now: float, *, tenant: str | None = None) -> None:
        """From now on no connection to a destination is kept, for ten minutes.

        Args:
            to: the destination.
            why: what it did, for the log.
            now: monotonic seconds.
            tenant: for whom alone, where a request may have provoked it: nobody can cost others their connections.
        """
        if not self.holds(to, now, tenant or ""):
            log.warning("%s: %s. Connections to it are not kept for the next %g minutes", to, why, DISTRUSTED_S / 60)
        self._until.pop((to, tenant), None)
        self._until[to, tenant] = now + DISTRUSTED_S
        if len(self._until) > DESTINATIONS_MAX:
            del self._until[next(iter(self._until))]  # the one whose time is over first

    def holds(self, to: Destination, now: float, tenant: str) -> bool:
        """Whether connections of a tenant to a destination are not kept now.

        Args:
            to: the destination.
            now: monotonic seconds.
            tenant: the tenant.
        """
        if not self._until:
            return False
        return any(self._until.get((to, each), 0.0) > now for each in (None, tenant))


_of_loops: WeakKeyDictionary[asyncio.AbstractEventLoop, Distrust] = WeakKeyDictionary()


def distrust() -> Distrust:
    """What is known to the running event loop."""
    return _of_loops.setdefault(asyncio.get_running_loop(), Distrust())
