"""Quotes that a program has checked: they stand in one piece in a text that was read."""
