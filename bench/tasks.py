"""Tasks: what accepting, taking and carrying out cost; and servers that are killed at random moments.

The kill loop: a server of tasks, with its children, is killed again and again while tasks write into a ledger outside
of the journal. At the end the ledger says what really happened. A call that reads, or takes an idempotency key, may be
made again; of a plain write nobody can tell whether it happened, so its task waits for a person, and it is done once at
most.

    python -m bench.tasks                         the figures
    python -m bench.tasks 200                     the kill loop: local dispatcher, SQLite
    python -m bench.tasks 200 celery postgres     the kill loop: a worker of Celery, PostgreSQL
    python -m bench.tasks 30 local sqlite workflows      the kill loop, with workflows in the place of single calls
"""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from actum.compose.agents import make_runner
from actum.compose.journals import open_journal
from actum.compose.settings import Settings, read_settings
from actum.compose.task_child import local_dispatcher
from actum.compose.tools import load_tools
from actum.core.call import ToolCall
from actum.core.clock import SystemClock
from actum.core.errors import ActumError
from actum.core.interfaces import Journal
from actum.core.run.record import CallsRequested, Started
from actum.core.run.task import Backoff, TaskOptions, TaskState
from actum.runs.options import RunOptions
from actum.runs.runner import Runner
from actum.storage.sqlite import SQLiteJournal
from actum.tasks.children import LocalSettings
from actum.tasks.queue import TaskQueue
from tests.broker import BrokerServer, broker_server
from tests.postgres import postgres_server

from .loop import Row
from .tasks_workflow import TOOLS as WORKFLOW_TOOLS
from .tasks_workflow import KilledWorkflows, write_workflows

WRITERS = 32
QUEUED = 10_000
GOING_ON: tuple[TaskState, ...] = ("queued", "running", "retrying")
"""The states of tasks that somebody goes on with."""
TOOLS = """
import fcntl, time
from pathlib import Path
from actum import Context, tool

LEDGER = Path(__file__).parent / "ledger"

def note(words):
    with LEDGER.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(words + "\\n")
        file.flush()

@tool(effects={"read"})
def add(a: int, b: int) -> int:
    return a + b

@tool(effects={"read"})
def look(n: int) -> str:
    note(f"look {n}")
    time.sleep(0.3)
    return "seen"

@tool(effects={"write"}, idempotent=True)
def keyed(n: int, ctx: Context) -> str:
    before = LEDGER.read_text() if LEDGER.exists() else ""
    if f"keyed {n} {ctx.key}" not in before:
        note(f"keyed {n} {ctx.key}")
    time.sleep(0.3)
    return "done"

@tool(effects={"write"})
def plain(n: int) -> str:
    note(f"plain {n}")
    time.sleep(0.3)
    return "done"
"""


class Place:
    """A folder with tools, a journal and what accepts tasks.

    Args:
        folder: an empty folder.
        journal: where the journal is, if it is not a file in the folder.
    """

    def __init__(self, folder: Path, journal: str = "") -> None:
        self.folder = folder
        write_workflows(folder)
        (folder / "tools.py").write_text(TOOLS + WORKFLOW_TOOLS, "utf-8")
        (folder / "policy.toml").write_text('default = "allow"\n', "utf-8")
        said = {
            "tools": [f"{folder / 'tools.py'}:offered"],
            "journal": journal or str(folder / "journal.db"),
            "policy": str(folder / "policy.toml"),
        }
        self.environment = {**os.environ, "XDG_CONFIG_HOME": str(folder), "XDG_STATE_HOME": str(folder)}
        self.settings: Settings = read_settings(folder, self.environment, said)
        self.journal: Journal = open_journal(self.settings, self.environment)
        tools = load_tools(self.settings, folder)
        self.runner: Runner = make_runner(self.settings, tools, name="api", journal=self.journal, approver=None)
        self.queue = TaskQueue(self.journal, clock=SystemClock())


