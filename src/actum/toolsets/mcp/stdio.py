"""A local MCP server: its messages by the line, what it writes beside them kept apart.

The SDK's own way of doing this reads lines of any length, leaves a request whose answer is malformed without any, and
leaves what the server itself started running when the server ends in time. Here a line is bounded, a malformed answer
is an error for whom it may be meant (`line.py`), and everything that the server started is ended
(`transport/process.py`).

Source: Model Context Protocol, transports, stdio, and lifecycle, shutdown.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from typing import TYPE_CHECKING, TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from ...core.errors import UsageError
from ...core.process.worker_thread import off_loop
from ...protocols.mcp.config import McpServer
from ...sandbox.layers import start
from ...sandbox.process import JailedProcess
from ...transport.egress import Egress
from ...transport.process import ENDING, LEFT_S, Child, Ending, start_child
from .install.package import check_installed
from .jail import OpenedOutside, jail_of, program_of, unfit_for_jail
from .line import messages

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

MESSAGE_BYTES_MAX = 32 * 1024 * 1024
PORTION_BYTES = 4 * 1024
"""The most bytes of a pipe that are read at once: each line of two bytes is some work."""
WORK, BATCH_WORK = 4, 64
"""A line with faults, or a list of messages, is as much work as one message of this many times its length."""
STDERR_BYTES_MAX = 2_000
"""The most bytes that are kept of one line that is written beside the protocol."""

PASSED_ON = ("HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER")
"""What a local server finds of our environment, with all of `LC_*`; the rest is not its business."""

Note: TypeAlias = Callable[[str], None]
Waiting: TypeAlias = dict[int | str, None]
"""The requests that were sent and have no answer, the oldest first."""


@asynccontextmanager
async def process(
    server: McpServer,
    env: Mapping[str, str],
    note: Note,
    ending: Ending = ENDING,
    egress: Egress | None = None,
    outside: OpenedOutside | None = None,
) -> AsyncIterator[TransportStreams]:
    """Start a server and yield the streams of its messages; it has ended when this is left.

    Args:
        env: what it finds in its environment beside `PASSED_ON`.
        note: is told each line that it writes beside the protocol.
        ending: what ends it.
        egress: the operator's rules for outgoing calls, where its jail names hosts.
        outside: is told what the server tries to open outside its jail.

    Raises:
        OSError: it could not be started.
        UsageError: the machine does not hold its jail, or the jail names what is not there or is private.
    """
    async with _started(server, env, note, egress, outside or OpenedOutside()) as child:
        heard, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, said = anyio.create_memory_object_stream[SessionMessage](0)
        async with incoming, outgoing, anyio.create_task_group() as group:
            waiting: Waiting = {}
            group.start_soon(_read, child, heard, note, waiting)
            group.start_soon(_write, child, said, heard, waiting)
            group.start_soon(_overhear, child, note)
            group.start_soon(_watch, child, heard)
            try:
                yield incoming, outgoing
            finally:
                incoming.close()  # what it still has to say is read and dropped, so that it is not stuck in saying it
                outgoing.close()
                with anyio.CancelScope(shield=True):
                    await child.end(ending)
                group.cancel_scope.cancel()


@asynccontextmanager
async def _started(
    server: McpServer, env: Mapping[str, str], note: Note, egress: Egress | None, outside: OpenedOutside
) -> AsyncIterator[Child]:
    """The process of a server, in its jail where it has one. No process of the server is left when this is left."""
    if server.jail is None:
        child = await start_child((server.command, *server.args), env={**_inherited(), **env}, cwd=server.cwd)
        try:  # nothing is awaited between the start and here: a cancellation in between would leave an orphan
            yield child
        finally:
            child.close()  # kills the server where even the end was broken off
        return
    if problem := unfit_for_jail(server):
        raise UsageError(problem)
    await anyio.to_thread.run_sync(check_installed, server, os.environ)
    program = program_of(server)
    command, jail = (str(program), *server.args), jail_of(server, program, env)
    async with start(command, jail, cwd=server.cwd, egress=egress) as jailed:
        try:
            with outside.of_server(jailed):
                yield jailed.child
        finally:
            if jailed.child.exited.is_set():
                _note_end(jailed, note)


def _note_end(jailed: JailedProcess, note: Note) -> None:
    """Say why a server in a jail ended, where its jail was the reason."""
    try:
        report = jailed.report()
    except UsageError as error:
        note(str(error))
        return
    if report.limit:
        note(f"(it was ended at the limit {report.limit} of its jail)")


def _inherited() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name in PASSED_ON or name.startswith("LC_")}


# Messages -------------------------------------------------------------------------------------------------------------


class LineCutter:
    """Cuts bytes into lines of bounded length, in linear time.

    Args:
        most: the most bytes of one line.
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
        if ends:
            self._add(ends[0])
            lines = [(b"".join(self._parts), self._size <= self._most)]
            lines += [(end[: self._most], len(end) <= self._most) for end in ends[1:]]
            self._parts, self._size = [], 0
        self._add(rest)
        return lines

    def _add(self, piece: bytes) -> None:
        if piece and self._size < self._most:
            self._parts.append(piece[: self._most - self._size])
        self._size += len(piece)


