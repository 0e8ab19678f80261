"""`/v1/memories`: what is remembered of the caller, found and forgotten. Nobody sees the memory of another user."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, Struct

from ...core.identity import Identity
from ...core.language.words import terms_of
from ...core.user import User
from ...features.command import AnswerText, Command, CommandOption, ListColumn
from ...features.operation import AnswerKind, ApiReply, ApiRequest, Operation
from ...features.refusal import Refusal, not_found
from ...journal.lists import bad_cursor, read_cursor, write_cursor
from ...memory.index import Times
from ...memory.items import FOUND_MAX, MemoryItem, NoteItem, TurnItem, forget, kind_of, listed, named, searched
from ...runs.administration import put_on_record
from .examples import ASKED_AT, RUN
from .fields import Cursor, ListPart, Moment, Name
from .records import cursors

if TYPE_CHECKING:
    from .api import Api  # agents and workflows, which the completion of a command needs none of

QUERY_CHARS_MAX = 2_000


class MemoriesQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which memories: those that fit the query best first, or all of them, the latest first.

    Attributes:
        query: words to look for; empty for all.
        space: only of this memory space, such as the name of an agent.
        kind: only turns, or only notes of this kind.
        since: only what was said then or later, in seconds since 1970.
        until: only what was said before then; 0 for no limit.
        limit: so many at most.
        cursor: `next` of the part before. What fits a query has no further part.
    """

    query: Annotated[str, Meta(max_length=QUERY_CHARS_MAX)] = ""
    space: Name = ""
    kind: Literal["turn", "fact", "preference", ""] = ""
    since: Moment = 0.0
    until: Moment = 0.0
    limit: Annotated[int, Meta(ge=1, le=FOUND_MAX)] = 20
    cursor: Cursor = ""


class MemoryPart(ListPart[TurnItem | NoteItem], frozen=True, kw_only=True):
    """A part of what is remembered."""


class MemoryForgotten(Struct, frozen=True, kw_only=True):
    """What is never found again.

    Attributes:
        id: what was to be forgotten.
        items: the turns and notes that are forgotten: with a note, every turn that says its words.
        on_record: the runs of these turns. They are still on record until the runs themselves are forgotten.
    """

    id: str
    items: tuple[str, ...]
    on_record: tuple[str, ...]


async def list_memories(api: Api, asked: ApiRequest[MemoriesQuery, None]) -> ApiReply:
    """What is remembered of the caller."""
    query, user = asked.query, _user(asked.who)
    times = Times(query.since, query.until or inf)
    if query.query.strip():
        if not terms_of(query.query):
            raise Refusal(422, "query", "The query has no words to look for.")
        found = await searched(api.journal, user, query.query, query.limit, query.space, times, query.kind)
        return ApiReply(MemoryPart(items=tuple(found), next=None))
    items = await listed(api.journal, user, query.space, times)
    left = [item for item in items if query.kind in ("", kind_of(item))]
    with cursors():
        if query.cursor:
            last = read_cursor(query.cursor, tuple[float, str])
            if last not in {_place(item) for item in left}:
                raise bad_cursor()
            left = [item for item in left if _place(item) < last]
    part = left[: query.limit]
    return ApiReply(
        MemoryPart(items=tuple(part), next=write_cursor(_place(part[-1])) if len(left) > len(part) else None)
    )


