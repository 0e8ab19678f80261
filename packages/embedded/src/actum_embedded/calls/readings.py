"""What speaks for a way to read a clause that says several values for a slot, as names of signs; what they are worth,
`grouping` has learned.

A reading is a row of mentions. Signs say how each follows those before it: "and Oslo" right behind "Rome", a height
behind a base as in the sentence before, a third name where the clause tells of two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

from ..text.clauses import Clause
from ..text.lexicon import wordset
from ..text.spans import Span
from ..text.words import keys_of, spaced
from ..tools.candidates import BETWEEN, View
from ..tools.slots import Slot
from .arguments import series
from .mentions import CHOSEN, Mention

Signs = Mapping[str, float]
Said = Mapping[tuple[str, ...], Sequence[Mention]]
"""The mentions of each slot, in the order of the clause."""


def said_of(mentions: Sequence[Mention]) -> dict[tuple[str, ...], list[Mention]]:
    """The mentions by their slots."""
    said: dict[tuple[str, ...], list[Mention]] = {}
    for each in mentions:
        said.setdefault(each.slot.path, []).append(each)
    return said


def worth(known: Signs, signs: Signs) -> float:
    """What signs come to."""
    return sum([known[name] * value for name, value in signs.items() if name in known])


def by_itself(mention: Mention, clause: Clause) -> Iterator[tuple[str, float]]:
    """What speaks for a mention, whatever stands before it."""
    if mention.argument.span in counted(clause):
        yield ("counts its own" if _names_slot(mention, clause) else "counts things"), 1.0
    if "number" in mention.kinds and mention.argument.span.text.isalpha():
        figures = any(each.kind == "number" and not each.text.isalpha() for each in clause.spans)
        yield ("in words among figures" if figures else "in words"), 1.0
    places = {place for at in range(mention.first, mention.last) for place in View.of(clause).inside[at]}
    yield "out of another", float(any(start < mention.first or end > mention.last for start, end in places))


def joining(
    mention: Mention, before: Sequence[Mention], slots: Sequence[Slot], view: View
) -> Iterator[tuple[str, float]]:
    """What speaks for one more mention behind others.

    Args:
        mention: the mention.
        before: those that the reading has so far.
        slots: all slots of the tool.
        view: the clause.
    """
    earlier = [each for each in before if each.slot is mention.slot]
    same_call = [each for each in before if not earlier or each.first > earlier[-1].first]
    yield "out of order", float(sum(_precedes(mention.slot, each.slot, slots) for each in same_call))
    if not earlier:
        yield "gain", mention.gain
        yield f"first {'required' if mention.slot.required else 'optional'}", 1.0
        return
    last, sort = earlier[-1], _sort(mention.slot)
    yield "gain again", mention.gain
    yield "again, its other end not said", float(_lacks_other_end(mention.slot, before, slots))
    yield "gains less", max(0.0, max(each.gain for each in earlier) - mention.gain)
    yield f"again {sort}", 1.0
    if before[-1] is last and joined(last, mention, view):
        yield "in a row", 1.0
        yield f"in a row {sort}", 1.0
        yield "in a row by or", float(any(view.lower[at] in _OR for at in range(last.last, mention.first)))
        yield f"in a row by and, {sort}", float(any(view.lower[at] in _AND for at in range(last.last, mention.first)))
        yield from _beside(mention.slot, before, slots)
    else:
        yield from _anew(mention, last, before, view)
    yield from _alike(mention, last, view)


def _lacks_other_end(slot: Slot, before: Sequence[Mention], slots: Sequence[Slot]) -> bool:
    """What something is turned from or into, where a reading has nothing for the other: `from_currency` alone."""
    ends = {"source": "target", "target": "source"}
    wanted = {ends[role] for role in slot.roles if role in ends}
    others = [each for each in slots if each.kind == slot.kind and each is not slot and wanted.intersection(each.roles)]
    return bool(others) and not any(each.slot in others for each in before)


def _names_slot(mention: Mention, clause: Clause) -> bool:
    """A word behind a number is one of the slot's name: `two adults`."""
    own = keys_of(spaced(mention.slot.name)) - {"#number"}
    view = View.of(clause)
    return any(own & keys for keys in view.keys[mention.last : mention.last + 3])


