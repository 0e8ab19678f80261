"""A conversation in the form of an API, read as messages: for `Agent.run(messages=...)`. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from ...core.errors import UsageError
from ...core.json import JsonObject
from ...core.message import Message
from ..base import ApiDialect
from .transcode import find

FIELDS = {"gemini_content": "contents", "openai_responses": "input"}
"""Where the messages stand in a request, by the name of a dialect; `messages` in all others."""


@runtime_checkable
class _Dumpable(Protocol):
    """A value of an official client's library, which are models of pydantic."""

    def model_dump(self, *, mode: str, exclude_none: bool) -> JsonObject: ...


def read_messages(
    conversation: bytes | str | Mapping[str, object] | Sequence[object], source: str | ApiDialect
) -> list[Message]:
    """Read a conversation that is written in the form of an API.

    Args:
        conversation: the list of messages as that API's requests have it (`messages`, `input` of Responses, `contents`
            of Gemini), or a whole request: as JSON text, as Python values, or as values of the official clients.
        source: the API: `openai`, `responses`, `anthropic`, `gemini`, another name of `actum.dialects.names()`, or a
            dialect.

    Returns:
        The messages, instructions of a request first.

    Raises:
        UsageError: it is no conversation of this API; the error names the place.
        UnknownName: there is no such API.

    >>> read_messages([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}], "openai")[1].text
    'Hello.'
    """
    dialect = find(source)
    if not isinstance(dialect, ApiDialect):
        raise UsageError(
            "{dialect} is a way to write calls in text and has no form for a conversation", dialect=dialect.name
        )
    return list(dialect.decode_request(_body(conversation, FIELDS.get(dialect.name, "messages"))).messages)


def _body(conversation: object, field: str) -> bytes:
    """The body of a request with this conversation."""
    if isinstance(conversation, str | bytes):
        wire = conversation.encode("utf-8", "replace") if isinstance(conversation, str) else conversation
        return b'{"%s":%s}' % (field.encode(), wire) if wire.lstrip().startswith(b"[") else wire
    value = conversation if isinstance(conversation, Mapping) else {field: conversation}
    try:
        return msgspec.json.encode(value, enc_hook=_dumped)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError("the conversation can not be written as JSON: {why}", why=error) from None


def _dumped(value: object) -> object:
    if isinstance(value, _Dumpable):
        return value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is no JSON value")
