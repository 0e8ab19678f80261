"""The requests to one remote agent, in the version and the binding that it speaks.

All requests go through the egress guard. Redirects are not followed. Credentials go to the origin that a person
configured, and to no other: an agent whose card names an address elsewhere is spoken to there without them.

Reads 1.0 (JSON-RPC, HTTP+JSON and gRPC), 0.3 and 0.2 (JSON-RPC), and the protocol of April 2025. A server whose card
says no version is asked by `message/send` first; one that does not know it is asked by `tasks/send`.

Not covered: gRPC and HTTP+JSON of 0.3.

The client of the official SDK is not used here: it knows neither 0.2 nor April 2025, refuses answers that differ from
the schema in any way, has no bound for what it reads, and takes 1.7 s to import.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote, urlsplit

from msgspec import Struct

from ...core.errors import CallError, PermissionDenied, ToolError, Unavailable
from ...core.json import Json, JsonObject, JsonProblem, dumps, parse, size_of_json
from ...core.process.worker_thread import WALKED, off_loop
from ...protocols.a2a import legacy
from ...protocols.a2a.card import Binding, RemoteCard, RemoteInterface, UnreadableCard, read_card
from ...protocols.a2a.later import LaterVersion, UnreadableAnswer, decode_event, decode_task, encode_send
from ...protocols.a2a.legacy import LegacyCancel, LegacyError, LegacyGet, LegacyResubscribe, LegacySend, LegacySetPush
from ...protocols.a2a.model import A2AEvent, A2AMessage, A2APushTarget, A2ATask
from ...protocols.a2a.remote_agent import RemoteAgent
from ...protocols.sse import SseReader
from ...transport.egress import Egress
from ...transport.fetcher import NO_CREDENTIALS, Credentials, Fetched, FetchedStream, Fetcher
from ...transport.guard import Guard, origin
from ...transport.http import HttpFailure, retry_after
from .error import (
    INVALID_REQUEST,
    UNKNOWN_METHOD,
    RemoteAgentError,
    malformed,
    not_sent_or_lost,
    raise_error,
    raise_status,
)

if TYPE_CHECKING:
    from .grpc_channel import GrpcChannels

CARD_BYTES_MAX = 1024 * 1024
CARD_S_MAX = 20.0
ANSWER_BYTES_MAX = 64 * 1024 * 1024
EVENTS_MAX = 20_000
EVENT_BYTES_MAX = 32 * 1024 * 1024
CARD_PLACES = ("/.well-known/agent-card.json", "/.well-known/agent.json")
_METHODS: Mapping[str, tuple[str, str]] = {
    "send": ("SendMessage", "message/send"),
    "stream": ("SendStreamingMessage", "message/stream"),
    "get": ("GetTask", "tasks/get"),
    "cancel": ("CancelTask", "tasks/cancel"),
    "subscribe": ("SubscribeToTask", "tasks/resubscribe"),
    "push": ("CreateTaskPushNotificationConfig", "tasks/pushNotificationConfig/set"),
}
"""The name of each method in 1.0 and in 0.3."""
_LEGACY_TASK = frozenset({"sessionId", "artifacts", "history"})
"""Fields of a task of April 2025 that news of a task do not have."""
_LEGACY_SIGNS = frozenset({UNKNOWN_METHOD, INVALID_REQUEST})
"""How servers of April 2025 refuse a method that they do not know."""


class TaskHandle(Struct, frozen=True, omit_defaults=True):
    """The values by which a task of a remote agent is found again.

    Attributes:
        task_id, context_id: as the agent calls them; the task's id is empty until it is known.
        url, binding, tenant: where it was begun.
        spoken: the version in which it was begun.
    """

    url: str
    binding: Binding
    spoken: Literal["1.0", "0.3", "legacy"]
    task_id: str = ""
    context_id: str = ""
    tenant: str = ""


class RequestTerms(Struct, frozen=True):
    """What goes with the requests of one call.

    Attributes:
        credentials: headers for the configured origin, secrets filled in.
        query: fields of the query, for the configured origin likewise.
        trace: the headers `traceparent` and `tracestate`.
    """

    credentials: Mapping[str, str] = {}
    trace: Mapping[str, str] = {}
    query: Mapping[str, str] = {}


class A2AConnection:
    """Speaks to one agent.

    Args:
        agent: as it is configured.
        egress: the operator's rules for outgoing calls.
        guard: decides where requests may go; by default one that lets the configured agent through.
        roots: the certificates that are trusted over gRPC, as PEM; those of the system by default.
    """

    def __init__(
        self,
        agent: RemoteAgent,
        *,
        egress: Egress | None = None,
        guard: Guard | None = None,
        roots: bytes | None = None,
    ) -> None:
        self._agent = agent
        self._origin = origin(agent.url)
        guard = guard or Guard(agent.url, egress=egress)
        self._guard, self._roots = guard, roots
        self._grpc: GrpcChannels | None = None
        self._cards = Fetcher(guard, bytes_max=CARD_BYTES_MAX, seconds_max=CARD_S_MAX)
        self._answers = Fetcher(guard, bytes_max=ANSWER_BYTES_MAX, seconds_max=agent.silence_s)
        self._legacy: set[str] = set()

    async def aclose(self) -> None:
        """Close the connections that are kept."""
        await self._cards.aclose()
        await self._answers.aclose()
        if self._grpc is not None:
            await self._grpc.aclose()

    # The card ---------------------------------------------------------------------------------------------------------

    async def fetch_card(self, terms: RequestTerms | None = None, *, etag: str = "") -> tuple[RemoteCard, str] | None:
        """The card as it is now and its ETag; None where it is the one with the given ETag.

        Raises:
            CallError: there is none, it can not be read, or the agent can not be reached.
        """
        refused: CallError | None = None
        for url in card_addresses(self._agent.url):
            answer = await self._card_at(url, terms or RequestTerms(), etag)
            if answer.status == 304 and etag:
                return None
            if answer.status == 200:
                try:
                    card = await off_loop(WALKED * len(answer.body), _card, answer.body)
                    return card, answer.headers.get("etag", "")[:200]
                except (UnreadableCard, CallError) as problem:
                    words = problem if isinstance(problem, UnreadableCard) else "it is no JSON, or nested too deep"
                    refused = refused or ToolError("The card at {url} can not be used: {why}.", url=url, why=words)
            elif 300 <= answer.status < 400:
                raise ToolError(
                    "The card at {url} redirects, which is not followed. Give the address where the agent really is.",
                    url=url,
                )
            elif answer.status in (401, 403):
                raise PermissionDenied(
                    "The card at {url} is not shown without a credential (HTTP {number}).",
                    url=url,
                    number=answer.status,
                )
            elif answer.status not in (400, 404, 405, 406, 410, 501):
                raise Unavailable("The card at {url} can not be had (HTTP {number}).", url=url, number=answer.status)
        raise refused or ToolError("There is no agent card at {url}.", url=self._agent.url)

    async def _card_at(self, url: str, terms: RequestTerms, etag: str) -> Fetched:
        # Who asks in version 1.0 is shown a card without the fields of older versions, where there are two.
        headers = {"accept": "application/json", "a2a-version": "1.0"} | ({"if-none-match": etag} if etag else {})
        try:
            return await self._cards.send(
                "GET", url, headers=headers, credentials=self._credentials(url, terms), redirects="none"
            )
        except HttpFailure as failure:
            raise not_sent_or_lost(failure) from None

    async def fetch_keys(self, url: str) -> Json:
        """The keys at an address that a person trusts.

        Raises:
            CallError: they can not be had.
        """
        try:
            answer = await self._cards.send("GET", url, headers={"accept": "application/json"}, redirects="none")
        except HttpFailure as failure:
            raise not_sent_or_lost(failure) from None
        if answer.status != 200:
            raise Unavailable("The keys of the card's signer can not be had (HTTP {number}).", number=answer.status)
        return await off_loop(WALKED * len(answer.body), _parsed, answer.body)

    # Messages and tasks -----------------------------------------------------------------------------------------------

    def handles(self, card: RemoteCard) -> list[TaskHandle]:
        """How the agent can be spoken to, in its order of preference."""
        found: list[TaskHandle] = []
        for each in card.interfaces:
            if each.binding == "GRPC":
                url = grpc_address(each.url, self._agent.url)
                found += [TaskHandle(url=url, binding="GRPC", spoken="1.0", tenant=each.tenant)] if url else []
            elif each.dialect == "1.0":
                found.append(_handle(each, "1.0"))
            elif each.dialect == "0.3":
                found.append(_handle(each, "0.3"))
            else:
                found += (
                    [_handle(each, "legacy")]
                    if each.url in self._legacy
                    else [
                        _handle(each, "0.3"),
                        _handle(each, "legacy"),
                    ]
                )
        return found

    @asynccontextmanager
    async def send(
        self, handle: TaskHandle, message: A2AMessage, terms: RequestTerms, *, streams: bool
    ) -> AsyncIterator[AsyncIterator[A2AEvent]]:
        """Send a message, and hand out what the agent tells: one event, or a stream of events.

        Args:
            handle: where to; with a task's id the message belongs to that task.
            message: what is said.
            terms: of the call.
            streams: the agent says that it can tell while it works.

        Raises:
            CallError: it was not sent, or refused.
        """
        if handle.spoken == "legacy":
            told = LegacySend(task_id=handle.task_id, message=message, session_id=handle.context_id, streams=streams)
            body, url = legacy.encode_request(told, 1), handle.url
        else:
            params = encode_send(message, handle.spoken, waits=False)
            if handle.binding == "GRPC":
                async with self._by_grpc(handle, "stream" if streams else "send", params, terms) as events:
                    yield events
                return
            url, body = self._addressed(handle, "stream" if streams else "send", params)
        async with (
            self._asked(handle, "POST", url, body, terms, streams=streams) as results,
            aclosing(_events(results, handle)) as events,
        ):
            yield events

    @asynccontextmanager
    async def subscribe(self, handle: TaskHandle, terms: RequestTerms) -> AsyncIterator[AsyncIterator[A2AEvent]]:
        """Hear again what happens in a task.

        Raises:
            CallError: it was not sent, or refused.
        """
        if handle.binding == "GRPC":
            async with self._by_grpc(handle, "subscribe", {"id": handle.task_id}, terms) as events:
                yield events
            return
        if handle.spoken == "legacy":
            url, body = handle.url, legacy.encode_request(LegacyResubscribe(task_id=handle.task_id), 1)
        else:
            url, body = self._addressed(handle, "subscribe", {"id": handle.task_id})
        async with (
            self._asked(handle, "POST", url, body, terms, streams=True) as results,
            aclosing(_events(results, handle)) as events,
        ):
            yield events

    async def get(self, handle: TaskHandle, terms: RequestTerms) -> A2ATask:
        """How a task is now.

        Raises:
            CallError: the agent can not be reached, or knows no such task.
        """
        return await self._task(handle, "get", terms)

    async def cancel(self, handle: TaskHandle, terms: RequestTerms) -> A2ATask:
        """Have a task stop.

        Raises:
            CallError: the agent can not be reached, or does not stop it.
        """
        return await self._task(handle, "cancel", terms)

    async def send_news_to(self, handle: TaskHandle, target: A2APushTarget, terms: RequestTerms) -> None:
        """Have the agent send news of a task to an address.

        Raises:
            CallError: the agent can not be reached, or sends none.
        """
        config: JsonObject = {"id": target.id, "url": target.url, "token": target.token}
        if handle.spoken == "legacy":
            asked = LegacySetPush(task_id=handle.task_id, push=target)
            url, body = handle.url, legacy.encode_request(asked, 1)
        else:
            params: JsonObject = {"taskId": handle.task_id}
            params |= config if handle.spoken == "1.0" else {"pushNotificationConfig": config}
            if handle.binding == "GRPC":
                async with self._by_grpc(handle, "push", params, terms):
                    return
            url, body = self._addressed(handle, "push", params)
        async with self._asked(handle, "POST", url, body, terms, streams=False) as results:
            async for _ in results:
                return

    async def _task(self, handle: TaskHandle, what: Literal["get", "cancel"], terms: RequestTerms) -> A2ATask:
        body: JsonObject | None
        if handle.binding == "GRPC":
            async with self._by_grpc(handle, what, {"id": handle.task_id}, terms) as events:
                async for event in events:
                    if isinstance(event, A2ATask):
                        return event
            raise malformed("it is no task")
        if handle.spoken == "legacy":
            asked = LegacyGet(task_id=handle.task_id) if what == "get" else LegacyCancel(task_id=handle.task_id)
            url, body = handle.url, legacy.encode_request(asked, 1)
        else:
            url, body = self._addressed(handle, what, {"id": handle.task_id})
        is_read = handle.binding == "HTTP+JSON" and what == "get"
        async with self._asked(handle, "GET" if is_read else "POST", url, body, terms, streams=False) as results:
            async for result in results:
                try:
                    read = legacy.decode_task if handle.spoken == "legacy" else decode_task
                    return await off_loop(WALKED * size_of_json(result), read, result)
                except (LegacyError, UnreadableAnswer) as problem:
                    raise malformed(problem) from None
        raise malformed("it is empty")

    def _addressed(self, handle: TaskHandle, what: str, params: JsonObject) -> tuple[str, JsonObject]:
        """Address and body of a request of 1.0 or 0.3."""
        if handle.binding == "JSONRPC":
            if handle.tenant:
                params = {"tenant": handle.tenant, **params}
            method = _METHODS[what][0 if handle.spoken == "1.0" else 1]
            return handle.url, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        base = handle.url.rstrip("/") + (f"/{quote(handle.tenant, safe='')}" if handle.tenant else "")
        task = f"/tasks/{quote(handle.task_id, safe='')}"
        paths = {
            "send": "/message:send",
            "stream": "/message:stream",
            "get": task,
            "cancel": f"{task}:cancel",
            "subscribe": f"{task}:subscribe",
            "push": f"{task}/pushNotificationConfigs",
        }
        return base + paths[what], params if what in ("send", "stream", "push") else {}

    @asynccontextmanager
    async def _by_grpc(
        self, handle: TaskHandle, what: str, params: JsonObject, terms: RequestTerms
    ) -> AsyncIterator[AsyncIterator[A2AEvent]]:
        """Send a request over gRPC and hand out the events in its answer.

        Raises:
            Unavailable: gRPC is not installed, so another binding is tried.
        """
        if self._grpc is None:
            try:
                from .grpc_channel import GrpcChannels  # noqa: PLC0415 - see there
            except ImportError:
                raise Unavailable("gRPC is not installed here: pip install 'actum[a2a]'.") from None
            self._grpc = GrpcChannels(
                self._guard, bytes_max=EVENT_BYTES_MAX, silence_s=self._agent.silence_s, roots=self._roots
            )
        metadata = {**terms.trace, "a2a-version": "1.0"}
        if _may_have_credentials(handle.url, self._agent.url):
            metadata |= terms.credentials
        if handle.tenant:
            params = {"tenant": handle.tenant, **params}
        results = self._grpc.results(handle.url, what, params, metadata, events_max=EVENTS_MAX)
        wrapped = ({"task": result} async for result in results) if what in ("get", "cancel") else results
        try:
            async with aclosing(results), aclosing(_events(wrapped, handle)) as events:
                yield events
        except HttpFailure as failure:
            raise not_sent_or_lost(failure) from None

    def know_as_legacy(self, url: str) -> None:
        """The server at this address speaks the protocol of April 2025."""
        self._legacy.add(url)

    # One request ------------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _asked(
        self, handle: TaskHandle, method: str, url: str, body: JsonObject, terms: RequestTerms, *, streams: bool
    ) -> AsyncIterator[AsyncIterator[Json]]:
        """Send a request and hand out the results in its answer: one, or those of a stream."""
        is_rpc = handle.binding == "JSONRPC"
        # SDKs answer HTTP+JSON in the media type in which they are asked.
        headers = {"accept": "text/event-stream, application/json" if streams else "application/json", **terms.trace}
        if method == "POST":
            headers["content-type"] = "application/json"
        if handle.spoken == "1.0":
            headers["a2a-version"] = "1.0"
        try:
            async with self._answers.stream(
                method,
                url,
                headers=headers,
                body=dumps(body).encode() if method == "POST" else b"",
                credentials=self._credentials(url, terms),
                silence_s=self._agent.silence_s,
            ) as answer:
                if answer.status >= 300:
                    await _refuse(answer)
                async with aclosing(_results(answer, is_rpc=is_rpc)) as results:
                    yield results
        except HttpFailure as failure:
            raise not_sent_or_lost(failure) from None

    def _credentials(self, url: str, terms: RequestTerms) -> Credentials:
        return Credentials(terms.credentials, terms.query) if origin(url) == self._origin else NO_CREDENTIALS


def card_addresses(url: str) -> tuple[str, ...]:
    """Where the card of an agent may be, the likeliest first.

    >>> card_addresses("https://a.example/x/card.json")
    ('https://a.example/x/card.json',)
    """
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    if path.endswith(".json"):
        return (url,)
    base = f"{parts.scheme}://{parts.netloc}"
    roots = [base + path, base] if path else [base]
    return tuple(root + place for place in CARD_PLACES for root in roots)


def grpc_address(said: str, agent_url: str) -> str:
    """The address of gRPC in a card, as one of https or http; empty where it is none.

    An address without a scheme is one of TLS, unless a person named the agent by plain http at the same host.

    >>> grpc_address("agents.example:50051", "https://agents.example/")
    'https://agents.example:50051'
    >>> grpc_address("grpcs://agents.example", "https://agents.example/")
    'https://agents.example:443'
    """
    named = urlsplit(agent_url)
    scheme, mark, place = said.partition("://")
    if not mark:
        scheme, place = "", said
    try:
        parts = urlsplit(f"//{place.rstrip('/')}")
        host, port = parts.hostname, parts.port
    except ValueError:
        return ""
    kinds = {"": named.scheme if host == named.hostname else "https", "grpcs": "https", "grpc": "http"}
    kind = kinds.get(scheme.lower(), scheme.lower())
    if kind not in ("https", "http") or not host or parts.path or parts.username is not None:
        return ""
    return f"{kind}://{f'[{host}]' if ':' in host else host}:{port or (443 if kind == 'https' else 80)}"


def _may_have_credentials(url: str, agent_url: str) -> bool:
    """Whether an address of gRPC gets the credentials of the agent: at the same host, by TLS. It has a port of its own
    as a rule."""
    to, named = urlsplit(url), urlsplit(agent_url)
    return origin(url) == origin(agent_url) or (to.scheme == named.scheme == "https" and to.hostname == named.hostname)


def is_of_older_server(error: RemoteAgentError) -> bool:
    """Whether a server refuses a message as one of April 2025 does, which does not know the method."""
    return error.rpc_code in _LEGACY_SIGNS


def _handle(each: RemoteInterface, spoken: Literal["legacy"] | LaterVersion) -> TaskHandle:
    return TaskHandle(url=each.url, binding=each.binding, spoken=spoken, tenant=each.tenant)


async def _refuse(answer: FetchedStream) -> None:
    error: Json = None
    body = bytearray()
    async for piece in answer.pieces:
        body += piece
        if len(body) > CARD_BYTES_MAX:
            break
    try:
        found, _ = await off_loop(WALKED * len(body), parse, bytes(body), keep_last=True)
    except JsonProblem:
        found = None
    if isinstance(found, dict) and isinstance(found.get("error"), dict):
        error = found["error"]
    raise_status(answer.status, retry_after(answer.headers, 0.0), error)


async def _results(answer: FetchedStream, *, is_rpc: bool) -> AsyncGenerator[Json]:
    """The results in an answer: of one JSON document, or of each event of a stream."""
    kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "text/event-stream":
        body = b"".join([piece async for piece in answer.pieces])
        yield await off_loop(WALKED * len(body), _result, body, is_rpc=is_rpc)
        return
    reader, count, since = SseReader(), 0, 0
    async for piece in answer.pieces:
        since += len(piece)
        for event in reader.feed(piece):
            count, since = count + 1, 0
            if count > EVENTS_MAX:
                raise malformed(f"its stream has more than {EVENTS_MAX} events")
            if event.data:
                yield await off_loop(WALKED * len(event.data), _result, event.data, is_rpc=is_rpc)
        if since > EVENT_BYTES_MAX:
            raise malformed("one event of its stream is too long")
    for event in reader.close():
        # No blank line follows this event: the server forgot it, or the stream was cut inside of the event.
        if await off_loop(WALKED * len(event.data), _is_json, event.data):
            yield await off_loop(WALKED * len(event.data), _result, event.data, is_rpc=is_rpc)


def _result(body: bytes, *, is_rpc: bool) -> Json:
    found = _parsed(body)
    if not isinstance(found, dict):
        raise malformed("it is no object")
    if isinstance(found.get("error"), dict):
        raise_error(found["error"])
    if not is_rpc:
        return found
    if found.get("result") is None:
        raise malformed("it has neither a result nor an error")
    return found["result"]


def _is_json(body: bytes) -> bool:
    try:
        parse(body, keep_last=True)
    except JsonProblem:
        return False
    return True


def _parsed(body: bytes) -> Json:
    try:
        return parse(body, keep_last=True)[0]
    except JsonProblem:
        raise malformed("it is no JSON, or nested too deep") from None


def _card(body: bytes) -> RemoteCard:
    return read_card(_parsed(body))


async def _events(results: AsyncIterator[Json], handle: TaskHandle) -> AsyncGenerator[A2AEvent]:
    async for result in results:
        if handle.spoken != "legacy" and result == {}:  # some servers begin and end a stream with an empty event
            continue
        try:
            event = await off_loop(WALKED * size_of_json(result), _event, result, handle)
        except (LegacyError, UnreadableAnswer) as problem:
            raise malformed(problem) from None
        yield event


def _event(result: Json, handle: TaskHandle) -> A2AEvent:
    if handle.spoken != "legacy":
        return decode_event(result)
    if isinstance(result, dict) and not _LEGACY_TASK.isdisjoint(result):
        return legacy.decode_task(result)
    return legacy.decode_event(result, handle.context_id)
