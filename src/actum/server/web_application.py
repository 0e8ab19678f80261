"""The application: route groups put together into one web application, with one look at each request before its route
group gets the request.

    application = WebApplication([service.door()], WebApplicationSettings(access=access, host="127.0.0.1"))
    application.app            # for any ASGI server; `web.serve` runs uvicorn

In this order: the id of the request, who sends it (proxies), `Host` and `Origin`, whether the server stops, size of
headers and of the body, places for requests under way, who makes the request (a key or a token), scopes. Then the route
group answers; while it reads the body, the body has to arrive in time and keep to its size.

The settings can be replaced while the application is open (`WebApplication.change`). The application knows no protocol:
a route group says how its protocol tells a refusal (`OwnWords` of `route_group.py`). Connections, and the time for
headers, are the affair of `web.py`.

This file loads a web framework: import it only where a server is to run.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from http import HTTPMethod
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Mount, Route, compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..core.clock import SystemClock
from ..core.errors import ActumError, JournalError, UsageError
from ..core.identity import Identity
from ..core.interfaces import Clock
from ..core.process.tenant import acting_for
from ..features.refusal import phrase
from ..protocols.oauth_metadata import ResourceMetadata
from .access import LOCAL, Accepted, Access, accepted, fits, refuse_open
from .access_log import UNKNOWN_ROUTE, AccessLine, AccessLog, RequestFacts, moment, request_facts
from .admission import Admission, AdmissionLimits, OwnPort
from .attempts import Attempts, TooManyAttempts
from .login.same_site import own_origin, refuse_other_origins
from .open_streams import OpenStreams
from .places import Places
from .proxies import Proxies, ProxyHeader
from .refusal import PROBLEM, Headers, HttpRefusal, MissingScope, busy, problem, spoken
from .route_group import (
    IDENTITY,
    REQUEST_ID,
    KeysElsewhere,
    NeedsScopes,
    OpenRoutes,
    OwnWords,
    Recognizer,
    RouteGroup,
    TakesFiles,
    Worded,
    language_of,
)
from .verifier import Verifier, wants_token

if TYPE_CHECKING:
    from .metrics import Metrics  # MCP over stdio needs the application, and no package for metrics

log = logging.getLogger("actum.server")

BODY_BYTES_MAX = 4 * 1024 * 1024
BODY_S = 60.0
HEADER_BYTES_MAX = 32 * 1024
PARTS_MAX = 500
"""How many parameters an address may have, and how many cookies a request: each is some work, and has two bytes."""
LARGE_BODIES_MAX = 4
"""At most this many bodies with files are in memory at once; more of them wait."""
REQUESTS_MAX = 1_000
REQUESTS_PER_CALLER_MAX = 100
READY_S = 1.0
"""The journal is looked at once in this time, however often `/readyz` is asked; a look may take no longer."""
LOOK_S = 0.5
"""Seconds between two looks whether the web server is to end."""
DRAIN_S = 5.0
"""Seconds that a route group may take to end its streams."""
METRICS_SCOPE = "metrics"
ADMIN_SCOPE = "admin"
"""Stands for the scopes that route groups want, and for that of the metrics."""
HEALTH, READY, METRICS = "/healthz", "/readyz", "/metrics"
METADATA = "/.well-known/oauth-protected-resource"

_OWN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_TOKENS = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+(\s*,\s*[A-Za-z0-9!#$%&'*+.^_`|~-]+)*")
_METHODS = frozenset(HTTPMethod)
_EXPOSED = b"location, mcp-session-id, retry-after, www-authenticate, x-request-id"
_NOBODY = Identity()
_CLOSE = ((b"connection", b"close"),)

request_id: ContextVar[str] = ContextVar("actum_request_id", default="")
"""The id of the request that is answered now, for lines of a log."""

Ready = Callable[[], Awaitable[Sequence[str]]]
"""Looks whether requests can be answered: returns what works less well, a sentence each, and raises an error where
requests can not be answered; of a `NotReady` the words are told.
"""


class NotReady(ActumError):
    """No request can be answered now. The words are for everybody: they hold no address, no path and no secret."""


class WebApplicationSettings(Struct, frozen=True, kw_only=True):
    """What the application looks at.

    Attributes:
        access: who may come in.
        host: the name or address of this machine at which the server listens.
        public: the server's address as clients write it, such as `https://tools.example.org`; empty where it is the
            one at which the server listens.
        proxies: addresses and networks of proxies that are believed when they say who the client is.
        proxy_header: the kind of header that these proxies write.
        body_bytes_max: how long the body of a request may be, without the files that some paths take.
        body_s: seconds in which the body of a request has to arrive, from its headers on.
        header_bytes_max: how long the headers of a request may be together, its path among them.
        requests_max: how many requests may be under way, open streams among them.
        requests_per_caller_max: as above, for one user; for one address where no key is wanted or it is not yet
            checked.
    """

    access: Access = LOCAL
    host: str = "127.0.0.1"
    public: str = ""
    proxies: tuple[str, ...] = ()
    proxy_header: ProxyHeader = "x-forwarded"
    body_bytes_max: int = BODY_BYTES_MAX
    body_s: float = BODY_S
    header_bytes_max: int = HEADER_BYTES_MAX
    requests_max: int = REQUESTS_MAX
    requests_per_caller_max: int = REQUESTS_PER_CALLER_MAX


class WebApplication:
    """Route groups in one web application.

    Args:
        groups: what is served.
        settings: what the application looks at.
        who: the user on whose behalf clients are served where no key is wanted.
        ready: whether requests can be answered; always, when it is left out.
        metrics: counts; None to count nothing.
        shows_metrics: the counts are served at `/metrics`, for those with the scope `metrics`.
        attempts: slows down those whose tries fail; None to let everybody try as fast as they can.
        streams: ends what somebody reads soon after the reader's key has ended, or a key is wanted of a reader who
            showed none; None to look at a key only when a request comes.
        access_log: is told of each request that is over; None for no log.
        clock: time.

    Attributes:
        app: the application, for any ASGI server.
        settings: what holds now.

    Raises:
        UsageError: others than this machine would reach the server, and nothing is wanted of them; or the settings
            contradict themselves.
    """

    def __init__(
        self,
        groups: Sequence[RouteGroup],
        settings: WebApplicationSettings | None = None,
        *,
        who: Identity | None = None,
        ready: Ready | None = None,
        metrics: Metrics | None = None,
        shows_metrics: bool = True,
        attempts: Attempts | None = None,
        streams: OpenStreams | None = None,
        access_log: AccessLog | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._access_log = access_log
        self._groups = list(groups)
        self._who = who or Identity()
        self._clock = clock or SystemClock()
        self._attempts, self._streams = attempts, streams
        self._metrics = metrics
        self._readiness = _Readiness(ready, self._clock)
        self._places = Places()
        self._is_draining = False
        self._told: asyncio.Task[None] | None = None
        self._inner: ASGIApp = _nothing
        self.settings = settings or WebApplicationSettings()
        self._file_bytes: dict[str, int] = {}
        for group in self._groups:
            if isinstance(group, TakesFiles):
                self._file_bytes.update(group.file_bytes)
        self._large = asyncio.Semaphore(LARGE_BODIES_MAX)
        self._looks = _Looks(self.settings, self._file_bytes)
        self._own = [Route(HEALTH, self._health), Route(READY, self._ready)]
        if metrics is not None and shows_metrics:
            self._own.append(Route(METRICS, metrics.answer))
        # An issuer may be named later, by new settings: the route is there, and says 404 as long as there is none.
        self._own.append(Route(METADATA + "{path:path}", self._metadata))
        self._open = {HEALTH, READY}
        admission = Admission(attempts, streams, self._places, self._limits)
        for group in self._groups:
            if isinstance(group, OwnPort):
                group.take_admission(admission)
        self._recognizers = [group for group in self._groups if isinstance(group, Recognizer)]
        self._by_segment: dict[str, list[_Entry]] = {}
        for group in self._groups:
            entry = _Entry.of(group)
            for segment in {_segment(_path(route)) for route in group.routes}:
                self._by_segment.setdefault(segment, []).append(entry)
        self.app = Starlette(
            routes=[*self._own, *(route for group in self._groups for route in group.routes)],
            middleware=[Middleware(self._around)],
            exception_handlers={HTTPException: _raise_as_refusal},
            lifespan=lambda _: self._lifespan(),
        )

    def _around(self, app: ASGIApp) -> ASGIApp:
        self._inner = app
        return self._enter

    def change(self, settings: WebApplicationSettings) -> None:
        """From the next request on, other settings hold. Requests that are under way keep those that they began with.

        Args:
            settings: the new ones.

        Raises:
            UsageError: as for the constructor; then the old settings stay.
        """
        looks = _Looks(settings, self._file_bytes)
        self.settings, self._looks = settings, looks

    def _limits(self) -> AdmissionLimits:
        settings = self.settings
        return AdmissionLimits(
            requests_max=settings.requests_max,
            requests_per_caller_max=settings.requests_per_caller_max,
            scopes=settings.access.scopes,
        )

    # Life -------------------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _lifespan(self) -> AsyncIterator[None]:
        self._is_draining, self._told = False, None
        async with AsyncExitStack() as stack:
            if self._attempts is not None:
                stack.push_async_callback(self._attempts.flush, at_end=True)
            if self._streams is not None:
                await stack.enter_async_context(self._streams.watched())
            for group in self._groups:
                await stack.enter_async_context(group.lifespan())
            watching = asyncio.create_task(self._watch(), name="application watches for the end")
            try:
                yield
            finally:
                watching.cancel()
                await self.drain()

    async def drain(self) -> None:
        """Take no new requests, and end the streams of those who only listen. What is under way goes on.

        A route group that takes too long to end its streams keeps nobody waiting: the web server cuts them later.
        """
        self._is_draining = True
        if self._told is None:
            self._told = asyncio.create_task(self._end_streams())
        try:
            async with self._clock.timeout(DRAIN_S):
                await asyncio.shield(self._told)
        except TimeoutError:
            log.warning("a route group did not end its streams in time")

    async def _end_streams(self) -> None:
        outcomes = await asyncio.gather(*(group.end_streams() for group in self._groups), return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, Exception):
                log.error("the streams of a route group could not be ended", exc_info=outcome)

    async def _watch(self) -> None:
        """Drain when the web server is to end: a web server of others tells the app only when all streams are over."""
        while True:
            await asyncio.sleep(LOOK_S)
            if _is_ending():
                await self.drain()

    # One request ------------------------------------------------------------------------------------------------------

    async def _enter(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._inner(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        began, looks = self._clock.monotonic(), self._looks
        body = _Body(receive, looks, looks.body_bytes_max(scope), self._clock, began, self._large)
        headers: Sequence[tuple[bytes, bytes]] = scope["headers"]
        id_ = _id_of(headers)
        scope[REQUEST_ID] = id_
        answer = _Answer(send, id_, looks.cors(headers))
        token, facts = request_id.set(id_), RequestFacts(headers)
        noting = request_facts.set(facts)
        if self._metrics is not None:
            self._metrics.under_way.inc()
        try:
            await self._serve(looks, scope, body.receive, answer.send)
        except HttpRefusal as refusal:
            if isinstance(refusal, MissingScope) and not refusal.headers:  # raised by a route group
                refusal.headers = (looks.challenge("insufficient_scope", (refusal.scope,)),)
            await self._refuse(refusal, scope, answer)
        except asyncio.CancelledError:
            if not self._is_draining:
                raise
            log.warning("request %s was broken off: the server ends", id_)
            await self._refuse(HttpRefusal(503, "The server ended before this was done.", _CLOSE), scope, answer)
        except ClientDisconnect:  # nobody is there who could be told
            pass
        except Exception:  # the edge: the client is told that it failed, the log how
            log.exception("a route group failed at request %s", id_)
            await self._refuse(HttpRefusal(500, "The server failed. Its log says more."), scope, answer)
        finally:
            body.close()
            request_id.reset(token)
            request_facts.reset(noting)
            self._count(scope, answer, facts, self._clock.monotonic() - began)

    def _count(self, scope: Scope, answer: _Answer, facts: RequestFacts, seconds: float) -> None:
        """Count a request that is over, and write its line."""
        method = scope["method"] if scope["method"] in _METHODS else "other"
        route = _route_of(scope)
        if self._metrics is not None:
            self._metrics.under_way.dec()
            self._metrics.request(route, method, answer.status, seconds)
            if facts.passed is not None:
                self._metrics.passed(facts.passed)
        if self._access_log is None or (route in (HEALTH, READY) and answer.status == 200):
            return
        who = scope.get(IDENTITY) or _NOBODY
        of_route = scope.get("path_params", {}).get("id", "") if route.startswith("/v1/runs/{id}") else ""
        self._access_log.write(
            AccessLine(
                time=moment(self._clock.now() - seconds),
                request_id=scope[REQUEST_ID],
                trace_id=facts.trace_id,
                run_id=(facts.run_id or of_route)[:200],
                method=method,
                route=route,
                status=answer.status,
                seconds=round(seconds, 6),
                bytes=answer.bytes,
                key_id=who.key_id,
                tenant=who.tenant,
                client=(scope.get("client") or ("",))[0],
                model=facts.model,
                upstream=facts.upstream,
                tokens=facts.tokens,
                cost=float(facts.cost) or None,
            )
        )

    async def _serve(self, looks: _Looks, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        if path in self._open:  # by whatever name: a probe knows the address alone
            await self._inner(scope, receive, send)
            return
        looks.at_sender(scope)
        looks.at_headers(scope)
        if self._is_draining:
            raise HttpRefusal(503, "The server stops.", ((b"retry-after", b"5"), *_CLOSE))
        if looks.is_preflight(scope):
            await _preflight(scope)(scope, receive, send)
            return
        group = self._door_of(scope)
        if group is None and not any(_matches(route, scope) for route in self._own):
            raise HttpRefusal(404, "There is nothing at this path.")
        shown = group.keys.take_keys(scope) if group is not None and group.keys is not None else ()
        address = (scope.get("client") or ("",))[0]
        verifier = looks.settings.access.verifier
        keyless = verifier is None or not await self._wants_token(verifier, scope)
        if verifier is None or keyless:
            looks.at_page(scope)
            scope[IDENTITY], caller = self._who, address
        else:
            needed = self._needed(looks, path, group)
            with self._place(looks.settings, address):  # to check a token may take a request to its issuer
                identity = await self._identity(looks, verifier, scope, needed, shown) or await self._recognized(scope)
            if identity is not None:
                looks.at_scopes(identity, needed)
                scope[IDENTITY], caller = identity, (identity.tenant, identity.issuer, identity.principal)
            elif path.startswith(METADATA) or (group is not None and group.is_open(path)):
                looks.at_page(scope)
                scope[IDENTITY], caller = Identity(), address
            else:
                raise looks.unauthorized(needed)
        with self._place(looks.settings, caller), acting_for(scope[IDENTITY].tenant):
            if self._streams is not None:
                await self._streams.serve(self._inner, scope[IDENTITY], scope, receive, send, keyless=keyless)
            else:
                await self._inner(scope, receive, send)

    async def _wants_token(self, verifier: Verifier, scope: Scope) -> bool:
        """Whether the request has to show a key.

        Raises:
            HttpRefusal: nobody can tell now.
        """
        try:
            return await wants_token(verifier)
        except JournalError:
            log.exception("nobody can tell whether keys are wanted at request %s", scope[REQUEST_ID])
            raise busy(503, "Keys can not be checked now.") from None

    async def _identity(
        self, looks: _Looks, verifier: Verifier, scope: Scope, needed: Sequence[str], elsewhere: Sequence[str]
    ) -> Identity | None:
        """Who makes a request; None where it shows no key. The scopes that are needed are told in a refusal.

        Args:
            looks, verifier, scope, needed: of the request.
            elsewhere: the keys that the request shows beside `Authorization`.

        Raises:
            HttpRefusal: the key is not valid, or there are two; or nobody can tell now, or too many tries have failed.
        """
        shown = [value for name, value in scope["headers"] if name == b"authorization"]
        if not shown and not elsewhere:
            return None
        tokens = {*elsewhere}
        for value in shown:
            kind, _, token = value.decode("latin-1").partition(" ")
            tokens.add(token.strip() if kind.lower() == "bearer" else "")
        if len(shown) > 1 or len(tokens) != 1 or not (token := tokens.pop()):
            raise looks.unauthorized(needed)
        try:
            if self._attempts is None:
                identity = await verifier.verify_token(token)
            else:
                identity = await self._attempts.check(verifier, (scope.get("client") or ("",))[0], token)
        except TooManyAttempts as error:
            raise busy(429, "Too many keys that are not valid were shown: wait.", error.retry_after_s) from None
        except JournalError:
            log.exception("keys can not be checked at request %s", scope[REQUEST_ID])
            raise busy(503, "Keys can not be checked now.") from None
        if identity is None:
            raise looks.unauthorized(needed, "invalid_token")
        return identity

    def _needed(self, looks: _Looks, path: str, group: _Entry | None) -> Sequence[str]:
        """The scopes that a request needs."""
        if path == METRICS:
            return (METRICS_SCOPE,)
        if path.startswith(METADATA) or (group is not None and group.is_open(path)):
            return ()
        return (*looks.settings.access.scopes, *(group.scopes if group is not None else ()))

    async def _recognized(self, scope: Scope) -> Identity | None:
        """Who makes a request without a key, by the word of a route group that knows people in another way."""
        for group in self._recognizers:
            if (found := await group.recognize(scope)) is not None:
                return found
        return None

    def _door_of(self, scope: Scope) -> _Entry | None:
        sharing = self._by_segment.get(_segment(scope["path"]), ())
        if len(sharing) > 1:  # rare: most route groups are known by the first part of the path
            return _best_of(sharing, scope)
        return sharing[0] if sharing else None

    def _place(self, settings: WebApplicationSettings, caller: Hashable) -> _Place:
        full = self._places.take(caller, settings.requests_per_caller_max, settings.requests_max)
        if full == "caller":
            raise busy(429, "You have too many requests under way: wait until some are answered.")
        if full == "all":
            raise busy(503, "The server has too many requests under way.")
        return _Place(self._places, caller)

    async def _refuse(self, refusal: HttpRefusal, scope: Scope, answer: _Answer) -> None:
        if answer.status:  # it has begun: the web server cuts an answer that ends in the middle
            return
        group = self._door_of(scope)
        if group is not None and "route" not in scope:  # refused before the router saw it
            scope["route"] = next((each for each in group.group.routes if _matches(each, scope)), None)
        if group is not None and isinstance(group.group, OwnWords):
            words = group.group.word(refusal, scope)
        else:
            language = language_of(scope)
            words = Worded(PROBLEM, problem(refusal, scope[REQUEST_ID], language), spoken(language))
        about = ((b"content-type", words.media_type), (b"content-length", b"%d" % len(words.body)), *words.headers)
        await answer.send(
            {"type": "http.response.start", "status": refusal.status, "headers": [*about, *refusal.headers]}
        )
        body = b"" if scope["method"] == "HEAD" else words.body
        await answer.send({"type": "http.response.body", "body": body})

    # What the application serves itself
    # -------------------------------------------------------------------------------------

    async def _health(self, request: Request) -> Response:
        return Response("yes\n", media_type="text/plain")

    async def _ready(self, request: Request) -> Response:
        notes = None if self._is_draining else await self._readiness.look()
        if notes is None:
            why = "" if self._is_draining else self._readiness.why
            return Response(f"no\n{why}\n" if why else "no\n", 503, media_type="text/plain")
        return Response("".join(f"{line}\n" for line in ("yes", *notes)), media_type="text/plain")

    async def _metadata(self, request: Request) -> Response:
        """Where tokens for this server are granted (RFC 9728)."""
        looks = self._looks
        if not looks.metadata_url or urlsplit(looks.metadata_url).path != request.url.path:
            raise HttpRefusal(404, "There is nothing at this path.")
        return Response(msgspec.json.encode(looks.metadata()), media_type="application/json")


class _Entry(NamedTuple):
    """A route group, and what it says of itself."""

    group: RouteGroup
    scopes: tuple[str, ...]
    opens: OpenRoutes | None
    keys: KeysElsewhere | None

    @classmethod
    def of(cls, group: RouteGroup) -> _Entry:
        """What a route group says."""
        scopes = tuple(group.scopes) if isinstance(group, NeedsScopes) else ()
        opens = group if isinstance(group, OpenRoutes) else None
        return cls(group, scopes, opens, group if isinstance(group, KeysElsewhere) else None)

    def is_open(self, path: str) -> bool:
        """Whether a path is for those who have no key yet. That of a card closes when its agent becomes narrower."""
        return self.opens is not None and path in self.opens.open_paths


class _Looks:
    """What is looked at, by one set of settings."""

    def __init__(self, settings: WebApplicationSettings, file_bytes: Mapping[str, int]) -> None:
        self.settings = settings
        self._file_bytes = [(compile_path(path)[0], size) for path, size in file_bytes.items()]
        access = settings.access
        refuse_open(settings.host, access)
        public = urlsplit(settings.public)
        if settings.public and (public.scheme not in ("http", "https") or not public.hostname):
            raise UsageError(
                "public: {address} is no address, such as https://tools.example.org", address=settings.public
            )
        named = public.hostname or ""
        names = (*access.names, *([f"[{named}]" if ":" in named else named] if named else []))
        self._accepted: Accepted = accepted(settings.host, msgspec.structs.replace(access, names=names))
        self._proxies = Proxies(settings.proxies, settings.proxy_header)
        resource = access.resource or settings.public
        if access.issuer and not resource:
            raise UsageError("an issuer of tokens needs a resource: this server's address, which its tokens are for")
        self._resource = resource
        place = urlsplit(resource)
        self.metadata_url = (
            f"{place.scheme}://{place.netloc}{METADATA}{place.path.rstrip('/')}" if access.issuer else ""
        )

    def at_sender(self, scope: Scope) -> None:
        """Note who is at the other end, where a proxy stands between."""
        if not self.settings.proxies:
            return
        peer, port = scope.get("client") or ("", 0)
        sender = self._proxies.sender(peer, scope["scheme"], scope["headers"])
        scope["client"], scope["scheme"] = (sender.address, port if sender.address == peer else 0), sender.scheme

    def body_bytes_max(self, scope: Scope) -> int:
        """How long the body of a request may be, files included: Base64 makes four bytes of three."""
        files = max((size for path, size in self._file_bytes if path.match(scope["path"])), default=0)
        return self.settings.body_bytes_max + files * 4 // 3

    def at_headers(self, scope: Scope) -> None:
        """Refuse a request by its headers.

        Raises:
            HttpRefusal: they are too long, or name another server or a page that may not speak to this one.
        """
        size, length, hosts = len(scope.get("raw_path") or b"") + len(scope["query_string"]), b"", []
        is_chunked = False
        for name, value in scope["headers"]:
            size += len(name) + len(value)
            if name == b"host":
                hosts.append(value)
            elif name == b"content-length":
                length = value
            elif name == b"transfer-encoding":
                is_chunked = True
            elif name == b"origin" and value and not fits(value.decode("latin-1"), self._accepted.origins):
                raise HttpRefusal(403, "Pages of this Origin may not speak to this server.")
        if size > self.settings.header_bytes_max:
            raise HttpRefusal(
                431,
                "The headers are longer than {header_bytes_max} bytes.",
                header_bytes_max=self.settings.header_bytes_max,
            )
        if _has_many_parts(scope):
            raise HttpRefusal(431, "A request has at most {most} parameters and {most} cookies.", most=PARTS_MAX)
        if len(hosts) != 1:
            raise HttpRefusal(400, "A request has one header Host.", _CLOSE)
        if not fits(hosts[0].decode("latin-1"), self._accepted.hosts):
            raise HttpRefusal(421, "The header Host names another server.")
        if is_chunked and length:  # a proxy in between may take another end of the body for the right one
            raise HttpRefusal(400, "A body has one length: Content-Length, or Transfer-Encoding.", _CLOSE)
        if length[:20].isdigit() and int(length[:20]) > (most := self.body_bytes_max(scope)):
            raise _too_large(most)

    def at_page(self, scope: Scope) -> None:
        """Refuse a request without a key that changes something and comes from a page of another origin.

        Raises:
            HttpRefusal: it does.
        """
        refuse_other_origins(scope, own_origin(scope, self.settings.public), self.settings.access.origins)

    def cors(self, headers: Sequence[tuple[bytes, bytes]]) -> Headers:
        """The headers that let a page of an origin that the operator named read an answer."""
        named = self.settings.access.origins
        if not named:
            return ()
        origin = next((value for name, value in headers if name == b"origin"), b"")
        if not origin or not fits(origin.decode("latin-1"), named):
            return ((b"vary", b"origin"),)
        return (
            (b"vary", b"origin"),
            (b"access-control-allow-origin", origin),
            (b"access-control-expose-headers", _EXPOSED),
        )

    def is_preflight(self, scope: Scope) -> bool:
        """Whether a browser asks if a page may make a request, and an origin was named."""
        return (
            scope["method"] == "OPTIONS"
            and bool(self.settings.access.origins)
            and any(name == b"access-control-request-method" for name, _ in scope["headers"])
        )

    def at_scopes(self, identity: Identity, needed: Sequence[str]) -> None:
        """Refuse a key that does not allow enough.

        Raises:
            MissingScope: which scope it lacks.
        """
        may_all = ADMIN_SCOPE in identity.scopes
        wanted = self.settings.access.scopes
        missing = next((s for s in needed if s not in identity.scopes and (s in wanted or not may_all)), None)
        if missing is not None:
            refusal = MissingScope(missing)
            refusal.headers = (self.challenge("insufficient_scope", needed),)
            raise refusal

    def unauthorized(self, needed: Sequence[str], error: str = "") -> HttpRefusal:
        """The refusal of a request without a valid key."""
        detail = "This key, or token, is not valid." if error else "Show a key: Authorization: Bearer KEY"
        return HttpRefusal(401, detail, (self.challenge(error, needed),))

    def challenge(self, error: str, scopes: Sequence[str]) -> tuple[bytes, bytes]:
        """The header that says how to come in (RFC 6750 §3, RFC 9728 §5.1)."""
        parts = {
            "realm": "actum",
            "error": error,
            "scope": " ".join(scopes),
            "resource_metadata": self.metadata_url,
        }
        told = ", ".join(f'{name}="{value}"' for name, value in parts.items() if value)
        return b"www-authenticate", f"Bearer {told}".encode("latin-1", "replace")

    def metadata(self) -> ResourceMetadata:
        """What is published of who grants tokens."""
        access = self.settings.access
        return ResourceMetadata(
            resource=self._resource,
            authorization_servers=(access.issuer,),
            scopes_supported=tuple(access.scopes) or None,
            bearer_methods_supported=("header",),
        )


class _Place:
    """A place that is held until the block ends."""

    __slots__ = ("_caller", "_places")

    def __init__(self, places: Places, caller: Hashable) -> None:
        self._places = places
        self._caller = caller

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        self._places.leave(self._caller)


class _Body:
    """The body of a request, which has to arrive in time and keep to its size. Few large ones are read at once."""

    def __init__(
        self, receive: Receive, looks: _Looks, most: int, clock: Clock, began: float, large: asyncio.Semaphore
    ) -> None:
        self._receive = receive
        self._usual, self._most = looks.settings.body_bytes_max, most
        self._clock = clock
        self._until = began + looks.settings.body_s
        self._large, self._is_large = large, False
        self._size = 0
        self._is_over = False

    async def receive(self) -> Message:
        """The next part.

        Raises:
            HttpRefusal: it did not come in time, or the body is too long.
        """
        if self._is_over:
            return await self._receive()
        try:
            async with self._clock.timeout(self._until - self._clock.monotonic()):
                part = await self._receive()
        except TimeoutError:
            raise HttpRefusal(408, "The body did not arrive in time.", _CLOSE) from None
        self._size += len(part.get("body", b""))
        if self._size > self._most:
            raise _too_large(self._most)
        if self._size > self._usual and not self._is_large:
            await self._wait_for_others()
        self._is_over = not part.get("more_body", False)
        return part

    async def _wait_for_others(self) -> None:
        try:
            async with self._clock.timeout(self._until - self._clock.monotonic()):
                await self._large.acquire()
        except TimeoutError:
            raise busy(503, "Too many requests with files are under way.") from None
        self._is_large = True

    def close(self) -> None:
        """The request is over, and its body is forgotten."""
        if self._is_large:
            self._is_large = False
            self._large.release()


class _Answer:
    """The answer to a request, with the headers that the application adds.

    Attributes:
        status: of the response; 0 until it has begun.
        bytes: how long the body is that was sent so far.
    """

    def __init__(self, send: Send, id_: str, headers: Headers) -> None:
        self._send = send
        self._headers = [(b"x-request-id", id_.encode()), *headers]
        self.status = self.bytes = 0

    async def send(self, message: Message) -> None:
        """Send the next part."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message.get("headers", ()), *self._headers]
        await self._send(message)
        self.bytes += len(message.get("body", b""))


