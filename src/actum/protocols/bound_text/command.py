"""Values in commands, statements and patterns."""

from __future__ import annotations

import re
import shlex

from .part import Given, NoPlace, Parts

_SYNTAX = re.compile(r"[\\^$.*+?()\[\]{}|/]")


def bind_shell(parts: Parts) -> str:
    """A command line for a POSIX shell: a value is one word. It has no place within quotes, or beside other letters.

    Raises:
        NoPlace: a value can not stand at its place.

    >>> bind_shell(["grep -- ", Given.of("a; rm x"), " notes.txt"])
    "grep -- 'a; rm x' notes.txt"
    """
    written = ""
    for part in parts:
        if not isinstance(part, Given) or part.encoded == "raw":
            written += part if isinstance(part, str) else part.text
            continue
        if not re.fullmatch(r"[^\\\"'`#$<>&|;(){}]*\s", written) or "\0" in part.text:
            raise NoPlace("expected the value as a word of its own, before any quotes and other signs of the shell")
        written += shlex.quote(part.text)
    return written


def bind_statement(parts: Parts) -> str:
    """A statement, such as one of SQL. Values are parameters of a statement, and never its text.

    Raises:
        NoPlace: a value stands in the statement.
    """
    if len(parts) > 1 and any(isinstance(part, Given) and part.encoded != "raw" for part in parts):
        raise NoPlace("expected no value in a statement: give it to the tool as a parameter of the statement")
    return "".join(part if isinstance(part, str) else part.text for part in parts)


def bind_pattern(parts: Parts) -> str:
    """A regular expression: a value is the text that it is (as `RegExp.escape` writes it).

    >>> bind_pattern(["^", Given.of("a.b"), "$"])
    '^a\\\\.b$'
    """
    return "".join(
        part
        if isinstance(part, str)
        else part.text
        if not isinstance(part, Given) or part.encoded == "raw"
        else _SYNTAX.sub(r"\\\g<0>", part.text).replace("-", r"\x2d")
        for part in parts
    )
