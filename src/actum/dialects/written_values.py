"""Values that models write into a call otherwise than as JSON: plain text in a tag, and Python literals.

Plain text has no types of its own. What it becomes is for the schema of its parameter to say, never for its looks:
`02134` stays a string where a string is asked for, and where nothing is known. What can not be read as what the schema
asks for stays text, and the check of the schema speaks.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from ..core.json import DEPTH_MAX, Json, JsonObject, JsonProblem, dumps, given_twice, kind_of, parse
from ..core.tool import Tool
from ..schema.coercion import node_at
from .json_mend import InnerQuotes, mend

Kinds = frozenset[str]

_REFERENCES_MAX = 8
_DIGITS_MAX = 4000
"""Python refuses to read longer integers."""

_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")


def kinds_of(tool: Tool | None, parameter: str) -> Kinds:
    """The JSON types that a parameter may have, by its schema; empty where nothing is known."""
    if tool is None:
        return frozenset()
    return kinds_at(tool.property_schemas().get(parameter), tool.parameters)


def kinds_at(schema: Json, root: JsonObject) -> Kinds:
    """The JSON types that a value may have, by a part of a schema; empty where nothing is known."""
    return _kinds(schema, root, _REFERENCES_MAX)


def read_text(text: str, kinds: Kinds) -> tuple[Json, tuple[str, ...]]:
    """What plain text stands for: the first type that it can be read as, in the order of `_READERS`; else text.

    >>> read_text("02134", frozenset({"string"})), read_text("7", frozenset({"integer", "string"}))
    (('02134', ()), (7, ()))
    """
    if kinds != {"string"}:
        for kind, read in _READERS.items():
            if kind in kinds:
                found = read(text.strip())
                if found is not None:
                    return found
    return text, ()


def read_python(text: str) -> Json:
    """The value of a Python literal; JSON's `true`, `false` and `null` count as well.

    Raises:
        JsonProblem: it is none, or one that JSON can not hold; `Ambiguous` where it has two meanings.

    >>> read_python("{'a': (1, None), \\"b\\": r'x'}")
    {'a': [1, None], 'b': 'x'}
    """
    reader = _Python(text)
    value = reader.value(0)
    if reader.skip() != len(text):
        raise reader.problem("nothing more")
    return value


def write_python(value: Json) -> str:
    """A value as a Python literal. Strings are written as in JSON, which Python reads alike."""
    match value:
        case None | bool():
            return str(value)
        case list():
            return "[" + ", ".join(write_python(item) for item in value) + "]"
        case dict():
            return "{" + ", ".join(f"{dumps(key)}: {write_python(item)}" for key, item in value.items()) + "}"
        case _:
            return dumps(value)


def _kinds(schema: Json, root: JsonObject, depth: int) -> Kinds:
    if not isinstance(schema, dict) or not depth:
        return frozenset()
    said = schema.get("type")
    if isinstance(said, str):
        return frozenset((said,))
    if isinstance(said, list):
        return frozenset(str(kind) for kind in said)
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/"):
        return _kinds(node_at(root, reference[2:].split("/")), root, depth - 1)
    options = schema["enum"] if "enum" in schema else [schema["const"]] if "const" in schema else None
    if isinstance(options, list):
        return frozenset(kind_of(option) for option in options)
    for key in ("anyOf", "oneOf"):
        branches = schema.get(key)
        if isinstance(branches, list):
            found = [_kinds(branch, root, depth - 1) for branch in branches]
            return frozenset().union(*found) if all(found) else frozenset()
    branches = schema.get("allOf")
    if isinstance(branches, list):
        return next(filter(None, (_kinds(branch, root, depth - 1) for branch in branches)), frozenset())
    kind = "object" if "properties" in schema else "array" if "items" in schema else ""
    return frozenset((kind,)) if kind else frozenset()


_Read = tuple[Json, tuple[str, ...]]


def _as_null(text: str) -> _Read | None:
    return (None, ()) if text in ("null", "None") else None


def _as_integer(text: str) -> _Read | None:
    return (int(text), ()) if len(text) < _DIGITS_MAX and _INTEGER.fullmatch(text) else None


def _as_number(text: str) -> _Read | None:
    if not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    return _as_integer(text) or ((number, ()) if math.isfinite(number) else None)


def _as_boolean(text: str) -> _Read | None:
    truth = {"true": True, "false": False}.get(text.lower())
    return None if truth is None else (truth, ())


def _as_container(kind: type) -> Callable[[str], _Read | None]:
    def read(text: str) -> _Read | None:
        if text[:1] not in ("{", "[", '"'):
            return None
        for attempt in (parse, mend, _literal):
            try:
                value, repairs = attempt(text)
            except JsonProblem:
                continue
            if isinstance(value, str) and value != text:
                inner = read(value.strip())
                return inner and (inner[0], (*repairs, "a value was JSON inside a string: opened", *inner[1]))
            if isinstance(value, kind):
                return value, repairs
        return None

    return read


def _literal(text: str) -> _Read:
    return read_python(text), ("read as a Python literal",)


_READERS: dict[str, Callable[[str], _Read | None]] = {
    "null": _as_null,
    "integer": _as_integer,
    "number": _as_number,
    "boolean": _as_boolean,
    "object": _as_container(dict),
    "array": _as_container(list),
}


_SPACE = re.compile(r"\s*")
_WORD = re.compile(r"[A-Za-z]+")
_PYTHON_NUMBER = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|(?:0|[1-9][0-9_]*)(?:\.[0-9_]*)?(?:[eE][+-]?[0-9]{1,4})?"
    r"|\.[0-9]+(?:[eE][+-]?[0-9]{1,4})?)(?![\w.])"
)
_OPENING = re.compile(r"""([rRuUfFbB]{0,2})('''|\"""|'|")""")
_WORDS: dict[str, Json] = {"True": True, "False": False, "None": None, "true": True, "false": False, "null": None}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|([0-7]{1,3})|(.))", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "a": "\a", "v": "\v", "\n": "", "0": "\0", "/": "/"}
_SAME = frozenset("\\'\"")
_SURROGATES = re.compile("([\ud800-\udbff])([\udc00-\udfff])|[\ud800-\udfff]")
AFTER_STRING = ",)]}:"
"""What follows a quote that ends a string; a quote before anything else is one in the string, left unescaped."""


class _Python:
    """Reads literals out of a text; `at` is where it stands."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def skip(self) -> int:
        found = _SPACE.match(self.text, self.at)
        assert found is not None
        self.at = found.end()
        return self.at

    def problem(self, expected: str) -> JsonProblem:
        return JsonProblem(f"{expected} was expected at character {self.at} of {len(self.text)}")

    def value(self, depth: int) -> Json:
        if depth > DEPTH_MAX:
            raise JsonProblem(f"nested deeper than {DEPTH_MAX} levels")
        self.skip()
        char = self.text[self.at : self.at + 1]
        if char in ("[", "("):
            return self._items("]" if char == "[" else ")", depth)
        if char == "{":
            return self._dict(depth)
        opening = _OPENING.match(self.text, self.at)
        if opening is not None:
            return self._string(opening)
        number = _PYTHON_NUMBER.match(self.text, self.at)
        if number is not None and len(number[0]) < _DIGITS_MAX:
            self.at = number.end()
            return self._number(number[0].replace("_", ""))
        word = _WORD.match(self.text, self.at)
        if word is None or word[0] not in _WORDS:
            raise self.problem("a value")
        self.at = word.end()
        return _WORDS[word[0]]

    def _take(self, char: str) -> bool:
        self.skip()
        found = self.text.startswith(char, self.at)
        self.at += len(char) * found
        return found

    def _items(self, closer: str, depth: int) -> Json:
        self.at += 1
        items: list[Json] = []
        comma = False
        while not self._take(closer):
            if items and not comma:
                raise self.problem("a comma")
            items.append(self.value(depth + 1))
            comma = self._take(",")
        # Brackets around one value are only brackets.
        return items[0] if closer == ")" and len(items) == 1 and not comma else items

    def _dict(self, depth: int) -> Json:
        start = self.at
        self.at += 1
        value: JsonObject = {}
        comma = True
        while not self._take("}"):
            if not comma:
                raise self.problem("a comma")
            key = self.value(depth + 1)
            if not self._take(":"):
                if value:
                    raise self.problem("a colon")
                self.at = start
                return self._items("}", depth)  # a set
            name, item = key if isinstance(key, str) else dumps(key), self.value(depth + 1)
            if name in value:
                given_twice(name, value[name], item)
            value[name] = item
            comma = self._take(",")
        return value

    def _number(self, text: str) -> Json:
        sign, digits = ("-", text[1:]) if text[0] == "-" else ("", text.lstrip("+"))
        if digits[:2].lower() in ("0x", "0o", "0b"):
            return int(sign + digits, 0)
        if digits.isdigit():
            return int(sign + digits)
        number = float(sign + digits)
        if not math.isfinite(number):
            raise self.problem("a finite number")
        return number

    def _string(self, opening: re.Match[str]) -> str:
        prefix, quote = opening[1].lower(), opening[2]
        if "b" in prefix:
            raise self.problem("text, not bytes")
        step, inner = re.compile(rf"\\.|{quote}", re.DOTALL), InnerQuotes()
        at = opening.end()
        while True:
            found = step.search(self.text, at)
            if found is None:
                raise JsonProblem("a string breaks off")
            at = found.end()
            rest = self.text[at : at + 32].lstrip()
            if found[0] == quote and (len(quote) == 3 or not rest or rest[0] in AFTER_STRING):
                inner.end_string()
                break
            if found[0] == quote:
                inner.pass_over(self.text, found.start(), at)
        self.at = at
        body = self.text[opening.end() : found.start()]
        return body if "r" in prefix else _unescaped(body)


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    text = _ESCAPE.sub(_escape, text)
    return _SURROGATES.sub(_joined, text)


def _escape(found: re.Match[str]) -> str:
    for digits, base in ((found[1], 16), (found[2], 16), (found[3], 16), (found[4], 8)):
        if digits:
            code = int(digits, base)
            return chr(code) if code < 0x110000 else "\ufffd"
    char = found[5]
    return char if char in _SAME else _ESCAPES.get(char, "\\" + char)


def _joined(found: re.Match[str]) -> str:
    """Two halves of a surrogate pair as one character, half a one as U+FFFD."""
    if found[1] is None:
        return "\ufffd"
    return chr(0x10000 + ((ord(found[1]) - 0xD800) << 10) + ord(found[2]) - 0xDC00)
