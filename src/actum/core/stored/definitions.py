"""Definitions: texts that people write and publish, such as workflows, agents, prompts and tools, in numbered versions.

A text has a draft and publications. The draft is changed by `save`, and each change counts its revision up. A
publication is made of the draft, has a number (1, 2, 3 ...) and never changes. The latest publication is the one in
use: it is meant where no number is given. `rollback` publishes the text of an older publication anew, under a new
number. After `unpublish` none is in use, until something is published again.

Each tenant has definitions of its own. What a text means is not known here: `runs.definitions.Publisher` checks a text
before it is published. This file knows no database.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Final, Protocol, TypeAlias

from msgspec import Struct

from ..errors import UnknownName, UsageError
from ..language.sentence import Sentence

KindName: TypeAlias = str
"""What a text is, such as `workflow`: up to 24 small letters, digits and `_`."""

TEXT_BYTES_MAX = 1_000_000
"""The most bytes of a text, in UTF-8."""
NAMES_MAX = 10_000
"""The most names of one kind that a tenant has."""
PUBLICATIONS_MAX = 10_000
"""The most publications under one name."""
CHANGES_MAX = 200
"""The most changes of drafts that are told at once."""
DEFINITIONS_BYTES_MAX = 256 * 1024 * 1024
"""The most bytes of all drafts and publications of one tenant together."""

_NAME = re.compile(r"\w[\w.-]{0,127}")
_KIND = re.compile("[a-z][a-z0-9_]{0,23}")
_REFERENCE = re.compile(r"([^@]+)(?:@([1-9][0-9]{0,8}))?")


class DefinitionDraft(Struct, frozen=True, kw_only=True):
    """The text that is worked on.

    Attributes:
        kind: what the text is.
        name: what the text is called.
        text: the text.
        revision: counts the changes of the draft, from 1 on. The caller that saves a draft names the revision that was
            changed.
        digest: SHA-256 of the text.
        at: when the draft was saved last, in seconds since 1970.
        by: who saved the draft last.
        published: the number of the publication in use; 0 where none is.
    """

    kind: KindName
    name: str
    text: str
    revision: int
    digest: str
    at: float
    by: str = ""
    published: int = 0


class PublishedVersion(Struct, frozen=True, kw_only=True):
    """A publication without its text, for lists.

    Attributes:
        kind, name: what was published.
        number: counts the publications of this name, from 1 on.
        digest: SHA-256 of the text.
        at: when the text was published, in seconds since 1970.
        by: who published the text.
        again: the number of the older publication that this one copies; 0 where the text comes from the draft.
        source: where the text comes from, such as the name of a file; empty for a draft that a person wrote.
    """

    kind: KindName
    name: str
    number: int
    digest: str
    at: float
    by: str = ""
    again: int = 0
    source: str = ""


class Publication(PublishedVersion, frozen=True, kw_only=True):
    """A text as it was published. A publication never changes.

    Attributes:
        text: the text.
        about: what lists tell of the text; see `PublicationInUse`.
    """

    text: str
    about: str = ""


class ListedDefinition(Struct, frozen=True, kw_only=True):
    """A line of the list of definitions.

    Attributes:
        kind, name: what the text is, and what it is called.
        revision: the revision of the draft.
        published: the number of the publication in use; 0 where none is.
        changed: the draft differs from the publication in use.
        at: when the draft was saved last, in seconds since 1970.
        by: who saved the draft last.
    """

    kind: KindName
    name: str
    revision: int
    published: int
    changed: bool
    at: float
    by: str = ""


class DraftChange(Struct, frozen=True, kw_only=True):
    """The latest change of a draft.

    Attributes:
        kind, name: what the draft is, and what it is called.
        number: counts the changes of all drafts of the tenant.
        revision: the revision of the draft; of a draft that was deleted the last revision.
        by: who changed the draft.
        is_gone: whether the draft was deleted.
    """

    kind: KindName
    name: str
    number: int
    revision: int
    by: str = ""
    is_gone: bool = False


class Canary(Struct, frozen=True):
    """Another publication than the one in use, which a share of the users gets.

    Attributes:
        number: the number of the publication.
        share: how many of a hundred users get it; 0 for nobody.
    """

    number: int
    share: int


class PublicationInUse(Struct, frozen=True, kw_only=True):
    """The publication in use of a name, without its text, for lists that many requests read.

    Attributes:
        name: what was published.
        number: the number of the publication.
        digest: SHA-256 of the text.
        at: when the text was published, in seconds since 1970.
        about: the description of the text for lists, as its publisher wrote it; empty where none is known.
        canary: the publication that a share of the users gets in the place of this one; None for none.
    """

    name: str
    number: int
    digest: str
    at: float
    about: str = ""
    canary: Canary | None = None

    def number_for(self, user: str) -> int:
        """The number of the publication that a user gets: always the same, as long as the canary is the same. A user
        who gets the canary keeps it when its share grows.

        >>> line = PublicationInUse(name="desk", number=3, digest="", at=0, canary=Canary(4, 10))
        >>> [line.number_for(f"user {each}") for each in range(1_000)].count(4)
        108
        """
        if self.canary is None:
            return self.number
        drawn = hashlib.sha256(f"{self.name}@{self.canary.number}\0{user}".encode("utf-8", "replace")).digest()
        is_drawn = int.from_bytes(drawn[:8]) % 100 < self.canary.share
        return self.canary.number if is_drawn else self.number


class DefinitionDeed(Struct, frozen=True, kw_only=True):
    """One of several things that are done with definitions together.

    Attributes:
        kind, name: what it is done with.
        text: is saved as the draft, and published; None to take the name out of use.
        revision: the revision of the draft that was looked at; 0 where there was none.
        about, source, pins: as for `Definitions.publish`.
    """

    kind: KindName
    name: str
    text: str | None
    revision: int = 0
    about: str = ""
    source: str = ""
    pins: bool = False


class StaleDraft(UsageError):
    """The draft is not the one that the caller knows: somebody else has saved it since. Nothing was changed.

    Args:
        current: the draft as it is; None where there is none.
        revision: the revision that the caller knew.
        text: the text that the caller wanted to save; None where the caller wanted to publish.
    """

    def __init__(self, current: DefinitionDraft | None, revision: int, text: str | None = None) -> None:
        if current is None:
            told = Sentence(
                "there is no draft with the revision {revision}: save a new draft with the revision 0",
                revision=revision,
            )
        else:
            told = Sentence(
                "the draft of {kind} {name!r} has the revision {now}{who} and not {revision}: look at the draft, and "
                "try again with its revision",
                kind=Sentence(current.kind),
                name=current.name,
                now=current.revision,
                who=Sentence(", saved by {user!r},", user=current.by) if current.by else "",
                revision=revision,
            )
        super().__init__(told)
        self.current = current
        self.revision = revision
        self.text = text


class DraftInUse(UsageError):
    """A draft can not be deleted while a publication of its name is in use."""


class CanaryInUse(UsageError):
    """The publication that is to be tried on some users is the one in use."""


TRIED: Final = "draft/"
"""`draft/tool/weather` in `Started.uses`: the run tries the draft of this tool, which has this `number_of_text`."""


def number_of_text(digest: str) -> int:
    """The beginning of the digest of a text, as a number: revisions begin anew where a draft was deleted."""
    return int(digest[:15], 16)


async def draft_tried(
    definitions: Definitions, kind: KindName, name: str, text: int, *, tenant: str
) -> DefinitionDraft:
    """The draft that a run tries.

    Args:
        definitions: keeps the draft.
        kind, name, tenant: what the draft is, what it is called, and whose it is.
        text: the `number_of_text` of the draft.

    Raises:
        UnknownName: there is none.
        UsageError: the draft has another text by now. The run can not go on: what it tried is not kept.
    """
    draft = await definitions.draft(kind, name, tenant=tenant)
    if draft is None:
        raise no_draft(kind, name)
    if number_of_text(draft.digest) != text:
        raise UsageError(
            "the draft of {kind} {name!r} is another than the run tries: try it anew", kind=Sentence(kind), name=name
        )
    return draft


class TooManyDefinitions(UsageError):
    """This tenant has no room for another definition, publication or text."""


class Definitions(Protocol):
    """A place that keeps texts in versions, and that several processes may share. What a method changed is on disk when
    the method returns. Every method may raise JournalError, and UsageError for a bad kind, name, tenant or user.

    All methods take `tenant`, whose definitions are meant. For everybody else the texts of a tenant do not exist.
    """

    async def draft(self, kind: KindName, name: str, *, tenant: str = "") -> DefinitionDraft | None:
        """The draft under a name; None where there is none."""

    async def save(
        self, kind: KindName, name: str, text: str, revision: int, *, tenant: str = "", by: str = ""
    ) -> DefinitionDraft:
        """Save a draft. A text that the draft has already changes nothing, so that a repeated save does no harm.

        Args:
            kind, name: what the text is, and what it is called.
            text: the whole text.
            revision: the revision of the draft that the text was made of; 0 for a new draft.
            tenant: whose definitions are meant.
            by: who saves.

        Raises:
            StaleDraft: somebody else has saved the draft since.
            TooManyDefinitions: there is no room for the text.
        """

    async def delete_draft(
        self, kind: KindName, name: str, *, revision: int | None = None, tenant: str = "", by: str = ""
    ) -> DefinitionDraft:
        """Delete a draft that is not in use. Its publications stay, and `rollback` makes a draft again.
        The revision of a later draft is none that this draft had.

        Args:
            kind, name: which draft.
            revision: the revision that the caller has looked at; None for whatever the draft is now.
            tenant: whose definitions are meant.
            by: who deletes.

        Returns:
            The draft as it was.

        Raises:
            UnknownName: there is no draft.
            StaleDraft: the draft has another revision.
            DraftInUse: a publication of this name is in use.
        """

    async def publish(
        self,
        kind: KindName,
        name: str,
        *,
        revision: int | None = None,
        tenant: str = "",
        by: str = "",
        about: str = "",
        source: str = "",
        pins: bool = False,
    ) -> Publication:
        """Publish the draft under the next number. A text that is published already is not published twice: the
        publication in use is returned. A canary ends.

        Args:
            kind, name: what to publish.
            revision: the revision that the caller has looked at; None to publish whatever the draft is now.
            tenant: whose definitions are meant.
            by: who publishes.
            about: what lists tell of the text; see `PublicationInUse`.
            source: where the text comes from; see `PublishedVersion`.
            pins: with another `about` the same text is published anew.

        Raises:
            UnknownName: there is no draft.
            StaleDraft: the draft has another revision.
            TooManyDefinitions: there is no room for the text.
        """

    async def rollback(
        self, kind: KindName, name: str, number: int, *, tenant: str = "", by: str = "", about: str = ""
    ) -> Publication:
        """Publish an older publication anew, under the next number. The draft stays as it is. Where the publication in
        use has the same text, that publication is returned. A canary ends.

        Raises:
            UnknownName: there is no such publication.
            TooManyDefinitions: there is no room for the text.
        """

    async def unpublish(self, kind: KindName, name: str, *, tenant: str = "") -> Publication:
        """From now on no publication of a name is in use. All publications are kept, with their numbers.

        Returns:
            The publication that was in use.

        Raises:
            UnknownName: none is in use.
        """

    async def set_canary(self, kind: KindName, name: str, canary: Canary, *, tenant: str = "") -> PublicationInUse:
        """From now on a share of the users gets another publication than the one in use. This counts as a publication.

        Args:
            kind, name: what is in use.
            canary: the other publication, and the share; a share of 0 ends the canary.
            tenant: whose definitions are meant.

        Raises:
            UnknownName: none is in use, or there is no such publication.
            CanaryInUse: the publication is the one in use.
            UsageError: the share is none from 0 to 100.
        """

    async def apply(self, deeds: Sequence[DefinitionDeed], *, tenant: str = "", by: str = "") -> list[Publication]:
        """Save and publish several texts, and take others out of use: all of them, or nothing.

        Args:
            deeds: what is done, in this order.
            tenant: whose definitions are meant.
            by: who does it.

        Returns:
            For each deed the publication in use; for what was taken out of use the one that was.

        Raises:
            StaleDraft: somebody has saved one of the drafts since.
            UnknownName: what is taken out of use is not in use.
            TooManyDefinitions: there is no room for the texts.
        """

    async def published(
        self, kind: KindName, name: str, number: int | None = None, *, tenant: str = ""
    ) -> Publication | None:
        """A publication; None where there is none.

        Args:
            kind, name: what was published.
            number: which publication; None for the one in use.
            tenant: whose definitions are meant.
        """

    async def mentioning(self, kind: KindName, word: str, *, tenant: str = "") -> list[Publication]:
        """The publications in use or tried on a share of the users, whose texts may have a word: all that have it, and
        perhaps others.
        """

    async def versions(self, kind: KindName, name: str, *, tenant: str = "") -> list[PublishedVersion]:
        """The publications of a name, the latest first."""

    async def names(self, kind: KindName, *, tenant: str = "") -> list[ListedDefinition]:
        """All definitions of a kind, in the order of the names."""

    async def in_use(self, kind: KindName, *, tenant: str = "") -> list[PublicationInUse]:
        """The publications in use, in the order of the names. No text is read."""

    async def in_use_everywhere(self) -> list[tuple[str, KindName, str]]:
        """The tenant, the kind and the name of all that is in use, for the operator of the machine."""

    async def line_in_use(self, kind: KindName, name: str, *, tenant: str = "") -> PublicationInUse | None:
        """The same of one name; None where none is in use."""

    async def drafts_changed(self, behind: int | None, *, tenant: str = "") -> list[DraftChange]:
        """The drafts that were changed behind a number, each with its latest change, in the order of the changes; of
        more than `CHANGES_MAX` the latest. Read in the same time however many drafts there are.

        Args:
            behind: the `number` of a change; None for the latest change alone.
            tenant: whose definitions are meant.
        """

    async def publications_made(self, kind: KindName, *, tenant: str = "") -> int:
        """How often something was published, tried on users, or taken out of use. While the number stays, `in_use`
        gives the same. It is read in the same time however many publications there are."""


def reference(text: str) -> tuple[str, int | None]:
    """The name and the number that `name` or `name@3` stands for.

    Raises:
        UsageError: the text is neither.

    >>> reference("desk@3")
    ('desk', 3)
    """
    found = _REFERENCE.fullmatch(text)
    if found is None:
        raise UsageError("{text!r:.140} names no publication: write name, or name@3", text=text)
    return checked_name(found[1]), int(found[2]) if found[2] else None


def as_written(uses: Mapping[str, int], kind: KindName, name: str, number: int | None) -> dict[str, int]:
    """What a tool or an agent uses, for a text that names a version: `tool/orders@3`. So the text may use another
    version of the same name, by way of something else that it names.

    Args:
        uses: as in `Started.uses`, with the tool or agent itself.
        kind, name: which tool or agent.
        number: the version that the text names; None for none.

    >>> as_written({"tool/orders": 3, "prompt/desk": 1}, "tool", "orders", 3)
    {'tool/orders@3': 3, 'prompt/desk': 1}
    """
    own = f"{kind}/{name}"
    return {f"{own}@{number}" if number and key == own else key: each for key, each in uses.items()}


def checked_name(name: str) -> str:
    """A name of a definition, if it is one.

    Letters of any language are allowed, in their usual form (Unicode NFKC), so that two names that look alike because
    of an invisible character are not both names. Letters of two alphabets that look alike remain two letters.

    Raises:
        UsageError: the name is empty, too long, or has other characters.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name) or unicodedata.normalize("NFKC", name) != name:
        raise UsageError(
            "the name {name!r:.140}: use 1 to 128 letters, digits, '_', '-' or '.', a letter first", name=name
        )
    return name


