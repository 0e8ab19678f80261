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
_BLANK = re.compile(r"[-#&~,=<>!%:;@'`\"\s\u2028\u2029]")
"""Characters that mean something in classes of characters, or in patterns whose blanks and comments are passed over."""
_DIGIT = re.compile(r"^[0-9]")
"""At the beginning of a value: it could go on with an escape before it, such as `\\1`."""
_HALF_PATTERN = re.compile(
    r"(?<!\\)(?:\\\\)*(?:\\(?:x[0-9A-Fa-f]?|u[0-9A-Fa-f]{0,3}|c|[pPk](?:\{[^}]*|<[^>]*)?)?|\(\?[^:)=!>]*|\{[0-9,]*)\Z"
)

_WORDS_LOOKED_AT = 200
"""The number of characters before a value that are looked at."""


def bind_shell(parts: Parts) -> str:
    """A command line for a POSIX shell: a value is one word. It has no place within quotes, or beside other letters.
    A value that begins with `-` would be an option, so that it has a place only behind the word `--`.

    Raises:
        NoPlace: a value can not stand at its place.

    >>> bind_shell(["grep -- ", Given.of("a; rm x"), " notes.txt"])
    "grep -- 'a; rm x' notes.txt"
    """
    written, takes_options = "", True
    for part in parts:
        if not isinstance(part, Given) or part.encoded == "raw":
            text = part if isinstance(part, str) else part.text
            takes_options = takes_options and not re.search(r"\s--\s", text if written else f" {text}")
            written += text
            continue
        if not re.fullmatch(r"[^\\\"'`#$<>&|;(){}]*\s", written) or "\0" in part.text:
            raise NoPlace("expected the value as a word of its own, before any quotes and other signs of the shell")
        if takes_options and part.text.startswith("-"):
            raise NoPlace("expected a value that does not begin with -, or the word -- before it")
        written += shlex.quote(part.text)
    return written


def bind_statement(parts: Parts) -> str:
    """A statement, such as one of SQL. Values are parameters of a statement, and never its text.

    Raises:
        NoPlace: the statement holds a value.
    """
    if len(parts) > 1 and any(isinstance(part, Given) and part.encoded != "raw" for part in parts):
        raise NoPlace("expected no value in a statement: give it to the tool as a parameter of the statement")
    return "".join(part if isinstance(part, str) else part.text for part in parts)


def bind_pattern(parts: Parts) -> str:
    """A regular expression: a value is the text that it is (as `RegExp.escape` writes it).

    Raises:
        NoPlace: a value stands within an escape, a group's beginning or a count, or a count stands behind it.

    >>> bind_pattern(["^", Given.of("a.b"), "$"])
    '^a\\\\.b$'
    """
    written, before, after_value = "", "", False
    for part in parts:
        if not isinstance(part, Given) or part.encoded == "raw":
            text = part if isinstance(part, str) else part.text
            if after_value and text[:1] in tuple("*+?{"):
                raise NoPlace("expected no count behind a value: write (?: and ) around the value")
            after_value = after_value and not text
            before = (before + text)[-_WORDS_LOOKED_AT:]
            written += text
            continue
        if _HALF_PATTERN.search(before):
            raise NoPlace("expected no value within an escape, within a count, or at the beginning of a group")
        text = _BLANK.sub(_by_number, _SYNTAX.sub(r"\\\g<0>", part.text))
        written += _DIGIT.sub(_by_number, text) if before[-1:].isdigit() else text
        before, after_value = "", True
    return written


def _by_number(found: re.Match[str]) -> str:
    """A character as a regular expression writes it by its number."""
    return f"\\x{ord(found[0]):02x}" if ord(found[0]) < 256 else f"\\u{ord(found[0]):04x}"


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
    "image/svg+xml": partial(bind_markup, is_html=True),
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
