"""A list of what is remembered goes in parts, and reads its own rows alone."""

from __future__ import annotations

import random
from itertools import islice, product
from typing import Any

from actum.core.run.record import Ended
from actum.core.stores import Transaction
from actum.core.user import User
from actum.memory.feature import take_into_use
from actum.memory.index import INDEX
from actum.memory.items import keep, listed, spaces_of
from actum.memory.latest import EVER, Times, latest
from actum.memory.notes import Kept
from actum.runs.administration import put_on_record
from actum.testing import FakeClock
from tests.memory.test_index import begun, say
from tests.storage.conftest import Store

ANN = User("", "ann")


async def test_the_parts_of_a_list_are_the_whole_list_whatever_was_said_in_one_moment(store: Store) -> None:
    drawn, clock = random.Random(41), FakeClock(0.0)
    journal = store.open(clock=clock)
    await take_into_use(journal)
    whole: list[tuple[float, str, str, str]] = []
    for number in range(24):
        space, kind = drawn.choice(["cook", "desk"]), drawn.choice(["turn", "fact", "preference"])
        clock.set(clock.now() + drawn.choice([0.0, 0.0, 5.0]))
        if kind == "turn":
            say(journal, f"run_{number}", begun(f"turn {number}", space=space), Ended("done", "Yes."))
            whole.append((journal.now(), f"run_{number}", space, kind))
            continue
        note = Kept(f"mem_{number}", space, kind, f"note {number}")  # type: ignore[arg-type]  # not a turn

        async def put(note: Kept = note) -> str:
            return await put_on_record(journal, "memory.add", {}, principal="ann", by="client", noted=(note,))

        await keep(journal, ANN, note, put)
        whole.append((journal.now(), note.id, space, kind))
    say(journal, "run_of_bob", begun("turn", principal="bob"), Ended("done", "Yes."))
    middle = whole[12][0]
    for space, kind, times in product(
        ("", "cook", "desk", "none"), ("", "turn", "fact"), (EVER, Times(middle), Times(until=middle))
    ):
        meant = [row for row in whole if space in ("", row[2]) and kind in ("", row[3]) and times.holds(row[0])]
        found: list[str] = []
        behind = None
        while part := await listed(journal, ANN, 5, space, times, kind, behind):
            found += [each.id for each in part]
            behind = (part[-1].at, part[-1].id)
        assert found == [row[1] for row in sorted(meant, reverse=True)], (space, kind, times)
    assert await spaces_of(journal, ANN) == {"cook": True, "desk": True}


async def test_the_latest_of_many_are_read_without_the_others(file: Store) -> None:
    journal = file.open()
    stores = await take_into_use(journal)
    for number in range(300):
        say(journal, f"run_{number}", begun("turn"), Ended("done", "Yes."))

    class Counting:
        """Counts the rows that are read."""

        def __init__(self, transaction: Transaction) -> None:
            self.transaction = transaction
            self.rows = 0

        def find(self, *given: Any, **named: Any) -> list[Any]:  # noqa: ANN401  # as it is called
            found = self.transaction.find(*given, **named)
            self.rows += len(found)
            return found

    def look(transaction: Transaction) -> tuple[list[str], int]:
        counting: Any = Counting(transaction)
        rows = latest(counting, INDEX.items, {"principal": "ann"})
        return [row.item for row in islice(rows, 3)], counting.rows

    found, read = await stores.read("", look, caught_up="memory")
    assert found == ["run_299", "run_298", "run_297"]
    assert read <= 100
