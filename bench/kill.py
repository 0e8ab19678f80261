"""`kill -9` at random moments; part of `make bench`: what is lost, what is done twice, what is said to be in doubt.

A run of ten steps acts on a ledger outside of the journal: reads, calls that take an idempotency key, calls that can be
looked up, plain writes, several at once, and one that waits for approval. Its process is killed and another goes on
with the run, again and again, until it is done. The ledger then says what really happened.

    look     only reads: may run again, must not be missing
    keyed    the service knows its key: exactly once
    probed   the service can tell whether it happened: exactly once
    plain    nobody can tell: at most once, and every doubtful one was asked about
"""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TextIO, TypeVar

import msgspec
from msgspec import Struct

from actum import Agent, Context, ToolCall, tool
from actum.compose import Settings, open_journal
from actum.core.event import RunResult
from actum.core.interfaces import Journal, Request
from actum.core.message import Reply
from actum.core.record import Asked, Ended, Intended, Settled, verify
from actum.testing import Said, ScriptedModel
from actum.toolsets.function import FunctionTool
from tests.postgres import postgres_server

from .loop import Row

T = TypeVar("T")

STEPS: list[list[str]] = [
    ["look"],
    ["plain"],
    ["keyed", "probed", "plain"],
    ["probed"],
    ["signed"],
    ["look", "look", "keyed", "keyed"],
    ["plain"],
    ["keyed"],
    ["probed", "probed", "plain"],
    ["plain", "look"],
]
EFFECT_S = 0.003
"""So long a service takes to answer after it has done what it was asked: the window in which a kill leaves a doubt."""
LIFE_S = 0.05
"""A process is killed at a random moment of so many seconds after it took the run up."""
KILLS_EACH = 6
"""A run is left in peace after so many kills, so that it comes to its end."""


DONE = "after it was done"
STATES = ("before it began", "between calls", "in a call", "in calls side by side", "while it waited")


def script(request: Request) -> Said:
    """Says the next step by what is in the conversation, so that it can be asked again by another process."""
    done = sum(isinstance(message, Reply) for message in request.messages)
    if done == len(STEPS):
        return "All done."
    return [ToolCall(str(index), kind, {"step": done, "index": index}) for index, kind in enumerate(STEPS[done])]


