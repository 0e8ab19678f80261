"""A container that is carried out anew, cut after every record: it comes to the same."""

from __future__ import annotations

from actum import tool
from actum.core.errors import WorkflowFailed
from actum.core.interfaces import Context
from actum.core.json import JsonObject
from actum.core.run.node_records import NodeLeft
from actum.core.run.record import Record
from actum.journal.memory import MemoryJournal
from actum.runs.given_tools import Toolish
from actum.testing import FakeClock

from .test_random_graphs import copy_of
from .test_workflow import workflow

BODY: JsonObject = {
    "first": {"type": "tool", "tool": "act", "with": {"x": 0}},
    "second": {"type": "tool", "tool": "act", "with": {"x": 1}},
    "third": {"type": "template", "template": "{{ x }}", "with": {"x": 2}},
}
EACH: JsonObject = {
    "type": "each",
    "over": [1, 2],
    "parallel": 2,
    "nodes": BODY,
    "output": "${second.output}",
    "retry": {"attempts": 3, "base_s": 0},
    "on_error": {"default": {"output": "given up"}},
}
LOOP: JsonObject = {"type": "loop", "vars": {"n": 0}, "max": 2, "nodes": {"e": EACH}, "output": "${e.output}"}


def acting(fails: int) -> Toolish:
    """A tool that fails at 0 so many times, by what a service has counted for each key."""
    seen: set[str] = set()

    @tool(effects={"spend"}, idempotent=True)
    async def act(x: int, context: Context) -> int:
        """Act."""
        if x == 0 and len(seen) < fails:
            seen.add(context.key)
            raise ValueError(x)
        return x

    return act


def text_of(records: list[Record]) -> list[str]:
    return [f"{each.path} {each.status}" for each in records if isinstance(each, NodeLeft)]


async def test_a_container_that_is_carried_out_anew_is_cut_after_every_record_and_comes_to_the_same() -> None:
    for container in (EACH, LOOP):
        definition: JsonObject = {
            "nodes": {"c": container, "after": {"type": "say", "text": "${c.output}"}},
            "edges": ["c > after"],
            "limits": {"parallel": 2},
            "outputs": {"got": "${c.output}"},
        }
        journal = MemoryJournal()
        flow = workflow(definition, [acting(1_000)], journal=journal, clock=FakeClock(auto=True))
        done = await flow.run(run_id="r")
        await flow.aclose()
        assert done.output == {"got": "given up"}
        records = [entry.record for entry in await journal.read("r")]
        assert sum(line.endswith("again") for line in text_of(records)) in (2, 4)
        for at in range(1, len(records) + 1):
            again = await copy_of(journal, records[:at])
            other = workflow(definition, [acting(1_000)], journal=again, clock=FakeClock(auto=True))
            assert (await other.resume("r")).output == done.output, (at, records[at - 1])
            await other.aclose()


async def test_a_container_that_ends_well_the_second_time_is_told_again_from_its_record() -> None:
    definition: JsonObject = {"nodes": {"c": EACH}, "outputs": {"got": "${c.output}"}, "limits": {"parallel": 1}}
    flow = workflow(definition, [acting(1)], clock=FakeClock(auto=True))
    try:
        done = await flow.run()
    except WorkflowFailed as failure:
        raise AssertionError(failure) from None
    assert done.output == {"got": [1, 1]}
    assert (await flow.resume(done.run_id)).output == done.output
    await flow.aclose()
