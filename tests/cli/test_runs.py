"""`actum runs`: the record, read by a person and by a program."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from actum import ToolCall
from actum.cli.show.terminal import who
from actum.core.message import Reply, UserMessage
from actum.core.run.pending import Pending
from actum.core.run.record import InputRequested, Intended, ModelReplied, Started
from actum.storage.sqlite import SQLiteJournal

from .person import Person

Run = Callable[..., Result]
MINE = ("--tools", "tools.py", "--journal", "runs.db", "--model")
RECORD = ("--journal", "runs.db")


def test_an_empty_record_says_how_to_begin(run: Run) -> None:
    result = run("runs", "list")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "actum run" in result.stderr


def test_runs_are_listed_newest_first_and_whole(run: Run) -> None:
    run("run", "x" * 300, *MINE, "models.py:nothing")
    run("run", "2 and 3?", *MINE, "models.py:add")
    head, last, first = run("runs", "list", *RECORD).stdout.splitlines()
    assert head.split() == ["when", "status", "run", "model", "question"]
    assert last.endswith("calling-add  2 and 3?")
    assert first.endswith("x" * 300)
    assert len(run("runs", "list", "-n", "1", *RECORD).stdout.splitlines()) == 2


def test_a_long_question_takes_one_line_of_the_list_on_a_terminal(run: Run, person: Callable[..., Person]) -> None:
    run("run", "sum up\n" + "line\n" * 300, *MINE, "models.py:nothing")
    _, shown = person("runs", "list", *RECORD).ends()
    assert "sum up" in shown
    assert shown.count("line") < 20


def test_a_list_for_programs_is_json(run: Run) -> None:
    run("run", "2 and 3?", *MINE, "models.py:add")
    (told,) = json.loads(run("runs", "list", "--json", *RECORD).stdout)["items"]
    assert (told["status"], told["model"], told["question"]) == ("done", "calling-add", "2 and 3?")


def test_a_run_is_a_tree_of_what_was_said_called_and_answered(run: Run) -> None:
    run("run", "find Ann", *MINE, "models.py:find")
    tree = run("runs", "show", "last", *RECORD).stdout
    for part in (
        "── question  find Ann",
        "── model 1 call",
        '── find  name="Ann"',
        "── default: only reads",
        "── tool_error: Nobody is called Ann.",
        "── answer  find: Nobody is called Ann.",
        "records, chain whole",
    ):
        assert part in tree


def test_waiting_for_a_person_stands_in_the_tree(run: Run) -> None:
    run("run", "keep milk", *MINE, "models.py:keep")
    tree = run("runs", "show", *RECORD).stdout
    assert "── asked for approval  This changes something outside the conversation.  ask_" in tree
    assert tree.splitlines()[0].split()[1] == "paused"
    run("resume", "last", "--yes", *MINE, "models.py:keep")
    assert f'── approved  by {who()}, as "--yes" (claimed)  after ' in run("runs", "show", *RECORD).stdout


def test_a_repair_stands_in_the_tree(run: Run) -> None:
    run("run", "2 and 3?", *MINE, "models.py:mended")
    tree = run("runs", "show", *RECORD).stdout
    assert '── add  a="2"  b=3' in tree
    assert "── repaired  a: " in tree


def test_a_run_is_found_by_the_beginning_of_its_id(run: Run) -> None:
    run("run", "2 and 3?", *MINE, "models.py:add")
    (told,) = json.loads(run("runs", "list", "--json", *RECORD).stdout)["items"]
    shown = json.loads(run("runs", "show", told["id"][:9], "--json", *RECORD).stdout)
    assert [entry["type"] for entry in shown["entries"]] == [
        *("started", "model_replied", "intended", "call_completed", "model_replied", "ended")
    ]
    assert shown["problems"] == []


def test_the_beginning_of_several_ids_is_not_enough(run: Run) -> None:
    run("run", "one", *MINE, "models.py:nothing")
    run("run", "two", *MINE, "models.py:nothing")
    result = run("runs", "show", "run_", *RECORD)
    assert result.exit_code == 2
    assert "2 runs begin with 'run_'" in result.stderr


def test_a_record_that_was_changed_is_said_to_be(run: Run, home: Path) -> None:
    run("run", "2 and 3?", *MINE, "models.py:add")
    with sqlite3.connect(home / "runs.db") as database:
        database.execute("UPDATE entries SET payload = CAST(replace(payload, '3?', '4?') AS BLOB) WHERE number = 0")
    database.close()
    assert "entry 0: its payload was changed" in run("runs", "show", *RECORD).stdout


def test_a_record_of_which_a_payload_was_deleted_is_still_shown(run: Run, home: Path) -> None:
    run("run", "2 and 3?", *MINE, "models.py:add")
    with sqlite3.connect(home / "runs.db") as database:
        database.execute("UPDATE entries SET payload = x'' WHERE number = 1")
    database.close()
    result = run("runs", "show", *RECORD)
    assert (result.exit_code, "record 1 was deleted" in result.stdout) == (0, True)
    assert run("runs", "show", "--json", *RECORD).exit_code == 0


@pytest.mark.row("C7")
def test_a_run_that_nobody_drives_is_interrupted(run: Run, home: Path) -> None:
    async def killed() -> None:
        journal = SQLiteJournal(home / "runs.db")
        journal.append("run_1", Started(agent="agent", model="m", said=(UserMessage.of("Hi"),)))
        journal.append("run_1", ModelReplied("", Reply.of(calls=[ToolCall("1", "keep", {"text": "milk"})])))
        journal.append("run_1", Intended(1, 0, 1, "keep", "v", {"text": "milk"}, "key"))
        await journal.close()

    asyncio.run(killed())
    assert json.loads(run("runs", "list", "--json", *RECORD).stdout)["items"][0]["status"] == "interrupted"
    tree = run("runs", "show", *RECORD).stdout
    assert tree.startswith("run_1  interrupted")
    assert "── in doubt: nobody knows whether it happened" in tree


@pytest.mark.row("C7")
@pytest.mark.row("A3")
def test_a_run_that_nobody_drives_is_ended_from_a_terminal_with_what_its_calls_began(run: Run, home: Path) -> None:
    async def put() -> None:
        journal = SQLiteJournal(home / "runs.db")
        for run_id, parent in (("run_lost", ""), ("run_below", "run_lost"), ("run_other", "")):
            said = (UserMessage.of("2 and 3?"),)
            journal.append(run_id, Started(agent="assistant", model="m", said=said, tenant="shop", parent=parent))
            await journal.sync(run_id)
        await journal.close()

    asyncio.run(put())
    ended = run("runs", "cancel", "run_lost", *RECORD)
    assert (ended.exit_code, ended.stdout.split()) == (0, ["run", "run_lost", "status", "stopped"])
    listed = json.loads(run("runs", "list", "--json", *RECORD).stdout)["items"]
    assert {each["id"]: each["status"] for each in listed} == {
        "run_lost": "stopped",
        "run_below": "stopped",
        "run_other": "interrupted",
    }
    again = json.loads(run("runs", "cancel", "run_lost", "--json", *RECORD).stdout)
    assert (again["status"], again["stop_reason"]) == ("stopped", "cancelled")
    assert run("runs", "cancel", "run_none", *RECORD).exit_code == 2
    run("run", "2 and 3?", *MINE, "models.py:add")
    done = run("runs", "cancel", "last", *RECORD)
    assert (done.exit_code, "nothing was cancelled" in done.stderr) == (1, True)


def test_attempts_and_the_waits_between_them_stand_in_the_tree(run: Run, home: Path) -> None:
    (home / "flaky.py").write_text(FLAKY, "utf-8")
    (home / "models.py").write_text((home / "models.py").read_text("utf-8") + "flaky = calling('flaky')\n", "utf-8")
    run("run", "try", "--tools", "flaky.py", *RECORD, "--model", "models.py:flaky")
    tree = run("runs", "show", *RECORD).stdout
    assert "── flaky  · " in tree
    assert "another attempt follows" in tree
    assert "── waited " in tree
    assert "── attempt 2  default: only reads" in tree
    assert "1 call" in tree.splitlines()[0]


FLAKY = '''
from actum import tool
from actum.core.errors import RateLimited
tries = []

@tool(effects={"read"})
def flaky() -> str:
    """Flaky."""
    tries.append(1)
    if len(tries) < 2:
        raise RateLimited("Slow down.", retry_after=0.01)
    return "there"
'''


def test_what_belongs_to_one_tenant_is_shown_alone(run: Run) -> None:
    async def write() -> None:
        journal = SQLiteJournal("runs.db")
        for tenant in ("north", "south", ""):
            said = (UserMessage.of(f"asked in {tenant or 'none'}"),)
            run_id = f"run_{tenant}"
            started = Started(
                agent="a", model="m", said=said, principal=who(), tenant=tenant, conversation=f"c_{tenant}"
            )
            journal.append(run_id, started)
            journal.append(run_id, InputRequested(Pending(f"ask_{tenant}", "answer", f"which of {tenant or 'none'}?")))
        await journal.close()

    asyncio.run(write())
    lists = (("runs", "list"), ("approvals", "list"), ("audit",), ("conversations", "list", "--all"))
    for words in lists:
        for tenant in ("north", "south", ""):
            shown = run(*words, "--tenant", tenant, "--json", *RECORD).stdout
            others = {"north", "south", "none"} - {tenant or "none"}
            assert shown.strip(), (words, tenant)
            assert not any(f"in {other}" in shown or f"of {other}" in shown for other in others), (words, tenant)
    assert [each["id"] for each in json.loads(run("conversations", "list", "--json", *RECORD).stdout)["items"]] == [
        "c_"
    ]
    told = run("conversations", "show", "c_north", "--tenant", "north", *RECORD)
    assert "asked in north" in told.stdout
    assert run("conversations", "show", "c_north", *RECORD).exit_code != 0
