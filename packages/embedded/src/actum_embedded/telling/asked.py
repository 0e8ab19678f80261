"""What was asked, beside what came back: the head of a sentence, fields that only repeat the question, an id that is
another one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from actum.core.json import Json, JsonObject

from ..calls.arguments import Argument
from ..text.lexicon import lexicon
from ..text.words import spaced
from .voice import Voice


def head_of(topic: str, arguments: Sequence[Argument], voice: Voice) -> str:
    """What an answer is about: `Weather in Beijing on 2026-11-21`, `北京、2026-11-21的天气`."""
    said = [each for each in arguments if each.slot.kind in _PREPOSITIONS and not isinstance(each.value, list | dict)]
    if voice.chinese:
        before = [each for each in said if each.slot.kind not in ("id", "query", "title")]
        named = "".join(_HAN_DIRECTIONS.get(_direction(each), "、") + str(each.value) for each in before).lstrip("、")
        ids = "".join(f" {each.value}" for each in said if each.slot.kind == "id")
        quoted = "".join(f"“{each.value}”" for each in said if each.slot.kind in ("query", "title"))
        return f"{named}{'的' if named else ''}{topic}{ids}{quoted}"
    parts = [topic]
    for each in said:
        value = f"“{str(each.value)[:80]}”" if each.slot.kind in ("query", "title") else str(each.value)
        parts.append(f"{_direction(each) or _PREPOSITIONS[each.slot.kind]} {value}")
    return " ".join(parts)


_PREPOSITIONS = {
    "city": "in",
    "country": "of",
    "currency": "in",
    "date": "on",
    "file": "for",
    "id": "for",
    "language": "in",
    "person": "of",
    "place": "in",
    "query": "for",
    "string": "for",
    "time": "at",
    "timezone": "in",
    "url": "at",
}
"""Kinds of slots whose values belong into a head, each with its English preposition."""

_HAN_DIRECTIONS = {"from": "从", "to": "到"}


def _direction(argument: Argument) -> str:
    roles = argument.slot.roles
    return "from" if "source" in roles else "to" if "target" in roles and argument.slot.kind != "query" else ""


def news_of(value: JsonObject, arguments: Sequence[Argument]) -> JsonObject:
    """The fields of an object that say something new: no empty ones, and none that repeat what was asked."""
    asked = {str(each.value).casefold() for each in arguments}
    kept = {name: inner for name, inner in value.items() if inner not in (None, "", [], {}) or isinstance(inner, list)}
    fresh = {
        name: inner
        for name, inner in kept.items()
        if str(inner).casefold() not in asked and not (isinstance(inner, bool) and name in _FLAGS)
    }
    names = {"country", "city", "name", "place", "location"} & fresh.keys()
    same = {name for name in names if any(_same_place(str(fresh[name]), each) for each in asked)}
    return {name: inner for name, inner in fresh.items() if name not in same}


_FLAGS = frozenset({"more", "ok", "success", "truncated"})


def _same_place(left: str, right: str) -> bool:
    names = lexicon().names
    keys = [{name.key for name in names.get(each.casefold(), ())} for each in (left, right)]
    return bool(keys[0] & keys[1])


def mismatch(arguments: Sequence[Argument], value: Json) -> tuple[Argument, str] | None:
    """An id that came back as another one than was asked for, and what came."""
    for argument in arguments:
        if argument.slot.kind != "id" or isinstance(argument.value, list | dict):
            continue
        asked = str(argument.value).strip().lstrip("#")
        came = value.get(argument.slot.name) if isinstance(value, dict) else _told_id(argument, value)
        if isinstance(came, str | int) and str(came).strip().lstrip("#").casefold() != asked.casefold():
            return argument, str(came)
    return None


def _told_id(argument: Argument, value: Json) -> str | None:
    """The id that a text speaks of, where it is not the one that was asked for: `drone 101` for `drone_id` = 1001."""
    if not isinstance(value, str) or re.search(rf"(?<!\w){re.escape(str(argument.value))}(?!\w)", value):
        return None
    nouns = [word for word in spaced(argument.slot.name).lower().split() if word not in ("id", "number", "code", "no")]
    words = [re.escape(word) for word in nouns] + [label for word in nouns if (label := lexicon().labels.get(word, ""))]
    if not words:
        return None
    number = r"\s*(?:no\.?|number|id|编号|号)?\s*[#:：]?\s*([A-Za-z]*-?\d[\w-]*)"
    match = re.search(rf"(?:{'|'.join(words)}){number}", value, re.IGNORECASE)
    return match[1] if match else None
