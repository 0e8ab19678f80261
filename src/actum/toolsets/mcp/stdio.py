"""A local MCP server: a process of its own group, its messages by the line, what it writes beside them kept apart.

The SDK's own way of doing this reads lines of any length, leaves a request whose answer is malformed without any, and
leaves what the server itself started running when the server ends in time. Here a line is bounded, a malformed answer
is an error for the request that it names, and the whole group is ended.

Limits: what a server starts in a group of its own is not found.

Source: Model Context Protocol, transports, stdio, and lifecycle, shutdown.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
from asyncio.subprocess import Process, SubprocessStreamProtocol
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, TypeAlias

import anyio
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCMessage, jsonrpc_message_adapter

from ...protocols.mcp.config import McpServer

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

log = logging.getLogger("actum.mcp")

MESSAGE_BYTES_MAX = 32 * 1024 * 1024
STDERR_BYTES_MAX = 2_000
"""So much of one line that is written beside the protocol is kept."""
CHUNK = 65_536

PASSED_ON = ("HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER")
"""What a local server finds of our environment, with all of `LC_*`; the rest is not its business."""

Note: TypeAlias = Callable[[str], None]
Ending: TypeAlias = Sequence[tuple[signal.Signals | None, float]]
ENDING: Ending = ((None, 2.0), (signal.SIGTERM, 2.0), (signal.SIGKILL, 2.0))
"""What ends a server, and how many seconds that is given: its input is closed, then its group is sent signals."""
LEFT_S = 0.5
"""Seconds for what is left of its group when the server itself has ended: a zombie of a grandchild may be all."""
POLL_S = 0.01

_ID = re.compile(rb'"id"\s*:\s*(\d{1,15}|"[^"\\]{0,128}")')


@asynccontextmanager
async def process(
    server: McpServer, env: Mapping[str, str], note: Note, ending: Ending = ENDING
) -> AsyncIterator[TransportStreams]:
    """Start a server and yield the streams of its messages; it has ended when this is left.

    Args:
        env: what it finds in its environment beside `PASSED_ON`.
        note: is told each line that it writes beside the protocol.
        ending: what ends it.

    Raises:
        OSError: it could not be started.
    """
    loop = asyncio.get_running_loop()
    transport, protocol = await _start(server, {**_inherited(), **env})
    child = Process(transport, protocol, loop)
    try:  # nothing is awaited between the start and here: a cancellation in between would leave an orphan
        heard, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, said = anyio.create_memory_object_stream[SessionMessage](0)
        async with incoming, outgoing, anyio.create_task_group() as group:
            group.start_soon(_read, child, heard, note)
            group.start_soon(_write, child, said, heard)
            group.start_soon(_overhear, child, note)
            group.start_soon(_watch, protocol.exited, heard)
            try:
                yield incoming, outgoing
            finally:
                incoming.close()  # what it still has to say is read and dropped, so that it is not stuck in saying it
                outgoing.close()
                with anyio.CancelScope(shield=True):
                    await _end(child, protocol.exited, ending)
                group.cancel_scope.cancel()
    finally:
        if not protocol.exited.is_set():  # even the end was broken off
            _signal(child.pid, signal.SIGKILL)
        transport.close()  # a grandchild may hold the pipes open for ever


async def _start(server: McpServer, env: Mapping[str, str]) -> tuple[asyncio.SubprocessTransport, _Protocol]:
    """Start it. What cancels this is heard when it has started: broken off halfway, asyncio would wait for ever for the
    end of a process that it has not yet connected to.
    """
    loop = asyncio.get_running_loop()
    starting = asyncio.ensure_future(
        loop.subprocess_exec(
            lambda: _Protocol(loop),
            server.command,
            *server.args,
            env=env,
            cwd=server.cwd or None,
            start_new_session=True,
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with anyio.CancelScope(shield=True):
            await asyncio.wait([starting])
            if starting.exception() is None:
                transport, protocol = starting.result()
                _signal(transport.get_pid(), signal.SIGKILL)
                await protocol.exited.wait()
                transport.close()
        raise


class _Protocol(SubprocessStreamProtocol):
    """Asyncio's own, and an event that tells of the end: its `wait` may also wait for pipes that a grandchild holds."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(limit=CHUNK, loop=loop)
        self.exited = asyncio.Event()

    def process_exited(self) -> None:
        super().process_exited()
        self.exited.set()


def _inherited() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name in PASSED_ON or name.startswith("LC_")}


# Messages -------------------------------------------------------------------------------------------------------------


