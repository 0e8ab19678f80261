"""`rate`: puts a score on the record of a run that is over. The one operation behind every door that takes a score."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from ..core.clock import SystemClock
from ..core.errors import Busy, TooLate, UnknownName, UsageError
from ..core.interfaces import Clock, Journal
from ..core.run.ending import is_last, last_entry
from ..core.run.record import Entry, Forgotten
from ..journal.recording import RunState
from .feature import take_into_use
from .score import ScoreGiven, ScoreOnRecord, all_scores, checked, noted

WAIT_S = 2.0
"""Seconds for which a run is waited for that is just about to end: the last byte of a streamed answer comes before."""
POLL_S = 0.05
CHANGES_MAX, CHANGES_S = 20, 3_600.0
"""How often an author may change a score of a run, and in how many seconds."""


class NotOver(Busy):
    """The run is still carried out, or waits: it can be rated when it is over."""


class TooManyChanges(UsageError):
    """An author has changed a score too often.

    Args:
        retry_after: seconds after which the score can be changed again.
    """

    def __init__(self, retry_after: float) -> None:
        super().__init__(
            "this score was changed {most} times within an hour: change it again in {seconds:.0f} seconds",
            most=CHANGES_MAX,
            seconds=retry_after,
        )
        self.retry_after = retry_after


async def rate(
    journal: Journal, run_id: str, given: ScoreGiven, *, clock: Clock | None = None, tenant: str | None = None
) -> bool:
    """Put a score on the record of a run that is over. Whether the author may rate the run is the caller's question.

    Args:
        journal: has the run.
        run_id: the run.
        given: the score. The same score again, or the withdrawal of a score that does not count, writes nothing.
        clock: says when to look again while the run is being carried out.
        tenant: of the author: another tenant's runs are not there. None for runs of every tenant.

    Returns:
        Whether something was written.

    Raises:
        UsageError: a field can not be used; the sentence begins with its name.
        UnknownName: there is no such run.
        TooLate: the run was forgotten.
        NotOver: the run is not over, or was carried out for longer than `WAIT_S`.
        TooManyChanges: the author has changed this score too often.
    """
    clock = clock or SystemClock()
    checked(given)
    await take_into_use(journal)
    until = clock.monotonic() + WAIT_S
    while True:
        try:
            async with journal.claim(run_id):
                return await _append(journal, run_id, given, tenant)
        except NotOver:
            raise
        except Busy:
            if clock.monotonic() >= until:
                raise not_over(run_id) from None
        await clock.sleep(POLL_S)


async def score_run(
    journal: Journal,
    run_id: str,
    score: Callable[[Sequence[Entry]], Awaitable[Sequence[ScoreGiven]]],
    entries: Sequence[Entry] | None = None,
) -> None:
    """Put what scorers say of a run on its record. What they said before is not said again. The next `Journal.sync` of
    the caller brings the scores to the disk.

    Args:
        journal: has the run.
        run_id: the run, which waits for something or is over.
        score: gives the scores, out of the entries of the run.
        entries: of the run, where the caller has read them; None to read them here.

    Raises:
        NotOver: somebody goes on with the run.
    """
    try:
        async with journal.claim(run_id):
            entries = await journal.read(run_id) if entries is None else entries
            known = {(each.given.name, each.given.author): each.given for each in all_scores(entries)}
            for given in await score(entries):
                if known.get((given.name, given.author)) != given:
                    journal.append(run_id, noted(given))
    except Busy:
        raise not_over(run_id) from None


def not_over(run_id: str) -> NotOver:
    """The error for a run that can not be rated yet."""
    return NotOver("the run is not over: {run} can be rated when it has ended", run=run_id)


async def _append(journal: Journal, run_id: str, given: ScoreGiven, tenant: str | None) -> bool:
    entries = await journal.read(run_id, tenant=tenant)
    if not entries:
        raise UnknownName("there is no run {wanted!r} in this journal", wanted=run_id)
    latest = last_entry(entries).record
    if isinstance(latest, Forgotten):
        raise TooLate("the run {run} was forgotten, and can not be rated any more", run=run_id)
    if not is_last(latest):
        raise not_over(run_id)
    if given.over and (given.over == run_id or not await journal.read(given.over, tenant=_tenant(entries))):
        raise UsageError("over={over}: there is no other run of this id to compare with", over=given.over)
    before = [
        each for each in all_scores(entries) if (each.given.name, each.given.author) == (given.name, given.author)
    ]
    if _changes_nothing(given, before):
        return False
    _check_changes(before, journal.now())
    journal.append(run_id, noted(given))
    await journal.sync(run_id)
    return True


def _changes_nothing(given: ScoreGiven, before: list[ScoreOnRecord]) -> bool:
    if not before:
        return given.withdrawn
    return before[-1].given == given or (given.withdrawn and before[-1].given.withdrawn)


def _check_changes(before: list[ScoreOnRecord], now: float) -> None:
    recent = [each.at for each in before if each.at > now - CHANGES_S]
    if len(recent) > CHANGES_MAX:  # the first score is no change
        raise TooManyChanges(max(1.0, recent[-CHANGES_MAX] + CHANGES_S - now))


def _tenant(entries: list[Entry]) -> str:
    """Whose run it is. Runs of different tenants are never compared."""
    return RunState(entries[:1]).beginning().tenant
