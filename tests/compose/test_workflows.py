"""Workflows of the settings: found by their names, and refused where a name means two things."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from actum import tool
from actum.cli.app import app
from actum.compose.settings import Settings, WorkflowTable, read_settings
from actum.compose.workflows import open_workflows
from actum.core.errors import UnknownName, UsageError
from actum.journal.memory import MemoryJournal

DESK = """\
actum: workflow/1
name: anything
inputs: {type: object, required: [city], properties: {city: {type: string}}}
nodes:
  greet: {type: tool, tool: greet, with: {city: "${inputs.city}"}}
edges: []
outputs: {said: "${greet.output}"}
"""
TOOLS = '''\
from actum import tool


@tool(effects={"spend"}, approval=True)
def greet(city: str) -> str:
    """Greet a city."""
    return f"Hello, {city}!"
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "desk.workflow.yaml").write_text(DESK)
    (tmp_path / "tools.py").write_text(TOOLS)
    (tmp_path / "actum.toml").write_text(
        'journal = "runs.db"\ntools = ["none"]\n[workflows.desk]\nfile = "desk.workflow.yaml"\ntools = ["tools.py"]\n'
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])  # a command adds its folder
    return tmp_path


def test_run_check_and_resume_find_a_workflow_of_the_settings_by_its_name(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(*words: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            app(list(words))
        out, err = capsys.readouterr()
        return int(str(ended.value.code or 0)), out + err

    assert said("workflow", "check", "desk")[0] == 0
    code, text = said("workflow", "run", "desk", "city=Oslo", "--json")
    assert '"status": "paused"' in text
    ask = text.split('"id": "')[1].split('"')[0]
    code, text = said("resume", "last", "--approve", ask)
    assert (code, "Hello, Oslo!" in text) == (0, True)
    code, text = said("workflow", "run", "desk", "city=Rome", "--only", "greet", "--json")  # one node, likewise
    ask = text.split('"id": "')[1].split('"')[0]
    code, text = said("resume", "last", "--approve", ask)
    assert (code, '{"output":"Hello, Rome!"' in text) == (0, True)
    code, text = said("workflow", "run", "dsk", "city=Oslo")
    assert code == 2
    assert "Did you mean `desk`?" in text


def test_a_name_that_means_two_things_is_refused(folder: Path) -> None:
    for other in ('[agents.desk]\ninstructions = "x"', '[models.desk]\nupstreams = ["openai:gpt-5"]'):
        with (folder / "actum.toml").open("a") as file:
            file.write(other + "\n")
        with pytest.raises(UsageError, match="desk"):
            read_settings(folder, {}, {})
        (folder / "actum.toml").write_text("".join((folder / "actum.toml").read_text().split(other + "\n")))
    for name in ("api", "mcp", "agent", "call"):
        (folder / "actum.toml").write_text(f'[workflows.{name}]\nfile = "desk.workflow.yaml"\n')
        with pytest.raises(UsageError, match="take another name"):
            read_settings(folder, {}, {})


def test_a_server_checks_its_workflows_when_it_starts(folder: Path) -> None:
    @tool
    def desk() -> str:
        """A tool that is called like the workflow."""
        return ""

    async def scenario(settings: Settings, *tools: object, agents: tuple[str, ...] = ()) -> None:
        async with open_workflows(settings, {}, folder, journal=MemoryJournal()) as workflows:
            await workflows.check_names(tools, agents)  # type: ignore[arg-type]

    table = WorkflowTable(file="desk.workflow.yaml", tools=("tools.py",))
    good = Settings(tools=("none",), workflows={"desk": table})
    asyncio.run(scenario(good))
    with pytest.raises(UsageError, match="means two things: a tool"):
        asyncio.run(scenario(good, desk))
    with pytest.raises(UsageError, match="means two things: an agent"):
        asyncio.run(scenario(good, agents=("desk",)))
    for wrong, told in (
        (WorkflowTable(file="none.yaml"), "can not be read"),
        (WorkflowTable(file="desk.workflow.yaml", tools=("none",)), "no tool 'greet'"),
    ):
        with pytest.raises(UsageError, match=told):
            asyncio.run(scenario(Settings(tools=("none",), workflows={"desk": wrong})))


def test_an_unknown_name_is_told_with_a_near_one(folder: Path) -> None:
    async def scenario() -> None:
        settings = Settings(tools=("none",), workflows={"desk": WorkflowTable(file="desk.workflow.yaml")})
        async with open_workflows(settings, {}, folder, journal=MemoryJournal()) as workflows:
            with pytest.raises(UnknownName, match="Did you mean `desk`"):
                workflows.get("deks")

    asyncio.run(scenario())
