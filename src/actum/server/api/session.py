"""`/v1/session`: who makes a request, and the sessions of browsers: begun by a key or a code, and ended.

A session is a cookie together with a text that the page sends as the header `Actum-Session`; see
`server.login.browser_sessions`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct, structs

from ...core.identity import Identity
from ...features.operation import AnswerKind, ApiReply, ApiRequest, Operation
from ...features.refusal import Refusal
from ..attempts import TooManyAttempts
from ..scopes import ALL_SCOPES, allows

if TYPE_CHECKING:
    from .api import Api  # agents and workflows, which the completion of a command needs none of

PATH = "/v1/session"


class SessionBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a session of a browser begins with: one of the two.

    Attributes:
        key: a key of `actum keys add`.
        code: the code that `actum studio` has printed. A code counts once, for ten minutes.
    """

    key: Annotated[str, Meta(max_length=2000)] = ""
    code: Annotated[str, Meta(max_length=2000)] = ""

    def __repr__(self) -> str:
        return "SessionBody()"


class CallerInfo(Struct, frozen=True, kw_only=True):
    """Who makes this request.

    Attributes:
        user: the user; empty where nobody in particular is meant.
        tenant: the tenant of the user.
        roles: the roles of the user.
        scopes: what the caller may do: `admin` stands for all others as well.
        key: the name of the key; empty where there is none.
        is_session: whether the request was made in a session of a browser, which `DELETE` ends.
        wants_key: whether this server wants a key; where it does not, keys, secrets and connections can not be changed
            over HTTP.
        features: what this server has, by name.
    """

    user: str
    tenant: str
    roles: tuple[str, ...]
    scopes: tuple[str, ...]
    key: str
    is_session: bool
    wants_key: bool
    features: tuple[str, ...]


class SessionBegun(CallerInfo, frozen=True, kw_only=True):
    """A session that has begun. The answer sets its cookie.

    Attributes:
        session: the text that the page keeps and sends as the header `Actum-Session`. It is told this once.
    """

    session: str


async def get_session(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """Who makes a request."""
    if asked.who == Identity():
        raise _unauthorized("Show a key, or begin a session.")
    return ApiReply(_info(api, asked.who), is_told_once=True)


async def begin_session(api: Api, asked: ApiRequest[None, SessionBody]) -> ApiReply:
    """Begin a session of a browser."""
    key, code = asked.body.key, asked.body.code
    if bool(key) == bool(code):
        raise Refusal(422, "invalid", "Give a key or a code.")
    if api.browsers is None:
        raise Refusal(409, "no_sessions", "This server wants no key, so there is nothing to sign in to.")
    begin = api.browsers.begin_by_key if key else api.browsers.begin_by_code
    try:
        begun = await begin(key or code, address=asked.origin, sender=asked.sender)
    except TooManyAttempts as error:
        words = "Too many keys that are not valid were shown: wait."
        raise Refusal(429, "rate_limited", words, retry_after=float(error.retry_after_s)) from None
    if begun is None:
        raise _unauthorized(
            "This key is not valid." if key else "This code is not valid, has ended or was used before."
        )
    body = SessionBegun(**structs.asdict(_info(api, begun.identity)), session=begun.text)
    return ApiReply(body, 201, is_told_once=True, cookie=begun.cookie)


async def end_session(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """End the session of a browser. Without one the answer is the same."""
    if api.browsers is None or not asked.who.session:
        return ApiReply(None, 204)
    cookie = await api.browsers.end(asked.who, address=asked.origin, sender=asked.sender)
    return ApiReply(None, 204, cookie=cookie)


def _info(api: Api, who: Identity) -> CallerInfo:
    is_key = bool(who.key_id) and ":" not in who.key_id
    return CallerInfo(
        user=who.principal,
        tenant=who.tenant,
        roles=who.roles,
        scopes=tuple(scope for scope in ALL_SCOPES if allows(who, (scope,))) or who.scopes,
        key=who.key_id if is_key else "",
        is_session=bool(who.session),
        wants_key=bool(who.key_id or who.issuer),
        features=tuple(api.offers),
    )


def _unauthorized(words: str) -> Refusal:
    return Refusal(401, "unauthorized", words, headers={"WWW-Authenticate": 'Bearer realm="actum"'})


def offered(operations: Sequence[Operation]) -> tuple[str, ...]:
    """What a server with these operations has, by name: the groups of the operations."""
    return tuple(sorted({operation.tag for operation in operations}))


_INFO = {
    "user": "ann",
    "tenant": "",
    "roles": [],
    "scopes": ["runs", "approve"],
    "key": "ann-browser",
    "is_session": True,
    "wants_key": True,
    "features": ["agents", "approvals", "audit", "keys", "runs", "secrets", "sessions", "tools"],
}
OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="getSession",
        method="get",
        path=PATH,
        tag="session",
        summary="Get who you are, what you may do, and what this server has.",
        replies={200: AnswerKind(means="Who makes this request.", body=CallerInfo, example=_INFO)},
        handler=get_session,
    ),
    Operation(
        id="beginSession",
        method="post",
        path=PATH,
        tag="session",
        summary="Begin a session of a browser, with a key or with the code of `actum studio`.",
        description=(
            "The answer sets a cookie, and `session` is a text that the page keeps for its origin and sends as the "
            "header `Actum-Session` with each request. Either alone is 401. A session counts at the address where it "
            "began, ends 30 days after its last request, and with its key."
        ),
        body=SessionBody,
        example={"key": "ak_ann-browser_FHZy"},
        replies={
            201: AnswerKind(means="The session has begun.", body=SessionBegun, example=_INFO | {"session": "mWlrS2Vf"})
        },
        errors=(401, 403, 409, 429),
        handler=begin_session,
        is_open=True,
    ),
    Operation(
        id="endSession",
        method="delete",
        path=PATH,
        tag="session",
        summary="End your session of a browser, in every process. A key goes on to be valid.",
        replies={204: AnswerKind(means="There is no session any more.")},
        handler=end_session,
        is_open=True,
    ),
)
