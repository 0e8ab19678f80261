"""Whether a reply was cut short, by its own word for why the model stopped, in whatever API. Pure.

Each API has its own words for a limit, a filter and an error. What is said here keeps a reply that was cut short from
being told as a whole answer at another API.
"""

from __future__ import annotations

from typing import Literal

from ...core.message import LOST_CALL_WORDS, PAUSE_WORDS, Reply

_BROKEN_OFF = frozenset(
    {
        *("abort", "aborted", "cancelled", "error", "failed", "incomplete", "insufficient_system_resource"),
        *("image_other", "language", "no_image", "other"),
    }
    | LOST_CALL_WORDS
    | PAUSE_WORDS
)
"""What APIs call it when a reply without calls ended before its model was done, and neither a limit nor a filter was
why."""


def cut_short(reply: Reply) -> Literal["", "length", "content_filter"]:
    """Why a reply is not whole; empty where it is. Every cause that is no filter is a `length`, since all APIs have a
    word for that, and their clients know that such an answer is not whole.
    """
    if reply.cut_off or reply.calls:
        return reply.cut_off
    return "length" if reply.finish_reason.lower() in _BROKEN_OFF else ""
