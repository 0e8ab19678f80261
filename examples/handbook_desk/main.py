"""One answer out of documents and live data: the rule of a handbook, and the price of today, each with a reference that
a program has checked."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from actum import Agent, tool
from actum.browser import Browser
from actum.events import RunResult
from actum.storage.sqlite import SQLiteJournal

sys.path.insert(0, str(Path(__file__).parents[2]))  # so that it also runs as a file

from examples.handbook_desk.model import script
from examples.own_model import own_model, own_or_scripted
from examples.watch import heading, watch

HANDBOOK = Path(__file__).with_name("handbook")
QUESTION = "May I book a hotel in Oslo tonight?"
PRICES = {"Oslo": 98, "Rome": 140}


@tool(effects=["read"])
def hotel_price(city: str) -> dict[str, str | int]:
    """The price of a hotel today, in euros a night."""
    return {"city": city, "euros_a_night": PRICES.get(city, 110)}


async def actum(*words: str, journal: Path) -> int:
    """Run a command of actum, as a person would."""
    command = [sys.executable, "-m", "actum", *words, "--journal", str(journal)]
    done = await asyncio.to_thread(subprocess.run, command, check=False)
    return done.returncode


async def ask(journal: Path, model: str = "") -> RunResult:
    """Make a collection of the handbook, and ask an agent that has it and a tool.

    Args:
        journal: the file that keeps the collection and the run.
        model: a model of one's own, in the place of the script.
    """
    heading("The documents: everybody may read them")
    await actum("knowledge", "add", "handbook", str(HANDBOOK), "--reader", "all", journal=journal)
    heading("The answer: a wrong price is told to the model and not to you")
    opened = SQLiteJournal(journal)
    agent = Agent(
        own_or_scripted(model, script), [Browser(knowledge=["handbook"]), hotel_price], journal=opened, cite="mark"
    )
    result = await watch(agent, QUESTION)
    await opened.close()
    return result


async def everything(model: str = "") -> int:
    """Ask, and check the references once more."""
    with tempfile.TemporaryDirectory() as folder:
        result = await ask(Path(folder, "runs.db"), model)
        heading("The references, checked against what was read")
        return await actum("references", result.run_id, journal=Path(folder, "runs.db"))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run it."""
    asyncio.run(everything(own_model(__doc__, arguments)))


if __name__ == "__main__":
    main()
