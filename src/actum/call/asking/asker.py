"""Asks the person who is there now, on behalf of one run: one question at a time, with its answer on record."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext

from ...core.cancellation import cancellable, cancellations
from ...core.policy import Approver
from ...core.run.pending import Pending
from ...core.run.record import InputGiven
from ...journal.secrets import write_answer
from ..scope import RunContext
from .inbox import answered, check_person, fit


class LiveApprover:
    """Asks on behalf of one run.

    Args:
        scope: the run.
        approver: who can be asked now; None when nobody can.
        depth: how many runs stand above this run. An approval that a policy of a run above asks for is not this
            approver's to give; the run above asks.

    Attributes:
        cancelled: whether the person who was asked broke the run off.
    """

    def __init__(self, scope: RunContext, approver: Approver | None, depth: int = 0) -> None:
        self._scope = scope
        self._depth = depth
        self._approver = approver
        self._turn = asyncio.Lock()
        self._later: set[str] = set()
        self.cancelled = False

    @property
    def is_there(self) -> bool:
        """Whether somebody can be asked now."""
        return self._approver is not None

    async def answer(self, pending: Pending) -> InputGiven | None:
        """The answer to an open question, on record; None when there is none now. Nobody is asked the same question
        twice.

        The time that a person takes does not count as the run's. The question is on disk before the person is shown it,
        so the answer finds the question even if this process ends meanwhile.

        Raises:
            JournalError: the question could not be written down; nobody was asked.
            UsageError: the answer does not fit what was asked.
            CancelledError: the person who is asked breaks the run off, or has done so.
        """
        if self.cancelled:
            raise asyncio.CancelledError
        if self._approver is None or pending.id in self._later:
            return None
        if pending.level is not None and pending.level < self._depth:
            return None
        scope = self._scope
        async with self._turn:
            await scope.journal.sync(scope.run_id)
            asked_at = scope.clock.monotonic()
            before = cancellations()
            with nullcontext() if scope.limit is None else scope.clock.hold(scope.limit):
                try:
                    answer = await cancellable(self._approver.ask(pending), None, "an approver")
                except asyncio.CancelledError:
                    self.cancelled = cancellations() == before
                    raise
            if answer is not None:
                fit(pending, answer)
                by = answered(pending.id, answer, 0.0).voter(scope.recording.tenant)
                check_person(pending, answer, by)
            scope.began += scope.clock.monotonic() - asked_at
            if answer is None:
                self._later.add(pending.id)
                return None
            record = answered(pending.id, answer, scope.elapsed())
            write_answer(scope.journal, scope.run_id, scope.recording, record)
        return record
