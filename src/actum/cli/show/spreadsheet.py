"""Rows for a spreadsheet, as CSV on stdout. Nothing in a row is a formula, and nothing moves the cursor."""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence

from msgspec import Struct, structs

from ...core.json import dumps
from ...core.visible import visible
from . import moments


def write_rows(items: Sequence[Struct], kind: type[Struct]) -> None:
    """Print a row for each item, under a header.

    Args:
        items: the items.
        kind: their type. A time in the field `at` is also told in words, in the first column.
    """
    out, has_time = csv.writer(sys.stdout, lineterminator="\n"), "at" in kind.__struct_fields__
    out.writerow([*(("time",) if has_time else ()), *kind.__struct_fields__])
    for item in items:
        values = structs.asdict(item)
        out.writerow([*((moments.iso(values["at"]),) if has_time else ()), *map(_cell, values.values())])


def _cell(value: object) -> object:
    if value is None or isinstance(value, int | float):
        return value
    text = visible(value if isinstance(value, str) else dumps(value))
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t")) else text
