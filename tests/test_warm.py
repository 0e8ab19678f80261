"""A forked process is told from an interpreter's by nothing but what is loaded."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import warm
from tests.patience import HANGS_S

SHOWS = """
import os, sys
open_files = [number for number in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{number}")]
print(os.getcwd(), sys.argv[1:], os.environ["A"], "HOME" in os.environ, sys.stdin.read(), __name__, len(open_files))
sys.stderr.write(str(os.getsid(0) == os.getpid()))
import beside
sys.exit(7)
"""


@pytest.mark.parametrize("leads", [False, True])
def test_folder_words_variables_pipes_and_exit_code_are_its_own(tmp_path: Path, leads: bool) -> None:
    (tmp_path / "beside.py").write_text("print('from the folder')", "utf-8")
    (tmp_path / "shows.py").write_text(SHOWS, "utf-8")
    for how in (["-c", SHOWS], ["-m", "shows"], ["shows.py"], ["-W", "error", "-c", SHOWS]):
        command = [sys.executable, *how, "ä", "b"]
        options: dict[str, Any] = {
            "cwd": tmp_path,
            "env": {"A": "1"},
            "input": "in",
            "capture_output": True,
            "text": True,
        }
        told, expected = (start(command, start_new_session=leads, **options) for start in (warm.run, subprocess.run))
        assert (told.returncode, told.stdout, told.stderr) == (expected.returncode, expected.stdout, expected.stderr)
        assert "from the folder" in told.stdout


ENDS = {
    "a text": ("raise SystemExit('no')", "no"),
    "an error": ("1 / 0", "ZeroDivisionError: division by zero"),
    "a number": ("import sys; print('unflushed', end=''); sys.exit(3)", ""),
    "what was asked for at the end": ("import atexit; atexit.register(print, 'bye')", ""),
    "a thread": ("import threading; threading.Timer(0.01, print, ['late']).start()", ""),
    "what was not closed": (
        "import asyncio; loop = asyncio.new_event_loop(); loop.create_task(asyncio.sleep(9))",
        "Task was destroyed but it is pending!",
    ),
}


@pytest.mark.parametrize("how", ENDS)
def test_its_end_is_that_of_an_interpreter(how: str) -> None:
    program, problem = ENDS[how]
    command = [sys.executable, "-c", program]
    told, expected = (start(command, capture_output=True, text=True) for start in (warm.run, subprocess.run))
    assert (told.returncode, told.stdout) == (expected.returncode, expected.stdout)
    for each in (told, expected):
        assert problem in each.stderr
        assert bool(problem) == bool(each.stderr)


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "ascii:backslashreplace", "gbk"])
def test_its_streams_have_the_encoding_that_is_asked_for(encoding: str) -> None:
    program = "import sys; sys.stderr.write(sys.stdin.read()); print('\u597d')"
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    command = [sys.executable, "-c", program]
    told, expected = (
        start(command, input=b"word", capture_output=True, env=environment) for start in (warm.run, subprocess.run)
    )
    assert (told.returncode, told.stdout) == (expected.returncode, expected.stdout)
    assert told.stderr.startswith(b"word")


async def test_a_signal_ends_it_and_its_end_is_told() -> None:
    waits = [sys.executable, "-c", "import time; print('begun', flush=True); time.sleep(600)"]
    process = await warm.start(*waits, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert await process.stdout.readline() == b"begun\n"
    process.kill()
    assert await process.wait() == -signal.SIGKILL
    with warm.popen(waits, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"begun\n"
        assert other.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(0.01)
        other.terminate()
        assert other.wait(HANGS_S) == -signal.SIGTERM


def test_what_only_an_interpreter_reads_is_refused() -> None:
    with pytest.raises(AssertionError, match="PYTHONHASHSEED"):
        warm.run([sys.executable, "-c", ""], env={"PYTHONHASHSEED": "7"})
