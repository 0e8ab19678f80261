"""Memory as a feature: its records, its tables and its views."""

from __future__ import annotations

import weakref

from ..core.interfaces import Journal
from ..core.run.noted import RecordKind
from ..core.stored.word_index import BY_TIME
from ..core.stores import AddColumn, AddIndex, AddTable, Stores
from ..features.feature import Feature
from . import notes
from .index import INDEX, TURNS

_MIGRATIONS = (
    tuple(AddTable(table) for table in (*INDEX.tables, notes.NOTES, notes.DROPPED, notes.OUT)),
    (
        AddColumn(INDEX.items, "at", 0.0),
        AddIndex(INDEX.items, BY_TIME),
        AddIndex(notes.NOTES, BY_TIME),
        AddIndex(notes.NOTES, notes.BY_REPLACED),
        AddTable(notes.OFF),
    ),
)

FEATURE = Feature(
    name="memory",
    title="What users said in other conversations.",
    records=notes.RECORDS,
    tables=(*INDEX.tables, *notes.TABLES),
    migrations=_MIGRATIONS,
    views=(TURNS, *notes.VIEWS),
)
_IN_USE: weakref.WeakSet[Stores] = weakref.WeakSet()


async def take_into_use(journal: Journal) -> Stores:
    """Have the tables of memory beside a journal, also where a program opened the journal.

    Raises:
        JournalError: a newer version made the tables.
    """
    stores = journal.stores
    if stores not in _IN_USE:
        journal.record_kinds.add([RecordKind(FEATURE.name, record) for record in FEATURE.records])
        await stores.migrate(FEATURE.name, FEATURE.all_migrations, FEATURE.views)
        _IN_USE.add(stores)
    return stores
