"""A server that goes away and comes back, is not there, or is another's; and an address that holds a password."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
import pytest

from actum import Agent, tool
from actum.core.errors import Busy, JournalError
from actum.core.run.chain import verify
from actum.core.run.record import Intended
from actum.storage.postgres import LOCK, PostgresJournal, address
from actum.testing import ScriptedModel
from tests import warm
from tests.postgres import PostgresServer
from tests.till import pays_once

from .conftest import Store
from .records import DONE, REPLIED, started

pytestmark = pytest.mark.row("C7")


async def test_a_server_that_is_killed_loses_nothing_that_was_synced_and_runs_go_on_after(
    postgres: PostgresServer, database: Store
) -> None:
    journal = database.open()
    async with journal.claim("r"):
        journal.append("r", started())
        for _ in range(20):
            journal.append("r", REPLIED)
        await journal.sync("r")
        postgres.kill()
        try:
            journal.append("r", REPLIED)
            with pytest.raises(JournalError, match="failed: "):
                await journal.sync("r")
            with pytest.raises(JournalError, match="failed: "):
                journal.append("r", REPLIED)
            with pytest.raises(JournalError, match="can not open the journal"):
                await journal.runs()
        finally:
            postgres.start()
        journal.append("another", started())
        await journal.sync("another")
        with pytest.raises(JournalError, match="failed: "):  # who drives it must have heard
            journal.append("r", REPLIED)
        with pytest.raises(Busy):  # the claim came back with the connection
            async with database.open().claim("r"):
                pass
    async with journal.claim("r"):
        entries = await journal.read("r")
        assert (len(entries) >= 21, verify(entries)) == (True, [])
        assert journal.append("r", DONE) == len(entries)
        await journal.sync("r")
    assert [run.status for run in await journal.runs()] == ["running", "done"]


async def test_a_payment_whose_outcome_found_no_server_is_not_repeated(
    postgres: PostgresServer, database: Store
) -> None:
    paid: list[int] = []

    @tool(effects={"spend"})
    async def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        postgres.kill()
        return "paid"

    agent = Agent(ScriptedModel(pays_once), [pay], journal=database.open())
    with pytest.raises(JournalError):
        await agent.run("Pay", run_id="r")
    postgres.start()
    assert [type(entry.record) for entry in await agent.journal.read("r")][-1] is Intended
    await agent.resume("r")
    assert paid == [1]


async def test_a_session_that_was_ended_between_two_runs_is_not_missed(database: Store) -> None:
    journal = database.open()
    journal.append("r", started())
    await journal.sync("r")
    async with journal.claim("r"):
        end_sessions(database)
        assert len(await journal.read("r")) == 1
        end_sessions(database)
        assert await journal.driven(["r"]) == {"r"}
        journal.append("r", REPLIED)
        await journal.sync("r")
    assert len(await journal.read("r")) == 2


async def test_what_the_server_may_have_lost_is_not_taken_for_synced(database: Store) -> None:
    journal = database.open()
    async with journal.claim("r"):
        journal.append("r", started())
        await journal.read("r")  # it is committed by now, and the disk was not waited for
        end_sessions(database)
        with pytest.raises(JournalError, match="the connection was lost before run r was on the disk"):
            await journal.sync("r")
    async with journal.claim("r"):
        assert len(await journal.read("r")) == 1
        journal.append("r", DONE)
        await journal.sync("r")


async def test_a_record_that_was_lost_leaves_no_gap(database: Store) -> None:
    journal = database.open()
    journal.append("r", started())
    journal.append("r", REPLIED)
    await journal.sync("r")
    with psycopg.connect(database.place) as connection:  # as a standby that took over would have it
        connection.execute("DELETE FROM actum.entries WHERE number = 1")
    journal.append("r", DONE)
    with pytest.raises(JournalError, match="or its last records were lost"):
        await journal.sync("r")
    assert verify(await journal.read("r")) == []


COMMITS_SLOWLY_AND_IS_KILLED = """
import asyncio, os, signal, sys, threading
from actum.core.message import UserMessage
from actum.core.run.record import Started
from actum.storage.postgres import PostgresJournal
journal = PostgresJournal(sys.argv[1])
async def main():
    async with journal.claim("r"):
        journal.append("r", Started(agent="a", model="m", said=(UserMessage.of("hi"),)))
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGKILL)).start()  # while the server commits
        await journal.sync("r")
