"""`actum policy`, and `--policy` where a call is made."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

pytestmark = pytest.mark.row("C3")

Run = Callable[..., Result]
MINE = ("--tools", "tools.py")
POLICY = """
[users.ada]
roles = ["clerk"]

[[rules]]
tools = "keep"
roles = "clerk"
when = "size(args.text) < 5"
then = "allow"

[[rules]]
tools = "keep"
then = "ask"
reason = "A long text."
approvers = ["ada", "bob", "cy"]
quorum = 2
expires = "1h"
require = { tool = "add", args = { a = "size(args.text)", b = "1" }, when = "check < 100" }

[[rules]]
effects = "write"
then = "deny"
reason = "Nothing else is written."
"""


@pytest.fixture(autouse=True)
def policy(home: Path) -> Path:
    path = home / "policy.toml"
    path.write_text(POLICY, "utf-8")
    return path


def test_a_decision_is_explained_rule_by_rule(run: Run) -> None:
    told = run("policy", "test", "keep", "text=milk", "--user", "bob", "-p", "policy.toml", *MINE)
    assert told.exit_code == 3
    assert "policy.toml:5: allow keep  roles: (none) is none of clerk" in told.stdout
    assert "    fits  policy.toml:11: ask keep" in told.stdout
    assert "   first  add  a=4  b=1" in told.stdout
    assert "    asks  2 of: ada, cy" in told.stdout
    assert " expires  after 3600 s" in told.stdout
    assert " verdict  ask  A long text.  (policy.toml:11: ask keep)" in told.stdout


@pytest.mark.parametrize(
    ("words", "verdict", "code"),
    [
        (["text=milk", "--user", "ada"], "allow", 0),
        (["text=milk", "--user", "eve", "--role", "clerk"], "allow", 0),
        (["text=buttermilk", "--user", "ada"], "ask", 3),
        (["--args", '{"text": "milk"}', "--user", "eve"], "ask", 3),
    ],
)
def test_the_exit_code_and_the_json_tell_the_verdict(run: Run, words: list[str], verdict: str, code: int) -> None:
    told = run("policy", "test", "keep", *words, "--policy", "policy.toml", "--json", *MINE)
    assert (told.exit_code, json.loads(told.stdout)["verdict"]) == (code, verdict)
    assert json.loads(told.stdout)["looked_at"][0]["rule"] == "policy.toml:5: allow keep"


def test_a_condition_without_a_value_is_shown_with_why(run: Run, policy: Path) -> None:
    policy.write_text("[[rules]]\nthen = 'allow'\nwhen = 'args.size < 5'", "utf-8")
    told = run("policy", "test", "keep", "text=milk", "-p", "policy.toml", *MINE)
    assert told.exit_code == 1
    assert "policy.toml:1: allow *  its condition has no value: KeyError: 'size'" in told.stdout
    assert " verdict  deny  The policy could not judge this call." in told.stdout


def test_testing_a_policy_calls_nothing_and_needs_none(run: Run, home: Path) -> None:
    assert run("policy", "test", "keep", "text=milk", *MINE).exit_code == 3
    assert run("policy", "test", "add", "a=1", "b=2", *MINE).exit_code == 0
    assert not (home / "kept.txt").exists()
    assert run("runs", "list").stdout == ""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["policy", "test", "keep", "-p", "policy.toml", *MINE], "text: required"),
        (["policy", "test", "kep", *MINE], "there is no tool 'kep'"),
        (["policy", "lint"], "there is no policy: name a file with --policy"),
        (["policy", "lint", "-p", "gone.toml"], "the policy gone.toml can not be read"),
        (["policy", "lint", "-p", "tools.py"], "tools.py: "),
        (["call", "add", "a=1", "b=2", "-p", "gone.toml", *MINE], "the policy gone.toml can not be read"),
    ],
)
def test_what_is_wrong_is_one_line(run: Run, words: list[str], told: str) -> None:
    result = run(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert told in result.stderr
    assert result.stderr.count("\n") == 1


def test_lint_finds_nothing_in_a_policy_that_fits_its_tools(run: Run, policy: Path) -> None:
    for words in ((), MINE):
        result = run("policy", "lint", "-p", "policy.toml", *words)
        assert (result.exit_code, result.stdout) == (0, "")
    assert json.loads(run("policy", "lint", "-p", "policy.toml", "--json").stdout) == []


def test_lint_says_what_can_not_be_meant(run: Run, policy: Path) -> None:
    policy.write_text(
        """
