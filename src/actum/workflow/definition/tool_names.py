"""Which tools, agents, workflows and models the nodes of a definition name."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from .graph import Definition, Graph, GraphNode, nodes_in
from .settings import AgentNode, ClassifyNode, ExtractNode, KnowledgeNode, ModelNode, ToolNode, WorkflowNode


def plain_name(written: str) -> str:
    """A name without the number of a publication.

    >>> plain_name("price@3")
    'price'
    """
    return written.partition("@")[0]


def named_by(settings: object) -> tuple[str, str] | None:
    """The field in which a node names what it calls or asks, and what is written there; None where it names nothing."""
    match settings:
        case ToolNode(tool=name) | KnowledgeNode(tool=name):
            return "tool", name
        case AgentNode(agent=name):
            return "agent", name
        case WorkflowNode(workflow=name):
            return "workflow", name
        case ModelNode(model=name) | ClassifyNode(model=name) | ExtractNode(model=name):
            return MODEL, name
        case _:
            return None


MODEL = "model"


def tool_names(settings: object) -> tuple[str, ...]:
    """The tools that a node names, without the numbers of publications."""
    named = named_by(settings)
    return () if named is None or named[0] == MODEL else (plain_name(named[1]),)


def workflow_names(definition: Definition) -> list[str]:
    """The workflows that the nodes of a definition name, as they are written: `name` or `name@3`."""
    return _named(nodes_in(definition.graph), ("workflow",))


def called_names(definition: Definition) -> list[str]:
    """The tools and agents that the nodes of a definition name, as they are written: `name` or `name@3`. Its workflows
    are not among them.
    """
    return _named(nodes_in(definition.graph), ("tool", "agent"))


def model_names(graph: Graph) -> list[str]:
    """The models that the nodes of a graph name."""
    return _named(nodes_in(graph), (MODEL,))


def _named(nodes: Iterable[GraphNode], fields: Collection[str]) -> list[str]:
    found = (named_by(node.settings) for node in nodes)
    return list(dict.fromkeys(named[1] for named in found if named is not None and named[0] in fields))
