"""One journal in the hands of several processes: what survives one, what another sees, who may go on."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from actum import Agent, ToolCall
from actum.core.errors import Busy, JournalError
from actum.core.interfaces import Journal
from actum.core.message import Reply, ToolMessage
from actum.core.model import Request
from actum.core.run.chain import verify, verify_ledger
from actum.core.run.record import Entry
from actum.journal.recording import RunState
from actum.testing import Said, ScriptedModel
from tests import warm
from tests.patience import HANGS_S
from tests.till import Till

from .conftest import Store
from .records import DONE, REPLIED, started

pytestmark = pytest.mark.row("C7")

OPENS = """
import asyncio, os, signal, sys
from actum.core.message import Reply, UserMessage
from actum.core.run.record import ModelReplied, Started
from actum.storage.postgres import PostgresJournal
from actum.storage.sqlite import SQLiteJournal
place = sys.argv[1]
journal = (PostgresJournal if place.startswith("postgresql:") else SQLiteJournal)(place)
"""

WRITES_AND_DIES = (
    OPENS
    + """
async def main():
    journal.append("r", Started(agent="a", model="m", said=(UserMessage.of("hi"),)))
    for n in range(20):
        journal.append("r", ModelReplied(str(n), Reply.of("x")))
    await journal.sync("r")
    os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(main())
"""
)

IS_FORKED = (
    OPENS
    + """
async def tries():
    for way in (lambda: journal.read("r"), lambda: journal.sync("r"), lambda: journal.claim("r").__aenter__()):
        try:
            await way()
        except Exception as error:
            print(type(error).__name__, "open it anew" in str(error), flush=True)
    await journal.close()
if os.fork() == 0:
    asyncio.run(tries())
    os._exit(0)
os.wait()
async def goes_on():
    journal.append("r", Started(agent="a", model="m", said=(UserMessage.of("hi"),)))
    await journal.sync("r")
    await journal.close()
asyncio.run(goes_on())
print("written", flush=True)
"""
)

HOLDS_A_CLAIM = (
    OPENS
    + """
async def main():
    async with journal.claim("r"):
        print("held", flush=True)
        await asyncio.to_thread(sys.stdin.read)
asyncio.run(main())
"""
)

WRITES_WHEN_IT_IS_TOLD = (
    OPENS
    + """
