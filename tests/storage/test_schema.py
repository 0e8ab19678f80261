"""A journal that the last of the earlier migrations made is taken over in place, and is then like one made anew."""

from __future__ import annotations

import asyncio
import contextlib
import lzma
import re
import signal
import sqlite3
import sys
from pathlib import Path

import psycopg
import pytest

from actum.core.run.chain import verify
from actum.storage.schema import POSTGRES, SQLITE
from tests import warm
from tests.recorded.record import DATABASES

from .conftest import Store


def on_server(store: Store) -> bool:
    return store.place.startswith("postgresql:")


@pytest.fixture
def earlier(shared: Store) -> Store:
    """The recorded journal in each kind of place."""
    if on_server(shared):
        with psycopg.connect(shared.place, autocommit=True) as server:
            server.execute("DROP SCHEMA actum CASCADE")
            server.execute(lzma.decompress(DATABASES["postgres"].read_bytes()))
    else:
        Path(shared.place).parent.mkdir()
        Path(shared.place).write_bytes(lzma.decompress(DATABASES["sqlite"].read_bytes()))
    return shared


def version(store: Store) -> int:
    if on_server(store):
        with psycopg.connect(store.place) as server:
            ((found,),) = server.execute("SELECT version FROM actum.version").fetchall()
    else:
        with contextlib.closing(sqlite3.connect(store.place)) as file:
            ((found,),) = file.execute("PRAGMA user_version").fetchall()
    return int(found)


def tables(store: Store) -> set[tuple[object, ...]]:
    """Each column, index and trigger, as the database tells of it."""
    if on_server(store):
        queries = (
            """SELECT table_name, ordinal_position, column_name, data_type, is_nullable, column_default, is_identity
                FROM information_schema.columns WHERE table_schema = 'actum'""",
            "SELECT indexdef FROM pg_indexes WHERE schemaname = 'actum'",
            "SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger",
            "SELECT relname, reloptions::text FROM pg_class WHERE reloptions IS NOT NULL AND relname = 'counted'",
        )
        with psycopg.connect(store.place) as server:
            return {row for query in queries for row in server.execute(query.encode()).fetchall()}
    found: set[tuple[object, ...]] = set()
    with contextlib.closing(sqlite3.connect(store.place)) as file:
        for kind, name, told in file.execute("SELECT type, name, sql FROM sqlite_master").fetchall():
            found.add((kind, name, "" if kind == "table" or told is None else re.sub(r"\s+", " ", told)))
            found |= {(name, *row) for row in file.execute(f"PRAGMA table_info({name})").fetchall() if kind == "table"}
    return found


async def test_a_journal_that_is_taken_over_has_the_tables_of_a_new_one_and_its_records(
    earlier: Store, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    schema = POSTGRES if on_server(earlier) else SQLITE
    assert version(earlier) == schema.version
    journals = await asyncio.gather(*(asyncio.to_thread(earlier.open) for _ in range(4)))
    assert version(earlier) == schema.latest
    runs = await journals[0].runs(limit=None)
    assert len(runs) > 50
    assert not any([verify(await journals[1].read(run.run_id)) for run in runs])
    place = request.getfixturevalue("postgres").new_database() if on_server(earlier) else str(tmp_path / "new.db")
    new = Store(place)
    new.open()
    await new.close()
    assert tables(earlier) == tables(new)


DIES = """
import os, signal, sys, time
from pathlib import Path
from actum.storage.journal import DatabaseJournal
from actum.storage.postgres import PostgresDatabase
from actum.storage.schema import POSTGRES, SQLITE
from actum.storage.sqlite import SQLiteDatabase
place = sys.argv[1]
on_server = place.startswith("postgresql:")
class Dying(PostgresDatabase if on_server else SQLiteDatabase):
    def set_version(self, version):
        if on_server:
            self._pipeline.close()  # so that the server has made what was asked before
        os.kill(os.getpid(), signal.SIGKILL)
database = Dying(place if on_server else Path(place))
DatabaseJournal(database, POSTGRES if on_server else SQLITE, now=time.time, key=None)
"""


async def test_a_taking_over_that_is_killed_in_the_middle_has_changed_nothing_and_is_done_by_the_next_process(
    earlier: Store,
) -> None:
    schema, before = POSTGRES if on_server(earlier) else SQLITE, tables(earlier)
    done = await asyncio.to_thread(
        warm.run, [sys.executable, "-c", DIES, earlier.place], capture_output=True, text=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert (version(earlier), tables(earlier)) == (schema.version, before)
    journal = earlier.open()
    assert version(earlier) == schema.latest
    assert await journal.stores.kept() == []
