"""`actum journal`: the entries as they are, followed from another process, deleted for good."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import Struct
from typer.testing import Result

from actum.cli.show.terminal import who
from actum.core.run.record import Ended, Started, ToolsChanged
from actum.core.stored.kept_object import KeptObject
from actum.core.stores import AddTable, Table
from actum.journal.follow import follow, follow_all
from actum.journal.memory import MemoryJournal
from actum.storage.place import open_journal
from actum.storage.sqlite import SQLiteJournal
from actum.testing import FakeClock

from .person import Person

pytestmark = pytest.mark.row("C7")

Run = Callable[..., Result]
MINE = ("--tools", "tools.py", "--journal", "runs.db", "--model")
RECORD = ("--journal", "runs.db")
STARTED = Started(agent="a", model="m", said=(), principal="ada")


def leave_behind(path: Path, run_id: str = "run_lost") -> None:
    """A run whose process was killed after its first record."""

    async def begin() -> None:
        journal = SQLiteJournal(path)
        journal.append(run_id, STARTED)
        await journal.close()

    asyncio.run(begin())


def wait_for_a_run(run: Run) -> None:
    """Look into the record until another process has begun a run."""
    for _ in range(1000):
        if run("runs", "list", *RECORD).stdout:
            return
    raise AssertionError("no run began")


def test_a_run_is_shown_as_it_is_stored(run: Run) -> None:
    run("run", "2 and 3?", *MINE, "models.py:add")
    lines = run("journal", "show", *RECORD).stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["0", "1", "2", "3", "4", "5"]
    assert [line.split()[3] for line in lines] == [
        "started",
        "model_replied",
        "intended",
        "call_completed",
        "model_replied",
        "ended",
    ]
    told = [json.loads(line) for line in run("journal", "show", "last", "--json", *RECORD).stdout.splitlines()]
    assert told[2]["record"]["arguments"] == {"a": 2, "b": 3}
    assert lines[2].split()[2] == told[2]["head"][:12]


def test_what_was_deleted_or_damaged_is_shown_as_such(run: Run, home: Path) -> None:
    run("run", "2 and 3?", *MINE, "models.py:add")
    with sqlite3.connect(home / "runs.db") as database:
        database.execute("UPDATE entries SET payload = x'' WHERE number = 1")
        database.execute("UPDATE entries SET payload = x'ff' WHERE number = 2")
    database.close()
    lines = run("journal", "show", *RECORD).stdout.splitlines()
    assert [line.split()[3] for line in lines[1:3]] == ["deleted", "unreadable"]
    told = [json.loads(line) for line in run("journal", "show", "--json", *RECORD).stdout.splitlines()]
    assert [line["record"] for line in told[1:3]] == [None, None]


def test_a_run_that_has_ended_is_followed_to_its_end(run: Run) -> None:
    run("run", "2 and 3?", *MINE, "models.py:add")
    result = run("journal", "tail", *RECORD)
    assert (result.exit_code, len(result.stdout.splitlines()), result.stderr) == (0, 6, "")


def test_whoever_follows_a_run_that_waits_or_was_lost_is_told(run: Run, home: Path) -> None:
    run("run", "keep milk", *MINE, "models.py:keep")
    assert "It is paused: actum resume run_" in run("journal", "tail", *RECORD).stderr
    leave_behind(home / "runs.db")
    result = run("journal", "tail", "run_lost", *RECORD)
    assert result.exit_code == 0
    assert "It was interrupted, and nobody drives it: actum resume run_lost" in result.stderr


def test_a_run_is_followed_live_from_another_process(run: Run, person: Callable[..., Person]) -> None:
    driver = person("run", "wait", *MINE, "models.py:wait", "-v")
    driver.sees("question")
    wait_for_a_run(run)
    follower = person("journal", "tail", *RECORD)
    follower.sees("intended")
    driver.insists("\x03", "cancelled")
    follower.sees("ended")
    assert follower.ends()[0] == 0


def test_ctrl_c_ends_following_cleanly(run: Run, person: Callable[..., Person]) -> None:
    run("run", "one", *MINE, "models.py:nothing")
    follower = person("journal", "tail", "--all", *RECORD)
    follower.sees("Ctrl-C ends")
    code, shown = follower.types("\x03").ends()
    assert (code, "Traceback" in shown) == (130, False)


async def test_following_a_run_ends_when_its_driver_is_gone() -> None:
    journal, clock = MemoryJournal(), Turned()
    journal.append("r", STARTED)
    clock.then(lambda: journal.append("r", ToolsChanged("x")))
    claim = journal.claim("r")
    await claim.__aenter__()
    clock.then(lambda: journal.append("r", Ended("done")))
    clock.then(lambda: journal._claims._held.discard("r"))
    assert [entry.number async for entry in follow(journal, "r", clock)] == [0, 1, 2]


async def test_following_all_runs_shows_what_comes_and_not_what_was() -> None:
    journal, clock = MemoryJournal(), Turned()
    journal.append("old", STARTED)
    clock.then(lambda: journal.append("old", Ended("done")))
    clock.then(lambda: journal.append("new", STARTED))
    lines = follow_all(journal, clock)
    assert [(run_id, entry.number) for run_id, entry in [await anext(lines), await anext(lines)]] == [
        ("old", 1),
        ("new", 0),
    ]
    await lines.aclose()  # type: ignore[attr-defined]  # an async generator


class Turned(FakeClock):
    """A clock at whose every sleep the next thing happens."""

    def __init__(self) -> None:
        super().__init__(auto=True)
        self._steps: list[Callable[[], object]] = []

    def then(self, step: Callable[[], object]) -> None:
        self._steps.append(step)

    async def sleep(self, seconds: float) -> None:
        self._steps.pop(0)()


def test_a_run_is_forgotten_and_its_chain_still_checks(run: Run) -> None:
    run("run", "2 and 3?", *MINE, "models.py:add")
    result = run("journal", "forget", "last", "--yes", "--reason", "asked for", *RECORD)
    assert (result.exit_code, result.stdout) == (0, "forgotten: 1 run, 6 records\n")
    tree = run("runs", "show", *RECORD).stdout
    assert "records 0 to 5 were deleted" in tree
    assert f"forgotten  asked for  by {who()}" in tree
    assert "7 records, chain whole" in tree
    assert run("journal", "verify", *RECORD).exit_code == 0
    assert "Nothing is on record that fits" in run("journal", "forget", "last", "--yes", *RECORD).stderr


def test_the_user_of_another_tenant_who_has_the_same_name_is_not_forgotten_along(run: Run) -> None:
    run("run", "2 and 3?", *MINE, "models.py:add")
    place = RECORD[1]

    async def write() -> None:
        journal = open_journal(place)
        for tenant in ("north", "south"):
            journal.append(f"run_{tenant}", Started(agent="a", model="m", said=(), principal="ann", tenant=tenant))
            note = KeptObject(id=tenant, owner=tenant, kind="note", principal="ann", tenant=tenant, at=1.0)
            await journal.objects.put(note)
        await journal.close()

    async def left() -> list[str]:
        journal = open_journal(place)
        kept = [each.tenant for tenant in ("north", "south") for each in await journal.objects.find(tenant, "note")]
        runs = [each.run_id for each in await journal.runs(limit=None) if each.status != "forgotten"]
        await journal.close()
        return [*kept, *sorted(runs)[1:]]

    asyncio.run(write())
    refused = run("journal", "forget", "--principal", "ann", "--yes", *RECORD)
    assert (refused.exit_code, "'north', 'south'" in refused.stderr) == (2, True)
    assert len(asyncio.run(left())) == 4
    result = run("journal", "forget", "--principal", "ann", "--tenant", "north", "--yes", *RECORD)
    assert (result.exit_code, "1 run, 1 record, 1 assistants" in result.stdout) == (0, True), result
    assert asyncio.run(left()) == ["south", "run_south"]
    assert run("journal", "forget", "--tenant", "north", "--older-than", "1d", "--yes", *RECORD).exit_code == 2
    assert run("journal", "forget", "--principal", "ann", "--yes", *RECORD).exit_code == 0
    assert asyncio.run(left()) == []


class Visit(Struct, frozen=True):
    principal: str
    run_id: str
    icon: bytes = b""


VISITS = Table("visits", Visit, key=("principal", "run_id"))


def test_rows_of_features_are_exported_with_their_run_and_forgotten_with_it_and_with_their_user(run: Run) -> None:
    run("run", "2 and 3?", *MINE, "models.py:add")

    async def write() -> str:
        journal = open_journal(RECORD[1])
        (summary,) = await journal.runs()
        await journal.stores.migrate("reading", ((AddTable(VISITS),),))
        for run_id, principal in ((summary.run_id, ""), ("", "ann"), ("other", "bob")):
            await journal.stores.put("", VISITS, Visit(principal, run_id, b"\xff"))
        await journal.close()
        return summary.run_id

    async def left() -> list[str]:
        journal = open_journal(RECORD[1])
        await journal.stores.migrate("reading", ((AddTable(VISITS),),))
        found = [row.principal for row in await journal.stores.find("", VISITS)]
        await journal.close()
        return found

    run_id = asyncio.run(write())
    exported = run("journal", "export", run_id, *RECORD).stdout
    row = {"tenant": "", "principal": "", "run_id": run_id, "icon": "/w=="}
    told = {"type": "row", "run": run_id, "table": "reading_visits", "row": row}
    assert json.loads(exported.splitlines()[-1]) == told
    Path("run.jsonl").write_text(exported, "utf-8")
    assert run("journal", "verify", "--file", "run.jsonl").exit_code == 0
    assert run("journal", "forget", run_id, "--yes", *RECORD).exit_code == 0
    assert asyncio.run(left()) == ["ann", "bob"]
    result = run("journal", "forget", "--principal", "ann", "--yes", *RECORD)
    assert (result.exit_code, result.stdout) == (0, "forgotten: 0 runs, 0 records, 1 row of features\n")
    assert asyncio.run(left()) == ["bob"]


def test_nothing_is_forgotten_that_nobody_agreed_to(run: Run, person: Callable[..., Person]) -> None:
    run("run", "2 and 3?", *MINE, "models.py:add")
    result = run("journal", "forget", "last", *RECORD)
    assert (result.exit_code, "say --yes" in result.stderr) == (2, True)
    somebody = person("journal", "forget", "last", *RECORD)
    somebody.sees("for good?  [y]es  [n]o: ")
    assert somebody.types("n\n").ends()[0] == 1
    assert "2 and 3?" in run("runs", "show", *RECORD).stdout
    somebody = person("journal", "forget", "last", *RECORD)
    somebody.sees("for good?  [y]es  [n]o: ")
    assert somebody.types("y\n").ends()[0] == 0
    assert "2 and 3?" not in run("runs", "show", *RECORD).stdout


def test_runs_are_forgotten_by_age_and_by_principal(run: Run, home: Path) -> None:
    leave_behind(home / "runs.db")
    run("run", "2 and 3?", *MINE, "models.py:add")
    assert json.loads(run("journal", "forget", "--older-than", "1h", "--yes", "--json", *RECORD).stdout)["records"] == 0
    told = json.loads(run("journal", "forget", "--principal", "ada", "--yes", "--json", *RECORD).stdout)
    assert told["forgotten"] == ["run_lost"]
    told = json.loads(run("journal", "forget", "--older-than", "0s", "--yes", "--json", *RECORD).stdout)
    assert (len(told["forgotten"]), told["records"]) == (1, 6)
    assert run("journal", "forget", *RECORD).exit_code == 2


def test_runs_that_a_run_started_are_forgotten_with_it_and_branches_are_named(run: Run, home: Path) -> None:
    async def write() -> None:
        journal = SQLiteJournal(home / "runs.db")
        journal.append("parent", STARTED)
        journal.append("child", Started(agent="a", model="m", said=(), parent="parent"))
        journal.append("branch", Started(agent="a", model="m", said=(), forked="parent"))
        await journal.close()

    asyncio.run(write())
    told = json.loads(run("journal", "forget", "parent", "--yes", "--json", *RECORD).stdout)
    assert (sorted(told["forgotten"]), told["copies"]) == (["child", "parent"], ["branch"])


def test_a_run_that_is_being_driven_is_not_forgotten(run: Run, person: Callable[..., Person]) -> None:
    driver = person("run", "wait", *MINE, "models.py:wait", "-v")
    driver.sees("question")
    wait_for_a_run(run)
    result = run("journal", "forget", "last", "--yes", *RECORD)
    assert (result.exit_code, "still being driven" in result.stderr) == (1, True)
    assert json.loads(run("runs", "list", "--json", *RECORD).stdout)["items"][0]["status"] == "running"
