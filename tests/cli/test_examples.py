"""`actum examples`: the worked examples are listed in the reader's language, and copied with what they import."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from actum.cli.guides.examples import worked_examples
from tests.patience import HANGS_S
from tests.sources import ROOT

Run = Callable[..., Result]


def test_every_folder_is_listed_in_both_languages(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = {
        path.parent.name for end in ("main.py", "pyproject.toml") for path in (ROOT / "examples").glob(f"*/{end}")
    }
    assert {each["name"] for each in json.loads(run("examples", "list", "--json").stdout)} == folders
    english = worked_examples()
    monkeypatch.setenv("ACTUM_LANG", "zh")
    chinese = worked_examples()
    assert [(each.name, each.needs) for each in chinese] == [(each.name, each.needs) for each in english]
    assert "模型" in run("examples", "list").stdout


def test_a_copy_runs_in_a_folder_that_has_nothing_else(run: Run, tmp_path: Path) -> None:
    told = run("examples", "copy", "weather_prompt_json", "--into", str(tmp_path)).stderr
    main = tmp_path / "examples" / "weather_prompt_json" / "main.py"
    assert "Start it: python" in told
    assert "examples/weather_prompt_json/main.py" in told
    command = [sys.executable, "-P", str(main)]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=HANGS_S, check=True)
    page = (ROOT / "docs" / "examples.md").read_text("utf-8")
    *steps, answer = [line.split("·")[0].strip() for line in ended.stdout.splitlines()[:4]]
    assert answer == "answer  北京今天晴，气温 26℃。"
    assert all(line in page for line in [*steps, answer])
    assert not (tmp_path / "examples" / "drone_desk").exists()


def test_every_example_can_be_copied_whole(run: Run, tmp_path: Path) -> None:
    for example in worked_examples():
        run("examples", "copy", example.name, "--into", str(tmp_path))
    there = {path.relative_to(ROOT / "examples") for path in (ROOT / "examples").rglob("*.py")}
    copied = {path.relative_to(tmp_path / "examples") for path in (tmp_path / "examples").rglob("*.py")}
    assert copied == {path for path in there if ".clients" not in path.parts}


def test_a_file_that_was_changed_is_never_written_over(run: Run, tmp_path: Path) -> None:
    changed = tmp_path / "examples" / "watch.py"
    changed.parent.mkdir()
    changed.write_text("mine", "utf-8")
    refused = run("examples", "copy", "drone_desk", "--into", str(tmp_path))
    assert (refused.exit_code, "examples/watch.py" in refused.stderr) == (2, True)
    assert [path.name for path in changed.parent.iterdir()] == ["watch.py"]
    assert changed.read_text("utf-8") == "mine"


@pytest.mark.parametrize(("name", "told"), [("drone_desc", "drone_desk"), ("zzz", "actum examples list")])
def test_a_name_that_is_none_is_told_with_what_is_near(run: Run, name: str, told: str) -> None:
    refused = run("examples", "copy", name)
    assert (refused.exit_code, told in refused.stderr) == (2, True)
