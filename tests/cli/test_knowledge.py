"""`actum knowledge`: a person makes collections of folders, searches them, and sees what can not be read."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

pytestmark = pytest.mark.row("F8")

MODEL = """
from actum import ToolCall
from actum.core.message import Reply
from actum.testing import ScriptedModel

calls = [("search", {"query": "hotel"}), ("click", {"number": 0}), ("quote", {"text": "A hotel may cost 120 euros."})]
quotes = ScriptedModel([*(Reply.of(calls=[ToolCall("c", name, given)]) for name, given in calls), "120 euros [1]."])
"""
Run = Callable[..., Result]
RECORD = ("--journal", "runs.db")


def test_a_folder_is_added_shown_searched_updated_and_removed(run: Run) -> None:
    folder = Path("docs")
    folder.mkdir()
    (folder / "travel.md").write_text("# Travel\n\nA hotel may cost 120 euros.\n")
    (folder / "photo.jpg").write_text("x")
    added = run("knowledge", "add", "rules", "docs", "--reader", "role:staff", *RECORD)
    assert "1 read, 0 unchanged, 0 removed, 1 with problems" in added.stdout
    assert "rules is read by its owner and by role:staff." in added.stdout
    assert "photo.jpg: files of this kind are not read" in added.stderr
    again = run("knowledge", "add", "rules", "docs", *RECORD)
    assert again.exit_code != 0
    assert "the name 'rules' is taken" in again.stderr
    shown = run("knowledge", "show", "rules", *RECORD)
    assert "photo.jpg: files of this kind are not read" in shown.stderr
    assert "A hotel may cost 120 euros." in run("knowledge", "search", "rules", "cost of a hotel", *RECORD).stdout
    found = json.loads(run("knowledge", "search", "rules", "hotel", "--json", *RECORD).stdout)["results"]
    assert [(each["document"], each["lines"]) for each in found] == [("travel.md", [1, 3])]
    (folder / "travel.md").write_text("A hostel.")
    told = json.loads(run("knowledge", "update", "rules", "--json", *RECORD).stdout)
    assert (told["read"], told["unchanged"], [each["document"] for each in told["problems"]]) == (1, 0, ["photo.jpg"])
    assert "0 read, 1 unchanged, 0 removed, 1 with problems" in run("knowledge", "update", *RECORD).stdout
    assert "its owner alone" in run("knowledge", "readers", "rules", "owner", *RECORD).stdout
    wrong = run("knowledge", "readers", "rules", "bob", *RECORD)
    assert "'bob' is no reader: write user:NAME, role:NAME, all" in wrong.stderr
    assert [each["name"] for each in json.loads(run("knowledge", "list", "--json", *RECORD).stdout)["items"]] == [
        "rules"
    ]
    assert "is removed" in run("knowledge", "remove", "rules", *RECORD).stdout
    for command in (("search", "rules", "hotel"), ("show", "rules"), ("update", "rules")):
        refused = run("knowledge", *command, *RECORD)
        assert refused.exit_code != 0
        assert "there is no" in refused.stderr
    assert "there is no collection" in run("knowledge", "update", *RECORD).stderr
    assert "none is no folder" in run("knowledge", "add", "other", "none", *RECORD).stderr


def test_the_quotes_of_a_run_are_checked_once_more_and_a_failed_one_ends_with_1(run: Run) -> None:
    Path("docs").mkdir()
    Path("docs/travel.md").write_text("# Travel\n\nA hotel may cost 120 euros.\n")
    Path("models.py").write_text(MODEL)
    run("knowledge", "add", "rules", "docs", *RECORD)
    answered = run("run", "What may a hotel cost?", "--model", "models.py:quotes", "--tools", "browser", *RECORD)
    assert "120 euros [1]." in answered.stdout, answered.output
    assert run("knowledge", "update", "rules", *RECORD).exit_code == 0  # a run of its own, which quotes nothing
    shown = run("references", "last", *RECORD)
    assert (shown.exit_code, "knowledge:rules/travel.md:3-3" in shown.stdout) == (0, True)
    assert "“A hotel may cost 120 euros”" in shown.stdout
    checked = json.loads(run("references", "last", "--json", *RECORD).stdout)
    (told,) = checked["references"]
    assert (told["number"], told["place"]["lines"], told["verified"]) == (1, [3, 3], True)
    assert json.loads(
        run("run", "Hi", "--model", "models.py:quotes", "--tools", "knowledge:rules", "--json", *RECORD).stdout
    )
    with sqlite3.connect("runs.db") as database:
        altered = "CAST(replace(CAST(payload AS TEXT), '120', '130') AS BLOB)"
        database.execute(f"UPDATE kept_of_runs SET payload = {altered}")
    failed = run("references", checked["run"], *RECORD)
    assert failed.exit_code == 1
    assert "[1] failed: the page that was read was altered" in failed.stderr


def test_a_reference_that_an_answer_cites_again_stands_in_the_json_of_its_turn(run: Run) -> None:
    Path("docs").mkdir()
    Path("docs/travel.md").write_text("# Travel\n\nA hotel may cost 120 euros.\n")
    Path("models.py").write_text(f"{MODEL}\nagain = ScriptedModel(['Yes, 120 euros [1].', 'So, 120 euros [1].'])\n")
    Path("actum.toml").write_text('journal = "runs.db"\ntools = ["browser"]\ncite = "mark"\n')
    run("knowledge", "add", "rules", "docs")
    talk = ("--conversation", "c1", "--json", "--model")
    first = json.loads(run("run", "What may a hotel cost?", *talk, "models.py:quotes").stdout)
    later = json.loads(run("run", "Sure?", *talk, "models.py:again").stdout)
    chatted = json.loads(run("chat", *talk, "models.py:again", input="Really?\n").stdout)
    (reference,) = first["references"]
    assert (reference["number"], reference["quote"]) == (1, "A hotel may cost 120 euros")
    assert first["references"] == later["references"] == chatted["references"]
    assert (later["text"], chatted["text"]) == ("Yes, 120 euros [1].", "So, 120 euros [1].")


def test_agents_whose_callers_can_not_read_what_they_have_are_told_with_the_command_that_lets_them(run: Run) -> None:
    Path("docs").mkdir()
    Path("docs/travel.md").write_text("# Travel\n\nA hotel may cost 120 euros.\n")
    desk = '[agents.desk]\ntools = ["knowledge:rules"]\nroles = ["staff", "guests"]\n'
    Path("actum.toml").write_text(f'journal = "runs.db"\n{desk}')
    assert "not all who may use this agent" not in run("config", "check").stderr
    run("knowledge", "add", "rules", "docs", "--reader", "role:staff")
    let = "actum knowledge readers rules role:staff role:guests"
    told = run("config", "check")
    assert (told.exit_code, f"collection rules: {let}" in told.stderr) == (0, True), told.output
    assert let in run("doctor", "--json").stdout
    assert let in run("knowledge", "show", "rules").stderr
    assert let in run("knowledge", "show", "rules", "--json").stdout
    run(*let.split()[1:])
    assert "not all who may use this agent" not in run("config", "check").stderr


def test_agents_in_code_and_collections_of_every_tenant_are_looked_at_as_well(run: Run) -> None:
    Path("docs").mkdir()
    Path("docs/travel.md").write_text("# Travel\n\nA hotel may cost 120 euros.\n")
    Path("desk.py").write_text(
        "from actum import Agent\nfrom actum.browser import Browser\nfrom actum.testing import ScriptedModel\n"
        'inner = Agent(ScriptedModel([]), [Browser(["rules"])], name="inner")\n'
        'desk = Agent(ScriptedModel([]), [Agent(ScriptedModel([]), [inner], name="middle")])\n'
    )
    in_code = '[agents.desk]\npython = "desk.py:desk"\nroles = ["guests"]\n[agents.outer]\nagents = ["desk"]\n'
    Path("actum.toml").write_text(f'journal = "runs.db"\nmodel = "embedded"\n{in_code}')
    run("knowledge", "add", "rules", "docs", "--reader", "role:staff")
    Path("helper.yaml").write_text('actum: agent/1\nname: helper\ntools: ["knowledge:plans"]\nroles: [guests]\n')
    run("knowledge", "add", "plans", "docs", "--tenant", "acme")
    assert run("agents", "publish", "helper.yaml", "--tenant", "acme").exit_code == 0
    let = (
        "desk: not all who may use this agent can read the collection rules: "
        "actum knowledge readers rules role:staff role:guests"
    )
    let_acme = "actum knowledge readers plans role:guests --tenant acme"
    checked, seen = run("config", "check"), run("doctor", "--json").stdout
    assert let in checked.stderr
    assert "outer: not all who may use this agent can read the collection rules: " in checked.stderr
    assert f"helper: not all who may use this agent can read the collection plans: {let_acme}" in checked.stderr
    assert let.partition(": actum")[0] in seen
    assert let_acme in seen
    assert run(*let_acme.split()[1:]).exit_code == 0
    assert "helper: not all" not in run("config", "check").stderr


def test_published_agents_whose_callers_can_not_read_what_they_have_are_told_as_well(run: Run) -> None:
    Path("docs").mkdir()
    Path("docs/travel.md").write_text("# Travel\n\nA hotel may cost 120 euros.\n")
    Path("actum.toml").write_text('journal = "runs.db"\nmodel = "embedded"\n')
    assert "not all who may use this agent" not in run("config", "check").stderr
    assert not Path("runs.db").exists()
    Path("helper.yaml").write_text('actum: agent/1\nname: helper\ntools: ["knowledge:rules"]\nroles: [guests]\n')
    published = run("agents", "publish", "helper.yaml")
    assert published.exit_code == 0, published.output
    run("knowledge", "add", "rules", "docs", "--reader", "role:staff")
    let = "actum knowledge readers rules role:staff role:guests"
    assert (
        f"helper: not all who may use this agent can read the collection rules: {let}" in run("config", "check").stderr
    )
    assert let in run("doctor", "--json").stdout
    assert let in run("knowledge", "show", "rules").stderr
    run("agents", "unpublish", "helper")
    assert "not all who may use this agent" not in run("config", "check").stderr


def test_an_agent_that_reaches_a_collection_by_a_workflow_of_the_settings_is_told_as_well(run: Run) -> None:
    Path("docs").mkdir()
    Path("flow.yaml").write_text(
        "actum: workflow/1\nname: flow\ninputs: {ask: {type: string}}\nnodes:\n"
        '  find: {type: knowledge, tool: search_rules, query: "${inputs.ask}"}\n'
        'outputs: {text: "${find.output}"}\n'
    )
    flow = '[workflows.flow]\nfile = "flow.yaml"\ntools = ["knowledge:rules"]\n'
    Path("actum.toml").write_text(f'journal = "runs.db"\nmodel = "embedded"\n{flow}')
    run("knowledge", "add", "rules", "docs", "--reader", "role:staff")
    Path("helper.yaml").write_text("actum: agent/1\nname: helper\ntools: [flow]\n")
    published = run("agents", "publish", "helper.yaml")
    assert published.exit_code == 0, published.output
    let = "helper: not all who may use this agent can read the collection rules: actum knowledge readers rules all"
    for command in (("config", "check"), ("knowledge", "show", "rules")):
        assert let in run(*command).stderr, command
