"""Conversations: they go on, branch, are summed up, and two who talk at once do not interleave."""

from __future__ import annotations

import asyncio

import pytest

from actum import Agent
from actum.call.journal import MemoryJournal
from actum.core.errors import Busy, ModelError, ModelUnavailable, UnknownName, UsageError
from actum.core.interfaces import Journal, Request
from actum.core.message import Reply, UserMessage
from actum.testing import Said, ScriptedModel

pytestmark = pytest.mark.row("A3")


def heard(request: Request) -> Said:
    """Says what it was told, so that a test can read it."""
    said = [message.text for message in request.messages if isinstance(message, UserMessage | Reply)]
    if isinstance(request.messages[-1], UserMessage) and said[-1].startswith("Sum up"):
        return "SUMMARY"
    return " | ".join(said)


def agent(journal: Journal) -> Agent:
    return Agent(ScriptedModel(heard), journal=journal)


async def test_a_conversation_branches_after_any_run_and_at_any_entry() -> None:
    journal = MemoryJournal()
    for question in ("a", "b", "c"):
        await agent(journal).run(question, conversation="c1", run_id=question)
    branch = await agent(journal).run("d", conversation="c2", after="a")
    assert branch.text == "a | a | d"
    assert (await agent(journal).run("e", conversation="c2")).text == "a | a | d | a | a | d | e"
    assert (await agent(journal).run("f", after="b@0")).text == "a | a | b | f"
    with pytest.raises(UnknownName):
        await agent(journal).run("g", after="none")
    with pytest.raises(UsageError, match="entries 0 to 2"):
        await agent(journal).run("g", after="a@9")


async def test_a_point_to_go_on_from_without_its_run_is_refused_and_not_a_new_beginning() -> None:
    journal = MemoryJournal()
    await agent(journal).run("a", conversation="c")
    for after in ("@1", "@"):
        with pytest.raises(UsageError, match="name a run"):
            await agent(journal).run("b", conversation="c", after=after)


async def test_a_summary_stands_in_the_place_of_what_was_before_and_nothing_is_deleted() -> None:
    journal = MemoryJournal()
    for question in ("a", "b"):
        await agent(journal).run(question, conversation="c", run_id=question)
    assert await agent(journal).compact("c", keep=1) == "SUMMARY"
    result = await agent(journal).run("d", conversation="c")
    assert result.text == "Summary of our conversation so far:\nSUMMARY | b | a | a | b | d"
    assert [entry.payload != b"" for entry in await journal.read("a")] == [True] * 3
    assert await agent(journal).compact("c", keep=0) == "SUMMARY"
    again = await agent(journal).run("e", conversation="c")
    assert again.text == "Summary of our conversation so far:\nSUMMARY | e"
    summing_up = next(run for run in await journal.runs() if run.question.startswith("Sum up"))
    with pytest.raises(UsageError, match="summed up"):
        await agent(journal).fork(summing_up.run_id, 1)
    with pytest.raises(UsageError, match="compact"):
        await agent(journal).resume(summing_up.run_id)
    with pytest.raises(UnknownName):
        await agent(journal).compact("none")


async def test_a_summary_that_was_interrupted_changes_nothing() -> None:
    journal = MemoryJournal()
    await agent(journal).run("a", conversation="c")
    with pytest.raises(Exception, match="script"):
        await Agent(ScriptedModel([]), journal=journal).compact("c")
    assert (await agent(journal).run("b", conversation="c")).text == "a | a | b"


@pytest.mark.parametrize("said", ["", " \n", ModelUnavailable("gone")])
async def test_a_summary_without_a_word_takes_no_place_and_is_on_record_as_failed(said: Said) -> None:
    journal = MemoryJournal()
    await agent(journal).run("a", conversation="c")
    with pytest.raises(ModelError):
        await Agent(ScriptedModel([said]), journal=journal).compact("c", keep=0)
    assert [run.status for run in await journal.runs()] == ["failed", "done"]
    assert (await agent(journal).run("b", conversation="c")).text == "a | a | b"


async def test_of_two_who_talk_at_once_the_second_is_told_to_wait() -> None:
    journal, asked, go_on = MemoryJournal(), asyncio.Event(), asyncio.Event()

    class Slow:
        name = "slow"

        async def reply(self, request: Request, emit: object = None) -> object:
            asked.set()
            await go_on.wait()
            return await ScriptedModel(["first"]).reply(request)

    first = asyncio.create_task(Agent(Slow(), journal=journal).run("a", conversation="c"))  # type: ignore[arg-type]  # its reply is one
    await asked.wait()
    with pytest.raises(Busy, match="conversation 'c'"):
        await agent(journal).run("b", conversation="c")
    assert (await agent(journal).run("b", conversation="other")).text == "b"
    go_on.set()
    await first
    assert (await agent(journal).run("b", conversation="c")).text == "a | first | b"


async def test_what_was_forgotten_is_no_part_of_the_conversation_any_more() -> None:
    journal = MemoryJournal()
    for question in ("a", "b"):
        await agent(journal).run(question, conversation="c", run_id=question)
    assert await journal.forget("a", by="ada", reason="asked to") == 3
    assert (await agent(journal).run("d", conversation="c")).text == "b | a | a | b | d"
