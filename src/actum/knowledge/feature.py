"""Knowledge as a feature: its tables and its operations."""

from __future__ import annotations

from ..features.feature import Feature
from .feature_tables import MIGRATIONS, NAME, TABLES

FEATURE = Feature(
    name=NAME,
    title="Documents: collections, search, and who may read them.",
    tables=TABLES,
    migrations=MIGRATIONS,
)
