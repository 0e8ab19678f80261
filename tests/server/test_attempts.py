"""Failed tries wait longer and longer, harm no good key, and stand on record in bounded numbers."""

from __future__ import annotations

import pytest

from actum.core.errors import JournalError
from actum.core.identity import Identity
from actum.core.json import JsonObject
from actum.core.stored.key import new_key
from actum.journal.audit import audit
from actum.journal.memory import MemoryJournal
from actum.server.attempts import FREE_PER_ADDRESS, FREE_PER_KEY, Attempts, TooManyAttempts, recorded_in
from actum.server.stored_keys import StoredKeys
from actum.testing import FakeClock
from tests.server.memory_keys import MemoryKeys

HOME, AWAY = "192.0.2.1", "198.51.100.9"


class RouteGroup:
    """A door with one good key, and strangers who try."""

    def __init__(self) -> None:
        self.clock = FakeClock(now=6000.0)
        self.journal = MemoryJournal(self.clock)
        self.store = MemoryKeys()
        self.verifier = StoredKeys(self.store, clock=self.clock)
        self.attempts = Attempts(recorded_in(self.journal), clock=self.clock)
        self.good, self.key = new_key("ci", principal="ann")

    async def open(self) -> RouteGroup:
        await self.store.add(self.key)
        return self

    async def comes(self, address: str, token: str) -> str | int:
        """Who comes in; empty for nobody, or the seconds to wait."""
        try:
            who: Identity | None = await self.attempts.check(self.verifier, address, token)
        except TooManyAttempts as refused:
            return refused.retry_after_s
        return who.principal if who is not None else ""

    async def lines(self) -> list[JsonObject | None]:
        return [line.arguments for line in [each async for each in audit(self.journal)]]


def guess(name: str = "ci") -> str:
    return new_key(name)[0]


async def test_each_failed_try_waits_twice_as_long_as_the_one_before() -> None:
    door = await RouteGroup().open()
    assert [await door.comes(AWAY, guess()) for _ in range(FREE_PER_KEY)] == [""] * FREE_PER_KEY
    waited = []
    for _ in range(8):
        wait = await door.comes(AWAY, guess())
        assert isinstance(wait, int)
        assert await door.comes(AWAY, door.good) == wait  # not even the right key is looked at
        waited.append(wait)
        door.clock.advance(wait)
        assert await door.comes(AWAY, guess()) == ""
    assert waited == [1, 2, 4, 8, 16, 32, 60, 60]
    door.clock.advance(1000.0)
    assert await door.comes(AWAY, guess()) == ""
    assert await door.comes(AWAY, door.good) == "ann"


async def test_a_stranger_elsewhere_locks_no_good_key_out() -> None:
    door = await RouteGroup().open()
    for _ in range(200):
        await door.comes(AWAY, guess())
    assert await door.comes(HOME, door.good) == "ann"


async def test_a_good_key_behind_the_same_proxy_as_a_stranger_goes_on() -> None:
    door = await RouteGroup().open()
    assert await door.comes(HOME, door.good) == "ann"
    for number in range(200):
        await door.comes(HOME, guess(f"k{number}"))
    assert await door.comes(HOME, guess("other")) != ""
    assert await door.comes(HOME, door.good) == "ann"
    await door.store.revoke("ci", at=1.0, by="root")
    assert await door.comes(HOME, door.good) == ""


async def test_one_address_that_tries_many_ids_waits_and_an_ipv6_network_is_one_address() -> None:
    door = await RouteGroup().open()
    tries = [await door.comes(f"2001:db8::{number:x}", guess(f"k{number}")) for number in range(FREE_PER_ADDRESS + 1)]
    assert tries == [""] * FREE_PER_ADDRESS + [1]
    assert await door.comes("2001:db8:0:1::1", guess()) == ""
    mapped = [await door.comes(address, guess()) for address in ("::ffff:192.0.2.7", "192.0.2.7") * FREE_PER_KEY]
    assert mapped[FREE_PER_KEY:] == [1] * FREE_PER_KEY


async def test_a_flood_of_bad_keys_is_one_record_a_minute_and_a_bounded_memory() -> None:
    door = await RouteGroup().open()
    for number in range(30_000):
        await door.comes(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}", "nonsense")
    assert await door.lines() == []
    door.clock.advance(60.0)
    assert await door.comes(HOME, door.good) == "ann"
    (line,) = await door.lines()
    assert line is not None
    tries = line["tries"]
    assert isinstance(tries, list)
    assert (len(tries), line["others"], str(line["minute"])) == (20, 29_980, "6000")
    assert tries[0] == {"address": "10.0.0.0", "key": "", "count": 1}
    assert len(door.attempts._failures) == 10_000
    await door.comes(AWAY, guess())
    await door.attempts.flush(at_end=True)
    assert len(await door.lines()) == 2
    await door.attempts.flush(at_end=True)
    assert len(await door.lines()) == 2


async def test_what_was_tried_stands_nowhere_in_the_journal() -> None:
    door = await RouteGroup().open()
    tried = guess("robot")
    await door.comes(AWAY, tried)
    await door.comes(AWAY, "my-password-123456")
    await door.attempts.flush(at_end=True)
    (run,) = await door.journal.runs()
    written = b"".join([entry.payload for entry in await door.journal.read(run.run_id)])
    assert b'"robot"' in written
    assert tried.partition("robot_")[2].encode() not in written
    assert b"my-password" not in written


async def test_an_outage_of_the_database_is_no_failed_try_and_one_of_the_journal_keeps_nobody_out() -> None:
    door = await RouteGroup().open()

    class Away:
        async def verify_token(self, token: str) -> Identity | None:
            raise JournalError("away")

    async def fails(act: str, arguments: JsonObject) -> None:
        raise JournalError("away")

    for _ in range(50):
        with pytest.raises(JournalError):
            await door.attempts.check(Away(), HOME, door.good)
    assert await door.comes(HOME, door.good) == "ann"
    door.attempts = Attempts(fails, clock=door.clock)
    await door.comes(HOME, guess())
    door.clock.advance(60.0)
    assert await door.comes(HOME, door.good) == "ann"
