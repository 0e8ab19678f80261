"""What a tool's parameters want: each leaf of its schema as a `Slot`, with the kind of thing that goes in.

The kind is read off the schema where it says so (`enum`, `format`, a number), else off the words of the name, then of
the description. It knows no question. Limits: one way through `anyOf`, objects three levels deep, arrays of plain
values.
"""

from __future__ import annotations

import json
import re
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

from actum.core.json import Json, JsonObject
from actum.core.tool import Tool

from ..text.lexicon import is_han
from ..text.words import keys_of, spaced, tokenize
from .examples import examples

_HERE = files("actum_embedded") / "data"
_FORMATS = {"email": "email", "uri": "url", "url": "url", "date": "date", "date-time": "datetime", "time": "time"}
_VAGUE = frozenset({"name", "value", "input", "number", "名称"})
_SHOWN_CODE = re.compile(r"\b[A-Za-z]{1,8}-?\d+\b")
"""A description that shows a code, such as `INV-7`, wants one."""

_MOMENT = re.compile(
    r"YYYY-MM-DD[T ]\\?'?HH|\d{4}-\d\d-\d\d[T ]\d\d:\d\d"
    r"|(?:DD|MM|YYYY)[/.-](?:MM|DD)[/.-](?:YYYY|DD)[ T]HH"
    r"|ISO ?8601 (?:date-?time|timestamp)|date and time|date-time|日期(?:和|与)?时间",
    re.IGNORECASE,
)
"""A description that wants a day and a time of day in one."""

_MONTH = re.compile(r"\bYYYY-MM\b(?!-)", re.IGNORECASE)
"""A description that wants a month of a year."""

_FILED = re.compile(r"\b(?:file|document)s?\b|文件|文档", re.IGNORECASE)

_WEEKDAY = re.compile(r"^(?:(?:the|which|name of|a) )*(?:day of the week|weekday)\b|^星期|^周几", re.IGNORECASE)


def wants_weekday(description: str) -> bool:
    """A description that wants a day of the week by its name."""
    return _WEEKDAY.match(description) is not None


DEPTH_MAX = 3


def form_told(description: str) -> str:
    """A description with the signs of a form as letters: `%Y-%m-%d` as `YYYY-MM-DD`."""
    for sign, letters in _SIGNS_OF_FORMS:
        description = description.replace(sign, letters)
    return description


_SIGNS_OF_FORMS = (("%Y", "YYYY"), ("%m", "MM"), ("%d", "DD"), ("%H", "HH"), ("%M", "MM"), ("%S", "SS"))


class Slot(NamedTuple):
    """A place in a tool's arguments.

    Attributes:
        path: the names that lead to it.
        kind: `city`, `date`, `number`, `query`, ...: a row of `fits.json`, or `enum`, `boolean`, `text`.
        type: the JSON type that goes in.
        schema: its schema, references resolved.
        required: the call can not be made without it.
        roles: what it stands in relation to: `source`, `target`, ...: rows of `roles.json`.
        terms: what its name and description say, for telling it from its neighbours.
        many: it is an array, and this is the slot of its items.
    """

    path: tuple[str, ...]
    kind: str
    type: str
    schema: JsonObject
    required: bool
    roles: tuple[str, ...]
    terms: frozenset[str]
    many: bool = False

    @property
    def name(self) -> str:
        """Its own name, without those that lead to it."""
        return self.path[-1]

    @property
    def description(self) -> str:
        return str(self.schema.get("description") or "")

    @property
    def enum(self) -> tuple[Json, ...]:
        """The only values that it takes; empty where any will do."""
        values = self.schema.get("enum")
        if isinstance(values, list):
            return tuple(values)
        return (self.schema["const"],) if "const" in self.schema else ()


def slots_of(tool: Tool) -> tuple[Slot, ...]:
    """The slots of a tool, in the order of its schema."""
    return _slots(tool, tool.parameters, (), True, 0)


def _slots(tool: Tool, schema: JsonObject, path: tuple[str, ...], required: bool, depth: int) -> tuple[Slot, ...]:
    properties, needed = schema.get("properties"), schema.get("required")
    found: list[Slot] = []
    if isinstance(properties, dict) and depth < DEPTH_MAX:
        for name, declared in properties.items():
            inner = _resolve(tool, declared if isinstance(declared, dict) else {})
            must = required and isinstance(needed, list) and name in needed
            if inner.get("type") == "object" or "properties" in inner:
                found += _slots(tool, inner, (*path, name), must, depth + 1)
            else:
                found.append(_slot(tool, inner, (*path, name), must))
    return tuple(found)


def _slot(tool: Tool, schema: JsonObject, path: tuple[str, ...], required: bool) -> Slot:
    many = schema.get("type") == "array"
    items = schema.get("items")
    item = _resolve(tool, items if isinstance(items, dict) else {}) if many else schema
    item = {"description": schema.get("description", ""), **item}
    name, description = spaced(path[-1]), str(schema.get("description") or schema.get("title") or "")
    found = item.get("type")
    kind = found if isinstance(found, str) else "string"
    if isinstance(found, list):
        kind = next((str(each) for each in found if each != "null"), "string")
    said = keys_of(f"{name} {description}")
    return Slot(path, _kind(item, kind, name, description), kind, item, required, _roles(name, description), said, many)