class LineCutter:
    """Cuts bytes into lines of bounded length, in linear time.

    Args:
        most: so many bytes may one line have.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[tuple[bytes, bool]]:
        """The lines that are complete now, without their ends, and whether each is whole: one that is too long is not,
        and only its beginning is here.

        >>> LineCutter(4).feed(b"ab\\nabcdef\\nc")
        [(b'ab', True), (b'abcd', False)]
        """
        *ends, rest = data.split(b"\n")
        lines = []
        for end in ends:
            self._add(end)
            lines.append((b"".join(self._parts), self._size <= self._most))
            self._parts, self._size = [], 0
        self._add(rest)
        return lines

    def _add(self, piece: bytes) -> None:
        if piece and self._size < self._most:
            self._parts.append(piece[: self._most - self._size])
        self._size += len(piece)


def messages(line: bytes, *, is_whole: bool = True) -> list[JSONRPCMessage]:
    """What a line says. An answer that is none becomes an error for the request that it names.

    Raises:
        ValueError: it says nothing that anybody waits for.

    >>> messages(b'{"jsonrpc": "2.0", "id": 3, "result": [1]}')[0].id
    3
    """
    if not is_whole:
        found = _ID.search(line[:512])
        if found is None:
            raise ValueError("a message that is too long")
        return [_malformed(msgspec.json.decode(found.group(1)), "too long")]
    try:
        return [jsonrpc_message_adapter.validate_json(line, by_name=False)]
    except ValueError:
        pass
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        raise ValueError("no JSON") from None
    if isinstance(value, list):  # a batch, as 2025-03-26 has it
        return [message for item in value for message in messages(msgspec.json.encode(item))]
    if isinstance(value, dict) and "method" not in value and isinstance(value.get("id"), int | str):
        return [_malformed(value["id"], "malformed")]
    raise ValueError("no message")


def _malformed(request: int | str, how: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=request, error=ErrorData(code=PARSE_ERROR, message=how))


# The three pipes ------------------------------------------------------------------------------------------------------


async def _read(child: Process, heard: MemoryObjectSendStream[SessionMessage | Exception], note: Note) -> None:
    assert child.stdout is not None
    lines = LineCutter(MESSAGE_BYTES_MAX)
    async with heard:
        while data := await child.stdout.read(CHUNK):
            for line, is_whole in lines.feed(data):
                if not line.strip():
                    continue
                try:
                    said = messages(line, is_whole=is_whole)
                except ValueError as error:
                    note(f"(not in the protocol: {error}) {_text(line)}")
                    if not is_whole:
                        return  # nobody knows who waits for it: all that wait hear that the connection is over
                    continue
                with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # nobody listens any more
                    for message in said:
                        await heard.send(SessionMessage(message))


async def _write(
    child: Process,
    said: MemoryObjectReceiveStream[SessionMessage],
    heard: MemoryObjectSendStream[SessionMessage | Exception],
) -> None:
    assert child.stdin is not None
    try:
        async with said:
            async for each in said:
                line = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                child.stdin.write(line.encode("utf-8", "replace") + b"\n")
                await child.stdin.drain()
    except OSError:  # it does not listen any more
        await heard.aclose()


async def _overhear(child: Process, note: Note) -> None:
    assert child.stderr is not None
    lines = LineCutter(STDERR_BYTES_MAX)
    while data := await child.stderr.read(CHUNK):
        for line, _ in lines.feed(data):
            note(_text(line))
    for line, _ in lines.feed(b"\n"):
        if line:
            note(_text(line))


def _text(line: bytes) -> str:
    return line[:STDERR_BYTES_MAX].decode("utf-8", "replace").rstrip("\r")


async def _watch(exited: asyncio.Event, heard: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
    """Whoever waits for a server that has ended hears of it, also when somebody else holds its pipes."""
    await exited.wait()
    await anyio.sleep(LEFT_S)  # what it said last is still to be read
    await heard.aclose()


# The end --------------------------------------------------------------------------------------------------------------


async def _end(child: Process, exited: asyncio.Event, ending: Ending) -> None:
    """Close its input, and send its group signals until nothing of it is left."""
    assert child.stdin is not None
    child.stdin.close()
    for sign, seconds in ending:
        if sign is not None:
            _signal(child.pid, sign)
        with anyio.move_on_after(LEFT_S if exited.is_set() else seconds):
            await exited.wait()
            while sign is not None and _signal(child.pid, None):  # noqa: ASYNC110 - nobody tells of a group's end
                await anyio.sleep(POLL_S)
        if exited.is_set() and not _signal(child.pid, None):
            return
    log.warning("MCP server %d does not end", child.pid)


def _signal(group: int, sign: signal.Signals | None) -> bool:
    """Send a signal to a group, or none, and tell whether there is anything left of it."""
    try:
        os.killpg(group, sign or 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's by now, or a zombie
        return False
    return True
