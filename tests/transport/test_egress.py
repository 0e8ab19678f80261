"""The operator's rules for outgoing calls, and what the guard makes of them."""

from __future__ import annotations

import asyncio
import logging
import socket
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.compose.settings import read_settings
from actum.core.errors import UsageError
from actum.schema.canonical import is_public
from actum.testing import FakeClock
from actum.transport.connection_pool import ConnectionPool
from actum.transport.egress import REFUSALS_MAX, Egress, EgressRules
from actum.transport.guard import AddressRefused, Guard, Resolve
from actum.transport.http import HttpFailure, WireFailure

PUBLIC = "93.184.216.34"


def leading(*addresses: str) -> Resolve:
    async def resolve(host: str, port: int) -> list[str]:
        return list(addresses)

    return resolve


def guard(*addresses: str, own: str = "", **rules: object) -> Guard:
    return Guard(own, resolve=leading(*(addresses or (PUBLIC,))), egress=Egress(msgspec.convert(rules, EgressRules)))


async def passes(judge: Guard, url: str) -> bool:
    try:
        await judge.check(url)
    except AddressRefused:
        return False
    return True


CORPUS = r"""
http://example.org/                       plain http
https://user:pw@example.org/              userinfo
https://example.org@169.254.169.254/      userinfo that looks like a host
https://2852039166/                       decimal
https://0xa9fea9fe/                       hexadecimal
https://0xa9.0xfe.0xa9.0xfe/              hexadecimal parts
https://0251.0376.0251.0376/              octal
https://169.254.43518/                    short
https://127.1/                            short loopback
https://0/                                this host
https://[::ffff:169.254.169.254]/         mapped
https://[::ffff:a9fe:a9fe]/               mapped, in hexadecimal
https://[::169.254.169.254]/              compatible
https://[64:ff9b::a9fe:a9fe]/             NAT64
https://[64:ff9b:1::a9fe:a9fe]/           NAT64 of a local network
https://[2002:a9fe:a9fe::]/               6to4
https://[2002:7f00:1::]/                  6to4 of the loopback
https://192.0.0.192/                      Oracle, its older address
https://3221225664/                       the same, decimal
https://0300.0.0.0xc0/                    the same, octal and hexadecimal
https://[fec0::1]/                        site-local
https://[::ffff:0:a9fe:a9fe]/             translated
https://[::ffff:0:169.254.169.254]/       translated, with dots
https://[64:ff9b:1:a9fe:a9:fe00::]/       NAT64 of a local network, a short prefix
https://[2001:0:808:808::5601:5601]/      Teredo, its client
https://[2001:0:a9fe:a9fe::f7f7:f7f7]/    Teredo, its server
https://[2606:2800::5efe:a9fe:a9fe]/      ISATAP
https://[2002:808:808::200:5efe:a00:1]/   ISATAP within 6to4
https://[fd20:ce::254]/                   Google
https://[fe80::1%eth0]/                   a zone, not encoded
https://[::1%251]/                        a zone of the loopback
https://１６９．２５４．１６９．２５４/               wide digits
https://169.254.169.254:443/              with its port
https://0251.254.169.254.:443/            octal, trailing dot, port
https://example.org:443@169.254.169.254/  userinfo that looks like a port
https://169.254.169.254%2eexample.org/    encoded dot
https://foo.localhost/                    below localhost
https://[fe80::1%25eth0]/                 a zone
https://[::1]/                            loopback
https://[fd00:ec2::254]/                  AWS
https://169.254.169.254./                 trailing dot
https://localhost./                       trailing dot of a name
https://LOCALHOST/                        capitals
https://①②⑦.⓪.⓪.①/                       digits of another kind
https://127。0。0。1/                      full stops of another kind
https://metadata.google.internal/         a name of indoors
https://example.org\@127.0.0.1/           backslash
https://example.org%00.evil.example/      encoded NUL
https://exa mple.org/                     blank
https://example.org:99999/                port
https://example.org:/@127.0.0.1:80\r\n/   line break
file:///etc/passwd                        file
gopher://127.0.0.1:25/_HELO               gopher
https:///example.org/                     no host
//example.org/                            no scheme
"""


