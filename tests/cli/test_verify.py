"""`actum journal verify`: a rewritten and a cut run are found with a key or exported heads, and not without."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from typer.testing import Result

from actum.core.run.chain import GENESIS, seal
from actum.core.run.record import Entry

pytestmark = pytest.mark.row("C8")

Run = Callable[..., Result]
MINE = ("--tools", "tools.py", "--journal", "runs.db", "--model", "models.py:add")
RECORD = ("--journal", "runs.db")


@pytest.fixture
def signed(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with a run in it, written with a key; its heads in a file beside it."""
    (home / "key").write_text("k" * 32, "utf-8")
    monkeypatch.setenv("ACTUM_JOURNAL_KEY_FILE", "key")
    run("run", "2 and 3?", *MINE)
    monkeypatch.delenv("ACTUM_JOURNAL_KEY_FILE")
    (home / "heads.jsonl").write_text(run("journal", "heads", *RECORD).stdout, "utf-8")
    return home / "runs.db"


def rewrite(path: Path) -> None:
    """Write the whole run anew: in each call 3 becomes 4, every hash fits, and nothing is signed any more."""
    with sqlite3.connect(path) as database:
        columns = "number, at, payload, salt, digest, head"
        head = GENESIS
        for row in database.execute(f"SELECT {columns} FROM entries ORDER BY number").fetchall():
            entry = Entry(*row)
            record = msgspec.json.decode(entry.payload.replace(b'"b":3', b'"b":4'), type=type(entry.record))
            new = seal(record, entry.number, entry.at, head)
            head = new.head
            database.execute(
                "UPDATE entries SET payload = ?, salt = ?, digest = ?, head = ? WHERE number = ?",
                (new.payload, new.salt, new.digest, new.head, new.number),
            )
        database.execute("DELETE FROM heads")
    database.close()


def cut(path: Path) -> None:
    """Cut the run at its end, its line out of the ledger, and its end out of the list of runs."""
    with sqlite3.connect(path) as database:
        database.execute("DELETE FROM entries WHERE number > 2")
        database.execute("DELETE FROM heads")
        database.execute("UPDATE runs SET status = 'running', ended = NULL")
    database.close()


def test_a_sound_journal_is_sound_and_says_how_much_was_checked(run: Run, signed: Path) -> None:
    result = run("journal", "verify", *RECORD)
    assert result.exit_code == 0
    assert "checked  1 run, 6 records, 1 signed head (without their key): nothing is wrong" in result.stdout
    assert "Without a key or exported heads" in result.stderr
    result = run("journal", "verify", "--heads", "heads.jsonl", "--key-file", "key", *RECORD)
    assert (result.exit_code, result.stderr) == (0, "")


@pytest.mark.parametrize("damage", [rewrite, cut])
def test_deliberate_damage_is_found_with_heads_and_not_without(
    run: Run, signed: Path, damage: Callable[[Path], None]
) -> None:
    damage(signed)
    assert run("journal", "verify", *RECORD).exit_code == 0
    result = run("journal", "verify", "--heads", "heads.jsonl", *RECORD)
    assert result.exit_code == 1
    assert " was cut: " in result.stdout if damage is cut else " was rewritten: " in result.stdout


def test_a_rewritten_run_is_found_with_the_key(run: Run, signed: Path) -> None:
    rewrite(signed)
    result = run("journal", "verify", "--key-file", "key", *RECORD)
    assert (result.exit_code, "is not signed" in result.stdout) == (1, True)
    told = json.loads(run("journal", "verify", "--key-file", "key", "--json", *RECORD).stdout)
    assert (told["runs"], told["by_key"], len(told["problems"])) == (1, True, 1)


def test_a_cut_run_is_found_with_the_key_while_the_ledger_is_there(run: Run, signed: Path) -> None:
    with sqlite3.connect(signed) as database:
        database.execute("DELETE FROM entries WHERE number > 2")
    database.close()
    assert run("journal", "verify", "--key-file", "key", *RECORD).exit_code == 1


def test_another_key_is_not_the_key(run: Run, signed: Path, home: Path) -> None:
    (home / "other").write_text("o" * 32, "utf-8")
    result = run("journal", "verify", "--key-file", "other", *RECORD)
    assert (result.exit_code, "is not signed with this key" in result.stdout) == (1, True)


def test_an_accident_is_found_by_itself(run: Run, signed: Path) -> None:
    with sqlite3.connect(signed) as database:
        database.execute("UPDATE entries SET payload = x'00' WHERE number = 3")
        database.execute("DELETE FROM entries WHERE number = 1")
    database.close()
    result = run("journal", "verify", *RECORD)
    assert result.exit_code == 1
    for problem in ("entry 3: its payload was changed", "entry 1 is missing", "problems"):
        assert problem in result.stdout


def test_an_export_is_checked_without_the_database(run: Run, signed: Path, home: Path) -> None:
    export = run("journal", "export", "last", *RECORD).stdout
    (home / "run.jsonl").write_text(export, "utf-8")
    signed.unlink()
    result = run("journal", "verify", "--file", "run.jsonl", "--heads", "heads.jsonl", "--key-file", "key")
    assert (result.exit_code, "1 run, 6 records" in result.stdout) == (0, True)
    assert not (home / ".local").exists()  # nor is any other journal opened for it
    (home / "run.jsonl").write_text(export.replace("add: 5", "add: 6"), "utf-8")
    result = run("journal", "verify", "--file", "run.jsonl")
    assert (result.exit_code, "its payload was changed" in result.stdout) == (1, True)


def test_all_runs_are_exported(run: Run, signed: Path) -> None:
    run("run", "2 and 3?", *MINE)
    assert len(run("journal", "export", "--all", *RECORD).stdout.splitlines()) == 12
    assert run("journal", "export", *RECORD).exit_code == 2


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--heads", "none"), "none can not be read: No such file"),
        (("--file", "tools.py"), "tools.py: line 2 is no line of an export"),
        (("--file", "heads.jsonl", "last"), "name no runs"),
        (("--key-file", "none"), "the key of the journal can not be read"),
        (("nobody",), "there is no run 'nobody'"),
    ],
)
def test_misuse_is_said(run: Run, signed: Path, flags: tuple[str, ...], told: str) -> None:
    result = run("journal", "verify", *flags, *RECORD)
    assert (result.exit_code, told in result.stderr) == (2, True)
