"""Values with a label that a run may say again although another run brought them.

A model of a later turn was told values of an earlier one; an agent or a workflow below was told values of the run
above; and the run above is told what the run below answers. Each run has on record which labels models had seen before
(`Started.labels_seen`), and which a run below has seen (`ToolResult.seen`). So the runs that brought the values are
found, and what is hidden there is hidden here too. See `policy.record_mask`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..core.call import ToolResult
from ..core.errors import JournalError
from ..core.interfaces import Journal
from ..core.json import Json
from ..core.run.pending import Pending
from ..core.run.record import CallCompleted, Entry, InputRequested, Record, Started
from ..policy.record_mask import RecordMask
from .recorded import is_run_id


async def know_others(mask: RecordMask, journal: Journal, run_id: str, entries: Sequence[Entry]) -> RecordMask:
    """Take in the hidden values of the other runs that a run may say again.

    Args:
        mask: hides values from a reader, or from a model.
        journal: has the runs.
        run_id: the run.
        entries: its entries, or those that came since this was last asked.

    Returns:
        The mask.
    """
    looked, waiting = {run_id: None}, await _others(mask, journal, run_id, entries)
    while new := [each for each in dict.fromkeys(waiting) if each not in looked]:
        looked |= dict.fromkeys(new)
        waiting = []
        for each, found in (await journal.read_each(new)).items():
            mask.know_run(found)
            waiting += await _others(mask, journal, each, found)
    return mask


async def as_seen(mask: RecordMask, journal: Journal, run_id: str, entries: Sequence[Entry]) -> Sequence[Entry]:
    """The entries of a run as a reader may see them. Arguments are those of `know_others`."""
    return (await know_others(mask, journal, run_id, entries)).of_run(entries)


async def questions_as_seen(
    mask: RecordMask, journal: Journal, run_id: str, asked: Sequence[Pending]
) -> tuple[Pending, ...]:
    """Questions of a run, or of a run below it, as a reader may see them: also while the runs are under way, when the
    record of the run above does not name the run below yet. Arguments are those of `know_others`.
    """
    waiting = [run_id]
    for each in waiting:
        entries = await journal.read(each)
        mask.know_run(entries)
        await know_others(mask, journal, each, entries)
        waiting += [child.run_id for child in await journal.runs(parent=each, limit=None)]
    return tuple(map(mask.question, asked))


async def _others(mask: RecordMask, journal: Journal, run_id: str, entries: Sequence[Entry]) -> list[str]:
    """The runs beside a run that may have brought hidden values to it."""
    found: list[str] = []
    forked, has_below = "", False
    for entry in entries:
        match _record(entry):
            case Started() as started:
                forked = started.forked
                found += _before(mask, started)
            case InputRequested(run=below) if below:
                found.append(below)
            case CallCompleted(result=result) if mask.hides(result.seen):
                found += _named(result)
                has_below = True
            case _:
                pass
    if has_below:
        found += [child.run_id for child in await journal.runs(parent=run_id, limit=None)]
        found.append(forked)
    return [each for each in found if each]


def _before(mask: RecordMask, started: Started) -> list[str]:
    """The runs before a run and above it, where models had seen hidden values there. An older run of a workflow does
    not say what was seen before it."""
    is_near = mask.hides(started.labels_seen) or (started.workflow and mask.hides_any)
    return [started.previous, started.parent] if is_near else []


def _named(result: ToolResult) -> Iterator[str]:
    """The runs that a result names by their ids, such as those in which something was answered that a tool recalls."""
    waiting: list[Json] = [result.structured] if isinstance(result.structured, dict | list) else []
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if isinstance(named := item.get("id"), str) and is_run_id(named):
                yield named
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item


def _record(entry: Entry) -> Record | None:
    """A record that may name other runs, or tell of them."""
    if entry.number and not (b'"seen":[' in entry.payload or b'"run":"' in entry.payload):
        return None
    try:
        return entry.record
    except JournalError:
        return None
