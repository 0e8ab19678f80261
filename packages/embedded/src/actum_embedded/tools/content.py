"""Free text in a clause: what to search for, what to write down, what to translate.

It is what remains when the words that name the tool, the pieces that other slots took, and the courtesies are taken
off both ends.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..text.clauses import Clause
from ..text.lexicon import is_han, wordset
from ..text.spans import Span
from ..text.words import Token, bare, spaced
from .selection import Indexed
from .slots import Slot

QUOTED, AFTER_COLON, AFTER_COMMAND, WHOLE, UNSURE = 0.95, 0.9, 0.8, 0.5, 0.3

_DEFINES = (
    re.compile(
        r"^(?:what|who)(?:['’]s|\s+is|\s+are|\s+was|\s+were)\s+(?!the\s+\w+\s+of\b|it\b|this\b)(?:an?\s+|the\s+)?(?=\w)",
        re.IGNORECASE,
    ),
    re.compile(r"^(?:(?:tell\s+me|explain)\s+)?(?:more\s+|something\s+)?about\s+", re.IGNORECASE),
    re.compile(r"^(?:什么是|什么叫|谁是|何为|介绍一下|讲讲|解释一下)"),
    re.compile(r"(?:是什么|是谁|是啥|是什么意思|是什么东西|什么意思)$"),
)
_THANKS = re.compile(
    r"(?:[\s,，.。!！?？]*(?:\bplease|\bthanks|\bthank you|\bfor me|\bright now|吗|呢|吧|啊|呀|谢谢|一下|好吗|可以吗))+"
    r"[\s.。!！?？]*$",
    re.IGNORECASE,
)
_OF_A_KIND = re.compile(
    r"(?:what(?:\s+is|['’]s)\s+(?:an?|its)\s|what\s+are\s|who\s+(?:is|was)\s|who['’]s\s)", re.IGNORECASE
)
_STRIPPED = " \t\n?？。.!！,，:：;；、"


def content_of(slot: Slot, indexed: Indexed, clause: Clause, used: Sequence[Span]) -> tuple[Span, float] | None:
    """The free text that a slot takes, and how sure it is; None when there is none.

    Args:
        slot: the slot.
        indexed: its tool: words that name it are a command and not content.
        clause: the clause.
        used: what other slots took.
    """
    quoted = [
        span for span in clause.spans if span.kind == "quoted" and not any(span.overlaps(other) for other in used)
    ]
    if quoted and (slot.required or _announced(slot, clause, quoted[0].start)):
        return quoted[0], QUOTED
    if not slot.required:
        return None
    colon = _after_colon(clause, used)
    if colon is not None:
        return colon, AFTER_COLON
    told = _told(clause, used) if slot.kind == "text" else None
    return (told, AFTER_COMMAND) if told is not None else _remaining(slot, indexed, clause, used)


def _told(clause: Clause, used: Sequence[Span]) -> Span | None:
    """What somebody shall be told, after the name: 我到了 of 告诉王芳我到了."""
    for span in used:
        if _TELLS.search(clause.text[clause.start : span.start]) and span.end < clause.end:
            return _span(clause.text, span.end, clause.end)
    return None


_TELLS = re.compile(r"(?:告诉|通知|转告|\b(?:tell|text|message))\s*$", re.IGNORECASE)


def is_definition(words: str, *, of_a_kind: bool = False) -> bool:
    """Whether a clause asks what or who something is.

    Args:
        words: the clause.
        of_a_kind: only what can be nothing else: `what is a drone`, but not `what is the time`.
    """
    words = words.strip(_STRIPPED)
    certain = not of_a_kind or is_han(words) or _OF_A_KIND.match(words)
    return bool(certain) and any(pattern.search(words) for pattern in _DEFINES)


def _announced(slot: Slot, clause: Clause, place: int) -> bool:
    """The slot's own name stands shortly before: `with the subject "..."`."""
    before = [bare(token.text) for token in clause.tokens if token.end <= place][-3:]
    return bool(set(spaced(slot.name).lower().split()) & set(before))


