"""The client in front of a gateway: what is asked of it and told it are the raw messages of the server behind.

It stands where `McpClient` does: the run of its call asks it, and tells it how far it is. What the server behind
answered waits here in its own words until the run is over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import cached_property
from typing import Any, cast

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from msgspec import Struct
from pydantic import BaseModel, ConfigDict, ValidationError

from ....core.call import ToolResult
from ....core.errors import UsageError
from ....core.holder import Holder
from ....core.identity import Identity
from ....core.json import JsonObject
from ....core.policy import Answer
from ....core.run.ids import new_id
from ....core.run.pending import Pending
from ....core.secrets.redaction import DEFAULT_REDACTION
from ....protocols.mcp.era import LOG_LEVEL as WANTED_LEVEL
from ....protocols.mcp.era import contained
from ....protocols.mcp.tasks import EXTENSION
from ....toolsets.mcp.error import INVALID_PARAMS, INVALID_REQUEST, McpError
from ..client import (
    LEVELS,
    LOG_LEVEL,
    McpClient,
    connection_of,
    declared_by,
)
from ..wire import told_by_client

USUAL_LEVEL = "info"
"""What a client with a handshake is told that has set no level."""


class ClientMessage(BaseModel):
    """A message as it goes to the client: nothing of it is known here."""

    method: str
    params: dict[str, Any] | None = None


class _Result(BaseModel):
    model_config = ConfigDict(extra="allow")


class ServerQuestion(Struct, frozen=True):
    """What a server with a handshake asks, whose client is to be answered first.

    Attributes:
        id: what the client answers it under.
        method, params: the request.
        answer: its result, once that is there.
    """

    id: str
    method: str
    params: JsonObject
    answer: asyncio.Future[JsonObject]


def rests(pending: Pending) -> JsonObject:
    """What a server asked by its result, by its own keys, where it is that what waits; else nothing."""
    requests = (pending.request or {}).get("inputRequests")
    return requests if isinstance(requests, dict) else {}


def task_of(pending: Pending) -> JsonObject:
    """The task that a server behind answered with, where it is that what waits; else nothing."""
    handle = (pending.request or {}).get("task")
    return handle if isinstance(handle, dict) else {}


def is_behind(pending: Pending) -> bool:
    """Whether this waits for what a server behind asked, or is at work on: it is no question of ours."""
    return bool(rests(pending) or task_of(pending))


class GatewayClient(McpClient):
    """The client that made a request.

    Args:
        context: of the request.
        who: the user on whose behalf the client speaks.
        params: of the request, raw.
        holder: for whom toolsets keep things open between its requests.

    Attributes:
        method, params: of the request.
        raw: what the server behind answered.
        result: what that is to the record.
        error: with what the server behind refused.
        asking: what it is being asked, raw: method and params.
        answered: what it answered, raw.
        questions: what a server asks during a held call, whose client can be asked by its next request only.
    """

    def __init__(
        self, context: ServerRequestContext[Any, Any], who: Identity, params: JsonObject, holder: Holder
    ) -> None:
        super().__init__(context, who, holder)
        self.method = context.method
        self.params = params
        self.raw: JsonObject | None = None
        self.result: ToolResult | None = None
        self.error: McpError | None = None
        self.asking: tuple[str, JsonObject] | None = None
        self.answered: JsonObject | None = None
        self.questions: asyncio.Queue[ServerQuestion] = asyncio.Queue()
        self._later: asyncio.Task[None] | None = None

    @cached_property
    def capabilities(self) -> JsonObject:
        """What it declared that it can be asked; unknown ones as well, where each request declares them."""
        return capabilities_of(self.context)

    @property
    def may_get_task(self) -> bool:
        """Its request may be answered with a task."""
        return self.method == "tools/call" and self.is_modern and EXTENSION in self.extensions

    @property
    def log_level(self) -> str:
        """From which level on it wants to hear what a server logs; empty for not at all."""
        if self.is_modern:
            wanted = cast(Mapping[str, object], self.context.meta or {}).get(WANTED_LEVEL)
            return wanted if isinstance(wanted, str) and wanted in LEVELS else ""
        return str(connection_of(self.context).state.get(LOG_LEVEL, USUAL_LEVEL))

    def come_back(self, other: GatewayClient) -> None:
        """It has sent its request again: what is told and asked from here on goes that way."""
        self.move_to(other)
        self.params = other.params

    # Asked ------------------------------------------------------------------------------------------------------------

    async def ask(self, pending: Pending) -> Answer | None:
        """Ask what a server behind asks, in its own words; anything else as it is asked without a gateway."""
        if self.asking is None:
            return None if is_behind(pending) else await super().ask(pending)
        method, params = self.asking
        self.answered = await (self._put(method, params) if self.is_modern else self._push(method, params))
        try:
            return told_by_client(pending, self.answered, self.who)
        except UsageError as error:
            raise McpError(INVALID_PARAMS, f"what the client answered is not what it was asked for: {error}") from None

    async def _put(self, method: str, params: JsonObject) -> JsonObject:
        """Have the request that is under way answered with a question; the next one brings the answer."""
        question = ServerQuestion(new_id("in"), method, params, asyncio.get_running_loop().create_future())
        self.questions.put_nowait(question)
        return await question.answer

    async def _push(self, method: str, params: JsonObject) -> JsonObject:
        """Send it a request on the stream of its own.

        Raises:
            McpError: it refuses.
        """
        related = ServerMessageMetadata(related_request_id=self.context.request_id)
        request = cast(Any, ClientMessage(method=method, params=params or None))
        try:
            found = await self.context.session.send_request(request, _Result, metadata=related)
        except MCPError as error:
            raise McpError(error.code, error.message, cast(Any, error.data)) from None
        except ValidationError:
            raise McpError(INVALID_REQUEST, f"the client's answer to {method} is none") from None
        return cast(JsonObject, found.model_dump(mode="json"))

    async def directories(self) -> JsonObject:
        """Ask it for its directories outside of any request.

        Raises:
            McpError: it refuses.
        """
        return await self._push("roots/list", {})

    # Told -------------------------------------------------------------------------------------------------------------

    def pass_on(self, method: str, params: JsonObject) -> None:
        """Tell it what the server behind tells it: on the stream of its request, or, where that has its answer, on its
        connection.
        """
        if not self.is_detached:
            self.tell(cast(Any, ClientMessage(method=method, params=params)))
        else:
            self._later = asyncio.create_task(connection_of(self.context).notify(method, params))

    def hear(self, params: JsonObject) -> None:
        """Pass on what the server behind logs, if the client wants to hear it."""
        level, least = params.get("level"), self.log_level
        if least and level in LEVELS and LEVELS.index(level) >= LEVELS.index(least):
            clean = cast(dict[str, Any], DEFAULT_REDACTION.value(params))
            self.tell(cast(Any, ClientMessage(method="notifications/message", params=clean)))


def capabilities_of(context: ServerRequestContext[Any, Any]) -> JsonObject:
    """What a client declared that it can be asked; unknown capabilities as well, where each request declares them."""
    meta = (context.params or {}).get("_meta")
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS and isinstance(meta, Mapping):
        declared = meta.get(_DECLARED)
        if isinstance(declared, dict):
            return contained(declared)
    return contained(declared_by(context))


_DECLARED = "io.modelcontextprotocol/clientCapabilities"
