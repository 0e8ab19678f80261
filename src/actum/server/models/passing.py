"""Passing through: a request for a model goes on to an upstream, and the answer comes back.

Where the client and the upstream speak the same API, the bytes go on as they are: of a request only the name of the
model is changed, of an answer nothing. Where they speak two APIs, `dialects.transcode` says the same in the other API,
and what could not be said is told to the client in a header, and at the end of a stream in a comment.

The next upstream of a route is asked only as long as the client has heard nothing. A key of a client never goes out:
of the client's headers only those go on that the table of surfaces names.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal

import msgspec
from msgspec import structs
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ...call.limits.breaker import Breakers
from ...core.clock import SystemClock
from ...core.errors import (
    ActumError,
    JournalError,
    ModelError,
    ModelGarbled,
    ModelUnavailable,
    Unavailable,
    UsageError,
)
from ...core.interfaces import Clock
from ...core.json import JsonObject
from ...core.message import Usage
from ...core.process.real_models import check_may_ask
from ...core.process.worker_thread import LARGE, off_loop
from ...core.run.ids import new_id
from ...core.stored.passed import PassedEnd, PassedRequest, PassedRequests, passed_key
from ...core.trace import trace_id, traceparent_of
from ...core.user import User
from ...dialects.api.openai_responses.encoder import repeated
from ...dialects.base import ApiDialect
from ...dialects.error_answer import status_of
from ...dialects.transcode.one_field import with_field
from ...dialects.transcode.transcode import Transcoded, Transcoder, transcode
from ...models.returned_thoughts import may_be_refused, refuse_thoughts
from ...transport.http import HttpFailure
from ...transport.upstream_client import UpstreamAnswer, UpstreamClient
from ..access_log import request_facts, traceparent_of_request
from ..route_group import REQUEST_ID
from .answer_end import AnswerEnd
from .event_watch import SAID_AS_DELTA, SAID_AS_TEXT, EventWatch, said_in_answer, usage_of_answer
from .lost import lost_header, told_losses
from .outgoing import Outgoing, outgoing, wants_usage
from .refused import DO_NOT_RETRY, refusal_response
from .request import ModelRequest
from .surface import RESPONSES, SURFACES, token_count
from .trouble import ERROR_BYTES_MAX, RESTS, UpstreamFailure, failure_of_network, failure_of_status
from .unsaid_usage import input_estimate, usage_at_end
from .upstream import ModelRoute, ModelUpstream


class ClientWatch:
    """Cancels the task that makes an answer when the client hangs up.

    Args:
        receive: of the request, whose body was read to its end.

    Attributes:
        has_left: the client has hung up.
    """

    def __init__(self, receive: Receive) -> None:
        self.has_left = False
        self._receive = receive
        self._answering = asyncio.current_task()
        self._watching = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.has_left = True
        if self._answering is not None:
            self._answering.cancel()

    def is_cause(self) -> bool:
        """Whether the cancellation that was just caught came from here; it is taken back then. Called once for each
        cancellation that is caught."""
        if not self.has_left or self._answering is None:
            return False
        return self._answering.uncancel() == 0

    def stop(self) -> None:
        """Look no more, whatever was seen."""
        self._watching.cancel()

    def end(self) -> None:
        """Look no more.

        Raises:
            ClientDisconnect: the client has hung up.
        """
        self.stop()
        if self.has_left:
            raise ClientDisconnect


log = logging.getLogger("actum.server.models")

FAILURES_MAX = 5
REST_S = 30.0
"""An upstream that has failed too often in a row is left alone for this number of seconds."""
TRANSCODED_BYTES = 512
"""The most bytes of a stream that are transcoded between two turns of the event loop."""
BODY_KEPT_BYTES_MAX = 1024 * 1024
"""Of a body that the operator wants kept."""
ESTIMATED_HEADER = "x-actum-estimated"
_VALUE = re.compile(r"[\t\x20-\x7e]{1,1000}")
_STREAM = "text/event-stream; charset=utf-8"
_DIALECTS = {surface.name: surface.dialect for surface in SURFACES}


class PassingThrough:
    """Passes requests on.

    Args:
        client: sends them.
        kept: keeps a line of each request; None to keep none.
        clock: the time.
        failures_max, rest_s: after `failures_max` failures in a row an upstream is left alone for `rest_s` seconds.
    """

    def __init__(
        self,
        client: UpstreamClient,
        *,
        kept: PassedRequests | None = None,
        clock: Clock | None = None,
        failures_max: int = FAILURES_MAX,
        rest_s: float = REST_S,
    ) -> None:
        self._client = client
        self._kept = kept
        self._clock = clock or SystemClock()
        self._breakers = Breakers(failures_max, rest_s)
        self._refuse_usage: set[str] = set()

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Connections are kept open within this block."""
        async with self._client:
            yield

    async def answer(self, asked: ModelRequest, name: str, route: ModelRoute) -> Response:
        """See `door.Passer`."""
        line = _Line(asked, name, route, self._clock, self._kept)
        await line.check()
        watch = ClientWatch(asked.http.receive)
        try:
            response = await self._answer(asked, name, route, line, watch)
        except asyncio.CancelledError:
            watch.stop()
            try:
                await line.hear_no_more()
            finally:
                line.end("client_left" if watch.has_left else "broke_off", 0)
            if watch.is_cause():
                raise ClientDisconnect from None
            raise
        except ActumError as error:
            line.end("refused", status_of(error))
            watch.end()
            raise
        except BaseException:
            line.end("refused", 500)
            watch.stop()
            raise
        if not isinstance(response, _PassedStream):
            watch.end()
        return response

    async def _answer(
        self, asked: ModelRequest, name: str, route: ModelRoute, line: _Line, watch: ClientWatch
    ) -> Response:
        if asked.surface.does == "count_tokens" and not any(each.takes(asked.surface) for each in route.upstreams):
            return await off_loop(len(asked.body), _estimated, asked, line)
        opened = await self._ask_in_order(asked, name, route, line)
        if isinstance(opened, Response):
            line.end("refused", opened.status_code)
            return opened
        if not opened.said.surface:  # the answer is told in another API, by the tools of the request
            await off_loop(len(asked.body), lambda: asked.portable)
        if opened.body is None:
            return _PassedStream(asked, opened, line, watch)
        lost = opened.said.lost
        body = opened.body
        end, said_bytes = await off_loop(len(body), _end_of, body, opened.usage)
        await line.heard(opened.usage, end, said_bytes)
        if not opened.said.surface:
            told = await off_loop(len(body), _transcoded, body, opened.dialect, asked)
            body, lost = told.wire, (*lost, *told.lost)
        line.keep(body)
        line.end("answered", 200)
        return Response(body, 200, lost_header(lost), "application/json")

    async def _ask_in_order(self, asked: ModelRequest, name: str, route: ModelRoute, line: _Line) -> _Opened | Response:
        """The answer of the first upstream that gives one; or why the last one gave none, in its own words."""
        last: ActumError | Response = ModelUnavailable("No server of this model can be asked now.", status=503)
        user = asked.identity.user
        caller = f"{user.tenant}\0{user.principal}"
        drawn = user if user.principal else User(user.tenant, new_id("user"))  # without a key, each request for itself
        for upstream in route.order(name, drawn):
            try:
                self._breakers.check(upstream.name, self._clock.monotonic(), caller)
                self._breakers.check(upstream.name, self._clock.monotonic())
            except Unavailable as resting:
                if not line.tried:
                    last = ModelUnavailable(
                        "The servers of this model are left alone for a while, since they failed.",
                        status=503,
                        retry_after=resting.retry_after,
                    )
                continue
            try:
                opened = await self._ask(asked, upstream, line)
            except UpstreamFailure as failure:
                log.warning("%s gave no answer to request %s: %s", upstream.name, line.request_id, failure.trouble)
                self._note(upstream, caller, failure)
                last = failure.told or failure.error
                if failure.is_final:
                    vendor = asked.surface.vendor
                    return failure.told or refusal_response(vendor, failure.error, line.request_id, DO_NOT_RETRY)
                if failure.trouble is None or failure.trouble not in route.fallback:
                    break
            except (UsageError, ModelError) as error:  # this upstream can not be asked this; another one may
                last = error if not line.tried else last
            except asyncio.CancelledError:
                raise
            else:
                self._note(upstream, caller, None)
                return opened
        if isinstance(last, Response):
            return last
        raise last

    def _note(self, upstream: ModelUpstream, caller: str, failure: UpstreamFailure | None) -> None:
        """How a request ended. What a request may have provoked counts for its caller alone: nobody can keep others
        from an upstream."""
        now, error = self._clock.monotonic(), None
        if failure is not None and failure.trouble in RESTS:
            error = Unavailable("down")
        provoked = failure is not None and failure.provoked
        self._breakers.note(upstream.name, error if provoked else None, now, caller)
        self._breakers.note(upstream.name, None if provoked else error, now)

    async def _ask(self, asked: ModelRequest, upstream: ModelUpstream, line: _Line) -> _Opened:
        """The beginning of the answer of one upstream.

        Raises:
            UpstreamFailure: it gave none.
            UsageError, ModelError: it can not be asked this.
        """
        may_ask_usage = upstream.name not in self._refuse_usage
        said = await off_loop(len(asked.body), outgoing, asked, upstream, may_ask_usage=may_ask_usage)
        try:
            return await self._send(asked, upstream, said, line)
        except UpstreamFailure as failure:
            if not (said.asks_usage and failure.error.status in (400, 422) and "stream_options" in str(failure.error)):
                return await self._ask_without_thoughts(asked, upstream, said, line, failure)
        self._refuse_usage.add(upstream.name)
        said = await off_loop(len(asked.body), outgoing, asked, upstream, may_ask_usage=False)
        return await self._send(asked, upstream, said, line)

    async def _ask_without_thoughts(
        self, asked: ModelRequest, upstream: ModelUpstream, said: Outgoing, line: _Line, failure: UpstreamFailure
    ) -> _Opened:
        """The answer to a refused request that handed the upstream its thoughts back, once they are left out.

        Raises:
            UpstreamFailure: the request held none, or is refused without them too.
        """
        if said.surface or not may_be_refused(failure.error):
            raise failure
        bare = await off_loop(
            len(asked.body), outgoing, asked, upstream, may_ask_usage=said.asks_usage, has_thoughts=False
        )
        if bare.body == said.body:
            raise failure
        try:
            opened = await self._send(asked, upstream, bare, line)
        except UpstreamFailure:
            raise failure from None
        refuse_thoughts(upstream.dialect(asked.model))
        return opened

    async def _send(self, asked: ModelRequest, upstream: ModelUpstream, said: Outgoing, line: _Line) -> _Opened:
        forwarded = _forwarded(asked) if said.surface else {}
        target = upstream.target(said.surface, upstream.model(asked.model), stream=asked.stream)
        check_may_ask(asked.model, target.url)
        line.ask(upstream)
        if upstream.trace:
            forwarded["traceparent"] = line.traceparent
        try:
            client = upstream.client or self._client
            answer = await client.send(target, upstream.headers(forwarded), said.body, upstream.timeout_s)
        except HttpFailure as failure:
            raise failure_of_network(failure) from None
        try:
            return await self._opened(asked, upstream, said, answer)
        except HttpFailure as failure:
            await answer.close()
            raise failure_of_network(failure) from None
        except BaseException:
            await answer.close()
            raise

    async def _opened(
        self, asked: ModelRequest, upstream: ModelUpstream, said: Outgoing, answer: UpstreamAnswer
    ) -> _Opened:
        dialect = _DIALECTS[said.surface] if said.surface else upstream.dialect(asked.model)
        if answer.status != 200:
            body = await answer.read(ERROR_BYTES_MAX)
            raise failure_of_status(
                answer, body, upstream, self._clock.now(), dialect=dialect, same_api=bool(said.surface)
            )
        if answer.headers.get("content-encoding", "identity") not in ("", "identity"):
            raise _garbled()
        if not asked.stream:
            body = await answer.read()
            await answer.close()
            usage = usage_of_answer(body)
            if usage is None:
                raise _garbled()
            return _Opened(upstream, said, answer, dialect, body=body, usage=usage)
        said_as = SAID_AS_DELTA if dialect.name == "openai_responses" else SAID_AS_TEXT
        watch = EventWatch(drops_usage=said.asks_usage and bool(said.surface), said_as=said_as)
        first, events = b"", bytearray()
        while not first:  # nothing is said to the client before there is something to say
            piece = await answer.piece()
            size = watch.held + len(piece)
            first = await (off_loop(size, watch.feed, piece) if piece else off_loop(size, watch.close))
            events += piece
            if not piece and not first:
                raise _garbled()
            if watch.error is not None:
                words = upstream.without_address(str(watch.error).encode("utf-8", "replace")).decode()
                watch.error.args = (words,)
                raise UpstreamFailure("trouble", watch.error, provoked=True)
            if not piece:
                break
        return _Opened(upstream, said, answer, dialect, watch=watch, first=first, raw=bytes(events))


