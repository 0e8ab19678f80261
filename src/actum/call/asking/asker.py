"""Asks the person who is there now, on behalf of one run: one question at a time, with its answer on record."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import nullcontext
from typing import TypeVar

from ...core.cancellation import cancellable, cancellations
from ...core.policy import Answer, Approver, TurnApprover
from ...core.run.pending import Pending
from ...core.run.record import InputGiven
from ...journal.secrets import write_answer
from ..scope import RunContext
from .inbox import answered, check_person, fit

T = TypeVar("T")


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
        approver = self._approver
        if approver is None or not self._is_ours(pending):
            return None
        async with self._turn:
            answer = await self._asked(approver.ask(pending))
            if answer is not None:
                return self._write(pending, answer)
            self._later.add(pending.id)
            return None

    async def answer_turn(self, waiting: Sequence[Pending]) -> None:
        """Ask about several calls of one reply as one question, where the person can be asked so; the answers are on
        record. What is left without an answer is for `answer`.

        Args:
            waiting: the questions about the calls.

        Raises:
            JournalError, UsageError, CancelledError: as `answer`.
        """
        approver, ours = self._approver, [each for each in waiting if each.kind == "approval" and self._is_ours(each)]
        if len(ours) < 2 or self.cancelled or not isinstance(approver, TurnApprover):
            return
        async with self._turn:
            answer = await self._asked(approver.ask_turn(ours))
            for pending in ours:
                if isinstance(answer, Answer):
                    self._write(pending, answer)
                elif answer == "later":
                    self._later.add(pending.id)

    def _is_ours(self, pending: Pending) -> bool:
        """Whether this question is for this approver, and was not left for later."""
        return pending.id not in self._later and not (pending.level is not None and pending.level < self._depth)

    async def _asked(self, question: Awaitable[T]) -> T:
        """What the person says, who is shown a question that is on disk. The time does not count as the run's."""
        scope = self._scope
        await scope.journal.sync(scope.run_id)
        asked_at = scope.clock.monotonic()
        before = cancellations()
        with nullcontext() if scope.limit is None else scope.clock.hold(scope.limit):
            try:
                said = await cancellable(question, None, "an approver")
            except asyncio.CancelledError:
                self.cancelled = cancellations() == before
                raise
        scope.began += scope.clock.monotonic() - asked_at
        return said

    def _write(self, pending: Pending, answer: Answer) -> InputGiven:
        """Put an answer on record.

        Raises:
            UsageError: the answer does not fit what was asked.
        """
        scope = self._scope
        fit(pending, answer)
        check_person(pending, answer, answered(pending.id, answer, 0.0).voter(scope.recording.tenant))
        record = answered(pending.id, answer, scope.elapsed())
        write_answer(scope.journal, scope.run_id, scope.recording, record)
        return record
