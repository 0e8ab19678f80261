"""`JailBackend`: what holds a jail on some kind of machine, and how a backend is found.

    Jail(backend="")          Linux: Landlock and seccomp; macOS: `sandbox-exec`; elsewhere nothing is run
    Jail(backend="machines")  the backend that an installed package offers by this name

A package offers a backend by an entry point of the group `actum.jails`. Its object is called without arguments and
returns the backend. What a backend says of itself counts for nothing: `layers` runs a probe in one of its jails.
"""

from __future__ import annotations

import platform
import sys
from contextlib import AbstractAsyncContextManager
from functools import cache
from typing import Protocol, runtime_checkable

from msgspec import Struct

from ..core.errors import UsageError
from ..core.language.sentence import names_or_none
from ..core.process.installed import installed, installed_one
from .linux import LandlockJail
from .macos import SeatbeltJail
from .process import JailedCommand, JailedProcess

GROUP = "actum.jails"


@runtime_checkable
class JailBackend(Protocol):
    """Starts commands in jails, by whatever holds them: the kernel, a container, a virtual machine.

    Two backends that are equal and have the same hash hold alike: one probe is run for both.
    """

    @property
    def name(self) -> str:
        """What holds, for people, as `Landlock 7, seccomp`."""

    def unavailable(self) -> str:
        """Why nothing can be held on this machine; empty where something may be."""

    def start(self, asked: JailedCommand) -> AbstractAsyncContextManager[JailedProcess]:
        """Start a command in its jail.

        Returns:
            A context that yields the process. When the context is left, nothing that the command started runs any more,
            and its work folder is gone.

        Raises:
            UsageError: the jail can't be held as it is declared. `furnished` (`work_folder.py`) does what all backends
                need: it checks the jail, makes the folders and starts the forwarder for the hosts of the jail.
        """


class NoJail(Struct, frozen=True):
    """The jail where there is no backend: nothing is run.

    Attributes:
        system: the name of the system, for people.
    """

    system: str

    @property
    def name(self) -> str:
        """For people."""
        return "none"

    def unavailable(self) -> str:
        """Why nothing can be held on this machine."""
        return f"{self.system} has no jail that actum knows"

    def start(self, asked: JailedCommand) -> AbstractAsyncContextManager[JailedProcess]:
        """Refuse."""
        raise UsageError(
            "{command} was not run: {unavailable}", command=asked.command[0], unavailable=self.unavailable()
        )


def own_backend(system: str = sys.platform) -> JailBackend:
    """The backend that comes with actum.

    Args:
        system: as in `sys.platform`.
    """
    if system == "linux":
        return LandlockJail()
    return SeatbeltJail() if system == "darwin" else NoJail(platform.system() or system)


@cache
def backend_named(name: str) -> JailBackend:
    """The backend that a jail names; empty for the one that comes with actum.

    Raises:
        UsageError: no installed package offers a backend of this name, or the package can't be loaded.
    """
    if not name:
        return own_backend()
    offered = installed_one(GROUP, name)
    if offered is None:
        known = names_or_none(each.name for each in installed(GROUP))
        raise UsageError(
            "Jail(backend={name!r}): no installed package offers this backend (offered are: "
            "{known}). Install the package, or leave `backend` empty for the backend of actum",
            name=name,
            known=known,
        )
    try:
        make: object = offered.load()
        backend = make() if callable(make) else make
    except Exception as error:
        raise UsageError("Jail(backend={name!r}): the backend can't be loaded: {why}", name=name, why=error) from error
    if not isinstance(backend, JailBackend):
        raise UsageError("Jail(backend={name!r}): {value} returns no JailBackend", name=name, value=offered.value)
    return backend
