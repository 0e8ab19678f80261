"""`actum demo`: the first thing that anybody sees."""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from actum.cli.conversation.demo import SCENES, Scene, make_agent, play
from actum.cli.show.terminal import Terminal

Process = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.row("A1", "L5")
def test_every_scene_comes_out_as_it_should(run: Callable[..., Result]) -> None:
    result = run("demo")
    assert (result.exit_code, result.stderr) == (0, "")
    assert re.findall(r"^(\d)  ", result.stdout, re.MULTILINE) == [str(number) for number in range(1, len(SCENES) + 1)]
    for part in ("error  invalid_arguments", "error  tool_error", "approve?  write_note", "4 calls at once"):
        assert part in result.stdout


@pytest.mark.row("L5")
def test_it_needs_no_key_no_network_and_no_home(process: Process, home: Path) -> None:
    before = sorted(home.iterdir())
    # A proxy that is not there: whatever went out to the network would fail.
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9")
    done = process("demo", **nowhere)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(home.iterdir()) == before


@pytest.mark.parametrize(
    "environment", [{"LANG": "C", "LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}, {"NO_COLOR": "1"}, {"TERM": "dumb"}]
)
def test_in_a_pipe_it_is_plain_whatever_the_locale(process: Process, environment: dict[str, str]) -> None:
    done = process("demo", **environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) > 100  # nothing is wrapped


def test_a_scene_that_does_not_come_out_is_said_to_have_failed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal()
    scenes = [
        Scene("Right", ("What is 17 * 23?",), lambda results: True),
        Scene("Wrong", ("你好",), lambda results: False),
    ]
    assert asyncio.run(play(terminal, make_agent(terminal, home), scenes)) == ["Wrong"]
    assert capsys.readouterr().out.count("did not come out as it should") == 1
