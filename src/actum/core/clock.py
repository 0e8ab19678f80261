"""Real time. Its fake, which tests turn by hand, is `actum.testing.FakeClock`."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator


class SystemClock:
    """The machine's clock and the running event loop's timers."""

    now = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)
    sleep = staticmethod(asyncio.sleep)

    def timeout(self, seconds: float | None) -> asyncio.Timeout:
        return asyncio.timeout(seconds)

    @contextlib.contextmanager
    def hold(self, timeout: asyncio.Timeout) -> Iterator[None]:
        due = timeout.when()
        if due is None:
            yield
            return
        loop = asyncio.get_running_loop()
        left = due - loop.time()
        timeout.reschedule(None)
        try:
            yield
        finally:
            with contextlib.suppress(RuntimeError):  # its block was left meanwhile
                timeout.reschedule(loop.time() + left)
