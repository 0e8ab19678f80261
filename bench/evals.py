"""What an experiment costs beside bare runs: `python -m bench.evals [--cases 1000] [--journal PATH]`.

A scripted model makes one call of a reading tool and answers. The cases are tried one by one, and the same questions
are put to `Agent.run` on the same journal. Printed are seconds of CPU of both, in turns, and their ratio.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time

from actum import Agent, ToolCall, tool
from actum.core.interfaces import Journal
from actum.core.message import Reply, ToolMessage, UserMessage
from actum.core.model import Request
from actum.evals import Case
from actum.evals.case import CaseCall, CaseText, Expected
from actum.evals.experiment import Experiment, carry_out
from actum.journal.memory import MemoryJournal
from actum.storage.place import open_journal
from actum.testing import ScriptedModel

ROUNDS = 5


@tool(effects={"read"})
def stock(item: str) -> int:
    """How many there are."""
    return len(item)


def says(request: Request) -> str | Reply:
    """One call, then what came of it."""
    last = request.messages[-1]
    if isinstance(last, ToolMessage):
        return f"There are {last.result.text}."
    assert isinstance(last, UserMessage)
    return Reply.of(calls=[ToolCall("1", "stock", {"item": last.text})])


def cases(count: int) -> list[Case]:
    """Questions with the call and the answer that are right."""
    return [
        Case(
            id=f"case {number}",
            input=f"item {number}",
            expected=Expected(
                calls=(CaseCall(name="stock", arguments={"item": f"item {number}"}),), text=CaseText(contains="There")
            ),
        )
        for number in range(count)
    ]


async def measured(journal: Journal, count: int) -> tuple[float, float]:
    """Seconds of CPU of bare runs, and of an experiment."""
    agent = Agent(ScriptedModel(says, name="m"), [stock], name="desk", journal=journal)
    asked = cases(count)
    began = time.process_time()
    for case in asked:
        await agent.run(str(case.input))
    bare = time.process_time() - began
    began = time.process_time()
    await carry_out(Experiment(cases=asked, agent=agent, jobs=1), journal)
    return bare, time.process_time() - began


async def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="bench.evals", description=__doc__)
    parser.add_argument("--cases", type=int, default=1_000)
    parser.add_argument("--journal", default="memory")
    wanted = parser.parse_args()
    journal = MemoryJournal() if wanted.journal == "memory" else open_journal(wanted.journal)
    await measured(journal, 10)
    found = [await measured(journal, wanted.cases // ROUNDS) for _ in range(ROUNDS)]
    await journal.close()
    for bare, tried in found:
        print(f"bare {bare:.3f} s, experiment {tried:.3f} s, ratio {tried / bare:.2f}")
    print(f"median ratio {statistics.median(tried / bare for bare, tried in found):.2f}")


if __name__ == "__main__":
    asyncio.run(main())
