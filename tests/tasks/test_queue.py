"""The queue: what is accepted and what is refused, in which order tasks are taken, and what follows from each end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

import pytest

from actum.call.asking.inbox import records_of
from actum.core.call import ToolCall
from actum.core.clock import SystemClock
from actum.core.errors import (
    ActumError,
    InvalidArguments,
    JournalError,
    PermissionDenied,
    TaskRefused,
    UnknownName,
    UnknownTool,
)
from actum.core.policy import Answer
from actum.core.process.claim import claim_of_end
from actum.core.run.record import Ended, InputGiven, Intended, Started, TaskRetrying, TaskStarted, Verdict
from actum.core.run.task import Backoff, TaskFigure, TaskLine, TaskOptions, TaskState
from actum.core.run.task_line import line_of
from actum.journal.recording import CallRef, RunState
from actum.journal.timeline import Timeline
from actum.runs.runner import Runner
from actum.storage.tables.tasks import DatabaseTasks
from actum.tasks.attempt import LeftTask, attempt_in_time, settle, timed_out
from actum.tasks.builder import Resumable
from actum.tasks.children import TaskChildren
from actum.tasks.local import LocalDispatcher
from actum.tasks.queue import DAY_S, TaskLimits, TaskQueue
from actum.tasks.sweep import sweep
from actum.tasks.waits import POLL_S, TaskWaits
from actum.telemetry.spans import ended_for_good
from actum.testing import FakeClock
from tests.storage.conftest import Store
from tests.tasks.desk import Desk
from tests.tasks.office import until


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(1_000_000.0, auto=True)


@pytest.fixture
def desk(store: Store, clock: FakeClock) -> Desk:
    return Desk(store.open(clock=clock), clock)


def index_of(desk: Desk) -> DatabaseTasks:
    found = desk.journal.tasks
    assert isinstance(found, DatabaseTasks)
    return found


async def taken(desk: Desk) -> list[str]:
    """The principals of the tasks that are due, in the order in which they are taken, each run at once."""
    order: list[str] = []
    while lines := await index_of(desk).next_due(desk.clock.now()):
        order.append(lines[0].principal)
        await desk.attempt(lines[0].run_id)
    return order


async def test_a_task_is_a_run_whose_records_tell_all_of_it(desk: Desk) -> None:
    line = await desk.accept(what="sea")
    assert (line.state, line.principal, line.agent, line.attempt) == ("queued", "ann", "api", 0)
    await desk.attempt(line.run_id)
    view = await desk.queue.look(line.run_id, tenant="", principal="ann")
    assert (view.line.state, view.result and view.result.text, view.tool) == ("succeeded", "seen sea", "look")
    assert [(each.attempt, each.worker, each.error) for each in view.attempts] == [(1, "w1", "")]
    assert view.line == await index_of(desk).find(line.run_id)
    kinds = [type(entry.record).__name__ for entry in await desk.journal.read(line.run_id)]
    assert kinds[:4] == ["Started", "CallsRequested", "TaskQueued", "TaskStarted"]
    assert kinds[-2:] == ["Ended", "TaskEnded"]


async def test_what_can_not_be_done_is_refused_before_anything_is_written(desk: Desk, clock: FakeClock) -> None:
    now = clock.now()
    refused: list[tuple[str, type[ActumError], str, str, dict[str, str], TaskOptions]] = [
        ("an unknown tool", UnknownTool, "", "fly", {}, TaskOptions()),
        ("wrong arguments", InvalidArguments, "", "look", {}, TaskOptions()),
        ("what the policy denies", PermissionDenied, "", "erase", {}, TaskOptions()),
        ("a deadline in the past", TaskRefused, "deadline", "look", {"what": "x"}, TaskOptions(deadline=now - 1)),
        (
            "a deadline before the beginning",
            TaskRefused,
            "deadline",
            "look",
            {"what": "x"},
            TaskOptions(deadline=now + 5, not_before=now + 9),
        ),
        ("too many retries", TaskRefused, "options", "look", {"what": "x"}, TaskOptions(max_retries=1_000_000)),
        ("a priority of its own", TaskRefused, "options", "look", {"what": "x"}, TaskOptions(priority=10)),
        ("no time at all", TaskRefused, "options", "look", {"what": "x"}, TaskOptions(timeout_s=0)),
        ("endless time", TaskRefused, "options", "look", {"what": "x"}, TaskOptions(timeout_s=float("inf"))),
        ("no number", TaskRefused, "options", "look", {"what": "x"}, TaskOptions(backoff=Backoff(base=float("nan")))),
        ("a NUL in a key", TaskRefused, "options", "look", {"what": "x"}, TaskOptions(unique_key="a\0")),
    ]
    for name, error, code, tool, arguments, options in refused:
        with pytest.raises(error) as raised:
            await desk.queue.accept_call(desk.runner, ToolCall("call", tool, {**arguments}), options)
        assert getattr(raised.value, "code", "") == code or not code, name
    assert await desk.queue.counts() == {}
    assert await desk.journal.runs() == []


async def test_a_journal_in_memory_accepts_no_task(clock: FakeClock) -> None:
    runner = Runner([], clock=clock)
    queue = TaskQueue(runner.journal, clock=clock)
    with pytest.raises(TaskRefused, match="PostgreSQL") as raised:
        await queue.list()
    assert raised.value.code == "journal"


async def test_an_agent_that_no_other_process_can_build_is_refused(desk: Desk) -> None:
    queue = TaskQueue(desk.journal, clock=desk.clock, can_build=lambda name: name != "api")
    with pytest.raises(TaskRefused) as raised:
        await queue.accept_call(desk.runner, ToolCall("call", "look", {"what": "x"}), TaskOptions())
    assert raised.value.code == "agent"
    assert await desk.queue.counts() == {}


async def test_sixteen_who_race_for_one_key_get_one_task_and_it_is_done_once(store: Store) -> None:
    desk, *others = [Desk(store.open(), SystemClock()) for _ in range(4)]
    options = TaskOptions(unique_key="k")
    lines = await asyncio.gather(*((desk, *others)[at % 4].accept("look", options, what="x") for at in range(16)))
    assert len({line.run_id for line in lines}) == 1
    assert await desk.queue.counts() == {"queued": 1}
    await desk.attempt(lines[0].run_id)
    again = await desk.accept("look", options, what="x")
    assert (again.run_id, again.state) == (lines[0].run_id, "succeeded")
    assert (await desk.accept("look", options, principal="bob", what="x")).run_id != again.run_id
    assert (await desk.accept("look", options, tenant="north", what="x")).run_id != again.run_id


async def test_a_key_with_other_arguments_is_refused_and_both_digests_are_told(desk: Desk) -> None:
    options = TaskOptions(unique_key="k")
    line = await desk.accept("look", options, what="x")
    with pytest.raises(TaskRefused, match=line.digest) as raised:
        await desk.accept("look", options, what="y")
    assert (raised.value.code, raised.value.run_id) == ("key_used", line.run_id)


async def test_a_key_is_free_again_when_the_list_has_dropped_its_task(desk: Desk, clock: FakeClock) -> None:
    options = TaskOptions(unique_key="k")
    first = await desk.accept("look", options, what="x")
    await desk.attempt(first.run_id)
    clock.advance(31 * DAY_S)
    assert await index_of(desk).drop(clock.now() - TaskLimits().kept_s) == 1
    with pytest.raises(UnknownName):
        await desk.queue.wait(first.run_id, 0)
    assert await desk.journal.is_listed(first.run_id)
    assert (await desk.accept("look", options, what="x")).run_id != first.run_id


async def test_attempts_follow_each_other_by_the_backoff_to_the_second(desk: Desk, clock: FakeClock) -> None:
    desk.failing = 5
    begun = clock.now()
    line = await desk.accept(options=TaskOptions(max_retries=5, backoff=Backoff(base=2, factor=3, cap=40, jitter=0)))
    waits: list[float] = []
    while (found := await desk.queue.look(line.run_id)).line.state in ("queued", "retrying"):
        assert await index_of(desk).next_due(found.line.due - 0.5) == [] or not waits
        clock.set(found.line.due)
        waits.append(found.line.due - begun)
        begun = found.line.due
        await desk.attempt(line.run_id)
    assert [round(wait) for wait in waits] == [0, 2, 6, 18, 40, 40]
    assert found.line.state == "succeeded"
    assert [each.error for each in found.attempts] == ["ModelUnavailable"] * 5 + [""]


async def test_jitter_differs_by_task_and_stays_within_its_part() -> None:
    backoff = Backoff(base=100, cap=1_000, jitter=0.1)
    waits = {backoff.delay_s(1, f"run_{at}") for at in range(50)}
    assert len(waits) == 50
    assert all(90 <= wait <= 110 for wait in waits)
    assert Backoff(factor=1e300, cap=5).delay_s(100, "run_1") <= 5.5


async def test_a_task_without_retries_left_is_a_dead_letter_which_can_be_begun_again(desk: Desk) -> None:
    desk.failing = 3
    line = await desk.accept(options=TaskOptions(max_retries=1, backoff=Backoff(base=0)))
    await desk.attempt(line.run_id)
    await desk.attempt(line.run_id)
    dead = (await desk.queue.look(line.run_id)).line
    assert (dead.state, dead.error, dead.attempt) == ("failed", "ModelUnavailable", 2)
    assert isinstance(await desk.attempt(line.run_id), LeftTask)
    await desk.queue.retry(line.run_id, by="root")
    await desk.attempt(line.run_id)
    await desk.attempt(line.run_id)
    view = await desk.queue.look(line.run_id)
    assert (view.line.state, view.line.attempt) == ("succeeded", 4)
    assert desk.done == ["look x"]
    with pytest.raises(TaskRefused) as raised:
        await desk.queue.retry(line.run_id)
    assert (raised.value.code, raised.value.state) == ("not_dead", "succeeded")


async def lost(desk: Desk, run_id: str, tool: str, arguments: Mapping[str, str]) -> None:
    """An attempt whose process ends while it makes the call: what stands on record then."""
    found = await desk.queue.look(run_id)
    async with desk.journal.claim(run_id):
        await desk.journal.read(run_id)
        desk.journal.append(run_id, TaskStarted(found.line.attempt + 1, "w9"))
        desk.journal.append(run_id, Intended(1, 0, found.line.attempt + 1, tool, "v", {**arguments}, "key"))
        await desk.journal.sync(run_id)


async def test_an_attempt_whose_process_is_lost_counts_and_the_last_one_ends_the_task(desk: Desk) -> None:
    line = await desk.accept(options=TaskOptions(max_retries=2, backoff=Backoff(base=0)))
    for attempt in (1, 2, 3):
        await lost(desk, line.run_id, "look", {"what": "x"})
        settled = await settle(desk.journal, line.run_id, clock=desk.clock)
        assert settled is not None
        assert (settled.state, settled.attempt, settled.error) == (
            "retrying" if attempt < 3 else "failed",
            attempt,
            "worker_lost",
        )
        run = (await desk.journal.runs(limit=1))[0]
        assert run.status == ("running" if attempt < 3 else "failed")


@pytest.mark.row("F9")
async def test_a_task_that_is_lost_or_late_ends_its_run_and_its_trace_and_can_still_be_begun_again(
    desk: Desk, clock: FakeClock
) -> None:
    """Else the run is listed as interrupted for ever, and its spans have no root at the collector."""
    gone = await desk.accept("ship", to="x")
    await lost(desk, gone.run_id, "ship", {"to": "x"})
    late = await desk.accept(options=TaskOptions(deadline=desk.clock.now() + 10))
    clock.set(clock.now() + 20)
    for line, state, ended in (
        (gone, ("failed", "worker_lost"), ("failed", "worker_lost")),
        (late, ("timed_out", "deadline"), ("stopped", "timed_out")),
    ):
        settled = await settle(desk.journal, line.run_id, clock=desk.clock)
        assert settled is not None
        assert (settled.state, settled.error) == state
        found = ended_for_good(Timeline(await desk.journal.read(line.run_id)))
        assert found is not None
        assert (found[0].status, found[0].reason) == ended
    await desk.queue.retry(gone.run_id)
    await desk.attempt(gone.run_id)
    view = await desk.queue.look(gone.run_id)
    assert (view.line.state, [asked.kind for asked in view.waiting], desk.done) == ("waiting", ["doubt"], [])
    assert ended_for_good(Timeline(await desk.journal.read(gone.run_id))) is None


async def test_a_call_in_doubt_waits_for_a_person_and_is_not_retried_past(desk: Desk) -> None:
    line = await desk.accept("ship", TaskOptions(max_retries=5, backoff=Backoff(base=0)), to="x")
    await lost(desk, line.run_id, "ship", {"to": "x"})
    await settle(desk.journal, line.run_id, clock=desk.clock)
    await desk.attempt(line.run_id)
    view = await desk.queue.look(line.run_id)
    assert (view.line.state, [asked.kind for asked in view.waiting]) == ("waiting", ["doubt"])
    assert isinstance(await desk.attempt(line.run_id), LeftTask)
    assert await index_of(desk).next_due(desk.clock.now() + DAY_S) == []
    await desk.runner.answer(line.run_id, answers(view.waiting[0].id, "done"))
    assert (await desk.queue.look(line.run_id)).line.state == "queued"
    await desk.attempt(line.run_id)
    assert (await desk.queue.look(line.run_id)).line.state == "succeeded"
    assert desk.done == []


def answers(ask_id: str, verdict: Verdict) -> Callable[[RunState], list[InputGiven]]:
    """The records of an answer."""
    return lambda state: records_of(state, {ask_id: Answer(verdict, by="root")})


async def test_a_task_may_wait_a_week_for_its_approval_and_nothing_holds_it(desk: Desk, clock: FakeClock) -> None:
    line = await desk.accept("pay", TaskOptions(timeout_s=5), to="x")
    await desk.attempt(line.run_id)
    view = await desk.queue.look(line.run_id)
    assert (view.line.state, view.waiting[0].kind) == ("waiting", "approval")
    assert await desk.journal.driven([line.run_id]) == set()
    clock.advance(7 * DAY_S)
    await desk.runner.answer(line.run_id, answers(view.waiting[0].id, "approve"))
    await desk.attempt(line.run_id)
    view = await desk.queue.look(line.run_id)
    assert (view.line.state, view.line.attempt, desk.done) == ("succeeded", 1, ["pay x"])


async def test_a_task_whose_run_a_killed_process_did_beside_the_queue_has_succeeded(
    desk: Desk,
) -> None:
    """The process ended between the end of the run and that of the task: nothing is left to be attempted."""
    line = await desk.accept("pay", TaskOptions(max_retries=2), to="x")
    await desk.attempt(line.run_id)
    asked = (await desk.queue.look(line.run_id)).waiting[0].id
    await desk.runner.answer(line.run_id, answers(asked, "approve"))
    await desk.runner.resume(line.run_id)
    assert (await desk.queue.look(line.run_id)).line.state == "queued"
    await desk.attempt(line.run_id)
    view = await desk.queue.look(line.run_id)
    assert (view.line.state, view.line.error, desk.done) == ("succeeded", "", ["pay x"])
    assert [attempt.attempt for attempt in view.attempts] == [1]


async def test_a_task_is_cancelled_where_it_waits_and_a_finished_one_says_its_state(desk: Desk) -> None:
    queued = await desk.accept()
    waiting = await desk.accept("pay", to="x")
    await desk.attempt(waiting.run_id)
    desk.failing = 1
    retrying = await desk.accept(options=TaskOptions(max_retries=1))
    await desk.attempt(retrying.run_id)
    for line in (queued, waiting, retrying):
        assert (await desk.queue.cancel(line.run_id)).state == "cancelled"
        assert isinstance(await desk.attempt(line.run_id), LeftTask)
        with pytest.raises(TaskRefused) as raised:
            await desk.queue.cancel(line.run_id)
        assert (raised.value.code, raised.value.state) == ("finished", "cancelled")
    assert desk.done == []


async def test_a_time_limit_leaves_the_call_in_doubt_and_on_record(desk: Desk) -> None:
    line = await desk.accept("ship", TaskOptions(timeout_s=3), to="x")
    await lost(desk, line.run_id, "ship", {"to": "x"})
    await settle(desk.journal, line.run_id, clock=desk.clock, ended=timed_out)
    view = await desk.queue.look(line.run_id)
    assert (view.line.state, view.line.error) == ("timed_out", "timed_out")
    state = await desk.state(line.run_id)
    assert state.ended == Ended("stopped", "", "timed_out")
    assert state.in_doubt(CallRef(1, 0))
    assert view.result is None


async def test_a_time_limit_that_is_over_before_the_attempt_is_on_record_ends_the_task_all_the_same(
    desk: Desk, clock: FakeClock
) -> None:
    """Else a machine that takes longer to build the task would begin it for ever."""
    line, asked = await desk.accept(options=TaskOptions(timeout_s=3)), asyncio.Event()

    class Slow:
        async def build(self, started: Started) -> Resumable:
            asked.set()
            never: asyncio.Future[Resumable] = asyncio.get_running_loop().create_future()
            return await never

    going = asyncio.create_task(
        attempt_in_time(desk.journal, Slow(), line.run_id, clock=desk.clock, worker="w1", timeout_s=3)
    )
    await asked.wait()
    clock.advance(4)
    outcome = await going
    assert isinstance(outcome, TaskLine)
    assert outcome.state == "timed_out"
    view = await desk.queue.look(line.run_id)
    assert ([each.error for each in view.attempts], desk.done) == (["timed_out"], [])


async def test_users_take_turns_within_a_priority_and_a_higher_priority_goes_first(desk: Desk) -> None:
    for _ in range(4):
        await desk.accept(principal="ann")
    for _ in range(2):
        await desk.accept(principal="bob")
    await desk.accept(principal="cat")
    await desk.accept(principal="low", options=TaskOptions(priority=1))
    await desk.accept(principal="boss", options=TaskOptions(priority=9))
    assert await taken(desk) == ["boss", "ann", "bob", "cat", "ann", "bob", "ann", "ann", "low"]


async def test_a_task_is_not_taken_before_its_time(desk: Desk, clock: FakeClock) -> None:
    line = await desk.accept(options=TaskOptions(not_before=clock.now() + 60))
    assert await index_of(desk).next_due(clock.now() + 59) == []
    assert isinstance(await desk.attempt(line.run_id), LeftTask)
    assert await index_of(desk).next_time() == clock.now() + 60
    assert [each.run_id for each in await index_of(desk).next_due(clock.now() + 60)] == [line.run_id]


async def test_no_user_and_no_tenant_has_more_tasks_than_the_limits_say(store: Store, clock: FakeClock) -> None:
    desk = Desk(store.open(clock=clock), clock, TaskLimits(queued=2, queued_tenant=3))
    running = await desk.accept()
    await lost(desk, running.run_id, "look", {"what": "x"})
    await desk.accept()
    await desk.accept()
    with pytest.raises(TaskRefused) as raised:
        await desk.accept()
    assert raised.value.code == "queued_max"
    await desk.accept(principal="bob")
    with pytest.raises(TaskRefused):
        await desk.accept(principal="cat")
    await desk.accept(principal="cat", tenant="north")
    index = index_of(desk)
    free = await index.next_due(clock.now(), limit=9, running_max=1)
    assert [line.principal for line in free] == ["bob", "cat"]
    free = await index.next_due(clock.now(), limit=9, tenant_running_max=1)
    assert [line.tenant for line in free] == ["north"]


async def test_a_task_of_somebody_else_is_not_there(desk: Desk) -> None:
    line = await desk.accept(principal="ann", tenant="north")
    for tenant, principal in (("north", "bob"), ("south", "ann"), ("", "ann"), ("south", None)):
        for act in (desk.queue.look, desk.queue.cancel, desk.queue.retry):
            with pytest.raises(UnknownName):
                await act(line.run_id, tenant=tenant, principal=principal)
        with pytest.raises(UnknownName):
            await desk.queue.wait(line.run_id, 0, tenant=tenant, principal=principal)
    assert await desk.queue.list(tenant="south") == []
    assert (await desk.queue.look(line.run_id, tenant="north")).line.state == "queued"
    for odd in ("", "run_x", "a\0b", "conversation x"):
        with pytest.raises(UnknownName):
            await desk.queue.wait(odd, 0)


async def test_the_sweep_settles_what_nobody_carries_out_and_what_is_too_late(desk: Desk, clock: FakeClock) -> None:
    gone = await desk.accept(options=TaskOptions(max_retries=1, backoff=Backoff(base=0)))
    await lost(desk, gone.run_id, "look", {"what": "x"})
    driven = await desk.accept()
    await lost(desk, driven.run_id, "look", {"what": "x"})
    late = await desk.accept(options=TaskOptions(deadline=clock.now() + 10))
    waits = await desk.accept("pay", TaskOptions(deadline=clock.now() + 10), to="x")
    await desk.attempt(waits.run_id)
    done = await desk.accept()
    async with desk.journal.claim(done.run_id):  # its process ended between the result and the task's own end
        await desk.journal.read(done.run_id)
        desk.journal.append(done.run_id, TaskStarted(1, "w9"))
        desk.journal.append(done.run_id, Ended("done"))
    clock.advance(11)
    children = TaskChildren(desk.journal, ["false"], setup=b"{}", environment={}, clock=clock)
    dispatcher = LocalDispatcher(desk.journal, children, clock=clock)
    async with desk.journal.claim(driven.run_id):
        await dispatcher.sweep()
    lines = {line.run_id: line for line in await desk.queue.list()}
    states = [lines[each.run_id].state for each in (gone, driven, late, waits, done)]
    assert states == ["retrying", "running", "timed_out", "timed_out", "succeeded"]
    assert lines[late.run_id].error == "deadline"


async def test_an_attempt_that_its_process_breaks_off_just_now_is_not_taken_for_a_lost_one(
    desk: Desk, clock: FakeClock
) -> None:
    line = await desk.accept(options=TaskOptions(max_retries=2, backoff=Backoff(base=9)))
    await lost(desk, line.run_id, "look", {"what": "x"})
    async with desk.journal.claim(claim_of_end(line.run_id)):
        await sweep(desk.journal, index_of(desk), clock)
        assert (await desk.queue.look(line.run_id)).line.state == "running"
        await settle(desk.journal, line.run_id, clock=clock, ended=timed_out)
    await sweep(desk.journal, index_of(desk), clock)
    view = await desk.queue.look(line.run_id)
    assert (view.line.state, [each.error for each in view.attempts]) == ("retrying", ["timed_out"])


async def test_an_attempt_that_is_put_back_does_not_count(desk: Desk) -> None:
    line = await desk.accept(options=TaskOptions())
    await lost(desk, line.run_id, "look", {"what": "x"})
    await settle(desk.journal, line.run_id, clock=desk.clock, is_free=True, because="stopped")
    await desk.attempt(line.run_id)
    entries = await desk.journal.read(line.run_id)
    assert [entry.record.free for entry in entries if isinstance(entry.record, TaskRetrying)] == [True]
    found = line_of(line.run_id, entries)
    assert found is not None
    assert (found.state, found.attempt) == ("succeeded", 2)


async def test_secret_values_stay_for_the_next_attempt_and_go_with_the_end_of_the_task(desk: Desk) -> None:
    desk.failing = 1
    line = await desk.accept("unlock", TaskOptions(max_retries=1, backoff=Backoff(base=0)), password="hunter2-hunter2")
    await desk.attempt(line.run_id)
    assert (await desk.queue.look(line.run_id)).line.state == "retrying"
    assert await desk.journal.hidden(line.run_id) != {}
    await desk.attempt(line.run_id)
    assert (await desk.queue.look(line.run_id)).line.state == "succeeded"
    assert desk.done == ["unlock hunter2-hunter2"]
    assert await desk.journal.hidden(line.run_id) == {}
    assert all(b"hunter2" not in entry.payload for entry in await desk.journal.read(line.run_id))


async def test_the_figures_count_by_state_and_priority_and_tell_since_when_the_oldest_could_begin(
    desk: Desk, clock: FakeClock
) -> None:
    began = clock.now()
    await desk.accept(options=TaskOptions(priority=9))
    await desk.accept(options=TaskOptions(not_before=began + 60))
    desk.failing = 1
    await desk.attempt((await desk.accept(what="fails")).run_id)
    await desk.attempt((await desk.accept(what="ends")).run_id)
    clock.advance(30)
    await desk.accept(options=TaskOptions(priority=9), tenant="other")

    def told(figures: Sequence[TaskFigure]) -> list[tuple[str, int, int, float | None]]:
        return sorted((each.state, each.priority, each.count, each.since) for each in figures)

    assert told(await index_of(desk).figures(clock.now())) == [
        ("failed", 5, 1, None),
        ("queued", 5, 1, None),
        ("queued", 9, 2, began),
    ]
    clock.advance(60)
    assert ("queued", 5, 1, began + 60) in told(await index_of(desk).figures(clock.now()))


async def test_those_who_wait_share_one_question_to_the_list_and_each_is_told_in_time(desk: Desk) -> None:
    """A hundred requests for five tasks; a wait that runs out, and a task that the list has dropped."""
    lines = [await desk.accept(what=str(at)) for at in range(5)]
    asked: list[Sequence[str]] = []
    clock = FakeClock()

    async def states(run_ids: Sequence[str]) -> Mapping[str, TaskState]:
        asked.append(run_ids)
        return await index_of(desk).states(run_ids)

    waits = TaskWaits(states, clock)
    waiting = [asyncio.create_task(waits.until_settled(line.run_id)) for line in lines for _ in range(20)]
    gone = asyncio.create_task(waits.until_settled("run_gone"))
    left = asyncio.create_task(waits.until_settled(lines[4].run_id))
    await gone
    left.cancel()
    await until(lambda: bool(clock.slept))
    assert [len(each) for each in asked] == [6]
    await desk.attempt(lines[0].run_id)
    assert not any(each.done() for each in waiting)
    clock.advance(POLL_S)
    await asyncio.gather(*waiting[:20])
    assert not any(each.done() for each in waiting[20:])
    for line in lines[1:]:
        await desk.queue.cancel(line.run_id)
    await until(lambda: len(clock.slept) == 2)
    clock.advance(POLL_S)
    await asyncio.gather(*waiting[20:], return_exceptions=True)
    assert len(asked) == 3
    assert left.cancelled()
    again = asyncio.create_task(waits.until_settled("run_gone"))  # nobody asked meanwhile
    await again
    assert len(asked) == 4


async def test_those_who_wait_are_told_when_the_list_can_not_be_read(clock: FakeClock) -> None:
    async def states(run_ids: Sequence[str]) -> Mapping[str, TaskState]:
        raise JournalError("the database is away")

    waits = TaskWaits(states, clock)
    told = await asyncio.gather(*(waits.until_settled(f"run_{at % 2}") for at in range(4)), return_exceptions=True)
    assert [type(each) for each in told] == [JournalError] * 4


async def test_a_wait_ends_at_its_time_with_the_task_as_it_stands(desk: Desk) -> None:
    line = await desk.accept(what="x")
    assert (await desk.queue.wait(line.run_id, 5)).line.state == "queued"
    await desk.attempt(line.run_id)
    assert (await desk.queue.wait(line.run_id, 5)).line.state == "succeeded"
