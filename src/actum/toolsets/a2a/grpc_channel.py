"""`GrpcChannels`: requests to remote agents over gRPC, with the same JSON before and behind it as over JSON-RPC.

The guard looks at the address of each request, and the channel connects to the very IP address that was looked at. A
channel is kept as long as the guard finds the same IP address. TLS is always spoken, unless the address is one of plain
http that the guard lets through, which is one that a person named.

Only 1.0 is spoken here. This module is loaded when a card names gRPC: it takes 1.7 s of CPU, most of it the SDK's.

Source: A2A 1.0, section 10 (gRPC); google.rpc.Status in the trailing metadata `grpc-status-details-bin`.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping
from pathlib import Path
from typing import Any, Never

import grpc
from a2a.types import a2a_pb2, a2a_pb2_grpc
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from google.protobuf.message import DecodeError, Message
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status
from msgspec import Struct

from ...core.errors import RateLimited, ToolError, Unavailable
from ...core.json import Json, JsonObject
from ...transport.egress import Destination
from ...transport.guard import Guard
from ...transport.http import HttpFailure
from .error import INVALID_PARAMS, UNKNOWN_METHOD, UNKNOWN_TASK, UNSUPPORTED, malformed, raise_error, raise_status

CONNECT_S = 10.0
METADATA_BYTES_MAX = 64 * 1024
TASK_NOT_CANCELABLE = -32002

_REQUESTS: Mapping[str, tuple[str, Callable[[], Message]]] = {
    "send": ("SendMessage", a2a_pb2.SendMessageRequest),
    "stream": ("SendStreamingMessage", a2a_pb2.SendMessageRequest),
    "get": ("GetTask", a2a_pb2.GetTaskRequest),
    "cancel": ("CancelTask", a2a_pb2.CancelTaskRequest),
    "subscribe": ("SubscribeToTask", a2a_pb2.SubscribeToTaskRequest),
    "push": ("CreateTaskPushNotificationConfig", a2a_pb2.TaskPushNotificationConfig),
}
_STREAMS = frozenset({"stream", "subscribe"})
_CODES: Mapping[grpc.StatusCode, int] = {
    grpc.StatusCode.NOT_FOUND: UNKNOWN_TASK,
    grpc.StatusCode.INVALID_ARGUMENT: INVALID_PARAMS,
    grpc.StatusCode.FAILED_PRECONDITION: TASK_NOT_CANCELABLE,
    grpc.StatusCode.UNIMPLEMENTED: UNKNOWN_METHOD,
    grpc.StatusCode.OUT_OF_RANGE: INVALID_PARAMS,
    grpc.StatusCode.ABORTED: UNSUPPORTED,
}


class _Kept(Struct, frozen=True):
    """A channel.

    Attributes:
        channel: the channel.
        address: the IP address that it leads to.
    """

    channel: Any
    address: str


class GrpcChannels:
    """The channels to one agent.

    Args:
        guard: which addresses may be reached.
        bytes_max: the longest message that is read.
        silence_s: the seconds that an agent may be silent.
        roots: the certificates that are trusted, as PEM; those of the system by default.
    """

    def __init__(self, guard: Guard, *, bytes_max: int, silence_s: float, roots: bytes | None = None) -> None:
        self._guard = guard
        self._bytes_max = bytes_max
        self._silence_s = silence_s
        self._roots = roots or system_roots(os.environ)
        self._kept: dict[str, _Kept] = {}

    async def aclose(self) -> None:
        """Close the channels that are kept."""
        kept, self._kept = self._kept, {}
        for each in kept.values():
            await each.channel.close()

    async def results(
        self, url: str, what: str, params: JsonObject, metadata: Mapping[str, str], *, events_max: int
    ) -> AsyncGenerator[Json]:
        """Send a request, and hand out what comes back as the JSON of 1.0: one result, or those of a stream.

        Args:
            url: the address, beginning with `https://` or `http://`.
            what: `send`, `stream`, `get`, `cancel` or `subscribe`.
            params: of the method, as over JSON-RPC.
            metadata: goes with the request.
            events_max: the most results of a stream.

        Raises:
            CallError: the request was not sent, or refused, or its answer can not be read.
        """
        method, made = _REQUESTS[what]
        try:
            request = ParseDict(params, made())
        except ParseError as error:
            raise ToolError("The request can not be written for gRPC: {why}", why=error) from None
        channel = await self._channel(url)
        call = getattr(a2a_pb2_grpc.A2AServiceStub(channel), method)  # type: ignore[no-untyped-call]
        given = tuple((name.lower(), value) for name, value in metadata.items())
        count = size = 0
        try:
            if what not in _STREAMS:
                async with asyncio.timeout(self._silence_s):
                    yield MessageToDict(await call(request, metadata=given))
                return
            stream = call(request, metadata=given)
            try:
                while True:
                    async with asyncio.timeout(self._silence_s):
                        found = await stream.read()
                    if found is grpc.aio.EOF:
                        return
                    count, size = count + 1, size + found.ByteSize()
                    if count > events_max:
                        raise malformed(f"its stream has more than {events_max} events")
                    if size > 2 * self._bytes_max:
                        raise malformed("its stream is too long")
                    yield MessageToDict(found)
            finally:
                stream.cancel()
        except grpc.aio.AioRpcError as error:
            _refuse(error)
        except TimeoutError:
            raise HttpFailure("it did not answer in time", sent=True) from None

    async def _channel(self, url: str) -> Any:  # noqa: ANN401  # gRPC says no types
        """A channel that is connected to an address that the guard has looked at.

        Raises:
            HttpFailure: the address may not be reached, or nobody answers there.
            Unavailable: the address is reached through a proxy.
        """
        to = self._guard.judge(url)
        if self._guard.proxy(to) is not None:
            raise Unavailable("The agent can not be reached by gRPC through a proxy.")
        addresses = await self._guard.look_up(to)
        kept = self._kept.get(url)
        if kept is not None and kept.address in addresses:
            channel = kept.channel
        else:
            if kept is not None:
                await kept.channel.close()
            channel = self._opened(to, addresses[0])
            self._kept[url] = _Kept(channel, addresses[0])
        await _connected(channel)
        return channel

    def _opened(self, to: Destination, address: str) -> Any:  # noqa: ANN401  # gRPC says no types
        place = f"ipv6:[{address}]:{to.port}" if ":" in address else f"ipv4:{address}:{to.port}"
        options = [
            ("grpc.default_authority", f"{to.host}:{to.port}"),
            ("grpc.enable_http_proxy", 0),
            ("grpc.service_config_disable_resolution", 1),
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.max_receive_message_length", self._bytes_max),
            ("grpc.max_metadata_size", METADATA_BYTES_MAX),
            ("grpc.absolute_max_metadata_size", METADATA_BYTES_MAX),
        ]
        if to.scheme == "http":
            return grpc.aio.insecure_channel(place, options)
        named = ("grpc.ssl_target_name_override", to.host)  # the certificate is that of the name, not of the number
        return grpc.aio.secure_channel(place, grpc.ssl_channel_credentials(self._roots), [*options, named])


async def _connected(channel: Any) -> None:  # noqa: ANN401  # gRPC says no types
    """Wait for the connection, so that a request that was not sent can be told from one that was.

    Raises:
        HttpFailure: nobody answers, or not by TLS with a certificate that is trusted.
    """
    try:
        async with asyncio.timeout(CONNECT_S):
            while (state := channel.get_state(try_to_connect=True)) is not grpc.ChannelConnectivity.READY:
                if state in (grpc.ChannelConnectivity.TRANSIENT_FAILURE, grpc.ChannelConnectivity.SHUTDOWN):
                    break
                await channel.wait_for_state_change(state)
            else:
                return
    except TimeoutError:
        pass
    raise HttpFailure("no connection by gRPC came about", sent=False)


def _refuse(error: grpc.aio.AioRpcError) -> Never:
    """Raise what an agent's refusal means."""
    code, words = error.code(), error.details() or ""
    reason = _reason(error)
    if reason:
        raise_error({"code": _CODES.get(code, 0), "message": words, "details": [{"reason": reason}]})
    match code:
        case grpc.StatusCode.UNAUTHENTICATED:
            raise_status(401, None, None)
        case grpc.StatusCode.PERMISSION_DENIED:
            raise_status(403, None, None)
        case grpc.StatusCode.RESOURCE_EXHAUSTED if error.initial_metadata() or error.trailing_metadata():
            raise RateLimited("The agent takes no more requests for now.", retry_after=_retry_after(error))
        case grpc.StatusCode.RESOURCE_EXHAUSTED:  # said by our own side
            raise malformed("it is too long")
        case grpc.StatusCode.UNAVAILABLE | grpc.StatusCode.DEADLINE_EXCEEDED | grpc.StatusCode.CANCELLED:
            raise HttpFailure("its connection was lost", sent=True)
        case _ if code in _CODES:
            raise_error({"code": _CODES[code], "message": words})
        case _:
            raise_status(500, None, None)


def _reason(error: grpc.aio.AioRpcError) -> str:
    """The reason that the protocol gives an error; empty where the answer names none."""
    try:
        for name, value in error.trailing_metadata() or ():
            if name == "grpc-status-details-bin" and isinstance(value, bytes):
                for detail in Status.FromString(value).details:
                    info = ErrorInfo()
                    if detail.Unpack(info):
                        return str(info.reason)
    except DecodeError:
        pass
    return ""


def _retry_after(error: grpc.aio.AioRpcError) -> float | None:
    for name, value in error.trailing_metadata() or ():
        if name == "retry-after" and isinstance(value, str) and value.isdecimal():
            return float(value)
    return None


def system_roots(environment: Mapping[str, str]) -> bytes | None:
    """The certificates that this machine trusts, as PEM; None for those that come with gRPC."""
    for place in (environment.get("SSL_CERT_FILE", ""), ssl.get_default_verify_paths().cafile or ""):
        if place and Path(place).is_file():
            return Path(place).read_bytes()
    return None
