"""A journal of an older format: refused by its name, verified and exported all the same, and replayed by whoever
rewrites its records.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path

import msgspec
import psycopg
import pytest

from actum import Agent, Answer
from actum.core.errors import JournalError
from actum.core.interfaces import Journal
from actum.core.json import JsonObject
from actum.core.run.pending import Pending
from actum.core.run.record import FORMAT, WRITERS, Entry, Forgotten, Record
from actum.core.run.summary import records_of
from actum.journal.export import check_export, check_journal, entry_line, head_lines, read_lines, run_ids
from actum.journal.memory import MemoryJournal
from actum.storage.schema import HAS_MIGRATIONS, POSTGRES, SQLITE
from actum.storage.sqlite import SQLiteJournal
from actum.testing import FakeClock, ScriptedModel

from .bistro import KEY, bistro, write_old
from .conftest import Store
from .records import DONE, started

RENAMED = {
    "replied": "model_replied",
    "settled": "call_completed",
    "refused": "call_refused",
    "checked": "precheck_done",
    "asked": "input_requested",
    "answered": "input_given",
    "parked": "call_parked",
}
"""The tags of records: in format 1, and since."""

TABLES_OF_FORMAT_1 = b"""
CREATE SCHEMA actum;
CREATE TABLE version (version BIGINT NOT NULL);
INSERT INTO version VALUES (2);
CREATE TABLE entries (
    run_id TEXT NOT NULL, number BIGINT NOT NULL, at DOUBLE PRECISION NOT NULL, kind TEXT NOT NULL,
    payload BYTEA NOT NULL, salt BYTEA NOT NULL, digest BYTEA NOT NULL, head BYTEA NOT NULL,
    PRIMARY KEY (run_id, number));
CREATE TABLE runs (
    place BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, run_id TEXT NOT NULL UNIQUE, status TEXT NOT NULL,
    started DOUBLE PRECISION NOT NULL, ended DOUBLE PRECISION, agent TEXT NOT NULL, model TEXT NOT NULL,
    question TEXT NOT NULL, conversation TEXT NOT NULL, parent TEXT NOT NULL, principal TEXT NOT NULL,
    owner TEXT NOT NULL DEFAULT '');
CREATE TABLE kept (digest TEXT PRIMARY KEY, payload BYTEA NOT NULL);
CREATE TABLE heads (
    place BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, run_id TEXT NOT NULL, number BIGINT NOT NULL,
    head BYTEA NOT NULL, signature BYTEA NOT NULL);
