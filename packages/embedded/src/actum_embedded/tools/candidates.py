"""What could go into a slot: every piece of a clause that it might mean, with the value that the slot would get.

Typed spans (`spans`) are candidates of their own; for text every run of words is one more, since a name or a topic has
no type that could be seen; an array takes words that are listed side by side. Which of them is meant, `ranker` judges:
nothing is chosen here.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from actum.core.json import Json

from ..learned.weights import CHINESE
from ..text.clauses import Clause
from ..text.dates import MONTHS
from ..text.lexicon import HAN, is_han, wordset
from ..text.meanings import cut
from ..text.numerals import MEASURES, NUMERALS
from ..text.spans import Span, with_its_dot
from ..text.words import Token, bare, spaced
from .commands import commands_in
from .examples import examples
from .slots import Slot
from .values import forms_of, value_for

WORDS_MAX = 9
"""So many words of a run at most, quotes and lists apart."""

CHARACTERS_MAX = 16
"""And so many Chinese characters or words."""

LISTED_MAX = 40
"""So many words of a list at most."""

_ENDS = frozenset(".?!;:。？！；：\n")
_CLOSING = frozenset(")]）%％")
_GRADED = frozenset("+#")
"""What ends a name that it touches: A+, C#, Disney+."""

_OPENING = frozenset("$€£¥#@[（(")


class Candidate(NamedTuple):
    """A piece of a clause for a slot.

    Attributes:
        span: the piece.
        value: what the slot would get.
        first, last: its tokens are `tokens[first:last]`.
        kinds: kinds of the typed spans that are exactly this piece.
        form: how the value was made of it; see `values`.
        listed: of how many values it is, for an array.
    """

    span: Span
    value: Json
    first: int
    last: int
    kinds: tuple[str, ...]
    form: str = "plain"
    listed: int = 0


class View(NamedTuple):
    """A clause as its candidates see it.

    Attributes:
        tokens: its words, articles among them; Chinese that is not known by characters.
        lower: each of them in lower case.
        keys: the terms that each of them stands for.
        functional: whether it says nothing of what is asked for.
        typed: its typed spans by their first and last token.
        inside: for each token the typed spans that it is a part of, as first and last token.
        words: each token, or the Chinese word that it is a part of.
        halved: whether a Chinese word begins before each token and goes on in it.
        files: the first and last token of each file's name.
        tongue: `CHINESE` where a word of it is Chinese, else nothing.
        quotes: how many pieces stand in quotes.
    """

    tokens: tuple[Token, ...]
    lower: tuple[str, ...]
    keys: tuple[frozenset[str], ...]
    functional: tuple[bool, ...]
    typed: dict[tuple[int, int], tuple[Span, ...]]
    inside: tuple[tuple[tuple[int, int], ...], ...]
    words: tuple[str, ...]
    halved: tuple[bool, ...]
    files: tuple[tuple[int, int], ...]
    tongue: str
    quotes: int

    @staticmethod
    def of(clause: Clause) -> View:
        """The view of a clause, made once."""
        return _view(clause)


@lru_cache(maxsize=64)
def _view(clause: Clause) -> View:
    tokens = tuple(_finer(clause.tokens))
    starts = [token.start for token in tokens]
    ends = [token.end for token in tokens]
    keys: list[set[str]] = [set() for _ in tokens]
    for term in clause.terms:
        for at in range(bisect_right(ends, term.start), bisect_left(starts, term.end)):
            keys[at].add(term.key)
    typed: dict[tuple[int, int], tuple[Span, ...]] = {}
    inside: list[list[tuple[int, int]]] = [[] for _ in tokens]
    for span in clause.spans:
        place = bisect_right(ends, span.start), bisect_left(starts, span.end)
        if place[0] >= place[1] and span.kind != "attachment":
            continue  # its word was cut in two: the 一 that is left of 一天
        typed[place] = (*typed.get(place, ()), span)
        if span.kind in _WHOLE:
            solid = bisect_left(starts, _solid_start(span)), place[1]
            for at in range(*solid):
                inside[at].append(solid)
    within = _han_words(clause.text)
    return View(
        tokens,
        tuple(bare(token.text) for token in tokens),
        tuple(map(frozenset, keys)),
        tuple(token.functional for token in tokens),
        typed,
        tuple(map(tuple, inside)),
        tuple(within.get(token.start, (token.start, token.text))[1] for token in tokens),
        tuple(within.get(start, (start, ""))[0] < start for start in starts),
        tuple(place for place, spans in typed.items() if any(span.kind == "file" for span in spans)),
        CHINESE if any(token.kind in ("known", "chunk") for token in tokens) else "",
        sum(span.kind == "quoted" for span in clause.spans),
    )


