"""How much work something is, counted and not timed: what a busy machine makes slow must not fail a test.

Time itself is measured in `bench/`, against a floor in the same run.
"""

from __future__ import annotations

import cProfile
from collections.abc import Iterator
from contextlib import contextmanager


class Effort:
    """The calls of functions, Python's and C's, that a block of this thread made; known when the block has ended."""

    calls = 0


@contextmanager
def effort() -> Iterator[Effort]:
    """Counts what the block does.

    Example:
        with effort() as spent:
            sorted([2, 1])
        assert spent.calls < 10
    """
    spent, profile = Effort(), cProfile.Profile()  # which counts in C: a counter in Python takes many times longer
    profile.enable()
    try:
        yield spent
    finally:
        profile.disable()
        spent.calls = sum(entry.callcount for entry in profile.getstats())
