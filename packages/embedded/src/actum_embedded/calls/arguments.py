"""Which piece of the question goes into which slot of a tool, and how sure that is.

Every pair of a slot and a span gets a score (`features`). The pairs are taken best first, and no two slots take the
same words. Text that is free by nature (what to search, what to write down) is what remains; `content` finds it.

Every argument carries its span and its confidence. Below `REQUIRED_MIN` a required slot counts as not said, and is
asked for; an optional one needs `OPTIONAL_MIN`, so that what nobody said stays out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from actum.core.json import Json, JsonObject

from ..learned.weights import kept_with_weights
from ..text.clauses import Clause
from ..text.lexicon import is_han, table, wordset
from ..text.spans import Span
from ..text.words import bare, keys_of, spaced
from ..tools.choices import MEANT, SAID, chosen_values, counts_off, listed_values, says_yes_or_no, truth
from ..tools.content import AFTER_COMMAND, content_of
from ..tools.orders import OrderRow, row_of
from ..tools.selection import Indexed, changes_things
from ..tools.slots import Slot
from ..tools.values import country_of, located, value_for
from ..weighing.guesses import Guess, guessed
from ..weighing.ranker import Ranking, rank

REQUIRED_MIN = 0.3
OPTIONAL_MIN, OPTIONAL_NUMBER_MIN, OPTIONAL_NUMBER_MIN_HAN = 0.55, 0.5, 0.7
GUESS_MIN = 0.5
"""What nobody named is asked for, unless it is likelier than all else together; for a tool that changes things always.
"""


class Argument(NamedTuple):
    """A value for a slot, where it comes from, and how sure it is."""

    slot: Slot
    value: Json
    span: Span
    confidence: float


class Filled(NamedTuple):
    """A tool with what the clause gives it.

    Attributes:
        arguments: the slots that have a value.
        missing: the required slots that have none.
        spare: typed spans that no slot took.
        rankings: what else could go into its slots.
    """

    indexed: Indexed
    arguments: tuple[Argument, ...]
    missing: tuple[Slot, ...]
    spare: tuple[Span, ...]
    rankings: dict[tuple[str, ...], Ranking]

    @property
    def complete(self) -> bool:
        """It has values, and all that it must have: a call by itself."""
        return not self.missing and any(each.slot.required for each in self.arguments)

    @property
    def strengths(self) -> dict[tuple[str, ...], float]:
        """How much more speaks for each argument than for nothing, from -1 to 1."""
        found: dict[tuple[str, ...], float] = {}
        for each in self.arguments:
            ranking = self.rankings.get(each.slot.path)
            own = next((one for one in ranking.ranked if one.candidate.span == each.span), None) if ranking else None
            found[each.slot.path] = (
                max(-1.0, min(1.0, (own.score - ranking.empty) / 10)) if ranking and own else each.confidence
            )
        return found


def fill(indexed: Indexed, clause: Clause, *, avoid: Sequence[Span] = ()) -> Filled:
    """Give a tool's slots what the clause says.

    Args:
        indexed: the tool.
        clause: the clause; its spans are what may be taken.
        avoid: spans that are taken already, by another tool of the same clause.
    """
    key = (indexed.tool.digest, clause, tuple(avoid))
    known = _filled.get(key)
    if known is None:
        if len(_filled) >= FILLED_MAX:
            _filled.clear()
        known = _filled[key] = _fill(indexed, clause, avoid)
    return known


_filled: dict[tuple[str, Clause, tuple[Span, ...]], Filled] = kept_with_weights({})
"""What was worked out lately: a plan asks for the same more than once."""

FILLED_MAX = 256


def _fill(indexed: Indexed, clause: Clause, avoid: Sequence[Span]) -> Filled:
    spans = [span for span in clause.spans if not any(span.overlaps(other) for other in avoid)]
    row = row_of(indexed, clause)
    unclear = {row.things.path, row.counts.path} if row is not None and not row.orders else set()
    ordered = _ordered(row) if row is not None and row.orders else {}
    avoid = [*avoid, *(each.span for each in ordered.values())]
    taken = _choices(indexed, clause, {}) | ordered
    rankings = {
        slot.path: rank(slot, indexed, clause, avoid)
        for slot in indexed.slots
        if slot.path not in taken and slot.path not in unclear and slot.kind not in ("enum", "boolean")
    }
    taken |= _assigned(indexed, rankings, clause, [each.span for each in taken.values() if each.confidence >= MEANT])
    taken |= _implied(indexed, clause, taken)
    for slot in indexed.slots:
        if slot.required and slot.path not in taken and slot.kind in ("text", "title") and not slot.many:
            content = content_of(slot, indexed, clause, [*avoid, *(each.span for each in taken.values())])
            if content is not None and content[1] >= AFTER_COMMAND:
                taken[slot.path] = Argument(slot, content[0].value, *content)
    arguments = tuple(_located(taken[slot.path]) for slot in indexed.slots if slot.path in taken)
    missing = tuple(slot for slot in indexed.slots if slot.required and slot.path not in taken)
    spare = [span for span in spans if span.kind in _TYPED and not any(span.overlaps(each.span) for each in arguments)]
    return Filled(indexed, arguments, missing, tuple(spare), rankings)


def _located(argument: Argument) -> Argument:
    return argument._replace(value=located(argument.slot, argument.value))


def as_object(arguments: Sequence[Argument]) -> JsonObject:
    """The arguments as a tool gets them."""
    built: JsonObject = {}
    for argument in arguments:
        place = built
        for name in argument.slot.path[:-1]:
            inner = place.setdefault(name, {})
            assert isinstance(inner, dict)
            place = inner
        place[argument.slot.path[-1]] = argument.value
    return built


_TYPED = frozenset(
    {"expression", "date", "time", "city", "country", "language", "email", "url", "file", "code", "sql", "quoted"}
)
"""Kinds that are said for a purpose: a tool that has no use for one was hardly meant."""

OPTIONS, BEAM = 6, 24
"""So many candidates of a slot, and so many ways to fill the slots before it, are kept in sight."""

Taken = dict[tuple[str, ...], Argument]


def _assigned(
    indexed: Indexed, rankings: Mapping[tuple[str, ...], Ranking], clause: Clause, chosen: Sequence[Span]
) -> Taken:
    """The likeliest way to fill the slots such that no two take the same words.

    Args:
        indexed: the tool.
        rankings: what could go into each slot.
        clause: the clause.
        chosen: where values of enumerations are said plainly.
    """
    ways: list[tuple[float, tuple[Argument, ...]]] = [(0.0, ())]
    listed, han = _listed_names(indexed, clause), is_han(clause.words)
    for slot in indexed.slots:
        if slot.path not in rankings:
            continue
        options = [
            (gain - (_taken_already(argument, chosen) if argument else 0.0), argument)
            for gain, argument in _options(slot, rankings[slot.path], listed=slot.path in listed, han=han)
        ]
        longer: list[tuple[float, tuple[Argument, ...]]] = []
        for worth, way in ways:
            for gain, argument in options:
                if argument is None:
                    longer.append((worth + gain, way))
                elif not any(argument.span.overlaps(other.span) for other in way):
                    longer.append((worth + gain - _disorder(argument, way, listed), (*way, argument)))
        longer.sort(key=lambda way: -way[0])
        ways = longer[:BEAM]
    return {argument.slot.path: argument for argument in ways[0][1]}


def _disorder(argument: Argument, chosen: Sequence[Argument], listed: Sequence[tuple[str, ...]]) -> float:
    """What speaks against a value that stands before one of a slot which comes first, where both are of a kind; by the
    order in which the question lists their names, else by that of the schema.
    """
    against = 0.0
    for other in chosen:
        if _is_cut(argument, other):
            against += CUT
        if other.slot.kind != argument.slot.kind:
            continue
        first, last = other, argument
        said = argument.slot.path in listed and other.slot.path in listed
        if said and listed.index(argument.slot.path) < listed.index(other.slot.path):
            first, last = argument, other
        if last.span.start < first.span.start:
            close = said or series(other.slot.name) == series(argument.slot.name)
            against += IN_A_SERIES if close else OUT_OF_ORDER
        elif said:
            against -= AS_LISTED
    return against


def _is_cut(one: Argument, other: Argument) -> bool:
    """Two slots of a kind have words that touch: one name cut in two, 虹桥 and 机场."""
    alike = (
        one.slot.kind == other.slot.kind
        and one.slot.type == "string"
        and "date" not in (one.span.kind, other.span.kind)
    )
    touching = one.span.end == other.span.start or other.span.end == one.span.start
    return alike and touching and is_han(one.span.text + other.span.text)


def _listed_names(indexed: Indexed, clause: Clause) -> list[tuple[str, ...]]:
    """The slots whose names are said side by side, in that order: `a base and height of 6 and 10`."""
    places: list[tuple[int, int, tuple[str, ...]]] = []
    for slot in indexed.slots:
        keys = keys_of(spaced(slot.name))
        said = [term for term in clause.terms if term.key in keys and term.weight == 1.0] if len(keys) == 1 else []
        places += [(said[0].start, said[0].end, slot.path)] if said else []
    places.sort()
    row: list[tuple[str, ...]] = []
    for left, right in pairwise(places):
        if _AND.fullmatch(clause.text[left[1] : right[0]]):
            row += [left[2], right[2]] if left[2] not in row else [right[2]]
    return row


_AND = re.compile(r"\s*(?:,|and|&|, and|和|与|、)\s*(?:the\s+|its\s+)?")

IN_A_SERIES, OUT_OF_ORDER, AS_LISTED, CUT = 4.0, 0.3, 12.0, 5.0


@cache
def series(name: str) -> str:
    """What the names of a series have in common: `city1` and `city2`, `first_color` and `second_color`."""
    return re.sub(r"(?<=[a-z_])[ab12]$|\d+|first|second|one|two", "", name.lower())


def _options(slot: Slot, ranking: Ranking, *, listed: bool, han: bool) -> list[tuple[float, Argument | None]]:
    """What a slot may take, each with the logarithm of how likely it is; the last one is nothing. One whose name is
    listed beside another's has a value, however unlikely each is.
    """
    said = 1.0 - ranking.none
    options: list[tuple[float, Argument | None]] = []
    number = OPTIONAL_NUMBER_MIN_HAN if han else OPTIONAL_NUMBER_MIN
    optional = number if slot.type in ("integer", "number") else OPTIONAL_MIN
    if listed or said >= (REQUIRED_MIN if slot.required else optional):
        for each in ranking.ranked[:OPTIONS]:
            argument = Argument(slot, each.candidate.value, each.candidate.span, said)
            options.append((math.log(each.likely + 1e-9), argument))
    needed = LEFT_OVER if slot.kind in ("text", "title") and not slot.many else NEEDED
    empty = math.log(ranking.none + 1e-9) - (needed if slot.required else 0.0)
    return [*options, (empty, None)]


NEEDED = 3.0
"""How much, as a logarithm, speaks against leaving a required slot empty."""

LEFT_OVER = 1.0
"""And one for free text: it may still have what the others leave over."""

CHOSEN, HOLDS_CHOSEN = 4.0, 2.0
"""And how much against words that are a value of another slot's enumeration, or that begin or end with one."""


