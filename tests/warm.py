"""Processes of Python that are forked from one in which actum is loaded, which takes an interpreter a second of CPU.

`popen`, `run` and `start` take what `subprocess.Popen`, `subprocess.run` and `asyncio.create_subprocess_exec` take, and
the process is one of its own: its folder, environment, pipes and signals, `kill -9`. Only what a program finds loaded
differs. A test of what a program loads, how long its start takes, or what the interpreter reads from its environment
(the locale, `PYTHON...` but for `PYTHONPATH` and `PYTHONIOENCODING`) starts an interpreter instead.

The loaded process (`python tests/warm.py`) has no thread and no loop: it reads requests, forks, and tells of each child
the id, and in the end how the child ended. It ends with the process that asks.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import types
import warnings
from asyncio import unix_events
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

LOADED = (
    *("actum.compose.serving", "actum.compose.a2a", "actum.compose.task_worker", "actum.compose.workflows"),
    *("actum.server.a2a.grpc_server", "actum.server.keys", "actum.storage.sqlite", "actum_embedded.model"),
    *("psycopg", "uvloop", "uvicorn.lifespan.off", "typer.main", "rich.progress", "rich.syntax", "rich.table"),
    *("actum.cli.operated", "actum.cli.options", "actum.cli.commands", "actum.cli.show.terminal", "docstring_parser"),
    *("actum.cli.services.keys", "actum.cli.conversation.run", "actum.cli.records.runs", "actum.cli.mcp.commands"),
    *("actum.cli.mcp.serve", "actum.toolsets.mcp.auth", "actum.toolsets.mcp.install.install"),
    *("actum.toolsets.mcp.toolset", "anyio._backends._asyncio"),
)
"""Most of what a server, a worker and a command load. `actum.cli.app` asks as it is loaded whether there is a terminal,
and each process loads it for itself."""

Word = str | os.PathLike[str]
"""Of a command."""
OF_THE_INTERPRETER = frozenset({"LC_ALL", "LC_CTYPE", "PYTHONHASHSEED", "PYTHONWARNINGS", "PYTHONSAFEPATH"})
"""Variables that an interpreter reads as it starts, and a loaded process does not."""
spent_ms: list[int] = []
"""The CPU that each process used which has ended and was waited for."""
ENDED = struct.Struct("<iI")
"""What is told of an end: the exit code, or the signal below zero, and milliseconds of CPU."""
REQUEST_BYTES = 1 << 17
FILES_MAX = 16
STREAMS = (("stdin", "r", "strict"), ("stdout", "w", "strict"), ("stderr", "w", "backslashreplace"))


class Request(NamedTuple):
    """A process that is wanted; its files come beside.

    Attributes:
        words: the command behind the interpreter: `-W` and how to warn, then `-m`, `-c` or a file, then the words for
            the program.
        folder, environment: of the process.
        leads: whether the process begins a session.
        kept: the numbers of more files that the process inherits.
    """

    words: Sequence[str]
    folder: str
    environment: Mapping[str, str]
    leads: bool
    kept: Sequence[int]


def popen(command: Sequence[Word], **options: Any) -> subprocess.Popen[Any]:  # noqa: ANN401  # as it says
    """Start a process, as `subprocess.Popen` does."""
    return _Forked(command, **options)


def run(
    command: Sequence[Word],
    *,
    input: str | bytes | None = None,
    capture_output: bool = False,
    check: bool = False,
    timeout: float | None = None,
    **options: Any,  # noqa: ANN401  # as it says
) -> subprocess.CompletedProcess[Any]:
    """Start a process and wait for its end, as `subprocess.run` does."""
    if capture_output:
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if input is not None:
        options["stdin"] = subprocess.PIPE
    with popen(command, **options) as process:
        try:
            out, problems = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(command, process.returncode, out, problems)
    if check:
        done.check_returncode()
    return done


async def start(
    *command: Word,
    stdin: int | None = None,
    stdout: int | None = None,
    stderr: int | None = None,
    limit: int = 1 << 16,
    **options: Any,  # noqa: ANN401  # as it says
) -> asyncio.subprocess.Process:
    """Start a process, as `asyncio.create_subprocess_exec` does."""
    loop = asyncio.get_running_loop()
    protocol = asyncio.subprocess.SubprocessStreamProtocol(limit=limit, loop=loop)
    begun = loop.create_future()
    transport = _Transport(loop, protocol, command, False, stdin, stdout, stderr, 0, waiter=begun, **options)
    threading.Thread(target=transport.wait_for_end, daemon=True).start()
    await begun
    return asyncio.subprocess.Process(transport, protocol, loop)


@functools.cache
def loaded(interpreter: str) -> tuple[socket.socket, threading.Lock]:
    """The way to the loaded process of an interpreter; that of another environment loads what this one has."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    here.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * REQUEST_BYTES)
    with there:
        command = [interpreter, __file__, str(there.fileno())]
        process = subprocess.Popen(command, pass_fds=[there.fileno()], start_new_session=True)
    atexit.register(process.wait)
    atexit.register(here.close)  # which ends the process; what was registered last is called first
    return here, threading.Lock()


