"""Real time. Its fake, which tests turn by hand, is `actum.testing.FakeClock`."""

from __future__ import annotations

import asyncio
import time


class SystemClock:
    """The machine's clock and the running event loop's timers."""

    now = staticmethod(time.time)
    sleep = staticmethod(asyncio.sleep)

    def timeout(self, seconds: float | None) -> asyncio.Timeout:
        return asyncio.timeout(seconds)
