"""Models around models, for those that can not call tools by their API, or do it in the wrong place.

Prompted      tells a model in its prompt how to write a call, and reads the calls out of its text
Recognising   a model that calls by its API, and now and then writes a call into its text instead
Auto          one of the two, as the endpoint is known or found to be
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from msgspec import structs

from ..core.call import TextPart, ToolCall
from ..core.errors import ModelError, ModelRejected
from ..core.event import CallSaid, Delta, ReasoningDelta, TextDelta
from ..core.message import ReasoningPart, Reply, ReplyPart
from ..core.model import Model, Request, default_max_tokens, is_supervised
from ..core.tool import Tool
from ..dialects.base import ApiDialect, TextDecoder, TextDialect
from .result_pictures import refuses_pictures, without_pictures

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
        self._takes_no_pictures = False

    def __repr__(self) -> str:
        return f"Prompted({self.model!r}, {self.dialect.name!r})"

    @property
    def name(self) -> str:
        """The inner model's name."""
        return self.model.name

    @property
    def supervised(self) -> bool:
        """What the inner model says of itself; see `core.model.Supervised`."""
        return is_supervised(self.model)

    @property
    def default_max_tokens(self) -> int | None:
        """What the inner model says of itself; see `core.model.LengthLimited`."""
        return default_max_tokens(self.model)

    async def reply(self, request: Request, emit: Callable[[Delta], None] | None = None) -> Reply:
        """Answer a request; see `Model.reply`. Usage, finish reason and the like are those of the inner reply."""
        if self._takes_no_pictures:
            request = without_pictures(request)
        try:
            return await self._reply(request, emit)
        except (
            ModelRejected
        ) as error:  # in text, results are words of the user: the inner model can not tell them apart
            if self._takes_no_pictures or not refuses_pictures(request, error):
                raise
        self._takes_no_pictures = True
        return await self._reply(without_pictures(request), emit)

    async def _reply(self, request: Request, emit: Callable[[Delta], None] | None) -> Reply:
        reading = _Reading(self.dialect, request.tools, emit)
        inner = await self.model.reply(self.dialect.encode_request(request), reading.hear if emit else None)
        return reading.finish(inner)


class _Reading:
    """Passes on what a model says, its text through a text dialect.

    The marks of thoughts count in a text before which the server told no reasoning.
    """

    def __init__(self, dialect: TextDialect, tools: Sequence[Tool], emit: Callable[[Delta], None] | None) -> None:
        self._dialect = dialect
        self._tools = tools
        self._emit = emit
        self._reasoned = False
        self._decoder: TextDecoder | None = None

    def hear(self, delta: Delta) -> None:
        match delta:
            case TextDelta(text, refusal=False):
                self._read(text)
            case TextDelta():
                self._tell([delta])
            case ReasoningDelta():
                self._reasoned = True
                self._tell([delta])
            case _:  # a call by the API, which nothing asked for: the reply holds it
                pass

    def finish(self, inner: Reply) -> Reply:
        self._reasoned = self._reasoned or _reasoned(inner)
        decoder = self._decoder or self._read(_text(inner))
        self._tell(decoder.close(cut_off=bool(inner.cut_off)))
        read = decoder.reply
        if decoder.unclosed and not inner.cut_off:
            answer = _decoded(self._dialect, inner, self._tools, reasoned=True).reply
            if (
                answer.text and not answer.calls
            ):  # the model did not think this time; a call may still be one that it only thought of
                read = answer
                self._tell([TextDelta(answer.text)])
        return structs.replace(_with_text_as(inner, read.content), extras={**inner.extras, **read.extras})

    def _read(self, text: str) -> TextDecoder:
        if self._decoder is None:
            self._decoder = self._dialect.decoder(tools=self._tools, reasoned=self._reasoned)
        self._tell(self._decoder.feed(text))
        return self._decoder

    def _tell(self, deltas: Iterable[Delta]) -> None:
        if self._emit is not None:
            for delta in deltas:
                self._emit(delta)


class Recognising:
    """A `Model` that takes a call by one that calls by its API, even where it stands in the text of the reply.

    A call is looked for only in a reply without calls, and counts only where the text calls a tool of the request. The
    limit: a model that shows the JSON of such a call as an example has made the call.

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

    @property
    def supervised(self) -> bool:
        """What the inner model says of itself; see `core.model.Supervised`."""
        return is_supervised(self.model)

    @property
    def default_max_tokens(self) -> int | None:
        """What the inner model says of itself; see `core.model.LengthLimited`."""
        return default_max_tokens(self.model)

    async def reply(self, request: Request, emit: Callable[[Delta], None] | None = None) -> Reply:
        """Answer a request; see `Model.reply`. The text of a recognised call was told as text before it was one."""
        reply = await self.model.reply(request, emit)
        if reply.calls or not request.tools or request.tool_choice == "none" or "{" not in reply.text:
            return reply
        read = _read_whole(self.dialect, reply, request.tools)
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

    async def probe(self, like: Request) -> bool:
        """Find it out, by a request with the headers, the timeout and the extras of this one; True where it stays
        open.
        """

    async def refuses_tools(self, error: ModelError, like: Request) -> bool:
        """Whether this refusal of a request with tools shows that it does not call them after all."""

    def called(self) -> None:
        """It has called a tool."""


class Auto:
    """A `Model` that calls tools by its endpoint's API where that works, and by its prompt where it does not.

    Args:
        endpoint: is probed with the first request that has tools. Where it refuses tools later on, the calls are
            written in text from then on.
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
    def supervised(self) -> bool:
        """What the endpoint says of itself; see `core.model.Supervised`."""
        return is_supervised(self.endpoint)

    @property
    def default_max_tokens(self) -> int | None:
        """What the endpoint says of itself; see `core.model.LengthLimited`."""
        return default_max_tokens(self.endpoint)

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
        if not await self.endpoint.probe(request):
            return await self._prompted.reply(request, emit)
        heard = False

        def hear(delta: Delta) -> None:
            nonlocal heard
            heard = True
            assert emit is not None
            emit(delta)

        try:
            reply = await self._native.reply(request, hear if emit else None)
        except ModelError as error:
            if heard or not request.tools or not await self.endpoint.refuses_tools(error, request):
                raise
            return await self._prompted.reply(request, emit)
        if any(WRITTEN_AS_TEXT not in call.repairs for call in reply.calls):
            self.endpoint.called()
        return reply


def _read_whole(dialect: TextDialect, reply: Reply, tools: Sequence[Tool]) -> Reply:
    """What a text dialect makes of the text of a reply."""
    decoder = _decoded(dialect, reply, tools, reasoned=_reasoned(reply))
    if decoder.unclosed:  # the model did not think this time
        decoder = _decoded(dialect, reply, tools, reasoned=True)
    return decoder.reply


def _decoded(dialect: TextDialect, reply: Reply, tools: Sequence[Tool], *, reasoned: bool) -> TextDecoder:
    decoder = dialect.decoder(tools=tools, reasoned=reasoned)
    decoder.feed(_text(reply))
    decoder.close(cut_off=bool(reply.cut_off))
    return decoder


def _reasoned(reply: Reply) -> bool:
    """The server told reasoning in a field of its own."""
    return any(isinstance(part, ReasoningPart) for part in reply.content)


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
