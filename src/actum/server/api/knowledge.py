"""`/v1/knowledge`: collections of documents, made, filled, searched and removed.

What a caller may not read does not exist for the caller. What a caller changes is put on record; of a document the
digest and the size are, never the words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Struct, structs

from ...core.errors import PermissionDenied, UnknownName, UsageError
from ...core.identity import Identity
from ...core.json import JsonObject
from ...core.language.sentence import Sentence
from ...core.visible import on_one_line, visible
from ...features.command import AnswerText, Command, CommandOption, ListColumn
from ...features.operation import AnswerKind, ApiReply, ApiRequest, Operation
from ...features.refusal import Refusal, not_found
from ...journal.lists import read_cursor, write_cursor
from ...knowledge.collections import (
    NAME_PATTERN,
    READER_PATTERN,
    READERS_MAX,
    CollectionNameTaken,
    CollectionUser,
    listed,
    make,
    named,
    readers_of,
    remove,
    set_readers,
)
from ...knowledge.documents import CollectionFull, documents_of, put_document, remove_document
from ...knowledge.jailed_reader import DOCUMENT_BYTES_MAX
from ...knowledge.problems import PROBLEMS
from ...knowledge.search import FOUND, FOUND_MAX, FoundPassage, search
from ...knowledge.tables import CollectionRow, DocumentRow
from ...knowledge.unread import UnreadCollection
from ...runs.administration import put_on_record
from .examples import ASKED_AT
from .fields import Cursor, Limit, ListPart
from .records import cursors

if TYPE_CHECKING:
    from .api import Api  # agents and workflows, which the completion of a command needs none of

QUERY_CHARS_MAX = 2_000
# The document of the API tells the patterns; what does not fit is told by the room, in a sentence.
Reader = Annotated[str, Meta(extra_json_schema={"pattern": READER_PATTERN})]
Readers = Annotated[tuple[Reader, ...], Meta(max_length=READERS_MAX)]


class CollectionBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A collection that is to be made.

    Attributes:
        name: 1 to 40 small letters, digits, `-` and `_`; no other collection of the tenant may have it.
        readers: who may read it beside the owner: `user:NAME`, `role:NAME`, or `all` for everybody of the tenant.
    """

    name: Annotated[str, Meta(extra_json_schema={"pattern": NAME_PATTERN})]
    readers: Readers = ()


class ReadersBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who may read a collection from now on.

    Attributes:
        readers: `user:NAME`, `role:NAME`, or `all` for everybody of the tenant; none of them for the owner alone.
    """

    readers: Readers


class TypedReaders(ReadersBody, frozen=True, kw_only=True):
    """Who may read a collection, as words of a command line."""

    readers: tuple[str, ...]


class DocumentBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A document that is to be put into a collection.

    Attributes:
        data: its bytes, as Base64. The ending of its path says of what kind it is.
    """

    data: bytes


class DocumentsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which documents.

    Attributes:
        limit: how many at most.
        cursor: `next` of the part before.
    """

    limit: Limit = 50
    cursor: Cursor = ""


class PassagesQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """What is looked for.

    Attributes:
        query: a question or words, in any language.
        limit: how many passages at most.
    """

    query: Annotated[str, Meta(min_length=1, max_length=QUERY_CHARS_MAX)]
    limit: Annotated[int, Meta(ge=1, le=FOUND_MAX)] = FOUND


class CollectionInfo(Struct, frozen=True, kw_only=True):
    """A collection.

    Attributes:
        name: its name.
        owner: the user who made it.
        readers: who may read it beside the owner.
        documents: how many documents can be found.
        passages: how many passages these have.
        updated_at: when it was last updated from its folder, in seconds since 1970; 0 for never.
        may_change: whether the caller may change it.
    """

    name: str
    owner: str
    readers: tuple[str, ...]
    documents: int
    passages: int
    updated_at: float
    may_change: bool


class CollectionPart(ListPart[CollectionInfo], frozen=True, kw_only=True):
    """The collections that the caller may read, all of them."""


class DocumentInfo(Struct, frozen=True, kw_only=True):
    """A document of a collection.

    Attributes:
        document: its path.
        title: its title.
        state: `ready`, or `unreadable`.
        problem: why it can not be read; empty where it can.
        size: how many bytes it has.
        passages: how many passages it has.
        read_at: when it was read, in seconds since 1970.
    """

    document: str
    title: str
    state: Literal["ready", "unreadable"]
    problem: str
    size: int
    passages: int
    read_at: float


class CollectionDetails(CollectionInfo, frozen=True, kw_only=True):
    """A collection, whole.

    Attributes:
        problems: the documents that can not be found, with the reasons.
        unread: the agents, of the settings and published, that have the collection and whose callers can not all read
            it; told to those alone who may change the collection.
    """

    problems: tuple[DocumentInfo, ...] = ()
    unread: tuple[UnreadCollection, ...] = ()


class DocumentPart(ListPart[DocumentInfo], frozen=True, kw_only=True):
    """A part of the documents of a collection, by path."""


class FoundPassages(Struct, frozen=True, kw_only=True):
    """What a search found.

    Attributes:
        results: the passages, the best first.
    """

    results: tuple[FoundPassage, ...]


async def list_collections(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """The collections that the caller may read."""
    caller = _caller(asked)
    return ApiReply(
        CollectionPart(items=tuple(_info(each, caller) for each in await listed(api.journal, caller)), next=None)
    )


async def make_collection(api: Api, asked: ApiRequest[None, CollectionBody]) -> ApiReply:
    """Make a collection that the caller owns."""
    caller, body = _caller(asked), asked.body
    with _refusals():
        made = await make(api.journal, caller, body.name, body.readers)
    await _put_on_record(api, asked, "knowledge.make", {"name": made.name, "readers": [*body.readers]})
    return ApiReply(_info(made, caller), 201, location=f"/v1/knowledge/{made.name}")


async def get_collection(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """A collection with its problems."""
    caller, name = _caller(asked), asked.names["name"]
    with _refusals():
        found = await named(api.journal, caller, name)
        rows = await documents_of(api.journal, caller, name)
    problems = tuple(_document(each) for each in rows if each.problem)
    wrong = await _unread(api, asked.who, found) if caller.may_change(found) else ()
    return ApiReply(CollectionDetails(**_fields(found, caller), problems=problems, unread=wrong))


async def _unread(api: Api, who: Identity, row: CollectionRow) -> tuple[UnreadCollection, ...]:
    """The agents whose callers can not all read a collection, of those that a caller may know."""
    from .definitions.references import unread  # noqa: PLC0415  # reads workflows, as for `Api`

    found = await unread(api.journal.definitions, row, tenant=who.tenant, own=api.calling)
    return tuple(each for each in found if who.may_use("agent", each.agent))


async def change_readers(api: Api, asked: ApiRequest[None, ReadersBody]) -> ApiReply:
    """Say who may read a collection."""
    caller, name = _caller(asked), asked.names["name"]
    with _refusals():
        changed = await set_readers(api.journal, caller, name, asked.body.readers)
    await _put_on_record(api, asked, "knowledge.readers", {"name": name, "readers": [*asked.body.readers]})
    return ApiReply(_info(changed, caller))


async def remove_collection(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """Remove a collection with all its documents."""
    name = asked.names["name"]
    with _refusals():
        await remove(api.journal, _caller(asked), name)
    await _put_on_record(api, asked, "knowledge.remove", {"name": name})
    return ApiReply(None, 204)


async def list_documents(api: Api, asked: ApiRequest[DocumentsQuery, None]) -> ApiReply:
    """The documents of a collection."""
    query = asked.query
    with _refusals():
        rows = await documents_of(api.journal, _caller(asked), asked.names["name"])
    with cursors():
        behind = read_cursor(query.cursor, str) if query.cursor else ""
    rows = [each for each in rows if each.path > behind][: query.limit + 1]
    part = rows[: query.limit]
    following = write_cursor(part[-1].path) if len(rows) > len(part) else None
    return ApiReply(DocumentPart(items=tuple(map(_document, part)), next=following))


async def put_a_document(api: Api, asked: ApiRequest[None, DocumentBody]) -> ApiReply:
    """Put a document into a collection."""
    name, path, data = asked.names["name"], asked.names["path"], asked.body.data
    if len(data) > DOCUMENT_BYTES_MAX:
        raise Refusal(413, "content_too_large", "A document has {most} bytes at most.", most=DOCUMENT_BYTES_MAX)
    with _refusals():
        row, is_jailed = await put_document(api.journal, _caller(asked), name, path, data)
    told: JsonObject = {"name": name, "document": path, "size": len(data), "digest": hashlib.sha256(data).hexdigest()}
    await _put_on_record(api, asked, "knowledge.put", told if is_jailed else {**told, "unjailed": True})
    return ApiReply(_document(row))


async def delete_document(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """Remove a document from a collection."""
    name, path = asked.names["name"], asked.names["path"]
    with _refusals("document"):
        await remove_document(api.journal, _caller(asked), name, path)
    await _put_on_record(api, asked, "knowledge.delete", {"name": name, "document": path})
    return ApiReply(None, 204)


async def search_collection(api: Api, asked: ApiRequest[PassagesQuery, None]) -> ApiReply:
    """The passages that answer a question best."""
    query = asked.query
    with _refusals():
        found = await search(api.journal, _caller(asked), asked.names["name"], query.query, query.limit)
    return ApiReply(FoundPassages(results=tuple(FoundPassage(*structs.astuple(each)[:-1]) for each in found)))


@contextmanager
def _refusals(what: str = "collection") -> Iterator[None]:
    """A block whose errors of knowledge are told to the client.

    Raises:
        Refusal: an error came.
    """
    try:
        yield
    except CollectionNameTaken:
        raise Refusal(409, "name_taken", "This name is taken: choose another.") from None
    except UnknownName:
        raise not_found(what) from None
    except PermissionDenied:
        raise Refusal(403, "not_owner", "Only the owner of the collection and administrators may change it.") from None
    except CollectionFull as error:
        raise Refusal(409, "full", "The collection can not take more: {why}.", why=error) from None
    except UsageError as error:
        raise Refusal(422, "invalid", "This can not be: {why}.", why=error) from None


async def _put_on_record(api: Api, asked: ApiRequest[Any, Any], act: str, arguments: JsonObject) -> None:
    who = asked.who
    await put_on_record(
        api.journal,
        act,
        arguments,
        principal=who.principal,
        key_id=who.key_id,
        tenant=who.tenant,
        by="person" if asked.by_operator else "client",
    )


def _caller(asked: ApiRequest[Any, Any]) -> CollectionUser:
    who = asked.who
    return CollectionUser(who.tenant, who.principal, who.roles, "admin" in who.scopes)


def _fields(row: CollectionRow, caller: CollectionUser) -> dict[str, Any]:
    return {
        "name": row.name,
        "owner": row.owner,
        "readers": readers_of(row),
        "documents": row.documents,
        "passages": row.passages,
        "updated_at": row.updated_at,
        "may_change": caller.may_change(row),
    }


def _info(row: CollectionRow, caller: CollectionUser) -> CollectionInfo:
    return CollectionInfo(**_fields(row, caller))


def _document(row: DocumentRow) -> DocumentInfo:
    return DocumentInfo(
        document=row.path,
        title=row.title,
        state="unreadable" if row.problem else "ready",
        problem=str(PROBLEMS[row.problem]) if row.problem else "",
        size=row.size,
        passages=row.passages,
        read_at=row.read_at,
    )


def told_readers(name: str, readers: Sequence[str]) -> AnswerText:
    """Who reads a collection, for a person."""
    if readers:
        return AnswerText(
            "{name} is read by its owner and by {readers}.", values={"name": name, "readers": ", ".join(readers)}
        )
    return AnswerText(
        "{name} is read by its owner alone; `{command}` lets others.",
        values={"name": name},
        command=("knowledge", "readers", name, "role:NAME"),
    )


def _shown(found: CollectionDetails, names: Mapping[str, str]) -> list[AnswerText]:
    told = [
        AnswerText(found.name, "collection"),
        AnswerText(found.owner, "owner"),
        told_readers(found.name, found.readers),
        AnswerText(str(found.documents), "documents"),
        AnswerText(str(found.passages), "passages"),
    ]
    if found.updated_at:
        told.append(AnswerText("", "updated", at=found.updated_at))
    problems = (
        AnswerText(
            "{document}: {problem}",
            is_note=True,
            values={"document": on_one_line(each.document), "problem": Sentence(each.problem)},
        )
        for each in found.problems
    )
    mistakes = (
        AnswerText(
            "{agent}: not all who may use this agent can read the collection {collection}: {command}",
            is_note=True,
            values={"agent": each.agent, "collection": each.collection, "command": each.command},
        )
        for each in found.unread
    )
    return [*told, *problems, *mistakes]


def _passages(found: FoundPassages, names: Mapping[str, str]) -> list[AnswerText]:
    if not found.results:
        return [AnswerText("Nothing fits.", is_note=True)]
    told: list[AnswerText] = []
    for each in found.results:
        place = f"#{each.page}" if each.page else f":{each.lines[0]}-{each.lines[1]}" if each.lines else ""
        told.append(AnswerText(f"{on_one_line(each.document)}{place}", on_one_line(each.title)))
        told.append(AnswerText(f"{visible(each.text)}\n"))
    return told


_COLLECTION: JsonObject = {
    "name": "handbook",
    "owner": "ann",
    "readers": ["role:staff"],
    "documents": 12,
    "passages": 240,
    "updated_at": ASKED_AT,
    "may_change": True,
}
_DOCUMENT: JsonObject = {
    "document": "rules/travel.md",
    "title": "Travel",
    "state": "ready",
    "problem": "",
    "size": 2048,
    "passages": 4,
    "read_at": ASKED_AT,
}
_NAME = {"name": "The name of a collection."}
_PATH = {**_NAME, "path": "The path of a document in the collection, such as `rules/travel.md`."}
_SCOPES = ("knowledge", "documents")
OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="listCollections",
        method="get",
        path="/v1/knowledge",
        tag="knowledge",
        summary="List the collections of documents that you may read.",
        scopes=_SCOPES,
        replies={
            200: AnswerKind(
                means="The collections.", body=CollectionPart, example={"items": [_COLLECTION], "next": None}
            )
        },
        handler=list_collections,
        command=Command(
            words=("knowledge", "list"),
            help="List the collections of documents.",
            columns=(
                ListColumn("name", "name"),
                ListColumn("owner", "owner"),
                ListColumn("readers", "readers"),
                ListColumn("documents", "documents"),
                ListColumn("updated", "updated_at", "minute"),
            ),
            empty="There is no collection: `actum knowledge add NAME FOLDER` makes one.",
        ),
    ),
    Operation(
        id="makeCollection",
        method="post",
        path="/v1/knowledge",
        tag="knowledge",
        summary="Make a collection of documents, which you own.",
        description="A name that somebody of the tenant has already is refused with the code `name_taken`.",
        scopes=("documents",),
        body=CollectionBody,
        example={"name": "handbook", "readers": ["role:staff"]},
        replies={201: AnswerKind(means="The collection.", body=CollectionInfo, example=_COLLECTION, has_location=True)},
        errors=(409,),
        handler=make_collection,
        is_recorded=True,
    ),
    Operation(
        id="getCollection",
        method="get",
        path="/v1/knowledge/{name}",
        tag="knowledge",
        summary="Get a collection, with the documents that can not be read and why.",
        scopes=_SCOPES,
        names=_NAME,
        replies={
            200: AnswerKind(means="The collection.", body=CollectionDetails, example={**_COLLECTION, "problems": []})
        },
        handler=get_collection,
        command=Command(
            words=("knowledge", "show"),
            help="Show a collection: who reads it, and which documents can not be read.",
            show=_shown,
        ),
    ),
    Operation(
        id="setReaders",
        method="patch",
        path="/v1/knowledge/{name}",
        tag="knowledge",
        summary="Say who may read a collection beside its owner. It holds at once.",
        scopes=("documents",),
        names=_NAME,
        body=ReadersBody,
        example={"readers": ["role:staff", "user:bob"]},
        replies={200: AnswerKind(means="The collection.", body=CollectionInfo, example=_COLLECTION)},
        handler=change_readers,
        is_recorded=True,
        command=Command(
            words=("knowledge", "readers"),
            help="Set who may read a collection beside its owner, in place of those of before.",
            arguments=("readers",),
            body=TypedReaders,
            options={
                "readers": CommandOption(metavar="WHO...", help="user:NAME, role:NAME, all, or owner for nobody else.")
            },
            show=lambda found, names: [told_readers(found.name, found.readers)],
        ),
    ),
    Operation(
        id="removeCollection",
        method="delete",
        path="/v1/knowledge/{name}",
        tag="knowledge",
        summary="Remove a collection with all its documents. Files of a folder stay where they are.",
        scopes=("documents",),
        names=_NAME,
        replies={204: AnswerKind(means="It is removed.")},
        handler=remove_collection,
        is_recorded=True,
        command=Command(
            words=("knowledge", "remove"),
            help="Remove a collection. The files stay where they are.",
            show=lambda _, names: [AnswerText("The collection {name} is removed.", values=dict(names))],
        ),
    ),
    Operation(
        id="listDocuments",
        method="get",
        path="/v1/knowledge/{name}/documents",
        tag="knowledge",
        summary="List the documents of a collection, by path.",
        scopes=_SCOPES,
        names=_NAME,
        query=DocumentsQuery,
        replies={
            200: AnswerKind(means="The documents.", body=DocumentPart, example={"items": [_DOCUMENT], "next": None})
        },
        handler=list_documents,
    ),
    Operation(
        id="putDocument",
        method="put",
        path="/v1/knowledge/{name}/documents/{path:path}",
        tag="knowledge",
        summary="Put a document into a collection, in place of the one with its path.",
        description=(
            "The document is read before the answer comes. One that can not be read is kept in the list with the "
            "reason, and is answered 200 as well."
        ),
        scopes=("documents",),
        names=_PATH,
        body=DocumentBody,
        file_bytes=DOCUMENT_BYTES_MAX,
        example={"data": "IyBUcmF2ZWwKCkEgaG90ZWwgbWF5IGNvc3QgMTIwIGV1cm9zLgo="},
        replies={200: AnswerKind(means="The document.", body=DocumentInfo, example=_DOCUMENT)},
        errors=(409,),
        handler=put_a_document,
        is_recorded=True,
    ),
    Operation(
        id="deleteDocument",
        method="delete",
        path="/v1/knowledge/{name}/documents/{path:path}",
        tag="knowledge",
        summary="Remove a document from a collection.",
        scopes=("documents",),
        names=_PATH,
        replies={204: AnswerKind(means="It is removed.")},
        handler=delete_document,
        is_recorded=True,
    ),
    Operation(
        id="searchCollection",
        method="get",
        path="/v1/knowledge/{name}/search",
        tag="knowledge",
        summary="Find the passages of a collection that answer a question best.",
        scopes=("knowledge",),
        names=_NAME,
        query=PassagesQuery,
        replies={
            200: AnswerKind(
                means="The passages, the best first.",
                body=FoundPassages,
                example={
                    "results": [
                        {
                            "document": "rules/travel.md",
                            "title": "Travel",
                            "heading": "Hotels",
                            "text": "A hotel may cost 120 euros a night.",
                            "page": None,
                            "lines": [12, 12],
                        }
                    ]
                },
            )
        },
        handler=search_collection,
        command=Command(
            words=("knowledge", "search"),
            help="Find the passages of a collection that answer a question best.",
            arguments=("query",),
            options={"query": CommandOption(metavar="QUESTION", help="A question or words, in any language.")},
            show=_passages,
        ),
    ),
)
