"""Rows that follow from records of features: written behind the record, made anew from it, and never a run's fault."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sqlite3
import sys
from collections.abc import Iterator

import msgspec
import psycopg
import pytest
from msgspec import Struct

from actum.core.errors import UsageError
from actum.core.interfaces import Journal
from actum.core.run.chain import verify
from actum.core.run.noted import RecordKind, RecordKinds
from actum.core.stores import AddTable, Migrations, RecordPlace, RecordView, Table
from actum.journal.memory import MemoryJournal
from actum.storage.place import open_journal
from tests import warm

from .conftest import Store
from .records import DONE, started


class Saved(Struct, frozen=True, tag="saved"):
    url: str


class Link(Struct, frozen=True):
    url: str
    run_id: str
    number: int
    principal: str = ""


LINKS = Table("links", Link, key=("url", "run_id"), indexes=(("run_id",),))
MADE: Migrations = ((AddTable(LINKS),),)
KINDS = RecordKinds([RecordKind("reading", Saved)])


def links(record: Saved, place: RecordPlace) -> Iterator[Link]:
    """Two rows a record; one record is bad."""
    if record.url == "raises":
        raise ZeroDivisionError("no such page")
    yield Link(record.url, place.run_id, place.number, place.principal)
    yield Link("\0" if record.url == "refused" else f"{record.url}#2", place.run_id, place.number, place.principal)


VIEW = RecordView(LINKS, Saved, links)


async def opened(store: Store, *, views: tuple[RecordView, ...] = (VIEW,)) -> Journal:
    journal = open_journal(store.place, record_kinds=KINDS) if store.place else MemoryJournal(record_kinds=KINDS)
    store.opened.append(journal)
    await journal.stores.migrate("reading", MADE, views)
    return journal


async def save(journal: Journal, run_id: str, *urls: str, tenant: str = "north") -> None:
    journal.append(run_id, msgspec.structs.replace(started("q", "", "ann"), tenant=tenant))
    for url in urls:
        journal.append(run_id, KINDS.noted(Saved(url)))
    journal.append(run_id, DONE)
    await journal.sync(run_id)


async def found(journal: Journal, tenant: str = "north") -> list[str]:
    return [row.url for row in await journal.stores.find(tenant, LINKS)]


def by_hand(store: Store, statement: str) -> None:
    if store.place.startswith("postgresql:"):
        with psycopg.connect(store.place, autocommit=True, options="-c search_path=actum") as server:
            server.execute(statement.encode())
    else:
        with contextlib.closing(sqlite3.connect(store.place)) as file, file:
            file.execute(statement)


async def test_rows_follow_from_records_for_the_tenant_of_the_run_and_are_forgotten_with_it(store: Store) -> None:
    journal = await opened(store)
    await save(journal, "r1", "a", "b")
    await save(journal, "r2", "c", tenant="south")
    assert await found(journal) == ["a", "a#2", "b", "b#2"]
    assert await journal.stores.get("south", LINKS, "c", "r2") == Link("c", "r2", 1, "ann")
    await journal.forget("r1")
    assert (await found(journal), await found(journal, "south")) == ([], ["c", "c#2"])


async def test_a_row_that_fails_is_told_and_fails_neither_its_run_nor_other_rows(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    journal = await opened(store)
    await asyncio.gather(save(journal, "r1", "raises", "a", "refused"), save(journal, "r2", "b"))
    assert await journal.count_runs() == {"done": 2}
    assert verify(await journal.read("r1")) == []
    assert await found(journal) == ["a", "a#2", "b", "b#2"]
    told = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert len(told) == 2
    assert all("run r1 could not be written" in line for line in told)


async def test_a_table_that_is_broken_fails_no_run_and_its_rows_are_made_anew_when_it_is_whole(shared: Store) -> None:
    journal = await opened(shared)
    by_hand(shared, "ALTER TABLE reading_links RENAME TO away")
    await asyncio.gather(save(journal, "r1", "a"), save(journal, "r2", "b"))
    assert await journal.count_runs() == {"done": 2}
    by_hand(shared, "ALTER TABLE away RENAME TO reading_links")
    await save(journal, "r3", "c")
    assert await found(journal) == ["c", "c#2"]
    assert await journal.stores.rebuild("reading") == 3
    assert await found(journal) == ["a", "a#2", "b", "b#2", "c", "c#2"]


async def test_rows_are_made_anew_from_all_records_that_were_not_forgotten(shared: Store) -> None:
    without = await opened(shared, views=())
    await save(without, "r1", "a")
    await save(without, "r2", "b", "raises", tenant="south")
    await save(without, "r3", "gone")
    await without.forget("r3")
    journal = await opened(shared)
    await journal.stores.put("north", LINKS, Link("stale", "r0", 1))
    assert await journal.stores.rebuild("reading") == 3
    assert (await found(journal), await found(journal, "south")) == (["a", "a#2"], ["b", "b#2"])
    assert await without.stores.rebuild("reading") == 0  # it has no view, and deletes nothing
    assert await found(journal) == ["a", "a#2"]


async def test_each_migration_makes_the_rows_of_all_older_records_anew(store: Store) -> None:
    journal = open_journal(store.place, record_kinds=KINDS) if store.place else MemoryJournal(record_kinds=KINDS)
    store.opened.append(journal)
    await save(journal, "r1", "a", "raises")
    await save(journal, "r2", "b", tenant="south")
    await save(journal, "r3", "gone")
    await journal.forget("r3")
    await journal.stores.migrate("reading", MADE, [VIEW])
    await journal.stores.migrate("reading", MADE, [VIEW])
    assert (await found(journal), await found(journal, "south")) == (["a", "a#2"], ["b", "b#2"])
    await journal.stores.drop("reading")
    await journal.stores.migrate("reading", MADE, [VIEW])
    assert (await found(journal), await found(journal, "south")) == (["a", "a#2"], ["b", "b#2"])
    upper = RecordView(LINKS, Saved, lambda record, place: [Link(record.url.upper(), place.run_id, place.number)])
    await journal.stores.migrate("reading", (*MADE, ()), [upper])
    assert (await found(journal), await found(journal, "south")) == (["A", "RAISES"], ["B"])
    assert await journal.stores.rebuild("reading") == 3
    assert (await found(journal), await found(journal, "south")) == (["A", "RAISES"], ["B"])


DIES = """
import asyncio, os, signal, sys, time
from pathlib import Path
from actum.storage.journal import DatabaseJournal
from actum.storage.postgres import PostgresDatabase
from actum.storage.schema import POSTGRES, SQLITE
from actum.storage.sqlite import SQLiteDatabase
from tests.storage.test_views import KINDS, MADE, VIEW, save
place = sys.argv[1]
on_server = place.startswith("postgresql:")
class Dying(PostgresDatabase if on_server else SQLiteDatabase):
    def execute(self, statement, values=()):
        if statement.startswith('INSERT INTO "reading_links"'):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().execute(statement, values)
