"""Extracts the sentences of the source into the catalogue of Chinese: `make locale`.

What is extracted: the message of every error and refusal, what the command line says, `Sentence(...)`, the texts of
`--help`, and every other text of the source that has an entry already. Entries that are `matched` (messages of
libraries, and what is wrong with a definition) stay as they are.
"""

from __future__ import annotations

import ast
import functools
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from actum.cli.app import Unloaded, app
from actum.core.language.translation import CATALOGUE

SOURCE = Path(__file__).parents[1] / "src" / "actum"
MATCHED = frozenset({"expected", "hint", "message", "reason", "waiting"})
"""Contexts whose entries are patterns of finished messages, which no place in the source has as a template."""

WORD = frozenset({"line", "needs_key", "not_found", "page", "table", "tr", "wants", "ListColumn"})
"""What is called with a text for a person that may be one word."""
CALLED = WORD | {"_said", "ask", "begin", "busy", "error", "note", "HttpRefusal", "Refusal", "Sentence"}
"""What is called with a text for a person, beside the errors."""
STYLE = re.compile(r"(bold |dim )*(cyan|green|magenta|red|yellow|dim)")
"""How a line looks, which is no text."""
OF_A_COMMAND = frozenset({"AnswerText", "Command", "ListColumn"})
"""What an operation's command is made of; the values of its texts come from the answer."""


HEADER = r"""# What actum says to people and models, in Chinese. See docs/decisions/0024-languages.md.
msgid ""
msgstr ""
"Content-Type: text/plain; charset=utf-8\n"
"Content-Transfer-Encoding: 8bit\n"
"Language: zh\n"

"""


class SaidSentence(NamedTuple):
    """A sentence in the source.

    Attributes:
        path: the file, below `src/actum`.
        line: where the call begins.
        template: the sentence in English.
        names: what the call has keywords for; None where the keywords are not said one by one.
        called: the name of what is called.
    """

    path: str
    line: int
    template: str
    names: frozenset[str] | None
    called: str


class FileNodes(NamedTuple):
    """What is looked at in a file of the source, in the order of `ast.walk`."""

    classes: list[ast.ClassDef]
    calls: list[ast.Call]
    texts: list[str]


@functools.cache
def files() -> dict[str, FileNodes]:
    """Every file of the source, walked through once, by its path."""
    found: dict[str, FileNodes] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        its = found[path.relative_to(SOURCE).as_posix()] = FileNodes([], [], [])
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                its.classes.append(node)
            elif isinstance(node, ast.Call):
                its.calls.append(node)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                its.texts.append(node.value)
    return found


@functools.cache
def errors() -> frozenset[str]:
    """The names of all classes below `ActumError`."""
    bases = {
        node.name: {ast.unparse(base).split(".")[-1] for base in node.bases}
        for its in files().values()
        for node in its.classes
    }
    found = {"ActumError"}
    while more := {name for name, above in bases.items() if above & found} - found:
        found |= more
    return frozenset(found)


@functools.cache
def sentences() -> tuple[SaidSentence, ...]:
    """Every sentence that the source says to a person, in the order of files."""
    saying = errors() | CALLED | OF_A_COMMAND | {"__init__"}
    return tuple(said for path, its in files().items() for said in _sentences(path, its.calls, saying))


def _sentences(path: str, calls: Sequence[ast.Call], saying: frozenset[str]) -> Iterator[SaidSentence]:
    for node in calls:
        called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if called not in saying:  # what else is made of a list says what stands in the place of an empty one
            for text in [text for each in node.keywords if each.arg == "empty" for text in _texts(each.value)]:
                yield SaidSentence(path, node.lineno, text, None, called)
            continue
        whole = ast.unparse(node.func)
        if whole.split(".")[0] == "log" or (called == "__init__" and whole != "super().__init__"):
            continue
        named = [keyword.arg for keyword in node.keywords]
        names = (
            None if None in named or called in OF_A_COMMAND else frozenset(name for name in named if name is not None)
        )
        for argument in [
            *(node.args[:1] if called == "ListColumn" else node.args[1:] if called == "wants" else node.args),
            *(each.value for each in node.keywords if each.arg == "empty"),
        ]:
            for text in _texts(argument):
                if is_sentence(text, called):
                    yield SaidSentence(path, node.lineno, text, names, called)
        for label in node.args[1:2] if called == "AnswerText" else ():
            for text in _texts(label):
                if is_sentence(text, "line") and not text.startswith("-"):
                    yield SaidSentence(path, node.lineno, text, names, called)


def _texts(argument: ast.expr) -> Iterator[str]:
    match argument:
        case ast.Constant(value=str(text)):
            yield text
        case ast.IfExp(body=body, orelse=orelse):
            yield from _texts(body)
            yield from _texts(orelse)
        case _:
            pass


def is_sentence(text: str, called: str) -> bool:
    """Whether an argument is a text for a person, and no word for a program."""
    if STYLE.fullmatch(text) or not re.search(r"[a-z]", text):
        return False
    return " " in text.strip() or called in WORD or called == "Sentence"


def help_texts(command: object) -> Iterator[str]:
    """What `--help` says of a command and those below it."""
    assert isinstance(command, TyperCommand | TyperGroup)
    found = [command.help, command.epilog, *(getattr(parameter, "help", None) for parameter in command.params)]
    yield from (" ".join(text.split()) for text in found if text)
    if isinstance(command, TyperGroup):
        for inner in command.commands.values():
            yield from help_texts(inner.loaded() if isinstance(inner, Unloaded) else inner)


def extracted(known: Catalog) -> Catalog:
    """The catalogue as the source is now, without any Chinese."""
    made = Catalog()
    old = {(each.context or "", each.id): each for each in known if each.id}
    for said in sentences():
        made.add(said.template, locations=[(f"src/actum/{said.path}", 0)])
    constants = {text: path for path, its in files().items() for text in its.texts}
    for context, text in old:
        assert isinstance(text, str)
        if context in MATCHED:
            made.add(text, context=context)
        elif context == "" and text in constants:
            made.add(text, locations=[(f"src/actum/{constants[text]}", 0)])
    for text in {*help_texts(get_command(app)), "Show this message and exit."}:
        made.add(text, context="help")
    return made


def updated() -> Catalog:
    """The catalogue of Chinese with the sentences of the source: new ones without Chinese, and no old ones."""
    with CATALOGUE.open("rb") as file:
        known = read_po(file, locale="zh")
    template = extracted(known)
    known.update(template, no_fuzzy_matching=True)
    known.obsolete.clear()
    return known


def written(catalogue: Catalog) -> str:
    """The catalogue in its one form: sorted, with the files of each entry and no lines, so that it changes little."""
    file = io.BytesIO(HEADER.encode())
    file.seek(0, io.SEEK_END)
    write_po(file, catalogue, width=120, sort_output=True, include_lineno=False, omit_header=True)
    return file.getvalue().decode()


if __name__ == "__main__":
    CATALOGUE.write_text(written(updated()), "utf-8")
