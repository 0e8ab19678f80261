"""A run that is cut after any record and resumed comes to the same, and does nothing twice."""

import asyncio
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from actum import Answer, tool
from actum.core.event import RunResult
from actum.core.interfaces import Context
from actum.core.json import JsonObject
from actum.core.run.node_records import NodeBegan, NodeLeft
from actum.core.run.pending import Pending
from actum.core.run.record import Ended, Record, Started
from actum.journal.memory import MemoryJournal
from actum.runs.given_tools import Toolish
from actum.testing import ScriptedModel
from actum.workflow.workflow import Workflow
from tests.endurance import share

from .test_workflow import workflow

TOUR: JsonObject = {
    "name": "tour",
    "inputs": {"type": "object"},
    "vars": {"seen": [], "total": 0},
    "nodes": {
        "find": {"type": "tool", "tool": "look", "with": {"x": "${inputs.x}"}},
        "say": {"type": "model", "model": "m", "prompt": "${find.output}"},
        "trips": {
            "type": "each",
            "over": {"cel": "[1, 2, 3, inputs.x]"},
            "parallel": 3,
            "on_error": "null",
            "nodes": {
                "price": {"type": "tool", "tool": "look", "with": {"x": "${item}"}},
                "note": {"type": "set", "append": {"seen": "${price.output}"}, "add": {"total": 1}},
            },
            "edges": ["price > note"],
            "output": "${price.output}",
        },
        "count": {
            "type": "loop",
            "vars": {"n": 0},
            "until": "vars.n >= 3",
            "nodes": {
                "pay": {"type": "tool", "tool": "pay", "with": {"amount": "${vars.n}"}},
                "add": {"type": "set", "add": {"n": 1}},
            },
            "edges": ["pay > add"],
            "output": "${vars.n}",
        },
        "ask": {"type": "human", "message": "Go?", "choices": ["go", "stop"]},
        "book": {"type": "tool", "tool": "book", "with": {"flight": "${find.output}"}},
        "big": {"type": "if", "cases": [{"port": "yes", "when": "size(trips.output) > 2"}]},
        "join": {"type": "merge", "groups": {"got": ["${book.output}", "${say.text}"]}},
        "last": {"type": "say", "text": "${join.got} of ${vars.total}"},
    },
    "edges": [
        *("find > say", "find > ask", "ask.go > book", "trips > big", "big.yes > join", "book > join", "say > join"),
        *("join > last", "count > last"),
    ],
    "outputs": {"trips": "${trips.output}", "n": "${count.output}", "got": "${join.got}", "total": "${vars.total}"},
}


class World:
    """The tools of the tour. What they do is counted by idempotency key: a service would do the same."""

    def __init__(self, seed: int) -> None:
        self.done: dict[str, str] = {}
        self._random = random.Random(seed)

    async def pause(self) -> None:
        for _ in range(self._random.randrange(4)):
            await asyncio.sleep(0)

    def tools(self) -> list[Toolish]:
        @tool(effects={"read"})
        async def look(x: int) -> int:
            """Look."""
            await self.pause()
            return x * 10

        @tool(effects={"spend"}, idempotent=True)
        async def pay(amount: int, context: Context) -> str:
            """Pay."""
            await self.pause()
            self.done[context.key] = f"paid {amount}"
            return f"paid {amount}"

        @tool(effects={"spend"}, idempotent=True, approval=True)
        async def book(flight: int, context: Context) -> str:
            """Book."""
            await self.pause()
            self.done[context.key] = f"booked {flight}"
            return f"booked {flight}"

        return [look, pay, book]


def tour(world: World, journal: MemoryJournal) -> Workflow:
    return workflow(TOUR, world.tools(), models={"m": ScriptedModel(["Hello."] * 3)}, journal=journal)


async def to_its_end(flow: Workflow, result: RunResult[JsonObject]) -> RunResult[JsonObject]:
    for _ in range(10):
        if result.status != "paused":
            return result
        answers = {pending.id: _answer(pending) for pending in result.pending}
        result = await flow.resume(result.run_id, answers)
    raise AssertionError("the run does not end")


def _answer(pending: Pending) -> Answer | str:
    return "go" if pending.kind == "elicitation" else "approve"


async def whole(seed: int) -> tuple[list[Record], object, list[str], Workflow]:
    world, journal = World(seed), MemoryJournal()
    flow = tour(world, journal)
    result = await to_its_end(flow, await flow.run({"x": 7}, run_id="r"))
    return [entry.record for entry in await journal.read("r")], result.output, sorted(world.done.values()), flow


async def cut(records: list[Record], at: int, seed: int, source: Workflow) -> tuple[object, list[str], list[Record]]:
    """Resume a run of which only so many records are left."""
    world, journal = World(seed), MemoryJournal()
    for record in records[:at]:
        journal.append("r", record)
    started = records[0]
    assert isinstance(started, Started)
    for digest in (started.workflow, started.tools):
        journal.keep(digest, await source.journal.kept(digest))
    flow = tour(world, journal)
    result = await to_its_end(flow, await flow.resume("r"))
    return result.output, sorted(world.done.values()), [entry.record for entry in await journal.read("r")]


@settings(max_examples=share(60, 10), deadline=None)
@given(st.integers(0, 10_000), st.floats(0, 1), st.integers(0, 10_000))
def test_a_run_cut_after_any_record_and_resumed_comes_to_the_same(seed: int, where: float, other: int) -> None:
    async def check() -> None:
        records, output, done, source = await whole(seed)
        assert output == {"trips": [10, 20, 30, 70], "n": 3, "got": "booked 70", "total": 4}
        assert done == ["booked 70", "paid 0", "paid 1", "paid 2"]
        at = 1 + int(where * (len(records) - 1))
        again, made, written = await cut(records, at, other, source)
        assert again == output
        before = {each.path for each in records[:at] if isinstance(each, NodeLeft)}
        assert not {each.path for each in written[at:] if isinstance(each, NodeBegan)} & before
        assert set(made) <= set(done)
        paths = [each.path for each in written if isinstance(each, NodeLeft)]
        assert len(paths) == len(set(paths))

    asyncio.run(check())


def test_a_run_that_is_done_is_told_again_from_its_record_alone() -> None:
    async def check() -> None:
        records, output, _, source = await whole(1)
        again, made, written = await cut(records, len(records), 2, source)
        assert (again, made) == (output, [])
        assert len(written) == len(records)
        assert isinstance(written[-1], Ended)

    asyncio.run(check())
