"""Definitions as they would be once several texts were published together: what refers to each other can be checked.

Nothing is written. Everything that was not staged is as it is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from msgspec import structs

from ..core.interfaces import Journal
from ..core.stored.definitions import Definitions, KindName, Publication, PublicationInUse, text_digest

NUMBER = 2**31 - 1
"""The number of each staged publication: no real one has it."""


class StagedDefinitions:
    """A `Definitions` in which some names have another text in use, or none.

    Args:
        definitions: what is kept.
        staged: by kind and name, the text that would be in use; None for none.
        tenant: whose these are.
    """

    def __init__(
        self, definitions: Definitions, staged: Mapping[tuple[KindName, str], str | None], *, tenant: str = ""
    ) -> None:
        self._definitions = definitions
        self._tenant = tenant
        self._staged = {(kind, name): _staged(kind, name, text) for (kind, name), text in staged.items()}
        self._about: dict[tuple[KindName, str], str] = {}

    def tell(self, kind: KindName, name: str, about: str) -> None:
        """Say what lists are told of a staged text, from then on."""
        self._about[kind, name] = about

    async def published(
        self, kind: KindName, name: str, number: int | None = None, *, tenant: str = ""
    ) -> Publication | None:
        """A publication; see `Definitions.published`."""
        if tenant == self._tenant and (kind, name) in self._staged and number in (None, NUMBER):
            staged = self._staged[kind, name]
            return staged and structs.replace(staged, about=self._about.get((kind, name), ""))
        return await self._definitions.published(kind, name, number, tenant=tenant)

    async def line_in_use(self, kind: KindName, name: str, *, tenant: str = "") -> PublicationInUse | None:
        """The same of one name; see `Definitions.line_in_use`."""
        return next((line for line in await self.in_use(kind, tenant=tenant) if line.name == name), None)

    async def in_use(self, kind: KindName, *, tenant: str = "") -> list[PublicationInUse]:
        """The publications in use; see `Definitions.in_use`."""
        kept = await self._definitions.in_use(kind, tenant=tenant)
        if tenant != self._tenant:
            return kept
        lines = {line.name: line for line in kept if (kind, line.name) not in self._staged}
        for (of, name), each in self._staged.items():
            if of == kind and each is not None:
                about = self._about.get((kind, name), "")
                lines[name] = PublicationInUse(name=name, number=NUMBER, digest=each.digest, at=0, about=about)
        return sorted(lines.values(), key=lambda line: line.name)

    async def publications_made(self, kind: KindName, *, tenant: str = "") -> int:
        """As in `Definitions`; every word of `tell` counts too."""
        return await self._definitions.publications_made(kind, tenant=tenant) + len(self._about)

    def __getattr__(self, name: str) -> object:
        return getattr(self._definitions, name)


class _StagedJournal:
    """A journal with other definitions."""

    def __init__(self, journal: Journal, definitions: StagedDefinitions) -> None:
        self._journal = journal
        self.definitions = definitions

    def __getattr__(self, name: str) -> object:
        return getattr(self._journal, name)


def staged_in(journal: Journal, definitions: StagedDefinitions) -> Journal:
    """The journal with staged definitions in the place of its own, for checks."""
    return cast(Journal, _StagedJournal(journal, definitions))  # what it does not say itself, the journal says


def _staged(kind: KindName, name: str, text: str | None) -> Publication | None:
    if text is None:
        return None
    digest = text_digest(text.encode("utf-8", "replace"))
    return Publication(kind=kind, name=name, number=NUMBER, digest=digest, at=0, text=text)
