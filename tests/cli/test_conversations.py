"""`actum conversations`: listed, read again, branched off from, summed up."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable

import pytest
from typer.testing import Result

pytestmark = pytest.mark.row("A3")

Run = Callable[..., Result]
MINE = ("--tools", "tools.py", "--journal", "runs.db", "--model")
RECORD = ("--journal", "runs.db")


def test_conversations_are_listed_latest_first(run: Run) -> None:
    run("run", "alone", *MINE, "models.py:nothing")
    run("chat", "-c", "tea", *MINE, "models.py:nothing", input="one\ntwo\n")
    run("chat", "-c", "milk", *MINE, "models.py:nothing", input="three\n")
    _, milk, tea = run("conversations", "list", *RECORD).stdout.splitlines()
    assert milk.split()[2:] == ["done", "1", "milk", "three"]
    assert tea.split()[2:] == ["done", "2", "tea", "one"]
    assert [each["id"] for each in json.loads(run("conversations", "list", "--json", *RECORD).stdout)] == [
        "milk",
        "tea",
    ]


def test_a_conversation_is_read_again_as_it_was_said(run: Run) -> None:
    run("chat", "-c", "sums", *MINE, "models.py:add", input="2 and 3?\n")
    result = run("conversations", "show", "su", *RECORD)
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["you", "call", "result", "agent"]
    assert "sums · 1 turns" in result.stderr
    told = json.loads(run("conversations", "show", "last", "--json", *RECORD).stdout)
    assert [message["type"] for message in told["messages"]] == ["user", "reply", "tool", "reply"]


def test_a_branch_goes_on_from_an_earlier_turn_and_the_conversation_stays(run: Run) -> None:
    run("chat", "-c", "tea", *MINE, "models.py:counting", input="one\ntwo\nthree\n")
    runs = json.loads(run("runs", "list", "--json", *RECORD).stdout)
    command = shlex.split(run("conversations", "branch", "tea", "--at", runs[-1]["run_id"], *RECORD).stdout)
    assert command[0] == "actum"
    result = run(*command[1:], "--tools", "tools.py", "--model", "models.py:counting", input="other\nand more\n")
    assert result.stdout == "2\n3\n"
    assert run("chat", "-c", "tea", *MINE, "models.py:counting", input="four\n").stdout == "4\n"


def test_one_question_goes_on_after_an_earlier_run(run: Run) -> None:
    for question in ("one", "two"):
        run("run", question, "-c", "tea", *MINE, "models.py:counting")
    first = json.loads(run("runs", "list", "--json", *RECORD).stdout)[-1]["run_id"]
    assert run("run", "other", "--after", first, *MINE, "models.py:counting").stdout == "2\n"


def test_a_branch_can_begin_within_a_turn(run: Run) -> None:
    run("chat", "-c", "tea", *MINE, "models.py:add", input="2 and 3?\n")
    told = json.loads(run("conversations", "branch", "--at", "last@1", "--json", *RECORD).stdout)
    assert told["after"].endswith("@1")
    assert told["command"][4:6] == ["--after", told["after"]]
    assert run("conversations", "branch", "--at", "last@99", *RECORD).exit_code == 2
    run("run", "alone", *MINE, "models.py:nothing")
    alone = json.loads(run("runs", "list", "--json", *RECORD).stdout)[0]["run_id"]
    assert "no runs of tea begin with" in run("conversations", "branch", "tea", "--at", alone, *RECORD).stderr
    assert run("conversations", "branch", "tea", "--at", "last@1", *RECORD).exit_code == 0


def test_a_conversation_is_summed_up_and_nothing_is_deleted(run: Run) -> None:
    run("chat", "-c", "tea", *MINE, "models.py:counting", input="one\ntwo\nthree\n")
    assert run("conversations", "compact", "tea", "--keep", "0", *MINE[2:], "models.py:counting").stdout == "4\n"
    assert run("chat", "-c", "tea", *MINE, "models.py:counting", input="four\n").stdout == "2\n"
    assert len(json.loads(run("runs", "list", "--json", *RECORD).stdout)) == 5


@pytest.mark.parametrize("command", ["show", "branch", "compact"])
def test_a_conversation_that_is_not_there_is_said(run: Run, command: str) -> None:
    result = run("conversations", command, "none", *RECORD)
    assert (result.exit_code, "there is no conversation 'none'" in result.stderr) == (2, True)


def test_the_beginning_of_several_ids_is_not_enough(run: Run) -> None:
    for name in ("tea1", "tea2"):
        run("chat", "-c", name, *MINE, "models.py:nothing", input="one\n")
    assert "2 conversations begin with 'tea'" in run("conversations", "show", "tea", *RECORD).stderr


def test_nobody_has_talked_yet(run: Run) -> None:
    result = run("conversations", "list", *RECORD)
    assert (result.exit_code, result.stdout, "actum chat" in result.stderr) == (0, "", True)
