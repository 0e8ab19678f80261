"""gRPC: the services of 1.0 and of 0.3 over the same methods, on a port of its own.

gRPC has no application around it, so what the application looks at is looked at here: the key of each request and its
scope, the version, sizes, and how much one caller may have under way (`Admission`, which the application shares). A
message is parsed only after its key was found valid. A stream ends soon after its key. What a caller is told of an
error comes from the same table as over HTTP.

Source: the service `lf.a2a.v1.A2AService`, and for 0.3 `a2a.v1.A2AService`.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, TypeVar
from urllib.parse import unquote

import grpc
from a2a.compat.v0_3 import a2a_v0_3_pb2_grpc
from a2a.compat.v0_3.grpc_handler import CompatGrpcHandler
from a2a.server.context import ServerCallContext
from a2a.server.request_handlers.grpc_handler import GrpcHandler, GrpcServerCallContextBuilder
from a2a.server.request_handlers.request_handler import RequestHandler
from a2a.types import a2a_pb2 as pb
from a2a.types import a2a_pb2_grpc
from a2a.utils.errors import A2AError, UnsupportedOperationError, VersionNotSupportedError
from google.protobuf.message import DecodeError
from msgspec import Struct

from ...core.errors import JournalError, UsageError
from ...core.identity import Identity, LetsIn
from ...core.process.worker_thread import off_loop
from ..admission import Admission, TooManyRequests
from ..attempts import TooManyAttempts
from ..open_streams import KeyEnded
from ..scopes import allows
from ..verifier import Verifier, wants_token
from .asking import SILENT_S, check_version
from .failures import NotAllowed, ServerStops, failure_of
from .handler import Event, RunHandler, context_of
from .reading import OLD_VALUES_MAX, TRANSLATED, VALUES_MAX, TooMuch, read_message
from .service import A2ARequest, Form

log = logging.getLogger("actum.server.a2a")

Params = TypeVar("Params")
Answer = TypeVar("Answer")
MESSAGE_BYTES_MAX = 4 * 1024 * 1024
METADATA_BYTES_MAX = 32 * 1024
END_S = 5.0
REQUESTS_MAX = 1_000
NEW = "/lf.a2a.v1.A2AService/"


class GrpcSettings(Struct, frozen=True, kw_only=True):
    """How gRPC is served.

    Attributes:
        place: the address and the port at which it listens.
        certificate, key: the texts of a certificate and its private key; empty for no TLS.
        agent: the name of the agent that is asked; one port serves one agent.
        address: the name of the agent in addresses.
        verifier: checks the key that each request has to show; None where no key is wanted.
        who: the user on whose behalf every caller is served where no key is wanted.
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
async def serving_grpc(
    handler: RunHandler, settings: GrpcSettings, admission: Admission | None = None
) -> AsyncIterator[int]:
    """Serve gRPC within this block.

    Args:
        handler: the methods.
        settings: how gRPC is served.
        admission: what callers have to pass; by default limits of its own.

    Returns:
        The port.

    Raises:
        UsageError: it can not listen there.
    """
    server = grpc.aio.server(
        interceptors=[_Interceptor(settings, admission or Admission(), handler.tasks.api.lets_in)],
        maximum_concurrent_rpcs=REQUESTS_MAX,
        options=[
            ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
            ("grpc.max_metadata_size", METADATA_BYTES_MAX),
            ("grpc.absolute_max_metadata_size", METADATA_BYTES_MAX),
            ("grpc.keepalive_time_ms", int(SILENT_S * 1000)),
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
        raise UsageError("{place}: gRPC can not listen there", place=settings.place) from None
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


class _Refused(Exception):
    """A request is refused.

    Attributes:
        code: the status.
        words: what the client is told.
        retry_after_s: seconds after which the client may try again; 0 where nobody knows.
    """

    def __init__(self, code: grpc.StatusCode, words: str, retry_after_s: int = 0) -> None:
        super().__init__(words)
        self.code, self.words, self.retry_after_s = code, words, retry_after_s


class _Interceptor(grpc.aio.ServerInterceptor):  # type: ignore[misc]  # gRPC says no types
    """Puts `_Request` before each method."""

    def __init__(self, settings: GrpcSettings, admission: Admission, lets_in: LetsIn) -> None:
        self._settings, self._admission, self._lets_in = settings, admission, lets_in

    async def intercept_service(self, continuation: Callable[[Any], Awaitable[Any]], details: Any) -> Any:  # noqa: ANN401
        """See gRPC."""
        inner = await continuation(details)
        if inner is None:  # there is no such method: gRPC says so
            return None
        form: Form = "1.0" if details.method.startswith(NEW) else "0.3"

        async def answer(body: bytes, context: Any) -> Any:  # noqa: ANN401  # gRPC says no types
            return await _Request(self._settings, self._admission, self._lets_in, form, inner, context).answer(body)

        # No deserializer: the bytes of a stranger are parsed when the stranger has shown a key.
        kind = grpc.unary_stream_rpc_method_handler if inner.response_streaming else grpc.unary_unary_rpc_method_handler
        return kind(answer, None, inner.response_serializer)


class _Request:
    """One request, from its bytes to its answer."""

    def __init__(
        self,
        settings: GrpcSettings,
        admission: Admission,
        lets_in: LetsIn,
        form: Form,
        inner: Any,  # noqa: ANN401  # gRPC says no types
        context: Any,  # noqa: ANN401
    ) -> None:
        self._settings, self._admission, self._lets_in, self._form = settings, admission, lets_in, form
        self._inner, self._context = inner, context

    async def answer(self, body: bytes) -> Any:  # noqa: ANN401  # gRPC says no types
        """Answer the request, or refuse it."""
        context = self._context
        try:
            keyless = not await self._wants_key()
            who = await self._identity(keyless=keyless)
            caller = self._address if keyless else (who.tenant, who.issuer, who.principal)
            with self._admission.place(caller):
                _caller.set(who)
                return await self._carry_out(body, who, keyless=keyless)
        except _Refused as refused:
            if refused.retry_after_s:
                context.set_trailing_metadata((("retry-after", str(refused.retry_after_s)),))
            code, words = refused.code, refused.words
        except TooManyRequests as error:
            many = "You have" if error.whose == "caller" else "The server has"
            code, words = grpc.StatusCode.RESOURCE_EXHAUSTED, f"{many} too many requests under way: wait."
        except KeyEnded:
            code, words = grpc.StatusCode.UNAUTHENTICATED, "The key has ended."
        except grpc.aio.AbortError:  # the method has told its client
            raise
        except Exception:  # the edge: the client is told that it failed, the log how
            log.exception("a request of gRPC failed")
            code, words = grpc.StatusCode.INTERNAL, "The server failed. Its log says more."
        await context.abort(code, words)

    async def _carry_out(self, body: bytes, who: Identity, *, keyless: bool) -> Any:  # noqa: ANN401  # no types
        try:
            most = VALUES_MAX if self._form == "1.0" else OLD_VALUES_MAX
            message = await off_loop(TRANSLATED * len(body), read_message, body, self._inner.request_deserializer, most)
        except TooMuch as error:
            raise _Refused(grpc.StatusCode.INVALID_ARGUMENT, str(error)) from None
        except (DecodeError, RecursionError):
            words = "The message can not be read: it is damaged, or nested too deeply."
            raise _Refused(grpc.StatusCode.INVALID_ARGUMENT, words) from None
        if not self._inner.response_streaming:
            return await self._inner.unary_unary(message, self._context)
        streams = self._admission.streams
        async with (
            streams.read_by(who, keyless=keyless) if streams is not None else nullcontext(),
            aclosing(self._inner.unary_stream(message, self._context)) as events,
        ):
            async for event in events:
                await self._context.write(event)  # waits for a client that reads slowly
        return None

    @property
    def _address(self) -> str:
        return _address_of(self._context.peer())

    async def _wants_key(self) -> bool:
        """Whether the request has to show a key.

        Raises:
            _Refused: nobody can tell now.
        """
        try:
            return await wants_token(self._settings.verifier)
        except JournalError:
            log.exception("nobody can tell whether keys are wanted at a request of gRPC")
            raise _Refused(grpc.StatusCode.UNAVAILABLE, "Keys can not be checked now.") from None

    async def _identity(self, *, keyless: bool) -> Identity:
        """Who makes the request.

        Args:
            keyless: no key is wanted.

        Raises:
            _Refused: it may not be made.
            TooManyRequests: no more keys of this address can be checked now.
        """
        settings, metadata = self._settings, _metadata(self._context.invocation_metadata())
        try:
            check_version(metadata.get("a2a-version") or "0.3", self._form)
        except VersionNotSupportedError as error:
            raise _Refused(grpc.StatusCode.UNIMPLEMENTED, error.message) from None
        who = settings.who
        if settings.verifier is not None and not keyless:
            with self._admission.place(self._address):  # to check a token may take a request to its issuer
                who = await self._checked(settings.verifier)
            for scope in (*self._admission.scopes, settings.scope):
                if scope and not allows(who, (scope,)):
                    raise _Refused(grpc.StatusCode.PERMISSION_DENIED, f"This needs a key with the scope {scope}.")
        if not self._lets_in(who, settings.agent):
            raise _Refused(grpc.StatusCode.NOT_FOUND, "There is no such agent here.")
        return who

    async def _checked(self, verifier: Verifier) -> Identity:
        """Whose key the request shows.

        Raises:
            _Refused: it shows none, or several, or one that is not valid; or nobody can tell now.
        """
        shown = [value for name, value in self._context.invocation_metadata() or () if name == "authorization"]
        kind, _, token = shown[0].partition(" ") if len(shown) == 1 else ("", "", "")
        found = None
        try:
            if kind.lower() == "bearer" and token.strip():
                found = await self._admission.check(verifier, self._address, token.strip())
        except TooManyAttempts as error:
            words = "Too many keys that are not valid were shown: wait."
            raise _Refused(grpc.StatusCode.RESOURCE_EXHAUSTED, words, error.retry_after_s) from None
        except JournalError:
            log.exception("keys can not be checked at a request of gRPC")
            raise _Refused(grpc.StatusCode.UNAVAILABLE, "Keys can not be checked now.") from None
        if found is None:
            raise _Refused(grpc.StatusCode.UNAUTHENTICATED, "A key is needed: send authorization: Bearer KEY.")
        return found


def _address_of(peer: str) -> str:
    """The address of a client, as gRPC tells it.

    >>> _address_of("ipv4:10.0.0.1:5000"), _address_of("ipv6:%5B::1%5D:5000"), _address_of("unix:/tmp/socket")
    ('10.0.0.1', '::1', '')
    """
    kind, _, rest = unquote(peer).partition(":")
    return rest.rpartition(":")[0].strip("[]") if kind in ("ipv4", "ipv6") else ""


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
