"""What the importers of foreign files share about the requests that a file sends, and about texts with a grammar.

A foreign program splices values into the texts of requests; an `http` node binds them. The report says what is
therefore sent differently. A text in which the places of the values can not be told is left out, and the report lists
it as open.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ...core.errors import UsageError
from ...core.json import Json, JsonObject
from ..definition.expression import Expression, compile_value
from ..request import place_problems
from .ref import Ref
from .report import FieldReader

IN_URL = (
    "a value behind the host is percent-encoded, so that a /, ? or & in it begins nothing; "
    "a value at the beginning is an address, and is kept"
)
IN_HEADER = "a value is one value of this header: with a line break, or a mark that divides the header, it is refused"
IN_JSON = (
    "a value within quotes is escaped, and stays one string; outside of quotes it has its own type: a text is a string"
)
IN_TEXT = "each value is bound by the grammar of the content type, and begins nothing new"
WHOLE_BODY = (
    "all of the body is one value: it is sent as it is (`raw`), and has to be of the content type; look where it "
    "comes from"
)
NO_PLACE = "this text is left out, for a value in it can not be bound: {}"
SPLICED = (
    "this is a text with a grammar that is put together from values, and is left out: choose a tool that takes the "
    "values as parameters"
)

_GRAMMAR_NAMES = re.compile(
    r"(?i)(?:^|_)(?:sql|statement|command|cmd|shell|bash|script|code|regexp?|pattern|html|xml|json|url|uri)(?:$|_)"
)


def has_grammar(name: str, parts: Sequence[str | Ref]) -> bool:
    """Whether an argument of a tool is a text with a grammar, by its name, into which values are put."""
    is_text = any(isinstance(part, str) for part in parts) and any(isinstance(part, Ref) for part in parts)
    snake = re.sub(r"(?<=[a-z])(?=[A-Z])|[\W]+", "_", name)
    return is_text and bool(_GRAMMAR_NAMES.search(snake))


class ComputedValues:
    """The values of a request that only CEL can say. A node before the request gives them, each by a name, so that each
    is bound at its place like any other value.

    Args:
        fresh: makes a name that no node has.
        name: of the node that sends the request.
    """

    def __init__(self, fresh: Callable[[str], str], name: str) -> None:
        self._fresh = fresh
        self._name = name
        self._node = ""
        self._groups: dict[str, str] = {}

    def plain(self, parts: Sequence[str | Ref]) -> list[str | Ref]:
        """The parts of a text, with no reference that has to be computed in the text."""
        return [self._kept(part) if isinstance(part, Ref) and part.cel else part for part in parts]

    def _kept(self, ref: Ref) -> Ref:
        self._node = self._node or self._fresh(f"{self._name}_values")
        name = self._groups.setdefault(ref.cel, f"v{len(self._groups) + 1}")
        return Ref(self._node, (name,), ref.type)

    def nodes(self) -> list[tuple[str, JsonObject]]:
        """The node that gives the values, where there is one."""
        groups: JsonObject = {name: [{"cel": cel}] for cel, name in self._groups.items()}
        return [(self._node, {"type": "merge", "groups": groups})] if groups else []


def raw(ref: Ref) -> str:
    """A reference in a text, declared as encoded."""
    return f"${{{ref.path}{'?' if ref.optional else ''}|raw}}"


def leave_out_unplaced(main: JsonObject, fields: dict[str, tuple[FieldReader, str]]) -> None:
    """Leave out of an `http` node what can not be bound, and say so.

    Args:
        main: the node.
        fields: by the field of the node, what is to be reported on.
    """
    try:
        expressions: dict[str, Expression] = {
            name: compile_value(main[name], secrets=True) for name in fields if name in main
        }
    except (UsageError, RecursionError):
        return  # the check of the definition tells
    for place, message in place_problems(expressions):
        reader, field = fields[place[0]]
        reader.open(field, NO_PLACE.format(message))
        inner: Json = main.get(place[0])
        if len(place) > 1 and isinstance(inner, dict):
            inner.pop(place[1], None)
        else:
            main[place[0]] = "" if place[0] == "url" else None
