"""Whatever happens to a task, in whatever order: the list of tasks says what the record of its run says."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable
from pathlib import Path
from typing import TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from actum.core.run.record import (
    Ended,
    InputGiven,
    Record,
    Started,
    TaskEnded,
    TaskQueued,
    TaskRetrying,
    TaskStarted,
)
from actum.core.run.task import ENDINGS, FINISHED, STEPS, TASK_STATES, Backoff, TaskLine, TaskOptions
from actum.core.run.task_line import attempts_of, line_of
from actum.storage.sqlite import SQLiteJournal
from actum.tasks.attempt import NotNow, next_start, settle
from actum.testing import FakeClock
from tests.endurance import share

T = TypeVar("T")
RUN = "run_1"

ANY_RECORD: st.SearchStrategy[Record] = st.one_of(
    st.builds(
        TaskQueued,
        due=st.floats(999_000, 1_001_000),
        options=st.builds(TaskOptions, max_retries=st.integers(0, 3), priority=st.integers(0, 9)),
    ),
    st.builds(TaskStarted, st.integers(1, 5), st.just("w")),
    st.builds(
        TaskRetrying, st.integers(1, 5), st.just("ModelUnavailable"), st.floats(999_000, 1_001_000), st.booleans()
    ),
    st.builds(TaskEnded, st.sampled_from(TASK_STATES), st.just("why")),
    st.builds(
        Ended,
        st.sampled_from(["done", "paused", "stopped", "failed"]),
        st.just(""),
        st.sampled_from(["", "cancelled", "timed_out", "calls", "user_runs"]),
    ),
    st.builds(InputGiven, st.just("ask_1"), st.just("approve")),
)


class LifeOfATask(RuleBasedStateMachine):
    """Records come as workers write them, and as nobody should."""

    def __init__(self) -> None:
        super().__init__()
        self._runner = asyncio.Runner()
        self._folder = tempfile.TemporaryDirectory()
        self._clock = FakeClock(1_000_000.0, auto=True)
        self._journal = self.do(self._open())
        self._known: TaskLine | None = None
        self._was_finished = False

    async def _open(self) -> SQLiteJournal:
        return SQLiteJournal(Path(self._folder.name) / "journal.db", now=self._clock.now)

    def do(self, work: Awaitable[T]) -> T:
        async def wait() -> T:
            return await work

        return self._runner.run(wait())

    def teardown(self) -> None:
        self.do(self._journal.close())
        self._runner.close()
        self._folder.cleanup()

    async def _write(self, *records: Record) -> None:
        async with self._journal.claim(RUN):
            await self._journal.read(RUN)
            for record in records:
                self._journal.append(RUN, record)
            await self._journal.sync(RUN)

    @initialize(retries=st.integers(0, 3), wait=st.sampled_from([0.0, 30.0]), deadline=st.sampled_from([None, 100.0]))
    def accept(self, retries: int, wait: float, deadline: float | None) -> None:
        now = self._clock.now()
        options = TaskOptions(
            max_retries=retries,
            backoff=Backoff(base=wait, jitter=0),
            deadline=None if deadline is None else now + deadline,
        )
        self.do(
            self._write(
                Started(agent="a", model="", said=(), principal="ann", tenant="north"),
                TaskQueued(due=now, options=options),
            )
        )

    @rule()
    def begin(self) -> None:
        entries = self.do(self._journal.read(RUN))
        try:
            record = next_start(RUN, entries, self._clock.now(), "w")
        except NotNow:
            return
        self.do(self._write(record))

    @rule(status=st.sampled_from(["done", "paused", "failed", "stopped"]), reason=st.sampled_from(["", "timed_out"]))
    def end(self, status: str, reason: str) -> None:
        line = line_of(RUN, self.do(self._journal.read(RUN)))
        if line is not None and line.state == "running":
            self.do(self._write(Ended(status, "", reason)))  # type: ignore[arg-type]

    @rule(is_free=st.booleans())
    def settle(self, is_free: bool) -> None:
        line = self.do(settle(self._journal, RUN, clock=self._clock, is_free=is_free))
        assert line is not None
        if not is_free and line.state == "retrying":
            assert line.attempt - line.first < line.options.max_retries

    @rule(seconds=st.sampled_from([1.0, 40.0]))
    def wait(self, seconds: float) -> None:
        self._clock.advance(seconds)

    @rule(record=ANY_RECORD)
    def write_whatever(self, record: Record) -> None:
        self.do(self._write(record))

    @precondition(lambda self: self._known is not None)
    @rule()
    def open_anew(self) -> None:
        """Another process reads the same."""
        self.do(self._journal.close())
        self._journal = self.do(self._open())

    @invariant()
    def the_list_says_what_the_record_says(self) -> None:
        entries = self.do(self._journal.read(RUN))
        said, listed = line_of(RUN, entries), self.do(self._journal.tasks.find(RUN))
        assert listed == said
        if said is None:
            return
        self._known = said
        assert (said.ended is not None) == (said.state in FINISHED)
        due = self.do(self._journal.tasks.next_due(self._clock.now()))
        assert bool(due) == (said.state in ("queued", "retrying") and said.due <= self._clock.now())
        assert len(attempts_of(entries)) <= sum(isinstance(entry.record, TaskStarted) for entry in entries)


LifeOfATask.TestCase.settings = settings(max_examples=share(40, 10), stateful_step_count=25, deadline=None)
TestLifeOfATask = LifeOfATask.TestCase


def test_every_state_is_reached_and_the_ends_lead_nowhere_but_a_dead_letter_to_the_queue() -> None:
    reached = {state for steps in STEPS.values() for state in steps.values()} | {"queued"}
    assert reached == set(TASK_STATES) == set(STEPS)
    assert {state: steps for state, steps in STEPS.items() if state in FINISHED} == {
        "succeeded": {},
        "failed": {"queue": "queued"},
        "timed_out": {"queue": "queued"},
        "cancelled": {},
    }
    assert set(ENDINGS) == FINISHED
