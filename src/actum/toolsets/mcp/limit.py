"""How long a request to an MCP server may take: how long without a word from it, and how long in all.

The time in which a person or a model is asked something for the server does not count.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager

from ...core.errors import CallTimeout
from ...core.interfaces import Clock


class TimeLimit:
    """The limit of one request.

    Args:
        clock: time.
        word_s: seconds without a word.
        most_s: seconds in all.
    """

    def __init__(self, clock: Clock, word_s: float, most_s: float) -> None:
        self._clock = clock
        self._word_s = word_s
        self._word = clock.timeout(word_s)
        self._most = clock.timeout(most_s)
        self._held = 0
        self._holding = ExitStack()

    @asynccontextmanager
    async def kept(self, method: str) -> AsyncIterator[None]:
        """A block that ends in time.

        Raises:
            CallTimeout: it did not.
        """
        try:
            async with self._most, self._word:
                yield
        except TimeoutError:
            if not (self._word.expired() or self._most.expired()):
                raise
            raise CallTimeout(
                "The server did not answer {method} in time; it may have happened all the same.", method=method
            ) from None

    def heard(self) -> None:
        """A word came: the time without one begins anew."""
        if self._word.when() is not None and not self._word.expired():
            self._word.reschedule(asyncio.get_running_loop().time() + self._word_s)

    @contextmanager
    def held(self) -> Iterator[None]:
        """A block in which no time passes: until the last of several at once is left."""
        if not self._held:
            for limit in (self._word, self._most):
                if not limit.expired():
                    self._holding.enter_context(self._clock.hold(limit))
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
            if not self._held:
                self._holding.close()
                self.heard()
