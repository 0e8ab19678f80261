"""The guard on addresses that somebody else names: an MCP server's metadata, an icon, a `$ref`, a link for a person.

Such an address must be https, must lead to the open internet after its name was looked up, and the connection goes to
the very address that was looked at, so that a name can not lead elsewhere the second time. A redirect is followed only
inside of its origin, and looked at anew. Size and time are bounded.

What a person named himself may be private: the own server, and who else is said to be `named`. Where the own server
runs on this machine, plain http on this machine is let through too. Nobody may reach link-local addresses, where clouds
keep their secrets, nor multicast.

Limits: a proxy of the environment is not used, since it would look names up by itself; whoever must go by one hands
in a transport of his own. A public address that forwards to a private one can not be seen from here.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx2

from ..schema import canonical
from ..schema.canonical import Unclear
from .http import CONNECT_S_MAX, HttpFailure, certificates, translated

FETCH_BYTES_MAX = 1024 * 1024
FETCH_S_MAX = 20.0
REDIRECTS_MAX = 3
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_SHARED = ipaddress.IPv4Network("100.64.0.0/10")
"""Between private and public (RFC 6598): carriers and overlay networks use it."""

Resolve = Callable[[str, int], Awaitable[list[str]]]
"""Looks up a name: the IP addresses that it leads to."""


class AddressRefused(HttpFailure):
    """The address is not one that may be reached on somebody else's word. Nothing was sent."""

    def __init__(self, message: str) -> None:
        super().__init__(message, sent=False, lasting=True)


