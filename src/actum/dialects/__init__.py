"""How a model says a call: every dialect by its name. Pure functions and incremental decoders; see `base`."""

from .catalog import dialect, for_model, names

__all__ = ["dialect", "for_model", "names"]
