"""The HTTP client that the SDK's transports are given: what fails, fails for the one request that it belongs to.

The SDK's Streamable HTTP lets an error of the network end the whole connection, with all other requests on it, and
tells of an HTTP status nothing but that there was one. Here both become the JSON-RPC error of the request, in codes of
ours that `mcp.error` reads again. A login sees the answers as they are: this stands around it.

The SDK also asks for the stream on which a server tells what belongs to no request, and waits for no answer. What the
server tells before the stream is there is lost, so the first request of a session waits for the stream.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import re
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2
import msgspec

from ...core.errors import ActumError, CallError
from ...core.json import Json, JsonObject
from ...core.process.worker_thread import off_loop
from ...transport.http import HttpFailure
from ..login import LoginFailed
from .error import (
    BROKEN,
    HTTP_STATUS,
    OF_ANOTHER,
    PARSE_ERROR,
    REFUSED_HERE,
    UNREACHED,
    keep,
)

BODY_BYTES_MAX = 32 * 1024 * 1024
_UNSENT: dict[type[httpx2.TransportError], str] = {
    httpx2.ConnectError: "Nobody listens there",
    httpx2.ConnectTimeout: "Nobody answers there",
    httpx2.PoolTimeout: "Too many requests wait for it",
    httpx2.ProxyError: "The proxy refuses",
    httpx2.UnsupportedProtocol: "Its address is none of the web",
}
"""Errors after which it is certain that the request was not sent."""
STREAM_S = 1.0
"""Seconds that requests wait at most for the stream: some servers answer nothing before they have something to tell."""


class McpHttpClient(httpx2.AsyncClient):
    """A client whose requests to a server always have an answer.

    Args:
        heard: is told the status of each answer to a message; 0 where there is none.
        settings: as of any client.
    """

    def __init__(self, heard: Callable[[int], None], **settings: Any) -> None:  # noqa: ANN401 - handed on
        super().__init__(**settings)
        self._heard = heard
        self._stream: asyncio.Event | None = None

    async def send(self, request: httpx2.Request, **how: Any) -> httpx2.Response:  # noqa: ANN401 - handed on
        """As of any client; what fails for a POST is an answer of ours."""
        request.headers["Accept-Encoding"] = "identity"
        if request.method == "GET" and self._stream is None:
            self._stream = asyncio.Event()
            try:
                return await self._sent(request, how)
            finally:
                self._stream.set()
        if self._stream is not None and not self._stream.is_set() and _is_request(request):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stream.wait(), STREAM_S)
        return await self._sent(request, how)

    async def _sent(self, request: httpx2.Request, how: dict[str, Any]) -> httpx2.Response:
        try:
            response = await super().send(request, **{**how, "stream": True})
        except HttpFailure as failure:
            if request.method != "POST":
                raise httpx2.ConnectError(str(failure)) from None
            return _answer(request, BROKEN if failure.sent else UNREACHED, str(failure))
        except ActumError as missing:  # by the login
            if request.method != "POST":
                raise
            kept = keep(missing if isinstance(missing, CallError) else LoginFailed(str(missing)))
            return _answer(request, REFUSED_HERE, str(missing), kept)
        except httpx2.TransportError as error:
            if request.method != "POST":
                raise
            self._heard(0)
            unsent = _UNSENT.get(type(error))
            return _answer(request, UNREACHED, unsent) if unsent else _answer(request, BROKEN, type(error).__name__)
        checked = await self._checked(request, response)
        if not how.get("stream"):
            await checked.aread()
        return checked

    async def _checked(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        """The answer, with a bound on what is read of it: a packed body may be a thousand times as long as it looks.

        Raises:
            httpx2.ConnectError: the body is packed, and no answer to a message.
        """
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            if request.method != "POST":
                raise httpx2.ConnectError("what it sends is packed")
            return _answer(request, PARSE_ERROR, "malformed: it is packed, which was not asked for")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = Mended(response.stream)
        refused = request.method == "POST" and response.status_code >= 400
        is_json = response.headers.get("content-type", "").lower().startswith("application/json")
        if refused or is_json:
            response.stream = Bounded(response.stream, BODY_BYTES_MAX)
        if request.method == "POST":
            self._heard(response.status_code)
        if request.method == "POST" and is_json and response.status_code == 200:
            return await _of_this_request(request, response)
        if refused and not await _says_why(response):
            data: JsonObject = {"status": response.status_code, "retryAfter": response.headers.get("retry-after")}
            return _answer(request, HTTP_STATUS, f"HTTP {response.status_code}", data)
        return response


class Bounded(httpx2.AsyncByteStream):
    """A body that ends with an error of the kind that the SDK expects, when it is too long or breaks off."""

    def __init__(self, body: httpx2.AsyncByteStream, most: int) -> None:
        self._body = body
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        try:
            async for piece in self._body:
                size += len(piece)
                if size > self._most:
                    raise httpx2.StreamError("too long")
                yield piece
        except httpx2.TransportError:
            raise httpx2.StreamError("broken off") from None

    async def aclose(self) -> None:
        await self._body.aclose()


class Mended(httpx2.AsyncByteStream):
    """A body of JSON, or of events with JSON, that can be read: bytes that are no UTF-8 and escaped halves of surrogate
    pairs are replaced, as `line` does for local servers, and a byte order mark is skipped.
    """

    def __init__(self, body: httpx2.AsyncByteStream) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        held = ""
        async for piece in self._body:
            text = held + decoder.decode(piece)
            begun = _UNFINISHED.search(text, _end_of(text))
            held = begun["last"] if begun else ""
            yield _mended(text[: len(text) - len(held)])
        yield _mended(held + decoder.decode(b"", final=True))

    async def aclose(self) -> None:
        await self._body.aclose()


_HIGH, _LOW = r"u[dD][89abAB][0-9a-fA-F]{2}", r"u[dD][c-fC-F][0-9a-fA-F]{2}"
_ESCAPE = re.compile(rf"\\(?:(?P<pair>{_HIGH}\\{_LOW})|(?P<half>{_HIGH}|{_LOW})|.)", re.DOTALL)
_OF_A_PAIR = re.compile(r"\\u[dD][89a-fA-F]")
"""A text without this has nothing to mend, which is quicker to see."""
_UNFINISHED = re.compile(rf"(?<!\\)(?:\\\\)*(?P<last>(?:\\{_HIGH})?\\(?:u[0-9a-fA-F]{{0,3}})?|\\{_HIGH})\Z")
"""The beginning of an escape, or of a pair of two, that goes on in the next piece."""


def _end_of(text: str) -> int:
    """Where the end of a text begins that may hold such a beginning. No backslash is before the end."""
    at = max(0, len(text) - 12)
    return len(text[:at].rstrip("\\"))


def _mended(text: str) -> bytes:
    return (_ESCAPE.sub(_whole, text) if _OF_A_PAIR.search(text) else text).encode()


def _whole(escape: re.Match[str]) -> str:
    return "\\ufffd" if escape["half"] else escape[0]


class _Named(msgspec.Struct):
    """A message, as far as it says to which request it belongs."""

    id: int | float | str | None = None
    method: str = ""


_named = msgspec.json.Decoder(_Named).decode


def _is_request(request: httpx2.Request) -> bool:
    """Whether a message wants an answer; the end of the handshake wants none, and comes before the stream."""
    try:
        return request.method == "POST" and _named(request.content).id is not None
    except (msgspec.DecodeError, RecursionError):
        return True


async def _of_this_request(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    """The answer as it came, or an error where it answers another request than the one that was sent: the caller would
    wait in vain.
    """
    try:
        body = await response.aread()
    except httpx2.StreamError as error:
        return _answer(request, PARSE_ERROR, f"malformed: {error}")
    try:
        asked = _named(request.content)
        told = await off_loop(len(body), _named, body)
    except (msgspec.DecodeError, RecursionError):
        return response  # the SDK says that it is none
    is_answer = not told.method and told.id is not None and asked.id is not None
    if is_answer and told.id != asked.id and str(told.id) != str(asked.id):
        return _answer(request, PARSE_ERROR, OF_ANOTHER)
    return response


async def _says_why(response: httpx2.Response) -> bool:
    """Whether a refusal is an error of the protocol, or one that the SDK knows itself."""
    if response.status_code == 404:
        return True
    try:
        body = msgspec.json.decode(await response.aread())
    except (httpx2.StreamError, httpx2.TransportError, msgspec.DecodeError, RecursionError):
        return False
    finally:
        await response.aclose()
    return isinstance(body, dict) and isinstance(body.get("error"), dict)


def _answer(request: httpx2.Request, code: int, message: str, data: Json = None) -> httpx2.Response:
    error = {"code": code, "message": message, "data": data}
    return httpx2.Response(503, request=request, json={"jsonrpc": "2.0", "id": None, "error": error})
