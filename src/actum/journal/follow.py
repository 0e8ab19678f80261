"""Follows runs while another process, or another task, drives them: the entries that are there, and those to come.

Whatever is shown of a run while it goes on (in a terminal, in a browser, to a subscriber) is a fold over what `follow`
yields. A stream that was cut goes on behind the number of the last entry that arrived, in any process: entries are
numbered within their run, so none is missing and none comes twice.

The journal is asked for what is new, five times a second. Nothing has to be told by the process that writes. A server
looks once for all who follow runs there: `journal.watch`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from ..core.clock import SystemClock
from ..core.errors import JournalError
from ..core.interfaces import Clock, Journal
from ..core.run.ending import is_last
from ..core.run.record import Entry

POLL_S = 0.2
"""So often the journal is asked for what is new."""
FOLLOWED_MAX = 200
"""`follow_all` follows this number of the latest runs."""


async def follow(
    journal: Journal,
    run_id: str,
    clock: Clock | None = None,
    *,
    after: int = -1,
    tenant: str | None = None,
) -> AsyncIterator[Entry]:
    """The entries of a run, those to come as they come, until the run has ended.

    A run that is paused, or that nobody drives any more, ends the stream as well.

    Args:
        journal: may be written to by another process.
        run_id: the run. Of a run that is not there, nothing comes.
        clock: says when to look again; the clock of the system where it is left out.
        after: the number of the last entry that arrived before; -1 for none.
        tenant: on behalf of which tenant the run is followed: another tenant's run is not there.
    """
    known = await journal.read(run_id, max(after - 1, -1), tenant=tenant)
    if not known or (known[-1].number == after and _is_over(known[-1])):
        return  # there is no such run, or nothing behind the entry
    seen, alone, clock = after, False, clock or SystemClock()
    while True:
        entries = await journal.read(run_id, seen, tenant=tenant)
        for entry in entries:
            seen = entry.number
            yield entry
        if entries and _is_over(entries[-1]):
            return
        if not entries and alone:  # nobody drove it, and nothing was written before that was seen
            return
        alone = run_id not in await journal.driven([run_id])
        if not alone:
            await clock.sleep(POLL_S)


async def follow_all(journal: Journal, clock: Clock) -> AsyncIterator[tuple[str, Entry]]:
    """What is written from now on to the latest runs, and to those that begin: the id of the run, and the entry."""
    seen: dict[str, int] = {}
    for run_id in await journal.statuses(limit=FOLLOWED_MAX):
        entries = await journal.read(run_id)
        seen[run_id] = entries[-1].number if entries else -1
    while True:
        await clock.sleep(POLL_S)
        runs = list(await journal.statuses(limit=FOLLOWED_MAX))[::-1]
        new = await journal.read_each(runs, seen)
        for run_id in runs:
            for entry in new.get(run_id, ()):
                seen[run_id] = entry.number
                yield run_id, entry


def _is_over(latest: Entry) -> bool:
    """Whether a run has ended with this entry."""
    try:
        return is_last(latest.record)
    except JournalError:
        return False
