"""What the embedded model says in words of its own, in English or Chinese: its phrases, and names of things as people
say them.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from actum.core.language.translation import in_language

from ..text.lexicon import concepts_of, is_han, lexicon, wordset
from ..text.words import spaced, terms, tokenize
from ..tools.selection import Indexed

_HERE = files("actum_embedded") / "data"


class Voice:
    """The model's phrases in one language.

    Args:
        chinese: in Chinese, else in English.
    """

    def __init__(self, chinese: bool) -> None:
        self.chinese = chinese
        self._phrases = _phrases()["zh" if chinese else "en"]

    @classmethod
    def for_text(cls, text: str) -> Voice:
        """The language of a text: Chinese where it has at least as many Chinese words as others."""
        tokens = [token for token in tokenize(text) if token.kind not in ("sign", "number")]
        return cls(is_han(text) and 2 * sum(is_han(token.text) for token in tokens) >= len(tokens))

    def say(self, phrase: str, **parts: str) -> str:
        """A phrase with its parts put in."""
        return self._phrases[phrase].format(**parts)

    def failed(self, code: str, topic: str, message: str) -> str:
        """What the user is told of a call without a result."""
        phrases = _failures()["zh" if self.chinese else "en"]
        why = in_language(message.strip(), "zh" if self.chinese else "en", "message")
        told = phrases.get(code, phrases["tool_error"]).format(topic=topic, message=why)
        return told if told.endswith((".", "。", "!", "?", "！", "？")) else told + self.say("stop")

    def noun(self, kind: str, name: str) -> str:
        """What to call a value of this kind: the kind's word, else the parameter's own name."""
        row = _nouns().get(kind, {})
        return row.get("zh" if self.chinese else "en") or self.label(name)

    def label(self, name: str) -> str:
        """A field's name as people say it."""
        row = _fields().get(name.lower(), {})
        known = row.get("zh" if self.chinese else "en")
        if known:
            return known
        words = spaced(name).strip().lower()
        if self.chinese and words in lexicon().called:
            return lexicon().labels[lexicon().called[words][0]]
        if self.chinese and not is_han(words):
            labels = [
                lexicon().labels.get(term.key[1:], "") for term in terms(words, hints=False) if term.key[0] == "#"
            ]
            covered = "".join(labels)
            return covered if labels and all(labels) and len(labels) == len(words.split()) else words
        return words

    def topic(self, indexed: Indexed) -> str:
        """What a tool is about, in a word or two, at the head of a sentence."""
        if indexed.tool.title and is_han(indexed.tool.title) == self.chinese:
            return indexed.tool.title
        words = [word for word in spaced(indexed.tool.name).split() if word.lower() not in wordset("not a topic")]
        said = " ".join(words) or spaced(indexed.tool.name)
        if self.chinese:
            keys = [term.key for term in terms(said, hints=False)]
            labels = [lexicon().labels[key[1:]] for key in keys if key[0] == "#" and key[1:] in lexicon().labels]
            return "".join(dict.fromkeys(labels)) or said
        return said[:1].upper() + said[1:].lower() if said.isascii() else said

    def value(self, value: str) -> str:
        """A value of a closed set, such as a weekday, in this language; any other as it is."""
        return _values().get(value, value) if self.chinese else value

    def choice(self, value: str, name: str) -> str:
        """A value that may be chosen for a parameter, with what it is called in Chinese where that is known."""
        called = concepts_of(spaced(value).lower(), spaced(name).lower()) if self.chinese else ()
        return value + self.say("aside", text=lexicon().labels[called[0]]) if called else value

    def number(self, value: float) -> str:
        """A number as people read it: at most six digits behind the point, large ones in groups of three."""
        if isinstance(value, float) and (abs(value) >= 1e15 or 0 < abs(value) < 1e-4):
            return f"{value:.6g}"
        text = f"{value:,.6f}".rstrip("0").rstrip(".") if isinstance(value, float) else f"{value:,}"
        return text if abs(value) >= 10_000 else text.replace(",", "")


def unit_of(name: str) -> str:
    """The unit that a field's last word means: `°C` for `c`; empty when it means none."""
    return _fields().get(name, {}).get("unit", "")


@cache
def talk() -> Mapping[str, str]:
    """What people say that asks for nothing -> what kind of talk it is."""
    read: dict[str, str] = json.loads((_HERE / "talk.json").read_text("utf-8"))
    return {said: kind for kind, all_said in read.items() for said in all_said.split("|")}


@cache
def _phrases() -> dict[str, dict[str, str]]:
    read: dict[str, dict[str, str]] = json.loads((_HERE / "phrases.json").read_text("utf-8"))
    return read


@cache
def _failures() -> dict[str, dict[str, str]]:
    read: dict[str, dict[str, str]] = json.loads((_HERE / "failures.json").read_text("utf-8"))
    return read


def _rows(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((_HERE / f"{name}.csv").read_text("utf-8").splitlines()))


@cache
def _nouns() -> dict[str, dict[str, str]]:
    return {row["kind"]: row for row in _rows("nouns")}


@cache
def _fields() -> dict[str, dict[str, str]]:
    return {row["key"]: row for row in _rows("fields")}


@cache
def _values() -> dict[str, str]:
    return {row["en"]: row["zh"] for row in _rows("values")}
