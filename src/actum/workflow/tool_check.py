"""What is wrong with a definition by the tools and models that are there: those that are missing, arguments that a tool
does not take, and values of a type that does not fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..core.call import Problem
from ..core.definition import TextProblem
from ..core.json import JsonObject, kind_of
from ..core.language.sentence import Sentence
from ..core.tool import Tool
from ..protocols.source_text import Place
from ..schema.schema import compile_schema
from .definition.expression import Expression, Literal, ObjectOf, Reference
from .definition.graph import Graph, GraphNode
from .definition.settings import AgentNode, EachNode, KnowledgeNode, WorkflowNode
from .definition.tool_names import named_by, tool_names
from .definition.value_types import Kinds, ValueType, samples_of, type_of, type_of_node
from .load import CheckedText
from .node_call import DECLARE_KNOWLEDGE

Roots = dict[str, ValueType]


class WrongName(NamedTuple):
    """What is wrong with a name that nodes write.

    Attributes:
        message: what is wrong.
        hint: what to do.
    """

    message: Sentence
    hint: Sentence | str = ""


WrongNames = Mapping[tuple[str, str], WrongName]
"""By the field in which a node names something, and what is written there: `("tool", "times@9")`."""
NOTHING_WRONG: WrongNames = {}


class ToolProblem(NamedTuple):
    """What is wrong with a node.

    Attributes:
        message: what is wrong.
        where: where in the node that stands.
        hint: what to do.
    """

    message: Sentence
    where: Place
    hint: Sentence | str = ""


def check_tools(checked: CheckedText, tools: Sequence[Tool], wrong: WrongNames = NOTHING_WRONG) -> list[TextProblem]:
    """What is wrong with a definition by the tools and models that are there.

    Args:
        checked: the definition, with its text.
        tools: those that its nodes may call.
        wrong: the names that can not be used, beside those of missing tools.
    """
    known = {tool.name: tool for tool in tools}
    problems: list[TextProblem] = []
    for place, node, roots in typed_nodes(checked, known):
        for message, where, hint in _problems_of(node, roots, known, wrong):
            at = (*place, *where)
            problems.append(TextProblem(message, *checked.source.at(at), hint, ".".join(map(str, at))))
    return problems


def typed_nodes(checked: CheckedText, tools: Mapping[str, Tool]) -> Iterator[tuple[Place, GraphNode, Roots]]:
    """Each node that could be read, with its place in the text, and what is known of what its expressions speak of.

    Args:
        checked: the text.
        tools: those that nodes may call, by name.
    """
    if checked.graph is None:
        return
    env: JsonObject = {name: {"type": kind_of(value)} for name, value in checked.env.items()}
    types = {"inputs": ValueType.of(checked.inputs), "env": ValueType.of({"properties": env})}
    graphs: list[tuple[Place, Graph, Roots]] = [((), checked.graph, _known(types))]
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
        expression = node.expressions.get("over")  # none where what is written there can not be read
        over = type_of(expression, roots) if expression is not None else None
        item = over.at((0,)) if over is not None else None
        if item is not None:
            inner["item"] = item
    return inner


def _known(types: Mapping[str, ValueType | None]) -> Roots:
    return {name: known for name, known in types.items() if known is not None}


def _problems_of(node: GraphNode, roots: Roots, tools: Mapping[str, Tool], wrong: WrongNames) -> Iterator[ToolProblem]:
    if isinstance(node.settings, EachNode):
        yield from _problems_of_list(node, roots)
    named = named_by(node.settings)
    if named is not None and named in wrong:
        message, hint = wrong[named]
        yield ToolProblem(Sentence("{node}: {error_why}", node=node.name, error_why=message), (named[0],), hint)
        return
    for name in tool_names(node.settings):
        tool = tools.get(name)
        if tool is None:
            yield ToolProblem(_missing(node, name), (_field(node),), _instead(node, tools))
        else:
            if isinstance(node.settings, KnowledgeNode) and not tool.knowledge:
                yield ToolProblem(
                    Sentence("{node}: {tool} does not declare itself a source of knowledge", node=node.name, tool=name),
                    (_field(node),),
                    Sentence(DECLARE_KNOWLEDGE),
                )
            yield from _problems_of_arguments(node, tool, roots)


def _problems_of_list(node: GraphNode, roots: Roots) -> Iterator[ToolProblem]:
    over = node.expressions["over"]
    kinds = _kinds(over, roots)
    if kinds is not None and "array" not in kinds:
        yield ToolProblem(
            Sentence(
                "{node}: over is {kinds_detail}, and each goes through a list",
                node=node.name,
                kinds_detail=_told(kinds),
            ),
            ("over",),
        )


def _problems_of_arguments(node: GraphNode, tool: Tool, roots: Roots) -> Iterator[ToolProblem]:
    given = _arguments_of(node)
    if given is None:
        return
    properties = tool.property_schemas()
    for missing in tool.required():
        if missing not in given:
            yield ToolProblem(
                Sentence("{node}: {tool} needs {missing!r}", node=node.name, tool=tool.name, missing=missing),
                ("with",),
                Sentence("add {missing}", missing=missing),
            )
    for argument in [argument for argument in given if properties and argument not in properties]:
        hint = Sentence("it takes {names}", names=", ".join(properties))
        yield ToolProblem(
            Sentence("{node}: {tool} takes no {argument!r}", node=node.name, tool=tool.name, argument=argument),
            given.pop(argument)[1],
            hint,
        )
    constants = {name: each.constant for name, (each, _) in given.items() if isinstance(each, Literal)}
    if given and len(constants) == len(given):
        for problem in compile_schema(tool.parameters, where=tool.name, foreign=True).check(constants).problems:
            if problem.rule != "required":
                yield ToolProblem(_misfit(node, problem), ("with",))
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
    told = Sentence(
        "{node}: {argument} is {kinds_detail}, and {tool} takes another type",
        node=node.name,
        argument=argument,
        kinds_detail=_told(kinds),
        tool=tool.name,
    )
    if wanted is not None:
        told = Sentence(
            "{node}: {argument} is {kinds_detail}, and {tool} takes {wanted_detail}",
            **{**told.values, "wanted_detail": _told(wanted)},
        )
    yield ToolProblem(
        told,
        where,
        Sentence("name a part of {path}", path=expression.name.path)
        if isinstance(expression, Reference) and "object" in kinds
        else "",
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
    named = named_by(node.settings)
    assert named is not None
    return named[0]


def _missing(node: GraphNode, name: str) -> Sentence:
    """That there is no such thing as a node names."""
    settings = node.settings
    if isinstance(settings, WorkflowNode):
        return Sentence("{node}: there is no workflow {name!r}", node=node.name, name=settings.workflow)
    if isinstance(settings, AgentNode):
        return Sentence("{node}: there is no agent {name!r}", node=node.name, name=settings.agent)
    return Sentence("{node}: there is no tool {name!r}", node=node.name, name=name)


def _instead(node: GraphNode, tools: Mapping[str, Tool]) -> Sentence | str:
    """What to write in the place of a name that means nothing."""
    if isinstance(node.settings, AgentNode):
        return Sentence("write the name of a published agent: those of the settings are no part of a workflow")
    if isinstance(node.settings, WorkflowNode):
        return Sentence("write the name of a published workflow: those of the settings are no part of another workflow")
    return Sentence("there are: {names}", names=", ".join(sorted(tools))[:200]) if tools else ""


def _misfit(node: GraphNode, problem: Problem) -> Sentence:
    """That an argument does not fit the schema of the tool."""
    path, expected = problem.path or "arguments", problem.expected
    if not problem.received:
        return Sentence(
            "{node}: {path}: {rule}: expected {expected_detail}",
            node=node.name,
            path=path,
            rule=problem.rule,
            expected_detail=expected,
        )
    return Sentence(
        "{node}: {path}: {rule}: expected {expected_detail}, received {received}",
        node=node.name,
        path=path,
        rule=problem.rule,
        expected_detail=expected,
        received=problem.received,
    )
