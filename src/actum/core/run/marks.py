"""Marks by which a run is found beside its line in the list of runs: its tools, its errors, a version, the words of its
question.

A mark is a short text. A journal keeps the marks of each run in an index of their own, written with the records that
they follow from, and deletes them when the run is forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from ..language.words import written_words
from .record import CallCompleted, CallRefused, CallsRequested, Ended, Intended, ModelReplied, Record, Started

MARK_MAX = 200
"""A name that is longer is cut, here and where it is asked for."""
WORDS_MAX = 100
"""A run is found by the first words of its question, and a question is looked for by its first words."""
TEXT_CHARS_MAX = 2_000
"""The most characters of a question that are searched for words."""


def marks_of(record: Record) -> Sequence[str]:
    """The marks that a record gives to its run."""
    match record:
        case Intended():
            return (_mark("tool", record.tool),)
        case ModelReplied() | CallsRequested():
            calls = record.reply.calls if isinstance(record, ModelReplied) else record.calls
            return [_mark("tool", call.name) for call in calls]
        case CallCompleted() | CallRefused():
            return () if record.result.error is None else (_mark("error", record.result.error.code),)
        case Ended(status="stopped" | "failed") if record.reason:
            return (_mark("error", record.reason),)
        case Started():
            number = record.version or record.uses.get(f"agent/{record.agent}", 0) or record.uses.get(record.agent, 0)
            version = [_mark("version", number)] if number else []
            return version + [_mark("text", word) for word in _words(record.question)]
        case _:
            return ()


def marks_wanted(wanted: Mapping[str, object]) -> list[str]:
    """The marks that a `RunFilter` asks for: a run has to have all of them."""
    marks = [_mark(name, value) for name in MARKED if name != "text" and (value := wanted.get(name))]
    if text := str(wanted.get("text") or ""):
        marks += [_mark("text", word) for word in _words(text) or [""]]  # no run has the empty word
    return marks


def _words(text: str) -> list[str]:
    return written_words(text[:TEXT_CHARS_MAX])[:WORDS_MAX]


MARKED = ("tool", "error", "version", "text")
"""The parts of a `RunFilter` that are found by marks."""


@lru_cache(1024)
def _mark(kind: str, value: object) -> str:
    return f"{kind}:{value}"[:MARK_MAX].replace("\0", "\ufffd")
