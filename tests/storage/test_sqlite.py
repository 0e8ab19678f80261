"""A journal's file that is closed, damaged, changed, foreign, or in the hands of several processes."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import cast

import pytest

from actum import Agent, ToolCall
from actum.core.errors import ActumError, JournalError
from actum.core.interfaces import Request
from actum.core.message import Reply, ToolMessage
from actum.core.record import Replied, Started, verify
from actum.storage.sqlite import SQLiteJournal
from actum.testing import Said, ScriptedModel
from tests.till import Till, pays_once

pytestmark = pytest.mark.row("C7")

STARTED = Started(agent="a", model="m", said=())
REPLIED = Replied("i", Reply())
Open = Callable[[], SQLiteJournal]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "j.db"


@pytest.fixture
async def opened(path: Path) -> AsyncIterator[Open]:
    """Opens the file as one more process would; all are closed in the end."""
    journals: list[SQLiteJournal] = []

    def open_one() -> SQLiteJournal:
        journals.append(SQLiteJournal(path))
        return journals[-1]

    yield open_one
    for journal in journals:
        with contextlib.suppress(JournalError):
            await journal.close()


def change(path: Path, statement: str) -> None:
    """Do something to the file behind the journal's back."""
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        file.execute(statement)


# Closed and damaged ---------------------------------------------------------------------------------------------------


async def test_a_closed_journal_says_so_whatever_it_is_asked(opened: Open) -> None:
    journal = opened()
    await journal.close()
    await journal.close()
    for ask in (journal.read("r"), journal.sync("r"), journal.runs(), journal.kept("d")):
        with pytest.raises(JournalError, match="is closed"):
            await ask
    with pytest.raises(JournalError, match="is closed"):
        journal.append("r", STARTED)
    with pytest.raises(JournalError, match="is closed"):
        journal.keep("d", b"")


async def test_a_journal_whose_file_was_broken_says_so_and_can_be_closed(opened: Open, path: Path) -> None:
    journal = opened()
    change(path, "DROP TABLE entries")
    journal.append("r", STARTED)
    with pytest.raises(JournalError, match="no such table"):
        await journal.sync("r")
    with pytest.raises(JournalError, match="no such table"):
        await journal.read("another")
    with pytest.raises(JournalError, match="no such table"):
        await journal.close()
    assert not journal._thread.is_alive()


@pytest.mark.parametrize("number", [0, 1, 2])
async def test_an_emptied_payload_is_a_journal_error_that_names_it(opened: Open, path: Path, number: int) -> None:
    await Agent(ScriptedModel(["Hi."]), journal=opened()).run("Hi", run_id="r")
    change(path, f"UPDATE entries SET payload = x'' WHERE number = {number}")
    with pytest.raises(JournalError, match=rf"entry {number}\b"):
        await Agent(ScriptedModel(["Hi."]), journal=opened()).resume("r")


async def test_a_payload_that_was_changed_is_not_acted_upon(opened: Open, path: Path) -> None:
    till = Till()
    paused = await Agent(ScriptedModel(pays_once), [till.pay], journal=opened()).run("Pay")
    changed = """CAST(replace(CAST(payload AS TEXT), '"amount":1', '"amount":9') AS BLOB)"""
    change(path, f"UPDATE entries SET payload = {changed}")
    again = Agent(ScriptedModel(pays_once), [till.pay], journal=opened())
    with pytest.raises(JournalError, match="its payload was changed"):
        await again.resume(paused.run_id, {paused.pending[0].id: "approve"})
    assert till.paid == []


# Several processes ----------------------------------------------------------------------------------------------------


async def in_conflict(journal: SQLiteJournal, other: SQLiteJournal) -> None:
    """Both have written what comes after the start of run `r`; the other was first."""
    journal.append("r", STARTED)
    await journal.sync("r")
    other.append("r", REPLIED)
    await other.sync("r")
    journal.append("r", REPLIED)


async def test_one_run_that_two_processes_write_does_not_end_all_others(opened: Open) -> None:
    journal = opened()
    await in_conflict(journal, opened())
    with pytest.raises(JournalError, match="run r is written by another process too"):
        await journal.sync("r")
    with pytest.raises(JournalError, match="run r is written by another process too"):
        journal.append("r", REPLIED)
    journal.append("another", STARTED)
    await journal.sync("another")
    await journal.close()
    assert not journal._thread.is_alive()


