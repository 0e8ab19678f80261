"""What the parts of a question have in common: one tool for several values, one value for several tools, one topic.

"Beijing and Shanghai" is two calls of one tool; "weather and news for Beijing" lends the city to both; "what is a
drone, and what is its flight control" lends the drone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain

from ..text.clauses import Clause, asks_again
from ..text.lexicon import is_han, wordset
from ..text.spans import Span
from ..text.words import bare, spaced
from ..tools.slots import Slot
from .arguments import Argument, Filled, fill
from .grouping import Call, evened, readings
from .readings import VALUES
from .step import Step


def spread(filled: Filled, clause: Clause) -> list[Call]:
    """The arguments, once for each call that the clause asks for."""
    best = next(iter(readings(filled, clause)), None)
    if best is not None:
        best = evened(best, filled, clause)
    if best is None or len(best.calls) == 1:
        return [filled.arguments]
    mentioned = {each.slot.path for each in best.mentions}
    chosen = [each for each in filled.arguments if each.slot.path not in mentioned | filled.rankings.keys()]
    parts = [fill(filled.indexed, part).arguments for part in best.parts]
    own = [[each for each in part if each.slot.path not in mentioned | filled.rankings.keys()] for part in parts]
    several = {path for path, many in Counter(each.slot.path for part in own for each in part).items() if many > 1}
    common = [each for each in chosen if each.slot.path not in several]
    if not several:
        return [(*call, *common) for call in best.calls]
    return [
        (*call, *(each for each in part if each.slot.path in several), *common)
        for call, part in zip(best.calls, own, strict=True)
    ]


def mentioned(filled: Filled, clause: Clause) -> list[Span]:
    """Where values are said for the tool's slots, in the best reading and where the tool is called once."""
    best = next(iter(readings(filled, clause)), None)
    said = [each.argument.span for each in best.mentions] if best is not None else []
    return [*said, *(each.span for each in filled.arguments)]


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
        and any(span.kind in VALUES and span.start <= token.start < span.end for span in clause.spans)
    }


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


def with_names(steps: list[Step]) -> list[Step]:
    """`The museum` as `Louvre Museum`, `the team` as the team and `he` as the person that a step before was for."""
    told: list[Step] = []
    for step in steps:
        before = [each for other in reversed(told) for each in other.arguments if not is_loose(each.span)]
        arguments = tuple(_named(each, step, before) for each in step.arguments)
        told.append(step._replace(arguments=arguments))
    return told


def _named(argument: Argument, step: Step, before: Sequence[Argument]) -> Argument:
    """The argument, with the value that its words only point to."""
    if argument.slot.kind in _OWN_WORDS or not isinstance(argument.value, str) or not is_loose(argument.span):
        return argument
    words = {bare(word) for word in argument.span.text.split()}
    pointing = _POINTS.search(step.clause.text[: argument.span.start]) or words & wordset("articles")
    words -= wordset("articles")
    if not words:
        return argument
    named = bool(pointing and words & set(spaced(argument.slot.name).lower().split()))
    for each in before:
        if not isinstance(each.value, str):
            continue
        same = each.slot.name == argument.slot.name and each.slot.type == argument.slot.type
        if (same and (named or words & _PERSONS)) or (pointing and words < {bare(word) for word in each.value.split()}):
            return argument._replace(value=each.value)
    return argument


def with_the_same(steps: list[Step]) -> list[Step]:
    """`The same information for Oslo` with all that the step before had which called the same tool."""
    told: list[Step] = []
    for step in steps:
        other = next((each for each in reversed(told) if each.indexed is step.indexed), None)
        again = asks_again(step.clause) or _SAME.search(step.clause.words) is not None
        alike = other is not None and other.clause is not step.clause and again
        told.append(_completed(step, other) if other is not None and alike else step)
    return told


def _completed(step: Step, other: Step) -> Step:
    sure = {each.slot.path for each in other.arguments if not is_loose(each.span)}
    own = [each for each in step.arguments if each.slot.path not in sure or not is_loose(each.span)]
    had = {each.slot.path for each in own}
    more = [each for each in other.arguments if each.slot.path not in had]
    lacking = tuple(slot for slot in step.missing if all(each.slot.path != slot.path for each in more))
    return step._replace(arguments=(*own, *more), missing=lacking)


_SAME = re.compile(
    r"\bthe same(?: (?:information|data|details|thing|query|search|calculation|again))?(?: for| but|[,.?!]|$)",
    re.IGNORECASE,
)

