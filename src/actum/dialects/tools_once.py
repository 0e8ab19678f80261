"""What is made of a tuple of tools is made once: their encoding, and their names on the wire. Pure but for its memory.

A run asks with the same tuple at each step, and there may be thousands of tools in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from ..core.tool import Tool

TUPLES_MAX = 32
"""So many different tuples of tools are remembered."""

T = TypeVar("T")


class OncePerTools(Generic[T]):
    """Remembers what was made of a tuple of tools, by the tuple itself: comparing thousands at each step is slow.

    Args:
        make: makes it, of the tools and the pattern that a provider's tool names must have (empty for any name).
    """

    def __init__(self, make: Callable[[tuple[Tool, ...], str], T]) -> None:
        self._make = make
        self._kept: dict[tuple[int, str], tuple[tuple[Tool, ...], T]] = {}

    def __call__(self, tools: tuple[Tool, ...], pattern: str = "") -> T:
        key = (id(tools), pattern)
        known = self._kept.get(key)
        if known is None:  # the tuple is held with what was made of it, so its id is not given to another
            known = self._kept[key] = (tools, self._make(tools, pattern))
            if len(self._kept) > TUPLES_MAX:
                self._kept.pop(next(iter(self._kept)), None)
        return known[1]
