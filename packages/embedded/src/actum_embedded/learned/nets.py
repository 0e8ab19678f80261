"""A small net: numbers with names go in, one number comes out.

It is a sum of the numbers, each times its weight, and of a few units, each of which is such a sum where that is more
than 0 and else nothing. So it tells what no sum can: a sure value speaks for a tool only where its words do as well.
Its weights lie flat in a file (`weights`): `x` is that of the number `x`, `x>2` what it gives to unit 2, `>2` what that
has from the start, `2>` what it counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .weights import kept_with_weights, weights_in


class Net(NamedTuple):
    """A net.

    Attributes:
        direct: what each number counts by itself.
        into: what each number gives to each of the units.
        start: what each unit has from the start.
        out: what each unit counts.
    """

    direct: Mapping[str, float]
    into: Mapping[str, tuple[float, ...]]
    start: tuple[float, ...]
    out: tuple[float, ...]

    def worth(self, signs: Mapping[str, float]) -> float:
        """What comes out.

        Args:
            signs: what goes in; a number that the net does not know counts nothing.
        """
        units = list(self.start)
        total = 0.0
        for name, value in signs.items():
            if value and name in self.into:
                total += self.direct[name] * value
                for at, weight in enumerate(self.into[name]):
                    units[at] += weight * value
        return total + sum([unit * weight for unit, weight in zip(units, self.out, strict=True) if unit > 0.0])


def net(file: str, tongue: str = "") -> Net:
    """The net of a file of weights, that of a tongue where it has one of its own."""
    known = _nets.get((file, tongue))
    if known is None:
        known = _nets[file, tongue] = of(weights_in(file, tongue))
    return known


_nets: dict[tuple[str, str], Net] = kept_with_weights({})


def of(flat: Mapping[str, float]) -> Net:
    """The net that flat weights stand for."""
    units = range(sum(name.endswith(">") for name in flat))
    direct = {name: value for name, value in flat.items() if ">" not in name}
    into = {name: tuple(flat.get(f"{name}>{at}", 0.0) for at in units) for name in direct}
    start = tuple(flat.get(f">{at}", 0.0) for at in units)
    return Net(direct, into, start, tuple(flat[f"{at}>"] for at in units))
