"""A list of what is remembered goes in parts, and reads its own rows alone."""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import islice, product
from typing import Any

from actum.core.run.record import Ended
from actum.core.stores import Transaction
from actum.core.user import User
from actum.memory.feature import FEATURE, take_into_use
from actum.memory.index import INDEX
from actum.memory.items import forget, forget_all, keep, listed, named, searched, spaces_of
from actum.memory.latest import latest
from actum.memory.notes import Kept, dropped_records
from actum.memory.spans import EVER, TimeSpan
from actum.runs.administration import put_on_record
from actum.testing import FakeClock
from tests.memory.test_index import begun, say
from tests.storage.conftest import Store

ANN = User("", "ann")


async def nothing(dropped: Mapping[str, str]) -> None:
    """Nothing is put on record here."""


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
        ("", "cook", "desk", "none"), ("", "turn", "fact"), (EVER, TimeSpan(middle), TimeSpan(until=middle))
    ):
        meant = [row for row in whole if space in ("", row[2]) and kind in ("", row[3]) and times.holds(row[0])]
        found: list[str] = []
        behind = None
        while part := await listed(journal, ANN, 5, space, times, kind, behind):
            found += [each.id for each in part]
            behind = (part[-1].at, part[-1].id)
        assert found == [row[1] for row in sorted(meant, reverse=True)], (space, kind, times)
    assert await spaces_of(journal, ANN) == {"cook": True, "desk": True}


async def test_a_forgotten_note_takes_every_turn_that_says_its_words_however_many_and_wherever_they_stand(
    store: Store,
) -> None:
    journal = store.open()
    await take_into_use(journal)
    quotes = ("my number is 4711", "Who are you")  # of the second no word is in the index
    said = [f"Order {number}: my number is 4711." for number in range(90)]
    said += ["my boat is red", "I asked: who are  YOU?", f"{'A boat. ' * 1_200}My number is 4711", "awho are youb"]
    for number, text in enumerate(said):
        say(journal, f"run_{number}", begun(text), Ended("done", "Yes."))
    say(journal, "run_of_bob", begun(said[0], principal="bob"), Ended("done", "Yes."))
    say(journal, "run_of_cook", begun(said[0], space="cook"), Ended("done", "Yes."))
    say(journal, "run_under_way", begun(said[0]))

    await forget(journal, ANN, "desk", {f"mem_{quote}": quote for quote in quotes}, nothing)
    journal.append("run_under_way", Ended("done", "Yes."))
    for _ in range(2):
        assert [each.id for each in await listed(journal, ANN, 100, "desk")] == ["run_90"]
        assert [each.id for each in await searched(journal, ANN, "number 4711", 50)] == ["run_of_cook"]
        await journal.stores.rebuild(FEATURE.name)
    assert [each.id for each in await listed(journal, User("", "bob"), 100)] == ["run_of_bob"]


async def test_what_was_forgotten_by_a_process_that_died_on_the_way_is_in_no_list(store: Store) -> None:
    journal = store.open()
    await take_into_use(journal)
    for number in range(3):
        say(journal, f"run_{number}", begun(f"turn {number}"), Ended("done", "Yes."))
    assert len(await listed(journal, ANN, 5)) == 3
    dropped = dropped_records("desk", {"run_1": "c"})  # on record, and the process dies before the index is changed
    await put_on_record(journal, "memory.forget", {}, principal="ann", by="client", noted=dropped)
    assert [each.id for each in await listed(journal, ANN, 5)] == ["run_2", "run_0"]
    assert [each.id for each in await searched(journal, ANN, "turn", 5)] == ["run_0", "run_2"]
    assert await named(journal, ANN, "run_1") is None


async def test_all_is_forgotten_also_of_runs_that_are_under_way(store: Store) -> None:
    journal = store.open()
    await take_into_use(journal)
    say(journal, "run_0", begun("turn 0"), Ended("done", "Yes."))
    say(journal, "run_1", begun("turn 1"))
    say(journal, "run_2", begun("turn 2", space="cook"))
    assert await forget_all(journal, ANN, "desk", nothing) == 2
    for number in (1, 2):
        journal.append(f"run_{number}", Ended("done", "Yes."))
    assert [each.id for each in await listed(journal, ANN, 5)] == ["run_2"]


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
