"""What a folder, a module or the installed packages have that could be tools. Nothing that is found is run or imported.

Python code is read as text: functions under a decorator `@tool` are found. A document of an API is read as one. Folders
of scripts are read by the headers of the scripts. Installed packages name tools by entry points of the group
`actum.tools`.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from msgspec import Struct

from ...core.errors import ActumError, UsageError
from ...core.process.installed import installed
from ...core.process.named_file import open_named, read_named
from ...protocols.openapi.reading import read_api
from ...protocols.openapi.text import BYTES_MAX, read_text
from ...protocols.plain_text import plain
from ...toolsets.scripts import ScriptToolset

ENTRY_POINTS = "actum.tools"
FILES_MAX = 5_000
DEPTH_MAX = 8
CODE_BYTES_MAX = 2 * 2**20
_DOCUMENTS = (".json", ".yaml", ".yml")
_NOT_ENTERED = frozenset({"node_modules", "__pycache__", "site-packages", "dist", "build"})
_IS_DOCUMENT = re.compile(rb"""(?m)(^\s*|[{,]\s*)["']?(openapi|swagger)["']?\s*:\s*["']?[23]\.""")
"""Looked for in the beginning of a file, so that no other JSON is read whole."""
_HEAD_BYTES = 65_536


class FoundTools(Struct, frozen=True, omit_defaults=True):
    """Something that could be tools.

    Attributes:
        kind: what it is.
        source: where it is.
        names: of the tools, the first ones.
        count: of the tools.
        use: what a person types, or writes into the settings, to have them.
        name: what a document would be called as an API, and a server as an MCP server.
        problem: why it can not be used; empty where it can.
    """

    kind: Literal["functions", "document", "scripts", "entry point", "server", "agent"]
    source: str
    names: tuple[str, ...] = ()
    count: int = 0
    use: str = ""
    name: str = ""
    problem: str = ""


NAMES_MAX = 8


def discover(place: str) -> list[FoundTools]:
    """What could be tools.

    Args:
        place: a folder, a file, or the name of a module; empty for the installed packages alone.

    Raises:
        UsageError: there is no such folder, file or module.
    """
    found = [_of_entry_point(each.name, each.value) for each in installed(ENTRY_POINTS)]
    path = Path(place).expanduser()
    if not place:
        return found
    if path.is_file():
        return [*found, *_of_file(path)]
    if path.is_dir():
        return [*found, *(each for file in _files(path) for each in _of_file(file)), *_script_folders(path)]
    return [*found, *_of_module(place)]


def _files(folder: Path) -> Iterator[Path]:
    """The files below a folder, without links, hidden folders and what others installed there."""
    count = 0
    for here, folders, files in os.walk(folder):
        depth = len(Path(here).relative_to(folder).parts)
        folders[:] = sorted(
            name for name in folders if depth < DEPTH_MAX and name[0] != "." and name not in _NOT_ENTERED
        )
        for name in sorted(files):
            count += 1
            if count > FILES_MAX:
                raise UsageError(
                    "{folder} has more than {count} files: name a folder inside it", folder=folder, count=FILES_MAX
                )
            file = Path(here, name)
            if name[0] != "." and not file.is_symlink() and file.is_file():
                yield file


def _of_file(file: Path) -> list[FoundTools]:
    if file.suffix == ".py":
        return _functions(file, str(file))
    return _document(file) if file.suffix in _DOCUMENTS else []


def _functions(file: Path, source: str) -> list[FoundTools]:
    try:
        if file.stat().st_size > CODE_BYTES_MAX:
            return []
        tree = ast.parse(read_named(file))
    except (OSError, SyntaxError, ValueError, RecursionError):
        return []
    functions = [each for each in tree.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    decorated = [each.name for each in functions if any(map(_is_tool, each.decorator_list))]
    if not decorated:
        return []
    return [FoundTools("functions", source, *named(decorated), use=f"--tools {source}")]


def _is_tool(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    return name == "tool"


def _document(file: Path) -> list[FoundTools]:
    try:
        with open_named(file) as opened:
            if not _IS_DOCUMENT.search(opened.read(_HEAD_BYTES)) or file.stat().st_size > BYTES_MAX:
                return []
        return document_in(read_named(file), str(file), file.stem)
    except OSError:
        return []


def document_in(content: bytes, source: str, called: str) -> list[FoundTools]:
    """The document of an API; nothing where the content is none.

    Args:
        content: of a file or of an address.
        source: the file or the address.
        called: what the name of the API is made of.
    """
    if not _IS_DOCUMENT.search(content[:_HEAD_BYTES]):
        return []
    try:
        address = source if "://" in source else Path(source).absolute().as_uri()
        api = read_api(read_text(content), address)
    except ActumError as problem:
        return [FoundTools("document", source, problem=plain(str(problem))[:300])]
    name = re.sub(r"[^a-z0-9]+", "-", called.lower()).strip("-")[:40] or "api"
    use = f"actum tools add openapi {shlex.quote(source)} --name {name}"
    return [FoundTools("document", source, *named([each.tool.name for each in api.operations]), use=use, name=name)]


def _script_folders(folder: Path) -> Iterator[FoundTools]:
    for each in sorted({folder, *(file.parent for file in _files(folder) if file.suffix in (".sh", ".py", ""))}):
        try:
            toolset = ScriptToolset(each)
            if toolset.is_empty:
                continue
            names = toolset.names
        except (ActumError, OSError):
            continue
        yield FoundTools("scripts", f"{each}/", *named(names), use=f"--tools {each}/")


def _of_entry_point(name: str, value: str) -> FoundTools:
    return FoundTools("entry point", value, (name,), 1, f"--tools {value}")


def _of_module(name: str) -> list[FoundTools]:
    top = name.partition(".")[0]
    try:
        spec = find_spec(top)  # finds a module of this name without importing it
    except (ImportError, ValueError):
        spec = None
    places = [Path(each) for each in (spec.submodule_search_locations or ())] if spec else []
    if spec is None or (not places and not spec.origin):
        raise UsageError("there is no folder, file or module {name!r}", name=name)
    below = name.split(".")[1:]
    files = [Path(spec.origin)] if spec.origin and not places else []
    for place in places:
        there = place.joinpath(*below)
        files += [there.with_suffix(".py")] if there.with_suffix(".py").is_file() else [*_files(there)]
    found: list[FoundTools] = []
    for file in files:
        if file.suffix == ".py":
            found += _functions(file, _module_name(file, top, places))
    return found


def _module_name(file: Path, top: str, places: list[Path]) -> str:
    for place in places:
        if file.is_relative_to(place):
            parts = file.relative_to(place).with_suffix("").parts
            return ".".join([top, *(parts[:-1] if parts[-1] == "__init__" else parts)])
    return top


def named(names: list[str]) -> tuple[tuple[str, ...], int]:
    """The first names, and how many there are."""
    return tuple(names[:NAMES_MAX]), len(names)
