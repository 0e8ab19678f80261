"""Which piece of the question goes into which slot of a tool, and how sure that is.

Every pair of a slot and a span gets a score (`features`). The pairs are taken best first, and no two slots take the
same words. Text that is free by nature (what to search, what to write down) is what remains; `content` finds it.

Every argument carries its span and its confidence. Below `REQUIRED_MIN` a required slot counts as not said, and is
asked for; an optional one needs `OPTIONAL_MIN`, so that what nobody said stays out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...core.json import Json, JsonObject
from .choices import chosen_values, truth
from .clauses import Clause
from .content import content_of
from .features import Features, features, score
from .lexicon import wordset
from .selection import Indexed
from .slots import Slot
from .spans import Span
from .words import bare

REQUIRED_MIN = 0.2
OPTIONAL_MIN = 0.5
FREE_TEXT = ("query", "text", "title", "string")


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
    """

    indexed: Indexed
    arguments: tuple[Argument, ...]
    missing: tuple[Slot, ...]
    spare: tuple[Span, ...]


def fill(indexed: Indexed, clause: Clause, *, avoid: Sequence[Span] = ()) -> Filled:
    """Give a tool's slots what the clause says.

    Args:
        indexed: the tool.
        clause: the clause; its spans are what may be taken.
        avoid: spans that are taken already, by another tool of the same clause.
    """
    spans = [span for span in clause.spans if not any(span.overlaps(other) for other in avoid)]
    taken = _assigned(indexed, clause, spans)
    taken |= _choices(indexed, clause, taken)
    taken |= _implied(indexed, clause, taken)
    free = [slot for slot in indexed.slots if slot.path not in taken and slot.kind in FREE_TEXT and not slot.many]
    for slot in sorted(free, key=lambda slot: not slot.required):
        found = content_of(slot, indexed, clause, [*avoid, *_with_twins(taken, clause)])
        if found is not None and found[1] >= (REQUIRED_MIN if slot.required else OPTIONAL_MIN):
            taken[slot.path] = Argument(slot, found[0].value, *found)
    arguments = tuple(taken[slot.path] for slot in indexed.slots if slot.path in taken)
    missing = tuple(slot for slot in indexed.slots if slot.required and slot.path not in taken)
    spare = [span for span in spans if span.kind in _TYPED and not any(span.overlaps(each.span) for each in arguments)]
    return Filled(indexed, arguments, missing, tuple(spare))


def _with_twins(taken: dict[tuple[str, ...], Argument], clause: Clause) -> list[Span]:
    """The spans that are taken, and those that are named beside one of them: both of "into Chinese and German"."""
    spans = [each.span for each in taken.values()]
    twins = [
        other
        for span in spans
        for other in clause.spans
        if other.kind == span.kind and other.start >= span.end and clause.joins(span, other)
    ]
    return spans + twins


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


def _assigned(indexed: Indexed, clause: Clause, spans: Sequence[Span]) -> dict[tuple[str, ...], Argument]:
    """The best pairs, each slot and each word used once; an array takes all that fit."""
    pairs = sorted(_pairs(indexed, clause, spans), key=lambda pair: (-pair[0], pair[2].start, pair[1].path))
    taken: dict[tuple[str, ...], Argument] = {}
    many: dict[tuple[str, ...], list[Argument]] = {}
    used: list[Span] = []
    for confidence, slot, span in pairs:
        if any(span.overlaps(other) for other in used) or (slot.path in taken and not slot.many):
            continue
        value = value_for(slot, span)
        if value is None:
            continue
        used.append(span)
        if slot.many:
            many.setdefault(slot.path, []).append(Argument(slot, value, span, confidence))
        else:
            taken[slot.path] = Argument(slot, value, span, confidence)
    for path, found in many.items():
        found.sort(key=lambda argument: argument.span.start)
        surest = max(argument.confidence for argument in found)
        taken[path] = Argument(found[0].slot, [argument.value for argument in found], found[0].span, surest)
    return taken


def _pairs(indexed: Indexed, clause: Clause, spans: Sequence[Span]) -> Iterator[tuple[float, Slot, Span]]:
    for slot in indexed.slots:
        least = REQUIRED_MIN if slot.required else OPTIONAL_MIN
        for span in spans:
            found = features(slot, span, indexed, clause)
            confidence = score(found)
            if confidence >= least and (slot.required or _is_said(span, found)):
                yield confidence, slot, span


def _is_said(span: Span, found: Features) -> bool:
    """Whether a word says that a span is meant for an optional slot; what is typed well enough needs none."""
    cued = found.cue_before or found.cue_after
    match span.kind:
        case "name" | "phrase" | "chunk" | "word":
            return bool(cued)
        case "number":
            return bool(cued or found.beside or found.unit_agrees)
        case _:
            return True


def _choices(
    indexed: Indexed, clause: Clause, taken: dict[tuple[str, ...], Argument]
) -> dict[tuple[str, ...], Argument]:
    """Slots that take one of a few values, by the meaning of the clause's words."""
    found: dict[tuple[str, ...], Argument] = {}
    for slot in indexed.slots:
        least = REQUIRED_MIN if slot.required else OPTIONAL_MIN
        if slot.kind == "enum":
            options = [option for option in chosen_values(slot, indexed.named, clause) if option[2] >= least]
            if options and slot.many:
                found[slot.path] = Argument(slot, [value for value, _, _ in options], options[0][1], options[0][2])
            elif options:
                found[slot.path] = Argument(slot, *options[0])
        elif slot.kind == "boolean":
            said = truth(slot, indexed.named, clause)
            if said is not None:
                found[slot.path] = Argument(slot, said[0], said[1], 0.8)
    return {path: argument for path, argument in found.items() if path not in taken}


def _implied(
    indexed: Indexed, clause: Clause, taken: dict[tuple[str, ...], Argument]
) -> dict[tuple[str, ...], Argument]:
    """The present day, where two days are asked for, one is said, and `until` or `since` stands by it."""
    days = [slot for slot in indexed.slots if slot.kind == "date" and slot.required]
    said = [taken[slot.path] for slot in days if slot.path in taken]
    if len(days) != 2 or len(said) != 1:
        return {}
    given = said[0]
    words = {bare(token.text) for token in clause.tokens}
    today = Span("date", given.span.start, given.span.start, "", clause.today.isoformat())
    first, last = days
    if words & wordset("since"):
        return {first.path: given._replace(slot=first), last.path: Argument(last, today.value, today, 0.7)}
    if words & wordset("until"):
        return {first.path: Argument(first, today.value, today, 0.7), last.path: given._replace(slot=last)}
    return {}


def value_for(slot: Slot, span: Span) -> Json | None:
    """The span's value as the slot's schema wants it; None when it can not be that."""
    match slot.type:
        case "integer":
            whole = isinstance(span.value, int | float) and float(span.value).is_integer()
            return int(span.value) if whole and isinstance(span.value, int | float) else None
        case "number":
            return span.value if isinstance(span.value, int | float) else None
        case "string":
            if span.kind == "language" and ("code" in slot.description.lower() or "code" in slot.name):
                return span.detail
            if span.kind == "currency":
                return span.detail.split(":")[0]
            return span.text if isinstance(span.value, int | float) else span.value
        case _:
            return span.value
