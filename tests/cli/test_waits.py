"""`actum workflow run` where the workflow waits: a short wait is waited out, of a long one is told how it goes on."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from .conftest import Run

FLOW = """\
actum: workflow/1
name: {name}
nodes:
  pause: {{type: wait, for: {seconds}}}
  then: {{type: say, text: "Good morning."}}
edges: [pause > then]
"""


def flow(folder: Path, name: str, seconds: str) -> str:
    (folder / f"{name}.workflow.yaml").write_text(FLOW.format(name=name, seconds=seconds), "utf-8")
    return f"./{name}.workflow.yaml"


def test_a_short_wait_is_waited_out_and_of_a_long_one_is_told_when_and_how_the_run_goes_on(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = run("workflow", "run", flow(home, "nap", "0.3s"))
    assert (short.exit_code, short.stdout) == (0, "Good morning.\n")
    assert re.search(r"waits until \d\d:\d\d:\d\d", short.stderr)
    paused = run("workflow", "run", flow(home, "night", "8h"))
    assert (paused.exit_code, paused.stdout) == (3, "")
    assert re.search(r"The run waits until 20\d\d-", paused.stderr)
    assert "actum serve" in paused.stderr
    (told,) = re.findall(r"^  actum (resume .*)$", paused.stderr, re.MULTILINE)
    again = run(*shlex.split(told))
    assert (again.exit_code, "The run waits until" in again.stderr) == (3, True)
    monkeypatch.setenv("ACTUM_LANG", "zh")
    assert "运行等待到" in run("workflow", "run", "./night.workflow.yaml").stderr
