"""One node of a workflow as a workflow of its own, to try the node: `actum workflow run FILE --only NODE --pin DATA`.

What the other nodes would have given is *pinned*: it comes with the inputs. So the path, the record, policies and
approvals are those of every other workflow, and the pinned values have the origin of the user who gave them.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

import msgspec
from msgspec import Struct

from ..core.errors import UnknownName, UsageError
from ..core.json import Json, JsonObject
from .definition.expression import ROOTS, Named
from .definition.graph import Definition, Graph, GraphNode
from .definition.settings import EachNode
from .load import read_definition

PINNED = "pinned"
"""The input that holds the pinned values, and the name of the container around a node that uses `item`."""
_VARIABLES = "pinned_variables"


class MissingPin(UsageError):
    """The node reads a value that is not pinned: `path` among the values of the sentence, such as `find.output`."""


class OnlyNode(Struct, frozen=True):
    """A workflow that carries out one node of another.

    Attributes:
        definition: the workflow.
        path: the place of the node in it.
        inputs: the inputs of the workflow.
    """

    definition: Definition
    path: str
    inputs: JsonObject


def only_node(definition: Definition, name: str, inputs: JsonObject, pins: JsonObject) -> OnlyNode:
    """A workflow of one node.

    Args:
        definition: the workflow that has the node.
        name: the node; `trips/price` inside of a container.
        inputs: those inputs of the workflow that the node speaks of.
        pins: what other nodes have given, by their names, such as `{"find": {"output": []}}`; also `item` and `vars`.

    Raises:
        UnknownName: there is no such node, or a pin has the name of none.
        MissingPin: the node reads a value that is not pinned.
        UsageError: the node can not be carried out alone.
    """
    node, source = _found(definition, name)
    spoken = [each for each in _spoken_of(node) if each.root not in _bound(node)]
    _check(name, node, spoken, pins, definition)
    whole = msgspec.json.decode(definition.text)
    is_inside = any(each.root in ("item", "index") for each in spoken)
    nodes: JsonObject = {}
    for root in sorted({each.root for each in spoken} - set(ROOTS)):
        fields = {*_object(pins[root]), *(str(each.steps[0]) for each in spoken if each.root == root and each.steps)}
        groups: JsonObject = {field: [f"${{inputs.{PINNED}.{root}.{field}?}}"] for field in sorted(fields)}
        nodes[root] = {"type": "merge", "groups": groups}
    variables = _object(pins.get("vars", {}))
    if variables:
        values: JsonObject = {each: f"${{inputs.{PINNED}.vars.{each}}}" for each in variables}
        nodes[_VARIABLES] = {"type": "set", "set": values}
    gives = {field: f"${{{node.name}.{field}?}}" for field in _gives(node)}
    begins = node.name
    if is_inside:
        body: JsonObject = {node.name: source}
        over: list[Json] = [f"${{inputs.{PINNED}.item}}"]
        nodes[PINNED] = {"type": "each", "over": over, "nodes": body, "output": dict(gives)}
        begins = PINNED
        gives = {field: f"${{{PINNED}.output[0].{field}}}" for field in gives}
    else:
        nodes[node.name] = source
    text: JsonObject = {
        **{key: value for key, value in whole.items() if key in ("actum", "name", "env", "limits", "imported")},
        "inputs": _schema(whole.get("inputs", {})),
        "vars": {**whole.get("vars", {}), **whole.get("conversation", {}), **dict.fromkeys(variables)},
        "nodes": nodes,
        "edges": [f"{each} > {begins}" for each in nodes if each != begins],
        "outputs": dict(gives),
    }
    made = read_definition(msgspec.json.encode(text), is_kept=True)
    path = f"{PINNED}[0]/{node.name}" if is_inside else node.name
    return OnlyNode(made, path, {**inputs, PINNED: pins})


def _found(definition: Definition, name: str) -> tuple[GraphNode, JsonObject]:
    """A node, and what the definition says of the node."""
    source: JsonObject = msgspec.json.decode(definition.text)
    graph, node = definition.graph, None
    for part in name.split("/"):
        if node is not None:
            graph = node.body or Graph({}, ())
        node = graph.nodes.get(part)
        if node is None:
            near = difflib.get_close_matches(part, graph.nodes, 1)
            hint = f": did you mean {near[0]}?" if near else f"; there are: {', '.join(graph.nodes)[:200]}"
            raise UnknownName(f"{definition.name} has no node {name!r}{hint if graph.nodes else ''}")
        source = _object(_object(source["nodes"])[part])
    assert node is not None
    return node, source


def _check(name: str, node: GraphNode, spoken: list[Named], pins: JsonObject, definition: Definition) -> None:
    """Raises what `only_node` raises of the node and the pins."""
    if node.type.name in ("break", "continue", "note"):
        raise UsageError("{name}: a node of the type {type} does nothing alone", name=name, type=node.type.name)
    if node.name in (PINNED, _VARIABLES):
        raise UsageError(
            "a node called {node} can not be carried out alone: give the node another name", node=node.name
        )
    if any(each.root == "error" for each in spoken):
        raise UsageError(
            "{name} reads `error`, which is only there behind a node that failed: run the whole workflow", name=name
        )
    known = {*_names(definition.graph), "item", "vars"}
    for root, given in pins.items():
        if root not in known:
            near = difflib.get_close_matches(root, known, 1)
            raise UnknownName(
                f"{definition.name} has no node {root!r} to pin{f': did you mean {near[0]}?' if near else ''}"
            )
        if root != "item" and not isinstance(given, dict):
            raise UsageError(
                '{root}: a pin is an object with what the node gives, such as {{"output": ...}}', root=root
            )
    for each in spoken:
        is_pinned = each.root not in ROOTS or each.root == "item"
        if is_pinned and (each.root not in pins or (not each.optional and _is_missing(each, pins[each.root]))):
            raise MissingPin(
                "{name} reads {path}: pin it, with --pin and a file that holds {example}",
                name=name,
                path=each.path,
                example=_example(each),
            )


def _is_missing(named: Named, given: Json) -> bool:
    return named.root != "item" and bool(named.steps) and named.steps[0] not in _object(given)


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _example(named: Named) -> str:
    if named.root == "item":
        return '{"item": ...}'
    field = named.steps[0] if named.steps else "output"
    return f'{{"{named.root}": {{"{field}": ...}}}}'


def _spoken_of(node: GraphNode) -> Iterator[Named]:
    """What the expressions of a node speak of, with those of the nodes inside."""
    for expression in node.expressions.values():
        yield from expression.named()
    for inner in node.body.nodes.values() if node.body is not None else ():
        yield from (each for each in _spoken_of(inner) if each.root not in _bound(inner))


def _bound(node: GraphNode) -> frozenset[str]:
    """What a container itself gives to the nodes inside."""
    if node.body is None:
        return frozenset()
    own = ("item", "index") if isinstance(node.settings, EachNode) else ("index",)
    return frozenset([*node.body.nodes, *own])


def _names(graph: Graph) -> Iterator[str]:
    for node in graph.nodes.values():
        yield node.name
        if node.body is not None:
            yield from _names(node.body)


def _gives(node: GraphNode) -> tuple[str, ...]:
    groups = getattr(node.settings, "groups", None)
    return tuple(groups) if isinstance(groups, dict) else node.type.gives


def _schema(inputs: JsonObject) -> JsonObject:
    """The schema of the inputs: the node needs few of them, and the pinned values are one more."""
    properties = _object(inputs.get("properties", {}))
    kept = {key: value for key, value in inputs.items() if key != "required"}
    return {"type": "object", **kept, "properties": {**properties, PINNED: {"type": "object"}}}
