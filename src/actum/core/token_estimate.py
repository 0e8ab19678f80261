"""How many tokens a request and its reply have, for endpoints that do not tell, or tell nonsense. Pure.

A token is taken for four bytes of text, as is usual for English; the real number may well be half or twice as much.
Numbers above 0 that an endpoint tells are never changed.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from .call import MediaPart, TextPart, ToolCall
from .json import dumps
from .message import Message, ReasoningPart, RefusalPart, Reply, ReplyPart, ToolMessage, Usage

TOKEN_BYTES = 4
MEDIA_TOKENS = 1_000
"""What a picture or a file is taken for."""


def with_usage(reply: Reply, messages: Iterable[Message], tools: int = 0) -> Reply:
    """A reply with its tokens, estimated where the endpoint tells none.

    Args:
        reply: the reply.
        messages: what the model was asked.
        tools: the bytes of the definitions of the tools that the model was shown.
    """
    usage = reply.usage
    if usage.input_tokens and usage.output_tokens:
        return reply
    input_tokens = usage.input_tokens or tools // TOKEN_BYTES + sum(map(tokens_of, messages))
    output_tokens = usage.output_tokens or tokens_of(reply)
    usage = msgspec.structs.replace(usage, input_tokens=input_tokens, output_tokens=output_tokens, estimated=True)
    return msgspec.structs.replace(reply, usage=usage)


def with_sound_usage(reply: Reply) -> Reply:
    """A reply whose numbers of tokens are not below 0: an endpoint can not give tokens back."""
    told = reply.usage
    if told.is_sound:
        return reply
    usage = Usage(
        input_tokens=max(0, told.input_tokens),
        output_tokens=max(0, told.output_tokens),
        cached_tokens=max(0, told.cached_tokens),
        reasoning_tokens=max(0, told.reasoning_tokens),
        cache_written_tokens=max(0, told.cache_written_tokens),
    )
    return msgspec.structs.replace(reply, usage=usage)


def tokens_of(message: Message) -> int:
    """How many tokens a message has, estimated."""
    match message:
        case ToolMessage():
            media = sum(isinstance(part, MediaPart) for part in message.result.content)
            return _tokens(message.result.text) + media * MEDIA_TOKENS
        case Reply():
            return sum(map(_tokens_of_part, message.content))
        case _ if isinstance(content := getattr(message, "content", None), tuple):
            return sum(map(_tokens_of_part, content))
        case _:
            return _tokens(message.text)


def _tokens_of_part(part: ReplyPart) -> int:
    match part:
        case ToolCall():
            return _tokens(part.name) + _tokens(dumps(part.arguments))
        case MediaPart():
            return MEDIA_TOKENS
        case TextPart() | ReasoningPart() | RefusalPart():
            return _tokens(part.text)


def _tokens(text: str) -> int:
    return -(-len(text.encode(errors="replace")) // TOKEN_BYTES)
