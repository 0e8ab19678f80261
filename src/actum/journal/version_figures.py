"""How the runs of a publication went, in figures, each with the runs behind it: by these two publications are compared.

Everything is read out of the records. Runs that wait for a person take no seconds while they wait.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil

from msgspec import Struct

from ..core.interfaces import Journal
from ..core.run.record import CallCompleted, CallRefused, Entry, InputRequested
from ..core.run.summary import records_of
from .lists import page_of_runs
from .recording import RunState

RUNS_MAX = 500
"""The latest runs of a publication that are read."""
BEHIND_MAX = 20
"""The runs that are named behind a figure."""
DENIED = frozenset({"permission_denied", "approval_denied"})
"""The codes of calls that somebody or a rule denied."""
Thumbs = Callable[[Sequence[Entry]], tuple[int, int]]
"""Reads out of the record of a run how many people found the run good, and how many bad."""


class RunFigure(Struct, frozen=True):
    """A figure.

    Attributes:
        value: the number.
        runs: the ids of runs behind it, those first that count most; at most 20.
    """

    value: float
    runs: tuple[str, ...]


class VersionFigures(Struct, frozen=True, kw_only=True):
    """How the runs of a publication went.

    Attributes:
        version: the number of the publication.
        is_part: there are more runs than were read.
        runs: how many runs were read.
        ended: how many of them stand in which way, such as `done`.
        seconds_median, seconds_95: how many seconds half of the runs took at most, and 95 of a hundred; waits for
            persons are not counted.
        tokens: the tokens that all runs used.
        cost: what they cost, by the prices of the settings.
        failed: how many calls failed and were not denied.
        denied: how many calls a rule or a person denied.
        asked: how many calls a person was asked about.
        thumbs_up, thumbs_down: how many people found a run good, and bad.
    """

    version: int
    is_part: bool
    runs: RunFigure
    ended: Mapping[str, RunFigure]
    seconds_median: RunFigure
    seconds_95: RunFigure
    tokens: RunFigure
    cost: RunFigure
    failed: RunFigure
    denied: RunFigure
    asked: RunFigure
    thumbs_up: RunFigure
    thumbs_down: RunFigure


class _Went(Struct, frozen=True, kw_only=True):
    """How one run went."""

    run_id: str
    status: str
    seconds: float = 0.0
    tokens: int = 0
    cost: float = 0.0
    failed: int = 0
    denied: int = 0
    asked: int = 0
    thumbs_up: int = 0
    thumbs_down: int = 0


async def version_figures(
    journal: Journal, name: str, version: int, *, kind: str, since: float, tenant: str, thumbs: Thumbs
) -> VersionFigures:
    """How the latest runs of a publication went.

    Args:
        journal: has the runs.
        name: of the agent or workflow.
        version: the number of the publication.
        kind: what its runs are in the list of runs: `agent` or `workflow`.
        since: only runs that began then or later, in seconds since 1970.
        tenant: whose runs.
        thumbs: reads out of the record of a run how many people found the run good, and how many bad.
    """
    page = await page_of_runs(
        journal, limit=RUNS_MAX, agent=name, version=version, kind=kind, since=since, tenant=tenant
    )
    went = [await _went(journal, line.run_id, line.status, tenant, thumbs) for line in page.items]
    by_time = sorted(went, key=lambda run: run.seconds)
    statuses = sorted({run.status for run in went})
    return VersionFigures(
        version=version,
        is_part=bool(page.next),
        runs=_counted(went),
        ended={status: _counted([run for run in went if run.status == status]) for status in statuses},
        seconds_median=_quantile(by_time, 0.5),
        seconds_95=_quantile(by_time, 0.95),
        tokens=_sum(went, lambda run: run.tokens),
        cost=_sum(went, lambda run: run.cost),
        failed=_sum(went, lambda run: run.failed),
        denied=_sum(went, lambda run: run.denied),
        asked=_sum(went, lambda run: run.asked),
        thumbs_up=_sum(went, lambda run: run.thumbs_up),
        thumbs_down=_sum(went, lambda run: run.thumbs_down),
    )


async def _went(journal: Journal, run_id: str, status: str, tenant: str, thumbs: Thumbs) -> _Went:
    entries = await journal.read(run_id, tenant=tenant)
    records = records_of(entries)
    up, down = thumbs(entries)
    if None in records:
        # A part of it was deleted, or can not be read.
        return _Went(run_id=run_id, status=status, thumbs_up=up, thumbs_down=down)
    state = RunState(entries)
    used = state.used()
    errors = [
        record.result.error.code
        for record in records
        if isinstance(record, CallRefused) or (isinstance(record, CallCompleted) and record.final)
        if record.result.error is not None
    ]
    return _Went(
        run_id=run_id,
        status=status,
        seconds=state.elapsed,
        tokens=used.tokens,
        cost=float(used.cost),
        failed=sum(code not in DENIED for code in errors),
        denied=sum(code in DENIED for code in errors),
        asked=sum(isinstance(record, InputRequested) and record.kind == "approval" for record in records),
        thumbs_up=up,
        thumbs_down=down,
    )


def _counted(runs: Sequence[_Went]) -> RunFigure:
    return RunFigure(len(runs), tuple(run.run_id for run in runs[:BEHIND_MAX]))


def _sum(runs: Sequence[_Went], value: Callable[[_Went], float]) -> RunFigure:
    most = sorted((run for run in runs if value(run)), key=value, reverse=True)
    return RunFigure(round(sum(map(value, runs)), 6), tuple(run.run_id for run in most[:BEHIND_MAX]))


def _quantile(by_time: Sequence[_Went], share: float) -> RunFigure:
    """The seconds that a share of the runs took at most, and the slowest runs of this share."""
    if not by_time:
        return RunFigure(0.0, ())
    last = ceil(share * len(by_time)) - 1
    slowest = by_time[last::-1][:BEHIND_MAX]
    return RunFigure(round(by_time[last].seconds, 3), tuple(run.run_id for run in slowest))
