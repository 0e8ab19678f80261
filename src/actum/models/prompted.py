"""Models around models, for those that can not call tools by their API, or do it in the wrong place.

Prompted      tells a model in its prompt how to write a call, and reads the calls out of its text
Recognising   a model that calls by its API, and now and then writes a call into its text instead
Auto          one of the two, as the endpoint is known or found to be
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from msgspec import structs

from ..core.call import TextPart, ToolCall
from ..core.event import CallSaid, Delta, ReasoningDelta, TextDelta
from ..core.interfaces import Model, Request
from ..core.message import Reply, ReplyPart
from ..dialects.base import ApiDialect, Decoder, TextDialect

WRITTEN_AS_TEXT = "written as text"
"""What a call that was found in the text of a model that calls by its API is marked with."""


class Prompted:
    """A `Model` that calls tools although the one in it only reads and writes text.

    Args:
        model: reads and writes text.
        dialect: how it is told to write a call.
    """

    def __init__(self, model: Model, dialect: TextDialect) -> None:
        self.model = model
        self.dialect = dialect

    def __repr__(self) -> str:
        return f"Prompted({self.model!r}, {self.dialect.name!r})"

    @property
    def name(self) -> str:
        """The inner model's name."""
        return self.model.name

    async def reply(self, request: Request, emit: Callable[[Delta], None] | None = None) -> Reply:
        """Answer a request; see `Model.reply`. Usage, finish reason and the like are those of the inner reply."""
        reading = _Reading(self.dialect.decoder(tools=request.tools), emit)
        inner = await self.model.reply(self.dialect.encode_request(request), reading.hear if emit else None)
        return reading.finish(inner)


class _Reading:
    """Passes on what a model says, its text through a text dialect."""

    def __init__(self, decoder: Decoder, emit: Callable[[Delta], None] | None) -> None:
        self._decoder = decoder
        self._emit = emit
        self._heard = False

    def hear(self, delta: Delta) -> None:
        match delta:
            case TextDelta(text, refusal=False):
                self._heard = True
                self._tell(self._decoder.feed(text))
            case TextDelta() | ReasoningDelta():
                self._tell([delta])
            case _:  # a call by the API, which nothing asked for: it stands in the reply
                pass

    def finish(self, inner: Reply) -> Reply:
        if not self._heard:
            self._tell(self._decoder.feed(_text(inner)))
        self._tell(self._decoder.close())
        read = self._decoder.reply
        return structs.replace(_with_text_as(inner, read.content), extras={**inner.extras, **read.extras})

    def _tell(self, deltas: Iterable[Delta]) -> None:
        if self._emit is not None:
            for delta in deltas:
                self._emit(delta)


class Recognising:
    """A `Model` that takes a call by one that calls by its API, even where it stands in the text of the reply.

    Only in a reply without calls, and only where the text calls a tool of the request, is it looked for. Its limit: a
    model that shows the JSON of such a call as an example has made it.

    Args:
        model: calls tools by its API.
        dialect: how calls in text may look.
    """

    def __init__(self, model: Model, dialect: TextDialect) -> None:
        self.model = model
        self.dialect = dialect

    def __repr__(self) -> str:
        return f"Recognising({self.model!r}, {self.dialect.name!r})"

    @property
    def name(self) -> str:
        """The inner model's name."""
        return self.model.name

    async def reply(self, request: Request, emit: Callable[[Delta], None] | None = None) -> Reply:
        """Answer a request; see `Model.reply`. The text of a recognised call was told as text before it was one."""
        reply = await self.model.reply(request, emit)
        if reply.calls or not request.tools or request.tool_choice == "none" or "{" not in reply.text:
            return reply
        read = self.dialect.decode(_text(reply), tools=request.tools)
        if {tool.name for tool in request.tools}.isdisjoint(call.name for call in read.calls):
            return reply
        reply = _with_text_as(reply, [_marked(part) for part in read.content])
        if emit is not None:
            for index, call in enumerate(reply.calls):
                emit(CallSaid(index, call))
        return reply


class ProbedModel(Model, Protocol):
    """A model at an endpoint that can be asked whether it calls tools by its API: `Endpoint` is one."""

    @property
    def native(self) -> bool | None:
        """What is known of that; None for nothing yet."""

    @property
    def dialect(self) -> ApiDialect:
        """The dialect of its API."""

    async def probe(self) -> bool:
        """Find it out."""


class Auto:
    """A `Model` that calls tools by its endpoint's API where that works, and by its prompt where it does not.

    Args:
        endpoint: is asked once, with the first request that has tools.
        fallback: how calls are written, or found, in text.

    Attributes:
        endpoint: the model inside.
    """

    def __init__(self, endpoint: ProbedModel, fallback: TextDialect) -> None:
        self.endpoint = endpoint
        self._fallback = fallback
        self._native = Recognising(endpoint, fallback)
        self._prompted = Prompted(endpoint, fallback)

    def __repr__(self) -> str:
        return f"Auto({self.endpoint!r}, dialect_used={self.dialect_used!r})"

    @property
    def name(self) -> str:
        """The endpoint's name."""
        return self.endpoint.name

    @property
    def dialect_used(self) -> str:
        """The name of the dialect in which calls are said; empty as long as that was not found out."""
        if self.endpoint.native is None:
            return ""
        return self.endpoint.dialect.name if self.endpoint.native else self._fallback.name

    async def reply(self, request: Request, emit: Callable[[Delta], None] | None = None) -> Reply:
        """Answer a request; see `Model.reply`."""
        if not request.tools and self.endpoint.native is None:
            return await self.endpoint.reply(request, emit)
        model = self._native if await self.endpoint.probe() else self._prompted
        return await model.reply(request, emit)


def _text(reply: Reply) -> str:
    return "".join([part.text for part in reply.content if isinstance(part, TextPart)])


def _with_text_as(reply: Reply, parts: Iterable[ReplyPart]) -> Reply:
    """The reply with these parts in place of its text: after its reasoning, before its calls."""
    others = [part for part in reply.content if not isinstance(part, TextPart | ToolCall)]
    return structs.replace(reply, content=(*others, *parts, *reply.calls))


def _marked(part: ReplyPart) -> ReplyPart:
    if isinstance(part, ToolCall):
        return structs.replace(part, repairs=(*part.repairs, WRITTEN_AS_TEXT))
    return part