def opens_sentence(view: View, at: int) -> bool:
    """A sentence, or what stands in quotes, begins with this word: its capital says nothing."""
    return at == 0 or view.tokens[at - 1].text in _ENDS or view.tokens[at - 1].text in _QUOTES


_QUOTES = frozenset('"“')


def _han_words(text: str) -> dict[int, tuple[int, str]]:
    """For each Chinese character where its word begins, and the word."""
    runs = re.finditer(f"[{HAN}]+", text)
    return {
        run.start() + at: (run.start() + start, run[0][start:end])
        for run in runs
        for start, end in cut(run[0])
        for at in range(start, end)
    }


def _solid_start(span: Span) -> int:
    """Where no part of it may begin any more: a file's name may have a Chinese word before it, 打印合同.pdf."""
    if span.kind != "file":
        return span.start
    return span.start + max((at + 1 for at, sign in enumerate(span.text) if is_han(sign)), default=0)


def _finer(tokens: Sequence[Token]) -> Iterator[Token]:
    """Chinese that no lexicon knows cut into characters: where a value ends in it is learned, not known."""
    for token in tokens:
        if token.kind == "chunk" and len(token.text) > 1:
            yield from (
                Token(sign, token.start + at, token.start + at + 1, "chunk") for at, sign in enumerate(token.text)
            )
        else:
            yield token


_WHOLE = frozenset(
    {
        "number",
        "date",
        "time",
        "email",
        "url",
        "file",
        "code",
        "quoted",
        "sql",
        "city",
        "country",
        "formula",
        "datetime",
    }
)
"""Kinds of which no part by itself is a value."""


def candidates(slot: Slot, clause: Clause, content: tuple[Span, float] | None = None) -> list[Candidate]:
    """What could go into a slot, in the order of the clause.

    Args:
        slot: a slot that is neither an enumeration nor a boolean.
        clause: the clause.
        content: what remains of it when the command is taken off, and how sure that is.
    """
    view = View.of(clause)
    if slot.kind == "command" and not slot.many:
        return list(_commands(clause, view))
    found = list(_lists(slot, clause, view) if slot.many else _single(slot, clause, view))
    if slot.type == "string" and not slot.many and examples(slot.description):
        found = list(_with_shown(found, slot, clause, view))
    if content is not None and not slot.many:
        found = [*_marked(found, *content), *_new(found, *content, view)]
    return sorted(found, key=lambda each: (each.first, each.last, each.span.kind))


def _single(slot: Slot, clause: Clause, view: View) -> Iterator[Candidate]:
    quotes = [span for span in clause.spans if span.kind == "quoted"] if slot.type == "string" else []
    for (first, last), spans in view.typed.items():
        kinds = tuple(span.kind for span in spans)
        if "attachment" in kinds and slot.kind != "attachment":
            continue  # no words of the question: it has a handle, and no place among them
        if not _OWN_SIGNS.intersection(kinds) and any(_within(spans[0], quote) for quote in quotes):
            continue
        seen: list[Json] = []
        for span in spans:
            for value, form in forms_of(slot, span, clause.text):
                if value not in seen:
                    seen.append(value)
                    yield Candidate(span, value, first, last, kinds, form)
    if slot.type == "string":
        yield from _loose_runs(clause)
    if slot.type == "integer" and spaced(slot.name).lower().split()[-1:] == ["month"]:
        yield from _months(clause, view)


def _months(clause: Clause, view: View) -> Iterator[Candidate]:
    """The months of a year by name, for what wants their number."""
    for match in _MONTH.finditer(clause.text, clause.start, clause.end):
        number = MONTHS.index(match[0][:3].lower()) + 1
        place = _place(view, span := Span("month name", *match.span(), match[0], number))
        if place is not None:
            yield Candidate(span, number, *place, (span.kind,), "part")


