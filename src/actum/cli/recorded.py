"""A run as it is on record, with the runs of its calls, shown as a tree."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import structs

from ..core.interfaces import Journal
from ..core.run.summary import summary_of
from ..journal.conversations import Family, as_they_stand, family
from ..journal.mismatch import UNREADABLE, summary
from ..journal.named import find_run
from ..policy.labels import Label
from ..policy.record_mask import reader_mask
from ..runs.other_values import as_seen
from .show.terminal import Terminal, who
from .show.tree import tree_of

NO_LABELS: Mapping[str, Label] = {}


async def show_recorded(
    terminal: Terminal, journal: Journal, run_id: str, labels: Mapping[str, Label] = NO_LABELS
) -> None:
    """Show the run of this id; the arguments are those of `recorded_family`."""
    terminal.show(tree_of(await recorded_family(journal, run_id, labels)))


async def recorded_family(journal: Journal, run_id: str, labels: Mapping[str, Label] = NO_LABELS) -> Family:
    """A run and the runs of its calls, with its status as its record tells, as the person who types may see it.

    Args:
        journal: the journal.
        run_id: the run.
        labels: what the labels of values mean: who may read them.

    Raises:
        UnknownName: none, or more than one, is meant.
    """
    run = await find_run(journal, run_id)
    found = await summary(journal, run.run_id) or structs.replace(run, status=UNREADABLE)
    (run,) = await as_they_stand(journal, [found])
    return await _seen(journal, await family(journal, run), labels)


async def _seen(journal: Journal, found: Family, labels: Mapping[str, Label]) -> Family:
    entries = await as_seen(reader_mask(labels, who()), journal, found.run.run_id, found.entries)
    children = [await _seen(journal, each, labels) for each in found.children]
    line = summary_of(found.run.run_id, entries) if entries is not found.entries else None
    run = found.run if line is None else structs.replace(found.run, question=line.question)
    return structs.replace(found, run=run, entries=entries, children=children)
