"""The tables of knowledge. Words are found by the store of words that all rooms share (`core.stored.word_index`)."""

from __future__ import annotations

from msgspec import Struct

from ..core.stored.word_index import Space, WordIndex
from ..core.stores import Table


class CollectionRow(Struct, frozen=True):
    """A collection.

    Attributes:
        name: unique in the tenant.
        id: what its documents are kept under; a collection that is made anew under the name has another id.
        owner: the user who made it.
        readers: who may read it beside the owner: `user:NAME`, `role:NAME` or `all`, with line breaks between them.
        folder: where `update` looks for documents; empty for a collection whose documents are put by HTTP.
        changes: how often a document was taken in or has left.
        documents: how many documents can be found.
        passages: how many passages these have.
        made_at: when it was made, in seconds since 1970.
        updated_at: when it was last updated.
    """

    name: str
    id: str
    owner: str
    readers: str
    folder: str
    changes: int
    documents: int
    passages: int
    made_at: float
    updated_at: float


class DocumentRow(Struct, frozen=True):
    """A document of a collection, as it was last read.

    Attributes:
        collection: the id of the collection.
        path: its name: where it lies below the folder of the collection.
        title: its title, or the last part of its path.
        digest: the SHA-256 of its bytes, in hex; empty where they could not be read.
        size, mtime, ctime, inode: of the file, the times in nanoseconds; -1 as the inode of a document that was put.
        problem: why it can not be found, by its name in `PROBLEMS`; empty for a document that can.
        passages: how many passages it has.
        read_at: when it was read, in seconds since 1970.
    """

    collection: str
    path: str
    title: str
    digest: str
    size: int
    mtime: int
    ctime: int
    inode: int
    problem: str
    passages: int
    read_at: float


class PassageRow(Struct, frozen=True):
    """A passage of a document: what a search finds.

    Attributes:
        collection: the id of the collection.
        item: its name in the index of words.
        document: the path of its document.
        heading: the heading that it stands under; empty for none.
        text: the words.
        start: where it begins in the text of the document.
        page: the page or slide, from 1; 0 for none.
        first, last: the first and the last line, from 1; 0 for none.
    """

    collection: str
    item: str
    document: str
    heading: str
    text: str
    start: int
    page: int
    first: int
    last: int


class PageRow(Struct, frozen=True):
    """The page of a document.

    Attributes:
        collection: the id of the collection.
        path: the path of the document.
        page: the page as JSON, compressed by zlib.
    """

    collection: str
    path: str
    page: bytes


COLLECTIONS = Table("collections", CollectionRow, ("name",))
DOCUMENTS = Table("documents", DocumentRow, ("collection", "path"))
PASSAGES = Table("passages", PassageRow, ("collection", "item"), (("collection", "document"),))
PAGES = Table("pages", PageRow, ("collection", "path"))
INDEX = WordIndex("words")


def space_of(collection: str) -> Space:
    """The space of a collection's words. It is no user's: a user who is forgotten takes no documents along."""
    return Space("", collection)