class Fetched(NamedTuple):
    """A whole answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Guard:
    """Says of an address whether it may be reached, and where exactly.

    Args:
        own: the address of the server that a person set up, on whose word the others come; empty for none.
        named: other addresses that a person set up.
        resolve: looks names up; the system's resolver by default.
    """

    def __init__(self, own: str = "", *, named: Iterable[str] = (), resolve: Resolve | None = None) -> None:
        self._resolve = resolve or _look_up
        self._named = frozenset(_host(address) for address in (own, *named) if address)
        self._here = bool(own) and _host(own) in _LOOPBACK_NAMES

    async def check(self, url: str) -> list[str]:
        """The IP addresses to which a connection may be made for this address.

        Raises:
            Refused: it may not be reached.
            HttpFailure: its name is not known.
        """
        try:
            parts, host = canonical.split(canonical.url(url))
        except Unclear as unclear:
            raise AddressRefused(f"its address is not well formed: {unclear} was expected") from None
        here = self._here and host in _LOOPBACK_NAMES
        if parts.scheme != "https" and not (here and parts.scheme == "http"):
            raise AddressRefused("its address does not begin with https://")
        named = host in self._named
        if not here and not named and not canonical.is_public(host):
            raise AddressRefused("its address is not one of the open internet")
        try:
            found = await self._resolve(host, parts.port or canonical.PORTS[parts.scheme])
        except OSError as error:
            raise translated(error) from None
        for address in found:
            self._check_address(address, here=here, named=named)
        if not found:
            raise HttpFailure("its name is not known", sent=False)
        return found

    def _check_address(self, address: str, *, here: bool, named: bool) -> None:
        if canonical.is_public(address):
            return
        number = ipaddress.ip_address(address)
        number = getattr(number, "ipv4_mapped", None) or number
        never = number.is_link_local or number.is_multicast or number.is_unspecified
        indoors = number.is_private or number in _SHARED
        if never or not (number.is_loopback if here else named and indoors and not number.is_loopback):
            raise AddressRefused("its name leads to an address that is not one of the open internet")


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Sends only where a guard lets it, over a connection to the address that the guard looked at.

    Args:
        guard: who decides.
        inner: makes the connections; one that keeps none open by default, as a kept connection is known by its IP
            address alone and must not serve another name.
    """

    def __init__(self, guard: Guard, inner: httpx2.AsyncBaseTransport | None = None) -> None:
        self._guard = guard
        self._inner = inner or httpx2.AsyncHTTPTransport(
            verify=certificates(), limits=httpx2.Limits(max_keepalive_connections=0), trust_env=False
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Look at the address, then send. A host with several addresses is tried one after the other.

        Raises:
            Refused: it may not be reached.
        """
        addresses = await self._guard.check(str(request.url))
        for address in addresses[:-1]:
            try:
                return await self._inner.handle_async_request(_pinned(request, address))
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                continue
        return await self._inner.handle_async_request(_pinned(request, addresses[-1]))

    async def aclose(self) -> None:
        await self._inner.aclose()


class Fetcher:
    """Fetches small things from addresses that somebody else named.

    Args:
        guard: which addresses may be reached.
        transport: makes the connections, as in `GuardedTransport`.
        bytes_max: the longest answer.
        seconds_max: how long all of it may take, redirects with it.
    """

    def __init__(
        self,
        guard: Guard,
        *,
        transport: httpx2.AsyncBaseTransport | None = None,
        bytes_max: int = FETCH_BYTES_MAX,
        seconds_max: float = FETCH_S_MAX,
    ) -> None:
        self._guard = guard
        self._transport = transport
        self._bytes_max = bytes_max
        self._seconds_max = seconds_max

    async def get(self, url: str, headers: Mapping[str, str] | None = None) -> Fetched:
        """Get a document; redirects are followed inside of its origin.

        Raises:
            Refused: it, or where it redirects to, may not be reached.
            HttpFailure: no whole answer came.
        """
        return await self._fetch("GET", url, headers or {}, b"")

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Fetched:
        """Send a document. A redirect is handed back as it is: what is sent was meant for this address.

        Raises:
            Refused, HttpFailure: as by `get`.
        """
        return await self._fetch("POST", url, headers, body)

    async def _fetch(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Fetched:
        timeout = httpx2.Timeout(self._seconds_max, connect=min(CONNECT_S_MAX, self._seconds_max))
        transport = GuardedTransport(self._guard, self._transport)
        try:
            async with (
                asyncio.timeout(self._seconds_max),
                httpx2.AsyncClient(transport=transport, timeout=timeout, trust_env=False) as client,
            ):
                for _ in range(REDIRECTS_MAX + 1):
                    request = client.build_request(method, url, headers=headers, content=body or None)
                    answer, following = await self._send(client, request)
                    if following is None or method != "GET":
                        return answer
                    url = following
        except HttpFailure:
            raise
        except TimeoutError:
            raise HttpFailure("it did not answer in time", sent=True) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            raise translated(error) from None
        raise HttpFailure("it redirects again and again", sent=True, lasting=True)

    async def _send(self, client: httpx2.AsyncClient, request: httpx2.Request) -> tuple[Fetched, str | None]:
        """The answer, and where it redirects to, when that is inside of its origin."""
        response = await client.send(request, stream=True, follow_redirects=False)
        try:
            body = bytearray()
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > self._bytes_max:
                    raise HttpFailure(f"its answer is longer than {self._bytes_max} bytes", sent=True, lasting=True)
        finally:
            await response.aclose()
        to = response.next_request.url if response.next_request else None
        inside = to is not None and origin(str(to)) == origin(str(request.url)) and not to.userinfo
        return Fetched(response.status_code, response.headers, bytes(body)), str(to) if inside else None


class SafeLink(NamedTuple):
    """An address that a person may be sent to.

    Attributes:
        url: in full, in its one plain form.
        host: whose it is, in ASCII.
        words: what to tell the person before it is opened, a line each; the full address is the first.
    """

    url: str
    host: str
    words: tuple[str, ...]


def check_link(url: str, *, local: bool = False) -> SafeLink:
    """What a person has to know of a link before deciding to open it. Nothing is fetched.

    Args:
        url: as a server gave it.
        local: the server runs on this machine, so its link may lead to this machine, and by plain http.

    Raises:
        Refused: it is no web address, hides a user name, is not encrypted, or leads into a private network.

    >>> check_link("https://xn--ggle-55da.com/login").words[1]
    'The site is xn--ggle-55da.com, which a browser may show as gооgle.com: letters of other alphabets look alike.'
    """
    try:
        plain = canonical.url(url)
    except Unclear as unclear:
        raise AddressRefused(f"the link is not well formed: {unclear} was expected") from None
    parts, host = canonical.split(plain)
    here = local and host in _LOOPBACK_NAMES
    if parts.scheme != "https" and not (here and parts.scheme == "http"):
        raise AddressRefused("the link does not begin with https://")
    if not here and not canonical.is_public(host):
        raise AddressRefused("the link leads to this machine or into a private network")
    shown = _unicode(host)
    site = f"The site is {host}."
    if shown != host:
        site = f"The site is {host}, which a browser may show as {shown}: letters of other alphabets look alike."
    return SafeLink(plain, host, (plain, site))


def origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port of an address, the port of its scheme where none is said."""
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    return scheme, (parts.hostname or "").lower(), parts.port or canonical.PORTS.get(scheme)


def is_here(url: str) -> bool:
    """Whether an address is by its own words one of this machine."""
    try:
        return canonical.host(url) in _LOOPBACK_NAMES
    except Unclear:
        return False


def _host(address: str) -> str:
    try:
        return canonical.host(address)
    except Unclear as unclear:
        raise AddressRefused(f"its address is not well formed: {unclear} was expected") from None


def _unicode(host: str) -> str:
    """A host as a browser may show it."""
    try:
        return host.encode().decode("idna")
    except UnicodeError:
        return host


def _pinned(request: httpx2.Request, address: str) -> httpx2.Request:
    """The request with its connection pinned to an address; the host stays in its header and in the handshake."""
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.host},
    )


async def _look_up(host: str, port: int) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(place[0]).partition("%")[0] for *_, place in found))
