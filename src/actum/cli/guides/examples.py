"""`actum examples`: the worked examples that come along, listed, and copied with what they import."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from ...compose.extras import EXTRAS, install, missing_extras
from ...core.errors import UnknownName, UsageError
from ...server.near_names import near_names
from ..exit_codes import DONE
from ..language import language
from ..options import JsonFlag
from ..show.terminal import Terminal, said
from .pages import PACKAGE, all_pages, in_language

HOMES = (PACKAGE / "examples", PACKAGE.parents[1] / "examples")
"""Where the examples are: in the wheel, and in a checkout."""
FOLDER = "examples"
NEAR_MAX = 3

_ROW = re.compile(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|", re.MULTILINE)

app = typer.Typer(help="Worked examples: list them, copy one with what it imports.")


class WorkedExample(NamedTuple):
    """A row of the page `examples`.

    Attributes:
        name: of its folder.
        shows: what it shows.
        says: how its model says calls.
        needs: the extras of actum without which it does not run.
    """

    name: str
    shows: str
    says: str
    needs: tuple[str, ...]


@app.command("list")
def list_examples(as_json: JsonFlag = False) -> int:
    """List the worked examples, in the order of the history of tool calling."""
    terminal, found = Terminal(), worked_examples()
    if as_json:
        terminal.json([each._asdict() for each in found])
        return DONE
    terminal.table("example", "what it shows", rows=[(each.name, each.shows) for each in found])
    terminal.note("`actum examples copy NAME` copies one, `actum docs examples` tells more.")
    return DONE


@app.command("copy")
def copy_example(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The example.")],
    into: Annotated[Path, typer.Option("--into", metavar="DIR", help="Where the folder `examples` is made.")] = Path(),
) -> int:
    """Copy an example, with what it imports, into the folder examples.

    Where a file there differs from what would be copied, nothing is written.
    """
    terminal, name = Terminal(), said(name)
    example = _named(name)
    texts = {FOLDER + "/" + path: (_home() / path).read_bytes() for path in sorted(files_of(example.name))}
    changed = [path for path, text in texts.items() if (into / path).exists() and (into / path).read_bytes() != text]
    if changed:
        raise UsageError(
            "{names} of {folder} differ from the example, and nothing was written: choose another folder by --into, or "
            "move them away",
            names=", ".join(changed),
            folder=into,
        )
    try:
        for path, text in texts.items():
            (into / path).parent.mkdir(parents=True, exist_ok=True)
            (into / path).write_bytes(text)
    except OSError as error:
        raise UsageError("{folder} can not be written: {why}", folder=into, why=error.strerror or error) from None
    terminal.note("copied {count:file|files} into {folder}", count=len(texts), folder=into / FOLDER)
    if lacking := missing_extras({*example.needs} & EXTRAS.keys()):
        terminal.note("It needs packages that are not installed: {command}", command=install(*lacking))
    main = f"{FOLDER}/{example.name}/main.py"
    start = f"python {into / main}" if main in texts else f"pip install ./{into / FOLDER / example.name}"
    terminal.note("Start it: {command}", command=start)
    return DONE


def worked_examples() -> list[WorkedExample]:
    """The examples, as the page `examples` lists them in the language of the person."""
    text = in_language(all_pages(), language())["examples"].text
    return [
        WorkedExample(name, shows.replace("`", ""), says.replace("`", ""), tuple(re.findall(r"\w+", needs)))
        for name, shows, says, needs in _ROW.findall(text)
    ]


def files_of(name: str) -> set[str]:
    """The files of an example, and those of the examples' folder that they import, with their paths in that folder."""
    home = _home()
    found = {path.relative_to(home).as_posix() for path in (home / name).rglob("*") if path.is_file()}
    found = {path for path in found if "__pycache__" not in path}
    left = sorted(found)
    while left:
        path = left.pop()
        for imported in _imported(home, path) - found if path.endswith(".py") else ():
            found.add(imported)
            left.append(imported)
    return found


def _imported(home: Path, path: str) -> set[str]:
    """The files of the examples that a file imports, with `__init__.py` of each package on the way."""
    wanted: set[str] = set()
    for module in _modules(ast.parse((home / path).read_bytes()), path.split("/")[:-1]):
        parts = module.split(".")
        wanted |= {"/".join([*parts[:end], "__init__.py"]) for end in range(len(parts) + 1)}
        wanted.add("/".join(parts) + ".py")
    return {each for each in wanted if (home / each).is_file()}


def _modules(tree: ast.Module, package: list[str]) -> Iterator[str]:
    """The modules below `examples` that are imported, without the name `examples`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            base = [*package[: len(package) - node.level + 1]] if node.level else []
            named = ".".join([*base, *(node.module or "").split(".")]).strip(".")
            if node.level or named.split(".")[0] == FOLDER:
                inside = named if node.level else named.removeprefix(FOLDER).removeprefix(".")
                yield from (inside, *(f"{inside}.{each.name}".strip(".") for each in node.names))
        elif isinstance(node, ast.Import):
            yield from (each.name.removeprefix(f"{FOLDER}.") for each in node.names if each.name.startswith(FOLDER))


def _home() -> Path:
    home = next((home for home in HOMES if home.is_dir()), None)
    if home is None:
        raise UsageError("this installation has no examples: they belong into {folder}", folder=str(HOMES[0]))
    return home


def _named(name: str) -> WorkedExample:
    known = {each.name: each for each in worked_examples()}
    if name in known:
        return known[name]
    near = near_names(name, list(known), NEAR_MAX)
    if near:
        raise UnknownName("there is no example {name!r}; near it: {near}", name=name, near=", ".join(near))
    raise UnknownName("there is no example {name!r}: `actum examples list` lists them", name=name)
