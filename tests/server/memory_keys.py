"""Keys in memory, for tests that watch them or break them."""

from __future__ import annotations

from actum.storage.memory import MemoryDatabase
from actum.storage.tables.keys import DatabaseKeys
from actum.storage.writer import Writer


class MemoryKeys(DatabaseKeys):
    """A `KeyStore` of its own, as it stands beside a journal in memory."""

    def __init__(self) -> None:
        database = MemoryDatabase()
        super().__init__(database, Writer(database, threaded=False), lambda: None)