database = Dying(place if on_server else Path(place))
schema = POSTGRES if on_server else SQLITE
journal = DatabaseJournal(database, schema, now=time.time, key=None, record_kinds=KINDS)
async def main():
    await journal.stores.migrate("reading", MADE, [VIEW])
    await save(journal, "r1", "a", "b")
    await journal.stores.kept()
asyncio.run(main())
"""


@pytest.mark.parametrize("is_on_later", [False, True])
async def test_rows_that_a_killed_process_had_not_made_are_made_by_the_next_with_the_feature(
    shared: Store, is_on_later: bool
) -> None:
    """Killed behind a record, and behind the migration of a feature whose records were there before."""
    if is_on_later:
        await save(shared.open(), "r1", "a", "b")
    else:
        await opened(shared)
    done = await asyncio.to_thread(
        warm.run, [sys.executable, "-c", DIES, shared.place], capture_output=True, text=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    without = await opened(shared, views=())
    assert await found(without) == []
    assert verify(await without.read("r1")) == []
    journal = await opened(shared)
    assert await found(journal) == ["a", "a#2", "b", "b#2"]


def test_a_view_whose_rows_could_not_be_forgotten_is_refused() -> None:
    class Bare(Struct, frozen=True):
        url: str

    with pytest.raises(UsageError, match="needs a field run_id"):
        RecordView(Table("bare", Bare, key=("url",)), Saved, links)
