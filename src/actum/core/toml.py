"""The one place where TOML text becomes a value.

`tomllib` makes a table for each part of a dotted key and looks at all tables above each: the work and the memory of
one long key grow with the square of its parts, and 64 KB of `a.a.a` would take gigabytes.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

from .json import dumps, is_too_deep

KEY_PARTS_MAX = 32
"""A dotted key, or the name of a table, may have this many parts."""
_PART = r"""(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
_BEFORE = r"(?:^|(?<=[ \t\[{,])(?<!\.[ \t]))"
_DOTTED = rf"{_PART}(?:[ \t]*\.[ \t]*{_PART})*"
_HEADER = re.compile(rf"[ \t]*\[\[?[ \t]*({_DOTTED})[ \t]*\]")
_KEY = re.compile(rf"([ \t]*)({_DOTTED})[ \t]*=")
_LONG_KEY = re.compile(rf"{_BEFORE}(?:{_PART}[ \t]*+\.[ \t]*+){{{KEY_PARTS_MAX}}}", re.MULTILINE)


def toml_place(error: tomllib.TOMLDecodeError) -> tuple[str, int, int]:
    """What is wrong with a text that is no TOML, and its line and column, counted from 1.

    >>> toml_place(tomllib.TOMLDecodeError("Cannot overwrite a value (at line 2, column 9)"))
    ('Cannot overwrite a value', 2, 9)
    """
    found = re.fullmatch(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", str(error), re.DOTALL)
    return (found[1], int(found[2] or 1), int(found[3] or 1)) if found else (str(error), 1, 1)


def toml_places(text: str) -> dict[tuple[str | int, ...], tuple[int, int]]:
    """Line and column of each key that begins a line, by the names that lead there; not of those in inline tables.

    Args:
        text: TOML.

    >>> toml_places('name = "t"\\n[http]\\nurl = "x"')
    {('name',): (1, 1), ('http',): (2, 1), ('http', 'url'): (3, 1)}
    """
    found: dict[tuple[str | int, ...], tuple[int, int]] = {}
    table: tuple[str | int, ...] = ()
    inside = ""
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if not inside and (header := _HEADER.match(line)):
            table = tuple(_names(header[1]))
            found.setdefault(table, (number, 1))
        elif not inside and (key := _KEY.match(line)):
            place = (*table, *_names(key[2]))
            found.setdefault(place, (number, len(key[1]) + 1))
        for quotes in re.findall(r"\"\"\"|'''", line):
            inside = quotes if not inside else "" if quotes == inside else inside
    return found


def _names(key: str) -> list[str]:
    return [part.strip("\"'") for part in re.findall(_PART, key)]


def read_toml(text: str) -> dict[str, Any]:
    """Read TOML.

    Args:
        text: the whole text; also with the mark that some editors write in front of it.

    Returns:
        The tables of the text, as `tomllib` gives them: numbers have at most as many digits as Python reads.

    Raises:
        tomllib.TOMLDecodeError: the text is no TOML, is nested too deep, or has a key or a number that is too long.

    >>> read_toml("[a]\\nb.c = 1")
    {'a': {'b': {'c': 1}}}
    """
    text = text.removeprefix("\ufeff")
    if found := _LONG_KEY.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise tomllib.TOMLDecodeError(f"A key has more than {KEY_PARTS_MAX} parts (at line {line}, column 1)")
    try:
        value: dict[str, Any] = tomllib.loads(text)
        dumps(value)  # a hexadecimal number may have more digits than Python writes
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise tomllib.TOMLDecodeError("The text is nested too deep") from None
    except ValueError as error:
        raise tomllib.TOMLDecodeError(str(error).partition(";")[0]) from None
    if is_too_deep(value):
        raise tomllib.TOMLDecodeError("The text is nested too deep")
    return value
