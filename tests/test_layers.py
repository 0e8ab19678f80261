"""The stack holds: imports go down or stay in their room, none is hidden in a function, and `import actum` is light."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

SRC = Path(__file__).parents[1] / "src"
PACKAGES = ("actum", "actum_embedded")

STACK = (
    {"core"},
    {"schema", "protocols"},
    {"kinds"},  # for those who write tools
    {"dialects"},
    {"transport", "storage", "sandbox"},
    {"toolsets", "models"},
    {"policy", "journal"},
    {"call"},
    {"runs"},
    {"agents", "tasks"},
    {"workflow", "evals", "learn", "market"},
    {"server", "compose"},
    {"cli"},
)
"""The rooms from the ground up. A room may import what is below it, and nothing beside it."""

BELOW = {room: set().union(*STACK[:layer]) for layer, rooms in enumerate(STACK) for room in rooms}
MAY_IMPORT: dict[str, set[str]] = BELOW | {
    # So that what a call goes through can be reviewed for safety by itself.
    "policy": {"core", "schema"},
    "journal": {"core", "schema"},
    "call": {"core", "schema", "policy", "journal"},
    "testing": {"core", "schema", "policy", "journal", "call"},
    "actum": BELOW["cli"] | {"testing"},  # the public names, in actum/__init__.py
    "cli": BELOW["cli"] | {"actum"},
    "__main__": {"cli"},
    # A package of its own, which actum finds by an entry point: no room may import the embedded model.
    "actum_embedded": {"core"},
}

STRANGERS = (
    ("actum.dialects.api", "actum.dialects.text"),
    ("actum.policy", "actum.journal"),
)
"""Rooms that know nothing of each other, in either direction."""

PURE = {"core", "schema", "protocols", "dialects", "policy", "actum_embedded"}
DOES_IO = {"http", "httpx2", "select", "socket", "sqlite3", "ssl", "subprocess", "urllib.request"}

HEAVY = {
    *("fastapi", "httpx", "httpx2", "sqlite3", "starlette", "uvicorn"),
    *("a2a", "cel", "celery", "grpc", "mcp", "openai", "opentelemetry", "psycopg"),
    *("actum_embedded", "importlib.metadata", "importlib_metadata"),
    *("llguidance", "numpy", "prompt_toolkit", "pydantic", "rich", "torch", "transformers", "typer"),
}


class Import(NamedTuple):
    """One imported name: `actum.core.call.ToolCall`, on which line, and whether inside a function."""

    target: str
    line: int
    hidden: bool


def imports(source: str, module: str, *, package: bool) -> Iterator[Import]:
    """Every import of a module's source, relative ones resolved; those under `if TYPE_CHECKING` count as well."""
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    hidden = {inner for function in functions for inner in ast.walk(function)}
    home = module.split(".") if package else module.split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno, node in hidden)
        elif isinstance(node, ast.ImportFrom):
            start = home[: len(home) - node.level + 1] if node.level else []
            origin = ".".join([*start, *filter(None, [node.module])])
            for alias in node.names:
                yield Import(f"{origin}.{alias.name}", node.lineno, node in hidden)


def room_of(name: str) -> str:
    """The room of a dotted name of actum; `actum` for a public name of the package itself.

    The other package in the wheel, the embedded model, is one room.
    """
    parts = name.split(".")
    if parts[0] != "actum":
        return parts[0]
    return parts[1] if len(parts) > 1 and parts[1] in MAY_IMPORT else "actum"


def faults(source: str, module: str, *, package: bool = False) -> list[str]:
    """What is wrong with a module's imports, a sentence each."""
    room = room_of(module)
    if room == "actum" and "." in module:
        return [f"{module} is in no room of the stack: give it a place in STACK"]
    found = []
    for target, line, hidden in imports(source, module, package=package):
        if target.split(".")[0] in PACKAGES:
            to = room_of(target)
            if to != room and to not in MAY_IMPORT[room]:
                found.append(f"{module}:{line}: {room} must not import {to} ({target})")
            if hidden:
                found.append(f"{module}:{line}: {target} is imported inside a function")
        elif room in PURE and any(f"{target}.".startswith(f"{name}.") for name in DOES_IO):
            found.append(f"{module}:{line}: {room} is pure and must not import {target}")
    return found


def modules() -> Iterator[tuple[str, Path]]:
    for package in PACKAGES:
        for path in sorted((SRC / package).rglob("*.py")):
            yield ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__"), path


def edges() -> Iterator[tuple[str, str]]:
    """Which module imports which, both of the wheel's packages."""
    known = {module for module, _ in modules()}
    for module, path in modules():
        for target, _, _ in imports(path.read_text("utf-8"), module, package=path.name == "__init__.py"):
            found = target if target in known else target.rpartition(".")[0]
            if found in known and found != module:
                yield module, found


