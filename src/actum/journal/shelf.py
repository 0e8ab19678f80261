"""The shelf in memory, beside the journal in memory. It is gone when the process ends."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import structs

from ..core.shelf import (
    Publication,
    PublicationInUse,
    ShelfDraft,
    ShelfKind,
    ShelfName,
    ShelfVersion,
    StaleDraft,
    check_shelf_room,
    checked_kind,
    checked_name,
    checked_shelf_text,
    checked_user,
    no_draft,
    no_publication,
    text_digest,
)

_Place = tuple[str, str, str]


class MemoryShelf:
    """A `ShelfStore` that lives as long as its process.

    Args:
        now: the time, in seconds since 1970.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._drafts: dict[_Place, ShelfDraft] = {}
        self._publications: dict[_Place, list[Publication]] = {}
        self._in_use: dict[_Place, PublicationInUse] = {}
        self._made: dict[tuple[str, str], int] = {}

    async def draft(self, kind: ShelfKind, name: str, *, tenant: str = "") -> ShelfDraft | None:
        return self._drafts.get(_place(tenant, kind, name))

    async def save(
        self, kind: ShelfKind, name: str, text: str, revision: int, *, tenant: str = "", by: str = ""
    ) -> ShelfDraft:
        place, payload = _place(tenant, kind, name), checked_shelf_text(text)
        checked_user("by", by)
        current = self._drafts.get(place)
        if current is not None and current.text == text:
            return current
        if revision != (current.revision if current is not None else 0):
            raise StaleDraft(current, revision, text)
        before = len(current.text.encode()) if current is not None else 0
        names = sum(1 for each in self._drafts if each[0] == tenant) + (current is None)
        check_shelf_room(names, 0, self._size(tenant) - before + len(payload))
        saved = ShelfDraft(
            kind=kind,
            name=name,
            text=text,
            revision=revision + 1,
            digest=text_digest(payload),
            at=self._now(),
            by=by,
            published=current.published if current is not None else 0,
        )
        self._drafts[place] = saved
        return saved

    async def publish(
        self,
        kind: ShelfKind,
        name: str,
        *,
        revision: int | None = None,
        tenant: str = "",
        by: str = "",
        about: str = "",
    ) -> Publication:
        place = _place(tenant, kind, name)
        checked_user("by", by)
        draft = self._drafts.get(place)
        if draft is None:
            raise no_draft(kind, name)
        if revision is not None and revision != draft.revision:
            raise StaleDraft(draft, revision)
        return self._publish(place, draft.text, draft.digest, by, about, again=0)

    async def rollback(
        self, kind: ShelfKind, name: str, number: int, *, tenant: str = "", by: str = "", about: str = ""
    ) -> Publication:
        place = _place(tenant, kind, name)
        checked_user("by", by)
        older = await self.published(kind, name, number, tenant=tenant)
        if older is None:
            raise no_publication(kind, name, number)
        return self._publish(place, older.text, older.digest, by, about, again=number)

    async def unpublish(self, kind: ShelfKind, name: str, *, tenant: str = "") -> Publication:
        place = _place(tenant, kind, name)
        in_use = await self.published(kind, name, tenant=tenant)
        if in_use is None:
            raise no_publication(kind, name)
        self._drafts[place] = structs.replace(self._drafts[place], published=0)
        del self._in_use[place]
        self._made[place[:2]] += 1
        return in_use

    async def published(
        self, kind: ShelfKind, name: str, number: int | None = None, *, tenant: str = ""
    ) -> Publication | None:
        place = _place(tenant, kind, name)
        found = self._publications.get(place, [])
        if number is None:
            number = self._drafts[place].published if place in self._drafts else 0
        return found[number - 1] if 1 <= number <= len(found) else None

    async def versions(self, kind: ShelfKind, name: str, *, tenant: str = "") -> list[ShelfVersion]:
        found = self._publications.get(_place(tenant, kind, name), [])
        fields = [each.name for each in structs.fields(ShelfVersion)]
        return [ShelfVersion(**{field: getattr(each, field) for field in fields}) for each in reversed(found)]

    async def names(self, kind: ShelfKind, *, tenant: str = "") -> list[ShelfName]:
        checked_kind(kind)
        checked_user("tenant", tenant)
        lines: list[ShelfName] = []
        for (owner, of_kind, name), draft in sorted(self._drafts.items()):
            if (owner, of_kind) == (tenant, kind):
                in_use = self._in_use.get((owner, of_kind, name))
                changed = in_use is None or in_use.digest != draft.digest
                lines.append(
                    ShelfName(
                        kind=kind,
                        name=name,
                        revision=draft.revision,
                        published=draft.published,
                        changed=changed,
                        at=draft.at,
                        by=draft.by,
                    )
                )
        return lines

    async def in_use(self, kind: ShelfKind, *, tenant: str = "") -> list[PublicationInUse]:
        wanted = (checked_user("tenant", tenant), checked_kind(kind))
        return [self._in_use[place] for place in sorted(self._in_use) if place[:2] == wanted]

    async def publications_made(self, kind: ShelfKind, *, tenant: str = "") -> int:
        return self._made.get((checked_user("tenant", tenant), checked_kind(kind)), 0)

    def _publish(self, place: _Place, text: str, digest: str, by: str, about: str, *, again: int) -> Publication:
        """Put a text under the next number, unless the publication in use has this text."""
        before = self._publications.setdefault(place, [])
        in_use = self._in_use.get(place)
        if in_use is not None and in_use.digest == digest:
            return before[in_use.number - 1]
        check_shelf_room(0, len(before) + 1, self._size(place[0]) + len(text.encode()))
        draft = self._drafts[place]
        made = Publication(
            kind=draft.kind,
            name=draft.name,
            number=len(before) + 1,
            digest=digest,
            text=text,
            at=self._now(),
            by=by,
            again=again,
        )
        before.append(made)
        self._drafts[place] = structs.replace(draft, published=made.number)
        self._made[place[:2]] = self._made.get(place[:2], 0) + 1
        self._in_use[place] = PublicationInUse(
            name=made.name, number=made.number, digest=digest, at=made.at, about=about
        )
        return made

    def _size(self, tenant: str) -> int:
        """How many bytes a tenant has on the shelf."""
        drafts = [each.text for place, each in self._drafts.items() if place[0] == tenant]
        made = [each.text for place, all_ in self._publications.items() if place[0] == tenant for each in all_]
        return sum(len(text.encode()) for text in (*drafts, *made))


def _place(tenant: str, kind: ShelfKind, name: str) -> _Place:
    return checked_user("tenant", tenant), checked_kind(kind), checked_name(name)
