"""Names of hosts are looked up side by side, and each once."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

import pytest

from actum.transport.host_lookup import THREADS_MAX, HostLookup, look_up
from tests.patience import HANGS_S

pytestmark = pytest.mark.row("T10")


class Resolver:
    """Blocks until it is told to answer, and notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answers = threading.Event()
        self.busy = threading.Semaphore(0)

    def __call__(self, host: str, port: int) -> list[tuple[Any, ...]]:
        self.asked.append(host)
        self.busy.release()
        assert self.answers.wait(HANGS_S)
        if host == "unknown":
            raise socket.gaierror(socket.EAI_NONAME, "not known")
        return [(0, 0, 0, "", ("192.0.2.1", port)), (0, 0, 0, "", ("fe80::1%eth0", port, 0, 2))]

    async def is_asked(self, times: int) -> None:
        for _ in range(times):
            assert await asyncio.to_thread(self.busy.acquire, timeout=HANGS_S)


async def test_as_many_names_as_there_are_threads_are_looked_up_at_the_same_time_and_each_once() -> None:
    resolver = Resolver()
    names = [f"h{each}" for each in range(THREADS_MAX - 1)] + ["unknown"]
    lookup = HostLookup(resolver)
    waiting = [asyncio.create_task(lookup(name, 443)) for name in names * 3]
    await resolver.is_asked(THREADS_MAX)
    resolver.answers.set()
    async with asyncio.timeout(HANGS_S):
        found = await asyncio.gather(*waiting, return_exceptions=True)
    assert sorted(resolver.asked) == sorted(names)
    assert [each for each in found if each != ["192.0.2.1", "fe80::1"]] == [found[len(names) - 1]] * 3
    assert isinstance(found[-1], socket.gaierror)
    assert await lookup("h0", 443) == ["192.0.2.1", "fe80::1"]
    assert resolver.asked.count("h0") == 2  # what was found is not kept


async def test_a_caller_who_leaves_takes_the_answer_from_no_other_and_what_nobody_wants_is_not_begun() -> None:
    resolver = Resolver()
    lookup = HostLookup(resolver)
    filling = [asyncio.create_task(lookup(f"h{each}", 443)) for each in range(THREADS_MAX)]
    await resolver.is_asked(THREADS_MAX)
    left = [asyncio.create_task(lookup(name, 443)) for name in ("h0", "late", "later")]
    stays = [asyncio.create_task(lookup("late", 443))]
    await asyncio.wait(left, timeout=0)  # each has begun to wait
    for task in left:
        task.cancel()
    await asyncio.wait(left)
    again = asyncio.create_task(lookup("later", 443))  # after its first look-up was given up
    resolver.answers.set()
    async with asyncio.timeout(HANGS_S):
        assert await asyncio.gather(*filling, *stays, again) == [["192.0.2.1", "fe80::1"]] * (THREADS_MAX + 2)
    assert (resolver.asked.count("late"), resolver.asked.count("later")) == (1, 1)


async def test_the_resolver_of_the_system_knows_this_machine() -> None:
    assert "127.0.0.1" in await look_up("localhost", 80)
