"""Where the list of runs and the entries do not agree, and runs that can not be read: a quick look for what lists runs.

The list of runs is an index that no chain covers. Whoever shows it tells by this look when somebody changed it. The
look reads the first and the latest entry of every run; what lies between is checked by `evidence.check_journal` alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from ..core.errors import JournalError
from ..core.interfaces import Journal
from ..core.run.ending import is_afterword
from ..core.run.record import Ended, Entry, Forgotten, Started
from ..core.run.summary import RunSummary, summarize, summary_of
from .export import against_list, differences, faults

UNREADABLE = "unreadable"
"""The status of a run that can not be read, wherever runs are listed."""


class Mismatch(Struct, frozen=True):
    """What is wrong with a list of runs.

    Attributes:
        missing: the runs that have entries and are missing in the list of runs.
        unreadable: the runs that can not be read, each with the reason.
        problems: one sentence for each thing that is wrong, unreadable runs among them.
    """

    missing: Sequence[str]
    unreadable: Mapping[str, str]
    problems: Sequence[str]

    def mark(self, runs: Sequence[RunSummary]) -> list[RunSummary]:
        """The runs, with the status `unreadable` for those that can not be read."""
        return [structs.replace(run, status=UNREADABLE) if run.run_id in self.unreadable else run for run in runs]


async def mismatch(journal: Journal, whole: Sequence[str] | None = None) -> Mismatch:
    """Compare the list of runs with the entries.

    Args:
        journal: the journal.
        whole: only the lines of these runs are compared, and these runs are read from their first entry to their last.
            None compares every line with the run's first and latest entry. In either case a run that is missing in
            the list is found.
    """
    lines = {run.run_id: run for run in await journal.runs(limit=None)}
    latest = dict(await journal.edges("latest"))
    missing = [run_id for run_id in latest if run_id not in lines]
    suspects = [*missing]
    if whole is None:
        first = dict(await journal.edges("first"))
        suspects += [id_ for id_, line in lines.items() if not _may_fit(line, first.get(id_), latest.get(id_))]
    else:
        suspects += whole
    unreadable: dict[str, str] = {}
    for run_id in suspects:
        problem = await _unreadable(journal, run_id, listed=run_id in lines)
        if problem:
            unreadable[run_id] = problem
    problems = [f"run {run_id} can not be read: {problem}" for run_id, problem in unreadable.items()]
    problems += await against_list(journal, [run_id for run_id in suspects if run_id not in unreadable])
    return Mismatch(missing, unreadable, problems)


async def summary(journal: Journal, run_id: str) -> RunSummary | None:
    """The line of a run in the list of runs, as its entries say that it must be; None where there is no such run.

    Of a run that can not be read, only when it began is told, with the status `unreadable`.
    """
    entries = await journal.read(run_id)
    if not entries:
        return None
    line = None if faults(entries) else summary_of(run_id, entries)
    return line or RunSummary(
        run_id=run_id, status=UNREADABLE, started=entries[0].at, ended=None, agent="", model="", question=""
    )


async def _unreadable(journal: Journal, run_id: str, *, listed: bool) -> str:
    entries = await journal.read(run_id)
    if entries:
        return next(iter(faults(entries)), "")
    still_listed = listed and any(run.run_id == run_id for run in await journal.runs(limit=None))
    return "no entries are found under its id" if still_listed or not listed else ""


def _may_fit(line: RunSummary, first: Entry | None, latest: Entry | None) -> bool:
    """Whether a line may be right, as far as the first and the latest entry tell."""
    if first is None or latest is None:
        return False
    try:
        last = latest.record
        if isinstance(last, Forgotten):
            expected = structs.replace(line, status="forgotten", started=first.at)
            return line == summarize(line.run_id, expected, last, latest.at)
        started = first.record
    except JournalError:
        return False
    if not isinstance(started, Started):
        return False
    over = isinstance(last, Ended) or is_afterword(last)
    begun = structs.replace(summarize(line.run_id, None, started, first.at), status=line.status)
    expected = summarize(line.run_id, begun, last, latest.at) if isinstance(last, Ended) else begun
    if is_afterword(last):  # the end stands before it, and is read where the whole run is
        expected = structs.replace(begun, ended=line.ended)
    return over == (line.status not in ("running", "waiting")) and not any(differences(line, expected, started))