def _taken_already(argument: Argument, chosen: Sequence[Span]) -> float:
    """What speaks against words of which a choice is made of already: all of `Plus`, the `hot` of `hot chocolate`."""
    if any(is_same(argument.span, each) for each in chosen):
        return CHOSEN
    free = argument.slot.kind in ("text", "title", "query") or argument.span.kind in ("quoted", "name")
    held = any(argument.span.start <= each.start and each.end <= argument.span.end for each in chosen)
    edge = any(argument.span.start == each.start or argument.span.end == each.end for each in chosen)
    return HOLDS_CHOSEN if held and edge and not free else 0.0


def is_same(span: Span, said: Span) -> bool:
    """It is what was said, with or without a sign before and after it."""
    return said.start - 1 <= span.start <= said.start and said.end <= span.end <= said.end + 1


def _choices(
    indexed: Indexed, clause: Clause, taken: dict[tuple[str, ...], Argument]
) -> dict[tuple[str, ...], Argument]:
    """Slots that take one of a few values, by the meaning of the clause's words."""
    found: dict[tuple[str, ...], Argument] = {}
    for slot in indexed.slots:
        least = REQUIRED_MIN if slot.required else OPTIONAL_MIN
        if slot.kind == "enum" or listed_values(slot.description, slot.type):
            options = [option for option in chosen_values(slot, indexed.named, clause) if option[2] >= least]
            if slot.required and not options:  # then a word of the tool's name may be meant as well
                options = [option for option in chosen_values(slot, frozenset(), clause) if option[2] >= least]
            if options and slot.many:
                found[slot.path] = Argument(slot, [value for value, _, _ in options], options[0][1], options[0][2])
            elif options:
                found[slot.path] = Argument(slot, *options[0])
        elif slot.kind != "boolean":
            continue
        if says_yes_or_no(slot) and slot.path not in found:
            said = truth(slot, indexed.named, clause)
            if said is not None:
                value = next((each for each in slot.enum if str(each).lower() == str(said[0]).lower()), said[0])
                found[slot.path] = Argument(slot, value, said[1], 0.8)
        if slot.path not in found and not changes_things(indexed.tool):
            guess = _guess(slot, clause)
            if guess is not None and guess.likely >= max(least, GUESS_MIN):
                found[slot.path] = Argument(slot, *guess)
    for source, target in two_ways(indexed):
        found |= _from_one_to_another(source, target, indexed, clause)
    return {path: argument for path, argument in found.items() if path not in taken}


