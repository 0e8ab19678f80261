"""What a server needs that many people use: lists of a large journal; part of `make bench`.

Wall time of one question to a journal of 100,000 runs, the best of several rounds; 20 ms are allowed.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from pathlib import Path

from actum.call.asking.inbox import page_of_waiting
from actum.core.interfaces import Journal
from actum.core.message import UserMessage
from actum.core.run.pending import Pending
from actum.core.run.record import InputRequested, Started
from actum.journal.lists import page_of_conversations, page_of_runs, write_cursor
from actum.storage.database import Database
from actum.storage.journal import DatabaseJournal
from actum.storage.postgres import PostgresDatabase
from actum.storage.schema import POSTGRES, SQLITE
from actum.storage.sqlite import SQLiteDatabase
from tests.postgres import postgres_server

from .loop import Row

RUNS = 100_000
WAITING_EACH = 100
"""One run of so many waits for somebody."""
ALLOWED_MS = 20.0
NUMBERED = """WITH RECURSIVE numbered(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbered WHERE n < {runs})
INSERT INTO runs (
    run_id, status, started, ended, agent, model, question, conversation, parent, principal, owner, tenant, kind)
SELECT 'run_' || n, CASE n % 20 WHEN 17 THEN 'failed' WHEN 18 THEN 'stopped' WHEN 19 THEN 'paused' ELSE 'done' END,
    1000000 + n, 1000001 + n, 'agent_' || (n % 50), CASE n % 3 WHEN 0 THEN '' ELSE 'model_' || (n % 7) END,
    'What is the weather in the city of this question, and what should I wear there?', 'talk_' || (n / 5), '',
    'user_' || (n % 1000), 'user_' || ((n / 5) % 1000), '{tenant}', CASE n % 3 WHEN 0 THEN 'call' ELSE 'agent' END
FROM numbered"""
TALKS = """INSERT INTO conversations SELECT tenant, owner, conversation, count(*), min(place), max(place) FROM runs
GROUP BY tenant, owner, conversation"""

COUNTED = """INSERT INTO counted SELECT tenant, kind, agent, model, status, place % 8, count(*) FROM runs
WHERE status NOT IN ('running', 'waiting', 'paused') GROUP BY tenant, kind, agent, model, status, place % 8"""
"""As eight processes would have counted them."""


def lists_table(rounds: int) -> list[Row]:
    """Lists and counts of 100,000 runs, by database."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, postgres_server(durable=True) as server:
        kinds: dict[str, Callable[[], DatabaseJournal]] = {}
        file, url = Path(folder) / "journal.db", server.new_database()
        kinds["SQLite"] = lambda: DatabaseJournal(SQLiteDatabase(file), SQLITE, now=time.time, key=None)
        kinds["PostgreSQL"] = lambda: DatabaseJournal(PostgresDatabase(url), POSTGRES, now=time.time, key=None)
        for name, opened in kinds.items():
            database = SQLiteDatabase(file) if name == "SQLite" else PostgresDatabase(url)
            rows += asyncio.run(_measured(name, opened(), database, rounds))
    return rows


async def _measured(name: str, journal: DatabaseJournal, database: Database, rounds: int) -> list[Row]:
    try:
        with closing(database):
            fill(database)
        for number in range(RUNS // WAITING_EACH):
            run_id = f"waits_{number}"
            journal.append(run_id, Started(agent="a", model="m", said=(UserMessage.of("hi"),), tenant="north"))
            journal.append(run_id, InputRequested(Pending(f"ask_{number}", "answer", "which?")))
        await journal.sync("waits_0")
        rows: list[Row] = []
        for what, ask in _questions(journal).items():
            best = min([await _seconds(ask) for _ in range(max(rounds, 3))])
            rows.append({"database": name, "question": what, "ms": round(best * 1_000, 2), "allowed": ALLOWED_MS})
        return rows
    finally:
        await journal.close()


def fill(database: Database) -> None:
    """Write the lines of the runs; of two tenants, since a journal rarely has one tenant alone."""
    database.begin(writes=True, durable=False)
    database.execute(NUMBERED.format(runs=RUNS, tenant="north"))
    database.execute(NUMBERED.format(runs=RUNS // 10, tenant="south").replace("'run_'", "'other_'"))
    database.execute(TALKS)
    database.execute(COUNTED)
    database.commit()
    database.execute(
        "ANALYZE" if isinstance(database, SQLiteDatabase) else "VACUUM ANALYZE"
    )  # as PostgreSQL does itself


def _questions(journal: Journal) -> Mapping[str, Callable[[], Awaitable[object]]]:
    middle = write_cursor(f"run_{RUNS // 2}")
    return {
        "first page": lambda: page_of_runs(journal, tenant="north"),
        "page in the middle": lambda: page_of_runs(journal, tenant="north", cursor=middle),
        "by agent": lambda: page_of_runs(journal, tenant="north", agent="agent_7"),
        "by user and status": lambda: page_of_runs(journal, tenant="north", principal="user_9", status="done"),
        "by kind and model": lambda: page_of_runs(journal, tenant="north", kind="agent", model="model_4"),
        "by conversation": lambda: page_of_runs(journal, tenant="north", conversation="talk_9"),
        "by parent": lambda: page_of_runs(journal, tenant="north", parent="run_9"),
        "by an old time": lambda: page_of_runs(journal, tenant="north", since=1_000_100.0, until=1_000_200.0),
        "nothing fits": lambda: page_of_runs(journal, tenant="north", agent="nobody"),
        "count of all": lambda: journal.count_runs(tenant="north"),
        "count by agent": lambda: journal.count_runs(tenant="north", agent="agent_7"),
        "conversations": lambda: page_of_conversations(journal, tenant="north"),
        "conversations of a user": lambda: page_of_conversations(journal, tenant="north", owner="user_9"),
        "what waits": lambda: page_of_waiting(journal, tenant="north"),
    }


async def _seconds(ask: Callable[[], Awaitable[object]]) -> float:
    begun = time.perf_counter()
    await ask()
    return time.perf_counter() - begun
