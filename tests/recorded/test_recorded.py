"""Runs that an earlier version left anywhere are gone on with by this one: nothing lost, nothing done twice."""

from __future__ import annotations

import lzma
import shutil
from collections import Counter
from pathlib import Path

import psycopg
import pytest

from actum.core.interfaces import Journal
from actum.core.run.chain import verify
from actum.core.run.record import InputRequested, Intended
from actum.storage.place import open_journal
from tests.postgres import PostgresServer

from .record import DATABASES, LEDGERS
from .story import MEANT, RECORDED, STORIES, Ledger


@pytest.fixture(scope="module")
def databases(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Where the databases of the earlier version are, by their kinds."""
    file = tmp_path_factory.mktemp("recorded") / "runs.db"
    file.write_bytes(lzma.decompress(DATABASES["sqlite"].read_bytes()))
    place = postgres.new_database()
    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute(lzma.decompress(DATABASES["postgres"].read_bytes()))
    return {"sqlite": str(file), "postgres": place}


async def doubts_of(journal: Journal, run_id: str) -> int:
    """How many effects of a story, and of the runs below it, a person was asked about."""
    found = 0
    for each_id in (run_id, *(run.run_id for run in await journal.runs(limit=None, parent=run_id))):
        entries = await journal.read(each_id)
        assert not verify(entries)
        records = [entry.record for entry in entries]
        plain = {(each.cause, each.index) for each in records if isinstance(each, Intended) and each.tool == "plain"}
        asked = {
            (each.cause, each.index)
            for each in records
            if isinstance(each, InputRequested) and each.kind == "doubt" and not each.run
        }
        found += len(asked & plain)
    return found


@pytest.mark.row("C7")
@pytest.mark.parametrize("database", DATABASES)
@pytest.mark.parametrize("story", STORIES)
async def test_a_run_that_an_earlier_version_left_anywhere_comes_to_its_end(
    story: str, database: str, databases: dict[str, str], tmp_path: Path
) -> None:
    effects = Path(shutil.copy(LEDGERS[database], tmp_path / "ledger"))
    journal = open_journal(databases[database])
    for records in range(1, RECORDED[story] + 1):
        run_id = f"{story}-{records:02}"
        ledger = Ledger(effects, run_id)
        result = await STORIES[story](journal, run_id, ledger)
        assert result.status == "done", run_id
        done = Counter(ledger.effects())
        meant = Counter(MEANT[story])
        missing = meant["plain"] - done["plain"]
        assert 0 <= missing <= await doubts_of(journal, run_id), run_id
        assert Counter({**done, "plain": 0}) == Counter({**meant, "plain": 0}), run_id
    await journal.close()
