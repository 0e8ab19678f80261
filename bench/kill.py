"""`kill -9` at random moments; part of `make bench`: what is lost, what is done twice, what is said to be in doubt.

A run of twelve steps acts on a ledger outside of the journal: reads, calls that take an idempotency key, calls that can
be looked up, plain writes, several at once, one that waits for approval, and two tasks for another agent, which acts
and waits for approval itself. Each approval comes two turns late: the conversation goes on meanwhile, and its last turn
signs again if it is not told that all was signed. Its process is killed and another goes on, again and again, until all
is done. The ledger then says what really happened.

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
from typing import NamedTuple, Protocol, TextIO, TypeVar

import msgspec
from msgspec import Struct

from actum import Agent, Context, ToolCall, tool
from actum.compose.journals import open_journal
from actum.compose.settings import Settings
from actum.core.event import RunResult
from actum.core.interfaces import Journal
from actum.core.message import Reply, ToolMessage, UserMessage
from actum.core.model import Request
from actum.core.run.chain import verify
from actum.core.run.record import CallCompleted, Ended, InputRequested, Intended
from actum.testing import Said, ScriptedModel
from actum.toolsets.function.function import FunctionTool
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
    ["clerk"],
    ["plain", "look"],
    ["clerk", "keyed"],
]
CLERK: list[list[str]] = [["keyed"], ["plain", "look"], ["signed"], ["probed"]]
"""What the other agent does in each of its tasks."""
MEANT = Counter(kind for step in [*STEPS, *CLERK, *CLERK] for kind in step)
"""What a run does, if nothing is lost and nothing done twice."""
EFFECT_S = 0.003
"""So long a service takes to answer after it has done what it was asked: the window in which a kill leaves a doubt."""
LIFE_S = 0.15
"""A process is killed at a random moment of so many seconds after it took the run up."""
KILLS_EACH = 12
"""A run is left in peace after so many kills, so that it comes to its end."""


DONE = "after it was done"
STATES = (
    "before it began",
    "between calls",
    "in a call",
    "in calls side by side",
    "while it waited",
    "in its child",
    "in a later turn",
)
LATE = 2
"""So many turns after its question an approval comes."""
LAST = "Was all signed?"


def steps_of(steps: list[list[str]], request: Request) -> Said:
    """Says the next step by what is in the conversation, so that it can be asked again by another process."""
    done = sum(isinstance(message, Reply) for message in request.messages)
    if done == len(steps):
        return "All done."
    return [
        ToolCall(str(index), kind, {"task": "Act"} if kind == "clerk" else {"step": done, "index": index})
        for index, kind in enumerate(steps[done])
    ]


def script(request: Request) -> Said:
    """The run itself, and the turns that come while it waits."""
    asked = next(message.text for message in reversed(request.messages) if isinstance(message, UserMessage))
    if asked == "Go":
        return steps_of(STEPS, request)
    if asked == LAST and isinstance(request.messages[-1], UserMessage) and not is_told_of_all(request):
        return ToolCall("again", "signed", {"step": 99, "index": 0})
    return "Well."


def is_told_of_all(request: Request) -> bool:
    """Whether the model is told that every call which waited was carried out, there or in a message behind it."""
    waited, made = 0, 0
    for message in request.messages:
        if isinstance(message, ToolMessage) and message.name in ("signed", "clerk"):
            waited += message.result.text not in ("done", "All done.")
        elif isinstance(message, UserMessage) and message.source == "memory":
            lines = [line for line in message.text.splitlines() if line.startswith(("- signed", "- clerk"))]
            made += sum("carried out. Result" in line for line in lines)
    return made >= waited


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
    """What one process does: take the conversation up, and go on until all of it is done.

    The person is this process, too: it approves, two turns late, and of a doubt it says that nobody knows.
    """
    clerk = Agent(ScriptedModel(partial(steps_of, CLERK)), tools(ledger), name="clerk")
    agent = Agent(ScriptedModel(script), [*tools(ledger), clerk], journal=journal)
    print("up", flush=True)

    async def turn(name: str, question: str) -> RunResult:
        """Begin a turn, or go on with it."""
        if await journal.read(name):
            return await agent.resume(name)
        return await agent.run(question, run_id=name, conversation=run_id)

    for name, question in {run_id: "Go", last_turn(run_id): LAST}.items():
        result = await turn(name, question)
        while result.status == "paused":
            for waiting in result.pending:
                if waiting.kind == "approval" and name == run_id:
                    for number in range(LATE):
                        await turn(f"{run_id}.{waiting.id}.{number}", "And how is the weather?")
            await asyncio.sleep(EFFECT_S * 2)  # it waits, and can be killed meanwhile
            words = {"approval": "approve", "doubt": "unknown"}
            result = await agent.resume(name, {one.id: words[one.kind] for one in result.pending})
        print(name, result.status, flush=True)


def last_turn(run_id: str) -> str:
    """The id of the turn that a conversation ends with."""
    return f"{run_id}.last"


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

    def row(self) -> Row:
        """The numbers, as a line of a table."""
        return {
            "runs": self.runs,
            "kills": self.kills,
            **{f"killed {state}": self.hit[state] for state in STATES},
            "effects": self.done,
            "lost": self.lost,
            "done twice": self.twice,
            "asked about": self.doubts,
            "silent": self.silent,
            "broken chains": self.broken,
        }


async def state_of(journal: Journal, run_id: str) -> str:
    """In which state of the conversation the process died."""
    records = [entry.record for entry in await journal.read(run_id)]
    if not records:
        return STATES[0]
    last_turn_records = [entry.record for entry in await journal.read(last_turn(run_id))]
    if last_turn_records and isinstance(last_turn_records[-1], Ended) and last_turn_records[-1].status == "done":
        return DONE
    (latest, *_) = await journal.runs(limit=1)
    if latest.status == "running" and latest.run_id != run_id:
        return STATES[5] if latest.parent else STATES[6]
    if isinstance(records[-1], InputRequested | Ended):
        return STATES[4]
    settled = {(record.cause, record.index) for record in records if isinstance(record, CallCompleted)}
    begun = {(record.cause, record.index) for record in records if isinstance(record, Intended)} - settled
    return STATES[1 + min(len(begun), 2)]


async def count(journal: Journal, run_id: str, ledger: Ledger, tally: Tally, *, meant: Counter[str] = MEANT) -> None:
    """Compare what happened with what was meant, once all is done."""
    runs = [run for run in await journal.runs(limit=None) if run_id in (run.run_id, run.parent, run.conversation)]
    keys: dict[tuple[str, int, int], str] = {}
    asked: set[str] = set()
    for run in runs:
        entries = await journal.read(run.run_id)
        records = [entry.record for entry in entries]
        tally.broken += bool(verify(entries))
        keys |= {(run.run_id, each.cause, each.index): each.key for each in records if isinstance(each, Intended)}
        doubts = [
            each for each in records if isinstance(each, InputRequested) and each.kind == "doubt" and not each.run
        ]
        asked |= {keys[run.run_id, each.cause, each.index] for each in doubts}
    done = Counter(ledger.lines())
    tally.done += sum(done.values())
    tally.doubts += len(asked)
    for kind in ("keyed", "probed", "signed", "look"):
        times = [number for (found, _), number in done.items() if found == kind]
        # Where a reply was lost with its process, a read may be made again under another key: it does no harm.
        tally.lost += max(0, meant[kind] - len(times))
        tally.twice += sum(number - 1 for number in times) if kind != "look" else 0
        if kind != "look":
            tally.twice += max(0, len(times) - meant[kind])
    plain = {key: number for (kind, key), number in done.items() if kind == "plain"}
    missing = meant["plain"] - len(plain)
    unasked_missing = missing - len(asked - plain.keys())
    tally.silent += max(0, unasked_missing) + sum(number - 1 for number in plain.values())
    tally.twice += max(0, -missing)


class StateOf(Protocol):
    """Says in which state of a run its process died."""

    def __call__(self, journal: Journal, run_id: str) -> Awaitable[str]:
        """The state, one of `STATES`, or `DONE`."""


class Count(Protocol):
    """Compares what happened with what was meant."""

    def __call__(self, journal: Journal, run_id: str, ledger: Ledger, tally: Tally) -> Awaitable[None]:
        """Add what came of a run to the tally."""


class Torment(NamedTuple):
    """What is killed.

    Attributes:
        module: is run as a program by each process: `python -m MODULE JOURNAL RUN LEDGER`.
        state_of, compare: as said there.
    """

    module: str
    state_of: StateOf
    compare: Count


AGENTS = Torment("bench.kill", state_of, count)


def torment(journal: str, folder: Path, kills: int, seed: int, what: Torment = AGENTS) -> Tally:
    """Kill until so many kills are together, over as many runs as that takes.

    Args:
        journal: where runs are written.
        folder: for ledgers.
        kills: how many at least.
        seed: of the moments.
        what: what is killed.
    """
    moments, tally = random.Random(seed), Tally()
    while tally.kills < kills:
        ledger = Ledger(folder / f"ledger{tally.runs}")
        run_id, here = f"run{tally.runs}", 0
        while True:
            after = None if here == KILLS_EACH else moments.uniform(0, LIFE_S)
            if not _one_life(what.module, journal, run_id, ledger, after):
                break
            state = asyncio.run(with_journal(journal, partial(what.state_of, run_id=run_id)))
            if state == DONE:
                break
            here += 1
            tally.hit[state] += 1
        tally.kills += here
        tally.runs += 1
        asyncio.run(with_journal(journal, partial(what.compare, run_id=run_id, ledger=ledger, tally=tally)))
    return tally


def _one_life(module: str, journal: str, run_id: str, ledger: Ledger, after: float | None) -> bool:
    """A process takes the run up; whether it was killed."""
    command = [sys.executable, "-m", module, journal, run_id, str(ledger.path)]
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


async def with_journal(where: str, work: Callable[[Journal], Awaitable[T]]) -> T:
    opened = open_journal(Settings(journal=where), {})
    try:
        return await work(opened)
    finally:
        await opened.close()


def kill_rows(sqlite: int, postgres: int, seed: int, what: Torment = AGENTS) -> list[Row]:
    """So many kills on each database."""
    found: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, postgres_server(durable=True) as server:
        places = {"SQLite": (f"{folder}/journal.db", sqlite), "PostgreSQL": (server.new_database(), postgres)}
        for name, (journal, kills) in places.items():
            place = Path(folder) / name
            place.mkdir()
            found.append({"journal": name, **torment(journal, place, kills, seed, what).row()})
    return found


def kill_table(_: int) -> list[Row]:
    """200 kills on SQLite, 50 on PostgreSQL."""
    return kill_rows(200, 50, seed=7)


def one_process(lived: Callable[[Journal, str, Ledger], Awaitable[None]]) -> None:
    """What a process is told at its command line: the journal, the run that it takes up, and the ledger."""
    parser = argparse.ArgumentParser()
    parser.add_argument("journal")
    parser.add_argument("run_id")
    parser.add_argument("ledger", type=Path)
    arguments = parser.parse_args()

    async def command() -> None:
        ledger = Ledger(arguments.ledger)
        await with_journal(arguments.journal, lambda journal: lived(journal, arguments.run_id, ledger))

    asyncio.run(command())


if __name__ == "__main__":
    one_process(live)
