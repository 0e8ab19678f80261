"""Whether a message orders a call, or speaks of the call in another way: forbids it, takes it back, asks whether it was
done, imagines it, or wants a draft of it. `objection` names the words that speak against a call.

A sentence is cut into parts at commas and at words such as `but` and `so`. A part that has a verb of the tool is what
is said of the call; the other parts and sentences count where they point at the call (`but don't send it`). What is
handed on as a text (`tell Ada not to come`, a quote) is no part of the request. The patterns are in `mood_words`.

Not covered: the middle of a message of more than 20,000 characters, irony, wishes without a word of the lists, and
negation that is spelled in a way that nobody expects.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from actum.core.json import Json
from actum.core.tool import Tool

from .calls.arguments import Argument
from .calls.step import Step
from .mood_words import (
    ASKED_ABOUT,
    CALLED_OFF,
    CALLS_OFF,
    CONDITION,
    CONTRAST,
    CUT,
    DONE_BEFORE,
    DRAFTS,
    FORBIDS,
    HANDS_ON,
    HARMLESS,
    IMAGINED,
    IRREGULAR,
    JOINED,
    JUDGED,
    JUDGED_AFTER,
    LOOK_FIRST,
    LOOKS,
    MEASURES,
    NEGATION,
    NO_ANSWER,
    NO_MORE,
    ON_CONDITION,
    PAST_FORM,
    POINTS,
    QUESTION,
    REASON,
    RELATED,
    REMOVES,
    REPORTED,
    RISK,
    SENTENCE_END,
    TAG,
    TAKES_BACK,
    TELLS,
    TEXT_BEGINS,
    TOLD_DONE,
    UNLIKE,
    UNWANTED,
    WANTED_DONE,
    WAS_MADE,
)
from .text.meanings import sort_of
from .text.words import Term, keys_of, spaced, told_terms
from .tools.selection import Indexed

WORDS_MAX = 40
"""So many characters are quoted of the words that speak against a call."""

LENGTH_MAX = 20_000
"""So many characters of a message are read; of a longer one its first half and its last."""

_TEXTS = frozenset({"text", "title", "query", "string"})
"""Kinds of slots that take what is handed on."""


class _Part(NamedTuple):
    """A part of a sentence.

    Attributes:
        text: its words; what is handed on to somebody is blanked out.
        start: its place in the message.
        sentence: the number of its sentence.
        acts: the places in `text` of the words that name what the tool does.
        asks: its sentence is a question.
        own: it may belong to this call: it lies in the sentences of the call and not in the clause of another one.
    """

    text: str
    start: int
    sentence: int
    acts: tuple[tuple[int, int], ...]
    asks: bool
    own: bool

    @property
    def first(self) -> int:
        """Where the call is spoken of first; the end where it is not."""
        return self.acts[0][0] if self.acts else len(self.text)


class _Said(NamedTuple):
    """A message as it is read for one call.

    Attributes:
        parts: all of its parts.
        acting: the parts that speak of the call: those with a word for what the tool does, else all of its own.
        arguments: the arguments of the call that stand in the message.
    """

    parts: tuple[_Part, ...]
    acting: tuple[_Part, ...]
    arguments: tuple[Argument, ...]

    @property
    def others(self) -> Iterator[_Part]:
        """The parts of the same sentences that do not speak of the call."""
        return (part for part in self.parts if part.own and part not in self.acting)


def weighed(steps: Sequence[Step], said: str) -> list[Step]:
    """Steps that a message asks for, each with the words of the message that speak against the call.

    Args:
        steps: the steps; their clauses lie in the message.
        said: the whole message, also what is too long to be read otherwise.
    """
    said = _shortened(said)
    return [step._replace(against=step.against or objection(step, said, steps)) for step in steps]


def _shortened(said: str) -> str:
    return said if len(said) <= LENGTH_MAX else f"{said[: LENGTH_MAX // 2]}\n{said[-LENGTH_MAX // 2 :]}"


def answer_weighed(step: Step, answer: str) -> Step:
    """A step that waited for the user, with the words of the user's answer that speak against the call."""
    if step.against or step.indexed.tool.reads_only:
        return step
    text = _without_quotes(_shortened(answer))
    found = (_first(part.text, *_NO_ANSWERS) for part in _parts(text, (0, len(text)), (), _verbs(step.indexed)))
    return step._replace(against=next((words for words in found if words), ""))


