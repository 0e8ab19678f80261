"""What a run of a workflow keeps apart from its records is deleted with the run."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from actum.core.errors import UnknownName
from actum.core.interfaces import Journal
from actum.core.run.node_records import NODE_VALUE_BYTES_MAX, NodeLeft
from actum.core.run.record import Started
from actum.journal.export import check_journal
from actum.journal.memory import MemoryJournal
from actum.storage.place import open_journal
from tests.postgres import pg_dump

from .test_conversation import COUNTER
from .test_workflow import workflow

LARGE = "my letter to Ada " * (NODE_VALUE_BYTES_MAX // 10)


async def digests(journal: Journal, run_id: str) -> set[str]:
    """Of what a run keeps apart: its inputs, the variables of its conversation, and values of its nodes."""
    records = [entry.record for entry in await journal.read(run_id)]
    found = {
        each
        for record in records
        if isinstance(record, Started)
        for each in (record.inputs_kept, record.variables_kept)
    }
    return (found | {record.kept for record in records if isinstance(record, NodeLeft)}) - {""}


def written(place: str) -> bytes:
    """All that a database holds on the disk, as text where it can be read as text."""
    if "://" in place:
        return bytes.fromhex(
            "".join(line.partition("\\x")[2].partition("'")[0] for line in pg_dump(place).splitlines())
        )
    return b"".join(each.read_bytes() for each in sorted(Path(place).parent.glob(f"{Path(place).name}*")))


@pytest.mark.row("C7")
async def test_large_values_of_a_run_are_deleted_with_it_and_those_of_another_run_stay(place: str) -> None:
    journal = open_journal(place)
    flow = workflow(COUNTER, journal=journal)
    runs = [
        (await flow.run({"word": LARGE}, conversation="c", principal="ada", tenant=tenant)).run_id
        for tenant in ("north", "north", "south")
    ]
    kept = [await digests(journal, run_id) for run_id in runs]
    assert kept[1] > kept[0] & kept[1], "the second turn also keeps the variables that it began with"
    assert (await check_journal(journal)).problems == []
    await journal.forget(runs[0])
    await journal.forget(runs[1])
    assert (await check_journal(journal)).problems == []
    for digest in kept[2]:
        assert LARGE.encode() in await journal.kept(digest)
    again = await workflow(COUNTER, journal=journal).run(
        {"word": "b"}, conversation="c", principal="ada", tenant="south"
    )
    assert again.output == {"words": [LARGE, "b"], "count": 2}
    await journal.forget(again.run_id)
    await journal.forget(runs[2])
    for digest in set().union(*kept):
        with pytest.raises(UnknownName):
            await journal.kept(digest)
    await journal.close()
    assert b"my letter to Ada" not in written(place)


async def test_a_journal_in_memory_forgets_them_too() -> None:
    journal = MemoryJournal()
    run = await workflow(COUNTER, journal=journal).run({"word": LARGE})
    kept = await digests(journal, run.run_id)
    assert kept
    await journal.forget(run.run_id)
    for digest in kept:
        with pytest.raises(UnknownName):
            await journal.kept(digest)


async def test_the_check_of_a_journal_tells_values_and_definitions_that_were_changed_or_deleted(tmp_path: Path) -> None:
    journal = open_journal(tmp_path / "j.db")
    run = await workflow(COUNTER, journal=journal).run({"word": LARGE})
    await journal.close()
    with closing(sqlite3.connect(tmp_path / "j.db")) as file, file:
        file.execute("DELETE FROM kept_of_runs")
        file.execute("UPDATE kept SET payload = x'7b7d'")
    again = open_journal(tmp_path / "j.db")
    problems = (await check_journal(again)).problems
    await again.close()
    assert f"run {run.run_id}: entry 0: the value that the journal keeps for it was deleted" in problems, "its inputs"
    assert f"run {run.run_id}: entry 0: the value that the journal keeps for it was changed" in problems, "its text"
