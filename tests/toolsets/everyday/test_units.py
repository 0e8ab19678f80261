"""Measures in other units, by the table that ships."""

from __future__ import annotations

import csv
from importlib.resources import files

import pytest

from actum.core.errors import ToolError
from actum.toolsets.everyday.units import convert_units, find_unit

ROWS = list(csv.DictReader((files("actum") / "data" / "units.csv").read_text("utf-8").splitlines()))


@pytest.mark.parametrize(
    ("value", "start", "end", "result"),
    [
        (5, "miles", "km", 8.04672),
        (26.2, "mi", "公里", 42.1648128),
        (100, "华氏度", "摄氏度", 37.77777778),
        (0, "°C", "K", 273.15),
        (-40, "celsius", "F", -40),
        (70, "kg", "pounds", 154.3235835),
        (3, "斤", "克", 1500),
        (2, "hours", "minutes", 120),
        (1, "GB", "MiB", 953.6743164),
        (1, "亩", "m2", 666.6666667),
        (100, "km/h", "mph", 62.13711922),
    ],
)
def test_a_measure_is_converted(value: float, start: str, end: str, result: float) -> None:
    assert convert_units(value, start, end)["result"] == result


def test_the_units_come_back_by_their_symbols() -> None:
    assert convert_units(1, "英里", "kilometres") == {
        "value": 1,
        "from_unit": "mi",
        "result": 1.609344,
        "to_unit": "km",
    }


def test_another_quantity_is_refused_by_name() -> None:
    with pytest.raises(ToolError, match="km is a unit of length, kg of mass"):
        convert_units(1, "km", "kg")


@pytest.mark.parametrize("unit", ["", "parsnips", "k m", "x" * 1000])
def test_an_unknown_unit_is_refused(unit: str) -> None:
    with pytest.raises(ToolError, match="not known"):
        convert_units(1, unit, "m")


def test_nothing_is_colder_than_nothing() -> None:
    with pytest.raises(ToolError, match="absolute zero"):
        convert_units(-300, "°C", "K")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["unit"])
def test_every_unit_is_found_under_all_of_its_names(row: dict[str, str]) -> None:
    names = [row["unit"], row["name"], row["name_zh"], *row["aliases"].split("|")]
    found = {find_unit(name).symbol for name in filter(None, names)}
    assert row["unit"] in found
    assert {find_unit(name).quantity for name in filter(None, names)} == {row["quantity"]}
