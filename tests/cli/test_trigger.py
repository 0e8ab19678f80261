"""`actum trigger`: triggers are added to the settings of a folder, listed, fired and removed."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

pytestmark = pytest.mark.row("A6")

Run = Callable[..., Result]
LAMP = "actum: workflow/1\nname: lamp\nnodes: {hi: {type: say, text: Hi.}}\nedges: []\n"


def settings() -> dict[str, object]:
    return tomllib.loads(Path("actum.toml").read_text("utf-8"))


def test_a_trigger_is_added_listed_fired_once_and_removed_and_the_rest_of_the_file_stays(run: Run) -> None:
    Path("lamp.workflow.yaml").write_text(LAMP, "utf-8")
    before = '# mine\ninstructions = "Be brief."\n\n[workflows.lamp]\nfile = "lamp.workflow.yaml"\n'
    Path("actum.toml").write_text(before, "utf-8")
    added = run("trigger", "add", "press", "--workflow", "lamp", "--secret", "switch", "--signature", "github")
    assert (added.exit_code, "POST /v1/triggers/press" in added.stderr) == (0, True), added.stderr
    assert run("trigger", "add", "dawn", "--workflow", "lamp", "--schedule", "0 7 * * *").exit_code == 0
    assert settings()["triggers"] == {
        "press": {"workflow": "lamp", "secret": "switch", "signature": "github"},
        "dawn": {"workflow": "lamp", "schedule": "0 7 * * *"},
    }
    listed = run("trigger", "list")
    assert [line.split()[0] for line in listed.stdout.splitlines()] == ["press", "dawn"]
    assert json.loads(run("trigger", "list", "--json").stdout)["dawn"]["schedule"] == "0 7 * * *"

    record = ("--journal", "runs.db")
    first = run("trigger", "fire", "press", "--data", "{}", "--id", "e1", "--json", *record)
    again = run("trigger", "fire", "press", "--data", "{}", "--id", "e1", "--json", *record)
    told = [json.loads(each.stdout) for each in (first, again)]
    assert [each["how"] for each in told] == ["begun", "known"]
    assert len({each["run_id"] for each in told}) == 1
    assert told[0]["run_id"] in run("tasks", "list", *record).stdout

    for name in ("press", "dawn"):
        assert run("trigger", "remove", name).exit_code == 0
    assert Path("actum.toml").read_text("utf-8").rstrip() == before.rstrip()


def test_what_can_not_be_a_trigger_is_refused_and_the_file_stays_as_it_is(run: Run) -> None:
    before = 'triggers = {plan = {wake = "x", file = "plan.txt"}}\n'
    Path("actum.toml").write_text(before, "utf-8")
    for words, message in (
        (("add", "t"), "one of workflow, agent and wake"),
        (("add", "t t", "--workflow", "lamp"), "can not be called"),
        (("add", "plan", "--workflow", "lamp"), "already"),
        (("add", "t", "--workflow", "lamp", "--signature", "rot13"), "signature"),
        (("add", "t", "--workflow", "lamp", "--schedule", "daily"), "five fields"),
        (("add", "t", "--agent", "desk"), "say ="),
        (("remove", "t"), "there is no trigger"),
        (("remove", "plan"), "by hand"),
        (("fire", "t", "--journal", "runs.db"), "there is no trigger"),
        (("fire", "plan", "--data", "{", "--journal", "runs.db"), "no JSON"),
    ):
        refused = run("trigger", *words)
        assert (refused.exit_code, message in refused.stderr) == (2, True), (words, refused.stderr)
        assert "Traceback" not in refused.output
    assert Path("actum.toml").read_text("utf-8") == before