async def test_every_disguise_of_an_address_indoors_is_refused() -> None:
    for line in CORPUS.strip().splitlines():
        url = line.partition("  ")[0].replace("\\r\\n", "\r\n")
        assert not await passes(guard(), url), line
        if "example.org" not in url:
            # An operator who opened one address inside has not opened any other, nor what is closed for everybody.
            assert not await passes(guard(private=["http://intranet.corp:8080"]), url), line
    for url in ("https://bücher.example/", "https://example.org./", "https://8.8.8.8/", "https://example.org:8443/"):
        assert await passes(guard(), url), url


NEVER = """
169.254.169.254 192.0.0.192 168.63.129.16 100.100.100.200 0.0.0.0 224.0.0.1 255.255.255.255 fe80::1 fec0::1 ff02::1
fd00:ec2::254 fd20:ce::254 ::ffff:0:a9fe:a9fe ::ffff:192.0.0.192 64:ff9b::c000:c0 64:ff9b:1::a9fe:a9fe ::a9fe:a9fe
64:ff9b:1:a9fe:a9:fe00:: 2002:a9fe:a9fe:: 2001:0:808:808::5601:5601 2606:2800::5efe:a9fe:a9fe fd12::5efe:a9fe:a9fe
"""


@pytest.mark.parametrize("address", NEVER.split())
async def test_what_is_never_reached_no_operator_no_named_server_and_no_name_opens(address: str) -> None:
    literal = f"https://{f'[{address}]' if ':' in address else address}/"
    open_to_it = guard(private=[literal.rstrip("/"), "https://crm.corp"], allow=["example.org"], own=literal)
    with pytest.raises(AddressRefused):
        open_to_it.judge(literal)  # by its words alone: what accepts an address for later asks no more than this
    assert not await passes(guard(address, private=["https://crm.corp"]), "https://crm.corp/")
    assert not await passes(guard(PUBLIC, address), "https://example.org/")
    assert not await passes(guard(address, own="https://mcp.corp/x"), "https://mcp.corp/x")
    assert not await passes(guard(address, own="http://localhost:9/"), "http://localhost:9/")


async def test_this_machine_is_not_reached_by_an_address_that_carries_its_own() -> None:
    for address in ("64:ff9b::7f00:1", "::7f00:1", "2002:7f00:1::", "fd12::5efe:7f00:1", "64:ff9b:1::7f00:1"):
        assert not await passes(guard(address, private=["https://crm.corp"]), "https://crm.corp/")
        assert not await passes(guard(address, own="http://localhost:9/"), "http://localhost:9/")
        assert not await passes(guard(private=[f"https://[{address}]"]), f"https://[{address}]/")


async def test_a_denied_address_is_denied_in_every_form_also_through_a_proxy() -> None:
    for proxy in ("", "http://proxy.corp:3128"):
        closed = guard(deny=["8.8.0.0/16", "9.9.9.9"], proxy=proxy)
        for host in ("8.8.4.4", "[64:ff9b::808:404]", "[2002:808:404::1]", "[64:ff9b::9.9.9.9]", "[::ffff:9.9.9.9]"):
            assert not await passes(closed, f"https://{host}/"), (host, proxy)
        assert await passes(closed, "https://[64:ff9b::8.9.4.4]/")


async def test_an_address_of_an_intranet_is_reached_where_the_operator_names_it_and_nowhere_else() -> None:
    rules = ["http://intranet.corp:8080", "https://*.lan", "http://localhost:9000", "http://127.0.0.2:7000"]
    table = {
        ("http://intranet.corp:8080/api", "10.1.2.3"): True,
        ("http://intranet.corp:8081/api", "10.1.2.3"): False,
        ("http://other.corp:8080/api", "10.1.2.3"): False,
        ("https://intranet.corp:8080/api", "10.1.2.3"): False,
        ("http://intranet.corp:8080/api", "127.0.0.1"): False,  # its owner could lead it to this machine
        ("http://intranet.corp:8080/api", "169.254.169.254"): False,
        ("http://intranet.corp:8080/api", "::ffff:169.254.169.254"): False,
        ("http://intranet.corp:8080/api", "100.100.100.200"): False,
        ("http://intranet.corp:8080/api", "fd00:ec2::254"): False,
        ("https://printer.lan/", "192.168.0.9"): True,
        ("http://printer.lan/", "192.168.0.9"): False,
        ("http://localhost:9000/", "127.0.0.1"): True,
        ("http://localhost:9000/", "10.0.0.1"): False,
        ("http://localhost:9001/", "127.0.0.1"): False,
        ("http://127.0.0.2:7000/", "unused"): True,
        ("http://127.0.0.3:7000/", "unused"): False,
    }
    for (url, address), may in table.items():
        assert await passes(guard(address, private=rules), url) is may, (url, address)