def _guess(slot: Slot, clause: Clause) -> Guess | None:
    """What a choice or a switch is likely to be though nobody named it, and not by the `First,` of a task."""
    if slot.kind not in ("enum", "boolean") or slot.many:
        return None
    guess = guessed(slot, clause)
    return None if guess is None or counts_off(clause.text, guess.span.start, guess.span.end) else guess


def _ordered(row: OrderRow) -> Taken:
    """Both lists of a row of orders: `two coffees and a bagel`."""
    values: tuple[tuple[Slot, list[Json]], ...] = (
        (row.things, [each.thing for each in row.orders]),
        (row.counts, [each.many for each in row.orders]),
    )
    return {slot.path: Argument(slot, value, row.span, SAID) for slot, value in values}


def two_ways(indexed: Indexed) -> Iterator[tuple[Slot, Slot]]:
    """Slots that choose from the same values, one what is given and one what is wanted: `from_unit` and `to_unit`."""
    chosen = [slot for slot in indexed.slots if slot.kind == "enum" and not slot.many]
    for source in chosen:
        for target in chosen:
            if "source" in source.roles and "target" in target.roles and source.enum == target.enum:
                yield source, target


def is_counted(span: Span, clause: Clause) -> bool:
    """A number stands right before it: the cups of `2 cups`, and what is given where one is turned into another."""
    return any(
        each.kind == "number" and not clause.text[each.end : span.start].strip(" -")
        for each in clause.spans
        if each.end <= span.start
    )


