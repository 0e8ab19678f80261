"""Type checkers know the type of an agent's output and of a tool's `ctx.deps`: mypy and pyright find what is wrong in
`typed/wrong.py`, and nothing in `typed/right.py`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from msgspec import Struct

from tests.peers.install import node, npm_bin

ROOT = Path(__file__).parents[2]
RIGHT, WRONG = (ROOT / "tests" / "agents" / "typed" / name for name in ("right.py", "wrong.py"))
PLANTED = [number for number, line in enumerate(WRONG.read_text("utf-8").splitlines(), 1) if line.endswith("  # wrong")]
Found = set[tuple[str, int]]
"""The name of a file and the number of a line in which something is wrong."""


class _Position(Struct):
    line: int


class _Range(Struct):
    start: _Position


class _Diagnostic(Struct):
    file: str
    severity: str
    range: _Range


class _Report(Struct, rename="camel"):
    """What pyright prints as JSON."""

    general_diagnostics: list[_Diagnostic]


def found_by_mypy() -> Found:
    options = ["--strict", "--cache-dir", ".cache/mypy-typed", "--no-error-summary", "--no-pretty"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(RIGHT), str(WRONG)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    lines = re.findall(r"^(.*?):(\d+): error:", done.stdout, re.MULTILINE)
    return {(Path(name).name, int(number)) for name, number in lines}


def found_by_pyright() -> Found:
    done = subprocess.run(
        [node(), npm_bin("pyright"), "--pythonpath", sys.executable, "--outputjson", str(RIGHT), str(WRONG)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    report = msgspec.json.decode(done.stdout, type=_Report)
    errors = [each for each in report.general_diagnostics if each.severity == "error"]
    return {(Path(each.file).name, each.range.start.line + 1) for each in errors}


@pytest.mark.no_cover
@pytest.mark.parametrize("find", [found_by_mypy, found_by_pyright])
def test_type_checkers_find_each_planted_error_and_no_other(find: Callable[[], Found]) -> None:
    assert len(PLANTED) > 15
    assert find() == {(WRONG.name, number) for number in PLANTED}
