"""What is wrong with a settings file is told whole: each mistake with file, line and hint."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from actum.compose.models import make_model
from actum.compose.settings import (
    AgentTable,
    SettingsFile,
    TaskSettings,
    ToolSource,
    choose_agent,
    find_mistakes,
    read_settings,
    shown_settings,
)
from actum.compose.template import TEMPLATE
from actum.core.errors import UsageError
from actum.core.run.task import Backoff
from actum.core.run.task_request import TaskDefaults
from actum.toolsets.wrappers import ToolLabels

FILE = '''modle = "x"
instructions = """
model = 7
[limits]
"""
truncation = "sometimes"
tools = ["everyday"]

[limits]
stepps = 3
calls = "many"
tools."pay*".cals = 1

[model_settings]
temperature = -1

[agents.desk]
modell = "x"
memory = "some"
"limits".steps = 0

[agents.other.limits]
users.runns = 1

[prices."m"]
input = "1"
'''


def test_every_mistake_of_a_file_has_its_line_and_what_was_meant(tmp_path: Path) -> None:
    path = tmp_path / "actum.toml"
    path.write_text(FILE)
    found = {mistake.line: mistake for mistake in find_mistakes(path)}
    expected = {
        1: ("unknown field `modle`", "Did you mean `model`?"),
        6: ("truncation", ""),
        10: ("unknown field `stepps`", "Did you mean `steps`?"),
        11: ("`limits.calls`: give a whole number, not a text", ""),
        12: ("unknown field `cals`", "Did you mean `calls`?"),
        15: ("temperature=-1", ""),
        18: ("unknown field `modell`", "Did you mean `model`?"),
        19: ("memory", ""),
        20: ("steps=0", ""),
        23: ("unknown field `runns`", "Did you mean `runs`?"),
        25: ("`output`", ""),
    }
    assert sorted(found) == sorted(expected), [mistake.text for mistake in found.values()]
    for line, (problem, hint) in expected.items():
        assert problem in found[line].problem, found[line]
        assert hint in found[line].hint, found[line]
    with pytest.raises(UsageError, match=r"actum.toml, line \d+: .*\(10 more: `actum config check`\)"):
        read_settings(tmp_path, {}, {})


def test_a_file_that_is_no_toml_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "actum.toml"
    for content, line in ((b"model = 'x'\n\nmodel = \n", 3), (b"\xff\xfe", 0), (b"a = 1\na = 2", 2)):
        path.write_bytes(content)
        (mistake,) = find_mistakes(path)
        assert (mistake.line, "can not be read" in mistake.problem) == (line, True), mistake
    assert find_mistakes(tmp_path / "none.toml") == []


@pytest.mark.row("F9")
def test_a_collector_that_is_no_address_is_told_what_an_address_is_and_no_pattern(tmp_path: Path) -> None:
    path = tmp_path / "actum.toml"
    path.write_text('[telemetry]\nendpoint = "collector:4318"\n')
    (mistake,) = find_mistakes(path)
    said = "`telemetry.endpoint`: give the address of a collector, such as http://collector:4318"
    assert (mistake.line, mistake.problem) == (2, said)


def test_labels_and_places_of_tools_stand_in_one_table(tmp_path: Path) -> None:
    path = tmp_path / "actum.toml"
    path.write_text(
        '[tools]\nuse = ["x.py", {from = "y.py", prefix = "y_", only = ["get_*"], rename = {a = "b"}}]\n'
        '[tools."crm_*"]\neffects = ["read"]\ntimeout = 5\n[tools.use_it]\napproval = true\n'
    )
    settings = read_settings(tmp_path, {}, {})
    source = ToolSource(source="y.py", prefix="y_", only=("get_*",), rename={"a": "b"})
    assert settings.tools == ("x.py", source)
    assert settings.tool_labels == {
        "crm_*": ToolLabels(effects=frozenset({"read"}), timeout_s=5.0),
        "use_it": ToolLabels(approval=True),
    }
    path.write_text('[tools."crm_*"]\n')
    settings = read_settings(tmp_path, {}, {})
    assert (settings.tools, settings.tool_labels) == (("everyday",), {"crm_*": ToolLabels()}), (
        "an empty table says nothing"
    )
    for text, told in {
        '[tools."crm_*"]\neffect = ["read"]': r"line 2: unknown field `effect`\. The .*Did you mean `effects`",
        '[tools."crm_*"]\neffects = ["look"]': "line 2: .*there is no 'look'",
        '[tools."crm_*"]\nlabels = {salary = "personal"}': "line 2: there is no label `personal`",
        '[tools."crm_*"]\ntimeout = 0': "line 2: timeout = 0",
        '[tools]\nuze = ["x"]': "line 2: unknown field `uze`.*Did you mean `use`",
        "[tools]\nuse = 7": "give a list, not a whole number",
        '[tools]\nuse = [{form = "x.py"}]': r"`tools\[0\]`: (unknown field `form`|write `from`)",
        "tool_labels = {}": "unknown field `tool_labels`",
        "[agents.a]\n[agents]\nb = 7": "line 3: .*give a table, not a whole number",
        "[agents]\nb = 7\n[agents.a]\n": "line 2: .*give a table, not a whole number",
        "agents = [1]": "give a table, not a list",
        "agents.a = {}\nagents.b = 1": "line 2: .*give a table, not a whole number",
        'tools."x" = "y"': "unknown field `x`",
        "sources = {}": "unknown field `sources`",
        "of_agents = {}": "unknown field `of_agents`",
    }.items():
        path.write_text(text)
        with pytest.raises(UsageError, match=told):
            read_settings(tmp_path, {}, {})


def test_the_template_is_a_file_of_comments_that_names_every_setting_and_is_right_when_it_is_set(
    tmp_path: Path,
) -> None:
    path = tmp_path / "actum.toml"
    path.write_text(TEMPLATE)
    assert all(line.startswith("#") or not line for line in TEMPLATE.splitlines())
    read, unset = (read_settings(folder, {}, {}) for folder in (tmp_path, tmp_path / "none"))
    assert structs.replace(read, origin=None) == structs.replace(unset, origin=None)
    set_all = re.sub(r"^#(?! )", "", TEMPLATE, flags=re.MULTILINE)
    path.write_text(set_all)
    assert find_mistakes(path) == []
    names = {re.split(r"[ .\[\]=]", line.lstrip("["))[0] for line in set_all.splitlines() if line and line[0] != "#"}
    assert set(SettingsFile.__struct_fields__) - {"tool_labels", "tool_modules", "features"} <= names | {"prices"}
    fields = {*ToolLabels.__struct_encode_fields__, *AgentTable.__struct_fields__} - set(SettingsFile.__struct_fields__)
    assert fields - {"output"} <= names
    tasks = tomllib.loads(set_all)["tasks"]
    defaults = msgspec.to_builtins(TaskSettings())
    assert tasks == {**defaults, "broker": "redis://127.0.0.1:6379/0", "webhook_secrets": ["webhook"]}
    of_tool = tomllib.loads(set_all)["tools"]["crm_*"]["tasks"]
    assert of_tool.keys() == set(TaskDefaults.__struct_fields__)
    assert msgspec.convert(of_tool["backoff"], Backoff) == Backoff()


def test_the_settings_are_shown_without_secrets(tmp_path: Path) -> None:
    (tmp_path / "actum.toml").write_text(
        'model = "a"\njournal = "postgresql://ann:hush@host/db"\n[model_settings]\nheaders = {"X-Key" = "hush1"}\n'
        'extras = {api_key = "hush3"}\n[agents.desk]\nmodel = "x"\n[tools."crm_*"]\napproval = true\n'
    )
    read = read_settings(tmp_path, {}, {})
    shown = shown_settings(read)
    assert (shown["agents.desk"], shown['tools."crm_*"']) == ({"model": "x"}, {"approval": True})
    settings = shown["model_settings"]
    assert isinstance(settings, dict)
    assert settings["headers"] == {"X-Key": "[hidden]"}
    assert "hush" not in repr(shown)
    assert "hush" not in repr(read)


def test_an_agents_table_of_the_folder_does_not_decide_where_a_persons_key_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "actum.toml").write_text('[agents.desk]\nbase_url = "https://evil.example/v1"\nmodel = "m"\n')
    monkeypatch.setenv("ACTUM_API_KEY", "hush")
    settings = choose_agent(read_settings(tmp_path, {}, {}), "desk")
    with pytest.raises(UsageError, match="ACTUM_API_KEY would be sent there"):
        make_model(settings)


def test_who_writes_watch_hears_that_a_folder_of_scripts_is_always_read_again(tmp_path: Path) -> None:
    file = tmp_path / "actum.toml"
    file.write_text('[tools]\nuse = ["scripts/"]\nwatch = true\n')
    told = "A folder of scripts is always read again when a script is added, changed or removed: leave the line out"
    assert [each.text for each in find_mistakes(file)] == [f"{file}, line 3: `watch` is no setting. {told}"]
    file.write_text('tools = [{from = "scripts/", watch = true}]\n')
    assert [each.text for each in find_mistakes(file)] == [f"{file}, line 1: `tools[0]`: unknown field `watch`"]
