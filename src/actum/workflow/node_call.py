"""The one call that a node makes: which call that is, where its arguments came from, and what the node gives then."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec import UNSET

from ..call.resolve import ResolvedTool
from ..core.call import MediaPart, ToolCall, ToolResult
from ..core.json import Json, JsonObject, JsonProblem, dumps, parse
from ..core.run.node_records import NodeError
from ..policy.lineage import DEVELOPER, Built, KnownOrigins, Lineage, OfTool
from ..policy.origins import Lookup
from ..protocols.bound_text.part import NoPlace
from ..schema.schema import compile_schema
from .asking import told_of
from .definition.flow import Due, NodeOutcome
from .definition.settings import AgentNode, CodeNode, HttpNode, KnowledgeNode, ToolNode, WorkflowNode
from .definition.tool_names import plain_name
from .pure import NodeFailed, failed
from .request import arguments_of, request_of
from .tools import CODE_TOOL, HTTP_READ_TOOL, HTTP_SEND_TOOL, READING, placeholders

NO_KNOWLEDGE = "{} does not declare itself a source of knowledge"
DECLARE_KNOWLEDGE = "declare it by @tool(knowledge=True) or knowledge = true in the settings, or use a tool node"
_HELD = "a value of an http node names a secret that the definition does not name there"
_NOT_PUBLISHED = "an imported workflow gets no secret before a person has published the workflow"


def asked_for(
    due: Due, parameters_of: Callable[[str], JsonObject], *, is_foreign: bool, spliced: bool = False
) -> tuple[JsonObject, ToolCall | None]:
    """What a node is given, and the call that it makes.

    Args:
        due: the node.
        parameters_of: the schema of the arguments of a tool, by the name of the tool.
        is_foreign: whether the literals of the definition are a stranger's.
        spliced: put texts together without regard to their grammar. Runs that older versions began have such calls on
            record; no call is begun so.

    Raises:
        NoValue: an expression has no value.
        NodeFailed: the values do not fit the node.
    """
    settings = due.node.settings
    given = _values(due, parameters_of, spliced=spliced)
    match settings:
        case ToolNode(tool=name):
            return given, ToolCall(due.path, plain_name(name), object_in(given["with"], "with"))
        case AgentNode(agent=name):
            task = given["task"]
            return given, ToolCall(due.path, plain_name(name), {"task": task if isinstance(task, str) else dumps(task)})
        case WorkflowNode(workflow=name):
            return given, ToolCall(due.path, plain_name(name), object_in(given["with"], "with"))
        case KnowledgeNode(tool=name):
            return given, ToolCall(
                due.path, plain_name(name), {"query": given["query"], **object_in(given["with"], "with")}
            )
        case CodeNode():
            inputs = object_in(given["with"], "with")
            said: JsonObject = {"language": settings.language, "code": settings.code, "inputs": inputs}
            return given, ToolCall(due.path, CODE_TOOL, said)
        case HttpNode():
            if is_foreign and placeholders(given):
                raise NodeFailed("secret", _NOT_PUBLISHED)
            if placeholders(given) != placeholders([settings.url, settings.query, settings.headers, settings.body]):
                raise NodeFailed("secret", _HELD)
            name = HTTP_READ_TOOL if settings.method in READING else HTTP_SEND_TOOL
            sent = {name: value for name, value in given.items() if value not in (None, {}, "")}
            return given, ToolCall(due.path, name, {"method": settings.method, **sent})
        case _:
            return given, None


def _values(due: Due, parameters_of: Callable[[str], JsonObject], *, spliced: bool) -> JsonObject:
    """The values of a node, each bound to its place where it is part of a text with a grammar.

    Raises:
        NoValue: an expression has no value.
        NodeFailed: a value is not allowed at its place.
    """
    expressions, scope = due.node.expressions, due.scope
    try:
        match due.node.settings:
            case HttpNode() if not spliced:
                return request_of(expressions, scope)
            case ToolNode(tool=name) if not spliced:
                return {"with": arguments_of(expressions["with"], scope, parameters_of(plain_name(name)))}
            case _:
                return {name: each.value(scope) for name, each in expressions.items()}
    except NoPlace as problem:
        raise NodeFailed("no_place", str(problem)) from None


def check_knowledge(due: Due, bound: ResolvedTool | None) -> None:
    """Check that what a knowledge node asks is a source of knowledge.

    Args:
        due: the node.
        bound: the tool that the node calls; None where there is none, which the call path tells.

    Raises:
        NodeFailed: the tool does not declare itself one.
    """
    if isinstance(due.node.settings, KnowledgeNode) and bound is not None and not bound.tool.knowledge:
        raise NodeFailed("no_knowledge", f"{NO_KNOWLEDGE.format(bound.tool.name)}: {DECLARE_KNOWLEDGE}")


def origins_of_call(due: Due, name: str, given: JsonObject, look_up: Lookup, *, is_foreign: bool) -> KnownOrigins:
    """What tells the origins of the arguments of a node's call.

    Args:
        due: the node.
        name: the tool that is called.
        given: the arguments as the node gave them.
        look_up: looks origins up in what was said.
        is_foreign: whether the literals of the definition are a stranger's.
    """
    of_call = partial(_lineage_of, due, name)
    if due.node.reads_variables:
        now = of_call()  # another node may change a variable while this call waits
        return KnownOrigins(given, lambda: now, look_up, is_foreign=is_foreign)
    return KnownOrigins(given, of_call, look_up, is_foreign=is_foreign)


def outcome_of_call(due: Due, call: ToolCall, result: ToolResult, trusted: tuple[str, ...]) -> NodeOutcome:
    """What a call came to, as the value of its node.

    Args:
        due: the node.
        call: the call.
        result: what the call came to.
        trusted: the fields of the tool's results that nobody else could have written.
    """
    if result.error is not None:
        return NodeOutcome(error=NodeError(result.error.code, result.error.message, due.path))
    text, settings = result.text, due.node.settings
    output: Json = text if result.structured is UNSET else result.structured
    if isinstance(output, str) and isinstance(settings, WorkflowNode):
        output = parsed(output)
    if isinstance(settings, CodeNode) and settings.outputs is not None:
        form = compile_schema(settings.outputs, where=f"{due.path}.outputs", blanks=True)
        problem = told_of(form.problems(output), "the output")
        if problem:
            return failed(due, "invalid_output", f"the output of the code does not fit: {problem}")
    handles: list[Json] = [part.handle for part in result.content if isinstance(part, MediaPart) and part.handle]
    trusted = () if result.given else trusted
    of_text = OfTool(call.name, ("",) if "" in trusted else ())
    lineage = Built({"output": OfTool(call.name, trusted)}, of_text)
    return NodeOutcome(value={"output": output, "text": text, "files": handles}, lineage=lineage)


def _lineage_of(due: Due, name: str) -> Lineage:
    """Where the arguments of a node's call came from."""
    lineages = {field: each.lineage(due.scope) for field, each in due.node.expressions.items()}
    if name == CODE_TOOL:
        return Built({"inputs": lineages["with"]}, DEVELOPER)
    if "with" not in lineages:
        return Built(dict(lineages.items()), DEVELOPER)
    lineage = lineages["with"]
    if "query" in lineages:
        own = lineage.parts if isinstance(lineage, Built) else {}
        return Built({"query": lineages["query"], **own}, lineage)
    return lineage


def object_in(value: Json, name: str) -> JsonObject:
    """A value that has to be an object.

    Raises:
        NodeFailed: the value is none; the message says which value.
    """
    if not isinstance(value, dict):
        raise NodeFailed("no_value", f"{name} is no object")
    return value


def parsed(text: str) -> Json:
    """The value of a text that is JSON, else the text."""
    try:
        return parse(text)[0]
    except JsonProblem:
        return text
