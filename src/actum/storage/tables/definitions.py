"""Definitions in the journal's database: drafts and numbered publications; see `core.stored.definitions`.

Every change takes `database.lock()` first, so that of two processes which save or publish at the same time one comes
after the other, and the second one sees what the first one did. No publication is ever updated or deleted here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...core.errors import DamagedDefinition, JournalError
from ...core.language.sentence import Sentence
from ...core.stored.definitions import (
    CHANGES_MAX,
    Canary,
    DefinitionDeed,
    DefinitionDraft,
    DraftChange,
    DraftInUse,
    KindName,
    ListedDefinition,
    Publication,
    PublicationInUse,
    PublishedVersion,
    StaleDraft,
    check_definition_quota,
    checked_canary,
    checked_definition_text,
    checked_kind,
    checked_name,
    checked_user,
    no_draft,
    no_publication,
    text_digest,
)
from ..database import Database
from ..writer import Writer

_Place = tuple[str, KindName, str]

_OF = "WHERE tenant = ? AND kind = ? AND name = ?"
_DRAFT = f"SELECT text, revision, digest, at, author, published FROM drafts {_OF} AND digest <> ''"
_REVISION = f"SELECT revision FROM drafts {_OF}"  # a deleted draft keeps its row, so that no revision comes twice
_VERSION = "number, digest, at, author, again, source"
_PUBLICATION = f"SELECT {_VERSION}, text, about FROM publications {_OF} AND number = ?"
_VERSIONS = f"SELECT {_VERSION} FROM publications {_OF} ORDER BY number DESC"
_IN_USE = f"SELECT published FROM drafts {_OF}"
_LATEST = f"SELECT coalesce(max(number), 0) FROM publications {_OF}"
_NAMES = """SELECT drafts.name, revision, published, coalesce(publications.digest, '') <> drafts.digest, drafts.at,
    drafts.author FROM drafts LEFT JOIN publications ON publications.tenant = drafts.tenant
    AND publications.kind = drafts.kind AND publications.name = drafts.name AND number = published
    WHERE drafts.tenant = ? AND drafts.kind = ? AND drafts.digest <> ''"""
_MENTIONING = """SELECT publications.name, publications.number, publications.digest, publications.at, author, again,
    source, text, publications.about FROM publications JOIN in_use ON in_use.tenant = publications.tenant
    AND in_use.kind = publications.kind AND in_use.name = publications.name
    AND (in_use.number = publications.number OR (in_use.share > 0 AND in_use.canary = publications.number))
    WHERE publications.tenant = ? AND publications.kind = ?"""
_DRAFTS = "SELECT kind, count(*) FROM drafts WHERE tenant = ? AND digest <> '' GROUP BY kind"
_SIZES = """SELECT
    (SELECT coalesce(sum(length(text)), 0) FROM drafts WHERE tenant = ?),
    (SELECT coalesce(sum(length(text)), 0) FROM publications WHERE tenant = ?)"""
_ADD = """INSERT INTO publications (tenant, kind, name, number, text, digest, at, author, again, source, about)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_NEW = """INSERT INTO drafts (tenant, kind, name, text, revision, digest, at, author, published)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)"""
_CHANGE = f"UPDATE drafts SET text = ?, revision = ?, digest = ?, at = ?, author = ? {_OF}"
_LINE = "SELECT name, number, digest, at, about, canary, share FROM in_use"
_IN_USE_ALL = f"{_LINE} WHERE tenant = ? AND kind = ?"
_SET_CANARY = f"UPDATE in_use SET canary = ?, share = ? {_OF}"
_PUT_IN_USE = """INSERT INTO in_use (tenant, kind, name, number, digest, at, about) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (tenant, kind, name)
    DO UPDATE SET number = excluded.number, digest = excluded.digest, at = excluded.at, about = excluded.about,
    canary = 0, share = 0"""
_TAKE_OUT_OF_USE = f"DELETE FROM in_use {_OF}"
_MADE = "SELECT made FROM publications_made WHERE tenant = ? AND kind = ?"
_COUNT = """INSERT INTO publications_made (tenant, kind, made) VALUES (?, ?, 1)
    ON CONFLICT (tenant, kind) DO UPDATE SET made = publications_made.made + 1"""
