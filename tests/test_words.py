"""What the code says of itself is true and short: files that it names are there, and worn phrases become fewer."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

from .sources import ROOT, modules

SOURCES = sorted([*(path for _, path in modules()), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")])
FILES = {
    path.relative_to(ROOT).as_posix()
    for top in ("src", "packages", "tests", "bench", "examples", "tests_local")
    for path in (ROOT / top).rglob("*.py")
}
OF_A_USER = {"agent.py", "apt.py", "authorize.py", "cel.py", "main.py", "random.py", "redis.py", "serve.py", "tools.py"}
"""Names of files in examples, which stand in a user's folder."""
NAMED = re.compile(r"`((?:\w+/)*\w+\.py)`")
MOST = {"so many": 43, "whoever": 30, "stands in": 56, "of which": 27}
"""Worn phrases in `src`, and how often each is there at most: the numbers only fall."""


def test_every_file_that_is_named_is_there() -> None:
    missing = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in SOURCES
        if path.name != "CHANGELOG.md"
        for name in NAMED.findall(path.read_text("utf-8"))
        if name not in OF_A_USER and not any(f"/{file}".endswith(f"/{name}") for file in FILES)
    ]
    assert missing == []


def test_worn_phrases_become_fewer() -> None:
    found: Counter[str] = Counter()
    for _, path in modules():
        text = " ".join(path.read_text("utf-8").lower().split())
        found.update({phrase: text.count(phrase) for phrase in MOST})
    assert {phrase: found[phrase] for phrase, most in MOST.items() if found[phrase] > most} == {}


def test_every_argument_that_a_docstring_names_is_a_parameter() -> None:
    unknown = [
        f"{module}: {function.name}: {name}"
        for module, path in modules()
        for function, docstring in _documented(ast.parse(path.read_text("utf-8")))
        if function.args.kwarg is None
        for name in _arguments(docstring)
        if name not in {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}
    ]
    assert unknown == []


def _documented(tree: ast.Module) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, str]]:
    """Each function with its docstring; `__init__` with the docstring of its class."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            made = next(
                (each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None
            )
            if made is not None:
                yield made, ast.get_docstring(node) or ""
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node, ast.get_docstring(node) or ""


def _arguments(docstring: str) -> list[str]:
    """The names in the section `Args` of a docstring: lines such as `name: ...` or `one, other: ...`."""
    section = re.search(r"^Args:\n((?:    .*\n?|\n)*)", docstring, re.MULTILINE)
    lines = re.findall(r"^    (\w+(?:, \w+)*): ", section[1], re.MULTILINE) if section else []
    return [name for line in lines for name in line.split(", ")]
