"""Which values belong to one call, where a question says several for a slot: "Rome and Oslo", "a base of 3 and a height
of 4, and then with 5 and 6".

Every piece that may be a value is a mention. A reading is a row of mentions that share no words, and calls follow from
it: a slot with as many values as there are calls gives each its own, in order; of any other one a call gets what was
said last. Learned weights (`data/grouper.json`) say which reading is the best.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from typing import NamedTuple

from ..learned.weights import kept_with_weights, weights
from ..text.clauses import Clause
from ..text.lexicon import wordset
from ..tools.candidates import View
from ..tools.slots import Slot
from .arguments import Argument, Filled
from .mentions import Mention, mentions_of
from .readings import Said, Signs, by_itself, joined, joining, said_of, whole, worth

BEAM, READINGS_MAX = 16, 8
"""So many ways to read what stands before a place are kept in sight, and so many of the whole clause."""

Call = tuple[Argument, ...]


class Reading(NamedTuple):
    """A way to read a clause.

    Attributes:
        mentions: the values that it takes, in the order of the clause.
        signs: what speaks for it.
        calls: the calls that it makes.
        parts: where each call is said; empty where they are said side by side.
    """

    mentions: tuple[Mention, ...]
    signs: Signs
    calls: tuple[Call, ...]
    parts: tuple[Clause, ...] = ()


def readings(filled: Filled, clause: Clause) -> list[Reading]:
    """The best ways to read a clause as several calls of a tool, and that as one, the best first; empty where there are
    no several.
    """
    key = (filled.indexed.tool.digest, clause)
    lately = _lately.get(key)
    if lately is not None and lately[0] is filled:
        return lately[1]
    if len(_lately) >= LATELY_MAX:
        _lately.clear()
    found = _readings(filled, clause)
    _lately[key] = (filled, found)
    return found


_lately: dict[tuple[str, Clause], tuple[Filled, list[Reading]]] = kept_with_weights({})
"""What was worked out lately: a plan asks for the same more than once."""

LATELY_MAX = 256


def _readings(filled: Filled, clause: Clause) -> list[Reading]:
    known = weights("grouper.json")
    found = mentions_of(filled, clause)
    if not _may_be_several(found):
        return []
    several = [each for row in _rows(found, filled, clause, known) for each in _several(row, found, filled, clause)]
    if not several:
        return []
    several.sort(key=lambda each: -worth(known, each.signs))
    every = [*several[:READINGS_MAX], _as_one(found, filled, clause)]
    return sorted(every, key=lambda each: -worth(known, each.signs))


def evened(reading: Reading, filled: Filled, clause: Clause) -> Reading | None:
    """A reading without what is not quoted for a slot that has quoted values as well; None when one call is left."""
    quoted = {each.slot.path for each in reading.mentions if "quoted" in each.kinds}
    kept = tuple(each for each in reading.mentions if each.slot.path not in quoted or "quoted" in each.kinds)
    if len(reading.calls) == 1 or len(kept) == len(reading.mentions):
        return reading
    return next(_several(_Row(0.0, kept), kept, filled, clause), None)


def _may_be_several(found: Sequence[Mention]) -> bool:
    """Some slot has two mentions that share no words."""
    ends: dict[tuple[str, ...], int] = {}
    for each in found:
        if each.first >= ends.get(each.slot.path, each.last):
            return True
        ends[each.slot.path] = min(each.last, ends.get(each.slot.path, each.last))
    return False


class _Row(NamedTuple):
    """A reading as far as it has come, with what speaks for each of its mentions."""

    worth: float = 0.0
    mentions: tuple[Mention, ...] = ()
    added: tuple[Signs, ...] = ()

    @property
    def signs(self) -> dict[str, float]:
        """What speaks for all of them."""
        total: dict[str, float] = {}
        for added in self.added:
            for name, value in added.items():
                total[name] = total.get(name, 0.0) + value
        return total

    def and_then(self, next_: _Next, slots: Sequence[Slot], view: View, known: Signs) -> _Row:
        added = {**next_.signs, **dict(joining(next_.mention, self.mentions, slots, view))}
        if next_.in_a_list and any(each.slot is next_.mention.slot for each in self.mentions):
            added["again in another's list"] = 1.0
        return _Row(self.worth + worth(known, added), (*self.mentions, next_.mention), (*self.added, added))


class _Next(NamedTuple):
    """A mention that a row may go on with.

    Attributes:
        mention: the mention.
        signs: what speaks for it in any row.
        in_a_list: it is a part of what another slot takes as a list: the 西米 of 加椰果和西米.
    """

    mention: Mention
    signs: Signs
    in_a_list: bool

    @staticmethod
    def of(mention: Mention, filled: Filled, clause: Clause) -> _Next:
        span = mention.argument.span
        lists = [each.span for each in filled.arguments if isinstance(each.value, list) and len(each.value) > 1]
        inside = any(each.start <= span.start and span.end <= each.end for each in lists)
        return _Next(mention, dict(by_itself(mention, clause)), inside and not mention.slot.many)


def _rows(found: Sequence[Mention], filled: Filled, clause: Clause, known: Signs) -> list[_Row]:
    beam, view = [_Row()], View.of(clause)
    for mention in found:
        next_ = _Next.of(mention, filled, clause)
        free = [row for row in beam if not row.mentions or row.mentions[-1].last <= mention.first]
        longer = [row.and_then(next_, filled.indexed.slots, view, known) for row in free]
        beam = sorted([*beam, *longer], key=lambda row: -row.worth)[:BEAM]
    return beam


def _as_one(found: Sequence[Mention], filled: Filled, clause: Clause) -> Reading:
    """The arguments as they were filled in: one call."""
    taken = {(each.slot.path, each.span) for each in filled.arguments}
    row = _Row()
    for mention in found:
        if (mention.slot.path, mention.argument.span) in taken:
            row = row.and_then(_Next.of(mention, filled, clause), filled.indexed.slots, View.of(clause), {})
    signs = row.signs | dict(whole(row.mentions, found, filled.indexed.slots, clause))
    return Reading(row.mentions, signs, (filled.arguments,))


def _several(row: _Row, found: Sequence[Mention], filled: Filled, clause: Clause) -> Iterator[Reading]:
    """The several calls that a row of mentions may make."""
    said, view = said_of(row.mentions), View.of(clause)
    calls = max(map(len, said.values()), default=1)
    if calls == 1:
        return
    signs = row.signs | dict(whole(row.mentions, found, filled.indexed.slots, clause))
    leading = [each for each in said.values() if len(each) == calls]
    parts = () if _is_row(leading[0], view) else tuple(_parts(leading, clause))
    yield Reading(row.mentions, signs, tuple(_aligned(said, leading)), parts)
    alone = [path for path, each in said.items() if len(each) == 1 and not each[0].slot.required]
    if alone:
        own = {**signs, "optional for one": float(len(alone))}
        yield Reading(row.mentions, own, tuple(_aligned(said, leading, alone)), parts)
    rows = [each for each in said.values() if len(each) > 1]
    if len(rows) == 2 and all(_is_row(each, view) for each in rows):
        numbers = any(each[0].slot.type in ("integer", "number") for each in rows)
        respectively = bool(wordset("respectively").intersection(view.lower))
        crossed = {
            "cross": 1.0,
            "cross numbers": float(numbers),
            "cross, respectively": float(respectively),
            "uneven": 0.0,
        }
        yield Reading(row.mentions, {**signs, **crossed}, tuple(_crossed(said)))


def _is_row(mentions: Sequence[Mention], view: View) -> bool:
    return all(joined(one, other, view) for one, other in pairwise(mentions))


def _parts(leading: Sequence[Sequence[Mention]], clause: Clause) -> Iterator[Clause]:
    """Where each call is said: from its first value up to the first one of the next."""
    starts = [min(each.argument.span.start for each in group) for group in zip(*leading, strict=True)]
    for start, end in pairwise([clause.start, *starts[1:], clause.end]):
        yield clause.part(start, end)


def _aligned(said: Said, leading: Sequence[Sequence[Mention]], alone: Sequence[tuple[str, ...]] = ()) -> Iterator[Call]:
    """The calls, each with its own values of the leading slots, and what was said last of the others.

    Args:
        said: the mentions of each slot.
        leading: those of which each call has its own.
        alone: slots whose one value is for one call only.
    """
    calls = list(zip(*leading, strict=True))
    starts = [min(each.first for each in call) for call in calls]
    for number, own in enumerate(calls):
        made = {each.slot.path: each for each in own}
        for path, several in said.items():
            before = [each for each in several if number + 1 == len(calls) or each.first < starts[number + 1]]
            if path in alone:
                if before and (number == 0 or several[0].first >= starts[number]):
                    made[path] = several[0]
            elif path not in made:
                made[path] = before[-1] if before else several[0]
        yield tuple(each.argument for each in made.values())


def _crossed(said: Said) -> Iterator[Call]:
    """Each value of the one slot with each of the other."""
    for chosen in product(*said.values()):
        yield tuple(each.argument for each in chosen)
