"""`layers`: what holds a command on this machine, found by trying.

A probe is run in a jail and attempts what no jail allows. The files that it was to change are looked at from outside. A
layer counts only for what its probe could not do, so a system that was never tested is held or refused, never open.
"""

from __future__ import annotations

import ctypes
import platform
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from ..core.errors import ActumError, UsageError
from ..transport.egress import Egress
from .jail import Jail, JailLimits
from .start import LANDLOCK_CREATE_RULESET, JailedProcess, start_unprobed

NEEDED = ("read", "write", "network", "signal")
INSTEAD = (
    "nothing is run that is not held. Use Linux 5.13 or newer, with Landlock, on x86_64 or aarch64. An MCP server runs "
    "without a jail if you add it with --no-jail"
)
PROBE = Path(__file__).with_name("probe.py")
TESTED_MAX = 7
"""The newest version of Landlock whose rights this package knows. A newer kernel is held to these."""

_found: dict[int, tuple[Layer, ...]] = {}


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


def landlock_abi() -> int:
    """The version of Landlock that the kernel has; 0 for none."""
    if sys.platform != "linux":
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    found: int = libc.syscall(ctypes.c_long(LANDLOCK_CREATE_RULESET), None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    return max(0, min(found, TESTED_MAX))


async def layers(abi: int | None = None) -> tuple[Layer, ...]:
    """What is held here. The probe runs once in each process.

    Args:
        abi: use no more than this version of Landlock; for tests. None for what the kernel has.
    """
    version = landlock_abi() if abi is None else min(abi, landlock_abi())
    if version not in _found:
        _found[version] = await _probe(version)
    return _found[version]


async def _probe(abi: int) -> tuple[Layer, ...]:
    if abi == 0:
        what = f"{platform.system()} has no Landlock" if sys.platform != "linux" else "the kernel has no Landlock"
        return tuple(Layer(name, is_held=False, found=what) for name in NEEDED)
    with tempfile.TemporaryDirectory(prefix="actum-probe-") as place:
        secret, target = _set_out(Path(place))
        usage = JailLimits(seconds=20.0, cpu_seconds=10.0)
        jail = Jail(read=(str(target),), limits=usage)
        try:
            async with start_unprobed(
                [sys.executable, str(PROBE.name), str(secret), str(target)], jail, {PROBE.name: PROBE.read_bytes()}, abi
            ) as process:
                said = await process.child.stdout.read(65_536)
                await process.ended()
            told = msgspec.json.decode(said, type=dict[str, str])
        except (ActumError, OSError, msgspec.DecodeError) as error:
            what = f"the probe did not run: {error}"
            return tuple(Layer(name, is_held=False, found=what) for name in NEEDED)
        told["write"] = told["write"] or _changed(Path(place))
    return tuple(Layer(name, is_held=told.get(name, name) == "", found=told.get(name) or "held") for name in NEEDED)


def _set_out(folder: Path) -> tuple[Path, Path]:
    """Two files that everybody may read and write by their modes, so that the jail alone holds them."""
    files = folder / "secret", folder / "target"
    for file in files:
        file.write_text("whole", "ascii")
        file.chmod(0o666)
    folder.chmod(0o777)
    return files


def _changed(folder: Path) -> str:
    left = {file.name: file.read_text("ascii") for file in folder.iterdir()}
    return "" if left == {"secret": "whole", "target": "whole"} else "a file outside was changed"


@asynccontextmanager
async def _start(
    command: Sequence[str], jail: Jail, files: Mapping[str, bytes], abi: int | None, cwd: str, egress: Egress | None
) -> AsyncIterator[JailedProcess]:
    missing = [layer for layer in await layers(abi) if not layer.is_held]
    if missing:
        what = "; ".join(f"{layer.name}: {layer.found}" for layer in missing)
        raise UsageError(f"this machine does not hold a jail ({what}): {INSTEAD}")
    version = landlock_abi() if abi is None else min(abi, landlock_abi())
    async with start_unprobed(command, jail, files, version, cwd, egress) as process:
        yield process


def start(
    command: Sequence[str],
    jail: Jail,
    *,
    files: Mapping[str, bytes] | None = None,
    abi: int | None = None,
    cwd: str = "",
    egress: Egress | None = None,
) -> AbstractAsyncContextManager[JailedProcess]:
    """Start a command in a jail.

    Args:
        command: the program and its arguments. A program that is our own Python, followed by the path of a script, runs
            in the launcher's interpreter, which saves the start of a second.
        jail: what it may do.
        files: what lies in its work folder at the start: data by relative path.
        abi: use no more than this version of Landlock; for tests.
        cwd: the folder that the command starts in, which opens nothing there; empty for its work folder.
        egress: the operator's rules for outgoing calls, which hold beside `jail.hosts`; None for the usual rules.

    Returns:
        A context that yields the process. When the context is left, nothing that the command started runs any more, and
        its work folder is gone.

    Raises:
        UsageError: the machine does not hold a jail, or the jail names a folder that does not exist.
    """
    return _start(command, jail, files or {}, abi, cwd, egress)
