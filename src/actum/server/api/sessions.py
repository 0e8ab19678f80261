"""`/v1/sessions`: conversations: what was said, and how it is forgotten."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from ...agents.conversation import history
from ...core.errors import JournalError, UsageError
from ...core.identity import Identity
from ...core.message import Message, Reply, ToolMessage, UserMessage
from ...core.run.summary import RunSummary
from ...core.user import User
from ...features.operation import AnswerKind, ApiReply, ApiRequest, Operation
from ...features.refusal import Refusal, not_found
from ...journal.conversations import Conversation
from ...journal.lists import page_of_conversations
from ..scopes import allows, wants
from .api import Api
from .calls import CallFailure, SaidCall, call_failure, said_calls
from .examples import ASKED_AT
from .fields import Cursor, Limit, ListPart, Name
from .records import Records, cursors
from .runs.bodies import RunStatus
from .runs.views import STATUSES

_CONTROL = re.compile("[\\x00-\\x1f\\x7f]")


class SessionsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which sessions, the one that was talked in last first.

    Attributes:
        owner: whose sessions; the caller's where it is left out. Another owner needs the scope `admin`.
        limit: so many at most.
        cursor: `next` of the part before.
    """

    owner: Name = ""
    limit: Limit = 50
    cursor: Cursor = ""


class OwnerQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Whose session is meant.

    Attributes:
        owner: whose session; the caller's where it is left out. Another owner needs the scope `admin`.
    """

    owner: Name = ""


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
    """

    id: str
    owner: str
    runs: int
    began: float
    latest: float
    question: str
    status: RunStatus


class SessionPage(ListPart[SessionInfo], frozen=True, kw_only=True):
    """A part of the list of sessions."""


class SessionMessage(Struct, frozen=True, kw_only=True):
    """A message of a conversation.

    Attributes:
        role: who speaks: the `user`, the `agent`, a `tool` whose result it is, or the `server`, which tells the model
            of what happened before.
        text: the words.
        calls: the calls that the agent asks for.
        tool: the tool whose result it is.
        error: why the call failed.
    """

    role: Literal["user", "agent", "tool", "server"]
    text: str
    calls: tuple[SaidCall, ...] = ()
    tool: str = ""
    error: CallFailure | None = None


class SessionMessages(ListPart[SessionMessage], frozen=True, kw_only=True):
    """The messages of a conversation.

    Attributes:
        items: the messages in order, as the model is told of them.
        next: always null: a conversation is told whole.
    """


class SessionForgotten(Struct, frozen=True, kw_only=True):
    """A conversation was forgotten: what its runs said is deleted for good, and that it was deleted is on record.

    Attributes:
        id: its id.
        runs: how many runs were forgotten.
        records: how many records were deleted.
    """

    id: str
    runs: int
    records: int


async def list_sessions(api: Api, asked: ApiRequest[SessionsQuery, None]) -> ApiReply:
    """The caller's conversations, the one that was talked in last first."""
    query = asked.query
    talks, following = await _listed(api.records, query, _owner(asked.who, query.owner), asked.who)
    return ApiReply(SessionPage(items=tuple(map(session_info, talks)), next=following))


async def list_messages(api: Api, asked: ApiRequest[OwnerQuery, None]) -> ApiReply:
    """The messages of a conversation, in order."""
    owner = _owner(asked.who, asked.query.owner)
    latest = (await _runs_of(api.records, asked.names["id"], owner, asked.who))[0]
    seen = len(await api.journal.read(latest.run_id))
    try:
        messages = await history(api.journal, latest.run_id, seen, owner=User(asked.who.tenant, owner))
    except JournalError:
        raise Refusal(503, "record_unreadable", "The record of this session can not be read.") from None
    return ApiReply(SessionMessages(items=tuple(map(session_message, messages)), next=None))


async def forget_session(api: Api, asked: ApiRequest[OwnerQuery, None]) -> ApiReply:
    """Delete for good what the runs of a conversation say, with the runs that their calls started."""
    owner = _owner(asked.who, asked.query.owner)
    runs = await _runs_of(api.records, asked.names["id"], owner, asked.who)
    chosen = {run.run_id: None for run in runs}
    for run in runs:
        chosen |= {child.run_id: None for child in await api.records.children(run.run_id, asked.who)}
    busy = await api.journal.driven(list(chosen))
    if busy:
        raise Refusal(409, "busy", "A run of this session is under way. Cancel it first.", retry_after=1.0)
    records = 0
    for run_id in reversed(chosen):
        try:
            records += await api.journal.forget(run_id, asked.who.principal or "user", "session forgotten")
        except UsageError:
            raise Refusal(
                409,
                "not_forgotten",
                "This session can not be forgotten now: a run is under way, or the record is signed.",
            ) from None
    return ApiReply(SessionForgotten(id=asked.names["id"], runs=len(chosen), records=records))


def _owner(who: Identity, owner: str) -> str:
    """Whose sessions are meant.

    Raises:
        Refusal: another user's, and the caller may not see them.
    """
    if owner not in ("", who.principal) and not allows(who, ("admin",)):
        raise wants("admin", "to see the sessions of another user")
    return owner or who.principal


async def _listed(
    records: Records, query: SessionsQuery, owner: str, who: Identity
) -> tuple[list[Conversation], str | None]:
    """A part of the list of an owner's conversations in the caller's tenant, and the cursor of the next part.

    Raises:
        Refusal: the cursor is not known.
    """
    with cursors():
        page = await page_of_conversations(
            records.journal, limit=query.limit, cursor=query.cursor, owner=owner, tenant=who.tenant
        )
    return list(page.items), page.next or None


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


def session_info(talk: Conversation) -> SessionInfo:
    """A conversation in a list."""
    return SessionInfo(
        id=talk.id,
        owner=talk.owner,
        runs=talk.runs,
        began=talk.began,
        latest=talk.latest,
        question=talk.question,
        status=STATUSES.get(talk.status, "unreadable"),
    )


def session_message(message: Message) -> SessionMessage:
    """A message of a conversation."""
    match message:
        case Reply():
            return SessionMessage(role="agent", text=message.text, calls=said_calls(message.calls))
        case ToolMessage():
            result = message.result
            return SessionMessage(role="tool", text=result.text, tool=message.name, error=call_failure(result.error))
        case UserMessage() if message.source in ("user", "agent"):
            return SessionMessage(role="user", text=message.text)
        case _:
            return SessionMessage(role="server", text=message.text)


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
                example={
                    "items": [
                        {"role": "user", "text": "What is 2 and 3?", "calls": [], "tool": "", "error": None},
                        {"role": "agent", "text": "5", "calls": [], "tool": "", "error": None},
                    ],
                    "next": None,
                },
            )
        },
        handler=list_messages,
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
                example={"id": "c1", "runs": 2, "records": 11},
            )
        },
        errors=(409,),
        handler=forget_session,
    ),
)
