"""One member of an object in JSON with comments, set or taken out by replacing a span of the text. Pure.

The document is never written anew: comments, order, indentation and what is unknown here stay as they are.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

import msgspec

from ..core.errors import UsageError
from ..core.json import Json, JsonObject
from .jsonc import plain_json

_LINE_END = re.compile(r"(?:[ \t]*,)?(?P<note>[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/[ \t]*(?=\r?\n)))?")
"""A comma behind a value, and a comment on the same line: the comment is about that value."""
_BLANK = re.compile(r"[ \t\r\n]*")
_READER = json.JSONDecoder()


class _Member(NamedTuple):
    """A member of an object: its name, where its name begins, and the span of its value."""

    name: str
    start: int
    value: int
    end: int


def with_member(text: str, outer: str, name: str, value: Json) -> str:
    r"""The text with a member of a member of the document: put in, or changed where there is one.

    Args:
        text: the document, an object; a blank text is an empty one.
        outer: the name of the outer member, whose value is an object; it is made where it is missing.
        name: the name of the member in it.
        value: what it gets.

    Returns:
        The text, in which all else stands as it did.

    Raises:
        UsageError: the text is no JSON of this form; line and column are told.

    >>> with_member('{\n  // mine\n  "a": {}\n}', "a", "b", 1)
    '{\n  // mine\n  "a": {\n    "b": 1\n  }\n}'
    """
    if not plain_json(text).strip():
        return _indented({outer: {name: value}}, "") + "\n"
    plain = _checked(text)
    members = _members(plain, _after_blank(plain, 0))
    found = next((each for each in members if each.name == outer), None)
    if found is None:
        return _put_in(text, plain, members, _after_blank(plain, 0), outer, {name: value})
    if plain[found.value] != "{":
        raise UsageError("{outer!r} is no object there: mend it first", outer=outer)
    inside = _members(plain, found.value)
    known = next((each for each in inside if each.name == name), None)
    if known is None:
        return _put_in(text, plain, inside, found.value, name, value)
    made = _indented(value, _indent(text, known.start))
    return text[: known.value] + _ended_as(text, made) + text[known.end :]


def without_member(text: str, outer: str, name: str) -> str:
    """The text without a member of a member; the same text where there is none.

    Raises:
        UsageError: the text is no JSON of this form; line and column are told.
    """
    if not plain_json(text).strip():
        return text
    plain = _checked(text)
    found = next((each for each in _members(plain, _after_blank(plain, 0)) if each.name == outer), None)
    if found is None or plain[found.value] != "{":
        return text
    inside = _members(plain, found.value)
    place = next((number for number, each in enumerate(inside) if each.name == name), None)
    if place is None:
        return text
    gone = inside[place]
    line = text.rfind("\n", 0, gone.start) + 1
    start = line if not text[line : gone.start].strip() else gone.start
    after = text[gone.end :]
    comma = re.match(r"[ \t]*,", after)
    end = gone.end + (comma.end() if comma else 0)
    rest = re.match(r"[ \t]*\r?\n", text[end:])
    if rest and start == line:
        end += rest.end()
    before = text[:start]
    if comma is None and place > 0:  # it was the last: the comma behind the one before goes with it
        last = inside[place - 1].end
        before = before[:last] + before[last:].replace(",", "", 1)
    return before + text[end:]


def _checked(text: str) -> str:
    """The text without comments, of the same length; it is an object, and no name is in it twice."""
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    plain = mark.replace("\ufeff", " ") + plain_json(text)
    try:
        document = json.loads(plain, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise UsageError("it is no JSON: {why}. Nothing was changed", why=error) from None
    if not isinstance(document, dict):
        raise UsageError("it is JSON, and no object. Nothing was changed")
    return plain


def _once(pairs: list[tuple[str, Json]]) -> JsonObject:
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = next(name for number, (name, _) in enumerate(pairs) if name in dict(pairs[:number]))
        raise ValueError(f"the name {twice!r} is there twice")
    return made


def _members(plain: str, start: int) -> list[_Member]:
    """The members of the object that begins at a place of a sound text."""
    found: list[_Member] = []
    at = _after_blank(plain, start + 1)
    while plain[at] != "}":
        name, end = _READER.raw_decode(plain, at)
        value = _after_blank(plain, _after_blank(plain, end) + 1)
        _, past = _READER.raw_decode(plain, value)
        found.append(_Member(name, at, value, past))
        at = _after_blank(plain, past)
        if plain[at] == ",":
            at = _after_blank(plain, at + 1)
    return found


def _put_in(text: str, plain: str, members: list[_Member], start: int, name: str, value: Json) -> str:
    """The text with one more member at the end of the object that begins at `start`."""
    if members:
        indent, at = _indent(text, members[-1].start), members[-1].end
        rest = _LINE_END.match(text, at)
        assert rest is not None
        made = f"\n{indent}{_word(name)}: {_indented(value, indent)}"
        return f"{text[:at]},{rest['note'] or ''}{_ended_as(text, made)}{text[rest.end() :]}"
    outer = _indent(text, start)
    indent = outer + "  "
    close = _after_blank(plain, start + 1)
    tail = text[start + 1 : close].rstrip(" \t\r\n")  # comments that stand in the empty object
    made = f"\n{indent}{_word(name)}: {_indented(value, indent)}\n{outer}"
    return text[: start + 1] + tail + _ended_as(text, made) + text[close:]


def _after_blank(plain: str, at: int) -> int:
    found = _BLANK.match(plain, at)
    return found.end() if found else at


def _indent(text: str, at: int) -> str:
    """The blanks with which the line of a place begins."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _ended_as(text: str, made: str) -> str:
    """Lines to be put in, which end as those of the text do."""
    return made.replace("\n", "\r\n") if "\r\n" in text else made


def _word(name: str) -> str:
    return msgspec.json.encode(name).decode()


def _indented(value: Json, indent: str) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False).replace("\n", "\n" + indent)
