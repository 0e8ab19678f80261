"""A journal out of settings, and its key."""

from __future__ import annotations

from pathlib import Path

import pytest

from actum.compose.journals import journal_path, open_journal
from actum.compose.settings import Settings, read_settings
from actum.core.errors import JournalError, UsageError
from actum.core.run.chain import verify_ledger
from actum.core.run.record import Ended, Started
from actum.journal.memory import MemoryJournal
from actum.storage.sqlite import SQLiteJournal


def test_the_journal_lies_where_the_xdg_specification_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    assert journal_path(Settings(), {}) == Path("/home/ann/.local/state/actum/journal.db")
    assert journal_path(Settings(), {"XDG_STATE_HOME": "/state"}) == Path("/state/actum/journal.db")
    assert journal_path(Settings(), {"XDG_STATE_HOME": "relative"}) == Path("/home/ann/.local/state/actum/journal.db")
    assert journal_path(Settings(journal="~/x.db"), {}) == Path("/home/ann/x.db")


async def test_the_journal_is_in_memory_in_a_file_or_on_a_server(tmp_path: Path) -> None:
    memory = open_journal(Settings(journal="memory"), {})
    file = open_journal(Settings(journal=str(tmp_path / "j.db")), {})
    assert (type(memory), type(file)) == (MemoryJournal, SQLiteJournal)
    await file.close()
    with pytest.raises(JournalError, match=r"can not open the journal postgresql://ann@/db: .*No such file"):
        open_journal(Settings(journal="postgresql://ann:hush@/db?host=/nowhere"), {})


async def test_heads_are_signed_with_the_key_in_the_file_that_was_set(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("0123456789abcdef\n")
    for name in ("memory", str(tmp_path / "j.db")):
        settings = read_settings(tmp_path, {"ACTUM_JOURNAL_KEY_FILE": str(tmp_path / "key")}, {"journal": name})
        journal = open_journal(settings, {})
        journal.append("r", Started(agent="a", model="m", said=()))
        journal.append("r", Ended("done"))
        heads = await journal.heads()
        assert (len(heads), verify_ledger(heads, b"0123456789abcdef")) == (1, [])
        await journal.close()


def test_a_key_that_is_missing_or_short_is_refused(tmp_path: Path) -> None:
    (tmp_path / "short").write_text("123\n")
    for file, told in (("none", "can not be read"), ("short", "has 3 bytes, and needs 16")):
        with pytest.raises(UsageError, match=told):
            open_journal(Settings(journal="memory", journal_key=str(tmp_path / file)), {})
