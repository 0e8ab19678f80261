"""A journal's file that is closed, full, read-only, damaged, of an older version, foreign; and what is left of it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from actum import Agent
from actum.call.asking.inbox import inbox
from actum.core.errors import Busy, JournalError, UsageError
from actum.core.message import Reply
from actum.core.run.record import ModelReplied
from actum.journal.export import check_journal
from actum.storage.sqlite import SQLiteJournal
from actum.testing import ScriptedModel
from tests import warm
from tests.till import Till, pays_once

from .conftest import Store
from .records import DONE, started

pytestmark = pytest.mark.row("C7")


def change(path: str, statement: str) -> None:
    """Do something to the file behind the journal's back."""
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        file.execute(statement)


def take_away(file: Path, replaced: bool) -> None:
    """Delete a file, and put an empty one in its place if told to."""
    file.unlink()
    if replaced:
        file.touch()


PAGE = 4096


def page_with(path: str, text: bytes) -> int:
    return Path(path).read_bytes().index(text) // PAGE * PAGE


def overwrite(path: str, at: int, content: bytes) -> None:
    with Path(path).open("r+b") as file:
        file.seek(at)
        file.write(content)


# Closed and damaged ---------------------------------------------------------------------------------------------------


async def test_a_closed_journal_says_so_whatever_it_is_asked(file: Store) -> None:
    journal = file.open()
    await journal.close()
    await journal.close()
    for ask in (
        *(journal.read("r"), journal.sync("r"), journal.runs(), journal.kept("d")),
        *(journal.driven(["r"]), journal.heads(), journal.forget("r")),
    ):
        with pytest.raises(JournalError, match="is closed"):
            await ask
    with pytest.raises(JournalError, match="is closed"):
        journal.append("r", started())
    with pytest.raises(JournalError, match="is closed"):
        journal.keep("d", b"")


async def test_a_journal_that_is_closed_within_a_claim_lets_go_of_it(file: Store) -> None:
    journal = file.open()
    async with journal.claim("r"):
        await journal.close()
    async with file.open().claim("r"):
        pass


async def test_a_journal_whose_file_was_broken_says_so_and_can_be_closed(file: Store) -> None:
    journal = file.open()
    change(file.place, "DROP TABLE entries")
    journal.append("r", started())
    with pytest.raises(JournalError, match="no such table"):
        await journal.sync("r")
    with pytest.raises(JournalError, match="no such table"):
        await journal.read("another")
    with pytest.raises(JournalError, match="no such table"):
        await journal.close()


@pytest.mark.parametrize("number", [0, 1, 2])
async def test_an_emptied_payload_is_a_journal_error_that_names_it(file: Store, number: int) -> None:
    await Agent(ScriptedModel(["Hi."]), journal=file.open()).run("Hi", run_id="r")
    change(file.place, f"UPDATE entries SET payload = x'' WHERE number = {number}")
    with pytest.raises(JournalError, match=rf"entry {number}\b"):
        await Agent(ScriptedModel(["Hi."]), journal=file.open()).resume("r")


async def test_a_payload_that_was_changed_is_not_acted_upon(file: Store) -> None:
    till = Till()
    paused = await Agent(ScriptedModel(pays_once), [till.pay], journal=file.open()).run("Pay")
    changed = """CAST(replace(CAST(payload AS TEXT), '"amount":1', '"amount":9') AS BLOB)"""
    change(file.place, f"UPDATE entries SET payload = {changed}")
    again = Agent(ScriptedModel(pays_once), [till.pay], journal=file.open())
    with pytest.raises(JournalError, match="its payload was changed"):
        await again.resume(paused.run_id, {paused.pending[0].id: "approve"})
    assert till.paid == []


async def test_a_run_that_can_not_be_read_hides_nothing_that_waits_in_others(
    file: Store, caplog: pytest.LogCaptureFixture
) -> None:
    for run in ("damaged", "sound"):
        await Agent(ScriptedModel(pays_once), [Till().pay], journal=file.open()).run("Pay", run_id=run)
    change(file.place, "UPDATE entries SET payload = x'' WHERE run_id = 'damaged'")
    assert [waiting.run.run_id for waiting in await inbox(file.open())] == ["sound"]
    assert "run damaged can not be read" in caplog.text


