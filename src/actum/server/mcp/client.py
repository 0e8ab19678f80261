"""The MCP client at the other end of a run: what its user and its model are asked, in either era of the protocol.

A client with a handshake is asked while the tool runs, on the stream of its own request. One without is asked by the
answer to its request: nobody can answer now, so the call is parked, and the client sends the request again with what
was asked for.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ConfigDict, TypeAdapter

from ...core.errors import CanNotBeAsked, UsageError
from ...core.event import CallProgress, Event
from ...core.holder import Holder
from ...core.identity import Identity
from ...core.json import Json, JsonObject, dumps
from ...core.message import Reply
from ...core.model import Request
from ...core.policy import Answer
from ...core.run.pending import Pending
from ...core.trace import checked_traceparent
from ...journal.recording import MIDWAY
from .wire import WANTED, question_of, told_by_client

if TYPE_CHECKING:
    from mcp.server.connection import Connection
    from mcp.server.context import ServerRequestContext

log = logging.getLogger("actum.mcp")

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
LOG_LEVEL = "actum.log_level"
"""Where a connection keeps the level that its client set."""
TOLD_MAX = 1_000
"""The most messages that may wait for a client that is slow to read."""


def connection_of(context: ServerRequestContext[Any, Any]) -> Connection:
    """What lasts from one request of a client to the next."""
    return context.session._connection  # the SDK has no public way to it


def declared_by(context: ServerRequestContext[Any, Any]) -> JsonObject:
    """The capabilities that a client declared, those that the SDK knows."""
    declared = context.session.client_capabilities
    if context.method == "initialize":  # the session has it only after this
        declared = types.InitializeRequestParams.model_validate(context.params, by_name=False).capabilities
    return declared.model_dump(by_alias=True, exclude_none=True, mode="json") if declared is not None else {}


class _Raw(BaseModel):
    model_config = ConfigDict(extra="allow")


_REQUESTS: dict[str, Any] = {
    "elicitation/create": TypeAdapter(types.ElicitRequest),
    "sampling/createMessage": TypeAdapter(types.CreateMessageRequest),
    "roots/list": TypeAdapter(types.ListRootsRequest),
}


class McpClient:
    """The client that made a request.

    Args:
        context: of the request.
        who: the user on whose behalf the client speaks.
        holder: for whom toolsets keep things open between its requests.

    Attributes:
        context, who, holder: the same.
        is_modern: it speaks the protocol without a handshake.
        missing: the capabilities that it was to be asked by, and did not declare.
        trace: the `traceparent` that came with the request.
        tracestate: what came beside that: which agents wait for this request.
        is_detached: its request has its answer.
        seen: gives questions as the user of the client may see them.
    """

    def __init__(self, context: ServerRequestContext[Any, Any], who: Identity, holder: Holder) -> None:
        self.context = context
        self.who = who
        self.holder = holder
        self.is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
        self.missing: JsonObject = {}
        self.seen: Callable[[Sequence[Pending]], Awaitable[Sequence[Pending]]] = _as_they_are
        self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()
        meta = (context.params or {}).get("_meta")
        self.trace = checked_traceparent(meta.get("traceparent")) if isinstance(meta, Mapping) else ""
        state = meta.get("tracestate") if isinstance(meta, Mapping) and self.trace else ""
        self.tracestate = state if isinstance(state, str) else ""
        self._token = (context.meta or {}).get("progress_token")
        self._reached: float | None = None
        self.is_detached = False
        self._told: deque[types.ServerNotification] = deque()
        self._teller: asyncio.Task[None] | None = None

    @cached_property
    def capabilities(self) -> JsonObject:
        """What it declared that it can be asked."""
        return declared_by(self.context)

    @property
    def extensions(self) -> Mapping[str, object]:
        """The extensions of the protocol that it knows."""
        declared = self.context.session.client_capabilities
        return (declared.extensions or {}) if declared is not None else {}

    def can_be_asked(self, pending: Pending) -> bool:
        """Whether the client can be asked this, and its user may answer."""
        by = self.who.voter(self.who.tenant)  # runs of a client are of the client's tenant
        if pending.kind not in WANTED or not by.is_among(pending.approvers):
            return False
        if pending.kind == "approval" and not pending.may_approve(by):
            return False
        return not self._lacks(pending)

    def _lacks(self, pending: Pending) -> JsonObject:
        """The capability that is needed to ask this, where the client did not declare it."""
        name, way = WANTED[pending.kind], _way(pending)
        declared = self.capabilities.get(name)
        if isinstance(declared, dict) and (way in declared or not way or (way == "form" and not declared)):
            return {}
        return {name: {way: {}} if way not in ("", "form") else {}}

    @property
    def headers(self) -> Mapping[str, str] | None:
        """Of the HTTP request; None where it did not come by one."""
        return getattr(self.context.request, "headers", None)

    def detach(self) -> None:
        """Its request has its answer: nothing is told on its stream any more."""
        self.is_detached = True

    def move_to(self, other: McpClient) -> None:
        """Tell and ask the client by another request of its own from here on.

        Args:
            other: the client, as it made that request.
        """
        self.context, self._token = other.context, other._token
        self._reached, self.is_detached = None, False

    def detached(self) -> McpClient:
        """As it is for what goes on behind its request."""
        self.detach()
        return self

    # As an approver and a peer of a run -------------------------------------------------------------------------------

    async def ask(self, pending: Pending) -> Answer | None:
        """Ask the client's user now; None where the client has to be answered first, or is not the one to ask."""
        if not self.can_be_asked(pending):
            if pending.kind not in MIDWAY:
                return None  # somebody else can answer, and elsewhere
            self.missing |= self._lacks(pending)
            raise CanNotBeAsked(
                "The client can not be asked for this: it offers no {wanted}.", wanted=WANTED[pending.kind]
            )
        if self.is_modern:
            return None
        try:
            (seen,) = await self.seen([pending])
            answer = told_by_client(pending, await self._send(*question_of(seen)), self.who)
        except UsageError as error:
            raise CanNotBeAsked("What the client answered is not what it was asked for: {why}", why=error) from None
        return answer

    async def sample(self, request: Request) -> Reply | None:
        """None: the question is put like any other, and answered live or by the next request."""
        return None

    async def roots(self) -> Sequence[str] | None:
        """None, likewise."""
        return None if "roots" in self.capabilities else ()

    # What the run tells while it goes on ------------------------------------------------------------------------------

    def log(self, level: str, message: Json) -> None:
        """Tell the client what a tool says of itself, if it wants to hear that."""
        if level in LEVELS and LEVELS.index(level) >= self._least():
            params = types.LoggingMessageNotificationParams(level=cast(Any, level), data=message)
            told = types.LoggingMessageNotification(params=params)
            if threading.get_ident() == self._thread:
                self.tell(told)
            else:  # a tool may log from a thread of its own
                self._loop.call_soon_threadsafe(self.tell, told)

    @property
    def hears(self) -> Callable[[Event], None] | None:
        """What is to be told of events; None where the client did not ask how far its call is."""
        return None if self._token is None else self.emit

    def emit(self, event: Event) -> None:
        """Tell the client how far a call is, if it asked for that."""
        if not isinstance(event, CallProgress) or self._token is None:
            return
        match event.value:
            case {"progress": int() | float() as progress, **rest}:
                total, message = rest.get("total"), rest.get("message")
            case int() | float() as progress:
                total, message = None, None
            case value:
                progress, total = (self._reached or 0) + 1, None
                message = value if isinstance(value, str) else dumps(value)
        if self._reached is not None and progress <= self._reached:
            return  # it has to grow
        self._reached = float(progress)
        params = types.ProgressNotificationParams(
            progress_token=self._token,
            progress=progress,
            total=total if isinstance(total, int | float) else None,
            message=message if isinstance(message, str) else None,
        )
        self.tell(types.ProgressNotification(params=params))

    async def flush(self) -> None:
        """Return when all that was told is on its way."""
        if self._teller is not None:
            await asyncio.wait([self._teller])

    def tell(self, notification: types.ServerNotification) -> None:
        """Tell the client something on the stream of its request, unless that has its answer."""
        if self.is_detached:
            return
        if len(self._told) >= TOLD_MAX:
            self._told.popleft()  # the latest counts
        self._told.append(notification)
        if self._teller is None or self._teller.done():
            self._teller = asyncio.create_task(self._pass_on())

    async def _pass_on(self) -> None:
        while self._told:
            notification = self._told.popleft()
            try:
                await self.context.session.send_notification(notification, self.context.request_id)
            except Exception as error:  # noqa: BLE001  # the client is gone; its request hears of that by itself
                log.debug("a notification found nobody: %s", type(error).__name__)

    def _least(self) -> int:
        """The level from which on the client wants to hear what is logged."""
        if self.is_modern:
            meta = self.context.meta or {}
            wanted = cast(Mapping[str, object], meta).get("io.modelcontextprotocol/logLevel")
            return LEVELS.index(wanted) if isinstance(wanted, str) and wanted in LEVELS else len(LEVELS)
        return LEVELS.index(connection_of(self.context).state.get(LOG_LEVEL, "debug"))

    async def _send(self, method: str, params: JsonObject) -> JsonObject:
        """A request to the client, on the stream of its own.

        Raises:
            CanNotBeAsked: it answered with an error.
        """
        request = _REQUESTS[method].validate_python({"method": method, "params": params or None})
        related = ServerMessageMetadata(related_request_id=self.context.request_id)
        try:
            result: _Raw = await self.context.session.send_request(request, _Raw, metadata=related)
        except MCPError as error:
            raise CanNotBeAsked("The client refused to be asked: {why}", why=error.message[:200]) from None
        return cast(JsonObject, result.model_dump(mode="json"))


async def _as_they_are(asked: Sequence[Pending]) -> Sequence[Pending]:
    return asked


def _way(pending: Pending) -> str:
    """What of a capability is needed beside its name."""
    if pending.kind == "sampling":
        return "tools" if (pending.request or {}).get("tools") else ""
    return "" if pending.kind == "roots" else "url" if pending.url else "form"
