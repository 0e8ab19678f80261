"""The MCP client at the other end of a run: what its user and its model are asked, in either era of the protocol.

A client with a handshake is asked while the tool runs, on the stream of its own request. One without is asked by the
answer to its request: nobody can answer now, so the call is parked, and the client sends the request again with what
was asked for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ConfigDict, TypeAdapter

from ..core.errors import ToolError
from ..core.event import CallProgress, Event, Pending
from ..core.interfaces import Answer, Request
from ..core.json import Json, JsonObject, dumps
from ..core.message import Reply
from ..core.record import Verdict
from .mcp_wire import WANTED, answer_of, question_of

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

log = logging.getLogger("actum.mcp")

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
LOG_LEVEL = "actum.log_level"
"""Where a connection keeps the level that its client set."""


def state_of(context: ServerRequestContext[Any, Any]) -> dict[str, Any]:
    """What lasts from one request of a connection to the next."""
    return context.session._connection.state  # the SDK has no public way to it


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
        principal: on whose behalf it speaks.

    Attributes:
        is_modern: it speaks the protocol without a handshake.
        capabilities: what it can be asked.
    """

    def __init__(self, context: ServerRequestContext[Any, Any], principal: str) -> None:
        self._context = context
        self._principal = principal
        self.is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
        declared = context.session.client_capabilities
        told = declared.model_dump(by_alias=True, exclude_none=True, mode="json") if declared is not None else {}
        self.capabilities: JsonObject = told
        self._token = (context.meta or {}).get("progress_token")
        self._reached = -1.0
        self._is_detached = False
        self._told: asyncio.Queue[types.ServerNotification] = asyncio.Queue()
        self._teller: asyncio.Task[None] | None = None

    def can_be_asked(self, pending: Pending) -> bool:
        """Whether the client declared that it can be asked this, and is one of those who may answer."""
        if pending.approvers and self._principal not in pending.approvers:
            return False
        wanted = self.capabilities.get(WANTED.get(pending.kind, "-"))
        if not isinstance(wanted, dict):
            return False
        return not (pending.url and self.is_modern) or "url" in wanted

    @property
    def headers(self) -> Mapping[str, str] | None:
        """Of the HTTP request; None where it did not come by one."""
        return getattr(self._context.request, "headers", None)

    def detach(self) -> None:
        """Its request has its answer: nothing is told on its stream any more."""
        self._is_detached = True

    def detached(self) -> McpClient:
        """As it is for what goes on behind its request."""
        self.detach()
        return self

    # As an approver and a peer of a run -------------------------------------------------------------------------------

    async def ask(self, pending: Pending) -> Answer | None:
        """Ask the client's user now; None where the client has to be answered first, or is not the one to ask."""
        if self.is_modern or pending.kind not in WANTED:
            return None
        if not self.can_be_asked(pending):
            if pending.kind == "approval":
                return None
            raise ToolError(f"The client can not be asked this: it declared no {WANTED[pending.kind]}.")
        verdict, given = answer_of(pending, await self._send(*question_of(pending)))
        return Answer(cast(Verdict, verdict), by=self._principal, arguments=given)

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
            self._tell(types.LoggingMessageNotification(params=params))

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
                progress, total, message = self._reached + 1, None, value if isinstance(value, str) else dumps(value)
        if progress <= self._reached and self._reached >= 0:
            return  # it has to grow
        self._reached = float(progress)
        params = types.ProgressNotificationParams(
            progress_token=self._token,
            progress=progress,
            total=total if isinstance(total, int | float) else None,
            message=message if isinstance(message, str) else None,
        )
        self._tell(types.ProgressNotification(params=params))

    async def flush(self) -> None:
        """Return when all that was told is on its way."""
        if self._teller is not None:
            await self._told.join()
            self._teller.cancel()
            await asyncio.wait([self._teller])

    def _tell(self, notification: types.ServerNotification) -> None:
        if self._is_detached:
            return
        if self._teller is None:
            self._teller = asyncio.create_task(self._pass_on())
        self._told.put_nowait(notification)

    async def _pass_on(self) -> None:
        while True:
            notification = await self._told.get()
            try:
                await self._context.session.send_notification(notification, self._context.request_id)
            except Exception:  # noqa: BLE001 - the client is gone; its request hears of that by itself
                log.debug("a notification found nobody")
            finally:
                self._told.task_done()

    def _least(self) -> int:
        """The level from which on the client wants to hear what is logged."""
        if self.is_modern:
            meta = self._context.meta or {}
            wanted = cast(Mapping[str, object], meta).get("io.modelcontextprotocol/logLevel")
            return LEVELS.index(wanted) if isinstance(wanted, str) and wanted in LEVELS else len(LEVELS)
        return LEVELS.index(state_of(self._context).get(LOG_LEVEL, "debug"))

    async def _send(self, method: str, params: JsonObject) -> JsonObject:
        """A request to the client, on the stream of its own.

        Raises:
            ToolError: it answered with an error.
        """
        request = _REQUESTS[method].validate_python({"method": method, "params": params or None})
        related = ServerMessageMetadata(related_request_id=self._context.request_id)
        try:
            result: _Raw = await self._context.session.send_request(request, _Raw, metadata=related)
        except MCPError as error:
            raise ToolError(f"The client refused to be asked: {error.message[:200]}") from None
        return cast(JsonObject, result.model_dump(mode="json"))