# The three pipes ------------------------------------------------------------------------------------------------------


async def _read(
    child: Child, heard: MemoryObjectSendStream[SessionMessage | Exception], note: Note, waiting: Waiting
) -> None:
    async with heard, aclosing(_lines(child.stdout, LineCutter(MESSAGE_BYTES_MAX))) as lines:
        async for line, is_whole in lines:
            if not line.strip():
                continue
            work = BATCH_WORK if line.lstrip().startswith(b"[") else WORK
            try:
                said = await off_loop(work * len(line), messages, line, tuple(waiting), is_whole=is_whole)
            except ValueError as error:
                note(f"(not in the protocol: {error}) {_text(line)}")
                continue
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # nobody listens any more
                for message in said:
                    if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
                        waiting.pop(coerce_request_id(message.id), None)
                    await heard.send(SessionMessage(message))


async def _lines(pipe: asyncio.StreamReader, cutter: LineCutter) -> AsyncGenerator[tuple[bytes, bool]]:
    """The lines of a pipe, as `LineCutter` tells them. All others have a turn after each that says anything."""
    while data := await pipe.read(PORTION_BYTES):
        for line in cutter.feed(data):
            yield line
            if line[0].strip():
                await asyncio.sleep(0)
        await asyncio.sleep(0)


async def _write(
    child: Child,
    said: MemoryObjectReceiveStream[SessionMessage],
    heard: MemoryObjectSendStream[SessionMessage | Exception],
    waiting: Waiting,
) -> None:
    try:
        async with said:
            async for each in said:
                match each.message:
                    case JSONRPCRequest(id=request):
                        waiting[coerce_request_id(request)] = None
                    case JSONRPCNotification(method="notifications/cancelled", params=dict(params)):
                        waiting.pop(coerce_request_id(params.get("requestId", "")), None)
                    case _:
                        pass
                line = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                child.stdin.write(line.encode("utf-8", "replace") + b"\n")
                await child.stdin.drain()
    except OSError:  # it does not listen any more
        await heard.aclose()


async def _overhear(child: Child, note: Note) -> None:
    cutter = LineCutter(STDERR_BYTES_MAX)
    async with aclosing(_lines(child.stderr, cutter)) as lines:
        async for line, _ in lines:
            note(_text(line))
    for line, _ in cutter.feed(b"\n"):
        if line:
            note(_text(line))


def _text(line: bytes) -> str:
    return line[:STDERR_BYTES_MAX].decode("utf-8", "replace").rstrip("\r")


async def _watch(child: Child, heard: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
    """Tell those who wait for a server that it has ended, even if another process holds its pipes."""
    await child.exited.wait()
    await anyio.sleep(LEFT_S)  # what it said last is still to be read
    await heard.aclose()
