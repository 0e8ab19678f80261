"""What a tool finds out, and whether that is what a slot of another tool needs; and how the value is taken out of the
result.

Two ways lead from a tool to a slot: by kind (a birthday is a date), and by name (`find_user` knows the `user_id`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from actum.core.json import Json, JsonObject

from ..text.clauses import Clause
from ..text.lexicon import fold, lexicon, wordset
from ..text.words import bare, keys_of, spaced
from ..tools.selection import Indexed, generic
from ..tools.slots import Slot, kind_of_name
from .arguments import Argument

_SEQUENCE = re.compile(r"(?:\b(?:then|and then|afterwards|next)|再|然后|接着)\s*[,，]?\s*$", re.IGNORECASE)
_COUNTED = frozenset({"number", "unit", "url", "id", "date", "time", "email", "currency"})
_SAME = {
    "place": {"place", "city", "country"},
    "city": {"city", "place"},
    "country": {"country"},
    "timezone": {"city", "place", "timezone"},
}
_PATTERNS = {
    "date": re.compile(r"\b\d{4}-\d{1,2}-\d{1,2}\b"),
    "time": re.compile(r"\b\d{1,2}:\d{2}\b"),
    "url": re.compile(r"https?://[^\s\"'<>）)]+"),
    "email": re.compile(r"[\w.+-]+@[\w-]+\.[\w.]+"),
    "number": re.compile(r"-?\d{1,15}(?:\.\d{1,15})?"),
}


def refers_back(clause: Clause, slot: Slot) -> bool:
    """Whether a clause means something that was found before by a slot: `it`, `the result`; or `再换算成英里`, for a
    number.
    """
    words = _said(clause)
    in_order = _SEQUENCE.search(clause.text[: clause.start]) or words & {"再", "然后", "接着", "then"}
    pointers = words & wordset("pronouns")
    if pointers and pointers <= _DEMONSTRATIVES and not _OF_RESULT.search(clause.words):
        pointers = set()
    return bool(pointers) or (bool(in_order) and slot.kind in _COUNTED)


_DEMONSTRATIVES = frozenset({"this", "that", "these", "those"})
_OF_RESULT = re.compile(
    r"\b(?:this|that|these|those)(?: (?:result|value|amount|number|sum|total|figure|answer|output|one|in|into|to|by|for"
    r"|as|on|from|with|is|was|and|be|i|we|you|then|later|back)\b|\s*(?:[,.;?!]|$))",
    re.IGNORECASE,
)
"""`This` by itself or with a word for a result; `this trip` is a thing that was spoken of."""


def points_back(clause: Clause) -> bool:
    """A word of a clause stands for something that was said before."""
    return bool(_said(clause) & wordset("pronouns"))


def _said(clause: Clause) -> set[str]:
    said = [bare(token.text) for token in clause.tokens]
    return {word for before, word in pairwise(["", *said]) if (before, word) not in _CONJUNCTIONS}


_CONJUNCTIONS = frozenset(
    (word, "that") for word in ("given", "assuming", "provided", "considering", "knowing", "know", "so", "ensuring")
)
"""`Given that` means nothing that was found before."""


def feeds(tool: Indexed, slot: Slot, arguments: Sequence[Argument], *, by_name: bool = False) -> bool:
    """Whether what a tool finds out fits a slot.

    Args:
        tool: the tool that would be called first.
        slot: the slot of the other one.
        arguments: what the tool would be asked, for one that answers many questions: `field` = `capital`.
        by_name: only a tool that is named by the slot will do.
    """
    own = frozenset(key for key in keys_of(spaced(slot.name)) if generic(key) > 0.5)
    name = {key for key in tool.summary if tool.weights.get(key, 0.0) == 1.0 and generic(key) > 0.5}
    if by_name:
        asks_for_it = any(each.name == slot.name for each in tool.required)
        return slot.kind == "id" and bool(own & name) and not asks_for_it
    finds = {kind_of_name(spaced(field)) for field in tool.results}
    finds |= {kind_of_name(str(each.value)) for each in arguments if each.slot.kind == "enum"}
    finds |= {kind_of_name(spaced(tool.tool.name))}
    wanted = _SAME.get(slot.kind, {slot.kind})
    return bool(wanted & (finds - {""})) or bool(own & name)


def taken_from(result: Json, slot: Slot) -> Json | None:
    """The value for a slot out of a result; None when there is none that fits."""
    if isinstance(result, str):
        return _from_text(result, slot)
    if isinstance(result, int | float) and not isinstance(result, bool):
        return result if slot.kind == "number" else str(result) if slot.type == "string" else None
    if isinstance(result, list):
        return next((found for item in result if (found := taken_from(item, slot)) is not None), None)
    if not isinstance(result, dict):
        return None
    fields = list(_fields(result))
    own = keys_of(spaced(slot.name))
    ways = (
        lambda name, value: name.lower() == slot.name.lower(),
        lambda name, value: bool(own & keys_of(spaced(name))) and _suits(value, slot),
        lambda name, value: kind_of_name(spaced(name)) in _SAME.get(slot.kind, {slot.kind}) and _suits(value, slot),
        lambda name, value: name.lower() in _ANSWERS and _suits(value, slot),
        lambda name, value: slot.kind in ("number", "date", "time", "url", "email") and _suits(value, slot),
    )
    for way in ways:
        for name, value in fields:
            if way(name, value) and (fitted := _fitted(value, slot)) is not None:
                return fitted
    if slot.kind == "unit":
        return next((unit for name, _ in fields if (unit := _unit_of(name))), None)
    return None


_ANSWERS = ("result", "value", "answer", "total", "结果", "答案")


def _fields(result: JsonObject) -> Iterator[tuple[str, Json]]:
    """The fields of an object with plain values, those of inner objects after its own."""
    for name, value in result.items():
        if not isinstance(value, dict | list):
            yield name, value
    for value in result.values():
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, dict):
                yield from _fields(inner)


def _suits(value: Json, slot: Slot) -> bool:
    match slot.kind:
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "date" | "time" | "url" | "email":
            return isinstance(value, str) and _PATTERNS[slot.kind].search(value) is not None
        case "unit" | "currency":
            return isinstance(value, str) and any(
                name.kind == slot.kind for name in lexicon().names.get(fold(value), ())
            )
        case _:
            return isinstance(value, str | int) and not isinstance(value, bool)


def _fitted(value: Json, slot: Slot) -> Json | None:
    if isinstance(value, str):
        return _from_text(value, slot)
    if isinstance(value, bool) or value is None:
        return None
    return str(value) if slot.type == "string" else value


def _from_text(text: str, slot: Slot) -> Json | None:
    pattern = _PATTERNS.get(slot.kind)
    if pattern is not None:
        match = pattern.search(text)
        if match is None:
            return None
        if slot.kind == "number":
            number = float(match[0])
            return int(number) if number.is_integer() else number
        return match[0]
    if slot.kind == "unit":
        words = re.findall(r"[A-Za-z°²³/]+|[\u4e00-\u9fff]+", text)
        return next(
            (word for word in words if any(name.kind == "unit" for name in lexicon().names.get(word.lower(), ()))), None
        )
    return text.strip() if len(text) <= 200 else None


def _unit_of(name: str) -> str:
    """The unit that the end of a field's name tells: `distance_km`."""
    last = spaced(name).split()[-1].lower()
    return last if "_" in name and any(each.kind == "unit" for each in lexicon().names.get(last, ())) else ""