asyncio.run(main())
"""

COMMITS_SLOWLY = """
CREATE FUNCTION actum.slowly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(2); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER slowly AFTER INSERT ON actum.entries DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.number = 0) EXECUTE FUNCTION actum.slowly();
"""


async def test_a_claim_is_free_only_when_the_last_commit_of_a_killed_process_has_ended(database: Store) -> None:
    journal = database.open()
    await journal.runs()  # the tables are there
    with psycopg.connect(database.place, autocommit=True) as connection:
        connection.execute(COMMITS_SLOWLY)
    killed = await warm.start(sys.executable, "-c", COMMITS_SLOWLY_AND_IS_KILLED, database.place)
    assert await killed.wait() == -signal.SIGKILL
    while "r" in await journal.driven(["r"]):
        pass
    async with journal.claim("r"):
        assert [entry.number for entry in await journal.read("r")] == [0]
        journal.append("r", DONE)
        await journal.sync("r")
    assert verify(await journal.read("r")) == []


def end_sessions(store: Store) -> None:
    with psycopg.connect(store.place, autocommit=True) as connection:
        connection.execute(
            """SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()"""
        )


class Network:
    """A way to the server that can be cut so that the client hears of it and the server does not."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._clients: list[asyncio.StreamWriter] = []
        self._servers: list[asyncio.StreamWriter] = []
        self._pumps: list[asyncio.Task[None]] = []

    @asynccontextmanager
    async def open(self) -> AsyncIterator[str]:
        """The folder in which a client finds the server's socket."""
        with tempfile.TemporaryDirectory() as folder:
            async with await asyncio.start_unix_server(self._connect, f"{folder}/.s.PGSQL.5432"):
                yield folder
                self.cut()
                for writer in self._servers:
                    writer.close()
                await asyncio.gather(*self._pumps)

    def cut(self) -> None:
        """Close the connections of all clients, and none of the server's."""
        for writer in self._clients:
            writer.close()
        self._clients.clear()

    async def _connect(self, from_client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_unix_connection(f"{self._server}/.s.PGSQL.5432")
        self._clients.append(to_client)
        self._servers.append(to_server)
        for source, target in ((from_client, to_server), (from_server, to_client)):
            self._pumps.append(asyncio.create_task(self._pump(source, target)))

    async def _pump(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(65_536):
            if not target.is_closing():
                target.write(data)


async def test_a_session_that_the_server_kept_when_the_network_was_cut_ends_with_the_next_connection(
    database: Store,
) -> None:
    base, _, folder = database.place.partition("?host=")
    network = Network(folder)
    async with network.open() as cut_off:
        journal = await asyncio.to_thread(PostgresJournal, f"{base}?host={cut_off}")
        other = database.open()
        async with journal.claim("r"):
            journal.append("r", started())
            await journal.sync("r")
            network.cut()
            journal.append("r", REPLIED)
            await journal.sync("r")
            with pytest.raises(Busy):  # the claim is kept, by the new session
                await other.claim("r").__aenter__()
        async with other.claim("r"):  # the old session does not hold the claim any more
            assert len(await other.read("r")) == 2
        await journal.close()


async def test_a_database_of_a_newer_version_is_refused_in_a_sentence(database: Store) -> None:
    await database.open().close()
    with psycopg.connect(database.place) as connection:
        connection.execute("UPDATE actum.version SET version = 99")
    with pytest.raises(JournalError, match=r"written by a newer actum \(schema 99\): update actum"):
        database.open()


async def test_of_processes_that_open_an_empty_database_at_once_one_makes_the_tables_and_all_find_them(
    database: Store,
) -> None:
    with psycopg.connect(database.place, autocommit=True) as first:
        first.execute("SELECT pg_advisory_lock(%s)", (LOCK,))  # all have seen by now that there are no tables
        opening = [asyncio.create_task(asyncio.to_thread(database.open)) for _ in range(4)]
        while True:
            ((waiting,),) = first.execute(
                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = "
                "(SELECT oid FROM pg_database WHERE datname = current_database())"
            ).fetchall()
            if waiting == 4:
                break
            await asyncio.sleep(0.01)
        first.execute("SELECT pg_advisory_unlock(%s)", (LOCK,))
        journals = await asyncio.gather(*opening)
    for number, journal in enumerate(journals):
        async with journal.claim(f"run{number}"):
            journal.append(f"run{number}", started())
    for journal in journals:
        assert len(await journal.runs()) == 4


async def test_the_tables_of_others_are_left_alone(database: Store) -> None:
    with psycopg.connect(database.place) as connection:
        connection.execute("CREATE TABLE public.runs (mine TEXT)")
    journal = database.open()
    journal.append("r", started())
    await journal.sync("r")
    with psycopg.connect(database.place) as connection:
        assert connection.execute("SELECT * FROM public.runs").fetchall() == []


async def test_an_ordinary_user_may_have_a_journal(database: Store) -> None:
    with psycopg.connect(database.place) as connection:
        connection.execute("CREATE ROLE plain LOGIN")
        connection.execute(f"GRANT CREATE ON DATABASE {connection.info.dbname} TO plain")
    journal = PostgresJournal(database.place.replace("actum@", "plain@"), key=b"a key")
    async with journal.claim("r"):
        journal.append("r", started())
        await journal.read("r")  # it is committed by now, and not flushed
        await journal.sync("r")
        journal.append("r", DONE)
        assert await database.open().driven(["r"]) == {"r"}
    assert await journal.forget("r") == 2
    await journal.close()


def test_a_server_that_is_not_there_is_told_without_the_password(postgres: PostgresServer) -> None:
    nowhere = "postgresql://ann:hush@/x?host=/nowhere"
    malformed = "postgresql://ann:hu%sh@host/x"
    absent = postgres.url("absent").replace("actum@", "actum:hush@")
    for url, told in ((nowhere, "No such file"), (malformed, "not well-formed"), (absent, '"absent" does not exist')):
        with pytest.raises(JournalError, match="can not open the journal postgresql://") as caught:
            PostgresJournal(url)
        said = "".join(traceback.format_exception(caught.value))
        assert told in said
        assert "hush" not in said
        assert "hu%sh" not in str(caught.value)


async def test_a_journal_shows_its_address_without_the_password(database: Store) -> None:
    journal = PostgresJournal(database.place.replace("actum@", "actum:hush@"))
    assert journal.name.startswith("postgresql://actum@/test_")
    assert "hush" not in f"{journal!r} {vars(journal)}"
    await journal.close()
    with pytest.raises(JournalError) as caught:
        await journal.read("r")
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ann:p@host:5432/db", "postgresql://ann@host:5432/db"),
        ("postgresql://ann:p@w/p?q@host/db", "postgresql://ann@host/db"),
        ("postgresql://host/db?user=ann&password=p", "postgresql://host/db"),
        ("postgres:///db", "postgres:///db"),
    ],
)
def test_an_address_is_shown_without_its_password(url: str, shown: str) -> None:
    assert address(url) == shown


def test_without_psycopg_the_way_to_install_it_is_told() -> None:
    source = "import sys; sys.modules['psycopg'] = None\nfrom actum.storage.postgres import PostgresJournal\n"
    source += "try:\n    PostgresJournal('postgresql://host/db')\nexcept ValueError as error:\n    print(error)"
    command = [sys.executable, "-c", source]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ})
    assert "needs psycopg: pip install 'actum[postgres]'" in done.stdout
