"""Bookmarks of each user: a feature of actum that somebody else could have written. docs/features.md explains it."""

import hashlib
import time

from msgspec import Struct

from actum import Context, tool
from actum.features import (
    AnswerKind,
    ApiReply,
    ApiRequest,
    Application,
    Command,
    Feature,
    ListColumn,
    Operation,
    Stores,
    Table,
    not_found,
)


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    listed: int = 100  # so many bookmarks are listed at most


class Saved(Struct, frozen=True, tag="saved"):
    id: str
    url: str


class Bookmark(Struct, frozen=True):
    id: str
    url: str
    title: str
    principal: str  # who saved it: `actum journal forget --user` finds it by this name
    at: float


class NewBookmark(Struct, frozen=True, forbid_unknown_fields=True):
    """A bookmark to be saved.

    Attributes:
        url: where it leads.
        title: what it is called.
    """

    url: str
    title: str = ""


class Bookmarks(Struct, frozen=True):
    items: tuple[Bookmark, ...]


BOOKMARKS = Table("bookmarks", Bookmark, key=("id",), indexes=(("at",),))


async def save(stores: Stores, tenant: str, principal: str, new: NewBookmark) -> Bookmark:
    name = hashlib.sha256(new.url.encode()).hexdigest()[:12]
    row = Bookmark(name, new.url, new.title, principal, time.time())
    await stores.put(tenant, BOOKMARKS, row)
    return row


async def listed(app: Application, asked: ApiRequest[None, None]) -> ApiReply:
    limit = app.settings(Settings).listed
    rows = await app.stores.find(asked.who.tenant, BOOKMARKS, order="at", descending=True, limit=limit)
    return ApiReply(Bookmarks(tuple(rows)))


async def added(app: Application, asked: ApiRequest[None, NewBookmark]) -> ApiReply:
    row = await save(app.stores, asked.who.tenant, asked.who.principal, asked.body)
    return ApiReply(row, status=201, location=f"/v1/bookmarks/{row.id}")


async def removed(app: Application, asked: ApiRequest[None, None]) -> ApiReply:
    if not await app.stores.delete(asked.who.tenant, BOOKMARKS, {"id": asked.names["id"]}):
        raise not_found("bookmark")
    return ApiReply(None, status=204)


@tool(effects={"write"})
async def save_bookmark(url: str, title: str, context: Context) -> str:
    """Save a bookmark.

    Args:
        url: Where it leads.
        title: What it is called.
    """
    row = await save(context.stores, context.tenant, context.principal, NewBookmark(url, title))
    context.note(Saved(row.id, url))
    return f"saved as {row.id}"


COLUMNS = (ListColumn("id", "id"), ListColumn("title", "title"), ListColumn("url", "url"))
FEATURE = Feature(
    name="bookmarks",
    title="Bookmarks of each user.",
    settings=Settings,
    records=(Saved,),
    tables=(BOOKMARKS,),
    tools=lambda settings: [save_bookmark],
    operations=(
        Operation(
            id="listBookmarks",
            method="get",
            path="/v1/bookmarks",
            summary="List the bookmarks.",
            replies={200: AnswerKind(means="The bookmarks.", body=Bookmarks)},
            handler=listed,
            command=Command(words=("bookmarks", "list"), columns=COLUMNS, empty="There are no bookmarks."),
        ),
        Operation(
            id="addBookmark",
            method="post",
            path="/v1/bookmarks",
            summary="Save a bookmark.",
            body=NewBookmark,
            replies={201: AnswerKind(means="It is saved.", body=Bookmark)},
            handler=added,
            command=Command(words=("bookmarks", "add"), arguments=("url",)),
        ),
        Operation(
            id="removeBookmark",
            method="delete",
            path="/v1/bookmarks/{id}",
            summary="Remove a bookmark.",
            names={"id": "The bookmark."},
            replies={204: AnswerKind(means="It is removed.")},
            handler=removed,
            command=Command(words=("bookmarks", "remove")),
        ),
    ),
)