def checked_kind(kind: str) -> KindName:
    """A kind of text, if it is one.

    Raises:
        UsageError: no kind is called so.
    """
    if not isinstance(kind, str) or not _KIND.fullmatch(kind):
        raise UsageError(
            "{kind!r:.140} can not be a kind of definitions: use up to 24 small letters, digits and '_'", kind=kind
        )
    return kind


def checked_definition_text(text: str) -> bytes:
    """A text of a definition in UTF-8, if it is one.

    Raises:
        UsageError: it is no text, or too large.
    """
    try:
        found = text.encode()
    except (AttributeError, UnicodeEncodeError):
        raise UsageError("the text can not be written as UTF-8") from None
    if len(found) > TEXT_BYTES_MAX:
        raise UsageError("the text has {count} bytes: at most {most} are kept", count=len(found), most=TEXT_BYTES_MAX)
    return found


def checked_user(what: str, name: str) -> str:
    """The name of a tenant or of a user, as a database can keep it.

    Raises:
        UsageError: it is no text, too long, or has characters that can not be kept.
    """
    if not isinstance(name, str) or len(name) > 1_000 or not name.isprintable():
        raise UsageError(
            "{what}={name!r:.140}: give a text of at most 1000 characters that can be printed", what=what, name=name
        )
    return name


