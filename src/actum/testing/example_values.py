"""Values made from a JSON Schema (2020-12) for tests: usual, smallest or odd ones, the same for the same seed.

A value is guessed from the keywords that bound it, and then checked by the validator of actum's own calls. So a guess
may be simple: where it does not fit, another is made, and where none fits, the schema is told to have no value.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Mapping
from typing import Final, Literal

from ..core.errors import ActumError
from ..core.json import Json, JsonObject
from ..schema.schema import compile_schema

try:
    import rstr
except ImportError:  # it comes with the extra `testing`
    rstr = None  # type: ignore[assignment]

ValueStyle = Literal["usual", "smallest", "odd"]
"""Usual values; the smallest that a schema allows; or such as break careless code: all fields, odd letters."""

GUESSES: Final = 40
DEPTH_MAX: Final = 12
ODD_TEXT: Final = 'Zoë\u2003"quoted" 🙂 <b>\\n '
FORMATS: Final[Mapping[str, str]] = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:30:00Z",
    "time": "12:30:00Z",
    "duration": "P1DT2H",
    "email": "ada@example.org",
    "idn-email": "ada@example.org",
    "hostname": "example.org",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.org/a",
    "uri-reference": "/a",
    "iri": "https://example.org/a",
    "uuid": "6f1c0b6e-3f5b-4a53-9d0e-2c1f5c8a7b11",
    "json-pointer": "/a/0",
    "regex": "^a$",
    "byte": "aGk=",
    "binary": "hi",
    "decimal": "1.5",
}


class NoExample(ActumError):
    """A schema has no value, or none that can be guessed."""


def value_of(schema: JsonObject, *, style: ValueStyle = "usual", seed: int = 0, where: str = "the schema") -> Json:
    """A value that fits a schema.

    Args:
        schema: JSON Schema (2020-12).
        style: which of the values.
        seed: another seed may give another value; the same seed gives the same one.
        where: what the schema is of, for the error.

    Returns:
        A value that the validator accepts.

    Raises:
        NoExample: no guess fits the schema.
        BadTool: the schema is none.

    >>> value_of({"type": "integer", "minimum": 3})
    3
    """
    compiled = compile_schema(schema, where=where)
    for attempt in range(GUESSES):
        guess = _Guess(schema, random.Random(f"{seed} {attempt}"), style, attempt)
        try:
            value = guess.value(schema, "text", 0)
        except _Nothing:
            continue
        if compiled.fits(value):
            return value
    pattern = " A pattern needs `pip install rstr`." if rstr is None and "'pattern'" in str(schema) else ""
    raise NoExample(
        "{where}: no value was found that fits its schema.{pattern} Give one: TestModel(arguments={{...}})",
        where=where,
        pattern=pattern,
    )


class _Nothing(Exception):
    """There is no value here."""


class _Guess:
    """One guess at a value.

    Args:
        root: the whole schema, which references point into.
        draw: what decides between values.
        style: which of the values.
        attempt: the first two guesses are the plainest: the first option, no luck.
    """

    def __init__(self, root: JsonObject, draw: random.Random, style: ValueStyle, attempt: int) -> None:
        self._root, self._draw, self._style = root, draw, style
        self._is_first, self._blank = attempt < 2, "" if attempt == 0 else "a"

    def value(self, schema: Json, name: str, depth: int) -> Json:
        """A guess at a value.

        Args:
            schema: of the value.
            name: of the field that holds the value; texts are made of it.
            depth: how deep the value is inside of others.

        Raises:
            _Nothing: there is no value.
        """
        if schema is True:
            return name
        if not isinstance(schema, dict) or depth > DEPTH_MAX:
            raise _Nothing
        schema = self._resolved(schema, name, depth)
        if "const" in schema:
            return schema["const"]
        told = [schema["default"]] if "default" in schema else _list(schema.get("examples"))
        if told and self._style == "usual" and self._is_first:
            return told[0]
        if "enum" in schema:
            return self._one(_list(schema["enum"]))
        make = _BY_TYPE.get(self._type(schema))
        if make is None:
            raise _Nothing
        return make(self, schema, name, depth)

    def _resolved(self, schema: JsonObject, name: str, depth: int) -> JsonObject:
        """The schema without references and unions: each union gives way to one of its options."""
        while True:
            parts: list[Json] = []
            rest = {key: value for key, value in schema.items() if key not in ("$ref", "allOf", "anyOf", "oneOf")}
            if "$ref" in schema:
                parts.append(self._found(schema["$ref"]))
            parts += _list(schema.get("allOf"))
            parts += [self._one(_list(schema[union])) for union in ("anyOf", "oneOf") if union in schema]
            if not parts:
                return rest
            depth += 1
            if depth > 4 * DEPTH_MAX:
                raise _Nothing
            for part in parts:
                if part is not True and not isinstance(part, dict):
                    raise _Nothing
                rest = _merged(rest, part if isinstance(part, dict) else {})
            schema = rest

    def _found(self, reference: Json) -> Json:
        """What a reference inside of the document points at."""
        found: Json = self._root
        for step in str(reference).removeprefix("#").split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            found = found.get(key) if isinstance(found, dict) else None
        return found

    def _one(self, options: list[Json]) -> Json:
        if not options:
            raise _Nothing
        return options[0] if self._is_first else self._draw.choice(options)

    def _type(self, schema: JsonObject) -> str:
        said = schema.get("type")
        if isinstance(said, list):
            several = [each for each in said if each != "null"] if self._is_first else said
            return str(self._one(several or said))
        if isinstance(said, str):
            return said
        for key, kind in _TELLING.items():
            if key in schema:
                return kind
        return "string"

    def object(self, schema: JsonObject, name: str, depth: int) -> Json:
        fields = schema.get("properties")
        fields = fields if isinstance(fields, dict) else {}
        required = [str(each) for each in _list(schema.get("required"))]
        names = [*required]
        if self._style == "odd" or not self._is_first:
            share = 1.0 if self._style == "odd" else 0.5
            names += [each for each in fields if each not in required and self._draw.random() < share]
        more = schema.get("additionalProperties", True)
        made: JsonObject = {}
        for each in names:
            try:
                made[each] = self.value(fields.get(each, more), each, depth + 1)
            except _Nothing:
                if each in required:
                    raise
        spare = [each for each in fields if each not in made]
        while len(made) < _number(schema, "minProperties", 0):
            key = spare.pop(0) if spare else f"key{len(made) + 1}"
            made[key] = self.value(fields.get(key, more), key, depth + 1)
        return made

    def array(self, schema: JsonObject, name: str, depth: int) -> Json:
        first = _list(schema.get("prefixItems"))
        least = max(int(_number(schema, "minItems", 0)), 1 if "contains" in schema else 0)
        usual = {"usual": 1, "smallest": 0, "odd": 3}[self._style] if depth < DEPTH_MAX / 2 else 0
        count = min(max(least, usual, len(first)), int(_number(schema, "maxItems", 1_000)))
        items = schema.get("items", schema.get("contains", {"type": "string"}))
        made: list[Json] = []
        for number in range(count):
            try:
                made.append(self.value(first[number] if number < len(first) else items, name, depth + 1))
            except _Nothing:
                if number < least:
                    raise
        if schema.get("uniqueItems") and len(made) > 1:
            texts = [f"{each}{number}" if isinstance(each, str) else each for number, each in enumerate(made)]
            made = [each + number if isinstance(each, int | float) else each for number, each in enumerate(texts)]
        return made

    def string(self, schema: JsonObject, name: str, depth: int) -> Json:
        if "pattern" in schema:
            if rstr is None:
                raise _Nothing
            try:
                return str(rstr.Rstr(self._draw).xeger(str(schema["pattern"])))
            except (re.error, LookupError, ValueError, TypeError, OverflowError, RecursionError):
                raise _Nothing from None
        if str(schema.get("format")) in FORMATS:
            return FORMATS[str(schema["format"])]
        least, most = int(_number(schema, "minLength", 0)), int(_number(schema, "maxLength", 1_000))
        # Where a text is required, a call may not have an empty one.
        text = {"usual": name, "smallest": self._blank, "odd": ODD_TEXT}[self._style]
        return (text + "a" * (least - len(text)))[:most]

    def number(self, schema: JsonObject, name: str, depth: int) -> Json:
        whole = self._type(schema) == "integer"
        low, high = _number(schema, "minimum", -math.inf), _number(schema, "maximum", math.inf)
        above = _number(schema, "exclusiveMinimum", -math.inf)
        below = _number(schema, "exclusiveMaximum", math.inf)
        step, is_stepped = _number(schema, "multipleOf", 1), whole or "multipleOf" in schema
        room = (min(high, below) - max(low, above)) / 3
        apart = step if is_stepped else min(1.0, room)
        low, high = max(low, above + apart), min(high, below - apart)
        least = low if low > -math.inf else 0.0
        wanted = {"usual": 1.0, "smallest": least, "odd": -7.0 if whole else -0.5}[self._style]
        if not self._is_first:
            wanted += self._draw.randint(-9, 9)
        value = min(max(wanted, low), high)
        if is_stepped:
            value = math.ceil(value / step) * step
            value = value if value <= high else math.floor(high / step) * step
        return int(value) if whole else value

    def boolean(self, schema: JsonObject, name: str, depth: int) -> Json:
        return self._style == "odd" if self._is_first else self._draw.random() < 0.5

    def null(self, schema: JsonObject, name: str, depth: int) -> Json:
        return None


_BY_TYPE: Final[Mapping[str, Callable[[_Guess, JsonObject, str, int], Json]]] = {
    "object": _Guess.object,
    "array": _Guess.array,
    "string": _Guess.string,
    "integer": _Guess.number,
    "number": _Guess.number,
    "boolean": _Guess.boolean,
    "null": _Guess.null,
}
_TELLING: Final[Mapping[str, str]] = {
    "properties": "object",
    "required": "object",
    "additionalProperties": "object",
    "minProperties": "object",
    "items": "array",
    "prefixItems": "array",
    "minItems": "array",
    "minimum": "number",
    "maximum": "number",
    "exclusiveMinimum": "number",
    "exclusiveMaximum": "number",
    "multipleOf": "number",
}
"""Which type a schema without one means, by its keywords."""


def _merged(one: JsonObject, other: JsonObject) -> JsonObject:
    """A schema that says what both say. Of two bounds the second one is taken, and the check at the end judges."""
    made = one | other
    for key in ("properties", "$defs"):
        if isinstance(one.get(key), dict) and isinstance(other.get(key), dict):
            made[key] = {**one[key], **other[key]}  # type: ignore[dict-item]  # both are objects
    if "required" in one and "required" in other:
        made["required"] = [*_list(one["required"]), *_list(other["required"])]
    if "enum" in one and "enum" in other:
        made["enum"] = [each for each in _list(one["enum"]) if each in _list(other["enum"])]
    return made


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _number(schema: JsonObject, key: str, otherwise: float) -> float:
    value = schema.get(key)
    return value if isinstance(value, int | float) else otherwise
