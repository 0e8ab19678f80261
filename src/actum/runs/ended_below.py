"""What becomes of the runs below a run that is ended from outside: by a person, or because its process is gone."""

from __future__ import annotations

from contextlib import suppress

from ..core.errors import Busy
from ..core.interfaces import Journal
from ..core.run.record import Ended
from ..core.run.summary import summary_of
from ..core.run.task_line import line_of

CANCELLED = Ended("stopped", "", "cancelled")
"""The end of a run that somebody cancelled while nobody carried it out."""
UNFINISHED = ("running", "waiting", "paused")
"""How runs are listed that have no end yet."""


async def end_runs_below(journal: Journal, run_id: str, ended: Ended) -> None:
    """End the runs that the calls of a run began, and those below them, where nobody carries them out. Nothing goes on
    with such a run once the run above has ended: it would be listed as interrupted or paused for ever, and its trace
    would stay open. This comes before the end of the run itself, so that a process that is killed in between leaves a
    run that can be ended again.

    A run below that somebody carries out just now writes its own end. A task below goes on by itself, and stays.

    Args:
        journal: where the runs are on record.
        run_id: the run that is about to be ended. The caller has claimed it.
        ended: how each of the runs below ends, which is how the run itself does.

    Raises:
        JournalError: the journal can not be read or written.
    """
    for child in await journal.runs(parent=run_id, status=UNFINISHED, limit=None):
        with suppress(Busy):
            async with journal.claim(child.run_id):
                entries = await journal.read(child.run_id)
                line = summary_of(child.run_id, entries)
                if line is None or line.status not in UNFINISHED or line_of(child.run_id, entries) is not None:
                    continue
                await end_runs_below(journal, child.run_id, ended)
                journal.append(child.run_id, ended)
                await journal.sync(child.run_id)
