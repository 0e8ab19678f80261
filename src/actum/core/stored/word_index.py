"""`WordIndex`: finds items by terms, in two tables of the one `Stores`. It knows no language: a term is any text.

    INDEX = WordIndex("turns")                                # INDEX.tables belong to Feature(tables=...)
    ann = Space("ann")
    await stores.transact(tenant, lambda each: INDEX.put(each, ann, {"run_1": Terms({"weather": 2, "desk": 1})}))
    found = await stores.read(tenant, lambda each: INDEX.find(each, ann, ["weather"]))
    found.scores()                                            # {0: 0.28}; INDEX.item(...) tells what number 0 is

What is counted, such as how many items have a term, is counted within one space: the items of others change neither
what is found nor its order. `core.language.words` makes terms of a text.

One row tells of a term and of up to 4,096 items which of them have the term: an item is a number, and the row holds 32
bits for each item. So ten thousand items are searched with some dozens of rows.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from math import log

from msgspec import Struct

from ..errors import JournalError, UsageError
from ..stores import AMONG_MAX, Table, Transaction, Value

ITEMS_OF_ROW = 1 << 12
WEIGHT_MAX = (1 << 6) - 1
LENGTH_MAX = (1 << 14) - 1
_LENGTH_BITS, _PLACE_SHIFT, _OF_ITEM = 14, 20, (1 << 20) - 1
_TOTALS = struct.Struct("<QQQ")
_LAST = struct.Struct("<I")
BY_TIME = ("principal", "at")
"""The index by which the latest items of a user are listed."""
_BETWEEN = "\n"
"""Stands between the terms of an item, and in no term."""
_Changes = dict[tuple[str, int], dict[int, int]]
"""By term and part: what the row is to hold of an item, by the place of the item in the row; 0 for nothing."""


class Space(Struct, frozen=True):
    """Whose items are meant, within a tenant.

    Attributes:
        principal: the user; the items are deleted when the user is forgotten.
        name: one of several spaces of the user.
    """

    principal: str
    name: str = ""


class Terms(Struct, frozen=True):
    """What an item is found by.

    Attributes:
        weights: how much each term counts in the item, at least 1. More than `WEIGHT_MAX` counts as `WEIGHT_MAX`.
        note: what is told of the item beside its name, such as its conversation.
        run_id: the run that the item is forgotten with; None for none.
        at: the moment that items are listed by, in seconds since 1970.
    """

    weights: Mapping[str, int]
    note: str = ""
    run_id: str | None = None
    at: float = 0.0


class IndexedItem(Struct, frozen=True):
    """An item of an index, as a row of a table.

    Attributes:
        principal, space: whose item it is.
        number: the number of the item in its space, from 0. No other item ever gets the same number.
        item: its name.
        length: as in `IndexedTerm`.
        terms: its terms, to take them out again.
        note, run_id, at: as in `Terms`.
    """

    principal: str
    space: str
    number: int
    item: str
    length: int
    terms: str
    note: str
    run_id: str | None
    at: float


class IndexedTerm(Struct, frozen=True):
    """The items that have a term, as a row of a table.

    Attributes:
        principal, space: whose items they are.
        term: the term; empty for the row that holds the totals of the space.
        part: which items: those with the numbers from `part * ITEMS_OF_ROW` on.
        items: 32 bits for each item, by number: its place in the row, the weight of the term, the length of the item.
    """

    principal: str
    space: str
    term: str
    part: int
    items: bytes


class Found(Struct, frozen=True):
    """What an index knows of some terms in one space.

    Attributes:
        items: how many items the space has.
        length: how long an item is on average: the sum of the weights of its terms.
        having: for each term the items that have the term, by their numbers: the weight of the term and the length of
            the item.
    """

    items: int
    length: float
    having: Mapping[str, Mapping[int, tuple[int, int]]]

    def scores(
        self, weights: Mapping[str, float] | None = None, *, saturation: float = 1.2, by_length: float = 0.75
    ) -> dict[int, float]:
        """How well each item fits, by its number: BM25, in which a term of few items counts most.

        Args:
            weights: how much each term counts in the question; None for all alike.
            saturation: how much more a term counts that an item holds several times.
            by_length: how much less a term counts in a long item, from 0 to 1.
        """
        scores: dict[int, float] = {}
        flat, steep = saturation * (1 - by_length), saturation * by_length / max(self.length, 1.0)
        for term, having in self.having.items():
            rarity = log(1 + (self.items - len(having) + 0.5) / (len(having) + 0.5))
            factor = rarity * (saturation + 1) * (1.0 if weights is None else weights.get(term, 0.0))
            for number, (weight, length) in having.items():
                scores[number] = scores.get(number, 0.0) + factor * weight / (weight + flat + steep * length)
        return scores


class WordIndex:
    """An index.

    Args:
        name: 1 to 18 small letters, digits and `_`.

    Attributes:
        items, terms: its tables, called `<name>_items` and `<name>_terms`.
    """

    def __init__(self, name: str) -> None:
        key = ("principal", "space")
        self.items = Table(f"{name}_items", IndexedItem, (*key, "number"), ((*key, "item"), BY_TIME))
        self.terms = Table(f"{name}_terms", IndexedTerm, (*key, "term", "part"))

    @property
    def tables(self) -> tuple[Table[IndexedItem], Table[IndexedTerm]]:
        """Its tables, for `Feature(tables=...)`."""
        return self.items, self.terms

    def put(self, transaction: Transaction, space: Space, items: Mapping[str, Terms]) -> None:
        """Put items into the index, in place of those of the same names. Many at once cost less than one by one.

        Raises:
            UsageError: a term is empty, holds a line break, or is too long for the database.
        """
        changes: _Changes = {}
        known, count, total = self._taken_out(transaction, space, items, changes)
        following = known
        for name, terms in items.items():
            length = min(LENGTH_MAX, sum(terms.weights.values()))
            part, place = divmod(following, ITEMS_OF_ROW)
            for term, weight in terms.weights.items():
                if not term or _BETWEEN in term:
                    raise UsageError("{term!r:.140} is no term: a term has a sign, and no line break", term=term)
                changes.setdefault((term, part), {})[place] = min(WEIGHT_MAX, weight) << _LENGTH_BITS | length
            all_terms = _BETWEEN.join(terms.weights)
            whose = (space.principal, space.name)
            row = IndexedItem(*whose, following, name, length, all_terms, terms.note, terms.run_id, terms.at)
            transaction.put(self.items, row)
            following, count, total = following + 1, count + 1, total + length
        self._change(transaction, space, changes, (following, count, total), known)

    def remove(self, transaction: Transaction, space: Space, items: Iterable[str]) -> None:
        """Take items out of the index; one that is not there is no error."""
        changes: _Changes = {}
        following, count, total = self._taken_out(transaction, space, items, changes)
        if total or changes:
            self._change(transaction, space, changes, (following, count, total), following)

    def find(self, transaction: Transaction, space: Space, terms: Iterable[str]) -> Found:
        """What the index knows of some terms.

        Raises:
            JournalError: a row is damaged.
        """
        _, count, total = self._totals(transaction, space)
        having: dict[str, dict[int, tuple[int, int]]] = {}
        for term in filter(None, dict.fromkeys(terms)) if count else ():
            of_term = {"principal": space.principal, "space": space.name, "term": term}
            for row in transaction.find(self.terms, where=of_term):
                first = row.part * ITEMS_OF_ROW
                having.setdefault(term, {}).update(
                    {
                        first + place: (known >> _LENGTH_BITS, known & LENGTH_MAX)
                        for place, known in _unpacked(row.items)
                    }
                )
        return Found(count, total / count if count else 0.0, having)

    def item(self, transaction: Transaction, space: Space, number: int) -> IndexedItem | None:
        """The item with a number; None where there is none any more."""
        return transaction.get(self.items, space.principal, space.name, number)

    def _taken_out(
        self, transaction: Transaction, space: Space, items: Iterable[str], changes: _Changes
    ) -> tuple[int, int, int]:
        """Delete the rows of items, and say what changes in the rows of their terms; the totals without them."""
        following, count, total = self._totals(transaction, space)
        for name in items if count else ():
            of_item = {"principal": space.principal, "space": space.name, "item": name}
            for row in transaction.find(self.items, where=of_item):
                part, place = divmod(row.number, ITEMS_OF_ROW)
                for term in row.terms.split(_BETWEEN) if row.terms else ():
                    changes.setdefault((term, part), {})[place] = 0
                transaction.delete(self.items, of_item)
                count, total = count - 1, total - row.length
        return following, count, total

    def _totals(self, transaction: Transaction, space: Space) -> tuple[int, int, int]:
        """The number that the next item gets, how many items there are, and how long they are together."""
        row = transaction.get(self.terms, space.principal, space.name, "", 0)
        if row is None:
            return 0, 0, 0
        if len(row.items) != _TOTALS.size:
            raise _damaged()
        following, count, total = _TOTALS.unpack(row.items)
        return following, count, total

    def _change(
        self, transaction: Transaction, space: Space, changes: _Changes, totals: tuple[int, int, int], first: int
    ) -> None:
        """Change the rows of terms, and the totals; items from the number `first` on are new, and have no rows yet."""
        known = self._known(transaction, space, [key for key in changes if key[1] * ITEMS_OF_ROW < first])
        new = [IndexedTerm(space.principal, space.name, "", 0, _TOTALS.pack(*totals))]
        for (term, part), changed in changes.items():
            items = _changed(known.get((term, part), b""), changed)
            row = IndexedTerm(space.principal, space.name, term, part, items)
            if items:
                new.append(row)
            else:
                transaction.delete(self.terms, {name: getattr(row, name) for name in self.terms.key})
        transaction.put_all(self.terms, new)

    def _known(
        self, transaction: Transaction, space: Space, keys: Iterable[tuple[str, int]]
    ) -> dict[tuple[str, int], bytes]:
        """The rows that there are of some terms and parts. Many are read at once."""
        found: dict[tuple[str, int], bytes] = {}
        by_part: dict[int, list[str]] = {}
        for term, part in keys:
            by_part.setdefault(part, []).append(term)
        for part, terms in by_part.items():
            where: dict[str, Value | tuple[Value, ...]] = {
                "principal": space.principal,
                "space": space.name,
                "part": part,
            }
            for at in range(0, len(terms), AMONG_MAX):
                some = tuple(terms[at : at + AMONG_MAX])
                for row in transaction.find(self.terms, where={**where, "term": some}):
                    found[row.term, part] = row.items
        return found


def _changed(items: bytes, changed: Mapping[int, int]) -> bytes:
    """The items of a row after a change. New items stand behind all others, so that the row is not read.

    Raises:
        JournalError: the row is damaged.
    """
    last = -1
    if len(items) % 4 == 0 and items:
        (packed,) = _LAST.unpack_from(items, len(items) - 4)
        last = packed >> _PLACE_SHIFT
    known = changed
    if last >= min(changed) or not all(changed.values()) or len(items) % 4:
        known, items = {**dict(_unpacked(items)), **changed}, b""
    packed_items = [place << _PLACE_SHIFT | of_item for place, of_item in sorted(known.items()) if of_item]
    return items + struct.pack(f"<{len(packed_items)}I", *packed_items)


def _unpacked(items: bytes) -> Iterator[tuple[int, int]]:
    """The places of the items that have a term, each with the weight of the term and the length of the item.

    Raises:
        JournalError: the row is damaged.
    """
    if len(items) % 4:
        raise _damaged()
    for packed in struct.unpack(f"<{len(items) // 4}I", items):
        yield packed >> _PLACE_SHIFT, packed & _OF_ITEM


def _damaged() -> JournalError:
    return JournalError("a row of an index of words is damaged: build the index anew")
