"""Which tool a clause asks for, judged by its words first and then by what the clause has for it."""

from __future__ import annotations

from .arguments import Filled, fill
from .clauses import Clause
from .content import is_definition
from .lexicon import wordset
from .selection import FIELDS, Indexed, Shelf, evidence, generic
from .words import bare

FITS_MIN = 0.42
"""From this score on a tool is taken to be meant."""

ASKS_MIN = 0.5
"""From this score on the user is asked for what it lacks; below, the tool was hardly meant."""

CANDIDATES = 5


class Chooser:
    """Chooses among the tools on offer, for the clauses of one question; a clause is judged once.

    Args:
        shelf: the tools.
    """

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self._chosen: dict[tuple[int, int], Filled | None] = {}

    def choose(self, clause: Clause) -> Filled | None:
        """The tool that a clause asks for, with its arguments; None when none fits."""
        place = (clause.start, clause.end)
        if place not in self._chosen:
            self._chosen[place] = self._choose(clause)
        return self._chosen[place]

    def names_something(self, piece: Clause) -> bool:
        """Whether a piece by itself says what to do."""
        return self.choose(piece) is not None

    def dictates(self, question: Clause) -> bool:
        """What stands before a colon names a tool that takes free text: the rest is its text, whatever it says."""
        solid = [span for span in question.spans if span.kind in ("time", "url", "date", "quoted", "code", "file")]
        colons = (token for token in question.tokens if token.text in (":", "："))
        colon = next((each for each in colons if not any(s.start <= each.start < s.end for s in solid)), None)
        if colon is None:
            return False
        before = question.part(question.start, colon.start)
        ranked = self.shelf.rank(before.terms, before.spans, before.words)
        takes_text = bool(ranked) and any(
            slot.kind in ("text", "query", "title") for slot in ranked[0].indexed.required
        )
        return takes_text and ranked[0].score >= FITS_MIN

    def _choose(self, clause: Clause) -> Filled | None:
        ranked = self.shelf.rank(clause.terms, clause.spans, clause.words)[:CANDIDATES]
        fitting = [
            (each.score, filled)
            for each in ranked
            if each.score >= FITS_MIN and _is_named(each.indexed, clause)
            for filled in (fill(each.indexed, clause),)
            if not filled.missing or each.score >= ASKS_MIN
        ]
        best = max(fitting, key=lambda pair: pair[0] + _use_made(pair[1]), default=(0.0, None))[1]
        if best is not None and not best.missing:
            return best
        searcher = next((tool for tool in self.shelf.tools if tool.searches), None)
        if searcher is not None and _asks_for_knowledge(clause, named=best is not None):
            searched = fill(searcher, clause)
            return best if searched.missing else searched
        return best


def _is_named(tool: Indexed, clause: Clause) -> bool:
    """The clause names the tool, or has what it is for; not just something that it takes as well."""
    named = any(tool.weights.get(term.key, 0.0) >= FIELDS["enum"] and generic(term.key) > 0.3 for term in clause.terms)
    calculates = any(
        tool.weights.get(f"#{name}", 0.0) >= FIELDS["summary"] for span in clause.spans for name in span.operators
    )
    return named or calculates or evidence(tool, clause.spans) >= 0.3 or tool.tool.name in clause.words


def _use_made(filled: Filled) -> float:
    """A required slot that stays empty speaks against a tool, and so does a typed piece that it has no use for."""
    missing = len(filled.missing)
    good = 0.08 * (len(filled.indexed.required) - missing) - 0.15 * missing
    optional = sum(0.05 for each in filled.arguments if not each.slot.required)
    kinds = {each.span.kind for each in filled.arguments}  # a second city beside one that was taken is another call
    spare = {(span.start, span.end) for span in filled.spare if span.kind not in kinds}
    return good + optional - 0.12 * len(spare)


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
