"""Requests of tools to the web: redirects, credentials, and answers that try to be too much."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Mapping

import pytest

from actum.transport.egress import Egress, EgressRules
from actum.transport.fetcher import Credentials, Fetcher
from actum.transport.guard import AddressRefused, Guard
from actum.transport.http import HttpFailure
from tests.transport.wire_servers import always, said, wire_server

SECRET = Credentials(
    headers={"Authorization": "Bearer token-1", "Cookie": "sid=token-2", "X-Tenant": "from-settings"},
    query={"api_key": "token-3"},
    form={"client_secret": "token-4"},
)
FORM = {"content-type": "application/x-www-form-urlencoded", "x-mine": "own", "accept": "application/json"}


def here() -> Fetcher:
    private = ("http://localhost:*", "http://127.0.0.1:*")
    return Fetcher(Guard(egress=Egress(EgressRules(private=private))), bytes_max=100_000, seconds_max=5.0)


def whatever_is_secret(text: str) -> list[str]:
    return [word for word in ("token-1", "token-2", "token-3", "token-4", "from-settings", "x-mine") if word in text]


async def test_at_another_origin_no_credential_goes_along_and_none_comes_back() -> None:
    places: dict[str, str] = {}

    def answer(head: bytes, body: bytes) -> bytes:
        path = head.split(b" ")[1].decode()
        for name, place in places.items():
            if path.startswith(name):
                return said(b"", "302 Found", f"location: {place}", "set-cookie: sid=set-here")
        return said(b"end")

    async with wire_server(answer) as first, wire_server(answer) as other:
        fetcher = here()
        home, away = f"http://localhost:{first.port}", f"http://localhost:{other.port}"
        # Another port, another name of the same machine, and back again to the first origin.
        places |= {"/port": f"{away}/back?api_key=token-3&page=2&x=Bearer+token-1", "/back": f"{home}/end"}
        places |= {"/name": f"http://127.0.0.1:{first.port}/end"}
        for path in ("/port", "/name"):
            got = await fetcher.send(
                "GET", home + path, headers=FORM, credentials=SECRET_WITHOUT_FORM, redirects="anywhere"
            )
            assert (got.status, got.body) == (200, b"end"), path
        await fetcher.aclose()
        assert len(whatever_is_secret(first.heads[0])) == 5
        assert whatever_is_secret("".join(other.heads)) == []
        assert "GET /back?page=2 " in other.heads[0]
        later = [head for head in first.heads if " /end" in head]
        assert whatever_is_secret("".join(later)) == []
        assert "set-here" not in "".join([*first.heads, *other.heads])
        assert all("accept: application/json" in head for head in [*first.heads, *other.heads])


SECRET_WITHOUT_FORM = Credentials(headers=SECRET.headers, query=SECRET.query)


async def test_credentials_go_along_within_the_origin_and_a_body_only_by_307_and_308() -> None:
    def answer(head: bytes, body: bytes) -> bytes:
        path = head.split(b" ")[1].decode().strip("/").partition("?")[0]
        return said(b"", f"{path} Moved", "location: /end") if path.isdigit() else said(b"end")

    wanted = {
        ("POST", "307"): "POST",
        ("POST", "308"): "POST",
        ("POST", "303"): "GET",
        ("POST", "302"): "GET",
        ("POST", "301"): "GET",
        ("DELETE", "303"): "GET",
        ("DELETE", "307"): "DELETE",
        ("PUT", "302"): "",  # the body may not be sent on, and the method does not change: handed back
    }
    for (method, status), becomes in wanted.items():
        async with wire_server(answer) as server:
            fetcher, url = here(), f"http://localhost:{server.port}/{status}"
            body = b"" if method == "DELETE" else b"a=1"
            mine = SECRET if body else SECRET_WITHOUT_FORM
            got = await fetcher.send(method, url, headers=FORM, body=body, credentials=mine)
            await fetcher.aclose()
            if not becomes:
                assert (got.status, len(server.heads)) == (302, 1), method
                continue
            assert server.heads[1].startswith(f"{becomes} /end?api_key=token-3 "), (method, status)
            assert "authorization: Bearer token-1" in server.heads[1]
            sent_on = becomes == "POST"
            assert (server.bodies[1] == b"a=1&client_secret=token-4") is sent_on, (method, status)
            assert ("content-type" in server.heads[1]) is (becomes != "GET"), (method, status)


async def test_a_body_and_a_method_that_writes_never_reach_another_origin_by_a_redirect() -> None:
    async with wire_server(lambda head, body: said(b"end")) as other:
        for method, status in (("POST", "307"), ("POST", "308"), ("PUT", "302"), ("DELETE", "302"), ("PATCH", "308")):
            place = f"location: http://localhost:{other.port}/end"
            async with wire_server(always(said(b"", f"{status} Moved", place))) as first:
                fetcher = here()
                got = await fetcher.send(method, f"http://localhost:{first.port}/", body=b"a", redirects="anywhere")
                assert (got.status, got.headers["location"]) == (int(status), place[10:])
                await fetcher.aclose()
        assert other.heads == []


async def test_every_redirect_is_judged_anew() -> None:
    for place in (
        "http://169.254.169.254/latest/meta-data",
        "https://[::ffff:169.254.169.254]/",
        "http://2852039166/",
        "//169.254.169.254/",
        "https://user:pw@example.org/",
        "file:///etc/passwd",
        "http://example.org/",
        "https://localhost.localdomain/",
        "javascript:alert(1)",
        "https://10.0.0.1\\@example.org/",
    ):
        async with wire_server(always(said(b"", "302 Found", f"location: {place}"))) as server:
            fetcher = here()
            with pytest.raises(AddressRefused):
                await fetcher.send("GET", f"http://localhost:{server.port}/", redirects="anywhere")
            assert len(server.heads) == 1, place
            await fetcher.aclose()


async def test_a_redirect_that_repeats_a_credential_outside_of_the_query_is_refused() -> None:
    places = iter(["/p/token-3/", "/?q=%74oken-3&deep=https://x/token%2D1"])
    async with wire_server(lambda head, body: said(b"end")) as other:

        def answer(head: bytes, body: bytes) -> bytes:
            return said(b"", "302 Found", f"location: http://localhost:{other.port}{next(places)}")

        async with wire_server(answer) as first:
            fetcher = here()
            url = f"http://localhost:{first.port}/"
            with pytest.raises(AddressRefused, match="with a credential"):
                await fetcher.send("GET", url, credentials=SECRET_WITHOUT_FORM, redirects="anywhere")
            assert (await fetcher.send("GET", url, credentials=SECRET_WITHOUT_FORM, redirects="anywhere")).status == 200
            await fetcher.aclose()
        assert whatever_is_secret("".join(other.heads)) == []
        assert len(other.heads) == 1


async def test_a_chain_of_redirects_ends_and_what_is_not_to_be_followed_is_handed_back() -> None:
    async with wire_server(lambda head, body: said(b"", "302 Found", "location: /again")) as server:
        fetcher, url = here(), f"http://localhost:{server.port}/"
        with pytest.raises(HttpFailure, match="again and again"):
            await fetcher.send("GET", url)
        assert len(server.heads) == 4
        assert (await fetcher.send("GET", url, redirects="none")).status == 302
        await fetcher.aclose()


async def test_a_packed_answer_is_unpacked_and_a_bomb_is_broken_off() -> None:
    text = b"hello " * 1000
    deflate = zlib.compress(text)
    answers: Mapping[str, tuple[bytes, str, bytes | str]] = {
        "/gzip": (gzip.compress(text), "gzip", text),
        "/members": (gzip.compress(text[:3000]) + gzip.compress(text[3000:]), "gzip", text),
        "/deflate": (deflate, "deflate", text),
        "/empty": (b"", "gzip", b""),
        "/bomb": (gzip.compress(bytes(50_000_000)), "gzip", "longer than 100000 bytes"),
        "/members-bomb": (gzip.compress(b"") * 5000, "gzip", "can not be unpacked"),
        "/cut": (gzip.compress(text)[:-9], "gzip", "can not be unpacked"),
        "/noise": (b"no gzip at all", "gzip", "can not be unpacked"),
        "/behind": (gzip.compress(text) + b"trash", "gzip", "can not be unpacked"),
        "/twice": (gzip.compress(gzip.compress(text)), "gzip, gzip", "packed in a way"),
        "/strange": (b"x", "br", "packed in a way"),
        "/long": (b"x" * 100_001, "identity", "longer than 100000 bytes"),
    }

    def answer(head: bytes, body: bytes) -> bytes:
        packed, encoding, _ = answers[head.split(b" ")[1].decode()]
        return said(packed, "200 OK", f"content-encoding: {encoding}")

    async with wire_server(answer) as server:
        fetcher = here()
        for path, (_, _, wanted) in answers.items():
            url = f"http://localhost:{server.port}{path}"
            if isinstance(wanted, bytes):
                assert (await fetcher.get(url)).body == wanted, path
                continue
            with pytest.raises(HttpFailure, match=wanted) as raised:
                await fetcher.get(url)
            assert raised.value.lasting, path
        await fetcher.aclose()


async def test_an_answer_of_another_type_is_refused_and_an_error_is_not() -> None:
    def answer(head: bytes, body: bytes) -> bytes:
        status = "404 Not Found" if b"/gone" in head else "200 OK"
        kind = "" if b"/none" in head else "content-type: text/HTML; charset=utf-8"
        return said(b"<p>", status, *filter(None, [kind]))

    async with wire_server(answer) as server:
        fetcher, url = here(), f"http://localhost:{server.port}"
        for path, types in (("/", ["application/json"]), ("/none", ["text/*"])):
            with pytest.raises(HttpFailure, match="its answer is"):
                await fetcher.send("GET", url + path, types=types)
        assert (await fetcher.send("GET", f"{url}/", types=["application/json", "text/*"])).body == b"<p>"
        assert (await fetcher.send("GET", f"{url}/gone", types=["application/json"])).status == 404
        await fetcher.aclose()


async def test_headers_and_methods_that_hide_another_request_are_refused_before_anything_is_sent() -> None:
    async with wire_server(lambda head, body: said(b"ok")) as server:
        fetcher, url = here(), f"http://localhost:{server.port}/"
        for headers in ({"x": "a\r\nb: c"}, {"x\n": "a"}, {"Host": "evil"}, {"Content-Length": "3"}, {"x": "ü\u2028"}):
            with pytest.raises(HttpFailure, match="not one that HTTP can carry"):
                await fetcher.send("GET", url, headers=headers)
            with pytest.raises(HttpFailure, match="not one that HTTP can carry"):
                await fetcher.send("GET", url, credentials=Credentials(headers=headers))
        for method in ("GET /x", "", "CONNECT", "G\r\nET"):
            with pytest.raises(HttpFailure, match="its method"):
                await fetcher.send(method, url)
        assert server.heads == []
        assert "token" not in repr(SECRET)
        for method in ("OPTIONS", "QUERY", "HEAD", "PROPFIND"):
            assert (await fetcher.send(method, url)).status == 200
        await fetcher.aclose()
        assert [head.split(" ")[0] for head in server.heads] == ["OPTIONS", "QUERY", "HEAD", "PROPFIND"]


async def test_of_a_stream_without_an_end_the_head_is_enough() -> None:
    async with wire_server(
        lambda head, body: b"HTTP/1.1 401 Unauthorized\r\ntransfer-encoding: chunked\r\n\r\n"
    ) as server:
        fetcher = here()
        got = await fetcher.send(
            "POST", f"http://localhost:{server.port}/", body=b"x", redirects="none", head_only=True
        )
        assert (got.status, got.body) == (401, b"")
        await fetcher.aclose()
