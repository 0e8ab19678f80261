"""Keys in the journal's database: hashed, never handed out twice, and revoked for every process at once."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable

import psycopg
import pytest

from actum.core.errors import UnknownName, UsageError
from actum.core.stored.key import KeyStore, new_key
from actum.runs.administration import put_on_record
from tests import warm
from tests.patience import HANGS_S, SOON_S
from tests.postgres import PostgresServer

from .conftest import Store


async def until(holds: Callable[[], bool], seconds: float) -> None:
    """Wait for another process or thread, at most so long."""
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110 - another process or thread makes it so
            await asyncio.sleep(0.005)


async def known(keys: KeyStore) -> int:
    """The number of changes, once it is known."""
    await until(lambda: keys.changes() is not None, HANGS_S)
    number = keys.changes()
    assert number is not None
    return number


async def test_a_key_is_kept_hashed_and_its_id_is_never_handed_out_twice(store: Store) -> None:
    keys = store.open().keys
    text, key = new_key("ci", principal="ann", tenant="north", tools=["crm_*"], made_at=5.0, made_by="root")
    await keys.add(key)
    assert await keys.all() == [key] == [await keys.find("ci")]
    assert text not in repr(key)
    assert await keys.find("other") is None
    with pytest.raises(UsageError, match="a key named 'ci' is there"):
        await keys.add(new_key("ci")[1])
    assert await keys.revoke("ci", at=7.0, by="bob")
    assert not await keys.revoke("ci", at=9.0, by="eve")
    (revoked,) = await keys.all()
    assert (revoked.revoked_at, revoked.revoked_by, revoked.state(8.0)) == (7.0, "bob", "revoked")
    with pytest.raises(UsageError, match="a key named 'ci' was revoked"):
        await keys.add(new_key("ci")[1])
    with pytest.raises(UnknownName, match="no key named 'nobody'"):
        await keys.revoke("nobody", at=7.0, by="bob")


async def test_two_that_add_one_id_at_once_get_one_key(shared: Store) -> None:
    one, two = shared.open().keys, shared.open().keys
    results = await asyncio.gather(
        *(keys.add(new_key("ci")[1]) for keys in (one, two) for _ in range(5)), return_exceptions=True
    )
    assert sum(result is None for result in results) == 1
    assert {type(result) for result in results} == {type(None), UsageError}
    assert len(await one.all()) == 1


_REVOKE = """
import asyncio, sys, time
from actum.storage.place import open_journal
async def main():
    journal = open_journal(sys.argv[1])
    await journal.keys.revoke(sys.argv[2], at=time.time(), by="root")
    print(time.time(), flush=True)
    await journal.close()
asyncio.run(main())
"""

TRIES = 10


async def noticed_after(keys: KeyStore, place: str, name: str) -> float:
    """The seconds until it is noticed here that another process has revoked a key."""
    await keys.add(new_key(name)[1])
    before = await known(keys)
    other = await warm.start(sys.executable, "-c", _REVOKE, place, name, stdout=subprocess.PIPE)
    await until(lambda: keys.changes() != before, HANGS_S)
    noticed = time.time()
    out, _ = await other.communicate()
    assert other.returncode == 0
    return noticed - float(out)


async def test_a_key_revoked_by_another_process_is_known_within_a_second_and_after_a_restart(shared: Store) -> None:
    keys, took = shared.open().keys, list[float]()
    while len(took) < TRIES and min(took, default=math.inf) >= 1.0:  # the machine may be busy with other work
        took.append(await noticed_after(keys, shared.place, f"key-{len(took)}"))
    assert min(took) < 1.0, took
    for opened in (keys, shared.open().keys):
        assert [key.state(0.0) for key in await opened.all()] == ["revoked"] * len(took)


async def test_a_number_of_changes_may_be_old_where_that_is_said_but_never_hides_what_was_done_here(
    shared: Store,
) -> None:
    here, elsewhere = shared.open().keys, shared.open().keys
    await here.add(new_key("ci")[1])
    await here.add(new_key("other")[1])
    before = await known(here)
    assert here.changes(3_600.0) == before
    await elsewhere.revoke("ci", at=1.0, by="root")
    await until(lambda: here.changes() != before, SOON_S)  # without a word about its age the number is the latest
    before = await known(here)
    await here.revoke("other", at=1.0, by="root")
    await until(lambda: here.changes(3_600.0) != before, SOON_S)


async def test_a_row_that_is_changed_by_hand_is_noticed_and_a_damaged_one_opens_no_door(shared: Store) -> None:
    keys = shared.open().keys
    for name in ("one", "two"):
        await keys.add(new_key(name)[1])
    before = await known(keys)
    if "://" in shared.place:
        with psycopg.connect(shared.place, autocommit=True) as connection:
            connection.execute("UPDATE actum.keys SET payload = 'x' WHERE id = 'one'")
    else:
        with sqlite3.connect(shared.place) as file:
            file.execute("UPDATE keys SET payload = 'x' WHERE id = 'one'")
        file.close()
    await until(lambda: keys.changes() != before, SOON_S)
    assert [key.state(0.0) for key in await keys.all()] == ["damaged", "valid"]
    assert await keys.find("one") is None
    assert await keys.revoke("one", at=1.0, by="root")


async def test_records_of_runs_do_not_count_as_changes_of_keys(shared: Store) -> None:
    journal = shared.open()
    keys = journal.keys
    await keys.add(new_key("ci")[1])
    before = await known(keys)
    await put_on_record(journal, "keys.add", {"name": "ci"}, principal="root")
    await until(lambda: keys.changes() is not None, HANGS_S)
    assert keys.changes() == before


async def test_nobody_can_tell_while_the_connection_that_listens_is_away(
    database: Store, postgres: PostgresServer
) -> None:
    keys = database.open().keys
    await keys.add(new_key("ci")[1])
    before = await known(keys)
    postgres.stop()
    try:
        await until(lambda: keys.changes() is None, 2)
    finally:
        postgres.start()
    after = await known(keys)
    assert after != before  # what was told meanwhile went unheard


async def test_a_server_that_hangs_without_a_sign_is_away_within_a_second(
    database: Store, postgres: PostgresServer
) -> None:
    keys = database.open().keys
    await known(keys)
    with psycopg.connect(database.place, autocommit=True) as connection:
        query = "SELECT pid FROM pg_stat_activity WHERE query = 'SELECT 1' AND pid != pg_backend_pid()"
        (listening,) = (pid for (pid,) in connection.execute(query).fetchall())
    os.kill(listening, signal.SIGSTOP)
    try:
        await until(lambda: keys.changes() is None, 1.0)
        await keys.add(new_key("ci")[1])  # the other connection works
        assert await keys.find("ci") is not None
    finally:
        os.kill(listening, signal.SIGCONT)
    await known(keys)
