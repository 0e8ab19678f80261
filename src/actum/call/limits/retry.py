"""Whether a failed attempt is tried again, and when. Pure.

Only a failure of a kind that passes by itself (rate limit, unreachable, timeout) is tried again, and only where that
can do no harm: nothing has happened, or the tool may be repeated. Exponential backoff with full jitter, as in
"Exponential Backoff And Jitter" (AWS Architecture Blog, 2015); a service's own word on when to come back is kept.
"""

from __future__ import annotations

from ...core.errors import CallError, Retry
from ...core.tool import Tool

BASE_S = 0.5
WAIT_S_MAX = 30.0


def delay(error: CallError, tool: Tool, attempt: int, attempts_max: int, jitter: float) -> float | None:
    """Seconds to wait before the next attempt, or None when there is to be none.

    Args:
        error: how this attempt failed.
        attempt: which attempt it was, from 1.
        jitter: a random number from 0 to 1.
    """
    safe = error.effect == "none" or tool.repeatable
    if error.retry is not Retry.AUTOMATIC or not safe or attempt >= attempts_max:
        return None
    if error.retry_after is not None:
        return error.retry_after if error.retry_after <= WAIT_S_MAX else None
    return min(WAIT_S_MAX, BASE_S * float(2 ** (attempt - 1))) * jitter