def _from_one_to_another(source: Slot, target: Slot, indexed: Indexed, clause: Clause) -> Taken:
    """Of two values that are said the one that a number counts, else the first, is what is given."""
    values: dict[Json, Argument] = {}
    for value, span, sure in sorted(chosen_values(source, indexed.named, clause), key=lambda each: each[1].start):
        if sure >= SAID and isinstance(value, str):
            values.setdefault(value, Argument(source, value, span, sure))
    given = next((each for each in values.values() if is_counted(each.span, clause)), next(iter(values.values()), None))
    wanted = next((each for each in values.values() if each is not given), None)
    if given is None or wanted is None:
        return {}
    return {source.path: given, target.path: wanted._replace(slot=target)}


def _implied(
    indexed: Indexed, clause: Clause, taken: dict[tuple[str, ...], Argument]
) -> dict[tuple[str, ...], Argument]:
    """What is meant and not said: numbers by the words of `implied.csv`, and the present day."""
    found = _todays(indexed, clause, taken) | _countries(indexed, taken) | _between_times(indexed, clause, taken)
    found |= _between_days(indexed, clause, taken)
    for slot in indexed.slots:
        if slot.type in ("integer", "number") and not slot.many and slot.path not in taken | found:
            others = [each.span for each in (taken | found).values() if each.span.kind == "implied"]
            meant = (each for each in implied(slot, clause) if not any(each.span.overlaps(span) for span in others))
            first = min(meant, key=lambda each: each.span.start, default=None)
            if first is not None:
                found[slot.path] = first
    return found


