"""What is wrong with a definition by the tools that are there: tools that are missing, arguments that they do not take,
and values of a type that does not fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..core.definition import TextProblem
from ..core.errors import tell_problem
from ..core.json import JsonObject, kind_of
from ..core.tool import Tool
from ..protocols.source_text import Place
from ..schema.schema import compile_schema
from .definition.expression import Expression, Literal, ObjectOf, Reference
from .definition.graph import Definition, Graph, GraphNode
from .definition.settings import AgentNode, EachNode, KnowledgeNode, WorkflowNode
from .definition.tool_names import tool_names
from .definition.value_types import Kinds, ValueType, samples_of, type_of, type_of_node
from .load import CheckedText
from .node_call import DECLARE_KNOWLEDGE, NO_KNOWLEDGE

Roots = dict[str, ValueType]


class ToolProblem(NamedTuple):
    """What is wrong with a node.

    Attributes:
        message: what is wrong.
        where: where in the node that stands.
        hint: what to do.
    """

    message: str
    where: Place
    hint: str = ""


def check_tools(checked: CheckedText, tools: Sequence[Tool]) -> list[TextProblem]:
    """What is wrong with a definition by the tools that are there.

    Args:
        checked: the definition, with its text.
        tools: those that its nodes may call.
    """
    assert checked.definition is not None
    known = {tool.name: tool for tool in tools}
    problems: list[TextProblem] = []
    for place, node, roots in _nodes_of(checked.definition, known):
        for message, where, hint in _problems_of(node, roots, known):
            problems.append(TextProblem(message, *checked.source.at((*place, *where)), hint, ".".join(map(str, place))))
    return problems


def _nodes_of(definition: Definition, tools: Mapping[str, Tool]) -> Iterator[tuple[Place, GraphNode, Roots]]:
    """Each node with its place in the text, and what is known of what its expressions speak of."""
    env: JsonObject = {name: {"type": kind_of(value)} for name, value in definition.env.items()}
    types = {"inputs": ValueType.of(definition.inputs), "env": ValueType.of({"properties": env})}
    graphs: list[tuple[Place, Graph, Roots]] = [((), definition.graph, _known(types))]
    for place, graph, outer in graphs:
        roots = {name: known for name, known in outer.items() if name not in graph.nodes}
        for name in graph.ranks:
            known = type_of_node(graph.nodes[name], roots, tools)
            if known is not None:
                roots[name] = known
        for name, node in graph.nodes.items():
            at = (*place, "nodes", name)
            yield at, node, roots
            if node.body is not None:
                graphs.append((at, node.body, _inside(node, roots)))


def _inside(node: GraphNode, roots: Roots) -> Roots:
    """What is known inside of a container."""
    inner = {**roots, "index": ValueType({"type": "integer"}, {})}
    if isinstance(node.settings, EachNode):
        inner.pop("item", None)
        over = type_of(node.expressions["over"], roots)
        item = over.at((0,)) if over is not None else None
        if item is not None:
            inner["item"] = item
    return inner


def _known(types: Mapping[str, ValueType | None]) -> Roots:
    return {name: known for name, known in types.items() if known is not None}


def _problems_of(node: GraphNode, roots: Roots, tools: Mapping[str, Tool]) -> Iterator[ToolProblem]:
    if isinstance(node.settings, EachNode):
        yield from _problems_of_list(node, roots)
    for name in tool_names(node.settings):
        tool = tools.get(name)
        if tool is None:
            known = f"there are: {', '.join(sorted(tools))[:200]}"
            yield ToolProblem(f"{node.name}: there is no {_said(node, name)}", (_field(node),), known)
        else:
            if isinstance(node.settings, KnowledgeNode) and not tool.knowledge:
                yield ToolProblem(f"{node.name}: {NO_KNOWLEDGE.format(name)}", (_field(node),), DECLARE_KNOWLEDGE)
            yield from _problems_of_arguments(node, tool, roots)


def _problems_of_list(node: GraphNode, roots: Roots) -> Iterator[ToolProblem]:
    over = node.expressions["over"]
    kinds = _kinds(over, roots)
    if kinds is not None and "array" not in kinds:
        yield ToolProblem(f"{node.name}: over is {_told(kinds)}, and each goes through a list", ("over",))


def _problems_of_arguments(node: GraphNode, tool: Tool, roots: Roots) -> Iterator[ToolProblem]:
    given = _arguments_of(node)
    if given is None:
        return
    properties = tool.property_schemas()
    for missing in tool.required():
        if missing not in given:
            yield ToolProblem(f"{node.name}: {tool.name} needs {missing!r}", ("with",), f"add {missing}")
    for argument in [argument for argument in given if properties and argument not in properties]:
        hint = f"it takes {', '.join(properties)}"
        yield ToolProblem(f"{node.name}: {tool.name} takes no {argument!r}", given.pop(argument)[1], hint)
    constants = {name: each.constant for name, (each, _) in given.items() if isinstance(each, Literal)}
    if given and len(constants) == len(given):
        for problem in compile_schema(tool.parameters, where=tool.name, foreign=True).check(constants).problems:
            if problem.rule != "required":
                yield ToolProblem(f"{node.name}: {tell_problem(problem)}", ("with",))
        return
    for argument, (expression, where) in given.items():
        yield from _clashes(node, tool, argument, expression, where, roots)


def _arguments_of(node: GraphNode) -> dict[str, tuple[Expression, Place]] | None:
    """The arguments of a node's call, each with the place in the node where it stands; None where only a run knows."""
    match node.expressions.get("with"):
        case Literal(constant=dict() as constants):
            fields: Mapping[str, Expression] = {name: Literal(value) for name, value in constants.items()}
        case ObjectOf(fields=expressions):
            fields = expressions
        case _:
            return None
    given: dict[str, tuple[Expression, Place]] = {name: (each, ("with", name)) for name, each in fields.items()}
    if isinstance(node.settings, KnowledgeNode):
        given = {"query": (node.expressions["query"], ("query",)), **given}
    return given


