"""A child process ends with everything that it started, also with what made a group of its own."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import pytest

from actum.transport.process import PROC, descendants, signal_group, start_child, start_of

STARTS = """
import os, subprocess, sys, time
if {double}:
    if os.fork():
        if {leaves}: os._exit(0)
        time.sleep(1000)
    os.setsid()
stray = "import os, time; os.getpgid(0) == os.getpid() or os.setsid(); print(os.getpid(), flush=True); time.sleep(1000)"
subprocess.Popen([sys.executable, "-c", stray], env={env})
time.sleep(1000)
"""
QUICK = ((signal.SIGTERM, 0.3), (signal.SIGKILL, 2.0))

pytestmark = pytest.mark.skipif(not PROC.is_dir(), reason="this system has no /proc, so only a group is ended")


async def test_what_made_a_group_of_its_own_ends_with_the_child() -> None:
    for name, double, leaves, env in (
        ("a grandchild below the child", False, False, "{}"),
        ("a daemon whose parent lives", True, False, "dict(os.environ)"),
        ("a daemon that lost its parent", True, True, "dict(os.environ)"),
    ):
        code = STARTS.format(double=double, leaves=leaves, env=env)
        child = await start_child([sys.executable, "-c", code], env=dict(os.environ))
        try:
            stray = int(await child.stdout.readline())
            assert start_of(stray), name
            await child.end(QUICK)
            assert not start_of(stray), name
        finally:
            child.close()


async def test_a_child_that_is_let_go_without_an_end_is_killed() -> None:
    child = await start_child(["sleep", "1000"], env=dict(os.environ))
    child.close()
    await child.exited.wait()
    assert child.returncode == -signal.SIGKILL
    assert not signal_group(child.pid, None)


async def test_a_start_that_is_cancelled_leaves_no_process() -> None:
    before = descendants(os.getpid())
    starting = asyncio.ensure_future(start_child(["sleep", "1000"], env=dict(os.environ)))
    await asyncio.sleep(0)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert not [pid for pid, _ in descendants(os.getpid()) - before if start_of(pid)]


async def test_a_program_that_does_not_exist_is_an_error_of_the_system() -> None:
    with pytest.raises(OSError, match="no-such-program"):
        await start_child(["/no-such-program"], env={})
