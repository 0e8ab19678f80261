"""`country_facts` and `query_data`: some facts on 117 countries, asked for one by one or in SQL.

The data is `countries.csv`, which ships with actum. `query_data` runs a model's SQL over a copy of it in memory, and
that is all it can reach: SQLite's authorizer permits reading these columns and calling harmless functions, nothing
else; a query has half a second, 200 rows, and 2,000 characters a value.
"""

from __future__ import annotations

import csv
import sqlite3
import time
from functools import cache
from importlib.resources import files
from typing import Literal, TypedDict

from ...core.errors import ToolError

Field = Literal["capital", "population", "area", "continent", "all"]

SECONDS_MAX = 0.5
ROWS_MAX = 200
CHARACTERS_MAX = 2_000
VALUE_BYTES_MAX = 100_000
SQL_BYTES_MAX = 5_000

_COLUMNS = (
    "name",
    "name_zh",
    "capital",
    "capital_zh",
    "continent",
    "continent_zh",
    "area_km2",
    "population",
    "population_year",
)
_NUMBERS = {"area_km2", "population", "population_year"}
_FIELDS: dict[Field, tuple[str, ...]] = {
    "capital": ("capital", "capital_zh"),
    "population": ("population", "population_year"),
    "area": ("area_km2",),
    "continent": ("continent", "continent_zh"),
    "all": _COLUMNS[2:],
}
_FUNCTIONS = frozenset(
    {
        *(
            "abs",
            "avg",
            "coalesce",
            "count",
            "group_concat",
            "hex",
            "ifnull",
            "iif",
            "instr",
            "length",
            "like",
            "lower",
        ),
        *("ltrim", "max", "min", "nullif", "replace", "round", "rtrim", "sign", "substr", "substring", "sum", "total"),
        *("trim", "upper", "row_number", "rank", "dense_rank", "ntile", "lag", "lead", "first_value", "last_value"),
    }
)
"""What a query may call. Not `printf` and `randomblob`, which make much out of nothing."""

Cell = str | int | float | None


class Rows(TypedDict):
    """What a query found. `more` tells that rows were left out."""

    columns: list[str]
    rows: list[list[Cell]]
    more: bool


def country_facts(name: str, field: Field = "all") -> dict[str, Cell]:
    """Look up facts on a country: its capital, its population (how many people live there), its area (how big it is)
    or its continent.

    Args:
        name: The country, in English or Chinese.
        field: Which fact is wanted; all of them if left out.
    """
    country = _countries().get(_key(name))
    if country is None:
        raise ToolError(
            "{name!r} is not among the {count} countries known here.",
            name=name[:60],
            count=len(set(map(id, _countries().values()))),
        )
    return {"country": country["name"], "country_zh": country["name_zh"]} | {
        key: country[key] for key in _FIELDS[field]
    }


def query_data(sql: str) -> Rows:
    """Answer a read-only SQL query over the table countries, which has the columns name, name_zh, capital, capital_zh,
    continent, continent_zh, area_km2, population and population_year.

    Args:
        sql: One SELECT statement in SQLite's dialect.
    """
    sql = sql.encode("utf-8", "replace").decode()
    if len(sql.encode()) > SQL_BYTES_MAX:
        raise ToolError("The query is longer than {most} bytes.", most=SQL_BYTES_MAX)
    database = _database()
    try:
        cursor = database.execute(sql)
        found = cursor.fetchmany(ROWS_MAX + 1)
        columns = [column[0] for column in cursor.description or ()]
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        raise ToolError(_told(error)) from None
    finally:
        database.close()
    if not columns:
        raise ToolError("The query is empty: a SELECT over the table countries was expected.")
    rows = [[_cell(value) for value in row] for row in found[:ROWS_MAX]]
    return {"columns": columns, "rows": rows, "more": len(found) > ROWS_MAX}


@cache
def _rows() -> list[dict[str, str]]:
    return list(csv.DictReader((files("actum") / "data" / "countries.csv").read_text("utf-8").splitlines()))


@cache
def _countries() -> dict[str, dict[str, Cell]]:
    """Each country under all of its names."""
    found = {}
    for row in _rows():
        values: dict[str, Cell] = {key: int(row[key]) if key in _NUMBERS else row[key] for key in _COLUMNS}
        for name in (row["name"], row["name_zh"], *filter(None, row["aliases"].split("|"))):
            found[_key(name)] = values
    return found


def _key(name: str) -> str:
    return name.strip().casefold().removeprefix("the ")


def _database() -> sqlite3.Connection:
    """A fresh copy of the data, with the bars up. A copy a query: nothing one query does is seen by the next."""
    database = sqlite3.connect(":memory:", cached_statements=0)
    kinds = ", ".join(f"{name} {'INTEGER' if name in _NUMBERS else 'TEXT'}" for name in _COLUMNS)
    database.execute(f"CREATE TABLE countries ({kinds})")
    marks = ", ".join("?" * len(_COLUMNS))
    database.executemany(f"INSERT INTO countries VALUES ({marks})", [[row[key] for key in _COLUMNS] for row in _rows()])
    database.commit()
    database.execute("PRAGMA temp_store = MEMORY")
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX)
    database.setlimit(sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, 20)
    database.setlimit(sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 100)
    database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    deadline = time.monotonic() + SECONDS_MAX
    database.set_progress_handler(lambda: time.monotonic() > deadline, 1_000)
    database.set_authorizer(_authorize)
    return database


def _authorize(action: int, first: str | None, second: str | None, database: str | None, trigger: str | None) -> int:
    """Allow a SELECT that reads the table and calls functions of the list. All else is denied, and so are PRAGMA,
    ATTACH, recursion, temporary tables and SQLite's own catalogue."""
    match action:
        case sqlite3.SQLITE_SELECT:
            allowed = True
        case sqlite3.SQLITE_READ:
            allowed = first == "countries"
        case sqlite3.SQLITE_FUNCTION:
            allowed = str(second).casefold() in _FUNCTIONS
        case _:
            allowed = False
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def _told(error: Exception) -> str:
    """SQLite's words where they help to mend a query of this one public table; they hold nothing but its names."""
    told = str(error)
    if "interrupted" in told:
        return f"The query took longer than {SECONDS_MAX} seconds and was stopped."
    if "prohibited" in told or "not authorized" in told:
        return "Only SELECT over the table countries is allowed here, with the usual functions."
    return f"The query can not be answered: {told[:200].rstrip('.')}."


def _cell(value: object) -> Cell:
    match value:
        case None | int() | float():
            return value
        case str():
            return value[:CHARACTERS_MAX]
        case _:
            return f"[{len(bytes(value)) if isinstance(value, bytes) else 0} bytes]"
