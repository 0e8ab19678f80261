"""Every journal passes the same tests: in memory, in a file, on a server."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import cast

import msgspec
import pytest

from actum import Agent, Answer
from actum.call.asking.inbox import answer_pending, page_of_waiting
from actum.core.call import Failure, ToolCall, ToolResult
from actum.core.errors import ActumError, Busy, JournalError, UnknownName, UsageError
from actum.core.interfaces import Journal, RunFilter
from actum.core.message import Reply, UserMessage
from actum.core.run.chain import against_head, verify, verify_ledger
from actum.core.run.pending import Pending
from actum.core.run.record import (
    CallCompleted,
    CallRefused,
    CallsRequested,
    Compacted,
    Ended,
    Forgotten,
    InputGiven,
    InputRequested,
    Intended,
    ModelReplied,
    Record,
)
from actum.journal.lists import counts_of_runs, page_of_conversations, page_of_runs, write_cursor
from actum.testing import FakeClock, ScriptedModel

from .conftest import Store
from .records import DONE, REPLIED, started

pytestmark = pytest.mark.row("C7")

KEY = b"sixteen bytes at least"


@pytest.fixture
def journal(store: Store) -> Journal:
    return store.open()


RECORDS: list[Record] = [
    started("天气? \u0000 🌧", "c", "ada"),
    ModelReplied("d", Reply.of("x"), 0.25, 0.5),
    Intended(1, 0, 1, "pay", "v", {"n": 2**70, "nested": {"a": [None, True, 1.5, "é"]}}, "key"),
    CallCompleted(1, 0, ToolResult("c", structured={"ok": True}), 0.1),
    Compacted("so far", 2),
    Ended("done", "bye"),
]


# Written and read -----------------------------------------------------------------------------------------------------


async def test_every_run_is_told_with_its_first_and_latest_entry_by_its_entries(journal: Journal) -> None:
    assert await journal.edges("latest") == []
    for run_id in ("b", "a"):
        for record in (started(run_id), REPLIED, DONE):
            journal.append(run_id, record)
    written = {run_id: await journal.read(run_id) for run_id in ("a", "b")}
    assert await journal.edges("first") == [("a", written["a"][0]), ("b", written["b"][0])]
    assert await journal.edges("latest") == [("a", written["a"][-1]), ("b", written["b"][-1])]
    assert [await journal.mislabelled(run_id) for run_id in ("a", "b", "none")] == [[], [], []]
    await journal.forget("a")
    assert [await journal.mislabelled(run_id) for run_id in ("a", "b")] == [[], []]


async def test_what_was_appended_is_read_back_in_order(journal: Journal) -> None:
    numbers = [journal.append("r", record) for record in RECORDS]
    assert numbers == [0, 1, 2, 3, 4, 5]
    entries = await journal.read("r")
    assert [entry.record for entry in entries] == RECORDS
    assert verify(entries) == []


async def test_a_run_is_read_on_from_where_a_reader_was(journal: Journal) -> None:
    for record in RECORDS:
        journal.append("r", record)
    whole = await journal.read("r")
    assert await journal.read("r", after=2) == whole[3:]
    assert await journal.read("r", after=5) == []
    assert await journal.read("r", after=99) == []


async def test_runs_do_not_mix_however_their_records_interleave(journal: Journal) -> None:
    for number in range(50):
        for run in ("a", "b", "c"):
            journal.append(
                run, started(f"{run}{number}") if number == 0 else ModelReplied(f"{run}{number}", Reply.of("x"))
            )
    for run in ("a", "b", "c"):
        entries = await journal.read(run)
        assert len(entries) == 50
        assert verify(entries) == []
        assert isinstance(entries[7].record, ModelReplied)
        assert entries[7].record.intention == f"{run}7"


async def test_a_run_that_is_not_there_reads_as_empty(journal: Journal) -> None:
    assert await journal.read("nobody") == []


async def test_a_record_before_the_start_of_its_run_is_refused(journal: Journal) -> None:
    with pytest.raises(JournalError, match="begins with Started"):
        journal.append("r", Ended("done"))
    assert await journal.read("r") == []


async def test_payloads_are_kept_under_their_digest_once(journal: Journal) -> None:
    journal.keep("abc", b"one")
    journal.keep("abc", b"one")
    assert await journal.kept("abc") == b"one"
    journal.append("r", started())
    await journal.sync("r")
    assert await journal.kept("abc") == b"one"
    with pytest.raises(UnknownName):
        await journal.kept("nope")


# The list of runs -----------------------------------------------------------------------------------------------------


async def test_the_list_of_runs_follows_the_records(journal: Journal) -> None:
    journal.append("r1", started("first", "c1", "ada"))
    journal.append("r2", started("second"))
    journal.append("r1", InputRequested(Pending("q", "answer", "which?")))
    assert [(run.run_id, run.status) for run in await journal.runs()] == [("r2", "running"), ("r1", "waiting")]
    journal.append("r1", InputGiven("q", "answer", "this"))
    journal.append("r1", Ended("done", "ok"))
    (only,) = await journal.runs(conversation="c1")
    assert (only.status, only.question, only.principal, only.ended is None) == ("done", "first", "ada", False)
    journal.append("r3", msgspec.structs.replace(started("third", "c1", "bob"), owner="ada"))
    assert [run.principal for run in await journal.runs(conversation="c1", owner="ada")] == ["bob", "ada"]
    assert await journal.forget("r3") == 1
    assert [run.run_id for run in await journal.runs(owner="")] == ["r3", "r2"]


async def test_runs_are_found_by_conversation_principal_and_time(store: Store) -> None:
    clock = FakeClock()
    journal = store.open(clock=clock)
    for number, (conversation, principal) in enumerate([("c", "ada"), ("c", "bob"), ("d", "ada"), ("", "")]):
        journal.append(f"r{number}", started("q", conversation, principal))
        clock.advance(10)

    async def found(**wanted: str | float) -> list[str]:
        return [run.run_id for run in await journal.runs(**wanted)]  # type: ignore[arg-type]  # some of its arguments

    assert await found() == ["r3", "r2", "r1", "r0"]
    assert await found(conversation="c") == ["r1", "r0"]
    assert await found(principal="ada") == ["r2", "r0"]
    assert await found(conversation="c", principal="ada") == ["r0"]
    assert await found(conversation="c", owner="bob") == ["r1"]
    assert await found(owner="") == ["r3"]
    assert await found(conversation="c", owner="") == []
    assert await found(since=1_000_010.0, until=1_000_030.0) == ["r2", "r1"]
    assert await found(since=0.0, limit=1) == ["r3"]
    assert await found(limit=10**30) == ["r3", "r2", "r1", "r0"]
    assert [run.run_id for run in await journal.runs(limit=None)] == ["r3", "r2", "r1", "r0"]


async def test_a_clock_that_jumps_back_reorders_nothing(store: Store) -> None:
    clock = FakeClock()
    journal = store.open(clock=clock)
    journal.append("before", started("q", "c"))
    clock.advance(-3600)
    journal.append("before", REPLIED)
    journal.append("after", started("q", "c"))
    entries = await journal.read("before")
    assert ([entry.number for entry in entries], verify(entries)) == ([0, 1], [])
    assert entries[1].at < entries[0].at
    assert [run.run_id for run in await journal.runs(conversation="c")] == ["after", "before"]


# Claims ---------------------------------------------------------------------------------------------------------------


async def test_a_claim_is_held_by_one_at_a_time(journal: Journal) -> None:
    async with journal.claim("r"):
        with pytest.raises(Busy, match="run 'r' is under way"):
            async with journal.claim("r"):
                pass
        async with journal.claim("conversation:c"), journal.claim("another"):
            assert await journal.driven(["r", "another", "third"]) == {"r", "another"}
    async with journal.claim("r"):
        assert await journal.driven(["r", "another"]) == {"r"}
    assert await journal.driven(["r"]) == set()
    assert await journal.driven([]) == set()


async def test_a_claim_ends_with_its_block_however_that_ends(journal: Journal) -> None:
    with pytest.raises(ZeroDivisionError):
        async with journal.claim("r"):
            raise ZeroDivisionError
    waits = asyncio.Event()

    async def hold() -> None:
        async with journal.claim("r"):
            waits.set()
            await asyncio.Event().wait()

    holder = asyncio.create_task(hold())
    await waits.wait()
    holder.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await holder
    async with journal.claim("r"):
        pass


async def test_a_claim_that_is_given_up_while_it_is_taken_is_not_held(journal: Journal) -> None:
    async def hold() -> None:
        async with journal.claim("r"):
            pass

    for _ in range(3):
        holder = asyncio.create_task(hold())
        await asyncio.sleep(0)
        holder.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await holder
    async with journal.claim("r"):
        pass


# Forgetting and signing -----------------------------------------------------------------------------------------------


async def test_a_run_that_is_forgotten_says_nothing_and_its_chain_still_checks(journal: Journal) -> None:
    for record in RECORDS:
        journal.append("r", record)
    journal.append("other", started("kept"))
    assert await journal.forget("r", by="ada", reason="asked for it") == 6
    entries = await journal.read("r")
    assert verify(entries) == []
    assert [entry.payload + entry.salt for entry in entries[:-1]] == [b""] * 6
    assert entries[-1].record == Forgotten("ada", "asked for it")
    other, run = await journal.runs()
    assert (run.status, run.question, run.conversation, run.principal) == ("forgotten", "", "", "")
    assert other.question == "kept"
    assert await journal.forget("r") == 1
    assert verify(await journal.read("r")) == []


async def test_a_run_is_not_forgotten_while_it_is_driven(journal: Journal) -> None:
    journal.append("r", started())
    async with journal.claim("r"):
        with pytest.raises(Busy):
            await journal.forget("r")
    with pytest.raises(UnknownName, match="no run 'nobody'"):
        await journal.forget("nobody")
    assert len(await journal.read("r")) == 1


async def test_heads_are_signed_whenever_a_run_ends_or_pauses(store: Store) -> None:
    journal = store.open(key=KEY)
    journal.append("a", started())
    journal.append("b", started())
    journal.append("b", Ended("paused"))
    journal.append("a", DONE)
    journal.append("b", InputGiven("q", "answer"))
    journal.append("b", DONE)
    await journal.forget("a")
    heads = await journal.heads()
    assert [(head.run_id, head.number) for head in heads] == [("b", 1), ("a", 1), ("b", 3), ("a", 2)]
    assert verify_ledger(heads, KEY) == []
    assert verify_ledger(heads, b"another key")
    assert verify_ledger([heads[0], *heads[2:]], KEY)
    entries = {run: await journal.read(run) for run in ("a", "b")}
    assert [problem for head in heads for problem in against_head(entries[head.run_id], head)] == []
    assert against_head(entries["b"][:3], heads[2]) == [
        "run b was cut: entry 3 was there when its head was taken, and is gone"
    ]


async def test_without_a_key_nothing_is_signed(journal: Journal) -> None:
    journal.append("r", started())
    journal.append("r", DONE)
    assert await journal.heads() == []


# With an agent -----------------------------------------------------------------------------------------------------


Asking = Callable[[Agent], Awaitable[object]]
BAD_IDS: dict[str, Asking] = {
    "resume by half a surrogate pair": lambda agent: agent.resume("\ud800"),
    "resume by a number": lambda agent: agent.resume(cast(str, 7.5j)),
    "a conversation that is a number": lambda agent: agent.run("x", conversation=cast(str, 7.5j)),
    "read by half a surrogate pair": lambda agent: agent.journal.read("\ud800"),
    "read by what is no text": lambda agent: agent.journal.read(cast(str, 7.5j)),
}


@pytest.mark.parametrize("ask", BAD_IDS.values(), ids=BAD_IDS.keys())
async def test_a_bad_id_is_refused_and_breaks_nothing_for_others(shared: Store, ask: Asking) -> None:
    agent = Agent(ScriptedModel(lambda request: "Hi."), journal=shared.open())
    with pytest.raises(ActumError):
        await ask(agent)
    assert (await agent.run("Hi")).text == "Hi."


# Tenants --------------------------------------------------------------------------------------------------------------


async def test_a_run_of_another_tenant_has_no_entries_and_no_line(journal: Journal) -> None:
    for tenant in ("north", "south"):
        journal.append(tenant, msgspec.structs.replace(started("q", "c", "ann"), tenant=tenant))
    for tenant, others in {"north": "south", "south": "north", "": "north"}.items():
        assert await journal.read(others, tenant=tenant) == []
        assert [run.tenant for run in await journal.runs(conversation="c", tenant=tenant)] == [tenant] * bool(tenant)
    assert await journal.read("north", tenant="north") == await journal.read("north")


# Lists ----------------------------------------------------------------------------------------------------------------


async def test_runs_are_found_and_counted_by_every_filter(journal: Journal) -> None:
    first = msgspec.structs.replace(started("q", "c", "ann"), tenant="north", agent="desk", model="m1")
    second = msgspec.structs.replace(first, agent="till", model="", conversation="", principal="bob", parent="r1")
    journal.append("r1", first)
    journal.append("r2", second)
    journal.append("r2", CallsRequested((), "person"))
    journal.append("r2", DONE)
    journal.append("r3", msgspec.structs.replace(second, tenant="south", parent=""))
    journal.append("r3", CallsRequested((), "administrator"))
    table: list[tuple[RunFilter, list[str]]] = [
        ({}, ["r3", "r2", "r1"]),
        ({"tenant": "north"}, ["r2", "r1"]),
        ({"tenant": ""}, []),
        ({"principal": "bob"}, ["r3", "r2"]),
        ({"tenant": "north", "principal": "bob"}, ["r2"]),
        ({"agent": "desk"}, ["r1"]),
        ({"model": "m1"}, ["r1"]),
        ({"status": "done"}, ["r2"]),
        ({"kind": "agent"}, ["r1"]),
        ({"kind": "call"}, ["r2"]),
        ({"kind": "administration", "tenant": "south"}, ["r3"]),
        ({"parent": "r1"}, ["r2"]),
        ({"parent": ""}, ["r3", "r1"]),
        ({"conversation": "c", "tenant": "south"}, []),
        ({"since": 0.0, "until": 1.0}, []),
        ({"agent": "' OR 1=1 --"}, []),
    ]
    for wanted, expected in table:
        assert [run.run_id for run in await journal.runs(**wanted)] == expected, wanted
        assert sum((await journal.count_runs(**wanted)).values()) == len(expected), wanted
    assert await journal.count_runs(tenant="north") == {"running": 1, "done": 1}


async def test_runs_are_found_by_tools_errors_and_version_until_they_are_forgotten(journal: Journal) -> None:
    first = msgspec.structs.replace(started("q"), tenant="north", version=2)
    failed = ToolResult("1", error=Failure("timeout", "too late"))
    calls = (("r1", "north", "pay"), ("r2", "north", "add"), ("r3", "south", "pay"), ("r4", "north", "pay"))
    for run_id, tenant, tool in calls:
        asked = (UserMessage.of(f"Please {tool} Ada, {run_id}! 给小王付款"),)
        journal.append(run_id, msgspec.structs.replace(first, tenant=tenant, version=2 * (run_id != "r4"), said=asked))
        journal.append(run_id, CallsRequested((ToolCall("1", tool, {}), ToolCall("2", "x\0" * 200, {})), "person"))
    journal.append("r1", CallRefused(1, 0, failed))
    journal.append("r2", Ended("stopped", "", "cancelled"))
    table: list[tuple[RunFilter, list[str]]] = [
        ({"tool": "pay"}, ["r4", "r3", "r1"]),
        ({"tool": "pay", "tenant": "north"}, ["r4", "r1"]),
        ({"tool": "pay", "tenant": "north", "version": 2}, ["r1"]),
        ({"tool": "pay", "error": "timeout", "version": 2}, ["r1"]),
        ({"error": "cancelled", "status": "stopped"}, ["r2"]),
        ({"error": "cancelled", "tool": "pay"}, []),
        ({"version": 2, "tenant": "south"}, ["r3"]),
        ({"tool": "pay", "run_id": ("r3", "r4"), "agent": "a"}, ["r4", "r3"]),
        ({"tool": "x\0" * 200, "tenant": "south"}, ["r3"]),
        ({"text": "PAY ada", "tenant": "north"}, ["r4", "r1"]),
        ({"text": "r2"}, ["r2"]),
        ({"text": "小王", "tool": "pay", "version": 2}, ["r3", "r1"]),
        ({"text": "王"}, ["r4", "r3", "r2", "r1"]),
        ({"text": "王小"}, []),
        ({"text": "pa"}, []),
        ({"text": "?!"}, []),
        ({"tool": "p%"}, []),
        ({"tool": "' OR 1=1 --"}, []),
    ]
    for wanted, expected in table:
        assert [run.run_id for run in await journal.runs(**wanted)] == expected, wanted
        assert sum((await journal.count_runs(**wanted)).values()) == len(expected), wanted
        assert sum((await journal.count_runs(most=9, **wanted)).values()) == len(expected), wanted
    assert [run.run_id for run in await journal.runs(tool="pay", behind="r4", limit=1)] == ["r3"]
    assert await counts_of_runs(journal, 2, tenant="north", tool="pay") == {"interrupted": 2}
    assert await counts_of_runs(journal, 2, tenant="north") == {"interrupted": 2, "stopped": 1}
    await journal.forget("r1")
    assert [run.run_id for run in await journal.runs(tool="pay")] == ["r4", "r3"]
    assert await journal.runs(error="timeout") == []


async def test_runs_are_counted_exactly_whatever_becomes_of_them(journal: Journal) -> None:
    filters: list[RunFilter] = [
        {},
        {"tenant": "north"},
        {"tenant": "north", "agent": "desk", "status": "done"},
        {"kind": "agent", "model": "m"},
        {"tenant": "", "status": "running"},
        {"tenant": "north", "parent": "", "owner": ""},
        {"principal": "ann"},
    ]

    async def count_as_listed() -> int:
        for wanted in filters:
            listed = Counter(run.status for run in await journal.runs(limit=None, **wanted))
            assert await journal.count_runs(**wanted) == listed, wanted
        return sum((await journal.count_runs()).values())

    assert await count_as_listed() == 0
    for number in range(12):
        tenant, agent = ("north", "desk") if number % 3 else ("", "a")
        record = msgspec.structs.replace(started("q", "", "ann" * (number % 2)), tenant=tenant, agent=agent)
        journal.append(f"r{number}", record)
        if number % 4:
            journal.append(f"r{number}", (DONE, Ended("failed"), Ended("paused"))[number % 4 - 1])
    assert await count_as_listed() == 12
    for number in (1, 2, 3):  # somebody goes on with a run that was over, and ends the run otherwise
        journal.append(f"r{number}", InputRequested(Pending(f"ask{number}", "answer", "which?")))
        await count_as_listed()
        journal.append(f"r{number}", Ended("stopped"))
        await count_as_listed()
    await journal.forget("r1")
    await journal.forget("r4")
    assert await count_as_listed() == 12
    assert (await journal.count_runs())["forgotten"] == 2


async def test_two_processes_count_runs_together(shared: Store) -> None:
    first, second = shared.open(), shared.open()
    for number, journal in enumerate([first, second] * 3):
        journal.append(f"r{number}", msgspec.structs.replace(started("q"), tenant="north"))
        journal.append(f"r{number}", DONE)
    first.append("r6", msgspec.structs.replace(started("q"), tenant="north"))
    await asyncio.gather(*(journal.sync(f"r{number}") for number, journal in enumerate([first, second] * 3)))
    for journal in (first, second):
        assert await journal.count_runs(tenant="north") == {"running": 1, "done": 6}
    await second.forget("r0")
    assert await first.count_runs(tenant="north") == {"running": 1, "done": 5, "forgotten": 1}


async def test_several_runs_are_read_by_one_question(journal: Journal) -> None:
    for run_id in ("b", "a"):
        journal.append(run_id, started())
        journal.append(run_id, DONE)
    unknown = [f"u{number}" for number in range(1_200)]
    found = await journal.read_each(["b", *unknown, "a"])
    assert found == {"a": await journal.read("a"), "b": await journal.read("b")}
    assert await journal.read_each(["a", "b"], {"a": 0, "b": 1}) == {"a": (await journal.read("a"))[1:]}
    assert (await journal.read_each([]), await journal.read_each(unknown[:1])) == ({}, {})


async def test_how_the_latest_runs_stand_is_told_of_one_tenant_or_of_all(journal: Journal) -> None:
    for run_id, tenant in (("a", "north"), ("b", ""), ("c", "north")):
        journal.append(run_id, msgspec.structs.replace(started("q"), tenant=tenant))
    journal.append("a", DONE)
    assert list((await journal.statuses()).items()) == [("c", "running"), ("b", "running"), ("a", "done")]
    assert await journal.statuses(tenant="") == {"b": "running"}
    assert await journal.statuses(tenant="north", limit=1) == {"c": "running"}
    assert [run.run_id for run in await journal.runs(run_id=("a", "b", "x"), tenant="north")] == ["a"]


async def test_pages_of_runs_leave_out_nothing_and_repeat_nothing_while_runs_begin(journal: Journal) -> None:
    for number in range(7):
        journal.append(f"r{number}", msgspec.structs.replace(started("q", "c"), tenant="north"))
        journal.append(f"s{number}", msgspec.structs.replace(started("q", "c"), tenant="south"))
    found: list[str] = []
    cursor = ""
    while True:
        page = await page_of_runs(journal, limit=3, cursor=cursor, tenant="north")
        found += [run.run_id for run in page.items]
        journal.append(f"new{len(found)}", msgspec.structs.replace(started("q"), tenant="north"))
        cursor = page.next
        if not cursor:
            break
    assert found == [f"r{number}" for number in reversed(range(7))]
    theirs = (await page_of_runs(journal, limit=3, tenant="south")).next
    for bad in (theirs, "x", "!!!", write_cursor("nowhere"), write_cursor(7), write_cursor(""), write_cursor("a\0")):
        with pytest.raises(UsageError, match="begin the list anew"):
            await page_of_runs(journal, cursor=bad, tenant="north")
    for limit in (0, 1_001, -1):
        with pytest.raises(UsageError, match="from 1 to"):
            await page_of_runs(journal, limit=limit)


async def test_conversations_are_listed_and_counted_by_tenant_and_one_less_when_a_turn_is_forgotten(
    journal: Journal,
) -> None:
    turns = [("north", "ann", "c"), ("south", "ann", "c"), ("north", "bob", "c"), ("north", "ann", "c")]
    for number, (tenant, principal, conversation) in enumerate(turns):
        turn = msgspec.structs.replace(started(f"q{number}", conversation, principal), tenant=tenant)
        journal.append(f"r{number}", turn)
        journal.append(f"r{number}", DONE)

    async def listed(**wanted: str) -> list[tuple[str, int, str]]:
        page = await page_of_conversations(journal, **wanted)  # type: ignore[arg-type]  # some of its arguments
        return [(each.owner, each.runs, each.question) for each in page.items]

    assert await listed(tenant="north") == [("ann", 2, "q0"), ("bob", 1, "q2")]
    assert await listed(tenant="south") == [("ann", 1, "q1")]
    assert await listed(tenant="north", owner="bob") == [("bob", 1, "q2")]
    first = await page_of_conversations(journal, limit=1, tenant="north")
    second = await page_of_conversations(journal, limit=1, cursor=first.next, tenant="north")
    assert ([each.owner for each in (*first.items, *second.items)], second.next) == (["ann", "bob"], "")
    await journal.forget("r0")
    assert await listed(tenant="north") == [("ann", 1, "q3"), ("bob", 1, "q2")]
    await journal.forget("r3")
    assert await listed(tenant="north") == [("bob", 1, "q2")]


async def test_what_waits_is_found_by_the_list_until_it_is_answered_or_its_run_is_over(store: Store) -> None:
    clock = FakeClock()
    journal = store.open(clock=clock)
    for number, tenant in enumerate(("north", "south", "north", "north", "north")):
        run_id = f"r{number}"
        parent = "r0" if number == 4 else ""
        journal.append(run_id, msgspec.structs.replace(started("q", "", "ann"), tenant=tenant, parent=parent))
        journal.append(run_id, InputRequested(Pending(f"ask{number}", "answer", "which?")))
        clock.advance(1)

    async def waiting(tenant: str | None = "north", limit: int = 1) -> list[str]:
        found: list[str] = []
        page = await page_of_waiting(journal, tenant=tenant, limit=limit)
        found += [item.asked.id for item in page.items]
        while page.next:
            page = await page_of_waiting(journal, tenant=tenant, limit=limit, cursor=page.next)
            found += [item.asked.id for item in page.items]
        return found

    assert await waiting() == await waiting(limit=50) == ["ask0", "ask2", "ask3"]
    assert (await waiting("south"), await waiting("")) == (["ask1"], [])
    for tenant, ask_id in (("south", "ask0"), ("south", "nowhere"), ("north", ""), ("north", "a\0")):
        with pytest.raises(UnknownName, match="nothing waits under"):
            await answer_pending(journal, ask_id, Answer("answer", "this"), tenant=tenant)
    await answer_pending(journal, "ask0", Answer("answer", "this"), tenant="north")
    journal.append("r2", Ended("stopped"))
    assert await waiting() == ["ask3"]
    journal.append("r2", Ended("paused"))  # somebody went on with it
    assert await waiting() == ["ask2", "ask3"]
    await journal.forget("r3")
    assert await waiting() == ["ask2"]


async def test_an_approval_of_two_waits_after_the_first(journal: Journal) -> None:
    journal.append("r", started())
    journal.append("r", InputRequested(Pending("ask", "approval", "May I?", needs=2)))
    journal.append("r", InputGiven("ask", "approve", by="ann"))
    assert [item.asked.id for item in (await page_of_waiting(journal)).items] == ["ask"]
    journal.append("r", InputGiven("ask", "deny", by="bob"))
    assert not (await page_of_waiting(journal)).items
