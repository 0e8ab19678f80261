"""Which grammar a text has: by its content type, by its own look, or by the schema of the parameter that takes it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from functools import partial

from ...core.json import JsonObject
from .address import bind_address, bind_path
from .form import bind_form, bind_multipart
from .json_text import bind_json, is_json
from .markup import bind_markup
from .part import Given, NoPlace, Parts, joined

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


Bind = Callable[[Parts], str]
"""Fills one text. Raises `NoPlace`."""

_MARKUP = re.compile(r"\s*<[A-Za-z!?]")
_TEXTS = frozenset({"text/plain", "text/markdown"})
_BINDERS: dict[str, Bind] = {
    "application/json": bind_json,
    "text/json": bind_json,
    "application/x-www-form-urlencoded": bind_form,
    "application/xml": bind_markup,
    "text/xml": bind_markup,
    "text/html": partial(bind_markup, is_html=True),
    "application/xhtml+xml": partial(bind_markup, is_html=True),
    "application/sql": bind_statement,
    "application/x-sh": bind_shell,
    "text/x-shellscript": bind_shell,
}


def bind_body(media_type: str, parts: Parts) -> str:
    """A body that is written as a text.

    Args:
        media_type: the content type with its parameters; empty where nobody says one. Then a text that reads as JSON
            or begins and ends as markup does is taken for that, and every other text has no grammar.
        parts: what the body is made of.

    Raises:
        NoPlace: a value can not stand at its place, or the grammar of this content type is not known.
    """
    name = media_type.partition(";")[0].strip().lower()
    if not name:
        return _by_look(parts)
    if name in _TEXTS:
        return joined(parts)
    if name == "multipart/form-data":
        return bind_multipart(media_type, parts)
    bind = _of(name)
    if bind is None:
        raise NoPlace(
            f"the grammar of {name[:60]} is not known: let the body be one value, or declare each value as raw"
        )
    return bind(parts)


def is_known(media_type: str) -> bool:
    """Whether values can be bound in a body of this content type."""
    name = media_type.partition(";")[0].strip().lower()
    return name in _TEXTS or name in ("", "multipart/form-data") or _of(name) is not None


def _of(name: str) -> Bind | None:
    found = _BINDERS.get(name)
    if found is None and name.endswith(("+json", "+xml")):
        return bind_json if name.endswith("+json") else bind_markup
    return found


def _by_look(parts: Parts) -> str:
    first = parts[0] if parts and isinstance(parts[0], str) else ""
    last = parts[-1] if parts and isinstance(parts[-1], str) else ""
    if first.lstrip()[:1] in ("{", "[") and last.rstrip()[-1:] in ("}", "]") and is_json(parts):
        return bind_json(parts)
    if _MARKUP.match(first) and last.rstrip()[-1:] == ">":
        return bind_markup(parts, is_html=True)
    return joined(parts)


def bind_of(schema: JsonObject) -> Bind | None:
    """The grammar that the schema of a parameter declares: by `x-kind`, by `format`, or by `contentMediaType`; None
    where the schema declares none, so that the text is a text.

    >>> bind_of({"type": "string", "format": "uri"}) is bind_address
    True
    """
    kind = schema.get("x-kind")
    kind = kind.get("name") if isinstance(kind, dict) else kind
    if kind in ("url", "path"):
        return bind_address if kind == "url" else bind_path
    if schema.get("format") in ("uri", "iri"):
        return bind_address
    if schema.get("format") == "regex":
        return bind_pattern
    media_type = schema.get("contentMediaType")
    if isinstance(media_type, str) and not schema.get("contentEncoding"):
        return partial(bind_body, media_type)
    return None
