"""Tools of LangChain here, and tools of here in LangChain.

    from actum.interop.langchain import from_tools, to_tools

    Agent("openai:gpt-5", tools=[from_tools([search, load])])
    create_agent(model, to_tools([refund, desk], principal="ann", policy=policy, journal="runs.db"))

Made for langchain-core 1.8. Arguments that only a graph of LangGraph injects can't be given here; `from_tools` refuses
such a tool.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Unpack

import pydantic
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool, ToolException
from langchain_core.tools import Tool as OneTextTool
from langchain_core.utils.pydantic import model_json_schema

from ..core.attachment import File
from ..core.call import MediaPart, Problem, TextPart, ToolCall, ToolResult
from ..core.errors import CallError, InvalidArguments, ToolError, UnknownTool, UsageError
from ..core.interfaces import Context
from ..core.json import JsonObject, dumps
from ..core.told_value import to_json
from ..core.tool import Tool
from ..runs.given_tools import Toolish
from ..toolsets.function.returned import result_of
from .framework_calls import CallOptions, FrameworkCalls

MEDIA = ("image", "audio", "video", "file")
"""The blocks of LangChain that hold media."""


# Theirs here ------------------------------------------------------------------------------------------------------


def from_tools(tools: Sequence[BaseTool]) -> LangChainToolset:
    """A toolset of tools of LangChain.

    Args:
        tools: what LangChain's `@tool` makes, and other objects of its `BaseTool`.

    Raises:
        UsageError: something is no tool of LangChain, or takes an argument that only LangGraph injects.
        BadTool: a name that no model could say, or a bad schema.
    """
    return LangChainToolset(tools)


class LangChainToolset:
    """Tools of LangChain as a toolset; see `from_tools`."""

    generation = 0

    def __init__(self, tools: Sequence[BaseTool]) -> None:
        self._tools: dict[str, BaseTool] = {}
        for tool in tools if isinstance(tools, list | tuple) else [tools]:
            if not isinstance(tool, BaseTool):
                raise UsageError("from_tools: {kind} is no tool of LangChain", kind=type(tool).__name__)
            if tool.name in self._tools:
                raise UsageError("from_tools: two tools are called {name!r}", name=tool.name)
            self._tools[tool.name] = tool
        self._definitions = tuple([_definition(tool) for tool in self._tools.values()])

    async def list_tools(self) -> Sequence[Tool]:
        return self._definitions

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Have LangChain make the call.

        Raises:
            ToolError: the tool says so by `ToolException`, or by a message whose status is `error`.
            InvalidArguments: the arguments fit the schema, and not the types of the tool.
        """
        tool = self._tools.get(call.name)
        if tool is None:
            raise UnknownTool("There is no tool called {call!r}.", call=call.name[:64])
        said = {"type": "tool_call", "name": tool.name, "args": dict(call.arguments), "id": call.id}
        try:
            answer = await tool.ainvoke(said)
        except ToolException as error:
            raise ToolError(str(error)) from error
        except pydantic.ValidationError as error:
            if error.title != getattr(tool.args_schema, "__name__", None):
                raise  # about something else than the arguments
            raise InvalidArguments([*_problems(error)]) from error
        if not isinstance(answer, ToolMessage):  # such as a command for a graph
            return result_of(call.id, answer)
        parts = tuple(_parts(answer))
        if answer.status == "error":
            raise ToolError("\n".join(part.text for part in parts if isinstance(part, TextPart)))
        attached = () if answer.artifact is None else (_attachment(tool.name, answer.artifact),)
        return ToolResult(call.id, (*parts, *attached))


def _definition(tool: BaseTool) -> Tool:
    if _takes_one_text(tool):
        parameters: JsonObject = {"type": "object", "properties": tool.args, "required": [*tool.args]}
    else:
        shown = tool.tool_call_schema
        parameters = dict(shown if isinstance(shown, dict) else model_json_schema(shown))
    for told_elsewhere in ("title", "description"):
        parameters.pop(told_elsewhere, None)
    injected = _injected(tool, parameters)
    if injected:
        raise UsageError(
            "from_tools: {name!r} takes {injected}, which only a graph of LangGraph gives: wrap it in a function of "
            "your own with @tool",
            name=tool.name,
            injected=", ".join(injected),
        )
    return Tool(name=tool.name, description=tool.description, parameters=parameters, answers=tool.return_direct)


def _takes_one_text(tool: BaseTool) -> bool:
    """Whether a tool has no schema and takes a text. What LangChain calls the schema of it is that of a function of its
    own.
    """
    return isinstance(tool, OneTextTool) and tool.args_schema is None


