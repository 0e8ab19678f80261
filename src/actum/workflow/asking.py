"""What the nodes `model`, `classify` and `extract` ask a model, and what they make of its answer. Pure, but for `ask`.

`classify` and `extract` force one call of a tool that is no tool: its schema is the answer's. An answer that does not
fit is told to the model once, and asked for again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import cast

import msgspec
from msgspec import Struct

from ..core.call import MediaPart, Problem, TextPart, ToolResult
from ..core.errors import InvalidArguments
from ..core.json import Json, JsonObject, JsonProblem, parse
from ..core.message import Message, Reply, SystemMessage, ToolMessage, UserMessage
from ..core.model import Request
from ..core.model_settings import ModelSettings
from ..core.tool import NamedTool, Tool
from ..schema.schema import Schema, compile_schema
from .definition.functions import told
from .definition.graph import GraphNode
from .definition.settings import ClassifyNode, ExtractNode, ModelNode, PromptMessage
from .pure import NodeFailed

FORM = "answer"
"""The name of the tool that is no tool."""

TRIES_MAX = 2
"""How often a model that says nothing is asked."""
PAUSES_MAX = 10
"""How often an endpoint may pause in the middle of an answer."""
_CLASSIFY = "Choose the class that the text belongs to. Answer by one call of `answer`."
_EXTRACT = "Read the values out of the text. Leave out what the text does not say. Answer by one call of `answer`."


class NodeAnswer(Struct, frozen=True):
    """What a model answered.

    Attributes:
        value: what the node gives.
        port: where the workflow goes on.
        missing: required values that the text does not hold, for `extract`.
    """

    value: JsonObject
    port: str = ""
    missing: tuple[str, ...] = ()


Ask = Callable[[Request], Awaitable[Reply]]


def inputs_of(node: GraphNode, given: JsonObject) -> JsonObject:
    """The inputs on record of a node that asks a model.

    Args:
        given: the values of its expressions.
    """
    settings = node.settings
    assert isinstance(settings, ModelNode | ClassifyNode | ExtractNode)
    return {"model": settings.model, **given}


async def answer(
    node: GraphNode, given: JsonObject, media: Sequence[MediaPart], ask: Ask, earlier: Sequence[Message] = ()
) -> NodeAnswer:
    """Have a model answer.

    Args:
        node: the node.
        given: the values of its expressions.
        media: the files that the model is shown.
        ask: asks the model.
        earlier: turns of the conversation that a `model` node is told.

    Raises:
        NodeFailed: the answer does not fit.
        ModelError: there is no answer.
    """
    match node.settings:
        case ModelNode() as settings:
            return await _plain(settings, given, media, ask, earlier)
        case ClassifyNode() as settings:
            schema: JsonObject = {
                "type": "object",
                "properties": {"class": {"type": "string", "enum": cast("list[Json]", list(settings.classes))}},
                "required": ["class"],
                "additionalProperties": False,
            }
            classes = "\n".join(f"- {name}: {text}" if text else f"- {name}" for name, text in settings.classes.items())
            found = await _filled(f"{_CLASSIFY}\nThe classes:\n{classes}", given, schema, (), ask)
            chosen = str(found["class"])
            return NodeAnswer({"output": chosen}, chosen)
        case ExtractNode() as settings:
            required = tuple(str(name) for name in cast("list[Json]", settings.schema.get("required", [])))
            found = await _filled(_EXTRACT, given, settings.schema, required, ask)
            missing = tuple(name for name in required if found.get(name) is None)
            if missing and not settings.ask:
                raise NodeFailed("missing", f"the text does not say: {', '.join(missing)}")
            return NodeAnswer(
                {"output": {name: value for name, value in found.items() if name not in missing}}, "", missing
            )
        case other:
            raise AssertionError(type(other))


async def _plain(
    settings: ModelNode, given: JsonObject, media: Sequence[MediaPart], ask: Ask, earlier: Sequence[Message]
) -> NodeAnswer:
    messages: list[Message] = []
    if given["system"]:
        messages.append(SystemMessage(told(given["system"])))
    try:
        messages_given = msgspec.convert(given["messages"] or [], list[PromptMessage])
    except msgspec.ValidationError as error:
        raise NodeFailed("no_value", f"messages: {error}") from None
    for said in messages_given:
        text = told(said.text)
        if said.role == "system":
            messages.append(SystemMessage(text))
        else:
            messages.append(Reply.of(text) if said.role == "assistant" else UserMessage.of(text))
    leading = next((at for at, each in enumerate(messages) if not isinstance(each, SystemMessage)), len(messages))
    messages[leading:leading] = earlier
    if given["prompt"] or len(messages) == len(earlier) or media:
        messages.append(UserMessage((TextPart(told(given["prompt"] or "")), *media)))
    request = Request(messages=messages, output_schema=settings.output_schema)
    request = msgspec.convert(settings.settings, ModelSettings).fill(request) if settings.settings else request
    reply = await _said(request, ask)
    if settings.output_schema is None:
        return NodeAnswer({"output": reply.text, "text": reply.text})
    form = compile_schema(settings.output_schema, where="output_schema", foreign=True)
    value, problem = _read(reply.text, form)
    if problem:
        words = f"Your answer could not be used: {problem}. Answer again with nothing but the corrected JSON."
        again = msgspec.structs.replace(request, messages=[*messages, reply, UserMessage.of(words)])
        reply = await _said(again, ask)
        value, problem = _read(reply.text, form)
    if problem:
        raise NodeFailed("invalid_output", f"the answer does not fit: {problem}")
    return NodeAnswer({"output": value, "text": reply.text, "value": value})


async def _said(request: Request, ask: Ask) -> Reply:
    """What a model says. One that says nothing is asked once more, as is one that only calls tools, since it was given
    none. One that pauses goes on.

    Raises:
        NodeFailed: the model said nothing twice, or paused too often.
    """
    paused: tuple[Reply, ...] = ()
    tries = 0
    while tries < TRIES_MAX and len(paused) < PAUSES_MAX:
        reply = await ask(msgspec.structs.replace(request, messages=[*request.messages, *paused]))
        if reply.is_paused:
            paused = (*paused, reply)
        elif reply.cut_off or not (reply.says_nothing or (reply.calls and not reply.text.strip())):
            content = [part for each in (*paused, reply) for part in each.content]
            return msgspec.structs.replace(reply, content=tuple(content)) if paused else reply
        else:
            tries += 1
    raise NodeFailed("no_reply", "the model gave no answer, and none when it was asked again")


def _read(text: str, form: Schema) -> tuple[Json, str]:
    """The value of an answer in JSON, and what is wrong with it."""
    body = text.strip()
    if body.startswith("```"):
        body = body.strip("`").removeprefix("json").strip()
    try:
        value = parse(body)[0]
    except JsonProblem as problem:
        return None, str(problem)
    problems = form.check(value).problems if isinstance(value, dict) else form.problems(value)
    return value, told_of(problems, "the answer")


def told_of(problems: Sequence[Problem], whole: str) -> str:
    """What is wrong with a value, in a line; empty where nothing is.

    Args:
        problems: what a schema found.
        whole: what the value is called.
    """
    return "; ".join(f"{each.path or whole}: expected {each.expected}" for each in problems[:8])


async def _filled(task: str, given: JsonObject, schema: JsonObject, may_miss: Sequence[str], ask: Ask) -> JsonObject:
    """The form that a model filled in: what does not fit is told to the model once.

    Args:
        may_miss: required values that may be left out.
    """
    instructions = "\n".join(filter(None, (task, told(given["instructions"] or ""))))
    messages: list[Message] = [SystemMessage(instructions), UserMessage.of(told(given["text"]))]
    shown = {**schema, "required": [name for name in _required(schema) if name not in may_miss]}
    tool = Tool(name=FORM, description="Give the answer.", parameters=shown, effects=frozenset())
    form = compile_schema(shown, where="the answer", foreign=True)
    problem = ""
    for _ in range(2):
        reply = await ask(Request(messages=messages, tools=(tool,), tool_choice=NamedTool(FORM), parallel_calls=False))
        call = reply.calls[0] if reply.calls else None
        if call is None or not call.complete:
            found, wrong = _read(reply.text, form)
            if not wrong and isinstance(found, dict):
                return found
            problem = "there was no call of `answer`"
            messages += [reply, UserMessage.of("Answer by one call of `answer`.")] if call is None else []
            continue
        checked = form.check(call.arguments)
        if not checked.problems:
            return checked.arguments
        problem = "; ".join(f"{each.path}: expected {each.expected}" for each in checked.problems[:8])
        refused = ToolResult(call.id, error=InvalidArguments(checked.problems).failure())
        messages += [reply, ToolMessage(FORM, refused)]
    raise NodeFailed("invalid_output", f"the answer does not fit: {problem}")


def _required(schema: JsonObject) -> list[Json]:
    required = schema.get("required", [])
    return required if isinstance(required, list) else []


def form_of(node: GraphNode, missing: Sequence[str]) -> JsonObject:
    """The form by which a person is asked for what an `extract` node misses."""
    settings = node.settings
    assert isinstance(settings, ExtractNode)
    properties = settings.schema.get("properties", {})
    assert isinstance(properties, dict)
    wanted: JsonObject = {name: properties.get(name, {}) for name in missing}
    return {"type": "object", "properties": wanted, "required": cast("list[Json]", list(missing))}
