"""Claims that volume proves: a small share of the volume runs in `make test`, the whole of it in `make endurance`.

A test says both numbers with `share` or `some`, and is marked with the files that the test stands for.
`make endurance` writes into `endurance.toml` which tests passed, and the digest of their files.
`make endurance-changed` runs the tests whose files have changed since, for eight minutes at most.

The tests of a project that stands by itself, such as the embedded model, run in `make test` only when the files of the
project have changed. They have one row together.
"""

from __future__ import annotations

import hashlib
import json
import time
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import pytest

ROOT = Path(__file__).parents[1]
TABLE = "tests/endurance.toml"
HEAD = "# Endurance tests, the files they stand for, and the digest of these when they last passed: `make endurance`.\n"
PROJECTS: Mapping[str, Sequence[str]] = {
    "packages/embedded/tests": ("packages/embedded",),
}
"""Folders and files of tests that stand by themselves, and the files that they stand for beside themselves."""
T = TypeVar("T")


class Volume:
    """How much of the volume this process runs; `conftest.py` sets it before any test is imported."""

    whole = False


def share(whole: T, small: T) -> T:
    """How many cases to try, or which: all in `make endurance`, a few in `make test`."""
    return whole if Volume.whole else small


def some(cases: Sequence[T], every: int) -> Sequence[T]:
    """The cases to try: all in `make endurance`, one of `every` in `make test`."""
    return cases if Volume.whole else cases[::every]


def places_to_cut(length: int) -> Sequence[int]:
    """The places at which to cut a text of this length: all; in `make test` each 31st where the text is long."""
    return range(length + 1) if Volume.whole or length < 60 else [*range(0, length, 31), length]


class Row(NamedTuple):
    """What is known of an endurance test: the files it stands for, their digest, and the seconds that it took."""

    files: Sequence[str]
    digest: str
    seconds: float = 0.0


def digest(files: Sequence[str], root: Path = ROOT) -> str:
    """A digest of files and of all files in folders, named by their paths from the root.

    Raises:
        ValueError: there is no such file or folder.
    """
    found = hashlib.sha256()
    for name in files:
        place = root / name
        inside = sorted(place.rglob("*")) if place.is_dir() else [place]
        if not place.exists():
            raise ValueError(f"{name}: an endurance test stands for it, and it is not there")
        for path in inside:
            if path.is_file() and "__pycache__" not in path.parts:
                found.update(f"{path.relative_to(root).as_posix()}\0".encode())
                found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()[:16]


def rows(root: Path = ROOT) -> dict[str, Row]:
    """What the table says, by test."""
    table = root / TABLE
    return {test: Row(**row) for test, row in tomllib.loads(table.read_text("utf-8")).items()} if table.exists() else {}


def written(rows: dict[str, Row]) -> str:
    """The text of a table."""
    return HEAD + "".join(
        f"\n[{json.dumps(test)}]\nfiles = {json.dumps(list(row.files))}\n"
        f'digest = "{row.digest}"\nseconds = {row.seconds:.1f}\n'
        for test, row in sorted(rows.items())
    )


def is_unchanged(path: Path, root: Path = ROOT) -> bool:
    """Whether this folder or file is the tests of a project that all passed with the files that are there now."""
    if not path.is_relative_to(root) or (project := path.relative_to(root).as_posix()) not in PROJECTS:
        return False
    row = rows(root).get(project)
    return row is not None and row.digest == digest(row.files, root)


