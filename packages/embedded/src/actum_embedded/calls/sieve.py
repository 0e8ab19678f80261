"""Which of the steps of a plan nobody asked for: "I need some data for my research" before what the data are, or
"please send me all of that" at the end.

What a step has beside the others of the plan are signs; what they are worth is learned (`data/sieve.json`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..learned.weights import weights
from ..text.lexicon import wordset
from ..text.words import bare, keys_of
from ..tools.selection import generic
from .readings import worth as worth_of
from .sharing import is_loose
from .step import Step

ASKED_MIN = 0.5
"""From this on a step is taken to be asked for; a logarithm."""


def sifted(steps: Sequence[Step]) -> list[Step]:
    """The steps without those that nobody asked for, the weakest left out first; one at least remains."""
    known, kept = weights("sieve.json"), list(steps)
    while len(kept) > 1:
        judged = [(worth_of(known, signs(at, kept)), at) for at in range(len(kept)) if _is_open(at, kept)]
        worth, at = min(judged, default=(ASKED_MIN, 0))
        if worth >= ASKED_MIN or any(need.step == kept[at].number for step in kept for need in step.needs):
            break
        del kept[at]
    return kept


def _is_open(at: int, steps: Sequence[Step]) -> bool:
    """Whether it is to be judged at all: no search is, nor what has all that its tool must have by words that can only
    be values, nor a tool's bare name, nor where all that is like it is said in the same clause: how many calls that is,
    `grouping` has judged.
    """
    step = steps[at]
    required = [each for each in step.arguments if each.slot.required]
    loose = any(
        is_loose(each.span) and each.value == each.span.text and each.slot.kind not in ("enum", "boolean")
        for each in required
    )
    if step.indexed.searches or (required and not step.missing and not loose) or _is_bare(step):
        return False
    alike = [other for other in steps if other is not step and other.indexed is step.indexed]
    return not alike or any(other.clause != step.clause for other in alike)


def _is_bare(step: Step) -> bool:
    """Nothing is said but the name of the tool: 天气, between other things to do."""
    content = [token for token in step.clause.tokens if not token.functional]
    named = {term.start for term in step.clause.terms if term.key in step.indexed.named}
    return not step.arguments and 0 < len(content) <= BARE_MAX and all(token.start in named for token in content)


BARE_MAX = 2
"""A name has so many words at most."""


def signs(at: int, steps: Sequence[Step]) -> Mapping[str, float]:
    """What speaks for a step of a plan and against it, as numbers.

    Args:
        at: which step.
        steps: all of them.
    """
    step = steps[at]
    alike = [other for other in steps if other is not step and other.indexed is step.indexed]
    apart = [other for other in alike if other.clause != step.clause]
    mine = _given(step)
    best = max((_given(other) for other in alike), key=lambda each: each["solid"] - each["lacks"], default=None)
    words = [bare(token.text) for token in step.clause.tokens if token.kind != "sign"]
    opening = words[0] if words else ""
    found = {
        "any": 1.0,
        **mine,
        "first": float(at == 0),
        "last": float(at == len(steps) - 1),
        "opens the question": float(step.clause.start == steps[0].clause.start and at == 0),
        "said by a person": float(opening in _PERSONS),
        "goes on": float(opening in wordset("next task") or opening in wordset("adding")),
        "points": float(opening in _POINTERS),
        "opens with a person": float(at == 0 and opening in _PERSONS and mine["solid"] == 0.0),
        "a person, needs nothing": float(opening in _PERSONS and not step.indexed.required),
        "asks politely": float(opening in ("please", "can", "could")),
        "short": float(len(words) < 5),
        "named": _named(step),
    }
    if alike:
        assert best is not None
        found["alike"] = 1.0
        found["alike apart"] = float(bool(apart))
        found["alike in one clause"] = float(len(apart) < len(alike))
        for name, value in mine.items():
            found[f"alike, {name}"] = value
            found[f"less {name}"] = best[name] - value
        found["alike, first"], found["alike, last"] = found["first"], found["last"]
        found["alike, said by a person"] = found["said by a person"]
        found["alike, points"] = found["points"]
        found["said again"] = float(any(_same(step, other) for other in alike))
        found["alike, less named"] = max(_named(other) for other in alike) - found["named"]
        found["how many alike"] = float(min(4, len(alike)))
        for name in ("loose", "lacks", "solid", "unsure"):
            found[f"apart, {name}"] = mine[name] * bool(apart)
            found[f"one clause, {name}"] = mine[name] * (len(apart) < len(alike))
    return found


_PERSONS = frozenset({"i", "i'm", "we", "my", "our", "as"})
_POINTERS = frozenset({"this", "these", "the", "that", "it", "those", "all", "both"})


def _given(step: Step) -> dict[str, float]:
    """What a step has, as numbers."""
    required = [each for each in step.arguments if each.slot.required]
    loose = [each for each in step.arguments if is_loose(each.span)]
    free = [each for each in loose if each.slot.kind not in ("text", "query", "title")]
    dull = [each for each in loose if _is_dull(each.span.text, step)]
    return {
        "loose": float(min(3, len(loose))),
        "loose for no text": float(min(3, len(free))),
        "dull": float(min(3, len(dull))),
        "all loose": float(bool(loose) and len(loose) == len(step.arguments)),
        "solid": float(min(4, len(step.arguments) - len(loose))),
        "nothing": float(not step.arguments),
        "lacks": float(min(3, len(step.missing))),
        "needs nothing": float(not step.indexed.required),
        "unsure": 1.0 - min((each.confidence for each in required), default=1.0),
        "sure": max((each.confidence for each in step.arguments), default=0.0),
    }


def _is_dull(text: str, step: Step) -> bool:
    """Its words say little, or are those of the tool."""
    keys = keys_of(text)
    return all(generic(key) < 0.5 or key in step.indexed.weights for key in keys)


def _named(step: Step) -> float:
    """How much the words of the clause name the tool."""
    own = step.indexed.named
    said = {term.key for term in step.clause.terms if term.weight == 1.0}
    return len(own & said) / len(own) if own else 0.0


def _same(step: Step, other: Step) -> bool:
    """A value of the one is one of the other, or within it."""
    mine = [str(each.value).lower() for each in step.arguments]
    theirs = [str(each.value).lower() for each in other.arguments]
    return any(value in given for value in mine for given in theirs if len(value) > 2)