_NO_ANSWERS = (
    *(CALLED_OFF, CALLS_OFF, FORBIDS, UNWANTED, NO_ANSWER, CONDITION, RISK, DRAFTS),
    *(*IMAGINED, *ASKED_ABOUT, *LOOK_FIRST),
)


def objection(step: Step, said: str, steps: Sequence[Step] = ()) -> str:
    """The words of a message that speak against a call; empty where the call is ordered.

    Against a call that only reads speak a prohibition of the call and what takes the call back, and nothing else.

    Args:
        step: the call; its clause lies in the message.
        said: the message.
        steps: all calls that the message asks for.
    """
    tool = step.indexed.tool
    read = _read(step, said, steps)
    telling = tool.reads_only or _tells_only(tool)
    found = _called_off(step, read) or _left_out(step, said) or _forbidden(read, FORBIDS if telling else NEGATION)
    if found or telling:
        return found
    if tool.effects is None and not any(part.acts for part in read.parts):
        # what the tool does nobody knows, and nobody speaks of it
        return _conditional(step.indexed, read) or next(
            (found for part in read.acting if (found := _first(part.text, DONE_BEFORE))), ""
        )
    return (
        _conditional(step.indexed, read)
        or _imagined(tool, read)
        or _reported(read)
        or _past(step.indexed, read)
        or _drafted(step.indexed, read)
    )


# What is said of the call ---------------------------------------------------------------------------------------------


def _forbidden(read: _Said, negation: re.Pattern[str]) -> str:
    """A negation before what the tool does, or a prohibition that points at the call."""
    for part in read.acting:
        before = _without(part.text[: part.first], HARMLESS, part.text)
        if part.acts:
            found = _first(before, negation) or _after(part) or _inherited(part, read)
        else:
            found = _first(_told(part), FORBIDS) or _first(before, UNWANTED)
            found = found if found and _points(part, read.arguments, found) else ""
        if found:
            return found
    for part in read.others:
        if (found := _first(_told(part), FORBIDS)) and _points(part, read.arguments, found):
            return found
    sentences = {part.sentence for part in read.parts if part.own}
    for part in read.parts:
        if part.sentence in sentences or not (found := _first(_told(part), FORBIDS)):
            continue
        if part.acts or POINTS.search(part.text) or found == part.text.strip():
            return found
    return ""


def _told(part: _Part) -> str:
    """A part without the negations that forbid nothing."""
    return RELATED.sub(" ", _without(part.text, HARMLESS))


def _after(part: _Part) -> str:
    """A prohibition behind what the tool does: `delete it you must not`, `send nothing`, `files don't delete`."""
    if not part.acts:
        return ""
    rest = RELATED.sub(" ", _without(part.text[part.acts[0][1] :], HARMLESS))
    return _first(rest, FORBIDS) or _first(rest, NO_MORE)


def _inherited(part: _Part, read: _Said) -> str:
    """The prohibition of the part before, to which this one is joined by nothing but `and` or `or`."""
    before = [each for each in read.parts if each.sentence == part.sentence and each.start < part.start]
    if not before or not JOINED.match(part.text):
        return ""
    return _first(_without(before[-1].text, HARMLESS), FORBIDS)


