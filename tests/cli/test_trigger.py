"""`actum trigger`: triggers are added to the settings of a folder, listed, fired and removed."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from actum.compose.settings import read_settings
from actum.compose.triggers import trigger_desk, trigger_secrets

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
    record = ("--journal", "runs.db")
    listed = run("trigger", "list", *record)
    assert [line.split()[0] for line in listed.stdout.splitlines() if line[:1] in "pd"] == ["press", "dawn"], (
        listed.stdout
    )
    dawn = json.loads(run("trigger", "list", "--json", *record).stdout)["items"][1]
    assert (dawn["name"], dawn["schedule"], dawn["paused"]) == ("dawn", "0 7 * * *", False)

    paused = run("trigger", "pause", "press", *record)
    assert (paused.exit_code, "press is paused" in paused.stderr) == (0, True), paused.stderr
    refused = run("trigger", "fire", "press", "--data", "{}", *record)
    assert (refused.exit_code, "actum trigger resume press" in refused.stderr) == (2, True), refused.stderr
    assert "paused" in run("trigger", "list", *record).stdout
    assert run("trigger", "resume", "press", *record).exit_code == 0
    assert run("trigger", "pause", "none", *record).exit_code == 2
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


def test_a_workflow_that_is_published_later_or_under_another_name_is_begun_when_it_is_there(run: Run) -> None:
    record = ("--journal", "runs.db")
    Path("actum.toml").write_text(
        '[triggers.press]\nworkflow = "lamp"\n[triggers.second]\nworkflow = "lamp@2"\n'
        '[triggers.theirs]\nworkflow = "lamp"\ntenant = "north"\n',
        "utf-8",
    )

    def fired(name: str, data: str = "{}") -> Result:
        return run("trigger", "fire", name, "--data", data, "--id", "e1", "--json", *record)

    def publish(text: str) -> None:
        Path("lamp.workflow.yaml").write_text(text, "utf-8")
        assert run("workflow", "publish", "lamp.workflow.yaml", *record).exit_code == 0

    away = fired("press")
    assert (away.exit_code, "is not there" in away.stderr, "lamp" in away.stderr) == (2, True, True), away.stderr
    publish(LAMP)
    begun = json.loads(fired("press").stdout)
    assert begun["how"] == "begun"
    for name in ("second", "theirs"):  # another publication, and those of another tenant
        assert "is not there" in fired(name).stderr
    publish(LAMP.replace("nodes:", "inputs: {type: object, required: [room]}\nnodes:"))
    assert "room" in fired("second").stderr  # the inputs of the new one do not fit
    assert json.loads(fired("second", '{"room": "hall"}').stdout)["how"] == "begun"
    assert json.loads(fired("press").stdout) == begun | {"how": "known"}
    assert len(run("tasks", "list", *record).stdout.splitlines()) >= 2


def test_a_secret_of_one_tenant_signs_nothing_for_another(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACTUM_SECRETS_KEY", "0123456789abcdef" * 4)
    Path("actum.toml").write_text(
        "".join(
            f'[triggers.{tenant}]\nwake = "x"\nsecret = ["switch", "switch_new"]\ntenant = "{tenant}"\n'
            for tenant in ("north", "south", "east")
        ),
        "utf-8",
    )
    for tenant in ("north", "south"):
        done = run("secrets", "set", "switch", "--tenant", tenant, input=f"of-{tenant}\n")
        assert done.exit_code == 0, done.output
    read = read_settings(Path.cwd(), os.environ, {})
    assert trigger_secrets(read, os.environ, "north") == ["of-north", ""]
    assert trigger_secrets(read, os.environ, "south") == ["of-south", ""]
    assert trigger_secrets(read, os.environ, "east") == ["", ""]


async def test_a_program_tells_a_trigger_of_an_event_and_the_same_id_is_the_same_event(home: Path) -> None:
    (home / "lamp.workflow.yaml").write_text(LAMP, "utf-8")
    (home / "actum.toml").write_text(
        'journal = "runs.db"\n[workflows.lamp]\nfile = "lamp.workflow.yaml"\n[triggers.press]\nworkflow = "lamp"\n',
        "utf-8",
    )
    async with trigger_desk(read_settings(Path.cwd(), os.environ, {}), os.environ, home) as desk:
        taken = [await desk.fire("press", {"room": "hall"}, id="e1") for _ in range(2)]
        other = await desk.fire("press", {"room": "hall"})
    assert [each.how for each in (*taken, other)] == ["begun", "known", "begun"]
    assert len({taken[0].run_id, taken[1].run_id, other.run_id}) == 2
