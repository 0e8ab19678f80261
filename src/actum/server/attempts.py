"""Failed tries to come in: slowed down, and on record in bounded numbers.

    identity = await attempts.check(verifier, address, token)

Tries are counted per address together with the id of the key that was tried, and per address alone. After some failed
tries every further try has to wait, each time twice as long; while the wait lasts, no token is looked at. A stranger at
another address changes nothing for a good key. At the same address, such as behind one proxy of a company, a token that
was good before goes on to be looked at.

Failed tries are put on record once a minute at most: how often each address failed with which id, for some addresses,
and the rest as one number. So a flood of bad keys fills no journal. The record is written with the first try after the
minute, or at the end of the server; where the process is killed before that, it is lost.

Limits: tries that are looked at side by side are counted when each of them has failed.

The memory is bounded: of very many addresses those are forgotten that were quiet for longest. This file knows no
protocol and no web server.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from ipaddress import IPv6Address, ip_address

from msgspec import Struct

from ..core.clock import SystemClock
from ..core.errors import ActumError, JournalError
from ..core.identity import Identity
from ..core.interfaces import Clock, Journal
from ..core.json import Json, JsonObject
from ..core.stored.key import id_of
from ..runs.administration import put_on_record
from .verifier import Verifier

log = logging.getLogger("actum.server")

FREE_PER_KEY = 5
"""How many tries of one address with one key id may fail before the next has to wait."""
FREE_PER_ADDRESS = 20
"""How many tries of one address may fail, with any key, before the next has to wait."""
WAIT_MAX_S = 60.0
FORGET_S = 900.0
"""Seconds without a failed try after which earlier ones do not count any more."""
ADDRESSES_MAX = 10_000
GOOD_MAX = 10_000
"""The most addresses with their pairs, and the most good tokens, that are remembered."""
RECORDED_MAX = 20
"""The most pairs of an address and an id that are put on record for one minute."""
MINUTE_S = 60.0

Put = Callable[[str, JsonObject], Awaitable[None]]
"""Puts an act on record: its name and its arguments."""


def recorded_in(journal: Journal) -> Put:
    """Puts refused tries on record in a journal. Nobody knows who made them, so that no user stands there."""

    async def put(act: str, arguments: JsonObject) -> None:
        await put_on_record(journal, act, arguments, principal="")

    return put


class TooManyAttempts(ActumError):
    """Too many tries have failed: the client has to wait. A web server answers 429 with `Retry-After`.

    Attributes:
        retry_after_s: whole seconds to wait.
    """

    def __init__(self, retry_after_s: int) -> None:
        super().__init__("too many tries have failed: wait for {retry_after_s} seconds", retry_after_s=retry_after_s)
        self.retry_after_s = retry_after_s


class _Failures(Struct):
    """What failed at one place."""

    count: int
    last_at: float

    def wait_s(self, free: int, now: float) -> float:
        """Seconds until the next try is looked at."""
        if self.count < free:
            return 0.0
        return self.last_at + min(2.0 ** min(self.count - free, 10), WAIT_MAX_S) - now


class Attempts:
    """Counts failed tries, and lets those wait who fail too often.

    Args:
        put: puts on record what failed in a minute; None to put nothing on record. See `recorded_in`.
        clock: the time.
    """

    def __init__(self, put: Put | None = None, *, clock: Clock | None = None) -> None:
        self._put = put
        self._clock = clock or SystemClock()
        self._failures: OrderedDict[tuple[str, str | None], _Failures] = OrderedDict()
        self._good: OrderedDict[tuple[str, bytes], None] = OrderedDict()
        self._salt = os.urandom(16)
        self._minute = 0
        self._failed: dict[tuple[str, str], int] = {}
        self._failed_elsewhere = 0

    async def check(self, verifier: Verifier, address: str, token: str, *, name: str = "") -> Identity | None:
        """Check the token that somebody at an address shows.

        Args:
            verifier: checks it.
            address: the address of the client, as far as proxies are believed; empty where it is unknown.
            token: the text that was shown.
            name: the name under which tries are counted and recorded where the token is no key; the id of the key by
                default.

        Returns:
            Whose token this is; None when it is not valid, which counts as a failed try.

        Raises:
            TooManyAttempts: the token was not looked at.
            JournalError: the verifier can not tell now; this is no failed try.
        """
        place, key_id, now = _place(address), name or id_of(token), self._clock.monotonic()
        wait_s = self._wait_s(place, key_id, now) if self._failures else 0.0
        if wait_s > 0.0 and (place, self._mark(token)) not in self._good:
            await self._note(place, key_id)
            raise TooManyAttempts(max(1, int(wait_s + 0.999)))
        identity = await verifier.verify_token(token)
        if identity is not None:
            self._remember(place, token)
            if self._failed:
                await self.flush()
            return identity
        self._count((place, key_id), now)
        self._count((place, None), now)
        await self._note(place, key_id)
        return None

    async def flush(self, *, at_end: bool = False) -> None:
        """Put on record what failed in a minute that is over.

        Args:
            at_end: the server ends: also put on record what failed in the minute that is not over yet.
        """
        minute = int(self._clock.now() // MINUTE_S)
        if minute == self._minute and not at_end:
            return
        tries, others, began = self._failed, self._failed_elsewhere, self._minute * int(MINUTE_S)
        self._minute, self._failed, self._failed_elsewhere = minute, {}, 0
        if self._put is None or not tries:
            return
        told: list[Json] = [{"address": place, "key": key, "count": count} for (place, key), count in tries.items()]
        try:
            await self._put("login.refused", {"minute": began, "tries": told, "others": others})
        except JournalError:  # the caller that waits here has nothing to do with it
            log.exception("refused tries could not be put on record")

    def _wait_s(self, place: str, key_id: str, now: float) -> float:
        tried, at_all = self._failures.get((place, key_id)), self._failures.get((place, None))
        waits = [
            each.wait_s(free, now)
            for each, free in ((tried, FREE_PER_KEY), (at_all, FREE_PER_ADDRESS))
            if each is not None and now - each.last_at < FORGET_S
        ]
        return max(waits, default=0.0)

    def _count(self, name: tuple[str, str | None], now: float) -> None:
        known = self._failures.pop(name, None)
        before = known.count if known is not None and now - known.last_at < FORGET_S else 0
        self._failures[name] = _Failures(before + 1, now)
        while len(self._failures) > ADDRESSES_MAX:
            self._failures.popitem(last=False)

    def _remember(self, place: str, token: str) -> None:
        mark = (place, self._mark(token))
        if mark in self._good:
            self._good.move_to_end(mark)
            return
        self._good[mark] = None
        while len(self._good) > GOOD_MAX:
            self._good.popitem(last=False)

    def _mark(self, token: str) -> bytes:
        """A keyed digest by which a token is recognised, and that does not reveal the token."""
        return hashlib.blake2b(token.encode("utf-8", "surrogatepass"), key=self._salt, digest_size=16).digest()

    async def _note(self, place: str, key_id: str) -> None:
        await self.flush()
        tried = (place, key_id)
        if tried in self._failed or len(self._failed) < RECORDED_MAX:
            self._failed[tried] = self._failed.get(tried, 0) + 1
        else:
            self._failed_elsewhere += 1


@functools.lru_cache(maxsize=1024)
def _place(address: str) -> str:
    """What counts as one address: of IPv6 the network of 64 bits, which one customer has as a whole."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address[:64]
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return f"{IPv6Address(int(found) >> 64 << 64)}/64"
    return str(found)
