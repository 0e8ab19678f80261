"""`actum journal fork` and `compare`."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from typer.testing import Result

pytestmark = pytest.mark.row("C7")

Run = Callable[..., Result]
MINE = ("--tools", "tools.py", "--journal", "runs.db", "--model")
RECORD = ("--journal", "runs.db")


def ids(run: Run) -> list[str]:
    return [told["id"] for told in json.loads(run("runs", "list", "--json", *RECORD).stdout)["items"]]


def test_a_branch_with_another_result_goes_on_from_there(run: Run) -> None:
    run("run", "2 and 3?", *MINE, "models.py:add")
    result = run("journal", "fork", "last", "--at", "3", "--result", "99", *MINE, "models.py:add")
    assert (result.exit_code, result.stdout) == (0, "add: 99\n")
    new, old = ids(run)
    assert f"{new} branches off from {old} at 3" in result.stderr
    assert f"branched off from {old} at 3" in run("runs", "show", new, *RECORD).stdout
    assert "add: 5" in run("runs", "show", old, *RECORD).stdout


def test_a_branch_with_another_question_or_model_begins_anew(run: Run) -> None:
    run("run", "2 and 3?", *MINE, "models.py:nothing")
    asked = run("journal", "fork", "last", "--at", "0", "--question", "4 and 5?", *MINE, "models.py:nothing")
    assert asked.stdout == "You said: 4 and 5?\n"
    told = json.loads(run("journal", "fork", "last", "--at", "0", "--json", *MINE, "models.py:add").stdout)
    assert (told["text"], told["status"]) == ("add: 5", "done")


def test_a_place_that_can_not_be_branched_off_at_is_said(run: Run) -> None:
    run("run", "2 and 3?", *MINE, "models.py:add")
    result = run("journal", "fork", "last", "--at", "2", *MINE, "models.py:add")
    assert (result.exit_code, "lies within a call: branch off at 3" in result.stderr) == (2, True)


def test_what_was_done_since_is_asked_about_again(run: Run) -> None:
    run("run", "keep milk", "--yes", *MINE, "models.py:keep")
    result = run("journal", "fork", "last", "--at", "1", *MINE, "models.py:keep")
    assert (result.exit_code, "actum resume run_" in result.stderr) == (3, True)


def test_two_runs_are_compared(run: Run) -> None:
    run("run", "2 and 3?", *MINE, "models.py:add")
    run("journal", "fork", "last", "--at", "3", "--result", "99", *MINE, "models.py:add")
    new, old = ids(run)
    shown = run("journal", "compare", old, new, *RECORD).stdout
    for part in ("alike  1 moments", "step 1, call add  done: 5", "step 1, call add  done: 99", "add: 99"):
        assert part in shown
    told = json.loads(run("journal", "compare", old, new, "--json", *RECORD).stdout)
    assert told["runs"] == [old, new]
    assert [part["text"] for part in told["comparison"]["parts"]] == ["done: 5", "done: 99"]
    assert "parts  nowhere" in run("journal", "compare", old, old, *RECORD).stdout


def test_runs_of_other_models_differ_from_the_beginning(run: Run) -> None:
    run("run", "2 and 3?", *MINE, "models.py:add")
    run("run", "2 and 4?", *MINE, "models.py:nothing")
    new, old = ids(run)
    shown = run("journal", "compare", old, new, *RECORD).stdout
    assert "model  calling-add | nothing" in shown
    assert "question  2 and 3? | 2 and 4?" in shown
