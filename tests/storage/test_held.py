"""What was unfinished at a backup goes on only once a person has released it, on both databases."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from actum.core.errors import Busy
from actum.core.interfaces import Journal
from actum.core.message import UserMessage
from actum.core.run.pending import Pending
from actum.core.run.record import InputRequested, Started, TaskStarted
from actum.core.run.task import TaskOptions
from actum.core.stored.held import RunHeld
from actum.core.stored.kept_object import OPEN_NEWS, KeptObject, OpenNews
from actum.core.stored.session import LoginSession
from actum.journal.lists import READ_MAX, count_interrupted, page_of_runs
from actum.testing import FakeClock
from actum.triggers.settings import TriggerTable
from actum.triggers.watch import Watcher
from tests.storage.conftest import Store
from tests.tasks.desk import Desk
from tests.triggers.test_desk import Hall

pytestmark = pytest.mark.row("A6")


def begin(journal: Journal, run_id: str, parent: str = "") -> str:
    journal.append(run_id, Started(agent="desk", model="m", said=(UserMessage.of("Go"),), parent=parent))
    return run_id


async def statuses(journal: Journal) -> dict[str, str]:
    return {run.run_id: run.status for run in (await page_of_runs(journal)).items}


async def test_nothing_that_was_unfinished_is_claimed_begun_ended_or_told_until_it_is_released(shared: Store) -> None:
    clock = FakeClock()
    journal = shared.open(clock=clock)
    assert journal.tasks is not None
    desk, tasks = Desk(journal, clock), journal.tasks
    hooked = TaskOptions(webhook="https://hooks.example.org/t")
    queued = (await desk.accept()).run_id
    late = (await desk.accept(options=TaskOptions(deadline=clock.now() + 5))).run_id
    told = (await desk.accept(options=hooked)).run_id
    await desk.attempt(told)
    killed = (await desk.accept()).run_id
    journal.append(killed, TaskStarted(1, "w"))
    parent, child, waits, over = (
        begin(journal, "run_parent"),
        begin(journal, "run_child", "run_parent"),
        "run_w",
        "run_o",
    )
    journal.append(begin(journal, waits), InputRequested(Pending("ask_1", "answer", "Which?")))
    await journal.sync(begin(journal, over))
    news = KeptObject(id="n1", owner="a2a", kind=OPEN_NEWS, payload=msgspec.json.encode(OpenNews(told)))
    await journal.objects.put(news)

    clock.advance(10)
    assert {line.run_id for line in await tasks.late(clock.now())} == {late}
    assert len(await tasks.outbox.due(clock.now())) == 1
    assert await journal.held.hold() == 8
    again = shared.open(clock=clock)  # another process, after a restart
    assert again.tasks is not None
    assert await again.held.hold() == 8
    everything = {queued, late, told, killed, parent, child, waits, over}
    assert await again.held.which([*everything, "run_none"]) == everything
    for run_id in everything:
        with pytest.raises(RunHeld, match="actum runs release"):
            async with again.claim(run_id):
                pass
    found = [
        await again.tasks.next_due(clock.now(), limit=9),
        await again.tasks.running(),
        await again.tasks.late(clock.now()),
        await again.tasks.outbox.due(clock.now()),
    ]
    assert found == [[], [], [], []]
    assert {(await statuses(again))[each] for each in everything - {told}} == {"interrupted"}
    new = (await Desk(again, clock).accept()).run_id  # new requests are served meanwhile
    assert [line.run_id for line in await again.tasks.next_due(clock.now(), limit=9)] == [new]
    assert await again.forget(over), "what has to be forgotten is, also while it is held"

    assert await again.held.release(parent) == 2
    for run_id in (parent, child):
        async with again.claim(run_id):
            pass
    assert await again.held.is_on()
    assert await again.held.release() == 5
    assert not await again.held.is_on()
    assert {line.run_id for line in await again.tasks.next_due(clock.now(), limit=9)} >= {new, queued}
    assert [line.run_id for line in await again.tasks.running()] == [killed]
    assert [line.run_id for line in await again.tasks.late(clock.now())] == [late]
    assert [message.run_id for message in await again.tasks.outbox.due(clock.now())] == [told]
    assert (await statuses(again))[waits] != "interrupted"


async def test_interrupted_runs_are_counted_however_many_there_are(shared: Store) -> None:
    clock = FakeClock()
    journal = shared.open(clock=clock)
    desk = Desk(journal, clock)
    assert await count_interrupted(journal) == 0
    lost = [begin(journal, f"run_{number}") for number in range(READ_MAX + 5)]
    journal.append(begin(journal, "run_waits"), InputRequested(Pending("ask_1", "answer", "Which?")))
    await desk.accept()
    async with journal.claim(lost[0]), journal.claim(lost[-1]):
        other = shared.open(clock=clock)
        assert await count_interrupted(journal) == await count_interrupted(other) == len(lost) - 2
    await journal.held.hold()
    assert await count_interrupted(journal) == len(lost) + 2, "what is held is interrupted, whatever it waits for"


async def test_while_a_journal_is_held_a_schedule_begins_nothing_and_later_makes_up_for_nothing(
    shared: Store, tmp_path: Path
) -> None:
    table = TriggerTable(workflow="lamp", schedule="*/10 * * * *", with_={"room": "hall"}, missed="all")
    hall = Hall(shared, {"dawn": table})
    clock, journal = hall.clock, hall.journal
    watchers = [Watcher(hall.intake, tmp_path), Watcher(hall.intake, tmp_path)]

    async def look(after_s: float) -> int:
        clock.advance(after_s)
        await asyncio.gather(*(watcher.look() for watcher in watchers))
        return len(await journal.runs(limit=None))

    assert await look(600 - clock.now() % 600 + 10) == 0
    assert await look(600) == 1
    await journal.held.hold()
    assert await look(600) == 1
    assert await look(3_600) == 1
    begun = await hall.intake.fire("dawn", {})  # a person asks for it
    assert begun.how == "begun"
    await journal.held.release()
    assert await look(0) == 2
    assert await look(600) == 3


async def test_nobody_who_may_have_logged_out_since_is_logged_in_again(shared: Store) -> None:
    journal = shared.open()
    session = LoginSession(id="a" * 64, issuer="https://login.example", client="c", principal="ann")
    await journal.sessions.add(session, idle_since=0.0)
    assert await journal.sessions.find(session.id) is not None
    await journal.held.hold()
    assert await journal.sessions.find(session.id) is None


async def test_to_claim_what_nobody_holds_stays_possible_and_busy_stays_busy(shared: Store) -> None:
    journal = shared.open()
    async with journal.claim("run_1"):
        with pytest.raises(Busy) as refused:
            async with shared.open().claim("run_1"):
                pass
    assert not isinstance(refused.value, RunHeld)