async def test_an_own_server_may_be_private_and_plain_at_its_own_port_only() -> None:
    own = "http://10.0.0.5:8000/mcp"
    for url, may in {
        own: True,
        "http://10.0.0.5:8000/token": True,
        "http://10.0.0.5:8001/": False,
        "http://10.0.0.6:8000/": False,
        "https://10.0.0.5/": True,
    }.items():
        assert await passes(guard(own=own), url) is may, url
    second = "http://127.0.0.2:8000/mcp"
    assert await passes(guard(own=second), second)
    assert not await passes(guard(own=second), "http://127.0.0.1:8000/")
    assert await passes(guard("10.0.0.5", own="http://ann:secret@mcp.corp:80/x"), "http://mcp.corp/x")


async def test_of_an_own_name_the_addresses_that_nobody_may_reach_are_left_out() -> None:
    found = ("fe80::1", "192.168.0.9", "127.0.0.1")
    own = guard(*found, own="http://printer.local:8000")
    assert await own.check("http://printer.local:8000/") == ["192.168.0.9"]
    assert not await passes(guard("fe80::1", own="http://printer.local:8000"), "http://printer.local:8000/")
    assert not await passes(guard(PUBLIC, "192.168.0.9"), "https://printer.example/")


async def test_allow_is_read_narrowly_and_deny_widely() -> None:
    allow = ["api.example.com", "*.example.net:8443", "http://old.example.com"]
    for url, may in {
        "https://api.example.com/v1": True,
        "https://API.example.com:443/v1": True,
        "https://api.example.com:444/v1": False,
        "https://x.api.example.com/": False,
        "http://api.example.com/": False,
        "https://a.b.example.net:8443/": True,
        "https://example.net:8443/": False,
        "https://evil-example.net:8443/": False,
        "https://a.example.net/": False,
        "http://old.example.com/": True,
        "https://other.example/": False,
    }.items():
        assert await passes(guard(allow=allow), url) is may, url
    deny = ["example.org", "198.51.99.0/24", "https://[2606:2800::]/32", "*.bad.example"]
    table = {
        ("https://example.org/", PUBLIC): False,
        ("https://deep.example.org:8443/", PUBLIC): False,
        ("https://notexample.org/", PUBLIC): True,
        ("https://fine.example/", "198.51.99.7"): False,
        ("https://fine.example/", "::ffff:198.51.99.7"): False,
        ("https://fine.example/", "2606:2800::1"): False,
        ("https://fine.example/", "64:ff9b::c633:6307"): False,
        ("https://x.bad.example/", PUBLIC): False,
        ("https://bad.example/", PUBLIC): True,
    }
    for (url, address), may in table.items():
        found = guard(address, deny=deny)
        assert await passes(found, url) is may, (url, address)
    both = guard(allow=["api.example.com"], private=["https://api.example.com"], deny=["example.com"])
    assert not await passes(both, "https://api.example.com/")
    assert await passes(guard("10.0.0.1", allow=["x.example"], private=["crm.corp"]), "https://crm.corp/")
    assert not await passes(guard("10.0.0.1", allow=["x.example"], own="https://crm.corp"), "https://crm.corp/")


