"""From a question to steps: which tools, with which arguments, which of them need what another one finds out.

A plan is a pure function of the question, the tools and the present day. It is made anew each time the model is
asked, and what was done in between is laid over it (`progress`); nothing is kept between two replies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from actum.core.json import Json

from ..text.clauses import Clause, asks_again, sentences, split, tasks, wishes
from ..tools.selection import Indexed, Shelf
from ..tools.slots import Slot
from .arguments import Argument, Filled, fill
from .chain import feeds, points_back, refers_back
from .choosing import Chooser
from .sharing import explained, is_loose, pointed_at, spread, with_loans, with_names, with_the_same, with_topics
from .sieve import sifted
from .step import Need, Step

CHAIN_MIN = 0.5
"""From this score on, a second tool is taken to be meant by the words that the first one leaves over."""


def plan(question: Clause, shelf: Shelf, *, named: bool = False) -> list[Step]:
    """The steps that a question asks for; empty when no tool fits.

    Args:
        question: the question.
        shelf: the tools on offer.
        named: only for tools that it has a word of.
    """
    return sifted(unsifted(question, shelf, named=named))


def unsifted(question: Clause, shelf: Shelf, *, named: bool = False) -> list[Step]:
    """The steps that a question may ask for: some of them perhaps only announce others, or sum them up."""
    chooser = Chooser(shelf, named=named)
    question = _unannounced(question)
    whole = len(shelf.tools) == 1 or chooser.dictates(question)
    steps = _steps_of_all([question] if whole else _clauses(question, chooser), chooser)
    if not steps:
        steps = _steps_of_all(_clauses(question, chooser) if whole else [question], chooser)
    steps = with_loans(with_names(with_the_same(with_topics(_without_titles(steps)))))
    return _without_doubles([step for step in steps if not _is_mere_manner(step, steps)])


def _steps_of_all(clauses: Sequence[Clause], chooser: Chooser) -> list[Step]:
    steps: list[Step] = []
    for clause in clauses:
        steps += list(_steps_of(clause, chooser, tuple(steps)))
    return steps


def guess(question: Clause, shelf: Shelf) -> list[Step]:
    """The steps for the tool that a question comes nearest to, for where `plan` has none; empty when none is near."""
    filled = Chooser(shelf).guess(question)
    if filled is None:
        return []
    return [
        Step(number, filled.indexed, arguments, filled.missing, (), question)
        for number, arguments in enumerate(spread(filled, question))
    ]


def _clauses(question: Clause, chooser: Chooser) -> list[Clause]:
    """The question cut into what asks for one thing each."""

    def is_nearest(piece: Clause) -> bool:
        return chooser.is_nearest(piece, question)

    clauses: list[Clause] = []
    for section in _sections(question, chooser):
        parts = split(section, chooser.names_something, chooser.is_whole, is_nearest)
        first, *more = _rejoined(parts, question, chooser)
        if clauses and _is_begun(clauses[-1], first, chooser):
            first = question.part(clauses.pop().start, first.end)
        clauses += [first, *more]
    return clauses


def _sections(question: Clause, chooser: Chooser) -> list[Clause]:
    """The question cut where a sentence begins with `Second,` or `Then`, if what follows is enough for a call."""
    sections: list[Clause] = []
    for part in reversed(tasks(question)):
        end = sections[-1].start if sections else question.end
        section = question.part(part.start, end)
        found = chooser.choose(section) if part.start > question.start else None
        if found is not None and found.complete:
            sections.append(section)
    return [question.part(question.start, sections[-1].start if sections else question.end), *reversed(sections)]


def _rejoined(clauses: Sequence[Clause], question: Clause, chooser: Chooser) -> list[Clause]:
    """Clauses that are for one call put together again: "I am 1.75 m tall, I weigh 70 kg, what is my BMI"."""
    joined: list[Clause] = []
    for clause in clauses:
        whole = question.part(joined[-1].start, clause.end) if joined else clause
        if joined and _is_one_tool(joined[-1], clause, whole, chooser):
            joined[-1] = whole
        else:
            joined.append(clause)
    return joined


def _is_one_tool(left: Clause, right: Clause, whole: Clause, chooser: Chooser) -> bool:
    """The parts are for the same tool, or the second for none and the whole for that of the first. Whether it is one
    call or several, `sharing` tells.
    """
    if asks_again(left) or asks_again(right):
        return False
    first, second, together = chooser.choose(left), chooser.choose(right), chooser.choose(whole)
    if first is None and second is not None and together is not None and second.indexed is together.indexed:
        return len(together.missing) < len(second.missing)  # the values are told first, then what to do with them
    if first is None or together is None or first.indexed is not together.indexed:
        return False
    if second is None or (second.missing and _is_told_as_well(first, second, together, right, chooser)):
        return True
    return second.indexed is first.indexed and not _says_more(((first, left), (second, right)), (together, whole))


def _is_told_as_well(first: Filled, second: Filled, together: Filled, right: Clause, chooser: Chooser) -> bool:
    """The right part lacks something for its own tool, names that of the left part as well, and has values for it."""
    scores = {each.indexed.tool.name: each.score for each in chooser.ranked(right)}
    named = scores.get(first.indexed.tool.name, 0.0) >= 0.8 * scores.get(second.indexed.tool.name, 0.0)
    taken = [each.span for each in together.arguments]
    own = {each.span for each in second.arguments}
    return named and not together.missing and bool(own) and all(any(a.overlaps(b) for b in taken) for a in own)


def _is_begun(left: Clause, right: Clause, chooser: Chooser) -> bool:
    """What the left part asks for lacks something, and the right part asks for the same and lacks nothing."""
    first, second = chooser.choose(left), chooser.choose(right)
    return (
        first is not None
        and second is not None
        and first.indexed is second.indexed
        and bool(first.missing)
        and not second.missing
    )


def _says_more(apart: Sequence[tuple[Filled, Clause]], joined: tuple[Filled, Clause]) -> bool:
    """Calls of their own take more of the values that are said."""
    if not all(filled.complete for filled, _ in apart):
        return False
    calls = [call for filled, clause in apart for call in spread(filled, clause)]
    return explained(calls, joined[1]) > explained(list(spread(*joined)), joined[1])


def _steps_of(clause: Clause, chooser: Chooser, before: Sequence[Step]) -> Iterator[Step]:
    """The steps of one clause: one, several alike, or one that finds out what another needs."""
    again = bool(before) and asks_again(clause)
    filled = fill(before[-1].indexed, clause) if again else chooser.choose(clause)
    if filled is None:
        return
    chain = None if again else _chain(filled, clause, chooser.shelf)
    if chain is not None:
        first, second, slot = chain
        yield Step(len(before), first.indexed, first.arguments, first.missing, (), clause)
        lacking = tuple(each for each in second.missing if slot is None or each.path != slot.path)
        given = (Need(slot, len(before)),) if slot is not None else ()
        yield Step(len(before) + 1, second.indexed, second.arguments, lacking, given, clause)
        return
    missing = filled.missing
    needs: tuple[Need, ...] = ()
    lent: tuple[Argument, ...] = ()
    if missing and before and not again:
        found = {slot.path for slot in missing if feeds(before[-1].indexed, slot, before[-1].arguments)}
        pointed = (pointed_at(slot, before) for slot in missing if points_back(clause) and slot.path not in found)
        lent = tuple(each for each in pointed if each is not None)
        missing = tuple(slot for slot in missing if all(each.slot.path != slot.path for each in lent))
        needs = tuple(Need(slot, before[-1].number) for slot in missing if refers_back(clause, slot))
        missing = tuple(slot for slot in missing if all(need.slot.path != slot.path for need in needs))
    for number, arguments in enumerate(spread(filled, clause), len(before)):
        own = {each.slot.path for each in arguments}
        borrowed = (each for each in lent if each.slot.path not in own)
        yield Step(number, filled.indexed, (*arguments, *borrowed), missing, needs, clause)


def _chain(filled: Filled, clause: Clause, shelf: Shelf) -> tuple[Filled, Filled, Slot | None] | None:
    """Two tools of one clause: the first finds out what a slot of the second needs, as in "the weather on the
    birthday of X".

    The other tool is named by words that the chosen one leaves over. Where neither needs the other, both are called.
    Without such words a tool can be named by the slot itself: `find_user` for a `user_id` that nobody said.
    """
    for other in _others_named(filled, clause, shelf):
        for first, second in ((other, filled.indexed), (filled.indexed, other)):
            given = fill(first, clause)
            if given.missing:
                continue
            rest = fill(second, clause, avoid=[each.span for each in given.arguments])
            had = {each.slot.path for each in rest.arguments}
            for slot in sorted(second.slots, key=lambda slot: not slot.required):
                if slot.path not in had and feeds(first, slot, given.arguments):
                    return given, rest, slot
        both = fill(other, clause)
        loose = bool(both.arguments) and all(is_loose(each.span) for each in both.arguments)
        if not both.missing and not filled.missing and not loose and _apart(filled, both):
            return filled, both, None
    unsure = [
        each.slot
        for each in filled.arguments
        if each.slot.kind == "id" and each.span.kind in ("name", "phrase", "chunk")
    ]
    for slot in (*filled.missing, *unsure):
        for tool in shelf.tools:
            if tool is filled.indexed or not tool.required or not feeds(tool, slot, (), by_name=True):
                continue
            given = fill(tool, clause)
            if not given.missing:
                return given, fill(filled.indexed, clause, avoid=[each.span for each in given.arguments]), slot
    return None


def _apart(one: Filled, other: Filled) -> bool:
    """Two calls have only such words in common as may be lent: the city of "the weather and the news in Oslo"."""
    return not any(
        mine.span.overlaps(theirs.span)
        for mine in one.arguments
        for theirs in other.arguments
        if mine.span.kind not in _LENT
    )


_LENT = frozenset({"city", "country", "date", "time"})


def _others_named(filled: Filled, clause: Clause, shelf: Shelf) -> list[Indexed]:
    """Tools that the words which the chosen one leaves over name without doubt."""
    matched = {term.key for term in clause.terms if filled.indexed.weights.get(term.key, 0.0) >= 0.5}
    taken = [
        each.span
        for each in filled.arguments
        if each.slot.kind in ("enum", "query", "text", "title", "expression", "sql", "boolean")
    ]
    left = [
        term
        for term in clause.terms
        if term.key not in matched and not any(span.start <= term.start < span.end for span in taken)
    ]
    named = [
        each for each in shelf.rank(left, (), "") if each.score >= CHAIN_MIN and each.indexed is not filled.indexed
    ][:2]
    sure = [term.key for term in left if term.weight == 1.0 and term.key[0] == "#"]
    return [each.indexed for each in named if any(each.indexed.weights.get(key, 0.0) >= 0.75 for key in sure)]


def _unclosed(question: Clause) -> Clause:
    """The question without a last sentence that only asks for all that was said: `Can you assist John with these?`"""
    *before, last = sentences(question) or [question]
    if not before or _CLOSES.fullmatch(last.words.strip()) is None:
        return question
    return question.part(question.start, before[-1].end)


_CLOSES = re.compile(
    r"(?:and )?(?:can|could|would|will) you (?:please )?(?:help|assist|do|solve|handle|answer|find|calculate|provide)\b"
    r"(?: (?:me|us|him|her|them|[A-Z]\w+))?(?: (?:out|with|by|to|of))*(?: me)?(?: (?:all|any|some))?(?: of)?"
    r" (?:this|these|that|those|it all|them)\b"
    r"(?: (?:tasks?|things?|questions?|problems?|calculations?|conversions?|requests?))?"
    r"(?: (?:for|with) (?:me|us|him|her))?(?:,? please)?\W*",
    re.IGNORECASE,
)
_ANNOUNCES = re.compile(r"\W*(?:can|could|would) you (?:please )?(?:help|assist)\b", re.IGNORECASE)
_ANNOUNCES_HAN = re.compile(
    r"\s*(?:我?想?问你?|我?有|麻烦你?|帮我?办?|一共)?[两三四几]件事情?(?:麻烦你|要办)?[，,：:。]\s*"
)


def _unannounced(question: Clause) -> Clause:
    """The question without a first sentence that only says that there is one: `Can you help me with two things?`"""
    announced = _ANNOUNCES_HAN.match(question.text, question.start)
    if announced is not None:
        return question.part(announced.end(), question.end)
    question = _unclosed(question)
    opening = sentences(question)[:1]
    if not opening or _ANNOUNCES.match(opening[0].words) is None:
        return question
    rest = question.part(opening[0].end, question.end)
    said = any(span.kind in _SAID and not span.text.isalpha() for span in opening[0].spans)
    return rest if len(rest.tokens) > len(opening[0].tokens) and not said else question


_SAID = frozenset({"number", "quoted", "date", "time", "code", "url", "email", "name", "formula"})


def _without_titles(steps: list[Step]) -> list[Step]:
    """`Help me with some sums`, or `so how many miles is that?`: what lacks something, and says nothing that a call of
    the same tool does not say already, is its title.
    """
    said: dict[str, list[Json]] = {}
    for step in steps:
        if step.arguments:
            known = said.setdefault(step.indexed.tool.name, [])
            known.extend(each.value for each in step.arguments if not step.missing)
    return [step for step in steps if not _is_said(step, said)]


def _is_said(step: Step, said: Mapping[str, Sequence[Json]]) -> bool:
    known = said.get(step.indexed.tool.name)
    return (
        known is not None
        and bool(step.missing)
        and (bool(known) or not step.arguments)
        and all(each.value in known or is_loose(each.span) for each in step.arguments)
    )


def _is_mere_manner(step: Step, steps: Sequence[Step]) -> bool:
    """`search before you answer` says how, not what: a search for nothing, beside steps that are for something."""
    return (
        step.indexed.searches and bool(step.missing) and any(not other.missing for other in steps if other is not step)
    )


def _is_half_of(step: Step, other: Step) -> bool:
    """Another call of its tool, in the same clause, has all that it has and more, said with the same words; or another
    one asks for it with the same values, where it only tells something: `It has an initial speed of 5 m/s.`
    """
    if other is step or other.indexed is not step.indexed:
        return False
    if other.clause is step.clause:
        more = {(each.slot.path, each.span) for each in other.arguments}
        had = {(each.slot.path, each.span) for each in step.arguments}
        return had < more
    values = {each.slot.path: each.value for each in other.arguments}
    same = all(values.get(each.slot.path) == each.value for each in step.arguments)
    return same and _tells(step.clause) and not _tells(other.clause)


def _tells(clause: Clause) -> bool:
    """It asks for nothing: no question, no wish, no command."""
    return _TELLS.match(clause.words) is not None and not wishes(clause)


_TELLS = re.compile(
    r"\W*(?:at|in|on|the|an?|it|he|she|they|we|i|there|my|our|his|her|[A-Z][a-z]+ (?:has|is|wants))\b", re.IGNORECASE
)


def _without_doubles(steps: Sequence[Step]) -> list[Step]:
    """Each call once; what needs the second one of two needs the first instead."""
    kept: list[Step] = []
    instead: dict[int, int] = {}
    for step in steps:
        if any(_is_half_of(step, other) for other in steps):
            continue
        needs = tuple(Need(need.slot, instead.get(need.step, need.step)) for need in step.needs)
        known = next((other for other in kept if step.same_call(other)), None)
        if known is not None:
            instead[step.number] = known.number
        else:
            kept.append(step._replace(needs=needs))
    return kept
