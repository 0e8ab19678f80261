"""The documents of a collection: taken in, listed and removed, each in one transaction with its passages and words."""

from __future__ import annotations

import asyncio
import hashlib
import zlib
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import nullcontext

import msgspec
from msgspec import Struct, structs

from ..core.errors import UnknownName, UsageError
from ..core.interfaces import Journal
from ..core.stored.word_index import Terms
from ..core.stores import Transaction
from ..core.visible import on_one_line
from .collections import CollectionUser, changeable, named, passages_max, readable, take_into_use
from .cutting import Passage, passages_of
from .jailed_reader import JailedReader
from .problems import PROBLEMS
from .reading.page import DocumentPage, UnreadableDocument, title_of
from .tables import (
    COLLECTIONS,
    DOCUMENTS,
    INDEX,
    PAGES,
    PASSAGES,
    CollectionRow,
    DocumentRow,
    PageRow,
    PassageRow,
    space_of,
)
from .terms import weighed

PATH_BYTES_MAX = 400
PUT = -1
"""The inode of a document that came by HTTP."""
_encode = msgspec.json.Encoder().encode


class CollectionFull(UsageError):
    """A collection can not take more passages."""


class FileVersion(Struct, frozen=True):
    """What tells a file from the same file before: its size, its times in nanoseconds, and its inode."""

    size: int
    mtime: int = 0
    ctime: int = 0
    inode: int = PUT

    @classmethod
    def of(cls, row: DocumentRow) -> FileVersion:
        """The version that was read last."""
        return cls(row.size, row.mtime, row.ctime, row.inode)


class ReadDocument(Struct, frozen=True):
    """A document that was read, or that could not be.

    Attributes:
        path: its name in the collection.
        digest: the SHA-256 of its bytes; empty where there are none.
        version: of its file.
        page: its page; None where it can not be read.
        problem: then why.
    """

    path: str
    digest: str
    version: FileVersion
    page: DocumentPage | None = None
    problem: str = ""

    @property
    def title(self) -> str:
        """Its title."""
        return title_of(self.page or DocumentPage("", ""), self.path)


def checked_path(path: str) -> str:
    """The name of a document.

    Raises:
        UsageError: it leads out of the collection, is too long, or holds control characters.
    """
    parts = path.split("/")
    if not path or any(part in ("", ".", "..") for part in parts) or "\\" in path:
        raise UsageError("{path!r:.80} is no path of a document, such as rules/travel.md", path=path)
    if len(path.encode(errors="replace")) > PATH_BYTES_MAX or on_one_line(path) != path:
        raise UsageError("{path!r:.80}: {why}", path=path, why=PROBLEMS["name"])
    return path


def digest_of(data: bytes) -> str:
    """The SHA-256 of a document's bytes, in hex."""
    return hashlib.sha256(data).hexdigest()


async def note_version(journal: Journal, caller: CollectionUser, row: DocumentRow, version: FileVersion) -> None:
    """Note that the file of a document is another version with the same bytes."""
    stores = await take_into_use(journal)

    def note(transaction: Transaction) -> None:
        if transaction.get(DOCUMENTS, row.collection, row.path) == row:
            transaction.put(DOCUMENTS, structs.replace(row, **structs.asdict(version)))

    await stores.transact(caller.tenant, note)


async def read_document(reader: JailedReader, path: str, data: bytes, version: FileVersion) -> ReadDocument:
    """Have a document read.

    Args:
        reader: reads it.
        path: its name in the collection.
        data: its bytes.
        version: of its file.
    """
    digest = digest_of(data)
    try:
        return ReadDocument(path, digest, version, await reader.read(path, data))
    except UnreadableDocument as error:
        return ReadDocument(path, digest, version, problem=error.problem)


async def take_in(
    journal: Journal,
    caller: CollectionUser,
    collection: CollectionRow,
    document: ReadDocument,
    *,
    passages_most: int | None = None,
) -> DocumentRow:
    """Take a document into a collection, in place of the one with its path. A search sees the old one or the new one.

    Args:
        journal: beside which the collection is kept.
        caller: who asks.
        collection: the collection, which the caller may change.
        document: what was read.
        passages_most: how many passages the collection may have; None for what its database carries.

    Raises:
        CollectionFull: the collection can not take it; the document of before is still there.
        UnknownName: the collection was removed meanwhile.
    """
    stores, now = await take_into_use(journal), journal.now()
    most = passages_max(journal) if passages_most is None else passages_most
    page = document.page
    passages, terms, packed = await asyncio.to_thread(_prepared, document)
    row = DocumentRow(
        **structs.asdict(document.version),
        collection=collection.id,
        path=document.path,
        title=document.title,
        digest=document.digest,
        problem=document.problem,
        passages=len(passages),
        read_at=now,
    )

    def take(transaction: Transaction) -> DocumentRow:
        now_there = _still_there(transaction, collection)
        old = _taken_out(transaction, now_there, document.path)
        if old.passages + len(passages) > most:
            raise CollectionFull(
                "the collection {name!r} is full: it holds {most} passages", name=collection.name, most=most
            )
        items = [f"{old.changes}.{number}" for number in range(len(passages))]
        for item, each in zip(items, passages, strict=True):
            assert page is not None
            transaction.put(PASSAGES, _row(collection.id, item, document.path, page, each))
        if items:
            INDEX.put(transaction, space_of(collection.id), dict(zip(items, map(Terms, terms), strict=True)))
            transaction.put(PAGES, PageRow(collection.id, document.path, packed))
        transaction.put(DOCUMENTS, row)
        transaction.put(
            COLLECTIONS,
            structs.replace(
                old,
                changes=old.changes + 1,
                documents=old.documents + (page is not None),
                passages=old.passages + len(passages),
            ),
        )
        return row

    return await stores.transact(caller.tenant, take)


