"""Looks up the names of hosts by the system's resolver, many of them at the same time.

The resolver blocks, and for ten seconds or more where no name server answers. An event loop would call it in threads
that other work needs as well: six of them on a machine with two cores, and with uvloop two. Here the resolver has
threads of its own, and the end of the process waits for none of them.
"""

from __future__ import annotations

import asyncio
import functools
import os
import socket
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from ..core.process.daemon_threads import Threads, in_thread

THREADS_MAX = 64
"""The most names that are looked up at the same time; others wait for their turn."""

Ask = Callable[[str, int], Sequence[tuple[Any, ...]]]
"""What the resolver says of a host and a port, as `socket.getaddrinfo` says it."""

SYSTEM: Ask = partial(socket.getaddrinfo, type=socket.SOCK_STREAM)
"""The resolver of the system."""


class _LookUp:
    """A look-up under way.

    Attributes:
        task: gives what the resolver answers.
        waiting: how many callers wait for the answer.
    """

    def __init__(self, ask: Callable[[], Sequence[tuple[Any, ...]]]) -> None:
        self.task = asyncio.ensure_future(in_thread(ask, _threads_of(os.getpid())))
        self.waiting = 0


class HostLookup:
    """Looks names up. Callers who ask for the same name at the same time share one look-up.

    Args:
        ask: the resolver; the system's by default.
    """

    def __init__(self, ask: Ask = SYSTEM) -> None:
        self._ask = ask
        self._all: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, int], _LookUp]] = WeakKeyDictionary()

    async def __call__(self, host: str, port: int) -> list[str]:
        """The IP addresses to which a name leads.

        Raises:
            OSError: the name is not known, or no name server answers.
        """
        under_way, key = self._all.setdefault(asyncio.get_running_loop(), {}), (host, port)
        one = under_way.get(key)
        if one is None:
            one = under_way[key] = _LookUp(partial(self._ask, host, port))
        one.waiting += 1
        try:
            found = await asyncio.shield(one.task)
        finally:
            one.waiting -= 1
            if not one.waiting:  # answered, or nobody wants the answer any more: then no thread need begin
                one.task.cancel()
                if under_way.get(key) is one:
                    del under_way[key]
        return list(dict.fromkeys(str(place[0]).partition("%")[0] for *_, place in found))


look_up = HostLookup()
"""Looks a name up by the system's resolver."""


@functools.cache
def _threads_of(_pid: int) -> Threads:
    """One pool a process: threads do not live through a fork."""
    return Threads(THREADS_MAX, "actum-host")
