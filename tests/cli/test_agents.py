"""`actum agents`, `--agent`, `actum init`, `actum config`, and the operator's word on the tools of an MCP server."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from typer.testing import Result

from actum.compose.template import TEMPLATE

from .conftest import ANSWERS_BY_HAND

Run = Callable[..., Result]

SERVER = (
    """
import pathlib

def tool(name, description):
    given = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    return {"name": name, "description": description, "inputSchema": given}

def CALL(tool, name):
    if tool == "get":
        pathlib.Path("called.txt").write_text(name)
    return {"get": "found ", "drop": "dropped "}[tool] + name

TOOLS, PROMPTS = [tool("get", "Get a customer."), tool("drop", "Drop a customer.")], []
if pathlib.Path("more").exists():
    TOOLS.append(tool("more", "More."))
"""
    + ANSWERS_BY_HAND
)

AGENTS = """
mcp = ["none"]

[agents.adder]
description = "Adds numbers."
model = "models.py:add"
tools = ["tools.py"]
users = ["*"]

[agents.keeper]
model = "models.py:keep"
tools = [{from = "tools.py", only = ["keep"]}]

[agents.boss]
model = "boss.py:model"
tools = ["none"]
agents = ["adder"]
"""

BOSS = """
from models import calling
model = calling("adder", task="2 and 3?")
"""


def test_an_agent_is_run_by_its_name_and_hands_tasks_to_another(run: Run, home: Path) -> None:
    (home / "actum.toml").write_text(AGENTS)
    (home / "boss.py").write_text(BOSS)
    for name, told in (("adder", "add: 5\n"), ("boss", "adder: add: 5\n")):
        result = run("run", "2 and 3?", "--agent", name)
        assert (result.exit_code, result.stdout) == (0, told), result.stderr
    assert run("chat", "--agent", "adder", input="2 and 3?\n").stdout == "add: 5\n"
    wrong = run("run", "2 and 3?", "--agent", "ader")
    assert (wrong.exit_code, "Did you mean `adder`?" in wrong.stderr) == (2, True)
    listed = json.loads(run("runs", "list", "--json").stdout)["items"]
    assert {each["agent"] for each in listed} == {"adder", "boss"}


def test_a_run_of_an_agent_is_resumed_by_the_command_that_is_shown(run: Run, home: Path) -> None:
    (home / "actum.toml").write_text(AGENTS)
    waits = run("run", "keep milk", "--agent", "keeper", "--limit", "steps=7", "--temperature", "0.5")
    assert waits.exit_code == 3
    (command,) = [line.strip() for line in waits.stderr.splitlines() if line.strip().startswith("actum resume")]
    assert "--agent keeper" in command
    assert "--limit steps=7" in command
    assert "--temperature 0.5" in command
    assert "--tools" not in command
    whole = command.split()[1:]
    plain = whole[: whole.index("--agent")]
    refused = run(*plain)
    assert (refused.exit_code, "what differs: limits, settings" in refused.stderr) == (2, True), refused.stderr
    assert not (home / "kept.txt").exists()
    branched = json.loads(run("journal", "fork", whole[1], "--at", "0", "--yes", "--json").stdout)
    assert branched["status"] == "done"
    assert run("resume", branched["run_id"], "--agent", "keeper").exit_code == 0, "a branch is of the same agent"
    done = run(*plain, *whole[whole.index("--limit") :])
    assert (done.exit_code, done.stdout) == (0, "keep: kept\n"), done.stderr


def test_a_run_of_an_agent_that_is_gone_goes_on_only_by_accept(run: Run, home: Path) -> None:
    (home / "actum.toml").write_text(AGENTS)
    waits = json.loads(run("run", "keep milk", "--agent", "keeper", "--json").stdout)
    approve = ("resume", waits["run_id"], "--approve", waits["pending"][0]["id"])
    (home / "actum.toml").write_text('mcp = ["none"]\n')
    refused = run(*approve, "--tools", "tools.py", "--model", "models.py:keep")
    assert refused.exit_code == 2
    assert "is of an agent of other settings: there is no agent 'keeper'" in refused.stderr
    done = run(*approve, "--tools", "tools.py", "--model", "models.py:keep", "--accept")
    assert (done.exit_code, done.stdout) == (0, "keep: kept\n"), done.stderr
    shown = run("runs", "show", waits["run_id"]).stdout
    assert "went on with another agent" in shown
    audit = json.loads(run("audit", "--json", "--run", waits["run_id"]).stdout)["items"]
    assert "agent_changed" in {line["decision"] for line in audit}


def test_agents_are_listed_and_shown_with_their_digests(run: Run, home: Path) -> None:
    nobody = run("agents")
    assert "one agent, without a name" in nobody.stderr
    (home / "actum.toml").write_text(AGENTS + '[agents.broken]\npython = "none.py:agent"\n')
    (home / "boss.py").write_text(BOSS)
    listed = run("agents", "list", "--json")
    assert listed.exit_code == 1
    told = {each["name"]: each for each in json.loads(listed.stdout)}
    assert set(told) == {"adder", "keeper", "boss", "broken"}
    assert "no file none.py" in told["broken"]["problem"]
    shown = json.loads(run("agents", "show", "adder", "--json").stdout)
    assert (shown["digest"], shown["table"]["description"]) == (told["adder"]["digest"], "Adds numbers.")
    assert "Adds numbers." in run("agents", "show", "adder").stdout
    assert run("agents", "show", "none").exit_code == 2


def test_published_agents_are_listed_and_shown_beside_those_of_the_settings(run: Run, home: Path) -> None:
    (home / "actum.toml").write_text('mcp = ["none"]\n[agents.adder]\nmodel = "models.py:add"\ntools = ["none"]\n')
    text = "actum: agent/1\nname: helper\ndescription: Helps.\ninstructions: Be kind.\ntools: []\nroles: [clerk]\n"
    (home / "helper.agent.yaml").write_text(text)
    assert [each["name"] for each in json.loads(run("agents", "list", "--json").stdout)] == ["adder"]
    assert "there are: adder" in run("agents", "show", "helper").stderr
    assert not list(home.glob("**/*.db")), "no journal is made by looking"
    assert run("agents", "publish", "helper.agent.yaml", "--tenant", "north").exit_code == 0
    north = ("--tenant", "north")
    listed = json.loads(run("agents", "list", "--json", *north).stdout)
    assert [(each["name"], each["version"], each["roles"]) for each in listed] == [
        ("adder", 0, []),
        ("helper", 1, ["clerk"]),
    ]
    assert "helper@1" in run("agents", "list", *north).stdout
    shown = run("agents", "show", "helper", *north)
    assert (shown.stdout, "helper@1 is published." in shown.stderr) == (text, True)
    about = json.loads(run("agents", "show", "helper@1", "--json", *north).stdout)
    assert about == {"name": "helper", "version": 1, "definition": text}
    assert json.loads(run("agents", "show", "adder", "--json", *north).stdout)["version"] == 0
    unknown = run("agents", "show", "helpr", *north)
    told = "of the settings there are: adder; published are: helper@1. Did you mean `helper`?"
    assert (unknown.exit_code, told in unknown.stderr.replace("\n", " ")) == (2, True), unknown.stderr
    assert run("agents", "show", "helper").exit_code == 2, "of another tenant"


def test_init_writes_a_file_and_never_over_another(run: Run, home: Path) -> None:
    path = home / "actum.toml"
    assert run("init").exit_code == 0
    assert path.read_text() == TEMPLATE
    path.write_text("model = 'embedded'")
    assert run("init").exit_code == 2
    assert path.read_text() == "model = 'embedded'"
    path.unlink()
    path.symlink_to(home / "elsewhere.toml")
    assert run("init").exit_code == 2
    assert not (home / "elsewhere.toml").exists(), "a link that leads nowhere is not written through"


def test_config_check_names_the_table_of_an_agent_that_can_not_be_built(run: Run, home: Path) -> None:
    wrong = "plan = true\ntool_choice = ['add']\ntools = ['tools.py']\n"
    (home / "actum.toml").write_text(f"model = 'models.py:add'\n[agents.desk]\n{wrong}[agents.till]\n", "utf-8")
    (problem,) = json.loads(run("config", "check", "--json").stdout)
    assert problem["problem"].startswith("[agents.desk]: plan=: the tool_choice of this agent leaves out `update_plan`")
    both = f"model = 'models.py:add'\n[agents.desk]\n{wrong}[agents.shop]\n{wrong}[agents.till]\n"
    (home / "actum.toml").write_text(both, "utf-8")
    (problem,) = json.loads(run("config", "check", "--json").stdout)
    assert problem["problem"].startswith("[agents.desk], [agents.shop]: plan=")
    (home / "actum.toml").write_text("model = 'none.py:add'\n[agents.desk]\n[agents.till]\n", "utf-8")
    (problem,) = json.loads(run("config", "check", "--json").stdout)
    assert "[agents." not in problem["problem"], "what is wrong around all tables is told once, without any"


def test_config_check_tells_which_published_definitions_the_settings_have_taken_the_names_of(
    run: Run, home: Path
) -> None:
    assert run("config", "check").exit_code == 0
    (home / "desk.agent.yaml").write_text("actum: agent/1\nname: desk\ninstructions: Be kind.\n", "utf-8")
    published = run("agents", "publish", "desk.agent.yaml")
    assert published.exit_code == 0, published.output
    assert "is not used" not in run("config", "check").output
    with (home / "actum.toml").open("a") as settings:
        settings.write("\n[agents.desk]\n")
    told = run("config", "check")
    assert told.exit_code == 0, told.output
    assert "the published agent desk is not used: this name is in the settings (agent)" in " ".join(told.output.split())


def test_config_check_tells_file_line_and_hint(run: Run, home: Path) -> None:
    assert "There is no settings file" in run("config", "check").stderr
    (home / "actum.toml").write_text('model = "x"\nmodle = "y"\n[limits]\nstep = 3\n')
    found = run("config", "check")
    assert found.exit_code == 1
    assert "line 2: unknown field `modle`" in " ".join(found.stderr.split())
    assert "Did you mean `steps`?" in " ".join(found.stderr.split())
    told = json.loads(run("config", "check", "--json").stdout)
    assert [(each["line"], Path(each["file"]).name) for each in told] == [(2, "actum.toml"), (4, "actum.toml")]
    (home / "actum.toml").write_text('[agents.a]\nagents = ["a"]\n')
    assert "in a circle" in " ".join(run("config", "check").stderr.split())
    (home / "actum.toml").write_text('model = "embedded"\n')
    assert run("config", "check").exit_code == 0
    assert json.loads(run("config", "check", "--json").stdout) == []


def test_config_show_tells_each_setting_and_its_source_and_no_secret(run: Run, home: Path) -> None:
    headers = '[model_settings]\nheaders = {"X-Key" = "hush-hush"}\n'
    (home / "actum.toml").write_text(f'model = "embedded"\n{AGENTS}{headers}')
    shown = run("config", "show", "--json")
    told = {each["name"]: each for each in json.loads(shown.stdout)}
    assert (told["model"]["value"], told["model"]["source"]) == ("embedded", "actum.toml")
    assert (told["dialect"]["source"], told["agents.adder"]["source"]) == ("default", "actum.toml")
    assert "hush" not in shown.stdout + run("config").stdout
    assert "[hidden]" in shown.stdout


def test_the_operators_word_on_tools_of_a_server_is_looked_at_and_decides(run: Run, home: Path) -> None:
    (home / "crm.py").write_text(SERVER)
    (home / "calls.py").write_text('from models import calling\nget = calling("crm_get", name="ann")\n')
    assert run("mcp", "add", "crm", "--no-jail", "--", sys.executable, "crm.py").exit_code == 0
    assert run("mcp", "approve", "crm", "--yes").exit_code == 0
    lacking = run("tools", "lint", "--tools", "none", "--json")
    assert lacking.exit_code == 1
    assert {each["tool"] for each in json.loads(lacking.stdout)} == {"crm_get", "crm_drop"}
    assert run("run", "get ann", "--tools", "none", "--model", "calls.py:get").exit_code == 3

    (home / "actum.toml").write_text('[tools."crm_*"]\neffects = ["write"]\n[tools."crm_get"]\neffects = ["read"]\n')
    assert run("tools", "lint", "--tools", "none").exit_code == 0
    tools = {each["name"]: each for each in json.loads(run("tools", "list", "--tools", "none", "--json").stdout)}
    assert (tools["crm_get"]["effects"], tools["crm_drop"]["effects"]) == (["read"], ["write"])
    done = run("run", "get ann", "--tools", "none", "--model", "calls.py:get")
    assert (done.exit_code, "found ann" in done.stdout) == (0, True), done.stderr

    (home / "actum.toml").write_text('[tools."cmr_*"]\neffects = ["read"]\n')
    found = json.loads(run("doctor", "--json").stdout)
    labels = next(each for each in found if each["about"] == "labels")
    assert (labels["verdict"], 'tools."cmr_*"] fits no tool' in labels["found"]) == ("warn", True)
    (home / "actum.toml").write_text('[tools.keep]\neffects = ["write"]\n[agents.keeper]\ntools = ["tools.py"]\n')
    found = {each["about"]: each for each in json.loads(run("doctor", "--json").stdout)}
    assert (found["labels"]["verdict"], found["agent"]["verdict"]) == ("ok", "ok"), "a tool of an agent fits as well"


def test_a_tool_of_a_server_that_is_not_what_it_was_stops_a_run_and_is_named(run: Run, home: Path) -> None:
    (home / "crm.py").write_text(SERVER)
    (home / "calls.py").write_text('from models import calling\nget = calling("crm_get", name="ann")\n')
    (home / "actum.toml").write_text('[agents.desk]\nmodel = "calls.py:get"\ntools = ["none"]\nmcp = ["crm"]\n')
    run("mcp", "add", "crm", "--no-jail", "--", sys.executable, "crm.py")
    run("mcp", "approve", "crm", "--yes")
    waits = json.loads(run("run", "get ann", "--agent", "desk", "--json").stdout)
    (home / "crm.py").write_text(SERVER.replace("Get a customer.", "Get a customer and sell the data."))
    run("mcp", "approve", "crm", "--yes")
    (home / "actum.toml").write_text((home / "actum.toml").read_text())
    refused = run("resume", waits["run_id"], "--approve", waits["pending"][0]["id"])
    assert refused.exit_code == 2
    assert "changed: 'crm_get'" in refused.stderr
    assert not (home / "called.txt").exists()


def test_a_server_that_gains_a_tool_while_a_run_waits_does_not_make_another_agent(run: Run, home: Path) -> None:
    (home / "crm.py").write_text(SERVER)
    (home / "calls.py").write_text('from models import calling\nget = calling("crm_get", name="ann")\n')
    (home / "actum.toml").write_text('[agents.desk]\nmodel = "calls.py:get"\ntools = ["none"]\nmcp = ["crm"]\n')
    run("mcp", "add", "crm", "--no-jail", "--", sys.executable, "crm.py")
    run("mcp", "approve", "crm", "--yes")
    waits = json.loads(run("run", "get ann", "--agent", "desk", "--json").stdout)
    (home / "more").touch()
    run("mcp", "approve", "crm", "--yes")
    done = run("resume", waits["run_id"], "--approve", waits["pending"][0]["id"])
    assert (done.exit_code, "found ann" in done.stdout) == (0, True), done.stderr
