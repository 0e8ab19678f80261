"""What is wrong with a settings file: each mistake with its line, and what was probably meant. Pure.

`read_settings` raises the first mistake of a file; `actum config check` shows all of them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from types import UnionType
from typing import Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct

from ..core.json import dumps
from ..core.language.sentence import Sentence
from ..core.toml import read_toml

_LINE_OF_TOML = re.compile(r"\(at line (\d+),")
_TABLE = re.compile(r"^\s*(\[\[?)(.+?)\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""^\s*((?:[A-Za-z0-9_-]++|"[^"]*"|'[^']*'|\s*+\.\s*+)+?)\s*=""")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_NAMED = re.compile(r"\[(?P<table>[^\]]+)\](?: (?P<key>[a-z_]+):)?")
_LIST_AND_TABLES = Sentence('Beside tables such as [tools."crm_*"] the list of tools is `use = [...]` in [tools]')
_MARKS = ('"""', "'" * 3)


class Mistake(Struct, frozen=True, omit_defaults=True):
    """A mistake in a settings file.

    Attributes:
        file: the file; empty where that is not known.
        line: the line, from 1; 0 where that is not known.
        problem: what is wrong, in a sentence.
        hint: what to write instead.
    """

    file: str
    line: int
    problem: str
    hint: str = ""

    @property
    def text(self) -> str:
        """The mistake on one line."""
        if not self.file:
            return self.problem
        where = f"{self.file}, line {self.line}" if self.line else self.file
        return f"{where}: {self.problem}{f'. {self.hint}' if self.hint else ''}"


class Fault(Struct, frozen=True):
    """What is wrong with a table, and where in it.

    Attributes:
        path: the keys that lead there.
        problem, hint: as in `Mistake`.
    """

    path: tuple[str, ...]
    problem: str
    hint: str = ""


def unreadable(file: str, text: str, error: tomllib.TOMLDecodeError) -> Mistake:
    """A file whose text is no TOML."""
    found = _LINE_OF_TOML.search(str(error))
    hint = _LIST_AND_TABLES if "('tools'," in str(error) else ""
    return Mistake(file, int(found[1]) if found else len(text.splitlines()), f"can not be read: {error}", str(hint))


def placed(file: str, text: str, faults: Sequence[Fault]) -> list[Mistake]:
    """The faults of a file with their lines."""
    lines = _lines(text)
    return [Mistake(file, _line_of(fault.path, lines), fault.problem, fault.hint) for fault in faults]


def located(problem: str, texts: Mapping[str, str]) -> Mistake:
    """What is wrong with the settings as a whole, at the line that it speaks of.

    Args:
        problem: in a sentence; one that begins with `[table] key:` or `[table]` says where.
        texts: the text of each file by its name; of two that have the table, the later one holds.
    """
    found = _NAMED.match(problem)
    path = (*_keys(found["table"]), *([found["key"]] if found["key"] else [])) if found is not None else ()
    for file, text in reversed([*texts.items()]):
        if path and (line := _line_of(path, [each for each in _lines(text) if each[0][:1] == path[:1]])):
            return Mistake(file, line, problem)
    return Mistake("", 0, problem)


def faults_in(
    kind: type[Struct], table: Mapping[str, object], what: str, path: tuple[str, ...] = ()
) -> Iterator[Fault]:
    """What is wrong with a table that should become a struct.

    Args:
        kind: the struct.
        table: as it was read.
        what: what the keys of the table are called, such as `settings`.
        path: the keys that lead to the table.
    """
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    left: dict[str, object] = {}
    for key, value in table.items():
        if key not in fields:
            yield Fault(
                (*path, key), f"unknown field `{key}`", f"The {what} are: {', '.join(fields)}{meant(key, fields)}"
            )
        else:
            inner = _inner(fields[key].type, value)
            for name, kind_of_it, inner_table in inner:
                at = (*path, key, *name)
                yield from faults_in(kind_of_it, inner_table, f"fields of {_table(at)}", at)
            if not inner:
                left[key] = value
            elif inner[0][0] and isinstance(value, dict):  # beside tables there may stand what is none
                for name, each in value.items():
                    if not isinstance(each, dict):
                        yield from _converted(kind, {key: {name: each}}, (*path, key, name), path)
    if any(field.required for field in fields.values()):
        yield from _converted(kind, left, path)
        return
    for key, value in left.items():
        yield from _converted(kind, {key: value}, (*path, key), path)


def _converted(
    kind: type[Struct], table: Mapping[str, object], path: tuple[str, ...], above: tuple[str, ...] | None = None
) -> Iterator[Fault]:
    """The fault of a table that can not be converted. `above` leads to the table, where `path` is that of a key."""
    try:
        msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        inside = "".join(f".{key}" for key in (path if above is None else above))
        yield Fault(path, _plainly(str(error).replace("`$", f"`${inside}", 1), kind, path))


