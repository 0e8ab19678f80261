"""How long a request may take, on an event loop whose time is turned by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from actum.core.clock import SystemClock
from actum.core.errors import CallTimeout
from actum.toolsets.mcp.limit import TimeLimit


class TurnedLoop(asyncio.SelectorEventLoop):
    """An event loop that thinks it is later than it is."""

    ahead = 0.0

    def time(self) -> float:
        return super().time() + self.ahead

    async def turn(self, seconds: float) -> None:
        """Let so many seconds pass, and whatever is due happen."""
        self.ahead += seconds
        for _ in range(3):
            await asyncio.sleep(0)


def within(limit: Callable[[TurnedLoop, TimeLimit], Awaitable[None]]) -> None:
    """Run something under a limit of 60 seconds without a word, and 600 in all."""

    async def run() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, TurnedLoop)
        time_limit = TimeLimit(SystemClock(), 60, 600)
        async with time_limit.kept("tools/call"):
            await limit(loop, time_limit)

    with asyncio.Runner(loop_factory=TurnedLoop) as runner:
        runner.run(run())


def test_silence_ends_a_request() -> None:
    async def silent(loop: TurnedLoop, _: TimeLimit) -> None:
        await loop.turn(61)

    with pytest.raises(CallTimeout, match="did not answer tools/call in time"):
        within(silent)


def test_each_word_begins_the_time_anew() -> None:
    async def talking(loop: TurnedLoop, limit: TimeLimit) -> None:
        for _ in range(9):
            await loop.turn(55)
            limit.heard()

    within(talking)


def test_talking_does_not_help_for_ever() -> None:
    turns: list[int] = []

    async def talking(loop: TurnedLoop, limit: TimeLimit) -> None:
        for turn in range(20):
            turns.append(turn)
            await loop.turn(55)
            limit.heard()

    with pytest.raises(CallTimeout):
        within(talking)
    assert len(turns) == 11


def test_the_time_of_a_person_does_not_count() -> None:
    async def asked(loop: TurnedLoop, limit: TimeLimit) -> None:
        await loop.turn(50)
        with limit.held():
            await loop.turn(100_000)
        await loop.turn(50)

    within(asked)


def test_what_takes_too_long_by_another_limit_is_not_told_as_this_one() -> None:
    async def impatient(loop: TurnedLoop, _: TimeLimit) -> None:
        async with asyncio.timeout(1):
            await loop.turn(2)

    with pytest.raises(TimeoutError):
        within(impatient)
