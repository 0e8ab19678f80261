"""Which tool a clause asks for, judged by its words first and then by what the clause has for it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from ..learned.nets import net
from ..text.clauses import Clause, asks_alone, sentences, wishes
from ..text.lexicon import is_han, wordset
from ..text.spans import Span
from ..text.words import Term, bare, keys_of, spaced
from ..tools.candidates import View
from ..tools.commands import commands_in
from ..tools.content import is_definition
from ..tools.likeness import likeness, on_the_whole
from ..tools.selection import FIELDS, Indexed, RankedTool, Shelf, changes_things, evidence, generic, start_of
from ..tools.slots import Slot
from .arguments import Filled, fill
from .sharing import is_loose, mentioned

FITS_MIN, FITS_MIN_HAN, CHANGES_MIN = 1.5, -0.8, 0.8
"""From this on a tool is taken to be meant; a logarithm. From less in Chinese, where fewer words are known, and another
one for a tool that changes something.
"""

FITS_MORE = 0.2
"""So much less for each further tool on offer: who offers many has one for most questions."""

PART_LESS = 3.0
"""So much less in English for a part of a question: who asks for several things says each of them in few words."""

ASKS_MIN = 0.2
"""From this on the user is asked for what it lacks; below, the tool was hardly meant."""

UNNAMED_MIN, NEAREST = 2.2, 2
"""From this on a tool is meant that the clause has no word of, by what it is near to and has for it; so many of the
nearest are looked at.
"""

LACKS = 0.5
"""What each slot that nothing fills takes away: of two tools that may be meant, rather the one that has all."""

TAKES = 0.1
"""What each argument adds there: rather the one that has use for more of what is said."""

NAMES_MIN = 0.42
"""From this score of words on a piece of a question names a tool."""

GUESS_MIN, GUESS_MIN_HAN, ASKS_MORE = 2.0, -0.3, 1.0
"""From this on a tool is guessed that no word names, and from less in Chinese, unless it changes something; so much
more is wanted of one that lacks something.
"""

PART_MIN, PART_MORE = -0.8, 0.4
"""From this on a part of a question, beside others that name their tools, is taken to ask for one that nothing names,
and so much more is wanted for each further tool that nothing names.
"""

GUESS_WORDS_MAX = 100
"""What is longer and names no tool is no question."""

CANDIDATES, NEAR_BEST = 3, 0.5
"""So many tools at most are looked at closely, and none whose words come to less than this share of the best one's."""


