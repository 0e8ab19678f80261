"""What a program may give as `tools=`, and what becomes of it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Protocol, TypeAlias

from ..call.resolve import COMPILED_MAX
from ..core.errors import UsageError
from ..core.interfaces import Toolset
from ..core.tool import Tool
from ..toolsets.function.function import FunctionTool, FunctionToolset

log = logging.getLogger("actum")


class _HasToolset(Protocol):
    def as_tool(self) -> Toolset: ...


Toolish: TypeAlias = Callable[..., object] | FunctionTool | Tool | Toolset | _HasToolset | Mapping[str, object]
"""What may stand in `tools=`: a function, a `@tool`, a bare definition, a toolset, another agent, or a declaration."""


def sort_out(tools: Sequence[Toolish]) -> tuple[list[Toolset], list[Tool]]:
    """Toolsets and bare definitions; all functions together make one toolset.

    Raises:
        UsageError: what was given is no list of these, or something is wrong with a declaration. With more than
            `COMPILED_MAX` declarations, what is wrong with a schema is told at the first call of its tool.
    """
    if isinstance(tools, str) or not isinstance(tools, Iterable):
        raise UsageError("tools=: give a list, as in tools=[my_function]; this is {kind}", kind=_kind(tools))
    functions: list[Callable[..., object] | FunctionTool] = []
    toolsets: list[Toolset] = []
    bare: list[Tool] = []
    tools = list(tools)
    compiles = sum(isinstance(item, Mapping) for item in tools) <= COMPILED_MAX
    for item in tools:
        framework = _framework_of(item)
        if framework:
            raise _tool_of(framework, item)
        if isinstance(item, Mapping):
            # Here, since most programs declare no tool, and places of tools load what sends requests.
            from ..toolsets.declared.places import given_declaration  # noqa: PLC0415

            item = given_declaration(item, compiles=compiles)  # noqa: PLW2901  # what it declares stands for it
        if isinstance(item, Tool):
            bare.append(item)
        elif isinstance(item, FunctionTool):
            functions.append(item)
        elif hasattr(item, "as_tool"):
            toolsets.append(item.as_tool())
        elif isinstance(item, Toolset):
            toolsets.append(item)
        elif callable(item):
            functions.append(item)
        else:
            raise UsageError("tools=: {kind} is not a function, a Tool, a toolset or an agent", kind=_kind(item))
    if functions:
        toolsets.insert(0, FunctionToolset(functions))
    return toolsets, bare


FRAMEWORKS = {"langchain_core": "langchain", "llama_index": "llamaindex"}
"""The packages of frameworks whose tools are objects of their own, and the module of `actum.interop` for each."""


def _framework_of(item: object) -> str:
    """The module of `actum.interop` for an object of another framework; empty for any other object."""
    packages = [kind.__module__.partition(".")[0] for kind in type(item).__mro__]
    return next((FRAMEWORKS[package] for package in packages if package in FRAMEWORKS), "")


def _tool_of(framework: str, item: object) -> UsageError:
    """What a person is told of a tool of another framework in `tools=`."""
    return UsageError(
        "tools=: {kind} is of another framework: write `from actum.interop.{framework} import from_tools`, and "
        "tools=[from_tools([...])]",
        kind=_kind(item),
        framework=framework,
    )


def _kind(item: object) -> str:
    return "None" if item is None else f"the class {item.__name__}" if isinstance(item, type) else type(item).__name__


def warn_of_undeclared(model: str, tools: Sequence[Tool]) -> None:
    """Say in the log which functions a supervised model calls without asking, since they declare nothing."""
    undeclared = tuple([tool.name for tool in tools if tool.effects is None and not tool.foreign and not tool.approval])
    if undeclared:
        _warn_once(model, undeclared)


@lru_cache(maxsize=256)
def _warn_once(model: str, tools: tuple[str, ...]) -> None:
    """The same for the same model and tools once in a process: a program may make an agent for every request."""
    log.warning(
        "%s calls %s without asking, since no effects are declared: write @tool(effects={'read'}), or what it does",
        model,
        ", ".join(tools),
    )