def checked_canary(canary: Canary, in_use: int) -> Canary:
    """A canary, if it is one beside the publication in use.

    Raises:
        CanaryInUse: the publication is the one in use.
        UsageError: the share is none.
    """
    if not 0 <= canary.share <= 100:
        raise UsageError("share={share!r}: give a number from 0 to 100, of a hundred users", share=canary.share)
    if canary.share and canary.number == in_use:
        raise CanaryInUse("publication {number} is in use by all: try another one on some users", number=in_use)
    return canary


def text_digest(text: bytes) -> str:
    """SHA-256 of a text."""
    return hashlib.sha256(text).hexdigest()


def check_definition_quota(names: int, publications: int, size: int) -> None:
    """Check that a tenant stays within its limits.

    Args:
        names: the number of names of this tenant, of one kind.
        publications: the number of publications of one name.
        size: the number of bytes of this tenant.

    Raises:
        TooManyDefinitions: a limit is exceeded.
    """
    if names > NAMES_MAX or publications > PUBLICATIONS_MAX or size > DEFINITIONS_BYTES_MAX:
        raise TooManyDefinitions(
            "there is no room for this definition: {most} names of a kind, {publications_max} publications of a name "
            "and {bytes_max} bytes are the limit of a tenant",
            most=NAMES_MAX,
            publications_max=PUBLICATIONS_MAX,
            bytes_max=DEFINITIONS_BYTES_MAX,
        )


async def is_unpublished(definitions: Definitions, draft: DefinitionDraft, *, tenant: str = "") -> bool:
    """Whether a draft has a text that no publication of its name has, so that it would be lost if another text took its
    place. A text that was rolled back or taken out of use is still a publication.

    Args:
        definitions: where the publications are.
        draft: the draft.
        tenant: whose draft it is.

    Raises:
        JournalError: the publications can not be read.
    """
    versions = await definitions.versions(draft.kind, draft.name, tenant=tenant)
    return draft.digest not in {each.digest for each in versions}


def no_draft(kind: str, name: str) -> UnknownName:
    """The error for publishing a draft that does not exist."""
    return UnknownName("there is no draft of {kind} {name!r}", kind=Sentence(kind), name=name)


def no_publication(kind: str, name: str, number: int | None = None) -> UnknownName:
    """The error for asking for a publication that does not exist."""
    which = f"{name}@{number}" if number is not None else name
    return UnknownName("there is no published {kind} {which!r}", kind=Sentence(kind), which=which)
