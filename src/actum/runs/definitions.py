"""The texts of one kind and one tenant: checked, published under the next number, rolled back, taken out of use, and
each of these acts put on record.

What a text means is the kind's affair: see `features.definition.DefinitionKind`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ..core.definition import BadText, NameTaken, ReadDefinition, TextProblem
from ..core.interfaces import Journal
from ..core.json import JsonObject
from ..core.process.worker_thread import off_loop
from ..core.stored.definitions import Canary, Publication, PublicationInUse, StaleDraft, no_draft, no_publication
from ..protocols.definition_text import located
from .administration import put_on_record

Check = Callable[[str, str], Awaitable[ReadDefinition]]
"""Reads a text that is to stand under a name, and says what is in it."""
Permit = Callable[[ReadDefinition], None]
"""Raises an error where a text must not be published."""


class Publisher:
    """What one tenant has written and published of one kind.

    Args:
        journal: keeps the texts, and the record of what was done with them.
        kind: the kind, such as `workflow`.
        acts: what acts are called on record in front of their verb, such as `workflows`.
        check: reads a text; raises `BadText` where something is wrong with it.
        tenant: whose texts are meant.
        means: says what else a name means where the texts are used, such as `an agent`; empty for nothing. Under such
            a name nothing can be published.
    """

    def __init__(
        self,
        journal: Journal,
        kind: str,
        acts: str,
        check: Check,
        *,
        tenant: str = "",
        means: Callable[[str], str] | None = None,
    ) -> None:
        self._journal = journal
        self.kind = kind
        self._acts = acts
        self._check = check
        self._tenant = tenant
        self._means = means

    def check_name(self, name: str) -> None:
        """Whether a name is free.

        Raises:
            NameTaken: it means something else.
        """
        means = self._means(name) if self._means is not None else ""
        if means:
            raise NameTaken(name, means, self.kind)

    async def check(self, name: str, text: str) -> ReadDefinition:
        """Whether a text can be published under a name, and what is in it.

        Raises:
            NameTaken: the name means something else.
            BadText: something is wrong with the text, or the text has another name.
        """
        self.check_name(name)
        try:
            read = await self._check(name, text)
            if read.name and read.name != name:
                told = f"the definition is called {read.name!r}, and not {name!r}"
                raise BadText([TextProblem(told, hint=f"write name: {name}", path="name")])
        except BadText as bad:
            raise type(bad)(await off_loop(len(text), located, bad.problems, text)) from None
        return read

    async def publish(
        self,
        name: str,
        *,
        revision: int | None = None,
        by: str = "",
        key_id: str = "",
        permit: Permit | None = None,
        source: str = "",
    ) -> Publication:
        """Publish a draft, if nothing is wrong with it, and put that on record.

        Args:
            name: what the draft is called.
            revision: the revision that the caller has looked at; None to publish whatever the draft is now.
            by: who publishes.
            key_id: the id of the key with which `by` showed who they are; empty at a terminal.
            permit: raises an error where the text must not be published; by default it never does.
            source: where the text comes from, such as the name of a file; empty for a draft that a person wrote.

        Raises:
            UnknownName: there is no draft.
            NameTaken: the name means something else.
            StaleDraft: the draft has another revision, or somebody saved the draft during the check.
            BadText: something is wrong with the text.
        """
        self.check_name(name)
        definitions = self._journal.definitions
        draft = await definitions.draft(self.kind, name, tenant=self._tenant)
        if draft is None:
            raise no_draft(self.kind, name)
        if revision is not None and revision != draft.revision:
            raise StaleDraft(draft, revision)
        read = await self._permitted(name, draft.text, permit)
        made = await definitions.publish(
            self.kind,
            name,
            revision=draft.revision,
            tenant=self._tenant,
            by=by,
            about=read.about,
            source=source,
            pins=read.pins,
        )
        await self.tell("publish", made, by, key_id)
        return made

    async def rollback(
        self, name: str, number: int, *, by: str = "", key_id: str = "", permit: Permit | None = None
    ) -> Publication:
        """Publish an older publication anew, if nothing is wrong with it by now, and put that on record.

        Raises:
            UnknownName: there is no such publication.
            NameTaken: the name means something else by now.
            BadText: something is wrong with the text.
        """
        self.check_name(name)
        definitions = self._journal.definitions
        older = await definitions.published(self.kind, name, number, tenant=self._tenant)
        if older is None:
            raise no_publication(self.kind, name, number)
        about = (await self._permitted(name, older.text, permit)).about
        made = await definitions.rollback(self.kind, name, number, tenant=self._tenant, by=by, about=about)
        await self.tell("rollback", made, by, key_id)
        return made

    async def set_canary(
        self, name: str, canary: Canary, *, by: str = "", key_id: str = "", permit: Permit | None = None
    ) -> PublicationInUse:
        """Give another publication to a share of the users, if nothing is wrong with it by now, and put that on record.

        Args:
            name: what is in use.
            canary: the other publication, and the share.
            by, key_id, permit: as for `publish`.

        Raises:
            UnknownName: nothing is in use, or there is no such publication.
            NameTaken, BadText: as for `rollback`.
            CanaryInUse: the publication is the one in use.
        """
        self.check_name(name)
        definitions = self._journal.definitions
        tried = await definitions.published(self.kind, name, canary.number, tenant=self._tenant)
        if tried is None:
            raise no_publication(self.kind, name, canary.number)
        if canary.share:
            await self._permitted(name, tried.text, permit)
        line = await definitions.set_canary(self.kind, name, canary, tenant=self._tenant)
        told: JsonObject = {"name": name, "number": canary.number, "digest": tried.digest, "share": canary.share}
        act = f"{self._acts}.canary"
        await put_on_record(self._journal, act, told, principal=by, key_id=key_id, tenant=self._tenant)
        return line

    async def unpublish(self, name: str, *, by: str = "", key_id: str = "") -> Publication:
        """Take a text out of use, and put that on record: nothing new begins with it, until something is published
        under this name again. What is under way keeps its version.

        Args:
            name: what it is called.
            by, key_id: as for `publish`.

        Returns:
            The publication that was in use.

        Raises:
            UnknownName: nothing is published under this name.
        """
        was = await self._journal.definitions.unpublish(self.kind, name, tenant=self._tenant)
        await self.tell("unpublish", was, by, key_id)
        return was

    async def _permitted(self, name: str, text: str, permit: Permit | None) -> ReadDefinition:
        """What is in a text that may be published."""
        read = await self.check(name, text)
        if permit is not None:
            permit(read)
        return read

    async def tell(self, verb: str, made: Publication, by: str, key_id: str) -> None:
        """Put on record what was done with a text.

        Args:
            verb: `publish`, `rollback` or `unpublish`.
            made: the publication.
            by, key_id: as for `publish`.
        """
        told: JsonObject = {"name": made.name, "number": made.number, "digest": made.digest, "again": made.again}
        told |= {"source": made.source} if made.source else {}
        act = f"{self._acts}.{verb}"
        await put_on_record(self._journal, act, told, principal=by, key_id=key_id, tenant=self._tenant)
