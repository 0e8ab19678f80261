"""Connections on which the head of a request leaves together with its body: one packet, and one call of the system.

httpcore2 writes the head of a request, and then its body. To write is most of what it costs to pass a small request
on, so a `JoinedStream` keeps the head back until the body comes, or until somebody reads.
"""
# ruff: noqa: ASYNC109  (the seconds are handed on to httpcore2, whose words these are)

from __future__ import annotations

import ssl
from collections.abc import Iterable
from typing import Any

import httpcore2

JOINED_MAX = 64 * 1024
"""A longer body is written by itself: to join it would copy it."""


class JoinedStream(httpcore2.AsyncNetworkStream):
    """A connection.

    Args:
        stream: the connection itself.
    """

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream
        self._head = b""

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """See `AsyncNetworkStream`."""
        if self._head:
            await self._send(b"", timeout)
        return await self._stream.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """See `AsyncNetworkStream`."""
        if not self._head and buffer.startswith(b"POST ") and buffer.endswith(b"\r\n\r\n"):
            self._head = buffer
        elif buffer:
            await self._send(buffer, timeout)

    async def aclose(self) -> None:
        """See `AsyncNetworkStream`."""
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        """See `AsyncNetworkStream`."""
        return JoinedStream(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401  # as it is there
        """See `AsyncNetworkStream`."""
        return self._stream.get_extra_info(info)

    async def _send(self, buffer: bytes, timeout: float | None) -> None:
        head, self._head = self._head, b""
        if head and len(buffer) > JOINED_MAX:
            await self._stream.write(head, timeout)
            head = b""
        await self._stream.write(head + buffer if head else buffer, timeout)


class JoinedBackend(httpcore2.AnyIOBackend):
    """Makes such connections."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """See `AsyncNetworkBackend`."""
        return JoinedStream(await super().connect_tcp(host, port, timeout, local_address, socket_options))
