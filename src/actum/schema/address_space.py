"""Which IP addresses are public, which are never reached, and which IPv4 addresses an IPv6 address carries.

The tables follow the IANA registries of special-purpose addresses (IPv4, IPv6, and the assignments of IPv6 unicast,
as of 2025). They are written out here because the answers of Python's `ipaddress` (`is_global`, `is_private`) differ
between versions of Python. In doubt an address is not public: an anycast address of the network's own equipment, such
as `192.0.0.9`, is closed although the registry calls it global.

Functions of values: nothing is looked up. Limit: a network may translate IPv4 under a prefix of its own (RFC 6052) or
hand out 6rd addresses; nothing in such an address says so.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address

_NEVER_4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",  # this network
            "169.254.0.0/16",  # link-local: the metadata of most clouds
            "224.0.0.0/4",  # multicast
            "255.255.255.255/32",  # broadcast
            "100.100.100.200/32",  # metadata of Alibaba Cloud
            "168.63.129.16/32",  # the agent of Azure
            "192.0.0.192/32",  # metadata of Oracle Cloud, its older address
        ),
    )
)
_NEVER_6 = tuple(
    map(
        IPv6Network,
        (
            "::/128",  # unspecified
            "fe80::/10",  # link-local
            "fec0::/10",  # site-local, given up by RFC 3879
            "ff00::/8",  # multicast
            "fd00:ec2::/32",  # metadata and other services of AWS for its machines
            "fd20:ce::/32",  # metadata of Google Cloud
            "fd00:c1::/32",  # metadata of Oracle Cloud
            "fd00:42::42/128",  # metadata of Scaleway
        ),
    )
)

_CLOSED_4 = tuple(
    map(
        IPv4Network,
        (
            "10.0.0.0/8",  # private
            "100.64.0.0/10",  # shared by the customers of a carrier (RFC 6598)
            "127.0.0.0/8",  # this machine
            "172.16.0.0/12",  # private
            "192.0.0.0/24",  # protocol assignments
            "192.0.2.0/24",  # documentation
            "192.88.99.0/24",  # relays of 6to4 and 6a44
            "192.168.0.0/16",  # private
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "240.0.0.0/4",  # reserved
        ),
    )
)
_UNICAST_6 = IPv6Network("2000::/3")
"""All IPv6 addresses of the open internet; nothing outside of this network is routed there."""
_CLOSED_6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocol assignments; Teredo is judged before
            "2001:db8::/32",  # documentation
            "3fff::/20",  # documentation
        ),
    )
)

_MAPPED = IPv6Network("::ffff:0:0/96")
_COMPATIBLE = IPv6Network("::/96")
_TRANSLATED = IPv6Network("::ffff:0:0:0/96")
_NAT64 = IPv6Network("64:ff9b::/96")
_NAT64_LOCAL = IPv6Network("64:ff9b:1::/48")
_TEREDO = IPv6Network("2001::/32")
_6TO4 = IPv6Network("2002::/16")
_LOOPBACK_6 = IPv6Address("::1")
_ISATAP = frozenset({0x00005EFE, 0x02005EFE})


def is_public(number: Address) -> bool:
    """Whether an IP address is one of the open internet, and so is every IPv4 address that it carries.

    >>> [is_public(IPv6Address(each)) for each in ("2606:2800::1", "64:ff9b::808:808", "64:ff9b::a9fe:a9fe", "fec0::1")]
    [True, True, False, False]
    """
    number = plain(number)
    if is_never(number):
        return False
    if isinstance(number, IPv4Address):
        return not _in(number, _CLOSED_4)
    if not all(is_public(each) for each in carried(number)):
        return False
    if number in _NAT64 or number in _TEREDO:
        return True
    return number in _UNICAST_6 and not _in(number, _CLOSED_6)


def is_never(number: Address) -> bool:
    """Whether nobody may reach an IP address, whatever an operator opens: link-local, multicast, unspecified, and where
    clouds keep the secrets of their machines. An address that carries such an address is one, too.
    """
    number = plain(number)
    if isinstance(number, IPv4Address):
        return _in(number, _NEVER_4)
    return _in(number, _NEVER_6) or any(_in(each, _NEVER_4) for each in carried(number))


def is_loopback(number: Address) -> bool:
    """Whether an IP address is one of this machine."""
    number = plain(number)
    return number.packed[0] == 127 if isinstance(number, IPv4Address) else number == _LOOPBACK_6


def plain(number: Address) -> Address:
    """An IPv4 address that is written as an IPv6 one ("mapped") as what it is; every other address as it came."""
    if isinstance(number, IPv6Address) and number in _MAPPED:
        return _low(int(number))
    return number


def carried(number: Address) -> tuple[IPv4Address, ...]:
    """The IPv4 addresses to which an IPv6 address may lead; an address can carry more than one.

    >>> [str(each) for each in carried(IPv6Address("2002:a00:1::5efe:a9fe:a9fe"))]
    ['10.0.0.1', '169.254.169.254']
    """
    if isinstance(number, IPv4Address):
        return ()
    bits = int(number)
    found = [inner for network, read in _CARRIERS if number in network for inner in read(bits)]
    if (bits >> 32 & 0xFFFFFFFF) in _ISATAP:
        found.append(_low(bits))
    return tuple(dict.fromkeys(found))


def _compatible(bits: int) -> list[IPv4Address]:
    """`::` and `::1` carry nothing."""
    return [_low(bits)] if bits > 1 else []


def _teredo(bits: int) -> list[IPv4Address]:
    """The server, and the client behind it, whose bits are turned over (RFC 4380, section 4)."""
    return [_low(bits >> 64), _low(~bits)]


def _nat64_local(bits: int) -> list[IPv4Address]:
    """What an address under the prefix for local translators may mean. Such a prefix has 48, 56, 64 or 96 bits, and the
    bits 64 to 71 belong to nothing (RFC 6052, section 2.2). A reading in 0.0.0.0/8 is no address, unless all are.
    """
    joined = bits >> 64 << 56 | bits & (1 << 56) - 1
    readings = [_low(bits), *(_low(joined >> 120 - 32 - length) for length in (48, 56, 64))]
    return [each for each in readings if each.packed[0]] or readings[:1]


def _low(bits: int) -> IPv4Address:
    """The IPv4 address in the last 32 bits."""
    return IPv4Address(bits & 0xFFFFFFFF)


def _in(number: Address, networks: tuple[IPv4Network, ...] | tuple[IPv6Network, ...]) -> bool:
    return any(number in network for network in networks)


_CARRIERS: tuple[tuple[IPv6Network, Callable[[int], list[IPv4Address]]], ...] = (
    (_MAPPED, lambda bits: [_low(bits)]),
    (_COMPATIBLE, _compatible),
    (_TRANSLATED, lambda bits: [_low(bits)]),
    (_NAT64, lambda bits: [_low(bits)]),
    (_NAT64_LOCAL, _nat64_local),
    (_TEREDO, _teredo),
    (_6TO4, lambda bits: [_low(bits >> 80)]),
)
"""The networks whose addresses carry an IPv4 address, and how it is read. ISATAP has no network of its own: its mark is
in the second half of any address (RFC 5214, section 6.1)."""
