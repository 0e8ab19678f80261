"""What the parts of a question have in common: one tool for several values, one value for several tools, one topic.

"Beijing and Shanghai" is two calls of one tool; "weather and news for Beijing" lends the city to both; "what is a
drone, and what is its flight control" lends the drone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from .arguments import Argument, Filled, fill
from .candidates import Candidate, View
from .choices import chosen_values
from .clauses import Clause
from .lexicon import is_han, wordset
from .slots import Slot
from .spans import Span
from .step import Step
from .words import bare

Said = Mapping[tuple[str, ...], list[Argument]]
"""The values that are said for each slot."""


Call = tuple[Argument, ...]


def spread(filled: Filled, clause: Clause) -> Iterator[tuple[Argument, ...]]:
    """The arguments, once for each call that the clause asks for.

    A slot for which several values are said makes several calls. Where they are said in one row ("Rome and Oslo"), the
    slot with most of them leads, one with as many goes along with it in order, and of any other a call gets the value
    that stands nearest before it. Where they are not, each begins a part of the clause that is a call of its own.
    """
    for counted in _counts(clause):
        told = fill(filled.indexed, clause, avoid=[counted])
        if told.missing:
            continue
        calls = list(_by_value(told, clause, [counted]))
        if len(calls) == counted.value:
            yield from calls
            return
    yield from _by_value(filled, clause, ())


def _counts(clause: Clause) -> Iterator[Span]:
    """Numbers in words before a plural: `two circles` may tell how many calls there are, and be no value."""
    for span in clause.spans:
        if span.kind == "number" and span.text.isalpha() and span.value in COUNTS:
            _, after = clause.neighbours(span)
            if any(token.text.endswith("s") for token in after[:3]):
                yield span


COUNTS = range(2, 9)


def explained(calls: Sequence[Call], clause: Clause) -> int:
    """How many words that look like values the calls take; where none does, how many words."""
    taken = [each.span for call in calls for each in call]
    words = _values_at(clause) or {token.start for token in clause.tokens if not token.functional}
    return sum(any(span.start <= start < span.end for span in taken) for start in words)


def _values_at(clause: Clause) -> set[int]:
    """Where the words stand that look like values: numbers, names, quotes, days."""
    return {
        token.start
        for token in clause.tokens
        if not token.functional
        and any(span.kind in _VALUES and span.start <= token.start < span.end for span in clause.spans)
    }


_VALUES = frozenset({"number", "quoted", "date", "time", "city", "country", "email", "url", "code", "name", "formula"})


def _by_value(filled: Filled, clause: Clause, avoid: Sequence[Span]) -> Iterator[Call]:
    said = mentions(filled, clause)
    most = max((len(each) for each in said.values()), default=1)
    if most == 1:
        yield filled.arguments
        return
    leader = next(each for each in said.values() if len(each) == most)
    if any(not _in_a_row(left.span, right.span, clause) for left, right in pairwise(leader)):
        parts = _parts(leader, said, clause)
        if len(parts) > 1:
            yield from _by_part(parts, filled, said, avoid)
            return
    yield from _zipped(filled, said, leader)


def _zipped(filled: Filled, said: Said, leader: Sequence[Argument]) -> Iterator[tuple[Argument, ...]]:
    for number, lead in enumerate(leader):
        made: list[Argument] = []
        for argument in filled.arguments:
            values = said.get(argument.slot.path, [argument])
            before = [each for each in values if each.span.start <= lead.span.start]
            made.append(values[number] if len(values) == len(leader) else before[-1] if before else values[0])
        yield tuple(made)


def _by_part(
    parts: Sequence[Clause], filled: Filled, said: Said, avoid: Sequence[Span]
) -> Iterator[tuple[Argument, ...]]:
    """The calls of each part; what a part does not say is as in the part before, or as for the whole."""
    known = {each.slot.path: each for each in filled.arguments if each.slot.required}
    for part in parts:
        own = fill(filled.indexed, part, avoid=avoid)
        for call in _zipped_part(own, part):
            made = tuple(each for each in call if _is_own(each, said))
            had = {each.slot.path for each in made}
            lent = [each for path, each in known.items() if path not in had]
            known |= {each.slot.path: each for each in made if each.slot.required}
            yield (*made, *lent)


def _is_own(argument: Argument, said: Said) -> bool:
    """A part has its own value for a slot, unless all of the clause says one that is for every part."""
    known = said.get(argument.slot.path, [])
    alone = argument.slot.required and argument.slot.type == "string" and len(known) == 1
    typed = argument.span.kind not in ("run", "word", "phrase", "chunk")
    return not alone or typed or known[0].span.overlaps(argument.span)


def _zipped_part(filled: Filled, part: Clause) -> Iterator[tuple[Argument, ...]]:
    said = mentions(filled, part)
    most = max((len(each) for each in said.values()), default=1)
    leader = next((each for each in said.values() if len(each) == most), [])
    if most == 1 or any(not _in_a_row(left.span, right.span, part) for left, right in pairwise(leader)):
        yield filled.arguments
    else:
        yield from _zipped(filled, said, leader)


def _in_a_row(left: Span, right: Span, clause: Clause) -> bool:
    """Only small words stand between two values, and one that joins them."""
    between = [token for token in clause.tokens if left.end <= token.start and token.end <= right.start]
    return len(between) <= ROW_MAX and all(token.functional or token.kind == "sign" for token in between)


ROW_MAX = 4

ROW_WORTH = 4.0


def _parts(leader: Sequence[Argument], said: Said, clause: Clause) -> list[Clause]:
    """The clause cut before each value of the leader but the first, where its part begins."""
    cuts: list[int] = []
    for left, right in pairwise(leader):
        others = [each.span for several in said.values() for each in several if each.span.start < right.span.start]
        floor = max((span.end for span in others if span.end <= right.span.start), default=left.span.end)
        signs = [
            token
            for token in clause.tokens
            if left.span.end <= token.start < right.span.start
            and (token.text in _APART or bare(token.text) in wordset("between clauses"))
            and not any(span.start <= token.start < span.end for span in others)
        ]
        # The part begins at the latest sign before which another slot's value was said, else at the latest of all.
        early = [token for token in signs if token.start >= floor]
        chosen = early[0] if early else signs[-1] if signs else None
        if chosen is not None:
            cuts.append(chosen.end)
    edges = [clause.start, *cuts, clause.end]
    return [clause.part(start, end) for start, end in pairwise(edges)]


def mentions(filled: Filled, clause: Clause) -> dict[tuple[str, ...], list[Argument]]:
    """For each slot the values that are said for it, in the order of the clause."""
    said = {each.slot.path: [each] for each in filled.arguments}
    while (found := max(_rivals(said, filled, clause), key=lambda pair: pair[0], default=None)) is not None:
        said[found[1].slot.path].append(found[1])
    return {path: sorted(several, key=lambda each: each.span.start) for path, several in said.items()}


def _rivals(said: Said, filled: Filled, clause: Clause) -> Iterator[tuple[float, Argument]]:
    """What could be one more value of a slot: about as likely as the one it took, and like one that is known."""
    taken = [each.span for several in said.values() for each in several]
    for argument in filled.arguments:
        slot, known = argument.slot, said[argument.slot.path]
        if slot.many or slot.kind in ("boolean", "text", "query", "sql"):
            continue
        if slot.kind == "enum":
            for option in chosen_values(slot, filled.indexed.named, clause):
                rival = Argument(slot, *option)
                if option[2] >= 0.8 and _is_free(rival, known, taken, clause):
                    yield 0.0, rival
            continue
        ranking = filled.rankings.get(slot.path)
        first = (
            next((each for each in ranking.ranked if each.candidate.span == argument.span), None) if ranking else None
        )
        if ranking is None or first is None:
            continue
        places = {each.candidate.span: each.candidate for each in ranking.ranked}
        for each in ranking.ranked:
            rival = Argument(slot, each.candidate.value, each.candidate.span, each.likely)
            if each.score <= ranking.empty or not _is_free(rival, known, taken, clause):
                continue
            near = min(known, key=lambda one: abs(one.span.start - rival.span.start))
            worth = each.score - first.score + _likeness(places[near.span], each.candidate, clause)
            if worth > LIKE_MIN:
                yield worth, rival


LIKE_MIN = -1.0
"""How much must speak for one more value, as a logarithm beside the first one."""


def _likeness(one: Candidate, other: Candidate, clause: Clause) -> float:
    """How much two pieces look like values of one kind, named side by side or in like places."""
    view = View.of(clause)
    first, last = sorted((one, other), key=lambda each: each.first)
    worth = 0.0
    between = range(first.last, last.first)
    if between and all(view.lower[at] in _JOINING or view.functional[at] for at in between) and len(between) <= 4:
        worth += ROW_WORTH
    if first.first and view.lower[first.first - 1] == view.lower[last.first - 1]:
        worth += 1.5
    if set(one.kinds) & set(other.kinds):
        worth += 0.5
    elif "number" in (*one.kinds, *other.kinds) or "date" in (*one.kinds, *other.kinds):
        worth -= 3.0
    if one.span.text[:1].isupper() != other.span.text[:1].isupper():
        worth -= 3.0
    if one.span.text.isalpha() != other.span.text.isalpha() and "number" in one.kinds:
        worth -= 2.0
    return worth


_JOINING = frozenset(",;、，") | {"and", "or", "和", "与", "also", "及", "以及"}


def _is_free(rival: Argument, known: Sequence[Argument], taken: Sequence[Span], clause: Clause) -> bool:
    """Its words are not taken, and it is said in one row with a known value or in another part of the clause."""
    if any(rival.span.overlaps(span) for span in taken):
        return False
    if any(each.value == rival.value and not isinstance(each.value, int | float) for each in known):
        return False
    if re.fullmatch("[A-Z]{2}", rival.span.text) and clause.text[: rival.span.start].endswith(", "):
        return False  # the `TX` of `Dallas, TX`
    near = min(known, key=lambda each: abs(each.span.start - rival.span.start))
    left, right = sorted((near.span, rival.span), key=lambda span: span.start)
    between = [token for token in clause.tokens if left.end <= token.start and token.end <= right.start]
    return any(token.text in _APART or bare(token.text) in wordset("between clauses") for token in between)


_APART = frozenset(",;.，、；。")


def with_topics(steps: list[Step]) -> list[Step]:
    """`its flight control` as `drone flight control`, when a drone was asked about just before."""
    told: list[Step] = []
    topic = ""
    for step in steps:
        arguments = list(step.arguments)
        for at, each in enumerate(arguments):
            if each.slot.kind == "query" and isinstance(each.value, str):
                own = _OWNED.match(each.value)
                owned = own is not None or _OWNED_BEFORE.search(step.clause.text[: each.span.start]) is not None
                if owned and topic:
                    rest = each.value[own.end() if own else 0 :].strip()
                    arguments[at] = each._replace(value=f"{topic}{rest}" if is_han(rest) else f"{topic} {rest}")
                topic = topic if owned else each.value
        told.append(step._replace(arguments=tuple(arguments)))
    return told


_OWNED_BEFORE = re.compile(r"\b(?:its|their|his|her)\s+$|[它其](?:们)?的?$", re.IGNORECASE)
_OWNED = re.compile(r"(?:its|their|his|her)\s+|[它其]们?的?", re.IGNORECASE)


def with_loans(steps: list[Step]) -> list[Step]:
    """Give a step what it lacks and others of the same question have; for each of several values a step."""
    given: list[Step] = []
    for at, step in enumerate(steps):
        several = [step]
        near = sorted((other for other in steps if other is not step), key=lambda other: abs(steps.index(other) - at))
        for slot in step.missing:
            lender = next((other for other in near if any(_lends(each, slot) for each in other.arguments)), None)
            if lender is not None:
                alike = [other for other in steps if other.clause is lender.clause]
                lent = [each for other in alike for each in other.arguments if _lends(each, slot)]
                values = {each.span: Argument(slot, each.value, each.span, each.confidence * 0.7) for each in lent}
                several = [_with(one, value) for one in several for value in values.values()]
        given += several[:1]
        given += [one._replace(number=len(steps) + len(given) + extra) for extra, one in enumerate(several[1:])]
    return given


def _with(step: Step, argument: Argument) -> Step:
    missing = tuple(slot for slot in step.missing if slot.path != argument.slot.path)
    return step._replace(arguments=(*step.arguments, argument), missing=missing)


_ALIKE = {
    "city": {"city", "place", "timezone"},
    "place": {"city", "place", "timezone"},
    "timezone": {"city", "place", "timezone"},
}


def _lends(argument: Argument, slot: Slot) -> bool:
    if argument.slot.name == slot.name and argument.slot.type == slot.type and argument.slot.many == slot.many:
        return True
    kinds = _ALIKE.get(slot.kind, {slot.kind} if slot.kind in ("country", "person", "date", "id", "email") else set())
    return (argument.slot.kind in kinds and argument.span.kind != "country") or (
        argument.slot.kind == slot.kind == "country"
    )