def _plainly(said: str, kind: type[Struct], path: tuple[str, ...]) -> str:
    """What the codec says, as a sentence for a person who writes TOML.

    >>> _plainly("Expected `int | null`, got `str` - at `$.limits.steps`", Struct, ("limits", "steps"))
    '`limits.steps`: give a whole number, not a text'
    >>> _plainly("Object contains unknown field `watch` - at `$.tools[0]`", Struct, ("tools",))
    '`tools[0]`: unknown field `watch`'
    """
    found = _CODEC.fullmatch(said)
    if found is None:
        return said
    where = found["place"].removeprefix("$").removeprefix(".")
    where = ".".join(path) if "[...]" in where else where  # the codec does not say which of a table's values
    if found["field"] is not None:
        return f"`{where}`: {'unknown field' if ' unknown ' in said else 'write'} `{found['field']}`"
    if found["value"] is not None:
        kinds = {each.encode_name: each.type for each in msgspec.structs.fields(kind)}
        values = [each for each in _values_of(kinds.get(path[-1] if path else "")) if isinstance(each, str)]
        among = f": give one of {', '.join(map(repr, values))}" if values else ""
        return f"`{where}`: there is no {found['value']}{among}"
    if meant_by_pattern := _meant_by_pattern(said, kind, path):
        return f"`{where}`: give {meant_by_pattern}"
    wanted = " or ".join(_NAMES.get(name, name) for name in found["wanted"].split(" | ") if name != "null")
    got = f", not {_NAMES.get(found['got'], found['got'])}" if found["got"] else ""
    return f"`{where}`: give {wanted}{found['rest']}{got}"


def _meant_by_pattern(said: str, kind: type[Struct], path: tuple[str, ...]) -> str:
    """What the pattern of a field stands for, in words; empty where the fault is another one, or no word is there."""
    if " matching regex " not in said or not path:
        return ""
    hint = get_type_hints(kind, include_extras=True).get(path[-1])
    return next((each.description for each in get_args(hint) if isinstance(each, Meta) and each.description), "")


def _values_of(kind: object) -> Iterator[object]:
    """The values of a literal type, also of one inside a union."""
    if get_origin(kind) is Literal:
        yield from get_args(kind)
    for each in get_args(kind) if get_origin(kind) in (Union, UnionType) else ():
        yield from _values_of(each)


_CODEC = re.compile(
    r"(?:Expected `(?P<wanted>[^`]+)`(?P<rest>(?: [^,`]+)?)(?:, got `(?P<got>[^`]+)`)?"
    r"|Invalid enum value (?P<value>.+)"
    r"|Object (?:contains unknown|missing required) field `(?P<field>.+)`)"
    r" - at `(?P<place>[^`]*)`"
)
_NAMES = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "datetime": "a date and time",
}
"""What the codec calls a kind of value, and what people call it."""


def meant(said: str, known: Mapping[str, object] | Sequence[str]) -> Sentence:
    """`. Did you mean ...?` where one of the known names is near; empty where none is."""
    near = get_close_matches(said, list(known), n=1)
    return Sentence(". Did you mean `{name}`?", name=near[0]) if near else Sentence("")


def _table(path: Sequence[str]) -> str:
    """The header of a table.

    >>> _table(("models", "gpt-5.1"))
    '[models."gpt-5.1"]'
    """
    return f"[{'.'.join([key if _BARE.fullmatch(key) else dumps(key) for key in path])}]"


def _inner(kind: object, value: object) -> list[tuple[tuple[str, ...], type[Struct], Mapping[str, object]]]:
    """The tables inside a value that become structs: the value itself, or the values of a mapping."""
    if not isinstance(value, dict):
        return []
    for option in get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,):
        if isinstance(option, type) and issubclass(option, Struct):
            return [((), option, value)]
        of = get_args(option)
        if len(of) == 2 and isinstance(of[1], type) and issubclass(of[1], Struct):
            return [((name,), of[1], table) for name, table in value.items() if isinstance(table, dict)]
    return []


def _line_of(path: tuple[str, ...], lines: Sequence[tuple[tuple[str, ...], int]]) -> int:
    """The line of the longest beginning of a path that is written down by itself."""
    for length in range(len(path), 0, -1):
        for known, line in lines:
            if known[:length] == path[:length]:
                return line
    return 0


def _lines(text: str) -> list[tuple[tuple[str, ...], int]]:
    """The path of each table and key that begins a line, with the line's number."""
    found: list[tuple[tuple[str, ...], int]] = []
    table: tuple[str, ...] = ()
    open_mark = ""
    for number, line in enumerate(text.splitlines(), 1):
        if open_mark:
            if line.count(open_mark) % 2:
                open_mark = ""
            continue
        if header := _TABLE.match(line):
            table = _keys(header[2])
            found.append((table, number))
        elif key := _KEY.match(line):
            found.append(((*table, *_keys(key[1])), number))
            open_mark = next((mark for mark in _MARKS if line.count(mark) % 2), "")
    return found


def _keys(written: str) -> tuple[str, ...]:
    """The keys of a dotted key as TOML reads it."""
    try:
        table: object = read_toml(f"{written} = 0")
    except tomllib.TOMLDecodeError:
        return ()
    keys: list[str] = []
    while isinstance(table, dict):
        (key,) = table
        keys.append(key)
        table = table[key]
    return tuple(keys)
