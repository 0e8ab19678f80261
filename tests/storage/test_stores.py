"""The tables of features: one value, the same rows in every database, a tenant at a time."""

from __future__ import annotations

import asyncio
import contextlib
import math
import signal
import sqlite3
import sys
from collections.abc import Awaitable, Callable

import psycopg
import pytest
from msgspec import Struct, structs

from actum.core.errors import ActumError, JournalError, UsageError
from actum.core.stores import (
    AMONG_MAX,
    KEY_BYTES_MAX,
    AddColumn,
    AddIndex,
    AddTable,
    FeatureTables,
    Migrations,
    Stores,
    Table,
    Transaction,
    Value,
)
from tests import warm

from .conftest import Store
from .records import DONE, started


class Bookmark(Struct, frozen=True):
    id: str
    url: str
    at: float = 1.5
    visits: int = 0
    icon: bytes = b""
    title: str | None = None
    run_id: str | None = None


class Visit(Struct, frozen=True):
    principal: str
    number: int


BOOKMARKS = Table("bookmarks", Bookmark, key=("id",), indexes=(("at",), ("run_id",)))
VISITS = Table("visits", Visit, key=("principal", "number"))
MADE: Migrations = ((AddTable(BOOKMARKS), AddTable(VISITS)),)


async def opened(store: Store, migrations: Migrations = MADE) -> Stores:
    stores = store.open().stores
    await stores.migrate("reading", migrations)
    return stores


def on_server(store: Store) -> bool:
    return store.place.startswith("postgresql:")


def by_hand(store: Store, *statements: str) -> list[tuple[object, ...]]:
    """What a person does to the database of a journal that is closed, or open elsewhere."""
    if on_server(store):
        with psycopg.connect(store.place, autocommit=True, options="-c search_path=actum") as server:
            cursors = [server.execute(statement.encode()) for statement in statements]
            return cursors[-1].fetchall() if cursors[-1].description else []
    with contextlib.closing(sqlite3.connect(store.place)) as file, file:
        return [file.execute(statement).fetchall() for statement in statements][-1]


# Rows -----------------------------------------------------------------------------------------------------------------


async def test_a_row_comes_back_as_it_was_whatever_it_holds(store: Store) -> None:
    stores = await opened(store)
    rows = [
        Bookmark("a", "https://a.example/?q='; DROP TABLE x; --%s %%"),
        Bookmark("", "", -1e300, -(2**63), bytes(range(256)), "", "run_1"),
        Bookmark("书签\n\t😀", "é", 5, 2**63 - 1, b"\0", "x" * 100_000),
    ]
    for row in rows:
        await stores.put("north", BOOKMARKS, row)
        assert await stores.get("north", BOOKMARKS, row.id) == row
    assert sorted(await stores.find("north", BOOKMARKS), key=lambda row: row.id) == sorted(rows, key=lambda row: row.id)
    changed = structs.replace(rows[0], url="other", title="new")
    await stores.put("north", BOOKMARKS, changed)
    assert not await stores.add("north", BOOKMARKS, rows[0])
    assert await stores.get("north", BOOKMARKS, "a") == changed
    assert await stores.add("north", BOOKMARKS, Bookmark("b", "u"))
    assert await stores.count("north", BOOKMARKS, {"title": None}) == 1
    assert await stores.delete("north", BOOKMARKS, {"title": None}) == 1
    assert await stores.delete("north", BOOKMARKS, {"title": None}) == 0
    assert await stores.count("north", BOOKMARKS) == 3


async def test_many_rows_are_written_and_looked_for_at_once_as_one_by_one(store: Store) -> None:
    stores = await opened(store)
    rows = [Bookmark(f"书{number:03}", "x", visits=number, icon=b"\0") for number in range(AMONG_MAX)]
    await stores.put("north", BOOKMARKS, Bookmark("书007", "old"))
    await stores.put("south", BOOKMARKS, Bookmark("书007", "theirs"))

    def work(transaction: Transaction) -> list[Bookmark]:
        transaction.put_all(BOOKMARKS, rows)
        transaction.put_all(BOOKMARKS, [])
        wanted = (*(row.id for row in rows[::-2]), "none")
        return transaction.find(BOOKMARKS, where={"id": wanted, "url": "x"})

    assert await stores.transact("north", work) == rows[1::2]
    assert await stores.find("north", BOOKMARKS) == rows
    assert await stores.find("south", BOOKMARKS) == [Bookmark("书007", "theirs")]

    def refused(transaction: Transaction) -> None:
        transaction.put_all(BOOKMARKS, [Bookmark("new", "x"), Bookmark("bad", "x", visits=2**63)])

    with pytest.raises(UsageError):
        await stores.transact("north", refused)
    assert await stores.get("north", BOOKMARKS, "new") is None