async def test_a_corrupted_page_is_told_and_other_runs_go_on(file: Store) -> None:
    journal = file.open()
    for run in ("first", "victim", "last"):
        journal.append(run, started())
        for number in range(40):
            journal.append(run, ModelReplied(f"{run} {number}", Reply.of("x" * 200)))
    await journal.close()
    overwrite(file.place, page_with(file.place, b"victim 20"), bytes(PAGE))
    journal = file.open()
    with pytest.raises(JournalError, match="malformed"):
        await journal.read("victim")
    asked = [journal.read(run) for run in ("first", "victim", "last")]
    first, victim, last = await asyncio.gather(*asked, return_exceptions=True)
    assert isinstance(victim, JournalError)
    assert (len(cast(list[object], first)), len(cast(list[object], last))) == (41, 41)
    journal.append("new", started())
    await journal.sync("new")


# Full, read-only, locked ----------------------------------------------------------------------------------------------

FILLS_THE_DISK = """
import asyncio, json, resource, sys
from pathlib import Path
from actum.core.errors import Busy, JournalError, UsageError
from actum.core.message import Reply, UserMessage
from actum.core.run.record import ModelReplied, Started
from actum.core.run.chain import verify
from actum.storage.sqlite import SQLiteJournal
async def main():
    journal, synced, told = SQLiteJournal(sys.argv[1]), 0, []
    journal.append("r", Started(agent="a", model="m", said=(UserMessage.of("hi"),)))
    await journal.sync("r")
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (800_000, hard))
    try:
        while True:
            journal.append("r", ModelReplied("i", Reply.of("x" * 20_000)))
            await journal.sync("r")
            synced += 1
    except JournalError as error:
        told.append(str(error))
    try:
        journal.append("r", ModelReplied("i", Reply.of("small")))
    except JournalError as error:
        told.append(str(error))
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    async with journal.claim("r"):
        there = len(await journal.read("r"))
        journal.append("r", ModelReplied("i", Reply.of("there is room again")))
        await journal.sync("r")
    problems = verify(await journal.read("r"))
    await journal.close()
    print(json.dumps([told, synced, there, problems]))
asyncio.run(main())
"""


def test_on_a_full_disk_nothing_is_lost_and_the_run_goes_on_once_there_is_room(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FILLS_THE_DISK, str(tmp_path / "j.db")]
    done = warm.run(command, capture_output=True, text=True, check=True)
    told, synced, there, problems = json.loads(done.stdout)
    assert len(told) == 2
    assert all(
        "j.db failed: disk I/O error" in line or "j.db failed: database or disk is full" in line for line in told
    )
    assert (synced > 3, there, problems) == (True, synced + 1, [])


async def test_a_read_only_database_is_refused_in_a_sentence(file: Store) -> None:
    journal = file.open()
    journal.append("r", started())
    await journal.close()
    overwrite(file.place, 18, b"\x03")  # who may write it, by the file format: a version newer than all there are
    journal = file.open()
    assert len(await journal.read("r")) == 1
    journal.append("q", started())
    with pytest.raises(JournalError, match="attempt to write a readonly database"):
        await journal.sync("q")


def test_a_folder_that_takes_no_files_is_refused_in_a_sentence() -> None:
    with pytest.raises(JournalError, match=r"can not open the journal /proc/self/j\.db"):
        SQLiteJournal("/proc/self/j.db")  # where root may not write either


