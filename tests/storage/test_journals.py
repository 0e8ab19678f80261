"""Every journal passes the same tests; those of the file come after them."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from actum.call.journal import MemoryJournal
from actum.call.recording import Recording
from actum.core.call import ToolResult
from actum.core.errors import JournalError, UnknownName
from actum.core.interfaces import Journal
from actum.core.message import Reply, UserMessage
from actum.core.record import Answered, Asked, Ended, Entry, Intended, Record, Replied, Settled, Started, verify
from actum.storage.sqlite import SQLiteJournal

pytestmark = pytest.mark.row("C7")


@pytest.fixture(params=["memory", "sqlite"])
async def journal(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Journal]:
    made: Journal = MemoryJournal() if request.param == "memory" else SQLiteJournal(tmp_path / "j" / "journal.db")
    yield made
    await made.close()


def started(question: str = "hi", conversation: str = "") -> Started:
    return Started(agent="a", model="m", said=(UserMessage.of(question),), conversation=conversation)


RECORDS: list[Record] = [
    started("天气? \u0000 🌧"),
    Replied("d", Reply.of("x"), 0.25, 0.5),
    Intended(1, 0, 1, "pay", "v", {"n": 2**70, "nested": {"a": [None, True, 1.5, "é"]}}, "key"),
    Settled(1, 0, ToolResult("c", structured={"ok": True}), 0.1),
    Ended("done", "bye"),
]


async def test_what_was_appended_is_read_back_in_order(journal: Journal) -> None:
    numbers = [journal.append("r", record) for record in RECORDS]
    assert numbers == [0, 1, 2, 3, 4]
    entries = await journal.read("r")
    assert [entry.record for entry in entries] == RECORDS
    assert verify(entries) == []


async def test_runs_do_not_mix_however_their_records_interleave(journal: Journal) -> None:
    for number in range(50):
        for run in ("a", "b", "c"):
            journal.append(run, started(f"{run}{number}") if number == 0 else Replied(f"{run}{number}", Reply.of("x")))
    for run in ("a", "b", "c"):
        entries = await journal.read(run)
        assert len(entries) == 50
        assert verify(entries) == []
        assert isinstance(entries[7].record, Replied)
        assert entries[7].record.intention == f"{run}7"


async def test_a_run_that_is_not_there_reads_as_empty(journal: Journal) -> None:
    assert await journal.read("nobody") == []


async def test_the_list_of_runs_follows_the_records(journal: Journal) -> None:
    journal.append("r1", started("first", "c1"))
    journal.append("r2", started("second"))
    journal.append("r1", Asked("q", "answer", "which?"))
    assert [(run.run_id, run.status) for run in await journal.runs()] == [("r2", "running"), ("r1", "waiting")]
    journal.append("r1", Answered("q", "answer", "this"))
    journal.append("r1", Ended("done", "ok"))
    (only,) = await journal.runs(conversation="c1")
    assert (only.status, only.question, only.ended is None) == ("done", "first", False)
    assert len(await journal.runs(limit=1)) == 1


async def test_payloads_are_kept_under_their_digest_once(journal: Journal) -> None:
    journal.keep("abc", b"one")
    journal.keep("abc", b"one")
    assert await journal.kept("abc") == b"one"
    with pytest.raises(UnknownName):
        await journal.kept("nope")


async def test_a_record_before_the_start_of_its_run_is_refused(journal: Journal) -> None:
    with pytest.raises(JournalError, match="begins with Started"):
        journal.append("r", Ended("done"))
    assert await journal.read("r") == []


def chain(count: int = 6) -> list[Entry]:
    journal = MemoryJournal()
    journal.append("r", started())
    for number in range(count - 1):
        journal.append("r", Replied(str(number), Reply.of("x")))
    return list(journal._entries["r"])


def test_the_chain_finds_a_changed_payload() -> None:
    entries = chain()
    entries[2] = msgspec.structs.replace(entries[2], payload=entries[2].payload.replace(b"x", b"y"))
    assert verify(entries) == ["entry 2: its payload was changed"]


def test_the_chain_finds_a_missing_entry() -> None:
    entries = chain()
    del entries[2]
    assert any("missing" in problem for problem in verify(entries))


def test_the_chain_finds_a_changed_time() -> None:
    entries = chain()
    entries[2] = msgspec.structs.replace(entries[2], at=entries[2].at + 1)
    assert verify(entries) == ["entry 2: it does not follow the entry before it"]


def test_a_deleted_payload_leaves_the_chain_verifiable() -> None:
    entries = chain()
    entries[2] = msgspec.structs.replace(entries[2], payload=b"", salt=b"")
    assert verify(entries) == []


def test_equal_payloads_have_different_digests() -> None:
    assert chain()[0].digest != chain()[0].digest


async def test_a_file_is_read_by_the_next_process_and_its_chain_goes_on(tmp_path: Path) -> None:
    first = SQLiteJournal(tmp_path / "j.db")
    first.append("r", started())
    await first.close()
    second = SQLiteJournal(tmp_path / "j.db")
    assert second.append("r", Ended("done")) == 1
    assert verify(await second.read("r")) == []
    await second.close()


KILLED = """
import asyncio, os, signal, sys
from actum.core.message import UserMessage, Reply
from actum.core.record import Replied, Started
from actum.storage.sqlite import SQLiteJournal
async def main():
    journal = SQLiteJournal(sys.argv[1])
    journal.append("r", Started(agent="a", model="m", said=(UserMessage.of("hi"),)))
    for n in range(20):
        journal.append("r", Replied(str(n), Reply.of("x")))
    await journal.sync("r")
    os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(main())
"""


async def test_what_was_synced_survives_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    process = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", KILLED, str(path)], env={**os.environ})
    assert process.returncode == -signal.SIGKILL
    journal = SQLiteJournal(path)
    entries = await journal.read("r")
    assert (len(entries), verify(entries)) == (21, [])
    assert Recording(entries).beginning().agent == "a"
    await journal.close()


async def test_many_writers_share_their_commits(tmp_path: Path) -> None:
    journal = SQLiteJournal(tmp_path / "j.db")

    async def write(run: str) -> None:
        journal.append(run, started())
        await journal.sync("r")

    await asyncio.gather(*(write(f"r{n}") for n in range(64)))
    assert len(await journal.runs(limit=100)) == 64
    await journal.close()


def test_a_file_that_is_no_journal_is_refused_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, just some words that are long enough to be read as a header " * 5)
    with pytest.raises(JournalError, match="can not open the journal"):
        SQLiteJournal(path)


def test_a_file_of_a_newer_version_is_refused_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version=99")
    connection.close()
    with pytest.raises(JournalError, match="update actum"):
        SQLiteJournal(path)
