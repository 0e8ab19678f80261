"""Reads the text of a definition, in JSON, YAML or TOML, and says what does not fit with its place. Pure."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Collection, Sequence
from typing import TypeVar

import msgspec
from msgspec import Struct, structs

from ..core.definition import BadText, TextProblem
from ..core.errors import UsageError
from ..core.json import JsonObject, dumps
from ..core.language.sentence import Sentence
from ..core.toml import read_toml, toml_place, toml_places
from .source_text import BYTES_MAX, Place, SourceText, read_text

Kind = TypeVar("Kind", bound=Struct)

_TOML = re.compile(r"(?:\s*(?:#[^\n]*)?\n)*\s*(?:\[[^\n]*\]|[\w.\"'-]+\s*=)")
_WHERE = re.compile(r"(.*) - at `(?:key in )?\$\.?(.*)`")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`")


def read_any_text(text: str) -> SourceText:
    """Read JSON, YAML or TOML. YAML has no aliases.

    Raises:
        BadText: the text is none of the three, too large, or too deep.
    """
    if not _TOML.match(text):
        return read_text(text, yaml_bytes_max=BYTES_MAX, aliases=False)
    if len(text.encode("utf-8", "replace")) > BYTES_MAX:
        raise BadText([TextProblem(Sentence("the text has more than {most} bytes", most=BYTES_MAX))])
    try:
        return SourceText(msgspec.to_builtins(read_toml(text)), toml_places(text), [])
    except tomllib.TOMLDecodeError as error:
        why, line, column = toml_place(error)
        raise BadText([TextProblem(Sentence("this is no TOML: {detail}", detail=why), line, column)]) from None


def read_struct(text: str, header: str, kind: type[Kind]) -> Kind:
    """The struct that a text holds.

    Args:
        text: JSON, YAML or TOML.
        header: what the field `actum` says, such as `agent/1`; it may be left out.
        kind: the struct. It refuses fields that it does not know.

    Raises:
        BadText: something is wrong with the text; each problem names its place and what would be right.
    """
    source = read_any_text(text)
    if not isinstance(source.value, dict):
        raise BadText([TextProblem(Sentence("a definition is an object"), hint=Sentence("begin with name: desk"))])
    if source.problems:
        raise BadText(source.problems)
    fields: JsonObject = dict(source.value)
    said = fields.pop("actum", header)
    if said != header:
        told = Sentence("actum: {said} is another kind of definition", said=str(said)[:60])
        raise BadText([TextProblem(told, *source.at(("actum",)), Sentence("write {header}", header=header), "actum")])
    try:
        return msgspec.convert(fields, kind)
    except msgspec.ValidationError as error:
        message: Sentence | str
        message, place, unknown = misfit(error)
        hint = meant_field(unknown, kind.__struct_fields__) if unknown and not place else ""
        if unknown:
            message, place = Sentence("there is no field {unknown!r} here", unknown=unknown[:60]), (*place, unknown)
        raise BadText([TextProblem(message, *source.at(place), hint, ".".join(map(str, place)))]) from None


def located(problems: Sequence[TextProblem], text: str) -> tuple[TextProblem, ...]:
    """The same problems, each with the line and column of the place that its path names.

    Args:
        problems: of the text. Those that have a line already keep it.
        text: the definition, as it was written.

    >>> found = located([TextProblem("?", path="http.url")], "name: a\\nhttp:\\n  url: b")
    >>> [(each.line, each.column) for each in found]
    [(3, 3)]
    """
    if all(each.line > 1 or each.column > 1 or not each.path for each in problems):
        return tuple(problems)
    try:
        source = read_any_text(text)
    except UsageError:
        return tuple(problems)
    inside = source.value.get("function") if isinstance(source.value, dict) else None

    def in_place(problem: TextProblem) -> TextProblem:
        if problem.line > 1 or problem.column > 1 or not problem.path:
            return problem
        place: Place = tuple(int(each) if each.isdigit() else each for each in problem.path.split("."))
        if isinstance(inside, dict) and place[0] in inside:
            place = ("function", *place)
        line, column = source.at(place)
        return structs.replace(problem, line=line, column=column)

    return tuple(map(in_place, problems))


def with_name(text: str, name: str) -> str:
    """A text that has no name of its own, with a name. What else is in it stays as it is.

    Args:
        text: JSON, YAML or TOML, an object.
        name: the name.

    >>> with_name('{"model": "a"}', "desk"), with_name("model: a", "desk")
    ('{"name": "desk", "model": "a"}', 'model: a\\nname: "desk"\\n')
    >>> with_name('# ours\\nmodel = "a"\\n', "desk")
    'name = "desk"\\n# ours\\nmodel = "a"\\n'
    """
    written = dumps(name)
    if text.lstrip().startswith("{"):
        return text.replace("{", '{"name": ' + written + ", ", 1)
    if _TOML.match(text):
        return f"name = {written}\n{text}"
    return f"{text}{'' if text.endswith(chr(10)) else chr(10)}name: {written}\n"


def misfit(error: msgspec.ValidationError) -> tuple[str, Place, str]:
    """What msgspec says of a value that does not fit: the words, the place, and the name of a field that there is not;
    the place is then where the field is.

    >>> try:
    ...     msgspec.convert({"placed": 1}, msgspec.defstruct("Problem", ["message"]))
    ... except msgspec.ValidationError as error:
    ...     misfit(error)
    ('Object missing required field `message`', (), '')
    """
    told = str(error)
    found = _WHERE.fullmatch(told)
    parts = re.split(r"[.\[\]]+", found[2].strip("[]")) if found else []
    message = found[1] if found else told
    place = tuple(int(each) if each.isdigit() else each for each in parts if each)
    unknown = _UNKNOWN.fullmatch(message)
    return message, place, unknown[1] if unknown is not None else ""


def meant_field(name: str, known: Collection[str]) -> str:
    """A hint for a field that there is not."""
    near = difflib.get_close_matches(name, known, 1)
    return f"write {near[0]}" if near else f"the fields are {', '.join(known)}"