class _Readiness:
    """Whether requests can be answered; looked at now and then, however often it is asked.

    Attributes:
        why: why requests can not be answered, where that may be told.
    """

    def __init__(self, ready: Ready | None, clock: Clock) -> None:
        self._ready = ready
        self._clock = clock
        self._looking = asyncio.Lock()
        self._at = float("-inf")
        self._found: Sequence[str] | None = None
        self.why = ""

    async def look(self) -> Sequence[str] | None:
        """What works less well, as of at most a second ago; None where requests can not be answered."""
        if self._ready is None:
            return ()
        async with self._looking:
            if self._clock.monotonic() - self._at >= READY_S:
                self.why = ""
                try:
                    async with self._clock.timeout(READY_S):
                        self._found = await self._ready()
                except NotReady as error:
                    log.warning("not ready: %s", error)
                    self._found, self.why = None, str(error)
                except Exception as error:  # noqa: BLE001  # whatever is the matter: the answer is no, and the log says why
                    log.warning("not ready: %s", type(error).__name__)
                    self._found = None
                self._at = self._clock.monotonic()
        return self._found


async def _nothing(scope: Scope, receive: Receive, send: Send) -> None:
    """In place of the route groups, until the application is put together."""


async def _raise_as_refusal(_: Request, error: Exception) -> Response:
    """What the router says of a request that fits no route, in the words of a refusal."""
    assert isinstance(error, HTTPException)
    words = {
        404: "There is nothing at this path.",
        405: "This path does not answer to this method.",
    }.get(error.status_code, phrase(error.status_code))
    headers = tuple((name.lower().encode(), value.encode()) for name, value in (error.headers or {}).items())
    raise HttpRefusal(error.status_code, words, headers)


