"""A score stands behind the end of its run: the run stays as over as it was, and one score counts for each author."""

from __future__ import annotations

import asyncio

import pytest
from msgspec import structs

from actum import Agent, ToolCall, tool
from actum.agents.unfinished import unfinished
from actum.core.errors import Busy, TooLate, UnknownName, UsageError
from actum.core.interfaces import Journal
from actum.core.message import Reply, UserMessage
from actum.core.run.chain import verify, verify_ledger
from actum.core.run.record import Started
from actum.journal.export import check_journal
from actum.journal.follow import follow
from actum.journal.mismatch import mismatch
from actum.journal.timeline import Timeline
from actum.runs.runner import let_go
from actum.scores.feature import SCORES, scores_named, take_into_use
from actum.scores.rating import CHANGES_MAX, CHANGES_S, POLL_S, NotOver, TooManyChanges, rate
from actum.scores.score import ScoreGiven, all_scores, standing_scores
from actum.testing import FakeClock, ScriptedModel
from tests.storage.conftest import Store

pytestmark = pytest.mark.row("F4")

UP = ScoreGiven(name="thumb", value=1.0, by="ann")
DOWN = structs.replace(UP, value=0.0, explanation="wrong day")


def desk(journal: Journal, *says: str) -> Agent:
    return Agent(ScriptedModel(list(says)), name="desk", journal=journal)


async def answered(journal: Journal, principal: str = "ann", tenant: str = "", conversation: str = "") -> str:
    agent = desk(journal, "Monday.")
    result = await agent.run("Which day?", principal=principal, tenant=tenant, conversation=conversation)
    return result.run_id


async def test_a_rated_run_is_as_over_as_before_for_all_who_look_at_its_end(store: Store) -> None:
    clock = FakeClock()
    journal = store.open(clock=clock, key=b"k" * 32)
    run_id = await answered(journal, conversation="c")
    before = await journal.read(run_id)
    clock.advance(86_400)
    assert await rate(journal, run_id, DOWN, clock=clock)
    entries = await journal.read(run_id)
    assert len(entries) == len(before) + 1
    assert not verify(entries)
    assert let_go(entries) == before[-1].record
    assert unfinished(run_id, entries, len(entries)) == ()
    assert Timeline(entries).latest == Timeline(before).latest
    assert [entry.number async for entry in follow(journal, run_id, clock)] == [entry.number for entry in entries]
    assert [entry.number async for entry in follow(journal, run_id, clock, after=before[-1].number)] == [len(before)]
    assert (await mismatch(journal)).problems == (await mismatch(journal, [run_id])).problems == []
    (line,) = await journal.runs()
    assert (line.status, line.ended) == ("done", before[-1].at)
    resumed = await desk(journal).resume(run_id)
    assert (resumed.status, resumed.text) == ("done", "Monday.")
    asked = ScriptedModel(["Tuesday."])
    await Agent(asked, name="desk", journal=journal).run("And now?", principal="ann", conversation="c")
    told = [message.text for message in asked.requests[0].messages if isinstance(message, UserMessage | Reply)]
    assert told == ["Which day?", "Monday.", "And now?"]
    began = (await journal.read((await journal.runs(limit=1))[0].run_id))[0].record
    assert isinstance(began, Started)
    assert (began.seen, began.unfinished) == (len(entries), ())


async def test_the_head_is_signed_anew_and_a_score_that_was_cut_off_is_missed(store: Store) -> None:
    key = b"k" * 32
    journal = store.open(key=key)
    run_id = await answered(journal)
    signed = await journal.heads()
    await rate(journal, run_id, UP)
    heads = await journal.heads()
    assert [head.number for head in heads[len(signed) :]] == [(await journal.read(run_id))[-1].number]
    assert not verify_ledger(heads, key)
    assert not (await check_journal(journal, key=key)).problems


async def test_one_score_counts_for_each_author_the_latest_and_all_stay_on_record(store: Store) -> None:
    clock = FakeClock()
    journal = store.open(clock=clock)
    run_id = await answered(journal)
    for_user = structs.replace(UP, by="shop", user="u7")
    given = [
        UP,
        DOWN,
        DOWN,
        for_user,
        structs.replace(for_user, withdrawn=True, value=None),
        structs.replace(UP, by="bob"),
    ]
    written = [await rate(journal, run_id, each, clock=clock) for each in given]
    assert written == [True, True, False, True, True, True]
    assert not await rate(journal, run_id, structs.replace(UP, by="eve", value=None, withdrawn=True), clock=clock)
    entries = await journal.read(run_id)
    assert [(each.given.by, each.given.value) for each in standing_scores(entries)] == [("ann", 0.0), ("bob", 1.0)]
    assert len(all_scores(entries)) == 5
    assert {row.principal: row.value for row in (await scores_named(journal, "", "thumb"))[run_id]} == {
        "ann": 0.0,
        "bob": 1.0,
    }
    assert await scores_named(journal, "north", "thumb") == {}


async def test_the_index_is_made_anew_from_the_record_and_forgetting_a_run_forgets_its_scores(store: Store) -> None:
    journal = store.open()
    run_id = await answered(journal)
    await rate(journal, run_id, UP)
    await rate(journal, run_id, DOWN)
    stores = await take_into_use(journal)
    rows = await stores.find("", SCORES, limit=None)
    await stores.rebuild("scores")
    assert await stores.find("", SCORES, limit=None) == rows
    assert len(rows) == 2
    await journal.forget(run_id)
    assert await stores.find("", SCORES, limit=None) == []
    assert all_scores(await journal.read(run_id)) == []
    with pytest.raises(TooLate, match="forgotten"):
        await rate(journal, run_id, UP)