class Chooser:
    """Chooses among the tools on offer, for the clauses of one question; a clause is judged once.

    Args:
        shelf: the tools.
        named: only those that a clause has a word of: a fragment that goes on with what was said before is no new task.
    """

    def __init__(self, shelf: Shelf, *, named: bool = False) -> None:
        self.shelf = shelf
        self._only_named = named
        self._commanded = any(slot.kind == "command" for tool in shelf.tools for slot in tool.required)
        self._searchers = [tool for tool in shelf.tools if tool.searches]
        self._chosen: dict[tuple[int, int], Filled | None] = {}
        self._ranked: dict[tuple[int, int], list[RankedTool]] = {}
        self._nearest: dict[int, Indexed] = {}

    def ranked(self, clause: Clause) -> list[RankedTool]:
        """The tools by how well the words of a clause fit them, the best first."""
        place = (clause.start, clause.end)
        if place not in self._ranked:
            commands = commands_in(clause) if self._commanded else ()
            self._ranked[place] = self.shelf.rank(_unquoted(clause), (*clause.spans, *commands), clause.words)
        return self._ranked[place]

    def choose(self, clause: Clause) -> Filled | None:
        """The tool that a clause asks for, with its arguments; None when none fits."""
        place = (clause.start, clause.end)
        if place not in self._chosen:
            chosen = self._choose(clause) or self._by_sentence(clause)
            near = self._nearest.get(clause.start)
            self._chosen[place] = chosen if chosen is not None or near is None else fill(near, clause)
        return self._chosen[place]

    def _by_sentence(self, clause: Clause) -> Filled | None:
        """The tool that the sentences of a long clause ask for, where all of it hides what is meant."""
        parts = sentences(clause)
        if len(parts) < 2:
            return None
        named = [chosen for part in parts if (chosen := self._choose(part)) is not None]
        filled = [fill(each.indexed, clause) for each in named]
        return next((each for each in filled if not each.missing), None)

    def guess(self, question: Clause) -> Filled | None:
        """The tool that a whole question comes nearest to, where its words name none; None when none is near enough."""
        if len(question.tokens) > GUESS_WORDS_MAX:
            return None
        worth, best = _nearest_of(self.ranked(question), question)
        if best is None:
            return None
        looks = not changes_things(best.indexed.tool)
        least = GUESS_MIN_HAN if looks and is_han(question.words) else GUESS_MIN
        return best if worth >= least + ASKS_MORE * bool(best.missing) else None

    def names_something(self, piece: Clause) -> bool:
        """Whether a piece by itself says what to do: a tool is meant, and its words are among those of the piece."""
        if _is_a_name(piece):
            return False
        named = {each.indexed.tool.digest for each in self.ranked(piece) if each.score >= NAMES_MIN}
        if not named and not self._searchers:
            return self._is_near(piece)
        chosen = self.choose(piece)
        return chosen is not None and (chosen.indexed.searches or chosen.indexed.tool.digest in named)

    def is_nearest(self, piece: Clause, question: Clause) -> bool:
        """Whether a piece that names nothing asks for a tool that all of the question does not name either: `where does
        "The Kiss" hang`, among other things to do.
        """
        if not _may_ask(piece) or self._only_named:
            return False
        named = {each.indexed.tool.digest for each in self.ranked(question) if each.score >= NAMES_MIN}
        rest = [each for each in self.ranked(piece) if each.indexed.tool.digest not in named]
        worth, best = _nearest_of(rest, piece)
        if best is None or not best.complete:
            return False
        least = GUESS_MIN if changes_things(best.indexed.tool) else PART_MIN + PART_MORE * (len(rest) - 1)
        if worth < min(least, GUESS_MIN):
            return False
        self._nearest[piece.start] = best.indexed
        self._chosen[piece.start, piece.end] = best
        return True

    def _is_near(self, piece: Clause) -> bool:
        """Whether a piece that asks something comes near to a tool, though it has none of its words."""
        if not asks_alone(piece):
            return False
        near = self.choose(piece) or self.guess(piece)
        if near is None or not near.complete:
            return False
        self._chosen[piece.start, piece.end] = near
        return True

    def is_whole(self, piece: Clause) -> bool:
        """Whether it has all that the tool which it asks for must have."""
        chosen = self.choose(piece)
        return chosen is not None and chosen.complete

    def dictates(self, question: Clause) -> bool:
        """What stands before a colon names a tool that takes free text: the rest is its text, whatever it says."""
        solid = [span for span in question.spans if span.kind in ("time", "url", "date", "quoted", "code", "file")]
        colons = (token for token in question.tokens if token.text in (":", "："))
        colon = next((each for each in colons if not any(s.start <= each.start < s.end for s in solid)), None)
        if colon is None:
            return False
        before = question.part(question.start, colon.start)
        ranked = self.ranked(before)
        takes_text = bool(ranked) and any(
            slot.kind in ("text", "query", "title") for slot in ranked[0].indexed.required
        )
        return takes_text and ranked[0].score >= NAMES_MIN

    def _choose(self, clause: Clause) -> Filled | None:
        ranked = self.ranked(clause)
        highest = ranked[0].score if ranked else 0.0
        if highest == 0.0:
            ranked = sorted(ranked, key=lambda each: -on_the_whole(clause, each.indexed))[:NEAREST]
        found = [
            (each, fill(each.indexed, clause)) for each in ranked[:CANDIDATES] if each.score >= NEAR_BEST * highest
        ]
        judged = [(suitability(signs(each, filled, clause), clause), filled) for each, filled in found]
        fitting = [
            (worth - LACKS * len(filled.missing) + TAKES * len(filled.arguments), filled)
            for worth, filled in judged
            if worth >= self._bar(filled, clause, named=highest > 0.0)
        ]
        best = max(fitting, key=lambda pair: pair[0], default=(0.0, None))[1]
        if best is None or (best.missing and not best.arguments):
            # To ask is no call: for that it is enough that the words name a tool.
            lacking = [
                (worth - LACKS * len(filled.missing), filled)
                for (each, filled), (worth, _) in zip(found, judged, strict=True)
                if each.score >= NAMES_MIN and _is_named(each.indexed, clause)
                if filled.missing or not filled.indexed.required
            ]
            best = max(lacking, key=lambda pair: pair[0], default=(0.0, best))[1]
        if best is not None and not best.missing:
            return best
        searcher = next(iter(self._searchers), None)
        if searcher is not None and (_asks_for_knowledge(clause, named=best is not None) or _says_search(clause)):
            searched = fill(searcher, clause)
            return best if searched.missing else searched
        return best

    def _bar(self, filled: Filled, clause: Clause, *, named: bool) -> float:
        """From where on a tool is taken to be meant, with what it was filled with.

        Args:
            filled: the tool.
            clause: what may ask for it.
            named: whether any tool has a word of the clause.
        """
        changes = changes_things(filled.indexed.tool)
        if not named:
            return math.inf if self._only_named or filled.missing or changes else UNNAMED_MIN
        if filled.missing:
            return ASKS_MIN
        least = FITS_MIN_HAN if is_han(clause.words) else FITS_MIN - PART_LESS * _is_part(clause)
        return CHANGES_MIN if changes else least - FITS_MORE * min(len(self.shelf.tools) - 1, 4)


