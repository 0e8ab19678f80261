"""Programs of others as servers for our host: started by a command, or on a port of this machine."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import IO

from actum.protocols.mcp.config import McpEra, McpServer
from tests import warm
from tests.patience import HANGS_S

from . import install

PORTS = range(20_000, 32_000)
"""Ports below those that systems give by themselves, to clients and to those who ask for any port."""

_CHANCE = random.SystemRandom()  # the workers of a run were forked, and would draw the same numbers


def npm(name: str, program: str, *args: str, era: McpEra = "auto", env: Mapping[str, str] | None = None) -> McpServer:
    """A server of npm, started by a command."""
    script = str(install.npm_bin(program))
    return McpServer(name=name, command=str(install.node()), args=(script, *args), era=era, env=dict(env or {}))


def py(name: str, environment: str, program: str, *args: str, era: McpEra = "auto") -> McpServer:
    """A server of Python, in an environment of its own."""
    return McpServer(name=name, command=str(install.py_bin(environment, program)), args=args, era=era)


@contextlib.contextmanager
def listening(*command: str, env: Mapping[str, str] | None = None, says: str) -> Iterator[subprocess.Popen[str]]:
    """Run a server until the block ends, and wait until it says that it listens, on either stream.

    Raises:
        RuntimeError: it ended before, or took too long; with what it said.
    """
    process = (warm.popen if command[0] == sys.executable else subprocess.Popen)(
        command,
        env={**os.environ, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    said: list[str] = []
    ready = threading.Event()
    reader = threading.Thread(target=_read, args=(process.stdout, said, says, ready))
    reader.start()
    try:
        if not ready.wait(HANGS_S) or not any(says in line for line in said):
            raise RuntimeError(f"{' '.join(command)} does not listen: {''.join(said)}")
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):  # the test ended it
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        reader.join()
        process.stdout.close()


def free_port() -> int:
    """A port that nobody listens on. A port that the system gives could be given to a client before it is used."""
    while True:
        with socket.socket() as held, contextlib.suppress(OSError):
            port = _CHANCE.choice(PORTS)
            held.bind(("0.0.0.0", port))
            return port


def _read(stream: IO[str], said: list[str], says: str, ready: threading.Event) -> None:
    """Read on to the end, or the server would wait for a reader."""
    for line in stream:
        said.append(line)
        if says in line:
            ready.set()
    ready.set()
