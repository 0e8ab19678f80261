"""A record that somebody has changed: the run ends with `ReplayDiverged`, and nothing is done."""

from __future__ import annotations

import asyncio
import random

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from actum.core.errors import ActumError, Busy, ReplayDiverged
from actum.core.json import JsonObject
from actum.core.run.node_records import NodeBegan, NodeError, NodeLeft
from actum.core.run.record import Record
from actum.journal.memory import MemoryJournal
from tests.endurance import share

from .naive import definitions
from .test_random_graphs import Service, copy_of, made, outcome_of
from .test_replay import World, tour, whole


def changed(records: list[Record], how: int, chance: random.Random) -> list[Record]:
    """The records with one of those of the nodes changed, dropped, doubled or moved."""
    at = chance.choice([number for number, each in enumerate(records) if isinstance(each, NodeBegan | NodeLeft)])
    record, others = records[at], [*records[:at], *records[at + 1 :]]
    assert isinstance(record, NodeBegan | NodeLeft)
    match how:
        case 0:
            return [*records[:at], structs.replace(record, path=record.path + "x"), *records[at + 1 :]]
        case 1:
            return [*records[: at + 1], record, *records[at + 1 :]]
        case 2:
            others.insert(chance.randrange(1, len(others) + 1), record)
            return others
        case 3 if isinstance(record, NodeLeft):
            return [*records[:at], structs.replace(record, port="nowhere"), *records[at + 1 :]]
        case 4 if isinstance(record, NodeLeft):
            error = None if record.error else NodeError("made", "up", record.path)
            return [*records[:at], structs.replace(record, error=error), *records[at + 1 :]]
        case 5 if isinstance(record, NodeLeft):
            return [
                *records[:at],
                structs.replace(record, began=chance.randrange(-1, len(records))),
                *records[at + 1 :],
            ]
        case 6 if isinstance(record, NodeBegan):
            call = record.call and structs.replace(record.call, arguments={"other": 1})
            return [*records[:at], structs.replace(record, call=call, inputs={"other": 1}), *records[at + 1 :]]
        case 7 if isinstance(record, NodeBegan):
            return [*records[:at], structs.replace(record, call=None), *records[at + 1 :]]
        case _:
            return [*records[:at], structs.replace(record, path=""), *records[at + 1 :]]


@settings(max_examples=share(200, 25), deadline=None)
@given(definitions(), st.integers(0, 8), st.integers(0, 10_000))
def test_a_tampered_record_ends_in_words_of_ours_and_a_call_that_is_on_record_is_never_made_again(
    definition: JsonObject, how: int, seed: int
) -> None:
    """Some changes can not be told from the truth, such as two lines of siblings in another order."""

    async def check() -> None:
        journal, first = MemoryJournal(), Service(seed)
        await outcome_of(made(definition, first, journal))
        records = [entry.record for entry in await journal.read("r")]
        if not any(isinstance(each, NodeBegan | NodeLeft) for each in records):
            return
        other = changed(records, how, random.Random(seed))
        again, service = await copy_of(journal, other), Service(seed)
        try:
            await outcome_of(made(definition, service, again), resumed="r")
        except ReplayDiverged:
            assert service.done == []
            assert [entry.record for entry in await again.read("r")] == other
        except ActumError:
            assert service.done == []

    asyncio.run(check())


async def test_each_change_of_the_tour_that_can_be_seen_is_refused_before_any_effect() -> None:
    records, _, _, source = await whole(3)
    refused = 0
    for seed in range(90):
        chance = random.Random(seed)
        how = seed % 9
        other = changed(records, how, chance)
        world, journal = World(0), await copy_of(source.journal, other)  # type: ignore[arg-type]
        try:
            await tour(world, journal).resume("r")
        except ReplayDiverged:
            refused += 1
            assert world.done == {}
            assert [entry.record for entry in await journal.read("r")] == other
        except ActumError:
            assert world.done == {}
        else:
            assert how in (2, 4, 5), (seed, how)
    assert refused >= 60


async def test_two_that_resume_one_run_at_once_are_told_apart() -> None:
    records, _, _, source = await whole(5)
    cut = next(at for at, each in enumerate(records) if isinstance(each, NodeLeft)) + 1
    world, journal = World(0), await copy_of(source.journal, records[:cut])  # type: ignore[arg-type]
    flow = tour(world, journal)
    told = await asyncio.gather(flow.resume("r"), flow.resume("r"), return_exceptions=True)
    assert [type(each) for each in told if isinstance(each, BaseException)] == [Busy]
    assert len([each for each in told if not isinstance(each, BaseException)]) == 1
