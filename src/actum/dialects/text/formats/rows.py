"""The rows of all files of this room."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

from ..tagged.dialect import Format
from . import cohere, gemma, table, table_more


def _rows_of(module: ModuleType) -> Iterator[Format]:
    """Every row that a module defines."""
    return (value for value in vars(module).values() if isinstance(value, Format))


FORMATS: dict[str, Format] = {
    row.name: row for module in (table, table_more, cohere, gemma) for row in _rows_of(module)
}
"""All rows by name. A row is found because its module defines the row: no list names the rows."""
