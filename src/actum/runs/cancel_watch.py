"""Cancels the runs of this process that another process wants cancelled, or whose callers have lost their access.

A process that wants a run cancelled holds the claim of `claim_of_cancel`. As long as runs are under way here, the
journal is asked twice a second for the claims that are held. A run that takes less than half a second costs no look.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from ..core.errors import JournalError
from ..core.interfaces import Journal
from ..core.process.claim import claim_of_cancel

LOOK_S = 0.5
"""Seconds between two looks."""


class Cancellable(Protocol):
    """A run that is under way in this process."""

    @property
    def run_id(self) -> str:
        """The run."""

    @property
    def journal(self) -> Journal:
        """Where the run is written down."""

    def cancel(self) -> None:
        """Stop the run. A second word changes nothing."""

    async def look_at_access(self) -> None:
        """End the run where its caller's access is lost, if the run can be ended now.

        Raises:
            JournalError: nobody can tell now.
        """


class CancelWatch:
    """The runs under way that are watched together."""

    def __init__(self) -> None:
        self._runs: set[Cancellable] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._looking: asyncio.Task[None] | None = None

    def add(self, run: Cancellable) -> None:
        """Watch a run from now on."""
        self._runs.add(run)
        loop = asyncio.get_running_loop()
        if self._loop is not loop:  # nothing is watched yet, or the loop of an earlier `asyncio.run` has ended
            self._loop = loop
            loop.call_later(LOOK_S, self._begin, loop)

    def remove(self, run: Cancellable) -> None:
        """Watch a run no longer."""
        self._runs.discard(run)

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._loop is not loop:
            return
        if not self._runs:
            self._loop = None
            return
        self._looking = loop.create_task(self._look(), name="runs that others want cancelled")
        self._looking.add_done_callback(lambda task: self._again(loop))

    def _again(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._loop is loop and not loop.is_closed():
            loop.call_later(LOOK_S, self._begin, loop)

    async def _look(self) -> None:
        by_journal: dict[Journal, list[Cancellable]] = {}
        for run in self._runs:
            by_journal.setdefault(run.journal, []).append(run)
        for journal, runs in by_journal.items():
            try:
                for run in runs:
                    await run.look_at_access()
                wanted = await journal.driven([claim_of_cancel(run.run_id) for run in runs])
            except JournalError:
                continue  # asked again; the process that wants the run cancelled is told that the journal fails
            for run in runs:
                if run in self._runs and claim_of_cancel(run.run_id) in wanted:
                    run.cancel()
