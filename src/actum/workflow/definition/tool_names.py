"""Which tools and workflows the nodes of a definition name."""

from __future__ import annotations

from .graph import Definition, nodes_in
from .settings import AgentNode, KnowledgeNode, ToolNode, WorkflowNode


def tool_names(settings: object) -> tuple[str, ...]:
    """The tools that a node names."""
    match settings:
        case ToolNode(tool=name) | KnowledgeNode(tool=name) | AgentNode(agent=name):
            return (name,)
        case WorkflowNode(workflow=name):
            return (name.partition("@")[0],)
        case _:
            return ()


def workflow_names(definition: Definition) -> list[str]:
    """The workflows that the nodes of a definition name, as they are written: `name` or `name@3`."""
    nodes = nodes_in(definition.graph)
    names = (node.settings.workflow for node in nodes if isinstance(node.settings, WorkflowNode))
    return list(dict.fromkeys(names))
