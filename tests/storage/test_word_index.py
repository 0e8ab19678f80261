"""The index of words counts as one would by hand, in every database, for each user alone, and forgets for good."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.errors import JournalError, UsageError
from actum.core.stored.word_index import ITEMS_OF_ROW, LENGTH_MAX, WEIGHT_MAX, Found, Space, Terms, WordIndex
from actum.core.stores import AddTable, Stores

from .conftest import Store
from .records import DONE, started

INDEX = WordIndex("texts")
ANN = Space("ann", "desk")
WORDS = [
    "heron",
    "river",
    "天气",
    "天",
    "é😀",
    "; DROP TABLE x; --",
    "%",
    "\u202e",
    *(f"w{number}" for number in range(40)),
]


async def opened(store: Store) -> Stores:
    stores = store.open().stores
    await stores.migrate("reading", (tuple(AddTable(table) for table in INDEX.tables),))
    return stores


async def put(stores: Stores, items: dict[str, Terms], space: Space = ANN, tenant: str = "north") -> None:
    await stores.transact(tenant, lambda each: INDEX.put(each, space, items))


async def remove(stores: Stores, items: list[str]) -> None:
    await stores.transact("north", lambda each: INDEX.remove(each, ANN, items))


async def find(stores: Stores, words: list[str], space: Space = ANN) -> Found:
    return await stores.read("north", lambda each: INDEX.find(each, space, words))


def by_hand(items: dict[str, Terms], numbers: dict[str, int], words: list[str]) -> Found:
    """What the index has to find."""
    lengths = {name: min(LENGTH_MAX, sum(terms.weights.values())) for name, terms in items.items()}
    having = {
        word: {
            numbers[name]: (min(WEIGHT_MAX, terms.weights[word]), lengths[name])
            for name, terms in items.items()
            if word in terms.weights
        }
        for word in words
    }
    average = sum(lengths.values()) / len(lengths) if lengths else 0.0
    return Found(len(items), average, {word: found for word, found in having.items() if found})


async def test_whatever_is_put_and_removed_all_is_found_as_if_it_were_counted_by_hand(store: Store) -> None:
    stores, drawn, items = await opened(store), random.Random(7), dict[str, Terms]()
    weights = [1, 1, 2, WEIGHT_MAX, WEIGHT_MAX + 1, LENGTH_MAX]
    for step in range(12):
        names = [f"item {drawn.randrange(30)}" for _ in range(drawn.randrange(6))]
        if step == 5 and not store.place.startswith("postgresql:"):  # where this many rows take their time
            names = [
                f"item {number}" for number in range(ITEMS_OF_ROW + 40)
            ]  # more than one row of a word has room for
        if step % 4 == 3:
            await remove(stores, names)
            items = {name: terms for name, terms in items.items() if name not in names}
            continue
        several = 1 if step == 5 else 4
        new = {
            name: Terms({word: drawn.choice(weights) for word in drawn.sample(WORDS, several)}, f"n{step}")
            for name in names
        }
        await put(stores, new)
        items |= new
        rows = await stores.find("north", INDEX.items, where={"principal": "ann", "space": "desk"})
        assert {row.item: row.note for row in rows} == {name: terms.note for name, terms in items.items()}
        wanted = by_hand(items, {row.item: row.number for row in rows}, WORDS)
        found = await find(stores, [*WORDS, *WORDS, "nowhere", ""])
        assert {word: dict(having) for word, having in found.having.items()} == wanted.having
        assert found.items == wanted.items
        assert found.length == pytest.approx(wanted.length)


async def test_the_items_of_others_change_neither_what_is_found_nor_its_score(store: Store) -> None:
    stores = await opened(store)
    mine = {"a": Terms({"heron": 2, "river": 1}), "b": Terms({"river": 3})}

    async def scores() -> list[tuple[int, float]]:
        return sorted((await find(stores, ["heron", "river"])).scores().items())

    await put(stores, mine)
    alone = await scores()
    assert [number for number, _ in alone] == [0, 1]
    theirs = {f"x{number}": Terms({"heron": 9}) for number in range(9)}
    for tenant, space in (("south", ANN), ("north", Space("ann", "")), ("north", Space("bob", "desk"))):
        await put(stores, theirs | mine, space, tenant)
    assert await scores() == alone
    assert await stores.forget_user("bob", "north") == 9 + 2 + 3  # items, and rows of words and of totals
    assert await scores() == alone
    assert (await find(stores, ["heron"], Space("bob", "desk"))).items == 0


@pytest.mark.parametrize("is_on", [True, False])
async def test_a_forgotten_run_takes_its_words_out_of_the_index(store: Store, is_on: bool) -> None:
    if not is_on and not store.place:
        return  # what is in memory has no other process
    await opened(store)
    journal = store.opened[0]
    items = {"run_a": Terms({"heron": 1, "river": 1}, run_id="run_a"), "kept": Terms({"river": 1}, run_id="run_b")}
    await put(journal.stores, items)
    for record in (started(), DONE):
        journal.append("run_a", record)
    await journal.sync("run_a")
    await (journal if is_on else store.open()).forget("run_a")
    found = await find(journal.stores, ["heron", "river"])
    assert (found.items, found.length, dict(found.having)) == (1, 1.0, {"river": {1: (1, 1)}})
    if store.place and not store.place.startswith("postgresql:"):
        files = [path for path in Path(store.place).parent.iterdir() if path.is_file()]
        assert not any(b"heron" in path.read_bytes() for path in files)
        assert any(b"river" in path.read_bytes() for path in files)


async def test_a_damaged_row_is_told_and_keeps_no_run_from_being_forgotten(store: Store) -> None:
    stores = await opened(store)
    journal = store.opened[0]
    await put(stores, {"run_a": Terms({"heron": 1}, run_id="run_a")})
    row = await stores.get("north", INDEX.terms, "ann", "desk", "heron", 0)
    assert row is not None
    await stores.put("north", INDEX.terms, type(row)("ann", "desk", "heron", 0, b"???"))
    with pytest.raises(JournalError, match="damaged"):
        await find(stores, ["heron"])
    journal.append("run_a", started())
    await journal.sync("run_a")
    await journal.forget("run_a")
    assert await stores.count("north", INDEX.terms) == 0


@pytest.mark.parametrize("term", ["", "two\nlines", "x" * 3_000, "nul\0"])
async def test_what_is_no_term_is_refused_and_nothing_is_written(file: Store, term: str) -> None:
    stores = await opened(file)
    with pytest.raises(UsageError):
        await put(stores, {"a": Terms({"fine": 1, term: 1})})
    assert await stores.count("north", INDEX.terms) == await stores.count("north", INDEX.items) == 0


HAVING = st.dictionaries(
    st.integers(0, 50), st.tuples(st.integers(1, WEIGHT_MAX), st.integers(1, LENGTH_MAX)), min_size=1
)


@given(st.dictionaries(st.sampled_from(WORDS), HAVING, min_size=1), st.floats(1, 1e4))
def test_every_item_with_a_word_of_the_question_scores_and_another_word_only_adds(
    having: dict[str, dict[int, tuple[int, int]]], length: float
) -> None:
    found = Found(51, length, having)
    scores = found.scores()
    assert scores.keys() == {number for each in having.values() for number in each}
    assert all(score > 0 for score in scores.values())
    word = next(iter(having))
    fewer = found.scores(dict.fromkeys(having, 1.0) | {word: 0.0})
    assert all(fewer[number] <= score for number, score in scores.items())
    assert found.scores(dict.fromkeys(having, 2.0)) == pytest.approx(
        {each: 2 * score for each, score in scores.items()}
    )


def test_a_rare_word_a_short_item_and_a_second_mention_count_more() -> None:
    rare, common = {0: (1, 10)}, dict.fromkeys(range(1, 9), (1, 10))
    scores = Found(10, 10, {"rare": rare, "common": common}).scores()
    assert scores[0] > scores[1]
    scores = Found(10, 10, {"word": {0: (1, 5), 1: (1, 10), 2: (2, 10)}}).scores()
    assert scores[0] > scores[1] < scores[2]
