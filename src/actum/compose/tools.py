"""The tools that the settings name: the everyday tools, and tools out of Python code of the user's own."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TypeGuard

from msgspec import structs

from ..core.definition import BadText
from ..core.errors import ActumError, UsageError
from ..core.interfaces import Toolset
from ..core.process.installed import Installed, installed_one
from ..core.process.named_file import read_named_text
from ..core.stored.definitions import reference
from ..core.tool import Tool
from ..features.feature import FeatureOn
from ..knowledge.browsing.browser import Browser, KnowledgeTool
from ..memory.memory import read_memory
from ..runs.given_tools import Toolish, sort_out
from ..sandbox.jail import Jail
from ..toolsets.code import code_tools
from ..toolsets.declared.declaration import read_declaration
from ..toolsets.declared.places import declared_tool
from ..toolsets.declared.published import ALL
from ..toolsets.everyday import everyday_tools
from ..toolsets.function.function import FunctionTool
from ..toolsets.scripts import ScriptToolset
from ..toolsets.wrappers import ToolLabels, combined, filtered, foreign, labelled, labels_of, prefixed, renamed
from ..transport.egress import Egress
from .apis import open_api
from .features import features_of
from .remote_agents import A2A_SOURCE, open_remote_agent
from .settings import CODE, EVERYDAY, FINDER, PUBLISHED, SandboxTable, Settings, ToolSource
from .settings_watch import open_egress
from .user_code import kind_of, load_module, load_object, load_objects, names_one_object, public_objects

TOOLSETS = "actum.toolsets"
"""The group of the entry points by which installed packages bring toolsets."""
API_SOURCES = ("openapi:", "http:")
BROWSER, KNOWLEDGE = "browser", "knowledge:"
DECLARED = (".json", ".yaml", ".yml", ".toml")
"""The endings of files that declare a tool."""


def load_tools(settings: Settings, folder: Path, egress: Egress | None = None) -> list[Toolish]:
    """The tools that the settings name.

    A name is `everyday`, `none`, `file.py` (its `@tool` functions, or all its public functions where none is
    decorated), `file.py:name`, `module` or `module:name`; `file.json`, `.yaml` or `.toml` that declares a tool; `code`,
    or `folder/` for the scripts of a folder; `openapi:NAME` or `http:NAME` for an API that was added with `actum tools
    add`; `knowledge:NAME` to search a collection of documents, `browser` to read all of them; `a2a:NAME` for a remote
    agent of the settings, `a2a:https://...` for one at an address; the name of a feature that is on, or of a toolset of
    an installed package; or a `ToolSource` around such a name. What each run of an agent finds by itself,
    `published:NAME`, is left out here; see `published.tools`. Where no setting names
    tools, those of the features that are on stand beside the everyday ones.

    Args:
        settings: the names, what code and scripts may do, and the rules for outgoing calls.
        folder: where the everyday tools may look at files.
        egress: the rules for outgoing calls, where they are shared with others.

    Raises:
        UsageError: there is no such file, module or name, or it could not be loaded.
    """
    features = features_of(settings).checked()
    published_names(settings.tools)
    names = tuple(each for each in settings.tools if not str(each).startswith(PUBLISHED))
    if "tools" not in settings.sources:  # nobody chose among them
        names = (*names, *(each.feature.name for each in features.on if each.feature.tools is not None))
    return _load(names, settings, folder, egress or open_egress(settings, os.environ))


def memory_spaces(settings: Settings) -> dict[str, str]:
    """The memory spaces of the agents of the settings, by the names of the agents.

    Args:
        settings: with the tables of the agents.
    """
    memories = {name: read_memory(table.memory, name) for name, table in settings.agents.items()}
    return {name: (memory.space if memory is not None else "") or name for name, memory in memories.items()}


def _load(names: Sequence[str | ToolSource], settings: Settings, folder: Path, egress: Egress) -> list[Toolish]:
    found: list[Toolish] = []
    features = features_of(settings)
    for name in names:
        if isinstance(name, str) and (feature := features.get(name)) is not None:
            found += _tools_of(feature)
        elif isinstance(name, ToolSource):
            found.append(_wrapped(name, _load([name.source], settings, folder, egress)))
        elif name == EVERYDAY:
            found += everyday_tools(folder)
        elif name == CODE:
            found += code_tools(settings.sandbox.jail(folder), egress=egress, python=settings.sandbox.python)
        elif name == BROWSER or name.startswith(KNOWLEDGE):
            found.append(Browser() if name == BROWSER else KnowledgeTool(name.removeprefix(KNOWLEDGE)))
        elif name.startswith(API_SOURCES):
            found.append(open_api(name.partition(":")[2], os.environ, egress))
        elif name.startswith(A2A_SOURCE):
            found.append(open_remote_agent(name, settings.a2a, os.environ, egress, settings.serve.public))
        elif name.endswith(DECLARED):
            found.append(_declared(name, settings.sandbox.jail(folder), egress))
        elif "/" in name and Path(name).expanduser().is_dir():
            found.append(_scripts(name, settings.sandbox, folder, egress))
        elif name not in ("none", FINDER):
            brought = None if names_one_object(name) or name.endswith(".py") else installed_one(TOOLSETS, name)
            found += _tools_in(name) if brought is None else [_toolset_of(brought)]
    return found


def published_names(tools: Sequence[str | ToolSource]) -> list[str]:
    """The published tools that entries of `tools` name: `weather`, `weather@3`, or `*` for all.

    Raises:
        UsageError: an entry names none.

    >>> published_names(["everyday", "published:weather@3"])
    ['weather@3']
    """
    found = [each for each in tools if str(each).startswith(PUBLISHED)]
    for each in found:
        if isinstance(each, ToolSource):
            raise UsageError("{place}: published tools keep their names: leave out the table", place=each.source)
        if each != PUBLISHED + ALL:
            reference(each.removeprefix(PUBLISHED))
    return [str(each).removeprefix(PUBLISHED) for each in found]


def _toolset_of(brought: Installed) -> Toolset:
    """The toolset that an installed package brings: the object behind its entry point, called without arguments."""
    made = brought.load()
    try:
        toolset = made() if callable(made) else made
    except Exception as error:  # the package's own code
        raise UsageError(
            "the toolset {name!r} of {package} can not be made: {kind}: {why}",
            name=brought.name,
            package=brought.origin,
            kind=type(error).__name__,
            why=error,
        ) from error
    if isinstance(toolset, type) or not isinstance(toolset, Toolset):
        raise UsageError("the toolset {name!r} of {package} is no Toolset", name=brought.name, package=brought.origin)
    return toolset


def _tools_of(on: FeatureOn) -> list[Toolish]:
    """The tools of a feature; those of somebody else's are foreign."""
    name = on.feature.name
    try:
        made = [_toolish(f"a tool of the feature {name}", item) for item in on.tools()]
    except ActumError:
        raise
    except Exception as error:  # the package's own code
        raise UsageError(
            "the feature {name} can not make its tools: {kind}: {why}", name=name, kind=type(error).__name__, why=error
        ) from error
    if not on.is_foreign:
        return made
    toolsets, bare = sort_out(made)
    return [*map(foreign, toolsets), *(structs.replace(tool, foreign=True, operator=()) for tool in bare)]


