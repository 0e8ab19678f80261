"""Conversations: they go on, branch, are summed up, and two who talk at once do not interleave."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Limits, ToolCall, tool
from actum.core.call import MediaPart
from actum.core.errors import Busy, ModelError, ModelUnavailable, UnknownName, UsageError
from actum.core.interfaces import Context, Journal
from actum.core.message import Message, Reply, SystemMessage, ToolMessage, UserMessage
from actum.core.model import Request
from actum.core.process.claim import Claims, claim_of_conversation
from actum.core.run.record import Ended, ModelReplied, Started
from actum.journal.conversations import conversations
from actum.journal.memory import MemoryJournal
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
    assert (await agent(journal).run("f", after="b@0")).text == (
        "a | a | b | I did not answer: this turn did not come to its end. | f"
    )
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
    assert result.text == "Summary of our conversation so far:\nSUMMARY | Understood. | b | a | a | b | d"
    assert [entry.payload != b"" for entry in await journal.read("a")] == [True] * 3
    assert await agent(journal).compact("c", keep=0) == "SUMMARY"
    again = await agent(journal).run("e", conversation="c")
    assert again.text == "Summary of our conversation so far:\nSUMMARY | Understood. | e"
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


# Whose it is ----------------------------------------------------------------------------------------------------------

GUIDE = Path(__file__).parents[2] / "docs" / "conversations.md"
ROW = re.compile(r"^\| `(principal=.*|conversation=.*|)` \| `(.*)` \| (yes|no|`UnknownName`) \|$", re.MULTILINE)


def options(cell: str) -> dict[str, Any]:
    """What a cell of the guide's table hands to `run`."""
    return eval(f"dict({cell})")  # type: ignore[no-any-return]  # noqa: S307  # our own guide


async def test_each_row_of_the_guide_on_whose_conversation_it_is_holds() -> None:
    rows = ROW.findall(GUIDE.read_text("utf-8"))
    assert len(rows) == 15
    for first, then, told in rows:
        journal = MemoryJournal()
        await agent(journal).run("SECRET", run_id="r1", **options(first))
        if told == "`UnknownName`":
            with pytest.raises(UnknownName) as theirs:
                await agent(journal).run("?", **options(then))
            with pytest.raises(UnknownName) as nobody_s:
                await agent(MemoryJournal()).run("?", **options(then))
            assert str(theirs.value) == str(nobody_s.value), f"{first} then {then}: the error tells that it exists"
            continue
        result = await agent(journal).run("?", **options(then))
        assert ("SECRET" in str(result.messages)) == (told == "yes"), f"{first} then {then}"


async def test_a_conversation_that_is_shared_is_on_record_as_such() -> None:
    journal = MemoryJournal()
    await agent(journal).run("a", conversation="c", principal="alice", run_id="hers")
    await agent(journal).run("b", conversation="c", principal="bob", owner="alice", run_id="his")
    await agent(journal).run("c", conversation="c", principal="bob", run_id="own")
    started = [(await journal.read(run_id))[0].record for run_id in ("hers", "his", "own")]
    assert [(each.principal, each.owner, each.previous) for each in started if isinstance(each, Started)] == [
        ("alice", None, ""),
        ("bob", "alice", "hers"),
        ("bob", None, ""),
    ]
    assert [(each.owner, each.id, each.runs) for each in await conversations(journal)] == [
        ("bob", "c", 1),
        ("alice", "c", 2),
    ]
    assert [each.runs for each in await conversations(journal, "alice")] == [2]
    assert await conversations(journal, "") == []
    assert [run.run_id for run in await journal.runs(conversation="c", owner="alice")] == ["his", "hers"]


async def test_nothing_that_bob_can_ask_tells_that_alice_has_a_conversation() -> None:
    shared, alone = MemoryJournal(), MemoryJournal()
    picture = MediaPart("image/png", b"png")
    for turn in ("a", "b"):
        await agent(shared).run(turn, conversation="c", principal="alice", run_id=turn, attachments=[picture])

    async def told(journal: Journal) -> list[object]:
        """What bob learns, in words, of everything that he can try."""
        bob, found = agent(journal), list[object]()
        for attempt in (
            bob.compact("c", principal="bob"),
            bob.resume("a", principal="bob"),
            bob.fork("a", 0, principal="bob"),
            bob.run("?", after="a@99", principal="bob"),
            bob.run("?", after="a", conversation="c", principal="bob"),
        ):
            with pytest.raises(UnknownName) as refused:
                await attempt
            found.append(str(refused.value))
        result = await bob.run("?", conversation="c", principal="bob", run_id="bob1", attachments=[picture])
        found += [result.text, result.usage, str(result.messages[0])]
        found.append(await bob.compact("c", principal="bob"))
        return [*found, [(talk.runs, talk.question) for talk in await conversations(journal, "bob")]]

    async with shared.claim("a"), shared.claim(claim_of_conversation("alice", "c")):  # she is in the middle of a turn
        assert await told(shared) == await told(alone)
    with pytest.raises(Busy, match="conversation 'c' is under way"):
        async with shared.claim(claim_of_conversation("bob", "c")):
            await agent(shared).run("?", conversation="c", principal="bob")
    assert (await agent(shared).run("?", conversation="c", principal="alice")).text == "a | a | b | a | a | b | ?"


