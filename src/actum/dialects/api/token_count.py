"""Counts of tokens as endpoints tell them."""

from __future__ import annotations

from ...core.json import Json


def count(value: Json) -> int:
    """The number; 0 for what is missing or no number of tokens."""
    return int(value) if isinstance(value, int | float) and 0 < value < 2**53 else 0
