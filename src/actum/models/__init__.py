"""Models: what answers a request. `open_model` makes one out of a string and loads only what that one needs."""

from .catalog import open_model

__all__ = ["open_model"]
