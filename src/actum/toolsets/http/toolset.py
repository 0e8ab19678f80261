"""`ApiToolset`: the operations of an API as tools. Each call is one request through the egress guard.

A request leaves only for an origin that a person confirmed, with the credentials of the call's own user. A request that
may have arrived and whose answer was lost has the effect `unknown`: the call path repeats it only where the tool is
declared to be repeatable. Redirects are followed within the origin, and only for methods that read.

What is not done here: waiting for a limit, trying again, cutting long results. All of these are the call path's.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from copy import copy
from functools import partial
from typing import NamedTuple, Never

import msgspec

from ...core.attachment import File
from ...core.call import ToolCall, ToolResult
from ...core.clock import SystemClock
from ...core.errors import (
    BadTool,
    CallTimeout,
    PermissionDenied,
    ResourceLimit,
    ToolError,
    Unavailable,
    UnknownTool,
    tell_problem,
)
from ...core.interfaces import Clock, Context
from ...core.json import Json, JsonObject
from ...core.tool import Tool
from ...protocols.openapi.asking import asked_by
from ...protocols.openapi.items import STREAMS, item_reader
from ...protocols.openapi.model import ApiOperation, BadDocument
from ...protocols.openapi.request import BuiltRequest, build_request
from ...protocols.openapi.schema import part_at, part_of
from ...protocols.openapi.setup import ApiSetup, OAuthCredential, argument_of, filled_request, tool_of
from ...protocols.plain_text import plain
from ...schema.schema import Schema, compile_schema
from ...storage.tokens import TokenStore
from ...transport.client_certificate import BadCertificate
from ...transport.egress import Egress
from ...transport.fetcher import Fetched, Fetcher
from ...transport.guard import AddressRefused, Guard, origin
from ...transport.http import AnswerTooLong, HttpFailure
from .answer import AskedOperation, kind_of, refuse, result_of, with_notes
from .credentials import ApiCredentials, Dressed, Keep
from .stream import StreamBounds, StreamReading, TakenItems

TOLD_MAX = 3
DETAILED_BYTES_MAX = 16 * 1024
WORDS_MAX = 200


class ResultSchemas:
    """The schemas of an API's answers; each is compiled when the first answer of its kind comes.

    Args:
        pool: as `protocols.openapi.reading.result_schemas` gives them.
    """

    def __init__(self, pool: JsonObject) -> None:
        self._pool = pool
        self._known: dict[str, Schema | None] = {}

    def problems(self, tool: str, status: int, value: Json, size: int, *, item: bool = False) -> Sequence[str]:
        """What is wrong with an answer, in a few short lines; nothing where the document does not say what is right.
        Fields that the document does not name are no problem.

        Args:
            tool: the tool that asked.
            status: of the answer.
            value: the answer.
            size: of the answer, in bytes. What is wrong with a long one is not told in detail: an API could make very
                many mistakes in it, and each takes time.
            item: the value is an item of a stream.
        """
        for said in (str(status), f"{status // 100}XX", "DEFAULT"):
            schema = self._schema(f"{tool} {said}{' item' if item else ''}")
            if schema is not None:
                if schema.fits(value):
                    return ()
                if size > DETAILED_BYTES_MAX:
                    return ("something in it does not fit",)
                found = [plain(tell_problem(each))[:WORDS_MAX] for each in schema.problems(value)]
                return [*found[:TOLD_MAX], *(["and more"] if len(found) > TOLD_MAX else [])]
        return ()

    def _schema(self, name: str) -> Schema | None:
        if name not in self._known:
            schema = part_of(self._pool, name)
            try:
                self._known[name] = None if schema is None else compile_schema(schema, where=name, blanks=True)
            except BadTool:
                self._known[name] = None
        return self._known[name]


ANSWER_BYTES_MAX = 16 * 1024 * 1024
ANSWER_S_MAX = 60.0
CERTIFICATES_MAX = 32
"""The most client certificates whose connections are kept at a time."""
LARGE = 2**20
"""An answer of more bytes is read in a thread, so that other calls go on."""
SCHEMA_TOOL = "get_schema"
_READING = frozenset({"GET", "HEAD", "OPTIONS"})


class StreamedAnswer(NamedTuple):
    """A good answer that is a stream, as far as it was read."""

    status: int
    taken: TakenItems


class _Sender:
    """What sends requests on connections that show one client certificate, and how many calls use it now."""

    def __init__(self, fetcher: Fetcher) -> None:
        self.fetcher = fetcher
        self.calls = 0


class ApiToolset:
    """The tools of one API.

    Args:
        setup: the API as a person set it up. Operations that changed since then are held: they are no tools.
        egress: the operator's rules for outgoing calls.
        fetcher: sends the requests; by default one that reaches the confirmed origins.
        clock: for the end of tokens and for dates in `Retry-After`.
        keep: keeps a new refresh token.
        logins: what users were granted who logged in.
        bounds: how much of an answer that is a stream is read.

    Attributes:
        setup: as given.
        operations, tools: by name, those that a person approved.
        schema_tool: the tool that shows what was left out of the schemas of others; None where nothing was.
    """

    def __init__(
        self,
        setup: ApiSetup,
        *,
        egress: Egress | None = None,
        fetcher: Fetcher | None = None,
        clock: Clock | None = None,
        keep: Keep | None = None,
        logins: TokenStore | None = None,
        bounds: StreamBounds | None = None,
    ) -> None:
        self.setup = setup
        self._bounds = bounds or StreamBounds()
        held = set(setup.held())
        self.operations = {each.tool.name: each for each in setup.api.operations if each.tool.name not in held}
        self.tools = {name: tool_of(setup, each) for name, each in self.operations.items()}
        shortened = [name for name in self.operations if name in setup.whole]
        self._schema_names = {name: name for name in shortened}
        self.schema_tool = _schema_tool(setup.name, shortened) if shortened else None
        self._origins = frozenset(origin(each) for each in setup.origins)
        endpoints = [each.token_url for each in setup.credentials.values() if isinstance(each, OAuthCredential)]
        guard = Guard(named=[*setup.origins, *endpoints], egress=egress)
        self._fetcher = fetcher or Fetcher(guard, bytes_max=ANSWER_BYTES_MAX, seconds_max=ANSWER_S_MAX)
        self._showing: dict[bytes, _Sender] = {}
        self._clock = clock or SystemClock()
        self._results = ResultSchemas(setup.results)
        self._credentials = ApiCredentials(setup, self._fetcher, clock=self._clock, keep=keep, logins=logins)

    @property
    def generation(self) -> int:
        """Always the same: what changes the tools is a new set."""
        return 0

    async def list_tools(self) -> Sequence[Tool]:
        """The operations that a person approved."""
        return [*self.tools.values(), *([self.schema_tool] if self.schema_tool else [])]

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Send one request and read its whole answer.

        Raises:
            CallError: as `core.errors` says; `effect` tells whether the request may have had its effect.
        """
        if self.schema_tool is not None and call.name == self.schema_tool.name:
            return ToolResult(call.id, structured=self._schema_at(call.arguments))
        operation = self.operations.get(call.name)
        if operation is None:
            raise UnknownTool("There is no tool {call!r}.", call=call.name)
        request = self._built(operation, call.arguments, context)
        dressed = await self._credentials.dress(request, context)
        answer = await self._answer(operation, dressed, context)
        if answer.status == 401 and self._credentials.forget(request, context, dressed.secrets):
            # A request that was refused for its token was not carried out; one new token is tried, and no second.
            dressed = await self._credentials.dress(request, context)
            answer = await self._answer(operation, dressed, context)
        secrets = dressed.secrets
        if isinstance(answer, StreamedAnswer):
            return with_notes(answer.taken.items, list(filter(None, [answer.taken.note])), call.id)
        if answer.status < 300 or answer.status == 304:
            # The next page is worked out from the address without its credentials.
            told = (answer._replace(url=request.url), self._asked(operation, secrets), call.id)
            return await asyncio.to_thread(result_of, *told) if len(answer.body) > LARGE else result_of(*told)
        refuse(answer, self._clock.now(), secrets)

    def meant(self, call: ToolCall) -> tuple[Tool, ToolCall] | None:
        """None: each call is for its own tool; see `StandsForOthers`."""
        return None

    def stands_for(self, name: str) -> Sequence[Tool]:
        """The tools whose schemas the tool of this name shows; see `StandsForOthers`."""
        is_schema_tool = self.schema_tool is not None and name == self.schema_tool.name
        return [self.tools[own] for own in self._schema_names.values()] if is_schema_tool else ()

    def through(self, shown: Callable[[Tool], Tool | None]) -> ApiToolset:
        """The same tools, where the tool that shows schemas uses the names that a run knows; see `StandsForOthers`.

        Connections and tokens are shared.
        """
        again = copy(self)
        own = set(self._schema_names.values())
        again._schema_names = {tool.name: name for name in own if (tool := shown(self.tools[name])) is not None}
        again.schema_tool = _schema_tool(self.setup.name, sorted(again._schema_names)) if again._schema_names else None
        return again

    async def aclose(self) -> None:
        """Close the connections that are kept."""
        for fetcher in (self._fetcher, *(each.fetcher for each in self._showing.values())):
            await fetcher.aclose()

    @asynccontextmanager
    async def _sender(self, certificate: str) -> AsyncIterator[Fetcher]:
        """The sender for users with this client certificate alone; the usual sender where there is none."""
        if not certificate:
            yield self._fetcher
            return
        mark = hashlib.sha256(certificate.encode(errors="surrogatepass")).digest()
        if mark not in self._showing:
            try:
                fetcher = await asyncio.to_thread(self._fetcher.showing, certificate)
            except BadCertificate as bad:
                raise ToolError("The client certificate can not be used: {why}.", why=bad) from None
            self._showing.setdefault(mark, _Sender(fetcher))
        sender = self._showing[mark]
        sender.calls += 1
        try:
            yield sender.fetcher
        finally:
            sender.calls -= 1
            idle = [each for each, known in self._showing.items() if not known.calls]
            for oldest in idle[: max(0, len(self._showing) - CERTIFICATES_MAX)]:
                await self._showing.pop(oldest).fetcher.aclose()

    def _asked(self, operation: ApiOperation, secrets: Sequence[str]) -> AskedOperation:
        """What was asked, for reading the answer."""
        name = operation.tool.name
        template = self.setup.templates.get(name)
        query = {plan.name: plan.argument for plan in operation.parameters if plan.where == "query"}
        if template is not None:  # the arguments of an endpoint's tool have names of their own
            said = {parameter: argument_of(template.get(argument)) for parameter, argument in query.items()}
            query = {parameter: argument for parameter, argument in said.items() if argument}
        return AskedOperation(
            operation=operation,
            query=query,
            find=partial(asked_by, self.setup, self.operations.values()),
            problems=partial(self._results.problems, name),
            pick=self.setup.picks.get(name, ""),
            secrets=secrets,
        )

    def _built(self, operation: ApiOperation, given: JsonObject, context: Context) -> BuiltRequest:
        """The request without credentials, for an origin that a person confirmed."""
        files = {handle: File.of(part) for handle, part in context.attachments.items() if part.data or not part.url}
        template = self.setup.templates.get(operation.tool.name)
        arguments = given if template is None else filled_request(operation, template, given)
        try:
            server = self.setup.address_of(operation)
        except BadDocument as problem:
            raise ToolError("The address of this API is not complete: {why}.", why=problem.reason) from None
        request = build_request(self.setup.api, operation, arguments, server, files)
        if not self.setup.origins or origin(request.url) not in self._origins:
            raise PermissionDenied("This call would go to a server that nobody confirmed for this API.")
        name = self.setup.idempotency_header
        if name and operation.method not in _READING and context.key:
            kept = [(said, value) for said, value in request.headers if said.lower() != name.lower()]
            request = msgspec.structs.replace(request, headers=(*kept, (name, context.key)))
        return request

    async def _answer(self, operation: ApiOperation, dressed: Dressed, context: Context) -> Fetched | StreamedAnswer:
        """What the API answers: whole, or as items where the answer is a stream."""
        reads = operation.method in _READING
        headers = {"accept": _accepted(operation)} | {name.lower(): text for name, text in dressed.request.headers}
        if context.traceparent:
            headers.setdefault("traceparent", context.traceparent)
        try:
            async with self._sender(dressed.certificate) as fetcher:
                if any(each.is_stream for each in operation.responses):
                    answer = await self._streamed(fetcher, operation, dressed, headers, context)
                    if not (reads and 300 < answer.status < 309 and answer.status != 304):
                        return answer  # a redirect is followed below; what it leads to is read whole
                return await fetcher.send(
                    dressed.request.method,
                    dressed.request.url,
                    headers=headers,
                    body=dressed.request.body or b"",
                    redirects="inside" if reads else "none",
                )
        except HttpFailure as failure:
            _fail(failure)
        except TimeoutError:
            _fail(HttpFailure("it did not answer in time", sent=True))

    async def _streamed(
        self,
        fetcher: Fetcher,
        operation: ApiOperation,
        dressed: Dressed,
        headers: Mapping[str, str],
        context: Context,
    ) -> Fetched | StreamedAnswer:
        """The answer of an operation that may answer with a stream."""
        request = dressed.request
        async with fetcher.stream(
            request.method, request.url, headers=headers, body=request.body or b"", silence_s=self._bounds.seconds
        ) as stream:
            reader = item_reader(kind_of(stream.headers)[0]) if stream.status < 300 else None
            if reader is not None:
                problems = partial(self._results.problems, operation.tool.name, stream.status, item=True)
                reading = StreamReading(self._bounds, dressed.secrets, context.progress, problems)
                return StreamedAnswer(stream.status, await reading.read(stream, reader))
            async with asyncio.timeout(ANSWER_S_MAX):
                whole = b"".join([piece async for piece in stream.pieces])
            return Fetched(stream.status, stream.headers, whole, request.url)

    def _schema_at(self, arguments: JsonObject) -> Json:
        """The part of a tool's whole schema that a model asks for."""
        schema = self.setup.whole.get(self._schema_names.get(str(arguments.get("tool")), ""))
        if schema is None:
            raise ToolError("No tool of this name has a shortened schema.")
        path = str(arguments.get("path", ""))
        try:
            return part_at(schema, path)
        except KeyError as nothing:
            key = str(nothing.args[0])[:100]
            raise ToolError(
                "The schema has nothing at {key!r} in {path!r}; begin with an empty path.", key=key, path=path[:200]
            ) from None


