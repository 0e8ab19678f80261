"""The settings as their files say them now, beside those with which a process began.

    watch = SettingsWatch(settings, os.environ)
    watch.now                # as read a quarter of a second ago at most
    watch.problem            # why the files can not be used now; empty where they can

A change that closes something holds at once, in every process that has read the same files: who may use an agent, and
where calls may go (`[egress]`). What the settings said at the start holds beside what they say now, so that a change
that opens something waits for a new start. Files that are broken or gone change nothing.
"""

from __future__ import annotations

import logging
import stat
from collections.abc import Mapping
from pathlib import Path

from ..agents.identity import Naming
from ..core.clock import SystemClock
from ..core.errors import UsageError
from ..core.interfaces import Clock
from ..transport.egress import Egress, EgressRules
from .settings import Settings, read_settings, settings_files

log = logging.getLogger("actum.settings")

LOOK_S = 0.25
"""Seconds between two looks at the files."""
UNUSABLE = "the settings can not be read: those that were read before still hold"
"""What `/readyz` says. A client of `/readyz` needs no key, so no path is told."""

_Stamp = tuple[int, int, int] | None


class SettingsWatch:
    """Follows the files of settings. Settings that were read from no file never change.

    Args:
        settings: as the process has read them at its start.
        environment: the variables of this process.
        clock: the time.

    Attributes:
        problem: why the files can not be used now; empty where they can, as of the latest look.
    """

    def __init__(self, settings: Settings, environment: Mapping[str, str], *, clock: Clock | None = None) -> None:
        self._origin = settings.origin
        self._environment = environment
        self._clock = clock or SystemClock()
        self._now = settings
        self._files = settings_files(Path(settings.origin.folder), environment) if settings.origin is not None else ()
        self._stamps = self._look()
        self._looked_at = self._clock.monotonic()
        self.problem = ""

    @property
    def now(self) -> Settings:
        """The settings as the files say them now; those before, where the files can not be used."""
        at = self._clock.monotonic()
        if self._origin is not None and at - self._looked_at >= LOOK_S:
            self._looked_at = at
            stamps = self._look()
            if stamps != self._stamps or self.problem:
                self._read(stamps)
        return self._now

    def trouble(self) -> str:
        """What `/readyz` says of the files; empty where they can be used."""
        return UNUSABLE if self.now is not None and self.problem else ""

    def _read(self, stamps: tuple[_Stamp, ...]) -> None:
        assert self._origin is not None
        gone = [str(file) for file, was, is_ in zip(self._files, self._stamps, stamps, strict=True) if was and not is_]
        try:
            if gone:
                raise UsageError("{path} is gone", path=gone[0])
            self._now = read_settings(Path(self._origin.folder), self._environment, self._origin.said)
            self._stamps, self.problem = stamps, ""
        except UsageError as error:
            if str(error) != self.problem:
                log.error("the settings can not be read, the old ones hold: %s", error)
            self.problem = str(error)

    def _look(self) -> tuple[_Stamp, ...]:
        return tuple(map(_stamp, self._files))


def open_egress(settings: Settings, environment: Mapping[str, str]) -> Egress:
    """The operator's rules for outgoing calls, which become narrower as soon as the files of settings say so.

    Args:
        settings: as read.
        environment: the variables of this process.
    """
    watch = SettingsWatch(settings, environment)

    def now() -> EgressRules:
        return watch.now.egress

    return Egress(settings.egress, now=now)


def naming_now(watch: SettingsWatch, name: str) -> Naming | None:
    """Who may use an agent by the settings as they are now; None where the settings have no such agent any more."""
    table = watch.now.agents.get(name)
    return None if table is None else Naming(name=name, users=table.users, roles=table.roles)


def _stamp(path: Path) -> _Stamp:
    """What changes with a file; None where there is none, or something else than a file."""
    try:
        facts = path.stat()
    except (OSError, ValueError):
        return None
    return None if not stat.S_ISREG(facts.st_mode) else (facts.st_mtime_ns, facts.st_size, facts.st_ino)
