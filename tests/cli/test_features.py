"""`actum features`, and what other commands do with features: found, on, refused, missing, switched off."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from tests.packages import BOOKMARKS, Installing

from .person import Person

Run = Callable[..., Result]
SAVE = ("call", "save_bookmark", "url=https://example.org", "--yes")
SHOWN = 'bookmarks/saved {"type":"saved","url":"https://example.org"}'


def switch(folder: Path, text: str) -> None:
    (folder / "actum.toml").write_text(text, encoding="utf-8")


def feature(run: Run, journal: str) -> dict[str, object]:
    (found,) = json.loads(run("features", "list", "--json", "--journal", journal).stdout)
    assert isinstance(found, dict)
    return found


def doctor(run: Run, journal: str) -> str:
    told = json.loads(run("doctor", "--json", "--journal", journal).stdout)
    return "; ".join(f"{each['verdict']} {each['found']}" for each in told if each["about"] == "feature")


def test_a_feature_from_found_to_dropped(run: Run, packages: Installing, place: str, tmp_path: Path) -> None:
    packages.install("acme-bookmarks", BOOKMARKS, bookmarks="FEATURE")
    assert doctor(run, place) == "ok bookmarks (acme-bookmarks) is found, and off"
    assert "acme_bookmarks" not in sys.modules
    switch(Path.cwd(), "[bookmarks]")
    assert doctor(run, place) == "ok bookmarks (acme-bookmarks) is on"
    saved = run(*SAVE, "--journal", place)
    assert (saved.exit_code, saved.stdout.strip()) == (0, "one of 5")
    assert SHOWN in run("runs", "show", "last", "--journal", place).stdout.replace("\n", "").replace("│   ", "")
    known = feature(run, place)
    assert (known["state"], known["rows"], known["title"]) == ("on", 1, "Bookmarks.")
    switch(Path.cwd(), "")
    assert "not read here" in run("runs", "show", "last", "--journal", place).stdout
    assert run("journal", "verify", "--journal", place).exit_code == 0
    packages.uninstall("acme-bookmarks")
    assert doctor(run, place) == "warn bookmarks keeps 1 row, and no installed package brings it"
    assert run("features", "drop", "bookmarks", "--journal", place).exit_code == 2  # nobody can be asked
    dropped = run("features", "drop", "bookmarks", "--yes", "--journal", place)
    assert (dropped.exit_code, dropped.stderr.strip()) == (0, "1 row of bookmarks deleted.")
    assert json.loads(run("features", "list", "--json", "--journal", place).stdout) == []
    assert "features.drop" in run("audit", "--decision", "administered", "--journal", place).stdout
    assert run("features", "drop", "bookmarks", "--yes", "--journal", place).exit_code == 2


def test_a_run_that_was_made_with_a_feature_is_read_while_its_table_still_names_what_was_uninstalled(
    run: Run, packages: Installing, tmp_path: Path
) -> None:
    journal = str(tmp_path / "j.db")
    packages.install("acme-bookmarks", BOOKMARKS, bookmarks="FEATURE")
    switch(Path.cwd(), "[bookmarks]")
    assert run(*SAVE, "--journal", journal).exit_code == 0
    packages.uninstall("acme-bookmarks")
    shown = run("runs", "show", "last", "--journal", journal)
    assert (shown.exit_code, "not read here" in shown.stdout) == (0, True)
    again = run(*SAVE, "--journal", journal)
    assert again.exit_code == 2
    assert "no installed package brings a feature of this name" in again.stderr
    checked = run("config", "check")
    assert checked.exit_code == 1
    assert "[bookmarks] in the settings" in checked.stderr


@pytest.mark.parametrize(("answer", "code"), [("n", 1), ("y", 0)])
def test_a_person_is_asked_before_anything_is_deleted(
    run: Run, person: Callable[..., Person], packages: Installing, tmp_path: Path, answer: str, code: int
) -> None:
    journal = str(tmp_path / "j.db")
    packages.install("acme-bookmarks", BOOKMARKS, bookmarks="FEATURE")
    switch(Path.cwd(), "[bookmarks]")
    assert run(*SAVE, "--journal", journal).exit_code == 0
    somebody = person("features", "drop", "bookmarks", "--journal", journal)
    somebody.sees("Delete 1 row of bookmarks for good? [y/N]")
    somebody.types(f"{answer}\n")
    assert somebody.ends()[0] == code
    assert feature(run, journal).get("rows", 0) == code  # 1 row, or none
