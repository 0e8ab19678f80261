"""The words that the embedded model knows beforehand, read once from `data/` here and from `actum/data`.

Nothing here knows a tool. A *concept* is a meaning with its words in English and Chinese, and with hints: words that
point to it without naming it ("umbrella" hints at weather). A *name* is a word of a closed class: a place, a unit, a
currency, a language.
"""

from __future__ import annotations

import csv
import json
import re
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

HAN = "\u3400-\u9fff\uf900-\ufaff"
HINT_WEIGHT = 0.6


class Meaning(NamedTuple):
    """What a word or phrase stands for, and how surely."""

    concept: str
    weight: float


class Name(NamedTuple):
    """A word of a closed class.

    Attributes:
        kind: `city`, `country`, `unit`, `currency`, `language`, `holiday`, or `feast` for one whose day moves.
        key: the same for every word of the same thing: `Beijing` and `北京` share one.
        extra: for a unit its quantity, for a holiday its month and day, for a feast its days.
    """

    kind: str
    key: str
    extra: str = ""


class Lexicon(NamedTuple):
    """All of it, indexed by how it is looked up.

    Attributes:
        phrases: meanings of an English phrase, by its words and by their stems: `times` is multiplication, its stem
            `time` is not.
        phrase_starts: first word of a phrase -> how many words the longest one has.
        han: meanings of a Chinese word.
        parted: Chinese words that others may stand inside of, 订…票, with what they mean.
        names: names by their folded text; those in Chinese among them.
        han_words: every Chinese word there is, for cutting a sentence into words.
        han_longest: characters of the longest of them.
        function_words: words that say nothing about which tool is meant, both languages.
        labels: concept -> its first Chinese word.
        called: the concepts that a value is called by, which need not be words: `first`, `sick leave`.
    """

    phrases: dict[tuple[str, ...], tuple[Meaning, ...]]
    phrase_starts: dict[str, int]
    han: dict[str, tuple[Meaning, ...]]
    parted: dict[tuple[str, str], tuple[Meaning, ...]]
    names: dict[str, tuple[Name, ...]]
    han_words: frozenset[str]
    han_longest: int
    function_words: frozenset[str]
    labels: dict[str, str]
    called: dict[str, tuple[str, ...]]


@cache
def lexicon() -> Lexicon:
    """The lexicon, read from its files at the first call."""
    phrases: dict[tuple[str, ...], tuple[Meaning, ...]] = {}
    han: dict[str, tuple[Meaning, ...]] = {}
    said: dict[tuple[str, ...], tuple[Meaning, ...]] = {}
    parted: dict[tuple[str, str], tuple[Meaning, ...]] = {}
    labels: dict[str, str] = {}
    called: dict[str, tuple[str, ...]] = {}
    for row in table("concepts"):
        weighted = [(word, 1.0) for word in row["words"].split("|")]
        weighted += [(word, HINT_WEIGHT) for word in row["hints"].split("|") if word]
        for word, weight in weighted:
            meaning = Meaning(row["concept"], weight)
            first, apart, last = word.partition("…")
            if word[0] == "=":
                called[word[1:]] = (*called.get(word[1:], ()), row["concept"])
            elif apart:
                parted[first, last] = (*parted.get((first, last), ()), meaning)
            elif is_han(word):
                han[word] = (*han.get(word, ()), meaning)
                labels.setdefault(row["concept"], word)
            else:
                parts = tuple(re.findall(r"[^\W_]+", word.lower()))
                said[parts] = (*said.get(parts, ()), meaning)
        if row["concept"] in labels:
            called[row["concept"]] = (*called.get(row["concept"], ()), row["concept"])
    for parts, meanings in said.items():
        stems = tuple(stem(part) for part in parts)
        phrases[stems] = (
            *phrases.get(stems, ()),
            *(meaning for meaning in meanings if meaning not in phrases.get(stems, ())),
        )
    phrases |= said
    starts: dict[str, int] = {}
    for parts in phrases:
        starts[parts[0]] = max(starts.get(parts[0], 0), len(parts))
    names = _names()
    functional = wordset("function words en") | wordset("function words zh")
    words = {*han, *wordset("function words zh"), *(name for name in names if is_han(name) and len(name) > 1)}
    return Lexicon(
        phrases,
        starts,
        han,
        parted,
        names,
        frozenset(words),
        max(map(len, words)),
        functional,
        labels,
        called,
    )


