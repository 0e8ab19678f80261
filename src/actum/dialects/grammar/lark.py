"""Writes a grammar in llguidance's variant of Lark: rules, terminals, literals, JSON Schemas. Pure.

A *rule* is what the parser puts together, a *terminal* what its lexer takes in one piece. The lexer takes the longest
piece that it can, so that text of any kind would swallow the mark behind it: such text is written together with its
mark, as a *lazy* rule, which ends where the mark first does. A mark that is a token of its own in the model's
vocabulary never occurs in text and is written as that token.

The language is explained in llguidance's `docs/syntax.md`; this file does not know what it means.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ...core.json import JsonObject, dumps
from .narrowed import bounded

ANYTHING = "/(?s:.*)/"
"""Any text, as a terminal's body."""

_BOUNDED: JsonObject = {"whitespace_flexible": False, "item_separator": ", ?", "key_separator": ": ?"}
"""At most one blank behind a comma or colon: a model that likes blanks would never come to an end."""


class Lark:
    """A grammar that is being written. Equal parts are written once.

    Args:
        special: the vocabulary's own tokens for marks, by their text.
    """

    def __init__(self, special: Mapping[str, int] | None = None) -> None:
        self._special = special or {}
        self._lines: dict[str, str] = {}
        marks = sorted(self._special, key=len, reverse=True)
        self._marks = re.compile("(" + "|".join(map(re.escape, marks)) + ")" if marks else r"(?!)()")

    def text(self, text: str) -> str:
        """Fixed text in a rule: marks that are tokens as these."""
        pieces = [piece for piece in self._marks.split(text) if piece]
        return " ".join(f"<[{self._special[p]}]>" if p in self._special else quoted(p) for p in pieces)

    def rule(self, body: str, *, lazy: bool = False) -> str:
        """The name of a rule with this body."""
        return self._name("r", body, "[lazy]" if lazy else "")

    def terminal(self, body: str) -> str:
        """The name of a terminal with this body."""
        return self._name("T", body, "")

    def reserve(self) -> str:
        """The name of a rule that `define` gives its body later: one that holds itself."""
        name = f"r{len(self._lines)}"
        self._lines[name] = ""
        return name

    def define(self, name: str, body: str) -> str:
        """The name, now that of a rule with this body."""
        self._lines[name] = f"{name}: {body}"
        return name

    def json(self, schema: JsonObject, *, lenient: bool = False) -> str:
        """A value that fits a JSON Schema, in a rule; `lenient`: keywords that the engine does not know are left out
        of account."""
        options: JsonObject = {**_BOUNDED, "lenient": True} if lenient else {**_BOUNDED}
        return self.rule(f"%json {dumps({**bounded(schema), 'x-guidance': options})}")

    def until(self, text: str, mark: str) -> str:
        """Text (the body of a terminal) and the mark that ends it, in a rule."""
        if mark in self._special:
            return f"{self.terminal(text)} {self.text(mark)}"
        return self.rule(self.terminal(f"({text}) {quoted(mark)}"), lazy=True)

    def source(self, start: str) -> str:
        """The whole grammar, beginning with this rule's body."""
        return "\n".join(("%llguidance {}", f"start: {start}", *self._lines.values(), ""))

    def _name(self, prefix: str, body: str, options: str) -> str:
        key = f"{prefix}{options}: {body}"
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = f"{prefix}{len(self._lines)}{options}: {body}"
        return re.split(r"[\[:]", line, maxsplit=1)[0]


def quoted(text: str) -> str:
    """Fixed text as a terminal's body."""
    return dumps(text)


def pattern(regex: str) -> str:
    """A regular expression (of Rust's kind, without look-around) as a terminal's body."""
    return "/" + re.sub(r"(?<!\\)((?:\\\\)*)/", r"\1\\/", regex).replace("\n", r"\n") + "/"


def either(bodies: Iterable[str]) -> str:
    """One of several."""
    return "(" + " | ".join(dict.fromkeys(bodies)) + ")"


def without(bodies: Iterable[str]) -> str:
    """Any text that holds none of these, as a terminal's body."""
    bodies = list(bodies)
    return f"({ANYTHING} & ~({ANYTHING} {either(bodies)} {ANYTHING}))" if bodies else ANYTHING


def in_order(lark: Lark, items: Iterable[tuple[str, bool]], separator: str = "") -> str:
    """Items of a rule in their order, each with whether it must be there, and the separator between two that are."""
    first = after = ""
    for item, required in reversed(list(items)):
        lead = f"{separator} {item}" if separator else item
        if required:
            first, after = f"{item} {after}", f"{lead} {after}"
        else:
            first = lark.rule(f"{item} {after} | {first}" if first.strip() else f"({item} {after})?")
            after = f"({lead})? {after}"
        after = lark.rule(after)
    return first.strip()
