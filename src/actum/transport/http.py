"""HTTP for whoever speaks an API: one pool of connections per event loop, limits, and foreign errors translated once.

It knows nothing of models and tools. Certificates are the system's, proxies those of the environment. Redirects are not
followed, so that credentials never travel to another host: an answer with status 3xx is handed back as it is.

To import this takes longer than `import actum` may, because of httpx2: it is loaded by name, when a model needs it.
"""

from __future__ import annotations

import asyncio
import functools
import socket
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from email.utils import parsedate_to_datetime
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx2

CONNECT_S_MAX = 10.0
ANSWER_BYTES_MAX = 64 * 1024 * 1024
_LIMITS = httpx2.Limits(max_connections=512, max_keepalive_connections=128, keepalive_expiry=30.0)
_THIS_MACHINE = ("all://localhost", "all://127.0.0.1", "all://[::1]")
"""What is reached directly, whatever proxy the environment names: a proxy would look for it on itself."""


class HttpFailure(Exception):
    """There is no answer, or not all of it.

    Args:
        message: what happened, in words of ours.
        sent: the request may have reached the other side.
        lasting: another try would end the same.
        silent: the whole time that the caller gave has passed without an answer.
    """

    def __init__(self, message: str, *, sent: bool, lasting: bool = False, silent: bool = False) -> None:
        super().__init__(message)
        self.sent = sent
        self.lasting = lasting
        self.silent = silent


class HttpResponse:
    """The head of an answer. Its body is still to be read, once.

    Attributes:
        status: the HTTP status.
        headers: by name, in any case of letters.
    """

    def __init__(self, response: httpx2.Response, bytes_max: int) -> None:
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers
        self._response = response
        self._bytes_max = bytes_max

    async def chunks(self) -> AsyncGenerator[bytes]:
        """The body as it comes.

        Raises:
            HttpFailure: it broke off, stalled, or is too long.
        """
        received = 0
        try:
            async with aclosing(self._response.aiter_bytes()) as chunks:
                async for chunk in chunks:
                    received += len(chunk)
                    if received > self._bytes_max:
                        raise HttpFailure(f"its answer is longer than {self._bytes_max} bytes", sent=True, lasting=True)
                    yield chunk
        except httpx2.HTTPError as error:
            raise translated(error) from None

    async def read(self) -> bytes:
        """The whole body.

        Raises:
            HttpFailure: as by `chunks`.
        """
        return b"".join([chunk async for chunk in self.chunks()])


@asynccontextmanager
async def post(
    url: str, *, headers: Mapping[str, str], body: bytes, timeout_s: float, bytes_max: int = ANSWER_BYTES_MAX
) -> AsyncIterator[HttpResponse]:
    """Send a request and wait for the head of the answer. The connection is given back at the end of the block.

    Args:
        url: where to.
        headers: ours stand beside them.
        body: what to send.
        timeout_s: the longest silence in seconds: before the answer begins, and in the middle of it.
        bytes_max: the longest answer.

    Raises:
        HttpFailure: no answer came.
    """
    timeout = httpx2.Timeout(timeout_s, connect=min(CONNECT_S_MAX, timeout_s))
    client = await _client()
    try:
        request = client.build_request("POST", _address(url), headers=headers, content=body, timeout=timeout)
        response = await client.send(request, stream=True)
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        raise translated(error) from None
    try:
        yield HttpResponse(response, bytes_max)
    finally:
        await response.aclose()


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """When the other side wants to be asked again (RFC 9110 §10.2.3, and the milliseconds that OpenAI adds).

    Args:
        headers: of its answer.
        now: seconds since 1970, for a `Retry-After` that is a date.

    Returns:
        Seconds from now; None when it does not say.
    """
    value = headers.get("retry-after", "")
    try:
        if "retry-after-ms" in headers:
            seconds = float(headers["retry-after-ms"]) / 1000
        elif value[:1].isdigit():
            seconds = float(value)
        else:
            seconds = parsedate_to_datetime(value).timestamp() - now
    except ValueError:
        return None
    return max(0.0, seconds)


_clients: dict[asyncio.AbstractEventLoop, tuple[httpx2.AsyncClient, AsyncGenerator[None]]] = {}


