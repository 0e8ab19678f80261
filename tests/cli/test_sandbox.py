"""Code and scripts as tools at the command line: `--tools code`, `--tools folder/`, and the table `[sandbox]`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from actum.sandbox.layers import landlock_abi

Run = Callable[..., Result]
held = pytest.mark.skipif(landlock_abi() == 0, reason="this machine has no Landlock: nothing is run")
PLOT = """\
# /// tool
# description = "Plots this table."
# effects = ["read"]
# files = ["table"]
# [parameters.table]
# type = "string"
# ///
import json, sys
rows = open(json.load(sys.stdin)["table"]).read().split()
open("plot.svg", "w").write(f"<svg>{len(rows)}</svg>")
"""


@held
def test_call_run_python_asks_first_and_then_runs_in_a_jail(run: Run, home: Path) -> None:
    words = ("call", "run_python", "code=print(6 * 7)", "--tools", "code")
    waiting = run(*words, "--json")
    assert waiting.exit_code == 3, waiting.output
    (pending,) = json.loads(waiting.stdout)["pending"]
    done = run("resume", "last", "--approve", pending["id"], "--tools", "code")
    assert done.exit_code == 0, done.output
    assert "42" in run("runs", "show").stdout
    secret = home / "secret.txt"
    secret.write_text("hidden", "ascii")
    failed = run("call", "run_python", f"code=print(open({str(secret)!r}).read())", "--tools", "code", "--yes")
    assert failed.exit_code != 0
    assert "hidden" not in failed.output
    assert "PermissionError" in failed.output


@held
def test_settings_say_what_code_may_read_and_a_jail_over_the_journal_is_refused(run: Run, home: Path) -> None:
    (home / "tables").mkdir()
    (home / "tables" / "a.csv").write_text("1,2", "ascii")
    settings = '[sandbox]\nread = ["tables"]\n[sandbox.limits]\nseconds = 5\n'
    (home / "actum.toml").write_text(settings, "utf-8")
    code = f"code=print(open({str(home / 'tables' / 'a.csv')!r}).read())"
    assert "1,2" in run("call", "run_python", code, "--tools", "code", "--yes").stdout
    for place in (home / "state", home / "journals"):
        place.mkdir(exist_ok=True)
    (home / "actum.toml").write_text('journal = "journals/runs.db"\n[sandbox]\nread = ["journals"]\n', "utf-8")
    refused = run("call", "run_python", "code=1", "--tools", "code", "--yes")
    assert refused.exit_code != 0
    assert "name a narrower folder" in refused.output
    (home / "actum.toml").write_text("[sandbox.limits]\nmemory = 5\n", "utf-8")
    assert "memory_bytes" in run("tools", "list").output


@held
def test_a_folder_of_scripts_gives_tools_and_says_which_script_is_none(run: Run, home: Path) -> None:
    (home / "scripts").mkdir()
    (home / "scripts" / "plot.py").write_text(PLOT, "utf-8")
    (home / "scripts" / "other.py").write_text("print(1)\n", "utf-8")
    listed = run("tools", "list", "--tools", "scripts/")
    assert "plot" in listed.stdout
    assert "other.py: the line `# /// tool` is missing" in listed.stderr.replace("\n", " ")
    assert "other.py" in run("doctor", "--tools", "scripts/", "--json").stdout
    (home / "table.csv").write_text("1\n2\n", "ascii")
    (home / "scripts" / "plot.py").unlink()
    nothing = run("tools", "list", "--tools", "scripts/")
    assert "holds no scripts that are tools" in nothing.output.replace("\n", " ")