async def test_postgresql_reads_the_rows_that_are_wanted_and_not_all_of_their_owner(database: Store) -> None:
    """It has not counted what the table holds, as in the first minute of a large update."""
    stores, wanted = await opened(database), range(0, 5_000, 50)

    def work(transaction: Transaction) -> list[Visit]:
        transaction.put_all(VISITS, [Visit("ann", number) for number in range(5_000)])
        return transaction.find(VISITS, where={"principal": "ann", "number": (*wanted, 7_000, wanted[1])})

    assert await stores.transact("north", work) == [Visit("ann", number) for number in wanted]
    await database.close()  # a connection tells what it has read when it ends
    counted = "SELECT idx_tup_fetch + seq_tup_read FROM pg_stat_user_tables WHERE relname = 'reading_visits'"
    ((read,),) = by_hand(database, counted)
    assert isinstance(read, int)
    assert read <= 2 * len(wanted)


async def test_one_question_tells_whether_one_of_some_tables_has_a_row_of_this_tenant(store: Store) -> None:
    stores = await opened(store)
    await stores.put("north", BOOKMARKS, Bookmark("书签", "x", title=None))

    async def has(tenant: str, tables: tuple[Table[Struct], ...], **where: str | None) -> bool:
        return await stores.read(tenant, lambda each: each.has(tables, where))

    assert await has("north", (BOOKMARKS,), id="书签", title=None)
    assert not await has("south", (BOOKMARKS,), id="书签")
    assert not await has("north", (BOOKMARKS,), id="' OR 1=1 --")
    for wrong in ({"id": 1}, {"nothing": "x"}):
        with pytest.raises(UsageError):
            await has("north", (BOOKMARKS,), **wrong)


async def test_another_tenant_finds_changes_and_deletes_nothing(store: Store) -> None:
    stores = await opened(store)
    for tenant in ("north", "", "' OR 1=1 --"):
        await stores.put(tenant, BOOKMARKS, Bookmark("a", tenant))
    assert await stores.find("south", BOOKMARKS) == []
    assert await stores.get("south", BOOKMARKS, "a") is None
    assert await stores.delete("south", BOOKMARKS, {}) == 0
    assert await stores.add("south", BOOKMARKS, Bookmark("a", "south"))
    assert await stores.delete("", BOOKMARKS, {}) == 1
    for tenant, urls in (("", []), ("' OR 1=1 --", ["' OR 1=1 --"]), ("north", ["north"]), ("south", ["south"])):
        assert [row.url for row in await stores.find(tenant, BOOKMARKS)] == urls


async def test_pages_show_each_row_once_in_the_same_order_in_every_database(store: Store) -> None:
    stores = await opened(store)
    rows = [
        Bookmark(letter, "u", float(number % 3))
        for number, letter in enumerate(["b", "B", "é", "z", "a", "Z", "_", "😀"])
    ]
    for row in rows:
        await stores.put("north", BOOKMARKS, row)
    for order in ("", "at", "id"):
        expected = sorted(rows, key=lambda row: (row.at if order == "at" else 0, row.id))
        for descending in (False, True):
            found: list[Bookmark] = []
            last = None
            while page := await stores.find(
                "north", BOOKMARKS, order=order, descending=descending, limit=3, behind=last
            ):
                found += page
                last = page[-1]
            assert found == expected[:: -1 if descending else 1], (order, descending)
    assert await stores.find("north", BOOKMARKS, limit=0) == []
    assert await stores.find("north", BOOKMARKS, where={"at": 2}, limit=10**30) == [rows[2], rows[5]][::-1]


