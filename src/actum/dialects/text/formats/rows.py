"""The rows of all files of this room."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

from ..tagged.dialect import Format
from . import arg_key, cohere, gemma, invoke, messages, table, table_more


def _rows_of(module: ModuleType) -> Iterator[Format]:
    """Every row that a module defines."""
    return (value for value in vars(module).values() if isinstance(value, Format))


MODULES = (table, table_more, invoke, arg_key, messages, cohere, gemma)
"""The modules that define rows."""

FORMATS: dict[str, Format] = {row.name: row for module in MODULES for row in _rows_of(module)}
"""All rows by name. A row is found because its module defines the row: no list names the rows."""