async def test_a_run_that_is_driven_or_waits_is_not_rated_and_nothing_is_written(store: Store) -> None:
    clock = FakeClock(auto=True)
    journal = store.open(clock=clock)

    @tool(approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    agent = Agent(ScriptedModel([[ToolCall("1", "pay", {})], "Paid."]), [pay], name="desk", journal=journal)
    paused = await agent.run("Pay.")
    done = await answered(journal)
    for run_id in (paused.run_id, done):
        count = len(await journal.read(run_id))
        async with journal.claim(run_id):
            with pytest.raises(NotOver, match="the run is not over"):
                await rate(journal, run_id, UP, clock=clock)
        assert len(await journal.read(run_id)) == count
    with pytest.raises(NotOver):
        await rate(journal, paused.run_id, UP, clock=clock)
    with pytest.raises(UnknownName):
        await rate(journal, "run_none", UP, clock=clock)


class WatchedClock(FakeClock):
    """A clock that tells when somebody sleeps by it."""

    def __init__(self) -> None:
        super().__init__()
        self.sleeps = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        """Sleep, and tell."""
        self.sleeps.set()
        await super().sleep(seconds)


async def test_the_last_byte_may_come_before_the_end_and_the_score_waits_for_it(store: Store) -> None:
    clock = WatchedClock()
    journal = store.open(clock=clock)
    run_id = await answered(journal)
    async with journal.claim(run_id):
        rating = asyncio.create_task(rate(journal, run_id, UP, clock=clock))
        await clock.sleeps.wait()
    clock.advance(POLL_S)
    assert await rating


async def test_ten_thousand_thumbs_of_an_author_are_one_score_and_changes_are_limited(store: Store) -> None:
    clock = FakeClock()
    journal = store.open(clock=clock)
    run_id = await answered(journal)
    assert sum([await rate(journal, run_id, UP, clock=clock) for _ in range(100)]) == 1
    for number in range(CHANGES_MAX):
        assert await rate(journal, run_id, (DOWN, UP)[number % 2], clock=clock)
    with pytest.raises(TooManyChanges) as caught:
        await rate(journal, run_id, DOWN, clock=clock)
    assert 1 <= caught.value.retry_after <= CHANGES_S
    assert await rate(journal, run_id, structs.replace(DOWN, by="bob"), clock=clock)
    clock.advance(caught.value.retry_after + 1)
    assert await rate(journal, run_id, DOWN, clock=clock)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (structs.replace(UP, value=float("nan")), "value"),
        (structs.replace(UP, name="helpful", value=1.01), "value"),
        (structs.replace(UP, value=0.5), "value"),
        (structs.replace(UP, value=None), "value"),
        (structs.replace(UP, name="so good"), "name"),
        (structs.replace(UP, explanation="x" * 5_000), "explanation"),
        (structs.replace(UP, user="u" * 300), "user"),
        (structs.replace(UP, over="run_none"), "over"),
    ],
)
async def test_a_score_that_is_none_is_refused_with_the_field(given: ScoreGiven, field: str) -> None:
    agent = desk(journal := Agent(ScriptedModel(["x"])).journal, "Monday.")
    run_id = (await agent.run("Which day?")).run_id
    with pytest.raises(UsageError, match=field):
        await rate(journal, run_id, given)
    assert all_scores(await journal.read(run_id)) == []


async def test_a_program_rates_through_its_agent_and_reaches_no_other_user() -> None:
    agent = desk(Agent(ScriptedModel(["x"])).journal, "Monday.", "Tuesday.")
    mine = (await agent.run("Which day?", principal="ann")).run_id
    other = (await agent.run("Which day?", principal="ann", tenant="north")).run_id
    assert await agent.rate(mine, "thumb", 1, comment="right", principal="ann")
    assert not await agent.rate(mine, "thumb", 1, comment="right", principal="ann")
    assert await agent.rate(mine, "helpful", 0.5)
    for run_id, over in ((mine, ""), (mine, other)):
        with pytest.raises(UnknownName):
            await agent.rate(run_id, "thumb", 0, over=over, principal="bob" if not over else "ann")
    with pytest.raises(UsageError, match="over"):
        await agent.rate(mine, "thumb", 1, over=other)
    assert await agent.rate(mine, "helpful", None)
    scores = standing_scores(await agent.journal.read(mine))
    assert [(each.given.name, each.given.value, each.given.explanation) for each in scores] == [("thumb", 1.0, "right")]


async def test_two_processes_rate_one_run_at_once_and_both_scores_are_there(shared: Store) -> None:
    one, other = shared.open(), shared.open()
    run_id = await answered(one)
    given = [structs.replace(UP, by=f"user {number}") for number in range(6)]
    await asyncio.gather(*(rate((one, other)[at % 2], run_id, each) for at, each in enumerate(given)))
    entries = await one.read(run_id)
    assert not verify(entries)
    assert {each.given.by for each in standing_scores(entries)} == {each.by for each in given}
    assert issubclass(NotOver, Busy)