BAD: dict[str, Callable[[Stores], Awaitable[object]]] = {
    "a NUL in a text": lambda it: it.put("north", BOOKMARKS, Bookmark("a\0", "u")),
    "half a character": lambda it: it.put("north", BOOKMARKS, Bookmark("a", "\ud800")),
    "a number for a text": lambda it: it.put("north", BOOKMARKS, Bookmark(1, "u")),  # type: ignore[arg-type]
    "a truth for a number": lambda it: it.put("north", BOOKMARKS, Bookmark("a", "u", visits=True)),
    "a number of 65 bits": lambda it: it.put("north", BOOKMARKS, Bookmark("a", "u", visits=2**63)),
    "no number": lambda it: it.put("north", BOOKMARKS, Bookmark("a", "u", math.nan)),
    "None for a text": lambda it: it.put("north", BOOKMARKS, Bookmark("a", None)),  # type: ignore[arg-type]
    "a long key": lambda it: it.put("north", BOOKMARKS, Bookmark("a" * (KEY_BYTES_MAX + 1), "u")),
    "a long index": lambda it: it.put("north", BOOKMARKS, Bookmark("a", "u", run_id="é" * KEY_BYTES_MAX)),
    "a long tenant": lambda it: it.put("n" * KEY_BYTES_MAX, BOOKMARKS, Bookmark("a", "u")),
    "a tenant with a NUL": lambda it: it.find("\0", BOOKMARKS),
    "no tenant": lambda it: it.find(None, BOOKMARKS),  # type: ignore[arg-type]
    "another row": lambda it: it.put("north", BOOKMARKS, Visit("ann", 1)),
    "half a key": lambda it: it.get("north", VISITS, "ann"),
    "an unknown field": lambda it: it.find("north", BOOKMARKS, where={'id" = "id': "a"}),
    "the tenant as a field": lambda it: it.find("north", BOOKMARKS, where={"tenant": "south"}),
    "a value of another type": lambda it: it.delete("north", BOOKMARKS, {"id": 7}),
    "an unknown order": lambda it: it.find("north", BOOKMARKS, order="url DESC"),
    "an order by what may be nothing": lambda it: it.find("north", BOOKMARKS, order="title"),
    "a table of nobody": lambda it: it.find("north", Table("bookmarks", Bookmark, key=("id",))),
    "a coroutine": lambda it: it.transact("north", lambda each: asyncio.sleep(0)),
}


async def test_bad_input_is_refused_in_a_sentence_and_breaks_nothing(store: Store) -> None:
    stores = await opened(store)
    for ask in BAD.values():
        with pytest.raises(UsageError):
            await ask(stores)
    await stores.put("north", BOOKMARKS, Bookmark("a" * 1_000, "u"))
    assert await stores.count("north", BOOKMARKS) == 1


# Transactions ---------------------------------------------------------------------------------------------------------


async def test_of_a_transaction_that_fails_nothing_has_happened_and_the_caller_sees_its_own_error(store: Store) -> None:
    stores = await opened(store)

    def fails(transaction: Transaction) -> None:
        transaction.put(BOOKMARKS, Bookmark("a", "u"))
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        await stores.transact("north", fails)
    assert await stores.count("north", BOOKMARKS) == 0


async def test_a_transaction_is_over_when_its_function_is(store: Store) -> None:
    stores = await opened(store)
    kept = await stores.transact("north", lambda transaction: transaction)
    with pytest.raises(UsageError, match="is over"):
        kept.put(BOOKMARKS, Bookmark("a", "u"))


async def test_two_processes_that_read_and_write_in_transactions_lose_nothing(shared: Store) -> None:
    stores = [await opened(shared) for _ in range(2)]
    await stores[0].put("north", BOOKMARKS, Bookmark("a", "u"))

    def visit(transaction: Transaction) -> int:
        row = transaction.get(BOOKMARKS, "a")
        assert row is not None
        transaction.put(BOOKMARKS, structs.replace(row, visits=row.visits + 1))
        return row.visits

    seen = await asyncio.gather(*(stores[number % 2].transact("north", visit) for number in range(40)))
    assert sorted(seen) == list(range(40))
    assert [await each.add("north", BOOKMARKS, Bookmark("b", "u")) for each in stores] == [True, False]


async def test_a_row_that_the_database_refuses_fails_no_run_that_is_written_at_the_same_time(shared: Store) -> None:
    journal = shared.open()
    await journal.stores.migrate("reading", MADE)
    name = "actum.reading_bookmarks" if on_server(shared) else "reading_bookmarks"
    by_hand(shared, f"ALTER TABLE {name} RENAME COLUMN url TO gone")

    async def writes(run_id: str) -> None:
        journal.append(run_id, started())
        journal.append(run_id, DONE)
        await journal.sync(run_id)

    bad = [journal.stores.put("north", BOOKMARKS, Bookmark(str(number), "u")) for number in range(5)]
    found = await asyncio.gather(
        *(each for number in range(5) for each in (writes(f"r{number}"), bad[number])), return_exceptions=True
    )
    assert [type(each) for each in found] == [type(None), JournalError] * 5
    assert await journal.count_runs() == {"done": 5}
    await writes("r9")


