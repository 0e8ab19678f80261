"""`actum conversations`: listed, read again, branched off from, summed up."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from actum import Agent
from actum.cli.show.terminal import who
from actum.storage.sqlite import SQLiteJournal
from actum.testing import ScriptedModel

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
    assert [each["id"] for each in json.loads(run("conversations", "list", "--json", *RECORD).stdout)["items"]] == [
        "milk",
        "tea",
    ]


def test_a_conversation_is_read_again_as_it_was_said(run: Run) -> None:
    run("chat", "-c", "sums", *MINE, "models.py:add", input="2 and 3?\n")
    result = run("conversations", "show", "su", *RECORD)
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["you", "call", "result", "agent"]
    assert "sums · 1 turn," in result.stderr
    told = json.loads(run("conversations", "show", "last", "--json", *RECORD).stdout)
    assert [message["role"] for message in told["items"]] == ["user", "agent", "tool", "agent"]


def test_a_branch_goes_on_from_an_earlier_turn_and_the_conversation_stays(run: Run) -> None:
    run("chat", "-c", "tea", *MINE, "models.py:counting", input="one\ntwo\nthree\n")
    runs = json.loads(run("runs", "list", "--json", *RECORD).stdout)["items"]
    command = shlex.split(run("conversations", "branch", "tea", "--at", runs[-1]["id"], *RECORD).stdout)
    assert command[0] == "actum"
    result = run(*command[1:], "--tools", "tools.py", "--model", "models.py:counting", input="other\nand more\n")
    assert result.stdout == "2\n3\n"
    assert run("chat", "-c", "tea", *MINE, "models.py:counting", input="four\n").stdout == "4\n"


def test_one_question_goes_on_after_an_earlier_run(run: Run) -> None:
    for question in ("one", "two"):
        run("run", question, "-c", "tea", *MINE, "models.py:counting")
    first = json.loads(run("runs", "list", "--json", *RECORD).stdout)["items"][-1]["id"]
    assert run("run", "other", "--after", first, *MINE, "models.py:counting").stdout == "2\n"


def test_a_branch_can_begin_within_a_turn(run: Run) -> None:
    run("chat", "-c", "tea", *MINE, "models.py:add", input="2 and 3?\n")
    told = json.loads(run("conversations", "branch", "--at", "last@1", "--json", *RECORD).stdout)
    assert told["after"].endswith("@1")
    assert told["command"][4:6] == ["--after", told["after"]]
    assert run("conversations", "branch", "--at", "last@99", *RECORD).exit_code == 2
    run("run", "alone", *MINE, "models.py:nothing")
    alone = json.loads(run("runs", "list", "--json", *RECORD).stdout)["items"][0]["id"]
    assert "no runs of tea begin with" in run("conversations", "branch", "tea", "--at", alone, *RECORD).stderr
    assert run("conversations", "branch", "tea", "--at", "last@1", *RECORD).exit_code == 0


def test_a_conversation_is_summed_up_and_nothing_is_deleted(run: Run) -> None:
    run("chat", "-c", "tea", *MINE, "models.py:counting", input="one\ntwo\nthree\n")
    assert run("conversations", "compact", "tea", "--keep", "0", *MINE[2:], "models.py:counting").stdout == "4\n"
    assert run("chat", "-c", "tea", *MINE, "models.py:counting", input="four\n").stdout == "2\n"
    assert len(json.loads(run("runs", "list", "--json", *RECORD).stdout)["items"]) == 5


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


async def talk(home: Path, conversation: str, principal: str, question: str) -> None:
    journal = SQLiteJournal(home / "runs.db")
    agent = Agent(ScriptedModel(["Noted."]), journal=journal)
    await agent.run(question, conversation=conversation, principal=principal, run_id=f"run_{principal or 'nobody'}")
    await journal.close()


def test_conversations_of_others_are_not_there_unless_their_owner_is_named(run: Run, home: Path) -> None:
    for principal in ("alice", ""):
        asyncio.run(talk(home, "tea", principal, f"SECRET of {principal}"))
    nothing = run("conversations", "list", *RECORD)
    assert (nothing.stdout, "Nobody has talked yet" in nothing.stderr) == ("", True)
    for command in (["show", "tea"], ["show", "last"], ["branch", "tea"], ["compact", "tea"]):
        result = run("conversations", *command, *RECORD)
        assert (result.exit_code, "SECRET" in result.stdout + result.stderr) == (2, False)
        assert f"there is no conversation '{command[1]}'" in result.stderr
    run("chat", "-c", "tea", *MINE, "models.py:nothing", input="mine\n")
    assert "SECRET" not in run("conversations", "show", *RECORD).stdout
    alone = run("conversations", "branch", "--at", "run_alice", *RECORD)
    assert (alone.exit_code, "no runs of tea begin with 'run_alice'" in alone.stderr) == (2, True)
    hidden = run("run", "?", "--after", "run_alice", *MINE, "models.py:nothing")
    assert "there is no run 'run_alice'" in hidden.stderr

    assert "SECRET of alice" in run("conversations", "show", "tea", "--owner", "alice", *RECORD).stdout
    assert run("conversations", "list", "--owner", "", *RECORD).stdout.split()[-3:] == ["tea", "SECRET", "of"]
    everybody = json.loads(run("conversations", "list", "--all", "--json", *RECORD).stdout)["items"]
    assert {(each["owner"], each["id"]) for each in everybody} == {("alice", "tea"), ("", "tea"), (who(), "tea")}
    assert len(run("conversations", "list", "--all", *RECORD).stdout.splitlines()) == 4

    command = shlex.split(run("conversations", "branch", "tea", "--owner", "alice", *RECORD).stdout)
    assert run(*command[1:], "--tools", "tools.py", "--model", "models.py:counting", input="other\n").stdout == "2\n"
    run("run", "I join in", "-c", "tea", "--owner", "alice", *MINE, "models.py:counting")
    told = json.loads(run("conversations", "show", "tea", "--owner", "alice", "--json", *RECORD).stdout)
    assert [each["principal"] for each in told["runs"]] == ["alice", who()]
    assert "conversation tea of alice" in run("runs", "show", *RECORD).stdout


def test_what_became_of_an_earlier_call_is_not_shown_as_the_person_s_words(run: Run) -> None:
    paused = run("run", "keep it", "-c", "milk", *MINE, "models.py:keep")
    run("run", "hello", "-c", "milk", *MINE, "models.py:nothing")
    answer = next(line for line in paused.stderr.splitlines() if "actum resume" in line)
    assert run(*shlex.split(answer)[1:]).exit_code == 0
    run("run", "and?", "-c", "milk", *MINE, "models.py:nothing")
    lines = run("conversations", "show", "milk", *RECORD).stdout.splitlines()
    assert [line.split()[0] for line in lines if line.split()[0] in ("you", "told")] == ["you", "you", "told", "you"]
    assert "told of earlier turns" in run("runs", "show", *RECORD).stdout
    assert json.loads(run("runs", "list", "--json", *RECORD).stdout)["items"][0]["question"] == "and?"
    assert "told of earlier turns" in run("runs", "show", "--html", "-", *RECORD).stdout
