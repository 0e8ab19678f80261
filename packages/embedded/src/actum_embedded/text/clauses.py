"""A question read once, and cut into clauses that ask for one thing each.

A cut is possible at a comma or at an `and`; it is made where both sides name something to do. `Beijing and Shanghai`
names nothing to do, so it stays with the clause it belongs to. What a tool is, only `selection` knows: it is asked
for each piece.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date
from itertools import pairwise
from typing import NamedTuple

from .dates import said_today
from .lexicon import is_han, lexicon, wordset
from .numerals import find_numbers
from .spans import Span, find_spans, plain_spans
from .words import Term, Token, bare, parted, terms, tokenize

LENGTH_MAX = 2_000
"""So many characters of a message are read: what is longer is no question."""

_CUT_SIGNS = frozenset(",;.?!，、；。？！\n")


class Clause(NamedTuple):
    """A part of the question that asks for one thing.

    Attributes:
        text: the whole question; all places count in it.
        start, end: the part.
        tokens, terms, spans: those of the part.
        today: the present day.
    """

    text: str
    start: int
    end: int
    tokens: tuple[Token, ...]
    terms: tuple[Term, ...]
    spans: tuple[Span, ...]
    today: date

    def __hash__(self) -> int:
        return hash((self.text, self.start, self.end))  # all else follows from these; it is asked for all the time

    @property
    def words(self) -> str:
        """The part as it was said."""
        return self.text[self.start : self.end]

    def neighbours(self, span: Span) -> tuple[list[Token], list[Token]]:
        """The words before a span, nearest first, and those after it; articles left out."""
        before = [
            token for token in self.tokens if token.end <= span.start and bare(token.text) not in wordset("articles")
        ]
        after = [token for token in self.tokens if token.start >= span.end]
        return before[::-1], after

    def part(self, start: int, end: int) -> Clause:
        """What of it lies between two places."""
        inside = [token for token in self.tokens if start <= token.start and token.end <= end]
        found = [term for term in self.terms if start <= term.start and term.end <= end]
        spans = [span for span in self.spans if start <= span.start and span.end <= end]
        return Clause(self.text, start, end, tuple(inside), tuple(found), tuple(spans), self.today)


def read(text: str, today: date, attachments: Sequence[Span] = ()) -> Clause:
    """A whole question as one clause.

    Args:
        text: what was asked.
        today: the present day.
        attachments: what came with it, as spans.
    """
    text = _unwrapped(text[:LENGTH_MAX])
    stated = said_today(text)
    plain = plain_spans(text, stated.day if stated else today)
    if stated:
        plain = [span for span in plain if not (stated.start <= span.start < stated.end and span.kind in _DAYS)]
    breaks = {place for span in plain for place in (span.start, span.end)}
    tokens = tokenize(text, breaks | _edges(text) if is_han(text) else breaks)
    found = terms(text, tokens)
    spans = find_spans(text, plain, tokens, found)
    return Clause(
        text, 0, len(text), tuple(tokens), tuple(found), (*spans, *attachments), stated.day if stated else today
    )


_DAYS = frozenset({"date", "datetime"})


def _edges(text: str) -> set[int]:
    """Where Chinese words begin and end that are told by more than themselves: numbers, and words in two halves."""
    numbers = [number for number in find_numbers(text) if number.words and number.end - number.start > 1]
    halves = [place for word in parted(text) for place in (word.first, word.last) if not _ends_word(text, place[1])]
    return {place for number in numbers for place in (number.start, number.end)} | {
        place for half in halves for place in half
    }


def _ends_word(text: str, end: int) -> bool:
    """A longer word ends there: 事假, of which 假 is no half."""
    return any(text[end - length : end] in lexicon().han_words for length in (2, 3, 4))


_WRAPPED = re.compile(r"(\s*)(?:\"([^\"]*)\"|“([^“”]*)”)(\s*)", re.DOTALL)


def _unwrapped(text: str) -> str:
    """A question that stands in quotes as a whole without them, each place where it was; no piece of it is quoted."""
    whole = _WRAPPED.fullmatch(text)
    return f"{whole[1]} {whole[2] or whole[3]} {whole[4]}" if whole and " " in text.strip() else text


def split(
    question: Clause,
    asks: Callable[[Clause], bool],
    is_whole: Callable[[Clause], bool],
    is_nearest: Callable[[Clause], bool],
) -> list[Clause]:
    """The clauses of a question.

    Args:
        question: all of it.
        asks: tells whether a piece by itself names something to do.
        is_whole: tells whether it has all that is needed for that as well.
        is_nearest: tells whether a piece asks for something that nothing in the question names.
    """
    found = pieces(question)
    main = [not _subordinate(piece) or _is_of_another(piece, is_whole) for piece in found]
    heads = [free and asks(piece) for free, piece in zip(main, found, strict=True)]
    if not any(heads):
        return [question]
    heads = [
        head or (free and (is_nearest(piece) or asks_alone(piece))) or (asks_again(piece) and any(heads[:at]))
        for at, (head, free, piece) in enumerate(zip(heads, main, found, strict=True))
    ]
    further = [at for at, head in enumerate(heads) if head][1:]
    starts = [found[0].start, *(found[_begin(at, found, heads)].start for at in further)]
    ends = [*(_end_before(question, start) for start in starts[1:]), question.end]
    return [question.part(start, end) for start, end in zip(starts, ends, strict=True)]


def _begin(at: int, found: Sequence[Clause], heads: Sequence[bool]) -> int:
    """Which piece a clause begins with whose head is the one at a place: the first of its sentence, when no head is
    before it there (`Lastly, I am` also `interested in`).
    """
    first = at
    while not _begins_sentence(found[first]) and not heads[first - 1]:
        first -= 1
    return first if _begins_sentence(found[first]) else at


def _subordinate(piece: Clause) -> bool:
    """`When it is 3 pm in London` asks nothing by itself; `When was she born` does. Nor does `rented at 900 a day`."""
    words = [bare(token.text) for token in piece.tokens[:2]]
    if words == ["as", "well"]:
        return False
    if not _begins_sentence(piece) and _DONE.match(" ".join(words)):
        return True
    if not _begins_sentence(piece) and (words[0] in wordset("adding") or " ".join(words) in _SETTLING):
        return True
    if words[0].endswith("ing") and piece.text[: piece.start].rstrip().lower().endswith((" after", " before")):
        return True
    return (
        len(words) == 2 and words[0] in wordset("subordinating") and words[1] not in wordset("auxiliaries")
    ) or piece.words.endswith("的时候")


_DONE = re.compile(
    r"(?!need|feed|seed|speed|proceed)(?:[a-z]+ed|bought|sold|built|made) (?:at|in|for|by|on|with|from|to|as)$"
)
"""What was done with the thing that was named before."""


def asks_again(piece: Clause) -> bool:
    """It asks for what was asked for before it, of something else: `the same for Oslo`, `do the same with 5 and 6`."""
    return _AGAIN.match(piece.words) is not None


_AGAIN = re.compile(
    r"\W*(?:(?:and|plus|then|also|please|now|do|show|give|tell|find|me|us|can|could|you|I|need|want|would|like|get) )*"
    r"the same(?! (?:time|day|date|place|city)\b)(?: \w+)? (?:for|with|in|of|as|on|at|but|to)\b",
    re.IGNORECASE,
)


def _is_of_another(piece: Clause, is_whole: Callable[[Clause], bool]) -> bool:
    return _OF_ANOTHER.match(piece.words) is not None and is_whole(piece)


_OF_ANOTHER = re.compile(r"\s*(?:of|for|in|on|at) (?:an?|the)\b")
"""What may go on with a thing that is for another tool: `the area of a square, and of a circle with ...`."""


def asks_alone(piece: Clause) -> bool:
    """It is a question of its own, if perhaps one that no tool answers: `and who painted it`."""
    words = [bare(token.text) for token in piece.tokens if token.kind != "sign"]
    joined = _begins_sentence(piece) or _ANDED.search(piece.text, 0, piece.start) is not None
    return joined and len(words) > ASKED_IN and words[0] in wordset("question words en")


def wishes(piece: Clause) -> bool:
    """A word or a sign of it asks for something."""
    return _WISHES.search(piece.words) is not None


_WISHES = re.compile(
    r"\?|\b(?:please|can|could|would|will|calculate|compute|determine|find|tell|show|give|need|want|like|know|what|how|which|who"
    r"|where|when)\b",
    re.IGNORECASE,
)

_ANDED = re.compile(r"\b(?:and|then|also)\s*$", re.IGNORECASE)
ASKED_IN = 3
"""A question has more words than this."""


def _begins_sentence(piece: Clause) -> bool:
    return piece.text[: piece.start].rstrip()[-1:] in _STOPPED


_STOPPED = ("", *".?!。？！")
_SETTLING = frozenset(
    {"make sure", "making sure", "be sure", "ensure that", "ensure the", "starting at", "starting from"}
)
"""What begins a wish about the same thing."""


def _end_before(question: Clause, place: int) -> int:
    """Where the clause before a place ends, the joining word cut off."""
    before = [token for token in question.tokens if token.end <= place]
    while before and (bare(before[-1].text) in wordset("between clauses") or before[-1].text in ",，、"):
        before.pop()
    return before[-1].end if before else place


def sentences(question: Clause) -> list[Clause]:
    """The question cut where a sentence ends, but not in an address or a quote."""
    whole = [span for span in question.spans if span.kind not in _NOT_WHOLE]
    ends = [
        token.end
        for token in question.tokens
        if token.text in _ENDS
        and not _ends_nothing(question.text, token)
        and not any(span.start < token.end < span.end for span in whole)
    ]
    edges = [question.start, *ends, question.end]
    parts = [question.part(start, end) for start, end in pairwise(edges)]
    return [part for part in parts if any(token.kind != "sign" for token in part.tokens)]


def tasks(question: Clause) -> list[Clause]:
    """The question cut where a sentence begins with a word that goes on to the next thing: `Second,`, `Then`."""
    starts = [part.start for part in sentences(question) if _first_word(part) in wordset("next task")]
    edges = [question.start, *(start for start in starts if start > question.start), question.end]
    return [question.part(start, end) for start, end in pairwise(edges)]


def _first_word(part: Clause) -> str:
    """The word that a sentence begins with, an article left out: `The second problem is`."""
    words = [bare(token.text) for token in part.tokens if token.kind != "sign"]
    return words[1] if words[0] in wordset("articles") and len(words) > 1 else words[0]


_ENDS = frozenset(".?!。？！\n")
_NOT_WHOLE = ("phrase", "chunk")
"""Kinds of pieces that may be cut."""


def pieces(question: Clause) -> list[Clause]:
    """The question cut wherever it may be, but not in a quote, a date or a formula, and not between two quotes or two
    names that are said side by side.
    """
    kept = [span for span in question.spans if span.kind not in _NOT_WHOLE]
    sql = next((span for span in kept if span.kind == "sql"), None)
    if sql is not None:
        return [question]
    rows = [
        (left.start, right.end)
        for kind in ("quoted", "name", "language")
        for left, right in pairwise([span for span in kept if span.kind == kind])
        if _side_by_side(question, left, right)
    ]
    whole = [*((span.start, span.end) for span in kept), *rows]
    found: list[Clause] = []
    start = question.start
    for token in question.tokens:
        cuts = token.text in _CUT_SIGNS if token.kind == "sign" else bare(token.text) in wordset("between clauses")
        if (
            not cuts
            or any(first < token.end and token.start < last for first, last in whole)
            or _ends_nothing(question.text, token)
        ):
            continue
        found.append(question.part(start, token.start))
        start = token.end
    found.append(question.part(start, question.end))
    return [piece for piece in found if any(token.kind != "sign" for token in piece.tokens)]


def _side_by_side(question: Clause, left: Span, right: Span) -> bool:
    between = [bare(token.text) for token in question.tokens if left.end <= token.start and token.end <= right.start]
    if _OWNS.match(question.text, right.end) and not _OWNS.match(question.text, left.end):
        return False  # `for Oslo, and Rome's weather`
    return all(word in ",、" or word in wordset("between clauses") or word in wordset("articles") for word in between)


_OWNS = re.compile("['’]s\\b")


def _ends_nothing(text: str, token: Token) -> bool:
    """It is no end: the dot of `3.5`, or that of `Mr.`."""
    if token.text == "." and _TITLE.search(text, max(0, token.start - 5), token.start):
        return True
    return token.text in ".," and re.match(r"\d", text[token.end : token.end + 1]) is not None


_TITLE = re.compile(r"\b(?:mr|mrs|ms|dr|prof|st|vs?)$", re.IGNORECASE)
