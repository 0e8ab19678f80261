"""A listener on this machine to which a browser comes back after a login (RFC 8252 §7.3).

It takes one answer: a GET of its own path, for its own host, with the state that was asked for. Everything else (a
favicon, another page that guesses) is refused and waited past. What came is handed on as an address, and shown to
nobody.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, urlsplit

from ..core.errors import UsageError

HEAD_BYTES_MAX = 16 * 1024
HEAD_S_MAX = 10.0
_PATH = "/callback"
_DONE = "Done. You can close this window and go back to the terminal."
_NOT_THIS = "This is not the answer that is waited for."


class Loopback:
    """One place for a browser to come back to. It listens inside of its `async with` block.

    Args:
        port: which one; 0 for any that is free.

    Raises:
        UsageError: the port is taken; on entering.
    """

    def __init__(self, port: int = 0) -> None:
        self._port = port
        self._server: asyncio.Server | None = None
        self._state = ""
        self._came: asyncio.Future[str] | None = None

    @property
    def redirect_uri(self) -> str:
        """Where the browser is to be sent."""
        return f"http://127.0.0.1:{self._port}{_PATH}"

    async def __aenter__(self) -> Self:
        try:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port, limit=HEAD_BYTES_MAX)
        except OSError as error:
            raise UsageError(
                "port {port} of this machine can not be listened on: {why}", port=self._port, why=error.strerror
            ) from None
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    def expect(self, state: str) -> None:
        """From now on the answer with this state is waited for, and no other."""
        self._state = state
        self._came = asyncio.get_running_loop().create_future()

    async def arrived(self) -> str:
        """The whole address that the browser came to."""
        assert self._came is not None
        return await self._came

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(
                TimeoutError, ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError
            ):
                async with asyncio.timeout(HEAD_S_MAX):
                    head = await reader.readuntil(b"\r\n\r\n")
                is_it = self._take(head.decode("latin-1").split("\r\n"))
                writer.write(_page(_DONE, "200 OK") if is_it else _page(_NOT_THIS, "400 Bad Request"))
                await writer.drain()
        finally:
            writer.close()

    def _take(self, head: list[str]) -> bool:
        """Whether a request is the answer, which is then taken."""
        method, _, rest = head[0].partition(" ")
        target = rest.partition(" ")[0]
        hosts = [line.partition(":")[2].strip() for line in head[1:] if line.lower().startswith("host:")]
        if method != "GET" or urlsplit(target).path != _PATH or hosts != [f"127.0.0.1:{self._port}"]:
            return False
        said = parse_qs(urlsplit(target).query).get("state", [])
        if self._came is None or self._came.done() or len(said) != 1 or not self._state:
            return False
        if not hmac.compare_digest(said[0].encode(), self._state.encode()):
            return False
        self._came.set_result(f"http://127.0.0.1:{self._port}{target}")
        return True


def _page(text: str, status: str) -> bytes:
    body = f"<!doctype html><meta charset=utf-8><title>actum</title><p>{text}".encode()
    head = [
        f"HTTP/1.1 {status}",
        "content-type: text/html; charset=utf-8",
        f"content-length: {len(body)}",
        "cache-control: no-store",
        "referrer-policy: no-referrer",
        "content-security-policy: default-src 'none'",
        "connection: close",
    ]
    return "\r\n".join([*head, "", ""]).encode() + body
