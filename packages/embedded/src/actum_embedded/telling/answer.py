"""Results as sentences, by template: what was asked, then what came back, in the language of the question.

A result is told as it is: an object as its fields, a list as a list or a table, text as text. Nothing is concluded
from it. What can be checked is: an answer about another id than the one that was asked for is not passed off as
the answer.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from msgspec import UNSET

from actum.core.call import ToolResult
from actum.core.json import (
    Json,
    JsonObject,
    JsonProblem,
    parse,
)

from ..calls.arguments import Argument
from ..text.lexicon import wordset
from ..tools.selection import Indexed
from .asked import head_of, mismatch, news_of
from .cells import CELL_MAX, ITEMS_MAX, bullet, capital, cell, field, table, without_unit
from .voice import Voice

_HERE = files("actum_embedded") / "data"
COLUMNS_MAX = 6
INLINE_MAX = 160
"""Longer text gets lines of its own."""


class ToldResult(NamedTuple):
    """What is said of one result; `block` when it has lines of its own."""

    text: str
    block: bool = False


def value_of(result: ToolResult) -> Json:
    """The value of a result: the structured one, else what its text holds, JSON or plain."""
    if result.structured is None and not result.content:
        return None
    if result.structured is UNSET or result.structured is None:
        return _opened(result.text)
    return _opened(result.structured) if isinstance(result.structured, str) else result.structured


def _opened(text: str) -> Json:
    if text.lstrip()[:1] in ("{", "["):
        try:
            return parse(text)[0]
        except JsonProblem:
            return text
    return text


def tell(indexed: Indexed, arguments: Sequence[Argument], result: ToolResult | None, voice: Voice) -> ToldResult:
    """A sentence, or a list under a head, that says what a call came to."""
    topic = voice.topic(indexed)
    if result is None:
        return ToldResult(voice.failed("unanswered", topic, ""))
    if result.error is not None:
        return ToldResult(voice.failed(result.error.code, topic, _plain_message(result.error.message)))
    # What reads documents says its words as text; its values are for the record.
    value = in_language(result.text if indexed.tool.source_kind else value_of(result), voice)
    strange = mismatch(arguments, value)
    if strange is not None:
        argument, came = strange
        noun = voice.noun("", argument.slot.name)
        return ToldResult(voice.say("mismatch", topic=topic, noun=noun, came=came, asked=str(argument.value)))
    if isinstance(value, dict) and (shaped := _shaped(value, voice)):
        return ToldResult(shaped)
    if isinstance(value, dict) and isinstance(value.get("columns"), list) and isinstance(value.get("rows"), list):
        return _told_rows(value, topic, voice)
    return _told(value, topic, arguments, voice)


def _plain_message(message: str) -> str:
    """A tool's own message on one line; what was meant for a model's ears alone is left out."""
    lines = [line for line in message.splitlines() if not line.startswith("If you do not know")]
    return " ".join(" ".join(lines).removeprefix("Invalid arguments. ").split())[:400]


def _told(value: Json, topic: str, arguments: Sequence[Argument], voice: Voice) -> ToldResult:
    head = head_of(topic, arguments, voice)
    match value:
        case dict():
            return _told_object(news_of(value, arguments), head, arguments, voice)
        case list():
            return _listed(value, head, voice)
        case _:
            return _told_plain(value, head, arguments, voice)


def _told_object(fields: JsonObject, head: str, arguments: Sequence[Argument], voice: Voice) -> ToldResult:
    if not fields:
        return ToldResult(voice.say("done", head=head))
    lists = [inner for inner in fields.values() if isinstance(inner, list)]
    if len(lists) == 1 and all(isinstance(inner, list | bool) for inner in fields.values()):
        return _listed(lists[0], head, voice)
    if focus := _focus(fields, arguments):
        return _told_focus(fields, focus, arguments, voice)
    if len(fields) == 1:
        ((name, inner),) = fields.items()
        if name.lower() not in wordset("fields that say nothing"):
            head = head_of(capital(voice.label(without_unit(name)), voice), arguments, voice)
        return _told_plain(inner, head, arguments, voice, name)
    said = voice.say("list").join(field(name, inner, voice) for name, inner in fields.items())
    return ToldResult(head + voice.say("colon") + said + voice.say("stop"))


def _focus(fields: JsonObject, arguments: Sequence[Argument]) -> str:
    """The field that was asked for by name: `population`, by an argument that chose it."""
    chosen = {str(each.value).lower() for each in arguments if each.slot.kind == "enum"}
    plain = (name for name, inner in fields.items() if not isinstance(inner, dict | list))
    return next((name for name in plain if without_unit(name).lower() in chosen), "")


def _told_focus(fields: JsonObject, focus: str, arguments: Sequence[Argument], voice: Voice) -> ToldResult:
    head = head_of(capital(voice.label(without_unit(focus)), voice), arguments, voice)
    rest = voice.say("list").join(field(name, inner, voice) for name, inner in fields.items() if name != focus)
    aside = voice.say("aside", text=rest) if rest else ""
    return ToldResult(head + voice.say("colon") + cell(fields[focus], voice, focus) + aside + voice.say("stop"))


_NAMING = frozenset({"city", "place", "country", "person", "id"})


def _told_plain(value: Json, head: str, arguments: Sequence[Argument], voice: Voice, name: str = "") -> ToldResult:
    if isinstance(value, list):
        return _listed(value, head, voice)
    if value is None or value == "" or value == {}:
        return ToldResult(voice.say("nothing_found", head=head))
    said = cell(value, voice, name)
    if "\n" in said or len(said) > INLINE_MAX:
        return ToldResult(f"{head}{voice.say('colon').rstrip()}\n{said}", block=True)
    if not name and any(each.slot.kind in _NAMING and str(each.value) in said for each in arguments):
        head = ""  # it says itself what it is about
    stop = "" if said.endswith((".", "。", "!", "！", "?", "？", "…")) else voice.say("stop")
    return ToldResult((head + voice.say("colon") if head else "") + said + stop)


def _listed(items: Json, head: str, voice: Voice) -> ToldResult:
    if not isinstance(items, list) or not items:
        return ToldResult(voice.say("nothing_found", head=head))
    if all(not isinstance(item, dict | list) for item in items):
        cells = [cell(item, voice) for item in items[:ITEMS_MAX]]
        if len(items) <= ITEMS_MAX and sum(map(len, cells)) <= 60:
            return ToldResult(head + voice.say("colon") + voice.say("list").join(cells) + voice.say("stop"))
        return _block(head, [f"- {cell}" for cell in cells], len(items) - ITEMS_MAX, voice)
    rows = [item for item in items if isinstance(item, dict)]
    if 1 < len(rows) == len(items) and (lines := _tabled(rows, voice)):
        return _block(head, lines, len(items) - ITEMS_MAX, voice)
    return _block(head, [f"- {bullet(item, voice)}" for item in items[:ITEMS_MAX]], len(items) - ITEMS_MAX, voice)


def _tabled(rows: Sequence[JsonObject], voice: Voice) -> list[str]:
    """Objects of the same few short fields as a table; empty where they are not such."""
    columns = list(rows[0]) if rows else []
    if not 1 < len(columns) <= COLUMNS_MAX or any(list(row) != columns for row in rows):
        return []
    cells = [[cell(row[column], voice, column) for column in columns] for row in rows[:ITEMS_MAX]]
    if any(len(each) > CELL_MAX or "\n" in each for row in cells for each in row):
        return []
    return table([voice.label(without_unit(column)) for column in columns], cells)


def _told_rows(value: JsonObject, topic: str, voice: Voice) -> ToldResult:
    """The rows of a table: one column as a list, else a table."""
    columns, rows = value["columns"], value["rows"]
    if not (isinstance(columns, list) and isinstance(rows, list) and rows):
        return ToldResult(voice.say("nothing_found", head=topic))
    found = [row for row in rows if isinstance(row, list)]
    if len(columns) == 1:
        return _listed([row[0] for row in found if row], capital(voice.label(str(columns[0])), voice), voice)
    cells = [[cell(each, voice) for each in row] for row in found[:ITEMS_MAX]]
    return _block(topic, table([str(column) for column in columns], cells), len(rows) - ITEMS_MAX, voice)


def _block(head: str, lines: list[str], more: int, voice: Voice) -> ToldResult:
    rest = [voice.say("rows_more", count=str(more))] if more > 0 else []
    return ToldResult("\n".join([head + voice.say("colon").rstrip(), *lines, *rest]), block=True)


def _shaped(value: JsonObject, voice: Voice) -> str:
    """The sentence for an object of a known shape: `17*23 = 391`."""
    for shape in _shapes():
        plain = all(name in value and not isinstance(value[name], dict | list) for name in shape.fields)
        if plain and len(value) <= len(shape.fields) + 2:
            cells = {name: cell(value[name], voice, name) for name in shape.fields}
            return (shape.chinese if voice.chinese else shape.english).format(**cells)
    return ""


class _Shape(NamedTuple):
    fields: tuple[str, ...]
    english: str
    chinese: str


@cache
def _shapes() -> list[_Shape]:
    rows: list[dict[str, str]] = json.loads((_HERE / "shapes.json").read_text("utf-8"))
    return [_Shape(tuple(row["fields"]), row["en"], row["zh"]) for row in rows]


def in_language(value: Json, voice: Voice) -> Json:
    """Of the fields that come in both languages (`name` and `name_zh`) those in the one that is spoken."""
    if isinstance(value, list):
        return [in_language(item, voice) for item in value]
    if not isinstance(value, dict):
        return value
    both = {name.removesuffix("_zh") for name in value if name.endswith("_zh")}
    kept = {
        name.removesuffix("_zh"): inner
        for name, inner in value.items()
        if name.removesuffix("_zh") not in both or name.endswith("_zh") == voice.chinese
    }
    return {name: in_language(inner, voice) for name, inner in kept.items()}
