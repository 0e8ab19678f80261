"""`NewsRoutes`: `POST /a2a-news?task=ID` takes news of a remote agent's task, for which a run of ours waits.

    202   the news are taken; the run looks at the task
    204   they have come before, or tell of a task that is still worked on
    401   the token, or the signature, is not the one
    404   nobody waits for such news
    413   the body is too long        503   nothing can be written

News are a stranger's word: nothing of their body is believed, and all that follows is that the run asks the agent for
its task. The address needs no key of this server; it has an id that nobody can guess, and a token in the header
`X-A2A-Notification-Token`. Where the news are signed (`X-A2A-Notification-Signature`, or a JWT as the bearer), the
signature has to fit a key of the agent's own host, or of a host that a person named.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Scope

from ..call.asking.inbox import find_waiting
from ..core.errors import Busy, JournalError, UnknownName, UsageError
from ..core.identity import Identity
from ..core.json import JsonProblem, parse
from ..core.policy import Answer
from ..core.stored.kept_object import KeptObject
from ..features.refusal import Refusal
from ..protocols.a2a.later import UnreadableAnswer, decode_event
from ..protocols.a2a.model import INTERRUPTED, TERMINAL, A2AStatusUpdate, A2ATask
from ..protocols.a2a.news import KEPT_S, KIND, OWNER, PATH, AwaitedNews, hash_of
from ..transport.egress import Egress
from .api.api import Api
from .api.approvals.operations import answer_and_go_on
from .news_signature import TOKEN, NewsSignatures, shown_signature

log = logging.getLogger("actum.server.news")

BODY_BYTES_MAX = 1024 * 1024
TRIES_S = 60.0
"""Seconds that a run may take to be on record as waiting: the news may be faster."""
POLL_S = 0.25
_SHOWN = "actum.news"


class NewsRoutes:
    """Takes news of tasks elsewhere.

    Args:
        api: the runs, the journal and the agents.
        egress: the operator's rules for outgoing calls, which hold where keys are fetched.
    """

    def __init__(self, api: Api, egress: Egress) -> None:
        self._api = api
        self._signatures = NewsSignatures(egress, api.clock)
        self._objects = api.journal.objects
        self._waking: dict[str, asyncio.Task[None]] = {}

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """What the door answers to."""
        return [Route(PATH, self._take, methods=["POST"])]

    @property
    def open_paths(self) -> Collection[str]:
        """An agent elsewhere has no key of this server."""
        return [PATH]

    def take_keys(self, scope: Scope) -> list[str]:
        """No key is shown here: the header for a key of this server holds the agent's signature."""
        if scope["path"] == PATH:
            shown = [value for name, value in scope["headers"] if name == b"authorization"]
            scope["headers"] = [pair for pair in scope["headers"] if pair[0] != b"authorization"]
            scope[_SHOWN] = shown[0].decode("latin-1") if len(shown) == 1 else ""
        return []

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """News that came before the server was killed are gone on with, and old addresses are forgotten."""
        try:
            now = self._api.clock.now()
            for kept in await self._objects.find(OWNER, KIND):
                if now - kept.at > KEPT_S:
                    await self._objects.delete(OWNER, kept.id)
                elif (awaited := _awaited(kept)).came:
                    self._wake(kept.id, awaited)
        except JournalError:
            log.warning("news of remote agents can not be looked at")
        try:
            yield
        finally:
            for job in self._waking.values():
                job.cancel()
            if self._waking:
                await asyncio.wait(self._waking.values())

    async def end_streams(self) -> None:
        """There are no streams."""

    async def _take(self, request: Request) -> Response:
        try:
            return Response(status_code=await self._taken(request))
        except JournalError:
            return Response(status_code=503, headers={"retry-after": "5"})

    async def _taken(self, request: Request) -> int:
        """The status code with which news are answered."""
        named = request.query_params.get("task", "")
        if not named or len(named) > 100:
            return 404
        found = await self._objects.find(OWNER, KIND, "", hash_of(named))
        if not found or self._api.clock.now() - found[0].at > KEPT_S:
            return 404
        kept, awaited = found[0], _awaited(found[0])
        if not awaited.is_token(request.headers.get(TOKEN, "")):
            return 401
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > BODY_BYTES_MAX:
                return 413
        if not await self._is_signed_well(request, body, awaited):
            return 401
        if awaited.came or is_of_work(body):
            return 204
        came = msgspec.structs.replace(awaited, came=True)
        await self._objects.put(msgspec.structs.replace(kept, payload=msgspec.json.encode(came)))
        self._wake(kept.id, came)
        return 202

    async def _is_signed_well(self, request: Request, body: bytes, awaited: AwaitedNews) -> bool:
        """Whether the news are signed by somebody who may, or by nobody."""
        signed = shown_signature(request.headers, str(request.scope.get(_SHOWN, "")))
        return not signed or await self._signatures.fits(signed, body, awaited.agent, awaited.key_hosts)

    # The run ----------------------------------------------------------------------------------------------------------

    def _wake(self, kept_id: str, awaited: AwaitedNews) -> None:
        if kept_id not in self._waking:
            job = self._waking[kept_id] = asyncio.create_task(self._woken(kept_id, awaited), name="news of a task")
            job.add_done_callback(lambda _: self._waking.pop(kept_id, None))

    async def _woken(self, kept_id: str, awaited: AwaitedNews) -> None:
        """Have the run look at its task: the news answer what it waits for, unless somebody has answered that."""
        clock, who = self._api.clock, Identity(principal="news", tenant=awaited.tenant, scopes=("approve",))
        until = clock.monotonic() + TRIES_S
        while True:
            try:
                item = await find_waiting(self._api.journal, awaited.ask_id, tenant=awaited.tenant)
                given = Answer("answer", "", "news of the agent", arguments={})
                await answer_and_go_on(self._api, item, given, who)
                break
            except (UnknownName, Busy, JournalError):
                if clock.monotonic() >= until:
                    break
                await clock.sleep(POLL_S)
            except (UsageError, Refusal) as error:
                log.warning("a run could not go on with news of a remote agent: %s", error)
                break
        await self._objects.delete(OWNER, kept_id)


def _awaited(kept: KeptObject) -> AwaitedNews:
    return msgspec.json.decode(kept.payload, type=AwaitedNews)


def is_of_work(body: bytes) -> bool:
    """Whether news tell of a task that is still worked on. What can not be read may tell of anything.

    >>> is_of_work(b'{"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}}')
    True
    """
    try:
        event = decode_event(parse(body, keep_last=True)[0])
    except (JsonProblem, UnreadableAnswer):
        return False
    if not isinstance(event, A2ATask | A2AStatusUpdate):
        return False
    return event.status.state not in TERMINAL and event.status.state not in INTERRUPTED
