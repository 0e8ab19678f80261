"""What the guide says of the states of a task is what the table of states says, and its first task goes as it says."""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path

from actum.core.run.task import STEPS
from tests.patience import HANGS_S

GUIDE = Path(__file__).parents[2] / "docs" / "tasks.md"


def test_the_guide_draws_the_table_of_states() -> None:
    guide = GUIDE.read_text("utf-8")
    for state, steps in STEPS.items():
        told = ", ".join(f"{event} → `{following}`" for event, following in steps.items()) or "the end"
        assert f"| `{state}` | {told} |" in guide, state


def test_the_first_task_of_the_guide_goes_as_the_guide_says(tmp_path: Path) -> None:
    """In a clean folder, by the commands of the guide; three dots in what the guide shows stand for anything."""
    guide = GUIDE.read_text("utf-8").partition("## Ask for a task")[0]
    (tmp_path / "tools.py").write_text(re.findall(r"```python\n(.*?)```", guide, re.DOTALL)[0], "utf-8")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {"PATH": programs, "HOME": str(tmp_path), "no_proxy": "*", "ACTUM_LANG": "en", "COLUMNS": "200"}
    (start,) = re.findall(r"^```sh.*\n(actum serve .*)\n```", guide, re.MULTILINE)
    server = subprocess.Popen(
        [*shlex.split(start), "--http", f"127.0.0.1:{port}"],
        cwd=tmp_path,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stderr is not None
        assert any("  access   " in line for line in server.stderr)
        for block in re.findall(r"^```console.*\n(?s:(.*?))^```", guide, re.MULTILINE):
            for command, shown in re.findall(r"^\$ (.*)\n((?:[^$\n].*\n)*)", block, re.MULTILINE):
                done = subprocess.run(
                    ["bash", "-c", command.replace(":8000", f":{port}")],
                    cwd=tmp_path,
                    env=environment,
                    capture_output=True,
                    text=True,
                    check=False,
                    timeout=HANGS_S,
                )
                assert done.returncode == 0, (command, done.stderr)
                pattern = re.escape(shown.strip()).replace(r"\.\.\.", "[^§]*?")
                assert re.fullmatch(pattern, done.stdout.strip()), (command, done.stdout)
    finally:
        server.terminate()
        server.communicate()
