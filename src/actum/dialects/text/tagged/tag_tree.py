"""Values as tags in tags: `<stop><city>Oslo</city><days>3</days></stop>`, with a fixed mark before each tag. Pure.

What a value is, its part of the schema says. Where the schema says nothing, a value without tags is text, tags that are
all called `item` are a list, and any others are an object, in which a name that comes again has a list of values.
"""

from __future__ import annotations

import re

from ....core.json import DEPTH_MAX, Json, JsonObject, JsonProblem
from ....schema.coercion import node_at
from ...written_values import Kinds, kinds_at, read_text

_ITEM = "item"


def read_tree(text: str, mark: str, schema: Json, root: JsonObject) -> Json:
    """The value that a text with tags stands for.

    Args:
        text: the text between the tags of the parameter.
        mark: the mark before each tag.
        schema: the parameter's part of the schema; None where nothing is known.
        root: the whole schema, which references lead into.

    Raises:
        JsonProblem: the tags do not close in the order in which they were opened, or text stands between them.

    >>> read_tree("!<a>1!</a>!<b>!<item>x!</item>!</b>", "!", {"properties": {"a": {"type": "integer"}}}, {})
    {'a': 1, 'b': ['x']}
    """
    tag = re.compile(re.escape(mark) + r"<(/?)([^\s<>/]{1,160})>")
    reader = _Reader(text, tag, root)
    value = reader.value(schema, "", 0)
    if reader.at != len(text):
        raise JsonProblem(f"a tag is closed that was not opened, at character {reader.at} of {len(text)}")
    return value


class _Reader:
    """Reads values out of a text; `at` is where it stands."""

    def __init__(self, text: str, tag: re.Pattern[str], root: JsonObject) -> None:
        self.at = 0
        self._text = text
        self._tag = tag
        self._root = root

    def value(self, schema: Json, closes: str, depth: int) -> Json:
        """The value up to the tag that closes it, which is taken as well; up to the end where `closes` is empty."""
        if depth > DEPTH_MAX:
            raise JsonProblem(f"nested deeper than {DEPTH_MAX} levels")
        schema = self._resolved(schema)
        found: list[tuple[str, Json]] = []
        while True:
            tag = self._tag.search(self._text, self.at)
            said = self._text[self.at : tag.start() if tag is not None else len(self._text)]
            if tag is None or tag[1]:
                if (tag[2] if tag is not None else "") != closes:
                    raise JsonProblem(f"{closes or 'a tag'!r} is not closed")
                self.at = tag.end() if tag is not None else len(self._text)
                break
            if said.strip():
                raise JsonProblem(f"{said.strip()[:40]!r} stands between tags")
            self.at = tag.end()
            found.append((tag[2], self.value(self._part(schema, tag[2]), tag[2], depth + 1)))
        if not found:
            return self._plain(said, kinds_at(schema, self._root))
        if said.strip():
            raise JsonProblem(f"{said.strip()[:40]!r} stands between tags")
        return self._collected(found, schema)

    def _plain(self, said: str, kinds: Kinds) -> Json:
        """A value without tags; where nothing stands, a list or an object is empty."""
        if not said.strip() and "string" not in kinds:
            if "array" in kinds:
                return []
            if "object" in kinds:
                return {}
        return read_text(said, kinds)[0]

    def _collected(self, found: list[tuple[str, Json]], schema: Json) -> Json:
        kinds = kinds_at(schema, self._root)
        if "array" in kinds or (not kinds and all(name == _ITEM for name, _ in found)):
            return [value for _, value in found]
        together: dict[str, list[Json]] = {}
        for name, value in found:
            together.setdefault(name, []).append(value)
        return {name: values[0] if len(values) == 1 else values for name, values in together.items()}

    def _resolved(self, schema: Json) -> Json:
        reference = schema.get("$ref") if isinstance(schema, dict) else None
        if isinstance(reference, str) and reference.startswith("#/"):
            return node_at(self._root, reference[2:].split("/"))
        return schema

    def _part(self, schema: Json, name: str) -> Json:
        """The schema of a value in a value."""
        if not isinstance(schema, dict):
            return None
        if "array" in kinds_at(schema, self._root):
            return schema.get("items")
        properties, others = schema.get("properties"), schema.get("additionalProperties")
        if isinstance(properties, dict) and name in properties:
            return properties[name]
        return others if isinstance(others, dict) else None
