"""Small objects that a server keeps for a caller beside the runs, such as an assistant or a message of a thread.

How much a caller can keep is limited (`OBJECTS_MAX`, `OBJECTS_BYTES_MAX`). Objects are deleted with the run that took
them up and with their user, by `Journal.forget` and `actum journal forget`. This file knows no database and no server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from ..errors import UsageError


class KeptObject(Struct, frozen=True, kw_only=True):
    """One object.

    Attributes:
        id: of the object; nobody can guess it.
        owner: names the caller among those of all issuers and tenants. For everybody else there is no such object.
        kind: what the object is, such as `assistant`.
        parent: the object that this one belongs to, such as the thread of a message; empty where there is none.
        at: when the object was made, in seconds since 1970.
        payload: what the object says.
        tenant, principal: the user that the object is kept for.
        run_id: the run that has taken up what the object says; empty where there is none. With this run the object is
            forgotten.
    """

    id: str
    owner: str
    kind: str
    parent: str = ""
    at: float = 0.0
    payload: bytes = b"{}"
    tenant: str = ""
    principal: str = ""
    run_id: str = ""


OPEN_NEWS = "a2a_push_open"
"""The kind of an object that says how far the news of a run have arrived, as long as there may be more."""


class OpenNews(Struct, frozen=True):
    """What is read of such an object by those who need not know the protocol of the news.

    Attributes:
        run_id: the run.
    """

    run_id: str


OBJECTS_MAX = 10_000
"""The most objects of one owner."""
OBJECTS_BYTES_MAX = 64 * 1024 * 1024
"""The most bytes of the payloads of one owner's objects together."""


class ObjectsFull(UsageError):
    """This owner has too many objects, or too large ones."""


class ObjectStore(Protocol):
    """A place that keeps objects, and that several processes may share. Every method may raise JournalError."""

    async def put(self, kept: KeptObject) -> None:
        """Keep an object; an object of this id and this owner is replaced. An object of another owner stays as
        it is. The object is on disk when this returns.

        Raises:
            ObjectsFull: there is no room for more objects of this owner.
        """

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

    async def take_up(self, owner: str, ids: Sequence[str], run_id: str) -> None:
        """A run takes up what these objects of an owner say: they are forgotten with this run."""

    async def count(self, principal: str) -> Mapping[str, int]:
        """How many objects are kept for users of this name, by their tenants."""

    async def forget(self, principal: str, tenant: str = "") -> int:
        """Delete all objects that are kept for this user of a tenant.

        Returns:
            How many objects were deleted.
        """

    async def expire(self, kind: str, before: float) -> int:
        """Delete the objects of a kind that were made before a moment, each with all that belongs to it. An object to
        which something was added since is kept.

        Returns:
            How many objects were deleted.
        """


def check_room(number: int, size: int) -> None:
    """Check that an owner may keep this number of objects and bytes.

    Raises:
        ObjectsFull: a limit is exceeded.
    """
    if number > OBJECTS_MAX or size > OBJECTS_BYTES_MAX:
        raise ObjectsFull(
            "This key keeps too much: {most} objects with {objects_bytes_max} bytes are the limit. "
            "Delete threads or assistants that are not needed any more.",
            most=OBJECTS_MAX,
            objects_bytes_max=OBJECTS_BYTES_MAX,
        )
