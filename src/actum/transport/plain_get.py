"""A bare `GET` from a server on this machine: no key, no cookie, no proxy, no redirect, nothing of the user's.

It is for looking who listens on a port of the loopback, where anything may listen. `transport.http` is for servers that
were named; it takes a tenth of a second to load, which is as long as a look may take.
"""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from ..core.errors import UsageError

BODY_BYTES_MAX = 1024 * 1024
LOOPBACK = ("127.0.0.1", "::1", "localhost")


async def plain_get(url: str) -> bytes | None:
    """The body of an answer with status 200; None for anything else. The caller sets the time.

    Args:
        url: `http://`, on this machine.

    Raises:
        UsageError: the address is not on this machine, or not `http://`.
    """
    address = urlsplit(url)
    if address.scheme != "http" or address.hostname not in LOOPBACK:
        raise UsageError("{url} is no http:// address on this machine", url=url[:80])
    try:
        reader, writer = await asyncio.open_connection(address.hostname, address.port or 80, limit=BODY_BYTES_MAX)
    except OSError:
        return None
    try:
        # HTTP/1.0, so that the body ends with the connection and comes in no chunks.
        head = f"GET {address.path} HTTP/1.0\r\nHost: {address.netloc}\r\nAccept: application/json\r\n\r\n"
        writer.write(head.encode("ascii"))
        return _body(await _whole(reader))
    except (OSError, ValueError, asyncio.IncompleteReadError):
        return None
    finally:
        writer.close()


async def _whole(reader: asyncio.StreamReader) -> bytes:
    """All that is said until the server hangs up, or until the length that it told."""
    said = b""
    while len(said) <= BODY_BYTES_MAX:
        piece = await reader.read(65536)
        said += piece
        head, _, body = said.partition(b"\r\n\r\n")
        if not piece or len(body) >= _length(head):
            return said
    raise ValueError("too long")


def _length(head: bytes) -> float:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            return int(value)
    return float("inf")


def _body(said: bytes) -> bytes | None:
    head, mark, body = said.partition(b"\r\n\r\n")
    status = head.split(b"\r\n", 1)[0].split(b" ")
    if not mark or not status[0].startswith(b"HTTP/1.") or status[1:2] != [b"200"]:
        return None
    if b"transfer-encoding: chunked" in head.lower():
        return _joined(body)
    return body


def _joined(chunks: bytes) -> bytes:
    """The body of an answer that comes in chunks all the same (RFC 9112 section 7.1)."""
    whole = b""
    while chunks:
        size, _, rest = chunks.partition(b"\r\n")
        length = int(size.split(b";")[0], 16)
        if length <= 0:
            break
        whole, chunks = whole + rest[:length], rest[length + 2 :]
    return whole
