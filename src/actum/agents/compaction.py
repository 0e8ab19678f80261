"""Sums up a conversation, however long it is: in one request where the model can read all of it, else in parts.

A part that the model can read is summed up, and the next request tells that summary before what comes after.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import msgspec
from msgspec import Struct

from ..core.call import TextPart
from ..core.errors import ContextOverflow, ModelGarbled
from ..core.message import Message, Reply, ToolMessage, UserMessage
from ..runs.wording import Phrases
from .alternation import in_turns
from .shortening import CLIPS, clipped, halves

REQUESTS_MAX = 64
"""So many requests are sent for one summary."""

_encode = msgspec.json.Encoder().encode


class Summary(Struct, frozen=True):
    """What a conversation was summed up as.

    Attributes:
        text: the summary.
        in_parts: the model could not read all of the conversation at once.
    """

    text: str
    in_parts: bool = False


async def sum_up(
    messages: Sequence[Message], ask: Callable[[Sequence[Message]], Awaitable[Reply]], wording: Phrases
) -> Summary:
    """Have a model sum up a conversation.

    Args:
        messages: the conversation.
        ask: asks the model.
        wording: of the request, in the language of the conversation.

    Raises:
        ContextOverflow: not even the smallest part is short enough for the model.
        ModelGarbled: the model's answer is no summary: empty, or cut off.
        ModelError: the model gave no answer.
    """
    demand = UserMessage((TextPart(wording.compact()),), "developer")
    summary: list[Message] = []
    rest, clip, part = list(messages), 0, list(messages)
    overflowed = False
    for _ in range(REQUESTS_MAX):
        try:
            told = [clipped(each, clip) if clip else each for each in part]
            reply = await ask(in_turns([*summary, *told, demand], wording.noted))
        except ContextOverflow:
            overflowed = True
            smaller = halves(part)
            if smaller is not None:
                part = smaller[0]
            else:
                clip = next((each for each in CLIPS if not clip or each < clip), -1)
                if clip < 0:
                    raise
            continue
        text = _checked(reply)
        rest = rest[len(part) :]
        if not rest:
            return Summary(text, overflowed)
        summary = [UserMessage((TextPart(wording.summary(text)),), "memory")]
        part = _beginning(rest, _size(part))
    raise ContextOverflow("the conversation is too long to be summed up in {most} requests", most=REQUESTS_MAX)


def _checked(reply: Reply) -> str:
    if not reply.text.strip():
        raise ModelGarbled("the model summed up the conversation in no words: it stays as it is")
    if reply.cut_off:
        raise ModelGarbled(
            "the model's summary was cut off ({cut_off}): the conversation stays as it is. A larger "
            "max_tokens in the model settings may help",
            cut_off=reply.cut_off,
        )
    return reply.text


def _beginning(messages: list[Message], size: int) -> list[Message]:
    """The first messages, of about this size together; calls with their results."""
    end, used = 0, 0
    while end < len(messages):
        used += _size(messages[end : end + 1])
        if end and used > size and not isinstance(messages[end], ToolMessage):
            break
        end += 1
    return messages[:end]


def _size(messages: Sequence[Message]) -> int:
    return sum(len(_encode(message)) for message in messages)