class _Forked(subprocess.Popen[Any]):
    """A process that the loaded one forks, which is its parent."""

    _told: socket.socket | None = None

    def _execute_child(self, args: Sequence[Word], *more: Any) -> None:  # noqa: ANN401
        _, _, _, kept, folder, environment, _, _, _, *pipes = more[:15]
        p2cread, _, _, c2pwrite, _, errwrite = pipes
        leads = more[-2]
        interpreter = os.fspath(args[0])
        assert Path(interpreter).name.startswith("python"), "only an interpreter is loaded"
        variables = {**os.environ} if environment is None else environment
        unread = OF_THE_INTERPRETER & (variables.keys() - os.environ.keys())
        assert not unread, f"an interpreter has to start, which reads {unread}"
        request = Request(
            [os.fspath(word) for word in args[1:]], os.fspath(folder or Path.cwd()), variables, leads, list(kept)
        )
        own = [mine if mine != -1 else number for number, mine in enumerate((p2cread, c2pwrite, errwrite))]
        self._told, told = socket.socketpair()
        way, lock = loaded(interpreter)
        with told, lock:
            socket.send_fds(way, [json.dumps(request).encode()], [told.fileno(), *own, *kept])
        self.pid = int.from_bytes(self._told.recv(4), "little")
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]

    def _internal_poll(self, _deadstate: object = None) -> int | None:
        return self._heard(0)

    def _wait(self, timeout: float | None) -> int:
        ended = self._heard(None if timeout is None else timeout * 1000)
        if ended is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return ended

    def _heard(self, within_ms: float | None) -> int | None:
        """How the process ended, if it is told within this time."""
        if self.returncode is None and self._told is not None:
            look = select.poll()
            look.register(self._told, select.POLLIN)
            if look.poll(within_ms):
                with self._waitpid_lock:  # type: ignore[attr-defined]
                    if self.returncode is None:
                        self.returncode, cpu_ms = ENDED.unpack(self._told.recv(ENDED.size))
                        spent_ms.append(cpu_ms)
                        self._told.close()
        return self.returncode


class _Transport(unix_events._UnixSubprocessTransport):  # type: ignore[name-defined,misc]
    """Pipes of a forked process for a loop."""

    def _start(self, args: Sequence[Word], shell: bool, **options: Any) -> None:  # noqa: ANN401
        self._proc = popen(args, **options)

    def wait_for_end(self) -> None:
        """In a thread: have the loop know that the process ended."""
        ended = self._proc.wait()
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._process_exited, ended)


# The loaded process.