def _nearest_of(ranked: Sequence[RankedTool], clause: Clause) -> tuple[float, Filled | None]:
    """The tool that a clause comes nearest to by its meaning and by what it has for it, with how much speaks for it."""
    near = sorted(ranked, key=lambda each: -each.score - on_the_whole(clause, each.indexed))[:CANDIDATES]
    known = net("guesser.json", View.of(clause).tongue)
    filled = [(each, fill(each.indexed, clause)) for each in near]
    judged = [(known.worth(signs(each, found, clause)), found) for each, found in filled]
    return max(judged, key=lambda pair: pair[0], default=(0.0, None))


def _may_ask(piece: Clause) -> bool:
    """It has some words, no Chinese one, and does not begin as what only tells more of a thing."""
    words = [token for token in piece.tokens if token.kind != "sign"]
    if _AS_WELL.match(piece.words):
        words = words[3:]
    if len(words) <= SAID_IN or words[0].kind == "number" or is_han(piece.words):
        return False
    opening = bare(words[0].text)
    if opening in _PERSONS:
        return wishes(piece)
    return opening not in wordset("prepositions") | wordset("adding")


_AS_WELL = re.compile(r"\s*as well as\b", re.IGNORECASE)


_PERSONS = frozenset(
    [
        *("i", "we", "you", "he", "she", "it", "they", "my", "our", "your", "his", "her", "its", "their"),
        *("this", "these", "that", "there"),
    ]
)

SAID_IN = 2
"""What asks for something has more words than this."""


def _is_a_name(piece: Clause) -> bool:
    """It is nothing but a name of several words: the `Best Buy` of `at Amazon, REI and Best Buy`."""
    said = piece.words.strip()
    names = (span for span in piece.spans if span.kind == "name" and " " in span.text)
    return piece.start > 0 and any(span.text == said for span in names)


def _is_part(clause: Clause) -> bool:
    """It is a good deal less than the whole question."""
    return clause.end - clause.start < PART_MAX * len(clause.text)


PART_MAX = 0.75


def _unquoted(clause: Clause) -> Sequence[Term]:
    """What a clause may be found by, without what stands in quotes there, as far as that is more than a name."""
    quotes = [span for span in clause.spans if span.kind == "quoted" and " " in span.text.strip()]
    left = [term for term in clause.terms if not any(q.start <= term.start < q.end for q in quotes)]
    return left if quotes and left else clause.terms


def suitability(found: Mapping[str, float], clause: Clause) -> float:
    """How much speaks for a tool, as a logarithm: more than 0 is for it, less for none at all.

    Args:
        found: the signs.
        clause: what they are of: Chinese has its own weights.
    """
    return net("chooser.json", View.of(clause).tongue).worth(found)