_NOTE = """INSERT INTO draft_changes (tenant, kind, name, number, revision, author, gone)
    VALUES (?, ?, ?, (SELECT coalesce(max(number), 0) + 1 FROM draft_changes WHERE tenant = ?), ?, ?, ?)
    ON CONFLICT (tenant, kind, name) DO UPDATE SET number = excluded.number, revision = excluded.revision,
    author = excluded.author, gone = excluded.gone"""
_CHANGES = f"""SELECT kind, name, number, revision, author, gone FROM draft_changes WHERE tenant = ? AND number > ?
    ORDER BY number DESC LIMIT {CHANGES_MAX}"""
_LATEST_CHANGE = """SELECT kind, name, number, revision, author, gone FROM draft_changes WHERE tenant = ?
    ORDER BY number DESC LIMIT 1"""
_NUMBERS = range(1, 2**31)


class DatabaseDefinitions:
    """A `Definitions` in the database of a journal.

    Args:
        writer: the thread that reads and writes the tables.
        check_format: raises JournalError where nothing can be written to this journal.
        now: the time, in seconds since 1970.
    """

    def __init__(self, writer: Writer, check_format: Callable[[], None], now: Callable[[], float]) -> None:
        self._writer = writer
        self._check_format = check_format
        self._now = now

    async def draft(self, kind: KindName, name: str, *, tenant: str = "") -> DefinitionDraft | None:
        place = _place(tenant, kind, name)
        self._check_format()
        return await self._writer.ask(lambda database: _draft(database, place))

    async def save(
        self, kind: KindName, name: str, text: str, revision: int, *, tenant: str = "", by: str = ""
    ) -> DefinitionDraft:
        place, payload = _place(tenant, kind, name), checked_definition_text(text)
        checked_user("by", by)
        self._check_format()
        at = self._now()

        def write(database: Database) -> DefinitionDraft:
            database.lock()
            return _save(database, place, payload, revision, at, by)

        return await self._writer.ask(write, writes=True, durable=True)

    async def delete_draft(
        self, kind: KindName, name: str, *, revision: int | None = None, tenant: str = "", by: str = ""
    ) -> DefinitionDraft:
        place = _place(tenant, kind, name)
        checked_user("by", by)
        self._check_format()

        def write(database: Database) -> DefinitionDraft:
            database.lock()
            draft = _draft(database, place, any_text=True)
            if draft is None:
                raise no_draft(kind, name)
            if revision is not None and revision != draft.revision:
                raise StaleDraft(draft, revision)
            if draft.published:
                raise DraftInUse("{kind} {name!r} is in use: take it out of use first", kind=Sentence(kind), name=name)
            database.execute(_CHANGE, (b"", draft.revision, "", draft.at, draft.by, *place))
            database.execute(_NOTE, (*place, tenant, draft.revision, by, 1))
            return draft

        return await self._writer.ask(write, writes=True, durable=True)

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
        place = _place(tenant, kind, name)
        checked_user("by", by)
        checked_user("source", source)
        self._check_format()
        at = self._now()

        def write(database: Database) -> Publication:
            database.lock()
            draft = _draft(database, place)
            if draft is None:
                raise no_draft(kind, name)
            if revision is not None and revision != draft.revision:
                raise StaleDraft(draft, revision)
            return _publish(database, place, draft.text, at, by, about, again=0, source=source, pins=pins)

        return await self._writer.ask(write, writes=True, durable=True)

    async def rollback(
        self, kind: KindName, name: str, number: int, *, tenant: str = "", by: str = "", about: str = ""
    ) -> Publication:
        place = _place(tenant, kind, name)
        checked_user("by", by)
        self._check_format()
        at = self._now()

        def write(database: Database) -> Publication:
            database.lock()
            older = _publication(database, place, number)
            if older is None:
                raise no_publication(kind, name, number)
            if _draft(database, place, any_text=True) is None:
                _save(database, place, older.text.encode(), 0, at, by)
            return _publish(database, place, older.text, at, by, about, again=number, source=older.source)

        return await self._writer.ask(write, writes=True, durable=True)

    async def unpublish(self, kind: KindName, name: str, *, tenant: str = "") -> Publication:
        place = _place(tenant, kind, name)
        self._check_format()

        def write(database: Database) -> Publication:
            database.lock()
            return _unpublish(database, place)

        return await self._writer.ask(write, writes=True, durable=True)

    async def set_canary(self, kind: KindName, name: str, canary: Canary, *, tenant: str = "") -> PublicationInUse:
        place = _place(tenant, kind, name)
        self._check_format()

        def write(database: Database) -> PublicationInUse:
            database.lock()
            in_use = _line(database, place)
            if in_use is None:
                raise no_publication(kind, name)
            set_to = checked_canary(canary, in_use.number)
            if _publication(database, place, canary.number) is None and canary.share:
                raise no_publication(kind, name, canary.number)
            database.execute(_SET_CANARY, (set_to.number if set_to.share else 0, set_to.share, *place))
            database.execute(_COUNT, (tenant, kind))
            found = _line(database, place)
            assert found is not None
            return found

        return await self._writer.ask(write, writes=True, durable=True)

    async def apply(self, deeds: Sequence[DefinitionDeed], *, tenant: str = "", by: str = "") -> list[Publication]:
        places = [_place(tenant, deed.kind, deed.name) for deed in deeds]
        payloads = [checked_definition_text(deed.text) if deed.text is not None else None for deed in deeds]
        checked_user("by", by)
        for deed in deeds:
            checked_user("source", deed.source)
        self._check_format()
        at = self._now()

        def write(database: Database) -> list[Publication]:
            database.lock()
            made, quota = [], _Quota(database, tenant)
            for deed, place, payload in zip(deeds, places, payloads, strict=True):
                if payload is None:
                    made.append(_unpublish(database, place))
                    continue
                draft = _save(database, place, payload, deed.revision, at, by, quota)
                made.append(
                    _publish(
                        database,
                        place,
                        draft.text,
                        at,
                        by,
                        deed.about,
                        again=0,
                        source=deed.source,
                        pins=deed.pins,
                        quota=quota,
                    )
                )
            return made

        return await self._writer.ask(write, writes=True, durable=True)

    async def published(
        self, kind: KindName, name: str, number: int | None = None, *, tenant: str = ""
    ) -> Publication | None:
        place = _place(tenant, kind, name)
        self._check_format()
        return await self._writer.ask(lambda database: _publication(database, place, number))

    async def mentioning(self, kind: KindName, word: str, *, tenant: str = "") -> list[Publication]:
        wanted = (checked_user("tenant", tenant), checked_kind(kind))
        # A text may write other letters than ASCII in ways of its own, such as \u00e4.
        found = (word.encode(),) if word.isascii() else ()
        self._check_format()

        def read(database: Database) -> list[Publication]:
            more = f" AND {database.has_bytes('text')}" if found else ""
            rows = database.execute(_MENTIONING + more, (*wanted, *found))
            return [_publication_in(row[1:], (*wanted, str(row[0])), any_text=True) for row in rows]

        return await self._writer.ask(read)

    async def versions(self, kind: KindName, name: str, *, tenant: str = "") -> list[PublishedVersion]:
        place = _place(tenant, kind, name)
        self._check_format()
        rows = await self._writer.ask(lambda database: database.execute(_VERSIONS, place))
        return [
            PublishedVersion(
                kind=kind,
                name=name,
                number=_int(number),
                digest=str(digest),
                at=_float(at),
                by=str(by),
                again=_int(again),
                source=str(source),
            )
            for number, digest, at, by, again, source in rows
        ]

    async def names(self, kind: KindName, *, tenant: str = "") -> list[ListedDefinition]:
        wanted = (checked_user("tenant", tenant), checked_kind(kind))
        self._check_format()
        rows = await self._writer.ask(lambda database: database.execute(_NAMES, wanted))
        found = [
            ListedDefinition(
                kind=kind,
                name=str(name),
                revision=_int(revision),
                published=_int(published),
                changed=bool(changed),
                at=_float(at),
                by=str(by),
            )
            for name, revision, published, changed, at, by in rows
        ]
        return sorted(found, key=lambda line: line.name)  # here, since databases sort letters in ways of their own

    async def in_use(self, kind: KindName, *, tenant: str = "") -> list[PublicationInUse]:
        wanted = (checked_user("tenant", tenant), checked_kind(kind))
        self._check_format()
        rows = await self._writer.ask(lambda database: database.execute(_IN_USE_ALL, wanted))
        return sorted(map(_in_use, rows), key=lambda line: line.name)

    async def in_use_everywhere(self) -> list[tuple[str, KindName, str]]:
        self._check_format()
        rows = await self._writer.ask(lambda database: database.execute("SELECT tenant, kind, name FROM in_use", ()))
        return sorted((str(tenant), str(kind), str(name)) for tenant, kind, name in rows)

    async def line_in_use(self, kind: KindName, name: str, *, tenant: str = "") -> PublicationInUse | None:
        place = _place(tenant, kind, name)
        self._check_format()
        return await self._writer.ask(lambda database: _line(database, place))

    async def drafts_changed(self, behind: int | None, *, tenant: str = "") -> list[DraftChange]:
        whose = checked_user("tenant", tenant)
        self._check_format()

        def read(database: Database) -> list[DraftChange]:
            wanted, values = (_LATEST_CHANGE, (whose,)) if behind is None else (_CHANGES, (whose, behind))
            return [_draft_change(row) for row in reversed(database.execute(wanted, values))]

        return await self._writer.ask(read)

    async def publications_made(self, kind: KindName, *, tenant: str = "") -> int:
        wanted = (checked_user("tenant", tenant), checked_kind(kind))
        self._check_format()
        rows = await self._writer.ask(lambda database: database.execute(_MADE, wanted))
        return _int(rows[0][0]) if rows else 0


