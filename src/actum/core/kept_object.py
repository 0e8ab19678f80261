"""Small objects that a server keeps for a caller beside the runs, such as an assistant or a message of a thread.

This file knows no database and no server.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

from msgspec import Struct

from .interfaces import Journal


class KeptObject(Struct, frozen=True, kw_only=True):
    """One object.

    Attributes:
        id: of the object; nobody can guess it.
        owner: names the caller among those of all issuers and tenants. For everybody else there is no such object.
        kind: what the object is, such as `assistant`.
        parent: the object that this one belongs to, such as the thread of a message; empty where there is none.
        at: when the object was made, in seconds since 1970.
        payload: what the object says.
    """

    id: str
    owner: str
    kind: str
    parent: str = ""
    at: float = 0.0
    payload: bytes = b"{}"


class ObjectStore(Protocol):
    """A place that keeps objects, and that several processes may share. Every method may raise JournalError."""

    async def put(self, kept: KeptObject) -> None:
        """Keep an object; an object of this id and this owner is replaced. An object of another owner stays as
        it is. The object is on disk when this returns."""

    async def find(self, owner: str, kind: str, parent: str = "", id: str = "") -> Sequence[KeptObject]:
        """The objects of an owner, the oldest first.

        Args:
            owner: whose objects.
            kind: what they are.
            parent: what they belong to.
            id: of the one object that is looked for; empty for all.
        """

    async def delete(self, owner: str, id: str) -> bool:
        """Delete an object and all that belongs to it.

        Returns:
            False where there was no such object.
        """


class MemoryObjects:
    """Objects in the memory of this process."""

    def __init__(self) -> None:
        self._kept: dict[str, KeptObject] = {}

    async def put(self, kept: KeptObject) -> None:
        """See `ObjectStore`."""
        before = self._kept.get(kept.id)
        if before is None or before.owner == kept.owner:
            self._kept[kept.id] = kept

    async def find(self, owner: str, kind: str, parent: str = "", id: str = "") -> Sequence[KeptObject]:
        """See `ObjectStore`."""
        fitting = (
            kept for kept in self._kept.values() if (kept.owner, kept.kind, kept.parent) == (owner, kind, parent)
        )
        return [kept for kept in fitting if id in ("", kept.id)]

    async def delete(self, owner: str, id: str) -> bool:
        """See `ObjectStore`."""
        found = id in self._kept and self._kept[id].owner == owner
        for kept in list(self._kept.values()):
            if kept.owner == owner and id in (kept.id, kept.parent):
                del self._kept[kept.id]
        return found


def objects_of(journal: Journal) -> ObjectStore:
    """The objects that are kept beside a journal; in memory for a journal that keeps none."""
    found = getattr(journal, "objects", None)  # by its name: a journal may stand in another, which hands it on
    return cast(ObjectStore, found) if found is not None else MemoryObjects()
