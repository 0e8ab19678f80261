"""Memory as a feature: its tables, its views, its operations and its commands."""

from __future__ import annotations

from ..features.feature import Feature
from .index import INDEX, TURNS

FEATURE = Feature(
    name="memory",
    title="What users said in other conversations.",
    tables=INDEX.tables,
    views=(TURNS,),
)
