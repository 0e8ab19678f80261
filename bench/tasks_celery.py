"""Tasks on Celery: from accept to start, beside a bare Celery task through the same broker; and an idle worker.

python -m bench.tasks_celery
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from celery import Celery

from actum.compose.settings import read_settings
from actum.compose.task_worker import celery_dispatcher
from actum.core.call import ToolCall
from actum.core.clock import SystemClock
from actum.core.json import JsonObject
from actum.core.run.task import TaskOptions
from actum.tasks.queue import TaskQueue
from tests.broker import broker_server

from .loop import Row
from .tasks import Place

ROUNDS = 30
IDLE_S = 30
app = Celery("bare", broker=os.environ.get("BARE_BROKER", "redis://127.0.0.1:1/0"))
app.conf.update(task_ignore_result=True, task_acks_late=True, worker_prefetch_multiplier=1, task_default_queue="bare")


@app.task(name="bare")  # type: ignore[untyped-decorator]  # Celery has no types
def bare(path: str) -> None:
    """Write down when this began."""
    began = time.time()
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(f"{began}\n")


def celery_table() -> list[Row]:
    """The figures of the Celery dispatcher."""
    with tempfile.TemporaryDirectory() as folder, broker_server() as broker:
        os.environ["BARE_BROKER"] = broker.url
        app.conf.broker_url = broker.url
        bare_s = _bare(Path(folder))
        (Path(folder) / "broker").write_text(broker.url, "utf-8")
        return asyncio.run(_ours(Place(Path(folder)), broker.url, bare_s))


def _bare(folder: Path) -> float:
    """Seconds from sending a bare task to its start."""
    command = [sys.executable, "-m", "celery", "-A", "bench.tasks_celery", "worker", "-c", "1", "-l", "ERROR"]
    worker = subprocess.Popen([*command, "-Q", "bare"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    path = folder / "bare"
    taken = []
    try:
        for at in range(ROUNDS):
            began = time.time()
            bare.apply_async((str(path),))
            while not path.exists() or len(lines := path.read_text("utf-8").splitlines()) <= at:
                time.sleep(0.005)
            taken.append(float(lines[at]) - began)
            time.sleep(0.1)
    finally:
        worker.terminate()
        worker.wait()
    return statistics.median(taken[5:])


async def _ours(place: Place, broker: str, bare_s: float) -> list[Row]:
    said: dict[str, str | Sequence[str] | JsonObject | None] = {
        "tools": [str(place.folder / "tools.py")],
        "journal": str(place.folder / "journal.db"),
        "policy": str(place.folder / "policy.toml"),
        "tasks": {"dispatcher": "celery", "broker": broker},
    }
    settings = read_settings(place.folder, place.environment, said)
    command = [sys.executable, "-m", "tests.tasks.service", "celery", settings.journal, str(place.folder)]
    worker = subprocess.Popen(command, env=place.environment, stdout=subprocess.DEVNULL)  # noqa: ASYNC220
    dispatcher = celery_dispatcher(settings, place.journal)
    running = asyncio.create_task(dispatcher.run())
    queue = TaskQueue(place.journal, clock=SystemClock(), dispatcher=dispatcher)
    call = ToolCall("call", "add", {"a": 1, "b": 2})
    whole, after = [], []
    for _ in range(ROUNDS):
        began = time.time()
        line = await queue.accept_call(place.runner, call, TaskOptions())
        accepted = time.time()
        view = await queue.wait(line.run_id, 60)
        whole.append(view.attempts[0].started - began)
        after.append(view.attempts[0].started - accepted)
        await asyncio.sleep(0.1)
    await asyncio.sleep(3)
    spent = _cpu(worker.pid)
    await asyncio.sleep(IDLE_S)
    idle = (_cpu(worker.pid) - spent) / IDLE_S
    await dispatcher.close()
    await running
    worker.terminate()
    await asyncio.to_thread(worker.wait)
    await place.journal.close()
    start_s = statistics.median(after[5:])
    return [
        {"what": "bare Celery task, send to start, median", "ms": round(bare_s * 1e3, 1), "limit": ""},
        {
            "what": "task accepted to start, median",
            "ms": round(start_s * 1e3, 1),
            "limit": f"{start_s / bare_s:.2f} x of 1.3 x",
        },
        {"what": "request to start, median", "ms": round(statistics.median(whole[5:]) * 1e3, 1), "limit": ""},
        {"what": "CPU of an idle worker, percent of a core", "ms": round(idle * 100, 2), "limit": "0.5"},
    ]


def _cpu(pid: int) -> float:
    """CPU seconds of a process and of those that it started."""
    found, ticks = 0.0, os.sysconf("SC_CLK_TCK")
    for each in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = each.read_text("utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        if int(each.parent.name) == pid or int(fields[1]) == pid:
            found += (int(fields[11]) + int(fields[12])) / ticks
    return found


if __name__ == "__main__":
    for row in celery_table():
        sys.stdout.write(f"{row}\n")
