"""The types of nodes as the canvas of the studio knows them; `python -m tests.studio.node_types` writes the file."""

from __future__ import annotations

import json

import msgspec

from actum.core.json import JsonObject
from actum.workflow.definition.nodes import NODE_TYPES
from packages.studio import hatch_build

FILE = hatch_build.WEB / "src" / "core" / "flow" / "node-types.json"
INSIDE = {"type", "nodes", "edges"}
"""What no form of a node shows: its type, and what the canvas itself draws of a container."""
ENDS = {
    "_one": "out",
    "_none": "none",
    "_cases": "cases",
    "_classes": "classes",
    "_choices": "choices",
    "_event": "event",
}


def node_types() -> JsonObject:
    """Of each type its fields as JSON Schema, what it gives, and what decides its ports."""
    found: JsonObject = {}
    for name, row in NODE_TYPES.items():
        schema = msgspec.json.schema(row.settings)
        described = schema["$defs"][row.settings.__name__]
        fields: JsonObject = {
            field: _plain(each, schema["$defs"])
            for field, each in described["properties"].items()
            if field not in INSIDE
        }
        found[name] = {
            "fields": fields,
            "required": [each for each in described["required"] if each not in INSIDE],
            "gives": list(row.gives),
            "ports": ENDS[row.ports.__name__],
            "isContainer": row.needs == "container",
        }
    return found


def _plain(schema: JsonObject, parts: JsonObject) -> JsonObject:
    """What a field of a form has to know of a schema."""
    kinds = schema.get("anyOf")
    if isinstance(kinds, list):
        several = [each for each in kinds if isinstance(each, dict) and each.get("type") != "null"]
        words = [each for each in several if "enum" in each]
        schema = words[0] if words else several[0] if len(several) == 1 else {}
    if "$ref" in schema:
        return {"type": "object"}
    return {key: schema[key] for key in ("type", "enum", "minimum", "maximum") if key in schema}


def written() -> str:
    """The text of the file."""
    return json.dumps(node_types(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(written(), "utf-8")
