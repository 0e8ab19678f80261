"""Where tools live. A toolset lists its tools and executes a call, and knows nothing of models.

    from actum.toolsets import FunctionToolset, Wrapper

The names of this package are loaded when they are used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .function.function import FunctionToolset
    from .wrappers import ToolLabels, Wrapper, combined, filtered, labelled, prefixed, renamed

__all__ = ["FunctionToolset", "ToolLabels", "Wrapper", "combined", "filtered", "labelled", "prefixed", "renamed"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(".function.function" if name == "FunctionToolset" else ".wrappers", __name__), name)