def _scripts(name: str, sandbox: SandboxTable, folder: Path, egress: Egress) -> ScriptToolset:
    toolset = ScriptToolset(name, sandbox.jail(folder), egress=egress, read_only_hosts=sandbox.read_only_hosts)
    if toolset.is_empty:
        told = "; ".join(problems_of([toolset])) or "write one; see `actum docs sandbox`"
        raise UsageError("{name} holds no scripts that are tools: {told}", name=name, told=told)
    return toolset


def problems_of(tools: Sequence[Toolish]) -> list[str]:
    """Which scripts of a folder are no tools, and why, a line each."""
    toolsets = [tool for tool in tools if isinstance(tool, ScriptToolset)]
    return [f"{each.file}: {each.problem}" for toolset in toolsets for each in toolset.problems]


def with_labels(tools: Sequence[Toolish], labels: Mapping[str, ToolLabels]) -> list[Toolish]:
    """The tools with the operator's word on what they do; see `toolsets.wrappers.labelled`.

    Args:
        tools: all the tools of a run.
        labels: by a name or a pattern of names, as a run is shown them.
    """
    if not labels:
        return list(tools)
    toolsets, bare = sort_out(tools)
    return [
        *(labelled(labels, toolset) for toolset in toolsets),
        *(labels_of(tool.name, labels).on(tool) for tool in bare),
    ]


