"""gRPC: the services of 1.0 and of 0.3 over the same methods, on a port of its own.

gRPC has no house around it, so what the house looks at is looked at here: the key of each request and its scope, the
version, and sizes. What a caller is told of an error comes from the same table.

Source: the service `lf.a2a.v1.A2AService`, and for 0.3 `a2a.v1.A2AService`.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import grpc
from a2a.compat.v0_3 import a2a_v0_3_pb2_grpc
from a2a.compat.v0_3.grpc_handler import CompatGrpcHandler
from a2a.server.context import ServerCallContext
from a2a.server.request_handlers.grpc_handler import GrpcHandler, GrpcServerCallContextBuilder
from a2a.server.request_handlers.request_handler import RequestHandler
from a2a.types import a2a_pb2 as pb
from a2a.types import a2a_pb2_grpc
from a2a.utils.errors import A2AError, UnsupportedOperationError, VersionNotSupportedError
from msgspec import Struct

from ...core.errors import UsageError
from ..identity import Identity, Verifier
from ..scopes import allows
from .asking import check_version
from .failures import NotAllowed, ServerStops, failure_of
from .handler import Event, RunHandler, context_of
from .service import A2ARequest, Form

log = logging.getLogger("actum.server.a2a")

Params = TypeVar("Params")
Answer = TypeVar("Answer")
MESSAGE_BYTES_MAX = 4 * 1024 * 1024
END_S = 5.0
REQUESTS_MAX = 1_000
NEW, OLD = "/lf.a2a.v1.A2AService/", "/a2a.v1.A2AService/"


class GrpcSettings(Struct, frozen=True, kw_only=True):
    """How gRPC is served.

    Attributes:
        place: the address and the port at which it listens.
        certificate, key: the texts of a certificate and its private key; empty for no TLS.
        agent: the name of the agent that is asked; one port serves one agent.
        address: the name of the agent in addresses.
        verifier: checks the key that each request has to show; None where no key is wanted.
        who: on whose behalf whoever comes is served where no key is wanted.
        scope: what a key has to allow.
    """

    place: str
    agent: str
    address: str
    certificate: bytes = b""
    key: bytes = b""
    verifier: Verifier | None = None
    who: Identity = Identity()
    scope: str = ""


@asynccontextmanager
async def serving_grpc(handler: RunHandler, settings: GrpcSettings) -> AsyncIterator[int]:
    """Serve gRPC within this block.

    Returns:
        The port.

    Raises:
        UsageError: it can not listen there.
    """
    server = grpc.aio.server(
        interceptors=[_Entrance(settings)],
        maximum_concurrent_rpcs=REQUESTS_MAX,
        options=[
            ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
            ("grpc.so_reuseport", 0),
        ],
    )
    told = ToldHandler(handler)
    new = GrpcHandler(told, _Contexts(settings, "1.0"))
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(new, server)  # type: ignore[no-untyped-call]
    old = CompatGrpcHandler(told, _Contexts(settings, "0.3"))
    a2a_v0_3_pb2_grpc.add_A2AServiceServicer_to_server(old, server)  # type: ignore[no-untyped-call]
    try:
        if settings.certificate:
            credentials = grpc.ssl_server_credentials([(settings.key, settings.certificate)])
            port = server.add_secure_port(settings.place, credentials)
        else:
            port = server.add_insecure_port(settings.place)
    except RuntimeError:
        raise UsageError(f"{settings.place}: gRPC can not listen there") from None
    await server.start()
    try:
        yield port
    finally:
        await server.stop(END_S)


class _Contexts(GrpcServerCallContextBuilder):
    """Makes the context of a request, for the caller that the entrance let in."""

    def __init__(self, settings: GrpcSettings, form: Form) -> None:
        self._settings = settings
        self._form: Form = form

    def build(self, context: Any) -> ServerCallContext:  # noqa: ANN401  # gRPC says no types
        metadata = _metadata(context.invocation_metadata())
        asked = A2ARequest(
            who=_caller.get(),
            agent=self._settings.agent,
            form=self._form,
            trace=metadata.get("traceparent", ""),
            tracestate=metadata.get("tracestate", ""),
        )
        # The version was checked at the entrance: what the SDK looks at has to agree with its own method.
        return context_of(asked, {"A2A-Version": self._form})


_caller: ContextVar[Identity] = ContextVar("actum_a2a_grpc_caller")
"""Who makes the request that is answered now. The entrance and the methods run in one task for each request."""


class _Entrance(grpc.aio.ServerInterceptor):  # type: ignore[misc]  # gRPC says no types
    """Looks at each request before a method hears of it."""

    def __init__(self, settings: GrpcSettings) -> None:
        self._settings = settings

    async def intercept_service(self, continuation: Callable[[Any], Awaitable[Any]], details: Any) -> Any:  # noqa: ANN401
        """See gRPC."""
        metadata = _metadata(details.invocation_metadata)
        try:
            check_version(metadata.get("a2a-version") or "0.3", "1.0" if details.method.startswith(NEW) else "0.3")
        except VersionNotSupportedError as error:
            return _refusing(grpc.StatusCode.UNIMPLEMENTED, error.message)
        settings, who = self._settings, self._settings.who
        if settings.verifier is not None:
            kind, _, token = metadata.get("authorization", "").partition(" ")
            found = await settings.verifier.verify_token(token.strip()) if kind.lower() == "bearer" else None
            if found is None:
                return _refusing(grpc.StatusCode.UNAUTHENTICATED, "A key is needed: send authorization: Bearer KEY.")
            who = found
        if settings.scope and not allows(who, (settings.scope,)):
            return _refusing(grpc.StatusCode.PERMISSION_DENIED, f"This needs a key with the scope {settings.scope}.")
        if not who.may_use("agent", settings.address):
            return _refusing(grpc.StatusCode.NOT_FOUND, "There is no such agent here.")
        _caller.set(who)
        return await continuation(details)


def _refusing(code: Any, words: str) -> Any:  # noqa: ANN401  # gRPC says no types
    """What answers a request that is refused, whether it wants one answer or a stream."""

    async def refuse(_: object, context: Any) -> None:  # noqa: ANN401  # gRPC says no types
        await context.abort(code, words)

    return grpc.unary_unary_rpc_method_handler(refuse)


def _metadata(pairs: Any) -> Mapping[str, str]:  # noqa: ANN401  # gRPC says no types
    return {name.lower(): value for name, value in pairs or () if isinstance(value, str)}


class ToldHandler(RequestHandler):
    """The methods, with each error as one that the SDK tells a client of gRPC: it knows errors of A2A alone, and tells
    the text of every other.

    Args:
        inner: the methods.
    """

    def __init__(self, inner: RunHandler) -> None:
        self._inner = inner

    async def _tell(
        self,
        method: Callable[[Params, ServerCallContext], Awaitable[Answer]],
        params: Params,
        context: ServerCallContext,
    ) -> Answer:
        try:
            return await method(params, context)
        except Exception as error:  # noqa: BLE001  # the edge: the caller is told what `failure_of` says
            raise _known(error) from None

    async def _stream(self, events: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
        async with aclosing(events):
            try:
                async for event in events:
                    yield event
            except Exception as error:  # noqa: BLE001  # the edge: the caller is told what `failure_of` says
                raise _known(error) from None

    async def on_get_task(self, params: pb.GetTaskRequest, context: ServerCallContext) -> pb.Task | None:
        """See `RequestHandler`."""
        found: pb.Task | None = await self._tell(self._inner.on_get_task, params, context)
        return found

    async def on_list_tasks(self, params: pb.ListTasksRequest, context: ServerCallContext) -> pb.ListTasksResponse:
        """See `RequestHandler`."""
        found: pb.ListTasksResponse = await self._tell(self._inner.on_list_tasks, params, context)
        return found

    async def on_cancel_task(self, params: pb.CancelTaskRequest, context: ServerCallContext) -> pb.Task | None:
        """See `RequestHandler`."""
        found: pb.Task | None = await self._tell(self._inner.on_cancel_task, params, context)
        return found

    async def on_message_send(self, params: pb.SendMessageRequest, context: ServerCallContext) -> pb.Task | pb.Message:
        """See `RequestHandler`."""
        found: pb.Task | pb.Message = await self._tell(self._inner.on_message_send, params, context)
        return found

    async def on_create_task_push_notification_config(
        self, params: pb.TaskPushNotificationConfig, context: ServerCallContext
    ) -> pb.TaskPushNotificationConfig:
        """See `RequestHandler`."""
        found: pb.TaskPushNotificationConfig = await self._tell(
            self._inner.on_create_task_push_notification_config, params, context
        )
        return found

    async def on_get_task_push_notification_config(
        self, params: pb.GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> pb.TaskPushNotificationConfig:
        """See `RequestHandler`."""
        found: pb.TaskPushNotificationConfig = await self._tell(
            self._inner.on_get_task_push_notification_config, params, context
        )
        return found

    async def on_list_task_push_notification_configs(
        self, params: pb.ListTaskPushNotificationConfigsRequest, context: ServerCallContext
    ) -> pb.ListTaskPushNotificationConfigsResponse:
        """See `RequestHandler`."""
        found: pb.ListTaskPushNotificationConfigsResponse = await self._tell(
            self._inner.on_list_task_push_notification_configs, params, context
        )
        return found

    async def on_delete_task_push_notification_config(
        self, params: pb.DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        """See `RequestHandler`."""
        await self._tell(self._inner.on_delete_task_push_notification_config, params, context)

    async def on_get_extended_agent_card(
        self, params: pb.GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> pb.AgentCard:
        """See `RequestHandler`."""
        found: pb.AgentCard = await self._tell(self._inner.on_get_extended_agent_card, params, context)
        return found

    async def on_message_send_stream(
        self, params: pb.SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event, None]:
        """See `RequestHandler`."""
        async with aclosing(self._stream(self._inner.on_message_send_stream(params, context))) as events:
            async for event in events:
                yield event

    async def on_subscribe_to_task(
        self, params: pb.SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event, None]:
        """See `RequestHandler`."""
        async with aclosing(self._stream(self._inner.on_subscribe_to_task(params, context))) as events:
            async for event in events:
                yield event


def _known(error: Exception) -> A2AError:
    """An error that the SDK knows a status for."""
    failure = failure_of(error)
    return UnsupportedOperationError(failure.message) if isinstance(failure, NotAllowed | ServerStops) else failure
