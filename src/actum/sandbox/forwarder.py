"""The forwarder: an HTTP proxy on this machine, by which a command in a jail reaches the hosts that were allowed.

    command in its jail ── launcher connects ── forwarder ── guard of the egress rules ── host

Each request names its host. The forwarder compares the name with the hosts of the jail, and asks `transport.guard`,
which looks the name up once and gives the IP addresses; the connection goes to one of these. So a name that leads into
a private network, or to another address the second time, opens nothing. An answer that redirects is handed to the
command, whose next request is judged like each other.

Limit: what goes through a connection with TLS can't be seen from here. An allowed host can be told anything that the
command can read.
"""

from __future__ import annotations

import asyncio
import base64
import hmac
import re
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple
from urllib.parse import urlsplit

from ..transport.egress import Destination, Proxy
from ..transport.guard import AddressRefused, Guard
from ..transport.http import HttpFailure
from .jail import host_rules

HEAD_BYTES_MAX = 64 * 1024
HEAD_S_MAX = 10.0
CONNECT_S_MAX = 10.0
CONNECTIONS_MAX = 64
CHUNK = 65_536
USER = "jail"

_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n\0]*)")
_REQUEST = re.compile(rb"([A-Z]{1,20}) ([\x21-\x7e]{1,8192}) HTTP/1\.[01]")
_OF_THE_HOP = frozenset({b"host", b"connection", b"keep-alive", b"proxy-connection", b"upgrade"})


class _Refused(Exception):
    """The request is not carried out; the command is told the status and the words."""

    def __init__(self, status: str, words: str) -> None:
        super().__init__(words)
        self.status = status


class _Asked(NamedTuple):
    """What a request wants: the destinations that it may mean, and the bytes that the host gets first."""

    destinations: tuple[Destination, ...]
    begin: bytes
    is_tunnel: bool


