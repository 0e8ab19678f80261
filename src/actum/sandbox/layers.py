"""`layers`: what holds a command on this machine, found by trying.

A probe is run in a jail and attempts what no jail allows. The files that it was to change are looked at from outside. A
layer counts only for what its probe could not do, so a system that was never tested is held or refused, never open.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from ..core.errors import UsageError
from ..core.language.sentence import Sentence
from ..transport.egress import Egress
from .backend import JailBackend, backend_named
from .jail import Jail, JailLimits
from .probe_targets import ProbeTargets
from .process import JailedCommand, JailedProcess

NEEDED = ("read", "write", "network", "signal")
INSTEAD = Sentence(
    "nothing is run that is not held. Use Linux 5.13 or newer, with Landlock, on x86_64 or aarch64. An MCP server runs "
    "without a jail if you add it with --no-jail"
)
PROBE = Path(__file__).with_name("probe.py")
PROBE_S = 60.0
SHORT = "/tmp"  # the folder that is made there has a name of its own, and is ours
PLACE_CHARS_MAX = 60
UNTOLD = "the probe says nothing of this"

_found: dict[JailBackend, tuple[Layer, ...]] = {}


class Layer(Struct, frozen=True):
    """One thing that a jail must hold.

    Attributes:
        name: `read`, `write`, `network` or `signal`.
        is_held: the probe could not do it.
        found: what the probe met, for people.
    """

    name: str
    is_held: bool
    found: str


async def layers(backend: JailBackend | None = None) -> tuple[Layer, ...]:
    """What is held here. The probe runs once in each process.

    Args:
        backend: what is to hold; None for what comes with actum.
    """
    holder = backend_named("") if backend is None else backend
    if holder not in _found:
        _found[holder] = await _probe(holder)
    return _found[holder]


async def _probe(backend: JailBackend) -> tuple[Layer, ...]:
    if what := backend.unavailable():
        return tuple(Layer(name, is_held=False, found=what) for name in NEEDED)
    try:
        told = await _probed(backend)
    except Exception as error:  # noqa: BLE001  # whatever a backend of others raises, it holds nothing
        what = f"the probe did not run: {type(error).__name__}: {error}"
        return tuple(Layer(name, is_held=False, found=what) for name in NEEDED)
    return tuple(Layer(name, is_held=told.get(name) == "", found=told.get(name, UNTOLD) or "held") for name in NEEDED)


async def _probed(backend: JailBackend) -> dict[str, str]:
    """What the probe could do, by layer; empty for nothing."""
    with (
        tempfile.TemporaryDirectory(prefix="actum-probe-", dir=_place()) as place,
        ProbeTargets(Path(place)) as targets,
    ):
        folder = targets.folder
        asked = JailedCommand(
            command=[sys.executable, PROBE.name, str(folder), *(str(each) for each in (os.getpid(), *targets.ports))],
            jail=Jail(read=(str(folder / "target"),), limits=JailLimits(seconds=20.0, cpu_seconds=10.0)),
            files={PROBE.name: PROBE.read_bytes()},
        )
        async with asyncio.timeout(PROBE_S), backend.start(asked) as process:
            said = await process.child.stdout.read(65_536)
            await process.ended()
        told = msgspec.json.decode(said, type=dict[str, str])
        for name, outside in (("write", targets.changed()), ("network", targets.reached())):
            told[name] = ", ".join(dict.fromkeys(part for part in (told.get(name, UNTOLD), outside) if part))
        return told


def _place() -> str | None:
    """Where the targets of the probe are made: the paths of sockets must be short, and a folder for temporary files may
    be deep. None for that folder.
    """
    return SHORT if len(tempfile.gettempdir()) > PLACE_CHARS_MAX and os.access(SHORT, os.W_OK) else None


@asynccontextmanager
async def _start(asked: JailedCommand, backend: JailBackend) -> AsyncIterator[JailedProcess]:
    missing = [layer for layer in await layers(backend) if not layer.is_held]
    if missing:
        what = "; ".join(f"{layer.name}: {layer.found}" for layer in missing)
        raise UsageError("this machine does not hold a jail ({what}): {instead}", what=what, instead=INSTEAD)
    async with backend.start(asked) as process:
        yield process


def start(
    command: Sequence[str],
    jail: Jail,
    *,
    files: Mapping[str, bytes] | None = None,
    cwd: str = "",
    egress: Egress | None = None,
    backend: JailBackend | None = None,
) -> AbstractAsyncContextManager[JailedProcess]:
    """Start a command in a jail.

    Args:
        command: the program and its arguments. On Linux a program that is our own Python, followed by the path of a
            script, runs in the launcher's interpreter, which saves the start of a second.
        jail: what it may do.
        files: what lies in its work folder at the start: data by relative path.
        cwd: the folder that the command starts in, which opens nothing there; empty for its work folder.
        egress: the operator's rules for outgoing calls, which hold beside `jail.hosts`; None for the usual rules.
        backend: what holds the jail; None for the backend that `jail.backend` names.

    Returns:
        A context that yields the process. When the context is left, nothing that the command started runs any more, and
        its work folder is gone.

    Raises:
        UsageError: the machine does not hold a jail, or the jail names a folder or a backend that does not exist.
    """
    asked = JailedCommand(command=command, jail=jail, files=files or {}, cwd=cwd, egress=egress)
    return _start(asked, backend_named(jail.backend) if backend is None else backend)
