"""Knowledge as a feature: its tables."""

from __future__ import annotations

from ..core.stores import AddTable
from ..features.feature import Feature
from .tables import COLLECTIONS, DOCUMENTS, INDEX, PAGES, PASSAGES

_TABLES = (COLLECTIONS, DOCUMENTS, PASSAGES, PAGES, *INDEX.tables)
FEATURE = Feature(
    name="knowledge",
    title="Documents: collections, search, and who may read them.",
    tables=_TABLES,
    migrations=(tuple(map(AddTable, _TABLES)),),
)