_MONTH = re.compile(
    r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b"
)


def _commands(clause: Clause, view: View) -> Iterator[Candidate]:
    """The commands that are said, and what stands in quotes outside of them."""
    said = commands_in(clause)
    quoted = [span for span in clause.spans if span.kind == "quoted" and not any(span.overlaps(each) for each in said)]
    for span in (*said, *quoted):
        place = _place(view, span)
        if place is not None:
            yield Candidate(span, span.value, *place, (span.kind,))


def _with_shown(found: Sequence[Candidate], slot: Slot, clause: Clause, view: View) -> Iterator[Candidate]:
    """The candidates, and whatever the description shows as a value: `morning` may be one there."""
    shown = shown_in(clause, slot.description)
    if not shown:
        yield from found
        return
    known: set[Span] = set()
    for each in found:
        same = [span for span in shown if _is_all_of(each, span)]
        known.update(same)
        value = same[0].value if same and each.value == same[0].text else each.value
        yield each._replace(value=value, kinds=(*each.kinds, "shown")) if same else each
    for span in shown:
        place = _place(view, span) if span not in known else None
        if place is not None:
            yield Candidate(span, span.value, *place, ("shown",))


def _is_all_of(candidate: Candidate, span: Span) -> bool:
    """It is that span, or that span in quotes."""
    start, end = candidate.span.start, candidate.span.end
    quotes = int("quoted" in candidate.kinds)
    return (start + quotes, end - quotes) == (span.start, span.end)


@lru_cache(maxsize=2048)
def shown_in(clause: Clause, description: str) -> tuple[Span, ...]:
    """The values that a description shows, where the clause says them: of `wars`, `war`."""
    text = clause.words.lower()
    return tuple(
        Span("shown", match.start(), match.end(), match[0], match[0][: len(said)])
        for said in sorted(examples(description))
        if said in text
        for match in _worded(said).finditer(clause.text, clause.start, clause.end)
    )


@lru_cache(maxsize=8192)
def _worded(said: str) -> re.Pattern[str]:
    plural = "s?" if said[-1:].isascii() and said[-1:].isalpha() and len(said) > 2 else ""
    return re.compile(rf"(?<![a-zA-Z0-9])(?i:{re.escape(said)}{plural})(?![a-zA-Z0-9])")


def _place(view: View, span: Span) -> tuple[int, int] | None:
    """Its first and last token; None where it ends inside of one."""
    first = bisect_right([token.end for token in view.tokens], span.start)
    last = bisect_left([token.start for token in view.tokens], span.end)
    whole = first < last and view.tokens[first].start == span.start and view.tokens[last - 1].end == span.end
    return (first, last) if whole else None


_OWN_SIGNS = frozenset({"quoted", "date", "time", "datetime", "email", "url", "attachment", "expression"})
"""What is told by its own signs, in quotes as well; anything else in quotes is a part of what they hold."""


def _within(span: Span, quote: Span) -> bool:
    return quote.start < span.start and span.end < quote.end


def _marked(found: Sequence[Candidate], content: Span, sure: float) -> Iterator[Candidate]:
    """The candidates, the one that is the content with that among its kinds."""
    for each in found:
        same = (each.span.start, each.span.end) == (content.start, content.end)
        yield each._replace(kinds=(*each.kinds, "content", f"content {sure}")) if same else each


def _new(found: Sequence[Candidate], content: Span, sure: float, view: View) -> Iterator[Candidate]:
    if not any((each.span.start, each.span.end) == (content.start, content.end) for each in found):
        first = bisect_right([token.end for token in view.tokens], content.start)
        last = bisect_left([token.start for token in view.tokens], content.end)
        yield Candidate(content, content.value, first, last, ("content", f"content {sure}"))


@lru_cache(maxsize=64)
def _runs_of(clause: Clause) -> tuple[tuple[int, int], ...]:
    view = View.of(clause)
    return tuple(_find_runs(view))


