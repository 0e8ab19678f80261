"""Who is at the other end of a connection, where proxies stand between.

What a header says of the client is believed only from a proxy that the operator named, and only in the one kind of
header that this proxy writes: a proxy that writes `X-Forwarded-For` passes on a `Forwarded` that its client made up.
The name of the server is not taken from such headers: `Host` is what counts, and the public address is a setting.

This file knows no protocol and no web server.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Literal, NamedTuple

from ..core.errors import UsageError

ProxyHeader = Literal["x-forwarded", "forwarded"]
Header = tuple[bytes, bytes]

HOPS_MAX = 20
"""The most proxies in a row that are looked at."""
_PAIR = re.compile(r'\s*(?P<name>[A-Za-z]+)\s*=\s*(?:"(?P<quoted>[^"\\]*)"|(?P<plain>[^\s";,]*))\s*')
_SCHEMES = ("http", "https")


class Sender(NamedTuple):
    """Where a request comes from.

    Attributes:
        address: of the client, as far as it is known.
        scheme: `http` or `https`, as the client used it.
    """

    address: str
    scheme: str


class Proxies:
    """The proxies that are believed.

    Args:
        named: addresses and networks, such as `10.0.0.5` and `10.1.0.0/16`.
        header: the kind of header that they write.

    Raises:
        UsageError: a word is neither an address nor a network.
    """

    def __init__(self, named: Sequence[str], header: ProxyHeader = "x-forwarded") -> None:
        self._networks = [_network(word) for word in named]
        self._header = header

    def believes(self, address: str) -> bool:
        """Whether this is the address of a proxy that is believed."""
        if not self._networks:
            return False
        found = _address(address)
        return found is not None and any(found in network for network in self._networks)

    def sender(self, peer: str, scheme: str, headers: Sequence[Header]) -> Sender:
        """Who makes a request.

        Args:
            peer: the address at the other end of the connection.
            scheme: of the connection.
            headers: of the request, names in lower case.

        Returns:
            The last address, from the server's side, that is no proxy of ours. What such a header says of addresses
            further away is hearsay, and is not looked at.
        """
        if not self.believes(peer):
            return Sender(peer, scheme)
        told = _forwarded(headers) if self._header == "forwarded" else _x_forwarded(headers)
        address = peer
        for hop in reversed(told[-HOPS_MAX:]):
            found = _address(hop.address)
            scheme = hop.scheme if hop.scheme in _SCHEMES else scheme
            if found is None:
                break
            address = str(found)
            if not self.believes(address):
                break
        return Sender(address, scheme)


def _x_forwarded(headers: Sequence[Header]) -> list[Sender]:
    addresses, schemes = _parts(headers, b"x-forwarded-for"), _parts(headers, b"x-forwarded-proto")
    if len(schemes) != len(addresses):  # most proxies write one scheme: the one that the client used
        schemes = [schemes[-1] if schemes else ""] * max(len(addresses), 1)
        addresses = addresses or [""]
    return [Sender(address, scheme.lower()) for address, scheme in zip(addresses, schemes, strict=True)]


def _forwarded(headers: Sequence[Header]) -> list[Sender]:
    found = []
    for part in _parts(headers, b"forwarded"):
        pairs = {pair["name"].lower(): pair["quoted"] or pair["plain"] or "" for pair in _PAIR.finditer(part)}
        found.append(Sender(pairs.get("for", ""), pairs.get("proto", "").lower()))
    return found


def _parts(headers: Sequence[Header], name: bytes) -> list[str]:
    return [part.strip() for key, value in headers if key == name for part in value.decode("latin-1").split(",")]


def _address(word: str) -> IPv4Address | IPv6Address | None:
    """The address in `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1` and `[2001:db8::1]:80`."""
    if word.startswith("["):
        word = word[1:].partition("]")[0]
    elif word.count(":") == 1:
        word = word.partition(":")[0]
    try:
        found = ip_address(word.partition("%")[0])
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return mapped or found


def _network(word: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(word, strict=False)
    except ValueError:
        raise UsageError(
            "proxies: {word} is neither an address nor a network, such as 10.0.0.5 or 10.1.0.0/16", word=word
        ) from None
