"""The reference as Markdown, made of what the code says of itself: public names, commands, the HTTP API, settings."""

from __future__ import annotations

import inspect
import json
import re
import typing
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType

import msgspec
import typer
from docstring_parser import parse
from msgspec import Struct
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from actum.cli.app import Unloaded, app
from actum.compose.settings import SettingsFile

OPENAPI = Path(__file__).parents[2] / "docs" / "openapi.json"
MODULES = (
    *("actum", "actum.errors", "actum.events", "actum.messages", "actum.memory", "actum.browser", "actum.toolsets"),
    *("actum.secrets", "actum.testing", "actum.features"),
)
"""The modules whose names a program may rest on."""


def reference_pages() -> tuple[dict[str, str], list[str]]:
    """The pages of the reference, by their paths, and the public names that have no docstring."""
    lacking: list[str] = []
    pages = {
        "reference/python.md": _python(lacking),
        "reference/commands.md": _commands(),
        "reference/api.md": _api(),
        "reference/settings.md": _settings(),
    }
    return pages, lacking


def _python(lacking: list[str]) -> str:
    lines = ["# Python", "", "Every name that a program may rest on, by its module.", ""]
    for module in map(import_module, MODULES):
        lines += [f"## {module.__name__}", "", _plain(inspect.getdoc(module) or ""), ""]
        for name in _names(module):
            thing: object = getattr(module, name)
            lines += _described(f"{module.__name__}.{name}", name, thing, 3, lacking)
    return "\n".join(lines)


def _names(module: ModuleType) -> list[str]:
    return sorted(module.__all__)


def _described(whole: str, name: str, thing: object, level: int, lacking: list[str]) -> Iterator[str]:
    """A class or function: its signature, what it is, arguments, result, errors; a class with its methods."""
    doc = inspect.getdoc(thing) if callable(thing) or inspect.ismodule(thing) else None
    yield from (f"{'#' * level} {name}", "")
    if not callable(thing) or typing.get_origin(thing) is not None:
        yield from (f"A type: `{_one_line(thing)}`.", "")
        return
    if not doc:
        lacking.append(whole)
        return
    yield from ("```python", f"{name}{_signature(thing)}", "```", "")
    yield from _docstring(doc)
    if inspect.isclass(thing):
        for method, member in sorted(vars(thing).items()):
            function = inspect.unwrap(getattr(member, "__func__", member)) if callable(member) else None
            if not method.startswith("_") and inspect.isfunction(function) and inspect.getdoc(function):
                yield from _described(f"{whole}.{method}", f"{name}.{method}", function, level + 1, lacking)


def _signature(thing: typing.Callable[..., object]) -> str:
    try:
        said = str(inspect.signature(thing))
    except (TypeError, ValueError):
        return "(...)"
    return re.sub(r"\b(?:actum|collections|typing)\.[\w.]*\.?(?=\w)", "", said.replace("'", ""))


def _docstring(text: str) -> Iterator[str]:
    doc = parse(text)
    yield from (_plain("\n\n".join(filter(None, (doc.short_description, doc.long_description)))), "")
    if doc.params:
        yield from ("| name | |", "|---|---|")
        yield from (f"| `{each.arg_name}` | {_cell(each.description)} |" for each in doc.params)
        yield ""
    if doc.returns and doc.returns.description:
        yield from (f"Returns: {_cell(doc.returns.description)}", "")
    for error in doc.raises:
        yield from (f"Raises `{error.type_name}`: {_cell(error.description)}", "")
    for example in doc.examples:
        yield from ("```python", example.snippet or example.description or "", "```", "")


