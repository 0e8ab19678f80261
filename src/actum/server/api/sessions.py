"""`/v1/sessions`: conversations: what was said, and how it is forgotten."""

from __future__ import annotations

from ...agents.conversation import history
from ...core.errors import JournalError, UsageError
from ...core.identity import Identity
from ...core.user import User
from ...features.operation import ApiReply, ApiRequest
from ...features.refusal import Refusal
from ..scopes import allows
from . import views
from .api import Api
from .bodies import OwnerQuery, SessionForgotten, SessionMessages, SessionPage, SessionsQuery
from .runs import wants


async def list_sessions(api: Api, asked: ApiRequest[SessionsQuery, None]) -> ApiReply:
    """The caller's conversations, the one that was talked in last first."""
    query = asked.query
    talks, following = await api.records.sessions(query, _owner(asked.who, query.owner), asked.who)
    return ApiReply(SessionPage(items=tuple(map(views.session, talks)), next=following))


async def list_messages(api: Api, asked: ApiRequest[OwnerQuery, None]) -> ApiReply:
    """The messages of a conversation, in order."""
    owner = _owner(asked.who, asked.query.owner)
    latest = (await api.records.session(asked.names["id"], owner, asked.who))[0]
    seen = len(await api.journal.read(latest.run_id))
    try:
        messages = await history(api.journal, latest.run_id, seen, owner=User(asked.who.tenant, owner))
    except JournalError:
        raise Refusal(503, "record_unreadable", "The record of this session can not be read.") from None
    return ApiReply(SessionMessages(items=tuple(map(views.session_message, messages)), next=None))


async def forget_session(api: Api, asked: ApiRequest[OwnerQuery, None]) -> ApiReply:
    """Delete for good what the runs of a conversation say, with the runs that their calls started."""
    owner = _owner(asked.who, asked.query.owner)
    runs = await api.records.session(asked.names["id"], owner, asked.who)
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
