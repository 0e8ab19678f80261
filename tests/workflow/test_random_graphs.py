"""Random graphs with containers: what becomes of them in any order, cut after any record, and forked at any node."""

from __future__ import annotations

import asyncio
import random

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from actum import tool
from actum.core.errors import ToolError, UsageError, WorkflowFailed
from actum.core.interfaces import Context
from actum.core.json import JsonObject
from actum.core.run.node_records import NodeBegan, NodeError, NodeLeft
from actum.core.run.record import CallCompleted, Record, Started
from actum.journal.memory import MemoryJournal
from actum.runs.given_tools import Toolish
from actum.workflow.definition.flow import Due, Flow, NodeOutcome
from actum.workflow.load import read_definition
from actum.workflow.workflow import Workflow
from tests.endurance import share

from .naive import Expected, definitions, expected
from .test_flow import carry_out

INPUTS: JsonObject = {"a": 1}


def text_of(definition: JsonObject) -> bytes:
    return msgspec.json.encode({"actum": "workflow/1", "name": "w", **definition})


def echo(due: Due) -> NodeOutcome:
    """The tool of the graphs: it gives what it is given, or fails."""
    given = due.node.expressions["with"].value(due.scope)
    assert isinstance(given, dict)
    if given["fail"]:
        return NodeOutcome(error=NodeError("test", "no", due.path))
    return NodeOutcome(value={"output": given["x"]})


@settings(max_examples=share(300, 30), deadline=None)
@given(definitions(), st.integers(0, 1_000))
def test_a_random_graph_comes_to_what_a_naive_interpreter_says_in_any_order(definition: JsonObject, seed: int) -> None:
    told = expected(definition, INPUTS)
    flow = Flow(read_definition(text_of(definition)), INPUTS)
    left = carry_out(flow, echo, seed)
    assert flow.is_over
    assert len(left) == len(set(left))
    assert set(left) <= told.left
    assert (flow.failed is None) == (not told.errors)
    if flow.failed is not None:
        assert flow.failed.node in told.errors
        return
    outputs = flow.outputs()[0]
    if told.is_exact:
        assert set(left) == told.left
        assert outputs == told.outputs
    else:
        assert without_sum(outputs) == without_sum(told.outputs)


def without_sum(outputs: JsonObject) -> JsonObject:
    """The outputs without the sum, in which the order shows where a list of nodes was stopped."""
    return {name: value for name, value in outputs.items() if name != "the_sum"}


class Service:
    """What the tool does, counted by idempotency key, as a service would do."""

    def __init__(self, seed: int) -> None:
        self.done: list[str] = []
        self._random = random.Random(seed)

    def tools(self) -> list[Toolish]:
        @tool(effects={"spend"}, idempotent=True)
        async def t(x: object, fail: bool, path: str, context: Context) -> object:
            """Do something, or fail."""
            for _ in range(self._random.randrange(4)):
                await asyncio.sleep(0)
            self.done.append(context.key)
            if fail:
                raise ToolError("no")
            return x

        return [t]


def made(definition: JsonObject, service: Service, journal: MemoryJournal) -> Workflow:
    return Workflow(read_definition(text_of(definition)), service.tools(), journal=journal)


async def outcome_of(flow: Workflow, *, resumed: str = "") -> tuple[JsonObject | None, str]:
    """The outputs of a run, or the node at which the run failed."""
    try:
        result = await (flow.resume(resumed) if resumed else flow.run(INPUTS, run_id="r"))
        while resumed and result.status == "paused":  # a fork asks before it does again what the run has done
            result = await flow.resume(resumed, {pending.id: "approve" for pending in result.pending})
    except WorkflowFailed as failure:
        return None, failure.node
    assert result.status == "done"
    return result.output, ""


def check_outcome(outcome: tuple[JsonObject | None, str], told: Expected) -> None:
    outputs, failed_at = outcome
    assert bool(failed_at) == bool(told.errors)
    if failed_at:
        assert failed_at in told.errors
    elif outputs is not None and told.is_exact:
        assert outputs == told.outputs
    elif outputs is not None:
        assert without_sum(outputs) == without_sum(told.outputs)


async def copy_of(source: MemoryJournal, records: list[Record]) -> MemoryJournal:
    """A journal with some records of the run alone."""
    journal = MemoryJournal()
    for record in records:
        journal.append("r", record)
    started = records[0]
    assert isinstance(started, Started)
    for digest in (started.workflow, started.tools):
        journal.keep(digest, await source.kept(digest))
    return journal


@settings(max_examples=share(120, 15), deadline=None)
@given(definitions(), st.integers(0, 1_000), st.floats(0, 1))
def test_a_run_of_a_random_graph_cut_after_any_record_comes_to_the_same(
    definition: JsonObject, seed: int, where: float
) -> None:
    async def check() -> None:
        told, journal = expected(definition, INPUTS), MemoryJournal()
        check_outcome(await outcome_of(made(definition, Service(seed), journal)), told)
        records = [entry.record for entry in await journal.read("r")]
        kept = records[: 1 + int(where * (len(records) - 1))]
        again, service = await copy_of(journal, kept), Service(seed + 1)
        check_outcome(await outcome_of(made(definition, service, again), resumed="r"), told)
        written = [entry.record for entry in await again.read("r")]
        assert written[: len(kept)] == kept
        left = [each.path for each in written if isinstance(each, NodeLeft)]
        assert len(left) == len(set(left))
        assert len(service.done) == len(set(service.done))
        completed = sum(isinstance(each, CallCompleted) and each.final for each in written)
        assert completed == len({each.path for each in written if isinstance(each, NodeBegan)})

    asyncio.run(check())


@settings(max_examples=share(50, 8), deadline=None)
@given(definitions(), st.integers(0, 1_000), st.floats(0, 1))
def test_a_run_of_a_random_graph_can_be_forked_at_any_entry_that_lies_in_no_call(
    definition: JsonObject, seed: int, where: float
) -> None:
    async def check() -> None:
        told, journal, service = expected(definition, INPUTS), MemoryJournal(), Service(seed)
        flow = made(definition, service, journal)
        await outcome_of(flow)
        at = int(where * (len(await journal.read("r")) - 1))
        try:
            fork = await flow.fork("r", at)
        except UsageError:  # the entry lies within a call
            return
        before = len(service.done)
        check_outcome(await outcome_of(flow, resumed=fork), told)
        taken_over = [each.record for each in (await journal.read("r"))[: at + 1]]
        done = {each.path for each in taken_over if isinstance(each, NodeLeft)}
        begun_anew = [each.record for each in (await journal.read(fork))[at + 1 :]]
        assert not {each.path for each in begun_anew if isinstance(each, NodeBegan)} & done
        assert len(set(service.done)) == len(service.done)
        assert len(service.done) - before <= len(told.left)

    asyncio.run(check())
