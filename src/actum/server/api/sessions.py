"""`/v1/sessions`: conversations: what was said, and how it is forgotten."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct

from ...agents.conversation import history
from ...core.errors import JournalError
from ...core.identity import Identity
from ...core.json import Json
from ...core.message import Message, Reply, ToolMessage, UserMessage
from ...core.run.summary import RunSummary
from ...core.user import User
from ...features.command import Command, CommandOption, FoundBy, ListColumn
from ...features.operation import AnswerKind, ApiFile, ApiReply, ApiRequest, Operation
from ...features.refusal import Refusal, not_found
from ...features.titles import TITLES, SessionTitle, titles_of
from ...journal.conversations import Conversation, as_they_stand
from ...journal.lists import page_of_conversations
from ...journal.mismatch import mismatch
from ...runs.copies import copies_of
from ..scopes import allows, wants
from .calls import CallFailure, SaidCall, call_failure, call_value, said_calls
from .examples import ASKED_AT, RUN_INFO
from .fields import CheckedPart, Cursor, Limit, ListPart, Name
from .records import Records, cursors, told_problems
from .runs.bodies import RunInfo, RunStatus
from .runs.views import STATUSES, run_info

if TYPE_CHECKING:
    from .api import Api  # agents and workflows, which the completion of a command needs none of

SEARCHED_PARTS = 10
"""The parts of the list that one request looks through for a text."""
_CONTROL = re.compile("[\\x00-\\x1f\\x7f]")


class SessionsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which sessions, the one that was talked in last first.

    Attributes:
        owner: whose sessions; the caller's where it is left out. Another owner needs the scope `admin`.
        everybody: the sessions of everybody, for which the scope `admin` is needed.
        text: only sessions whose title or first words contain this, in small or capital letters. A part may then hold
            fewer sessions than `limit`, and still have a next part.
        limit: the most items of this part of the list.
        cursor: `next` of the part before.
    """

    owner: Name | None = None
    everybody: bool = False
    text: Name = ""
    limit: Limit = 50
    cursor: Cursor = ""


class OwnerQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Whose session is meant.

    Attributes:
        owner: whose session; the caller's where it is left out. Another owner needs the scope `admin`.
    """

    owner: Name | None = None


class SessionInfo(Struct, frozen=True, kw_only=True):
    """A conversation.

    Attributes:
        id: its id.
        owner: whose it is.
        runs: how many turns it has.
        began: when its first turn began, in seconds since 1970.
        latest: when its latest turn began.
        question: its first words.
        status: how its latest turn stands.
        title: the name that its owner gave it; empty where it has none.
    """

    id: str
    owner: str
    runs: int
    began: float
    latest: float
    question: str
    status: RunStatus
    title: str = ""


class TitleBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The name of a conversation.

    Attributes:
        title: the name; empty for none.
    """

    title: Name


class ExportQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which session is exported, and how.

    Attributes:
        owner: whose session; the caller's where it is left out. Another owner needs the scope `admin`.
        format: `markdown` for people, `json` for programs.
    """

    owner: Name | None = None
    format: Literal["markdown", "json"] = "markdown"


class SessionPage(CheckedPart[SessionInfo], frozen=True, kw_only=True):
    """A part of the list of sessions."""


class SessionMessage(Struct, frozen=True, kw_only=True):
    """A message of a conversation.

    Attributes:
        role: who speaks: the `user`, the `agent`, a `tool` whose result it is, or the `server`, which tells the model
            of what happened before.
        text: the words.
        calls: the calls that the agent asks for.
        tool: the tool whose result it is.
        result: the value that the tool returned, or its text where it returned no value; null where the call failed.
        error: why the call failed.
    """

    role: Literal["user", "agent", "tool", "server"]
    text: str
    calls: tuple[SaidCall, ...] = ()
    tool: str = ""
    result: Json = None
    error: CallFailure | None = None


class SessionMessages(ListPart[SessionMessage], frozen=True, kw_only=True):
    """The messages of a conversation.

    Attributes:
        items: the messages in order, as the model is told of them.
        next: always null: a conversation is told whole.
        session: the id of the conversation.
        runs: the runs that the conversation is made of, in order.
    """

    session: str
    runs: tuple[RunInfo, ...]


class SessionNamed(Struct, frozen=True, kw_only=True):
    """A conversation has a name.

    Attributes:
        id: its id.
        owner: whose it is.
        title: the name; empty where the name was taken away.
    """

    id: str
    owner: str
    title: str


class SessionForgotten(Struct, frozen=True, kw_only=True):
    """A conversation was forgotten: what its runs said is deleted for good, and that it was deleted is on record.

    Attributes:
        id: its id.
        runs: how many runs were forgotten.
        records: how many records were deleted.
        copies: runs of the same user that still hold some of the words: branches, and notes of memory.
    """

    id: str
    runs: int
    records: int
    copies: tuple[str, ...] = ()


async def list_sessions(api: Api, asked: ApiRequest[SessionsQuery, None]) -> ApiReply:
    """The caller's conversations, the one that was talked in last first."""
    query, who = asked.query, asked.who
    if query.everybody and not allows(who, ("admin",)):
        raise wants("admin", "to see the sessions of another user")
    owner, tenant = (None, asked.tenant) if query.everybody else (_owner(who, query.owner), who.tenant)
    titles = {} if owner is None else await titles_of(api.stores, who.tenant, owner)
    items: tuple[SessionInfo, ...] = ()
    cursor: str | None = query.cursor
    for _ in range(SEARCHED_PARTS):
        with cursors():
            page = await page_of_conversations(
                api.journal, limit=query.limit, cursor=cursor or "", owner=owner, tenant=tenant
            )
        questions = await api.records.questions_shown({talk.first: talk.question for talk in page.items}, who)
        listed = [session_info(talk, questions[talk.first], titles.get(talk.id, "")) for talk in page.items]
        items, cursor = tuple(each for each in listed if _has(each, query.text)), page.next or None
        if items or cursor is None:
            break
    problems = (await mismatch(api.journal)).problems if asked.by_operator else ()
    return ApiReply(SessionPage(items=items, next=cursor, problems=tuple(problems)))


def _has(session: SessionInfo, text: str) -> bool:
    return text.casefold() in f"{session.title}\n{session.question}".casefold()


async def name_session(api: Api, asked: ApiRequest[OwnerQuery, TitleBody]) -> ApiReply:
    """Name a conversation."""
    owner, session, tenant = _owner(asked.who, asked.query.owner), asked.names["id"], asked.who.tenant
    runs = await _runs_of(api.records, session, owner, asked.who)
    if title := " ".join(asked.body.title.split()):
        await api.stores.put(tenant, TITLES, SessionTitle(owner, session, title, runs[0].run_id))
    else:
        await api.stores.delete(tenant, TITLES, {"principal": owner, "session": session})
    return ApiReply(SessionNamed(id=session, owner=owner, title=title))


async def export_session(api: Api, asked: ApiRequest[ExportQuery, None]) -> ApiReply:
    """A conversation as a file."""
    query, session = asked.query, asked.names["id"]
    found = await list_messages(
        api, ApiRequest(asked.operation, asked.who, asked.names, OwnerQuery(owner=query.owner), None)
    )
    assert isinstance(found.body, SessionMessages)
    if query.format == "json":
        return ApiReply(ApiFile("conversation.json", "application/json", msgspec.json.encode(found.body)))
    title = (await titles_of(api.stores, asked.who.tenant, _owner(asked.who, query.owner))).get(session, session)
    return ApiReply(ApiFile("conversation.md", "text/markdown", as_markdown(title, found.body.items).encode()))


def as_markdown(title: str, messages: Sequence[SessionMessage]) -> str:
    """A conversation as Markdown for a person. What a tool gave is in a block that it can not close."""
    parts = [f"# {title}"]
    for message in messages:
        calls = "".join(f"\n\n- `{call.tool}` {_block(call.arguments)}" for call in message.calls)
        match message.role:
            case "tool":
                parts.append(f"**{message.tool}**\n\n{_block(message.text)}")
            case role:
                parts.append(f"**{role}**\n\n{message.text}{calls}")
    return "\n\n".join(parts) + "\n"


