"""A workflow ends with the access of its caller, in the middle of an answer of a model too; a call finishes first."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import pytest

from actum import Agent, tool
from actum.core.json import JsonObject
from actum.core.message import Reply
from actum.core.model import Request
from actum.core.run.record import CallCompleted, Ended
from actum.journal.memory import MemoryJournal
from actum.runs.caller_access import ACCESS_REVOKED
from actum.server.keys import make_key, revoke_key
from actum.workflow.load import read_definition
from actum.workflow.workflow import Workflow
from tests.patience import HANGS_S

NODES: dict[str, JsonObject] = {
    "a model": {"ask": {"type": "model", "model": "m", "prompt": "Go."}},
    "an agent": {"ask": {"type": "agent", "agent": "helper", "task": "Go."}},
    "a model beside a call": {
        "ask": {"type": "model", "model": "m", "prompt": "Go."},
        "do": {"type": "tool", "tool": "do"},
    },
}


class Hanging:
    """A model that never answers."""

    name = "hanging"

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.broken_off = asyncio.Event()

    async def reply(self, request: Request, emit: object = None) -> Reply:
        self.asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.broken_off.set()
        raise AssertionError


class Watched(MemoryJournal):
    """A journal that tells when it is asked which runs others want cancelled: their access is looked at before that."""

    def __init__(self) -> None:
        super().__init__()
        self._looks = asyncio.Event()

    async def looked(self) -> None:
        self._looks.clear()
        await self._looks.wait()

    async def driven(self, run_ids: Sequence[str]) -> set[str]:
        self._looks.set()
        return await super().driven(run_ids)


@pytest.mark.parametrize("asked", NODES)
async def test_an_answer_that_is_waited_for_is_broken_off_when_the_key_is_revoked(asked: str) -> None:
    model, begun, may_end = Hanging(), asyncio.Event(), asyncio.Event()

    @tool(effects={"spend"})
    async def do() -> str:
        """Do it."""
        begun.set()
        await may_end.wait()
        return "done"

    text = json.dumps({"actum": "workflow/1", "name": "w", "nodes": NODES[asked], "edges": [], "outputs": {}})
    journal = Watched()
    helper = Agent(model, name="helper")
    flow = Workflow(read_definition(text), [do, helper], models={"m": model}, journal=journal)
    key = await make_key(journal, "ann", by="root", scopes=("runs",))
    run = asyncio.create_task(flow.run({}, run_id="run_1", principal="ann", key_id=key.key.id))
    async with asyncio.timeout(HANGS_S):
        await model.asked.wait()
        await revoke_key(journal, "ann", by="root")
        if "beside" in asked:
            await begun.wait()
            for _ in range(2):  # by the second the first has ended what it ends
                await journal.looked()
            assert not model.broken_off.is_set(), "nobody would know what the call did"
            may_end.set()
        result = await run
    entries = [entry.record for entry in await journal.read("run_1")]
    assert model.broken_off.is_set()
    assert (result.status, result.stop_reason) == ("stopped", ACCESS_REVOKED)
    assert isinstance(entries[-1], Ended)
    if "beside" in asked:
        (done,) = [each.result.text for each in entries if isinstance(each, CallCompleted)]
        assert done == "done"