@lru_cache(maxsize=64)
def _loose_runs(clause: Clause) -> tuple[Candidate, ...]:
    view = View.of(clause)
    spans = [(place, _run_span(clause, view, *place)) for place in _runs_of(clause) if place not in view.typed]
    plain = [Candidate(span, span.text, *place, ()) for place, span in spans]
    whole = [(place, _run_span(clause, view, *place, owner=True)) for place in _runs_of(clause)]
    named = [(place, span) for place, span in whole if span.text.endswith(("'s", "’s"))]
    return (*plain, *(Candidate(span, span.text, *place, (), "verbatim") for place, span in named))


def _find_runs(view: View) -> Iterator[tuple[int, int]]:
    """Runs of words that may be a value: no end of a sentence inside, no small word at either end."""
    tokens = view.tokens
    for first in range(len(tokens)):
        if not _may_begin(view, first):
            continue
        reach = CHARACTERS_MAX if is_han(tokens[first].text) else WORDS_MAX
        for last in range(first + 1, min(len(tokens), first + reach) + 1):
            end = tokens[last - 1]
            if end.text in _ENDS and not _held_together(view, last - 1):
                break
            small = is_han(tokens[first].text) and all(view.functional[first:last])
            if end is tokens[first] and (end.kind == "sign" or _is_mere_opening(view, first)):
                continue
            if _may_end(view, last - 1) and not small and not _cuts(view, first, last):
                yield first, last


def _is_mere_opening(view: View, at: int) -> bool:
    """A small word that has a capital because a sentence begins with it: `My` of `My order is late`."""
    token = view.tokens[at]
    begins = at == 0 or view.tokens[at - 1].text in _ENDS
    return begins and view.functional[at] and token.text.istitle() and token.kind == "word"


def _may_begin(view: View, at: int) -> bool:
    token = view.tokens[at]
    if token.kind == "sign":
        return token.text in _OPENING
    if (at and view.lower[at - 1] in _SPEECH) or _leads(view, at):
        return True
    if at and token.text in MEASURES and (view.tokens[at - 1].kind == "number" or view.tokens[at - 1].text in NUMERALS):
        return False  # the 双 of 两双袜子
    capital = (at > 0 and token.text[0].isupper() and view.lower[at] != "i") or token.text == "The"
    return not view.functional[at] or capital or (is_han(token.text) and token.text not in _NEVER_FIRST)


def _may_end(view: View, at: int) -> bool:
    token = view.tokens[at]
    if token.kind == "sign":
        return token.text in _CLOSING or (token.text in _GRADED and at > 0 and view.tokens[at - 1].end == token.start)
    if at > 0 and view.tokens[at - 1].end == token.start and view.tokens[at - 1].kind == "number":
        return True
    if _hyphenated(view, at - 1):
        return True
    han = is_han(token.text) and token.text not in _NEVER_LAST | wordset("question words zh")
    return not view.functional[at] or token.text[0].isupper() or han


def _leads(view: View, at: int) -> bool:
    """A small word that is a part of what follows: `my shoulder`, `one blue eye`, `second graders`, `all-purpose`."""
    if at + 1 >= len(view.tokens):
        return False
    if _hyphenated(view, at + 1):
        return True
    if view.lower[at] in _LEADING_TIMES and view.lower[at + 1].rstrip("s") in _TIMES:
        return True
    return view.lower[at] in _LEADING and not view.functional[at + 1]


def _hyphenated(view: View, at: int) -> bool:
    """The sign joins two words: `pour-over`."""
    tokens = view.tokens
    return (
        0 < at < len(tokens) - 1
        and tokens[at].text == "-"
        and tokens[at - 1].end == tokens[at].start
        and tokens[at].end == tokens[at + 1].start
        and tokens[at - 1].kind == tokens[at + 1].kind == "word"
    )


_LEADING = frozenset({"my", "our", "one", "first", "second", "third", "last", "very", "no", "not"})
"""Small words with which a value may begin."""

_LEADING_TIMES = frozenset({"this", "next", "last", "past", "each", "every"})
_TIMES = frozenset({"hour", "day", "week", "month", "quarter", "year", "season", "morning", "afternoon", "evening"})
"""`this month` is a value, and neither `this` nor `month` alone."""

