"""What the arguments of a call may be, as parts of a grammar: JSON, text in tags, Python literals, or a copy. Pure.

Each way knows three strengths, and the strongest that the engine takes is used:

    exact     all that the schema says
    lenient   without the keywords that the engine does not know
    object    any object

A value that a part lets through always fits the schema as far as the part knows it; where a way of writing can not say
all that a schema allows (a list where a text is allowed as well, in a tag), it says less, never more. What it leaves
out of account it notes, by the name of the keyword.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from ...core.json import Json, JsonObject, dumps
from ...core.tool import Tool
from ...schema.coercion import node_at
from ..loose import Strength
from ..text.tagged.bodies import fill
from ..text.tagged.pythonic_call import KEYWORD
from ..text.tagged.xml_call import XmlCall
from ..written_values import Kinds, kinds_of, read_text
from .copies import Copies
from .lark import Lark, either, in_order, pattern, quoted, without

STRENGTHS: tuple[Strength, ...] = ("exact", "lenient", "object")

_COMMA = pattern(", ?")
_COLON = pattern(": ?")
_REFERENCES_MAX = 16
_DOCUMENT = ("$defs", "definitions", "$schema", "$id")
_IN_PLACES = frozenset({"type", "properties", "required", "additionalProperties", *_DOCUMENT})
_WORDS = frozenset({"title", "description", "default", "examples", "$comment", "deprecated", "readOnly", "writeOnly"})
_SCALARS = {
    "integer": pattern("-?(0|[1-9][0-9]{0,17})"),
    "number": pattern("-?(0|[1-9][0-9]{0,17})(\\.[0-9]{1,17})?"),
    "boolean": either(['"true"', '"false"']),
    "null": '"null"',
}
_CLASSES = {"d": "[0-9]", "w": "[0-9A-Za-z_]"}
"""What JSON Schema means by these, to which other letters and digits do not belong."""
_LOOKS_TYPED = pattern(r"(?s:\s*([+\-.0-9\[{\"](.*)|(?i:true|false|null|none)\s*))")
"""Text in a tag that would be read as something else where the schema allows that as well."""


class Values:
    """The parts for the arguments of one tool.

    Args:
        lark: the grammar that they are for.
        tool: whose arguments.
        strength: how much of its schema is asked for.
        copies: texts that strings must be copied from; None where they may be any.

    Attributes:
        left_out: keywords of the schema, and parameters, that are left out of account.
    """

    def __init__(self, lark: Lark, tool: Tool, strength: Strength, copies: Copies | None) -> None:
        self.left_out: set[str] = set()
        self._lark = lark
        self._tool = tool
        self._lenient = strength == "lenient"
        self._root = tool.parameters if strength != "object" else _names_alone(tool)
        self._any_object = strength == "object"
        self._copies = copies
        self._named: dict[str, str] = {}

    def json(self) -> str:
        """The arguments as a JSON object."""
        root: JsonObject = {"type": "object", **({} if self._any_object else self._root)}
        return self._lark.json(root, lenient=self._lenient) if self._copies is None else self._copied(root)

    def tags(self, row: XmlCall, ends: Sequence[str]) -> str:
        """The arguments as tags; `ends`: what must not stand in a value."""
        self._note(self._root, _IN_PLACES)
        stops = [quoted(end) for end in ends]
        items = []
        for key, schema, required in self._parameters():
            kinds = kinds_of(self._tool, key)
            typed = "true" if kinds <= {"string"} else "false"
            opening, closing = (fill(part, key=key, string=typed) for part in row.parameter_form.split("{value}"))
            found = row.parameter.match.match(opening)
            if found is None or found["key"].strip() != key:
                self.left_out.add(f"parameter {key!r}")
                continue
            if kinds and "string" not in kinds:
                value = f"{self._json_of(schema)} {self._lark.text(closing)}"
            elif text := self._tag_text(schema, kinds, without(stops), _REFERENCES_MAX):
                value = self._lark.until(text, closing)
            else:
                self.left_out.add(f"parameter {key!r}")
                continue
            items.append((f"{self._lark.text(opening)} {value}", required))
        return in_order(self._lark, items)

    def python(self) -> str:
        """The arguments as keywords of a Python call."""
        self._note(self._root, _IN_PLACES)
        items = []
        for key, schema, required in self._parameters():
            value = self._python_value(schema, _REFERENCES_MAX)
            if KEYWORD.fullmatch(key + "="):
                items.append((f"{quoted(key + '=')} {value}", required))
            else:
                items.append((f"{quoted('**{' + dumps(key) + ': ')} {value} {quoted('}')}", required))
        return in_order(self._lark, items, quoted(", "))

    # Schemas.

    def _parameters(self) -> list[tuple[str, JsonObject, bool]]:
        found, asked = self._root.get("properties"), self._root.get("required")
        properties = found if isinstance(found, dict) else {}
        required = [key for key in asked if isinstance(key, str)] if isinstance(asked, list) else []
        schemas = {**properties, **{key: True for key in required if key not in properties}}
        return [(key, _as_object(schema), key in required) for key, schema in schemas.items() if schema is not False]

    def _json_of(self, schema: JsonObject) -> str:
        """A part of the schema, with what its references lead to."""
        if self._copies is not None:
            return self._copied(schema)
        document = {key: self._root[key] for key in _DOCUMENT if key in self._root}
        return self._lark.json({**document, **schema}, lenient=self._lenient)

    def _resolved(self, schema: Json, depth: int = _REFERENCES_MAX) -> JsonObject:
        """The schema with its reference, or its only `allOf`, in place."""
        schema = _as_object(schema)
        parts, reference = schema.get("allOf"), schema.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/") and depth:
            target = node_at(self._root, reference[2:].split("/"))
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            return {**self._resolved(target, depth - 1), **beside}
        if isinstance(parts, list) and len(parts) == 1 and depth:
            beside = {key: value for key, value in schema.items() if key != "allOf"}
            return {**self._resolved(parts[0], depth - 1), **beside}
        return schema

    def _note(self, schema: JsonObject, known: frozenset[str]) -> None:
        self.left_out |= schema.keys() - known - _WORDS

    def _branches(self, schema: JsonObject) -> list[JsonObject]:
        """The alternatives of a schema, each with the keywords beside them."""
        key = "anyOf" if "anyOf" in schema else "oneOf"
        found = schema.get(key)
        if not isinstance(found, list):
            return []
        beside = {name: value for name, value in schema.items() if name != key}
        branches = [{**beside, **_as_object(branch)} for branch in found]
        if key == "oneOf" and len({str(branch.get("type")) for branch in branches}) < len(branches):
            self.left_out.add("oneOf")  # that no two may fit is said by none of them
        return branches

    # Python.

    def _python_value(self, schema: JsonObject, depth: int) -> str:
        schema = self._resolved(schema)
        branches = self._branches(schema)
        if branches and depth:
            return either([self._python_value(branch, depth - 1) for branch in branches])
        if schema.get("type") == "boolean" and not schema.keys() & {"enum", "const"}:
            return either(['"True"', '"False"'])
        return '"None"' if schema.get("type") == "null" else self._json_of(schema)

    # Text in tags.

    def _tag_text(self, schema: Json, kinds: Kinds, text: str, depth: int) -> str:
        """A value as text, as the body of a terminal; empty where there is none. `kinds`: what it may be read as."""
        schema = self._resolved(schema)
        options = _options(schema)
        if options is not None:
            written = [option if isinstance(option, str) else dumps(option) for option in options]
            fitting = [w for w, option in zip(written, options, strict=True) if read_text(w, kinds)[0] == option]
            return _either([quoted(word) for word in fitting])
        branches = self._branches(schema)
        if branches and depth:
            return _either([self._tag_text(branch, kinds, text, depth - 1) for branch in branches])
        if branches or isinstance(schema.get("type"), list):
            branches = [{**schema, "type": kind} for kind in sorted(kinds)]
            return _either([self._tag_text(branch, kinds, text, 0) for branch in branches])
        kind = str(schema.get("type", "string"))
        if kind in _SCALARS:
            self._note(schema, frozenset({"type"}))
            return _SCALARS[kind]
        if kind != "string":
            return ""  # a list or an object beside a text: what it may look like, text may as well
        if self._copies is None:
            body = self._bounded(text, schema)
        else:
            body = f"{self._copy(self._copies, schema, quote=False)} & {text}"
        return f"({body} & ~{_LOOKS_TYPED})" if len(kinds) > 1 else f"({body})"

    def _bounded(self, body: str, schema: JsonObject) -> str:
        """Text of the length and the pattern that a schema asks for."""
        self._note(schema, frozenset({"type", "minLength", "maxLength", "pattern"}))
        least, most = schema.get("minLength", 0), schema.get("maxLength", "")
        if least or most != "":
            body += " & " + pattern(f"(?s:.){{{least},{most}}}")
        regex = _searched(schema.get("pattern"))
        if regex:
            body += f" & {pattern(regex)}"
        elif "pattern" in schema:
            self.left_out.add("pattern")
        return body

    # Copies.

    def _copy(self, copies: Copies, schema: JsonObject, *, quote: bool) -> str:
        """A copy; bound to the schema's length and pattern where there is one that fits: else nothing could be said."""
        body = copies.body(self._lark, quote=quote)
        if schema.keys() & {"minLength", "maxLength", "pattern"} and copies.has(schema):
            return self._bounded(body, schema)
        self._note(schema, frozenset({"type"}))
        return body

    def _copied(self, schema: Json) -> str:
        """A JSON value whose strings are copies, or named by the schema."""
        schema = _as_object(schema)
        key = dumps(schema)
        if key not in self._named:
            self._named[key] = self._lark.reserve()
            self._lark.define(self._named[key], self._copied_body(self._resolved(schema)))
        return self._named[key]

    def _copied_body(self, schema: JsonObject) -> str:
        options, branches, kinds = _options(schema), self._branches(schema), schema.get("type")
        if options is not None:
            return self._lark.json({"enum": options})
        if branches:
            return either([self._copied(branch) for branch in branches])
        if not isinstance(kinds, str):
            listed = kinds if isinstance(kinds, list) else _implied(schema)
            return either([self._copied({**schema, "type": kind}) for kind in listed])
        write = _COPIED.get(kinds)
        return write(self, schema) if write is not None else self._lark.json(schema, lenient=self._lenient)

    def _copied_string(self, schema: JsonObject) -> str:
        assert self._copies is not None
        body = self._copy(self._copies, schema, quote=True)
        return self._lark.terminal(f'"\\"" ({body}) "\\""')

    def _copied_list(self, schema: JsonObject) -> str:
        self._note(schema, frozenset({"type", "items", "minItems", "maxItems"}))
        item = self._copied(schema.get("items", True))
        least, most = schema.get("minItems", 0), schema.get("maxItems")
        least = least if isinstance(least, int) else 0
        more = f"({_COMMA} {item}){{{max(0, least - 1)},{most - 1 if isinstance(most, int) else ''}}}"
        if most == 0:
            return '"[]"'
        return f'"[" {item} {more} "]"' if least else f'"[" ({item} {more})? "]"'

    def _copied_object(self, schema: JsonObject) -> str:
        self._note(schema, _IN_PLACES)
        found, asked = schema.get("properties"), schema.get("required")
        properties = found if isinstance(found, dict) else {}
        required = asked if isinstance(asked, list) else []
        others = schema.get("additionalProperties", True)
        if "properties" not in schema and not required and others is not False:
            pair = f"{self._copied_string({})} {_COLON} {self._copied(others)}"
            return f'"{{" ({pair} ({_COMMA} {pair})*)? "}}"'
        schemas = {**properties, **{str(key): True for key in required if key not in properties}}
        items = [
            (f"{quoted(dumps(key))} {_COLON} {self._copied(value)}", key in required)
            for key, value in schemas.items()
            if value is not False
        ]
        return f'"{{" {in_order(self._lark, items, _COMMA)} "}}"'


