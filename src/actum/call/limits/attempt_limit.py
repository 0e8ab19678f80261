"""The time limit of one attempt at a call."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType

from ...core.interfaces import Clock


class AttemptLimit:
    """Ends an attempt when its time is over. The time begins when this is made; it stands still while somebody is asked
    something on behalf of the attempt.

    The timer is set when the block of this context manager is entered. A tool that never waits for anything needs no
    timer: nothing could end it.

    Args:
        clock: measures the time.
        seconds: how long the attempt may take; None for any time.
    """

    __slots__ = ("_began", "_clock", "_held_since", "_holding", "_holds", "_seconds", "_timeout")

    def __init__(self, clock: Clock, seconds: float | None) -> None:
        self._clock = clock
        self._seconds = seconds
        self._began = clock.monotonic()
        self._timeout: asyncio.Timeout | None = None
        self._holds = 0
        self._held_since = 0.0
        self._holding: AbstractContextManager[None] | None = None

    async def __aenter__(self) -> None:
        seconds = self._seconds
        if seconds is not None:
            seconds -= (self._held_since if self._holds else self._clock.monotonic()) - self._began
        self._timeout = self._clock.timeout(seconds)
        await self._timeout.__aenter__()
        if self._holds:
            self._hold()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._timeout is not None
        await self._timeout.__aexit__(kind, error, trace)

    @property
    def expired(self) -> bool:
        """The time was over before the attempt was."""
        return self._timeout is not None and self._timeout.expired()

    @contextmanager
    def held(self) -> Iterator[None]:
        """A block in which the time stands still: until the last of several such blocks at once is left."""
        if not self._holds:
            self._hold()
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1
            if not self._holds:
                self._go_on()

    def _hold(self) -> None:
        if self._timeout is None:
            self._held_since = self._clock.monotonic()
        else:
            self._holding = self._clock.hold(self._timeout)
            self._holding.__enter__()

    def _go_on(self) -> None:
        if self._holding is not None:
            self._holding.__exit__(None, None, None)
            self._holding = None
        elif self._timeout is None:
            self._began += self._clock.monotonic() - self._held_since
