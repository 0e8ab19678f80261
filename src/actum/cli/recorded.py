"""A run as it is on record, with the runs of its calls, shown as a tree."""

from __future__ import annotations

from msgspec import structs

from ..core.interfaces import Journal
from ..journal.conversations import Family, as_they_stand, family
from ..journal.mismatch import UNREADABLE, summary
from ..journal.named import find_run
from .show.terminal import Terminal
from .show.tree import tree_of


async def show_recorded(terminal: Terminal, journal: Journal, run_id: str) -> None:
    """Show the run of this id."""
    terminal.show(tree_of(await recorded_family(journal, run_id)))


async def recorded_family(journal: Journal, run_id: str) -> Family:
    """A run and the runs of its calls, with its status as its record tells.

    Raises:
        UnknownName: none, or more than one, is meant.
    """
    run = await find_run(journal, run_id)
    found = await summary(journal, run.run_id) or structs.replace(run, status=UNREADABLE)
    (run,) = await as_they_stand(journal, [found])
    return await family(journal, run)