class Forwarder:
    """Listens on this machine for the one command that knows its password.

    Args:
        hosts: the hosts of the jail.
        guard: the operator's rules for outgoing calls, which hold beside the hosts.
    """

    def __init__(self, hosts: Sequence[str], guard: Guard) -> None:
        self._rules = host_rules(hosts)
        self._guard = guard
        self._password = secrets.token_urlsafe(24)
        pair = f"{USER}:{self._password}".encode()
        self._authorization = b"Basic " + base64.b64encode(pair)
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which programs find the forwarder."""
        address = f"http://{USER}:{self._password}@127.0.0.1:{self.port}"
        names = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
        return {**dict.fromkeys(names, address), "NODE_USE_ENV_PROXY": "1"}

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """A block in which the forwarder listens. All its connections end with the block."""
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=HEAD_BYTES_MAX)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._serve(reader, writer)
        except (OSError, asyncio.CancelledError):
            pass  # a side has gone, or the jail has ended; nobody waits for this task
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if len(self._tasks) > CONNECTIONS_MAX:
                raise _Refused("503 Service Unavailable", f"at most {CONNECTIONS_MAX} connections are open at a time")
            asked = self._read(await _head(reader))
            outside, outside_writer = await self._reach(asked)
        except _Refused as refused:
            words = f"{refused}\n".encode("ascii", "replace")
            head = f"HTTP/1.1 {refused.status}\r\nContent-Type: text/plain\r\nContent-Length: {len(words)}\r\n"
            head += 'Proxy-Authenticate: Basic realm="jail"\r\n' if refused.status.startswith("407") else ""
            writer.write(f"{head}Connection: close\r\n\r\n".encode() + words)
            await writer.drain()
            return
        try:
            if asked.is_tunnel:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            outside_writer.write(asked.begin)
            await asyncio.gather(_pass_on(reader, outside_writer), _pass_on(outside, writer))
        finally:
            outside_writer.close()

    def _read(self, head: bytes) -> _Asked:
        """What the head of a request wants.

        Raises:
            _Refused: nothing that is carried out.
        """
        first, *lines = head.split(b"\r\n")
        request = _REQUEST.fullmatch(first)
        headers = [_HEADER.fullmatch(line) for line in lines]
        if request is None or None in headers:
            raise _Refused("400 Bad Request", "this is a proxy: a request of HTTP/1.1 was expected")
        fields = [(found[1], found[2].strip()) for found in headers if found is not None]
        given = [value for name, value in fields if name.lower() == b"proxy-authorization"]
        if len(given) != 1 or not hmac.compare_digest(given[0], self._authorization):
            raise _Refused("407 Proxy Authentication Required", "the password of HTTP_PROXY is missing")
        method, target = request[1], request[2].decode("ascii")
        try:
            if method == b"CONNECT":
                parts = urlsplit(f"//{target}")
                port, is_plain = parts.port, not (parts.path or parts.query or parts.username)
                if not parts.hostname or port is None or not is_plain:
                    raise ValueError(target)
                return _Asked((self._judged("https", target), self._judged("http", target)), b"", is_tunnel=True)
            parts = urlsplit(target)
            if parts.scheme != "http" or not parts.hostname or "@" in parts.netloc:
                raise ValueError(target)
        except ValueError:
            raise _Refused("400 Bad Request", "an address such as http://example.com/ was expected") from None
        to = self._judged("http", parts.netloc)
        path = target[len(parts.scheme) + len("://") + len(parts.netloc) :].partition("#")[0]
        path = path if path.startswith("/") else f"/{path}"
        kept = [
            name + b": " + value
            for name, value in fields
            if name.lower() not in _OF_THE_HOP and not name.lower().startswith(b"proxy-")
        ]
        begin = [method + b" " + path.encode() + b" HTTP/1.1", b"Host: " + to.authority.encode(), b"Connection: close"]
        return _Asked((to,), b"\r\n".join([*begin, *kept]) + b"\r\n\r\n", is_tunnel=False)

    def _judged(self, scheme: str, authority: str) -> Destination:
        """Where an address leads, in its one plain form.

        Raises:
            _Refused: the address is not well formed.
        """
        try:
            return self._guard.destination(f"{scheme}://{authority}/")
        except AddressRefused as error:
            raise _Refused("400 Bad Request", str(error)) from None

    async def _reach(self, asked: _Asked) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to the first of the destinations that the jail allows.

        Raises:
            _Refused: none may be reached, or none was.
        """
        to = next((each for each in asked.destinations if any(rule.fits(each) for rule in self._rules)), None)
        if to is None:
            wanted = asked.destinations[0]
            why = f"{wanted.host} port {wanted.port} is not one of the hosts that this jail allows"
            self._guard.egress.note(str(wanted), why)
            raise _Refused("403 Forbidden", why)
        try:
            self._guard.judge(f"{to}/")
            proxy = self._guard.proxy(to)
            found = await (self._guard.look_up(to) if proxy is None else self._guard.addresses_of(proxy))
        except AddressRefused as error:
            raise _Refused("403 Forbidden", str(error)) from None
        except (HttpFailure, OSError) as error:
            raise _Refused("502 Bad Gateway", f"{to.host}: {error}") from None
        for address in found:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(CONNECT_S_MAX):
                    port = to.port if proxy is None else proxy.at.port
                    reader, writer = await asyncio.open_connection(address, port, limit=HEAD_BYTES_MAX)
                    if proxy is not None:
                        await _through(proxy, to, reader, writer)
                    return reader, writer
        raise _Refused("502 Bad Gateway", f"{to.host} can not be reached")


async def _head(reader: asyncio.StreamReader) -> bytes:
    """The head of a request, without its end.

    Raises:
        _Refused: none came in time, or the head is too long.
    """
    try:
        async with asyncio.timeout(HEAD_S_MAX):
            return (await reader.readuntil(b"\r\n\r\n"))[:-4]
    except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        raise _Refused("400 Bad Request", "the head of a request was expected") from None


async def _through(proxy: Proxy, to: Destination, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Have the proxy of the egress rules connect to a destination.

    Raises:
        OSError: the proxy did not connect.
    """
    host = f"[{to.host}]" if ":" in to.host else to.host
    lines = [f"CONNECT {host}:{to.port} HTTP/1.1", f"Host: {host}:{to.port}"]
    lines += [f"Proxy-Authorization: {proxy.authorization}"] if proxy.authorization else []
    writer.write("\r\n".join([*lines, "", ""]).encode("ascii"))
    try:
        answer = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        answer = b""
    if answer.split(b" ", 2)[1:2] != [b"200"]:
        writer.close()
        raise ConnectionError("the proxy of [egress] did not connect")


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
    except OSError:
        writer.close()  # the other direction ends with it
