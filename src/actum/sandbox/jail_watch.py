"""`JailWatch`: what a command and all that it started use up, on a machine where no launcher of ours counts it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeAlias

from msgspec import Struct

from ..transport.process import Child
from ..transport.process_tree import signal_group
from .disk_use import lying_in
from .jail import JailLimits

PS = ("/bin/ps", "-axo", "pid=,ppid=,pgid=,rss=,time=,lstart=")
ROUNDS = 50
"""How often the remaining processes are killed, as a process may start another while it is being killed."""


class ProcessLine(Struct, frozen=True):
    """A process.

    Attributes:
        pid, parent, group: numbers of processes.
        memory_bytes: what it holds in memory now.
        cpu_seconds: what it has used.
        begun: when it was started, since a number may be given again.
    """

    pid: int
    parent: int
    group: int
    memory_bytes: int
    cpu_seconds: float
    begun: str


ProcessTable: TypeAlias = Callable[[], Sequence[ProcessLine]]


def processes_of_ps() -> list[ProcessLine]:
    """All processes of this machine, as `ps` lists them.

    Raises:
        OSError: there is no `ps`.
    """
    found = subprocess.run(PS, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=10)
    return read_ps(found.stdout.decode("utf-8", "replace"))


def read_ps(text: str) -> list[ProcessLine]:
    """The lines of `ps -axo pid=,ppid=,pgid=,rss=,time=,lstart=`; those that can't be read are left out."""
    found = []
    for line in text.splitlines():
        words = line.split(None, 5)
        with suppress(ValueError):
            pid, parent, group, kib = (int(word) for word in words[:4])
            found.append(ProcessLine(pid, parent, group, kib * 1024, _seconds(words[4]), words[5].strip()))
    return found


def _seconds(text: str) -> float:
    """`12:34.56`, `1:02:03` or `2-01:02:03` in seconds."""
    days, _, clock = text.rpartition("-")
    seconds = 0.0
    for part in clock.split(":"):
        seconds = seconds * 60.0 + float(part)
    return seconds + float(days or 0) * 86_400.0


class JailWatch:
    """Counts what a command uses up, and ends the command at a limit.

    What was once seen below the command belongs to it, also when its own parent has ended since.

    Args:
        child: the command.
        limits: what it may use up.
        folders: where what it writes is counted.
        table: lists the processes.

    Attributes:
        over: is set when the command and all that it started have ended.
        limit: the limit that ended the command; empty for none.
        cpu_seconds: what all its processes have used.
        memory_bytes: the most memory that was seen in use.
    """

    def __init__(self, child: Child, limits: JailLimits, folders: Sequence[str], table: ProcessTable) -> None:
        self.over = asyncio.Event()
        self.limit = ""
        self.memory_bytes = 0
        self._child, self._limits, self._folders, self._table = child, limits, folders, table
        self._known: dict[tuple[int, str], float] = {}

    @property
    def cpu_seconds(self) -> float:
        """What all processes of the command have used, as far as they were seen."""
        return sum(self._known.values())

    async def until_end(self, tick_s: float) -> None:
        """Look again and again until the command has ended; then end what it left behind."""
        until = time.monotonic() + self._limits.seconds
        try:
            while not self._child.exited.is_set():
                self.limit = await asyncio.to_thread(self.look)
                if not self.limit and time.monotonic() > until:
                    self.limit = "seconds"
                if self.limit:
                    break
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._child.exited.wait(), tick_s)
            if not self.limit and self._child.returncode == -signal.SIGXCPU:
                self.limit = "cpu_seconds"
            if not self.limit and await asyncio.to_thread(self._lying) > self._limits.disk_bytes:
                self.limit = "disk_bytes"
        finally:
            await asyncio.to_thread(self._kill)
            await self._child.exited.wait()
            self.over.set()

    def look(self) -> str:
        """Which limit is passed now; empty for none."""
        living, limits = self._living(), self._limits
        memory = sum(line.memory_bytes for line in living)
        self.memory_bytes = max(self.memory_bytes, memory)
        if len(living) > limits.processes:
            return "processes"
        if memory > limits.memory_bytes:
            return "memory_bytes"
        if self.cpu_seconds > limits.cpu_seconds:
            return "cpu_seconds"
        return "disk_bytes" if self._lying() > limits.disk_bytes else ""

    def _living(self) -> list[ProcessLine]:
        lines = self._table()
        ours = {line.pid for line in lines if line.group == self._child.pid or (line.pid, line.begun) in self._known}
        is_growing = True
        while is_growing:
            below = {line.pid for line in lines if line.parent in ours}
            is_growing = not below <= ours
            ours |= below
        living = [line for line in lines if line.pid in ours]
        for line in living:
            self._known[line.pid, line.begun] = line.cpu_seconds
        return living

    def _lying(self) -> int:
        return sum(lying_in(folder) for folder in self._folders)

    def _kill(self) -> None:
        for _ in range(ROUNDS):
            is_left = signal_group(self._child.pid, signal.SIGKILL)
            for line in self._living():
                is_left = True
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(line.pid, signal.SIGKILL)
            if not is_left:
                return
            time.sleep(0.02)