def _preflight(scope: Scope) -> Response:
    """What a page may send. Which pages: `cors` says that with every answer."""
    wanted = next((v.decode("latin-1") for n, v in scope["headers"] if n == b"access-control-request-headers"), "")
    headers = {"access-control-allow-methods": "GET, POST, PUT, PATCH, DELETE", "access-control-max-age": "600"}
    if _TOKENS.fullmatch(wanted):
        headers["access-control-allow-headers"] = wanted
    return Response(status_code=204, headers=headers)


def _id_of(headers: Sequence[tuple[bytes, bytes]]) -> str:
    """The id that a client or a proxy gave the request, where it is well formed; else a new one."""
    for name, value in headers:
        if name == b"x-request-id" and _OWN_ID.fullmatch(given := value.decode("latin-1")):
            return given
    return os.urandom(16).hex()


def _route_of(scope: Scope) -> str:
    route = scope.get("route")
    return _path(route) if isinstance(route, BaseRoute) else UNKNOWN_ROUTE


def _path(route: BaseRoute) -> str:
    return route.path if isinstance(route, Route | Mount) else ""


def _segment(path: str) -> str:
    """The first part of a path, by which the route group of most requests is known."""
    return path.split("/", 2)[1] if path.startswith("/") else ""


def _best_of(sharing: Sequence[_Entry], scope: Scope) -> _Entry | None:
    """The route group to which the router gives a request: one that takes the path by another method comes last."""
    partial: _Entry | None = None
    for entry in sharing:
        for route in entry.group.routes:
            match route.matches(scope)[0]:
                case Match.FULL:
                    return entry
                case Match.PARTIAL:
                    partial = partial or entry
                case Match.NONE:
                    pass
    return partial


def _matches(route: BaseRoute, scope: Scope) -> bool:
    return bool(route.matches(scope)[0].value)


def _too_large(most: int) -> HttpRefusal:
    return HttpRefusal(413, "The body is longer than {body_bytes_max} bytes.", body_bytes_max=most)


def _is_ending() -> bool:
    """Whether the web server was told to end, where that can be seen: uvicorn takes signals by a method of its own."""
    handlers = [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)]
    return any(getattr(getattr(each, "__self__", None), "should_exit", None) is True for each in handlers)


def _has_many_parts(scope: Scope) -> bool:
    parameters: int = scope["query_string"].count(b"&") + 1
    cookies = 0
    for name, value in scope["headers"]:
        if name == b"cookie":
            cookies += value.count(b";") + 1
    return parameters > PARTS_MAX or cookies > PARTS_MAX
