"""JSON with comments and trailing commas, as editors write their settings (JSONC). Pure.

What is not JSON is replaced by blanks of the same length, so an error of the JSON reader names the place in the file.
A byte order mark at the beginning is passed over as well. Everything else is left to the JSON reader, which is strict.

Source: "JSON with Comments" as VS Code, Cursor and Zed read their settings.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"""
      (?P<string>  " (?: [^"\\]++ | \\. )*+ (?: " | \\?\Z ) )
    | (?P<comment> //[^\r\n]*+ | /\* .*? \*/ )
    | (?P<endless> /\* .*+ )
    | (?P<blank>   [ \t\r\n]++ )
    | (?P<comma>   , )
    | (?P<close>   [\]}] )
    | (?P<other>   [^"/,\]} \t\r\n]++ | / )
    """,
    re.VERBOSE | re.DOTALL,
)
_VISIBLE = re.compile(r"[^\r\n]")


def plain_json(text: str) -> str:
    r"""The text without comments and without commas that stand before a closing bracket.

    A comma that follows no value stays, and so does a comment without an end: the JSON reader refuses both.

    >>> plain_json('{"a": 1, // one\n}')
    '{"a": 1        \n}'
    """
    parts: list[str] = []
    comma, after_value = -1, False
    for found in _TOKEN.finditer(text.removeprefix("\ufeff")):
        kind, word = found.lastgroup, found.group()
        if kind == "comment":
            word = _VISIBLE.sub(" ", word)
        elif kind == "comma":
            comma, after_value = (len(parts) if after_value else -1), False
        elif kind != "blank":
            if kind == "close" and comma >= 0:
                parts[comma] = " "
            comma, after_value = -1, word[-1] not in "[{:"
        parts.append(word)
    return "".join(parts)
