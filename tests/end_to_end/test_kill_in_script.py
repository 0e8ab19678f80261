"""An agent that is killed with `kill -9` in mid-script leaves no process, and its run tells what is in doubt."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from actum import Agent, ToolCall
from actum.core.event import RunResult
from actum.core.message import ToolMessage
from actum.core.model import Request
from actum.core.run.record import Intended
from actum.journal.audit import audit
from actum.sandbox.jail import Jail
from actum.sandbox.linux import landlock_abi
from actum.storage.sqlite import SQLiteJournal
from actum.testing import Said, ScriptedModel
from actum.toolsets.code import code_tools
from actum.transport.process_tree import descendants, start_of
from tests import warm
from tests.toolsets.mcp.test_stdio import until

pytestmark = pytest.mark.skipif(landlock_abi() == 0, reason="this machine has no Landlock: nothing is run")

HOST = """
import asyncio, sys
from tests.end_to_end.test_kill_in_script import agent
asyncio.run(agent(*sys.argv[1:]).run("Append.", run_id="r"))
"""
APPEND = """
import os, subprocess, time
for folder in ({folder!r}, "."):
    if folder:
        open(os.path.join(folder, "lines"), "a").write("x\\n")
if os.fork() == 0:
    os.setsid()
    time.sleep(98)
if not os.path.exists({stop!r} or "none"):
    subprocess.run(["sleep", "98"])
"""


def agent(journal: str, folder: str, stop: str) -> Agent:
    """Runs one piece of code, which goes on until the file `stop` is there."""

    def script(request: Request) -> Said:
        if any(isinstance(message, ToolMessage) for message in request.messages):
            return "done"
        return [ToolCall("c1", "run_python", {"code": APPEND.format(folder=folder, stop=stop)})]

    jail = Jail(read=(str(Path(stop).parent),), write=(folder,) if folder else ())
    return Agent(ScriptedModel(script), tools=code_tools(jail, approval=False), journal=journal)


async def killed_in_mid_script(place: Path, journal: str, folder: str, stop: str) -> None:
    """Start the agent in a process of its own, and kill that process when the script runs."""
    host = await warm.start(
        sys.executable, "-c", HOST, journal, folder, stop, env={"TMPDIR": str(place), "PYTHONPATH": "."}
    )
    await until(lambda: bool(list(place.glob("actum-jail-*/work/lines"))))
    await until(lambda: len(descendants(host.pid)) >= 5)  # launcher, keeper, script, its fork, and `sleep`
    tree = descendants(host.pid)
    host.send_signal(signal.SIGKILL)
    await host.wait()
    await until(lambda: not [pid for pid, begun in tree if start_of(pid) == begun])
    await until(lambda: not list(place.iterdir()))  # the folder of the script is gone, too


def open_to_all(*folders: Path) -> None:
    for folder in folders:
        folder.mkdir(exist_ok=True)
        folder.chmod(0o777)
        for above in list(folder.parents)[:3]:
            above.chmod(0o755)


async def lines_of(journal: str) -> list[tuple[str, int, str]]:
    opened = SQLiteJournal(journal)
    try:
        return [(line.decision, line.attempt, line.outcome) async for line in audit(opened)]
    finally:
        await opened.close()


@pytest.mark.row("C5")
@pytest.mark.row("C7")
async def test_a_killed_script_that_could_write_outside_is_in_doubt_and_never_repeated_in_silence(
    tmp_path: Path,
) -> None:
    place, taken, shared = tmp_path / "temporary", tmp_path / "taken", tmp_path / "shared"
    open_to_all(place, taken, shared)
    journal = str(tmp_path / "state" / "journal.db")
    await killed_in_mid_script(place, journal, str(taken), str(shared / "stop"))
    made = agent(journal, str(taken), str(shared / "stop"))
    paused: RunResult = await made.resume("r")
    for _ in range(2):  # whoever asks again is told the same
        paused = await made.resume("r")
        assert paused.status == "paused"
        assert [pending.kind for pending in paused.pending] == ["doubt"]
        assert (taken / "lines").read_text("ascii") == "x\n"
    result = await made.resume("r", {paused.pending[0].id: "unknown"})
    assert (taken / "lines").read_text("ascii") == "x\n"
    (_, told), *_ = result.calls
    assert told.error is not None
    assert (told.error.code, told.error.effect) == ("in_doubt", "unknown")
    told_lines = await lines_of(journal)
    assert [(decision, attempt) for decision, attempt, _ in told_lines if decision == "allowed"] == [("allowed", 1)]
    assert told_lines[-1][2] == "in_doubt"


@pytest.mark.row("C7")
async def test_a_killed_script_that_could_change_nothing_outside_is_made_again_under_the_same_key(
    tmp_path: Path,
) -> None:
    place, shared = tmp_path / "temporary", tmp_path / "shared"
    open_to_all(place, shared)
    journal, stop = str(tmp_path / "state" / "journal.db"), shared / "stop"
    await killed_in_mid_script(place, journal, "", str(stop))
    stop.touch(0o666)
    result = await agent(journal, "", str(stop)).resume("r")
    assert result.status == "done"
    (_, told), *_ = result.calls
    assert told.error is None
    opened = SQLiteJournal(journal)
    intents = [entry.record for entry in await opened.read("r") if isinstance(entry.record, Intended)]
    await opened.close()
    assert [intent.attempt for intent in intents] == [1, 2]
    assert len({intent.key for intent in intents}) == 1
