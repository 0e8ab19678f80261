"""Answers to a run of a workflow that some process drives at the time. They are kept in a table of the journal.

A person can answer one branch while another works. The process that drives the run takes the answers from the table,
writes them to the record and goes on with those branches. No answer is lost as that process ends: the code that posts
an answer checks once more whether the run is free, and a process that has driven a run looks once more at the table.
"""

from __future__ import annotations

import contextlib

import msgspec

from ...core.errors import Busy
from ...core.interfaces import Journal
from ...core.run.record import InputGiven
from ...journal.recording import RunState
from ...journal.secrets import write_answer

_decode = msgspec.json.Decoder(InputGiven).decode


async def post_answer(journal: Journal, run_id: str, record: InputGiven) -> None:
    """Keep an answer for the process that drives a run.

    Args:
        journal: where the run is written down.
        run_id: the run.
        record: the answer, which fits what the run waits for.
    """
    await journal.post(run_id, msgspec.json.encode(record))
    with contextlib.suppress(Busy):  # the driver looks at the table before and after its claim ends
        async with journal.claim(run_id):
            await take_posted(journal, run_id, RunState(await journal.read(run_id)))


async def take_posted(journal: Journal, run_id: str, state: RunState) -> bool:
    """Write the answers that are held for a run to its record. The caller has claimed the run.

    Returns:
        Whether there was one that counts.
    """
    held = await journal.posted(run_id)
    if not held:
        return False
    taken = False
    for _, data in held:
        record = _decode(data)
        waiting = {asked.id for asked in state.waiting()}
        # What was answered meanwhile, or agreed to by the same person, counts for nothing.
        by = record.voter(state.tenant).name
        if record.id in waiting and by not in state.agreed(record.id, record.arguments):
            write_answer(journal, run_id, state, msgspec.structs.replace(record, elapsed=state.elapsed))
            taken = True
    await journal.sync(run_id)
    await journal.unpost(run_id, [place for place, _ in held])
    return taken
