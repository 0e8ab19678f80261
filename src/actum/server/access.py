"""Who may come in over HTTP, whatever the protocol: tokens that are wanted, and names under which a server is reached.

A server that only this machine can reach needs no token. Such a server accepts only its own names in `Host` and
`Origin`, so that a page in a browser can not speak to the server. A server that others can reach wants a token of each
request, unless its operator says otherwise.

This file knows no protocol and no web server.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address
from typing import NamedTuple

from msgspec import Struct

from ..core.errors import UsageError
from ..schema import address_space
from .verifier import Verifier, WantedLater

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_PORT_DIGITS = 5
EVERYWHERE = ("", "0.0.0.0", "::", "[::]")


class Access(Struct, frozen=True, kw_only=True):
    """Who may use the server.

    Attributes:
        verifier: checks the token that each request has to show; None to want no token. A `WantedLater` wants tokens
            only from some moment on, at a server that only this machine can reach.
        resource: this server's address as clients write it; its tokens are meant for this address.
        issuer: who grants the tokens; published, so that clients find their way there. Empty where there are only keys.
        scopes: the scopes that each request needs.
        names: further host names under which the server is reached, beside those that follow from where it listens:
            `example.org`.
        origins: origins of web pages that may send requests to the server, beside its own: `https://example.org`.
        insecure: every client that reaches the server may use it, although others than this machine reach it.
    """

    verifier: Verifier | None = None
    resource: str = ""
    issuer: str = ""
    scopes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    insecure: bool = False


LOCAL = Access()
"""Every client on this machine, and no other."""


class Accepted(NamedTuple):
    """The headers that a request may have.

    Attributes:
        hosts: values of `Host`; `:*` at the end stands for any port.
        origins: values of `Origin`, in the same form.
    """

    hosts: list[str]
    origins: list[str]


def accepted(host: str, access: Access) -> Accepted:
    """Which `Host` and `Origin` are let through.

    Args:
        host: the name or address of this machine at which the server listens.
        access: who may come in.

    Raises:
        UsageError: the server listens at every address, and nobody said under which name.
    """
    own = LOOPBACK if is_loopback(host) else () if host in EVERYWHERE else (f"[{host}]" if ":" in host else host,)
    names = [*own, *access.names]
    if not names:
        raise UsageError("it listens at every address: say under which names it is reached, such as example.org")
    hosts = [form for name in names for form in (name, f"{name}:*")]
    origins = [f"{scheme}://{name}" for scheme in ("http", "https") for name in hosts]
    return Accepted(hosts, [*origins, *access.origins])


def fits(value: str, forms: Sequence[str]) -> bool:
    """Whether the value of a `Host` or an `Origin` is of one of these forms.

    Args:
        value: as it came.
        forms: as in `Accepted`: `:*` at the end stands for a port, which is digits and nothing else.

    >>> fits("localhost:80", ["localhost:*"]), fits("localhost:80.evil.com", ["localhost:*"])
    (True, False)
    """
    name, colon, port = value.rpartition(":")
    is_port = bool(colon) and port.isascii() and port.isdecimal() and len(port) <= _PORT_DIGITS
    return (value in forms and not value.endswith("*")) or (is_port and f"{name}:*" in forms)


def refuse_open(host: str, access: Access) -> None:
    """Refuse a server that strangers could use.

    Args:
        host, access: as in `accepted`.

    Raises:
        UsageError: others than this machine would reach the server, and nothing is wanted of them.
    """
    is_open = access.verifier is None or isinstance(access.verifier, WantedLater)
    if not is_loopback(host) and is_open and not access.insecure:
        raise UsageError(
            "others than this machine reach {host}, and nobody would have to show who they are: have "
            "tokens checked, listen at 127.0.0.1, or say insecure if you mean it",
            host=host or "every address",
        )


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a server that listens there."""
    if host == "localhost":
        return True
    try:
        return address_space.is_loopback(ip_address(host.strip("[]")))
    except ValueError:
        return False
