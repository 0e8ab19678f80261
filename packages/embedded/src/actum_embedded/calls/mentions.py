"""Mentions: every piece of a clause that may be a value of a tool's slot, also where the slot has a likelier one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..text.clauses import Clause
from ..text.spans import Span
from ..tools.candidates import View
from ..tools.choices import LITERAL, SAID, chosen_values
from ..tools.slots import Slot
from .arguments import UNTIL, Argument, Filled, implied, is_counted, is_same, two_ways

MENTIONS_MAX = 8
"""So many of a slot, the likeliest ones."""

LEAST, MOST = -1.0, 15.0
"""A piece for which less speaks than for nothing by this much is none; and so much is counted at most."""

CHOSEN, HINTED, IMPLIED = 4.0, 1.0, 3.0
"""What speaks for a value of an enumeration that is said, that is only alike, and for a number that words imply."""


class Mention(NamedTuple):
    """A piece that may be a value of a slot.

    Attributes:
        argument: the value, and of which slot.
        first, last: its tokens are `tokens[first:last]`.
        gain: how much more speaks for it than for nothing, as a logarithm.
        kinds: kinds of the typed spans that are exactly this piece.
    """

    argument: Argument
    first: int
    last: int
    gain: float
    kinds: tuple[str, ...]

    @property
    def slot(self) -> Slot:
        """Whose value it may be."""
        return self.argument.slot


def mentions_of(filled: Filled, clause: Clause) -> list[Mention]:
    """The mentions of a tool's slots in the order of the clause.

    Args:
        filled: the tool, with what else could go into its slots.
        clause: the clause.
    """
    found = [
        each
        for slot in filled.indexed.slots
        if not slot.many or slot.path in filled.rankings
        for each in _of_slot(slot, filled, clause)
    ]
    said = {
        span
        for slot in filled.indexed.slots
        if slot.kind == "enum"
        for _, span, sure in chosen_values(slot, filled.indexed.named, clause)
        if sure >= LITERAL
    }
    free = [
        each for each in found if each.slot.kind == "enum" or not any(is_same(each.argument.span, one) for one in said)
    ]
    for source, target in two_ways(filled.indexed):
        given = [each for each in free if each.slot is source and is_counted(each.argument.span, clause)]
        if given:
            spans = {each.argument.span for each in given}
            free = [each for each in free if each.slot is not source or each in given]
            free = [each for each in free if each.slot is not target or each.argument.span not in spans]
    lasts = _ends_of_ranges(clause) | {
        each.span.start for each in filled.arguments if each.slot.type in ("integer", "number")
    }
    only = {kind for kind in _RANGED if sum(slot.kind == kind for slot in filled.indexed.slots) == 1}
    free = [each for each in free if each.slot.kind not in only or each.argument.span.start not in lasts]
    return sorted(free, key=lambda each: (each.first, each.last))


_RANGED = ("time", "datetime", "date")
"""Kinds of which the end of a range is no second value, where the tool takes but one of them: 两点 of 一点到两点."""


def _ends_of_ranges(clause: Clause) -> set[int]:
    """Where the last ends of ranges of times and days begin."""
    moments = [span for span in clause.spans if span.kind in _RANGED]
    return {
        last.start
        for first in moments
        for last in moments
        if first.end < last.start and UNTIL.fullmatch(clause.text[first.end : last.start])
    }


def _of_slot(slot: Slot, filled: Filled, clause: Clause) -> Iterator[Mention]:
    taken = {each.span for each in filled.arguments if each.slot is slot}
    ranking = filled.rankings.get(slot.path)
    if ranking is not None:
        likely = [each for each in ranking.ranked if each.candidate.last > each.candidate.first]
        for at, each in enumerate(likely):
            candidate, gain = each.candidate, min(MOST, each.score - ranking.empty)
            if (at < MENTIONS_MAX and gain > LEAST) or candidate.span in taken:
                argument = Argument(slot, candidate.value, candidate.span, 1.0 - ranking.none)
                yield Mention(argument, candidate.first, candidate.last, gain, candidate.kinds)
    elif slot.kind == "enum":
        for value, span, sure in chosen_values(slot, filled.indexed.named, clause):
            gain = CHOSEN if sure >= SAID else HINTED
            yield from (
                _placed(Argument(slot, value, said, sure), gain, "enum", clause) for said in _everywhere(span, clause)
            )
    if slot.type in ("integer", "number") and not slot.many:
        yield from (_placed(each, IMPLIED, "implied", clause) for each in implied(slot, clause))


def _placed(argument: Argument, gain: float, kind: str, clause: Clause) -> Mention:
    tokens = View.of(clause).tokens
    inside = [
        at for at, token in enumerate(tokens) if token.start < argument.span.end and argument.span.start < token.end
    ]
    return Mention(argument, inside[0] if inside else 0, inside[-1] + 1 if inside else 0, gain, (kind,))


def _everywhere(span: Span, clause: Clause) -> Iterator[Span]:
    """A piece wherever it is said."""
    for match in re.finditer(rf"(?<![a-zA-Z]){re.escape(span.text)}(?![a-zA-Z])", clause.words):
        start = clause.start + match.start()
        yield span._replace(start=start, end=start + len(match[0]))
