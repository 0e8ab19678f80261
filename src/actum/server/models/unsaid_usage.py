"""How many tokens a request used, where its upstream did not tell. Pure.

Most APIs tell the tokens last. A client that hangs up just before the end would have used nothing otherwise, on each of
its requests. What is estimated here is marked as an estimate on record. Not known are the tokens of an answer that was
to come whole and never came: the upstream may have written any part of it.
"""

from __future__ import annotations

from msgspec import structs

from ...core.errors import UsageError
from ...core.message import Reply, Usage
from ...core.token_estimate import TOKEN_BYTES, with_usage
from .request import ModelRequest


def input_estimate(asked: ModelRequest) -> int:
    """How many tokens a request has.

    Raises:
        UsageError: the body is no request of its API.
    """
    request = asked.portable
    counted = with_usage(Reply.of(""), request.messages, sum(len(str(tool.parameters)) for tool in request.tools))
    return counted.usage.input_tokens


def usage_at_end(asked: ModelRequest, told: Usage, said_bytes: int, *, is_whole: bool) -> Usage:
    """What a request used.

    Args:
        asked: the request.
        told: what the upstream has told of tokens.
        said_bytes: the bytes of what the model said, as far as it came.
        is_whole: the answer came to its end: what was told by then is all.
    """
    written = told.output_tokens
    if not (is_whole and written):
        written = max(written, -(-said_bytes // TOKEN_BYTES))
    usage = structs.replace(told, input_tokens=told.input_tokens or _input(asked), output_tokens=written)
    return structs.replace(usage, estimated=not is_whole or usage != told)


def _input(asked: ModelRequest) -> int:
    try:
        return input_estimate(asked)
    except UsageError:  # it goes through unread where the upstream speaks the same API
        return -(-len(asked.body) // TOKEN_BYTES)