_SPEECH = frozenset({"that", "saying", "says", "content", "text", "message", "note", "titled", ":", "：", "说"})
"""What stands before the words of somebody: they may begin with any word."""

_NEVER_FIRST = frozenset(
    [
        "的",
        "了",
        "吗",
        "呢",
        "吧",
        "个",
        "份",
        "件",
        "一下",
        "一声",
        "被",
        "在",
        "从",
        "向",
        "请",
        "请问",
        "帮我",
        "和",
        "与",
        "、",
    ]
)
_NEVER_LAST = frozenset(
    [
        "的",
        "个",
        "吗",
        "呢",
        "吧",
        "把",
        "被",
        "给",
        "在",
        "从",
        "向",
        "请",
        "是",
        "和",
        "与",
        "什么",
        "怎么样",
        "多少",
        "怎么",
    ]
)


def _held_together(view: View, at: int) -> bool:
    """The sign is inside a word: the dot of 3.5, of `Dr. Who`, of U.S."""
    tokens = view.tokens
    if at + 1 >= len(tokens) or tokens[at].text not in ".:":
        return False
    if tokens[at].end == tokens[at + 1].start:
        return True
    if at == 0 or not tokens[at + 1].text[:1].isalnum():
        return False
    if tokens[at].text == ":":  # Mad Max: Fury Road
        return tokens[at - 1].text[:1].isupper() and tokens[at + 1].text[:1].isupper()
    short = len(tokens[at - 1].text) <= 2 and tokens[at - 1].text[:1].isupper()
    return short or view.lower[at - 1] in wordset("abbreviations")


def _cuts(view: View, first: int, last: int) -> bool:
    """One end of it is in the middle of a typed span, or of a name."""
    if _halves_a_name(view, first - 1) or _halves_a_name(view, last):
        return True
    if any(start < first < end < last for start, end in view.files):
        return True
    left = any(start < first for start, _ in view.inside[first])
    return left or any(end > last for _, end in view.inside[last - 1])


def _halves_a_name(view: View, at: int) -> bool:
    """The sign joins two words that are one name: `Wi-Fi`."""
    return _hyphenated(view, at) and view.tokens[at - 1].text[0].isupper() and view.tokens[at + 1].text[0].isupper()


def _run_span(clause: Clause, view: View, first: int, last: int, *, owner: bool = False) -> Span:
    """The run; without the sign of an owner, unless that is a part of the name: Levi's."""
    start, end = view.tokens[first].start, view.tokens[last - 1].end
    said = with_its_dot(clause.text, start, end)
    if not owner and said.endswith(("'s", "’s")):
        said = said[:-2]
    return Span("run", start, start + len(said), said, said)


# Lists ----------------------------------------------------------------------------------------------------------------


def _lists(slot: Slot, clause: Clause, view: View) -> Iterator[Candidate]:
    """Values side by side: numbers, or pieces of text between commas and `and`."""
    numeric = slot.type in ("integer", "number")
    for first, last, elements in (_number_listings if numeric else _listings)(clause):
        values = [_element(slot, clause, view, *place) for place in elements]
        said: list[Json] = [_run_span(clause, view, *place, owner=True).text for place in elements]
        start, stop = view.tokens[first].start, view.tokens[last - 1].end
        span = Span("list", start, stop, clause.text[start:stop], "")
        kinds = tuple(span.kind for span in view.typed.get(elements[0], ()))
        if slot.type == "number":
            values = [float(value) if isinstance(value, int | float) else value for value in values]
        if None not in values:
            yield Candidate(span, values, first, last, kinds, "list", len(values))
        if slot.type == "string" and None not in values and said != values and "quoted" not in kinds:
            yield Candidate(span, said, first, last, kinds, "list said", len(said))


def _element(slot: Slot, clause: Clause, view: View, first: int, last: int) -> Json | None:
    seen = slot.kind in ("email", "url")
    for span in view.typed.get((first, last), ()):
        value = value_for(slot, span) if span.kind == slot.kind or not seen else None
        if value is not None:
            return value
    if slot.type == "string" and not seen:
        return _COUNT.sub("", _run_span(clause, view, first, last).text)
    return None


