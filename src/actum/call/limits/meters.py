"""Counts what spans the runs of an agent: calls at a time and a minute, by tool and by user; runs, tokens and money by
user. Pure but for its memory; the time is told, by a clock that is never set.

Where the journal lies in a database, all processes that write to it count together there (`core.stored.counts`), by the
name of the agent; else the counts live as long as the agent and hold within its process. What a single run may use does
not stand here: that is on record and survives.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from decimal import Decimal

from ...core.budget import ZERO
from ...core.errors import Busy, RateLimited
from ...core.interfaces import Clock
from ...core.json import dumps
from ...core.stored.counts import DAY_S, WINDOW_S, Counts, Rate
from ...core.user import User
from .limits import Limits, UserLimits

WAIT_S_MAX = 5.0
"""The longest time that a call waits until it may begin; a call that would have to wait longer is refused."""
PLACE_POLL_S = 0.1
"""Seconds between two tries for a place that another process holds."""
USERS_MAX = 10_000
"""Beyond this number, users who did nothing for a day are forgotten."""
_lock = threading.Lock()
"""Held for a few lines at a time, by whichever thread's event loop counts."""


class RateLimit:
    """Limits how many calls run at a time, and how many begin in any minute. May be used from several event loops.

    Args:
        parallel: how many at a time.
        per_minute: how many may begin within `WINDOW_S`.
        limit: what it is called when it turns a call away.
        name: what it is called where several processes count together.
    """

    def __init__(self, parallel: int | None, per_minute: int | None, limit: str, name: str = "") -> None:
        self.name = name
        self.per_minute = per_minute
        self.limit = limit
        self._free = parallel
        self.parallel = parallel
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._begun: deque[float] = deque(maxlen=per_minute)

    @property
    def idle(self) -> bool:
        """Nobody is inside, or waits to be."""
        return self._free == self.parallel and not self._waiting

    async def enter(self) -> None:
        """Wait for a free place, in order of arrival."""
        if self._free is None:
            return
        with _lock:
            if self._free:
                self._free -= 1
                return
            place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            with _lock:
                waits = place in self._waiting
                if waits:
                    self._waiting.remove(place)
            if not waits:  # it was handed a place just now: the next one gets it
                self.leave()
            raise

    def leave(self) -> None:
        """Hand the place to the call that has waited longest."""
        if self._free is None:
            return
        with _lock:
            while self._waiting:
                place = self._waiting.popleft()
                try:
                    place.get_loop().call_soon_threadsafe(_hand_over, place)
                except RuntimeError:  # its loop was closed: nobody waits there any more
                    continue
                return
            self._free += 1

    def wait_s(self, now: float) -> float:
        """Seconds until one more call may begin."""
        if self.per_minute is None or len(self._begun) < self.per_minute:
            return 0.0
        return max(0.0, self._begun[0] + WINDOW_S - now)

    def begin(self, now: float) -> None:
        """A call begins."""
        if self.per_minute is not None:
            self._begun.append(now)


def _hand_over(place: asyncio.Future[None]) -> None:
    if not place.done():
        place.set_result(None)


@asynccontextmanager
async def acquire(gates: Sequence[RateLimit], clock: Clock, counts: Counts | None = None) -> AsyncIterator[None]:
    """A block that is entered when every gate lets one in; always in the same order, so that no two wait for each
    other.

    Args:
        gates: what a call goes through.
        clock: by which it is waited.
        counts: what other processes count too; None where there are none.

    Raises:
        RateLimited: that would take longer than `WAIT_S_MAX`.
    """
    inside: list[RateLimit] = []
    places = AsyncExitStack()
    try:
        for gate in gates:
            await gate.enter()
            inside.append(gate)
            if counts is not None and gate.parallel is not None:
                while not await enter_place(counts, gate.name, gate.parallel, places):
                    await clock.sleep(PLACE_POLL_S)
        patience = clock.monotonic() + WAIT_S_MAX
        while True:
            now = clock.monotonic()
            slowest, wait = _begin(gates, now) if counts is None else await _begin_shared(gates, counts)
            if not wait:
                break
            if now + wait > patience:
                raise RateLimited(
                    "Only {per_minute} such calls a minute may be made. Nothing was done; it can be "
                    "made in {wait:.0f} s.",
                    retry_after=round(wait, 1),
                    limit=slowest.limit,
                    per_minute=slowest.per_minute,
                    wait=wait,
                )
            await clock.sleep(wait)
        yield
    finally:
        try:
            await places.aclose()
        finally:
            for gate in inside:
                gate.leave()


def _begin(gates: Sequence[RateLimit], now: float) -> tuple[RateLimit, float]:
    """Begin a call, if every gate lets it. The gate that must be waited for longest, and for how many seconds."""
    with _lock:
        slowest = max(gates, key=lambda gate: gate.wait_s(now))
        wait = slowest.wait_s(now)
        if not wait:
            for gate in gates:
                gate.begin(now)
        return slowest, wait


async def _begin_shared(gates: Sequence[RateLimit], counts: Counts) -> tuple[RateLimit, float]:
    """`_begin`, counted together with other processes."""
    limited = [gate for gate in gates if gate.per_minute is not None]
    if not limited:
        return gates[0], 0.0
    waits = await counts.begin([Rate(gate.name, gate.per_minute) for gate in limited if gate.per_minute is not None])
    at = max(range(len(limited)), key=waits.__getitem__)
    return limited[at], waits[at]


