"""What kinds of values stand where in a definition, as far as schemas say so: for `check`, before anything is run.

A value type is a JSON Schema, with the document in which its `$ref`s point. What is not known is `None`, and nothing
is said about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...core.json import Json, JsonObject, kind_of
from ...core.tool import Tool
from ...policy.lineage import Steps
from .expression import Expression, Literal, Reference, TextOf
from .graph import GraphNode
from .settings import (
    ClassifyNode,
    CodeNode,
    Default,
    EachNode,
    ExtractNode,
    HumanNode,
    IfNode,
    LoopNode,
    ModelNode,
    SayNode,
    TemplateNode,
)
from .tool_names import tool_names

Kinds = frozenset[str]
"""Types of JSON values, by their names in JSON Schema."""

_SAMPLES: Mapping[str, tuple[Json, ...]] = {
    "null": (None,),
    "boolean": (True,),
    "integer": (1,),
    "number": (1.5, 1.0),
    "string": ("x", "1", "true", "[]", "{}"),
    "array": ([],),
    "object": ({},),
}
_REFERENCES_MAX = 20
_CHOICES_DEEP = 5


class ValueType(NamedTuple):
    """What is known of a value.

    Attributes:
        schema: its JSON Schema.
        document: where the `$ref`s of the schema point.
    """

    schema: JsonObject
    document: JsonObject

    @staticmethod
    def of(schema: Json) -> ValueType | None:
        """The type that a whole schema describes."""
        return ValueType(schema, schema) if isinstance(schema, dict) else None

    def inside(self, schema: Json) -> ValueType | None:
        """The type of a part."""
        return ValueType(schema, self.document)._resolved() if isinstance(schema, dict) else None

    def _resolved(self) -> ValueType | None:
        schema = self.schema
        for _ in range(_REFERENCES_MAX):
            reference = schema.get("$ref")
            if reference is None:
                return ValueType(schema, self.document)
            found: Json = self.document
            for step in str(reference).removeprefix("#").split("/")[1:]:
                found = found.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
            if not isinstance(found, dict):
                return None
            schema = found
        return None

    def at(self, steps: Steps) -> ValueType | None:
        """The type of a part of the value; None where nothing is known of that part."""
        known = self._resolved()
        for step in steps:
            if known is None:
                return None
            schema = known.schema
            properties, items = schema.get("properties"), schema.get("items")
            if isinstance(step, int):
                known = known.inside(items) if "prefixItems" not in schema else None
            else:
                known = known.inside(properties.get(step)) if isinstance(properties, dict) else None
        return known

    @property
    def kinds(self) -> Kinds | None:
        """The types that the value may have; None where that is not known."""
        return self._kinds(_CHOICES_DEEP)

    def _kinds(self, deep: int) -> Kinds | None:
        known = self._resolved()
        if known is None or not deep:
            return None
        schema = known.schema
        named = schema.get("type")
        if isinstance(named, str):
            return frozenset([named])
        if isinstance(named, list):
            return frozenset(str(each) for each in named)
        if isinstance(values := schema.get("enum"), list):
            return frozenset(kind_of(value) for value in values)
        if "const" in schema:
            return frozenset([kind_of(schema["const"])])
        choices = schema.get("anyOf", schema.get("oneOf"))
        if isinstance(choices, list) and choices:
            found = [inner._kinds(deep - 1) if (inner := known.inside(each)) is not None else None for each in choices]
            sure = [each for each in found if each is not None]
            return frozenset().union(*sure) if len(sure) == len(found) else None
        return None


def samples_of(kinds: Kinds) -> list[Json]:
    """Values of some types: one that a tool takes by way of its text stands among the texts."""
    return [sample for kind in sorted(kinds) for sample in _SAMPLES.get(kind, ())]


def type_of(expression: Expression, roots: Mapping[str, ValueType]) -> ValueType | None:
    """What an expression comes to.

    Args:
        expression: the expression.
        roots: what is known of what the expression speaks of.
    """
    match expression:
        case Literal(constant=value):
            return _typed(kind_of(value))
        case TextOf():
            return _typed("string")
        case Reference(name=name):
            root = roots.get(name.root)
            return root.at(name.steps) if root is not None else None
        case _:
            return None


def type_of_node(node: GraphNode, roots: Mapping[str, ValueType], tools: Mapping[str, Tool]) -> ValueType | None:
    """What a node gives, by name; None where nothing is known.

    Args:
        node: the node.
        roots: what is known of what its expressions speak of.
        tools: those that nodes may call, by name.
    """
    settings, given = node.settings, dict[str, Json]()
    if isinstance(settings.on_error, Default):
        return None
    match settings:
        case ModelNode(output_schema=schema):
            given["text"] = {"type": "string"}
            if schema is not None:
                given["value"] = schema
        case ClassifyNode() | TemplateNode() | SayNode() | IfNode():
            given = {"output": {"type": "string"}, "text": {"type": "string"}}
        case HumanNode():
            given["by"] = {"type": "string"}
            if settings.choices:
                given["output"] = {"type": "string"}
        case EachNode():
            given["output"] = {"type": "array"}
        case LoopNode():
            given["passes"] = {"type": "integer"}
        case CodeNode(outputs=schema) if schema is not None:
            return _with_output(schema)
        case ExtractNode(schema=schema):
            return _with_output(schema)
        case _:
            names = tool_names(settings)
            tool = tools.get(names[0]) if names else None
            return _with_output(tool.result) if tool is not None and tool.result is not None else None
    return ValueType.of({"properties": given})


def _with_output(schema: JsonObject) -> ValueType:
    output: JsonObject = {"properties": {"output": schema, "text": {"type": "string"}, "files": {"type": "array"}}}
    return ValueType(output, schema)


def _typed(kind: str) -> ValueType | None:
    return ValueType.of({"type": kind})