def _place(tenant: str, kind: KindName, name: str) -> _Place:
    return checked_user("tenant", tenant), checked_kind(kind), checked_name(name)


def _draft(database: Database, place: _Place, *, any_text: bool = False) -> DefinitionDraft | None:
    """A draft. With `any_text` a damaged text counts as an empty one: then another one can take its place."""
    rows = database.execute(_DRAFT, place)
    if not rows:
        return None
    text, revision, digest, at, by, published = rows[0]
    _, kind, name = place
    return DefinitionDraft(
        kind=kind,
        name=name,
        text=_text(text, digest, place, any_text=any_text),
        revision=_int(revision),
        digest=str(digest),
        at=_float(at),
        by=str(by),
        published=_int(published),
    )


def _save(
    database: Database,
    place: _Place,
    payload: bytes,
    revision: int,
    at: float,
    by: str,
    quota: _Quota | None = None,
) -> DefinitionDraft:
    """Save a text as a draft, unless the draft has it already."""
    tenant, kind, name = place
    current, digest, text = _draft(database, place, any_text=True), text_digest(payload), payload.decode()
    if current is not None and current.digest == digest and current.text == text:
        return current
    if revision != (current.revision if current is not None else 0):
        raise StaleDraft(current, revision, text)
    before = len(current.text.encode()) if current is not None else 0
    (quota or _Quota(database, tenant)).take(kind, names=current is None, size=len(payload) - before)
    known = database.execute(_REVISION, place)
    revision = _int(known[0][0]) + 1 if known else 1
    if not known:
        database.execute(_NEW, (*place, payload, revision, digest, at, by))
    else:
        database.execute(_CHANGE, (payload, revision, digest, at, by, *place))
    database.execute(_NOTE, (*place, tenant, revision, by, 0))
    return DefinitionDraft(
        kind=kind,
        name=name,
        text=text,
        revision=revision,
        digest=digest,
        at=at,
        by=by,
        published=current.published if current is not None else 0,
    )


