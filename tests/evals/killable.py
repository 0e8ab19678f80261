"""An experiment in a process of its own, which is killed behind a number of records: `python -m tests.evals.killable
JOURNAL LEDGER CASES RECORDS`. With 0 records it comes to its end. Each effect is a line of the ledger.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from actum import Agent, ToolCall, tool
from actum.core.interfaces import Journal
from actum.core.message import Reply, ToolMessage, UserMessage
from actum.core.model import Request
from actum.core.run.record import Record
from actum.evals.case import Case, CaseCall, CaseText, Expected
from actum.evals.experiment import Experiment, carry_out
from actum.storage.place import open_journal
from actum.testing import ScriptedModel


def cases(count: int) -> list[Case]:
    """Cases that book an item each."""
    return [
        Case(
            id=f"case {number}",
            input=f"item {number}",
            expected=Expected(
                calls=(CaseCall(name="book", arguments={"item": f"item {number}"}),), text=CaseText(contains="booked")
            ),
        )
        for number in range(count)
    ]


def says(request: Request) -> str | Reply:
    last = request.messages[-1]
    if isinstance(last, ToolMessage):
        return f"It is {last.result.text}."
    assert isinstance(last, UserMessage)
    return Reply.of(calls=[ToolCall("1", "book", {"item": last.text})])


def experiment(ledger: Path, count: int) -> Experiment:
    """Cases whose tool writes a line; the tool is repeatable by its key, which the line has."""

    @tool(effects={"write"}, idempotent=True)
    def book(item: str) -> str:
        """Book an item."""
        known = ledger.read_text() if ledger.exists() else ""
        if f"{item}\n" not in known:
            with ledger.open("a") as file:
                file.write(f"{item}\n")
        return "booked"

    agent = Agent(ScriptedModel(says, name="m"), [book], name="desk")
    return Experiment(cases=cases(count), agent=agent, name="before", tries=1, jobs=2, live=["book"])


class Deadly:
    """A journal whose process is killed when it is about to write one record more."""

    def __init__(self, journal: Journal, records: int) -> None:
        append, left = journal.append, [records]

        def counted(run_id: str, record: Record) -> int:
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left[0] -= 1
            return append(run_id, record)

        journal.append = counted  # type: ignore[method-assign]


async def main(place: str, ledger: str, count: int, records: int) -> None:
    """Carry the experiment out."""
    journal = open_journal(place)
    if records:
        Deadly(journal, records)
    await carry_out(experiment(Path(ledger), count), journal)
    await journal.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
