"""`actum call`: one call, asked for by a person. It takes the same path as a model's: checked, approved, on record."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Annotated

import typer

from ...compose.agents import list_tools, make_runner
from ...compose.secrets import open_secrets
from ...core.call import ToolCall
from ...core.errors import UnknownName, UsageError
from ...core.json import Json, JsonObject, JsonProblem, parse_object, parse_or_text
from ...core.language.sentence import names_or_none
from ...core.tool import Tool
from ...runs.options import RunOptions
from .. import loading, options
from ..options import JournalFlag, JsonFlag, McpFlag, PolicyFlag, ToolsFlag, VerboseFlag, YesFlag
from ..show.terminal import Terminal, said, who
from ..show.trace import (
    Trace,
)
from .approve import approver_at
from .run import report_call


def call(
    name: Annotated[str, typer.Argument(help="The tool; see `actum tools list`.")],
    pairs: Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Its arguments.")] = None,
    args: Annotated[str, typer.Option("--args", metavar="JSON", help="All arguments as one JSON object.")] = "",
    tools: ToolsFlag = None,
    mcp: McpFlag = None,
    verbose: VerboseFlag = False,
    as_json: JsonFlag = False,
    yes: YesFlag = False,
    journal: JournalFlag = "",
    policy: PolicyFlag = "",
) -> int:
    """Call one tool by hand.

    For instance: actum call calculate expression="17 * 23"
    """
    settings = options.read(tools=tools, mcp=mcp, journal=journal, policy=policy)
    terminal = Terminal()
    words = [said(pair) for pair in pairs or []]

    async def command() -> int:
        async with (
            loading.tools(settings, terminal, needed=name) as loaded,
            options.journal(settings) as opened,
        ):
            tool = find_tool(await list_tools(loaded.tools, settings.tool_labels), name)
            arguments = read_arguments(tool, words, said(args))
            runner = make_runner(
                settings,
                loaded.tools,
                name="call",
                journal=opened,
                approver=approver_at(terminal, yes=yes),
                secrets=open_secrets(os.environ),
            )
            trace = Trace(terminal, verbose=verbose and not as_json, quiet=True)  # the answer would be the result again
            called = ToolCall(id="call_1", name=tool.name, arguments=arguments)
            try:
                result = await runner.call([called], RunOptions(principal=who(), emit=trace.show), by="person")
            finally:
                trace.close()
        return report_call(terminal, result, settings, as_json=as_json, verbose=verbose)

    return asyncio.run(command())


def find_tool(tools: Sequence[Tool], name: str) -> Tool:
    """The tool of this name.

    Raises:
        UnknownName: there is none; the message says which there are.
    """
    found = next((tool for tool in tools if tool.name == name), None)
    if found is None:
        raise UnknownName(
            "there is no tool {name!r}; there are: {known}. --tools says where to look",
            name=name,
            known=names_or_none(tool.name for tool in tools),
        )
    return found


def read_arguments(tool: Tool, pairs: Sequence[str], whole: str = "") -> JsonObject:
    """Arguments out of `key=value` words. What the schema wants as text stays text; else JSON is read where it is JSON.

    Args:
        whole: all of them as one JSON object, instead.

    Raises:
        UsageError: a word is no `key=value`, or a key comes twice.

    >>> read_arguments(Tool(name="f", parameters={"properties": {"a": {"type": "string"}}}), ["a=5", "b=5", "c=x"])
    {'a': '5', 'b': 5, 'c': 'x'}
    """
    if whole:
        return _read_object(whole)
    found: JsonObject = {}
    for pair in pairs:
        key, sign, text = pair.partition("=")
        if not sign or not key:
            raise UsageError("{pair!r} is no argument: write key=value, or --args with a JSON object", pair=pair)
        if key in found:
            raise UsageError("{key!r} is given twice: write a list as {key}='[1, 2]'", key=key)
        schema = tool.property_schemas().get(key, {})
        found[key] = text if _takes_text(schema, tool.parameters) else parse_or_text(text)
    return found


def _read_object(text: str) -> JsonObject:
    try:
        return parse_object(text)[0]
    except JsonProblem as problem:
        raise UsageError("--args {text!r}: {why}", text=text, why=problem) from None


def _takes_text(schema: Json, document: JsonObject) -> bool:
    """Whether a string may stand here, as far as that can be seen without deciding anything."""
    if not isinstance(schema, dict):
        return False
    reference = schema.get("$ref")
    definitions = document.get("$defs")
    if isinstance(reference, str) and isinstance(definitions, dict):
        return _takes_text(definitions.get(reference.removeprefix("#/$defs/")), {})
    kinds, values = schema.get("type", []), schema.get("enum")
    if isinstance(values, list) and any(isinstance(value, str) for value in values):
        return True
    choices = [schema.get(word) for word in ("anyOf", "oneOf")]
    return "string" in (kinds if isinstance(kinds, list) else [kinds]) or any(
        _takes_text(choice, document) for some in choices if isinstance(some, list) for choice in some
    )
