"""`TaskQuota`: whether there is room for one more task of a user and of a tenant.

Far from a limit the list of tasks is asked once a second, and what this process accepts in between is counted here.
Near a limit the list is asked for each task; a task that is being accepted meanwhile counts as one more, whether it is
on the list by then or not. So one process never accepts more than the limit. Several may, in the same moment, each as
much.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import TypeAlias

from ..core.errors import TaskRefused
from ..core.interfaces import Clock, TaskIndex
from ..core.user import User

_Whose: TypeAlias = tuple[str, str | None]
"""A tenant, and one of its principals, or None for all of them."""

COUNTED_S = 1.0
"""Seconds for which the number of tasks that wait is remembered,"""
NEAR = 0.8
"""where that is less than this part of the limit."""
COUNTED_MAX = 10_000


class TaskQuota:
    """The room of one process.

    Args:
        clock: the time.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._counted: dict[_Whose, tuple[int, float]] = {}
        self._accepting: Counter[_Whose] = Counter()
        self._looks: dict[_Whose, list[Counter[str]]] = {}

    @asynccontextmanager
    async def place(self, index: TaskIndex, user: User, *, most: int, most_of_tenant: int) -> AsyncIterator[None]:
        """A place for one task, which is put on the list within the block.

        Args:
            index: the list of tasks.
            user: whose task it is.
            most: the most tasks of the user that may wait.
            most_of_tenant: the most of the tenant.

        Raises:
            TaskRefused: too many tasks wait.
        """
        with ExitStack() as held:
            if await self._waiting(index, (user.tenant, user.principal), most) >= most:
                raise TaskRefused("queued_max", "{most} tasks of this user wait already: try again later", most=most)
            held.enter_context(self._held((user.tenant, user.principal)))
            if await self._waiting(index, (user.tenant, None), most_of_tenant) >= most_of_tenant:
                raise TaskRefused(
                    "queued_max", "{most_of_tenant} tasks of this tenant wait already", most_of_tenant=most_of_tenant
                )
            held.enter_context(self._held((user.tenant, None)))
            yield

    async def _waiting(self, index: TaskIndex, whose: _Whose, most: int) -> int:
        """How many tasks wait, those that are being accepted counted with them."""
        now = self._clock.monotonic()
        known = self._counted.get(whose)
        if known is None or now - known[1] >= COUNTED_S or known[0] >= most * NEAR:
            with self._look(whose) as accepted:
                known = (await index.queued(*whose, most=most) + accepted.total(), now)
            if len(self._counted) >= COUNTED_MAX:
                self._counted.clear()
        self._counted[whose] = (known[0] + 1, known[1])
        return known[0]

    @contextmanager
    def _held(self, whose: _Whose) -> Iterator[None]:
        """A task is being accepted within the block."""
        self._accepting[whose] += 1
        for look in self._looks.get(whose, ()):
            look["since"] += 1
        try:
            yield
        finally:
            self._accepting[whose] -= 1
            if not self._accepting[whose]:
                del self._accepting[whose]

    @contextmanager
    def _look(self, whose: _Whose) -> Iterator[Counter[str]]:
        """The list is asked within the block: how many tasks were being accepted at any moment of the block."""
        look = Counter(before=self._accepting[whose], since=0)
        looks = self._looks.setdefault(whose, [])
        looks.append(look)
        try:
            yield look
        finally:
            looks[:] = [each for each in looks if each is not look]
            if not looks:
                self._looks.pop(whose, None)
