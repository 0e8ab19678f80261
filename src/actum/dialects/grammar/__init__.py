"""Grammars that hold a local model to text and valid calls."""

from .grammar import grammar_of

__all__ = ["grammar_of"]
