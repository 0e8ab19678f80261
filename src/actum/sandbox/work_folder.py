"""`JailPlace`: the folders, the environment and the proxy of one command in a jail, alike for all backends."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import anyio
from msgspec import Struct

from ..core.errors import UsageError
from ..core.secrets.private_paths import keep_private
from ..storage.folders import settings_path, state_folder
from ..transport.guard import Guard
from .forwarder import Forwarder
from .process import JailedCommand
from .removal import remove

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class JailPlace(Struct, frozen=True, kw_only=True):
    """Where one command runs. All paths are without links.

    Attributes:
        base: a folder of this call's own, which holds the work folder and whatever the backend notes beside it.
        work: the work folder.
        home: the command's own folder that stays; empty for none.
        system: what every command may read: the system's programs, and the Python that runs us.
        read: what the command may read: `system`, and what the jail names.
        write: what the jail lets the command write, beside `work` and `home`.
        environment: all variables of the command.
        port: where the forwarder listens on the loopback; 0 where the jail names no hosts.
    """

    base: Path
    work: Path
    home: str
    system: tuple[str, ...]
    read: tuple[str, ...]
    write: tuple[str, ...]
    environment: dict[str, str]
    port: int


@asynccontextmanager
async def furnished(asked: JailedCommand, system: Sequence[str]) -> AsyncIterator[JailPlace]:
    """Make the folders of a command, and start its forwarder. All are gone when the block is left.

    Args:
        asked: the command.
        system: what every command may read on this kind of machine; what does not exist is left out.

    Raises:
        UsageError: the jail can't be held as it is declared; see `Jail.checked`.
    """
    jail = asked.jail
    _keep_own()
    if jail.home:
        _make_home(jail.home)
    found = _existing(system)
    checked = jail.checked(found)  # from here on no path of the jail is resolved again
    own = (checked.home,) if checked.home else ()
    systems = real(found)
    read = tuple(dict.fromkeys((*systems, *checked.read, *checked.write, *own)))
    base = _own_folder()
    forwarder = Forwarder(jail.hosts, Guard(egress=asked.egress)) if jail.hosts else None
    try:
        async with AsyncExitStack() as listening:
            if forwarder is not None:
                await listening.enter_async_context(forwarder.listening())
            work = _furnish(base, asked.files)
            yield JailPlace(
                base=base,
                work=work,
                home=checked.home,
                system=systems,
                read=read,
                write=checked.write,
                environment=(forwarder.environment if forwarder is not None else {})
                | _environment(work)
                | ({"HOME": jail.home} if jail.home else {})
                | jail.environment,
                port=forwarder.port if forwarder is not None else 0,
            )
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(remove, str(base))  # there may be many files


def real(paths: Sequence[str]) -> tuple[str, ...]:
    """The paths without links. A launcher opens them, and sees to it that no link was put in the way since."""
    return tuple(dict.fromkeys(str(Path(path).resolve()) for path in paths))


def _own_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="actum-jail-")).resolve()


def _make_home(folder: str) -> None:
    try:
        Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            "the folder {folder} of the command's own can't be made: {why}", folder=folder, why=error.strerror
        ) from None


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
            raise UsageError("files: {name!r} is not a path below the work folder", name=name)
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        place.write_bytes(data)
    return work


def _existing(system: Sequence[str]) -> tuple[str, ...]:
    """What every command may read and this machine has, with the Python that runs us."""
    python = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
    return tuple(path for path in (*system, *sorted(python)) if Path(path).exists())


def _environment(work: Path) -> dict[str, str]:
    return {
        "HOME": str(work),
        "LANG": "C.UTF-8",
        "PATH": f"{Path(sys.executable).parent}:{PATH}",
        "TMPDIR": str(work / "tmp"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "MPLBACKEND": "agg",
    }
