"""Journals in a database, of which triggers are in need."""

from __future__ import annotations

from tests.storage.conftest import shared

__all__ = ["shared"]
