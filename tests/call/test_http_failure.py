"""A tool whose service fails is no bug of the tool: real clients against a real server that fails in each way."""

from __future__ import annotations

import asyncio
import http.client
import socket
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import httpx2
import pytest
import requests

from actum import Context, ToolCall, tool
from actum.call.http_failure import http_failure
from actum.call.limits.limits import Limits
from actum.runs.runner import Runner
from actum.testing import FakeClock

ANSWERS = {"/429": 429, "/500": 500, "/502": 502, "/503": 503, "/504": 504, "/404": 404}


class Failing(BaseHTTPRequestHandler):
    """Answers with the status in its path, hangs, or hangs up."""

    over = threading.Event()

    def do_GET(self) -> None:
        if self.path == "/hang":
            self.over.wait(30)
            return
        if self.path == "/gone":
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.send_response(ANSWERS[self.path])
        self.send_header("Retry-After", "7")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serving() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Failing)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        Failing.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
        Failing.over.clear()


def by_requests(url: str) -> str:
    answer = requests.get(url, timeout=(5, 0.3))
    answer.raise_for_status()
    return answer.text


def by_httpx(url: str) -> str:
    answer = httpx.get(url, timeout=httpx.Timeout(0.3, connect=5))
    answer.raise_for_status()
    return answer.text


async def by_httpx2(url: str) -> str:
    async with httpx2.AsyncClient(timeout=httpx2.Timeout(0.3, connect=5)) as client:
        answer = await client.get(url)
        answer.raise_for_status()
        return answer.text


def by_urllib(url: str) -> str:
    try:
        with urllib.request.urlopen(url, timeout=0.3) as answer:
            return str(answer.read())
    except urllib.error.HTTPError as error:
        error.close()
        raise


def by_http_client(url: str) -> str:
    place = urllib.parse.urlsplit(url)
    with closing(http.client.HTTPConnection(place.netloc, timeout=0.3)) as connection:
        connection.request("GET", place.path)
        with connection.getresponse() as answer:
            if answer.status >= 400:
                raise urllib.error.HTTPError(url, answer.status, answer.reason, answer.headers, None)
            return str(answer.read())


Fetch = Callable[[str], str] | Callable[[str], Awaitable[str]]


async def code_of(fetch: Fetch, url: str) -> tuple[str, float | None]:
    @tool(effects={"write"})
    async def get(ctx: Context) -> str:
        """Fetch a page."""
        if asyncio.iscoroutinefunction(fetch):
            return str(await fetch(url))
        return str(await asyncio.to_thread(fetch, url))

    runner = Runner([get], limits=Limits(attempts=1), clock=FakeClock())
    result = await runner.call([ToolCall("1", "get", {})], by="person")
    failure = result.calls[0][1].error
    assert failure is not None
    assert failure.effect == "unknown", "what the tool did before its request, nobody knows"
    return failure.code, failure.retry_after


@pytest.mark.parametrize("fetch", [by_requests, by_httpx, by_httpx2, by_urllib, by_http_client])
async def test_a_service_that_fails_is_no_bug_of_the_tool(fetch: Fetch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{closed.getsockname()[1]}/"
        with serving() as server:
            for url, code, retry_after in (
                (nobody, "unavailable", None),
                ("http://no-such-host.invalid/", "unavailable", None),
                (f"{server}/hang", "timeout", None),
                (f"{server}/gone", "timeout", None),
                (f"{server}/429", "rate_limited", 7.0),
                (f"{server}/500", "unavailable", 7.0),
                (f"{server}/502", "unavailable", 7.0),
                (f"{server}/503", "unavailable", 7.0),
                (f"{server}/504", "timeout", 7.0),
                (f"{server}/404", "tool_bug", None),
            ):
                assert await code_of(fetch, url) == (code, retry_after), url


def test_errors_of_others_are_told_by_the_package_they_come_from() -> None:
    stranger = type("ConnectError", (Exception,), {})()
    for error in (ValueError("x"), stranger, KeyError("status"), httpx.InvalidURL("x")):
        assert http_failure(error, "ref") is None, error
    loop = httpx.ReadError("secret path /home/ada")
    loop.__context__ = loop
    found = http_failure(loop, "ref")
    assert found is not None
    assert "ada" not in found.message


def aiohttp_error(name: str, **fields: object) -> Exception:
    """An error as aiohttp has it. The package is not installed for the tests: other clients change their ways by it."""
    made: Exception = type(name, (Exception,), {"__module__": "aiohttp.client_exceptions", **fields})(
        "secret /home/ada"
    )
    return made


def test_errors_of_aiohttp_are_told_by_their_names() -> None:
    for name, code in (
        ("ClientConnectorError", "unavailable"),
        ("ClientConnectorDNSError", "unavailable"),
        ("ServerTimeoutError", "timeout"),
        ("ClientPayloadError", "timeout"),
        ("ClientConnectionError", "timeout"),
    ):
        found = http_failure(aiohttp_error(name), "ref")
        assert found is not None, name
        assert (found.code, "ada" in found.message) == (code, False), name
    limited = http_failure(aiohttp_error("ClientResponseError", status=429, headers={"retry-after": "3"}), "ref")
    assert limited is not None
    assert (limited.code, limited.retry_after) == ("rate_limited", 3.0)
    assert http_failure(aiohttp_error("InvalidURL"), "ref") is None
