"""A flight within the budget waits for a person, through the end of its process, and is booked once; above the budget
nothing is booked and other dates are suggested."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from actum import Agent
from actum.events import RunResult
from actum.storage.sqlite import SQLiteJournal

sys.path.insert(0, str(Path(__file__).parents[2]))  # so that it also runs as a file

from examples.flight_booking.desk import desk
from examples.flight_booking.model import script
from examples.local_services.flights import FlightDesk
from examples.local_services.serving import serving
from examples.local_services.ways import NATIVE, endpoint
from examples.own_model import own_model
from examples.watch import heading, watch

QUESTION = "帮我订明天北京到上海的机票，预算2000元，乘机人李雷。"


@asynccontextmanager
async def travel_agent(flights_url: str, journal: Path, own: str = "") -> AsyncIterator[Agent]:
    """The agent as one process has it: with a journal that outlives it. `own` is a model in the script's place."""
    opened = SQLiteJournal(journal)
    async with serving(endpoint(script, NATIVE).app) as (model_url,):
        name, dialect = (own, "auto") if own else (f"{model_url}/v1#model", "native")
        yield Agent(name, tools=desk(flights_url), dialect=dialect, journal=opened)
    await opened.close()


async def run(
    flights: FlightDesk, journal: Path, answer: tuple[str, ...], own: str = ""
) -> tuple[RunResult, RunResult]:
    """Ask; then answer what waits in another process, and go on with the run in a third.

    Args:
        flights: the flight desk.
        journal: the file that is all they have in common.
        answer: the words of the answer: `approve`, `deny` and a reason, or `edit` and what to change.
        own: a model of one's own, in the place of the script.
    """
    async with serving(flights.service()) as (url,):
        async with travel_agent(url, journal, own) as agent:
            paused = await watch(agent, QUESTION)
        if paused.status != "paused":
            return paused, paused
        word, *more = answer
        command = [sys.executable, "-m", "actum", "approvals", word, paused.pending[0].id, *more]
        await asyncio.to_thread(subprocess.run, [*command, "--journal", str(journal)], check=True)
        async with travel_agent(url, journal, own) as agent:
            result = await agent.resume(paused.run_id)
        print(result.text)
        return paused, result


async def everything(own: str = "") -> None:
    """All that can come of it; with a model of one's own the first of it."""
    with tempfile.TemporaryDirectory() as folder:
        heading("Within the budget: a person approves, in another process")
        await run(FlightDesk(), Path(folder, "approved.db"), ("approve",), own)
        if own:
            return
        heading("A person says no")
        await run(FlightDesk(), Path(folder, "denied.db"), ("deny", "改坐高铁。"))
        heading("Above the budget: other dates, and nothing is booked")
        await run(FlightDesk({1: 2480, 2: 980, 3: 2150, 4: 890}), Path(folder, "above.db"), ("approve",))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run it."""
    asyncio.run(everything(own_model(__doc__, arguments)))


if __name__ == "__main__":
    main()
