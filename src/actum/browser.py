"""A browser over collections of documents: `Agent(model, [Browser(knowledge=["handbook"])])`."""

from __future__ import annotations

from .knowledge.browsing.browser import Browser

__all__ = ["Browser"]
