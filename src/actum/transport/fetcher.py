"""Requests of tools to the web: any method, through the guard, bounded in time, size, unpacked size and kind of answer.

A redirect is judged like a first request. At another origin (scheme, host or port) only harmless headers go along: no
`Authorization`, no cookies, nothing of the caller's `Credentials`, and what has left the first origin never brings
credentials back. A body is sent on only by status 307 or 308 within the same origin; a request with another method
than GET or HEAD that a redirect would lead to another origin is not repeated there, and its answer is the redirect.
Cookies are not kept.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Literal, NamedTuple
from urllib.parse import parse_qsl, quote, quote_plus, unquote_plus, urlencode, urljoin, urlsplit, urlunsplit

import httpx2
from msgspec import Struct

from ..schema import canonical
from ..schema.canonical import Unclear
from .body import ACCEPTED, bounded
from .client_certificate import context_with
from .connection import Timeouts
from .connection_pool import ConnectionPool, WireAnswer
from .guard import AddressRefused, Guard, origin
from .http import CONNECT_S_MAX, HttpFailure, WireFailure, translated

FETCH_BYTES_MAX = 1024 * 1024
FETCH_S_MAX = 20.0
REDIRECTS_MAX = 3
UNREAD_BYTES_MAX = 16 * 1024
UNREAD_S_MAX = 1.0
"""How many bytes of a short body are read, and for how many seconds. A longer body costs the connection."""
SECRET_CHARS_MIN = 6
"""What is shorter can not be told from other words of an address."""

Redirects = Literal["none", "inside", "anywhere"]
"""Which redirects are followed: none, those within the origin, or those to any address that the guard lets through."""

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")
_HARMLESS = frozenset({"accept", "accept-language", "user-agent"})
"""Headers that go along to another origin."""
_OF_BODY = frozenset({"content-type", "content-encoding", "content-language", "content-location"})
_SET_HERE = frozenset({"host", "content-length", "transfer-encoding", "accept-encoding"})
_FORM = "application/x-www-form-urlencoded"


class Credentials(Struct, frozen=True):
    """What shows at one origin who asks; sent to no other origin.

    Attributes:
        headers: such as `Authorization`, `Cookie`, and all that the settings of an operator add.
        query: added to the query of the address.
        form: added to a body of the type `application/x-www-form-urlencoded`.
    """

    headers: Mapping[str, str] = {}
    query: Mapping[str, str] = {}
    form: Mapping[str, str] = {}

    def __repr__(self) -> str:
        return f"Credentials(headers={[*self.headers]}, query={[*self.query]}, form={[*self.form]})"


NO_CREDENTIALS = Credentials()


class Fetched(NamedTuple):
    """A whole answer.

    Attributes:
        status: the HTTP status.
        headers: by name, in any case of letters.
        body: unpacked.
        url: where the answer came from in the end, without the credentials.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str = ""


class FetchedStream(NamedTuple):
    """An answer whose body is still to be read, once.

    Attributes:
        status: the HTTP status.
        headers: by name, in any case of letters.
        pieces: the body as it comes, unpacked; raises `HttpFailure` where it breaks off, stalls or is too long.
    """

    status: int
    headers: Mapping[str, str]
    pieces: AsyncIterator[bytes]


