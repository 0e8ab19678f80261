"""Tools of LlamaIndex here, and tools of here in LlamaIndex.

    from actum.interop.llamaindex import from_tools, to_tools

    Agent("openai:gpt-5", tools=[from_tools([query_engine_tool])])
    FunctionAgent(tools=to_tools([refund, desk], principal="ann", policy=policy, journal="runs.db"), llm=llm)

Made for llama-index-core 0.14. A tool that takes the `Context` of a workflow of LlamaIndex can't be called here;
`from_tools` refuses such a tool.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from io import IOBase
from typing import ClassVar, Unpack

import pydantic
from llama_index.core.base.llms.types import AudioBlock, ContentBlock, DocumentBlock, ImageBlock, TextBlock, VideoBlock
from llama_index.core.tools import AsyncBaseTool, BaseTool, FunctionTool, ToolMetadata, ToolOutput

from ..core.call import MediaPart, TextPart, ToolCall, ToolResult
from ..core.errors import ToolError, UnknownTool, UsageError
from ..core.interfaces import Context
from ..core.json import Json, JsonObject, dumps
from ..core.told_value import to_json
from ..core.tool import Tool
from ..runs.given_tools import Toolish
from .framework_calls import CallOptions, FrameworkCalls

# Theirs here ------------------------------------------------------------------------------------------------------


def from_tools(tools: Sequence[BaseTool]) -> LlamaIndexToolset:
    """A toolset of tools of LlamaIndex.

    Args:
        tools: objects of LlamaIndex's `BaseTool`, such as `FunctionTool` and `QueryEngineTool`.

    Raises:
        UsageError: something is no tool of LlamaIndex, or takes the `Context` of one of its workflows.
        BadTool: a name that no model could say, or a bad schema.
    """
    return LlamaIndexToolset(tools)


class LlamaIndexToolset:
    """Tools of LlamaIndex as a toolset; see `from_tools`."""

    generation = 0

    def __init__(self, tools: Sequence[BaseTool]) -> None:
        self._tools: dict[str, BaseTool] = {}
        for tool in tools if isinstance(tools, list | tuple) else [tools]:
            if not isinstance(tool, BaseTool):
                raise UsageError("from_tools: {kind} is no tool of LlamaIndex", kind=type(tool).__name__)
            name = tool.metadata.get_name()
            if name in self._tools:
                raise UsageError("from_tools: two tools are called {name!r}", name=name)
            if getattr(tool, "requires_context", False):
                raise UsageError(
                    "from_tools: {name!r} takes the Context of a workflow of LlamaIndex, which is not there: wrap it "
                    "in a function of your own with @tool",
                    name=name,
                )
            self._tools[name] = tool
        self._definitions = tuple([_definition(name, tool.metadata) for name, tool in self._tools.items()])

    async def list_tools(self) -> Sequence[Tool]:
        return self._definitions

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Have LlamaIndex make the call.

        Raises:
            ToolError: the tool says so by `is_error`.
        """
        tool = self._tools.get(call.name)
        if tool is None:
            raise UnknownTool("There is no tool called {call!r}.", call=call.name[:64])
        if isinstance(tool, AsyncBaseTool):
            output = await tool.acall(**call.arguments)
        else:
            output = await asyncio.to_thread(tool, **call.arguments)
        if output.is_error:
            raise ToolError(output.content)
        return ToolResult(call.id, await asyncio.to_thread(_parts, output))  # a block may name a file


def _definition(name: str, metadata: ToolMetadata) -> Tool:
    return Tool(
        name=name,
        description=metadata.description,
        parameters=metadata.get_parameters_dict(),
        answers=metadata.return_direct,
    )


def _parts(output: ToolOutput) -> tuple[TextPart | MediaPart, ...]:
    return tuple([_part(block) for block in output.blocks])


def _part(block: ContentBlock) -> TextPart | MediaPart:
    match block:
        case TextBlock():
            return TextPart(block.text)
        case ImageBlock():
            return _media(block, block.image_mimetype or "image/png", block.resolve_image)
        case AudioBlock():
            return _media(block, f"audio/{block.format or 'mpeg'}", block.resolve_audio)
        case VideoBlock():
            return _media(block, block.video_mimetype or "video/mp4", block.resolve_video)
        case DocumentBlock():
            return _media(block, block.document_mimetype or "application/octet-stream", block.resolve_document)
        case _:
            return TextPart(dumps(to_json(block)))


def _media(block: ContentBlock, mime: str, resolve: Callable[[], IOBase]) -> MediaPart:
    """The media of a block; an address is told and not read."""
    name = getattr(block, "title", None) or ""
    return MediaPart(mime, url=str(block.url), name=name) if block.url else MediaPart(mime, resolve().read(), name=name)


# Ours there -------------------------------------------------------------------------------------------------------


def to_tools(tools: Toolish | Sequence[Toolish], **options: Unpack[CallOptions]) -> list[FunctionTool]:
    """Tools of LlamaIndex whose calls take the call path of actum, each as a run of its own on record.

    A call that is denied, fails or waits for a person raises `actum.ToolError`, which LlamaIndex tells its model. The
    message names the run, and the question that waits. When `actum approve` has answered the question, or the program
    itself, an `Agent` with the same tools and journal makes the call by `resume`.

    Args:
        tools: an agent, a toolset or a function, or a list as for `Agent(tools=...)`.
        options: the user (`principal`, `tenant`, `roles`), and as for `Agent`: `journal`, `policy`, `secrets`.

    Raises:
        UsageError, BadTool: the tools can not be used; the message says why.
    """
    calls = FrameworkCalls(tools, **options)
    return [_tool_there(tool, calls) for tool in calls.list_tools()]


class _Parameters(pydantic.BaseModel):
    """Parameters for LlamaIndex, which asks a class for its JSON Schema."""

    parameters: ClassVar[JsonObject] = {}

    @classmethod
    def model_json_schema(cls, *_: object, **__: object) -> JsonObject:
        return cls.parameters


def _tool_there(tool: Tool, calls: FrameworkCalls) -> FunctionTool:
    def call(**arguments: Json) -> object:
        return _answer(calls.call_and_wait(tool.name, arguments))

    async def acall(**arguments: Json) -> object:
        return _answer(await calls.call(tool.name, arguments))

    schema = pydantic.create_model(tool.name, __base__=_Parameters)
    schema.parameters = tool.parameters
    metadata = ToolMetadata(tool.description, tool.name, schema, return_direct=tool.answers)
    return FunctionTool(call, metadata, acall)


def _answer(result: ToolResult) -> object:
    return [*_blocks(result)] if result.media else result.text


def _blocks(result: ToolResult) -> Iterator[ContentBlock]:
    for part in result.content:
        if isinstance(part, TextPart):
            yield TextBlock(text=part.text)
            continue
        where = part.url or None
        match part.media_type.partition("/"):
            case "image", _, _:
                yield ImageBlock(image=part.data or None, url=where, image_mimetype=part.media_type)
            case "audio", _, form:
                yield AudioBlock(audio=part.data or None, url=where, format=form)
            case "video", _, _:
                yield VideoBlock(video=part.data or None, url=where, video_mimetype=part.media_type)
            case _:
                yield DocumentBlock(
                    data=part.data or None, url=where, document_mimetype=part.media_type, title=part.name or None
                )
