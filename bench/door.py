"""What it costs to come in at a server; part of `make bench`.

Keys: CPU of checking one key that a database keeps, with one key and with a thousand, while runs are written to the
same database. A check includes the question whether any process has revoked a key since.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path

from actum.core.key import KeepsKeys, new_key
from actum.runs.administration import put_on_record
from actum.server.attempts import Attempts
from actum.server.stored_keys import StoredKeys
from actum.storage.place import open_journal
from tests.postgres import postgres_server

from .loop import Row

CHECKS = 5_000
KEYS = (1, 1_000)


def keys_table(rounds: int) -> list[Row]:
    """CPU of a check, by database and number of keys."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, postgres_server() as server:
        for name in ("sqlite", "postgres"):
            for count in KEYS:
                place = server.new_database() if name == "postgres" else str(Path(folder) / f"{count}.db")
                spent = asyncio.run(_checks(place, count, rounds, busy=False))
                busy = asyncio.run(_checks(place, count, rounds, busy=True))
                rows.append(
                    {
                        "journal": name,
                        "keys": count,
                        "µs a check": round(spent * 1e6, 1),
                        "µs a check, runs written meanwhile": round(busy * 1e6, 1),
                    }
                )
    return rows


async def _checks(place: str, count: int, rounds: int, *, busy: bool) -> float:
    """CPU seconds of one check in this thread: the best of so many rounds."""
    journal = open_journal(place)
    assert isinstance(journal, KeepsKeys)
    made = [new_key(f"{'b' if busy else 'k'}{number}", principal="ann", scopes=["tools"]) for number in range(count)]
    for _, key in made:
        await journal.keys.add(key)
    while journal.keys.changes() is None:  # noqa: ASYNC110 - another thread connects
        await asyncio.sleep(0.01)
    keys, attempts, best = StoredKeys(journal.keys), Attempts(), float("inf")
    try:
        async with _written(place) if busy else nullcontext():
            for _ in range(rounds):
                began = time.thread_time()
                for number in range(CHECKS):
                    if await attempts.check(keys, "192.0.2.1", made[number % count][0]) is None:
                        raise AssertionError("a good key was refused")
                    if not number % 50:
                        await asyncio.sleep(0)
                best = min(best, (time.thread_time() - began) / CHECKS)
    finally:
        await journal.close()
    return best


@asynccontextmanager
async def _written(place: str) -> AsyncIterator[None]:
    """Another connection writes runs as fast as it can, in a thread and a loop of its own."""
    is_over = asyncio.Event()

    def write() -> None:
        async def all_the_time() -> None:
            journal = open_journal(place)
            while not is_over.is_set():
                await put_on_record(journal, "bench", {}, principal="bench")
            await journal.close()

        asyncio.run(all_the_time())

    writing = asyncio.create_task(asyncio.to_thread(write))
    try:
        yield
    finally:
        is_over.set()
        await writing
