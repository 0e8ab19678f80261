"""The items of the Responses API's output, and its calls, while they grow. Pure."""

from __future__ import annotations

from ....core.call import ToolCall
from ..draft import OpenCall, OpenText, custom_call


class FunctionCall(OpenCall):
    """A call of a function.

    Attributes:
        hint: what stood as arguments where it began; counts if nothing else comes.
    """

    __slots__ = ("hint",)
    is_custom = False

    def __init__(self, index: int, id: str, wire_id: str) -> None:
        super().__init__(index, id, wire_id)
        self.hint = ""


class CustomCall(FunctionCall):
    """A call of a custom tool: free text, which becomes one argument."""

    __slots__ = ()
    is_custom = True

    def settle(self, *, broke_off: bool) -> ToolCall:
        """The call out of all that came of it."""
        return custom_call(self, broke_off=broke_off)


CALLS: dict[str, type[FunctionCall]] = {"function_call": FunctionCall, "custom_tool_call": CustomCall}
"""The items that are calls."""


class Item:
    """An item of the output, and the parts of the reply that it holds.

    Attributes:
        kind: its type.
        texts: of a message, by number and the field in which their text stands.
        thought: of a reasoning item, what was told of each of its summaries and texts stands in `told`.
        whole: its last word came.
    """

    __slots__ = ("call", "id", "kind", "texts", "thought", "told", "whole")

    def __init__(self, kind: str, id: str) -> None:
        self.kind = kind
        self.id = id
        self.texts: dict[tuple[int, str], OpenText] = {}
        self.thought: OpenText | None = None
        self.told: dict[tuple[str, int], list[str]] = {}
        self.call: FunctionCall | None = None
        self.whole = False
