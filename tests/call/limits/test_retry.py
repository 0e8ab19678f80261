"""When a failed attempt is tried again."""

from __future__ import annotations

import pytest

from actum.call.limits.retry import WAIT_S_MAX, delay
from actum.core.errors import (
    CODES,
    CallError,
    CallTimeout,
    InvalidArguments,
    RateLimited,
    Retry,
    Unavailable,
)
from actum.core.tool import Tool

READ = Tool(name="r", effects=frozenset({"read"}))
WRITE = Tool(name="w", effects=frozenset({"write"}))
KEYED = Tool(name="k", effects=frozenset({"write"}), idempotent=True)
pytestmark = pytest.mark.row("C2")


def test_what_has_not_happened_may_be_tried_again_for_any_tool() -> None:
    assert delay(Unavailable("x"), WRITE, 1, 3, 1.0) is not None


def test_what_may_have_happened_is_tried_again_only_for_tools_that_may_be_repeated() -> None:
    assert delay(CallTimeout("x"), WRITE, 1, 3, 1.0) is None
    assert delay(CallTimeout("x"), READ, 1, 3, 1.0) is not None
    assert delay(CallTimeout("x"), KEYED, 1, 3, 1.0) is not None


def test_waits_grow_up_to_a_maximum_and_jitter_spreads_them() -> None:
    waits = [delay(Unavailable("x"), READ, attempt, 99, 1.0) or 0 for attempt in range(1, 12)]
    assert waits == sorted(waits)
    assert waits[-1] == WAIT_S_MAX
    assert delay(Unavailable("x"), READ, 3, 99, 0.5) == waits[2] / 2


def test_the_services_word_on_when_to_come_back_is_kept_unless_it_is_too_long() -> None:
    assert delay(RateLimited("x", retry_after=12), READ, 1, 3, 0.1) == 12
    assert delay(RateLimited("x", retry_after=3600), READ, 1, 3, 0.1) is None


@pytest.mark.parametrize("kind", CODES.values(), ids=CODES.keys())
def test_only_kinds_that_pass_by_themselves_are_tried_again(kind: type[CallError]) -> None:
    error = InvalidArguments([]) if kind is InvalidArguments else kind("x")
    assert (delay(error, READ, 1, 3, 1.0) is not None) == (kind.retry is Retry.AUTOMATIC)