_COPIED: dict[str, Callable[[Values, JsonObject], str]] = {
    "string": Values._copied_string,
    "array": Values._copied_list,
    "object": Values._copied_object,
}


def _either(bodies: Iterable[str]) -> str:
    """One of those that are not empty."""
    some = [body for body in bodies if body]
    return either(some) if some else ""


def _as_object(schema: Json) -> JsonObject:
    return schema if isinstance(schema, dict) else {}


def _options(schema: JsonObject) -> list[Json] | None:
    if "const" in schema:
        return [schema["const"]]
    options = schema.get("enum")
    return options if isinstance(options, list) else None


def _implied(schema: JsonObject) -> list[Json]:
    """The types of a schema that names none."""
    for key, kind in (("properties", "object"), ("items", "array"), ("pattern", "string")):
        if key in schema:
            return [kind]
    return ["string", "number", "boolean", "null", "array", "object"]


def _searched(regex: Json) -> str:
    """All of a text in which a pattern of JSON Schema is found; empty where it is not put simply enough."""
    if not isinstance(regex, str):
        return ""
    begins, ends = regex.startswith("^"), regex.endswith("$") and not regex.endswith("\\$")
    core = regex[begins : len(regex) - ends]
    if (begins or ends) and "|" in core:
        return ""
    core = re.sub(r"\\(.)", lambda found: _CLASSES.get(found[1], found[0]), core)
    return f"{'' if begins else '(?s:.*)'}(?:{core}){'' if ends else '(?s:.*)'}"


def _names_alone(tool: Tool) -> JsonObject:
    """The parameters of a tool, whatever they hold."""
    return {"properties": {key: {} for key in tool.property_schemas()}, "required": list(tool.required())}