class _Opened:
    """An answer that has begun.

    Attributes:
        upstream: whose answer it is.
        said: what was asked.
        answer: the rest of the answer.
        dialect: of the answer.
        body: the whole body; None where the answer comes in pieces.
        usage: what the whole body tells of tokens.
        watch: has read the first events of a stream.
        first: these events.
        raw: these events as they came, before any of them was left out.
    """

    def __init__(
        self,
        upstream: ModelUpstream,
        said: Outgoing,
        answer: UpstreamAnswer,
        dialect: ApiDialect,
        *,
        body: bytes | None = None,
        usage: Usage | None = None,
        watch: EventWatch | None = None,
        first: bytes = b"",
        raw: bytes = b"",
    ) -> None:
        self.upstream, self.said, self.answer, self.dialect = upstream, said, answer, dialect
        self.body, self.first, self.raw = body, first, raw
        self.usage = usage or Usage()
        self.watch = watch or EventWatch()


class _Line:
    """The line that a request leaves on record, while it is being made."""

    def __init__(
        self, asked: ModelRequest, name: str, route: ModelRoute, clock: Clock, kept: PassedRequests | None
    ) -> None:
        self._asked, self._name, self._route, self._clock, self._kept = asked, name, route, clock, kept
        self._began, self._at = clock.monotonic(), clock.now()
        self._first_s = 0.0
        self._has_heard = False
        self._usage = Usage()
        self._answer_end = AnswerEnd()
        self._is_over = False
        self._upstream: ModelUpstream | None = None
        self._answer: list[bytes] = []
        self._answer_bytes = 0
        self.request_id = str(asked.http.scope.get(REQUEST_ID, ""))
        self._trace = traceparent_of_request()
        self.tried = 0

    async def check(self) -> None:
        """Raise where lines can not be kept: nothing is passed on without a record.

        Raises:
            ModelUnavailable: the journal can not be written.
        """
        if self._kept is None:
            return
        try:
            await self._kept.ready()
        except JournalError as error:
            log.error("no request is passed on, since the journal can not be written: %s", error)
            raise ModelUnavailable("Nothing can be kept on record now.", status=503, retry_after=5.0) from None

    @property
    def traceparent(self) -> str:
        """The request as a span of its trace, for an upstream that is told of traces."""
        key = passed_key(self.request_id, self._at)
        return traceparent_of(trace_id(key, self._trace), key)

    def ask(self, upstream: ModelUpstream) -> None:
        """Another upstream is asked."""
        self._upstream = upstream
        self.tried += 1

    async def heard(self, usage: Usage, end: AnswerEnd, said_bytes: int = 0, *, is_whole: bool = True) -> None:
        """The upstream has told what it used, and why it stopped, or tells nothing any more.

        Args:
            usage: what was told.
            end: why the model stopped.
            said_bytes: the bytes of what the model said.
            is_whole: the answer came to its end.
        """
        self._has_heard, self._usage, self._answer_end = True, usage, end
        asked = self._asked
        if asked.surface.does != "count_tokens":
            self._usage = await off_loop(len(asked.body), usage_at_end, asked, usage, said_bytes, is_whole=is_whole)

    async def hear_no_more(self) -> None:
        """The client has gone while an upstream was asked, which may have told nothing by now."""
        if self.tried and not self._has_heard:
            await self.heard(Usage(), AnswerEnd(), is_whole=False)

    def keep(self, body: bytes) -> None:
        """A part of the answer goes out."""
        if not self._first_s:
            self._first_s = self._clock.monotonic() - self._began
        if self._route.keeps_bodies and self._answer_bytes < BODY_KEPT_BYTES_MAX:
            self._answer.append(body)
            self._answer_bytes += len(body)

    def end(self, end: PassedEnd, status: int) -> None:
        """The request is over. Only the first word on how it ended counts."""
        if self._is_over:
            return
        self._is_over = True
        who, upstream, keeps = self._asked.identity, self._upstream, self._route.keeps_bodies
        passed = PassedRequest(
            at=self._at,
            request_id=self.request_id,
            tenant=who.tenant,
            principal=who.principal,
            key_id=who.key_id,
            surface=self._asked.surface.name,
            model=self._name,
            asked=self._asked.model[:200],
            upstream=upstream.name if upstream else "",
            tried=self.tried,
            end=end,
            status=status,
            input_tokens=self._usage.input_tokens,
            output_tokens=self._usage.output_tokens,
            cached_tokens=self._usage.cached_tokens,
            cache_written_tokens=self._usage.cache_written_tokens,
            estimated=self._usage.estimated,
            cost=_cost(upstream, self._asked.model, self._usage),
            seconds=self._clock.monotonic() - self._began,
            first_s=self._first_s,
            request_body=self._asked.body[:BODY_KEPT_BYTES_MAX] if keeps else b"",
            answer_body=b"".join(self._answer)[:BODY_KEPT_BYTES_MAX] if keeps else b"",
            response_model=self._answer_end.model,
            finish_reasons=self._answer_end.reasons,
            trace=self._trace,
        )
        if self._kept is not None:
            self._kept.add(passed)
        if (facts := request_facts.get()) is not None:
            facts.note_passed(passed)