async def enter_place(counts: Counts, name: str, most: int, places: AsyncExitStack) -> bool:
    """Take one of `most` places, which is held until `places` is closed; False where other processes hold all."""
    for number in range(most):
        with suppress(Busy):
            await places.enter_async_context(counts.place(f"{name} {number}"))
            return True
    return False


class Tally:
    """What was used within the last 24 hours, to the minute."""

    def __init__(self) -> None:
        self._minutes: deque[tuple[int, int, Decimal]] = deque()
        self.tokens = 0
        self.cost = ZERO

    def add(self, tokens: int, cost: Decimal, now: float) -> None:
        self.forget(now)
        minute = int(now // 60)
        if self._minutes and self._minutes[-1][0] == minute:
            _, before, spent = self._minutes.pop()
            self._minutes.append((minute, before + tokens, spent + cost))
        else:
            self._minutes.append((minute, tokens, cost))
        self.tokens += tokens
        self.cost += cost

    def forget(self, now: float) -> None:
        """Let go of what was used longer ago."""
        while self._minutes and self._minutes[0][0] * 60 + DAY_S <= now - 60:
            _, tokens, cost = self._minutes.popleft()
            self.tokens -= tokens
            self.cost -= cost


class Account:
    """One user of an agent.

    Attributes:
        gate: through which their calls go.
        counts_tokens: there is a limit to the tokens of a day, or to what they cost.
    """

    def __init__(self, limits: UserLimits, name: str = "", counts: Counts | None = None) -> None:
        self._limits = limits
        self._name = name
        self._counts = counts
        self._tally = Tally()
        self._runs = 0
        self.gate = RateLimit(limits.parallel, limits.per_minute, "user_rate", name)
        self.counts_tokens = limits.tokens_per_day is not None or limits.cost_per_day is not None

    async def begin_run(self, under_way: AsyncExitStack) -> str:
        """Begin one more run, which lasts until `under_way` is closed.

        Returns:
            The limit that forbids one more run; empty when the run has begun.
        """
        most = self._limits.runs
        if most is not None and self._runs >= most:
            return "user_runs"
        self._runs += 1
        under_way.callback(self._end_run)
        if most is None or self._counts is None:
            return ""
        if await enter_place(self._counts, f"{self._name} runs", most, under_way):
            return ""
        await under_way.aclose()
        return "user_runs"

    def _end_run(self) -> None:
        self._runs -= 1

    def add(self, tokens: int, cost: Decimal, now: float) -> None:
        """A model was asked on this user's behalf."""
        if not self.counts_tokens:
            return
        self._tally.add(tokens, cost, now)
        if self._counts is not None:
            self._counts.add(self._name, tokens, cost)

    async def exhausted(self, now: float) -> str:
        """The limit of a day that is used up; empty when there is none."""
        if not self.counts_tokens:
            return ""
        limits, tally = self._limits, self._tally
        tally.forget(now)
        tokens, cost = tally.tokens, tally.cost
        if self._counts is not None:
            tokens, cost = await self._counts.used(self._name)
        if limits.tokens_per_day is not None and tokens >= limits.tokens_per_day:
            return "user_tokens"
        if limits.cost_per_day is not None and cost >= limits.cost_per_day:
            return "user_cost"
        return ""

    def idle(self, now: float) -> bool:
        """There is nothing to remember."""
        self._tally.forget(now)
        return not self._runs and not self._tally.tokens and self.gate.idle and not self.gate.wait_s(now)


class RateLimiters:
    """What is counted over all runs of an agent.

    Args:
        limits: of its tools and users.
        name: of the agent.
        counts: what other processes count too; None where there are none.

    Attributes:
        gated: some calls may have to wait, or be turned away.
        counts: the same.
    """

    def __init__(self, limits: Limits, name: str = "", counts: Counts | None = None) -> None:
        self._limits = limits
        self._name = name
        self.counts = counts
        self._tools = {
            pattern: RateLimit(each.parallel, each.per_minute, "rate", dumps([name, "tools", pattern]))
            for pattern, each in limits.tools.items()
            if each.parallel is not None or each.per_minute is not None
        }
        self._users: dict[User, Account] = {}
        self._user_gated = limits.users.parallel is not None or limits.users.per_minute is not None
        self._users_counted = limits.users != UserLimits()
        self.gated = bool(self._tools) or self._user_gated

    def account(self, user: User, now: float) -> Account | None:
        """Of this user; None where users have no limits."""
        if not self._users_counted:
            return None
        if user not in self._users and len(self._users) >= USERS_MAX:
            self._users = {each: known for each, known in self._users.items() if not known.idle(now)}
        if user not in self._users:
            name = dumps([self._name, "users", user.tenant, user.principal])
            self._users[user] = Account(self._limits.users, name, self.counts)
        return self._users[user]

    def gates(self, user: User, now: float, *names: str) -> Sequence[RateLimit]:
        """What a call of a tool that is known by these names goes through, in the order in which it must."""
        found = [self._tools[name] for name, _ in self._limits.of_tool(*names) if name in self._tools]
        if self._user_gated and (account := self.account(user, now)) is not None:
            found.append(account.gate)
        return found
