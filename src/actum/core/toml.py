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
_LONG_KEY = re.compile(rf"{_BEFORE}(?:{_PART}[ \t]*+\.[ \t]*+){{{KEY_PARTS_MAX}}}", re.MULTILINE)


def read_toml(text: str) -> dict[str, Any]:
    """Read TOML.

    Args:
        text: the whole text.

    Returns:
        The tables of the text, as `tomllib` gives them: numbers have at most as many digits as Python reads.

    Raises:
        tomllib.TOMLDecodeError: the text is no TOML, is nested too deep, or has a key or a number that is too long.

    >>> read_toml("[a]\\nb.c = 1")
    {'a': {'b': {'c': 1}}}
    """
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