def _resolve(tool: Tool, schema: JsonObject) -> JsonObject:
    """A schema without `$ref` and without its first `anyOf`: the first choice that is not null stands for all."""
    for _ in range(10):
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/"):
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            schema = {**_at(tool.parameters, reference), **rest}
            continue
        choices = next((schema[key] for key in ("anyOf", "oneOf", "allOf") if isinstance(schema.get(key), list)), None)
        if not isinstance(choices, list):
            return schema
        chosen = next((each for each in choices if isinstance(each, dict) and each.get("type") != "null"), {})
        schema = {**chosen, **{key: value for key, value in schema.items() if key not in ("anyOf", "oneOf", "allOf")}}
    return {}


def _at(root: JsonObject, reference: str) -> JsonObject:
    place: Json = root
    for part in reference[2:].split("/"):
        place = place.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(place, dict) else None
    return place if isinstance(place, dict) else {}


def _kind(schema: JsonObject, type_: str, name: str, description: str) -> str:
    if "enum" in schema or "const" in schema:
        return "enum"
    if type_ == "boolean":
        return "boolean"
    if type_ in ("integer", "number"):
        return "number"
    format_ = _FORMATS.get(str(schema.get("format")))
    if format_:
        return format_
    moment = _moment(description, type_)
    if moment:
        return moment
    named, described = kind_of_name(name), _kind_of_description(description.lower())
    if described == "email" and named == "place":
        return described  # an `address`
    if named == "place" and not described and _FILED.search(description):
        return "file"  # a `source`
    if name.lower() in ("function", "func") and _OF_X.search(description):
        return "expression"
    found = (described if name.lower() in _VAGUE else "") or named or described
    if found in _SEEN and (values := examples(description)) and not any(_SEEN[found].search(each) for each in values):
        return "string"
    if found == "id" and (coded := _CODE_OF.search(description)):
        return coded[1].lower()
    shown = "id" if _SHOWN_CODE.search(description) else "string"
    return found or shown


def _moment(description: str, type_: str) -> str:
    """What kind of moment a description wants by its form; nothing where it tells none."""
    if _MOMENT.search(form_told(description)):
        return "datetime"
    if _MONTH.search(description):
        return "month"
    return "string" if type_ == "string" and wants_weekday(description) else ""


_OF_X = re.compile(
    r"\b(?:x|f\(x\)|mathematical|derivatives?|differentiate\w*|integra\w+|polynomial|curve|root)\b|求导|积分",
    re.IGNORECASE,
)
"""What is told of a function of mathematics, and not of somebody's function."""

_CODE_OF = re.compile(r"\bcode\b.*\b(currency|language)\b", re.IGNORECASE)
"""A code that stands for what is said by its name."""

_SEEN = {
    "time": re.compile(r"\d\s*:\s*\d|\d\s*[ap]\.?m\b|\bhh?\b|^\d+$|[点时]|\bnoon\b|midnight"),
    "date": re.compile(r"\d|\b[ymd]{2,4}\b|today|tomorrow|yesterday|monday|[年月日天]"),
    "expression": re.compile(r"[-+*/^=×÷()²]"),
    "unit": re.compile(r"^\w+$"),
}
"""What the values that a description shows look like, if they are of the kind."""


@lru_cache(maxsize=4096)
def kind_of_name(name: str) -> str:
    """The kind of thing that goes by such a name, by its last word (`start_date` is a date); empty when none tells."""
    name = name.lower()
    found = [(match.end(), kind.name) for kind in _kinds() for word in kind.named if (match := word.search(name))]
    return max(found, key=lambda pair: pair[0], default=(0, ""))[1]


@lru_cache(maxsize=4096)
def _kind_of_description(description: str) -> str:
    """The kind whose words come first in a description."""
    found = [
        (match.start(), kind.name)
        for kind in _kinds()
        for word in kind.described
        if (match := word.search(description))
    ]
    return min(found, key=lambda pair: pair[0], default=(0, ""))[1]


class _Kind(NamedTuple):
    """A kind of thing, with words of parameter names and of descriptions that tell it."""

    name: str
    named: list[re.Pattern[str]]
    described: list[re.Pattern[str]]


@cache
def _kinds() -> list[_Kind]:
    rows: list[list[str]] = json.loads((_HERE / "kinds.json").read_text("utf-8"))
    return [_Kind(name, _patterns(named), _patterns(described)) for name, named, described in rows]


def _patterns(words: str) -> list[re.Pattern[str]]:
    return [
        re.compile(re.escape(word) if is_han(word) else rf"\b{re.escape(word)}\b") for word in words.split("|") if word
    ]


class Role(NamedTuple):
    """How a slot's value stands in a sentence.

    Attributes:
        name: `source`, `target`, ...
        names: words of a parameter's name that give it the role.
        before, after: words that stand next to its value.
    """

    name: str
    names: list[re.Pattern[str]]
    before: frozenset[str]
    after: frozenset[str]


@cache
def roles() -> dict[str, Role]:
    """The roles that there are."""
    rows = json.loads((_HERE / "roles.json").read_text("utf-8"))
    return {
        row["role"]: Role(
            row["role"],
            _patterns(row["names"]),
            frozenset(row["before"].split("|")) - {""},
            frozenset(row["after"].split("|")) - {""},
        )
        for row in rows
    }


@lru_cache(maxsize=4096)
def _roles(name: str, description: str) -> tuple[str, ...]:
    """The roles that the name gives, else those that nouns of the description give."""
    by_name = tuple(role.name for role in roles().values() if any(word.search(name.lower()) for word in role.names))
    said = " ".join(token.text.lower() for token in tokenize(description) if not token.functional)
    return by_name or tuple(role.name for role in roles().values() if any(word.search(said) for word in role.names))
