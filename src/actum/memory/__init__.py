"""Memory: what a user said in other conversations is found, told to the model and shown, as views of the journal."""

from .memory import Memory

__all__ = ["Memory"]
