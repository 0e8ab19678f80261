"""Runs that hold what other runs say: branches, summaries of conversations, and notes of the words. They are runs of
their own, so that they stay when the others are deleted, and are named to the person who deletes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..core.errors import JournalError
from ..core.interfaces import Journal
from ..core.run.record import Entry, Noted, Record, Started
from ..core.run.summary import RunSummary
from ..memory.feature import FEATURE as MEMORY
from ..memory.notes import Kept

_RUNS_AT_ONCE = 100


async def copies_of(journal: Journal, chosen: Sequence[RunSummary], everything: Sequence[RunSummary]) -> list[str]:
    """Other runs that hold what some runs say.

    Args:
        journal: has the runs.
        chosen: the runs that are to be deleted, as they are before.
        everything: the runs among which is looked.
    """
    gone = {run.run_id for run in chosen}
    talks = {(run.owner, run.conversation) for run in chosen if run.conversation}
    others = [run for run in everything if run.run_id not in gone and run.status != "forgotten"] if gone else []
    found: list[str] = []
    for at in range(0, len(others), _RUNS_AT_ONCE):
        part = others[at : at + _RUNS_AT_ONCE]
        read = await journal.read_each([run.run_id for run in part])
        for run in part:
            entries = read.get(run.run_id, [])
            started = _record(entries[0]) if entries else None
            if isinstance(started, Started) and (
                started.forked in gone
                or (started.compacts and (run.owner, run.conversation) in talks)
                or any(_quotes(journal, entry, gone) for entry in entries)
            ):
                found.append(run.run_id)
    return found


def _quotes(journal: Journal, entry: Entry, gone: Collection[str]) -> bool:
    """Whether an entry holds a note of memory with words that a user said in one of some runs."""
    if (noted := _record(entry)) is None or not isinstance(noted, Noted) or noted.feature != MEMORY.name:
        return False
    kept = journal.record_kinds.read(noted)
    return isinstance(kept, Kept) and kept.about in gone


def _record(entry: Entry) -> Record | None:
    """The record of an entry; None where it was deleted or can not be read."""
    try:
        return entry.record
    except JournalError:
        return None
