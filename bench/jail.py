"""What a jail costs and how fast it ends what it holds. Bare programs are measured in the same run, turn by turn.

CPU is that of all processes that were started, with the launcher; of several rounds the median counts, since a start
varies. Nothing is measured where the machine holds no jail.
"""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from actum.core.call import TextPart, ToolCall
from actum.core.interfaces import Context
from actum.sandbox.jail import Jail, JailLimits
from actum.sandbox.layers import layers, start
from actum.sandbox.process import JailReport
from actum.toolsets.code import CodeRunner
from actum.transport.process_tree import descendants, start_of

from .loop import Row

STARTS = 8
AT_ONCE = 50
IDLE_S = 4.0
WARM = 200
MEMORY_BYTES = 512 << 20
FORKS = "import os\nfor _ in range(3): os.fork()\nheld = []\nwhile True: held.append(b'x' * (1 << 20))"
STRAYS = "import os, time\nif os.fork() == 0: os.setsid()\nprint('begun', flush=True)\ntime.sleep(98)"


async def jailed(command: list[str], jail: Jail, code: str = "") -> JailReport:
    """Run a command in a jail to its end."""
    async with start(command, jail, files={"main.py": code.encode()}) as process:
        await asyncio.gather(process.child.stdout.read(), process.child.stderr.read())
        return await process.ended()


async def bare(command: list[str]) -> None:
    """Run a command without a jail to its end."""
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe)
    await child.communicate()


async def cpu_ms(jobs: dict[str, Callable[[], Awaitable[object]]], rounds: int) -> dict[str, float]:
    """The CPU of the processes that each job starts, in milliseconds: the median of several turns."""
    spent: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            await job()
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent[name].append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3)
    return {name: statistics.median(found) for name, found in spent.items()}


def row(what: str, found: float, most: float, unit: str) -> Row:
    """One figure beside the figure that it may not pass."""
    return {"what": what, "is": f"{found:.3g} {unit}", "at most": f"{most:g} {unit}", "within": found <= most}


async def starts(rounds: int) -> list[Row]:
    """A script beside a bare Python, and node with its opens told beside node without."""
    python, jail = sys.executable, Jail()
    jobs: dict[str, Callable[[], Awaitable[object]]] = {
        "bare": lambda: bare([python, "-c", "pass"]),
        "jail": lambda: jailed([python, "main.py"], jail, "pass"),
    }
    node = shutil.which("node")
    if node is not None:
        jobs["node"] = lambda: jailed([node, "-e", "1"], jail)
        jobs["node, audited"] = lambda: jailed([node, "-e", "1"], Jail(audit=True))
    spent = await cpu_ms(jobs, STARTS * rounds)
    found = [row("CPU of a script beyond a bare Python", spent["jail"] - spent["bare"], 25, "ms")]
    if node is not None:
        found.append(row("CPU of node with an audit of reads", spent["node, audited"] / spent["node"], 1.1, "×"))
    return found


async def warm() -> Row:
    """A call of `run_python` in a session that has begun."""
    runner = CodeRunner(Jail())
    call = ToolCall("c1", "run_python", {})
    context = Context(run_id="r", call=call, key="k", attempt=1, principal="", deps=None, attachments={})
    began = (await runner.run_python("1", None, "new", context))[1]
    session = began.text.removeprefix("[session ").rstrip("]") if isinstance(began, TextPart) else ""
    seconds = []
    for _ in range(WARM):
        before = time.perf_counter()
        await runner.run_python("1", None, session, context)
        seconds.append(time.perf_counter() - before)
    await runner.close()
    return row("a call in a warm session", statistics.median(seconds) * 1e3, 2, "ms")


async def ended() -> Row:
    """From the end of a call until no process of it is left."""
    before = descendants(os.getpid())
    async with start([sys.executable, "main.py"], Jail(), files={"main.py": STRAYS.encode()}) as process:
        await process.child.stdout.readline()
        began = time.perf_counter()
    while [pid for pid, _ in descendants(os.getpid()) - before if start_of(pid)]:  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0.001)
    return row("until an ended call has left no process", time.perf_counter() - began, 1, "s")


async def idle() -> Row:
    """What watching a jail costs in which nothing happens."""
    async with start(["sleep", "98"], Jail()) as process:
        await asyncio.sleep(1.0)  # the start is over

        def used() -> int:
            fields = Path(f"/proc/{process.child.pid}/stat").read_text("ascii").rpartition(")")[2].split()
            return sum(map(int, fields[11:13]))

        before = used()
        await asyncio.sleep(IDLE_S)
        share = (used() - before) / os.sysconf("SC_CLK_TCK") / IDLE_S
    return row("watching an idle jail, of one core", share * 100, 1, "%")


async def at_once() -> Row:
    """Fifty calls at the same time."""
    before = time.perf_counter()
    reports = await asyncio.gather(*(jailed([sys.executable, "main.py"], Jail(), "pass") for _ in range(AT_ONCE)))
    assert all(report.exit == 0 for report in reports)
    return row(f"{AT_ONCE} calls at once", time.perf_counter() - before, 60, "s")


async def memory() -> Row:
    """The most memory of a tree of processes that takes all it can, as the launcher saw it."""
    report = await jailed([sys.executable, "main.py"], Jail(limits=JailLimits(memory_bytes=MEMORY_BYTES)), FORKS)
    assert report.limit == "memory_bytes", report
    return row("memory of a tree of processes with a limit of 512 MB", report.memory_bytes / (1 << 20), 1024, "MB")


async def _table(rounds: int) -> list[Row]:
    missing = [layer.name for layer in await layers() if not layer.is_held]
    if missing:
        return [{"what": f"this machine does not hold a jail: {', '.join(missing)}", "within": False}]
    return [*await starts(rounds), await warm(), await ended(), await idle(), await at_once(), await memory()]


def jail_table(rounds: int) -> list[Row]:
    """Each figure that a jail is held to."""
    return asyncio.run(_table(rounds))