def _clashes(
    node: GraphNode, tool: Tool, argument: str, expression: Expression, where: Place, roots: Roots
) -> Iterator[ToolProblem]:
    """Whether no value of the type that an argument is given can be what the tool takes."""
    schema, kinds = tool.property_schemas().get(argument), _kinds(expression, roots)
    if schema is None or kinds is None:
        return
    rest = {key: value for key, value in tool.parameters.items() if key not in ("properties", "required")}
    alone = compile_schema({**rest, "properties": {argument: schema}}, where=tool.name, foreign=True)
    for sample in samples_of(kinds):
        if not any(problem.rule in ("type", "anyOf", "oneOf") for problem in alone.check({argument: sample}).problems):
            return
    wanted = ValueType(schema, tool.parameters).kinds
    takes = f"takes {_told(wanted)}" if wanted is not None else "takes another type"
    yield ToolProblem(
        f"{node.name}: {argument} is {_told(kinds)}, and {tool.name} {takes}",
        where,
        f"name a part of {expression.name.path}" if isinstance(expression, Reference) and "object" in kinds else "",
    )


def _kinds(expression: Expression, roots: Roots) -> Kinds | None:
    """The types that an expression may have, but for `null`; None where that is not known."""
    known = type_of(expression, roots)
    kinds = known.kinds if known is not None else None
    return (kinds - {"null"}) or None if kinds is not None else None


def _told(kinds: Kinds) -> str:
    return " or ".join(f"{'an' if kind[0] in 'aio' else 'a'} {kind}" for kind in sorted(kinds))


def _field(node: GraphNode) -> str:
    """The field in which a node names its tool."""
    match node.settings:
        case WorkflowNode():
            return "workflow"
        case AgentNode():
            return "agent"
        case _:
            return "tool"


def _said(node: GraphNode, name: str) -> str:
    """What a node names, in the words of an error."""
    settings = node.settings
    return f"workflow {settings.workflow!r}" if isinstance(settings, WorkflowNode) else f"tool {name!r}"
