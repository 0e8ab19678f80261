"""`--help` in Chinese: the headings, the usage line and the marks of options, which Typer writes in English.

Typer asks the context of a command for its help, so the context is where this page replaces Typer's own. Columns are
measured in cells; a Chinese character takes two, and a line may end behind any Chinese character.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

from ..language import tr_help

WIDTH_MAX = 100
"""Columns of a page of help: longer lines are hard to read."""

INDENT = 2
_MARKS = re.compile(r"\s*\[((?:env var|default|required)[^\[]*)\]$")
_MARK = {"required": "必填", "default: ": "默认：", "env var: ": "环境变量："}
_USAGE = {"[OPTIONS]": "[选项]", "COMMAND [ARGS]...": "命令 [参数]..."}
_PIECE = re.compile(
    r"\s*(?:[\u2e80-\uffef\u2018-\u201d…][，。；：？！、）］”…]*|[^\s\u2e80-\uffef\u2018-\u201d…]+[，。；：？！、）］”…]*)"
)
"""What a line is not broken within: a Chinese character or a word, and the marks that close it."""


class ChineseHelp(typer.Context):
    """The context of a command whose help is Chinese."""

    def get_help(self) -> str:
        """The whole page."""
        console = Console(highlight=False, markup=False, emoji=False)
        width = min(WIDTH_MAX, console.width)
        command = self.command
        with console.capture() as page:
            console.print(Text(self.get_usage()), soft_wrap=True)
            for paragraph in [*(command.help or "").split("\n\n"), ""]:
                console.print()
                _print(console, "", paragraph, 0, width)
            records = [(each.param_type_name, each.get_help_record(self)) for each in command.get_params(self)]
            for kind, title in (("argument", "参数"), ("option", "选项")):
                _section(console, title, [_row(record) for of, record in records if of == kind and record], width)
            if isinstance(command, TyperGroup):
                found = [(name, command.get_command(self, name)) for name in command.list_commands(self)]
                rows = [(name, (each.help or "").split("\n\n")[0]) for name, each in found if each is not None]
                _section(console, "命令", rows, width)
            _print(console, "", command.epilog or "", 0, width)
        return page.get().rstrip("\n")

    def get_usage(self) -> str:
        """How the command is written, in one line."""
        pieces = [_USAGE.get(piece, piece) for piece in self.command.collect_usage_pieces(self)]
        return " ".join(["用法：" + self.command_path, *pieces])


def fill(text: str, width: int) -> Iterator[str]:
    """The lines of a text, at most `width` columns wide. A single word that is wider stays whole.

    >>> list(fill("见 `actum dialects`，默认自动。", 22))
    ['见 `actum dialects`，', '默认自动。']
    """
    line = ""
    for piece in _PIECE.findall(text):
        if line and cell_len(line + piece) > width:
            yield line
            line = ""
        line += piece if line else piece.lstrip()
    yield line


def _section(console: Console, title: str, rows: list[tuple[str, str]], width: int) -> None:
    """A heading and its rows; nothing where there are none."""
    if not rows:
        return
    console.print(Text(f"{title}：", "bold"))
    column = min(max(cell_len(name) for name, _ in rows), width // 3) + 2
    for name, text in rows:
        _print(console, name, text, column, width)
    console.print()


def _print(console: Console, name: str, text: str, column: int, width: int) -> None:
    """A name and a text beside it; below it where the name is too long."""
    lines = list(fill(text, width - INDENT - column)) if text else []
    if name and cell_len(name) + 2 > column:
        lines.insert(0, "")
    for at, line in enumerate(lines or [""] if name else lines):
        shown = name if at == 0 else ""
        blanks = " " * (column - cell_len(shown))
        whole = Text.assemble(" " * INDENT, (shown, "bold cyan"), blanks, line)
        whole.rstrip()
        console.print(whole, soft_wrap=True)


def _row(record: tuple[str, str]) -> tuple[str, str]:
    """A parameter and its help, both in Chinese."""
    name, text = record
    marks = _MARKS.search(text)
    said = tr_help(text[: marks.start()] if marks else text)
    return name, said + (f"［{_marks(marks[1])}］" if marks else "")


def _marks(text: str) -> str:
    for english, chinese in _MARK.items():
        text = text.replace(english, chinese)
    return text.replace("; ", "；")