_OWN_WORDS = frozenset({"enum", "boolean", "number", "query", "text", "title", "expression", "sql"})
_POINTS = re.compile(r"\b(?:the|this|that)\s+$", re.IGNORECASE)
_PERSONS = frozenset({"he", "she", "him", "his", "her", "they", "them", "their"})


def is_loose(span: Span) -> bool:
    """Words that are no name and nothing else that could be seen to be a value."""
    return span.kind in ("run", "word", "phrase", "chunk") and not span.text[:1].isupper() and not is_han(span.text)


def with_loans(steps: list[Step]) -> list[Step]:
    """Give a step what it lacks and others of the same question have; for each of several values a step."""
    given: list[Step] = []
    for at, step in enumerate(steps):
        several = [_with_both(step, steps[:at])]
        near = sorted((other for other in steps if other is not step), key=lambda other: abs(steps.index(other) - at))
        for slot in several[0].missing:
            lender = next((other for other in near if any(_lends(each, slot) for each in other.arguments)), None)
            if lender is not None:
                alike = [other for other in steps if other.clause is lender.clause]
                lent = [each for other in alike for each in _lent(other, slot)]
                values = {each.span: Argument(slot, each.value, each.span, each.confidence * 0.7) for each in lent}
                given_it = list(values.values()) if len(step.missing) == 1 else list(values.values())[:1]
                several = [_with(one, value) for one in several for value in given_it]
        given += several[:1]
        given += [one._replace(number=len(steps) + len(given) + extra) for extra, one in enumerate(several[1:])]
    return given


def _with_both(step: Step, before: Sequence[Step]) -> Step:
    """What two slots of a kind lack is what was named last of that kind: `how far apart are the two cities`."""
    lacking = [slot for slot in step.missing if slot.kind in _ALIKE]
    if len(lacking) != 2 or lacking[0].kind != lacking[1].kind:
        return step
    known = [each for other in before for each in other.arguments if _lends(each, lacking[0])]
    last = sorted(
        {each.value: each for each in known if isinstance(each.value, str)}.values(), key=lambda e: e.span.start
    )
    if len(last) < 2:
        return step
    for slot, each in zip(lacking, last[-2:], strict=True):
        step = _with(step, Argument(slot, each.value, each.span, each.confidence * 0.7))
    return step


def pointed_at(slot: Slot, before: Sequence[Step]) -> Argument | None:
    """What `it` is, where an earlier step had a thing of the slot's kind: the file of 打印a.pdf，再把它发给我."""
    files = ([each for each in step.arguments if _is_file_for(each, slot)] for step in reversed(before))
    lent = (_lent(step, slot) for step in reversed(before))
    found = next((each for several in zip(lent, files, strict=True) for each in chain(*several)), None)
    return None if found is None else Argument(slot, found.value, found.span, found.confidence * 0.7)


def _lent(step: Step, slot: Slot) -> list[Argument]:
    """What a step has for a slot; of several, that of a slot of the same name, else what was said last: the hotel is
    where the flight goes to.
    """
    found = [each for each in step.arguments if _lends(each, slot)]
    same = [each for each in found if each.slot.name == slot.name]
    return same or sorted(found, key=lambda each: each.span.start)[-1:]


def _is_file_for(argument: Argument, slot: Slot) -> bool:
    """It is a file's name, and the slot takes a file or a document."""
    taken = slot.kind == "file" or not _FILES.isdisjoint(slot.terms)
    return argument.span.kind == "file" and taken and slot.type == "string" and not slot.many


_FILES = frozenset({"#file", "#document"})


def _with(step: Step, argument: Argument) -> Step:
    missing = tuple(slot for slot in step.missing if slot.path != argument.slot.path)
    return step._replace(arguments=(*step.arguments, argument), missing=missing)


_ALIKE = {
    "city": {"city", "place", "timezone"},
    "place": {"city", "place", "timezone"},
    "timezone": {"city", "place", "timezone"},
}


_ENDS_OF_A_WAY = frozenset({"source", "target"})
"""Roles of what is a place where a name goes into it, whatever its slot is called: the `end` of a route."""


def _lends(argument: Argument, slot: Slot) -> bool:
    if argument.slot.name == slot.name and argument.slot.type == slot.type and argument.slot.many == slot.many:
        return True
    if slot.kind in _ALIKE and argument.slot.kind == "string" and not _ENDS_OF_A_WAY.isdisjoint(argument.slot.roles):
        return argument.span.kind in ("city", "name")
    kinds = _ALIKE.get(slot.kind, {slot.kind} if slot.kind in ("country", "person", "date", "id", "email") else set())
    return (argument.slot.kind in kinds and argument.span.kind != "country") or (
        argument.slot.kind == slot.kind == "country"
    )
