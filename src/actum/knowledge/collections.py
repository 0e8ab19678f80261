"""Collections, and who may read and change them.

For a caller who may not read a collection, each answer is the one for a collection that does not exist; only a new
collection of the same name tells that the name is taken.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Sequence

from msgspec import Struct, structs

from ..core.errors import PermissionDenied, UnknownName, UsageError
from ..core.interfaces import Journal
from ..core.run.ids import new_id
from ..core.stores import Stores, Transaction
from .feature import FEATURE
from .tables import COLLECTIONS, DOCUMENTS, INDEX, PAGES, PASSAGES, CollectionRow, space_of

NAME_PATTERN = r"^[a-z0-9][a-z0-9_-]{0,39}$"
READERS_MAX = 200
READER_PATTERN = r"^(all|owner|(user|role):[^\u0000-\u001f\u007f]{1,200})$"
PASSAGES_MAX, PASSAGES_SHARED_MAX = 50_000, 20_000
"""How many passages a collection may have in SQLite, and in PostgreSQL."""
_NAME, _READER = re.compile(NAME_PATTERN), re.compile(READER_PATTERN)
_IN_USE: weakref.WeakSet[Stores] = weakref.WeakSet()


class CollectionNameTaken(UsageError):
    """There is a collection of this name in the tenant."""


class CollectionUser(Struct, frozen=True):
    """Who asks.

    Attributes:
        tenant: the tenant.
        principal: the user.
        roles: the roles of the user.
        administers: the caller may see, read and change all collections of the tenant.
    """

    tenant: str
    principal: str
    roles: tuple[str, ...] = ()
    administers: bool = False

    def may_change(self, collection: CollectionRow) -> bool:
        """Whether the caller may change a collection of the tenant."""
        return self.administers or collection.owner == self.principal

    def may_read(self, collection: CollectionRow) -> bool:
        """Whether the caller may read a collection of the tenant."""
        if self.may_change(collection):
            return True
        readers = readers_of(collection)
        mine = {"all", f"user:{self.principal}", *(f"role:{role}" for role in self.roles)}
        return not mine.isdisjoint(readers)


async def take_into_use(journal: Journal) -> Stores:
    """Have the tables of knowledge beside a journal, also where a program opened the journal.

    Raises:
        JournalError: a newer version made the tables.
    """
    stores = journal.stores
    if stores not in _IN_USE:
        await stores.migrate(FEATURE.name, FEATURE.migrations)
        _IN_USE.add(stores)
    return stores


def readers_of(collection: CollectionRow) -> tuple[str, ...]:
    """Who may read a collection beside its owner."""
    return tuple(collection.readers.split("\n")) if collection.readers else ()


def checked_name(name: str) -> str:
    """A name for a collection.

    Raises:
        UsageError: it is none.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            "{name!r:.80} is no name for a collection: use 1 to 40 small letters, digits, `-` and `_`", name=name
        )
    return name


def checked_readers(readers: Sequence[str]) -> str:
    """Readers as a collection keeps them.

    Raises:
        UsageError: there are too many, or one is none.
    """
    if len(readers) > READERS_MAX:
        raise UsageError("a collection has {most} readers at most: use roles", most=READERS_MAX)
    for each in readers:
        if not _READER.fullmatch(each):
            raise UsageError(
                "{reader!r:.80} is no reader: write user:NAME, role:NAME, all, or owner for nobody else", reader=each
            )
    return "\n".join(dict.fromkeys(each for each in readers if each != "owner"))


def passages_max(journal: Journal) -> int:
    """How many passages a collection may have in the database of this journal."""
    return PASSAGES_SHARED_MAX if journal.is_shared else PASSAGES_MAX


async def make(
    journal: Journal, caller: CollectionUser, name: str, readers: Sequence[str] = (), folder: str = ""
) -> CollectionRow:
    """Make a collection.

    Args:
        journal: beside which it is kept.
        caller: the owner.
        name: its name.
        readers: who may read it beside the owner.
        folder: the absolute path of its documents; empty for none.

    Raises:
        CollectionNameTaken: there is one of this name.
        UsageError: the name or a reader can not be.
    """
    stores, now = await take_into_use(journal), journal.now()
    row = CollectionRow(
        checked_name(name), new_id("col"), caller.principal, checked_readers(readers), folder, 0, 0, 0, now, 0.0
    )
    if not await stores.add(caller.tenant, COLLECTIONS, row):
        raise CollectionNameTaken("the name {name!r} is taken: choose another", name=name)
    return row


async def listed(journal: Journal, caller: CollectionUser) -> list[CollectionRow]:
    """The collections that a caller may read, by name."""
    stores = await take_into_use(journal)
    return [each for each in await stores.find(caller.tenant, COLLECTIONS) if caller.may_read(each)]


async def named(journal: Journal, caller: CollectionUser, name: str) -> CollectionRow:
    """A collection that a caller may read.

    Raises:
        UnknownName: there is none for this caller.
    """
    stores = await take_into_use(journal)
    return await stores.read(caller.tenant, lambda each: readable(each, caller, name))


async def changeable(journal: Journal, caller: CollectionUser, name: str) -> CollectionRow:
    """A collection that a caller may change.

    Raises:
        UnknownName: there is none for this caller.
        PermissionDenied: the caller may read it only.
    """
    found = await named(journal, caller, name)
    return _changed_by(caller, found)


def readable(transaction: Transaction, caller: CollectionUser, name: str) -> CollectionRow:
    """As `named`, inside of a transaction."""
    found = transaction.get(COLLECTIONS, name) if _NAME.fullmatch(name) else None
    if found is None or not caller.may_read(found):
        raise UnknownName("there is no collection {name!r:.80}", name=name)
    return found


def _changed_by(caller: CollectionUser, found: CollectionRow) -> CollectionRow:
    if not caller.may_change(found):
        raise PermissionDenied("Only the owner of {name!r} and administrators may change it.", name=found.name)
    return found


async def set_readers(journal: Journal, caller: CollectionUser, name: str, readers: Sequence[str]) -> CollectionRow:
    """Say who may read a collection beside its owner. It holds for the next call of a run that is going on.

    Raises:
        UnknownName, PermissionDenied: as `changeable`.
        UsageError: a reader can not be.
    """
    stores, kept = await take_into_use(journal), checked_readers(readers)

    def change(transaction: Transaction) -> CollectionRow:
        new = structs.replace(_changed_by(caller, readable(transaction, caller, name)), readers=kept)
        transaction.put(COLLECTIONS, new)
        return new

    return await stores.transact(caller.tenant, change)


async def remove(journal: Journal, caller: CollectionUser, name: str) -> CollectionRow:
    """Remove a collection with all its documents. The files stay where they are.

    Raises:
        UnknownName, PermissionDenied: as `changeable`.
    """
    stores = await take_into_use(journal)

    def delete(transaction: Transaction) -> CollectionRow:
        found = _changed_by(caller, readable(transaction, caller, name))
        transaction.delete(COLLECTIONS, {"name": name})
        for table in (DOCUMENTS, PASSAGES, PAGES):
            transaction.delete(table, {"collection": found.id})
        space = space_of(found.id)
        for words in INDEX.tables:
            transaction.delete(words, {"principal": space.principal, "space": space.name})
        return found

    return await stores.transact(caller.tenant, delete)
