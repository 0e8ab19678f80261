"""A workflow that a person drew: search, within the budget, approval, book; else other dates. Its process is killed
while it waits for approval; another process goes on, and the flight is booked once."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from actum import Answer
from actum.core.json import JsonObject
from actum.events import Pending, RunResult
from actum.storage.sqlite import SQLiteJournal
from actum.testing import ScriptedModel
from actum.workflow import Workflow

sys.path.insert(0, str(Path(__file__).parents[2]))  # so that it also runs as a file

from examples.flight_booking.desk import desk
from examples.local_services.flights import FlightDesk, today
from examples.local_services.serving import serving
from examples.own_model import own_model

FILE = Path(__file__).with_name("flight_desk.workflow.yaml")
RUN = "run_flight"


class Away:
    """Somebody who is asked and does not answer."""

    async def ask(self, pending: Pending) -> Answer | None:
        """Wait for ever, with the process."""
        print(f"asked {pending.id}", flush=True)
        await asyncio.Event().wait()
        return None


@contextlib.asynccontextmanager
async def travel_desk(url: str, journal: Path, own: str = "") -> AsyncIterator[Workflow]:
    """The workflow as one process has it: with a journal that outlives it."""
    opened = SQLiteJournal(journal)
    model = own or ScriptedModel(["后天有 980 元的航班。"])
    yield Workflow.load(FILE, tools=desk(url), models={"fast": model}, journal=opened)
    await opened.close()


def wishes() -> JsonObject:
    """What the traveller wants: a flight of tomorrow."""
    date = today().fromordinal(today().toordinal() + 1).isoformat()
    return {"origin": "北京", "destination": "上海", "date": date, "budget": 2_000, "passenger": "李雷"}


async def begin(url: str, journal: Path) -> None:
    """What the process does that is killed: it runs the workflow and asks somebody who does not answer."""
    async with travel_desk(url, journal) as workflow:
        await workflow.run(wishes(), run_id=RUN, approver=Away())


async def killed_while_it_waits(flights: FlightDesk, journal: Path) -> RunResult[JsonObject]:
    """Run the workflow in a process, kill the process while it waits for approval, and go on in this process."""
    async with serving(flights.service()) as (url,):
        command = [sys.executable, "-m", "examples.flight_workflow.main", "--begin", url, str(journal)]
        child = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2])
        assert child.stdout is not None
        asked = (await child.stdout.readline()).decode().split()[1]
        child.kill()
        await child.wait()
        async with travel_desk(url, journal) as workflow:
            return await workflow.resume(RUN, {asked: "approve"})


async def above_the_budget(journal: Path, own: str = "") -> RunResult[JsonObject]:
    """All flights cost more than the budget: other dates are suggested."""
    async with serving(FlightDesk({1: 2480}).service()) as (url,), travel_desk(url, journal, own) as workflow:
        return await workflow.run(wishes())


async def everything(own: str = "") -> None:
    """Both branches."""
    with tempfile.TemporaryDirectory() as folder:
        flights = FlightDesk()
        booked = await killed_while_it_waits(flights, Path(folder, "killed.db"))
        print(booked.output, "booked:", len(flights.booked))
        print((await above_the_budget(Path(folder, "above.db"), own)).output)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run it."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["--begin"]:
        asyncio.run(begin(words[1], Path(words[2])))
    else:
        asyncio.run(everything(own_model(__doc__, arguments)))


if __name__ == "__main__":
    main()
