"""The learned weights of the embedded model: files of names and numbers, beside its word lists.

`packages/embedded/training` makes them and `actum.evals.promotion` judges whether new ones are better; both read them
from another folder through `use`. Nothing else does.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")

CHINESE = "zh:"
"""How the names of weights begin that are learned of clauses with a Chinese word."""

FILES = ("ranker.json", "grouper.json", "chooser.json", "guesser.json", "sieve.json")
SHIPPED: Traversable = files("actum_embedded") / "data"
_place: list[Traversable] = [SHIPPED]


_made_of_weights: list[dict[Any, Any]] = []


def kept_with_weights(made: dict[K, V]) -> dict[K, V]:
    """A cache of what the weights said: `use` empties it."""
    _made_of_weights.append(made)
    return made


def use(place: Traversable) -> None:
    """Take the weights from another folder, in this process: for judging those that are not shipped yet."""
    _place[0] = place
    weights.cache_clear()
    weights_in.cache_clear()
    for made in _made_of_weights:
        made.clear()


@cache
def weights(name: str) -> dict[str, float]:
    """The weights of a file, by feature."""
    read = json.loads((_place[0] / name).read_text("utf-8"))
    scale = float(read.get("scale", 1))
    return {feature: value / scale for feature, value in read["weights"].items()}


@cache
def weights_in(name: str, tongue: str) -> dict[str, float]:
    """The weights whose names begin with a tongue, without it; those of none where nothing was learned of that one."""
    known = weights(name)
    own = {feature.removeprefix(tongue): value for feature, value in known.items() if feature.startswith(tongue)}
    if tongue and own:
        return own
    return {feature: value for feature, value in known.items() if not feature.startswith(CHINESE)}