def implied(slot: Slot, clause: Clause) -> Iterator[Argument]:
    """The numbers that words of `implied.csv` mean for a slot: `from rest` is no velocity."""
    named = f"{spaced(slot.name)} {slot.description}".lower()
    for said, meant, value in _meanings():
        if meant.search(named):
            for match in said.finditer(clause.words):
                start = clause.start + match.start()
                into = _INTO.search(clause.text, clause.start, start) is not None
                if ("source" in slot.roles and into) or ("target" in slot.roles and not into):
                    continue
                yield Argument(slot, value, Span("implied", start, start + len(match[0]), match[0], value), 0.7)


_INTO = re.compile(r"(?:\b(?:to|into|as)(?:\s+an?)?|[成为到])\s*$", re.IGNORECASE)
"""What stands before what something is turned into: `to binary`."""


@cache
def _meanings() -> tuple[tuple[re.Pattern[str], re.Pattern[str], int], ...]:
    rows = table("implied")
    return tuple((re.compile(row["said"], re.IGNORECASE), re.compile(row["slot"]), int(row["value"])) for row in rows)


def _countries(indexed: Indexed, taken: dict[tuple[str, ...], Argument]) -> dict[tuple[str, ...], Argument]:
    """The country that a tool must have, of the city that was said."""
    lacking = [slot for slot in indexed.slots if slot.kind == "country" and slot.required and slot.path not in taken]
    cities = [each for each in taken.values() if each.slot.kind in ("city", "place") and each.span.kind == "city"]
    country = country_of(str(cities[0].value)) if len(cities) == 1 and len(lacking) == 1 else None
    if country is None or changes_things(indexed.tool):
        return {}
    span = Span("country", cities[0].span.start, cities[0].span.start, "", country, country)
    return {lacking[0].path: Argument(lacking[0], value_for(lacking[0], span), span, 0.7)}


def _todays(
    indexed: Indexed, clause: Clause, taken: dict[tuple[str, ...], Argument]
) -> dict[tuple[str, ...], Argument]:
    """The other one of two days of which one is said: so many days later, or the present day where `until` or `since`
    stands by it.
    """
    days = [slot for slot in indexed.slots if slot.kind == "date" and slot.required]
    said = [taken[slot.path] for slot in days if slot.path in taken]
    if len(days) == 1 and said and (away := _away(indexed, said[0], taken, clause)):
        return away
    if len(days) == 1 and not said and (match := _FROM_NOW.search(clause.words)) is not None:
        place = clause.start + match.start()
        now = Span("date", place, place, "", clause.today.isoformat())
        return {days[0].path: Argument(days[0], now.value, now, 0.7)} if _has_number(indexed, taken) else {}
    if len(days) != 2 or len(said) != 1:
        return {}
    given = said[0]
    first, last = days
    if given.slot is first and (lasting := _lasting(last, given, clause)) is not None:
        return {last.path: lasting}
    words = {bare(token.text) for token in clause.tokens}
    today = Span("date", given.span.start, given.span.start, "", clause.today.isoformat())
    if words & wordset("since"):
        return {first.path: given._replace(slot=first), last.path: Argument(last, today.value, today, 0.7)}
    if words & wordset("until"):
        return {first.path: Argument(first, today.value, today, 0.7), last.path: given._replace(slot=last)}
    return {}


_FROM_NOW = re.compile(r"天[之以]?[后前](?!.*月\d)")


def _away(indexed: Indexed, day: Argument, taken: Taken, clause: Clause) -> Taken:
    """The present day and a number of days, where a tool wants both and one relative day was said: `20 days ago`."""
    match = _DAYS_AWAY.fullmatch(day.span.text.strip())
    numbers = [slot for slot in indexed.slots if slot.required and slot.type == "integer" and "day" in slot.name]
    if match is None or len(numbers) != 1 or numbers[0].path in taken or not isinstance(day.value, str):
        return {}
    days = (date.fromisoformat(day.value) - clause.today).days
    number = Span("number", day.span.start, day.span.end, day.span.text, days)
    return {
        day.slot.path: day._replace(value=clause.today.isoformat()),
        numbers[0].path: Argument(numbers[0], days, number, day.confidence),
    }