async def test_a_handle_of_a_cut_result_or_an_attachment_reaches_nothing_of_another_principal() -> None:
    journal = MemoryJournal()

    @tool(effects={"read"})
    async def lines() -> str:
        """Lines."""
        return "SECRET " * 100

    @tool(effects={"read"})
    async def look(ctx: Context) -> list[str]:
        """Look."""
        return list(ctx.attachments)

    from_limits = Agent(
        ScriptedModel([[ToolCall("1", "lines", {})], "Read."]),
        [lines, look],
        journal=journal,
        limits=Limits(result_bytes=50),
    )
    await from_limits.run("Read", conversation="c", principal="alice", attachments=[MediaPart("image/png", b"png")])
    tries: list[Said] = [[ToolCall("1", "read_result", {"id": "1.0", "offset": 0}), ToolCall("2", "look", {})], "Well."]
    bob = Agent(ScriptedModel(tries), [lines, look], journal=journal, limits=Limits(result_bytes=50))
    result = await bob.run("?", conversation="c", principal="bob")
    assert "SECRET" not in str(result.messages)
    assert result.calls[1][1].structured == []


async def test_no_two_conversations_share_a_claim() -> None:
    names = [("a", "b"), ("a:b", ""), ("", "a:b"), ('a","b', ""), ("a", 'b"'), ("", '["a","b"]')]
    claims = Claims()
    for owner, conversation in names:
        claims.hold(claim_of_conversation(owner, conversation)).__enter__()
    assert len({claim_of_conversation(*name) for name in names}) == len(names)


async def test_a_turn_of_another_owner_is_told_to_nobody_even_where_the_record_names_it() -> None:
    journal, before = MemoryJournal(), ""
    for number, principal in enumerate(["alice", "bob", "alice"]):
        run_id, said = f"r{number}", UserMessage.of(f"{principal}'s r{number}")
        turn = Started(
            agent="agent",
            model="scripted",
            said=(said,),
            principal=principal,
            conversation="c",
            previous=before,
            seen=3 if before else 0,
        )
        journal.append(run_id, turn)
        journal.append(run_id, ModelReplied("", Reply.of(f"to {run_id}")))
        journal.append(run_id, Ended("done", f"to {run_id}"))
        before = run_id
    alice = await agent(journal).run("?", conversation="c", principal="alice")
    assert alice.text == "alice's r0 | to r0 | alice's r2 | to r2 | ?"
    bob = await agent(journal).run("?", conversation="c", principal="bob")
    assert bob.text == "bob's r1 | to r1 | ?"
    fresh = await agent(journal).run("?", conversation="c")
    assert fresh.text == "?"


def refusal(messages: Sequence[Message]) -> str:
    """What a strict chat template, such as Mistral's, has against a conversation; empty where it takes it."""
    speaker, open_calls = "assistant", set[str]()
    for number, message in enumerate(messages):
        match message:
            case ToolMessage():
                if message.result.call_id not in open_calls:
                    return f"{number}: the result of no call"
                open_calls.remove(message.result.call_id)
                continue
            case SystemMessage():
                continue
            case Reply() if message.calls:
                open_calls = {call.id for call in message.calls}
                continue
        if open_calls:
            return f"{number}: {open_calls} have no result"
        says = "user" if isinstance(message, UserMessage) else "assistant"
        if says == speaker:
            return f"{number}: {says} speaks twice"
        speaker = says
    return ""


async def test_whenever_a_turn_is_broken_off_strict_templates_accept_what_follows() -> None:
    begun, never = asyncio.Event(), asyncio.Event()

    @tool(effects={"read"})
    async def wait(where: str) -> str:
        """Wait, if that is where to wait."""
        if where == "call":
            begun.set()
            await never.wait()
        return "waited"

    class Slow:
        """A model that is waited for where its question says so, and calls twice first."""

        name = "slow"

        async def reply(self, request: Request, emit: object = None) -> Reply:
            assert refusal(request.messages) == ""
            asked = [message.text for message in request.messages if isinstance(message, UserMessage)][-1]
            last = request.messages[-1]
            if asked == "before" or (asked == "after" and isinstance(last, ToolMessage)):
                begun.set()
                await never.wait()
            if isinstance(last, ToolMessage) or asked == "go on":
                return Reply.of("Done.")
            return Reply.of(
                "I look.", [ToolCall("1", "wait", {"where": "here"}), ToolCall("2", "wait", {"where": asked})]
            )

    journal = MemoryJournal()
    for where in ("before", "call", "after"):
        for times in (1, 2):
            talking = Agent(Slow(), [wait], journal=journal)
            for _ in range(times):
                begun.clear()
                task = asyncio.create_task(talking.run(where, conversation=f"{where}{times}"))
                await begun.wait()
                task.cancel()
                await asyncio.wait([task])
            told = await talking.run("go on", conversation=f"{where}{times}")
            assert told.text == "Done.", where
            assert [each.text for each in told.messages if isinstance(each, Reply)][-2:] == [
                "I stopped: the run was cancelled.",
                "Done.",
            ]
