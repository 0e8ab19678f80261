"""Lines of passed-through requests: kept together, summed up, and not lost in silence."""

from __future__ import annotations

import sqlite3
from decimal import Decimal

import psycopg
import pytest

from actum.core.errors import JournalError
from actum.core.interfaces import Journal
from actum.core.stored.passed import PassedEnd, PassedRequest, PassedRequests
from tests.storage.conftest import Store


def lines_of(journal: Journal) -> PassedRequests:
    """The lines beside a journal."""
    found = journal.passed
    assert found is not None
    return found


def line(number: int, *, end: PassedEnd = "answered", cost: str | None = "0.001", **more: object) -> PassedRequest:
    """A line."""
    return PassedRequest(
        at=100.0 + number,
        request_id=f"r{number}",
        surface="chat",
        model="fast",
        asked="fast",
        end=end,
        status=200,
        input_tokens=10,
        output_tokens=number,
        cost=None if cost is None else Decimal(cost),
        seconds=0.5,
        answer_body=b"\x00\xff",
        **more,  # type: ignore[arg-type]
    )


async def test_lines_are_kept_across_a_restart_and_summed_up_by_key_model_and_upstream(shared: Store) -> None:
    journal = shared.open()
    kept = lines_of(journal)
    for number in range(120):
        kept.add(line(number, key_id="ci", upstream="a" if number % 2 else "b", estimated=number == 7))
    kept.add(line(5, key_id="ops", upstream="a", end="refused", cost=None))
    await journal.close()  # what waits is written
    again = lines_of(shared.open())
    sums = await again.sums(0, 1_000)
    assert [(each.key_id, each.upstream, each.requests, each.failed) for each in sums] == [
        ("ci", "a", 60, 0),
        ("ci", "b", 60, 0),
        ("ops", "a", 1, 1),
    ]
    assert (sums[0].input_tokens, sums[0].cost, sums[0].seconds) == (600, Decimal("0.06"), 0.5)
    assert (sums[2].cost, [each.estimated for each in sums]) == (None, [1, 0, 0])
    assert [each.requests for each in await again.sums(100, 110)] == [5, 5, 1]
    assert await again.sums(0, 100) == []
    (last, *_) = lines = await again.lines(0, 1_000, 3)
    assert (len(lines), last) == (3, line(119, key_id="ci", upstream="a"))


async def test_lines_that_could_not_be_written_stop_the_next_request_and_are_written_later(shared: Store) -> None:
    kept = lines_of(shared.open())
    with pytest.raises(JournalError):
        _run(shared, "ALTER TABLE {} RENAME TO away", "passed")
        kept.add(line(1))
        await kept.sums(0, 1_000)
    with pytest.raises(JournalError):
        await kept.ready()
    _run(shared, "ALTER TABLE {} RENAME TO passed", "away")
    await kept.ready()
    assert len(await kept.lines(0, 1_000, 9)) == 1


def _run(shared: Store, statement: str, table: str) -> None:
    if "://" in shared.place:
        with psycopg.connect(shared.place, autocommit=True) as connection:
            connection.execute(statement.format(f"actum.{table}").encode())
    else:
        with sqlite3.connect(shared.place) as file:
            file.execute(statement.format(table))
        file.close()