"""
"""What an actum of format 1 made in PostgreSQL."""

REFUSAL = "a version of actum from before its first release, 0.1.0.*actum journal verify.*actum journal export"


def in_file(store: Store) -> None:
    """The journal of format 1, in the place of a store."""
    Path(store.place).parent.mkdir(exist_ok=True)
    write_old(Path(store.place))


def in_database(store: Store, tmp_path: Path) -> None:
    """The same rows as an older actum had them in PostgreSQL."""
    with (
        psycopg.connect(store.place) as database,
        contextlib.closing(sqlite3.connect(write_old(tmp_path / "rows.db"))) as file,
    ):
        database.execute("DROP SCHEMA actum CASCADE; SET search_path TO actum")
        database.execute(TABLES_OF_FORMAT_1)
        for table in ("entries", "runs", "kept", "heads"):
            rows = file.execute(f"SELECT * FROM {table}")
            names = ", ".join(column for column, *_ in rows.description)
            values = ", ".join(["%s"] * len(rows.description))
            for row in rows:
                database.execute(
                    f"INSERT INTO {table} ({names}) OVERRIDING SYSTEM VALUE VALUES ({values})".encode(), row
                )


@pytest.fixture
def old(shared: Store, tmp_path: Path) -> Store:
    """The journal of format 1, in each kind of place."""
    if shared.place.startswith("postgresql:"):
        in_database(shared, tmp_path)
    else:
        in_file(shared)
    return shared


async def everything(journal: Journal) -> dict[str, list[Entry]]:
    return {run_id: await journal.read(run_id) for run_id in await run_ids(journal)}


def renamed(entry: Entry) -> Record:
    """The record of an entry of format 1 as it is written now: names and places have changed, and nothing else."""
    told: JsonObject = msgspec.json.decode(entry.payload)
    tag = str(told["type"])
    told["type"] = RENAMED.get(tag, tag)
    if "index" in told:
        told["cause"] = told.pop("reply")
    if tag == "asked":
        told["pending"] = {name: told.pop(name) for name in Pending.__struct_fields__ if name in told}
    record: Record = msgspec.convert(told, Record)
    return record


def test_each_format_has_a_line_that_says_who_wrote_it() -> None:
    assert list(WRITERS) == list(range(1, FORMAT + 1))


@pytest.mark.parametrize("version", ["before format 2", "before the last migration", "in the middle of format 1"])
async def test_a_schema_from_which_nothing_leads_here_is_refused_with_the_version_that_goes_on(
    shared: Store, version: str
) -> None:
    schema = POSTGRES if shared.place.startswith("postgresql:") else SQLITE
    number = {"before format 2": schema.of_format_1 + 1, "before the last migration": schema.version - 1}.get(
        version, 1
    )
    await shared.open().close()
    if schema is POSTGRES:
        with psycopg.connect(shared.place) as server:
            server.execute("UPDATE actum.version SET version = %s", (number,))
    else:
        with contextlib.closing(sqlite3.connect(shared.place)) as file:
            file.execute(f"PRAGMA user_version={number}")
    for older in {number <= schema.of_format_1, True}:
        with pytest.raises(
            JournalError, match=rf"older actum \(schema {number}\): open it once with .*{HAS_MIGRATIONS}"
        ):
            shared.open(older=older)


async def test_an_older_journal_is_refused_by_its_writer_and_left_as_it_was(old: Store) -> None:
    def refused(opens: Callable[[], object]) -> None:
        with pytest.raises(JournalError, match=REFUSAL) as caught:
            opens()
        assert "(journal format 1)" in str(caught.value)

    before = await everything(old.open(older=True))
    await old.close()
    refused(old.open)
    refused(lambda: Agent(ScriptedModel("hi"), journal=old.place))
    assert await everything(old.open(older=True)) == before


async def test_nothing_is_written_to_an_older_journal(old: Store) -> None:
    journal = old.open(older=True, key=KEY)
    before = await everything(journal)
    for run_id, record in (("run_new", started()), ("run_menu", DONE)):
        with pytest.raises(JournalError, match="nothing can be written to the journal"):
            journal.append(run_id, record)
    with pytest.raises(JournalError, match="nothing can be written to the journal"):
        await journal.forget("run_menu")
    assert await everything(journal) == before


async def test_an_older_journal_is_verified_and_exported_as_it_stands(old: Store) -> None:
    journal = old.open(older=True)
    report = await check_journal(journal, key=KEY)
    assert (report.problems, report.runs, report.entries, report.unread) == ([], 3, 27, 15)
    runs = await everything(journal)
    exported = [msgspec.json.encode(entry_line(run_id, entry)) for run_id in runs for entry in runs[run_id]]
    heads = [msgspec.json.encode(line) async for line in head_lines(journal)]
    for lines in (exported, [line.replace(b',"format":1', b"") for line in exported]):
        export = read_lines(lines)
        assert export.runs == runs
        assert check_export(export, known=read_lines(heads), key=KEY).problems == []


async def test_a_changed_byte_of_an_older_journal_is_found(tmp_path: Path) -> None:
    path = write_old(tmp_path / "j.db")
    journal = SQLiteJournal(path, older=True)
    runs = await everything(journal)
    for run_id, entries in runs.items():
        for entry in entries:
            name = "payload" if entry.payload else "head"
            stored = getattr(entry, name)
            changed = stored[:20] + bytes([stored[20] ^ 1]) + stored[21:]
            for value in (changed, stored):
                with contextlib.closing(sqlite3.connect(path)) as file, file:
                    file.execute(
                        f"UPDATE entries SET {name} = ? WHERE head = ? OR digest = ?", (value, entry.head, entry.digest)
                    )
                problems = (await check_journal(journal)).problems
                assert (problems != []) == (value == changed), (run_id, entry.number, problems)
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        file.execute(
            "UPDATE entries SET kind = 'model_replied' WHERE kind = 'replied' AND number = 1 AND run_id = 'run_menu'"
        )
    assert (await check_journal(journal)).problems == ["run run_menu: entry 1: its kind is not that of its record"]
    await journal.close()


async def test_a_record_of_an_older_format_says_who_wrote_it_and_is_not_called_damaged(tmp_path: Path) -> None:
    journal = SQLiteJournal(write_old(tmp_path / "j.db"), older=True)
    replied = (await journal.read("run_menu"))[1]
    with pytest.raises(
        JournalError, match=r"entry 1 can not be read: it was written by a version .* \(journal format 1\)"
    ):
        _ = replied.record
    (latest,) = [record for record in records_of(await journal.read("run_forgotten")) if record is not None]
    assert isinstance(latest, Forgotten)
    await journal.close()


async def test_runs_of_format_1_go_on_when_their_tags_are_rewritten(tmp_path: Path) -> None:
    older = SQLiteJournal(write_old(tmp_path / "j.db"), older=True)
    clock = FakeClock(1_000_100.0)
    journal = MemoryJournal(clock)
    seen: set[str] = set()
    for run_id in ("run_menu", "run_order"):
        for entry in await older.read(run_id):
            record = renamed(entry)
            seen.add(str(record.__struct_config__.tag))
            if tools := getattr(record, "tools", ""):
                journal.keep(tools, await older.kept(tools))
            journal.append(run_id, record)
    await older.close()
    assert seen > set(RENAMED.values())
    agent = bistro(journal, clock)
    waits = await agent.resume("run_order")
    assert (waits.status, [pending.message for pending in waits.pending]) == ("paused", ["Which dish?"])
    done = await agent.resume("run_order", {waits.pending[0].id: Answer("answer", arguments={"name": "soup"})})
    assert (done.status, done.text) == ("done", "This is not permitted. The chef is busy.; paid 20; soup")
    assert (await agent.run("Is there soup?", conversation="table 4")).text == '["soup"]'
    assert (await check_journal(journal)).problems == []