_COUNT = re.compile(rf"^[一1](?:份|杯|碗|盘|瓶|盒|袋|包|个|只|条|张|件)(?=[{HAN}])")
"""What stands before one thing in a list of things: 一份紫菜汤."""


Listing = tuple[int, int, tuple[tuple[int, int], ...]]


@lru_cache(maxsize=64)
def _listings(clause: Clause) -> tuple[Listing, ...]:
    view = View.of(clause)
    return tuple(_find_listings(view, set(view.typed) | set(_runs_of(clause))))


@lru_cache(maxsize=64)
def _number_listings(clause: Clause) -> tuple[Listing, ...]:
    view = View.of(clause)
    numbers = {place for place, spans in view.typed.items() if any(span.kind == "number" for span in spans)}
    return (*_find_listings(view, numbers), *_ranges(view, numbers), *_sides(view, numbers))


def _sides(view: View, numbers: set[tuple[int, int]]) -> Iterator[Listing]:
    """`16x16` or `3 by 4`: what something measures on its sides."""
    places = sorted(numbers)
    for at, left in enumerate(places):
        row = [left]
        for right in places[at + 1 :]:
            if view.lower[row[-1][1] : right[0]] not in (("x",), ("×",), ("*",), ("by",)):
                break
            row.append(right)
        if len(row) > 1:
            yield left[0], row[-1][1], tuple(row)


def _ranges(view: View, numbers: set[tuple[int, int]]) -> Iterator[Listing]:
    """`from x=1 to x=3`: two numbers that are the ends of a range."""
    places = sorted(numbers)
    for left, right in pairwise(places):
        between = view.lower[left[1] : right[0]]
        before = view.lower[max(0, left[0] - 4) : left[0]]
        if (
            {"to", "and", "until", "到", "至"} & set(between)
            and set(between) <= _IN_RANGE
            and {"from", "between", "从"} & set(before)
        ):
            yield left[0], right[1], (left, right)


_IN_RANGE = frozenset({"to", "and", "until", "=", "x", "y", "t", "a", "b", "到", "至"})


def _find_listings(view: View, single: set[tuple[int, int]]) -> Iterator[Listing]:
    """One piece by itself, and every chain of pieces with nothing but commas and `and` between them."""
    begins: dict[int, list[int]] = {}
    for first, last in sorted(single):
        if last > first:
            begins.setdefault(first, []).append(last)
    for first, lasts in begins.items():
        for last in lasts:
            yield first, last, ((first, last),)
            yield from _grown(view, begins, first, last)


def _grown(view: View, begins: dict[int, list[int]], first: int, last: int) -> Iterator[Listing]:
    """The chains that start with a piece; after the first each piece reaches up to the next comma or `and`."""
    elements = [(first, last)]
    if any(_separates(view, at) and not view.inside[at] for at in range(first, last)):
        return
    while (begin := _after_separator(view, elements[-1][1])) is not None and begin - first < LISTED_MAX:
        ends = [end for end in begins.get(begin, ()) if not any(_splits(view, at) for at in range(begin, end))]
        if not ends:
            return
        closed = [end for end in ends if _after_separator(view, end) is not None]
        for end in ends:
            yield first, end, (*elements, (begin, end))
        if not closed:
            return
        elements.append((begin, closed[0]))


def _splits(view: View, at: int) -> bool:
    return _separates(view, at) and not view.inside[at]


def _separates(view: View, at: int) -> bool:
    return view.lower[at] in BETWEEN


BETWEEN = frozenset({",", "，", "、", "and", "or", "和", "与", "及", "跟", "以及", "或", "&", "/"})


def _after_separator(view: View, at: int) -> int | None:
    """Where the next piece of a list begins, after `, and the`; None where no list goes on."""
    begin = at
    while begin < len(view.tokens) and _separates(view, begin):
        begin += 1
    if begin == at or begin >= len(view.tokens):
        return None
    article = view.tokens[begin].text in wordset("articles")  # small: `A+` and `The Killers` have none
    return begin + (article and begin + 1 < len(view.tokens))


def overlapping(candidate: Candidate, spans: Sequence[Span]) -> bool:
    """It shares words with one of the spans."""
    return any(candidate.span.overlaps(span) for span in spans)
