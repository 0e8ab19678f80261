"""A reference of our format, as the importers write references: into a value, into a text, or into CEL.

Knows nothing of any foreign format.
"""

from __future__ import annotations

import json
import re

from msgspec import Struct

from ...core.json import Json, dumps
from ..definition.expression import ROOTS
from ..definition.functions import FUNCTIONS

DOLLAR = "dollar"
"""The constant under which a dollar sign is kept, for texts in which `${` stands."""


RESERVED = frozenset(
    {
        *ROOTS,
        *FUNCTIONS,
        *("as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop"),
        *("package", "namespace", "null", "return", "true", "var", "void", "while", "secret", "cel", "has", "all"),
        *("exists", "exists_one", "map", "filter", "bool", "bytes", "double", "int", "list", "string", "uint", "type"),
        *("size", "contains", "matches", "dyn", "duration", "timestamp", "startsWith", "endsWith"),
    }
)
"""Names that no node gets, since the name of a node is used in expressions."""

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
CEL_WORDS = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "false",
        "for",
        "function",
        "if",
        "import",
        "in",
        "let",
        "loop",
        "package",
        "namespace",
        "null",
        "return",
        "true",
        "var",
        "void",
        "while",
    ]
)
"""Names that CEL keeps to itself."""

_AS_TEXT = frozenset({"string", "number", "secret"})


class Ref(Struct, frozen=True):
    """A reference to a value of our file.

    Attributes:
        root: a node, or a root such as `inputs`.
        steps: what leads from there to the value.
        type: the type that the foreign format gives the value; `any` where that is not known.
        optional: the value may be missing, and is null then.
        cel: computes the value, instead of `root` and `steps`.
        secret: the value is a secret of this name.
    """

    root: str = ""
    steps: tuple[str | int, ...] = ()
    type: str = "any"
    optional: bool = False
    cel: str = ""
    secret: str = ""

    @property
    def path(self) -> str:
        """As it stands between `${` and `}`."""
        text = self.root
        for step in self.steps:
            if isinstance(step, int):
                text += f"[{step}]"
            else:
                text += f".{step}" if IDENTIFIER.fullmatch(step) else f'["{step}"]'
        return text

    @property
    def value(self) -> Json:
        """As a value of a node."""
        if self.secret:
            return f"${{secret:{self.secret}}}"
        return {"cel": self.cel} if self.cel else f"${{{self.path}{'?' if self.optional else ''}}}"

    def shown(self, function: str) -> str | None:
        """As a part of a text; None where only CEL can say the value.

        Args:
            function: what writes a value that is no text.
        """
        if self.cel:
            return None
        if self.secret:
            return f"${{secret:{self.secret}}}"
        pipe = "" if self.type in _AS_TEXT and not function.endswith("form") else f"|{function}"
        return f"${{{self.path}{'?' if self.optional else ''}{pipe}}}"

    def in_cel(self) -> str:
        """As a part of an expression in CEL."""
        if self.cel:
            return f"({self.cel})"
        plain = all(isinstance(each, str) and IDENTIFIER.fullmatch(each) for each in self.steps)
        if not self.optional and plain and not CEL_WORDS & {str(each) for each in self.steps}:
            return ".".join((self.root, *map(str, self.steps)))
        if not self.steps:
            return self.root
        return f"loose_get({', '.join((self.root, *(cel_literal(each) for each in self.steps)))})"


def cel_literal(value: Json) -> str:
    """A constant in CEL."""
    match value:
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
        case list():
            return f"[{', '.join(cel_literal(item) for item in value)}]"
        case dict():
            return "{" + ", ".join(f"{cel_literal(name)}: {cel_literal(item)}" for name, item in value.items()) + "}"
        case _:
            return dumps(value)
