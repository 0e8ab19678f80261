"""How much may be under way at once: for each caller, and for everybody together.

This file knows no protocol and no web server. A caller is anything that can be told apart: an address, a user.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Literal


class Places:
    """Who holds how many places. The limits are given with each try, so that they can change while places are held."""

    def __init__(self) -> None:
        self._held: Counter[Hashable] = Counter()
        self._all = 0

    @property
    def held(self) -> int:
        """How many places are held by everybody together."""
        return self._all

    def take(self, caller: Hashable, each_max: int, all_max: int) -> Literal["", "caller", "all"]:
        """Take a place.

        Args:
            caller: who takes it.
            each_max: the most places that one caller may hold.
            all_max: the most places that all callers may hold together.

        Returns:
            Empty where the place was taken; else whose limit is reached. Where both limits are, the caller's.
        """
        if self._held[caller] >= each_max:
            return "caller"
        if self._all >= all_max:
            if not self._held[caller]:
                del self._held[caller]
            return "all"
        self._held[caller] += 1
        self._all += 1
        return ""

    def leave(self, caller: Hashable) -> None:
        """Give a place back."""
        self._all -= 1
        self._held[caller] -= 1
        if not self._held[caller]:
            del self._held[caller]