def _points(part: _Part, arguments: Sequence[Argument], found: str) -> bool:
    """A prohibition speaks of the call: it says nothing more, or `it`, or a value that the call has."""
    end = part.start + len(part.text)
    valued = any(
        part.start < each.span.end and each.span.start < end and not _is_negative(each.value) for each in arguments
    )
    return valued or POINTS.search(part.text) is not None or len(part.text.strip()) <= len(found) + 1


def _is_negative(value: Json) -> bool:
    """A value that holds the negation itself: no, or `不辣`."""
    return isinstance(value, bool) or (isinstance(value, str) and UNLIKE.search(value) is not None)


def _left_out(step: Step, said: str) -> str:
    """An argument is just what is not meant: `not notes.txt`, `everything except report.txt`."""
    for argument in step.arguments:
        if _is_negative(argument.value) or not _is_of(argument, said):
            continue
        before = SENTENCE_END.split(said[: argument.span.start])[-1]
        match = CONTRAST.search(_without(before, HARMLESS))
        if match is not None:
            return f"{match[0].strip()} {argument.span.text}"
    return ""


def _called_off(step: Step, read: _Said) -> str:
    """The message takes the call back, or asks for an earlier one to be undone."""
    indexed = step.indexed
    own, told = _own_words(indexed), frozenset(indexed.weights)
    first = min((part.start for part in read.acting), default=0)
    for part in read.parts:
        phrase = CALLED_OFF.search(part.text)
        if phrase and REASON.search(phrase[0]) and not own.isdisjoint(TAKES_BACK):
            continue
        acting = part in read.acting
        if phrase and (acting or part.start > first) and keys_of(phrase[0]).isdisjoint(own):
            return phrase[0].strip(" ,，.。!！?？")
        verb = CALLS_OFF.search(part.text) if acting else None
        if verb and any(each.span.start <= part.start + verb.start() < each.span.end for each in read.arguments):
            continue
        other = verb and verb.start() < part.first and keys_of(verb[0]).isdisjoint(own if part.acts else told)
        if verb and other and (part.acts or own.isdisjoint(REMOVES)):
            return verb[0].strip()
    return ""


def _past(indexed: Indexed, read: _Said) -> str:
    """All that is said of the call is whether, when or by whom it was made."""
    found = [_first(part.text, *ASKED_ABOUT) or _done(part, indexed.tool) for part in read.acting]
    return found[0] if found and all(found) else ""


def _done(part: _Part, tool: Tool) -> str:
    """The first word for what the tool does is in the past: `I deleted report.txt`."""
    if not part.acts:
        return ""
    if found := _first(part.text[: part.acts[0][1]], TOLD_DONE):
        return found
    if WANTED_DONE.search(part.text):
        return ""
    if found := _first(part.text, WAS_MADE):
        return found
    first, last = part.acts[0]
    word = part.text[first:last].lower()
    past = PAST_FORM.fullmatch(word) is not None or word in IRREGULAR
    return word if past and word not in f"{spaced(tool.name)} {tool.description}".lower() else ""


def _reported(read: _Said) -> str:
    """The call is judged, or somebody else's order is told."""
    told = [
        _first(part.text[: part.acts[0][1]], REPORTED, JUDGED) or _first(part.text, JUDGED_AFTER)
        for part in read.acting
        if part.acts
    ]
    return told[0] if told and all(told) else ""


def _conditional(indexed: Indexed, read: _Said) -> str:
    """The call depends on something. Of a tool that declares nothing, `what is the area if` is a question about it."""
    if not ON_CONDITION.isdisjoint(indexed.weights):
        return ""
    sentences = {part.sentence for part in read.acting}
    for part in read.parts:
        here = part.sentence in sentences or (part.sentence - 1 in sentences and _STARTS_LATER.match(part.text))
        given = indexed.tool.effects is None and part.asks and not part.acts
        if here and not given and (found := _first(_without(part.text, HARMLESS), CONDITION)):
            return found
    return ""


_STARTS_LATER = re.compile(r"\W*(?:but|only|unless|except|though|if|provided|但|只有|除非|如果)", re.IGNORECASE)


