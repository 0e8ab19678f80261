"""A child process ends with everything that it started, also with what made a group of its own."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress

import pytest

from actum.transport.process import start_child
from actum.transport.process_keeper import ProcessKeeper
from actum.transport.process_tree import PROC, descendants, signal_group, start_of
from tests.tasks.office import is_stopped, until

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
HOST = """
import asyncio, os, sys
from actum.transport.process import start_child
from actum.transport.process_keeper import ProcessKeeper

async def main():
    for code in {codes}:
        child = await start_child([sys.executable, "-c", code], env=dict(os.environ), marked={marked})
        print((await child.stdout.readline()).decode().strip(), flush=True)
    await asyncio.sleep(1000)

asyncio.run(main())
"""
"""A program with children, which is killed."""
HALT = "import os, signal, subprocess, sys, time; print(os.getpid(), {more}, flush=True); {then}"
STOPS = "os.kill(os.getpid(), signal.SIGSTOP)"
SLEEPER = "subprocess.Popen(['sleep', '1000'], start_new_session=True).pid"
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


@pytest.mark.parametrize(
    ("marked", "codes"),
    [
        (True, [HALT.format(more="''", then=f"{STOPS}; time.sleep(1000)")]),
        (True, [HALT.format(more="''", then="signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(1000)")]),
        (True, [HALT.format(more=SLEEPER, then=f"{STOPS}; time.sleep(1000)") for _ in range(3)]),
        (False, [HALT.format(more="''", then=f"{STOPS}; sys.stdin.read()")]),
    ],
    ids=["stopped", "deaf", "several with strays", "a launcher that ends when it goes on"],
)
async def test_a_process_that_is_killed_leaves_none_of_its_children(marked: bool, codes: list[str]) -> None:
    program = HOST.format(codes=codes, marked=marked)
    host = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE)
    assert host.stdout is not None
    pids = [int(pid) for _ in codes for pid in (await host.stdout.readline()).split()]
    for pid in pids[:: len(pids) // len(codes)]:
        await until(lambda pid=pid: STOPS not in codes[0] or is_stopped(str(pid)))  # type: ignore[misc]
    assert all(start_of(pid) for pid in pids)
    host.kill()
    await host.wait()
    await until(lambda: not any(start_of(pid) for pid in pids))


async def test_a_keeper_that_was_killed_is_replaced_by_one_that_knows_of_all_children() -> None:
    keeper, sleepers = ProcessKeeper(), []
    for number in range(3):
        child = await start_child(["sleep", "1000"], env={"PATH": os.environ["PATH"]})
        sleepers.append(child)
        keeper.add(child.pid, f"mark-{number}")
        if number == 0:
            await until(lambda: bool(readers_of(keeper)))
            for reader in readers_of(keeper):
                os.kill(reader, signal.SIGKILL)
            await until(lambda: not readers_of(keeper))
    keeper.remove(sleepers[2].pid)
    keeper.close()
    for child in sleepers[:2]:
        await child.exited.wait()
    assert not sleepers[2].exited.is_set()
    for child in sleepers:
        child.close()
        await child.exited.wait()


def readers_of(keeper: ProcessKeeper) -> list[int]:
    """The processes whose input is the pipe of a keeper."""
    assert keeper.pipe is not None
    pipe, found = (PROC / f"self/fd/{keeper.pipe}").readlink(), []
    for each in PROC.iterdir():
        with suppress(OSError):
            if each.name.isdecimal() and (each / "fd" / "0").readlink() == pipe:
                found.append(int(each.name))
    return found