class _Hop(NamedTuple):
    """One request on the way to an answer."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes
    credentials: Credentials


class _Wanted(NamedTuple):
    """What a caller wants of an answer."""

    redirects: Redirects
    types: Sequence[str]
    head_only: bool


class Fetcher:
    """Sends requests of tools.

    Args:
        guard: which addresses may be reached.
        context: which certificates are trusted; those of the system by default.
        bytes_max: the longest answer, packed and unpacked.
        seconds_max: how long all of a request may take, redirects with it.
    """

    def __init__(
        self,
        guard: Guard,
        *,
        context: ssl.SSLContext | None = None,
        bytes_max: int = FETCH_BYTES_MAX,
        seconds_max: float = FETCH_S_MAX,
    ) -> None:
        self._guard = guard
        self._pool = ConnectionPool(guard, context=context)
        self._context = context
        self._bytes_max = bytes_max
        self._seconds_max = seconds_max

    def showing(self, certificate: str) -> Fetcher:
        """The same, with connections of its own on which a certificate is shown to servers that ask for one.

        Args:
            certificate: with its private key, as PEM.

        Raises:
            BadCertificate: the certificate can not be used.
        """
        context = context_with(certificate, self._context)
        return Fetcher(self._guard, context=context, bytes_max=self._bytes_max, seconds_max=self._seconds_max)

    async def get(self, url: str, headers: Mapping[str, str] | None = None) -> Fetched:
        """Get a document; redirects are followed within its origin.

        Raises:
            AddressRefused, HttpFailure: as by `send`.
        """
        return await self.send("GET", url, headers=headers)

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Fetched:
        """Send a document. A redirect is handed back as it is: what is sent was meant for this address.

        Raises:
            AddressRefused, HttpFailure: as by `send`.
        """
        return await self.send("POST", url, headers=headers, body=body, redirects="none")

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        credentials: Credentials = NO_CREDENTIALS,
        redirects: Redirects = "inside",
        types: Sequence[str] = (),
        head_only: bool = False,
    ) -> Fetched:
        """Send a request and read the whole answer.

        Args:
            method: any.
            url: where to.
            headers: without `Host`, `Content-Length` and `Accept-Encoding`, which are set here.
            body: what to send.
            credentials: for the origin of `url` alone.
            redirects: which redirects are followed. Any other is handed back as the answer.
            types: the content types that a good answer may have, such as `application/json` or `text/*`; empty for
                any. An answer with an error's status is not held to them.
            head_only: read the body only where it says that it is short; it may be a stream without an end.

        Raises:
            AddressRefused: the address, or one that it redirects to, may not be reached.
            HttpFailure: no whole answer came, or not one of these types.
        """
        wanted = _Wanted(redirects, types, head_only)
        hop = _Hop(method.upper(), _plain(url), _checked(headers or {}), body, _held(credentials))
        if hop.method == "CONNECT" or not _TOKEN.fullmatch(hop.method):
            raise _unfit("its method")
        try:
            async with asyncio.timeout(self._seconds_max):
                for _ in range(REDIRECTS_MAX + 1):
                    answer, following = await self._ask(hop, wanted)
                    if following is None:
                        return answer
                    hop = following
        except TimeoutError:
            raise HttpFailure("it did not answer in time", sent=True) from None
        raise HttpFailure("it redirects again and again", sent=True, lasting=True)

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        credentials: Credentials = NO_CREDENTIALS,
        silence_s: float,
    ) -> AsyncIterator[FetchedStream]:
        """Send a request and hand out its answer while it comes. Redirects are not followed. The caller limits how long
        the whole answer may take.

        Args:
            method, url, headers, body, credentials: as for `send`.
            silence_s: the most seconds that may pass without a byte.

        Raises:
            AddressRefused: the address may not be reached.
            HttpFailure: no answer came.
        """
        hop = _Hop(method.upper(), _plain(url), _checked(headers or {}), body, _held(credentials))
        address, dressed, content = _dressed(hop)
        timeouts = Timeouts(min(CONNECT_S_MAX, silence_s), *[silence_s] * 3)
        try:
            answer = await self._pool.send(hop.method, address, dressed, content, timeouts=timeouts)
        except WireFailure as failure:
            raise translated(failure) from None
        told = httpx2.Headers(answer.headers)
        try:
            async with aclosing(self._pieces(answer, told.get("content-encoding", ""))) as pieces:
                yield FetchedStream(answer.status, told, pieces)
        finally:
            await answer.aclose()

    async def _pieces(self, answer: WireAnswer, encoding: str) -> AsyncGenerator[bytes]:
        try:
            async with aclosing(bounded(answer.chunks(), encoding, self._bytes_max)) as pieces:
                async for piece in pieces:
                    yield piece
        except HttpFailure as failure:
            failure.status = answer.status
            raise
        except WireFailure as failure:
            raise translated(failure) from None

    async def aclose(self) -> None:
        """Close the connections that are kept."""
        await self._pool.aclose()

    async def _ask(self, hop: _Hop, wanted: _Wanted) -> tuple[Fetched, _Hop | None]:
        """One answer, and the next request where the answer is a redirect that is followed."""
        url, headers, content = _dressed(hop)
        timeouts = Timeouts(min(CONNECT_S_MAX, self._seconds_max), *[self._seconds_max] * 3)
        try:
            answer = await self._pool.send(hop.method, url, headers, content, timeouts=timeouts)
            try:
                told = httpx2.Headers(answer.headers)
                following = _following(hop, answer.status, told, wanted.redirects)
                if following or wanted.head_only:
                    body = await _short_body(answer, told)
                else:
                    body = await self._body(answer, wanted.types)
            except HttpFailure as failure:
                failure.status = answer.status
                raise
            finally:
                await answer.aclose()
        except WireFailure as failure:
            raise translated(failure) from None
        return Fetched(answer.status, told, body, hop.url), following

    async def _body(self, answer: WireAnswer, types: Sequence[str]) -> bytes:
        headers = httpx2.Headers(answer.headers)
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if types and answer.status < 300 and answer.status != 204 and not any(_fits(kind, each) for each in types):
            shown = kind if _TOKEN.fullmatch(kind.replace("/", "")) and len(kind) < 100 else "of no type"
            raise HttpFailure(f"its answer is {shown}, and not {' or '.join(types)}", sent=True, lasting=True)
        encoding = headers.get("content-encoding", "")
        async with aclosing(bounded(answer.chunks(), encoding, self._bytes_max)) as pieces:
            return b"".join([piece async for piece in pieces])


async def _short_body(answer: WireAnswer, headers: httpx2.Headers) -> bytes:
    """A short body, read so that its connection can be kept; empty where it is longer, or does not come whole."""
    length, encoding = headers.get("content-length", ""), headers.get("content-encoding", "")
    if length.isdecimal() and int(length) <= UNREAD_BYTES_MAX:
        with suppress(TimeoutError, WireFailure, HttpFailure):
            async with (
                asyncio.timeout(UNREAD_S_MAX),
                aclosing(bounded(answer.chunks(), encoding, UNREAD_BYTES_MAX)) as pieces,
            ):
                return b"".join([piece async for piece in pieces])
    return b""


def _following(hop: _Hop, status: int, headers: httpx2.Headers, redirects: Redirects) -> _Hop | None:
    """The next request, where an answer is a redirect that is followed.

    Raises:
        AddressRefused: the redirect would take credentials with it to another origin.
    """
    place = headers.get("location", "")
    if redirects == "none" or status not in (301, 302, 303, 307, 308) or not place:
        return None
    becomes_get = (status == 303 and hop.method != "HEAD") or (status in (301, 302) and hop.method == "POST")
    method = "GET" if becomes_get else hop.method
    url = _plain(urljoin(hop.url, place))
    if origin(url) == origin(hop.url):
        if becomes_get:
            kept = {name: value for name, value in hop.headers.items() if name.lower() not in _OF_BODY}
            return _Hop(method, url, kept, b"", Credentials(hop.credentials.headers, hop.credentials.query))
        if hop.body and status not in (307, 308):
            return None
        return hop._replace(url=url)
    if redirects == "inside" or method not in ("GET", "HEAD") or (hop.body and not becomes_get):
        return None
    harmless = {name: value for name, value in hop.headers.items() if name.lower() in _HARMLESS}
    return _Hop(method, _without(url, hop), harmless, b"", NO_CREDENTIALS)


def _without(url: str, hop: _Hop) -> str:
    """The address of another origin, without credentials that the redirect repeated in its query.

    Raises:
        AddressRefused: a credential stands elsewhere in it.
    """
    secrets = _secrets(hop)
    parts = urlsplit(url)
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    kept = [
        (name, value)
        for name, value in pairs
        if name not in hop.credentials.query and not any(secret in value for secret in secrets)
    ]
    if len(kept) != len(pairs):
        url = urlunsplit(parts._replace(query=urlencode(kept)))
    forms = {form for secret in secrets for form in (secret, quote(secret), quote(secret, safe=""), quote_plus(secret))}
    if any(form in url or form in unquote_plus(url) for form in forms):
        raise AddressRefused("it redirects to another origin with a credential in the address")
    return url


def _secrets(hop: _Hop) -> set[str]:
    """What must not reach another origin: the credentials, also the part behind `Bearer`, and `Authorization` and
    cookies that stand among the other headers."""
    said = [*hop.credentials.headers.values(), *hop.credentials.query.values(), *hop.credentials.form.values()]
    said += [value for name, value in hop.headers.items() if name.lower() in ("authorization", "cookie")]
    words = {word for value in said for word in (value, value.rpartition(" ")[2], value.rpartition("=")[2])}
    return {word for word in words if len(word) >= SECRET_CHARS_MIN}


def _dressed(hop: _Hop) -> tuple[str, list[tuple[bytes, bytes]], bytes]:
    """Address, headers and body of a request, with the credentials."""
    mine, url, body = hop.credentials, hop.url, hop.body
    if mine.query:
        parts = urlsplit(url)
        url = urlunsplit(parts._replace(query="&".join(filter(None, [parts.query, urlencode(mine.query)]))))
    headers = {name.lower(): value for name, value in hop.headers.items()}
    if mine.form:
        if headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
            raise _unfit("a body of another type than a form, which its credentials need")
        body = b"&".join(filter(None, [body, urlencode(mine.form).encode()]))
    headers |= {name.lower(): value for name, value in mine.headers.items()}
    headers["accept-encoding"] = ACCEPTED
    if body or hop.method in ("POST", "PUT", "PATCH"):
        headers["content-length"] = str(len(body))
    try:
        return url, [(name.encode("ascii"), value.encode("latin-1")) for name, value in headers.items()], body
    except UnicodeEncodeError:
        raise _unfit("a header") from None


def _plain(url: str) -> str:
    """An address in its one plain form, without a fragment.

    Raises:
        AddressRefused: the address is not well formed.
    """
    try:
        return canonical.url(url).partition("#")[0]
    except Unclear as unclear:
        raise AddressRefused(f"its address is not well formed: {unclear} was expected") from None


def _checked(headers: Mapping[str, str]) -> Mapping[str, str]:
    """The headers, after a check that none of them can begin another header or another request.

    Raises:
        HttpFailure: one can.
    """
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value) or name.lower() in _SET_HERE - {"accept-encoding"}:
            raise _unfit("a header")
    return headers


def _held(credentials: Credentials) -> Credentials:
    _checked(credentials.headers)
    return credentials


def _fits(kind: str, pattern: str) -> bool:
    wanted = pattern.lower()
    return kind == wanted or (wanted.endswith("/*") and kind.startswith(wanted[:-1]))


def _unfit(what: str) -> HttpFailure:
    return HttpFailure(f"{what} is not one that HTTP can carry", sent=False, lasting=True)