async def main():
    async with journal.claim("r"):
        journal.append("r", Started(agent="a", model="m", said=(UserMessage.of("hi"),)))
        await journal.sync("r")
        print("begun", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        journal.append("r", ModelReplied("1", Reply.of("x")))
        await journal.sync("r")
asyncio.run(main())
"""
)


@contextlib.contextmanager
def process(source: str, store: Store) -> Iterator[subprocess.Popen[str]]:
    """A process that has the journal open; gone at the end of the block."""
    command = [sys.executable, "-c", source, store.place]
    with warm.popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        try:
            yield running
        finally:
            running.kill()


async def line(running: subprocess.Popen[str]) -> str:
    assert running.stdout is not None
    return (await asyncio.to_thread(running.stdout.readline)).strip()


# What survives --------------------------------------------------------------------------------------------------------


async def test_a_run_is_read_by_the_next_process_and_its_chain_goes_on(shared: Store) -> None:
    first = shared.open()
    first.append("r", started())
    await first.close()
    second = shared.open()
    assert second.append("r", DONE) == 1
    assert verify(await second.read("r")) == []


async def test_what_was_synced_survives_kill_9(shared: Store) -> None:
    with process(WRITES_AND_DIES, shared) as killed:
        assert await asyncio.to_thread(killed.wait) == -signal.SIGKILL
    entries = await shared.open().read("r")
    assert (len(entries), verify(entries)) == (21, [])
    assert RunState(entries).beginning().agent == "a"


async def test_a_forked_process_is_told_to_open_the_journal_anew_and_does_not_wait_for_ever(shared: Store) -> None:
    with process(IS_FORKED, shared) as forked:
        assert [await line(forked) for _ in range(4)] == [*["JournalError True"] * 3, "written"]


async def test_many_writers_share_their_commits(shared: Store) -> None:
    journal = shared.open()

    async def write(run: str) -> None:
        journal.append(run, started())
        await journal.sync(run)

    await asyncio.gather(*(write(f"r{n}") for n in range(64)))
    assert len(await journal.runs(limit=100)) == 64


async def test_a_run_is_followed_live_from_another_process(shared: Store) -> None:
    writer, reader = shared.open(), shared.open()
    seen: list[Entry] = []
    for number in range(3):
        writer.append("r", REPLIED if number else started())
        await writer.sync("r")
        seen += await reader.read("r", after=len(seen) - 1)
    assert seen == await writer.read("r")


async def test_processes_that_sign_write_one_ledger(shared: Store) -> None:
    journals = [shared.open(key=b"the key of both") for _ in range(2)]

    async def work(journal: Journal, name: str) -> None:
        for number in range(20):
            journal.append(f"{name}{number}", started())
            journal.append(f"{name}{number}", DONE)
            await journal.sync(f"{name}{number}")

    await asyncio.gather(*(work(journal, name) for journal, name in zip(journals, "ab", strict=True)))
    heads = await journals[0].heads()
    assert (len(heads), verify_ledger(heads, b"the key of both")) == (40, [])


# Who may go on --------------------------------------------------------------------------------------------------------


async def test_the_second_process_on_a_run_is_told_at_once(shared: Store) -> None:
    here, there = shared.open(), shared.open()
    here.append("r", started())
    await here.sync("r")
    async with here.claim("r"):
        with pytest.raises(Busy, match="run 'r' is under way"):
            async with there.claim("r"):
                pass
        with pytest.raises(Busy):
            await there.forget("r")
        assert await there.driven(["q", "r"]) == {"r"}
        async with there.claim("q"):
            assert await here.driven(["q", "r"]) == {"q", "r"}
    async with there.claim("r"):
        assert await here.driven(["r"]) == {"r"}


async def test_the_claim_of_a_killed_process_is_free(shared: Store) -> None:
    journal = shared.open()
    with process(HOLDS_A_CLAIM, shared) as holder:
        assert await line(holder) == "held"
        assert await journal.driven(["r"]) == {"r"}
        holder.kill()
        await asyncio.to_thread(holder.wait)
        async with asyncio.timeout(HANGS_S):  # a server hears of it a moment later
            while await journal.driven(["r"]):
                pass
        async with journal.claim("r"):
            pass


GATE = 7
COMMITS_WAIT_AT_A_GATE = f"""
CREATE FUNCTION actum.wait_at_the_gate() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM pg_advisory_xact_lock({GATE}); RETURN NULL; END';
CREATE CONSTRAINT TRIGGER gate AFTER INSERT ON actum.entries DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION actum.wait_at_the_gate();
SELECT pg_advisory_lock({GATE})
"""
AT_THE_GATE = f"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = {GATE} AND NOT granted"


async def commit_has_begun(gate: psycopg.Connection) -> None:
    """Return when a session waits at the gate in its COMMIT."""
    async with asyncio.timeout(HANGS_S):
        while (await asyncio.to_thread(gate.execute, AT_THE_GATE)).fetchall() == [(0,)]:
            pass


async def test_the_claim_of_a_killed_process_is_free_only_after_its_last_commit(database: Store) -> None:
    journal = database.open()

    async def go_on() -> int:
        async with journal.claim("r"):
            number = journal.append("r", DONE) if await journal.read("r") else -1
            await journal.sync("r")
            return number

    with process(WRITES_WHEN_IT_IS_TOLD, database) as killed:
        assert await line(killed) == "begun"
        with psycopg.connect(database.place, autocommit=True) as gate:
            gate.execute(COMMITS_WAIT_AT_A_GATE)
            assert killed.stdin is not None
            killed.stdin.write("\n")
            killed.stdin.flush()
            await commit_has_begun(gate)
            killed.kill()
            await asyncio.to_thread(killed.wait)
            next_process = asyncio.create_task(go_on())
            for _ in range(
                3
            ):  # the thread of the journal has tried to take the claim before it answers the second time
                await journal.driven(["another"])
            assert not next_process.done()
    async with asyncio.timeout(HANGS_S):
        assert await next_process == 2
    assert verify(await journal.read("r")) == []


async def test_a_claim_whose_holder_lives_is_refused_also_when_its_commit_is_slow(database: Store) -> None:
    holder, other = database.open(), database.open()
    async with holder.claim("r"):
        with psycopg.connect(database.place, autocommit=True) as gate:
            gate.execute(COMMITS_WAIT_AT_A_GATE)
            holder.append("r", started())
            await commit_has_begun(gate)
            second = asyncio.create_task(other.claim("r").__aenter__())
            for _ in range(3):
                await other.driven(["another"])
            assert not second.done()
        async with asyncio.timeout(HANGS_S):
            with pytest.raises(Busy):
                await second
        with pytest.raises(Busy):
            await other.claim("r").__aenter__()
        holder.append("r", DONE)
        await holder.sync("r")


async def test_a_child_that_was_forked_does_not_hold_the_claims_of_its_dead_parent(file: Store) -> None:
    forks = HOLDS_A_CLAIM.replace(
        'print("held", flush=True)',
        "child = os.fork(); os.write(1, b'%d\\n' % child); child or (sys.stdin.read(), os._exit(0))",
    )
    journal = file.open()
    with process(forks, file) as holder:
        child = max([int(await line(holder)) for _ in range(2)])  # both have spoken: the child has let go by then
        holder.kill()
        await asyncio.to_thread(holder.wait)
        os.kill(child, 0)  # it lives
        async with journal.claim("r"):
            pass


async def in_conflict(here: Journal, there: Journal) -> None:
    """Both have written what comes after the start of run `r`; the other was first."""
    here.append("r", started())
    await here.sync("r")
    there.append("r", REPLIED)
    await there.sync("r")
    here.append("r", REPLIED)


async def test_one_run_that_two_processes_write_does_not_end_all_others(shared: Store) -> None:
    journal = shared.open()
    await in_conflict(journal, shared.open())
    journal.append("same batch", started())
    for _ in range(2):
        with pytest.raises(JournalError, match="run r is written by another process too"):
            await journal.sync("r")
    with pytest.raises(JournalError, match="run r is written by another process too"):
        journal.append("r", REPLIED)
    await journal.sync("same batch")
    assert len(await journal.read("same batch")) == 1
    await journal.close()


async def test_a_run_that_another_process_wrote_goes_on_once_it_is_claimed_and_read_again(shared: Store) -> None:
    here, there = shared.open(), shared.open()
    await in_conflict(here, there)
    with pytest.raises(JournalError):
        await here.sync("r")
    assert len(await here.read("r")) == 2
    with pytest.raises(JournalError):  # to look at it is not enough: who drives it may not have heard yet
        here.append("r", REPLIED)
    async with here.claim("r"):
        assert len(await here.read("r")) == 2
        assert here.append("r", REPLIED) == 2
        await here.sync("r")
    entries = await there.read("r")
    assert (len(entries), verify(entries)) == (3, [])


def pays_twice(request: Request) -> Said:
    done = sum(isinstance(message, ToolMessage) for message in request.messages)
    return "Done." if done == 2 else [ToolCall(str(done), "pay", {"amount": done})]


async def test_a_run_that_was_looked_at_is_resumed_after_another_process_went_on_with_it(shared: Store) -> None:
    till = Till()
    here, there = [Agent(ScriptedModel(pays_twice), [till.pay], journal=shared.open()) for _ in range(2)]
    one = await here.run("Pay")
    await here.journal.read(one.run_id)
    two = await there.resume(one.run_id, {one.pending[0].id: "approve"})
    assert (await here.resume(one.run_id, {two.pending[0].id: "approve"})).status == "done"
    assert len(till.paid) == 2


class Slow:
    """A model that pays once, and takes its time before it says so."""

    name = "slow"

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.may_say = asyncio.Event()

    async def reply(self, request: Request, emit: object = None) -> Reply:
        self.asked.set()
        await self.may_say.wait()
        return Reply.of("Done.") if isinstance(request.messages[-1], ToolMessage) else Reply.of(calls=[PAY])


PAY = ToolCall("1", "pay", {"amount": 1})


def lose_claims(store: Store) -> None:
    """As a person who cleans up, or a network that fails, would have it."""
    if not store.place.startswith("postgresql:"):
        Path(f"{store.place}-claims").unlink()
        return
    with psycopg.connect(store.place, autocommit=True) as connection:
        (lost,) = connection.execute(
            """SELECT count(pg_terminate_backend(pid)) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""
        ).fetchall()
    assert lost[0] >= 1  # beside the claim, a connection that has just been opened may look at the tables


async def test_where_the_claim_was_lost_the_second_process_is_stopped_before_its_effect(shared: Store) -> None:
    till = Till(approval=False)
    slow, quick = Slow(), Slow()
    quick.may_say.set()
    here = Agent(slow, [till.pay], journal=shared.open())
    first = asyncio.create_task(here.run("Pay", run_id="r"))
    await slow.asked.wait()
    await here.journal.sync("r")  # a model is asked before the beginning is written, another process sees the file only
    with pytest.raises(Busy):
        await Agent(quick, [till.pay], journal=shared.open()).resume("r")
    lose_claims(shared)
    there = Agent(quick, [till.pay], journal=shared.open())
    async with asyncio.timeout(HANGS_S):  # a server needs a moment to end a session
        while await there.journal.driven(["r"]):
            pass
    assert (await there.resume("r")).status == "done"
    assert till.paid == [1]
    slow.may_say.set()
    with pytest.raises(JournalError, match=r"run r is written by another process too|claims was deleted or replaced"):
        await first
    assert till.paid == [1]
    assert verify(await there.journal.read("r")) == []
