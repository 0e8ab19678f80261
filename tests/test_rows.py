"""Each row of the mission that is claimed is proved by a test that says so, and no test names a row that is not there.

It reads the tests, it does not run them: that they pass is seen in the same run.
"""

from __future__ import annotations

import ast
import functools
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

TESTS = Path(__file__).parent
ROWS: dict[str, dict[str, str]] = tomllib.loads((TESTS.parent / "docs" / "rows.toml").read_text("utf-8"))


def marks(source: str) -> Iterator[tuple[int, str]]:
    """Line and row of each `pytest.mark.row("...")` on a test, on a class of tests, or in a module's `pytestmark`."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name.startswith("test_"):
                places = node.decorator_list
            case ast.ClassDef(name=name) if name.startswith("Test"):
                places = node.decorator_list
            case ast.Assign(targets=[ast.Name(id="pytestmark")], value=value):
                places = [value]
            case _:
                continue
        yield from ((place.lineno, row) for place in places for part in ast.walk(place) for row in rows_named(part))


def rows_named(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="mark"), attr="row"), args=args):
            yield from (arg.value for arg in args if isinstance(arg, ast.Constant) and isinstance(arg.value, str))
        case _:
            pass


@functools.cache
def every_mark() -> Sequence[tuple[str, str]]:
    """Place and row of every mark in these tests."""
    sources = {path: path.read_text("utf-8") for path in sorted(TESTS.rglob("test_*.py"))}
    return [
        (f"{path.relative_to(TESTS)}:{line}", row)
        for path, source in sources.items()
        if "mark.row(" in source
        for line, row in marks(source)
    ]


def test_a_claimed_row_is_proved_by_a_test() -> None:
    unproved = ROWS["claimed"].keys() - {row for _, row in every_mark()}
    assert not unproved, "no test is marked with these rows"


def test_a_mark_names_a_row_that_is_claimed_or_begun() -> None:
    known = {row for rows in ROWS.values() for row in rows}
    assert [f"{place}: row {row} is not in docs/rows.toml" for place, row in every_mark() if row not in known] == []


def test_no_row_is_both_claimed_and_begun() -> None:
    assert set(ROWS) == {"claimed", "begun"}
    assert ROWS["claimed"].keys().isdisjoint(ROWS["begun"])


def test_marks_are_found_on_tests_classes_and_modules_alone() -> None:
    source = """
pytestmark = [pytest.mark.row("S1"), pytest.mark.slow]

@pytest.mark.row("S2", "S3")
async def test_one(): ...

@pytest.mark.row("S4")
class TestMany: ...

@pytest.mark.row("X1")
def not_a_test(): ...

text = 'pytest.mark.row("X2")'
"""
    assert {row for _, row in marks(source)} == {"S1", "S2", "S3", "S4"}