def _imagined(tool: Tool, read: _Said) -> str:
    """The call is only thought of."""
    texts = [_without(part.text, HARMLESS) for part in read.acting]
    if tool.effects is None:
        texts = [_without(text, MEASURES) for text in texts]
    asked = [_first(text, *IMAGINED) for text in texts]
    if asked and all(asked):
        return asked[0]
    return next((found for part in read.parts if part.own and (found := _first(part.text, RISK, TAG))), "")


def _drafted(indexed: Indexed, read: _Said) -> str:
    """A draft is wanted, or a look before the call is made."""
    own = _own_words(indexed) | keys_of(" ".join(spaced(slot.name) for slot in indexed.slots))
    for part in read.parts:
        if not part.own and not POINTS.search(part.text):
            continue
        draft = _first(part.text, DRAFTS)
        if draft and keys_of(draft).isdisjoint(own):
            return draft
        if found := _first(part.text, *LOOK_FIRST):
            return found
    return ""


# The message for one call ---------------------------------------------------------------------------------------------


def _read(step: Step, said: str, steps: Sequence[Step]) -> _Said:
    others = [
        (each.clause.start, each.clause.end)
        for each in steps
        if (each.clause.start, each.clause.end) != (step.clause.start, step.clause.end)
    ]
    text = _without_handed_on(step, said)
    parts = tuple(_parts(text, (step.clause.start, step.clause.end), others, _verbs(step.indexed)))
    own = [part for part in parts if part.own]
    acting = [part for part in own if part.acts]
    return _Said(parts, tuple(acting or own or parts), tuple(each for each in step.arguments if _is_of(each, said)))


def _parts(
    text: str, clause: tuple[int, int], others: Sequence[tuple[int, int]], verbs: frozenset[str]
) -> Iterator[_Part]:
    """The parts of a message."""
    for number, (begin, finish) in enumerate(_cut(text, 0, len(text), SENTENCE_END)):
        asked_here = begin < clause[1] and clause[0] < finish
        asks = QUESTION.search(text[begin:finish]) is not None
        for start, end in _cut(text, begin, finish, CUT):
            elsewhere = any(first <= start and end <= last + 1 for first, last in others)
            own = asked_here and not elsewhere
            yield _Part(text[start:end], start, number, tuple(_acts(text[start:end], verbs)), asks, own)


