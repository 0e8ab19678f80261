"""The stack holds: imports go down or stay in their room, late imports stand at doors, and `import actum` is light."""

from __future__ import annotations

import ast
import functools
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

from .sources import PACKAGES, modules

SRC = PACKAGES["actum"]

STACK = (
    {"core"},
    {"schema", "protocols"},
    {"kinds"},  # for those who write tools
    {"errors", "events", "messages"},  # names of core, for programs
    {"dialects"},
    {"transport", "storage"},
    {"sandbox"},
    {"toolsets", "models"},
    {"policy", "journal", "features"},
    {"call"},
    {"memory", "knowledge", "scores"},
    {"runs", "telemetry"},
    {"agents"},
    {"tasks"},
    {"workflow", "evals", "learn", "market"},
    {"triggers"},
    {"server"},
    {"compose"},
    {"secrets", "interop", "browser"},  # for programs that keep secrets of users, or use other frameworks
    {"cli"},
)
"""The rooms from the ground up. A room may import what is below it, and nothing beside it."""

BELOW = {room: set().union(*STACK[:layer]) for layer, rooms in enumerate(STACK) for room in rooms}
MAY_IMPORT: dict[str, set[str]] = BELOW | {
    # So that what a call goes through can be reviewed for safety by itself.
    "policy": {"core", "schema"},
    "journal": {"core", "schema", "storage"},
    "features": {"core"},  # what an outsider's feature imports: no web framework, no database
    "call": {"core", "schema", "policy", "journal"},
    "testing": {"core", "schema", "policy", "journal", "call", "runs"},
    "pytest_plugin": {"testing"},
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

PROTOCOLS = {"a2a", "mcp", "openapi"}
"""Files and rooms inside a room that are called so, such as `server/mcp`, know nothing of another protocol."""

DOORS: dict[str, set[str]] = {
    "actum.agents.attached": {"actum.knowledge.attaching"},
    "actum.agents.citing": {"actum.knowledge.browsing.browser"},
    "actum.agents.output": {"pydantic", "pydantic_core"},
    "actum.cli.app": {
        "actum.cli.edge",
        "actum.cli.feature_commands",
        "actum.cli.feature_names",
        "actum.cli.show.help",
        "actum.cli.show.terminal",
        "actum.cli.versions",
        "actum.core.errors",
        "actum.core.secrets.redacted_log",
    },
    "actum.cli.feature_commands": {"actum.cli.definitions.commands"},
    "actum.cli.feature_names": {"actum.core.process.installed"},
    "actum.cli.operated": {"actum.cli.loading", "actum.compose.administration"},
    "actum.cli.records.approvals": {
        "actum.compose.administration",
        "actum.transport.http",
        "actum.transport.upstream_client",
    },
    "actum.cli.records.runs": {"actum.compose.administration"},
    "actum.cli.conversation.chat": {"actum.cli.conversation.line_editor"},
    "actum.cli.mcp.commands": {"actum.cli.mcp.login"},
    "actum.cli.mcp.serve": {"actum.compose.serving"},
    "actum.cli.records.telemetry": {"actum.compose.deploy.telemetry"},
    "actum.cli.services.serve": {"actum.compose.serving", "actum.server.keys"},
    "actum.cli.services.studio": {"actum.compose.serving", "actum.server.login.codes"},
    "actum.cli.services.worker": {"actum.cli.services.worker_metrics"},
    "actum.cli.services.trigger": {"actum.compose.triggers", "actum.triggers.intake"},
    "actum.cli.setup.config": {"actum.compose.triggers"},
    "actum.compose.deploy.telemetry": {"actum.telemetry.otlp"},
    "actum.compose.features": {"actum.server.api.definitions.operations", "actum.server.api.operations"},
    "actum.compose.upstreams.named_models": {"actum.compose.upstreams.passing"},
    "actum.compose.serving": {"actum.compose.a2a"},
    "actum.compose.settings": {"actum.core.process.installed"},
    "actum.compose.task_child": {"actum.compose.connections"},
    "actum.knowledge.reading.office": {"mammoth", "openpyxl", "pptx"},
    "actum.compose.task_worker": {"actum.tasks.celery"},
    "actum.core.language.words": {"snowballstemmer"},
    "actum.dialects.api.rows": {
        "actum.dialects.api.anthropic.dialect",
        "actum.dialects.api.gemini.dialect",
        "actum.dialects.api.ollama_generate",
        "actum.dialects.api.openai_chat.dialect",
        "actum.dialects.api.openai_completions",
        "actum.dialects.api.openai_responses.dialect",
    },
    "actum.dialects.catalog": {"actum.core.process.installed", "actum.dialects.text.rows"},
    "actum.dialects.text.rows": {
        "actum.dialects.text.harmony",
        "actum.dialects.text.prompt_json",
        "actum.dialects.text.react.dialect",
    },
    "actum.journal.memory": {"actum.storage.memory"},
    "actum.models.catalog": {
        "actum.dialects.api.anthropic.dialect",
        "actum.dialects.api.gemini.dialect",
        "actum.models.endpoint",
        "actum.models.installed",
        "actum.models.local",
    },
    "actum.models.constrained": {"llguidance", "numpy"},
    "actum.models.local_transformers": {"jinja2", "llguidance.hf", "torch", "transformers"},
    "actum.policy.program": {"cel"},
    "actum.pytest_plugin": {"actum.testing"},
    "actum.toolsets.a2a.connection": {"actum.toolsets.a2a.grpc_channel.GrpcChannels"},
    "actum.runs.given_tools": {"actum.toolsets.declared.places.given_declaration"},
    "actum.sandbox.launcher": {"_socket", "removal.remove", "select", "site"},
    "actum.sandbox.probe": {"ctypes"},
    "actum.schema.shape": {"pydantic"},
    "actum.schema.signature": {"docstring_parser"},
    "actum.server.api.experiments": {"actum.evals.comparison", "actum.evals.records", "actum.evals.report"},
    "actum.server.api.knowledge": {"actum.server.api.definitions.references"},
    "actum.server.api.runs.operations": {"actum.server.api.tasks.accepting"},
    "actum.server.api.runs.views": {"actum.models.catalog"},
    "actum.storage.place": {"actum.storage.postgres", "actum.storage.sqlite"},
    "actum.storage.postgres": {"psycopg"},
    "actum.storage.secret_file": {"cryptography.hazmat.primitives.ciphers.aead"},
    "actum.storage.secret_key": {"keyring"},
    "actum.toolsets.a2a.toolset": {"actum.toolsets.a2a.signing"},
    "actum.protocols.source_text": {"ruamel.yaml", "ruamel.yaml.error"},
    "actum.triggers.states": {"actum.triggers.schedule"},
    "actum.workflow.template": {"jinja2"},
}
"""Which file imports which modules late, inside a function, because they are heavy, optional, or change the process.

A comment at each import says why. A late import goes down the stack as every other import does.
"""

NAMED_FROM_OUTSIDE: dict[str, str] = {
    "actum": "a lazy room: whoever imports a name from it",
    "actum.cli.app": "a person names the command",
    "actum.compose.serving": "the pages of the studio, where their package is there",
    "actum.compose.user_code": "a person names the module",
    "actum.knowledge.reading.child": "the reader of a kind of document, from a table beside it",
    "actum.server": "a lazy room: whoever imports a name from it",
    "actum.toolsets": "a lazy room: whoever imports a name from it",
    "actum.toolsets.mcp": "a lazy room: whoever imports a name from it",
}
"""Which file imports modules by a name that is only known while the program runs, and who says the name."""

LAZY_ROOMS = ("actum", "actum.server", "actum.toolsets", "actum.toolsets.mcp")
"""Rooms whose public names are loaded when they are asked for. For the type checker they are imported as usual."""

FILES_MAX = 30
"""How many files a folder holds at most. A folder with more wants rooms inside."""
LINES_MAX = 900
FUNCTION_LINES_MAX = 80
"""How many lines a file has at most. In a file with more, something wants a name of its own."""

PURE = {"core", "schema", "protocols", "dialects", "policy", "actum_embedded"}
DOES_IO = {"http", "httpx2", "select", "socket", "sqlite3", "ssl", "subprocess", "urllib.request"}

HEAVY = {
    *("fastapi", "h11", "httpx", "httpx2", "sqlite3", "starlette", "uvicorn"),
    *("a2a", "cel", "celery", "cryptography", "grpc", "keyring", "mcp", "openai", "opentelemetry", "psycopg"),
    *("actum_embedded", "importlib.metadata", "importlib_metadata"),
    *("llguidance", "numpy", "prompt_toolkit", "pydantic", "rich", "torch", "transformers", "typer"),
}


STATEMENTS = (ast.stmt, ast.excepthandler, ast.match_case)


class Import(NamedTuple):
    """One imported name: `actum.core.call.ToolCall`, on which line, and whether inside a function."""

    target: str
    line: int
    late: bool

    def is_of(self, modules: set[str]) -> bool:
        """Whether this is one of these modules, or a name of one of them."""
        return self.target in modules or self.target.rpartition(".")[0] in modules


@functools.cache  # several tests ask for those of every module
def imports(source: str, module: str, *, package: bool) -> Sequence[Import]:
    """Every import of a module's source, relative ones resolved; those under `if TYPE_CHECKING` count as well."""
    home = module.split(".") if package else module.split(".")[:-1]
    found: list[Import] = []
    left: list[tuple[ast.AST, bool]] = [(ast.parse(source), False)]
    for node, late in left:  # it grows as it is read: what holds statements is looked into, expressions are not
        match node:
            case ast.Import(names=names):
                found += [Import(alias.name, node.lineno, late) for alias in names]
            case ast.ImportFrom(names=names, level=level):
                start = home[: len(home) - level + 1] if level else []
                origin = ".".join([*start, *filter(None, [node.module])])
                found += [Import(f"{origin}.{alias.name}", node.lineno, late) for alias in names]
            case _:
                inside = late or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                parts = (each for each in ast.iter_child_nodes(node) if isinstance(each, STATEMENTS))
                left += [(each, inside) for each in parts]
    return found


def room_of(name: str) -> str:
    """The room of a dotted name of actum; `actum` for a public name of the package itself.

    The other package in the wheel, the embedded model, is one room.
    """
    parts = name.split(".")
    if parts[0] != "actum":
        return parts[0]
    return parts[1] if len(parts) > 1 and parts[1] in MAY_IMPORT else "actum"


def protocol_of(name: str) -> str:
    """The protocol that a module is of, by its place: `mcp` of `actum.server.mcp.http`; empty for none."""
    return next((part for part in name.split(".")[2:3] if part in PROTOCOLS), "")


def calls_by_name(source: str) -> Iterator[int]:
    """The lines at which a module is imported by a string."""
    if "import_module" not in source and "__import__" not in source:
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            function = node.func
            name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
            if name in ("import_module", "__import__"):
                yield node.lineno


def faults(source: str, module: str, *, package: bool = False) -> list[str]:
    """What is wrong with a module's imports, a sentence each."""
    room = room_of(module)
    if room == "actum" and "." in module:
        return [f"{module} is in no room of the stack: give it a place in STACK"]
    found = []
    for each in imports(source, module, package=package):
        target, line, late = each
        if target.split(".")[0] in PACKAGES:
            to = room_of(target)
            if to != room and to not in MAY_IMPORT[room]:
                found.append(f"{module}:{line}: {room} must not import {to} ({target})")
            if protocol_of(module) and protocol_of(target) not in ("", protocol_of(module)):
                found.append(f"{module}:{line}: {protocol_of(module)} must not import another protocol ({target})")
        elif room in PURE and any(f"{target}.".startswith(f"{name}.") for name in DOES_IO):
            found.append(f"{module}:{line}: {room} is pure and must not import {target}")
        if late and not each.is_of(DOORS.get(module, set())):
            found.append(f"{module}:{line}: {target} is imported inside a function: DOORS does not list this")
    if module not in NAMED_FROM_OUTSIDE:
        found += [f"{module}:{line}: a module is imported by a string" for line in calls_by_name(source)]
    return found


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


def test_no_folder_of_actum_has_more_than_thirty_files() -> None:
    folders = Counter(path.parent for _, path in modules() if path.is_relative_to(SRC / "actum"))
    assert {str(folder): count for folder, count in folders.items() if count > FILES_MAX} == {}


def test_no_file_of_actum_has_more_than_nine_hundred_lines() -> None:
    lines = {name: path.read_text("utf-8").count("\n") for name, path in modules()}
    assert {name: count for name, count in lines.items() if count > LINES_MAX} == {}


def test_no_function_of_actum_has_more_than_eighty_lines_besides_its_docstring() -> None:
    assert {
        f"{name}.{function.name}": lines
        for name, path in modules()
        for function in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        if (lines := _lines_of(function)) > FUNCTION_LINES_MAX
    } == {}


def _lines_of(node: ast.stmt) -> int:
    """The lines of a statement; of a function without its docstring."""
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(node, clean=False):
        return lines - _lines_of(node.body[0])
    return lines


def test_strangers_know_nothing_of_each_other() -> None:
    found = [
        f"{module} imports {target}"
        for module, target in edges()
        for pair in STRANGERS
        for one, other in (pair, pair[::-1])
        if f"{module}.".startswith(f"{one}.") and f"{target}.".startswith(f"{other}.")
    ]
    assert not found, "\n".join(found)


def test_imports_go_down_and_late_imports_stand_at_doors() -> None:
    found = [
        fault
        for module, path in modules()
        for fault in faults(path.read_text("utf-8"), module, package=path.name == "__init__.py")
    ]
    assert not found, "\n".join(found)


def test_every_door_is_used() -> None:
    """A door through which nothing comes any more is taken off the list."""
    unused = []
    sources = {module: (path.read_text("utf-8"), path.name == "__init__.py") for module, path in modules()}
    for module, doors in DOORS.items():
        source, package = sources[module]
        late = [each for each in imports(source, module, package=package) if each.late]
        unused += [f"{module}: {door}" for door in sorted(doors) if not any(each.is_of({door}) for each in late)]
    unused += [module for module in NAMED_FROM_OUTSIDE if not list(calls_by_name(sources[module][0]))]
    assert not unused, "\n".join(unused)


def test_a_lazy_room_gives_what_it_tells_the_type_checker() -> None:
    """So that mypy and this file see all that such a room loads."""
    for room in LAZY_ROOMS:
        lazy = import_module(room)
        path = SRC / Path(*room.split(".")) / "__init__.py"
        told = {each.target.rpartition(".")[2]: each for each in imports(path.read_text("utf-8"), room, package=True)}
        assert set(lazy.__all__) <= told.keys(), room
        for name in lazy.__all__:
            module = told[name].target.rpartition(".")[0]
            assert getattr(lazy, name) is getattr(import_module(module), name), f"{room}.{name}"
        with pytest.raises(AttributeError, match="no_such_name"):
            _ = lazy.no_such_name


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
        ("actum.agents.agent", "def f():\n    import rich", "rich is imported inside a function"),
        ("actum.storage.place", "def f():\n    from .writer import Writer", "imported inside a function"),
        ("actum.agents.agent", "import_module('actum.core')", "actum.agents.agent:1: a module is imported by a string"),
        ("actum.agents.agent", "def f():\n    return importlib.import_module(name)", "imported by a string"),
        ("actum.agents.agent", "__import__('json')", "imported by a string"),
        ("actum.server.mcp.http", "from ..a2a.card import Card", "mcp must not import another protocol"),
        ("actum.toolsets.openapi.caller", "from ..mcp import auth", "openapi must not import another protocol"),
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


def test_a_late_import_goes_down_the_stack_as_well() -> None:
    wrong = faults("def f():\n    from ..agents.agent import Agent", "actum.storage.place")
    assert [fault.partition(":2: ")[2] for fault in wrong] == [
        "storage must not import agents (actum.agents.agent.Agent)",
        "actum.agents.agent.Agent is imported inside a function: DOORS does not list this",
    ]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("actum.agents.agent", "from ..core.call import ToolCall\nfrom .turn import turn\nfrom ..call import path"),
        ("actum.dialects.sse", "from urllib.parse import quote\nimport httpx2_elsewhere"),
        ("actum_embedded.model", "from actum.core.call import ToolCall\nfrom .words import fold"),
        ("actum.cli.app", "from .. import compose\nfrom actum import Agent"),
        ("actum.cli.conversation.chat", "def f():\n    from .line_editor import LineEditor"),
        ("actum.storage.place", "def f():\n    from .sqlite import SQLiteJournal\n    from . import postgres"),
        ("actum.server.mcp.http", "from ...protocols.mcp.tool import Tool\nfrom ..verifier import Verifier"),
        ("actum.compose.user_code", "def f(name):\n    return importlib.import_module(name)"),
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