_DAYS_AWAY = re.compile(
    r"(?:in\s+)?[\w-]+\s+(?:day|week|fortnight)s?(?:\s+(?:ago|from (?:now|today)|later|hence))?", re.IGNORECASE
)


def _has_number(indexed: Indexed, taken: Taken) -> bool:
    return any(slot.type in ("integer", "number") and slot.required and slot.path in taken for slot in indexed.slots)


def _lasting(last: Slot, given: Argument, clause: Clause) -> Argument | None:
    """The last day of so many days from the one that is said: 明天请三天假; of so many nights one more."""
    for span in clause.spans:
        match = _LASTS.match(clause.text, span.end) if span.kind == "number" else None
        if match is not None and isinstance(span.value, int | float) and isinstance(given.span.value, str):
            more = math.ceil(span.value) - (match[1] in "天日")
            day = date.fromisoformat(given.span.value) + timedelta(days=more)
            return Argument(
                last, day.isoformat(), Span("date", span.start, match.end(), span.text, day.isoformat()), 0.7
            )
    return None


def _between_times(indexed: Indexed, clause: Clause, taken: Taken) -> Taken:
    """How long something lasts that goes on from one time to another, where no slot took the other: 两点到三点半."""
    lasting = [slot for slot in indexed.slots if slot.path not in taken and _counts(slot, _DURATION)]
    times = [span for span in clause.spans if span.kind == "time"]
    for first, last in pairwise(times):
        until = clause.text[first.end : last.start]
        begun = any(each.span.overlaps(first) for each in taken.values())
        if not lasting or not begun or not UNTIL.fullmatch(until) or any(e.span.overlaps(last) for e in taken.values()):
            continue
        minutes = (_minutes(str(last.value)) - _minutes(str(first.value))) % (24 * 60)
        span = Span("number", last.start, last.end, last.text, minutes, "time:min")
        value = value_for(lasting[0], span)
        if value is not None:
            return {lasting[0].path: Argument(lasting[0], value, span, 0.7)}
    return {}


def _between_days(indexed: Indexed, clause: Clause, taken: Taken) -> Taken:
    """How many nights lie between two days, where a tool takes but the first of them: 20号入住22号退房."""
    nights = [slot for slot in indexed.slots if slot.path not in taken and _counts(slot, _NIGHTS)]
    starts = [slot for slot in indexed.slots if slot.kind == "date" and slot.path in taken]
    days = [span for span in clause.spans if span.kind == "date"]
    if len(nights) != 1 or len(starts) != 1 or len(days) != 2:
        return {}
    first, last = (date.fromisoformat(str(span.value)) for span in days)
    if first >= last:
        return {}
    value = value_for(starts[0], days[0])
    span = Span("number", days[1].start, days[1].end, days[1].text, (last - first).days)
    return {
        starts[0].path: Argument(starts[0], value, days[0], taken[starts[0].path].confidence),
        nights[0].path: Argument(nights[0], span.value, span, 0.7),
    }


_NIGHTS = re.compile(r"\bnights\b|几晚|[晚夜]数")


def _counts(slot: Slot, things: re.Pattern[str]) -> bool:
    """It takes a number of these, by its name or description."""
    told = f"{spaced(slot.name)} {slot.description}".lower()
    return slot.type in ("integer", "number") and not slot.many and things.search(told) is not None


def _minutes(clock: str) -> int:
    return 60 * int(clock[:2]) + int(clock[3:5])


_DURATION = re.compile(r"\b(?:duration|length|minutes|hours)\b|时长|分钟|小时")
UNTIL = re.compile(r"\s*(?:到|至|[-—–~～]+|to|until|till)\s*", re.IGNORECASE)
"""What stands between the two ends of a range."""

_LASTS = re.compile("([天日晚])(?![前后上])")
