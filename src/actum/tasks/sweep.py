"""Looking for tasks that nobody carries out any more. Every dispatcher does so now and then."""

from __future__ import annotations

from collections.abc import Container
from contextlib import suppress

from ..core.errors import Busy
from ..core.interfaces import Clock, Journal, TaskIndex
from ..core.process.claim import claim_of_end
from .attempt import settle

SWEEP_S = 5.0
"""Seconds between two looks for tasks whose process is gone, or whose deadline has passed."""
DROP_S = 3600.0
"""Seconds between two looks for tasks that have ended so long ago that the list drops them."""


async def sweep(journal: Journal, index: TaskIndex, clock: Clock, *, without: Container[str] = ()) -> None:
    """Settle the tasks whose process ended before they did, and those whose deadline has passed.

    Args:
        journal: where tasks are on record.
        index: its list of tasks.
        clock: the time.
        without: the tasks that the caller carries out itself.

    Raises:
        JournalError: the journal can not be read or written.
    """
    found = [*await index.running(), *await index.late(clock.now())]
    lines = {line.run_id: line for line in found if not line.home and line.run_id not in without}
    if not lines:
        return
    free = lines.keys() - await journal.driven(list(lines))
    ending = await journal.driven([claim_of_end(run_id) for run_id in free]) if free else set()
    for run_id in free:
        if claim_of_end(run_id) in ending:
            continue  # its process breaks the attempt off just now, and says why
        with suppress(Busy):  # somebody has just taken the task
            await settle(journal, run_id, clock=clock, wait_s=0.0)