async def test_a_run_that_another_process_wrote_goes_on_once_it_was_read_again(opened: Open) -> None:
    journal, other = opened(), opened()
    await in_conflict(journal, other)
    with pytest.raises(JournalError):
        await journal.sync("r")
    assert len(await journal.read("r")) == 2
    assert journal.append("r", REPLIED) == 2
    await journal.sync("r")
    entries = await other.read("r")
    assert (len(entries), verify(entries)) == (3, [])


async def test_a_locked_file_does_not_stop_the_event_loop(opened: Open, path: Path) -> None:
    journal = opened()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")

        async def let_go() -> None:
            other.execute("ROLLBACK")

        journal.append("r", STARTED)
        # Only this event loop can let go of the lock: were it to wait for the file, it would wait in vain.
        await asyncio.gather(journal.sync("r"), let_go())
    assert len(await journal.read("r")) == 1


OPENS_WHAT_IT_IS_TOLD = """
import sys
from actum.core.errors import JournalError
from actum.storage.sqlite import SQLiteJournal
print("ready", flush=True)
for path in sys.stdin:
    try:
        SQLiteJournal(path.strip())
        print("open", flush=True)
    except JournalError as error:
        print(error, flush=True)
"""


def test_processes_that_start_together_share_a_new_journal(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OPENS_WHAT_IT_IS_TOLD]
    with contextlib.ExitStack() as stack:
        processes = [
            stack.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
            for _ in range(4)
        ]
        said = [said_by(process) for process in processes]
        for number in range(6):
            for process in processes:
                assert process.stdin is not None
                process.stdin.write(f"{tmp_path / str(number)}.db\n")
                process.stdin.flush()
            said += [said_by(process) for process in processes]
    assert said == ["ready"] * 4 + ["open"] * 24


def said_by(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


# Foreign --------------------------------------------------------------------------------------------------------------


def test_a_database_that_is_no_journal_is_left_alone(path: Path) -> None:
    change(path, "CREATE TABLE mine (x)")
    with pytest.raises(JournalError, match="a database of something else"):
        SQLiteJournal(path)
    with contextlib.closing(sqlite3.connect(path)) as file:
        assert file.execute("SELECT name FROM sqlite_master").fetchall() == [("mine",)]


Asking = Callable[[Agent], Awaitable[object]]
BAD_IDS: dict[str, Asking] = {
    "resume by half a surrogate pair": lambda agent: agent.resume("\ud800"),
    "resume by a number": lambda agent: agent.resume(cast(str, 7.5j)),
    "a conversation that is a number": lambda agent: agent.run("x", conversation=cast(str, 7.5j)),
    "read by half a surrogate pair": lambda agent: agent.journal.read("\ud800"),
    "more runs than SQLite can count": lambda agent: agent.journal.runs(limit=10**30),
}


@pytest.mark.parametrize("ask", BAD_IDS.values(), ids=BAD_IDS.keys())
async def test_a_bad_id_is_refused_and_breaks_nothing_for_others(tmp_path: Path, ask: Asking) -> None:
    agent = Agent(ScriptedModel(lambda request: "Hi."), journal=SQLiteJournal(tmp_path / "j.db"))
    with pytest.raises(ActumError):
        await ask(agent)
    assert (await agent.run("Hi")).text == "Hi."
    await agent.journal.close()


async def test_a_run_that_was_looked_at_is_resumed_after_another_process_went_on_with_it(tmp_path: Path) -> None:
    def pays_twice(request: Request) -> Said:
        done = sum(isinstance(message, ToolMessage) for message in request.messages)
        return "Done." if done == 2 else [ToolCall(str(done), "pay", {"amount": done})]

    till = Till()
    here, there = [
        Agent(ScriptedModel(pays_twice), [till.pay], journal=SQLiteJournal(tmp_path / "j.db")) for _ in range(2)
    ]
    one = await here.run("Pay")
    await here.journal.read(one.run_id)
    two = await there.resume(one.run_id, {one.pending[0].id: "approve"})
    assert (await here.resume(one.run_id, {two.pending[0].id: "approve"})).status == "done"
    assert len(till.paid) == 2
    await here.journal.close()
    await there.journal.close()
