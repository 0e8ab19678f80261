"""Counts that several processes share: how often something began, what was used up, and who holds a place.

Limits that span runs are counted in memory where a program has no database, and by these where it has a journal that
other processes write to as well: two servers then allow together what one would allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from decimal import Decimal
from typing import Protocol

from msgspec import Struct

WINDOW_S = 60.0
"""The window of a rate, in seconds: how many calls or runs begin within it."""
DAY_S = 86_400.0
"""The time over which use is counted, in seconds."""


class Rate(Struct, frozen=True):
    """How often something may begin.

    Attributes:
        name: the name of the thing that is counted.
        most: how often it may begin within any `WINDOW_S`.
    """

    name: str
    most: int


class Counts(Protocol):
    """Counts by name, which all processes share that use the same place."""

    async def begin(self, rates: Sequence[Rate]) -> list[float]:
        """Count one beginning under every rate, if every rate allows the beginning; else count nothing.

        Returns:
            For each rate, the seconds until the rate allows one more; all 0 where the beginning was counted.
        """

    async def take_back(self, name: str) -> None:
        """The latest beginning of a rate did not come about: it counts no more.

        Args:
            name: of the rate.
        """

    def place(self, name: str) -> AbstractAsyncContextManager[None]:
        """A place, held within a block. The place comes free when the process that holds the place ends, however it
        ends.

        Raises:
            Busy: somebody holds the place.
        """

    def add(self, name: str, tokens: int, cost: Decimal) -> None:
        """Something was used up. Nobody waits until that is written."""

    async def used(self, name: str) -> tuple[int, Decimal]:
        """The tokens and the money that were used up within the last `DAY_S`, to the minute."""