def _block(value: Json) -> str:
    """A value as a block of code, with a fence that is longer than each one inside."""
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    fence = "`" * max([3, *(len(found) + 1 for found in re.findall("`{3,}", text))])
    return f"\n{fence}\n{text}\n{fence}"


async def list_messages(api: Api, asked: ApiRequest[OwnerQuery, None]) -> ApiReply:
    """The messages of a conversation, in order."""
    owner = _owner(asked.who, asked.query.owner)
    runs = await _runs_of(api.records, asked.names["id"], owner, asked.who)
    latest = runs[0]
    seen = len(await api.journal.read(latest.run_id))
    try:
        messages = await history(api.journal, latest.run_id, seen, owner=User(asked.who.tenant, owner))
    except JournalError:
        raise Refusal(503, "record_unreadable", "The record of this session can not be read.") from None
    mask = await api.records.mask_over([run.run_id for run in runs], asked.who)
    lines = await api.records.lines_shown(runs[::-1], asked.who)
    for message in messages:
        if isinstance(message, ToolMessage):
            mask.know(message.result)
    return ApiReply(
        SessionMessages(
            items=tuple([session_message(mask.message(message)) for message in messages]),
            next=None,
            session=asked.names["id"],
            runs=tuple(run_info(run, asked.who) for run in await as_they_stand(api.journal, lines)),
        )
    )


async def forget_session(api: Api, asked: ApiRequest[OwnerQuery, None]) -> ApiReply:
    """Delete for good what the runs of a conversation say, with the runs that their calls started."""
    owner = _owner(asked.who, asked.query.owner)
    runs = await _runs_of(api.records, asked.names["id"], owner, asked.who)
    everything = await api.journal.runs(limit=None, tenant=asked.who.tenant, principal=owner)
    copies = await copies_of(api.journal, runs, everything)
    gone = await api.records.forget([run.run_id for run in runs], asked.who, "session forgotten")
    left = tuple([each for each in copies if each not in gone.runs])
    return ApiReply(SessionForgotten(id=asked.names["id"], runs=len(gone.runs), records=gone.records, copies=left))


def _owner(who: Identity, owner: str | None) -> str:
    """Whose sessions are meant.

    Raises:
        Refusal: another user's, and the caller may not see them.
    """
    if owner not in (None, who.principal) and not allows(who, ("admin",)):
        raise wants("admin", "to see the sessions of another user")
    return who.principal if owner is None else owner


async def _runs_of(records: Records, session: str, owner: str, who: Identity) -> list[RunSummary]:
    """The runs of a conversation, the latest first.

    Raises:
        Refusal: there is no such conversation for the caller.
    """
    if not session or _CONTROL.search(session):
        raise not_found("session")
    runs = await records.journal.runs(conversation=session, owner=owner, tenant=who.tenant, limit=None)
    if not runs:
        raise not_found("session")
    return runs


def session_info(talk: Conversation, question: str, title: str = "") -> SessionInfo:
    """A conversation in a list."""
    return SessionInfo(
        id=talk.id,
        owner=talk.owner,
        runs=talk.runs,
        began=talk.began,
        latest=talk.latest,
        question=question,
        status=STATUSES.get(talk.status, "unreadable"),
        title=title,
    )


def session_message(message: Message) -> SessionMessage:
    """A message of a conversation."""
    match message:
        case Reply():
            return SessionMessage(role="agent", text=message.text, calls=said_calls(message.calls))
        case ToolMessage():
            result = message.result
            return SessionMessage(
                role="tool",
                text=result.text,
                tool=message.name,
                result=call_value(result),
                error=call_failure(result.error),
            )
        case UserMessage() if message.source in ("user", "agent"):
            return SessionMessage(role="user", text=message.text)
        case _:
            return SessionMessage(role="server", text=message.text)


