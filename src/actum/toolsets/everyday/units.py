"""`convert_units`: measures, by the table `units.csv` that ships with actum. A unit is a row there, not code here."""

from __future__ import annotations

import csv
import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple, TypedDict

from ...core.errors import ToolError


class Unit(NamedTuple):
    """A unit: `base = value * factor + offset`, the base unit being that of its quantity."""

    symbol: str
    quantity: str
    factor: float
    offset: float


class Conversion(TypedDict):
    """A measure in two units."""

    value: float
    from_unit: str
    result: float
    to_unit: str


def convert_units(value: float, from_unit: str, to_unit: str) -> Conversion:
    """Convert a measure to another unit of length, mass, temperature, volume, speed, area, data, time or energy.

    Args:
        value: The number to convert.
        from_unit: The unit it is in, such as "km", "miles", "华氏度".
        to_unit: The unit to convert to.
    """
    start, end = find_unit(from_unit), find_unit(to_unit)
    if start.quantity != end.quantity:
        raise ToolError(
            "{from_unit} is a unit of {quantity_detail}, {to_unit} of {end_detail}: no conversion between them.",
            from_unit=from_unit,
            quantity_detail=start.quantity,
            to_unit=to_unit,
            end_detail=end.quantity,
        )
    result = (value * start.factor + start.offset - end.offset) / end.factor
    if start.quantity == "temperature" and value * start.factor + start.offset < -1e-9:
        raise ToolError("That is below absolute zero.")
    return {"value": value, "from_unit": start.symbol, "result": float(f"{result:.10g}"), "to_unit": end.symbol}


def find_unit(name: str) -> Unit:
    """The unit of a symbol or a name in English or Chinese.

    Raises:
        ToolError: it is not known.
    """
    units, key = _units(), _key(name)
    found = units.get(name.strip()) or units.get(key) or units.get(key.removesuffix("s"))
    if found is None:
        raise ToolError("The unit {name!r} is not known.", name=name[:40])
    return found


@cache
def _units() -> dict[str, Unit]:
    """By symbol as it is written (`mb` is no `Mb`), and by folded symbol and name where that is not taken."""
    table = (files("actum") / "data" / "units.csv").read_text("utf-8")
    rows = list(csv.DictReader(table.splitlines()))
    found: dict[str, Unit] = {}
    units = [Unit(row["unit"], row["quantity"], float(row["factor"]), float(row["offset"])) for row in rows]
    for unit in units:
        found[unit.symbol] = unit
    for unit, row in zip(units, rows, strict=True):
        for name in (row["name"], row["name_zh"], *row["aliases"].split("|"), row["unit"]):
            found.setdefault(_key(name), unit)
    found.pop("", None)
    return found


def _key(name: str) -> str:
    return re.sub(r"[\s_]+", " ", name.strip().casefold()).rstrip(".")