def cycle(graph: dict[str, set[str]]) -> list[str]:
    """The nodes that lie on cycles or between them; empty where there is no cycle."""
    left = {node: set(others) for node, others in graph.items()}
    while ends := [node for node, others in left.items() if not others & left.keys()]:
        for node in ends:
            del left[node]
    return sorted(left)


def test_no_files_import_each_other_in_a_circle() -> None:
    graph: dict[str, set[str]] = {module: set() for module, _ in modules()}
    packages = {module for module, path in modules() if path.name == "__init__.py"}
    for module, target in edges():
        if module not in packages:  # a room's own list of its public names
            graph[module].add(target)
    assert cycle(graph) == []


def test_rooms_inside_a_room_do_not_use_each_other_in_a_circle() -> None:
    """A file that stands beside the rooms is a room of its own."""
    within: dict[str, dict[str, set[str]]] = {}
    for module, target in edges():
        parts, others = module.split("."), target.split(".")
        depth = next((at for at, (a, b) in enumerate(zip(parts, others, strict=False)) if a != b), 0)
        if depth > 1:
            room, one, other = ".".join(parts[:depth]), parts[depth], others[depth]
            within.setdefault(room, {}).setdefault(one, set()).add(other)
            within[room].setdefault(other, set())
    assert {room: found for room, graph in within.items() if (found := cycle(graph))} == {}


def test_strangers_know_nothing_of_each_other() -> None:
    found = [
        f"{module} imports {target}"
        for module, target in edges()
        for pair in STRANGERS
        for one, other in (pair, pair[::-1])
        if f"{module}.".startswith(f"{one}.") and f"{target}.".startswith(f"{other}.")
    ]
    assert not found, "\n".join(found)


def test_imports_go_down_and_none_hides_in_a_function() -> None:
    found = [
        fault
        for module, path in modules()
        for fault in faults(path.read_text("utf-8"), module, package=path.name == "__init__.py")
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("module", "source", "fault"),
    [
        ("actum.core.tool", "from ..agents.turn import turn", "core must not import agents"),
        ("actum.core.tool", "from .. import agents", "core must not import agents"),
        ("actum.core.tool", "import actum.agents.turn as t", "core must not import agents"),
        ("actum.agents.agent", "from actum import Tool", "agents must not import actum"),
        ("actum.agents.agent", "from .. import Tool", "agents must not import actum"),
        ("actum.agents.agent", "from ..testing import ScriptedModel", "agents must not import testing"),
        ("actum.call.path", "from ..toolsets.function import run", "call must not import toolsets"),
        ("actum.models.endpoint", "from ..toolsets import http", "models must not import toolsets"),
        ("actum.core.tool", "if TYPE_CHECKING:\n    from ..call import path", "actum.core.tool:2: core must not"),
        ("actum.agents.agent", "def f():\n    from ..core import tool", "is imported inside a function"),
        ("actum.agents.agent", "class A:\n    async def f(self):\n        from . import turn", "inside a function"),
        ("actum.dialects.sse", "from urllib.request import urlopen", "is pure and must not import urllib.request"),
        ("actum.utils", "", "actum.utils is in no room of the stack"),
        ("actum_embedded.model", "from actum.agents import Agent", "actum_embedded must not import agents"),
        ("actum_embedded.model", "from actum import Agent", "actum_embedded must not import actum"),
        ("actum_embedded.model", "import socket", "actum_embedded is pure and must not import socket"),
        ("actum_embedded.model", "def f():\n    from .words import fold", "is imported inside a function"),
        ("actum.models.catalog", "from actum_embedded import Embedded", "models must not import actum_embedded"),
    ],
)
def test_a_wrong_import_is_found(module: str, source: str, fault: str) -> None:
    (found,) = faults(source, module)
    assert fault in found


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("actum.agents.agent", "from ..core.call import ToolCall\nfrom .turn import turn\nfrom ..call import path"),
        ("actum.dialects.sse", "from urllib.parse import quote\nimport httpx2_elsewhere"),
        ("actum_embedded.model", "from actum.core.call import ToolCall\nfrom .words import fold"),
        ("actum.cli.app", "from .. import compose\nfrom actum import Agent\ndef f():\n    import rich"),
    ],
)
def test_a_right_import_passes(module: str, source: str) -> None:
    assert faults(source, module) == []


def test_a_package_resolves_relative_imports_from_itself() -> None:
    assert faults("from .agents.agent import Agent", "actum", package=True) == []
    assert faults("from .cli import app", "actum", package=True) == [
        "actum:1: actum must not import cli (actum.cli.app)"
    ]
    assert faults("from .call import ToolCall\nfrom ..core import tool", "actum.core", package=True) == []


def test_importing_actum_loads_nothing_heavy_and_prints_nothing() -> None:
    code = "import json, sys, actum; json.dump(sorted(sys.modules), sys.stdout)"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    loaded = set(json.loads(done.stdout))
    assert "actum" in loaded
    assert loaded.isdisjoint(HEAVY)
