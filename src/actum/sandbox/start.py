"""`start`: a command in its jail, from its work folder to the report of how it ended.

    async with start([sys.executable, "main.py"], Jail(), files={"main.py": code}) as process:
        text = await process.child.stdout.read()
        report = await process.ended()

Nothing is started before `layers` has found by trying that files, the network and other processes are held.
"""

from __future__ import annotations

import marshal
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import anyio
from msgspec import Struct

from ..core.errors import UsageError
from ..core.private_paths import keep_private
from ..storage.place import settings_path, state_folder
from ..transport.egress import Egress
from ..transport.guard import Guard
from ..transport.process import Child, Ending, start_child
from .forwarder import Forwarder
from .jail import Jail
from .removal import remove

LAUNCH = "import sys; sys.path.insert(0, sys.argv[1]); import launcher; sys.exit(launcher.main())"
"""A module is compiled once and then read from its cache, while a script would be compiled at each start."""
ENDING: Ending = ((signal.SIGTERM, 5.0), (signal.SIGKILL, 2.0))
SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32"),
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime"),
    *("/etc/mime.types", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/fonts", "/etc/inputrc"),
    *("/proc/meminfo", "/proc/cpuinfo", "/proc/stat", "/proc/version", "/proc/filesystems"),
    "/proc/sys/vm/overcommit_memory",
    "/sys/devices/system/cpu",
)
"""What every command may read: programs, libraries, and facts on the machine that hold no secret."""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
LANDLOCK_CREATE_RULESET = 444
OUTSIDE = "outside"
"""The file in which the launcher notes what was opened outside the jail."""


class JailReport(Struct, frozen=True):
    """How a command in a jail ended.

    Attributes:
        exit: its exit code, negative for a signal; None where the launcher itself was killed.
        limit: which of the limits in `JailLimits` ended it; empty for none.
        cpu_seconds: what all its processes used.
        memory_bytes: the most memory that was seen in use.
        stopped: it was ended by us before its time.
    """

    exit: int | None
    limit: str
    cpu_seconds: float
    memory_bytes: int
    stopped: bool


class JailedProcess:
    """A command in its jail.

    Attributes:
        child: the process and its pipes.
        work: the folder that the command starts in and may write. It is gone when `start` is left.
        report_before_removal: how the command ended, for whoever asks after `start` was left; None before.
    """

    def __init__(self, child: Child, work: Path, report: Path) -> None:
        self.child = child
        self.work = work
        self._report = report
        self.report_before_removal: JailReport | None = None

    def opened_outside(self) -> list[str]:
        """The files that exist and that the command tried to open outside its jail, since this was last asked.

        Empty where the jail does not say `audit`.
        """
        noted = self._report.with_name(OUTSIDE)
        taken = self._report.with_name(f"{OUTSIDE}-taken")
        try:
            noted.rename(taken)  # the launcher begins another
            found = taken.read_bytes()
        except FileNotFoundError:
            return []
        return [os.fsdecode(path) for path in found.split(b"\0") if path]

    def remember(self) -> None:
        """Keep the report, whose file is removed when `start` is left."""
        with suppress(UsageError):
            self.report_before_removal = self.report()

    async def ended(self) -> JailReport:
        """Wait for the end of the command and of all that it started.

        Raises:
            UsageError: the jail could not be put on; nothing was run.
        """
        await self.child.exited.wait()
        return self.report()

    def report(self) -> JailReport:
        """How the command ended, once it has.

        Raises:
            UsageError: the jail could not be put on; nothing was run.
        """
        try:
            told = marshal.loads(self._report.read_bytes())  # the launcher wrote it, outside the jail
        except (OSError, ValueError, EOFError):
            return JailReport(None, "", 0.0, 0, stopped=True)
        if "setup" in told:
            raise UsageError(f"the command was not run, as its jail could not be put on: {told['setup']}")
        return JailReport(told["exit"], told["limit"], told["cpu_seconds"], told["memory_bytes"], told["stopped"])