def _precedes(slot: Slot, other: Slot, slots: Sequence[Slot]) -> bool:
    """A slot of the same kind that the schema has before the other."""
    return slot.kind == other.kind and slots.index(slot) < slots.index(other)


def _sort(slot: Slot) -> str:
    if slot.many:
        return "list"
    return "enum" if slot.kind == "enum" else "text" if slot.kind in _FREE else slot.type


_FREE = ("text", "query", "title", "sql")


def _beside(slot: Slot, before: Sequence[Mention], slots: Sequence[Slot]) -> Iterator[tuple[str, float]]:
    """Whether a value in a row may rather be one of another slot: of `num2`, or of a list."""
    has = sum(each.slot is slot for each in before)
    for other in slots:
        if other is slot or other.type != slot.type:
            continue
        if other.many:
            yield "in a row beside a list", 1.0
        elif other.required and other.kind == slot.kind and series(other.name) == series(slot.name):
            yield "in a row past its series", 1.0
        elif other.required and other.kind == slot.kind and sum(each.slot is other for each in before) <= has:
            yield "in a row past its like", 1.0


def _anew(mention: Mention, last: Mention, before: Sequence[Mention], view: View) -> Iterator[tuple[str, float]]:
    """Whether a value begins another call or goes on in one, as those before did."""
    paths = [each.slot.path for each in before]
    previous = [at for at, path in enumerate(paths[:-1]) if path == paths[-1]]
    follows = paths[previous[-1] + 1] if previous else paths[0]
    yield ("as before" if follows == mention.slot.path else "not as before"), 1.0
    border = _border(last, mention, view)
    yield border, 1.0
    yield f"{border}, {'loose' if not mention.kinds else _sort(mention.slot)}", 1.0
    counts = {paths.count(path) for path in paths}
    yield ("even so far" if len(counts) == 1 else "uneven so far"), 1.0
    if before[-1] is last:
        yield "apart, nothing between", 1.0
        yield "apart, no border", float(border == "no border")


def _border(last: Mention, mention: Mention, view: View) -> str:
    between = range(last.last, mention.first)
    if any(view.tokens[at].text in _ENDS and not view.inside[at] for at in between):
        return "a new sentence"
    apart = any(view.tokens[at].text in _APART or view.lower[at] in wordset("between clauses") for at in between)
    return "a new part" if apart else "no border"


_ENDS = frozenset(".?!;。？！；")
_APART = frozenset(",;.，、；。")


def joined(last: Mention, mention: Mention, view: View) -> bool:
    """Nothing but small words stands between two mentions, and one of them joins."""
    between = range(last.last, mention.first)
    small = len(between) <= ROW_MAX and all(view.functional[at] or view.tokens[at].kind == "sign" for at in between)
    return small and any(view.lower[at] in _JOINING for at in between)


_OR = frozenset({"or", "或", "还是", "/"})
_AND = frozenset({"and", "和", "与", "及", "以及", "跟"})
ROW_MAX = 4
_JOINING = BETWEEN | {";", "also"}


def _alike(mention: Mention, last: Mention, view: View) -> Iterator[tuple[str, float]]:
    """How much two mentions look like values of one slot."""
    both = set(last.kinds) & set(mention.kinds)
    if both:
        yield "same kind", 1.0
        yield f"same kind {'quoted' if 'quoted' in both else 'name' if both & _NAMES else 'other'}", 1.0
    elif _TYPED & {*last.kinds, *mention.kinds}:
        yield "other kind", 1.0
    yield "loose", float(not mention.kinds)
    one, other = last.argument, mention.argument
    yield "other capitals", float(one.span.text[:1].isupper() != other.span.text[:1].isupper())
    before = [view.lower[each.first - 1] if each.first else "" for each in (last, mention)]
    after = [view.lower[each.last] if each.last < len(view.lower) else "" for each in (last, mention)]
    yield "same word before", float(before[0] == before[1] != "")
    yield "same word after", float(after[0] == after[1] != "")
    yield f"same value {mention.slot.type}", float(one.value == other.value)
    if mention.slot.many and isinstance(one.value, list) and isinstance(other.value, list):
        yield "other number in list", float(len(one.value) != len(other.value))
    yield "length differs", float(min(3, abs((last.last - last.first) - (mention.last - mention.first))))


