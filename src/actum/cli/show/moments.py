"""Time as people type it: `24h`, `90d`, `2026-11-01`, `2026-11-01T12:30`."""

from __future__ import annotations

import math
import re
from datetime import datetime

from ...core.errors import UsageError

SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
"""Seconds of each unit of a span."""

_SPAN = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)\s?([smhdw])")


def span(text: str) -> float:
    """A length of time, in seconds.

    Raises:
        UsageError: it is none.

    >>> span("90d"), span("1.5h")
    (7776000.0, 5400.0)
    """
    found = _SPAN.fullmatch(text.strip().lower())
    if found is None:
        raise UsageError("{word!r} is no length of time: write 30m, 24h, 90d or 2w", word=text)
    return float(found[1]) * SECONDS[found[2]]


def moment(text: str, now: float) -> float:
    """A point in time, in seconds since 1970: a date or an hour of this machine's time zone, or a time span before now.

    Args:
        text: `24h` and its like; or ISO 8601, with a time zone of its own where it names one.
        now: seconds since 1970.

    Raises:
        UsageError: it is none.

    >>> moment("24h", 100_000.0), moment("1970-01-02T00:00Z", 0.0)
    (13600.0, 86400.0)
    """
    if _SPAN.fullmatch(text.strip().lower()):
        return now - span(text)
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError, OSError):
        raise UsageError("{word!r} is no time: write 24h, 90d, 2026-11-01 or 2026-11-01T12:30", word=text) from None


def end(text: str, now: float) -> float:
    """A point in time that is still to come, in seconds since 1970: a time span from now, or a date or an hour.

    Args:
        text: `30d` and its like; or ISO 8601, in this machine's time zone where it names none.
        now: seconds since 1970.

    Raises:
        UsageError: it is none, or is over.

    >>> end("30d", 1000.0)
    2593000.0
    """
    at = now + span(text) if _SPAN.fullmatch(text.strip().lower()) else moment(text, now)
    if not now < at < math.inf:
        raise UsageError("{word!r} is over: write a time that is still to come, such as 30d or 2030-01-31", word=text)
    return at


def shown(at: float, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    """A point in time as this machine's time zone has it; the number itself where no calendar has it."""
    try:
        return datetime.fromtimestamp(at).astimezone().strftime(form)
    except (ValueError, OverflowError, OSError):
        return f"{at:.3f}"


def iso(at: float) -> str:
    """A point in time for programs: ISO 8601 with milliseconds and the time zone."""
    try:
        return datetime.fromtimestamp(at).astimezone().isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):
        return f"{at:.3f}"


def clock(at: float) -> str:
    """The time of day with milliseconds; the number itself where no calendar has it."""
    try:
        return datetime.fromtimestamp(at).astimezone().strftime("%H:%M:%S.") + f"{int(at * 1000) % 1000:03}"
    except (ValueError, OverflowError, OSError):
        return f"{at:.3f}"
