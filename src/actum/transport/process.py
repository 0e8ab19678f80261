"""A child process: its start in a group of its own, its three pipes, and its end with everything that it started.

What a child starts usually stays in the group of the child, and a group is ended by one signal. A grandchild that made
a group of its own is found in two more ways, where the machine has `/proc`: it stands below the child in the tree of
processes, or it carries the mark that each child finds in its environment (`process_tree.MARK`).

A child does not outlive this process, also where this process is killed with -9: `process_keeper.py`.

This module knows nothing of what the pipes carry. MCP's messages are in `toolsets/mcp/stdio.py`.

Limits: a grandchild that has a group of its own, has lost its parent, and has cleared its environment is not found.
Without `/proc` (macOS) only the group is ended. A jail (`sandbox/`) has no such gaps.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import signal
from asyncio.subprocess import SubprocessStreamProtocol
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import anyio

from .process_keeper import KEEPER
from .process_tree import KILL, MARK, descendants, marked, send, signal_group, start_of

log = logging.getLogger("actum.process")

CHUNK = 65_536

Ending: TypeAlias = Sequence[tuple[signal.Signals | None, float]]
ENDING: Ending = ((None, 2.0), (signal.SIGTERM, 2.0), (KILL, 2.0))
"""How a child is ended, and the seconds that each step is given: its input is closed, then its group is signalled."""
KILLED_S = 2.0
"""Seconds for the end of a child that was killed."""
LEFT_S = 0.5
"""Seconds for the rest of a group when the child itself has ended: a zombie of a grandchild may be all."""
POLL_S = 0.01
ROUNDS = 20
"""How often strays are looked for again, as a stray may start another while it is being killed."""


class Child:
    """A child process that is running or has ended.

    Attributes:
        stdin: what is written here the child reads.
        stdout: what the child writes.
        stderr: what the child writes beside that.
        exited: is set when the child itself has ended, also while a grandchild still holds the pipes.
    """

    def __init__(self, transport: asyncio.SubprocessTransport, protocol: _Protocol, mark: str) -> None:
        loop = asyncio.get_running_loop()
        process = asyncio.subprocess.Process(transport, protocol, loop)
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise TypeError("a child has three pipes")
        self.stdin, self.stdout, self.stderr = process.stdin, process.stdout, process.stderr
        self.exited = protocol.exited
        self._transport = transport
        self._mark = mark

    @property
    def pid(self) -> int:
        """The number of the child's process and of its group."""
        return self._transport.get_pid()

    @property
    def returncode(self) -> int | None:
        """The exit code; negative for a signal; None while the child runs."""
        return self._transport.get_returncode()

    async def end(self, ending: Ending = ENDING) -> None:
        """Close the child's input, signal its group until nothing of it is left, and kill what left the group.

        Where this is cancelled, such as by an event loop that ends, the child is killed, and its end is waited for.

        Args:
            ending: how the child is ended.
        """
        try:
            await self._end(ending)
        except asyncio.CancelledError:
            self.close()
            with anyio.move_on_after(KILLED_S, shield=True):
                await self.exited.wait()
            raise

    async def _end(self, ending: Ending) -> None:
        strays = descendants(self.pid)
        self.stdin.close()
        for sign, seconds in ending:
            if sign is not None:
                strays |= descendants(self.pid)
                signal_group(self.pid, sign)
            with anyio.move_on_after(LEFT_S if self.exited.is_set() else seconds):
                await self.exited.wait()
                while sign is not None and signal_group(self.pid, None):  # noqa: ASYNC110 - nobody tells of a group's end
                    await anyio.sleep(POLL_S)
            if self.exited.is_set() and not signal_group(self.pid, None):
                break
        else:
            log.warning("process %d does not end", self.pid)
        await self._kill_strays(strays)

    async def _kill_strays(self, known: set[tuple[int, str]]) -> None:
        for _ in range(ROUNDS):
            left = {stray for stray in known if start_of(stray[0]) == stray[1]} | (
                marked(self._mark) if self._mark else set()
            )
            if not left:
                return
            for pid, _start in left:
                send(pid, KILL)
            await anyio.sleep(POLL_S)
        log.warning("what process %d started does not end", self.pid)

    def close(self) -> None:
        """Let go of the child, at once: it is killed if it runs, and the pipes are closed."""
        if not self.exited.is_set():
            for pid, _ in descendants(self.pid):
                send(pid, KILL)
            signal_group(self.pid, KILL)
        for fd in range(3):  # a grandchild may hold the pipes open for ever
            pipe = self._transport.get_pipe_transport(fd)
            if pipe is not None:
                pipe.close()
        KEEPER.remove(self.pid)
        if self.exited.is_set():  # before, `close` would take the exit code away
            self._transport.close()


async def start_child(
    command: Sequence[str], *, env: Mapping[str, str], cwd: str = "", marked: bool = True, limit: int = CHUNK
) -> Child:
    """Start a process in a group of its own.

    Args:
        command: the program and its arguments.
        env: the whole environment of the child.
        cwd: the folder that the child starts in; empty for ours.
        marked: the child and what it starts carry `MARK`. A launcher needs no mark that ends its own tree, also when it
            loses its parent.
        limit: the most bytes that are buffered before the pipes are read.

    Returns:
        The child. The caller calls `end`, and `close` in any case.

    Raises:
        OSError: it could not be started.
    """
    loop = asyncio.get_running_loop()
    mark = secrets.token_hex(12) if marked else ""
    given = {**env, MARK: mark} if mark else dict(env)
    starting = asyncio.ensure_future(
        loop.subprocess_exec(
            lambda: _Protocol(loop, limit), *command, env=given, cwd=cwd or None, start_new_session=True
        )
    )
    try:
        transport, protocol = await asyncio.shield(starting)
    except asyncio.CancelledError:
        # A cancellation takes effect when the child has started: broken off halfway, asyncio would wait for ever for
        # the end of a process to which it has not yet connected.
        with anyio.CancelScope(shield=True):
            await asyncio.wait([starting])
            if starting.exception() is None:
                transport, protocol = starting.result()
                signal_group(transport.get_pid(), KILL)
                await protocol.exited.wait()
                transport.close()
        raise
    KEEPER.add(transport.get_pid(), mark)
    return Child(transport, protocol, mark)


class _Protocol(SubprocessStreamProtocol):
    """Asyncio's own, and an event that tells of the end: its `wait` may also wait for pipes that a grandchild holds."""

    def __init__(self, loop: asyncio.AbstractEventLoop, limit: int) -> None:
        super().__init__(limit=limit, loop=loop)
        self.exited = asyncio.Event()

    def process_exited(self) -> None:
        super().process_exited()
        self.exited.set()