def test_a_rule_that_can_not_be_read_is_told_with_its_list(tmp_path: Path) -> None:
    for table, said in {
        'allow = ["https://api.example.com/v1"]': "allow: 'https://api.example.com/v1' was expected to be a host",
        'allow = ["ftp://a.example"]': "allow: 'ftp://a.example' was expected",
        'allow = ["10.0.0.0/8"]': "only `deny` takes networks",
        'private = ["*"]': "would open every private address",
        'private = ["*.10.0.0.1"]': "a * stands only at the beginning",
        'deny = ["a.*.example"]': "deny: 'a.*.example'",
        'deny = ["example.org/33"]': "deny: 'example.org/33' is no network",
        'proxy = "socks5://ann:hunter2@p:1"': "proxy: socks5:// was named, and a proxy is spoken to by plain http://",
        'proxy = "https://ann:hunter2@p:1"': "proxy: https:// was named, and a proxy is spoken to by plain http://",
        'proxy = "ftp://ann:hunter2@p:1"': "proxy: an address such as http://proxy.corp:3128 was expected",
        'allow = ["ann:hunter2@x.example"]': "allow: 'x.example' was expected",
        "alow = []": "unknown field `alow`",
    }.items():
        (tmp_path / "actum.toml").write_text(f"[egress]\n{table}\n")
        with pytest.raises(UsageError) as raised:
            read_settings(tmp_path, {"HOME": str(tmp_path)}, {})
        assert said in str(raised.value), table
        assert "hunter2" not in str(raised.value), table


def test_what_a_person_denied_no_folder_opens_again(tmp_path: Path) -> None:
    own = tmp_path / ".config" / "actum" / "actum.toml"
    own.parent.mkdir(parents=True)
    own.write_text('[egress]\ndeny = ["evil.example"]\nallow = ["a.example"]\n')
    (tmp_path / "actum.toml").write_text('[egress]\ndeny = ["b.example"]\nallow = ["evil.example"]\n')
    egress = read_settings(tmp_path, {"HOME": str(tmp_path)}, {}).egress
    assert (egress.deny, egress.allow) == (("evil.example", "b.example"), ("evil.example",))


def test_the_password_of_a_proxy_is_never_shown(tmp_path: Path) -> None:
    (tmp_path / "actum.toml").write_text('[egress]\nproxy = "http://ann:hunter2@proxy.corp:3128"\n')
    settings = read_settings(tmp_path, {"HOME": str(tmp_path)}, {})
    egress = Egress(settings.egress)
    assert egress.proxy is not None
    assert egress.proxy.authorization == "Basic YW5uOmh1bnRlcjI="
    shown = f"{settings!r} {settings.egress!r} {egress.proxy!r} {settings.egress.shown_proxy}"
    assert "hunter2" not in shown
    assert "YW5u" not in shown
    assert settings.egress.shown_proxy == "http://proxy.corp:3128"


async def test_what_was_refused_is_kept_without_paths_and_bounded(caplog: pytest.LogCaptureFixture) -> None:
    egress = Egress(clock=FakeClock())
    judge = Guard(egress=egress, resolve=leading(PUBLIC))
    with caplog.at_level(logging.WARNING, logger="actum.egress"):
        for _ in range(3):
            assert not await passes(judge, "https://10.0.0.1/secret-path?key=hunter2")
    (refusal,) = egress.refused
    assert (refusal.where, refusal.times, refusal.when) == ("https://10.0.0.1", 3, 1_000_000.0)
    assert len(caplog.records) == 1
    assert "secret" not in caplog.text
    assert "hunter2" not in caplog.text
    for number in range(REFUSALS_MAX + 50):
        await passes(judge, f"https://10.0.{number % 200}.1/")
    assert len(egress.refused) == REFUSALS_MAX


@given(st.lists(st.ip_addresses(), max_size=4), st.sampled_from(["example.org", "crm.corp", "10.1.2.3", "8.8.8.8"]))
def test_no_connection_is_made_to_an_address_that_was_not_looked_at(found: list[object], host: str) -> None:
    dialled: list[str] = []
    looked_at: list[str] = []

    async def dial(address: str, port: int) -> socket.socket:
        dialled.append(address)
        raise ConnectionRefusedError

    async def resolve(name: str, port: int) -> list[str]:
        looked_at.extend(map(str, found))
        return list(map(str, found))

    async def go() -> None:
        judge = Guard(resolve=resolve, egress=Egress(EgressRules(private=("crm.corp",))))
        async with ConnectionPool(judge, dial=dial) as pool:
            with pytest.raises((HttpFailure, WireFailure)):
                await pool.send("GET", f"https://{host}/", [])

    asyncio.run(go())
    if host in ("10.1.2.3", "8.8.8.8"):
        assert looked_at == []
        assert dialled == [host] * is_public(host)
        return
    assert set(dialled) <= set(looked_at)
    if host == "example.org":
        assert all(map(is_public, dialled))
        assert dialled == [] or all(map(is_public, looked_at))
