"""`/v1/memories`: what is remembered of the caller, found, added and forgotten. Nobody sees the memory of another user.

What a caller changes is a call on record, which the caller has asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from ...core.errors import InvalidArguments, PermissionDenied
from ...core.identity import Identity
from ...core.json import JsonObject, dumps
from ...core.language.sentence import Sentence
from ...core.language.words import terms_of
from ...core.run.ids import new_id
from ...core.user import User
from ...core.visible import is_blank
from ...features.command import AnswerText, Command, CommandOption, ListColumn
from ...features.operation import AnswerKind, ApiReply, ApiRequest, Operation
from ...features.refusal import Refusal, not_found
from ...journal.lists import read_cursor, write_cursor
from ...memory.feature import take_into_use
from ...memory.items import (
    FOUND_MAX,
    MemoryItem,
    NoteItem,
    TurnItem,
    forget,
    forget_all,
    keep,
    kind_of,
    listed,
    named,
    notes_about,
    searched,
    spaces_of,
    switch_memory,
)
from ...memory.notes import NOTE_CHARS_MAX, NOTES_MAX, Kept, NoteKind, dropped_records
from ...memory.spans import TimeSpan
from ...runs.administration import put_on_record
from ...runs.copies import copies_of
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
        limit: the most items of this part of the list.
        cursor: `next` of the part before. The answer to a query has no further part.
    """

    query: Annotated[str, Meta(max_length=QUERY_CHARS_MAX)] = ""
    space: Name = ""
    kind: Literal["turn", "fact", "preference", ""] = ""
    since: Moment = 0.0
    until: Moment = 0.0
    limit: Annotated[int, Meta(ge=1, le=FOUND_MAX)] = 20
    cursor: Cursor = ""


class MemorySpace(Struct, frozen=True, kw_only=True):
    """A memory of the caller.

    Attributes:
        space: the memory space, such as the name of an agent.
        on: false where the caller has switched the memory off: nothing is recalled or taken in.
    """

    space: Name
    on: bool


class MemoryPart(ListPart[TurnItem | NoteItem], frozen=True, kw_only=True):
    """A part of what is remembered.

    Attributes:
        spaces: the memories that the caller has; in the first part of a list alone.
    """

    spaces: tuple[MemorySpace, ...] = ()


class MemoryBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to be remembered.

    Attributes:
        text: the words.
        kind: a preference is told to the model in every conversation.
        space: the memory space, such as the name of an agent; empty where there is only one.
        replaces: the note that no longer holds; empty for none.
    """

    text: Annotated[str, Meta(min_length=1, max_length=NOTE_CHARS_MAX, pattern=r"^[^\u0000]*$")]
    kind: NoteKind = "fact"
    space: Name = ""
    replaces: Name = ""


class MemorySwitch(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether a memory is on.

    Attributes:
        on: false for a memory that recalls nothing and takes nothing in until it is switched on again.
        space: the memory space, such as the name of an agent; empty where there is only one.
    """

    on: bool
    space: Name = ""


class ForgetQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """What is to be forgotten.

    Attributes:
        id: the run of a turn, or the id of a note.
        all: everything that is remembered in the space until now.
        space: the memory space, such as the name of an agent; empty where there is only one.
        record: what the runs of these words say is deleted from the record as well; only with an id.
    """

    id: Name = ""
    all: bool = False
    space: Name = ""
    record: bool = False


class RecordQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Whether the record is deleted, too.

    Attributes:
        record: what the runs of these words say is deleted from the record as well.
    """

    record: bool = False


class MemoriesForgotten(Struct, frozen=True, kw_only=True):
    """What is never found again.

    Attributes:
        space: the memory space.
        count: how many turns and notes. Their runs are still on record.
    """

    space: str
    count: int


class MemoryForgotten(Struct, frozen=True, kw_only=True):
    """What is never found again.

    Attributes:
        id: what was to be forgotten.
        items: the turns and notes that are forgotten: with a note, every turn that says its words, and what the note
            replaced.
        on_record: the runs of these turns, which are still on record until the runs themselves are forgotten; where
            the record was to be deleted, those that are under way, and branches and summaries that hold the words.
        deleted: the runs that are deleted from the record as well: those of the turns and notes, those that hold a note
            of their words, and those that their calls started.
    """

    id: str
    items: tuple[str, ...]
    on_record: tuple[str, ...]
    deleted: tuple[str, ...] = ()


async def list_memories(api: Api, asked: ApiRequest[MemoriesQuery, None]) -> ApiReply:
    """What is remembered of the caller."""
    query, user = asked.query, _user(asked.who)
    times, space = TimeSpan(query.since, query.until or inf), space_meant(query.space, api.spaces)
    if query.query.strip():
        if not terms_of(query.query):
            raise Refusal(422, "query", "The query has no words to look for.")
        found = await searched(api.journal, user, query.query, query.limit, space, times, query.kind)
        shown = await _shown_items(api, asked.who, found, query.query)
        return ApiReply(MemoryPart(items=tuple(shown), next=None, spaces=await _spaces(api, user)))
    with cursors():
        behind = read_cursor(query.cursor, tuple[float, str]) if query.cursor else None
    items = await listed(api.journal, user, query.limit + 1, space, times, query.kind, behind)
    part = await _shown_items(api, asked.who, items[: query.limit])
    spaces = () if query.cursor else await _spaces(api, user)
    return ApiReply(
        MemoryPart(
            items=tuple(part),
            next=write_cursor(_place(part[-1])) if len(items) > len(part) else None,
            spaces=spaces,
        )
    )


async def _spaces(api: Api, user: User) -> tuple[MemorySpace, ...]:
    return tuple(MemorySpace(space=name, on=on) for name, on in (await spaces_of(api.journal, user)).items())


async def get_memory(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """A turn or a note, whole."""
    return ApiReply((await _shown_items(api, asked.who, [await _named(api, asked, asked.names["id"])]))[0])


async def _shown_items(api: Api, who: Identity, items: Sequence[MemoryItem], query: str = "") -> list[MemoryItem]:
    """Items as the caller may see them: an answer without values whose label hides them. Where values are hidden, an
    item that a query has found shows a word of the query: nothing is found by what is hidden.
    """
    runs = [item.id for item in items if isinstance(item, TurnItem)]
    mask = await api.records.mask_over(runs, who)
    if not mask.has_hidden:
        return list(items)
    shown = [msgspec.convert(mask.value(msgspec.to_builtins(item)), type(item)) for item in items]
    wanted = {*terms_of(query)}
    return [item for item in shown if not query or not wanted.isdisjoint(terms_of(dumps(item)))]


async def add_memory(api: Api, asked: ApiRequest[None, MemoryBody]) -> ApiReply:
    """Keep words of the caller as a note."""
    body, user = asked.body, _user(asked.who)
    text, space = " ".join(body.text.split()), await _space(api, asked.who, body.space)
    if is_blank(text):
        raise Refusal(422, "text", "The text has no words to remember.")
    kept = Kept(new_id("mem"), space, body.kind, text, replaces=body.replaces)

    async def put_on_record_here() -> str:
        arguments: JsonObject = {"text": text, "kind": body.kind, "space": space, "replaces": body.replaces}
        return await _put_on_record(api, asked, "memory.add", arguments, (kept,))

    try:
        note = await keep(api.journal, user, kept, put_on_record_here)
    except InvalidArguments as error:
        wrong = {each.path for each in error.problems}
        why = (
            Sentence("{id!r:.80} is no note of yours that holds", id=body.replaces)
            if "replaces" in wrong
            else Sentence("a memory has at most {most} notes: forget one, or replace one", most=NOTES_MAX)
        )
        raise Refusal(422, "memory", "This can not be kept: {why}.", problems=error.problems, why=why) from None
    except PermissionDenied:
        raise Refusal(409, "memory_off", "You have switched this memory off: switch it on first.") from None
    return ApiReply(note, 201 if note.id == kept.id else 200, location=f"/v1/memories/{note.id}")


async def switch_memories(api: Api, asked: ApiRequest[None, MemorySwitch]) -> ApiReply:
    """Switch a memory of the caller off, or on again."""
    user, on = _user(asked.who), asked.body.on
    space = await _space(api, asked.who, asked.body.space)
    await switch_memory(api.journal, user, space, on=on)
    await _put_on_record(api, asked, "memory.switch", {"space": space, "on": on})
    return ApiReply(MemorySpace(space=space, on=on))


async def forget_memories(api: Api, asked: ApiRequest[ForgetQuery, None]) -> ApiReply:
    """Forget a turn or a note, or everything in a memory space."""
    query = asked.query
    if bool(query.id) == query.all:
        raise Refusal(422, "what", "Say what is to be forgotten: an id, or all.")
    if query.id:
        return await _forget(api, asked, query.id, with_record=query.record)
    if query.record:
        raise Refusal(422, "record", "The record is deleted with an id alone, not with all.")
    user = _user(asked.who)
    space = await _space(api, asked.who, query.space)

    async def put_on_record_here(dropped: Mapping[str, str]) -> None:
        await _put_dropped_on_record(api, asked, space, dropped)

    count = await forget_all(api.journal, user, space, put_on_record_here)
    return ApiReply(MemoriesForgotten(space=space, count=count))


async def forget_memory(api: Api, asked: ApiRequest[RecordQuery, None]) -> ApiReply:
    """Never find a turn or a note again, nor what repeats the note."""
    return await _forget(api, asked, asked.names["id"], with_record=asked.query.record)


async def _forget(api: Api, asked: ApiRequest[Any, Any], id: str, *, with_record: bool) -> ApiReply:
    item = await _named(api, asked, id)
    if with_record:
        await api.records.check_idle([item.id if isinstance(item, TurnItem) else item.run])

    async def put_on_record_here(dropped: Mapping[str, str]) -> None:
        await _put_dropped_on_record(api, asked, item.space, dropped)

    words, user = item.said if isinstance(item, NoteItem) else "", _user(asked.who)
    notes = await notes_about(api.journal, user, item.space) if with_record else {}
    forgotten = await forget(api.journal, user, item.space, {item.id: words}, put_on_record_here)
    runs = list(dict.fromkeys(forgotten.values()))
    if not with_record:
        return ApiReply(MemoryForgotten(id=item.id, items=tuple(forgotten), on_record=tuple(runs)))
    runs = list(dict.fromkeys([*runs, *(run_id for each in runs for run_id in notes.get(each, ()))]))
    busy = await api.journal.driven(runs)
    everything = await api.journal.runs(limit=None, tenant=user.tenant, principal=user.principal)
    copies = await copies_of(api.journal, [each for each in everything if each.run_id in runs], everything)
    gone = await api.records.forget([each for each in runs if each not in busy], asked.who, "memory forgotten")
    left = tuple(each for each in (*runs, *copies) if each not in gone.runs)
    return ApiReply(MemoryForgotten(id=item.id, items=tuple(forgotten), on_record=left, deleted=gone.runs))


async def _put_dropped_on_record(api: Api, asked: ApiRequest[Any, Any], space: str, dropped: Mapping[str, str]) -> None:
    arguments: JsonObject = {"items": [*dropped], "space": space}
    await _put_on_record(api, asked, "memory.forget", arguments, dropped_records(space, dropped))


async def _put_on_record(
    api: Api, asked: ApiRequest[Any, Any], act: str, arguments: JsonObject, noted: Sequence[Struct] = ()
) -> str:
    """Put on record what the caller does with the own memory; the run of it."""
    await take_into_use(api.journal)
    who = asked.who
    return await put_on_record(
        api.journal,
        act,
        arguments,
        principal=who.principal,
        key_id=who.key_id,
        tenant=who.tenant,
        by="person" if asked.by_operator else "client",
        noted=noted,
    )


def space_meant(said: str, spaces: Mapping[str, str]) -> str:
    """The memory space that somebody means by its name, or by that of an agent.

    Args:
        said: the name; empty for none.
        spaces: the memory spaces of agents, by the names of the agents.

    >>> space_meant("cook", {"cook": "kitchen"}), space_meant("kitchen", {"cook": "kitchen"})
    ('kitchen', 'kitchen')
    """
    return said if said in spaces.values() else spaces.get(said, said)


async def _space(api: Api, who: Identity, said: str) -> str:
    """The memory space that the caller means.

    Raises:
        Refusal: there is none of this name; or the caller names none, and has several or none.
    """
    spaces, meant = list(await spaces_of(api.journal, _user(who))), space_meant(said, api.spaces)
    if meant in spaces or (said and (meant in api.spaces.values() or meant in await api.agent_names(who))):
        return meant
    if said:
        raise Refusal(
            422, "space", "There is no memory {space!r}: give the name of an agent with a memory.", space=said
        )
    if len(spaces) == 1:
        return spaces[0]
    if spaces:
        raise Refusal(422, "space", "Say which memory is meant, by `space`: {spaces}.", spaces=", ".join(spaces))
    raise Refusal(422, "space", "Say which memory is meant, by `space`: the name of an agent with a memory.")


async def _named(api: Api, asked: ApiRequest[Any, Any], id: str) -> MemoryItem:
    """The turn or note of the caller that has an id.

    Raises:
        Refusal: there is none.
    """
    item = await named(api.journal, _user(asked.who), id)
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
        told.append(AnswerText(item.agent, "agent"))
        told += [AnswerText(item.conversation, "conversation")] if item.conversation else []
        return [*told, AnswerText(item.said, "said"), AnswerText(item.answered, "answered")]
    told += [AnswerText(item.run, "run"), AnswerText(item.said, "said")]
    return told + ([AnswerText("", "until", at=item.until)] if item.until is not None else [])


def _kept(note: NoteItem, names: Mapping[str, str]) -> list[AnswerText]:
    """What a person is told of a note that is kept."""
    return [AnswerText(note.id, note.kind, at=note.at), AnswerText(note.space, "space"), AnswerText(note.said, "said")]


def _switched(memory: MemorySpace, names: Mapping[str, str]) -> list[AnswerText]:
    """What a person is told of a memory that was switched on or off."""
    if memory.on:
        return [AnswerText("The memory {space} is on.", values={"space": memory.space})]
    return [
        AnswerText(
            "The memory {space} is off: nothing is recalled or taken in until `{command}`.",
            values={"space": memory.space},
            command=("memory", "on", "--space", memory.space),
        )
    ]


def _beside(part: MemoryPart) -> list[AnswerText]:
    """What a person is told beside a list."""
    return [each for memory in part.spaces if not memory.on for each in _switched(memory, {})]


def _told(forgotten: MemoryForgotten | MemoriesForgotten, names: Mapping[str, str]) -> list[AnswerText]:
    """What a person is told after something was forgotten."""
    if isinstance(forgotten, MemoriesForgotten):
        return [
            AnswerText(
                "Forgotten in the memory {space}: {count}. The runs are still on record.",
                values={"space": forgotten.space, "count": forgotten.count},
            )
        ]
    left = [
        AnswerText(
            "{run} is still on record: `{command}` deletes what it says.",
            is_note=True,
            values={"run": run},
            command=("journal", "forget", run),
        )
        for run in forgotten.on_record
    ]
    gone = [AnswerText(each, "deleted from the record") for each in forgotten.deleted]
    return [*(AnswerText(each, "forgotten") for each in forgotten.items), *gone, *left]


_OPTIONS = {
    "space": CommandOption(
        names=("--space", "--agent"), metavar="NAME", help="Only of this memory space, such as the name of an agent."
    ),
    "kind": CommandOption(help="Only turns, or only notes of this kind."),
    "since": CommandOption(form="time", help="From then on: 24h, 90d, 2026-11-01, 2026-11-01T12:30."),
    "until": CommandOption(form="time", help="Before then."),
    "limit": CommandOption(help="How many."),
    "cursor": CommandOption(is_hidden=True),
}
_COLUMNS = (
    ListColumn("when", "at", "minute"),
    ListColumn("kind", made_of=kind_of),
    ListColumn("space", "space"),
    ListColumn("id", "id"),
    ListColumn("until", "until", "minute"),
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
_NOTE = {
    "type": "note",
    "id": "mem_1f0c9a4be2d75c3a8e61",
    "kind": "preference",
    "space": "desk",
    "at": ASKED_AT,
    "until": None,
    "said": "I eat no nuts.",
    "run": RUN,
    "replaces": "",
    "score": 0.0,
}
_SPACE = CommandOption(
    names=("--space", "--agent"), metavar="NAME", help="The memory space, such as the name of an agent."
)
_OF_NOTE = CommandOption(help="A preference is told to the model in every conversation.")
_FORGETTING = (
    "With a note goes every turn that says its words. The runs themselves stay on record, unless `record` is said."
)
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
            200: AnswerKind(
                means="The memories.",
                body=MemoryPart,
                example={"items": [_TURN], "next": None, "spaces": [{"space": "desk", "on": True}]},
            ),
        },
        handler=list_memories,
        command=Command(
            words=("memory", "list"),
            help="List what is remembered of you, the latest first.",
            options=_OPTIONS | {"query": CommandOption(is_hidden=True)},
            columns=_COLUMNS,
            beside=_beside,
            empty="Nothing is remembered.",
        ),
        more_commands=(
            Command(
                words=("memory", "search"),
                help="Find what is remembered of you by words, what fits best first.",
                arguments=("query",),
                given={"cursor": ""},  # an answer to a query has no further part
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
        description=_FORGETTING,
        scopes=("runs",),
        names=_NAMES,
        query=RecordQuery,
        replies={
            200: AnswerKind(
                means="It is forgotten.",
                body=MemoryForgotten,
                example={"id": RUN, "items": [RUN], "on_record": [RUN], "deleted": []},
            )
        },
        errors=(409,),
        handler=forget_memory,
    ),
    Operation(
        id="addMemory",
        method="post",
        path="/v1/memories",
        tag="memories",
        summary="Keep words of yours as a note.",
        description="The same words again answer the note that is there, with the status 200.",
        scopes=("runs",),
        body=MemoryBody,
        example={"text": "I eat no nuts.", "kind": "preference", "space": "desk"},
        replies={
            201: AnswerKind(means="The note is kept.", body=NoteItem, example=_NOTE, has_location=True),
            200: AnswerKind(means="These words are kept already.", body=NoteItem, example=_NOTE, has_location=True),
        },
        errors=(409,),
        handler=add_memory,
        is_recorded=True,
        command=Command(
            words=("memory", "add"),
            help="Keep words of yours as a note, which is told and found in later conversations.",
            arguments=("text",),
            options={"kind": _OF_NOTE, "space": _SPACE, "replaces": CommandOption(metavar="ID")},
            show=_kept,
        ),
    ),
    Operation(
        id="forgetMemories",
        method="delete",
        path="/v1/memories",
        tag="memories",
        summary="Forget something that is remembered of you, or all of it: it is never found again.",
        description=_FORGETTING,
        scopes=("runs",),
        query=ForgetQuery,
        replies={
            200: AnswerKind(
                means="It is forgotten.",
                body=MemoriesForgotten,
                others=(MemoryForgotten,),
                example={"space": "desk", "count": 12},
            )
        },
        errors=(404, 409),
        handler=forget_memories,
        is_recorded=True,
        command=Command(
            words=("memory", "forget"),
            help="Forget a turn or a note, with every turn that says the words of the note; or all of it.",
            arguments=("id",),
            options={
                "id": CommandOption(metavar="ID", help="The run of a turn, or the id of a note."),
                "all": CommandOption(help="All that is remembered of you in the memory."),
                "record": CommandOption(help="Delete what the runs of these words say from the record as well."),
                "space": _SPACE,
            },
            show=_told,
        ),
    ),
    Operation(
        id="switchMemories",
        method="put",
        path="/v1/memories",
        tag="memories",
        summary="Switch a memory of yours off, so that nothing is recalled or taken in, or on again.",
        scopes=("runs",),
        body=MemorySwitch,
        example={"on": False, "space": "desk"},
        replies={
            200: AnswerKind(means="It is switched.", body=MemorySpace, example={"space": "desk", "on": False}),
        },
        handler=switch_memories,
        is_recorded=True,
        command=Command(
            words=("memory", "off"),
            help="Recall nothing of you and take nothing in, until `actum memory on`.",
            given={"on": False},
            options={"space": _SPACE},
            show=_switched,
        ),
        more_commands=(
            Command(
                words=("memory", "on"),
                help="Recall what is remembered of you, and take in what you say.",
                given={"on": True},
                options={"space": _SPACE},
                show=_switched,
            ),
        ),
    ),
)