class _PassedStream(Response):
    """The answer to a request for a stream."""

    def __init__(self, asked: ModelRequest, opened: _Opened, line: _Line, watch: ClientWatch) -> None:
        super().__init__(b"", 200, lost_header(opened.said.lost), _STREAM)
        del self.headers["content-length"]
        self.headers["cache-control"] = "no-cache"
        self._asked, self._opened, self._line, self._client = asked, opened, line, watch
        self._transcoder: Transcoder | None = None
        self._filter: EventWatch | None = None
        self._size = 0
        if not opened.said.surface:
            target = asked.dialect
            self._transcoder = Transcoder(opened.dialect, target, tools=asked.portable.tools, repeats=_repeated(asked))
            if asked.surface.name == "chat" and not wants_usage(asked):
                self._filter = EventWatch(drops_usage=True)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        opened = self._opened
        end: PassedEnd = "broke_off"
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            is_whole = await self._tell(send)
            end = "answered" if is_whole else "broke_off"
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            self._client.end()
        except asyncio.CancelledError:
            end = "client_left" if self._client.has_left else "broke_off"
            if self._client.is_cause():
                raise ClientDisconnect from None
            raise
        finally:
            self._client.stop()
            await opened.answer.close()
            watch = opened.watch
            try:
                usage = await off_loop(self._size, lambda: watch.usage)
                await self._line.heard(usage, watch.end, watch.said_bytes, is_whole=watch.ended)
            finally:
                self._line.end(end, 200)

    async def _tell(self, send: Send) -> bool:
        """Send the answer on; whether it came to its own end."""
        watch, error = self._opened.watch, None
        piece = self._opened.raw if self._transcoder is not None else self._opened.first
        size = len(piece)
        try:
            while True:
                self._size += len(piece)
                async for told in self._told_of(piece, size):
                    self._line.keep(told)
                    await send({"type": "http.response.body", "body": told, "more_body": True})
                piece = await self._opened.answer.piece()
                if not piece:
                    break
                size = watch.held + len(piece)
                whole = await off_loop(size, watch.feed, piece)
                if self._transcoder is None:
                    piece = whole
        except HttpFailure as failure:
            log.warning("%s broke off: %s", self._opened.upstream.name, failure)
            error = failure_of_network(failure).error
        except ModelGarbled as garbled:
            error = garbled
        rest = self._without_address(await off_loop(self._size + watch.held, self._rest, error))
        if rest:
            self._line.keep(rest)
            await send({"type": "http.response.body", "body": rest, "more_body": True})
        return error is None and watch.ended and watch.error is None

    async def _told_of(self, piece: bytes, size: int) -> AsyncIterator[bytes]:
        """What the client is told of a piece. One that is transcoded is taken apart, and all others have a turn between
        two parts of it: each event of a few bytes is some work.

        Args:
            size: of the piece and of the event that the piece may end, in bytes: a large event is worked on in a worker
                thread, however small its last piece is.
        """
        is_large = self._transcoder is None or size > LARGE
        step = max(1, len(piece)) if is_large else TRANSCODED_BYTES
        for at in range(0, len(piece), step):
            if at:
                await asyncio.sleep(0)
            if told := await off_loop(size, self._told, piece[at : at + step]):
                yield told

    def _told(self, piece: bytes) -> bytes:
        if self._transcoder is not None and piece:
            piece = self._transcoder.feed(piece)
            piece = self._filter.feed(piece) if self._filter is not None else piece
        return self._without_address(piece)

    def _without_address(self, told: bytes) -> bytes:
        opened = self._opened
        return told if opened.watch.error is None else opened.upstream.without_address(told)

    def _rest(self, error: ModelError | None) -> bytes:
        """What is still to be said when the upstream has said all: its last event, or an error, and what was lost."""
        watch, dialect = self._opened.watch, self._asked.dialect
        last = watch.close() if error is None else b""
        if self._transcoder is not None:
            told = self._transcoder.close()
            if self._filter is not None:
                told = self._filter.feed(told) + self._filter.close()
            lost = self._transcoder.lost
            if lost and self._asked.surface.comments:
                told += b": lost " + told_losses(lost).encode() + b"\n\n"
            return told
        if error is None and (watch.ended or watch.error is not None):
            return last
        broken = error or ModelUnavailable("the answer broke off")
        return last + _last_event(dialect.encoder().fail(broken))


