"""How each way of writing a call becomes part of a grammar: a table by the kind of the body. Pure.

JsonCall        {"name": "f", "arguments":          any JSON that fits       }
NamedCall       f<separator>                        any JSON that fits       the form's end
XmlCall         <function=f>                        a tag a parameter        </function>
PythonicCall    f(                                  a keyword a parameter    )
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import cast

from msgspec import Struct

from ...core.json import dumps
from ...core.tool import Tool
from ..text.json.call_shape import NAME_KEYS
from ..text.tagged.bodies import (
    Body,
    JsonCall,
    NamedCall,
    fill,
)
from ..text.tagged.pythonic_call import PythonicCall
from ..text.tagged.xml_call import XmlCall
from .lark import Lark, pattern, quoted
from .values import Values

CALL_ID = pattern("[0-9]{1,4}")
"""What a model counts its calls with, where its format wants that."""

_QUOTE = """["'“”]?"""


class CallParts(Struct, frozen=True):
    """A call of one tool.

    Attributes:
        head: its beginning, as the body of a terminal; empty where `rest` is all of it.
        rest: what follows, in a rule.
    """

    head: str
    rest: str


class GrammarRow(Struct, frozen=True):
    """What a row of the table knows.

    Attributes:
        prefix: fixed text that every call of this kind begins with.
        parts: the call of a tool; the last argument is what must not stand in its values.
        alike: a pattern of what a call without a mark begins like, given the tools' names; empty: it always has one.
        listed: several calls stand in one value, so that none but the first needs a mark.
    """

    prefix: Callable[[Body], str]
    parts: Callable[[Lark, Body, Tool, Values, Sequence[str]], CallParts]
    alike: Callable[[Body, Sequence[str]], str] = lambda body, names: ""
    listed: bool = True


def has_row(body: Body) -> bool:
    """There is a grammar of a body of this kind."""
    return type(body) in _ROWS


def row_of(body: Body) -> GrammarRow:
    """The row of a body's kind."""
    return _ROWS[type(body)]


def alike_of(bodies: Sequence[Body], names: Sequence[str]) -> list[str]:
    """Terminals' bodies of what a call without a mark begins like, for all these ways of writing one."""
    found = [row_of(body).alike(body, names) for body in bodies if getattr(body, "unmarked", True)]
    return [pattern(regex) for regex in found if regex]


def _json_parts(lark: Lark, body: Body, tool: Tool, values: Values, ends: Sequence[str]) -> CallParts:
    row = cast(JsonCall, body)
    blank = '" "?'
    head = ['"{"']
    if row.id_key:
        head += [quoted(f'"{row.id_key}":'), blank, '"\\""', CALL_ID, '"\\","', blank]
    head += [quoted(f'"{row.name_key}":'), blank, quoted(dumps(tool.name) + ","), blank]
    head += [quoted(f'"{row.arguments_key}":'), blank]
    return CallParts(" ".join(head), f'{values.json()} "}}"')


def _named_parts(lark: Lark, body: Body, tool: Tool, values: Values, ends: Sequence[str]) -> CallParts:
    row = cast(NamedCall, body)
    head, tail = row.form.removeprefix(_named_prefix(body)).split("{arguments}")
    pieces = []
    for piece in re.split(r"(\{id\})", head):
        if piece != "{id}":
            pieces.append(lark.text(fill(piece, name=tool.name)))
            continue
        before, _, behind = fill(row.made_id, name=tool.name).partition("{index}")
        pieces += [lark.text(before), lark.terminal(CALL_ID), lark.text(behind)]
    return CallParts("", " ".join([*pieces, values.json(), lark.text(tail)]))


def _named_prefix(body: Body) -> str:
    return re.split(r"\{\w+\}", cast(NamedCall, body).form, maxsplit=1)[0]


def _xml_parts(lark: Lark, body: Body, tool: Tool, values: Values, ends: Sequence[str]) -> CallParts:
    row = cast(XmlCall, body)
    opening, closing = row.form
    openings = ["\n" + row.parameter_start] if row.padded else []
    stops = [mark for mark in (row.value_end, row.end, *openings, *ends) if mark]
    head = lark.text(fill(opening.removeprefix(_xml_prefix(body)), name=tool.name))
    return CallParts("", " ".join([head, values.tags(row, stops), lark.text(closing)]))


def _xml_prefix(body: Body) -> str:
    return cast(XmlCall, body).form[0].split("{name}")[0]


def _python_parts(lark: Lark, body: Body, tool: Tool, values: Values, ends: Sequence[str]) -> CallParts:
    return CallParts(quoted(tool.name + "("), f'{values.python()} ")"')


def _json_alike(body: Body, names: Sequence[str]) -> str:
    """A brace, and behind it or a later comma or brace a key that makes a call of an object."""
    keys = "|".join(re.escape(key) for key in (*NAME_KEYS, *names))
    return rf"\{{((?s:.*)[,，{{])?\s*{_QUOTE}(?i:{keys})\s{{0,16}}{_QUOTE}\s{{0,16}}[:：]"


_ROWS: dict[type[Body], GrammarRow] = {
    JsonCall: GrammarRow(lambda body: "", _json_parts, _json_alike),
    NamedCall: GrammarRow(_named_prefix, _named_parts, listed=False),
    XmlCall: GrammarRow(_xml_prefix, _xml_parts, lambda body, names: re.escape(_xml_prefix(body)), listed=False),
    PythonicCall: GrammarRow(lambda body: "", _python_parts, lambda body, names: r"\[\s*[\w.\-]+\s*\("),
}
