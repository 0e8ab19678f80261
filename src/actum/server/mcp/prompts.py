"""Prompts: what a user picks from a list to begin with, filled in from a few texts.

A prompt is a function. It is called on the call path like any tool, so that it can ask its user, is limited, and is on
record; see `McpService`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import overload

import msgspec
from msgspec import UNSET

from ...core.call import (
    MediaPart,
    TextPart,
    ToolCall,
    ToolResult,
)
from ...core.errors import UsageError
from ...core.interfaces import Context
from ...core.json import Json, JsonObject
from ...core.message import Reply, UserMessage
from ...core.told_value import to_json
from ...core.tool import Tool
from ...protocols.mcp.content import blocks_of
from ...toolsets.function.function import FunctionTool
from ...toolsets.function.returned import result_of

Suggest = Callable[[str], Sequence[str]]
"""What could be meant by the beginning of a text."""


class Prompt:
    """A prompt; made by `prompt`.

    Args:
        function: from texts to a text, or to messages: `UserMessage`, `Reply`, or parts of one.
        name: what it is called, when not the function's name.
        title: a name for people.
        suggest: for an argument, what could be meant by its beginning; an enum suggests its values by itself.
    """

    def __init__(
        self,
        function: Callable[..., object],
        *,
        name: str = "",
        title: str = "",
        suggest: Mapping[str, Suggest] | None = None,
    ) -> None:
        made = FunctionTool(function, name=name or None)
        self.name = made.name
        self.title = title
        self.suggest = dict(suggest or {})
        self._made = made
        unknown = set(self.suggest) - set(made.definition.property_schemas())
        if unknown:
            raise UsageError(
                "prompt {name!r}: suggest= names {unknown}, no argument of it",
                name=self.name,
                unknown=", ".join(sorted(unknown)),
            )
        self.tool = msgspec.structs.replace(made.definition, name=f"prompt.{self.name}", effects=frozenset({"read"}))

    def told(self) -> JsonObject:
        """It, as `prompts/list` tells it."""
        required = self.tool.required()
        arguments: list[Json] = []
        for name, schema in self.tool.property_schemas().items():
            argument: JsonObject = {"name": name, "required": name in required}
            if isinstance(schema.get("description"), str):
                argument["description"] = schema["description"]
            arguments.append(argument)
        told: JsonObject = {"name": self.name, "arguments": arguments}
        if self.title:
            told["title"] = self.title
        if self.tool.description:
            told["description"] = self.tool.description
        return told

    def suggestions(self, argument: str, begun: str) -> Sequence[str]:
        """What could be meant by the beginning of an argument."""
        if argument in self.suggest:
            return self.suggest[argument](begun)
        values = self.tool.property_schemas().get(argument, {}).get("enum")
        known = [str(value) for value in values] if isinstance(values, list) else []
        return [value for value in known if value.startswith(begun)]

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Fill it in."""
        value = await self._made.call(call, context)
        said = value if isinstance(value, list | tuple) else [value]
        if any(isinstance(one, UserMessage | Reply) for one in said):
            return ToolResult(call.id, structured=to_json(said))
        return result_of(call.id, value)


@overload
def prompt(function: Callable[..., object], /) -> Prompt: ...
@overload
def prompt(
    *, name: str = "", title: str = "", suggest: Mapping[str, Suggest] | None = None
) -> Callable[[Callable[..., object]], Prompt]: ...
def prompt(
    function: Callable[..., object] | None = None,
    *,
    name: str = "",
    title: str = "",
    suggest: Mapping[str, Suggest] | None = None,
) -> Prompt | Callable[[Callable[..., object]], Prompt]:
    """Make a prompt of a function; see `Prompt`.

    >>> @prompt
    ... def review(code: str) -> str:
    ...     '''Review code.'''
    ...     return f"Review this:\\n{code}"
    >>> review.name, review.told()["arguments"]
    ('review', [{'name': 'code', 'required': True}])
    """
    if function is None:
        return lambda later: Prompt(later, name=name, title=title, suggest=suggest)
    return Prompt(function, name=name, title=title, suggest=suggest)


def messages_of(result: ToolResult) -> list[Json]:
    """The messages of `prompts/get`, out of what its function returned."""
    if result.structured is UNSET or result.content:
        return [{"role": "user", "content": block} for block in blocks_of(result.content)]
    said = msgspec.json.decode(msgspec.json.encode(result.structured), type=list[UserMessage | Reply])
    return [
        {"role": "user" if isinstance(message, UserMessage) else "assistant", "content": block}
        for message in said
        for block in blocks_of(part for part in message.content if isinstance(part, TextPart | MediaPart))
    ]


class PromptToolset:
    """Prompts as a toolset, so that they are filled in on the call path."""

    def __init__(self, prompts: Sequence[Prompt]) -> None:
        self.by_name: Mapping[str, Prompt] = {}
        self._by_tool: Mapping[str, Prompt] = {}
        self.generation = 0
        self.replace(prompts)

    @property
    def is_offered(self) -> bool:
        """There are prompts, or were some."""
        return bool(self.by_name) or self.generation > 1

    def replace(self, prompts: Sequence[Prompt]) -> None:
        """From now on these are the prompts."""
        self.by_name = {one.name: one for one in prompts}
        self._by_tool = {one.tool.name: one for one in prompts}
        self.generation += 1

    async def list_tools(self) -> Sequence[Tool]:
        return tuple(one.tool for one in self.by_name.values())

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Fill in the prompt of this name."""
        return await self._by_tool[call.name].execute(call, context)