def signs(ranked: RankedTool, filled: Filled, clause: Clause) -> dict[str, float]:
    """What speaks for a tool and against it, as numbers."""
    tool = ranked.indexed
    around = likeness(clause, tool)
    required = [each for each in filled.arguments if each.slot.required]
    sure = [each.confidence for each in required]
    strengths = [filled.strengths.get(each.slot.path, 0.0) for each in required]
    kinds = {each.span.kind for each in filled.arguments}  # a second city beside one that was taken is another call
    spare = {(span.start, span.end) for span in filled.spare if span.kind not in kinds}
    numbers = [span for span in clause.spans if span.kind == "number"]
    taken = mentioned(filled, clause)
    unused = [n for n in numbers if not any(n.overlaps(span) for span in taken)]
    missing = len(filled.missing)
    content, left = _left_over(tool, taken, clause)
    chinese = is_han(clause.words)
    foreign = chinese != is_han(tool.tool.description or tool.tool.name)
    return {
        "any": 1.0,
        "whole near": around.whole,
        "name near": around.name,
        "named near": around.named,
        "head near": around.head,
        "farthest near": around.farthest,
        "told near": around.told,
        "said near": around.said,
        "no words, said near": around.said * float(ranked.words == 0.0),
        "few words, named near": around.named * float(ranked.words < 0.5),
        "score": ranked.score,
        "score^": min(ranked.score, 1.0),
        "words": ranked.words,
        "covered": ranked.covered,
        "evidence": ranked.evidence,
        "called": ranked.called,
        "named": ranked.named,
        "told": ranked.told,
        "named and told": ranked.named * ranked.told,
        "is named": float(_is_named(tool, clause)),
        "missing": float(missing),
        "lacks": float(missing > 0),
        "lacks all": float(missing > 0 and not filled.arguments),
        "needs nothing": float(not tool.required),
        "given": float(min(len(required), 4)),
        "given by sign": sum(each.span.kind in _TOLD_BY_SIGN for each in required) / len(required) if required else 0.0,
        "given by name": sum(_names(each.slot, clause) for each in required) / len(required) if required else 0.0,
        "given loosely": float(min(sum(is_loose(each.span) for each in required), 3)),
        "optional": float(min(len(filled.arguments) - len(required), 3)),
        "surest": max(sure, default=0.0),
        "least sure": min(sure, default=0.0),
        "strongest": max(strengths, default=0.0),
        "weakest": min(strengths, default=0.0),
        "spare": float(min(len(spare), 3)),
        "unused numbers": float(min(len(unused), 3)),
        "searches": float(tool.searches),
        "left over": min(left, 6.0),
        "share left": left / content if content else 0.0,
        "all explained": float(left == 0.0),
        "short": float(content < 3),
        "left, not named": min(left, 6.0) * (1.0 - ranked.named),
        "no words": float(ranked.words == 0.0),
        "few words": float(ranked.words < 0.5),
        "filled and named": ranked.named * float(missing == 0),
        "filled and told": ranked.told * float(missing == 0),
        "chinese": float(chinese),
        "chinese, left over": chinese * min(left, 6.0),
        "chinese, words": chinese * min(ranked.words, 2.0),
        "foreign": float(foreign),
        "foreign, left over": foreign * min(left, 6.0),
        "foreign, words": foreign * min(ranked.words, 2.0),
        "foreign, filled": float(foreign and missing == 0),
        "foreign, no words": float(foreign and ranked.words == 0.0),
        "filled, all explained": float(missing == 0 and left == 0.0),
    }


_TOLD_BY_SIGN = frozenset(
    {"quoted", "number", "date", "time", "code", "email", "url", "file", "expression", "formula", "command"}
)
"""Kinds of pieces that are seen to be values, whatever they are for."""


def _names(slot: Slot, clause: Clause) -> bool:
    """The clause has a word of the slot's name."""
    own = keys_of(spaced(slot.name))
    return any(term.key in own and term.weight == 1.0 for term in clause.terms)


def _left_over(tool: Indexed, taken: Sequence[Span], clause: Clause) -> tuple[float, float]:
    """How many words of the clause say something, and how many of them neither the tool nor a value explains."""
    content = left = 0.0
    for token in clause.tokens:
        if token.functional or token.kind == "number":
            continue
        keys = [term.key for term in clause.terms if term.start < token.end and token.start < term.end]
        worth = max((generic(key) for key in keys), default=1.0)
        content += worth
        if any(span.start < token.end and token.start < span.end for span in taken):
            continue
        if not any(key in tool.weights or start_of(key) in tool.weights for key in keys):
            left += worth
    return content, left


def _is_named(tool: Indexed, clause: Clause) -> bool:
    """The clause names the tool, or has what it is for; not just something that it takes as well."""
    named = any(tool.weights.get(term.key, 0.0) >= FIELDS["enum"] and generic(term.key) > 0.3 for term in clause.terms)
    calculates = any(
        tool.weights.get(f"#{name}", 0.0) >= FIELDS["summary"] for span in clause.spans for name in span.operators
    )
    return named or calculates or evidence(tool, clause.spans) >= 0.3 or tool.tool.name in clause.words


def _says_search(clause: Clause) -> bool:
    return any(term.key == "#search" and term.weight == 1.0 for term in clause.terms)


def _asks_for_knowledge(clause: Clause, *, named: bool) -> bool:
    """Whether it is a question about the world. Where a tool is named by its words, only a definition will do."""
    if named:
        return is_definition(clause.words, of_a_kind=True)
    if is_definition(clause.words):
        return True
    first = next((bare(token.text) for token in clause.tokens if token.kind != "sign"), "")
    asks = first in wordset("question words en") or any(
        token.text in wordset("question words zh") for token in clause.tokens
    )
    return asks and any(not token.functional for token in clause.tokens)
