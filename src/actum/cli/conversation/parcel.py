"""A tool of one's own, as `actum demo` uses it: a function, its types, its docstring."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ... import tool

Code = Annotated[str, Field(pattern="^[A-Z]{2}-[0-9]{4}$")]


@tool(effects={"read"})
def parcel(code: Code) -> str:
    """Track a parcel: where is it now?

    Args:
        code: the parcel's code, such as "DE-2042".
    """
    return f"Parcel {code} is in Hamburg."
