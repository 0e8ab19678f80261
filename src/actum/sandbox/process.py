"""A command in a jail, whatever holds the jail: what is to run, what runs, and the report of how it ended."""

from __future__ import annotations

import signal
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import anyio
from msgspec import Struct

from ..core.errors import UsageError
from ..transport.egress import Egress
from ..transport.process import Child, Ending
from ..transport.process_tree import KILL
from .jail import Jail

ENDING: Ending = ((signal.SIGTERM, 5.0), (KILL, 2.0))
AROUND_PROXY = (
    "It tried to connect without the proxy of its jail, and has no other network: its hosts are reached only through "
    "the proxy that HTTP_PROXY and HTTPS_PROXY name."
)
"""What is added to an error of a command that did so."""


class JailedCommand(Struct, frozen=True, kw_only=True):
    """A command that is to run in a jail.

    Attributes:
        command: the program and its arguments.
        jail: what the command may do.
        files: what lies in its work folder at the start: data by relative path.
        cwd: the folder that the command starts in, which opens nothing there; empty for its work folder.
        egress: the operator's rules for outgoing calls, which hold beside `jail.hosts`; None for the usual rules.
    """

    command: Sequence[str]
    jail: Jail
    files: Mapping[str, bytes] = {}
    cwd: str = ""
    egress: Egress | None = None


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


class JailedProcess(ABC):
    """A command in its jail. Each backend has a class of its own.

    Args:
        child: the process and its pipes.
        work: the folder that the command starts in and may write. It is gone when `start` is left.

    Attributes:
        child, work: as given.
        report_before_removal: how the command ended, for code that asks after `start` was left; None before.
    """

    def __init__(self, child: Child, work: Path) -> None:
        self.child = child
        self.work = work
        self.report_before_removal: JailReport | None = None

    @abstractmethod
    def report(self) -> JailReport:
        """How the command ended, once it has.

        Raises:
            UsageError: the jail could not be put on; nothing was run.
        """

    def opened_outside(self) -> list[str] | None:
        """The files that exist and that the command tried to open outside its jail, since this was last asked.

        Of use where the jail says `audit`. None where this machine can not see what the command opens.
        """
        return None

    def went_around_proxy(self) -> bool:
        """Whether the command tried to connect elsewhere than to the proxy of its jail, since this was last asked.

        Told only where the jail names hosts. Without hosts the command has no network at all.
        """
        return False

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


async def end_jailed(child: Child, ending: Ending = ENDING) -> None:
    """End a child with all that it started, and let go of it, also where the event loop ends meanwhile.

    Args:
        child: the process.
        ending: how it is ended.
    """
    try:
        with anyio.CancelScope(shield=True):
            await child.end(ending)
    finally:
        child.close()
