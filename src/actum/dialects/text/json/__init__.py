"""Calls that stand in text as JSON."""
