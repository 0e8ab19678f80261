"""Two runs side by side: where they part, and what each came to."""

from __future__ import annotations

import pytest

from actum import Agent, ToolCall, tool
from actum.core.message import ToolMessage
from actum.journal.comparison import Comparison, compare
from actum.journal.memory import MemoryJournal
from actum.testing import Said, ScriptedModel

pytestmark = pytest.mark.row("C7")


@tool(effects={"read"})
async def price(of: str) -> int:
    """Price."""
    return 20


ASKS = ToolCall("1", "price", {"of": "tea"})


class Shop:
    def __init__(self) -> None:
        self.journal = MemoryJournal()

    def agent(self, script: list[Said], name: str = "scripted") -> Agent:
        return Agent(ScriptedModel(script, name=name), [price], journal=self.journal)

    async def compared(self, left: str, right: str) -> Comparison:
        return compare(await self.journal.read(left), await self.journal.read(right))


async def test_the_same_run_twice_parts_nowhere() -> None:
    shop = Shop()
    for run_id in ("a", "b"):
        await shop.agent([ASKS, "20."]).run("How much?", run_id=run_id)
    found = await shop.compared("a", "b")
    assert (found.begun, found.parts, found.alike) == ((), (None, None), 4)


async def test_a_branch_with_another_result_parts_there() -> None:
    shop = Shop()
    await shop.agent([ASKS, "20."]).run("How much?", run_id="a")
    other = Agent(
        ScriptedModel(
            lambda request: request.messages[-1].result.text if isinstance(request.messages[-1], ToolMessage) else ""
        ),
        [price],
        journal=shop.journal,
    )
    await other.resume(await other.fork("a", 3, result="99", new_run="b"))
    found = await shop.compared("a", "b")
    mine, yours = found.parts
    assert mine is not None
    assert yours is not None
    assert (mine.what, mine.text, yours.text, found.alike) == ("call price", "done: 20", "done: 99", 1)
    assert [outcome.answer for outcome in found.outcomes] == ["20.", "99"]


async def test_what_they_were_begun_with_is_told_apart_from_where_they_part() -> None:
    shop = Shop()
    await shop.agent([ASKS, "20."], "small").run("How much?", run_id="a")
    await shop.agent(["I do not know."], "large").run("How much is it?", run_id="b")
    found = await shop.compared("a", "b")
    assert found.begun == (("model", "small", "large"), ("question", "How much?", "How much is it?"))
    mine, yours = found.parts
    assert mine is not None
    assert yours is not None
    assert (mine.text, yours.text) == ('price {"of":"tea"}', "I do not know.")
    one, other = found.outcomes
    assert (one.steps, one.calls, other.steps, other.calls) == (2, 1, 1, 0)


async def test_a_run_that_ended_before_parts_at_its_end() -> None:
    shop = Shop()
    await shop.agent([ASKS, "20."]).run("How much?", run_id="a")
    entries = await shop.journal.read("a")
    found = compare(entries[:-2], entries)
    assert found.parts[0] is None
    assert found.parts[1] is not None
    assert found.outcomes[0].status == ""


async def test_a_failure_counts_and_its_reference_is_no_difference() -> None:
    async def broken() -> str:
        """Broken."""
        raise RuntimeError

    journal = MemoryJournal()
    for run_id in ("a", "b"):
        agent = Agent(ScriptedModel([ToolCall("1", "broken", {}), "No."]), [broken], journal=journal)
        await agent.run("Try", run_id=run_id)
    found = compare(await journal.read("a"), await journal.read("b"))
    assert (found.parts, found.outcomes[0].failed_calls) == ((None, None), 1)