async def test_a_locked_file_does_not_stop_the_event_loop(file: Store) -> None:
    journal = file.open()
    with contextlib.closing(sqlite3.connect(file.place, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")

        async def let_go() -> None:
            other.execute("ROLLBACK")

        journal.append("r", started())
        # Only this event loop can let go of the lock: were it to wait for the file, it would wait in vain.
        await asyncio.gather(journal.sync("r"), let_go())
    assert len(await journal.read("r")) == 1


async def test_a_reader_does_not_wait_for_a_writer(file: Store) -> None:
    writer, reader = file.open(), file.open()
    writer.append("r", started())
    await writer.sync("r")
    with contextlib.closing(sqlite3.connect(file.place, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert len(await reader.read("r")) == 1
        other.execute("ROLLBACK")


# What is left ---------------------------------------------------------------------------------------------------------


async def test_what_was_forgotten_does_not_stand_in_the_files_any_more(file: Store) -> None:
    journal = file.open()
    secret = "geheim-7f3a"
    journal.append("r", started(secret, principal=f"{secret}@example.org"))
    for number in range(30):
        journal.append("r", ModelReplied(str(number), Reply.of(f"{secret} " * 600)))
    await journal.sync("r")

    def found() -> list[str]:
        folder = Path(file.place).parent
        return [path.name for path in folder.iterdir() if secret.encode() in path.read_bytes()]

    assert found()
    assert await journal.forget("r") == 31
    assert found() == []


# Versions and strangers -----------------------------------------------------------------------------------------------


def test_a_file_that_is_no_journal_is_refused_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, just some words that are long enough to be read as a header " * 5)
    with pytest.raises(JournalError, match="can not open the journal"):
        SQLiteJournal(path)


def test_a_file_of_a_newer_version_is_refused_in_a_sentence(file: Store) -> None:
    change(file.place, "PRAGMA user_version=99")
    with pytest.raises(JournalError, match="update actum"):
        file.open()


def test_a_database_that_is_no_journal_is_left_alone(file: Store) -> None:
    change(file.place, "CREATE TABLE mine (x)")
    with pytest.raises(JournalError, match="a database of something else"):
        file.open()
    with contextlib.closing(sqlite3.connect(file.place)) as there:
        assert there.execute("SELECT name FROM sqlite_master").fetchall() == [("mine",)]


OPENS_WHAT_IT_IS_TOLD = """
import sys
from actum.core.errors import Busy, JournalError, UsageError
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
            stack.enter_context(warm.popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
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


# Who may read and write -----------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="files there have no such modes")
async def test_new_files_are_readable_by_their_owner_alone_and_the_mode_of_an_existing_file_is_left(
    tmp_path: Path,
) -> None:
    before = os.umask(0)
    try:
        for wanted, made_before in ((0o600, False), (0o660, True)):
            path = tmp_path / f"{wanted:o}" / "runs.db"
            path.parent.mkdir()
            if made_before:
                path.touch()
                path.chmod(wanted)
            journal = SQLiteJournal(path)
            async with journal.claim("r"):
                journal.append("r", started())
                await journal.sync("r")
                modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
            await journal.close()
            assert modes == dict.fromkeys(("runs.db", "runs.db-wal", "runs.db-shm", "runs.db-claims"), wanted)
            assert journal.is_shared == made_before
    finally:
        os.umask(before)


@pytest.mark.parametrize("replaced", [False, True])
async def test_a_process_whose_claims_file_was_deleted_stops_and_no_two_drive_one_run(
    file: Store, replaced: bool
) -> None:
    here, there = file.open(), file.open()
    claims = Path(f"{file.place}-claims")
    async with here.claim("r"):
        here.append("r", started())
        await here.sync("r")
        take_away(claims, replaced)
        async with there.claim("r"):  # nothing keeps it out now
            here.append("r", DONE)
            with pytest.raises(JournalError, match="was deleted or replaced while runs were under way"):
                await here.sync("r")
            with pytest.raises(JournalError, match="was deleted or replaced"):
                async with here.claim("another"):
                    pass
            assert [entry.number for entry in await there.read("r")] == [0]
    async with here.claim("r"):  # it holds nothing any more, and begins anew with the file that is there
        with pytest.raises(Busy):
            async with there.claim("r"):
                pass


async def test_nothing_is_forgotten_in_a_signed_journal_without_its_key(shared: Store) -> None:
    signing = shared.open(key=b"the key")
    signing.append("r", started())
    signing.append("r", DONE)
    await signing.sync("r")
    for key, why in ((None, "without its key"), (b"another", "not the key that signed it")):
        other = shared.open(key=key)
        with pytest.raises(UsageError, match=why):
            await other.forget("r")
        assert all(entry.payload for entry in await other.read("r"))
    assert await signing.forget("r") == 2
    assert (await check_journal(signing, key=b"the key")).problems == []
