"""How a person names a run: by its id, by the beginning of the id, or as `last`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from ..core.errors import UnknownName
from ..core.interfaces import Journal
from ..core.run.summary import RunSummary
from .export import run_ids
from .lists import page_of_runs
from .mismatch import summary

T = TypeVar("T")


async def find_run(journal: Journal, wanted: str) -> RunSummary:
    """The run that a person means: its id, the beginning of its id, or `last`. A run that is missing in the list of
    runs is found by its entries.

    Raises:
        UnknownName: none, or more than one.
    """
    runs = await journal.runs(limit=1 if wanted == "last" else None)
    if wanted == "last" and runs:
        return runs[0]
    listed = {run.run_id: run for run in runs}
    known = listed if wanted in listed else {**dict.fromkeys(await run_ids(journal)), **listed}
    found = beginning_with(wanted, known, str)
    if len(found) == 1:
        run = listed.get(found[0]) or await summary(journal, found[0])
        if run is not None:
            return run
    if found:
        raise UnknownName("{count} runs begin with {wanted!r}: give more of the id", count=len(found), wanted=wanted)
    raise UnknownName(
        "there is no run {wanted!r} in this journal: `actum runs list` shows those there are", wanted=wanted
    )


async def latest_answering(journal: Journal, principal: str = "") -> str:
    """The latest run of an agent or a workflow that no call began. Calls that a person made alone, runs of experiments
    and runs that were forgotten do not count.

    Args:
        journal: has the runs.
        principal: only runs on behalf of this one; empty for all.

    Returns:
        The id; empty where there is none.
    """
    cursor = ""
    while True:
        page = await page_of_runs(journal, cursor=cursor, principal=principal, parent="")
        for run in page.items:
            if run.kind in ("agent", "workflow") and run.status != "forgotten":
                return run.run_id
        if not (cursor := page.next):
            return ""


def beginning_with(wanted: str, among: Iterable[T], id_of: Callable[[T], str]) -> list[T]:
    """Those whose id a person may mean: the one of this id, else all that begin so. Nothing begins with nothing: an
    empty variable of a script must not choose the only one there is.
    """
    ids = [(id_of(each), each) for each in among]
    exact = [each for known, each in ids if known == wanted]
    return exact or [each for known, each in ids if wanted and known.startswith(wanted)]