@lru_cache(maxsize=8192)
def concepts_of(value: str, name: str) -> tuple[str, ...]:
    """The concepts that a value is called by, alone or with a word of its slot: `none` of `sugar level` is `no sugar`.

    Args:
        value: the value, in lower case, as words.
        name: the slot's name, likewise.
    """
    known = lexicon()
    found = list(known.called.get(value, ()))
    for noun in name.split():
        found += known.called.get(f"{value} {noun}", ())
    for noun in () if found else name.split():
        found += [meaning.concept for meaning in known.phrases.get((*value.split(), noun), ())]
    return tuple(dict.fromkeys(found))


@cache
def wordset(name: str) -> frozenset[str]:
    """A list of words by its name in `wordlists.json`."""
    return frozenset(_wordlists()[name].split())


@cache
def _wordlists() -> dict[str, str]:
    read: dict[str, str] = json.loads((_HERE / "wordlists.json").read_text("utf-8"))
    return read


def is_han(text: str) -> bool:
    """Whether there is a Chinese character in it."""
    return _HAN.search(text) is not None


def fold(name: str) -> str:
    """The form in which names are compared: lower case, one space between words, no dot at the end."""
    return " ".join(name.casefold().replace("_", " ").split()).rstrip(".")


def stem(word: str) -> str:
    """A light stem of an English word: plural, -ing, -ed. Good enough to make `cities` and `city` meet.

    >>> [stem(word) for word in ("cities", "searching", "moved", "headlines", "news")]
    ['city', 'search', 'mov', 'headlin', 'news']
    """
    if len(word) <= 3 or word in wordset("unstemmed") or not word.isascii():
        return word
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending) + instead
            break
    if len(word) > 4 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 4 else word


def table(name: str) -> list[dict[str, str]]:
    """The rows of a table of the model's own."""
    return list(csv.DictReader((_HERE / f"{name}.csv").read_text("utf-8").splitlines()))


def shared_table(name: str) -> list[dict[str, str]]:
    """The rows of a table of facts that other rooms use too."""
    return list(csv.DictReader((files("actum") / "data" / f"{name}.csv").read_text("utf-8").splitlines()))


_HERE = files("actum_embedded") / "data"
_HAN = re.compile(f"[{HAN}]")
_ENDINGS = (
    ("ies", "y"),
    ("sses", "ss"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("xes", "x"),
    ("ing", ""),
    ("ed", ""),
    ("'s", ""),
    ("ss", "ss"),
    ("us", "us"),
    ("s", ""),
)


def _names() -> dict[str, tuple[Name, ...]]:
    found: dict[str, tuple[Name, ...]] = {}

    def add(name: Name, *words: str) -> None:
        for word in words:
            known = found.get(fold(word), ())
            if word and name not in known:
                found[fold(word)] = (*known, name)

    for row in shared_table("cities"):
        add(Name("city", row["name"]), row["name"], row["name_zh"], *row["aliases"].split("|"))
    for row in table("short_places"):
        add(Name("city", row["name"]), row["short"])
    for row in shared_table("countries"):
        country = Name("country", row["name"])
        add(country, row["name"], row["name_zh"], *row["aliases"].split("|"))
        add(Name("city", row["capital"]), row["capital"], row["capital_zh"])
    for row in shared_table("units"):
        unit = Name("unit", row["unit"], row["quantity"])
        add(unit, row["unit"], row["name"], row["name_zh"], *row["aliases"].split("|"))
    for kind in ("currency", "language"):
        for row in table({"currency": "currencies", "language": "languages"}[kind]):
            add(Name(kind, row["code"]), *row["names"].split("|"), *([row["code"]] if kind == "currency" else []))
    for row in table("holidays"):
        add(Name("holiday", row["names"].split("|")[0], f"{row['month']}-{row['day']}"), *row["names"].split("|"))
    for row in table("feasts"):
        add(Name("feast", row["names"].split("|")[0], row["days"]), *row["names"].split("|"))
    return found
