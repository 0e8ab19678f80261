"""Which tool a clause asks for: words in common with names, descriptions, parameters and enum values, weighed as BM25
does.

A tool is indexed once, by its digest. A word counts for as much as the best field it stands in, more when few of the
offered tools have it, less when it is of the kind that every description uses (`generic.csv`). Pieces that only one
sort of tool takes, a formula or an address, count as evidence beside the words. Knows nothing of which value goes
where.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from actum.core.json import JsonObject
from actum.core.tool import Tool

from ..text.lexicon import concepts_of, table
from ..text.spans import Span
from ..text.words import Term, keys_of, spaced, told_terms
from .slots import Slot, slots_of

FIELDS = {
    "name": 1.0,
    "summary": 0.8,
    "description": 0.5,
    "parameter": 0.5,
    "enum": 0.6,
    "explained": 0.35,
    "result": 0.3,
}
"""How much a word counts by where it stands."""

EVIDENCE = {
    "expression": 0.9,
    "sql": 0.9,
    "command": 0.9,
    "url": 0.6,
    "email": 0.5,
    "file": 0.5,
    "unit": 0.8,
    "currency": 0.6,
}
"""What a piece of this kind is worth to a tool that requires one."""

VALUES = frozenset({"city", "country", "date", "time", "email", "url", "file"})
"""Kinds of pieces that are what a tool works with, and not a word for what it does."""

WEAK = 0.5
"""What words are worth to a tool with a side effect when none of them is in its name."""

INDEXED_MAX = 5_000
FREE = frozenset({"query", "text", "title", "string", "person", "file"})
"""Kinds of slots that take words which no tool need know."""


class Indexed(NamedTuple):
    """A tool and what it is found by.

    Attributes:
        weights: term -> weight of the best field that has it.
        named: the terms of its name.
        summary: those and the terms of the first sentence of its description.
        searches: it takes any question: a search of the web, of documents.
        results: terms of its result's fields.
    """

    tool: Tool
    slots: tuple[Slot, ...]
    weights: dict[str, float]
    named: frozenset[str]
    summary: frozenset[str]
    searches: bool
    results: dict[str, frozenset[str]]

    @property
    def required(self) -> tuple[Slot, ...]:
        """The slots that must be filled."""
        return tuple(slot for slot in self.slots if slot.required)


class RankedTool(NamedTuple):
    """A tool and how well it fits.

    Attributes:
        score: all of it in one number.
        words: what the words that both have are worth.
        covered: how much of what was asked they are, 0 to 1.
        evidence: what the typed pieces are worth to it.
        called: it is called by its very name.
        named: how much of its name was said, 0 to 1.
        told: how much of the first sentence of its description was said, 0 to 1.
    """

    indexed: Indexed
    score: float
    words: float = 0.0
    covered: float = 0.0
    evidence: float = 0.0
    called: float = 0.0
    named: float = 0.0
    told: float = 0.0


_indexed: dict[str, Indexed] = {}


def index(tool: Tool) -> Indexed:
    """The index of a tool, made once."""
    found = _indexed.get(tool.digest)
    if found is None:
        if len(_indexed) >= INDEXED_MAX:
            _indexed.clear()
        found = _indexed[tool.digest] = _index(tool)
    return found


class Shelf:
    """The tools on offer, with how rare each of their words is among them."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self.tools = [index(tool) for tool in tools]
        self._counts = Counter(key for tool in self.tools for key, weight in tool.weights.items() if weight >= 0.5)

    def rank(self, found: Sequence[Term], spans: Sequence[Span], text: str) -> list[RankedTool]:
        """The tools by how well they fit the words and pieces of a clause, the best first.

        Args:
            found: what the clause may be found by.
            spans: its typed pieces.
            text: its words, for a tool that is called by its very name.
        """
        asked: dict[str, float] = {}
        values = [span for span in spans if span.kind in VALUES]
        for term in found:
            if any(span.start <= term.start and term.end <= span.end for span in values):
                continue  # the Tokyo of a description's example says nothing about a question on Tokyo
            asked[term.key] = max(asked.get(term.key, 0.0), term.weight)
        said = {key: weight * generic(key) for key, weight in asked.items()}
        said |= {f"#{name}": 1.0 for span in spans for name in span.operators}
        rooted = [(key, start_of(key), weight) for key, weight in said.items()]
        stray = _stray(found, spans)
        ranked = [self._ranked(tool, rooted, stray, spans, text) for tool in self.tools]
        return sorted(ranked, key=lambda each: -each.score)

    def _ranked(
        self, tool: Indexed, rooted: Sequence[tuple[str, str, float]], stray: set[str], spans: Sequence[Span], text: str
    ) -> RankedTool:
        typed, called = evidence(tool, spans), _called(tool.tool.name, text)
        said = {key if key in tool.weights else root: weight for key, root, weight in rooted}
        matched = {key: weight * tool.weights[key] for key, weight in said.items() if key in tool.weights}
        if not matched:
            return RankedTool(tool, typed + called, evidence=typed, called=called)
        words = sum(weight * self._rarity(key) for key, weight in matched.items())
        unmatched = sum(
            said.get(key, said.get(start_of(key), 0.0)) for key in stray if not {key, start_of(key)} & matched.keys()
        )
        free = any(slot.kind in FREE for slot in tool.required)
        covered = words / (words + unmatched * (0.3 if free else 0.8)) if words else 0.0
        words *= 0.5 + 0.5 * covered
        if changes_things(tool.tool) and tool.named.isdisjoint(matched):
            words *= WEAK  # to change something takes to be asked for it
        named, told = _share(tool.named, said), _share(tool.summary, said)
        return RankedTool(tool, words + typed + called, words, covered, typed, called, named, told)

    def _rarity(self, key: str) -> float:
        count = len(self.tools)
        return 0.6 + 0.4 * math.log(1 + count / max(self._counts[key], 1)) / math.log(1 + count)


