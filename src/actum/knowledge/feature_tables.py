"""How the tables of knowledge came to be."""

from __future__ import annotations

from ..core.stores import AddTable, Migrations
from .tables import COLLECTIONS, DOCUMENTS, INDEX, PAGES, PASSAGES

NAME = "knowledge"
TABLES = (COLLECTIONS, DOCUMENTS, PASSAGES, PAGES, *INDEX.tables)
MIGRATIONS: Migrations = (tuple(AddTable(table) for table in TABLES),)
