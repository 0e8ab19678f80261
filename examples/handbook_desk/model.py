"""What stands in for the language model: it reads the handbook, asks for the price of today, and quotes both."""

from __future__ import annotations

from actum import ToolCall
from actum.messages import Reply, Request, ToolMessage, UserMessage
from actum.testing import Said

CALLS = (
    ToolCall("search", "search", {"query": "What may a hotel cost a night?"}),
    ToolCall("open", "click", {"number": 0}),
    ToolCall("rule", "quote", {"text": "A hotel may cost at most 120 euros a night"}),
    ToolCall("price", "hotel_price", {"city": "Oslo"}),
    ToolCall("today", "quote", {"text": '"euros_a_night":98', "source": "hotel_price"}),
)
RIGHT = "A hotel may cost at most 120 euros a night [1]. One in Oslo costs 98 euros today [2]."
WRONG = RIGHT.replace("98", "95")


def script(request: Request) -> Said:
    """One call after the other, then an answer with a wrong price; told so, the answer with the right one."""
    done = sum(isinstance(each, ToolMessage) for each in request.messages)
    if done < len(CALLS):
        return Reply.of(calls=[CALLS[done]])
    return RIGHT if isinstance(request.messages[-1], UserMessage) else WRONG
