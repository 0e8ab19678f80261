"""Values with a label on the command line: whoever types sees them only as one of their readers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from actum.cli.show.terminal import who

Run = Callable[..., Result]

pytestmark = pytest.mark.row("C9")

TOOLS = '''
from actum import ToolCall, tool
from actum.testing import ScriptedModel

@tool(effects={"read"}, labels={"salary": "personal"})
def get_employee(name: str) -> dict[str, object]:
    """Look an employee up."""
    return {"name": name, "salary": 73250}

model = ScriptedModel([ToolCall("1", "get_employee", {"name": "Ada"}), "Ada earns 73250."], name="ollama:qwen3")
'''
BELOW = '\nlater = ScriptedModel(["It is what we pay."], name="ollama:qwen3")\n'
COMMANDS = (
    ("runs", "show", "last"),
    ("runs", "show", "last", "--json"),
    ("runs", "show", "last", "--html", "-"),
    ("audit",),
    ("audit", "--json"),
    ("journal", "show", "last"),
    ("journal", "show", "last", "--json"),
    ("journal", "tail", "last"),
    ("journal", "export", "last"),
    ("journal", "compare", "last", "last", "--json"),
    ("telemetry", "show", "last", "--json"),
    ("conversations", "show", "talk"),
)


@pytest.mark.parametrize("reader", ["role:hr", f"user:{who()}"])
def test_no_command_shows_a_value_to_somebody_who_may_not_read_it_and_the_chain_is_whole(
    run: Run, home: Path, reader: str
) -> None:
    (home / "tools.py").write_text(TOOLS, "utf-8")
    (home / "actum.toml").write_text(
        f'journal = "runs.db"\n[telemetry]\ncontent = true\n[labels.personal]\nreaders = ["{reader}"]\n', "utf-8"
    )
    asked = run("run", "What does Ada earn?", "--tools", "tools.py", "--model", "tools.py:model", "-c", "talk")
    assert asked.exit_code == 0, asked.stderr
    for command in COMMANDS if reader == "role:hr" else COMMANDS[:1]:
        result = run(*command)
        assert result.exit_code == 0, (command, result.stderr)
        assert "is wrong" not in result.stderr
        if reader == "role:hr":
            assert "73250" not in result.stdout, command
        else:
            assert "73250" in result.stdout
    assert "chain whole" in run("runs", "show", "last").stdout

    exported = run("journal", "export", "last").stdout
    (home / "run.jsonl").write_text(exported, "utf-8")
    checked = run("journal", "verify", "--file", "run.jsonl")
    assert checked.exit_code == 0, checked.stdout
    assert ("without values that a reader may not see" in checked.stderr) == (reader == "role:hr")
    assert run("journal", "verify").exit_code == 0

    assert run("eval", "add", "last", "--to", "cases.jsonl").exit_code == 0
    assert ("73250" in (home / "cases.jsonl").read_text("utf-8")) == (reader != "role:hr")
    assert json.loads((home / "cases.jsonl").read_text("utf-8"))["expected"]["calls"][0]["name"] == "get_employee"


def test_who_is_asked_before_runs_are_forgotten_sees_their_questions_as_lists_show_them(run: Run, home: Path) -> None:
    (home / "tools.py").write_text(TOOLS + BELOW, "utf-8")
    (home / "actum.toml").write_text('journal = "runs.db"\n[labels.personal]\nreaders = ["role:hr"]\n', "utf-8")
    talk = ("--tools", "tools.py", "-c", "talk", "--model")
    run("run", "What does Ada earn?", *talk, "tools.py:model")
    run("run", "Why is 73250 so little?", *talk, "tools.py:later")
    listed = run("runs", "list")
    assert "Why is [personal] so little?" in listed.stdout, listed.stdout
    asked = run("journal", "forget", "--older-than", "0s")
    assert "Why is [personal] so little?" in asked.stderr
    assert "73250" not in asked.stdout + asked.stderr


def test_a_reader_that_is_none_is_told_by_its_place_in_the_settings(run: Run, home: Path) -> None:
    (home / "actum.toml").write_text('[labels.personal]\nreaders = ["hr"]\n', "utf-8")
    result = run("config", "check")
    assert result.exit_code != 0
    assert "'hr' is no reader" in result.stdout + result.stderr