class Ledger:
    """The world outside: a file with a line for everything that was done. Several processes at a time may write it.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, kind: str, key: str, *, once: bool = False) -> None:
        """Do it: one line, in one piece. With `once`, nothing where the key is known."""
        with self.path.open("a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if not (once and self._has(file, key)):
                os.write(file.fileno(), f"{kind} {key}\n".encode())

    def knows(self, key: str) -> bool:
        """Whether something was done under this key."""
        with self.path.open("a+") as file:
            return self._has(file, key)

    def lines(self) -> list[tuple[str, str]]:
        """Everything that was done: kind and key."""
        pairs = [line.split() for line in self.path.read_text().splitlines()] if self.path.exists() else []
        return [(kind, key) for kind, key in pairs]

    def _has(self, file: TextIO, key: str) -> bool:
        file.seek(0)
        return any(line.endswith(f" {key}\n") for line in file)


def tools(ledger: Ledger) -> list[FunctionTool]:
    """What a run may do to the world."""

    @tool(effects={"read"})
    async def look(step: int, index: int, ctx: Context) -> str:
        """Look."""
        ledger.write("look", ctx.key)
        return "seen"

    @tool(effects={"write"})
    async def plain(step: int, index: int, ctx: Context) -> str:
        """Change something."""
        ledger.write("plain", ctx.key)
        await asyncio.sleep(EFFECT_S)
        return "done"

    @tool(effects={"write"}, idempotent=True)
    async def keyed(step: int, index: int, ctx: Context) -> str:
        """Change something, once a key."""
        ledger.write("keyed", ctx.key, once=True)
        await asyncio.sleep(EFFECT_S)
        return "done"

    @tool(effects={"spend"}, approval=True, idempotent=True)
    async def signed(step: int, index: int, ctx: Context) -> str:
        """Change something that a person approves."""
        ledger.write("signed", ctx.key, once=True)
        await asyncio.sleep(EFFECT_S)
        return "done"

    @tool(effects={"write"})
    async def probed(step: int, index: int, ctx: Context) -> str:
        """Change something that can be looked up."""
        ledger.write("probed", ctx.key)
        await asyncio.sleep(EFFECT_S)
        return "done"

    @probed.probe
    async def was_done(ctx: Context) -> str | bool:
        return "done" if ledger.knows(ctx.key) else False

    return [look, plain, keyed, signed, probed]


async def live(journal: Journal, run_id: str, ledger: Ledger) -> None:
    """What one process does: take the run up, and go on until it is done or waits for a person.

    The person is this process, too: it approves, and of a doubt it says that nobody knows.
    """
    agent = Agent(ScriptedModel(script), tools(ledger), journal=journal)
    print("up", flush=True)
    result: RunResult | None = None
    while result is None or result.status == "paused":
        words = {"approval": "approve", "doubt": "unknown"}
        answers = {one.id: words[one.kind] for one in result.pending} if result is not None else {}
        if result is None and not await journal.read(run_id):
            result = await agent.run("Go", run_id=run_id)
        else:
            result = await agent.resume(run_id, answers)
        if result.status == "paused":
            await asyncio.sleep(EFFECT_S * 5)  # it waits, and can be killed meanwhile
    print(result.status, flush=True)


class Tally(Struct, kw_only=True):
    """What came of some runs.

    Attributes:
        kills, runs: how often a process was killed, in so many runs.
        hit: in which state of the run.
        done: effects in the ledger.
        lost, twice: of those that must happen exactly once.
        doubts: plain calls that a person was asked about.
        silent: plain calls that are missing, or there twice, and were not asked about.
        broken: chains that do not check.
    """

    kills: int = 0
    runs: int = 0
    hit: Counter[str] = msgspec.field(default_factory=Counter)
    done: int = 0
    lost: int = 0
    twice: int = 0
    doubts: int = 0
    silent: int = 0
    broken: int = 0


async def state_of(journal: Journal, run_id: str) -> str:
    """In which state of the run the process died."""
    records = [entry.record for entry in await journal.read(run_id)]
    if not records:
        return STATES[0]
    last = records[-1]
    if isinstance(last, Ended) and last.status == "done":
        return DONE
    if isinstance(last, Asked | Ended):
        return STATES[4]
    settled = {(record.reply, record.index) for record in records if isinstance(record, Settled)}
    begun = {(record.reply, record.index) for record in records if isinstance(record, Intended)} - settled
    return STATES[1 + min(len(begun), 2)]


async def count(journal: Journal, run_id: str, ledger: Ledger, tally: Tally) -> None:
    """Compare what happened with what was meant, once the run is done."""
    entries = await journal.read(run_id)
    records = [entry.record for entry in entries]
    keys = {(record.reply, record.index): record.key for record in records if isinstance(record, Intended)}
    doubts = [record for record in records if isinstance(record, Asked) and record.kind == "doubt"]
    asked = {keys[record.reply, record.index] for record in doubts}
    done = Counter(ledger.lines())
    tally.done += sum(done.values())
    tally.broken += bool(verify(entries))
    tally.doubts += len(asked)
    for kind in ("keyed", "probed", "signed", "look"):
        times = [number for (found, _), number in done.items() if found == kind]
        # Where a reply was lost with its process, a read may be made again under another key: it does no harm.
        tally.lost += max(0, sum(step.count(kind) for step in STEPS) - len(times))
        tally.twice += sum(number - 1 for number in times) if kind != "look" else 0
        if kind != "look":
            tally.twice += max(0, len(times) - sum(step.count(kind) for step in STEPS))
    plain = {key: number for (kind, key), number in done.items() if kind == "plain"}
    missing = sum(step.count("plain") for step in STEPS) - len(plain)
    unasked_missing = missing - len(asked - plain.keys())
    tally.silent += max(0, unasked_missing) + sum(number - 1 for number in plain.values())


def torment(journal: str, folder: Path, kills: int, seed: int) -> Tally:
    """Kill until so many kills are together, over as many runs as that takes.

    Args:
        journal: where runs are written.
        folder: for ledgers.
        kills: how many at least.
        seed: of the moments.
    """
    moments, tally = random.Random(seed), Tally()
    while tally.kills < kills:
        ledger = Ledger(folder / f"ledger{tally.runs}")
        run_id, here = f"run{tally.runs}", 0
        while _one_life(journal, run_id, ledger, None if here == KILLS_EACH else moments.uniform(0, LIFE_S)):
            state = asyncio.run(_with(journal, partial(state_of, run_id=run_id)))
            if state == DONE:
                break
            here += 1
            tally.hit[state] += 1
        tally.kills += here
        tally.runs += 1
        asyncio.run(_with(journal, partial(count, run_id=run_id, ledger=ledger, tally=tally)))
    return tally


def _one_life(journal: str, run_id: str, ledger: Ledger, after: float | None) -> bool:
    """A process takes the run up; whether it was killed."""
    command = [sys.executable, "-m", "bench.kill", journal, run_id, str(ledger.path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            process.wait(after)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            return True
        if process.returncode != 0:
            raise RuntimeError(f"the process failed: {process.returncode}")
        return False


async def _with(where: str, work: Callable[[Journal], Awaitable[T]]) -> T:
    opened = open_journal(Settings(journal=where), {})
    try:
        return await work(opened)
    finally:
        await opened.close()


def kill_table(_: int) -> list[Row]:
    """200 kills on SQLite, 50 on PostgreSQL."""
    found: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, postgres_server(durable=True) as server:
        places = {"SQLite": (f"{folder}/journal.db", 200), "PostgreSQL": (server.new_database(), 50)}
        for name, (journal, kills) in places.items():
            place = Path(folder) / name
            place.mkdir()
            tally = torment(journal, place, kills, seed=7)
            found.append(
                {
                    "journal": name,
                    "runs": tally.runs,
                    "kills": tally.kills,
                    **{f"killed {state}": tally.hit[state] for state in STATES},
                    "effects": tally.done,
                    "lost": tally.lost,
                    "done twice": tally.twice,
                    "asked about": tally.doubts,
                    "silent": tally.silent,
                    "broken chains": tally.broken,
                }
            )
    return found


def main() -> None:
    """One process: takes up the run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("journal")
    parser.add_argument("run_id")
    parser.add_argument("ledger", type=Path)
    arguments = parser.parse_args()

    async def command() -> None:
        await _with(arguments.journal, partial(live, run_id=arguments.run_id, ledger=Ledger(arguments.ledger)))

    asyncio.run(command())


if __name__ == "__main__":
    main()
