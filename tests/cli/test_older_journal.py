"""A journal of an older format is refused by every command, but for those that verify and export it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import Result

from tests.storage.bistro import KEY, write_old

Run = Callable[..., Result]
RECORD = ("--journal", "old.db")


@pytest.fixture
def old(home: Path) -> Path:
    """A journal of format 1 in the folder of the test."""
    (home / "key").write_bytes(KEY)
    return write_old(home / "old.db")


def test_every_command_that_reads_records_or_writes_them_refuses_an_older_journal(run: Run, old: Path) -> None:
    before = old.read_bytes()
    for command in (
        ("run", "hi", "--model", "models.py:add", "--tools", "tools.py"),
        ("call", "add", "a=2", "b=3", "--tools", "tools.py"),
        ("resume", "run_order"),
        ("chat", "--model", "models.py:add"),
        ("approvals", "approve", "ask_1"),
        ("runs", "list"),
        ("runs", "show", "run_menu"),
        ("audit",),
        ("approvals", "list"),
        ("conversations", "list"),
        ("journal", "show", "run_menu"),
        ("journal", "tail", "run_menu"),
        ("journal", "fork", "run_menu", "--at", "1"),
        ("mcp", "serve"),
        ("doctor",),
        ("journal", "compare", "run_menu", "run_order"),
        ("journal", "forget", "run_menu", "--yes"),
    ):
        result = run(*command, *RECORD)
        said = " ".join(result.output.split())
        assert result.exit_code not in (0, None), command
        assert "before its first release, 0.1.0 (journal format 1)" in said, (command, said, result.stdout)
        assert "`actum journal verify`" in said, command
        assert "`actum journal export`" in said, command
        assert "Traceback" not in said, command
    assert old.read_bytes() == before


def test_an_older_journal_is_verified_and_exported_and_a_changed_byte_is_found(run: Run, old: Path, home: Path) -> None:
    (home / "heads.jsonl").write_text(run("journal", "heads", *RECORD).stdout, "utf-8")
    (home / "all.jsonl").write_text(run("journal", "export", "--all", *RECORD).stdout, "utf-8")
    lines = [json.loads(line) for line in (home / "all.jsonl").read_text("utf-8").splitlines()]
    assert len(lines) == 27
    assert len(run("journal", "export", "run_menu", *RECORD).stdout.splitlines()) == 6
    proofs = ("--heads", "heads.jsonl", "--key-file", "key")
    for place in (RECORD, ("--file", "all.jsonl")):
        result = run("journal", "verify", *proofs, *place)
        assert result.exit_code == 0, result.output
        assert "3 runs, 27 records" in result.stdout
        assert "15 records are of a format that this version" in " ".join(result.stderr.split())
    with closing(sqlite3.connect(old)) as file, file:
        file.execute("UPDATE entries SET payload = replace(payload, 'soup', 'soap') WHERE kind = 'answered'")
        file.execute(
            "UPDATE entries SET payload = CAST(replace(payload, 'soup', 'soap') AS BLOB) WHERE kind = 'settled'"
        )
    result = run("journal", "verify", *RECORD)
    assert result.exit_code == 1
    assert "run run_menu: entry 3: its payload was changed" in " ".join(result.output.split())
