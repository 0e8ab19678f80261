"""One message that came over HTTP, and what is said while it is answered: the SDK's context of a dispatch."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from typing import Any, Literal, Protocol

import anyio
import msgspec
from mcp.server.runner import modern_error_data
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import ErrorData
from msgspec import UNSET, Struct, UnsetType

from ...core.json import JsonObject
from .answer import HttpAnswer

Id = int | str


class JsonRpcMessage(Struct, frozen=True):
    """A JSON-RPC message: a request with `id` and `method`, a notification without `id`, else an answer of the client.

    Source: JSON-RPC 2.0, sections 4 and 5. Batches are in neither era of MCP that is served.
    """

    jsonrpc: Literal["2.0"]
    id: Id | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: JsonObject | None = None
    result: JsonObject | UnsetType = UNSET
    error: JsonObject | UnsetType = UNSET


class IncomingRequest(Struct, frozen=True):
    """The HTTP request that a message came by, as its handler sees it."""

    headers: Mapping[str, str]


class Asking(Protocol):
    """Puts a request to the client: method, params, and the answer on whose stream it goes."""

    def __call__(
        self, method: str, params: Mapping[str, Any] | None, way: HttpAnswer | None
    ) -> Awaitable[JsonObject]: ...


class Exchange:
    """A message, its headers, and the way back.

    Args:
        message: the message.
        headers: of its request, by name in small letters.
        answer: where it is answered; None for a notification.
        asking: puts requests to its client; None where it can be asked by the answer only.
    """

    def __init__(
        self,
        message: JsonRpcMessage,
        headers: Mapping[str, str],
        answer: HttpAnswer | None,
        asking: Asking | None = None,
    ) -> None:
        self.message = message
        self.headers = headers
        self.answer = answer
        self.request_id = message.id if not isinstance(message.id, UnsetType) else None
        self.message_metadata = ServerMessageMetadata(request_context=IncomingRequest(headers))
        self._asking = asking
        self._task: asyncio.Task[object] | None = None
        self._reason: ErrorData | None = None
        self._failed: int | None = None

    # As the SDK's context of a dispatch -------------------------------------------------------------------------------

    @property
    def can_send_request(self) -> bool:
        """The client can be asked while this is answered."""
        return self._asking is not None and self.answer is not None and not self.answer.is_over

    @cached_property
    def transport(self) -> TransportContext:
        """How it came."""
        return TransportContext(kind="streamable-http", can_send_request=self.can_send_request, headers=self.headers)

    @cached_property
    def cancel_requested(self) -> anyio.Event:
        """Set when the client takes it back; its task is cancelled as well."""
        return anyio.Event()

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        """Ask the client on the stream of this answer.

        Raises:
            NoBackChannelError: there is no such way.
            MCPError: it refuses, or has gone.
        """
        if self._asking is None or not self.can_send_request:
            raise NoBackChannelError(method)
        return await self._asking(method, params, self.answer)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        """Tell the client something on the stream of this answer."""
        if self.answer is not None:
            await self.answer.tell(said(method, params))

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell how far this is, if that is wanted."""
        token = progress_token_from_params(self.message.params)
        if token is not None:
            told = {"progressToken": token, "progress": progress, "total": total, "message": message}
            await self.notify(
                "notifications/progress", {key: value for key, value in told.items() if value is not None}
            )

    # Answering --------------------------------------------------------------------------------------------------------

    async def serve(self, work: Awaitable[JsonObject], statuses: Mapping[int, int], gone: Callable[[], object]) -> None:
        """Answer with what some work comes to.

        Args:
            work: makes the result.
            statuses: of errors, by code; 200 for others.
            gone: is called when the client hangs up before.
        """
        assert self.answer is not None
        self._task = asyncio.current_task()
        self.answer.attend(gone)
        try:
            # Not by a name of this frame, which would keep the result for as long as a slow client reads.
            await self.answer.end(await self._told(work), statuses.get(self._failed or 0, 200))
        finally:
            self.answer.leave()

    async def _told(self, work: Awaitable[JsonObject]) -> JsonObject:
        try:
            return {"jsonrpc": "2.0", "id": self.request_id, "result": await work}
        except asyncio.CancelledError:
            if self._reason is None or self._task is None:
                raise  # the program that runs the server ends it
            self._task.uncancel()
            error = self._reason
        except Exception as failure:  # noqa: BLE001  # logged, if it is none that is meant for the client
            error = modern_error_data(failure)
        finally:
            self._task = None
        self._failed = error.code
        return refusal(self.request_id, error)

    @property
    def is_abandoned(self) -> bool:
        """Nobody waits for its answer any more."""
        return self.answer is not None and self.answer.is_over

    def stop(self, reason: ErrorData) -> None:
        """Break it off; that is what its client is told, if it still listens."""
        if self._task is not None and self._reason is None:
            self._reason = reason
            self.cancel_requested.set()
            self._task.cancel()


def said(method: str, params: Mapping[str, Any] | None) -> JsonObject:
    """A notification."""
    told: JsonObject = {"jsonrpc": "2.0", "method": method}
    return {**told, "params": {**params}} if params is not None else told


def refusal(request_id: Id | None, error: ErrorData) -> JsonObject:
    """An answer that is an error."""
    told: JsonObject = {"code": error.code, "message": error.message}
    if error.data is not None:
        told["data"] = error.data
    return {"jsonrpc": "2.0", "id": request_id, "error": told}


decode = msgspec.json.Decoder(JsonRpcMessage).decode