@asynccontextmanager
async def start_unprobed(
    command: Sequence[str],
    jail: Jail,
    files: Mapping[str, bytes],
    abi: int,
    cwd: str = "",
    egress: Egress | None = None,
) -> AsyncIterator[JailedProcess]:
    """As `start`, without asking `layers` first: `layers` itself runs its probe by this."""
    _keep_own()
    home = (jail.home,) if jail.home else ()
    if jail.home:
        _make_home(jail.home)
    read, write = _real((*_system(), *jail.read, *jail.write, *home)), _real(jail.write)
    jail.check(tuple(_system()))  # after that no path is resolved again
    base = Path(tempfile.mkdtemp(prefix="actum-jail-"))
    child: Child | None = None
    forwarder = Forwarder(jail.hosts, Guard(egress=egress)) if jail.hosts else None
    listening = AsyncExitStack()
    try:
        if forwarder is not None:
            await listening.enter_async_context(forwarder.listening())
        work, report = _furnish(base, files), base / "report"
        told = _told(command, jail, work, report, abi) | {"read": read, "write": write}
        told["system"] = _real(_system())
        told["outside"] = str(base / OUTSIDE) if jail.audit else ""
        told |= {"forwarder": forwarder.port if forwarder is not None else 0}
        if forwarder is not None:
            told["environment"] = forwarder.environment | _told_environment(jail, work)
        told |= {"home": "".join(_real(home)), "cwd": cwd or str(work)}
        # The launcher finds nothing of our environment: the command runs in a fork of it and could read its memory.
        env = {"ACTUM_JAIL": marshal.dumps(told).hex(), "PATH": PATH}
        launcher = [sys.executable, "-I", "-S", "-c", LAUNCH, str(Path(__file__).parent)]
        child = await start_child(launcher, env=env, marked=False)
        process = JailedProcess(child, work, report)
        try:
            yield process
        finally:
            if not child.exited.is_set():
                with anyio.CancelScope(shield=True):
                    await child.end(ENDING)
            process.remember()
    finally:
        if child is not None:
            child.close()
        await listening.aclose()
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(remove, str(base))  # there may be many files


def _make_home(folder: str) -> None:
    try:
        Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"the folder {folder} of the command's own can't be made: {error.strerror}") from None


def _keep_own() -> None:
    """The folders of the person who runs this program are private, also where this program has opened nothing there."""
    with suppress(UsageError):  # there is no home folder
        state_folder(os.environ)
    if (settings := settings_path(os.environ)) is not None:
        keep_private(settings.parent)


def _furnish(base: Path, files: Mapping[str, bytes]) -> Path:
    base.chmod(0o711)  # a user of its own passes through, and lists nothing
    work = base / "work"
    work.mkdir(mode=0o700)
    (work / "tmp").mkdir(mode=0o700)
    for name, data in files.items():
        place = work / name
        if not place.is_relative_to(work) or ".." in place.parts:
            raise UsageError(f"files: {name!r} is not a path below the work folder")
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        place.write_bytes(data)
    return work


def _told(command: Sequence[str], jail: Jail, work: Path, report: Path, abi: int) -> dict[str, object]:
    """The jail in the words of the launcher."""
    usage = jail.limits
    return {
        "parent": os.getpid(),
        "abi": abi,
        "command": list(command),
        "work": str(work),
        "report": str(report),
        "base": str(report.parent),
        "environment": _told_environment(jail, work),
        "memory_bytes": usage.memory_bytes,
        "cpu_seconds": usage.cpu_seconds,
        "processes": usage.processes,
        "disk_bytes": usage.disk_bytes,
        "seconds": usage.seconds,
    }


def _told_environment(jail: Jail, work: Path) -> dict[str, str]:
    return _environment(work) | ({"HOME": jail.home} if jail.home else {}) | jail.environment


def _real(paths: Sequence[str]) -> list[str]:
    """The paths without links. The launcher opens them, and sees to it that no link was put in the way since."""
    return list(dict.fromkeys(str(Path(path).resolve()) for path in paths))


def _system() -> list[str]:
    """What every command may read and this machine has, with the Python that runs us."""
    version = f"/etc/python{sys.version_info.major}.{sys.version_info.minor}"
    python = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
    return [path for path in (*SYSTEM, version, *sorted(python)) if Path(path).exists()]


def _environment(work: Path) -> dict[str, str]:
    return {
        "HOME": str(work),
        "LANG": "C.UTF-8",
        "PATH": f"{Path(sys.executable).parent}:{PATH}",
        "TMPDIR": str(work / "tmp"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "MPLBACKEND": "agg",
    }
