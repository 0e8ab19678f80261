"""What is asked and answered of definitions of every kind, such as `/v1/workflows`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from ....core.json import Json
from ....journal.version_figures import VersionFigures
from ..fields import NO_CONTROL, Cursor, Limit, ListPart

Number = Annotated[int, Meta(ge=0, le=2_000_000_000)]


class DefinitionsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which definitions, in the order of their names.

    Attributes:
        drafts: whether definitions with nothing in use are listed, too.
        limit: the most items of this part of the list.
        cursor: `next` of the part before.
    """

    drafts: bool = False
    limit: Limit = 100
    cursor: Cursor = ""


class DefinitionInfo(Struct, frozen=True, kw_only=True):
    """A definition in a list.

    Attributes:
        name: the name of the definition.
        about: what is told of the publication in use.
        version: the number of the publication in use; 0 where none is.
        digest: the digest of its text.
    """

    name: str
    about: str
    version: int
    digest: str


class DefinitionPage(ListPart[DefinitionInfo], frozen=True, kw_only=True):
    """A part of the list of definitions."""


class VersionQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which version of a definition.

    Attributes:
        version: the number of a publication; 0 for what is in use.
    """

    version: Number = 0


class DefinitionText(Struct, frozen=True, kw_only=True):
    """A definition as it was published.

    Attributes:
        name: the name of the definition.
        version: the number of the publication.
        digest: the digest of the text.
        text: the text.
    """

    name: str
    version: int
    digest: str
    text: str


class CheckBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A definition that is to be checked.

    Attributes:
        text: the definition; null for the definition that the server has under this name.
    """

    text: Annotated[str, Meta(max_length=1_000_000)] | None = None


class DefinitionProblem(Struct, frozen=True, kw_only=True):
    """Something that is wrong with a definition.

    Attributes:
        message: what is wrong.
        line, column: where, from 1 on.
        hint: what to do about it; may be empty.
        place: the names that lead to the place, such as `nodes.book.with`; may be empty.
    """

    message: str
    line: int
    column: int
    hint: str
    place: str


class DefinitionChecked(Struct, frozen=True, kw_only=True):
    """What a check of a definition found.

    Attributes:
        problems: all that is wrong; nothing where the definition can be run.
        remarks: what the publisher should know, though nothing is wrong, such as a host whose name is not known now.
    """

    problems: tuple[DefinitionProblem, ...]
    remarks: tuple[str, ...] = ()


class DraftBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A draft that is to be saved.

    Attributes:
        text: the whole definition; mistakes are allowed.
        revision: the revision of the draft that the text was made of; 0 for a new draft.
    """

    text: Annotated[str, Meta(max_length=1_000_000)]
    revision: Number = 0


class DraftText(Struct, frozen=True, kw_only=True):
    """The draft of a definition.

    Attributes:
        name: the name of the definition.
        text: the definition.
        revision: counts the changes of the draft.
        at: when the draft was saved, in seconds since 1970.
        by: who saved the draft.
        published: the number of the publication in use; 0 where nothing was published.
    """

    name: str
    text: str
    revision: int
    at: float
    by: str
    published: int


class DeleteDraftQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which draft is to be deleted.

    Attributes:
        revision: the revision that the caller has looked at; 0 for whatever the draft is now.
    """

    revision: Number = 0


class PublishBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request to publish a draft.

    Attributes:
        revision: the revision that the caller has looked at; null to publish whatever the draft is now.
        source: where the text comes from, such as the name of a file; empty for a draft that a person wrote.
    """

    revision: Number | None = None
    source: Annotated[str, Meta(max_length=1_000, pattern=NO_CONTROL)] = ""


class RollbackBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request to publish an older publication anew.

    Attributes:
        number: the number of the older publication.
    """

    number: Annotated[int, Meta(ge=1, le=2_000_000_000)]


class DefinitionVersion(Struct, frozen=True, kw_only=True):
    """A publication of a definition.

    Attributes:
        name: the name of the definition.
        number: counts the publications of this name.
        digest: the digest of the text.
        at: when the text was published, in seconds since 1970.
        by: who published the text.
        again: the number of the older publication that this one copies; 0 where the text comes from the draft.
        source: where the text comes from, such as the name of a file; empty for a draft that a person wrote.
        share: how many of a hundred users get this publication now.
    """

    name: str
    number: int
    digest: str
    at: float
    by: str
    again: int
    source: str
    share: int


class DefinitionPublished(DefinitionVersion, frozen=True, kw_only=True):
    """A publication that was just made.

    Attributes:
        remarks: what the publisher should know, though nothing is wrong, such as a host whose name is not known now.
    """

    remarks: tuple[str, ...]


class CanaryBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request to try another publication than the one in use on a share of the users.

    Attributes:
        version: the number of the other publication.
        share: how many of a hundred users get it; 0 ends the trial. A user gets always the same; without a user the
            conversation counts.
    """

    version: Annotated[int, Meta(ge=1, le=2_000_000_000)]
    share: Annotated[int, Meta(ge=0, le=100)]


class CanarySet(Struct, frozen=True, kw_only=True):
    """Which publications the users get from now on.

    Attributes:
        name: the name of the definition.
        number: the publication in use.
        version: the other publication; 0 where there is none.
        share: how many of a hundred users get the other one.
    """

    name: str
    number: int
    version: int
    share: int


class CompareQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which publications, and over how long.

    Attributes:
        old: the number of a publication.
        new: the number of another one.
        days: only runs that began in the last days, at most this many.
    """

    old: Annotated[int, Meta(ge=1, le=2_000_000_000)]
    new: Annotated[int, Meta(ge=1, le=2_000_000_000)]
    days: Annotated[int, Meta(ge=1, le=3_650)] = 7


class VersionsCompared(Struct, frozen=True, kw_only=True):
    """How the runs of publications went.

    Attributes:
        items: the publications that were asked for: the old one and the new one.
    """

    items: tuple[VersionFigures, ...]


class DefinitionUnpublished(Struct, frozen=True, kw_only=True):
    """A definition that was taken out of use.

    Attributes:
        number: the publication that was in use.
        used_by: the names of what is published and refers to it: that fails from now on. What names a version of it is
            among them only where no version stays in use.
    """

    number: int
    used_by: tuple[str, ...]


class DefinitionVersions(Struct, frozen=True, kw_only=True):
    """The publications of a definition.

    Attributes:
        items: the publications, the latest first.
    """

    items: tuple[DefinitionVersion, ...]


class DiffQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which two versions of a definition.

    Attributes:
        old: the number of a publication; 0 for what is in use.
        new: the number of a publication; 0 for the draft.
    """

    old: Number = 0
    new: Number = 0


class TextChange(Struct, frozen=True, kw_only=True):
    """One difference between two versions.

    Attributes:
        kind: what was done.
        what: to what, in a word: of a workflow a `node`, an `edge` or a `field`.
        place: where, such as `trips/price` or `book.with.flight`.
        node: the node of a workflow that a field belongs to; may be empty.
        old: what was there before.
        new: what is there now.
        breaks: why those who use the definition as it was may fail with the new one; empty where they do not.
    """

    kind: Literal["added", "removed", "changed"]
    what: str
    place: str
    node: str
    old: Json
    new: Json
    breaks: str


class TextDifference(Struct, frozen=True, kw_only=True):
    """What differs between two versions; positions and formatting do not count.

    Attributes:
        changes: the differences.
        used_by: the names of what is published and refers to the definition without a number, such as who calls a tool.
    """

    changes: tuple[TextChange, ...]
    used_by: tuple[str, ...]
