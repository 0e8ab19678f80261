"""Record the stories anew: each is begun again and again in a process that is killed behind one record more.

    python -m tests.recorded.record            all of them, on SQLite and PostgreSQL, into this folder

A process is killed when it is about to write record N + 1, once record N is in the database: the effect of a call whose
intent is record N has happened then, and nothing tells its outcome. The last process of a story is not killed.
"""

from __future__ import annotations

import asyncio
import lzma
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psycopg

from actum.core.run.record import Record
from actum.storage.postgres import PostgresJournal
from actum.storage.sqlite import SQLiteJournal
from tests.postgres import pg_dump, postgres_server

from .story import STORIES, Ledger

HERE = Path(__file__).parent
DATABASES = {"sqlite": HERE / "runs.sqlite.xz", "postgres": HERE / "runs.sql.xz"}
LEDGERS = {name: HERE / f"ledger.{name}.txt" for name in DATABASES}


def killed_behind(
    records: int, entries: Callable[[], int], sign: signal.Signals = signal.SIGKILL
) -> Callable[[], None]:
    """What a journal calls before it writes a record: kills this process behind so many records.

    Args:
        records: how many may be written.
        entries: how many are in the database.
        sign: what the process gets; by default it is killed.
    """
    before, written = entries(), 0

    def look() -> None:
        nonlocal written
        if written == records:
            while entries() < before + records:
                time.sleep(0.001)
            signal.pthread_kill(threading.get_ident(), sign)
        written += 1

    return look


def entries_in_sqlite(place: str) -> int:
    """How many entries the file has."""
    with sqlite3.connect(place, timeout=30) as connection:
        return int(connection.execute("SELECT count(*) FROM entries").fetchone()[0])


def entries_in_postgres(place: str) -> int:
    """How many entries the database has."""
    with psycopg.connect(place) as connection:
        row = connection.execute("SELECT count(*) FROM actum.entries").fetchone()
        assert row is not None
        return int(row[0])


class KilledSQLite(SQLiteJournal):
    """A journal whose process is killed behind so many records."""

    look: Callable[[], None]

    def append(self, run_id: str, record: Record) -> int:
        """Write the record down, or die."""
        self.look()
        return super().append(run_id, record)


class KilledPostgres(PostgresJournal):
    """A journal whose process is killed behind so many records."""

    look: Callable[[], None]

    def append(self, run_id: str, record: Record) -> int:
        """Write the record down, or die."""
        self.look()
        return super().append(run_id, record)


async def tell(place: str, ledger: Path, story: str, records: int) -> None:
    """One process: tell a story from its beginning, and die behind so many records."""
    journal: KilledSQLite | KilledPostgres
    if place.startswith("postgresql:"):
        journal = KilledPostgres(place)
        journal.look = killed_behind(records, lambda: entries_in_postgres(place))
    else:
        journal = KilledSQLite(place)
        journal.look = killed_behind(records, lambda: entries_in_sqlite(place))
    run_id = f"{story}-{records:02}"
    result = await STORIES[story](journal, run_id, Ledger(ledger, run_id))
    await journal.close()
    if result.status != "done":
        raise RuntimeError(f"{run_id} ended otherwise: {result.status} {result.text}")


def record(place: str, ledger: Path) -> None:
    """Tell each story with one record more, until it comes to its end."""
    ledger.write_text("")
    for story in STORIES:
        for records in range(1, 200):
            command = [sys.executable, "-m", "tests.recorded.record", place, str(ledger), story, str(records)]
            done = subprocess.run(command, check=False)
            if done.returncode == 0:
                break
            if done.returncode != -signal.SIGKILL:
                raise RuntimeError(f"{story} behind {records}: {done.returncode}")


def main() -> None:
    """Record on both databases."""
    with tempfile.TemporaryDirectory() as folder:
        file, packed = Path(folder) / "runs.db", Path(folder) / "packed.db"
        record(str(file), LEDGERS["sqlite"])
        with sqlite3.connect(file) as connection:
            connection.execute("VACUUM INTO ?", (str(packed),))
        DATABASES["sqlite"].write_bytes(lzma.compress(packed.read_bytes()))
    with postgres_server() as server:
        place = server.new_database()
        record(place, LEDGERS["postgres"])
        text = re.sub(r"(?m)^(\\|--|SELECT pg_catalog.set_config).*\n", "", pg_dump(place))
        DATABASES["postgres"].write_bytes(lzma.compress(text.encode()))


if __name__ == "__main__":
    if sys.argv[1:]:
        where, effects, name, count = sys.argv[1:]
        asyncio.run(tell(where, Path(effects), name, int(count)))
    else:
        main()
