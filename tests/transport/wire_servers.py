"""Real servers for tests of outgoing calls: one that says any bytes, with and without TLS, a proxy, a name server."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import ipaddress
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import cast

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Answers = Callable[[bytes, bytes], bytes]
"""What a server says, by the head of a request and its body."""


class WireServer:
    """What a server saw.

    Attributes:
        port: where it listens.
        connections: the heads of the requests of each connection.
        bodies: of the requests, in their order.
    """

    def __init__(self) -> None:
        self.port = 0
        self.connections: list[list[str]] = []
        self.bodies: list[bytes] = []

    @property
    def heads(self) -> list[str]:
        """The heads of all requests."""
        return [head for heads in self.connections for head in heads]


def said(body: bytes = b"", status: str = "200 OK", *more: str) -> bytes:
    """An answer that is well formed."""
    return "\r\n".join([f"HTTP/1.1 {status}", f"content-length: {len(body)}", *more, "", ""]).encode("latin-1") + body


def always(answer: bytes) -> Answers:
    """Says the same to everybody."""
    return lambda head, body: answer


def first(answer: bytes, then: bytes) -> Answers:
    """Says one thing at the path `/first`, and another everywhere else."""
    return lambda head, body: answer if b"/first" in head else then


@contextlib.asynccontextmanager
async def listening(
    handle: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
    context: ssl.SSLContext | None = None,
) -> AsyncIterator[int]:
    """A server on this machine; its port. At the end of the block its connections are closed."""
    tasks: set[asyncio.Task[None]] = set()

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await handle(reader, writer)
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        tasks.discard(task)

    server = await asyncio.start_server(one, "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextlib.asynccontextmanager
async def wire_server(answers: Answers, context: ssl.SSLContext | None = None) -> AsyncIterator[WireServer]:
    """A server that answers with any bytes; it hangs up after an answer that says `connection: close`."""
    seen = WireServer()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        mine: list[str] = []
        seen.connections.append(mine)
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            mine.append(head.decode("latin-1"))
            body = await reader.readexactly(length_of(head))
            seen.bodies.append(body)
            answer = answers(head, body)
            writer.write(answer)
            await writer.drain()
            if b"connection: close" in answer.lower():
                return

    async with listening(handle, context) as seen.port:
        yield seen


def length_of(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return 0


def certificate(folder: Path, *names: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A certificate made for a test: the context of a server that has it, and of a client that trusts it."""
    private, public = key_pair(*names)
    file = folder / "server.pem"
    file.write_text(private + public)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(file)
    return server, ssl.create_default_context(cadata=public)


def key_pair(*names: str, password: bytes = b"") -> tuple[str, str]:
    """A private key and the certificate with it, as PEM; the common name is the first of the names."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0] if names else "test")])
    now = datetime.datetime.now(datetime.UTC)
    alternatives = [
        x509.IPAddress(ipaddress.ip_address(name)) if name[0].isdigit() else x509.DNSName(name) for name in names
    ]
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    closed = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, closed)
    return private.decode(), made.public_bytes(pem).decode()


@contextlib.asynccontextmanager
async def proxy(
    places: Mapping[str, tuple[str, int]], password: str = "", extra: bytes = b""
) -> AsyncIterator[WireServer]:
    """A proxy that knows where names lead.

    Args:
        places: by `host:port`, where a connection is made to.
        password: what `Proxy-Authorization` has to be; empty for nothing.
        extra: what the proxy says after it has agreed to a tunnel.
    """
    seen = WireServer()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        seen.connections.append([head.decode("latin-1")])
        method, target, *_ = head.decode("latin-1").split(" ")
        name = target.removeprefix("http://").partition("/")[0]
        there = places.get(name) or places.get(f"{name}:80")
        if password and f"proxy-authorization: {password}".lower() not in head.decode("latin-1").lower():
            writer.write(said(b"", "407 Proxy Authentication Required"))
        elif there is None:
            writer.write(said(b"", "403 Forbidden"))
        else:
            coming, going = await asyncio.open_connection(*there)
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n" + extra)
            else:
                going.write(head)
            await asyncio.gather(_pump(reader, going), _pump(coming, writer))

    async with listening(handle) as seen.port:
        yield seen


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


class _NameServer(asyncio.DatagramProtocol):
    def __init__(self, answers: Sequence[str]) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        question, name = data[12:], []
        at = 0
        while question[at]:
            name.append(question[at + 1 : at + 1 + question[at]].decode())
            at += question[at] + 1
        self.asked.append(".".join(name))
        address = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        answer = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 0, 4) + ipaddress.IPv4Address(address).packed
        self._transport.sendto(data[:2] + struct.pack("!HHHHH", 0x8180, 1, 1, 0, 0) + question + answer, addr)


class _Asking(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self.answer.set_result(data)


@contextlib.asynccontextmanager
async def name_server(*answers: str) -> AsyncIterator[tuple[Callable[[str, int], Awaitable[list[str]]], list[str]]]:
    """A name server with a time to live of 0 that answers each question with the next of these addresses, and the last
    again and again; what asks it, and what it was asked.
    """
    loop = asyncio.get_running_loop()
    transport, server = await loop.create_datagram_endpoint(lambda: _NameServer(answers), ("127.0.0.1", 0))
    place = transport.get_extra_info("sockname")

    async def resolve(host: str, port: int) -> list[str]:
        asking, client = await loop.create_datagram_endpoint(_Asking, remote_addr=place)
        labels = b"".join(bytes([len(label)]) + label.encode() for label in host.split("."))
        asking.sendto(struct.pack("!HHHHHH", 7, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack("!HH", 1, 1))
        answer = await client.answer
        asking.close()
        return [str(ipaddress.IPv4Address(answer[-4:]))]

    try:
        yield resolve, server.asked
    finally:
        transport.close()
