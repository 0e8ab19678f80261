"""A run that is cut off after any record goes on: nothing is done twice, what is in doubt is said to be in doubt."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from actum import Agent, ToolCall, tool
from actum.agents.brief import Brief
from actum.core.call import ToolResult
from actum.core.errors import ReplayDiverged
from actum.core.event import RunResult
from actum.core.interfaces import Journal
from actum.core.message import ToolMessage
from actum.core.model import Request
from actum.core.run.chain import verify
from actum.core.run.record import Entry, InputGiven, Intended
from actum.journal.memory import MemoryJournal
from actum.testing import Said, ScriptedModel

pytestmark = pytest.mark.row("C7")


def script(request: Request) -> Said:
    """Says its next turn by what is in the conversation, so that it can be asked again after a cut."""
    results = [message for message in request.messages if isinstance(message, ToolMessage)]
    if not results:
        return [ToolCall("a", "look", {"at": "x"}), ToolCall("b", "pay", {"amount": 5})]
    if len(results) == 2:
        return [ToolCall("a", "pay", {"amount": 5})]
    return "Paid twice, as you asked."


class World:
    """What the tools did, and an agent that does it."""

    def __init__(self, journal: Journal) -> None:
        self.paid = 0
        self.looked = 0

        @tool(effects={"read"})
        async def look(at: str) -> str:
            """Look."""
            self.looked += 1
            return f"seen {at}"

        @tool(effects={"spend"})
        async def pay(amount: int) -> str:
            """Pay."""
            self.paid += 1
            return f"paid {amount}"

        self.agent = Agent(ScriptedModel(script), [look, pay], journal=journal, instructions="Be careful.")


def cut(entries: list[Entry], after: int) -> MemoryJournal:
    """A journal as it would be found if the process had ended after so many records."""
    journal = MemoryJournal()
    for entry in entries[:after]:
        journal.append("r", entry.record)
    return journal


def begun(entries: list[Entry], tool_name: str) -> int:
    """How many records there are when this tool was begun for the first time, and not ended."""
    return 1 + next(
        number
        for number, entry in enumerate(entries)
        if isinstance(entry.record, Intended) and entry.record.tool == tool_name
    )


async def whole() -> tuple[list[Entry], RunResult]:
    journal = MemoryJournal()
    result = await World(journal).agent.run("Pay twice", run_id="r")
    return await journal.read("r"), result


async def test_a_run_cut_off_after_any_record_goes_on_and_pays_no_more_than_it_should() -> None:
    entries, result = await whole()
    assert len(entries) == 11
    for after in range(1, len(entries) + 1):
        journal = cut(entries, after)
        paid_before = sum(
            isinstance(entry.record, Intended) and entry.record.tool == "pay" for entry in entries[:after]
        )
        world = World(journal)
        resumed = await world.agent.resume("r")
        if resumed.status == "paused":  # a payment was begun and nobody knows: a person is asked
            (pending,) = resumed.pending
            assert (pending.kind, pending.call and pending.call.name) == ("doubt", "pay")
            resumed = await world.agent.resume("r", {pending.id: "unknown"})
        assert resumed.status == "done", after
        assert paid_before + world.paid == 2, after
        doubtful = [done for _, done in resumed.calls if done.error is not None and done.error.code == "in_doubt"]
        assert len(doubtful) <= 1
        if not doubtful:
            assert resumed.text == result.text
            assert [done.text for _, done in resumed.calls] == [done.text for _, done in result.calls]
        assert verify(await journal.read("r")) == []


async def test_what_only_reads_is_simply_done_again() -> None:
    entries, _ = await whole()
    world = World(cut(entries, begun(entries, "look")))
    resumed = await world.agent.resume("r")
    assert world.looked == 1
    assert resumed.calls[0][1] == ToolResult("a", resumed.calls[0][1].content, resumed.calls[0][1].structured)


@pytest.mark.parametrize(
    ("word", "told", "paid"),
    [
        ("done", ("", "This call was made"), 1),
        ("not_done", ("in_doubt", "It was not made"), 1),
        ("not done", ("in_doubt", "It was not made"), 1),
        ("unknown", ("in_doubt", "may or may not have happened"), 1),
        ("retry", ("", "paid 5"), 2),
    ],
)
async def test_a_write_in_doubt_waits_for_a_person_and_is_done_again_only_on_their_word(
    word: str, told: tuple[str, str], paid: int
) -> None:
    entries, _ = await whole()
    world = World(cut(entries, begun(entries, "pay")))
    paused = await world.agent.resume("r")
    assert (paused.status, world.paid) == ("paused", 0)
    assert "not known whether it happened: pay" in paused.text
    again = await World(world.agent.journal).agent.resume("r")  # asked once, however often it is taken up
    assert again.pending == paused.pending
    (pending,) = paused.pending
    resumed = await world.agent.resume("r", {pending.id: word})
    result = resumed.calls[1][1]
    assert (result.error.code if result.error else "", told[1] in result.text) == (told[0], True)
    assert result.error is None or result.error.effect == ("unknown" if word == "unknown" else "none")
    assert world.paid == paid  # the second payment, which was meant, and the first again on somebody's word


async def test_a_retry_that_is_cut_off_too_is_asked_about_anew() -> None:
    entries, _ = await whole()
    journal = cut(entries, begun(entries, "pay"))
    (pending,) = (await World(journal).agent.resume("r")).pending
    place = entries[begun(entries, "pay") - 1].record
    assert isinstance(place, Intended)
    journal.append("r", InputGiven(pending.id, "retry"))
    journal.append("r", msgspec.structs.replace(place, attempt=2))
    world = World(journal)
    paused = await world.agent.resume("r")
    assert (paused.status, world.paid) == ("paused", 0)
    assert paused.pending[0].id != pending.id


async def test_a_run_with_a_changed_prompt_is_not_gone_on_with_unless_told_to() -> None:
    entries, _ = await whole()
    journal = cut(entries, 7)
    first = entries[0].record
    changed = World(journal)
    changed.agent._brief = Brief("Pay everybody.")
    with pytest.raises(ReplayDiverged, match="instructions"):
        await changed.agent.resume("r")
    assert changed.paid == 0
    assert entries[0].record == first
    assert (await changed.agent.resume("r", accept=True)).status == "done"


async def test_a_finished_run_that_is_resumed_tells_its_result_again_and_does_nothing() -> None:
    entries, result = await whole()
    world = World(cut(entries, len(entries)))
    again = await world.agent.resume("r")
    assert (again.text, again.usage, again.steps) == (result.text, result.usage, result.steps)
    assert (world.paid, world.looked) == (0, 0)
    assert len(await world.agent.journal.read("r")) == len(entries)


async def test_a_journal_may_be_named_by_its_file(tmp_path: Path) -> None:
    first = Agent(ScriptedModel(["Hello."]), journal=tmp_path / "runs.db")
    await first.run("Hi", run_id="r")
    second = Agent(ScriptedModel([]), journal=str(tmp_path / "runs.db"))
    assert (await second.resume("r")).text == "Hello."
    await asyncio.gather(first.journal.close(), second.journal.close())
