"""The types of nodes: one row each, with its settings, its ports, and what has to be done when the node is due."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, cast

import msgspec
from msgspec import Struct

from ...core.errors import UsageError
from ...core.json import JsonObject
from .settings import (
    AgentNode,
    AnySettings,
    BreakNode,
    ClassifyNode,
    CodeNode,
    ContinueNode,
    EachNode,
    EndNode,
    ExtractNode,
    HttpNode,
    HumanNode,
    IfNode,
    KnowledgeNode,
    ListNode,
    LoopNode,
    MergeNode,
    ModelNode,
    NodeSettings,
    NoteNode,
    SayNode,
    SetNode,
    TemplateNode,
    ToolNode,
    WaitNode,
    WorkflowNode,
    WorkflowText,
)

OUT = "out"
"""The port of a node that has only one."""
ERROR = "error"
"""The port at which a workflow goes on where a node has failed."""

Needs = Literal["nothing", "call", "model", "person", "wait", "template", "container"]
"""What has to be done when a node is due: a value is computed, a call is made, a model or a person is asked, something
is waited for, a text is written in another process, or nodes inside are carried out."""

Ports = Callable[[AnySettings], tuple[str, ...]]


class NodeType(Struct, frozen=True):
    """One type of node.

    Attributes:
        name: what the definition calls the type.
        settings: the class of its settings.
        needs: what has to be done.
        ports: at which ports a workflow may go on behind the node, without `error`.
        gives: the names under which the node gives values; empty where the definition says the names.
    """

    name: str
    settings: type[NodeSettings]
    needs: Needs
    ports: Ports
    gives: tuple[str, ...] = ("output",)


def _one(settings: AnySettings) -> tuple[str, ...]:
    return (OUT,)


def _none(settings: AnySettings) -> tuple[str, ...]:
    return ()


def _cases(settings: AnySettings) -> tuple[str, ...]:
    return (*(case.port for case in cast(IfNode, settings).cases), "else")


def _classes(settings: AnySettings) -> tuple[str, ...]:
    return tuple(cast(ClassifyNode, settings).classes)


def _choices(settings: AnySettings) -> tuple[str, ...]:
    human = cast(HumanNode, settings)
    late = ("expired",) if human.expires is not None else ()
    return (*(human.choices or (OUT,)), "denied", *late)


def _event(settings: AnySettings) -> tuple[str, ...]:
    return (OUT, "expired") if cast(WaitNode, settings).expires is not None else (OUT,)


_CALL = ("output", "text", "files")

NODE_TYPES: dict[str, NodeType] = {
    row.name: row
    for row in (
        NodeType("tool", ToolNode, "call", _one, _CALL),
        NodeType("agent", AgentNode, "call", _one, _CALL),
        NodeType("workflow", WorkflowNode, "call", _one, _CALL),
        NodeType("knowledge", KnowledgeNode, "call", _one, _CALL),
        NodeType("code", CodeNode, "call", _one, _CALL),
        NodeType("http", HttpNode, "call", _one, _CALL),
        NodeType("model", ModelNode, "model", _one, ("output", "text", "value")),
        NodeType("classify", ClassifyNode, "model", _classes),
        NodeType("extract", ExtractNode, "model", _one),
        NodeType("template", TemplateNode, "template", _one, ("output", "text")),
        NodeType("set", SetNode, "nothing", _one),
        NodeType("merge", MergeNode, "nothing", _one, ()),
        NodeType("list", ListNode, "nothing", _one, ("output", "first", "last")),
        NodeType("if", IfNode, "nothing", _cases),
        NodeType("human", HumanNode, "person", _choices, ("output", "by")),
        NodeType("wait", WaitNode, "wait", _event),
        NodeType("say", SayNode, "nothing", _one, ("output", "text")),
        NodeType("end", EndNode, "nothing", _none),
        NodeType("break", BreakNode, "nothing", _none),
        NodeType("continue", ContinueNode, "nothing", _none),
        NodeType("note", NoteNode, "nothing", _none),
        NodeType("each", EachNode, "container", _one),
        NodeType("loop", LoopNode, "container", _one, ("output", "passes")),
    )
}
"""Every type of node by its name."""

SECONDS_MAX = 1e10
"""The bound of a duration, in seconds: 317 years."""
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*+([smhd]?)\s*")


def seconds_of(duration: object) -> float:
    """A duration in seconds: a number, or a text such as `10m`.

    Raises:
        UsageError: that is no duration.

    >>> seconds_of("1.5h")
    5400.0
    """
    seconds = -1.0
    if isinstance(duration, int | float) and not isinstance(duration, bool):
        seconds = float(duration) if duration < SECONDS_MAX else SECONDS_MAX
    elif isinstance(duration, str) and (found := _DURATION.fullmatch(duration)):
        seconds = float(found[1]) * _UNITS[found[2]]
    if not 0 <= seconds < SECONDS_MAX:
        shown = repr(duration)[:40]
        raise UsageError("{shown} is no duration: write seconds, or a text such as 90s, 10m, 2h, 3d", shown=shown)
    return seconds


def json_schema() -> JsonObject:
    """The JSON Schema of a definition."""
    schema: JsonObject = msgspec.json.schema(WorkflowText)
    definitions = schema["$defs"]
    assert isinstance(definitions, dict)
    union: JsonObject = {"anyOf": [{"$ref": f"#/$defs/{row.settings.__name__}"} for row in NODE_TYPES.values()]}
    for name in ("EachNode", "LoopNode"):  # the nodes inside are nodes like those outside
        each = definitions[name]
        assert isinstance(each, dict)
        properties = each["properties"]
        assert isinstance(properties, dict)
        properties["nodes"] = {"type": "object", "additionalProperties": union}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A workflow of actum", **schema}
