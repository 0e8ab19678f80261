"""How much work something is, counted and not timed: what a busy machine makes slow must not fail a test.

Time itself is measured in `bench/`, against a floor in the same run.
"""

from __future__ import annotations

import asyncio
import cProfile
import gc
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from types import FrameType


class Effort:
    """The calls of functions, Python's and C's, that a block of this thread made; known when the block has ended."""

    calls = 0


@contextmanager
def _uncollected() -> Iterator[None]:
    """A block in which nothing is cleared away: what other tests left behind is not the work of this one."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextmanager
def effort() -> Iterator[Effort]:
    """Counts what the block does.

    Example:
        with effort() as spent:
            sorted([2, 1])
        assert spent.calls < 10
    """
    spent, profile = Effort(), cProfile.Profile()  # which counts in C: a counter in Python takes many times longer
    with _uncollected():
        profile.enable()
        try:
            yield spent
        finally:
            profile.disable()
        spent.calls = sum(entry.callcount for entry in profile.getstats())


class Turns:
    """The turns of the loop of this thread.

    Attributes:
        held: the most calls that were made between two turns.
    """

    def __init__(self) -> None:
        self.held = 0
        self._calls = 0

    def count(self, frame: FrameType, event: str, what: object) -> None:
        if event in ("call", "c_call"):
            self._calls += 1

    async def turn(self) -> None:
        while True:
            self._calls = 0
            await asyncio.sleep(0)
            self.note()

    def note(self) -> None:
        self.held = max(self.held, self._calls)


@asynccontextmanager
async def turns_counted() -> AsyncIterator[Turns]:
    """Counts what this thread does between two turns of its event loop."""
    turns, before = Turns(), sys.getprofile()
    turning = asyncio.create_task(turns.turn())
    with _uncollected():
        sys.setprofile(turns.count)  # of this thread alone
        try:
            yield turns
        finally:
            sys.setprofile(before)
            turning.cancel()
            turns.note()  # of the last turn, which has no other behind it
