"""The messages with which the source raises errors: read from the code, each value replaced by a sample."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import count, product
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "actum"
ERRORS = frozenset(
    {"ActumError", "BadTool", "BadParameter", "Busy", "JournalError", "UnknownName", "UsageError"}
)  # those whose text a person at the terminal is shown as it is


def raised(folder: Path) -> Iterator[tuple[str, str]]:
    """Where an error is made, and its message; a message that is no text is told as `<code>`."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ERRORS and node.args:
                for text in samples(node.args[0]):
                    yield path.relative_to(SOURCE).as_posix(), text


def samples(node: ast.expr) -> Iterator[str]:
    """What an expression may come to, with `⟨1⟩`, `⟨2⟩` and so on in the place of values."""
    numbers = count(1)

    def told(each: ast.expr) -> list[str]:
        match each:
            case ast.Constant(value=str(text)):
                return [text]
            case ast.JoinedStr(values=pieces):
                return ["".join(parts) for parts in product(*map(told, pieces))]
            case ast.FormattedValue(value=ast.IfExp() as either):
                return told(either)
            case ast.FormattedValue():
                return [f"⟨{next(numbers)}⟩"]
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return [a + b for a, b in product(told(left), told(right))]
            case ast.IfExp(body=body, orelse=orelse):
                return [*told(body), *told(orelse)]
            case _:
                return [f"<{ast.unparse(each)}>"]

    yield from told(node)
