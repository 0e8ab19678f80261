"""A person answers one branch while another works."""

import asyncio
from pathlib import Path

import pytest

from actum import Answer, tool
from actum.call.asking.inbox import answer_in_run
from actum.core.interfaces import Journal
from actum.core.json import JsonObject
from actum.core.run.node_records import NodeLeft
from actum.core.run.record import InputGiven, InputRequested
from actum.journal.follow import follow
from actum.journal.memory import MemoryJournal
from actum.storage.place import open_journal
from tests.endurance import share

from .test_workflow import workflow

NODES: JsonObject = {
    "slow": {"type": "tool", "tool": "work"},
    "ask": {"type": "human", "message": "Go?", "choices": ["go"]},
    "then": {"type": "say", "text": "gone"},
}
DEFINITION: JsonObject = {"nodes": NODES, "edges": ["ask.go > then"]}
GO = Answer("answer", arguments={"choice": "go"}, by="ann")


async def asked_in(journal: Journal, run_id: str) -> str:
    """The id of what the run asks, as soon as the run asks."""
    while True:
        for entry in await journal.read(run_id):
            if isinstance(entry.record, InputRequested):
                return entry.record.id
        await asyncio.sleep(0)


async def gone(journal: Journal, run_id: str) -> None:
    """Return when the branch behind the answer is over."""
    async for entry in follow(journal, run_id):
        if isinstance(entry.record, NodeLeft) and entry.record.path == "then":
            return


async def test_an_answer_goes_on_with_its_branch_while_another_works(tmp_path: Path) -> None:
    let_go = asyncio.Event()

    @tool(effects={"read"})
    async def work() -> str:
        """Work until the other branch is over."""
        await let_go.wait()
        return "worked"

    journal = open_journal(tmp_path / "j.db")
    flow = workflow(DEFINITION, [work], journal=journal)
    run = asyncio.ensure_future(flow.run(run_id="r"))
    ask = await asked_in(journal, "r")
    other = open_journal(tmp_path / "j.db")  # as another process has it
    await answer_in_run(other, "r", ask, GO)
    await gone(journal, "r")
    assert not run.done()
    let_go.set()
    done = await run
    assert (done.status, done.text) == ("done", "gone")
    assert await journal.posted("r") == []
    await other.close()
    await journal.close()


@pytest.mark.endurance("src/actum/workflow", "src/actum/journal")
async def test_an_answer_that_arrives_as_the_driver_ends_is_not_lost() -> None:
    """Raced 40 or 200 times, the answer a little later each time."""

    @tool(effects={"read"})
    async def work() -> str:
        """Work a little."""
        for _ in range(5):
            await asyncio.sleep(0)
        return "worked"

    for at in range(share(200, 40)):
        journal = MemoryJournal()
        flow = workflow(DEFINITION, [work], journal=journal)
        run = asyncio.ensure_future(flow.run(run_id="r"))
        ask = await asked_in(journal, "r")
        for _ in range(at % 40):
            await asyncio.sleep(0)
        await answer_in_run(journal, "r", ask, GO)
        result = await run
        if result.status == "paused":  # the answer came behind the end: it is on record, and nothing waits
            assert await journal.posted("r") == [], at
            result = await flow.resume("r")
        assert result.status == "done", at
        given = [entry for entry in await journal.read("r") if isinstance(entry.record, InputGiven)]
        assert len(given) == 1, at
