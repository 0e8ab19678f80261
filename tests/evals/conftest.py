"""Where a journal can live, as for the tests of storage."""

from __future__ import annotations

from tests.storage.conftest import file, shared, store

__all__ = ["file", "shared", "store"]
