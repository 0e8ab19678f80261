"""The learned weights of the embedded model: files of names and numbers, beside its word lists.

`bench.training` makes them and `actum.learn.promotion` judges whether new ones are better; both read them from another
folder through `use`. Nothing else does.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

FILES = ("ranker.json", "chooser.json", "associations.json")
SHIPPED: Traversable = files("actum") / "models" / "embedded" / "data"
_place: list[Traversable] = [SHIPPED]


def use(place: Traversable) -> None:
    """Take the weights from another folder, in this process: for judging those that are not shipped yet."""
    _place[0] = place
    for read in _reads:
        read()


def when_changed(forget: Callable[[], None]) -> None:
    """Have whoever keeps what it read from a file forget it, when there are others."""
    _reads.append(forget)


def text_of(name: str) -> str:
    """A file of weights."""
    return (_place[0] / name).read_text("utf-8")


@cache
def weights(name: str) -> dict[str, float]:
    """The weights of a file, by feature."""
    read = json.loads(text_of(name))
    scale = float(read.get("scale", 1))
    return {feature: value / scale for feature, value in read["weights"].items()}


_reads: list[Callable[[], None]] = [weights.cache_clear]