async def test_a_row_that_somebody_damaged_is_told_as_damaged(file: Store) -> None:
    stores = await opened(file)
    await stores.put("north", BOOKMARKS, Bookmark("a", "u"))
    by_hand(file, "UPDATE reading_bookmarks SET visits = 'many'")
    with pytest.raises(JournalError, match="a row of the table bookmarks is damaged"):
        await stores.get("north", BOOKMARKS, "a")


# Tables ---------------------------------------------------------------------------------------------------------------


class Open(Struct):
    id: str


class Listed(Struct, frozen=True):
    id: list[str]


class Owned(Struct, frozen=True):
    tenant: str


class Loud(Struct, frozen=True):
    Id: str


class Either(Struct, frozen=True):
    id: str | int


class Empty(Struct, frozen=True):
    id: str | None


@pytest.mark.parametrize(
    "make",
    [
        lambda: Table("Bookmarks", Bookmark, key=("id",)),
        lambda: Table("a" * 25, Bookmark, key=("id",)),
        lambda: Table('x"; DROP', Bookmark, key=("id",)),
        lambda: Table("x", Bookmark, key=()),
        lambda: Table("x", Bookmark, key=("none",)),
        lambda: Table("x", Bookmark, key=("id", "id")),
        lambda: Table("x", Bookmark, key=("title",)),
        lambda: Table("x", Bookmark, key=("id",), indexes=((),)),
        lambda: Table("x", Bookmark, key=("id",), indexes=(("none",),)),
        lambda: Table("x", Open, key=("id",)),
        lambda: Table("x", Listed, key=("id",)),
        lambda: Table("x", Owned, key=("tenant",)),
        lambda: Table("x", Loud, key=("Id",)),
        lambda: Table("x", Either, key=("id",)),
        lambda: Table("x", Empty, key=("id",)),
        lambda: Table("x", dict, key=("id",)),  # type: ignore[type-var]
        lambda: AddColumn(BOOKMARKS, "none"),
        lambda: AddColumn(BOOKMARKS, "id", ""),
        lambda: AddColumn(BOOKMARKS, "visits", "many"),
        lambda: AddColumn(BOOKMARKS, "visits", None),
        lambda: AddIndex(BOOKMARKS, ("url",)),
    ],
)
def test_a_table_that_can_not_be_made_is_refused_when_it_is_declared(make: Callable[[], object]) -> None:
    with pytest.raises(UsageError):
        make()


# Migrations -----------------------------------------------------------------------------------------------------------


class Small(Struct, frozen=True):
    id: str


SMALL = Table("bookmarks", Small, key=("id",))
LATER: Migrations = (
    (AddTable(BOOKMARKS),),
    (
        AddColumn(BOOKMARKS, "url", "it's ? 100 %s \\ é"),
        AddColumn(BOOKMARKS, "at", -0.5),
        AddColumn(BOOKMARKS, "visits", 7),
        AddColumn(BOOKMARKS, "icon", b"\x00\xff"),
    ),
    (AddColumn(BOOKMARKS, "title"), AddColumn(BOOKMARKS, "run_id"), AddIndex(BOOKMARKS, ("run_id",))),
    (AddIndex(BOOKMARKS, ("at",)), AddTable(VISITS)),
)


def indexes(store: Store) -> set[object]:
    query = "SELECT name FROM sqlite_master WHERE type = 'index' AND name LIKE 'reading%'"
    if on_server(store):
        query = "SELECT indexname FROM pg_indexes WHERE indexname LIKE 'reading%' AND indexname NOT LIKE '%pkey'"
    return {name for (name,) in by_hand(store, query)}