@lru_cache(maxsize=32768)
def start_of(key: str) -> str:
    """How a longer English word begins: `discover` and `discoverer` meet there."""
    return f"{key[:ROOT]}~" if len(key) >= ROOT and key[0] != "#" and key.isascii() else key


ROOT, ROOT_WORTH = 6, 0.7
"""So many letters are the root of a word, and so much is it worth where the word itself is another."""


def _share(keys: frozenset[str], said: Mapping[str, float]) -> float:
    """How much of some terms was said, by how much each tells."""
    told = _told_by(keys)
    whole = sum([worth for _, _, worth in told])
    if not whole:
        return 0.0
    met = ((worth, said[key] if key in said else ROOT_WORTH * said.get(root, 0.0)) for key, root, worth in told)
    return sum([worth * min(1.0, much) for worth, much in met]) / whole


@lru_cache(maxsize=INDEXED_MAX)
def _told_by(keys: frozenset[str]) -> tuple[tuple[str, str, float], ...]:
    """Terms with how they begin and how much each tells."""
    return tuple((key, start_of(key), generic(key)) for key in sorted(keys))


def changes_things(tool: Tool) -> bool:
    """It is declared to do more than look."""
    return tool.effects is not None and not tool.reads_only


def _called(name: str, text: str) -> float:
    """Whether a tool is called by its very name, where that is not a plain word."""
    return float(
        not name.isalpha() and name in text and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None
    )


@cache
def _generic() -> dict[str, float]:
    return {row["key"]: float(row["weight"]) for row in table("generic")}


def generic(key: str) -> float:
    """How much a term tells at all: 1 for most, little for `data` and `name`."""
    return _generic().get(key, 1.0)


def _stray(found: Sequence[Term], spans: Sequence[Span]) -> set[str]:
    """The terms that are not part of a typed piece."""
    typed = [span for span in spans if span.kind not in ("phrase", "chunk", "number")]
    inside = {term.key for term in found if any(span.start <= term.start and term.end <= span.end for span in typed)}
    hinting = {(term.start, term.end) for term in found if term.key[0] == "#"}
    return {
        term.key
        for term in found
        if term.key not in inside and not (term.key[0] != "#" and (term.start, term.end) in hinting)
    }


def evidence(tool: Indexed, spans: Sequence[Span]) -> float:
    """What the typed pieces of a clause are worth to a tool that requires such."""
    worth = 0.0
    kinds = {span.kind for span in spans}
    for kind in {slot.kind for slot in tool.required}:
        if kind not in EVIDENCE or kind not in kinds:
            continue
        if kind in ("unit", "currency"):
            worth += EVIDENCE[kind] * _measured(kind, spans)
        else:
            worth += EVIDENCE[kind]
    return worth


def _measured(kind: str, spans: Sequence[Span]) -> float:
    """Whether there is a number in one unit and another unit of the same quantity."""
    counted = {span.detail.split(":")[0] for span in spans if span.kind == kind and not span.detail.endswith(":free")}
    free = {span.detail.split(":")[0] for span in spans if span.kind == kind and span.detail.endswith(":free")}
    both = counted & free if kind == "unit" else counted and free
    return 1.0 if both else 0.3 if counted and kind == "unit" and len(counted) > 0 and not free else 0.1


def _index(tool: Tool) -> Indexed:
    weights: dict[str, float] = {}

    def add(text: str, field: str) -> None:
        for term in told_terms(text):
            for key, worth in ((term.key, term.weight), (start_of(term.key), ROOT_WORTH * term.weight)):
                weights[key] = max(weights.get(key, 0.0), FIELDS[field] * worth)

    summary, _, rest = _SENTENCE_END.sub("\n", tool.description.strip(), count=1).partition("\n")
    slots = slots_of(tool)
    add(f"{spaced(tool.name)}. {tool.title}", "name")
    named = frozenset(key for key in weights if not key.endswith("~"))
    add(summary, "summary")
    head = frozenset(key for key in weights if not key.endswith("~"))
    add(rest, "description")
    for slot in slots:
        add(spaced(slot.name), "parameter")
        add(slot.description, "explained")
        for value in slot.enum:
            said = spaced(str(value))
            add(said, "enum")
            for concept in concepts_of(said.lower(), spaced(slot.name).lower()):
                weights[f"#{concept}"] = max(weights.get(f"#{concept}", 0.0), FIELDS["enum"])
    results = _results(tool.result or {})
    for name in results:
        add(spaced(name), "result")
    return Indexed(tool, slots, weights, named, head, _searches(tool, slots, weights), results)


_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])|\n")


def _results(schema: JsonObject) -> dict[str, frozenset[str]]:
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return {}
    return {name: keys_of(spaced(name)) for name in properties}


def _searches(tool: Tool, slots: tuple[Slot, ...], weights: dict[str, float]) -> bool:
    """A tool that takes one free question and is called a search, of nothing in particular."""
    required = [slot for slot in slots if slot.required]
    name = keys_of(spaced(tool.name))
    general = {
        "#search",
        "#web",
        "#query",
        "#find",
        "googl",
        "wikipedia",
        "knowledg",
        "wiki",
        "bing",
        "duckduckgo",
        "#page",
        "tavily",
    }
    return (
        len(required) == 1
        and required[0].kind in ("query", "text", "string")
        and bool(name)
        and name <= general
        and "#search" in weights
    )
