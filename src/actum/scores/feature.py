"""Scores as a feature: their record, and the index in which the scores of many runs are found."""

from __future__ import annotations

import weakref

from msgspec import Struct

from ..core.interfaces import Journal
from ..core.stores import AddColumn, AddIndex, AddTable, RecordPlace, RecordView, Stores, Table
from ..features.feature import Feature
from .score import FEATURE_NAME, RECORD_KIND, ScoreGiven


class ScoreRow(Struct, frozen=True):
    """A score in the index; the words of its author stand on the record alone. The fields are those of `ScoreGiven`,
    with `by` as `principal`; `value` is None for a score that was withdrawn. `unsent` is 1 where no collector of traces
    was told of the score.
    """

    run_id: str
    number: int
    name: str
    value: float | None
    principal: str
    user: str
    scorer: str
    version: str
    at: float
    unsent: int


_UNSENT = ("unsent",)
SCORES = Table("given", ScoreRow, ("run_id", "number"), (("name", "at"), _UNSENT))


def _rows(given: ScoreGiven, place: RecordPlace) -> list[ScoreRow]:
    value = None if given.withdrawn else given.value
    who = (given.by, given.user, given.scorer, given.version)
    return [ScoreRow(place.run_id, place.number, given.name, value, *who, place.at, unsent=1)]


FEATURE = Feature(
    name=FEATURE_NAME,
    title="How good runs were.",
    records=(ScoreGiven,),
    tables=(SCORES,),
    migrations=((AddTable(SCORES),), (AddColumn(SCORES, "unsent", 0), AddIndex(SCORES, _UNSENT))),
    views=(RecordView(SCORES, ScoreGiven, _rows),),
)
_IN_USE: weakref.WeakSet[Stores] = weakref.WeakSet()


async def take_into_use(journal: Journal) -> Stores:
    """Have the index of scores beside a journal, also where a program opened the journal.

    Raises:
        JournalError: a newer version made the table.
    """
    stores = journal.stores
    if stores not in _IN_USE:
        journal.record_kinds.add([RECORD_KIND])
        await stores.migrate(FEATURE.name, FEATURE.all_migrations, FEATURE.views)
        _IN_USE.add(stores)
    return stores


async def scores_named(journal: Journal, tenant: str, name: str) -> dict[str, list[ScoreRow]]:
    """The scores of one name that count, by run: of each author the latest, where it was not withdrawn.

    Args:
        journal: the journal.
        tenant: whose runs.
        name: of the scores.
    """
    rows = await (await take_into_use(journal)).find(tenant, SCORES, where={"name": name}, limit=None)
    latest: dict[tuple[str, str, str], ScoreRow] = {}
    for row in sorted(rows, key=lambda row: row.number):
        latest[row.run_id, row.principal, row.user] = row
    found: dict[str, list[ScoreRow]] = {}
    for row in latest.values():
        if row.value is not None:
            found.setdefault(row.run_id, []).append(row)
    return found
