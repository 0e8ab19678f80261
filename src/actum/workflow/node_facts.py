"""What an editor needs to know of each node of a text while a person writes: its ports, what it gives, and which nodes
are upstream, so that their values can be named in it. A text in which something is wrong has facts as well, of the
nodes that could be read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from ..core.definition import TextProblem
from ..core.json import Json, JsonObject
from ..core.tool import Tool
from .definition.graph import Graph, GraphNode, nodes_in
from .definition.nodes import ERROR
from .definition.settings import Default, MergeNode
from .definition.value_types import type_of_node
from .load import CheckedText
from .tool_check import NOTHING_WRONG, Roots, WrongNames, check_tools, typed_nodes

NODES_MAX = 500
"""A text with more nodes has no facts: each node may have all others upstream."""


class NodeFacts(Struct, frozen=True, kw_only=True):
    """What is known of a node before anything is run.

    Attributes:
        node: the node; `trips/price` inside of a container.
        type: what the node does.
        ports: at which ports the workflow may go on behind the node, with `error` where the node has it.
        output: the JSON Schema of what the node gives, by name: `output.properties.text` is the type of `${NODE.text}`.
            An empty schema says that nothing is known of the value.
        upstream: the names of the nodes whose values the node may name, the nearest first; those outside of a container
            come behind those inside.
    """

    node: str
    type: str
    ports: tuple[str, ...]
    output: JsonObject
    upstream: tuple[str, ...]


class CheckFindings(Struct, frozen=True):
    """What a check of a text found.

    Attributes:
        problems: each thing that is wrong.
        nodes: what is known of each node, in the order of the text.
    """

    problems: Sequence[TextProblem]
    nodes: Sequence[NodeFacts] = ()


def findings_of(checked: CheckedText, tools: Sequence[Tool], wrong: WrongNames = NOTHING_WRONG) -> CheckFindings:
    """What a check found, with the tools and models that are there.

    Args:
        checked: the text.
        tools: those that its nodes may call.
        wrong: the names that can not be used, beside those of missing tools.
    """
    problems = checked.problems if checked.definition is None else check_tools(checked, tools, wrong)
    return CheckFindings(problems, node_facts(checked, tools))


def node_facts(checked: CheckedText, tools: Sequence[Tool]) -> list[NodeFacts]:
    """What is known of each node; nothing where the text has more than `NODES_MAX` nodes, or edges that make a cycle.

    Args:
        checked: the text.
        tools: those that its nodes may call.
    """
    graph = checked.graph
    if graph is None or len(nodes_in(graph)) > NODES_MAX:
        return []
    known = {tool.name: tool for tool in tools}
    upstream = _upstream(graph, "", ())
    found = []
    for place, node, roots in typed_nodes(checked, known):
        path = "/".join(str(step) for step in place[1::2])
        found.append(
            NodeFacts(
                node=path,
                type=node.type.name,
                ports=node.ports,
                output=output_schema(node, roots, known),
                upstream=upstream[path],
            )
        )
    return found


def output_schema(node: GraphNode, roots: Roots, tools: Mapping[str, Tool]) -> JsonObject:
    """The JSON Schema of what a node gives, by name.

    Args:
        node: the node.
        roots: what is known of what its expressions speak of.
        tools: those that nodes may call, by name.
    """
    typed = type_of_node(node, roots, tools)
    schemas = typed.schema.get("properties") if typed is not None else None
    given: JsonObject = {}
    for name in node.settings.groups if isinstance(node.settings, MergeNode) else node.type.gives:
        schema = schemas.get(name) if isinstance(schemas, dict) else None
        given[name] = _moved(schema, f"#/properties/{name}") if schema is not None else {}
    if node.settings.on_error == "branch" or isinstance(node.settings.on_error, Default):
        given.setdefault(ERROR, {})
    return {"type": "object", "properties": given}


def _moved(schema: Json, to: str) -> Json:
    """A schema whose `$ref`s point at its own parts, for another place in a document.

    >>> _moved({"items": {"$ref": "#/$defs/trip"}, "$defs": {"trip": {}}}, "#/properties/output")["items"]
    {'$ref': '#/properties/output/$defs/trip'}
    """
    if isinstance(schema, list):
        return [_moved(each, to) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: f"{to}{each[1:]}"
        if name in ("$ref", "$dynamicRef") and isinstance(each, str) and (each == "#" or each.startswith("#/"))
        else _moved(each, to)
        for name, each in schema.items()
    }


def _upstream(graph: Graph, inside: str, outside: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The nodes upstream of each node of a graph and of the containers in it, by the paths of the nodes.

    Args:
        graph: the nodes.
        inside: the path of the container, with a `/` behind it; empty outside of all.
        outside: the nodes upstream of the container.
    """
    above: dict[str, dict[str, None]] = {name: {} for name in graph.nodes}
    found: dict[str, tuple[str, ...]] = {}
    for name in graph.ranks:
        nearest = sorted(above[name], key=graph.ranks.__getitem__, reverse=True)
        path = f"{inside}{name}"
        found[path] = (*nearest, *outside)
        for edge in graph.behind[name]:
            above[edge.target] |= {**above[name], name: None}
        body = graph.nodes[name].body
        if body is not None:
            found |= _upstream(body, f"{path}/", found[path])
    return found
