"""The graph of a workflow, as values that are made once: nodes, edges, and the expressions of each node, compiled.

Knows nothing of text (`load.py`) and nothing of a running workflow (`flow.py`).
"""

from __future__ import annotations

import heapq
from functools import cached_property

from msgspec import Struct

from ...core.json import JsonObject
from .expression import Expression
from .nodes import NodeType
from .settings import AnySettings, RetryRule, WorkflowLimits


class Edge(Struct, frozen=True):
    """From a port of a node to another node."""

    source: str
    port: str
    target: str

    def __str__(self) -> str:
        return f"{self.source}{'' if self.port == 'out' else '.' + self.port} > {self.target}"


class GraphNode(Struct, frozen=True, dict=True):
    """A node of a graph.

    Attributes:
        name: what the definition calls the node.
        type: its type.
        settings: what the definition says of the node.
        expressions: its compiled expressions, by the field in which they stand.
        ports: at which ports the workflow may go on behind the node.
        body: the nodes inside of a container.
    """

    name: str
    type: NodeType
    settings: AnySettings
    expressions: dict[str, Expression]
    ports: tuple[str, ...]
    body: Graph | None = None

    @cached_property
    def reads_variables(self) -> bool:
        """Whether an expression of the node speaks of variables."""
        return any(named.root == "vars" for each in self.expressions.values() for named in each.named())

    @property
    def retry(self) -> RetryRule | None:
        """How often the node is tried again."""
        return getattr(self.settings, "retry", None)


class Graph(Struct, frozen=True, dict=True):
    """Nodes and the edges between them.

    Attributes:
        nodes: by name, in the order of the definition.
        edges: all of them.
    """

    nodes: dict[str, GraphNode]
    edges: tuple[Edge, ...]

    @cached_property
    def behind(self) -> dict[str, tuple[Edge, ...]]:
        """The edges that begin at a node."""
        behind: dict[str, list[Edge]] = {name: [] for name in self.nodes}
        for edge in self.edges:
            behind[edge.source].append(edge)
        return {name: tuple(edges) for name, edges in behind.items()}

    @cached_property
    def incoming(self) -> dict[str, int]:
        """How many edges end at each node."""
        incoming = dict.fromkeys(self.nodes, 0)
        for edge in self.edges:
            incoming[edge.target] += 1
        return incoming

    @cached_property
    def entries(self) -> tuple[GraphNode, ...]:
        """The nodes at which no edge ends: they are due at once."""
        return tuple(node for node in self.nodes.values() if not self.incoming[node.name])

    @cached_property
    def ranks(self) -> dict[str, int]:
        """The place of each node in an order in which every edge leads forward."""
        left = dict(self.incoming)
        ready = [node.name for node in self.entries]
        for name in ready:
            for edge in self.behind[name]:
                left[edge.target] -= 1
                if not left[edge.target]:
                    ready.append(edge.target)
        return {name: rank for rank, name in enumerate(ready)}

    @cached_property
    def speakers(self) -> tuple[GraphNode, ...]:
        """The `say` nodes and the containers that hold one, in the order in which they speak: edges lead forward, and
        of nodes that are no further apart the one that stands first in the definition.
        """
        names, left, found = list(self.nodes), dict(self.incoming), list[GraphNode]()
        places = {name: place for place, name in enumerate(names)}
        ready = [places[node.name] for node in self.entries]
        while ready:
            node = self.nodes[names[heapq.heappop(ready)]]
            if node.type.name == "say" or (node.body is not None and node.body.speakers):
                found.append(node)
            for edge in self.behind[node.name]:
                left[edge.target] -= 1
                if not left[edge.target]:
                    heapq.heappush(ready, places[edge.target])
        return tuple(found)


class Definition(Struct, frozen=True, dict=True):
    """A workflow, ready to be run.

    Attributes:
        name: what it is called.
        description: what it is good for.
        inputs: JSON Schema of what it is given.
        env: constants of the definition, `env` in expressions.
        vars: the variables with which a run begins.
        limits: what a run may use.
        graph: the nodes.
        outputs: what the workflow gives, by name.
        text: the definition as JSON, without `view`; a run keeps it under `digest`.
        digest: SHA-256 of `text`.
        conversation: the variables of the conversation, with the values with which they begin.
        imported: from which format a program made the definition; empty where a person wrote the definition.
    """

    name: str
    description: str
    inputs: JsonObject
    env: JsonObject
    vars: JsonObject
    limits: WorkflowLimits
    graph: Graph
    outputs: dict[str, Expression]
    text: bytes
    digest: str
    imported: str = ""
    conversation: JsonObject = {}


def nodes_in(graph: Graph) -> list[GraphNode]:
    """All nodes of a graph and of the containers in it."""
    found: list[GraphNode] = []
    graphs = [graph]
    for each in graphs:
        found += each.nodes.values()
        graphs += [node.body for node in each.nodes.values() if node.body is not None]
    return found


def is_foreign(definition: Definition, version: int) -> bool:
    """Whether the literals of a definition are a stranger's: a program imported the definition, and no person has
    published it.

    Args:
        definition: the workflow.
        version: the number under which the definition was published; 0 where it was not.
    """
    return bool(definition.imported) and not version