def tasks_table(rounds: int) -> list[Row]:
    """The figures of the queue and of the local dispatcher."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        return asyncio.run(_figures(place, max(3, rounds)))


async def _figures(folder: Path, rounds: int) -> list[Row]:
    bare, accepting = await _accepting(folder / "accept.db", rounds)
    rows: list[Row] = [
        {"what": f"durable journal write, {WRITERS} at once", "ms": round(bare * 1e3, 2), "limit": ""},
        {
            "what": f"accept a task, {WRITERS} at once",
            "ms": round(accepting * 1e3, 2),
            "limit": f"{accepting / bare:.2f} x of 1.5 x",
        },
        {"what": f"take the next of {QUEUED:,}", "ms": round(await _taking(folder / "take.db") * 1e3, 2), "limit": "2"},
    ]
    office = folder / "office"
    office.mkdir()
    return rows + await _dispatching(Place(office))


async def _accepting(path: Path, rounds: int) -> tuple[float, float]:
    """Seconds of a batch of durable journal writes, and of as many accepted tasks."""
    journal = SQLiteJournal(path)
    runner = Runner([_add], name="api", journal=journal)
    queue = TaskQueue(journal, clock=SystemClock())
    call = ToolCall("call", "_add", {"a": 1, "b": 2})
    digest = (await runner.catalog()).digest
    count = 0

    async def write(number: int) -> None:
        run_id = f"bare_{number}"
        journal.append(run_id, Started(agent="api", model="", said=(), tools=digest))
        journal.append(run_id, CallsRequested((call,), "client"))
        await journal.sync(run_id)

    bare: list[float] = []
    accepting: list[float] = []
    for _ in range(rounds + 1):
        began = time.perf_counter()
        await asyncio.gather(*(write(count + at) for at in range(WRITERS)))
        bare.append(time.perf_counter() - began)
        count += WRITERS
        began = time.perf_counter()
        await asyncio.gather(*(queue.accept_call(runner, call, TaskOptions()) for _ in range(WRITERS)))
        accepting.append(time.perf_counter() - began)
    await journal.close()
    return min(bare), min(accepting)


def _add(a: int, b: int) -> int:
    return a + b


async def _taking(path: Path) -> float:
    """Seconds of taking the next of many tasks of fifty users."""
    journal = SQLiteJournal(path)
    runner = Runner([_add], name="api", journal=journal)
    queue = TaskQueue(journal, clock=SystemClock())
    call = ToolCall("call", "_add", {"a": 1, "b": 2})
    for begin in range(0, QUEUED, 500):
        users = [f"user{at % 50}" for at in range(begin, begin + 500)]
        await asyncio.gather(
            *(queue.accept_call(runner, call, TaskOptions(), RunOptions(principal=user)) for user in users)
        )
    best = float("inf")
    for _ in range(20):
        began = time.perf_counter()
        await journal.tasks.next_due(time.time(), limit=1, running_max=100, tenant_running_max=1_000)
        best = min(best, time.perf_counter() - began)
    await journal.close()
    return best


async def _dispatching(place: Place) -> list[Row]:
    """What the local dispatcher costs."""
    local = LocalSettings(workers=1)
    dispatcher = local_dispatcher(place.settings, place.journal, place.environment, place.folder, local=local)
    queue = TaskQueue(place.journal, clock=SystemClock(), dispatcher=dispatcher)
    running = asyncio.create_task(dispatcher.run())
    call = ToolCall("call", "add", {"a": 1, "b": 2})
    started: list[float] = []
    warm: list[float] = []
    for _ in range(30):
        began, spent = time.time(), _cpu_of_child()
        line = await queue.accept_call(place.runner, call, TaskOptions())
        view = await queue.wait(line.run_id, 30)
        started.append(view.attempts[0].started - began)
        await asyncio.sleep(0.05)
        if spent:
            warm.append(_cpu_of_child() - spent)
    idle = time.process_time()
    await asyncio.sleep(10)
    idle = (time.process_time() - idle) / 10
    inside = time.process_time()
    for _ in range(100):
        await place.runner.call([call], by="client")
    inside = (time.process_time() - inside) / 100
    await dispatcher.close()
    await running
    await place.journal.close()
    child = sum(warm) / len(warm)
    return [
        {"what": "accept to start, idle, median", "ms": round(sorted(started)[15] * 1e3, 1), "limit": "50"},
        {
            "what": "CPU of a small tool in a warm child, over in process",
            "ms": round((child - inside) * 1e3, 2),
            "limit": "3",
        },
        {"what": "CPU of an idle dispatcher, percent of a core", "ms": round(idle * 100, 2), "limit": "0.5"},
    ]


def _cpu_of_child() -> float:
    """CPU seconds of the children of this process that are running."""
    found = 0.0
    ticks = os.sysconf("SC_CLK_TCK")
    for each in Path("/proc").iterdir():
        if each.name.isdecimal():
            with suppress(OSError, IndexError):
                fields = (each / "stat").read_text("utf-8").rpartition(")")[2].split()
                if int(fields[1]) == os.getpid():
                    found += (int(fields[11]) + int(fields[12])) / ticks
    return found


# Servers that are killed ----------------------------------------------------------------------------------------------


def tasks_kill_table(
    rounds: int, dispatcher: str = "local", database: str = "sqlite", work: str = "calls"
) -> list[Row]:
    """What becomes of tasks whose server or worker is killed at random moments.

    Args:
        rounds: how many kills.
        dispatcher: `local`, or `celery` with a broker of its own, which forgets all at every tenth kill.
        database: `sqlite`, or `postgres` with a server of its own.
        work: what the tasks are: single `calls`, or `workflows`.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        broker = stack.enter_context(broker_server()) if dispatcher == "celery" else None
        if broker is not None:
            (folder / "broker").write_text(broker.url, "utf-8")
        journal = ""
        if database == "postgres":
            journal = stack.enter_context(postgres_server()).new_database()
        kills = _kills_of_workflows if work == "workflows" else _kills
        return [asyncio.run(kills(Place(folder, journal), rounds, dispatcher, broker))]


