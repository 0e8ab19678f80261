"""`SeatbeltJail`: the jail of macOS, by `sandbox-exec` and a watch over the processes.

    actum ─┬─ sh ── sandbox-exec ── the command: a profile that denies all but what the jail names
           └─ the keeper: kills the group of the command when actum is gone, however actum ended

The text of the profile and the watch are tested; the whole was never run on macOS. Nothing rests on that: `layers` runs
its probe in such a jail first, and nothing is run if the probe could do what it must not.

Source: sandbox-exec(1). The language of profiles has no public reference; the rules here are those that Apple's own
profiles under /System/Library/Sandbox/Profiles use.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio
from msgspec import Struct

from ..transport.process import Child, start_child
from ..transport.process_tree import signal_group
from .jail_watch import JailWatch, ProcessTable, processes_of_ps
from .process import ENDING, JailedCommand, JailedProcess, JailReport
from .work_folder import PATH, JailPlace, furnished

SANDBOX_EXEC = "/usr/bin/sandbox-exec"
SYSTEM = (
    *("/usr", "/bin", "/sbin", "/System/Library", "/System/Volumes/Preboot/Cryptexes", "/Library/Apple"),
    *("/Library/Frameworks", "/Library/Developer/CommandLineTools", "/opt/homebrew", "/private/etc/ssl"),
    *("/private/etc/localtime", "/private/var/db/timezone", "/private/var/db/dyld"),
)
DEVICES_READ = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
DEVICES_WRITTEN = ("/dev/null", "/dev/zero")
FACTS = ("hw.", "machdep.cpu.", "kern.os", "kern.version", "kern.argmax", "kern.maxfiles", "kern.ngroups")
"""Facts on the machine. The environments of other processes are asked for in the same way, and not allowed."""
START = 'ulimit -c 0; ulimit -t "$1"; shift; IFS= read -r go && exec "$@"'
"""The command waits for a line: it begins when its keeper knows its number."""
KEEP = 'IFS= read -r group && { IFS= read -r end; kill -s KILL -- "-$group"; }'
TICK_S = 0.1


class SeatbeltProcess(JailedProcess):
    """A command that `sandbox-exec` holds.

    Args:
        child: the command and its pipes.
        place: its folders.
        watch: counts what the command uses up.
    """

    def __init__(self, child: Child, place: JailPlace, watch: JailWatch) -> None:
        super().__init__(child, place.work)
        self._watch = watch
        self.is_stopped = False

    async def ended(self) -> JailReport:
        await self._watch.over.wait()
        return self.report()

    def report(self) -> JailReport:
        watch = self._watch
        return JailReport(
            self.child.returncode,
            watch.limit,
            round(watch.cpu_seconds, 3),
            watch.memory_bytes,
            stopped=self.is_stopped,
        )


class SeatbeltJail(Struct, frozen=True):
    """The jail of macOS.

    Attributes:
        program: `sandbox-exec`, or a program that replaces it in a test.
        table: lists the processes of this machine.
    """

    program: str = SANDBOX_EXEC
    table: ProcessTable = processes_of_ps

    @property
    def name(self) -> str:
        """What holds, for people."""
        return "sandbox-exec"

    def unavailable(self) -> str:
        """Why nothing can be held on this machine; empty where something may be."""
        return ""

    @asynccontextmanager
    async def start(self, asked: JailedCommand) -> AsyncIterator[JailedProcess]:
        """Start a command in its jail."""
        async with furnished(asked, SYSTEM) as place, _keeper() as keeper:
            cpu_s = str(int(asked.jail.limits.cpu_seconds) + 1)
            held = held_command(asked.command, place, self.program)
            command = ["/bin/sh", "-c", START, "sh", cpu_s, *held]
            child = await start_child(command, env=place.environment, cwd=asked.cwd or str(place.work), marked=False)
            folders = tuple(folder for folder in (str(place.work), place.home) if folder)
            watch = JailWatch(child, asked.jail.limits, folders, self.table)
            process = SeatbeltProcess(child, place, watch)
            watching = asyncio.ensure_future(watch.until_end(TICK_S))
            try:
                keeper.stdin.write(f"{child.pid}\n".encode())
                await keeper.stdin.drain()
                child.stdin.write(b"\n")
                yield process
            finally:
                with anyio.CancelScope(shield=True):
                    if not watch.over.is_set():
                        process.is_stopped = not child.exited.is_set()
                        await child.end(ENDING)
                        await watching
                process.remember()
                child.close()


@asynccontextmanager
async def _keeper() -> AsyncIterator[Child]:
    keeper = await start_child(["/bin/sh", "-c", KEEP], env={"PATH": PATH}, marked=False)
    try:
        yield keeper
    finally:
        signal_group(keeper.pid, signal.SIGKILL)  # before its input is closed, which is its order to kill
        with anyio.CancelScope(shield=True):
            await keeper.end(ENDING)
        keeper.close()


def held_command(command: Sequence[str], place: JailPlace, program: str = SANDBOX_EXEC) -> list[str]:
    """A command behind `sandbox-exec` with its profile.

    The text of the profile holds no path, since a path would have to be quoted: paths are parameters.

    Args:
        command: the program and its arguments.
        place: where it runs.
        program: `sandbox-exec`.
    """
    written = [str(place.work), *((place.home,) if place.home else ()), *place.write]
    reads = {f"READ{index}": path for index, path in enumerate(place.read)}
    writes = {f"WRITE{index}": path for index, path in enumerate(written)}
    parameters = [word for name, path in (reads | writes).items() for word in ("-D", f"{name}={path}")]
    return [program, *parameters, "-p", profile(tuple(reads), tuple(writes), place.port), *command]


def profile(reads: Sequence[str], writes: Sequence[str], port: int) -> str:
    """The profile of a jail.

    Args:
        reads: the names of the parameters that are paths to read.
        writes: the names of those that are folders to write.
        port: of the forwarder on the loopback; 0 for no network at all.

    Returns:
        The profile. What is not allowed is denied; later rules go before earlier ones.
    """
    read = " ".join(f'(subpath (param "{name}"))' for name in (*reads, *writes))
    write = " ".join(f'(subpath (param "{name}"))' for name in writes)
    rules = [
        "(version 1)",
        "(deny default)",
        "(allow process-fork)",
        f"(allow process-exec {read})",
        "(allow process-info* (target same-sandbox))",
        "(allow signal (target same-sandbox))",
        "(allow sysctl-read " + " ".join(f'(sysctl-name-prefix "{name}")' for name in FACTS) + ")",
        "(allow file-read-metadata)",
        '(allow file-read* (literal "/") ' + read + ")",
        "(allow file-read* " + " ".join(f'(literal "{path}")' for path in DEVICES_READ) + ")",
        "(allow file-write-data " + " ".join(f'(literal "{path}")' for path in DEVICES_WRITTEN) + ")",
        f"(allow file-write* {write})",
        "(deny file-write-setugid)",
    ]
    if port:
        rules.append(f'(allow network-outbound (remote ip "localhost:{port}"))')
    return "\n".join(rules) + "\n"
