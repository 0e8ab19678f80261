"""Reads the calls of an API that was asked to require every parameter: a null stands for one left out. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from msgspec import structs

from ...core.call import ToolCall
from ...core.event import CallSaid, Delta
from ...core.json import JsonObject
from ...core.message import Reply
from ...core.tool import Tool
from ..base import ApiDecoder
from .schema_subset import OPENAI_STRICT, strictly, without_nulls


class StrictDecoder:
    """A decoder around another one. What a call's `raw` and its fragments say stays as it came.

    Args:
        decoder: reads the answer.
        tools: of the request.
    """

    def __init__(self, decoder: ApiDecoder, tools: Sequence[Tool]) -> None:
        self._decoder = decoder
        self._tools = {tool.name: tool for tool in tools}

    @property
    def ended(self) -> bool:
        """The answer came to its own end."""
        return self._decoder.ended

    @property
    def reply(self) -> Reply:
        """All that was said."""
        reply = self._decoder.reply
        content = [self._call(part) if isinstance(part, ToolCall) else part for part in reply.content]
        return structs.replace(reply, content=tuple(content))

    def feed(self, chunk: bytes | str) -> list[Delta]:
        """Take the next piece."""
        return [self._delta(delta) for delta in self._decoder.feed(chunk)]

    def close(self) -> list[Delta]:
        """The input is at its end."""
        return [self._delta(delta) for delta in self._decoder.close()]

    def _delta(self, delta: Delta) -> Delta:
        return CallSaid(delta.index, self._call(delta.call)) if isinstance(delta, CallSaid) else delta

    def _call(self, call: ToolCall) -> ToolCall:
        tool = self._tools.get(call.name)
        if tool is None or strictly(tool, OPENAI_STRICT) is None:
            return call
        arguments = without_nulls(call.arguments, tool.parameters, tool.parameters)
        return structs.replace(call, arguments=cast(JsonObject, arguments))