async def _kills(place: Place, rounds: int, dispatcher: str, broker: BrokerServer | None) -> Row:
    chance = random.Random(7)
    options = TaskOptions(max_retries=100, backoff=Backoff(base=0.02, cap=0.05))
    lines = {}
    number = 0
    for _ in range(rounds):
        for kind in ("look", "keyed", "plain"):
            number += 1
            call = ToolCall("call", kind, {"n": number})
            lines[kind, number] = (await place.queue.accept_call(place.runner, call, options)).run_id
        await _serve_for(place, dispatcher, 1.0 + chance.random() * 2.0)
        if broker is not None and number % 30 == 0:
            broker.empty()
    for _ in range(60):
        counts = await place.queue.counts()
        if not any(counts.get(state) for state in GOING_ON):
            break
        await _serve_for(place, dispatcher, 10.0)
    done = Counter(line.partition(" ")[0] + line.split()[1] for line in _ledger(place))
    states: Counter[str] = Counter()
    lost = twice = unsaid = 0
    for (kind, each), run_id in lines.items():
        view = await place.queue.look(run_id)
        states[view.line.state] += 1
        happened = done[f"{kind}{each}"]
        lost += view.line.state not in ("succeeded", "waiting") or (view.line.state == "succeeded" and not happened)
        twice += happened > 1 and kind != "look"
        unsaid += kind != "plain" and view.line.state != "succeeded"
    await place.journal.close()
    return {
        "dispatcher": dispatcher,
        "database": "postgres" if "://" in place.settings.journal else "sqlite",
        "kills": rounds,
        "tasks": len(lines),
        "lost": lost,
        "done twice": twice,
        "asked without need": unsaid,
        "in doubt, asked": states["waiting"],
    }


async def _kills_of_workflows(place: Place, rounds: int, dispatcher: str, broker: BrokerServer | None) -> Row:
    chance = random.Random(7)
    options = TaskOptions(max_retries=100, backoff=Backoff(base=0.02, cap=0.05))
    killed = KilledWorkflows(place.settings, place.environment, place.folder, place.journal, place.queue)
    for number in range(rounds):
        for _ in range(3):
            await killed.accept(options)
        await _serve_for(place, dispatcher, 1.5 + chance.random() * 2.0)
        await killed.answer()
        if broker is not None and number % 10 == 9:
            broker.empty()
    for _ in range(60):
        if not await killed.answer():
            break
        await _serve_for(place, dispatcher, 10.0, (*GOING_ON, "waiting"))  # what waits for a time goes on, too
    found = await killed.judge(_ledger(place))
    await place.journal.close()
    database = "postgres" if "://" in place.settings.journal else "sqlite"
    return {"dispatcher": dispatcher, "database": database, "kills": rounds, **found}


def _ledger(place: Place) -> list[str]:
    path = place.folder / "ledger"
    return path.read_text("utf-8").splitlines() if path.exists() else []


async def _serve_for(
    place: Place, dispatcher: str, seconds: float, open_states: Sequence[TaskState] = GOING_ON
) -> None:
    """A server or worker of tasks, killed after a while from when it says that it is ready; where the while is long,
    also when no task is in one of these states.
    """
    process = subprocess.Popen(  # noqa: ASYNC220 - it starts at once
        [sys.executable, "-m", "tests.tasks.service", dispatcher, place.settings.journal, str(place.folder)],
        env=place.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert process.stdout is not None
        if dispatcher == "celery":
            await asyncio.to_thread(process.stdout.readline)
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            await asyncio.sleep(0.02)
            if seconds > 5:
                with suppress(ActumError):
                    counts = await place.queue.counts()
                    if not any(counts.get(state) for state in open_states):
                        break
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


if __name__ == "__main__":
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    for row in tasks_kill_table(kills, *sys.argv[2:5]) if kills else tasks_table(5):
        sys.stdout.write(f"{row}\n")
