"""A tool's definition as an MCP server tells it, and the `Tool` that it is to us. Pure.

Its annotations are hints of another party. Of one whose word is not trusted they may only tighten: that a tool destroys
is believed, that it only reads or can be repeated is not. Of one that is trusted they are taken as they are, and what
they do not say as the protocol's own defaults have it, which are the worst.

Its words are cleaned of what no person sees. Its schemas stay as they are, as the server has to understand what is made
by them, and hidden characters in one are a reason to refuse the tool.

Source: Model Context Protocol, 2025-11-25 and 2026-07-28, Tools and `ToolAnnotations`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...core.errors import BadTool
from ...core.json import Json, JsonObject
from ...core.tool import Effects, Tool
from ..plain_text import plain


def tool_of(definition: JsonObject, *, trusted: bool = False, reads: bool = False) -> Tool:
    """The tool that a server's `tools/list` tells of.

    Args:
        definition: one element of its `tools`.
        trusted: whether its annotations are believed where they make it look harmless.
        reads: whether this much is believed: that it only reads, where its annotations say so.

    Raises:
        BadTool: it has no name, its `inputSchema` is not that of an object, or something is hidden in a schema.

    >>> known = {"name": "ls", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
    >>> tool_of(known).reads_only, tool_of(known, trusted=True).reads_only
    (False, True)
    """
    name, schema, result = definition.get("name"), definition.get("inputSchema"), definition.get("outputSchema")
    hints, title = definition.get("annotations"), definition.get("title")
    if not isinstance(name, str) or not isinstance(schema, dict):
        raise BadTool(
            "an MCP tool needs a name and an inputSchema; this one has {definition}",
            definition=", ".join(definition) or "nothing",
        )
    if not isinstance(result, dict | None):
        raise BadTool("tool {name!r}: its outputSchema is no schema", name=name[:128])
    declared = hints if isinstance(hints, dict) else {}
    tool = Tool(
        name=name,
        title=plain(str(title or declared.get("title") or "")),
        description=plain(str(definition.get("description") or "")),
        parameters=schema,
        result=result,
        effects=effects_of(declared) if trusted or (reads and says_it_reads(definition)) else worst_of(declared),
        idempotent=trusted and declared.get("idempotentHint") is True,
        foreign=True,
    )
    for text in (*_texts(schema), *_texts(result)):
        if plain(text) != text:
            raise BadTool(
                "tool {name!r}: its schema has hidden characters in {text!r}", name=name, text=plain(text)[:60]
            )
    return tool


def says_it_reads(definition: JsonObject) -> bool:
    """Whether a definition declares that the tool only reads, and does not contradict itself.

    >>> says_it_reads({"name": "ls", "annotations": {"readOnlyHint": True}})
    True
    """
    hints = definition.get("annotations")
    return isinstance(hints, dict) and hints.get("readOnlyHint") is True and hints.get("destructiveHint") is not True


def effects_of(annotations: JsonObject) -> frozenset[Effects] | None:
    """What a tool declares to do by its annotations; None where they say nothing of it, which means: anything."""
    read_only, destructive = annotations.get("readOnlyHint"), annotations.get("destructiveHint")
    if read_only is True:
        return frozenset({"read"})
    if read_only is None and destructive is None:
        return None
    return frozenset({"write"}) if destructive is False else frozenset({"write", "destroy"})


def worst_of(annotations: JsonObject) -> frozenset[Effects] | None:
    """What is believed of the annotations of a server that is not trusted: that a tool destroys. It is not taken to
    write only, which a policy may allow where it does not allow anything.
    """
    return frozenset({"destroy"}) if annotations.get("destructiveHint") is True else None


def _texts(value: Json) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _texts(item)
        case dict():
            for key, item in value.items():
                yield key
                yield from _texts(item)
        case _:
            return