[[rules]]
tools = "kep"
then = "deny"
[[rules]]
tools = "add"
when = "args.a < 1 && args.c > 2"
then = "allow"
require = { tool = "keep", args = { text = "string(args.d)" }, when = "true" }
[[rules]]
then = "allow"
tools = ["keep", "*"]
require = { tool = "balance", when = "check" }
[[rules]]
then = "deny"
tools = "keep"
""",
        "utf-8",
    )
    result = run("policy", "lint", "-p", "policy.toml", "--json", *MINE)
    assert result.exit_code == 1
    assert [(item["rule"].split()[0], item["problem"].split(":")[0]) for item in json.loads(result.stdout)] == [
        ("policy.toml:2:", "fits no tool there is"),
        ("policy.toml:5:", "args.c"),
        ("policy.toml:5:", "args.d"),
        ("policy.toml:5:", "requires keep, which is not declared to read only"),
        ("policy.toml:10:", "requires balance, and there is no such tool"),
        ("policy.toml:14:", "is never looked at"),
    ]
    assert run("policy", "lint", "-p", "policy.toml").stdout.count("lint") == 1


def test_lint_is_loudest_about_a_deny_that_holds_nobody_back(run: Run, policy: Path) -> None:
    policy.write_text("[[rules]]\nthen = 'allow'\nroles = []\n[[rules]]\nthen = 'deny'\nusers = []", "utf-8")
    told = run("policy", "lint", "-p", "policy.toml")
    assert told.exit_code == 1
    first, second = [line.split() for line in told.stdout.splitlines() if "policy.toml:" in line]
    assert (first[:2], second[:2]) == (["DANGER", "policy.toml:4:"], ["lint", "policy.toml:1:"])
    found = json.loads(run("policy", "lint", "-p", "policy.toml", "--json").stdout)
    assert [each["severe"] for each in found] == [True, False]


def test_a_rule_on_origins_can_be_tried_with_what_the_user_said(run: Run, policy: Path) -> None:
    policy.write_text("[[rules]]\nthen = 'deny'\nwhen = '!trusted(text)'\n[[rules]]\nthen = 'allow'", "utf-8")
    for said, text, code in (("Keep milk!", "milk", 0), ("Keep milk!", "tea", 1), ("Keep me posted", "me", 1)):
        told = run("policy", "test", "keep", f"text={text}", "--said", said, "-p", "policy.toml", *MINE)
        assert (said, text, told.exit_code) == (said, text, code)
    assert run("policy", "test", "keep", "text=milk", "-p", "policy.toml", *MINE).exit_code == 1


def test_what_a_person_types_at_actum_call_is_their_word(run: Run, home: Path, policy: Path) -> None:
    policy.write_text("[[rules]]\nthen = 'deny'\nwhen = '!from_user(text)'\n[[rules]]\nthen = 'allow'", "utf-8")
    for words in (["text=ada@x.com"], ["text=fresh milk"], ["--args", '{"text": "tea"}']):
        assert (words, run("call", "keep", *words, "-p", "policy.toml", *MINE).exit_code) == (words, 0)
    assert run("run", "go", "--model", "models.py:keep", "-p", "policy.toml", *MINE).exit_code == 0
    assert (home / "kept.txt").read_text("utf-8") == "ada@x.comfresh milktea"


@pytest.mark.parametrize("way", ["flag", "variable", "file"])
def test_a_policy_that_is_named_holds_for_every_command(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    (home / "strict.toml").write_text('[[rules]]\ntools = "keep"\nthen = "deny"\nreason = "Closed."', "utf-8")
    flag = ("--policy", "strict.toml") if way == "flag" else ()
    if way == "variable":
        monkeypatch.setenv("ACTUM_POLICY", str(home / "strict.toml"))
    elif way == "file":
        (home / "actum.toml").write_text('policy = "strict.toml"', "utf-8")
    denied = run("call", "keep", "text=milk", "--yes", *MINE, *flag)
    assert denied.exit_code == 1
    assert "keep: This is not permitted. Closed." in denied.stderr
    for words in (["run", "go"], ["chat"]):
        result = run(*words, "--model", "models.py:keep", "--yes", *MINE, *flag, input="go\n")
        assert "This is not permitted. Closed." in result.stdout
    assert not (home / "kept.txt").exists()


@pytest.mark.row("C4")
def test_a_policy_that_was_changed_while_the_run_waited_holds_when_it_goes_on(run: Run, home: Path) -> None:
    (home / "p.toml").write_text('[[rules]]\ntools = "keep"\nthen = "ask"', "utf-8")
    waiting = run("call", "keep", "text=milk", "-p", "p.toml", *MINE)
    assert waiting.exit_code == 3
    assert "--policy p.toml" in waiting.stderr
    (ask_id,) = [word for word in waiting.stderr.split() if word.startswith("ask_")]
    (home / "p.toml").write_text('[[rules]]\ntools = "keep"\nthen = "deny"', "utf-8")
    run("resume", "last", "--approve", ask_id, "-p", "p.toml", *MINE)
    assert not (home / "kept.txt").exists()
    assert "permission_denied" in run("runs", "show").stdout


def test_a_policy_without_a_default_still_asks_before_side_effects(run: Run, home: Path) -> None:
    (home / "empty.toml").write_text("", "utf-8")
    assert run("call", "keep", "text=milk", "-p", "empty.toml", *MINE).exit_code == 3
    assert run("call", "add", "a=1", "b=2", "-p", "empty.toml", *MINE).exit_code == 0


def test_lint_warns_of_a_role_of_approvers_that_nobody_has_yet(run: Run, policy: Path) -> None:
    policy.write_text("[[rules]]\nthen = 'ask'\napprovers = ['role:boss']", "utf-8")
    lint = ("policy", "lint", "-p", "policy.toml", "--json")
    assert run("policy", "test", "keep", "text=x", "-p", "policy.toml", *MINE).exit_code == 3, "it is no mistake"
    for key, words in ((), 1), (("clerk", "--role", "clerk"), 1), (("boss", "--role", "boss"), 0):
        if key:
            run("keys", "add", *key)
        told = run(*lint)
        found = json.loads(told.stdout)
        assert (told.exit_code, len(found)) == (words, words), key
        assert all("role 'boss'" in each["problem"] and not each["severe"] for each in found)
    run("keys", "revoke", "boss")
    assert run(*lint).exit_code == 1
