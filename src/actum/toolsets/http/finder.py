"""`ApiFinder`: a search among the operations of a large API, so that a model is not told of a thousand tools.

A model is offered three tools: one finds operations by words, one calls those that only read, one calls the others.
Arguments are held to the operation's own schema. Policies judge each call twice: as a call of one of these three tools,
and as the call of the operation that it is for. Each call that does not only read waits for a person besides.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import msgspec

from ...core.call import ToolCall, ToolResult
from ...core.errors import InvalidArguments, PermissionDenied, UnknownTool
from ...core.interfaces import Context
from ...core.json import Json, JsonObject, dumps
from ...core.secret_values import secret_paths
from ...core.tool import Tool
from ...protocols.openapi.model import ApiOperation
from ...schema.schema import compile_schema
from .toolset import ApiToolset

FOUND_MAX = 8
TOLD_BYTES = 12_000
"""The most bytes of parameters that are told of the operations found; of further ones, the name and the words."""

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[\u3400-\u9fff]|[^\W\d_a-zA-Z]+")
_SECRET = "it takes a secret value, so a person has to add it by itself (--only)"
_EMPTY = frozenset({"a", "an", "and", "by", "for", "from", "get", "in", "is", "of", "on", "or", "the", "to", "with"})


class ApiFinder:
    """The three tools.

    Args:
        toolset: the API.
        shown: how a run is shown an operation or one of the three tools; None for what is left out.
    """

    generation = 0

    def __init__(self, toolset: ApiToolset, shown: Callable[[Tool], Tool | None] = lambda tool: tool) -> None:
        self.toolset = toolset
        self._shown = shown
        name = toolset.setup.name
        self._find, self._read, self._change = f"{name}_find_tools", f"{name}_read", f"{name}_change"
        count = len(toolset.operations)
        self._tools = _definitions(name, toolset.setup.api.title or name, count)

    @cached_property
    def _offered(self) -> dict[str, Tool]:
        """The operations that are not left out, by their own name, as a run is shown them."""
        shown = {name: self._shown(tool) for name, tool in self.toolset.tools.items()}
        return {name: tool for name, tool in shown.items() if tool is not None}

    @cached_property
    def _own(self) -> dict[str, str]:
        """The operations' own names, by the names that a run is shown."""
        return {tool.name: name for name, tool in self._offered.items()}

    @cached_property
    def _index(self) -> _Index:
        return _Index({tool.name: self.toolset.operations[name] for name, tool in self._offered.items()})

    def _said(self, name: str) -> str:
        """The name under which a run knows one of the three tools."""
        tool = next(each for each in self._tools if each.name == name)
        return (self._shown(tool) or tool).name

    async def list_tools(self) -> Sequence[Tool]:
        """The three tools, and the one that shows what was left out of a schema where there is such a thing."""
        return [*self._tools, *([self.toolset.schema_tool] if self.toolset.schema_tool else [])]

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Search, or call an operation.

        Raises:
            UnknownTool: there is no such operation, or the other tool calls it.
            PermissionDenied: the operation takes a secret value.
            InvalidArguments: the arguments are not those of the operation.
            CallError: as by `ApiToolset.execute`.
        """
        if call.name == self._find:
            return ToolResult(call.id, structured=self._found(str(call.arguments.get("query", ""))))
        meant = self.meant(call)
        return await self.toolset.execute(call if meant is None else meant[1], context)

    def meant(self, call: ToolCall) -> tuple[Tool, ToolCall] | None:
        """The operation that a call is for; see `StandsForOthers`. A policy that names the operation holds."""
        if call.name not in (self._read, self._change):
            return None
        name, given = str(call.arguments.get("tool", "")), call.arguments.get("arguments")
        tool = self.toolset.tools.get(self._own.get(name, name))
        if tool is None:
            near = ", ".join(self._offered[each.tool.name].name for each in self._index.best(name)[:5])
            find = self._said(self._find)
            raise UnknownTool(
                "There is no tool {name!r}. Find one with {find}. Near: {near}.",
                name=name[:100],
                find=find,
                near=near or "none",
            )
        if secret_paths(tool.parameters):
            # Secret values are kept out of the record by the schema of the tool that is called, which is not this one.
            raise PermissionDenied("{name} can not be called here: {secret}.", name=name, secret=_SECRET)
        if tool.reads_only is not (call.name == self._read):
            other = self._read if tool.reads_only else self._change
            raise UnknownTool("{name} is called with {said}.", name=name, said=self._said(other))
        checked = compile_schema(tool.parameters, where=name, foreign=True).check(
            given if isinstance(given, dict) else {}
        )
        if checked.problems:
            raise InvalidArguments(
                [msgspec.structs.replace(each, path=f"arguments.{each.path}".rstrip(".")) for each in checked.problems]
            )
        return tool, ToolCall(call.id, tool.name, checked.arguments)

    def stands_for(self, name: str) -> Sequence[Tool]:
        """The operations that the search finds, or that one of the other tools calls; see `StandsForOthers`."""
        if name == self._find:
            return list(self.toolset.tools.values())
        if name in (self._read, self._change):
            return [tool for tool in self.toolset.tools.values() if tool.reads_only is (name == self._read)]
        return self.toolset.stands_for(name)

    def through(self, shown: Callable[[Tool], Tool | None]) -> ApiFinder:
        """The same search, in which operations and tools have the names that a run knows; see `StandsForOthers`."""
        return ApiFinder(self.toolset.through(shown), shown)

    async def aclose(self) -> None:
        """Close the connections that are kept."""
        await self.toolset.aclose()

    def _found(self, query: str) -> JsonObject:
        best = self._index.best(query)
        told: list[Json] = []
        left = TOLD_BYTES
        for operation in best[:FOUND_MAX]:
            tool = self._offered[operation.tool.name]
            by = self._said(self._read if self.toolset.tools[operation.tool.name].reads_only else self._change)
            if secret_paths(tool.parameters):
                told.append({"tool": tool.name, "description": tool.description, "call_with": f"nothing: {_SECRET}"})
                continue
            said: JsonObject = {"tool": tool.name, "description": tool.description, "call_with": by}
            size = len(dumps(tool.parameters))
            if size <= left:
                said["arguments"] = tool.parameters
                left -= size
            else:
                said["arguments"] = "left out: search for this tool by its name to see them"
            told.append(said)
        return {"found": told, "more": max(0, len(best) - FOUND_MAX)}


class _Index:
    """The words of each operation, and how rare each word is.

    Args:
        operations: by the name under which a run knows each.
    """

    def __init__(self, operations: Mapping[str, ApiOperation]) -> None:
        self._operations = list(operations.values())
        self._words = [_weighted(each) for each in self._operations]
        counts = Counter(word for words in self._words for word in words)
        self._titles = [
            [
                {_stem(word) for word in _words(text)} - _EMPTY
                for text in (each.tool.name, _first(each.tool.description))
            ]
            for each in self._operations
        ]
        self._rare = {word: math.log(1 + len(self._operations) / count) for word, count in counts.items()}
        self._by_name = {each.tool.name.lower(): each for each in self._operations}
        self._by_name |= {name.lower(): each for name, each in operations.items()}

    def best(self, query: str) -> list[ApiOperation]:
        """The operations that fit, the best first. One that is named exactly goes before all others."""
        asked = {_stem(word) for word in _words(query[:500])}
        asked = asked - _EMPTY or asked
        scores: list[tuple[float, int]] = []
        for at, words in enumerate(self._words):
            score = sum(words.get(word, 0.0) * self._rare.get(word, 0.0) for word in asked)
            if score:
                # A name or a first sentence that says just this goes before one that says more than this.
                near = max(len(asked & title) / len(asked | title) for title in self._titles[at])
                scores.append((-score * (1 + 2 * near) / (1 + 0.02 * len(words)), at))
        found = [self._operations[at] for _, at in sorted(scores)]
        named = self._by_name.get(query.strip().lower())
        return [named, *(each for each in found if each is not named)] if named else found


def _weighted(operation: ApiOperation) -> dict[str, float]:
    words: dict[str, float] = {}
    method = {"GET": "read list show", "POST": "create add", "DELETE": "delete remove", "PATCH": "update change",
              "PUT": "set replace update"}.get(operation.method, "")  # fmt: skip
    texts = (
        (operation.tool.name, 3.0),
        (operation.path, 2.0),
        (" ".join(operation.tags), 1.5),
        (operation.tool.description, 1.0),
        (" ".join(plan.argument for plan in operation.parameters), 0.5),
        (method, 0.5),
    )
    for text, weight in texts:
        for word in _words(text):
            stem = _stem(word)
            words[stem] = max(words.get(stem, 0.0), weight)
    return words


def _first(text: str) -> str:
    return text.removeprefix("Deprecated. ").partition(". ")[0]


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORDS.findall(text)]


def _stem(word: str) -> str:
    """A word without the ending of a plural."""
    if len(word) > 3 and word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _definitions(name: str, title: str, count: int) -> tuple[Tool, ...]:
    tool: JsonObject = {"type": "string", "description": "The name of a tool that was found."}
    arguments: JsonObject = {"type": "object", "description": "The arguments of that tool."}
    parameters: JsonObject = {
        "type": "object",
        "properties": {"tool": tool, "arguments": arguments},
        "required": ["tool"],
    }
    query: JsonObject = {"type": "string", "description": "A few words, such as: create issue."}
    return (
        Tool(
            name=f"{name}_find_tools",
            description=f"Find tools of the API {title}, which has {count}: what they do and their arguments.",
            parameters={"type": "object", "properties": {"query": query}, "required": ["query"]},
            effects=frozenset({"read"}),
            foreign=True,
            sinks=(),
        ),
        Tool(
            name=f"{name}_read",
            description=f"Call a tool of the API {title} that only reads. Find the tool first.",
            parameters=parameters,
            effects=frozenset({"read"}),
            foreign=True,
        ),
        Tool(
            name=f"{name}_change",
            description=f"Call a tool of the API {title} that changes something. Find the tool first.",
            parameters=parameters,
            foreign=True,
            approval=True,
        ),
    )