def _transcoded(body: bytes, source: ApiDialect, asked: ModelRequest) -> Transcoded:
    told = transcode(body, source, asked.dialect, kind="response", tools=asked.portable.tools)
    wire = told.wire
    for field, value in _repeated(asked).items():
        wire = with_field(wire, [field], value)
    return structs.replace(told, wire=wire)


def _repeated(asked: ModelRequest) -> JsonObject:
    return repeated(asked.fields) if asked.surface is RESPONSES else {}


def _end_of(body: bytes, usage: Usage) -> tuple[AnswerEnd, int]:
    """Why the model stopped; and, where the tokens of the answer were not told, the bytes of what it says."""
    end = AnswerEnd()
    end.read(body)
    return end, 0 if usage.output_tokens else said_in_answer(body)


def _last_event(wire: bytes) -> bytes:
    """Without the events by which an answer begins: this one has begun."""
    return wire.rstrip(b"\n").rpartition(b"\n\n")[2] + b"\n\n"


def _estimated(asked: ModelRequest, line: _Line) -> Response:
    """How many tokens a request has, where no upstream can count them."""
    tokens = input_estimate(asked)
    line.end("answered", 200)
    body = token_count(asked.surface.vendor, tokens)
    return Response(msgspec.json.encode(body), 200, {ESTIMATED_HEADER: "true"}, "application/json")


def _forwarded(asked: ModelRequest) -> dict[str, str]:
    """The headers of the client that go on to an upstream of the same API."""
    found = {name: ", ".join(asked.http.headers.getlist(name)) for name in asked.surface.forwarded}
    return {name: value for name, value in found.items() if _VALUE.fullmatch(value)}


def _cost(upstream: ModelUpstream | None, asked: str, usage: Usage) -> Decimal | None:
    price = upstream.price(asked) if upstream is not None else None
    return price.of(usage) if price is not None else None


def _garbled() -> UpstreamFailure:
    return UpstreamFailure("garbled", ModelGarbled("The model's own server answers something else.", status=502))
