"""`Endpoint`: a model behind an HTTP address, spoken to in an API dialect.

    Request ──dialect.encode_request──▶ POST ──▶ answer, whole or streamed ──dialect.decode / decoder──▶ Reply

An endpoint streams when somebody listens and not otherwise. After a failure that passes by itself (too many requests, a
server's trouble, no connection, an answer that broke off) the request is sent again, at most twice, and never after a
part of the answer was heard.

Where an API is below its address, and how it wants its key, is a row of `WIRES`. Where the API is not at this place
and the address has no version, the same place below `/v1` is tried once, and the log says so.

The key is in one header and nowhere else: not in `repr`, not in errors, even where the endpoint quotes it.
"""

from __future__ import annotations

import asyncio
import logging
import random
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Protocol, runtime_checkable
from urllib.parse import SplitResult, quote, urlsplit, urlunsplit

from msgspec import Struct, structs

from ..core.clock import SystemClock
from ..core.errors import ModelError, ModelGarbled, ModelRejected, ModelUnavailable, UsageError
from ..core.event import Delta, joined
from ..core.interfaces import Clock
from ..core.json import JsonObject
from ..core.language.sentence import Sentence
from ..core.message import Reply, UserMessage
from ..core.model import Request
from ..core.model_settings import check_headers
from ..core.process.real_models import check_may_ask
from ..core.process.worker_thread import off_loop
from ..core.tool import Tool, is_demand
from ..dialects.api.openai_chat.dialect import OPENAI_CHAT
from ..dialects.base import ApiDecoder, ApiDialect, SearchesTools
from ..dialects.loose import Loose
from ..transport.http import HttpFailure, retry_after
from ..transport.open_route import check_proxy
from ..transport.upstream_client import UpstreamAnswer, UpstreamClient, post
from .answer_schema import AnswerSchema, SendSchema
from .forced_calls import refuses_demand, said_instead
from .probe_memory import PROBES, Asked, SharedProbes
from .result_pictures import refuses_pictures, without_pictures
from .returned_thoughts import may_be_refused, refuse_thoughts, spoken_at, without_thoughts

_log = logging.getLogger(__name__)

ATTEMPTS_MAX = 3
BACKOFF_S = 0.5
WAIT_S_MAX = 60.0
TOLD_AT_ONCE = 50
"""The most deltas that are told between two turns of the event loop."""
PROBE_TOKENS_MAX = 1000
"""Room for a model that thinks before it calls, in a context that may be small."""


class Wire(Struct, frozen=True, kw_only=True):
    """How an API is spoken to over HTTP.

    Attributes:
        path: below the address of an endpoint; `{model}` stands for the model's name.
        version: what the address of an endpoint ends in; empty where the API has none.
        stream_path: where it streams, with the query that this takes; empty for the same place.
        key_header: the header with the key.
        key_form: what it says there.
        headers: further ones.
    """

    path: str = "/chat/completions"
    version: str = "/v1"
    stream_path: str = ""
    key_header: str = "authorization"
    key_form: str = "Bearer {key}"
    headers: dict[str, str] = {}


CHAT = Wire()
WIRES = {
    "anthropic_messages": Wire(
        path="/messages", key_header="x-api-key", key_form="{key}", headers={"anthropic-version": "2026-10-21"}
    ),
    "gemini_content": Wire(
        path="/models/{model}:generateContent",
        version="/v1beta",
        stream_path="/models/{model}:streamGenerateContent?alt=sse",
        key_header="x-goog-api-key",
        key_form="{key}",
    ),
    "ollama_generate": Wire(path="/api/generate", version=""),
    "openai_completions": Wire(path="/completions"),
    "openai_responses": Wire(path="/responses"),
}
"""By the name of a dialect; all others are spoken as `CHAT`."""


class _Place(Struct, frozen=True):
    """Where an API is.

    Attributes:
        url: the address of the endpoint, without a query.
        whole: where a whole answer is asked for.
        streamed: where a stream is asked for.
    """

    url: str
    whole: str
    streamed: str


