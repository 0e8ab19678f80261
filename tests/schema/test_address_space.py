"""The tables of special IP addresses, and what an IPv6 address carries."""

from __future__ import annotations

import ast
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import actum
from actum.schema.address_space import carried, is_loopback, is_never, is_public, plain

NEVER = """
0.0.0.0 0.1.2.3 169.254.0.1 169.254.169.254 169.254.170.2 224.0.0.1 239.255.255.255 255.255.255.255
100.100.100.200 168.63.129.16 192.0.0.192
:: fe80::1 febf::1 fec0::1 feff::1 ff02::1 ffff::1 fd00:ec2::254 fd00:ec2::23 fd20:ce::254 fd00:c1::a9fe:a9fe
fd00:42::42
::ffff:169.254.169.254 ::ffff:192.0.0.192 ::169.254.169.254 ::ffff:0:a9fe:a9fe ::ffff:0:169.254.169.254
64:ff9b::a9fe:a9fe 64:ff9b::192.0.0.192 64:ff9b:1::a9fe:a9fe 64:ff9b:1:a9fe:a9:fe00:: 64:ff9b:1:ffa9:fe:a9fe::
64:ff9b:1:ffff:a9:fea9:fe00:0 64:ff9b:1:a9fe:a9:fe00:1:2 2002:a9fe:a9fe::1 2002:c000:c0:: 2002:6464:64c8::1
2001:0:808:808::5601:5601 2001:0:a9fe:a9fe::f7f7:f7f7 2606:2800::5efe:a9fe:a9fe 2606:2800::200:5efe:a9fe:a9fe
2002:808:808::5efe:a9fe:a9fe fd12::5efe:169.254.169.254
"""
CLOSED = """
10.0.0.1 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.254 172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.9 192.0.0.10
192.0.0.170 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 240.0.0.1
255.255.255.254
::1 ::10.0.0.1 ::8.8.8.8 ::ffff:10.0.0.1 ::ffff:127.0.0.1 ::ffff:0:10.0.0.1 ::ffff:0:8.8.8.8 64:ff9b::10.0.0.1
64:ff9b::7f00:1 64:ff9b:1::8.8.8.8 100::1 100:0:0:1::1 2001:1::1 2001:2::1 2001:3::1 2001:10::1 2001:20::1
2001:db8::1 2001:0:a00:1::f7f7:f7f7 2001:0:808:808::f5ff:fffe 2002:a00:1::1 2002:7f00:1:: 2606:2800::5efe:a00:1
3fff::1 4000::1 5f00::1 fc00::1 fdff::1 200:5efe::1 1::1
"""
PUBLIC = """
1.1.1.1 8.8.8.8 100.63.255.255 100.128.0.1 126.255.255.255 128.0.0.1 172.15.0.1 172.32.0.1 192.0.1.1 192.31.196.1
192.52.193.1 192.175.48.1 192.88.98.1 198.17.0.1 198.20.0.1 223.255.255.255 168.63.129.15
2606:2800::1 2001:200::1 2001:4860:4860::8888 2400::1 2620:4f:8000::1 2a00::1 3ffe::1 ::ffff:8.8.8.8 64:ff9b::808:808
2002:808:808::1 2001:0:808:808::f7f7:f7f7 2606:2800::5efe:808:808
"""


@pytest.mark.parametrize("text", NEVER.split())
def test_an_address_that_is_never_reached_is_not_public_however_it_is_carried(text: str) -> None:
    assert (is_never(ip_address(text)), is_public(ip_address(text))) == (True, False)


@pytest.mark.parametrize("text", CLOSED.split())
def test_an_address_that_is_set_apart_is_not_public(text: str) -> None:
    assert (is_never(ip_address(text)), is_public(ip_address(text))) == (False, False)


@pytest.mark.parametrize("text", PUBLIC.split())
def test_an_address_of_the_open_internet_is_public(text: str) -> None:
    assert (is_never(ip_address(text)), is_public(ip_address(text))) == (False, True)


def test_this_machine_is_known_in_both_families() -> None:
    assert [is_loopback(ip_address(each)) for each in ("127.9.9.9", "::1", "::ffff:127.0.0.1")] == [True] * 3
    assert [is_loopback(ip_address(each)) for each in ("128.0.0.1", "::2", "::7f00:1")] == [False] * 3


@given(st.ip_addresses(v=4), st.integers(0, 2**64 - 1))
def test_every_way_in_which_an_address_carries_another_is_read(inner: IPv4Address, rest: int) -> None:
    value, low = int(inner), rest & 0xFFFFFFFF
    ways = {
        "mapped": 0xFFFF << 32 | value,
        "translated": 0xFFFF << 48 | value,
        "nat64": 0x64FF9B << 96 | value,
        "6to4": 0x2002 << 112 | value << 80 | rest,
        "teredo, its server": 0x20010000 << 96 | value << 64 | rest,
        "teredo, its client": 0x20010000 << 96 | low << 64 | ~value & 0xFFFFFFFF,
        "isatap": rest << 64 | 0x5EFE << 32 | value,
        "isatap, global": rest << 64 | 0x02005EFE << 32 | value,
    }
    if value > 1:
        ways["compatible"] = value
    for way, bits in ways.items():
        number = IPv6Address(bits)
        assert inner in carried(number), way
        if not is_public(inner):
            assert not is_public(number), way
        if is_never(inner):
            assert is_never(number), way
    assert plain(IPv6Address(ways["mapped"])) == inner


@given(st.ip_addresses(v=4), st.sampled_from([48, 56, 64, 96]), st.integers(0, 2**40 - 1))
def test_a_local_translator_is_read_with_every_length_of_its_prefix(inner: IPv4Address, length: int, rest: int) -> None:
    bits = f"{0x64FF9B0001:048b}".ljust(length, "0") + f"{int(inner):032b}"
    if length < 96:
        bits = bits[:64] + "0" * 8 + bits[64:]
        bits += f"{rest:040b}"[: 128 - len(bits)]
    number = IPv6Address(int(bits, 2))
    assert not is_public(number)
    if inner.packed[0]:
        assert inner in carried(number)
    if is_never(inner) and inner.packed[0]:
        assert is_never(number)


def test_nothing_else_asks_python_what_an_address_is_for() -> None:
    asked = {"is_global", "is_private", "is_reserved", "is_site_local", "is_link_local", "is_multicast", "sixtofour"}
    found = [
        f"{path}:{node.lineno} {node.attr}"
        for path in Path(actum.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in asked | {"teredo", "is_unspecified"}
    ]
    assert found == []