def _injected(tool: BaseTool, parameters: JsonObject) -> list[str]:
    """The arguments without which the tool can't be called and that a model is not told of."""
    if isinstance(tool.args_schema, dict) or _takes_one_text(tool):
        return []
    fields, told = getattr(tool.get_input_schema(), "model_fields", {}), parameters.get("properties")
    return [
        name
        for name, field in fields.items()
        if field.is_required()
        and not (isinstance(told, dict) and (name in told or field.alias in told))
        and not any(each is InjectedToolCallId or isinstance(each, InjectedToolCallId) for each in field.metadata)
    ]


def _problems(error: pydantic.ValidationError) -> Iterator[Problem]:
    for each in error.errors(include_url=False, include_input=False, include_context=False):
        yield Problem(".".join(map(str, each["loc"])), each["type"], each["msg"])


def _parts(message: ToolMessage) -> Iterator[TextPart | MediaPart]:
    for block in message.content_blocks:
        media, mime = block["type"] in MEDIA, block.get("mime_type", "application/octet-stream")
        if block["type"] == "text":
            yield TextPart(block["text"])
        elif media and "base64" in block:
            yield MediaPart(mime, base64.b64decode(block["base64"]))
        elif media and "url" in block:
            yield MediaPart(mime, url=block["url"])
        else:
            yield TextPart(dumps(to_json(block)))


def _attachment(name: str, artifact: object) -> MediaPart:
    """What a tool returned beside what the model reads, as a file."""
    match artifact:
        case MediaPart():
            return artifact
        case File():
            return artifact.part()
        case bytes() | bytearray():
            return MediaPart("application/octet-stream", bytes(artifact), name=name)
        case str():
            return MediaPart("text/plain", artifact.encode("utf-8", "replace"), name=f"{name}.txt")
        case _:
            return MediaPart("application/json", dumps(to_json(artifact)).encode(), name=f"{name}.json")


# Ours there -------------------------------------------------------------------------------------------------------


def to_tools(tools: Toolish | Sequence[Toolish], **options: Unpack[CallOptions]) -> list[StructuredTool]:
    """Tools of LangChain whose calls take the call path of actum, each as a run of its own on record.

    A call that is denied, fails or waits for a person raises LangChain's `ToolException`, which names the run, and the
    question that waits. When `actum approve` has answered the question, or the program itself, an `Agent` with the same
    tools and journal makes the call by `resume`.

    Args:
        tools: an agent, a toolset or a function, or a list as for `Agent(tools=...)`.
        options: the user (`principal`, `tenant`, `roles`), and as for `Agent`: `journal`, `policy`, `secrets`.

    Raises:
        UsageError, BadTool: the tools can not be used; the message says why.
    """
    calls = FrameworkCalls(tools, **options)
    return [_tool_there(tool, calls) for tool in calls.list_tools()]


class _CallPathTool(StructuredTool):  # type: ignore[misc]  # LangChain is not there where types are checked
    """Gives its functions the arguments as one mapping: LangChain has a meaning of its own for a parameter `config`."""

    def _run(self, /, **arguments: object) -> object:
        return self.func(arguments)

    async def _arun(self, /, **arguments: object) -> object:
        return await self.coroutine(arguments)


def _tool_there(tool: Tool, calls: FrameworkCalls) -> StructuredTool:
    def call(arguments: JsonObject) -> tuple[object, ToolResult]:
        try:
            return _answer(calls.call_and_wait(tool.name, arguments))
        except CallError as error:
            raise ToolException(error.message) from None

    async def acall(arguments: JsonObject) -> tuple[object, ToolResult]:
        try:
            return _answer(await calls.call(tool.name, arguments))
        except CallError as error:
            raise ToolException(error.message) from None

    return _CallPathTool(
        name=tool.name,
        description=tool.description,
        args_schema=dict(tool.parameters),
        func=call,
        coroutine=acall,
        response_format="content_and_artifact",
        return_direct=tool.answers,
    )


def _answer(result: ToolResult) -> tuple[object, ToolResult]:
    """What LangChain's model reads, and the artifact."""
    return ([_block(part) for part in result.content] if result.media else result.text), result


def _block(part: TextPart | MediaPart) -> Mapping[str, str]:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    kind = part.media_type.partition("/")[0]
    where = {"url": part.url} if part.url else {"base64": base64.b64encode(part.data).decode()}
    return {"type": kind if kind in MEDIA else "file", "mime_type": part.media_type, **where}
