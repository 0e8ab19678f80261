"""`actum eval`: cases are made of runs, tried, compared and held against a gate, as a person types it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

pytestmark = pytest.mark.row("F4")

Run = Callable[..., Result]
RECORD = ("--journal", "runs.db")
DESK = '''
from pathlib import Path

from actum import Agent, ToolCall, tool
from actum.core.message import ToolMessage
from actum.testing import ScriptedModel

@tool(effects={"read"})
def stock(item: str) -> int:
    """Say the stock."""
    return 12

@tool(effects={"write"})
def send(to: str) -> str:
    """Send a mail."""
    Path("sent.txt").write_text("sent")
    return "sent"

def says(request):
    last = request.messages[-1]
    if isinstance(last, ToolMessage):
        return f"It is {last.result.text}."
    name, _, rest = last.text.partition(" ")
    return ToolCall("1", name, {"to" if name == "send" else "item": rest})

model = ScriptedModel(says, name="m")
bad = ScriptedModel(lambda request: "I do not know.", name="bad")
agent = Agent(model, [stock, send], name="desk")

def short(case, run):
    return len(run.text) < 12

def one(case):
    return agent
'''
CASES = """\
{"id":"a","input":"stock bolt","expected":{"calls":[{"name":"stock","arguments":{"item":"bolt"}}]},"must":true}
{"id":"b","input":"send ann","expected":{"calls":[{"name":"send","arguments":{"to":"ann"}}]},"tags":["mail"]}
{"id":"c","input":"stock nut"}
"""


@pytest.fixture
def desk(home: Path) -> Path:
    (home / "desk.py").write_text(DESK, "utf-8")
    (home / "cases.jsonl").write_text(CASES, "utf-8")
    return home


def tried(run: Run, name: str, *more: str) -> Result:
    return run("eval", "run", "cases.jsonl", "--agent", "desk.py:agent", "--name", name, *more, *RECORD)


def test_two_versions_are_tried_compared_and_held_against_a_gate(run: Run, desk: Path) -> None:
    first = tried(run, "before", "--score", "desk.py:short")
    assert first.exit_code == 0, first.stderr
    assert "Not executed" in first.stderr
    assert "nothing says what is right: c" in first.stderr
    told = json.loads(tried(run, "before", "--score", "desk.py:short", "--json").stdout)
    assert (told["name"], told["cases"], told["tries"], told["denied"]) == ("before", 3, 1, 1)
    assert told["scores"]["correct"] == {"mean": 1.0, "rated": 2, "all_right": 1.0}
    assert told["results"][1]["tries"][0]["scores"] == {"correct": 1.0, "short": 0.0}
    assert tried(run, "after", "--model", "desk.py:bad").exit_code == 0
    compared = json.loads(run("eval", "compare", "before", "after", "--json", *RECORD).stdout)
    assert (compared["scores"]["correct"]["lost"], [each["case"] for each in compared["changed"]]) == (2, ["a", "b"])
    assert compared["changed"][0]["parts_at"] == {"what": "model", "step": 1}
    told_of = run("eval", "compare", "before", "after", *RECORD)
    assert "mail" in told_of.stdout
    assert "model 1" in told_of.stdout
    assert "No ratio of cost, tokens, seconds" in told_of.stderr
    failed = run("eval", "gate", "after", "--against", "before", "--junit", "out.xml", "--markdown", "out.md", *RECORD)
    assert (failed.exit_code, failed.stdout) == (1, "fail\n")
    assert "the case a" in (desk / "out.xml").read_text("utf-8")
    assert "after: fail" in (desk / "out.md").read_text("utf-8")
    (desk / "before.json").write_text(run("eval", "export", "before", *RECORD).stdout, "utf-8")
    for against in ("before", "before.json"):
        gate = ("eval", "gate", "before", "--against", against, "--margin", "5")
        assert run(*gate, *RECORD).exit_code == 3
        assert run(*gate, "--allow-unknown", *RECORD).exit_code == 0
        assert json.loads(run(*gate, "--json", *RECORD).stdout)["verdict"] == "unknown"
    assert run("eval", "gate", "before", "--min", "0.9", *RECORD).exit_code == 0
    assert not (desk / "sent.txt").exists()
    shown = run("eval", "show", "after", "--failed", *RECORD).stdout
    assert "stock bolt" in shown
    assert "stock nut" not in shown
    assert [each["name"] for each in json.loads(run("eval", "list", "--json", *RECORD).stdout)["items"]] == [
        "after",
        "before",
    ]
    assert "short" in run("eval", "score", "after", "--score", "desk.py:short", *RECORD).stdout


@pytest.mark.parametrize(
    ("words", "is_sent"),
    [
        (("--live", "--json"), True),  # no value: all tools
        (("--json", "--live"), True),
        (("--live", "send", "--json"), True),
        (("--live=send", "--json"), True),
        (("--live", "stock", "--json"), False),
        (("--live", "stock", "--live", "--json"), True),
    ],
)
def test_live_executes_the_tool_that_is_named_and_all_where_none_is(
    words: tuple[str, ...], is_sent: bool, run: Run, desk: Path
) -> None:
    done = tried(run, "alive", *words)
    assert done.exit_code == 0, done.stderr
    assert (desk / "sent.txt").exists() == is_sent
    assert json.loads(done.stdout)["denied"] == (0 if is_sent else 1)


def test_live_takes_the_cases_for_a_tool_where_they_follow_it_and_then_they_are_missed(run: Run, desk: Path) -> None:
    refused = run("eval", "run", "--live", "cases.jsonl", "--agent", "desk.py:agent", *RECORD)
    assert (refused.exit_code, "CASES" in refused.stderr) == (2, True)
    done = run("eval", "run", "--agent", "desk.py:agent", *RECORD, "--live", "--", "cases.jsonl")
    assert (done.exit_code, (desk / "sent.txt").exists()) == (0, True)


def test_runs_become_cases_and_one_that_was_rated_bad_is_to_be_reviewed(run: Run, desk: Path) -> None:
    for question in ("stock bolt", "stock " + "x" * 50):
        run("run", question, "--model", "desk.py:model", "--tools", "desk.py", *RECORD)
    run("rate", "last", "down", *RECORD)
    added = run("eval", "add", "last", "--to", "new.jsonl", *RECORD)
    assert "say in `expected` what was right" in added.stderr
    run("rate", "last", "up", *RECORD)
    assert "may be anything: stock.item" in run("eval", "add", "last", "--to", "other.jsonl", *RECORD).stderr
    (line,) = (desk / "new.jsonl").read_text("utf-8").splitlines()
    assert (json.loads(line)["expected"], json.loads(line)["tags"]) == ({}, ["to_review"])
    (line,) = (desk / "other.jsonl").read_text("utf-8").splitlines()
    assert json.loads(line)["expected"]["calls"] == [{"name": "stock", "arguments": {"item": {"$anything": True}}}]
    assert json.loads(line)["results"] == {"stock": 12}
    assert run("eval", "add", "last", "--to", "new.jsonl", *RECORD).exit_code == 2
    right = run("eval", "run", "other.jsonl", "--agent", "desk.py:one", "--json", *RECORD)
    assert json.loads(right.stdout)["scores"]["correct"]["mean"] == 1


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("eval", "run", "none.jsonl", "--agent", "desk.py:agent"), "none.jsonl"),
        (("eval", "run", "cases.jsonl", "--agent", "desk.py:bad"), "--agent"),
        (("eval", "run", "cases.jsonl", "--agent", "desk.py:one", "--model", "embedded"), "--model"),
        (("eval", "run", "cases.jsonl", "--agent", "desk.py:agent", "--tag", "none"), "none"),
        (("eval", "run", "cases.jsonl", "--agent", "desk.py:agent", "--tries", "0"), "tries"),
        (("eval", "run", "cases.jsonl", "--agent", "desk.py:agent", "--results", "cases.jsonl"), "--results"),
        (("eval", "run", "cases.jsonl", "--agent", "desk.py:agent", "--instructions", "none.md"), "none.md"),
        (("eval", "show", "none"), "none"),
        (("eval", "gate", "none", "--margin", "0"), "--margin"),
    ],
)
def test_what_can_not_be_meant_is_refused(words: tuple[str, ...], why: str, run: Run, desk: Path) -> None:
    refused = run(*words, *RECORD)
    assert refused.exit_code == 2
    assert why in refused.stderr
