"""`LandlockJail`: the jail of Linux, by Landlock, seccomp and a launcher, which needs no root and no package.

See `docs/decisions/0018-a-jail-of-landlock-and-seccomp.md`.
"""

from __future__ import annotations

import ctypes
import marshal
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct

from ..core.errors import UsageError
from ..core.visible import shown_path
from ..transport.process import Child, start_child
from .process import JailedCommand, JailedProcess, JailReport, end_jailed
from .work_folder import PATH, JailPlace, furnished

LAUNCH = "import sys; sys.path.insert(0, sys.argv[1]); import launcher; sys.exit(launcher.main())"
"""A module is compiled once and then read from its cache, while a script would be compiled at each start."""
SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32"),
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime"),
    *("/etc/mime.types", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/fonts", "/etc/inputrc"),
    *("/proc/meminfo", "/proc/cpuinfo", "/proc/stat", "/proc/version", "/proc/filesystems"),
    "/proc/sys/vm/overcommit_memory",
    "/sys/devices/system/cpu",
    f"/etc/python{sys.version_info.major}.{sys.version_info.minor}",
)
"""What every command may read: programs, libraries, and facts on the machine that hold no secret."""
LANDLOCK_CREATE_RULESET = 444
TESTED_MAX = 7
"""The newest version of Landlock whose rights this package knows. A newer kernel is held to these."""
OUTSIDE = "outside"
"""The file in which the launcher notes what was opened outside the jail."""
UNSEEN = "unseen"
"""The file that the launcher makes where it can not see what is opened."""
AROUND = "around"
"""The file that the launcher makes when the command tries to connect elsewhere than to the forwarder."""


def landlock_abi() -> int:
    """The version of Landlock that the kernel has; 0 for none."""
    if sys.platform != "linux":
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    found: int = libc.syscall(ctypes.c_long(LANDLOCK_CREATE_RULESET), None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    return max(0, min(found, TESTED_MAX))


class LaunchedProcess(JailedProcess):
    """A command that the launcher runs.

    Args:
        child: the launcher and the pipes of the command.
        work: the work folder.
        report: the file in which the launcher says how the command ended.
    """

    def __init__(self, child: Child, work: Path, report: Path) -> None:
        super().__init__(child, work)
        self._report = report

    def opened_outside(self) -> list[str] | None:
        if self._report.with_name(UNSEEN).exists():
            return None
        noted = self._report.with_name(OUTSIDE)
        taken = self._report.with_name(f"{OUTSIDE}-taken")
        try:
            noted.rename(taken)  # the launcher begins another
            found = taken.read_bytes()
        except FileNotFoundError:
            return []
        return [shown_path(os.fsdecode(path)) for path in found.split(b"\0") if path]

    def went_around_proxy(self) -> bool:
        try:
            self._report.with_name(AROUND).unlink()  # the launcher makes it anew
        except FileNotFoundError:
            return False
        return True

    def report(self) -> JailReport:
        try:
            told = marshal.loads(self._report.read_bytes())  # the launcher wrote it, outside the jail
        except (OSError, ValueError, EOFError):
            return JailReport(None, "", 0.0, 0, stopped=True)
        if "setup" in told:
            raise UsageError("the command was not run, as its jail could not be put on: {setup}", setup=told["setup"])
        return JailReport(told["exit"], told["limit"], told["cpu_seconds"], told["memory_bytes"], told["stopped"])


class LandlockJail(Struct, frozen=True):
    """The jail of Linux.

    Attributes:
        abi: use no more than this version of Landlock; None for what the kernel has.
    """

    abi: int | None = None

    @property
    def version(self) -> int:
        """The version of Landlock that is used; 0 where the kernel has none."""
        return landlock_abi() if self.abi is None else min(self.abi, landlock_abi())

    @property
    def name(self) -> str:
        """What holds, for people."""
        return f"Landlock {self.version}, seccomp"

    def unavailable(self) -> str:
        """Why nothing can be held on this machine; empty where something may be."""
        return "" if self.version else "the kernel has no Landlock"

    @asynccontextmanager
    async def start(self, asked: JailedCommand) -> AsyncIterator[JailedProcess]:
        """Start a command in its jail."""
        async with furnished(asked, SYSTEM) as place:
            # The launcher finds nothing of our environment: the command runs in a fork of it and could read its memory.
            env = {"ACTUM_JAIL": marshal.dumps(_told(asked, place, self.version)).hex(), "PATH": PATH}
            launcher = [sys.executable, "-I", "-S", "-c", LAUNCH, str(Path(__file__).parent)]
            child = await start_child(launcher, env=env, marked=False)
            try:
                process = LaunchedProcess(child, place.work, place.base / "report")
                try:
                    yield process
                finally:
                    try:
                        if not child.exited.is_set():
                            await end_jailed(child)
                    finally:
                        process.remember()
            finally:
                child.close()


def _told(asked: JailedCommand, place: JailPlace, abi: int) -> dict[str, object]:
    """The jail in the words of the launcher."""
    usage = asked.jail.limits
    return {
        "parent": os.getpid(),
        "abi": abi,
        "command": list(asked.command),
        "work": str(place.work),
        "home": place.home,
        "cwd": asked.cwd or str(place.work),
        "report": str(place.base / "report"),
        "base": str(place.base),
        "outside": str(place.base / OUTSIDE) if asked.jail.audit else "",
        "unseen": str(place.base / UNSEEN),
        "around": str(place.base / AROUND),
        "forwarder": place.port,
        "read": list(place.read),
        "write": list(place.write),
        "system": list(place.system),
        "environment": place.environment,
        "memory_bytes": usage.memory_bytes,
        "cpu_seconds": usage.cpu_seconds,
        "processes": usage.processes,
        "disk_bytes": usage.disk_bytes,
        "seconds": usage.seconds,
    }