_PROBE = Tool(
    name="open_door",
    description="Opens the door with this number.",
    parameters={"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]},
)
_UNDER_WAY = SharedProbes()
_VERSION = re.compile(r"/v\d\w*(/|$)")
"""A version in the path of an address: `/v1`, `/v1beta/openai`."""
_ABOUT_TOOLS = re.compile(r"\btool|\bfunctions?\b|\bfunction[_ ]call|工具", re.IGNORECASE)
"""What an endpoint says that refuses tools."""


@runtime_checkable
class _Partial(Protocol):
    """A dialect whose API has no field for some settings."""

    def unsaid(self, request: Request) -> tuple[str, ...]: ...


@runtime_checkable
class _Bounded(Protocol):
    """A dialect that asks for a limit of the answer's length where a request has none."""

    @property
    def max_tokens(self) -> int: ...


@runtime_checkable
class _Strict(Protocol):
    """A dialect that can ask for tools to be strict."""

    def loose(self, tools: Sequence[Tool]) -> tuple[Loose, ...]: ...


class Endpoint:
    """A `Model` at an HTTP address.

    Args:
        url: up to and including the version, such as `https://api.openai.com/v1`; `path` is put behind it.
        model: its name at the endpoint.
        key: sent as the API of the dialect wants it; None or empty for none.
        dialect: of the endpoint.
        timeout_s: the longest silence, in seconds.
        key_variable: the environment variable in which the key is looked for, to be named where the key is missing.
        headers: further ones. They never take the place of the header with the key.
        extras: further fields of every request's body.
        native: whether it calls tools; None when that is not known (see `probe`).
        name: what to call it in records; the model's name and host unless it is given.
        path: of the API below `url`; that of the dialect unless it is given.
        send_schema: when the schema of an answer is sent; see `answer_schema`.
        clock: for the waits between attempts.
        asks_once: a request that fails is not sent again.
        client: sends the requests; None for a client that the whole program shares.

    Attributes:
        url: the address that is used: with `/v1` behind the address that was given, once the API was found there.
        timeout_s: the longest silence in seconds: before the answer, and in a stream without a word of the answer,
            whatever the server sends meanwhile to keep the connection open. Not tried again.
        loose: the tools of the latest request whose schemas a strict endpoint was not asked to hold the model to.

    Raises:
        UsageError: the address is none, or holds a password.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key: str | None = None,
        dialect: ApiDialect = OPENAI_CHAT,
        timeout_s: float = 300.0,
        headers: Mapping[str, str] | None = None,
        extras: JsonObject | None = None,
        native: bool | None = None,
        name: str = "",
        path: str = "",
        send_schema: SendSchema = "alone",
        clock: Clock | None = None,
        key_variable: str = "",
        asks_once: bool = False,
        client: UpstreamClient | None = None,
    ) -> None:
        address = _checked(url)
        wire = WIRES.get(dialect.name, CHAT)
        named = quote(model.removeprefix("models/"), safe="/@")
        whole = (path or wire.path).replace("{model}", named)
        streamed = (path or wire.stream_path or wire.path).replace("{model}", named)
        given = address.path.rstrip("/")
        where = given.removesuffix(whole)
        self._netloc = address.netloc
        self._place = _placed(address, where, whole, streamed)
        sure = path or where != given or _VERSION.search(where)
        self._guess = None if sure or not wire.version else _placed(address, where + wire.version, whole, streamed)
        self.model = model
        self.name = name or f"{model}@{address.netloc}"
        self.dialect = spoken_at(dialect, f"{url.partition('://')[0]}://{address.netloc}{address.path}", model)
        self._answer_schema = AnswerSchema(self.name, send_schema)
        self._takes_no_pictures = False
        self._takes_no_demands = False
        self.timeout_s = timeout_s
        self.loose: tuple[Loose, ...] = ()
        self._told: tuple[Tool, ...] = ()
        self._native = native
        self._key = (key or "").strip()
        self._key_variable = key_variable
        ours = {"content-type": "application/json", "user-agent": "actum", **wire.headers}
        check_headers(headers or {})
        self._headers = {**ours, **{name.lower(): value for name, value in (headers or {}).items()}}
        self._key_header = {wire.key_header: wire.key_form.replace("{key}", self._key)} if self._key else {}
        self._further = dict(headers or {})
        self._unsaid: tuple[str, ...] = ()
        self._extras = extras or {}
        self._clock = clock or SystemClock()
        self._attempts_max, self._client = 1 if asks_once else ATTEMPTS_MAX, client

    @property
    def default_max_tokens(self) -> int | None:
        """See `core.model.LengthLimited`."""
        return self.dialect.max_tokens if isinstance(self.dialect, _Bounded) else None

    def __repr__(self) -> str:
        return f"Endpoint({self.url!r}, {self.model!r}, dialect={self.dialect.name!r})"

    async def reply(self, request: Request, emit: Callable[[Delta], None] | None = None) -> Reply:
        """Answer a request; see `Model.reply`.

        Raises:
            ModelUnavailable: not reached, overloaded or cut off, also after another try.
            ModelRejected: the endpoint refuses this request.
            ModelGarbled: its answer is not in its own wire format.
        """
        request = self._answer_schema.fitted(request)
        if self._takes_no_pictures:
            request = without_pictures(request)
        if self._takes_no_demands and is_demand(request.tool_choice):
            return structs.replace(await self._reply(said_instead(request), emit), demand_in_words=True)
        try:
            return await self._reply(request, emit)
        except ModelRejected as error:
            if self._answer_schema.is_refused(request, error):
                request = structs.replace(request, output_schema=None)
            elif refuses_pictures(request, error):
                self._takes_no_pictures = True
                request = without_pictures(request)
            elif refuses_demand(request, error):
                self._takes_no_demands = True
                return structs.replace(await self._reply(said_instead(request), emit), demand_in_words=True)
            elif may_be_refused(error):
                return await self._without_thoughts(request, emit, error)
            else:
                raise
        return await self._reply(request, emit)

    async def _without_thoughts(
        self, request: Request, emit: Callable[[Delta], None] | None, refusal: ModelRejected
    ) -> Reply:
        """The answer to a refused request that held thoughts of the endpoint, once they are left out.

        Raises:
            ModelRejected: the request held none, or is refused without them too.
        """
        spoken, bare = self.dialect, without_thoughts(self.dialect)
        if bare == spoken or bare.encode_request(request) == spoken.encode_request(request):
            raise refusal
        try:
            reply = await self._reply(request, emit, bare)
        except ModelRejected:
            raise refusal from None
        refuse_thoughts(spoken)
        self.dialect = bare
        _log.warning("%s: refuses its own thoughts: they are not sent there again", self.name)
        return reply

    async def _reply(
        self, request: Request, emit: Callable[[Delta], None] | None, dialect: ApiDialect | None = None
    ) -> Reply:
        extras = {**self._extras, **request.extras}
        asked = structs.replace(request, model=self.model, stream=emit is not None, extras=extras)
        body = (dialect or self.dialect).encode_request(asked)
        self._tell_loose(request.tools)
        self._tell_unsaid(request)
        ear = _Ear(emit) if emit is not None else None
        attempt = 1
        while True:
            try:
                return await self._ask_anywhere(body, request, ear)
            except _Silent as silence:
                raise ModelUnavailable(str(silence)) from None
            except ModelUnavailable as error:
                wait_s = _backoff_s(attempt) if error.retry_after is None else error.retry_after
                if attempt >= self._attempts_max or (ear and ear.heard) or wait_s > WAIT_S_MAX:
                    raise
            await self._clock.sleep(wait_s)
            attempt += 1

    @property
    def url(self) -> str:
        """The address that is used: with a version behind the one that was given, once the API was found there."""
        return self._place.url

    @property
    def native(self) -> bool | None:
        """Whether the model calls tools by the API: as the argument, or as a probe found out; None where that is not
        known, or not any more.
        """
        return self._native if self._native is not None else PROBES.recall(self._asked, self._clock.now())

    async def probe(self, like: Request | None = None) -> bool:
        """Whether to call tools by the API: a small request asks for a call, where nothing is known yet.

        What is found is remembered; see `probe_memory`. A refusal that says nothing of tools leaves the question open:
        tools are then tried, so that the request itself tells what is the matter. Requests that come meanwhile wait for
        the same probe.

        Args:
            like: a request whose headers, timeout and extras the small request has too, as a gateway may want them.

        Raises:
            ModelError: the endpoint does not answer at all, so that nothing can be said.
        """
        known = self._native
        if known is None:
            known = PROBES.look_up(self._asked, self._clock.now())
        if known is None:
            known = await _UNDER_WAY.found(self._asked, self._key, partial(self._find_out, like))
        return True if known is None else known

    async def refuses_tools(self, error: ModelError, like: Request | None = None) -> bool:
        """Whether this refusal of a request shows that the model calls no tools after all, against what was known.

        The endpoint is probed again where the refusal speaks of tools: it may be about one tool of the request alone.

        Args:
            error: as `reply` raised it.
            like: the request that was refused.

        """
        if not self._about_tools(error):
            return False
        try:
            refused = await _UNDER_WAY.found(self._asked, self._key, partial(self._find_out, like)) is False
        except ModelError:
            return False  # the refusal itself says more than this
        if refused:
            self._native = None  # where it was said, it was wrong
        return refused

    def called(self) -> None:
        """Remember that the model has called a tool by the API."""
        if self.native is None:
            PROBES.learn(self._asked, self._clock.now(), native=True)

    @property
    def _asked(self) -> Asked:
        return Asked(self.url, self.model, self.dialect.name)

    async def _find_out(self, like: Request | None) -> bool | None:
        found = await self._calls_a_tool(like or Request(messages=()))
        if found is not None:
            PROBES.learn(self._asked, self._clock.now(), native=found)
        return found

    async def _calls_a_tool(self, like: Request) -> bool | None:
        """Whether the model answers with a call; None where the endpoint refuses for another reason."""
        question = UserMessage.of("Open the door with the number 7. Use the tool.")
        try:
            small = Request(messages=[question], tools=(_PROBE,), max_tokens=PROBE_TOKENS_MAX, extras=like.extras)
            reply = await self.reply(structs.replace(small, headers=like.headers, timeout_s=like.timeout_s))
        except ModelError as error:
            if self._about_tools(error):
                return False
            if error.status in (400, 422):
                return None
            raise
        return any(call.name == _PROBE.name for call in reply.calls)

    def _about_tools(self, error: ModelError) -> bool:
        """Servers refuse tools with many a status: 400 (Ollama, vLLM), 404 (OpenRouter), 422, 500 (llama.cpp)."""
        if error.status is None or error.status in (401, 403, 429):
            return False
        said = str(error).replace(self.name, "").replace(self.model, "")  # a name may hold the word
        return _ABOUT_TOOLS.search(said) is not None

    def _tell_loose(self, tools: tuple[Tool, ...]) -> None:
        """Say in the log what the endpoint is not asked for, once for the same tools."""
        if tools is not self._told and isinstance(self.dialect, _Strict):
            self._told, self.loose = tools, self.dialect.loose(tools)
            for one in self.loose:
                _log.warning("%s: the arguments of %s are not held to its schema: %s", self.name, one.tool, one.why)

    def _tell_unsaid(self, request: Request) -> None:
        """Say in the log which settings are not sent, once for the same settings."""
        unsaid = self.dialect.unsaid(request) if isinstance(self.dialect, _Partial) else ()
        if request.tool_search == "native" and not isinstance(self.dialect, SearchesTools):
            unsaid = (*unsaid, "tool_search")
        if unsaid and unsaid != self._unsaid:
            self._unsaid = unsaid
            _log.warning("%s: not sent, since the API has no field for it: %s", self.name, ", ".join(unsaid))

    async def _ask_anywhere(self, body: bytes, request: Request, ear: _Ear | None) -> Reply:
        """Ask; where the API is not at this address, ask once below its version."""
        guess = self._guess
        try:
            reply = await self._ask(self._place, body, request, ear)
        except ModelError as error:
            if guess is None or (ear and ear.heard) or not _elsewhere(error):
                raise
            refusal = error
        else:
            self._guess = None
            return reply
        try:
            reply = await self._ask(guess, body, request, ear)
        except ModelError as error:
            if error.status is None or _elsewhere(error):
                raise refusal from None
            self._move(guess)
            raise
        self._move(guess)
        return reply

    def _move(self, found: _Place) -> None:
        """Ask at this place from now on."""
        if self._place != found:
            _log.warning("%s: there is no API at %s. It is at %s: name that address", self.name, self.url, found.url)
            self._place, self._guess = found, None

    def _silence_s(self, request: Request) -> float:
        """How long the endpoint may say nothing."""
        return self.timeout_s if request.timeout_s is None else request.timeout_s

    async def _ask(self, place: _Place, body: bytes, request: Request, ear: _Ear | None) -> Reply:
        check_may_ask(self.name, place.url)
        try:
            target = place.whole if ear is None else place.streamed
            headers = {**self._headers, **{name.lower(): request.headers[name] for name in request.headers}}
            async with post(
                target,
                headers=headers | self._key_header,
                body=body,
                timeout_s=self._silence_s(request),
                client=self._client,
            ) as answer:
                if answer.status != 200:
                    wait_s = retry_after(answer.headers, self._clock.now())
                    error = self.dialect.decode_error(answer.status, wait_s, await answer.read())
                    if answer.headers.get("x-should-retry") == "false" and isinstance(error, ModelUnavailable):
                        raise ModelRejected(str(error), status=error.status)  # the tools of an agent may have run
                    raise error
                if ear is None:
                    wire = await answer.read()
                    return await off_loop(len(wire), self.dialect.decode, wire, tools=request.tools)
                return await self._listen(answer, request, ear)
        except HttpFailure as failure:
            if failure.silent:
                raise _Silent(f"{self._where}: it did not answer for {self.timeout_s:g} s (timeout_s)") from None
            kind = ModelRejected if failure.lasting else ModelUnavailable
            raise kind("{model}: {why}", model=self._where, why=failure) from None
        except ModelError as error:
            error.sentence = self._refusal(error, request)
            error.args = (str(error.sentence),)
            raise

    def _refusal(self, error: ModelError, request: Request) -> Sentence:
        """What is wrong, with the name of the model and without keys."""
        why = self._without_keys(error.sentence, request)
        if error.status in (401, 403) and self._key_variable and not self._key:
            return Sentence(
                "{model}: {why}. No key was sent: set {variable}",
                model=self.name,
                why=why,
                variable=self._key_variable,
            )
        return Sentence("{model}: {why}", model=self.name, why=why)

    def _without_keys(self, said: Sentence, request: Request) -> Sentence:
        """What the endpoint said, without the key and the values of further headers: endpoints like to quote them."""
        keys = sorted({self._key, *self._further.values(), *request.headers.values()}, key=len, reverse=True)

        def cleaned(value: object) -> object:
            for key in keys:
                if isinstance(value, str) and len(key) > 5:  # a shorter one is a word like EMPTY, where any key will do
                    value = value.replace(key, "[key]")
            return self._without_keys(value, request) if isinstance(value, Sentence) else value

        return Sentence(str(cleaned(said.template)), **{name: cleaned(value) for name, value in said.values.items()})

    @property
    def _where(self) -> str:
        """The name, with the host that could not be reached."""
        return self.name if self._netloc in self.name else f"{self.name} at {self._netloc}"

    async def _listen(self, answer: UpstreamAnswer, request: Request, ear: _Ear) -> Reply:
        decoder = _Fed(self.dialect.decoder(tools=request.tools))
        async with aclosing(answer.chunks()) as chunks:
            while True:
                try:
                    async with self._clock.timeout(self._silence_s(request)):
                        said = await _next_said(chunks, decoder)
                except TimeoutError:
                    stalled = f"{self._where}: its answer stood still for {self._silence_s(request):g} s (timeout_s)"
                    raise _Silent(stalled) from None
                if not said:
                    break
                await ear.tell(said)
        await ear.tell(await off_loop(decoder.size, decoder.decoder.close))
        if not decoder.decoder.ended:
            raise ModelUnavailable("the answer broke off")
        return decoder.decoder.reply


class _Fed:
    """A decoder, and how many bytes it was given.

    Attributes:
        size: of the answer up to now, in bytes.
    """

    def __init__(self, decoder: ApiDecoder) -> None:
        self.decoder = decoder
        self.size = 0
        self._held = 0
        self._last = b""
        self._by_lines: bool | None = None

    async def feed(self, chunk: bytes) -> Sequence[Delta]:
        """The deltas of the events that the chunk ends: in a worker thread where they are large, however small the
        chunk is.
        """
        self.size += len(chunk)
        if self._by_lines is None and (begin := chunk.lstrip()):
            self._by_lines = begin.startswith(b"{")
        size = self._held + len(chunk) if b"\n" in chunk or b"\r" in chunk else len(chunk)
        ends = (b"\n",) if self._by_lines else _BLANK_LINES
        since, self._last = self._last + chunk, chunk[-1:]
        if since.endswith(ends):
            self._held = 0
        else:
            self._held = len(chunk) + (0 if any(end in since for end in ends) else self._held)
        return await off_loop(size, self.decoder.feed, chunk)


_BLANK_LINES = (b"\n\n", b"\n\r", b"\r\r")
"""One of them is in each two ends of lines that follow one another, whichever the ends are."""


async def _next_said(chunks: AsyncIterator[bytes], fed: _Fed) -> Sequence[Delta]:
    """The next deltas of a stream; none at its end. What only keeps the connection open is read past."""
    async for chunk in chunks:
        if said := await fed.feed(chunk):
            return said
    return ()


class _Silent(Exception):
    """The time is over that the caller gave. Another try would take as long again."""


class _Ear:
    """The listener of an answer, and whether it has heard a part of the answer."""

    def __init__(self, emit: Callable[[Delta], None]) -> None:
        self._emit = emit
        self.heard = False

    async def tell(self, deltas: Sequence[Delta]) -> None:
        for number, delta in enumerate(joined(deltas)):
            if number and not number % TOLD_AT_ONCE:
                await asyncio.sleep(0)
            self.heard = True
            self._emit(delta)


def _backoff_s(attempt: int) -> float:
    """Doubled each time, and up to half of it less, so that many clients do not come back at once."""
    return BACKOFF_S * 2.0 ** (attempt - 1) * random.uniform(0.5, 1.0)


def _placed(address: SplitResult, where: str, whole: str, streamed: str) -> _Place:
    url = urlunsplit((address.scheme, address.netloc, where, "", ""))
    return _Place(url, _below(address, where, whole), _below(address, where, streamed))


def _elsewhere(error: ModelError) -> bool:
    """Whether this is what answers where there is no API: a status, a page, or LM Studio's words with status 200.

    An endpoint that speaks of its models has an API.
    """
    _, _, said = str(error).partition(f"({error.status})")
    if error.status in (404, 405):
        return "model" not in said.lower()
    return isinstance(error, ModelGarbled) or "Unexpected endpoint" in said


def _below(address: SplitResult, where: str, path: str) -> str:
    """The address of a place below an endpoint. The query parameters of both are joined."""
    path, _, query = path.partition("?")
    queries = "&".join(filter(None, (address.query, query)))
    return urlunsplit((address.scheme, address.netloc, where + path, queries, ""))


def _checked(url: str) -> SplitResult:
    try:
        address = urlsplit(url)
        _ = address.port  # raises for one that can not be
    except ValueError:
        address = SplitResult("", "", "", "", "")
    if address.username or address.password:
        raise UsageError("the address of an endpoint must not hold a name or password: pass key=, or set its variable")
    if address.scheme not in ("http", "https") or not address.hostname:
        raise UsageError(
            "{address!r} is no address of an endpoint, such as http://host:8000/v1", address=url.split("@")[-1][:80]
        )
    check_proxy(url)
    return address