async def _client() -> httpx2.AsyncClient:
    """The client of the running loop. Connections belong to a loop, and `run_sync` makes a new one each time."""
    loop = asyncio.get_running_loop()
    known = _clients.get(loop)
    if known is None:
        for other in list(_clients):
            if other.is_closed():
                _clients.pop(other, None)
        client = httpx2.AsyncClient(
            verify=certificates(), limits=_LIMITS, follow_redirects=False, mounts=dict.fromkeys(_THIS_MACHINE)
        )
        known = _clients[loop] = (client, _close_with(loop, client))
        await anext(known[1])
    return known[0]


async def _close_with(loop: asyncio.AbstractEventLoop, client: httpx2.AsyncClient) -> AsyncGenerator[None]:
    """Closes the client at the end of the loop: `asyncio.run` then closes every generator that has begun."""
    try:
        yield
    finally:
        _clients.pop(loop, None)
        await client.aclose()


@functools.lru_cache(maxsize=256)
def _address(url: str) -> httpx2.URL:
    """The address, read once: that costs a tenth of a request.

    Raises:
        ValueError: also for a port beyond 65535, which httpx2 lets get as far as the socket.
    """
    _ = urlsplit(url).port
    return httpx2.URL(url)


@functools.cache
def certificates() -> ssl.SSLContext:
    """The certificates that are trusted: the system's, read once."""
    return httpx2.create_ssl_context()


class _Failure(NamedTuple):
    """A row of the table of failures.

    Attributes:
        kind: of the foreign error.
        message: in words of ours.
        words: one of them stands in the foreign error; empty for any error of this kind.
        sent, lasting, silent: as of `HttpFailure`.
    """

    kind: type[BaseException]
    message: str
    words: tuple[str, ...] = ()
    sent: bool = False
    lasting: bool = False
    silent: bool = False

    def fits(self, error: BaseException) -> bool:
        said = str(error).lower().replace("_", " ") if self.words else ""
        return isinstance(error, self.kind) and (not self.words or any(word in said for word in self.words))


_PLAIN_PORT = ("wrong version number", "record layer failure", "http request", "packet length too long")
"""What OpenSSL says, in the words of its versions, where the other side does not speak TLS."""

_FAILURES = (
    _Failure(ssl.SSLCertVerificationError, "its certificate is not trusted", lasting=True),
    _Failure(
        ssl.SSLError, "it does not speak TLS: is its address http:// and not https://?", _PLAIN_PORT, lasting=True
    ),
    _Failure(ssl.SSLError, "no TLS connection came about"),
    _Failure(socket.gaierror, "its name is not known: is the address right, and is there a network?"),
    _Failure(httpx2.ConnectTimeout, "no connection came about in time: is it behind a firewall, or is the port wrong?"),
    _Failure(httpx2.PoolTimeout, "no connection was free in time"),
    _Failure(ConnectionRefusedError, "it can not be reached: nothing listens at this port. Is the server started?"),
    _Failure(httpx2.ConnectError, "it can not be reached"),
    _Failure(httpx2.ProxyError, "the proxy does not let this through"),
    _Failure(httpx2.UnsupportedProtocol, "its address is not of the kind http:// or https://", lasting=True),
    _Failure(httpx2.InvalidURL, "its address is not well formed", lasting=True),
    _Failure(httpx2.LocalProtocolError, "the request is not one that HTTP can carry", lasting=True),
    _Failure(
        httpx2.RemoteProtocolError,
        "its answer is not HTTP: is its address https:// and not http://?",
        ("illegal",),
        sent=True,
        lasting=True,
    ),
    _Failure(UnicodeError, "its address or a header has characters that HTTP can not carry", lasting=True),
    _Failure(ValueError, "its address is not well formed", lasting=True),
    _Failure(httpx2.TimeoutException, "it did not answer in time", sent=True, silent=True),
    _Failure(httpx2.DecodingError, "its answer can not be unpacked", sent=True, lasting=True),
    _Failure(Exception, "the connection was lost", sent=True),
)


def translated(error: Exception) -> HttpFailure:
    """A foreign error in words of ours: the first line of the table that fits it or its cause.

    Foreign words stay out: they may hold secrets.
    """
    chain: list[BaseException] = [error]
    for link in chain:  # which grows meanwhile
        inner = link.exceptions if isinstance(link, BaseExceptionGroup) else ()
        chain += [*inner, *filter(None, [link.__cause__ or link.__context__])]
    fits = next(line for line in _FAILURES if any(line.fits(link) for link in chain))
    return HttpFailure(fits.message, sent=fits.sent, lasting=fits.lasting, silent=fits.silent)
