"""What is risky in a call after foreign text: the facts of a question of the defence, and the question in words.

The facts are on record beside the English words of the question, so that a page or a terminal can say the question in
another language.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ..language.sentence import Sentence

VALUES_MAX = 5
"""The most values that a question names."""
ASKED_FOR_MAX = 5
"""The most calls of the mandate that a question names."""
BROUGHT_MAX = 3
"""The most tools that a question names as those that brought foreign text."""

NamedBy = Literal["tool", "program", "model"]


class RiskyValue(Struct, frozen=True, omit_defaults=True):
    """A value of an argument that nobody named whom the user knows, or that is another one than the user fixed.

    Attributes:
        name: the argument.
        value: the value as it is shown; of a long value the beginning.
        named_by: who named the value: what a `tool` brought, another `program`, or nobody but the `model`.
        tool: the tool whose result has the value.
        fixed: the value that the user asked for instead; empty where the user asked for no other value.
    """

    name: str
    value: str
    named_by: NamedBy
    tool: str = ""
    fixed: str = ""


class Risk(Struct, frozen=True, omit_defaults=True):
    """Why the defence asks about a call.

    Attributes:
        tool: the tool that the model wants to use.
        brought: the tools, and what else brought foreign text to the conversation.
        is_asked_for: whether the user asked for this tool.
        asked_for: the calls that the user asked for, each on one line.
        values: the risky values.
        label: the label of values that the call may give to somebody who may not have them; empty where there is none.
    """

    tool: str
    brought: tuple[str, ...] = ()
    is_asked_for: bool = True
    asked_for: tuple[str, ...] = ()
    values: tuple[RiskyValue, ...] = ()
    label: str = ""

    def sentences(self) -> list[Sentence]:
        """The question in words: first what the user asked for, then each risky value with its origin."""
        told: list[Sentence] = []
        if not self.is_asked_for:
            told += [
                Sentence(
                    "The model wants to use {tool}, after it has read what somebody else wrote ({brought}).",
                    tool=self.tool,
                    brought=_some([f"`{name}`" for name in self.brought], BROUGHT_MAX),
                ),
                Sentence("You asked for: {calls}.", calls=_some(self.asked_for, ASKED_FOR_MAX))
                if self.asked_for
                else Sentence("You asked for nothing that changes anything."),
            ]
        if self.label:
            told.append(
                Sentence(
                    "{tool} may give values with the label {label} to somebody who may not have them.",
                    tool=self.tool,
                    label=self.label,
                )
            )
        fixed = [f"`{each.name}`: {each.fixed}" for each in self.values if each.fixed]
        if fixed:
            told.append(Sentence("You asked for {values}.", values=", ".join(fixed)))
        return told + [_told(each) for each in self.values[:VALUES_MAX]]

    def __str__(self) -> str:
        return " ".join(map(str, self.sentences()))


def _told(risky: RiskyValue) -> Sentence:
    match risky.named_by:
        case "tool":
            return Sentence(
                "`{name}`: {value}, from what `{tool}` brought, written by somebody else.",
                name=risky.name,
                value=risky.value,
                tool=risky.tool,
            )
        case "program":
            return Sentence("`{name}`: {value}, named by another program.", name=risky.name, value=risky.value)
        case "model":
            return Sentence(
                "`{name}`: {value}, which nobody has said: the model made it.", name=risky.name, value=risky.value
            )


def _some(names: list[str] | tuple[str, ...], most: int) -> str:
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")