class Endurance:
    """Runs the endurance tests alone and whole.

    Args:
        changed_s: for these seconds, run only those whose digest differs from the table's, and write nothing; `None`
            runs all.
        root: the folder that the paths of files begin at; the table is there.
    """

    def __init__(self, changed_s: float | None, *, root: Path = ROOT) -> None:
        self._root = root
        self._ends = None if changed_s is None else time.monotonic() + changed_s
        self._seen: dict[str, Row] = {}
        self._cases: Counter[str] = Counter()
        self._failed: set[str] = set()

    @pytest.hookimpl(tryfirst=True)  # before `-k`, so that a test of which some cases ran is not taken for whole
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        known = rows(self._root)
        marked = {item: (name_of(item.nodeid), stood_for) for item in items if (stood_for := files_of(item))}
        if self._ends is None:  # otherwise `make check` ran the projects that have changed
            marked = whole_projects(items, self._root) | marked
        cases = Counter(name for name, _ in marked.values())
        digests: dict[tuple[str, ...], str] = {}
        chosen: list[tuple[str, pytest.Item]] = []
        for item, (name, stood_for) in marked.items():
            files = tuple(sorted({*stood_for, name.partition("::")[0]}))
            found = digests[files] = digests.get(files) or digest(files, self._root)
            if self._ends is not None and name in known and known[name].digest == found:
                continue
            item.user_properties.append(("endurance", json.dumps([name, cases[name], *Row(files, found)])))
            chosen.append((found + name, item))
        # In an order that changes with the files: where time runs out, the same tests are not always the last.
        chosen.sort(key=lambda each: each[0])
        kept = {item for _, item in chosen}
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = [item for _, item in chosen]

    def pytest_runtest_setup(self) -> None:
        if self._ends is not None and time.monotonic() > self._ends:
            pytest.skip("there was no time left")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        told = dict(report.user_properties).get("endurance")
        if told is None:  # a worker of xdist that crashed tells no more than the name
            self._failed |= {name_of(report.nodeid)} if report.failed else set()
            return
        name, cases, *row = json.loads(str(told))
        if report.failed:
            self._failed.add(name)
        before = self._seen.setdefault(name, Row(*row))
        self._seen[name] = before._replace(seconds=before.seconds + report.duration)
        self._cases.setdefault(name, cases)
        if report.when == "call" and report.passed:
            self._cases[name] -= 1

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        left = sorted({*self._failed, *(name for name, cases in self._cases.items() if cases)})
        for name in left:
            terminalreporter.write_line(f"did not pass whole: {name}")
        if self._ends is None:
            passed = {name: row for name, row in self._seen.items() if name not in left}
            before = {name: row for name, row in rows(self._root).items() if name not in self._failed}
            table = {name: row for name, row in {**before, **passed}.items() if is_there(name, self._root)}
            (self._root / TABLE).write_text(written(table), "utf-8")


def files_of(item: pytest.Item) -> Sequence[str]:
    """The files that an endurance test stands for; none for another test.

    A test of hypothesis needs no mark: it stands for the room that its folder is named after.
    """
    marker = item.get_closest_marker("endurance")
    if marker is not None:
        return marker.args
    if not getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
        return ()
    top, room = item.nodeid.split("/")[:2]
    rooms = [f"packages/{room}"] if top == "packages" else [f"src/actum/{room}", "src/actum"]
    return [next(each for each in rooms if (ROOT / each).is_dir())]


def whole_projects(items: Sequence[pytest.Item], root: Path) -> dict[pytest.Item, tuple[str, Sequence[str]]]:
    """The project of each test, and what the project stands for; of projects that were collected whole alone."""
    collected = {item.path for item in items}
    found: dict[pytest.Item, tuple[str, Sequence[str]]] = {}
    for project, files in PROJECTS.items():
        place = root / project
        its = {*place.rglob("test_*.py")} if place.is_dir() else {place}
        if its <= collected:
            found |= {item: (project, files) for item in items if item.path in its}
    return found


def name_of(nodeid: str) -> str:
    """The id of a test without its case."""
    return nodeid.partition("[")[0]


def is_there(test: str, root: Path) -> bool:
    """Whether there still is a test of this id, or a project of this name."""
    path, _, name = test.partition("::")
    file = root / path
    if not name:
        return test in PROJECTS and file.exists()
    return file.exists() and f"def {name.rpartition('::')[2]}(" in file.read_text("utf-8")