def _wrapped(entry: ToolSource, tools: Sequence[Toolish]) -> Toolset:
    """The tools of a place as an entry of the settings wants them."""
    toolsets, bare = sort_out(tools)
    if bare:
        raise UsageError(
            "{place}: bare definitions can not be wrapped; name it without prefix, rename and only", place=entry.source
        )
    wrapped = combined(*toolsets)
    wrapped = filtered(entry.only, wrapped) if entry.only else wrapped
    wrapped = renamed(entry.rename, wrapped) if entry.rename else wrapped
    return prefixed(entry.prefix, wrapped) if entry.prefix else wrapped


def _declared(name: str, jail: Jail, egress: Egress) -> Toolset | Tool:
    """The tool that a file declares.

    Raises:
        UsageError: the file can not be read, or something is wrong with the declaration.
    """
    try:
        declared = read_declaration(read_named_text(Path(name).expanduser()))
        function = load_object(declared.module) if declared.module is not None else None
        if function is not None and not callable(function):
            raise UsageError("{module} is {kind}, and no function", module=declared.module, kind=kind_of(function))
        return declared_tool(declared, function=function, jail=jail, egress=egress)
    except OSError as error:
        raise UsageError("{path} can not be read: {why}", path=name, why=error.strerror) from None
    except UnicodeDecodeError:
        raise UsageError("{path} is not UTF-8 text", path=name) from None
    except BadText as bad:
        raise UsageError("{path}: {why}", path=name, why=bad) from None


def _tools_in(spec: str) -> list[Toolish]:
    """The tools that a file, a module, or one name of it holds."""
    if not names_one_object(spec):
        return _all_tools(load_module(spec), spec)
    return [_toolish(spec, item) for item in load_objects(spec)]


def _toolish(where: str, item: object) -> Toolish:
    """Something that stands for a tool, if it does.

    Raises:
        UsageError: it does not.
    """
    if not _is_toolish(item):
        raise UsageError(
            "{place} is {kind}; needed is a function, a tool, a toolset, an agent, or a list of them",
            place=where,
            kind=kind_of(item),
        )
    return FunctionTool(item) if inspect.isfunction(item) else item


def _all_tools(module: ModuleType, spec: str) -> list[Toolish]:
    """The decorated functions of a module; all its own public functions where none is decorated."""
    public = public_objects(module)
    decorated: list[Toolish] = [thing for thing in public if isinstance(thing, FunctionTool)]
    plain = [thing for thing in public if inspect.isfunction(thing) and thing.__module__ == module.__name__]
    if not decorated and not plain:
        raise UsageError("{place} holds no tools: write a function in it, with @tool above it", place=spec)
    return decorated or [FunctionTool(function) for function in plain]


def _is_toolish(thing: object) -> TypeGuard[Toolish]:
    if isinstance(thing, type):
        return False
    return callable(thing) or isinstance(thing, Tool | FunctionTool | Toolset | Mapping) or hasattr(thing, "as_tool")
