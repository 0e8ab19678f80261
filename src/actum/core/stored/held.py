"""Runs that are held: they were unfinished when their journal was restored from a backup.

The record does not know what was done after the backup. So nothing of a held run goes on or goes out by itself: no
process can claim the run, its task is not begun, and no message about it is sent, until a person releases the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..errors import Busy


class RunHeld(Busy):
    """A run that is held was to be gone on with."""

    def __init__(self, run_id: str) -> None:
        super().__init__(
            "run {run!r} is held, since its journal was restored from a backup: `actum resume {run}` or "
            "`actum runs release {run}` goes on with it",
            run=run_id,
        )


class HeldRuns(Protocol):
    """The runs that are held in a journal. Every method may raise JournalError where the database can not do it."""

    async def hold(self) -> int:
        """Hold all that is unfinished now: runs, tasks, messages about ended tasks, and news; how many runs are held.
        Schedules begin nothing until all is released, and sessions of people who logged in are ended: they may have
        logged out since. No server may be at work: it would go on with what it drives.
        """

    async def is_on(self) -> bool:
        """Whether the journal was held, and not all of it was released."""

    async def since(self) -> float | None:
        """When the journal was held, in seconds since 1970; None where it is not held, or all of it was released."""

    async def which(self, run_ids: Sequence[str]) -> set[str]:
        """Those of these runs that are held."""

    async def release(self, run_id: str = "") -> int:
        """Release a run with all runs that its calls began, or everything; how many runs were held. Once all is
        released, schedules go on from now on.

        Args:
            run_id: the run; empty for everything.
        """