async def get_memory(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """A turn or a note, whole."""
    return ApiReply(await _named(api, asked))


async def forget_memory(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """Never find a turn or a note again, nor what repeats the note."""
    item, who = await _named(api, asked), asked.who
    words = item.said if isinstance(item, NoteItem) else ""
    forgotten = await forget(api.journal, _user(who), item.space, {item.id: words})
    await put_on_record(
        api.journal,
        "memory.forget",
        {"items": [*forgotten], "space": item.space},
        principal=who.principal,
        key_id=who.key_id,
        tenant=who.tenant,
    )
    runs = tuple(each for each in forgotten if each != item.id or isinstance(item, TurnItem))
    return ApiReply(MemoryForgotten(id=item.id, items=tuple(forgotten), on_record=runs))


async def _named(api: Api, asked: ApiRequest[None, None]) -> MemoryItem:
    """The turn or note of the caller that the path names.

    Raises:
        Refusal: there is none.
    """
    item = await named(api.journal, _user(asked.who), asked.names["id"])
    if item is None:
        raise not_found("memory")
    return item


def _user(who: Identity) -> User:
    return User(who.tenant, who.principal)


def _place(item: MemoryItem) -> tuple[float, str]:
    return item.at, item.id


def _shown(item: MemoryItem, names: Mapping[str, str]) -> list[AnswerText]:
    """What a person is told of a turn or a note."""
    told = [AnswerText(item.id, kind_of(item), at=item.at), AnswerText(item.space, "space")]
    if isinstance(item, TurnItem):
        told += [AnswerText(item.agent, "agent"), AnswerText(item.conversation, "conversation")]
        return [*told, AnswerText(item.said, "said"), AnswerText(item.answered, "answered")]
    told += [AnswerText(item.run, "run"), AnswerText(item.said, "said")]
    return told + ([AnswerText("", "until", at=item.until)] if item.until is not None else [])


def _told(forgotten: MemoryForgotten, names: Mapping[str, str]) -> list[AnswerText]:
    """What a person is told after something was forgotten."""
    left = [
        AnswerText(
            "{run} is still on record: `{command}` deletes what it says.",
            is_note=True,
            values={"run": run},
            command=("journal", "forget", run),
        )
        for run in forgotten.on_record
    ]
    return [*(AnswerText(each, "forgotten") for each in forgotten.items), *left]


_OPTIONS = {
    "space": CommandOption(metavar="NAME", help="Only of this memory space, such as the name of an agent."),
    "kind": CommandOption(help="Only turns, or only notes of this kind."),
    "since": CommandOption(form="time", help="From then on: 24h, 90d, 2026-11-01, 2026-11-01T12:30."),
    "until": CommandOption(form="time", help="Before then."),
    "limit": CommandOption(help="How many."),
    "cursor": CommandOption(is_hidden=True),
}
_COLUMNS = (
    ListColumn("at", "at", "minute"),
    ListColumn("kind", made_of=kind_of),
    ListColumn("space", "space"),
    ListColumn("id", "id"),
    ListColumn("said", "said", "title"),
)
_TURN = {
    "type": "turn",
    "id": RUN,
    "conversation": "monday",
    "agent": "desk",
    "space": "desk",
    "at": ASKED_AT,
    "said": "I started a project called Heron.",
    "answered": "What does it measure?",
    "score": 0.0,
}
_NAMES = {"id": "The run of a turn, or the id of a note."}
OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="listMemories",
        method="get",
        path="/v1/memories",
        tag="memories",
        summary="List what is remembered of you, or find it by words.",
        scopes=("runs",),
        query=MemoriesQuery,
        replies={
            200: AnswerKind(means="The memories.", body=MemoryPart, example={"items": [_TURN], "next": None}),
        },
        handler=list_memories,
        command=Command(
            words=("memory", "list"),
            help="List what is remembered of you, the latest first.",
            options=_OPTIONS | {"query": CommandOption(is_hidden=True)},
            columns=_COLUMNS,
            empty="Nothing is remembered.",
        ),
        more_commands=(
            Command(
                words=("memory", "search"),
                help="Find what is remembered of you by words, what fits best first.",
                arguments=("query",),
                options=_OPTIONS
                | {"query": CommandOption(metavar="QUERY", help="Words to look for.", is_required=True)},
                columns=_COLUMNS,
                empty="Nothing fits.",
            ),
        ),
    ),
    Operation(
        id="getMemory",
        method="get",
        path="/v1/memories/{id}",
        tag="memories",
        summary="Get something that is remembered of you, whole.",
        scopes=("runs",),
        names=_NAMES,
        replies={200: AnswerKind(means="The memory.", body=TurnItem, others=(NoteItem,), example=_TURN)},
        handler=get_memory,
        command=Command(words=("memory", "show"), help="Show a turn or a note, whole.", show=_shown),
    ),
    Operation(
        id="forgetMemory",
        method="delete",
        path="/v1/memories/{id}",
        tag="memories",
        summary="Forget something that is remembered of you: it is never found again.",
        description="With a note goes every turn that says its words. The runs themselves stay on record.",
        scopes=("runs",),
        names=_NAMES,
        replies={
            200: AnswerKind(
                means="It is forgotten.",
                body=MemoryForgotten,
                example={"id": RUN, "items": [RUN], "on_record": [RUN]},
            )
        },
        handler=forget_memory,
        command=Command(
            words=("memory", "forget"),
            help="Forget a turn or a note, with every turn that says the words of the note.",
            show=_told,
        ),
    ),
)
