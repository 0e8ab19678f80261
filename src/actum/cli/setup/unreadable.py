"""What tenants have in use and this program can not read: a damaged text, or one of another version of the program."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from msgspec import Struct

from ...core.errors import ActumError, DamagedDefinition, UsageError
from ...core.interfaces import Journal
from ...core.process.worker_thread import off_loop
from ...features.definition import DefinitionKind
from ...server.api.applying import KINDS


class UnreadableDefinition(Struct, frozen=True):
    """A definition in use that can not be read.

    Attributes:
        tenant: whose it is.
        kind, name: the definition.
        why: why it can not be read.
    """

    tenant: str
    kind: DefinitionKind
    name: str
    why: ActumError

    @property
    def command(self) -> str:
        """What publishes it anew."""
        file = self.kind.example.partition(".")[2] or "txt"
        whose = f" --tenant {self.tenant}" if self.tenant else ""
        return f"actum {self.kind.words} publish {self.name}.{file}{whose}"


async def unreadable(opened: AbstractAsyncContextManager[Journal]) -> list[UnreadableDefinition]:
    """The definitions in use that can not be read, of all tenants.

    Args:
        opened: opens the journal that keeps them.

    Raises:
        JournalError: the journal can not be opened, or does not answer.
    """
    kinds = {kind.name: kind for kind in KINDS}
    found: list[UnreadableDefinition] = []
    async with opened as journal:
        for tenant, kind, name in await journal.definitions.in_use_everywhere():
            if kind not in kinds:
                continue
            try:
                publication = await journal.definitions.published(kind, name, tenant=tenant)
                read = kinds[kind].read
                if publication is not None and read is not None:
                    await off_loop(len(publication.text), read, publication.text)
            except (DamagedDefinition, UsageError) as error:
                found.append(UnreadableDefinition(tenant, kinds[kind], name, error))
    return found