async def test_older_tables_get_what_later_versions_added_and_new_ones_are_made_alike(shared: Store) -> None:
    older = await opened(shared, ((AddTable(SMALL),),))
    await older.put("north", SMALL, Small("a"))
    stores = await opened(shared, LATER)
    expected = Bookmark("a", "it's ? 100 %s \\ é", -0.5, 7, b"\x00\xff")
    assert await stores.find("north", BOOKMARKS) == [expected]
    await older.put("north", SMALL, Small("b"))  # a process that does not know of it yet
    assert await stores.get("north", BOOKMARKS, "b") == structs.replace(expected, id="b")
    await stores.put("north", VISITS, Visit("ann", 1))
    assert await stores.kept() == [FeatureTables("reading", 4, 3)]
    grown = indexes(shared)
    await stores.drop("reading")
    assert indexes(shared) == set()
    again = await opened(shared, LATER)
    assert (indexes(shared), len(grown)) == (grown, 2)
    assert await again.find("north", BOOKMARKS) == []


async def test_a_newer_schema_is_refused_for_its_feature_alone(shared: Store) -> None:
    await opened(shared, LATER)
    journal = shared.open()
    with pytest.raises(
        JournalError, match=r"'reading' were made by a newer version of it \(schema 4, this version knows 1\)"
    ):
        await journal.stores.migrate("reading", ((AddTable(SMALL),),))
    with pytest.raises(UsageError, match="not in use"):
        await journal.stores.find("north", SMALL)
    await journal.stores.migrate("other", ((AddTable(SMALL),),))
    await journal.stores.put("north", SMALL, Small("a"))
    journal.append("r", started())
    await journal.sync("r")


@pytest.mark.parametrize("feature", ["run", "key"])
async def test_a_table_that_is_there_already_is_left_alone(shared: Store, feature: str) -> None:
    taken = Table({"run": "names", "key": "changes"}[feature], Small, key=("id",))
    journal = shared.open()
    if feature == "key" and on_server(shared):
        by_hand(shared, "CREATE TABLE key_changes (number BIGINT)")
    with pytest.raises(JournalError, match=f"the journal has a table {feature}_{taken.name} already"):
        await journal.stores.migrate(feature, ((AddTable(SMALL), AddTable(taken)),))
    assert await journal.stores.kept() == []
    await journal.stores.migrate(feature, ((AddTable(SMALL),),))  # nothing of the first was left
    assert await journal.named("x") == []


@pytest.mark.parametrize(
    ("feature", "migrations"),
    [
        ("Reading", MADE),
        ("", MADE),
        ("reading", ((AddColumn(BOOKMARKS, "visits", 1),), (AddTable(BOOKMARKS),))),
        ("reading", ((AddTable(BOOKMARKS), AddTable(BOOKMARKS)),)),
        ("reading", ((AddTable(SMALL),), (AddColumn(BOOKMARKS, "visits", 1),))),
        ("reading", ((AddTable(BOOKMARKS), AddTable(SMALL)),)),
    ],
)
async def test_migrations_in_a_wrong_order_are_refused(store: Store, feature: str, migrations: Migrations) -> None:
    stores = store.open().stores
    with pytest.raises(UsageError):
        await stores.migrate(feature, migrations)
    assert await stores.kept() == []


async def test_a_field_that_no_migration_added_is_noticed_when_the_feature_is_opened(store: Store) -> None:
    stores = await opened(store, ((AddTable(SMALL),),))
    with pytest.raises(UsageError, match="have other fields than its migrations made"):
        await stores.migrate("reading", ((AddTable(Table("bookmarks", Bookmark, key=("id",))),),))


async def test_a_table_belongs_to_one_feature(store: Store) -> None:
    stores = await opened(store)
    with pytest.raises(UsageError, match="a table of another feature: bookmarks"):
        await stores.migrate("other", ((AddTable(BOOKMARKS),),))


async def test_processes_that_migrate_at_once_make_the_tables_once(shared: Store) -> None:
    journals = [shared.open() for _ in range(4)]

    async def migrates(stores: Stores) -> Stores:
        await stores.migrate("reading", LATER)
        return stores

    made = await asyncio.gather(*(migrates(journal.stores) for journal in journals))
    for number, stores in enumerate(made):
        assert await stores.add("north", BOOKMARKS, Bookmark(str(number), "u"))
    assert await made[0].count("north", BOOKMARKS) == 4
    assert await made[0].kept() == [FeatureTables("reading", 4, 4)]