async def drop(journal: Journal, caller: CollectionUser, collection: CollectionRow, path: str) -> None:
    """Take a document out of a collection; one that is not there is no error.

    Raises:
        UnknownName: the collection was removed meanwhile.
    """
    stores = await take_into_use(journal)

    def take_out(transaction: Transaction) -> None:
        old = _taken_out(transaction, _still_there(transaction, collection), path)
        transaction.put(COLLECTIONS, structs.replace(old, changes=old.changes + 1))

    await stores.transact(caller.tenant, take_out)


async def put_document(
    journal: Journal, caller: CollectionUser, name: str, path: str, data: bytes, reader: JailedReader | None = None
) -> tuple[DocumentRow, bool]:
    """Put a document into a collection, in place of the one with its path.

    Args:
        journal: beside which the collection is kept.
        caller: who asks.
        name: of the collection.
        path: the name of the document there.
        data: its bytes.
        reader: reads it; None for one of its own, which ends with the call.

    Returns:
        The document, and whether a jail held the process that read it.

    Raises:
        UnknownName, PermissionDenied: as `changeable`.
        UsageError: its path can not be.
        CollectionFull: as `take_in`.
    """
    collection = await changeable(journal, caller, name)
    checked_path(path)
    async with nullcontext(reader) if reader is not None else JailedReader() as reads:
        document = await read_document(reads, path, data, FileVersion(len(data)))
        return await take_in(journal, caller, collection, document), reads.is_jailed


async def remove_document(journal: Journal, caller: CollectionUser, name: str, path: str) -> None:
    """Remove a document from a collection. The next update takes it in again where its file is still there.

    Raises:
        UnknownName, PermissionDenied: as `changeable`; and UnknownName where there is no such document.
    """
    collection = await changeable(journal, caller, name)
    stores = await take_into_use(journal)
    if await stores.get(caller.tenant, DOCUMENTS, collection.id, path) is None:
        raise UnknownName("there is no document {path!r:.80}", path=path)
    await drop(journal, caller, collection, path)


async def documents_of(journal: Journal, caller: CollectionUser, name: str) -> Sequence[DocumentRow]:
    """The documents of a collection, by path.

    Raises:
        UnknownName: there is no such collection for this caller.
    """
    collection = await named(journal, caller, name)
    stores = await take_into_use(journal)
    return await stores.find(caller.tenant, DOCUMENTS, where={"collection": collection.id})


async def page_of(journal: Journal, caller: CollectionUser, name: str, path: str) -> tuple[DocumentRow, DocumentPage]:
    """A document with its page.

    Raises:
        UnknownName: there is no such collection for this caller, or no such document that can be read.
    """
    stores = await take_into_use(journal)

    def look(transaction: Transaction) -> tuple[DocumentRow, PageRow] | None:
        collection = readable(transaction, caller, name)
        row = transaction.get(DOCUMENTS, collection.id, path)
        page = transaction.get(PAGES, collection.id, path)
        return None if row is None or page is None else (row, page)

    found = await stores.read(caller.tenant, look)
    if found is None:
        raise UnknownName("there is no document {path!r:.80}", path=path)
    return found[0], msgspec.json.decode(zlib.decompress(found[1].page), type=DocumentPage)


async def readable_paths(journal: Journal, user: CollectionUser, name: str, paths: Collection[str]) -> set[str]:
    """Those of some paths at which a collection has a document that can be read.

    Raises:
        UnknownName: there is no such collection for this user.
    """
    stores = await take_into_use(journal)

    def look(transaction: Transaction) -> set[str]:
        collection = readable(transaction, user, name)
        rows = (transaction.get(DOCUMENTS, collection.id, path) for path in paths)
        return {row.path for row in rows if row is not None and not row.problem}

    return await stores.read(user.tenant, look)


def _prepared(document: ReadDocument) -> tuple[list[Passage], list[Counter[str]], bytes]:
    """The passages of a document, their terms, and its page as it is kept."""
    page = document.page
    if page is None:
        return [], [], b""
    passages = passages_of(page)
    terms = [weighed(page.text[each.start : each.end], document.title, each.heading) for each in passages]
    return passages, terms, zlib.compress(_encode(page), 6)


def _still_there(transaction: Transaction, collection: CollectionRow) -> CollectionRow:
    found = transaction.get(COLLECTIONS, collection.name)
    if found is None or found.id != collection.id:
        raise UnknownName("there is no collection {name!r:.80}", name=collection.name)
    return found


def _taken_out(transaction: Transaction, collection: CollectionRow, path: str) -> CollectionRow:
    """The collection without a document; its row is not written yet."""
    row = transaction.get(DOCUMENTS, collection.id, path)
    if row is None:
        return collection
    where = {"collection": collection.id, "document": path}
    if row.passages:
        items = [each.item for each in transaction.find(PASSAGES, where=where)]
        INDEX.remove(transaction, space_of(collection.id), items)
        transaction.delete(PASSAGES, where)
        transaction.delete(PAGES, {"collection": collection.id, "path": path})
    transaction.delete(DOCUMENTS, {"collection": collection.id, "path": path})
    return structs.replace(
        collection,
        documents=collection.documents - (not row.problem),
        passages=collection.passages - row.passages,
    )


def _row(collection: str, item: str, path: str, page: DocumentPage, passage: Passage) -> PassageRow:
    text = page.text[passage.start : passage.end]
    return PassageRow(
        collection, item, path, passage.heading[:300], text, passage.start, passage.page, passage.first, passage.last
    )
