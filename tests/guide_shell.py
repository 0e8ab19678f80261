"""Types the commands of the guides, as a reader does: those of actum in this process, the others as programs.

A program that runs on (`actum serve`) and one that installs are read and not started: the words have to be understood,
and the extras to be there.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import suppress
from importlib.metadata import metadata
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import pytest
import typer
from packaging.requirements import Requirement
from typer._click.core import Context
from typer.core import TyperGroup

from tests import warm
from tests.cli.typed import COMMAND, typed

from .guide_blocks import GuideCommand

INSTALLERS = ("pip", "pipx")
RUNS_ON = ("chat", "serve", "studio", "worker")
"""Commands that end when somebody ends them."""
OF_EXAMPLES = ("bookmarks",)
"""Commands of the worked examples, which are there when an example is installed."""
PROGRAMS = ("cat", "cp", "echo", "printf")
ID = re.compile(r"\b(run|ask|mem)_[0-9a-f]{4,}")
VARIES = (
    (ID.pattern, r"\1_ID"),
    (r"\b\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?", "TIME"),
    (r"\b\d+(\.\d+)? m?s\b", "SECONDS"),
    (r"[ \t]+", " "),
)
"""What differs from run to run, and what both sides have instead."""


class Printed(NamedTuple):
    """What a command wrote, and how it ended.

    Attributes:
        text: all that a reader sees.
        out: what goes into a pipe or a file.
        code: the exit code.
    """

    text: str = ""
    out: str = ""
    code: int = 0


class GuideShell:
    """The terminal of a reader, who begins in the present folder.

    Args:
        patch: by which the folder and the variables are changed.
    """

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch
        self._ids: dict[str, str] = {}

    def type_in(self, command: GuideCommand) -> Printed:
        """Carry out a line. An id with three dots is the last one of its kind that was printed.

        Raises:
            LookupError: a program is not known here; its block has to say why it is not run.
        """
        parts = list(command.parts())
        last = Printed()
        for at, (operator, words) in enumerate(parts):
            if operator in ("<", ">"):
                continue
            files = {sign: file for sign, (file,) in takewhile(lambda part: part[0] in ("<", ">"), parts[at + 1 :])}
            given = Path(files["<"]).read_text("utf-8") if "<" in files else last.out if operator == "|" else ""
            last = self._one([self._meant(word) for word in words], given)
            self._ids |= {found[1]: found[0] for found in ID.finditer(last.text)}
            if ">" in files:
                Path(files[">"]).write_text(last.out, "utf-8")
                last = last._replace(text=last.text.replace(last.out, ""), out="")
            if last.code:
                break
        return last

    def _meant(self, word: str) -> str:
        cut = re.sub(r"\b(run|ask|mem)_\w+\.\.\.", lambda found: self._ids[found[1]], word)
        return os.path.expandvars(cut)

    def _one(self, words: list[str], given: str) -> Printed:
        match words:
            case ["actum", *rest]:
                understand(words)
                if rest[0] in RUNS_ON:
                    return Printed()
                done = typed(*rest, input=given or None)
                return Printed(done.output, done.stdout, done.exit_code)
            case ["export", setting]:
                self._patch.setenv(*setting.split("=", 1))
            case ["cd", folder]:
                self._patch.chdir(folder)
            case [program, *_] if program in INSTALLERS:
                _are_there(words)
            case ["python", *rest]:
                ended = warm.run([sys.executable, *rest], capture_output=True, text=True)
                return Printed(ended.stdout + ended.stderr, ended.stdout, ended.returncode)
            case [program, *_] if program in PROGRAMS:
                ended = subprocess.run(words, input=given, capture_output=True, text=True, check=False)
                return Printed(ended.stdout + ended.stderr, ended.stdout, ended.returncode)
            case _:
                raise LookupError(f"there is no way to type {words[0]!r}: the fence has to say `not run: ` and why")
        return Printed()


def understand(words: list[str]) -> None:
    """Read the words of an `actum` command down to its last option, and begin nothing.

    Raises:
        typer._click.exceptions.UsageError: there is no such command, argument or option.
    """
    with suppress(typer.Exit):  # `--help` and `--version` answer as they are read
        context: Context = COMMAND.make_context(COMMAND.name, words[1:])
        while isinstance(group := context.command, TyperGroup) and (rest := [*context._protected_args, *context.args]):
            name, found, rest = group.resolve_command(context, rest)
            assert found is not None
            context = found.make_context(name, rest, parent=context)


def _are_there(words: list[str]) -> None:
    """The extras of actum that are installed are extras of the package."""
    for word in words:
        if found := re.search(r"\bactum[\w.-]*(\[[\w,]+\])", word):
            extras = Requirement(f"actum{found[1]}").extras
            assert extras <= {*metadata("actum").get_all("Provides-Extra", [])}, words


def fits(printed: str, shown: str) -> bool:
    """Whether a command printed what the guide shows, up to ids and times; three dots stand for anything."""
    for pattern, instead in VARIES:
        printed, shown = re.sub(pattern, instead, printed), re.sub(pattern, instead, shown)
    lines = [line.rstrip() for line in printed.strip().splitlines()]
    pattern = "\n".join(re.escape(line.rstrip()).replace(r"\.\.\.", r"[^§]*?") for line in shown.strip().splitlines())
    return re.fullmatch(pattern, "\n".join(lines)) is not None
