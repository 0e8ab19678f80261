"""How much work something is, counted and not timed: what a busy machine makes slow must not fail a test.

Time itself is measured in `bench/`, against a floor in the same run.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Effort:
    """The calls of functions, Python's and C's, that a block of this thread made."""

    def __init__(self) -> None:
        self.calls = 0

    def _count(self, _frame: FrameType, event: str, _arg: object) -> None:
        if event.endswith("call"):
            self.calls += 1


@contextmanager
def effort() -> Iterator[Effort]:
    """Counts what the block does.

    Example:
        with effort() as spent:
            sorted([2, 1])
        assert spent.calls < 10
    """
    spent, before = Effort(), sys.getprofile()
    sys.setprofile(spent._count)
    try:
        yield spent
    finally:
        sys.setprofile(before)
