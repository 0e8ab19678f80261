"""Where a run stands in a trace that spans programs: the `traceparent` that travels with a call. Pure.

A run that nobody's trace leads to begins one of its own. Ids are made of what is on record already, so a call that is
made again after a cut is the same span as before, and the span of a call can be looked up from its idempotency key.

Source: W3C Trace Context, level 1, 3.2 (`traceparent`). `tracestate` and baggage are not carried.
"""

from __future__ import annotations

import hashlib
import re

_FORM = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?P<trace>(?!0{32})[0-9a-f]{32})-(?P<span>(?!0{16})[0-9a-f]{16})-[0-9a-f]{2}(-.*)?"
)


def trace_id(run_id: str, traceparent: str = "") -> str:
    """The trace that a run belongs to: the one that led to it, or its own.

    >>> trace_id("run_1", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
    '0af7651916cd43dd8448eb211c80319c'
    """
    found = _FORM.fullmatch(traceparent)
    return found["trace"] if found else _digest(run_id, 32)


def traceparent_of(trace: str, key: str) -> str:
    """What is sent along with a call.

    Args:
        trace: the trace's id.
        key: the call's idempotency key, of which the id of its span is made.
    """
    return f"00-{trace}-{span_id(key)}-01"


def span_id(key: str) -> str:
    """The id of the span of the call that has this idempotency key."""
    return _digest(key, 16)


def span_in(traceparent: str) -> str:
    """The span that a traceparent names; empty when it is none."""
    found = _FORM.fullmatch(traceparent)
    return found["span"] if found else ""


def checked_traceparent(text: object) -> str:
    """What another program sent as `traceparent`: as it is, or empty when it is none, as the source demands."""
    return text if isinstance(text, str) and len(text) <= 100 and _FORM.fullmatch(text) else ""


def _digest(text: str, length: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:length]