def _cut(text: str, start: int, end: int, pattern: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """The pieces between two places; each mark that cuts belongs to the piece behind it."""
    first = start
    for match in pattern.finditer(text, start, end):
        if _WORD.search(text, first, match.start()):
            yield first, match.start()
            first = match.start()
    if _WORD.search(text, first, end):
        yield first, end


_WORD = re.compile(r"\w")


def _acts(text: str, verbs: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Where words stand that name what a tool does."""
    said = [*told_terms(text), *_irregular(text)]
    yield from sorted({(term.start, term.end) for term in said if term.key in verbs})


def _irregular(text: str) -> Iterator[Term]:
    for match in re.finditer(r"[A-Za-z]+", text):
        present = IRREGULAR.get(match[0].lower())
        for key in keys_of(present) if present else ():
            yield Term(key, 1.0, *match.span())


@lru_cache(maxsize=1024)
def _verbs_of(name: str, description: str) -> frozenset[str]:
    first = _DOES.match(description)
    named = spaced(_called(name)).split()[:1] if name.isascii() else [name]
    if first and named and sort_of(named[0])[0] == "n":
        named = []  # `birthday`, of which the description tells that it is looked up
    return keys_of(" ".join([*named, first[1] if first else ""]))


_DOES = re.compile(
    r"\s*(?:(?:this|the|a|an) (?:function|tool|api|method|command|endpoint)\b.*?\b(?:to|will|can|for|that)\s+"
    r"|(?:use|used)(?: this)?(?: \w+)? to\s+)?(\w+)",
    re.IGNORECASE,
)
"""The first word of a description that says what the tool does."""


def _called(name: str) -> str:
    """A tool's name without the name of its group: `FindHome` of `Homes_2_FindHome`, `get` of `requests.get`."""
    return re.split(r"[.:/]|_\d+_|__", name)[-1]


def _verbs(indexed: Indexed) -> frozenset[str]:
    """The terms for what a tool does: of the first word of its name and of its description."""
    return _verbs_of(indexed.tool.name, indexed.tool.description)


def _own_words(indexed: Indexed) -> frozenset[str]:
    """The terms of a tool's name and of what it does: words of the message that name them are no objection."""
    return indexed.named | _verbs(indexed)


def _tells_only(tool: Tool) -> bool:
    """A tool that declares nothing, of which name or description begin with a word such as `get` or `calculate`.

    Whether it changes anything is not known. But "who won in 2018" is then no question about an earlier call.
    """
    patterns = ((LOOKS, spaced(_called(tool.name))), (LOOKS, tool.description), (TELLS, tool.description))
    return tool.effects is None and any(pattern.match(text) for pattern, text in patterns)


def _without_handed_on(step: Step, said: str) -> str:
    """The message without the texts that the call hands on."""
    for argument in step.arguments:
        start, end = argument.span.start, argument.span.end
        if not _is_of(argument, said) or (argument.slot.kind not in _TEXTS and argument.span.kind not in _WHOLE):
            continue
        quoted = argument.span.kind in _WHOLE or said[max(0, start - 1) : start] in _OPENING
        if not quoted and not HANDS_ON.search(said[:start]):
            continue
        end = end if quoted else _handed_on(said, start, end)
        said = said[:start] + "_" * (end - start) + said[end:]
    lacking = any(slot.kind in _TEXTS for slot in step.missing)
    if lacking and (begun := TEXT_BEGINS.search(said, step.clause.start, step.clause.end)):
        end = _handed_on(said, begun.end(), len(said))
        said = said[: begun.end()] + "_" * (end - begun.end()) + said[end:]
    return said


def _handed_on(said: str, start: int, end: int) -> int:
    """Where a text that is handed on ends: before `but don't send it yet`, which the model takes for a part of it."""
    for sentence in _cut(said, start, end, SENTENCE_END):
        for first, last in _cut(said, *sentence, CUT):
            part = said[first:last]
            forbids = FORBIDS.search(part) and POINTS.search(part) and not HARMLESS.search(part)
            if first > start and (forbids or _first(part, CALLED_OFF, DRAFTS, *LOOK_FIRST)):
                return first
    return end


_WHOLE = frozenset({"quoted", "expression", "code", "url", "email", "file", "command", "sql"})
"""Kinds of pieces in which no word is the user's own."""

_OPENING = tuple("\"“「『'‘")


def _without_quotes(text: str) -> str:
    return re.sub(r"[\"“「『].*?[\"”」』]", lambda match: "_" * len(match[0]), text)


def _is_of(argument: Argument, said: str) -> bool:
    """The argument stands in this message, and was not taken from a result or from a call before."""
    span = argument.span
    return span.start < span.end and said[span.start : span.end].strip() != ""


def _first(text: str, *patterns: re.Pattern[str]) -> str:
    """What the first pattern finds that finds something."""
    found = next((match for pattern in patterns if (match := pattern.search(text))), None)
    return found[0].strip(" ,，.。!！?？")[:WORDS_MAX] if found else ""


def _without(text: str, harmless: re.Pattern[str], whole: str = "") -> str:
    """A text with idioms blanked out that only look like an objection.

    Args:
        text: the text.
        harmless: the idioms.
        whole: the text with what follows, where an idiom may end.
    """
    long = whole or text
    for match in harmless.finditer(long):
        long = long[: match.start()] + "_" * len(match[0]) + long[match.end() :]
    return long[: len(text)]
