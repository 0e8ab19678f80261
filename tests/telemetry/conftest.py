"""Journals in both databases."""

from __future__ import annotations

from tests.storage.conftest import shared

__all__ = ["shared"]
