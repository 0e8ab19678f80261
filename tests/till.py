"""A payment, what was paid, and a model that pays once: what must not happen twice, nor behind somebody's back."""

from __future__ import annotations

from actum import ToolCall, tool
from actum.core.message import ToolMessage
from actum.core.model import Request
from actum.testing import Said


class Till:
    """A tool `pay`, and every amount that was paid with it.

    Args:
        approval: whether each payment asks a person.
    """

    def __init__(self, *, approval: bool = True) -> None:
        self.paid: list[int] = []

        @tool(effects={"spend"}, approval=approval)
        async def pay(amount: int) -> str:
            """Pay."""
            self.paid.append(amount)
            return f"paid {amount}"

        self.pay = pay


def pays_once(request: Request) -> Said:
    """Pays, and is done when it hears of it. It goes by what was said, so it can be asked again after a cut."""
    return "Done." if isinstance(request.messages[-1], ToolMessage) else [ToolCall("1", "pay", {"amount": 1})]