def _draft_change(row: Sequence[object]) -> DraftChange:
    kind, name, number, revision, author, gone = row
    return DraftChange(
        kind=str(kind),
        name=str(name),
        number=_int(number),
        revision=_int(revision),
        by=str(author),
        is_gone=bool(gone),
    )


def _line(database: Database, place: _Place) -> PublicationInUse | None:
    rows = database.execute(f"{_LINE} {_OF}", place)
    return _in_use(rows[0]) if rows else None


def _in_use(row: Sequence[object]) -> PublicationInUse:
    name, number, digest, at, about, canary, share = row
    return PublicationInUse(
        name=str(name),
        number=_int(number) if str(number).isdecimal() else 0,  # nothing has this number: it can not be read
        digest=str(digest),
        at=_float(at),
        about=_about(about),
        canary=Canary(_int(canary), _int(share)) if share else None,
    )


def _unpublish(database: Database, place: _Place) -> Publication:
    """Take out of use what is in use."""
    tenant, kind, name = place
    in_use = _publication(database, place, None, any_text=True)
    if in_use is None:
        raise no_publication(kind, name)
    database.execute(f"UPDATE drafts SET published = 0 {_OF}", place)
    database.execute(_TAKE_OUT_OF_USE, place)
    database.execute(_COUNT, (tenant, kind))
    return in_use


