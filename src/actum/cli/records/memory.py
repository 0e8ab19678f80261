"""`actum memory`: what is remembered of you, made from operations of the API."""

from __future__ import annotations

from ...server.api.memories import OPERATIONS
from ..operated import group_of

app = group_of(OPERATIONS, "What is remembered of you across conversations: list, search, show, forget.")
