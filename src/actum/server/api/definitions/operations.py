"""The operations that every kind of definitions has, made from the kind: drafts, checks, publications, rollback, the
end of use, and what differs between two versions.

A publisher decides what the server does on behalf of others: this needs a scope that the kind names. Each tenant
has definitions of its own. What only an administrator may publish is told by the kind, text by text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from ....core.definition import (
    BadText,
    DefinitionChange,
    NameTaken,
    ReadDefinition,
    TextProblem,
)
from ....core.errors import UnknownName, UsageError
from ....core.identity import Identity
from ....core.json import JsonObject
from ....core.language.sentence import Sentence
from ....core.process.worker_thread import off_loop
from ....core.stored.definitions import (
    Canary,
    DefinitionDraft,
    DraftInUse,
    Publication,
    PublicationInUse,
    PublishedVersion,
    StaleDraft,
    checked_name,
    no_draft,
    no_publication,
)
from ....features.command import AnswerText, Command, CommandOption, ListColumn
from ....features.definition import DefinitionKind
from ....features.operation import AnswerKind, ApiReply, ApiRequest, Application, Method, Operation
from ....features.refusal import Refusal, not_found
from ....journal.lists import read_cursor, write_cursor
from ....journal.version_figures import VersionFigures, version_figures
from ....protocols.definition_text import with_name
from ....runs.definitions import Permit, Publisher
from ....scores.score import thumbs
from ...scopes import allows, needs_key, wants
from ..examples import ASKED_AT, RUN
from ..records import cursors
from .bodies import (
    CanaryBody,
    CanarySet,
    CheckBody,
    CompareQuery,
    DefinitionChecked,
    DefinitionInfo,
    DefinitionPage,
    DefinitionPublished,
    DefinitionsQuery,
    DefinitionText,
    DefinitionUnpublished,
    DefinitionVersion,
    DefinitionVersions,
    DeleteDraftQuery,
    DiffQuery,
    DraftBody,
    DraftText,
    PublishBody,
    RollbackBody,
    TextChange,
    TextDifference,
    VersionQuery,
    VersionsCompared,
)
from .references import used_by
from .refusing import refusing, told_problems, told_remarks

DAY_S = 86_400.0
REMARK = "{name}: {why}"


class _Handlers:
    """What answers the operations of one kind."""

    def __init__(self, kind: DefinitionKind) -> None:
        self._kind = kind

    async def list(self, app: Application, asked: ApiRequest[DefinitionsQuery, None]) -> ApiReply:
        """What is in use, in the order of the names; with `drafts` also what is not."""
        kind, who, query, definitions = self._kind.name, asked.who, asked.query, app.journal.definitions
        with cursors():
            behind = read_cursor(query.cursor, str) if query.cursor else ""
        in_use = {each.name: each for each in await definitions.in_use(kind, tenant=who.tenant)}
        drafts = [each.name for each in await definitions.names(kind, tenant=who.tenant)] if query.drafts else []
        names = sorted(name for name in {*in_use, *drafts} if name > behind and self._kind.may_see(who, name))
        items = []
        for name in names[: query.limit]:
            line = in_use.get(name)
            told = (self._kind.told(line.about), line.number, line.digest) if line is not None else ("", 0, "")
            items.append(DefinitionInfo(name=name, about=told[0], version=told[1], digest=told[2]))
        following = write_cursor(items[-1].name) if len(names) > len(items) else None
        return ApiReply(DefinitionPage(items=tuple(items), next=following))

    async def get(self, app: Application, asked: ApiRequest[VersionQuery, None]) -> ApiReply:
        """A publication, with its text."""
        await self._publisher(app, asked)
        found = await self._published(app, asked, asked.query.version)
        return ApiReply(DefinitionText(name=found.name, version=found.number, digest=found.digest, text=found.text))

    async def check(self, app: Application, asked: ApiRequest[None, CheckBody]) -> ApiReply:
        """What is wrong with a text."""
        publisher, text = await self._publisher(app, asked), asked.body.text
        if text is None:
            text = (await self._published(app, asked, 0)).text
        try:
            read = await publisher.check(asked.names["name"], text)
        except BadText as bad:
            return ApiReply(DefinitionChecked(problems=told_problems(bad.problems, asked.language)))
        except NameTaken as taken:
            problem = TextProblem(taken.sentence, path="name")
            return ApiReply(DefinitionChecked(problems=told_problems([problem], asked.language)))
        return ApiReply(DefinitionChecked(problems=(), remarks=told_remarks(read.remarks, asked.language)))

    async def get_draft(self, app: Application, asked: ApiRequest[None, None]) -> ApiReply:
        """The draft under a name."""
        await self._publisher(app, asked)
        with refusing(asked):
            return ApiReply(_draft(await self._drafted(app, asked)))

    async def save_draft(self, app: Application, asked: ApiRequest[None, DraftBody]) -> ApiReply:
        """Save a draft, mistakes included."""
        who, name, body = asked.who, asked.names["name"], asked.body
        publisher = await self._publisher(app, asked)
        with refusing(asked):
            await self._check_free(app, publisher, asked)
            saved = await app.journal.definitions.save(
                self._kind.name, name, body.text, body.revision, tenant=who.tenant, by=who.principal
            )
        return ApiReply(_draft(saved))

    async def delete_draft(self, app: Application, asked: ApiRequest[DeleteDraftQuery, None]) -> ApiReply:
        """Delete a draft. No publication of its name may be in use."""
        kind, who, name = self._kind.name, asked.who, asked.names["name"]
        await self._publisher(app, asked)
        with refusing(asked, "draft"):
            try:
                was = await app.journal.definitions.delete_draft(
                    kind, name, revision=asked.query.revision or None, tenant=who.tenant, by=who.principal
                )
            except DraftInUse as error:
                used_by = await self._used_by(app, asked, with_numbers=True)
                raise Refusal(409, "in_use", error, used_by=used_by) from None
        return ApiReply(_draft(was))

    async def publish(self, app: Application, asked: ApiRequest[None, PublishBody]) -> ApiReply:
        """Publish a draft."""
        who, name, looked = asked.who, asked.names["name"], _Looked(permit_of(asked))
        publisher = await self._publisher(app, asked)
        with refusing(asked, "draft"):
            await self._check_free(app, publisher, asked)
            made = await publisher.publish(
                name,
                revision=asked.body.revision,
                by=who.principal,
                key_id=who.key_id,
                permit=looked,
                source=asked.body.source,
            )
        return ApiReply(await self._shared(app, asked, made, looked.remarks))

    async def rollback(self, app: Application, asked: ApiRequest[None, RollbackBody]) -> ApiReply:
        """Publish an older publication anew."""
        who, name, looked = asked.who, asked.names["name"], _Looked(permit_of(asked))
        publisher = await self._publisher(app, asked)
        with refusing(asked):
            await self._check_free(app, publisher, asked)
            made = await publisher.rollback(name, asked.body.number, by=who.principal, key_id=who.key_id, permit=looked)
        return ApiReply(await self._shared(app, asked, made, looked.remarks))

    async def canary(self, app: Application, asked: ApiRequest[None, CanaryBody]) -> ApiReply:
        """Try another publication on a share of the users."""
        who, name, body = asked.who, asked.names["name"], asked.body
        publisher = await self._publisher(app, asked)
        with refusing(asked):
            line = await publisher.set_canary(
                name,
                Canary(body.version, body.share),
                by=who.principal,
                key_id=who.key_id,
                permit=permit_of(asked),
            )
        tried = line.canary or Canary(0, 0)
        return ApiReply(CanarySet(name=name, number=line.number, version=tried.number, share=tried.share))

    async def compare_runs(self, app: Application, asked: ApiRequest[CompareQuery, None]) -> ApiReply:
        """How the runs of two publications went."""
        kind, who, name, query = self._kind, asked.who, asked.names["name"], asked.query
        await self._publisher(app, asked)
        since = app.clock.now() - query.days * DAY_S
        found: list[VersionFigures] = []
        with refusing(asked):
            for number in (query.old, query.new):
                await self._published(app, asked, number)
                figures = await version_figures(
                    app.journal, name, number, kind=kind.runs, since=since, tenant=who.tenant, thumbs=thumbs
                )
                found.append(figures)
        return ApiReply(VersionsCompared(items=tuple(found)))

    async def unpublish(self, app: Application, asked: ApiRequest[None, None]) -> ApiReply:
        """Take a text out of use."""
        who, name = asked.who, asked.names["name"]
        publisher = await self._publisher(app, asked)
        try:
            was = await publisher.unpublish(name, by=who.principal, key_id=who.key_id)
        except UnknownName:
            raise Refusal(
                404, "not_found", "There is no published {kind} {name!r}.", kind=Sentence(self._kind.name), name=name
            ) from None
        used_by = await self._used_by(app, asked, with_numbers=self._kind.stops)
        return ApiReply(DefinitionUnpublished(number=was.number, used_by=used_by))

    async def list_versions(self, app: Application, asked: ApiRequest[None, None]) -> ApiReply:
        """The publications of a name, the latest first."""
        kind, who, name = self._kind.name, asked.who, asked.names["name"]
        await self._publisher(app, asked)
        found = await app.journal.definitions.versions(kind, name, tenant=who.tenant)
        if not found and asked.by_operator:
            if await app.journal.definitions.draft(kind, name, tenant=who.tenant) is None:
                raise no_publication(kind, name)
        elif not found:
            raise not_found(kind)
        line = await app.journal.definitions.line_in_use(kind, name, tenant=who.tenant)
        return ApiReply(DefinitionVersions(items=tuple(_version(each, line) for each in found)))

    async def compare(self, app: Application, asked: ApiRequest[DiffQuery, None]) -> ApiReply:
        """What differs between two versions."""
        query = asked.query
        await self._publisher(app, asked)
        with refusing(asked):
            old = await self._published(app, asked, query.old)
            new = await self._published(app, asked, query.new) if query.new else await self._drafted(app, asked)
            size = len(old.text) + len(new.text)
            changes = [*await off_loop(size, self._kind.difference, old.text, new.text)]
            if changes and self._kind.weighed is not None:
                changes += await self._kind.weighed(app.journal, asked.who.tenant, old.text, new.text)
        return ApiReply(TextDifference(changes=tuple(map(_change, changes)), used_by=await self._used_by(app, asked)))

    async def tried(self, app: Application, asked: ApiRequest[Any, Any], revision: int | None) -> DefinitionDraft:
        """The draft that a caller may try: what the caller could publish."""
        name = asked.names["name"]
        publisher = await self._publisher(app, asked)
        with refusing(asked, "draft"):
            await self._check_free(app, publisher, asked)
            draft = await self._drafted(app, asked)
            if revision is not None and revision != draft.revision:
                raise StaleDraft(draft, revision)
            read = await publisher.check(name, draft.text)
        permit = permit_of(asked)
        if permit is not None:
            permit(read)
        return draft

    # What several of them need ----------------------------------------------------------------------------------------

    async def _publisher(self, app: Application, asked: ApiRequest[Any, Any]) -> Publisher:
        name = asked.names["name"]
        try:
            checked_name(name)
        except UsageError:
            if asked.by_operator:
                raise
            raise not_found(self._kind.name) from None
        return await publisher_of(self._kind, app, asked.who, name)

    async def _check_free(self, app: Application, publisher: Publisher, asked: ApiRequest[Any, Any]) -> None:
        """Raises:
        NameTaken: the name means something else on this server.
        """
        name = asked.names["name"]
        publisher.check_name(name)
        means = await self._kind.means(app, asked.who, name) if self._kind.means is not None else ""
        if means:
            raise NameTaken(name, means, self._kind.name)

    async def _used_by(
        self, app: Application, asked: ApiRequest[Any, Any], *, with_numbers: bool = False
    ) -> tuple[str, ...]:
        kind, name, tenant = self._kind.name, asked.names["name"], asked.who.tenant
        return tuple(await used_by(app.journal.definitions, kind, name, tenant=tenant, with_numbers=with_numbers))

    async def _shared(
        self, app: Application, asked: ApiRequest[Any, Any], made: Publication, remarks: Sequence[Sentence | str]
    ) -> DefinitionPublished:
        kind, name = self._kind.name, asked.names["name"]
        version = _version(made, await app.journal.definitions.line_in_use(kind, name, tenant=asked.who.tenant))
        return DefinitionPublished(**structs.asdict(version), remarks=told_remarks(remarks, asked.language))

    async def _drafted(self, app: Application, asked: ApiRequest[Any, Any]) -> DefinitionDraft:
        kind, name = self._kind.name, asked.names["name"]
        found = await app.journal.definitions.draft(kind, name, tenant=asked.who.tenant)
        if found is not None:
            return found
        raise no_draft(kind, name) if asked.by_operator else not_found("draft")

    async def _published(self, app: Application, asked: ApiRequest[Any, Any], number: int) -> Publication:
        kind, name = self._kind.name, asked.names["name"]
        found = await app.journal.definitions.published(kind, name, number or None, tenant=asked.who.tenant)
        if found is not None:
            return found
        raise no_publication(kind, name, number or None) if asked.by_operator else not_found("publication")


class _Looked:
    """Sees what is in a text that is to be published.

    Args:
        permit: raises an error where it must not be published; None where everything may be.

    Attributes:
        remarks: those of the text.
    """

    def __init__(self, permit: Permit | None) -> None:
        self._permit = permit
        self.remarks: tuple[Sentence | str, ...] = ()

    def __call__(self, read: ReadDefinition) -> None:
        if self._permit is not None:
            self._permit(read)
        self.remarks = read.remarks


def named_text(kind: DefinitionKind, text: str, name: str) -> tuple[str, str]:
    """The name of a text, and the text: where it says no name, with the name of its file.

    Args:
        kind: the kind.
        text: the text.
        name: the name that its file gives.

    Raises:
        BadText: something is wrong with the text, whatever its name is.
    """
    if kind.read is None:
        return name, text
    try:
        return kind.read(text).name or name, text
    except BadText as bad:
        if all(line.lstrip()[:1] in ("", "#") for line in text.splitlines()):
            raise  # a name alone would make an agent of a file that a full disk has cut to nothing
        named = with_name(text, name)
        try:
            if kind.read(named).name == name:
                return name, named
        except BadText as still:  # the file gives the name: that the text has none is no mistake
            left, found = ({str(each.message) for each in wrong.problems} for wrong in (still, bad))
            if left < found:
                raise BadText([each for each in bad.problems if str(each.message) in left]) from None
        except UsageError:
            pass
        raise


TRY_TOLD = (
    "What it does is done: it has your rights, the policy judges it, and it waits for a person where the published one "
    "would. It is on record, and the `draft` of its run names what was tried. 409 with the code `stale`: the draft is "
    "another by now. What waits can not go on once the draft has another text."
)
"""What a client is told of a try, of whatever kind."""


async def draft_to_try(
    kind: DefinitionKind, app: Application, asked: ApiRequest[Any, Any], revision: int | None
) -> DefinitionDraft:
    """The draft that a request tries. Nothing wrong was found in it, and the caller could publish it.

    Args:
        kind: what the draft is.
        app: the server.
        asked: the request, with the name of the draft.
        revision: the revision that the caller has looked at; None for whatever the draft is now.

    Raises:
        Refusal: there is no such draft, it is another by now, something is wrong with it, or the caller could not
            publish it.
    """
    return await _Handlers(kind).tried(app, asked, revision)


async def publisher_of(kind: DefinitionKind, app: Application, who: Identity, name: str) -> Publisher:
    """What publishes the texts of a caller's tenant.

    Raises:
        Refusal: the caller has none of this kind, or may not know of a text of this name.
    """
    publisher: Publisher | None = (
        await kind.open(app, who) if kind.open is not None else _plain_publisher(kind, app, who.tenant)
    )
    if publisher is None or not kind.may_see(who, name):
        raise not_found(kind.name)
    return publisher


def _plain_publisher(kind: DefinitionKind, app: Application, tenant: str) -> Publisher:
    read = kind.read

    async def check(name: str, text: str) -> ReadDefinition:
        return await off_loop(len(text), read, text) if read is not None else ReadDefinition()

    return Publisher(app.journal, kind.name, kind.plural, check, tenant=tenant)


def permit_of(asked: ApiRequest[Any, Any]) -> Permit | None:
    """What raises a refusal of a text that the caller may not publish; None for the operator, who may all."""
    if asked.by_operator:
        return None

    def permit(read: ReadDefinition) -> None:
        is_admin = allows(asked.who, ("admin",))
        if read.is_code and not is_admin:
            raise wants("admin", "to publish code")
        if read.is_code:
            needs_key(asked.who, "code")
        if read.names_secret and not is_admin:
            raise wants("admin", "to publish what names a secret")
        if read.names_place and not is_admin:
            raise wants("admin", "to publish what names the address of a model; without it, name a connected model")

    return permit


def _draft(draft: DefinitionDraft) -> DraftText:
    return DraftText(
        name=draft.name, text=draft.text, revision=draft.revision, at=draft.at, by=draft.by, published=draft.published
    )


def _version(made: PublishedVersion, line: PublicationInUse | None) -> DefinitionVersion:
    tried = line.canary if line is not None else None
    share = 100 - (tried.share if tried is not None else 0) if line is not None and made.number == line.number else 0
    return DefinitionVersion(
        name=made.name,
        number=made.number,
        digest=made.digest,
        at=made.at,
        by=made.by,
        again=made.again,
        source=made.source,
        share=tried.share if tried is not None and made.number == tried.number else share,
    )


def _change(each: DefinitionChange) -> TextChange:
    return TextChange(**structs.asdict(each))


# How they are typed ---------------------------------------------------------------------------------------------------


def published_text(made: DefinitionPublished, names: Mapping[str, str]) -> list[AnswerText]:
    """What a person is told of a publication that was just made."""
    told = [AnswerText(REMARK, values={"name": made.name, "why": each}, is_note=True) for each in made.remarks]
    return [*told, AnswerText("{name}@{number} is published.", values={"name": made.name, "number": made.number})]


def _figure(name: str) -> Callable[[VersionFigures], str]:
    return lambda each: f"{getattr(each, name).value:.10g}"


def _canary_text(answer: CanarySet, names: Mapping[str, str]) -> list[AnswerText]:
    values = structs.asdict(answer)
    if not answer.share:
        return [AnswerText("All users get {name}@{number} now.", values=values)]
    return [
        AnswerText("{share} of a hundred users get {name}@{version} now, the others {name}@{number}.", values=values)
    ]


def _commands(kind: DefinitionKind) -> dict[str, Command]:
    """The commands, by the verb of their operation."""
    group = kind.words

    def unpublished(answer: DefinitionUnpublished, names: Mapping[str, str]) -> list[AnswerText]:
        again = "{name}@{number} is no longer in use; to publish it anew: actum {group} rollback {name} {number}"
        return [
            AnswerText(again, values={**names, "number": answer.number, "group": group}),
            *(
                AnswerText(
                    "{other} uses {name}: what it does with {name} fails from now on.",
                    values={**names, "other": other},
                    is_note=True,
                )
                for other in answer.used_by
            ),
        ]

    name = CommandOption(metavar="NAME", help=f"The name of the {kind.name}.")
    keeps = "Runs under way keep the version they began with."
    ends = "from now on no call of it is made, not even by runs under way." if kind.stops else ""
    if kind.judges:
        keeps = "It holds at once, for runs under way too."
        ends = "from now on each call that it would judge is denied."
    return _trial_commands(kind, name) | {
        "rollback": Command(
            words=(group, "rollback"),
            help=f"Publish an older publication anew, under the next number. {keeps}",
            arguments=("number",),
            options={
                "name": name,
                "number": CommandOption(metavar="NUMBER", help="The number of an older publication."),
            },
            uses_tools=kind.uses_tools,
            show=published_text,
        ),
        "unpublish": Command(
            words=(group, "unpublish"),
            help=f"Take {kind.a_name} out of use: {ends or f'nothing new begins with it. {keeps}'}",
            options={"name": name},
            show=unpublished,
        ),
        "versions": Command(
            words=(group, "versions"),
            help=f"List the publications of {kind.a_name}, the latest first.",
            options={"name": name},
            columns=(
                ListColumn("name", made_of=lambda each: f"{each.name}@{each.number}"),
                ListColumn("when", "at", "moment"),
                ListColumn("user", "by"),
                ListColumn("source", "source"),
                ListColumn("digest", made_of=lambda each: each.digest[:12]),
                ListColumn("again", made_of=lambda each: f"{each.name}@{each.again}" if each.again else ""),
                ListColumn("users", made_of=lambda each: f"{each.share} %" if each.share else ""),
            ),
            empty="{name} has a draft, and nothing was published yet.",
        ),
    }


def _trial_commands(kind: DefinitionKind, name: CommandOption) -> dict[str, Command]:
    """The commands of a trial of another publication on a share of the users."""
    return {
        "canary": Command(
            words=(kind.words, "canary"),
            help="Try another publication on a share of the users. Each user always gets the same one. --share 0 ends "
            "the trial; publish and rollback end it, too.",
            options={
                "name": name,
                "version": CommandOption(metavar="NUMBER", help="The number of the other publication."),
                "share": CommandOption(metavar="PERCENT", help="How many of a hundred users get it."),
            },
            uses_tools=kind.uses_tools,
            show=_canary_text,
        ),
        "compare_runs": Command(
            words=(kind.words, "compare"),
            help="Compare how the runs of two publications went: ends, seconds, tokens, cost, calls and thumbs.",
            arguments=("old", "new"),
            options={
                "name": name,
                "old": CommandOption(metavar="OLD", help="The number of a publication."),
                "new": CommandOption(metavar="NEW", help="The number of another one."),
                "days": CommandOption(metavar="DAYS", help="Of how many days runs are compared."),
            },
            columns=(
                ListColumn("version", "version"),
                ListColumn("runs", made_of=lambda each: f"{each.runs.value:g}{'+' if each.is_part else ''}"),
                ListColumn(
                    "ended",
                    made_of=lambda each: ", ".join(f"{status} {one.value:g}" for status, one in each.ended.items()),
                ),
                ListColumn("median", made_of=lambda each: f"{each.seconds_median.value:.1f} s"),
                ListColumn("95 %", made_of=lambda each: f"{each.seconds_95.value:.1f} s"),
                ListColumn("tokens", made_of=_figure("tokens")),
                ListColumn("cost", made_of=_figure("cost")),
                ListColumn("failed", made_of=_figure("failed")),
                ListColumn("denied", made_of=_figure("denied")),
                ListColumn("asked", made_of=_figure("asked")),
                ListColumn("up", made_of=_figure("thumbs_up")),
                ListColumn("down", made_of=_figure("thumbs_down")),
            ),
        ),
    }


# The operations -------------------------------------------------------------------------------------------------------


_FIGURE: JsonObject = {"value": 1.0, "runs": [RUN]}
_FIGURES: JsonObject = {
    "version": 3,
    "is_part": False,
    "ended": {"done": _FIGURE},
    **dict.fromkeys(("runs", "seconds_median", "seconds_95", "tokens", "cost", "failed", "denied", "asked"), _FIGURE),
    **dict.fromkeys(("thumbs_up", "thumbs_down"), _FIGURE),
}
_INFO: JsonObject = {"name": "booking", "about": "", "version": 1, "digest": "4a5c0f"}
_VERSION: JsonObject = {"name": "booking", "number": 1, "digest": "4a5c0f", "at": ASKED_AT, "by": "root", "again": 0}
_VERSION |= {"source": "booking.json", "share": 100}
_CHANGE: JsonObject = {"kind": "added", "what": "node", "place": "book", "node": "", "old": None, "new": "tool"}
_CHANGE["breaks"] = ""
_PUBLISHED: JsonObject = {**_VERSION, "remarks": []}
_IN_USE = AnswerKind(means="The publication in use.", body=DefinitionPublished, example=_PUBLISHED)


class _Operations:
    """The operations of one kind, with their examples."""

    def __init__(self, kind: DefinitionKind) -> None:
        self._kind, self._handlers, self._commands = kind, _Handlers(kind), _commands(kind)
        self._title, self._several = kind.title, kind.plural.title().replace("_", "")
        self._text = f"text of {kind.a_name}"
        self._draft: JsonObject = {"name": "booking", "text": self._text, "revision": 1, "at": ASKED_AT}
        self._draft |= {"by": "root", "published": 0}

    def readings(self) -> dict[str, Operation]:
        """What is read and checked."""
        return {
            "list": self._made(
                "list",
                f"list{self._several}",
                "get",
                f"List the {self._kind.plural}, in the order of their names.",
                AnswerKind(
                    means=f"The {self._kind.plural}.", body=DefinitionPage, example={"items": [_INFO], "next": None}
                ),
                query=DefinitionsQuery,
                scopes=self._kind.readers,
            ),
            "get": self._made(
                "get",
                f"get{self._title}",
                "get",
                f"Get {self._kind.a_name}.",
                AnswerKind(
                    means=f"The {self._kind.name}.",
                    body=DefinitionText,
                    example={"name": "booking", "version": 1, "digest": "4a5c0f", "text": self._text},
                ),
                at="/{name}",
                query=VersionQuery,
                scopes=self._kind.readers,
            ),
            "check": self._made(
                "check",
                f"check{self._title}",
                "post",
                "Check a text: everything that is wrong with it, with line, column and a hint.",
                AnswerKind(
                    means="What the check found.", body=DefinitionChecked, example={"problems": [], "remarks": []}
                ),
                at="/{name}/check",
                body=CheckBody,
                example={"text": self._text},
                description="Nothing is saved.",
            ),
        }

    def drafts(self) -> dict[str, Operation]:
        """Texts that are not in use."""
        return {
            "draft": self._made(
                "get_draft",
                f"get{self._title}Draft",
                "get",
                f"Get the draft of {self._kind.a_name}.",
                AnswerKind(means="The draft.", body=DraftText, example=self._draft),
                at="/{name}/draft",
            ),
            "save": self._made(
                "save_draft",
                f"save{self._title}Draft",
                "post",
                f"Save the draft of {self._kind.a_name}.",
                AnswerKind(means="The draft as it was saved.", body=DraftText, example=self._draft),
                at="/{name}/draft",
                body=DraftBody,
                example={"text": self._text, "revision": 0},
                description=(
                    "409 with the code `stale`: somebody else has saved the draft since; `current` is the text as it "
                    "is now, and `text` the one that was sent. 409 with the code `name_taken`: the name means "
                    "something else on this server."
                ),
                errors=(409,),
            ),
            "delete": self._made(
                "delete_draft",
                f"delete{self._title}Draft",
                "delete",
                f"Delete the draft of {self._kind.a_name} that is not in use.",
                AnswerKind(means="The draft as it was.", body=DraftText, example=self._draft),
                at="/{name}/draft",
                query=DeleteDraftQuery,
                description=(
                    "Publications stay, and can be published anew by `rollback`. 409 with the code `in_use`: a "
                    "publication is in use; `used_by` names what refers to it."
                ),
                errors=(409,),
            ),
        }

    def publications(self) -> dict[str, Operation]:
        """What puts a text into use."""
        return {
            "publish": self._made(
                "publish",
                f"publish{self._title}",
                "post",
                f"Publish the draft of {self._kind.a_name} under the next number.",
                _IN_USE,
                at="/{name}/publish",
                body=PublishBody,
                example={"revision": 1},
                description="A text in which something is wrong is not published: 422. "
                + ("It holds for runs under way too." if self._kind.judges else "Runs keep their versions."),
                errors=(409,),
            ),
            "rollback": self._made(
                "rollback",
                f"rollback{self._title}",
                "post",
                f"Publish an older publication of {self._kind.a_name} anew, under the next number.",
                _IN_USE,
                at="/{name}/rollback",
                body=RollbackBody,
                example={"number": 1},
                errors=(409,),
            ),
        }

    def trials(self) -> dict[str, Operation]:
        """A publication on a share of the users."""
        return {
            "canary": self._made(
                "canary",
                f"try{self._title}",
                "post",
                f"Try another publication of {self._kind.a_name} on a share of the users.",
                AnswerKind(
                    means="Which publications the users get.",
                    body=CanarySet,
                    example={"name": "booking", "number": 3, "version": 4, "share": 10},
                ),
                at="/{name}/canary",
                body=CanaryBody,
                example={"version": 4, "share": 10},
                description="`publish`, `rollback` and `unpublish` end the trial.",
                errors=(409,),
            ),
            "compare_runs": self._made(
                "compare_runs",
                f"compare{self._title}Runs",
                "get",
                f"Get how the runs of two publications of {self._kind.a_name} went.",
                AnswerKind(
                    means="The figures, each with runs behind it.", body=VersionsCompared, example={"items": [_FIGURES]}
                ),
                at="/{name}/compare",
                query=CompareQuery,
            ),
        }

    def versions(self) -> dict[str, Operation]:
        """The end of use, and what was published before."""
        return {
            "unpublish": self._made(
                "unpublish",
                f"unpublish{self._title}",
                "post",
                f"Take a published {self._kind.name} out of use.",
                AnswerKind(
                    means="What was in use, and who used it.",
                    body=DefinitionUnpublished,
                    example={"number": 3, "used_by": ["desk"]},
                ),
                at="/{name}/unpublish",
                description=self._ends() + "publications keep their numbers.",
            ),
            "versions": self._made(
                "list_versions",
                f"list{self._title}Versions",
                "get",
                f"List the publications of {self._kind.a_name}, the latest first.",
                AnswerKind(means="The publications.", body=DefinitionVersions, example={"items": [_VERSION]}),
                at="/{name}/versions",
                scopes=self._kind.readers,
            ),
            "compare": self._made(
                "compare",
                f"compare{self._title}Versions",
                "get",
                f"Get what differs between two versions of {self._kind.a_name}.",
                AnswerKind(
                    means="The differences.", body=TextDifference, example={"changes": [_CHANGE], "used_by": ["desk"]}
                ),
                at="/{name}/diff",
                query=DiffQuery,
                errors=(422,),
            ),
        }

    def _ends(self) -> str:
        """What `unpublish` means for runs, up to the last half of its last sentence."""
        kind = self._kind
        if kind.judges:
            return f"Each call that the {kind.name} would judge is denied until something is published again. All "
        begins = f"Nothing new begins with the {kind.name} until something is published under its name again. "
        if kind.stops:
            return (
                f"{begins}Runs under way make no call of it either, and a call that waits for a person is refused. All "
            )
        return f"{begins}Runs under way go on with the versions with which they began, and all "

    def _made(
        self,
        verb: str,
        id: str,
        method: Method,
        summary: str,
        reply: AnswerKind,
        *,
        at: str = "",
        query: type[Struct] | None = None,
        body: type[Struct] | None = None,
        example: JsonObject | None = None,
        description: str = "",
        errors: tuple[int, ...] = (),
        scopes: tuple[str, ...] | None = None,
    ) -> Operation:
        return Operation(
            id=id,
            method=method,
            path=f"/v1/{self._kind.plural}{at}",
            tag=self._kind.plural,
            summary=summary,
            description=description,
            scopes=scopes or self._kind.builders,
            names={"name": f"The name of {self._kind.a_name}."} if "{name}" in at else {},
            query=query,
            body=body,
            body_is_optional=body in (PublishBody, CheckBody),
            example=example,
            replies={200: reply},
            errors=errors,
            handler=getattr(self._handlers, verb),
            is_recorded=True,
            command=self._commands.get(verb.removeprefix("list_")),
        )


def operations_of(kind: DefinitionKind) -> tuple[Operation, ...]:
    """The operations of a kind: `GET /v1/workflows/{name}/draft` and the others.

    Args:
        kind: the kind. Operations that it brings itself are left out.
    """
    made = _Operations(kind)
    found = made.readings() | made.drafts() | made.publications() | made.trials() | made.versions()
    without = kind.own if kind.runs else {*kind.own, "canary", "compare_runs"}
    return tuple(operation for part, operation in found.items() if part not in without)