_NAMES = frozenset({"name", "city", "country", "language"})
_TYPED = frozenset({"number", "date", "quoted"})


def whole(
    mentions: Sequence[Mention], found: Sequence[Mention], slots: Sequence[Slot], clause: Clause
) -> Iterator[tuple[str, float]]:
    """What speaks for a reading as a whole.

    Args:
        mentions: its mentions.
        found: all that it could have.
        slots: all slots of the tool.
        clause: the clause.
    """
    said, view = said_of(mentions), View.of(clause)
    calls = max(map(len, said.values()), default=1)
    several = float(calls > 1)
    yield "lacking", float(sum(slot.required and slot.path not in said and slot.kind != "boolean" for slot in slots))
    yield "uneven", float(sum(1 < len(each) < calls for each in said.values()))
    yield "one call", 1.0 - several
    yield "calls", float(calls - 1)
    yield "unused", float(_unused(mentions, clause))
    yield "choice unused", float(_choices_unused(mentions, found))
    yield "row ends with a comma", float(_ends_with_comma(mentions, view))
    yield ("several, says so" if wordset("again").intersection(view.lower) else "several, nothing says so"), several
    told = {span.value for span in counted(clause)} | ({2} if "both" in view.lower else set())
    if told:
        alike = Counter(_row_of_names(each[0].slot.name) for each in said.values())
        as_told = calls in told or not told.isdisjoint(alike.values())
        yield ("as many as told" if as_told else "not as many as told"), 1.0
    once = [each[0].slot.required for each in said.values() if len(each) == 1]
    yield "shared required", several * sum(once)
    yield "shared optional", several * (len(once) - sum(once))
    own = [each for each in said.values() if len(each) > 1]
    yield "few of many are its own", float(len(said) >= FEW * max(1, len(own)) and bool(own))
    yield "own are loose", float(bool(own) and not any(one.kinds for each in own for one in each[1:]))


def _row_of_names(name: str) -> str:
    """What the names of like slots have in common, single letters among them: the `a`, `b` and `c` of an equation."""
    return series(name) if len(name) > 1 else ""


FEW = 3
"""So many times as many slots as have values for each call are said at least, where these are few."""


def _ends_with_comma(mentions: Sequence[Mention], view: View) -> int:
    """How many rows have nothing but a comma before their last value: `Paris, France` is one place."""
    following = [*mentions[2:], None]
    return sum(
        one.slot is other.slot
        and (third is None or third.slot is not other.slot)
        and other.first - one.last == 1
        and view.lower[one.last] in ",，"
        for (one, other), third in zip(pairwise(mentions), following, strict=False)
    )


def _unused(mentions: Sequence[Mention], clause: Clause) -> int:
    """How many numbers, names, quotes and days nothing takes."""
    taken = [each.argument.span for each in mentions]
    looks = (span for span in clause.spans if span.kind in VALUES and span not in counted(clause))
    return min(UNUSED_MAX, len({(span.start, span.end) for span in looks if not any(map(span.overlaps, taken))}))


def _choices_unused(mentions: Sequence[Mention], found: Sequence[Mention]) -> int:
    """How many values of enumerations are said that nothing takes."""
    said = {each.argument.span for each in found if each.kinds == ("enum",) and each.gain >= CHOSEN}
    return sum(not any(span.overlaps(each.argument.span) for each in mentions) for span in said)


UNUSED_MAX = 6
VALUES = frozenset({"number", "quoted", "date", "time", "city", "country", "email", "url", "code", "formula", "name"})
"""Kinds of pieces that look like values."""


@lru_cache(maxsize=64)
def counted(clause: Clause) -> frozenset[Span]:
    """Numbers in words before a plural: `two circles` may tell how many calls there are, and be no value."""
    return frozenset(
        span
        for span in clause.spans
        if span.kind == "number"
        and span.text.isalpha()
        and span.value in COUNTS
        and any(token.text.endswith("s") for token in clause.neighbours(span)[1][:3])
    )


COUNTS = range(2, 9)