def serve(way: socket.socket) -> Request:
    """Fork for each request. Returns in each child, with what it is to run; ends when nobody can ask any more."""
    children: dict[int, socket.socket] = {}
    awake, wake = socket.socketpair()
    for end in (awake, wake):
        end.setblocking(False)
    signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready, _, _ = select.select([way, awake], [], [])
        if awake in ready:
            awake.recv(1 << 12)
        while children:
            pid, status, used = os.wait4(-1, os.WNOHANG)
            if not pid:
                break
            with children.pop(pid) as told:
                cpu_ms = round(1000 * (used.ru_utime + used.ru_stime))
                _tell(told, ENDED.pack(os.waitstatus_to_exitcode(status), cpu_ms))
        if way not in ready:
            continue
        said, files, _, _ = socket.recv_fds(way, REQUEST_BYTES, FILES_MAX)
        if not said:
            raise SystemExit
        request = Request(*json.loads(said))
        pid = os.fork()
        if not pid:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for mine in (way, awake, wake, *children.values()):
                mine.detach()  # the numbers are closed below, and others may get them
            _become(request, files[1:])
            return request
        children[pid] = socket.socket(fileno=files[0])
        _tell(children[pid], pid.to_bytes(4, "little"))
        for number in files[1:]:
            os.close(number)


def _tell(told: socket.socket, what: bytes) -> None:
    with contextlib.suppress(BrokenPipeError):  # who started the process does not want to know
        told.send(what)


def _become(request: Request, files: Sequence[int]) -> None:
    """Have only the files, the folder and the environment that were asked for."""
    above = 1000  # out of the way of the numbers that are wanted
    for place, number in enumerate(files):
        os.dup2(number, above + place)
    os.closerange(0, above)
    for place, wanted in enumerate([0, 1, 2, *request.kept]):
        os.dup2(above + place, wanted)
    os.closerange(above, above + FILES_MAX)
    if request.leads:
        os.setsid()
    os.chdir(request.folder)
    os.environ.clear()
    os.environ.update(request.environment)
    importlib.invalidate_caches()  # packages come and go
    signal.signal(signal.SIGINT, signal.default_int_handler)
    encoding, _, strictness = request.environment.get("PYTHONIOENCODING", "").partition(":")
    for number, (name, mode, errors) in enumerate(STREAMS):
        buffering = 1 if name == "stderr" or os.isatty(number) else -1
        how = errors if name == "stderr" else strictness or errors
        stream = open(number, mode, buffering, encoding or "utf-8", how, closefd=False)  # noqa: SIM115  # the process's
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def go_on(request: Request) -> None:
    """Run the program, as the interpreter does."""
    words = list(request.words)
    while words[0] == "-W":
        warnings.simplefilter(words[1])  # type: ignore[arg-type]  # one of its words
        sys.warnoptions.append(words[1])
        del words[:2]
    how, *more = words
    what, rest = "".join(more[:1]), more[1:]
    beside = {"-m": str(Path.cwd()), "-c": ""}.get(how, str(Path(how).parent))
    sys.path[:0] = [beside, *(place for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place)]
    if how == "-m":
        sys.argv = [what, *rest]
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    elif how == "-c":
        sys.argv = ["-c", *rest]
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(what, "<string>", "exec"), main.__dict__)  # noqa: S102  # of a test
    else:
        sys.argv = [how, *more]
        runpy.run_path(how, run_name="__main__")


def load() -> socket.socket:
    """Load; the way by which requests come."""
    way = socket.socket(fileno=int(sys.argv[1]))
    del sys.path[0]  # the folder of this file
    for name in LOADED:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:  # an extra that the environment lacks
            if (error.name or "").startswith("actum."):
                raise
    gc.collect()
    gc.freeze()
    return way


def end(code: object) -> None:
    """End as the interpreter does, but for taking apart what is loaded: that takes 0.2 seconds of CPU."""
    if code is not None and not isinstance(code, int):
        sys.stderr.write(f"{code}\n")
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]  # waits for the threads that are no daemons
    atexit._run_exitfuncs()
    main = vars(sys.modules["__main__"])
    if main is not globals():
        main.clear()
    gc.collect()  # what is left tells now that it was not closed
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code or 0)
    raise SystemExit(code)  # nobody reads the output: the interpreter tells of that


if __name__ == "__main__":
    request = serve(load())
    try:
        go_on(request)
    except SystemExit as ended:
        end(ended.code)
    end(0)
