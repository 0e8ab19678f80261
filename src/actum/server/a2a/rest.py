"""HTTP+JSON: the paths of 1.0 (`/message:send`) and of 0.3 (`/v1/message:send`) below one address.

The SDK reads and writes the bodies of 0.3; what a caller is told of errors is decided here. An answer has the media
type in which it was asked: `application/json` for a request that says so, else `application/a2a+json`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any

import msgspec
from a2a.compat.v0_3.rest_handler import REST03Handler
from a2a.server.context import ServerCallContext
from a2a.types import a2a_pb2 as pb
from a2a.utils.error_handlers import build_rest_error_payload
from a2a.utils.errors import ContentTypeNotSupportedError, InvalidParamsError, InvalidRequestError
from a2a.utils.proto_utils import parse_params
from google.protobuf.json_format import MessageToDict, ParseError
from google.protobuf.message import Message as ProtoMessage
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...core.json import Json, JsonObject
from ...core.process.worker_thread import off_loop
from ..refusal import HttpRefusal
from .asking import asked_by, check_version, event_stream, is_json, parameters, version_of
from .failures import NotAllowed, ServerStops, failure_of
from .follow import Told
from .handler import RunHandler, context_of
from .jsonrpc import list_to_json, parsed, sent
from .reading import OLD_VALUES_MAX, TRANSLATED, VALUES_MAX, TooMuch, read_json
from .service import Form
from .wire import stream_response

A2A_JSON = "application/a2a+json"
PLAIN_JSON = "application/json"
Endpoint = Callable[[Request, ServerCallContext], Awaitable[Response]]


class Rest:
    """The paths of HTTP+JSON.

    Args:
        handler: the methods.
        agent_at: the name of the agent that a request is for.
    """

    def __init__(self, handler: RunHandler, agent_at: Callable[[Request], Awaitable[str]]) -> None:
        self._handler = handler
        self._old = REST03Handler(handler)
        self._agent_at = agent_at

    def routes(self, prefix: str) -> Sequence[Route]:
        """All paths, below a prefix. What ends in a word behind a colon stands before `/tasks/{id}`."""
        push = "/tasks/{id}/pushNotificationConfigs"
        new: list[tuple[str, str, Endpoint]] = [
            ("POST", "/message:send", self._send),
            ("POST", "/message:stream", self._stream),
            ("POST", "/tasks/{id}:cancel", self._cancel),
            ("GET", "/tasks/{id}:subscribe", self._subscribe),
            ("POST", "/tasks/{id}:subscribe", self._subscribe),
            ("GET", push + "/{push_id}", self._get_push),
            ("DELETE", push + "/{push_id}", self._delete_push),
            ("POST", push, self._set_push),
            ("GET", push, self._list_push),
            ("GET", "/tasks/{id}", self._get),
            ("GET", "/tasks", self._list),
            ("GET", "/extendedAgentCard", self._card),
        ]
        old = self._old
        before: list[tuple[str, str, Callable[[Request, ServerCallContext], Any]]] = [
            ("POST", "/tasks/{id}:cancel", old.on_cancel_task),
            ("POST", "/message:send", old.on_message_send),
            ("GET", push + "/{push_id}", old.get_push_notification),
            ("POST", push, old.set_push_notification),
            ("GET", push, old.list_push_notifications),
            ("GET", "/tasks/{id}", old.on_get_task),
            ("GET", "/card", old.on_get_extended_agent_card),
        ]
        old_streams: list[tuple[str, str, Callable[[Request, ServerCallContext], Any]]] = [
            ("POST", "/message:stream", old.on_message_send_stream),
            ("GET", "/tasks/{id}:subscribe", old.on_subscribe_to_task),
            ("POST", "/tasks/{id}:subscribe", old.on_subscribe_to_task),
        ]
        made = [
            *((method, f"{prefix}{path}", self._at(endpoint, "1.0")) for method, path, endpoint in new),
            *((m, f"{prefix}/v1{path}", self._at(self._old_stream(each), "0.3")) for m, path, each in old_streams),
            *((m, f"{prefix}/v1{path}", self._at(self._old_unary(each), "0.3")) for m, path, each in before),
        ]
        return [Route(path, endpoint, methods=[method]) for method, path, endpoint in made]

    def _at(self, endpoint: Endpoint, form: Form) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            try:
                check_version(version_of(request), form)
                # The version was checked: what the SDK looks at has to agree with its own method.
                context = context_of(asked_by(request, await self._agent_at(request), form), {"A2A-Version": form})
                return await endpoint(request, context)
            except HttpRefusal:
                raise
            except Exception as error:  # noqa: BLE001  # the edge: the caller is told what `failure_of` says
                return told_failure(error)

        return answer

    # 1.0 --------------------------------------------------------------------------------------------------------------

    async def _send(self, request: Request, context: ServerCallContext) -> Response:
        params = await _body(request, pb.SendMessageRequest)
        return _told(request, sent(await self._handler.on_message_send(params, context)))

    async def _stream(self, request: Request, context: ServerCallContext) -> Response:
        params = await _body(request, pb.SendMessageRequest)
        return await self._events(self._handler.stream(params, context))

    async def _subscribe(self, request: Request, context: ServerCallContext) -> Response:
        params = pb.SubscribeToTaskRequest(id=request.path_params["id"])
        return await self._events(self._handler.subscription(params, context))

    async def _cancel(self, request: Request, context: ServerCallContext) -> Response:
        task = await self._handler.on_cancel_task(pb.CancelTaskRequest(id=request.path_params["id"]), context)
        return _told(request, task)

    async def _get(self, request: Request, context: ServerCallContext) -> Response:
        params = _query(request, pb.GetTaskRequest())
        params.id = request.path_params["id"]
        return _told(request, await self._handler.on_get_task(params, context))

    async def _list(self, request: Request, context: ServerCallContext) -> Response:
        found = await self._handler.on_list_tasks(_query(request, pb.ListTasksRequest()), context)
        return _answer(request, list_to_json(found))

    async def _set_push(self, request: Request, context: ServerCallContext) -> Response:
        params = await _body(request, pb.TaskPushNotificationConfig)
        params.task_id = request.path_params["id"]
        return _told(request, await self._handler.on_create_task_push_notification_config(params, context))

    async def _get_push(self, request: Request, context: ServerCallContext) -> Response:
        params = pb.GetTaskPushNotificationConfigRequest(
            task_id=request.path_params["id"], id=request.path_params["push_id"]
        )
        return _told(request, await self._handler.on_get_task_push_notification_config(params, context))

    async def _list_push(self, request: Request, context: ServerCallContext) -> Response:
        params = pb.ListTaskPushNotificationConfigsRequest(task_id=request.path_params["id"])
        return _told(request, await self._handler.on_list_task_push_notification_configs(params, context))

    async def _delete_push(self, request: Request, context: ServerCallContext) -> Response:
        params = pb.DeleteTaskPushNotificationConfigRequest(
            task_id=request.path_params["id"], id=request.path_params["push_id"]
        )
        await self._handler.on_delete_task_push_notification_config(params, context)
        return _answer(request, {})

    async def _card(self, request: Request, context: ServerCallContext) -> Response:
        params = pb.GetExtendedAgentCardRequest()
        return _told(request, await self._handler.on_get_extended_agent_card(params, context))

    async def _events(self, events: AsyncGenerator[Told, None]) -> Response:
        first = await anext(events, None)

        async def told() -> AsyncGenerator[tuple[Json, int], None]:
            async with aclosing(events):
                try:
                    if first is not None:
                        yield MessageToDict(stream_response(first.event)), first.number
                    async for each in events:
                        yield MessageToDict(stream_response(each.event)), each.number
                except Exception as error:  # noqa: BLE001  # the edge of a stream, as in `_at`
                    yield build_rest_error_payload(failure_of(error)), -1

        return event_stream(told(), self._handler.tasks.api.clock)

    # 0.3 --------------------------------------------------------------------------------------------------------------

    def _old_unary(self, method: Callable[[Request, ServerCallContext], Any]) -> Endpoint:
        async def answer(request: Request, context: ServerCallContext) -> Response:
            await _check_body(request, OLD_VALUES_MAX)
            try:
                return Response(msgspec.json.encode(await method(request, context)), media_type=PLAIN_JSON)
            except (ParseError, ValueError):
                raise InvalidParamsError("The request does not fit this path of 0.3.") from None

        return answer

    def _old_stream(self, method: Callable[[Request, ServerCallContext], Any]) -> Endpoint:
        async def answer(request: Request, context: ServerCallContext) -> Response:
            await _check_body(request, OLD_VALUES_MAX)
            events = method(request, context)
            try:
                first = await anext(events, None)
            except (ParseError, ValueError):
                raise InvalidParamsError("The request does not fit this path of 0.3.") from None

            async def told() -> AsyncGenerator[tuple[Json, int], None]:
                try:
                    if first is not None:
                        yield first, -1
                    async for each in events:
                        yield each, -1
                except Exception as error:  # noqa: BLE001  # the edge of a stream, as in `_at`
                    yield build_rest_error_payload(failure_of(error)), -1

            return event_stream(told(), self._handler.tasks.api.clock)

        return answer


def told_failure(error: Exception) -> Response:
    """The answer to a request that failed."""
    failure = failure_of(error)
    payload = build_rest_error_payload(failure)
    status = int(payload["error"]["code"])
    if isinstance(failure, NotAllowed):
        status, payload["error"]["status"] = 403, "PERMISSION_DENIED"
    elif isinstance(failure, ServerStops):
        status, payload["error"]["status"] = 503, "UNAVAILABLE"
    elif isinstance(failure, ContentTypeNotSupportedError):
        status = 415  # as the specification has it; the SDK says 400
    payload["error"]["code"] = status
    return Response(msgspec.json.encode(payload), status, media_type=PLAIN_JSON)


async def _check_body(request: Request, values_max: int = VALUES_MAX) -> Json:
    """The body of a request; an empty body is an empty object.

    Args:
        request: the request.
        values_max: see `read_json`.

    Raises:
        A2AError: it is no JSON.
    """
    content = await request.body()
    if content and not is_json(request):
        raise ContentTypeNotSupportedError("The body has to be JSON: send Content-Type application/a2a+json.")
    try:
        return await off_loop(TRANSLATED * len(content), read_json, content, values_max) if content else {}
    except TooMuch as error:
        raise InvalidRequestError(str(error)) from None
    except ValueError:
        raise InvalidRequestError("The body is no JSON.") from None


async def _body(request: Request, kind: type[ProtoMessage]) -> Any:  # noqa: ANN401  # a message of this kind
    params = parameters(await _check_body(request))
    return await parsed(kind, params, len(await request.body()))


def _query(request: Request, params: Any) -> Any:  # noqa: ANN401  # a message of the given kind
    try:
        parse_params(request.query_params, params)
    except (ParseError, ValueError, TypeError):
        raise InvalidParamsError("The query does not fit this path.") from None
    return params


def _told(request: Request, found: ProtoMessage | None) -> Response:
    return _answer(request, MessageToDict(found) if found is not None else {})


def _answer(request: Request, told: JsonObject) -> Response:
    said = request.headers.get("content-type", "") or request.headers.get("accept", "")
    is_plain = PLAIN_JSON in said and A2A_JSON not in said
    return Response(msgspec.json.encode(told), media_type=PLAIN_JSON if is_plain else A2A_JSON)
