"""Which runs have spans that were not sent, as a feature: one row a run, in the journal's database.

A run is noted in the transaction of its first record, and has its row once it is over. The row leaves the table when a
collector has taken the spans. So what a process that was killed left unsent, another one sends.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ..core.run.record import Ended, Record, Started
from ..core.stores import AddTable, RecordPlace, RunView, Table, Transaction
from ..features.feature import Feature


class Unsent(Struct, frozen=True):
    """A run whose spans were not sent.

    Attributes:
        run_id: the run.
        at: when it began, in seconds since 1970.
        ends: how often it has ended: a run that failed may go on.
    """

    run_id: str
    at: float
    ends: int


UNSENT = Table("unsent", Unsent, key=("run_id",), indexes=(("at",),))


def _is_followed(started: Started) -> bool:
    return True


def _take(transaction: Transaction, runs: Sequence[tuple[RecordPlace, Sequence[Record]]]) -> None:
    for place, records in runs:
        ends = sum(isinstance(record, Ended) for record in records)
        transaction.put(UNSENT, Unsent(place.run_id, place.at, ends))


FEATURE = Feature(
    name="telemetry",
    title="Spans of runs, sent to a collector.",
    tables=(UNSENT,),
    migrations=((AddTable(UNSENT),),),
    views=(RunView((UNSENT,), _is_followed, _take),),
)
