"""The way of requests without a guard: to addresses that the operator named, such as those of models.

No address is refused, and a private one is as good as any. The proxies are those of the environment (`HTTPS_PROXY`,
`HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`), and on macOS and Windows those of the system; this machine is reached directly.
"""

from __future__ import annotations

import functools
import os
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

from ..core.errors import UsageError
from ..schema.canonical import PORTS
from .egress import Destination, Proxy, ip_of, proxy_of
from .host_lookup import look_up
from .http import HttpFailure, translated

_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})
"""What is reached directly, whatever proxy the environment names: a proxy would look for it on itself."""
_VARIABLES = tuple(
    name for each in ("http_proxy", "https_proxy", "all_proxy", "no_proxy") for name in (each, each.upper())
)


class OpenRoute:
    """Answers what a `Guard` answers, and refuses nothing."""

    def judge(self, url: str) -> Destination:
        """Where an address leads.

        Raises:
            HttpFailure: it is no address of the web.
        """
        return destination_of(url)

    def proxy(self, to: Destination) -> Proxy | None:
        """The proxy for a destination; None where the connection is made directly.

        Raises:
            HttpFailure: the environment names a proxy of a kind that is not spoken.
        """
        try:
            return _proxy(to, tuple(map(os.environ.get, _VARIABLES)))
        except ValueError as error:
            raise HttpFailure(str(error), sent=False, lasting=True) from None

    async def addresses_of(self, proxy: Proxy) -> list[str]:
        """The IP addresses of a proxy.

        Raises:
            OSError: the name is not known.
        """
        return [proxy.at.host] if ip_of(proxy.at.host) else await look_up(proxy.at.host, proxy.at.port)

    async def look_up(self, to: Destination) -> list[str]:
        """The IP addresses of a destination.

        Raises:
            HttpFailure: the name is not known.
        """
        try:
            return [to.host] if ip_of(to.host) else await look_up(to.host, to.port)
        except OSError as error:
            raise translated(error) from None


def check_proxy(url: str) -> None:
    """Refuse to start where requests to an address would have to go through a proxy that is not spoken to.

    Args:
        url: the address of a server.

    Raises:
        UsageError: they would.
    """
    try:
        OpenRoute().proxy(destination_of(url))
    except HttpFailure as failure:
        raise UsageError(str(failure)) from None


@functools.lru_cache(maxsize=1024)
def destination_of(url: str) -> Destination:
    """Where an address leads, as it is written.

    Raises:
        HttpFailure: it is no address of the web.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
        host = (parts.hostname or "").encode("ascii" if (parts.hostname or "").isascii() else "idna").decode()
    except ValueError:  # a UnicodeError, too
        parts, port, host = SplitResult("", "", "", "", ""), None, ""
    if parts.scheme and parts.scheme not in ("http", "https"):
        raise HttpFailure("its address is not of the kind http:// or https://", sent=False, lasting=True)
    if not parts.scheme or not host:
        raise HttpFailure("its address is not well formed", sent=False, lasting=True)
    return Destination(parts.scheme, host, PORTS[parts.scheme] if port is None else port)


@functools.lru_cache(maxsize=1024)
def _proxy(to: Destination, environment: tuple[str | None, ...]) -> Proxy | None:
    """The proxy that the environment names for a destination.

    Args:
        to: the destination.
        environment: the values of the variables; they only say whether what was found before still holds.

    Raises:
        ValueError: a proxy of another kind is named. The message does not repeat its address.
    """
    if to.host in _THIS_MACHINE or proxy_bypass(to.authority):
        return None
    found = getproxies()
    kind = to.scheme if found.get(to.scheme) else "all"
    address = found.get(kind) or ""
    if not address:
        return None
    try:
        return proxy_of(address if "://" in address else f"http://{address}")
    except ValueError as error:
        raise ValueError(f"{kind.upper()}_PROXY for {to}: {str(error).removeprefix('proxy: ')}") from None
