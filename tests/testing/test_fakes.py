"""The fakes keep the contracts of what they stand for."""

from __future__ import annotations

import asyncio

import pytest

from actum.testing import FakeClock

pytestmark = pytest.mark.row("A1")


async def test_a_fake_clock_moves_on_after_a_block_has_ended() -> None:
    clock = FakeClock()
    for _ in range(3):
        async with clock.timeout(5):
            pass
    clock.advance(10)
    assert clock.now() == 1_000_010
    assert clock._timeouts == []


async def test_a_block_that_takes_too_long_is_ended_by_the_fake_clock() -> None:
    clock = FakeClock(auto=True)
    with pytest.raises(TimeoutError):
        async with clock.timeout(5):
            await clock.sleep(6)
            await asyncio.Event().wait()