def _publication(
    database: Database, place: _Place, number: int | None, *, any_text: bool = False
) -> Publication | None:
    """A publication; for None the one in use. With `any_text` a damaged text counts as an empty one."""
    if number is None:
        in_use = database.execute(_IN_USE, place)
        number = _int(in_use[0][0]) if in_use else 0
    rows = database.execute(_PUBLICATION, (*place, number)) if number in _NUMBERS else []
    if not rows:
        return None
    return _publication_in(rows[0], place, any_text=any_text)


def _publication_in(row: Sequence[object], place: _Place, *, any_text: bool = False) -> Publication:
    found, digest, at, by, again, source, text, about = row
    _, kind, name = place
    return Publication(
        kind=kind,
        name=name,
        number=_int(found),
        digest=str(digest),
        text=_text(text, digest, place, any_text=any_text),
        at=_float(at),
        by=str(by),
        again=_int(again),
        source=str(source),
        about=_about(about),
    )


def _publish(
    database: Database,
    place: _Place,
    text: str,
    at: float,
    by: str,
    about: str,
    *,
    again: int,
    source: str,
    pins: bool = False,
    quota: _Quota | None = None,
) -> Publication:
    """Put a text under the next number, unless the publication in use has this text. A canary ends."""
    tenant, kind, name = place
    payload = text.encode()
    digest = text_digest(payload)
    in_use = _publication(database, place, None, any_text=True)
    if in_use is not None and in_use.text == text and not (pins and in_use.about != about):
        line = _line(database, place)
        if line is not None and line.canary is not None:
            database.execute(_SET_CANARY, (0, 0, *place))
            database.execute(_COUNT, (tenant, kind))
        return in_use
    ((latest,),) = database.execute(_LATEST, place)
    number = _int(latest) + 1
    (quota or _Quota(database, tenant)).take(kind, size=len(payload), publications=number)
    database.execute(_ADD, (*place, number, payload, digest, at, by, again, source, about.encode()))
    database.execute(f"UPDATE drafts SET published = ? {_OF}", (number, *place))
    database.execute(_PUT_IN_USE, (*place, number, digest, at, about.encode()))
    database.execute(_COUNT, (tenant, kind))
    return Publication(
        kind=kind,
        name=name,
        number=number,
        digest=digest,
        text=text,
        at=at,
        by=by,
        again=again,
        source=source,
        about=about,
    )


class _Quota:
    """How much a tenant has, and whether there is room for more. It is counted once for several deeds: a count reads a
    row of each definition.
    """

    def __init__(self, database: Database, tenant: str) -> None:
        ((drafts, publications),) = database.execute(_SIZES, (tenant, tenant))
        self._names = {str(kind): _int(names) for kind, names in database.execute(_DRAFTS, (tenant,))}
        self._size = _int(drafts) + _int(publications)

    def take(self, kind: KindName, *, names: int = 0, size: int = 0, publications: int = 0) -> None:
        """Take some of it.

        Args:
            kind: what is saved or published.
            names: the number of new names.
            size: more bytes.
            publications: the number of publications of the name.

        Raises:
            TooManyDefinitions: there is no room.
        """
        self._names[kind] = self._names.get(kind, 0) + names
        self._size += size
        check_definition_quota(self._names[kind], publications, self._size)


def _text(text: object, digest: object, place: _Place, *, any_text: bool = False) -> str:
    """The text of a row; with `any_text` an empty one where it is damaged.

    Raises:
        DamagedDefinition: somebody changed the row by hand: the text is not used.
    """
    if isinstance(text, bytes) and text_digest(text) == digest:
        return text.decode()
    if any_text:
        return ""
    raise DamagedDefinition(
        "the text of {kind} {name!r} in the journal is damaged: publish it anew from its file, or take it out of use",
        kind=place[1],
        name=place[2],
    )


def _about(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def _int(value: object) -> int:
    try:
        return int(str(value))
    except ValueError:
        raise JournalError("a number of a definition is damaged") from None


def _float(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
