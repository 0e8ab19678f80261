"""A server of tasks as a process of its own: a journal, and one dispatcher, until it is killed.

    python -m tests.tasks.service DISPATCHER JOURNAL FOLDER

Tests kill it. It says `ready` when its dispatcher runs. With `celery` it is a worker: as `actum worker`.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from actum.compose.agents import Agents
from actum.compose.journals import open_journal
from actum.compose.settings import Settings, read_settings
from actum.compose.task_child import SettingsBuilder, local_dispatcher
from actum.compose.task_worker import work
from actum.compose.workflows import Workflows
from actum.core.interfaces import Journal
from actum.core.json import JsonObject
from actum.tasks.children import LocalSettings
from actum.tasks.dispatcher import Dispatcher, DispatcherState
from tests import warm

TOOLS = """
import os, signal, subprocess, sys, threading, time
from pathlib import Path
from actum import Context, tool

LEDGER = Path(__file__).parent / "ledger"

def note(*words):
    with LEDGER.open("a") as file:
        file.write(" ".join(map(str, words)) + "\\n")

@tool(effects={"read"})
def look(what: str) -> str:
    note("look", what, os.getpid())
    return "seen " + what

@tool(effects={"read"})
def noisy() -> str:
    print("not a report")
    sys.stdout.flush()
    os.write(1, b"{}\\n")
    return sys.stdin.read() or "nothing to read"

@tool(effects={"read"})
def die() -> str:
    note("die", os.getpid())
    os._exit(9)

@tool(effects={"write"}, idempotent=False)
def ship(to: str) -> str:
    note("ship", to, os.getpid())
    os._exit(9)

@tool(effects={"read"})
def stubborn() -> str:
    grandchild = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    child = subprocess.Popen([sys.executable, "-c", grandchild], start_new_session=True)
    note("stubborn", os.getpid(), child.pid)
    time.sleep(600)
    return "never"

@tool(effects={"read"})
def halt() -> str:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    note("halt", os.getpid(), child.pid)
    signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)  # this thread at once, and so all others
    note("went on")
    return "went on"

@tool(effects={"read"})
def slow(seconds: float) -> str:
    note("slow", os.getpid())
    time.sleep(seconds)
    return "done"
"""


def settings_of(journal: str, folder: Path) -> Settings:
    """The settings of a server whose tools stand in this folder; where none do, those of the tests are put there. The
    name `offered` in that file is the list of tools, where the file has one; workflows stand in `actum.toml`.
    """
    tools = folder / "tools.py"
    if not tools.exists():
        tools.write_text(TOOLS, "utf-8")
    offered = ":offered" if "\noffered = " in tools.read_text("utf-8") else ""
    (folder / "policy.toml").write_text('default = "allow"\n', "utf-8")
    said: dict[str, str | Sequence[str] | JsonObject | None] = {
        "tools": [f"{tools}{offered}"],
        "journal": journal,
        "policy": str(folder / "policy.toml"),
    }
    if (folder / "broker").exists():
        said["tasks"] = {"dispatcher": "celery", "broker": (folder / "broker").read_text("utf-8"), "workers": 2}
    return read_settings(folder, environment_of(folder), said)


def environment_of(folder: Path) -> Mapping[str, str]:
    """The variables of a server: nothing of the person's."""
    return {**os.environ, "XDG_CONFIG_HOME": str(folder), "XDG_STATE_HOME": str(folder)}


def local(settings: Settings, journal: Journal, folder: Path) -> Dispatcher:
    """The local dispatcher, with two children."""
    environment = environment_of(folder)
    agents = Agents(settings, environment, folder, journal=journal)
    workflows = Workflows(settings, environment, folder, journal=journal)
    builder = SettingsBuilder(settings, environment, folder, journal, agents, workflows)
    return local_dispatcher(settings, journal, environment, folder, local=LocalSettings(workers=2), builder=builder)


class WorkerProcess:
    """A worker of Celery as a process of its own, in the shape of a dispatcher.

    Args:
        place: of the journal.
        folder: holds the tools, and the address of the broker.
    """

    def __init__(self, place: str, folder: Path) -> None:
        command = [sys.executable, "-m", "tests.tasks.service", "celery", place, str(folder)]
        self.process = warm.popen(command, stdout=subprocess.PIPE, env=dict(environment_of(folder)))
        self._ended = asyncio.Event()

    def wake(self, run_id: str) -> None:
        """The worker looks by itself."""

    async def run(self) -> None:
        await self._ended.wait()

    async def look(self) -> DispatcherState:
        return DispatcherState()

    async def close(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            assert await asyncio.to_thread(self.process.wait, 30) in (0, -signal.SIGKILL)
        finally:
            self.process.kill()
            self.process.wait()
            assert self.process.stdout is not None
            self.process.stdout.close()
            self._ended.set()


def celery(settings: Settings, journal: Journal, folder: Path) -> Dispatcher:
    """A worker of Celery."""
    return WorkerProcess(settings.journal, folder)


DISPATCHERS: dict[str, Callable[[Settings, Journal, Path], Dispatcher]] = {"local": local, "celery": celery}


async def _serve(kind: str, place: str, folder: Path) -> None:
    settings = settings_of(place, folder)
    journal = open_journal(settings, environment_of(folder))
    if kind == "celery":
        seconds = folder / "visibility"
        visibility_s = float(seconds.read_text("utf-8")) if seconds.exists() else None
        await work(settings, journal, environment_of(folder), folder, _ready, visibility_s=visibility_s)
        await journal.close()
        return
    dispatcher = DISPATCHERS[kind](settings, journal, folder)
    _ready()
    await dispatcher.run()


def _ready() -> None:
    sys.stdout.write("ready\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