def _commands() -> str:
    lines = ["# Commands", "", "Every command, as `--help` says it.", ""]
    root = get_command(app)
    assert isinstance(root, TyperGroup)
    for words, command in _every_command(root, ("actum",)):
        context = typer.Context(command, info_name=" ".join(words))
        lines += [f"## {' '.join(words)}", "", _plain(command.help or ""), ""]
        rows = [param.get_help_record(context) for param in command.params]
        if told := [row for row in rows if row is not None and "--help" not in row[0]]:
            lines += ["| | |", "|---|---|", *(f"| `{name}` | {_cell(text)} |" for name, text in told), ""]
    return "\n".join(lines)


def _every_command(group: TyperGroup, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], TyperCommand]]:
    for name, each in group.commands.items():
        command = each.loaded() if isinstance(each, Unloaded) else each
        if isinstance(command, TyperGroup):
            yield from _every_command(command, (*words, name))
        elif isinstance(command, TyperCommand):
            yield (*words, name), command


def _api() -> str:
    document = json.loads(OPENAPI.read_text("utf-8"))
    lines = ["# The HTTP API", "", "Every operation, as `docs/openapi.json` has it.", ""]
    for tag in document["tags"]:
        lines += [f"## {tag['name']}", "", _plain(tag["description"]), ""]
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                if isinstance(operation, dict) and operation.get("tags") == [tag["name"]]:
                    lines += _operation(f"{method.upper()} {path}", operation, document["components"]["schemas"])
    return "\n".join(lines)


def _operation(title: str, told: Mapping[str, typing.Any], schemas: Mapping[str, typing.Any]) -> Iterator[str]:
    yield from (f"### {title}", "", _plain(told["summary"]), "", _plain(told.get("description", "")), "")
    rows = [(each["name"], each.get("description", "")) for each in told.get("parameters", ())]
    for content in told.get("requestBody", {}).get("content", {}).values():
        named = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
        fields = schemas.get(named, {}).get("properties", {})
        rows += [(name, field.get("description", "")) for name, field in fields.items()]
    if rows:
        yield from ("| field | |", "|---|---|", *(f"| `{name}` | {_cell(text)} |" for name, text in rows), "")


def _settings() -> str:
    lines = ["# Settings", "", "Every setting of `actum.toml`, with its default.", ""]
    seen: set[type[Struct]] = set()
    left: list[tuple[str, type[Struct]]] = [("actum.toml", SettingsFile)]
    while left:
        title, struct = left.pop(0)
        if struct in seen:
            continue
        seen.add(struct)
        doc = inspect.getdoc(struct) or ""
        about = {name: each.description for each in parse(doc).params for name in each.arg_name.split(", ")}
        lines += [f"## {title}", "", _plain(parse(doc).short_description or ""), ""]
        lines += ["| setting | default | |", "|---|---|---|"]
        for field in msgspec.structs.fields(struct):
            default = "" if field.required else f"`{_cell(_default(field))}`"
            lines.append(f"| `{field.encode_name}` | {default} | {_cell(about.get(field.name, ''))} |")
            left += [(f"{each.__name__}", each) for each in _structs(field.type)]
        lines.append("")
    return "\n".join(lines)


def _default(field: msgspec.structs.FieldInfo) -> str:
    value = field.default if field.default is not msgspec.NODEFAULT else field.default_factory
    return "" if isinstance(value, type) or value is msgspec.NODEFAULT or callable(value) else _one_line(value)


def _structs(kind: object) -> Iterator[type[Struct]]:
    if isinstance(kind, type) and issubclass(kind, Struct):
        yield kind
    for inside in typing.get_args(kind):
        yield from _structs(inside)


def _one_line(thing: object) -> str:
    return " ".join(str(thing).split())[:200]


def _plain(text: str) -> str:
    """A docstring as Markdown: what looks like an example in a prompt, or is indented, is code."""
    text = re.sub(r"^(>>> .*(?:\n(?:\.\.\. |(?!\s*$)).*)*)", r"```python\n\1\n```", text, flags=re.MULTILINE)
    return text.replace("<", "&lt;") if "```" not in text else text


def _cell(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|").replace("<", "&lt;")
