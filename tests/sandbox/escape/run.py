"""Runs the attempts and the ordinary programs, in a jail or without, and says of each what it could do.

    python -m tests.sandbox.escape.run [--bare] [--hosts] [--abi N] [--programs] [--deny-namespaces] [NAME ...]
    python -m tests.sandbox.escape.run --install [--bare]

Prints one JSON object: for each attempt what it could do (empty: nothing), for each program what went wrong. All is
judged from outside: files, listeners, a process of the same user, what is left behind. Where nothing outside can tell
(a system call of the kernel, memory that was used), the script prints BITTEN when it could do it.

With `--install` some attempts are made by packages while these are installed, in the jail in which `actum mcp add`
installs servers: by `postinstall` of a package for npm, and by the build of a Python package.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import resource
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from contextlib import ExitStack, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from actum.sandbox.jail import Jail, JailLimits
from actum.sandbox.layers import start
from actum.sandbox.linux import LandlockJail
from actum.transport.egress import Egress, EgressRules

from .packages import installers

HERE = Path(__file__).parent
ATTEMPTS = sorted(script for script in (HERE / "attempts").iterdir() if script.is_file())
PROGRAMS = sorted(script for script in (HERE / "programs").iterdir() if script.is_file())
ATTEMPT = JailLimits(memory_bytes=512 << 20, cpu_seconds=3, processes=64, disk_bytes=256 << 20, seconds=20)
PROGRAM = JailLimits(memory_bytes=1 << 30, cpu_seconds=60, processes=64, disk_bytes=512 << 20, seconds=60)
AT_ONCE = 4
INSTALLED = ("read_file", "write_file", "tcp", "udp", "detached", "daemon", "make_file", "remove_folder")
"""Attempts that are made by packages, too, in each language in which there is one."""
COMMANDS = {".py": sys.executable, ".sh": "sh", ".js": "node"}


class Outside:
    """What an attempt must not reach, and what became of it."""

    def __init__(self, stack: ExitStack) -> None:
        self.tag = "actum" + os.urandom(8).hex()
        self.secret = os.urandom(12).hex()
        self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="outside-")))
        self.heard: list[str] = []
        self._doors: list[tuple[socket.socket, threading.Thread]] = []
        readable = self.folder / "readable"
        readable.mkdir()
        for file in (self.folder / "secret", self.folder / "target", self.folder / self.secret, readable / "file"):
            file.write_text(self.secret if file.name == "secret" else "whole", "ascii")
            file.chmod(0o666)
        for folder in (self.folder, readable):
            folder.chmod(0o777)
        self.tcp = self._listener(stack, socket.AF_INET, socket.SOCK_STREAM, ("0.0.0.0", 0))
        self.allowed = _redirecting(stack)
        (readable / "allowed").write_text(str(self.allowed), "ascii")
        (readable / "allowed").chmod(0o644)
        self.udp = self._listener(stack, socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))
        self._listener(stack, socket.AF_UNIX, socket.SOCK_STREAM, "\0" + self.tag)
        for name, kind in (("stream", socket.SOCK_STREAM), ("datagram", socket.SOCK_DGRAM)):
            self._listener(stack, socket.AF_UNIX, kind, str(readable / name))
            (readable / name).chmod(0o777)
        self.victim = subprocess.Popen(["sleep", "1000"], env={"SECRET": self.secret, "PATH": os.environ["PATH"]})
        stack.callback(self.victim.wait)
        stack.callback(self.victim.kill)
        self.before = self._state()

    def arguments(self) -> list[str]:
        return [str(self.folder), str(self.tcp), str(self.udp), str(self.victim.pid), self.tag]

    def _listener(self, stack: ExitStack, family: int, kind: int, address: object) -> int:
        door = stack.enter_context(socket.socket(family, kind))
        door.bind(address)  # type: ignore[arg-type]
        if kind == socket.SOCK_STREAM:
            door.listen()
        what = f"{family.name} {kind.name}"  # type: ignore[attr-defined]
        hearing = threading.Thread(target=self._hear, args=(door, what), daemon=True)
        hearing.start()
        self._doors.append((door, hearing))
        stack.callback(_shut, door)
        return door.getsockname()[1] if family == socket.AF_INET else 0

    def _hear(self, door: socket.socket, what: str) -> None:
        with suppress(OSError):
            if door.type == socket.SOCK_STREAM:
                door.accept()[0].close()
            elif not door.recv(10):
                return
            self.heard.append(f"reached {what}")

    def _state(self) -> dict[str, object]:
        found: dict[str, object] = {}
        for path in sorted(self.folder.rglob("*")):
            about = path.lstat()
            content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            names = os.listxattr(path, follow_symlinks=False)
            found[str(path)] = (about.st_mode, about.st_uid, about.st_size, about.st_mtime_ns, content, tuple(names))
        pid = self.victim.pid
        found["victim"] = (
            self.victim.poll(),
            os.getpriority(os.PRIO_PROCESS, pid) if self.victim.poll() is None else 0,
            resource.prlimit(pid, resource.RLIMIT_CORE) if self.victim.poll() is None else 0,
            os.sched_getaffinity(pid) if self.victim.poll() is None else 0,
        )
        return found

    def bites(self, said: bytes, work: Path) -> list[str]:
        """What the attempt could do."""
        for door, hearing in self._doors:
            while hearing.is_alive() and select.select([door], [], [], 0)[0]:  # what has come is heard, on any machine
                hearing.join(0.01)
            _shut(door)
            hearing.join(5)
        found = list(self.heard)
        if self.secret.encode() in said:
            found.append("read the secret")
        if b"BITTEN" in said:
            found.append("said so")
        with suppress(subprocess.TimeoutExpired):
            self.victim.wait(0.05)
        if (after := self._state()) != self.before:
            found.append(f"changed {[key for key in {*after, *self.before} if after.get(key) != self.before.get(key)]}")
        for path in work.rglob("*"):
            if path.lstat().st_mode & (stat.S_ISUID | stat.S_ISGID) and not path.is_dir():
                found += ["left a program that runs as somebody else"]
        return found

    def left_behind(self) -> list[str]:
        """What is still there when the attempt has ended. It is removed."""
        found = []
        for pid in (int(name) for name in os.listdir("/proc") if name.isdecimal()):
            with suppress(OSError):
                if pid != self.victim.pid and f"TAG={self.tag}".encode() in Path(f"/proc/{pid}/environ").read_bytes():
                    os.kill(pid, signal.SIGKILL)
                    found.append("left a process")
        for kind in ("shm", "sem", "msg"):
            for line in Path(f"/proc/sysvipc/{kind}").read_text("ascii").splitlines()[1:]:
                if int(line.split()[0]) & 0xFFFFFFFF == int(self.tag[-7:], 16):
                    found.append(f"left {kind}")
                    subprocess.run(
                        ["ipcrm", {"shm": "-m", "sem": "-s", "msg": "-q"}[kind], line.split()[1]], check=True
                    )
        for place in ("/dev/shm", "/tmp"):
            if (path := Path(place, self.tag)).exists():
                path.unlink()
                found.append(f"left a file in {place}")
        return found


class _Redirect(BaseHTTPRequestHandler):
    """The host that is allowed where hosts are. It leads to another port of this machine."""

    def do_GET(self) -> None:
        self.send_response(302)
        self.send_header("Location", f"http://localhost:{self.path.strip('/') or 1}/")
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


def _redirecting(stack: ExitStack) -> int:
    server = stack.enter_context(ThreadingHTTPServer(("127.0.0.1", 0), _Redirect))
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    stack.callback(server.shutdown)
    return server.server_address[1]


def _shut(door: socket.socket) -> None:
    with suppress(OSError):
        door.shutdown(socket.SHUT_RDWR)


async def attempt(script: Path, abi: int | None, *, bare: bool, hosts: bool) -> str:
    """What one attempt could do; empty for nothing."""
    with ExitStack() as stack:
        outside = Outside(stack)
        command = [COMMANDS[script.suffix], script.name, *outside.arguments()]
        if bare:
            return await asyncio.to_thread(_bare, command, script, outside)
        allowed = (f"http://localhost:{outside.allowed}",) if hosts else ()
        jail = Jail(read=(str(outside.folder / "readable"),), hosts=allowed, audit=hosts, limits=ATTEMPT)
        files, egress = {script.name: script.read_bytes()}, Egress(EgressRules(private=allowed))
        async with start(command, jail, files=files, backend=LandlockJail(abi), egress=egress) as running:
            said = b"".join(await asyncio.gather(running.child.stdout.read(), running.child.stderr.read()))
            await running.ended()
            found = outside.bites(said, running.work)
        return ", ".join(found + outside.left_behind())


async def install(script: Path, *, bare: bool) -> str:
    """What an attempt could do that a package makes while it is installed; empty for nothing."""
    with ExitStack() as stack:
        outside = Outside(stack)
        made = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="installed-")))
        registry = f"http://localhost:{outside.allowed}"
        command, jail = installers()[script.suffix](script, outside.arguments(), made, registry)
        if bare:
            said = await asyncio.to_thread(_installed_bare, command, made)
        else:
            egress = Egress(EgressRules(private=(registry,)))
            async with start(command, jail, cwd=str(made), egress=egress) as running:
                said = b"".join(await asyncio.gather(running.child.stdout.read(), running.child.stderr.read()))
                await running.ended()
        ran = made / "ran"
        found = outside.bites(said + (ran.read_bytes() if ran.exists() else b""), made)
        if not bare and not ran.exists():
            found.append(f"the attempt was not made: {said[-2000:]!r}")
        return ", ".join(found + outside.left_behind())


def _installed_bare(command: list[str], made: Path) -> bytes:
    """The same installation without a jail, to show that the attempt can bite."""
    with tempfile.TemporaryFile() as output:
        environment = {**os.environ, "HOME": str(made)}
        subprocess.run(command, cwd=made, stdout=output, stderr=output, env=environment, check=False, timeout=240)
        output.seek(0)
        return output.read()


def _bare(command: list[str], script: Path, outside: Outside) -> str:
    """The same attempt without a jail, to show that it can bite."""
    with tempfile.TemporaryDirectory() as place, tempfile.TemporaryFile() as output:
        shutil.copy(script, place)
        with (outside.folder / "target").open() as extra:
            process = subprocess.Popen(
                command, cwd=place, stdin=subprocess.DEVNULL, stdout=output, stderr=output, pass_fds=[extra.fileno()]
            )
        process.wait(60)
        output.seek(0)
        found = outside.bites(output.read(), Path(place))
    return ", ".join(found + outside.left_behind())


async def program(script: Path, abi: int | None) -> str:
    """What went wrong with an ordinary program; empty for nothing. It prints `fine` when all is well."""
    command = [COMMANDS[script.suffix], script.name]
    files = {script.name: script.read_bytes()}
    async with start(command, Jail(limits=PROGRAM), files=files, backend=LandlockJail(abi)) as running:
        said, errors = await asyncio.gather(running.child.stdout.read(), running.child.stderr.read())
        report = await running.ended()
    return "" if said.endswith(b"fine\n") else f"{report} {said!r} {errors[-600:]!r}"


def deny_namespaces() -> None:
    """No user namespace for this process and what it starts, as on a system that forbids them."""

    def step(code: int, true: int, false: int, value: int) -> bytes:
        return code.to_bytes(2, "little") + bytes((true, false)) + value.to_bytes(4, "little")

    numbers = {"x86_64": 272, "aarch64": 97}
    code = step(0x20, 0, 0, 0) + step(0x15, 0, 1, numbers[os.uname().machine]) + step(6, 0, 0, 0x00050001)
    code += step(6, 0, 0, 0x7FFF0000)
    body = ctypes.create_string_buffer(code, len(code))
    libc = ctypes.CDLL(None, use_errno=True)
    header = (len(code) // 8).to_bytes(8, "little") + ctypes.addressof(body).to_bytes(8, "little")
    zero = ctypes.c_ulong(0)
    prctl = libc["prctl"]
    assert prctl(38, ctypes.c_ulong(1), zero, zero, zero) == 0
    assert prctl(22, ctypes.c_ulong(2), header, zero, zero) == 0


async def main(arguments: list[str]) -> dict[str, str]:
    """Run what was asked for."""
    abi = int(arguments[arguments.index("--abi") + 1]) if "--abi" in arguments else None
    names = {name for name in arguments if "." in name}
    if "--deny-namespaces" in arguments:
        deny_namespaces()
    at_once = asyncio.Semaphore(AT_ONCE)

    async def judge(script: Path) -> str:
        async with at_once:
            if "--install" in arguments:
                return await install(script, bare="--bare" in arguments)
            if "--programs" in arguments:
                return await program(script, abi)
            return await attempt(script, abi, bare="--bare" in arguments, hosts="--hosts" in arguments)

    if "--install" in arguments:
        names = {f"{name}{ending}" for ending in installers() for name in INSTALLED}
    scripts = [
        script
        for script in (PROGRAMS if "--programs" in arguments else ATTEMPTS)
        if (not names or script.name in names) and shutil.which(COMMANDS[script.suffix])
    ]
    found = await asyncio.gather(*(judge(script) for script in scripts))
    return {script.name: each for script, each in zip(scripts, found, strict=True)}


if __name__ == "__main__":
    if "--bare" in sys.argv:  # one attempt opens many files
        resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    print(json.dumps(asyncio.run(main(sys.argv[1:])), indent=1))