def _after_colon(clause: Clause, used: Sequence[Span]) -> Span | None:
    for token in clause.tokens:
        inside = any(span.start < token.end and token.start < span.end for span in clause.spans if span.kind in _SOLID)
        if token.text in ":：" and not inside:
            end = _trimmed_end(clause, token.end, clause.end, used)
            return _span(clause.text, token.end, end)
    return None


_SOLID = frozenset(["time", "url", "date", "code", "file", "expression", "quoted"])


def _remaining(slot: Slot, indexed: Indexed, clause: Clause, used: Sequence[Span]) -> tuple[Span, float] | None:
    commands = [
        (term.start, term.end)
        for term in clause.terms
        if indexed.weights.get(term.key, 0.0) >= 0.75 or (term.key[0] == "#" and term.key in indexed.summary)
    ]
    tokens = [token for token in clause.tokens if clause.start <= token.start]
    start, commanded = _head(tokens, commands, used, clause.start)
    courtesy = _THANKS.search(clause.text, start, clause.end)
    end = courtesy.start() if courtesy and courtesy.start() >= start else clause.end
    end = _trimmed_end(clause, start, end, used, commands if not commanded else ())
    span = _span(clause.text, start, end)
    if span is not None and slot.kind == "query" and not commanded:
        span = _defined(clause.text, span)
    if span is None or not any(not token.functional and span.start <= token.start < span.end for token in tokens):
        return None
    return span, AFTER_COMMAND if commanded else WHOLE if slot.kind == "query" else UNSURE


def _head(
    tokens: Sequence[Token], commands: Sequence[tuple[int, int]], used: Sequence[Span], start: int
) -> tuple[int, bool]:
    """Where the content starts, and whether words of the tool stand before it."""
    at, last, commanded = 0, start, False
    while at < len(tokens):
        token = tokens[at]
        command = any(begin <= token.start < end for begin, end in commands)
        if command or any(span.start <= token.start < span.end for span in used):
            commanded |= command
            last = token.end
        elif not (
            token.functional
            and (commanded or bare(token.text) in wordset("courtesies") or _leads_to_command(tokens, at, commands))
        ):
            break
        elif not commanded and bare(token.text) in wordset("courtesies"):
            last = token.end
        at += 1
    rest = [token for token in tokens if token.start >= last]
    for token in rest:
        if (token.kind == "sign" and token.text not in "([（<") or bare(token.text) in (
            wordset("before content") if commanded else ()
        ):
            last = token.end
        else:
            break
    return last, commanded


def _leads_to_command(tokens: Sequence[Token], at: int, commands: Sequence[tuple[int, int]]) -> bool:
    """Only small words stand between here and a word of the tool: `a` in `write me a note`."""
    for token in tokens[at : at + 4]:
        if any(begin <= token.start < end for begin, end in commands):
            return True
        if not token.functional:
            return False
    return False


def _trimmed_end(
    clause: Clause, start: int, end: int, used: Sequence[Span], commands: Sequence[tuple[int, int]] = ()
) -> int:
    """Where the content ends: what other slots took is cut off, with the preposition before it, and so are signs."""
    places = [(span.start, span.end) for span in used] + list(commands)
    tokens = [token for token in clause.tokens if start <= token.start and token.end <= end]
    cut = False
    while tokens:
        token = tokens[-1]
        taken = any(begin <= token.start < finish for begin, finish in places)
        joining = cut and bare(token.text) in wordset("prepositions") | wordset("between values")
        sign = token.kind == "sign" and token.text not in ")]）"
        if not (taken or joining or sign):
            break
        cut = taken or (cut and sign)
        tokens.pop()
    return tokens[-1].end if tokens else start


def _defined(text: str, span: Span) -> Span | None:
    """The thing that a definition is asked of: `drone` of `what is a drone`."""
    said = text[span.start : span.end]
    for pattern in _DEFINES:
        match = pattern.search(said)
        if match is not None and match.start() == 0:
            return _span(text, span.start + match.end(), span.end)
        if match is not None:
            return _span(text, span.start, span.start + match.start())
    return span


def _span(text: str, start: int, end: int) -> Span | None:
    said = text[start:end]
    left = len(said) - len(said.lstrip(_STRIPPED))
    kept = said.strip(_STRIPPED)
    return Span("content", start + left, start + left + len(kept), kept, kept) if kept else None