def _accepted(operation: ApiOperation) -> str:
    kinds = {each.media_type for each in operation.responses if each.media_type and "*" not in each.media_type}
    known = sorted(
        kind for kind in kinds if ("json" in kind or kind in STREAMS) and kind.isascii() and kind.isprintable()
    )
    return ", ".join([*known[:5], "*/*;q=0.5"]) if known else "*/*"


def _fail(failure: HttpFailure) -> Never:
    """Raise what it means that no whole answer came."""
    if isinstance(failure, AddressRefused):
        raise PermissionDenied("The API's address can not be called: {why}.", why=failure) from None
    if not failure.sent:
        if failure.lasting:
            raise ToolError("The request can not be sent: {why}.", why=failure) from None
        raise Unavailable("The API can not be reached: {why}.", why=failure) from None
    if isinstance(failure, AnswerTooLong):
        raise ResourceLimit(
            "The API answered with status {status}, but {why}, and nothing of the answer is kept. Ask for less of it.",
            status=failure.status,
            why=failure,
        ) from None
    words = f"The API gave no usable answer: {failure}; it may have happened all the same."
    if failure.lasting:
        raise ResourceLimit(words) from None
    raise CallTimeout(words) from None


def _schema_tool(name: str, shortened: Mapping[str, object] | Sequence[str]) -> Tool:
    return Tool(
        name=f"{SCHEMA_TOOL}_{name}",
        description="Show a part of a tool's parameters that was left out ('see get_schema at ...').",
        parameters={
            "type": "object",
            "properties": {
                "tool": {"type": "string", "enum": list(shortened)},
                "path": {
                    "type": "string",
                    "description": "JSON pointer into the schema, as /properties/body or /$defs/Pet; or empty.",
                },
            },
            "required": ["tool"],
        },
        effects=frozenset({"read"}),
        foreign=True,
        sinks=(),
    )
