"""What speaks for a piece of the question going into a slot, as numbers, and the one number made of them.

This is the seam for a learned ranker: it replaces `weights.json`, and `score` if it is more than a sum. It needs to
touch nothing else, since `arguments` asks for a score and knows not where it comes from.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from .clauses import Clause
from .selection import Indexed
from .slots import Role, Slot, roles
from .spans import Span
from .words import Token, bare, spaced, terms

_HERE = files("actum") / "models" / "embedded" / "data"


class Features(NamedTuple):
    """What is known of a pair of a slot and a span. Each from 0 to 1 or, `out_of_order`, a count.

    Attributes:
        fit: how well the span's kind suits the slot's.
        cue_before, cue_after: a word that goes with the slot's role stands next to the span.
        beside: a word of the slot's own name or description does.
        contrary: a word of an opposed role does.
        out_of_order: how many places the span is from where it stands if slots and spans come in the same order.
        unit_agrees: the span is in the unit, or is the unit, that the slot asks for.
        apart: nothing but the kind speaks for it.
    """

    fit: float
    cue_before: float
    cue_after: float
    beside: float
    contrary: float
    out_of_order: float
    unit_agrees: float
    apart: float


NOTHING = Features(0, 0, 0, 0, 0, 0, 0, 0)
"""The span is not of a kind that the slot takes."""


def features(slot: Slot, span: Span, indexed: Indexed, clause: Clause) -> Features:
    """What is known of a pair."""
    fit = _fits().get(slot.kind, {}).get(span.kind, 0.0)
    if fit == 0.0 or (span.kind in ("word", "name") and _is_command(span, indexed, clause)):
        return NOTHING
    before, after = clause.neighbours(span)
    own = [roles()[name] for name in slot.roles]
    twins = [each for each in indexed.slots if each.path != slot.path and each.kind == slot.kind]
    others = [roles()[name] for each in twins for name in each.roles if name not in slot.roles]
    cue_before = any(bare(token.text) in role.before for role in own for token in before[:2])
    cue_after = any(token.text in role.after for role in own for token in after[:1])
    beside = max(_beside(slot, twins, indexed, before, after), _with_time(slot, span, twins, clause))
    cued = cue_before or cue_after or beside == 1.0
    contrary = not cued and any(_goes_with(role, before, after) for role in others)
    agrees = _unit_agrees(slot, span)
    return Features(
        fit,
        float(cue_before),
        float(cue_after),
        beside,
        float(contrary),
        _out_of_order(slot, span, indexed, clause),
        agrees,
        float(not (cue_before or cue_after or beside or agrees)),
    )


def _is_command(span: Span, indexed: Indexed, clause: Clause) -> bool:
    """The word is one of the tool's own: it says what to do and not what with."""
    return any(
        indexed.weights.get(term.key, 0.0) >= 0.5
        for term in clause.terms
        if term.start <= span.start and span.end <= term.end
    )


def score(found: Features) -> float:
    """How sure it is that the span goes into the slot, 0 to 1."""
    if found.fit == 0.0:
        return 0.0
    weights = _weights()
    total = sum(weights[name] * value for name, value in zip(Features._fields, found, strict=True))
    return max(0.0, min(1.0, total))


@cache
def _weights() -> dict[str, float]:
    read = json.loads((_HERE / "weights.json").read_text("utf-8"))
    return {name: float(read[name]) for name in Features._fields}


@cache
def _fits() -> dict[str, dict[str, float]]:
    read: dict[str, dict[str, float]] = json.loads((_HERE / "fits.json").read_text("utf-8"))
    return read


def _goes_with(role: Role, before: Sequence[Token], after: Sequence[Token]) -> bool:
    return any(bare(token.text) in role.before for token in before[:1]) or any(t.text in role.after for t in after[:1])


def _beside(
    slot: Slot, twins: Sequence[Slot], indexed: Indexed, before: Sequence[Token], after: Sequence[Token]
) -> float:
    """Whether a word of the slot stands within two words of the span. The tool's own name says nothing of a slot, and a
    word that a slot of the same kind shares says less."""
    near = {term.key for token in (*before[:2], *after[:2]) if token.kind != "sign" for term in terms(token.text)}
    shared = near & slot.terms
    if shared <= indexed.named and not shared & _own_words(slot):
        return 0.0
    if not shared:
        return 0.0
    return 0.3 if any(shared <= twin.terms for twin in twins) else 1.0


def _own_words(slot: Slot) -> set[str]:
    return {term.key for term in terms(spaced(slot.name), hints=False)}


def _with_time(slot: Slot, span: Span, twins: Sequence[Slot], clause: Clause) -> float:
    """A time of day stands by the place where it holds: `noon in Tokyo`, 东京中午12点."""
    if "source" not in slot.roles or not twins or span.kind not in ("city", "country"):
        return 0.0
    times = [other for other in clause.spans if other.kind == "time"]
    gaps = (clause.text[min(time.end, span.end) : max(time.start, span.start)] for time in times)
    return float(any(gap.strip().lower() in ("", "in", "at", "在", "的") for gap in gaps))


def _unit_agrees(slot: Slot, span: Span) -> float:
    free = span.detail.endswith(":free")
    if span.kind in ("unit", "currency"):
        return float(("source" in slot.roles and not free) or ("target" in slot.roles and free))
    if span.kind == "number" and "year" in slot.terms:
        return float(isinstance(span.value, int) and 1000 <= span.value <= 2200)
    if span.kind == "number" and span.detail:
        unit = span.detail.split(":")[-1]
        return float(any(unit in (key, key.lstrip("#")) for key in slot.terms))
    return 0.0


def _out_of_order(slot: Slot, span: Span, indexed: Indexed, clause: Clause) -> float:
    alike = [each for each in indexed.slots if each.kind == slot.kind and not each.many]
    if len(alike) < 2:
        return 0.0
    rivals = [each for each in clause.spans if each.kind == span.kind]
    return float(abs(alike.index(slot) - rivals.index(span)))