DIES = """
import asyncio, os, signal, sys, time
from pathlib import Path
from actum.storage.journal import DatabaseJournal
from actum.storage.schema import POSTGRES, SQLITE
from actum.storage.postgres import PostgresDatabase
from actum.storage.sqlite import SQLiteDatabase
from tests.storage.test_stores import LATER
place, deadly = sys.argv[1:]
on_server = place.startswith("postgresql:")
class Dying(PostgresDatabase if on_server else SQLiteDatabase):
    def execute(self, statement, values=()):
        if statement.startswith(deadly):
            if on_server:
                self._pipeline.close()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().execute(statement, values)
database = Dying(place if on_server else Path(place))
journal = DatabaseJournal(database, POSTGRES if on_server else SQLITE, now=time.time, key=None)
asyncio.run(journal.stores.migrate("reading", LATER))
"""


@pytest.mark.parametrize("deadly", ['ALTER TABLE "reading_bookmarks"', "INSERT INTO features"])
async def test_a_migration_that_is_killed_in_the_middle_is_made_whole_by_the_next_process(
    shared: Store, deadly: str
) -> None:
    older = await opened(shared, ((AddTable(SMALL),),))
    await older.put("north", SMALL, Small("a"))
    done = await asyncio.to_thread(
        warm.run, [sys.executable, "-c", DIES, shared.place, deadly], capture_output=True, text=True
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert await older.kept() == [FeatureTables("reading", 1, 1)]
    stores = await opened(shared, LATER)
    assert [row.visits for row in await stores.find("north", BOOKMARKS)] == [7]


# What is forgotten ----------------------------------------------------------------------------------------------------


async def test_rows_that_name_a_run_are_forgotten_with_it_also_where_their_feature_is_off(store: Store) -> None:
    journal = store.open()
    await journal.stores.migrate("reading", MADE)
    for run_id in ("r1", "r2"):
        journal.append(run_id, started())
        await journal.stores.put("north", BOOKMARKS, Bookmark(f"of {run_id}", "u", icon=b"\xff", run_id=run_id))
    await journal.stores.put("north", BOOKMARKS, Bookmark("of nobody", "u"))
    without = store.open() if store.place else journal
    expected: dict[str, Value] = {
        "tenant": "north",
        **structs.asdict(Bookmark("of r1", "u", icon=b"\xff", run_id="r1")),
    }
    assert await without.stores.rows_of_run("r1") == {"reading_bookmarks": [expected]}
    await without.forget("r1")
    assert await without.stores.rows_of_run("r1") == {}
    assert [row.id for row in await journal.stores.find("north", BOOKMARKS)] == ["of nobody", "of r2"]


async def test_rows_that_name_a_user_are_forgotten_with_the_user_of_one_tenant(store: Store) -> None:
    stores = await opened(store)
    for tenant in ("north", "south"):
        for principal in ("ann", "bob"):
            await stores.put(tenant, VISITS, Visit(principal, 1))
    assert await stores.count_of_user("ann") == {"north": 1, "south": 1}
    assert await stores.forget_user("ann", "north") == 1
    assert await stores.count_of_user("ann") == {"south": 1}
    assert await stores.count("north", VISITS) == 1


async def test_a_feature_is_dropped_with_its_rows_and_other_features_stay(store: Store) -> None:
    stores = await opened(store)
    await stores.migrate("other", ((AddTable(SMALL),),))
    await stores.put("north", BOOKMARKS, Bookmark("a", "u"))
    await stores.put("north", SMALL, Small("a"))
    assert await stores.kept() == [FeatureTables("other", 1, 1), FeatureTables("reading", 1, 1)]
    assert (await stores.drop("reading"), await stores.drop("reading"), await stores.drop("never")) == (1, 0, 0)
    with pytest.raises(UsageError, match="not in use"):
        await stores.find("north", BOOKMARKS)
    assert await stores.kept() == [FeatureTables("other", 1, 1)]
    await stores.migrate("reading", MADE)
    assert await stores.find("north", BOOKMARKS) == []


async def test_a_table_that_somebody_deleted_stops_neither_a_list_nor_a_forgetting(shared: Store) -> None:
    journal = shared.open()
    await journal.stores.migrate("reading", MADE)
    journal.append("r", started())
    await journal.sync("r")
    by_hand(shared, "DROP TABLE reading_bookmarks")
    assert await journal.stores.kept() == [FeatureTables("reading", 1, 0)]
    await journal.forget("r")
    with pytest.raises(ActumError):
        await journal.stores.find("north", BOOKMARKS)
    await journal.stores.drop("reading")
