"""Definitions: texts that people write, check, publish and roll back, such as workflows. What is the same for each kind
of them; where they are kept is in `core.stored.definitions`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from .errors import UsageError
from .json import Json, JsonObject
from .language.sentence import Sentence


class TextProblem(Struct, frozen=True):
    """Something that is wrong with the text of a definition.

    Attributes:
        message: what is wrong; as facts where a text may have many such mistakes, so that a person's language costs
            one look into the catalogue for each.
        line, column: where, counted from 1.
        hint: what would be right; as facts likewise.
        path: the names that lead there.
    """

    message: Sentence | str
    line: int = 1
    column: int = 1
    hint: Sentence | str = ""
    path: str = ""

    @property
    def sentence(self) -> Sentence:
        """The place, what is wrong and the hint, as facts, to be told in a person's language."""
        line, column, message = self.line, self.column, self.message
        if not self.hint:
            return Sentence("line {line}, column {column}: {detail}", line=line, column=column, detail=message)
        return Sentence(
            "line {line}, column {column}: {detail} ({hint_detail})",
            line=line,
            column=column,
            detail=message,
            hint_detail=self.hint,
        )

    def __str__(self) -> str:
        return str(self.sentence)


class BadText(UsageError):
    """A definition can not be used.

    Args:
        problems: each thing that is wrong with the definition.
    """

    def __init__(self, problems: Sequence[TextProblem]) -> None:
        super().__init__(problems[0].sentence if len(problems) == 1 else "\n".join(map(str, problems)))
        self.problems = tuple(problems)


class UnderstatedEffects(BadText):
    """A definition says that less happens than what happens where it is carried out."""


class OperatorOnly(BadText):
    """A definition wants what only the operator of the machine can set up, such as a command that is started here."""


class NameTaken(UsageError):
    """Nothing can be published under a name that means something else where it would be served.

    Args:
        name: the name.
        means: what the name means, such as `an agent`.
        kind: what was to be published.
    """

    def __init__(self, name: str, means: str, kind: str = "workflow") -> None:
        super().__init__(
            "{name!r} is {means} here: give the {kind} another name",
            name=name,
            means=Sentence(means),
            kind=Sentence(kind),
        )
        self.name = name
        self.means = means


class ReadDefinition(Struct, frozen=True, kw_only=True):
    """What a text says, when nothing is wrong with it.

    Attributes:
        name: the name that the text gives itself; empty where a text of this kind has none.
        about: what lists tell of it, for `PublicationInUse.about`.
        names_secret: it names a secret, so that only an administrator may publish it.
        names_place: it names the address of a model, or one in a file of the server: likewise.
        is_code: it holds code, or names a function: likewise, and over HTTP only where the server wants a key.
        pins: `about` holds what a person approves beside the text, such as the tools of a server as they are: with
            another `about` the same text is published anew.
        remarks: what the publisher should know, though nothing is wrong, such as a host whose name is not known now.
    """

    name: str = ""
    about: str = ""
    names_secret: bool = False
    names_place: bool = False
    is_code: bool = False
    pins: bool = False
    remarks: tuple[Sentence | str, ...] = ()


class DefinitionChange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One difference between two definitions.

    Attributes:
        kind: what was done.
        what: to what, in a word. Of a workflow: a `node`, an `edge`, or a `field` of the definition or of a node.
        place: where. Of a workflow: `trips/price` for a node in a container, `find > fits` for an edge,
            `book.with.flight` for a field of a node, `limits.steps` for a field of the definition.
        node: the node that the field belongs to; empty for a field of the definition.
        old: what was there before; for a node its type.
        new: what is there now; for a node its type.
        breaks: why those who use the definition as it was may fail with the new one; empty where they do not.
    """

    kind: Literal["added", "removed", "changed"]
    what: str
    place: str
    node: str = ""
    old: Json = None
    new: Json = None
    breaks: str = ""


def fields_differ(was: JsonObject, now: JsonObject) -> list[DefinitionChange]:
    """How two definitions differ, field by field.

    Args:
        was, now: their fields as JSON, without those at their defaults.
    """
    return [
        DefinitionChange(
            kind="added" if name not in was else "removed" if name not in now else "changed",
            what="field",
            place=name,
            old=was.get(name),
            new=now.get(name),
        )
        for name in sorted({*was, *now})
        if was.get(name) != now.get(name)
    ]
