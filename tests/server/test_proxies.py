"""Who is at the other end, where proxies stand between."""

from __future__ import annotations

import pytest

from actum.core.errors import UsageError
from actum.server.proxies import Proxies, Sender

FOR, PROTO = b"x-forwarded-for", b"x-forwarded-proto"


def test_the_last_address_that_is_no_proxy_of_ours_is_the_client() -> None:
    proxies = Proxies(["10.0.0.0/8", "2001:db8::1"])
    cases: list[tuple[str, list[tuple[bytes, bytes]], Sender]] = [
        ("192.0.2.1", [(FOR, b"198.51.100.7")], Sender("192.0.2.1", "http")),
        ("10.0.0.1", [], Sender("10.0.0.1", "http")),
        ("10.0.0.1", [(FOR, b"198.51.100.7")], Sender("198.51.100.7", "http")),
        ("10.0.0.1", [(FOR, b"6.6.6.6, 198.51.100.7")], Sender("198.51.100.7", "http")),
        ("10.0.0.1", [(FOR, b"6.6.6.6"), (FOR, b"198.51.100.7")], Sender("198.51.100.7", "http")),
        ("10.0.0.1", [(FOR, b"198.51.100.7, 10.0.0.2")], Sender("198.51.100.7", "http")),
        ("10.0.0.1", [(FOR, b"198.51.100.7:4711")], Sender("198.51.100.7", "http")),
        ("2001:db8::1", [(FOR, b"[2001:db8::7]:4711")], Sender("2001:db8::7", "http")),
        ("::ffff:10.0.0.1", [(FOR, b"198.51.100.7")], Sender("198.51.100.7", "http")),
        ("10.0.0.1", [(FOR, b"198.51.100.7, unknown")], Sender("10.0.0.1", "http")),
        ("10.0.0.1", [(FOR, b"")], Sender("10.0.0.1", "http")),
        ("10.0.0.1", [(FOR, b"\xff\xfe")], Sender("10.0.0.1", "http")),
        ("10.0.0.1", [(FOR, b"198.51.100.7"), (PROTO, b"https")], Sender("198.51.100.7", "https")),
        ("10.0.0.1", [(FOR, b"198.51.100.7"), (PROTO, b"javascript")], Sender("198.51.100.7", "http")),
        ("10.0.0.1", [(PROTO, b"https")], Sender("10.0.0.1", "https")),
        ("10.0.0.1", [(b"forwarded", b"for=198.51.100.7")], Sender("10.0.0.1", "http")),
    ]
    for peer, headers, found in cases:
        assert proxies.sender(peer, "http", headers) == found, (peer, headers)


def test_the_other_header_is_read_where_it_is_the_one_that_the_proxy_writes() -> None:
    proxies = Proxies(["10.0.0.1"], "forwarded")
    for value, found in (
        (b"for=198.51.100.7;proto=https", Sender("198.51.100.7", "https")),
        (b'for=6.6.6.6, For="[2001:db8::7]:4711"; Proto=http', Sender("2001:db8::7", "http")),
        (b"for=_hidden", Sender("10.0.0.1", "http")),
        (b"nonsense;;;=", Sender("10.0.0.1", "http")),
    ):
        headers = [(b"forwarded", value), (FOR, b"6.6.6.6")]
        assert proxies.sender("10.0.0.1", "http", headers) == found, value


def test_nobody_is_believed_where_nobody_is_named() -> None:
    assert not Proxies(()).believes("127.0.0.1")
    with pytest.raises(UsageError, match="neither an address nor a network"):
        Proxies(["proxy.example.org"])