_OWNER = CommandOption(
    metavar="NAME",
    help="Whose conversation it is, where it is not your own; '' for those of programs that name no principal.",
)
FOUND_BY = FoundBy(operation="listSessions", about=("question",), noun="conversation", among=("owner",))
_LIST = Command(
    words=("conversations", "list"),
    help="List your conversations.",
    options={
        "owner": _OWNER,
        "everybody": CommandOption(names=("--all",), help="Those of everybody."),
        "limit": CommandOption(help="How many, the latest first."),
    },
    columns=(
        ListColumn("latest", "latest", "moment"),
        ListColumn("status", "status"),
        ListColumn("turns", "runs"),
        ListColumn("conversation", "id"),
        ListColumn("of", "owner", only_with="everybody"),
        ListColumn("begins with", "question", "title"),
    ),
    empty="Nobody has talked yet. Try: actum chat",
    beside=lambda page: told_problems(page.problems),
)
_SHOW = Command(
    words=("conversations", "show"),
    help="Show a conversation as the model is told of it, and the runs that it is made of.",
    options={"owner": _OWNER},
    found_by=FOUND_BY,
    default="last",
)
MESSAGES = {
    "items": [{"role": "user", "text": "What is 2 and 3?"}, {"role": "agent", "text": "5"}],
    "next": None,
    "session": "c1",
    "runs": [RUN_INFO],
}
OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="listSessions",
        method="get",
        path="/v1/sessions",
        tag="sessions",
        summary="List your sessions, the one that was talked in last first.",
        scopes=("runs",),
        query=SessionsQuery,
        replies={
            200: AnswerKind(
                means="The sessions.",
                body=SessionPage,
                example={
                    "items": [
                        {
                            "id": "c1",
                            "owner": "ann",
                            "runs": 2,
                            "began": ASKED_AT,
                            "latest": ASKED_AT + 60,
                            "question": "What is 2 and 3?",
                            "status": "done",
                        }
                    ],
                    "next": None,
                },
            )
        },
        handler=list_sessions,
        command=_LIST,
    ),
    Operation(
        id="listMessages",
        method="get",
        path="/v1/sessions/{id}/messages",
        tag="sessions",
        summary="Get the messages of a session, in order.",
        scopes=("runs",),
        names={"id": "The id of a session."},
        query=OwnerQuery,
        replies={
            200: AnswerKind(
                means="The messages.",
                body=SessionMessages,
                example=MESSAGES,
            )
        },
        handler=list_messages,
        command=_SHOW,
    ),
    Operation(
        id="nameSession",
        method="patch",
        path="/v1/sessions/{id}",
        tag="sessions",
        summary="Name a session.",
        scopes=("runs",),
        names={"id": "The id of a session."},
        query=OwnerQuery,
        body=TitleBody,
        example={"title": "Sums"},
        replies={
            200: AnswerKind(
                means="The session has the name.",
                body=SessionNamed,
                example={"id": "c1", "owner": "ann", "title": "Sums"},
            )
        },
        handler=name_session,
    ),
    Operation(
        id="exportSession",
        method="get",
        path="/v1/sessions/{id}/export",
        tag="sessions",
        summary="Get a session as a file: Markdown for people, JSON for programs.",
        scopes=("runs",),
        names={"id": "The id of a session."},
        query=ExportQuery,
        replies={
            200: AnswerKind(means="The session.", body=SessionMessages, example=MESSAGES, file_type="text/markdown")
        },
        handler=export_session,
    ),
    Operation(
        id="forgetSession",
        method="delete",
        path="/v1/sessions/{id}",
        tag="sessions",
        summary="Forget a session: delete for good what its runs say.",
        scopes=("runs",),
        names={"id": "The id of a session."},
        query=OwnerQuery,
        replies={
            200: AnswerKind(
                means="The session is forgotten.",
                body=SessionForgotten,
                example={"id": "c1", "runs": 2, "records": 11, "copies": []},
            )
        },
        errors=(409,),
        handler=forget_session,
    ),
)
