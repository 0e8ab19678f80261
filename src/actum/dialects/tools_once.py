"""What is made of a tuple of tools is made once: their encoding, and their names on the wire. Pure but for its memory.

A run asks with the same tuple at each step, and there may be thousands of tools in it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from ..core.tool import Tool

TUPLES_MAX = 32
"""The most tuples of tools that are remembered."""

T = TypeVar("T")
Variant = TypeVar("Variant", bound=Hashable)


class OncePerTools(Generic[Variant, T]):
    """Remembers what was made of a tuple of tools, by the tuple itself: comparing thousands at each step is slow.

    Args:
        make: makes it, of the tools and what else it depends on, such as a language or the form of tool names.
    """

    def __init__(self, make: Callable[[tuple[Tool, ...], Variant], T]) -> None:
        self._make = make
        self._kept: dict[tuple[int, Variant], tuple[tuple[Tool, ...], T]] = {}

    def __call__(self, tools: tuple[Tool, ...], variant: Variant) -> T:
        key = (id(tools), variant)
        known = self._kept.get(key)
        if known is None:  # the tuple is held with what was made of it, so its id is not given to another
            known = self._kept[key] = (tools, self._make(tools, variant))
            if len(self._kept) > TUPLES_MAX:
                self._kept.pop(next(iter(self._kept)), None)
        return known[1]
