"""What it costs to write a record down; part of `make bench`.

The floor is a writer that commits each record by itself to the same kind of database, with the same durability, on a
connection of its own. `hurried` records survive the end of the process, `durable` ones a loss of power. Wall time, the
best of several rounds in turn: most of it is the disk, which on a shared machine is not the same from one minute to the
next, so the ratio says more than the figures.
"""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import psycopg

from actum.core.interfaces import Journal
from actum.core.run.record import Intended, Started
from actum.storage.postgres import PostgresJournal
from actum.storage.sqlite import SQLiteJournal
from tests.postgres import PostgresServer, postgres_server

from .loop import Row

STARTED = Started(agent="a", model="m", said=())
RECORD = Intended(1, 0, 1, "pay", "v" * 64, {"to": "Ada", "note": "n" * 150}, "k" * 64, "policy")
ROW = (b"p" * 400, b"s" * 16, b"d" * 32, b"h" * 32)
COLUMNS = "run_id TEXT, number BIGINT, at DOUBLE PRECISION, kind TEXT, payload {0}, salt {0}, digest {0}, head {0}"
TABLE = f"CREATE TABLE bare ({COLUMNS}, PRIMARY KEY (run_id, number))"

Commit = Callable[[str, int], None]


class Kind(NamedTuple):
    """A kind of database: its journal, and a bare writer that commits one row a call."""

    name: str
    journal: Callable[[], Journal]
    bare: Callable[[bool], tuple[Commit, Callable[[], None]]]


def sqlite_kind(folder: Path) -> Kind:
    path = folder / "bare.db"
    with closing(sqlite3.connect(path)) as made:
        made.execute("PRAGMA journal_mode=WAL")
        made.execute(TABLE.format("BLOB"))

    def bare(durable: bool) -> tuple[Commit, Callable[[], None]]:
        connection = sqlite3.connect(path, isolation_level=None, timeout=60, check_same_thread=False)
        connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")

        def commit(run_id: str, number: int) -> None:
            connection.execute("BEGIN IMMEDIATE")
            values = (run_id, number, 1e9, "intended", *ROW)
            connection.execute("INSERT INTO bare VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
            connection.execute("COMMIT")

        return commit, connection.close

    return Kind("SQLite", lambda: SQLiteJournal(folder / "journal.db"), bare)


def postgres_kind(server: PostgresServer) -> Kind:
    url, ours = server.new_database(), server.new_database()
    with psycopg.connect(url) as made:
        made.execute(TABLE.format("BYTEA"))

    def bare(durable: bool) -> tuple[Commit, Callable[[], None]]:
        connection = psycopg.connect(url, autocommit=True)
        connection.execute(f"SET synchronous_commit TO {'on' if durable else 'off'}")

        def commit(run_id: str, number: int) -> None:
            values = (run_id, number, 1e9, "intended", *ROW)
            connection.execute("INSERT INTO bare VALUES (%s, %s, %s, %s, %s, %s, %s, %s)", values)

        return commit, connection.close

    return Kind("PostgreSQL", lambda: PostgresJournal(ours), bare)


def bare_seconds(kind: Kind, *, durable: bool, writers: int, each: int, label: str) -> float:
    """Each writer has a thread and a connection, and commits so many records."""
    made = [kind.bare(durable) for _ in range(writers)]

    def write(place: int) -> None:
        for number in range(each):
            made[place][0](f"{label} {place}", number)

    threads = [threading.Thread(target=write, args=(place,)) for place in range(writers)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - began
    for _, close in made:
        close()
    return seconds


async def actum_seconds(kind: Kind, *, durable: bool, writers: int, each: int) -> float:
    """Each writer is a task of one event loop, with a run of its own."""
    journal = kind.journal()
    runs = [f"{time.monotonic_ns()} {place}" for place in range(writers)]
    for run_id in runs:
        journal.append(run_id, STARTED)
    await journal.sync(runs[0])

    async def write(run_id: str) -> None:
        for _ in range(each):
            journal.append(run_id, RECORD)
            if durable:
                await journal.sync(run_id)

    began = time.perf_counter()
    await asyncio.gather(*map(write, runs))
    await journal.read("nobody")  # comes back when all is written
    seconds = time.perf_counter() - began
    await journal.close()
    return seconds


def journal_table(rounds: int) -> list[Row]:
    rows: list[Row] = []
    with postgres_server(durable=True) as server, tempfile.TemporaryDirectory(prefix="actum-bench-") as folder:
        for kind in (sqlite_kind(Path(folder)), postgres_kind(server)):
            for durable in (False, True):
                for writers, each in ((1, 150 if durable else 2000), (32, 15 if durable else 100)):
                    rows.append(_row(kind, rounds, durable=durable, writers=writers, each=each))
    return rows


def _row(kind: Kind, rounds: int, *, durable: bool, writers: int, each: int) -> Row:
    bare, actum = [], []
    for turn in range(rounds):
        label = f"{durable} {writers} {turn}"
        bare.append(bare_seconds(kind, durable=durable, writers=writers, each=each, label=label))
        actum.append(asyncio.run(actum_seconds(kind, durable=durable, writers=writers, each=each)))
    scale = 1e6 / (writers * each)
    return {
        "database": kind.name,
        "durability": "durable" if durable else "hurried",
        "writers": writers,
        "bare µs a record": round(min(bare) * scale),
        "actum µs a record": round(min(actum) * scale),
        "actum × bare": round(min(actum) / min(bare), 2),
    }
