"""JSON-RPC: the methods of 1.0 (`SendMessage`) and of 0.3 (`message/send`) at one address.

The method says the version, and the header `A2A-Version` has to agree: where it is absent, it means 0.3. The SDK
translates requests and answers of 0.3; what a caller is told of errors is decided here.
"""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any, NamedTuple

import msgspec
from a2a.compat.v0_3 import conversions as v03_conversions
from a2a.compat.v0_3 import types as v03
from a2a.compat.v0_3.request_handler import RequestHandler03
from a2a.server.context import ServerCallContext
from a2a.types import a2a_pb2 as pb
from a2a.utils.error_handlers import build_error_details
from a2a.utils.errors import (
    JSON_RPC_ERROR_CODE_MAP,
    A2AError,
    ContentTypeNotSupportedError,
    InvalidParamsError,
    InvalidRequestError,
    JSONParseError,
    MethodNotFoundError,
)
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from google.protobuf.message import Message as ProtoMessage
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response

from ...core.json import Json, JsonObject
from ...core.process.worker_thread import off_loop
from ..refusal import HttpRefusal
from .asking import asked_by, check_version, event_stream, is_json, version_of
from .failures import failure_of
from .follow import Told
from .handler import RunHandler, context_of
from .reading import TRANSLATED, TooMuch, read_json
from .service import PARTS_MAX, TOO_MANY_PARTS
from .wire import stream_response

log = logging.getLogger("actum.server.a2a")

RpcId = str | int | None
JSON = "application/json"
INTERNAL = -32603


class Method(NamedTuple):
    """A method of 1.0.

    Attributes:
        params: the type of its parameters.
        name: of the method of the handler.
    """

    params: type[ProtoMessage]
    name: str


METHODS: Mapping[str, Method] = {
    "SendMessage": Method(pb.SendMessageRequest, "on_message_send"),
    "GetTask": Method(pb.GetTaskRequest, "on_get_task"),
    "ListTasks": Method(pb.ListTasksRequest, "on_list_tasks"),
    "CancelTask": Method(pb.CancelTaskRequest, "on_cancel_task"),
    "CreateTaskPushNotificationConfig": Method(
        pb.TaskPushNotificationConfig, "on_create_task_push_notification_config"
    ),
    "GetTaskPushNotificationConfig": Method(
        pb.GetTaskPushNotificationConfigRequest, "on_get_task_push_notification_config"
    ),
    "ListTaskPushNotificationConfigs": Method(
        pb.ListTaskPushNotificationConfigsRequest, "on_list_task_push_notification_configs"
    ),
    "DeleteTaskPushNotificationConfig": Method(
        pb.DeleteTaskPushNotificationConfigRequest, "on_delete_task_push_notification_config"
    ),
    "GetExtendedAgentCard": Method(pb.GetExtendedAgentCardRequest, "on_get_extended_agent_card"),
}
STREAMS: Mapping[str, Method] = {
    "SendStreamingMessage": Method(pb.SendMessageRequest, "stream"),
    "SubscribeToTask": Method(pb.SubscribeToTaskRequest, "subscription"),
}

OLD_METHODS: Mapping[str, tuple[type[Any], str]] = {
    "message/send": (v03.SendMessageRequest, "on_message_send"),
    "tasks/get": (v03.GetTaskRequest, "on_get_task"),
    "tasks/cancel": (v03.CancelTaskRequest, "on_cancel_task"),
    "tasks/pushNotificationConfig/set": (
        v03.SetTaskPushNotificationConfigRequest,
        "on_create_task_push_notification_config",
    ),
    "tasks/pushNotificationConfig/get": (
        v03.GetTaskPushNotificationConfigRequest,
        "on_get_task_push_notification_config",
    ),
    "tasks/pushNotificationConfig/list": (
        v03.ListTaskPushNotificationConfigRequest,
        "on_list_task_push_notification_configs",
    ),
    "tasks/pushNotificationConfig/delete": (
        v03.DeleteTaskPushNotificationConfigRequest,
        "on_delete_task_push_notification_config",
    ),
    "agent/getAuthenticatedExtendedCard": (v03.GetAuthenticatedExtendedCardRequest, "on_get_extended_agent_card"),
}
OLD_STREAMS: Mapping[str, type[Any]] = {
    "message/stream": v03.SendStreamingMessageRequest,
    "tasks/resubscribe": v03.TaskResubscriptionRequest,
}
_OLD_CODES = frozenset({-32700, -32600, -32601, -32602, -32603, *range(-32007, -32000)})
"""The codes that 0.3 knows."""


def is_old(method: str) -> bool:
    """Whether the answer to a method has the form of 0.3."""
    return method in OLD_METHODS or method in OLD_STREAMS


class RpcCall(NamedTuple):
    """A request of JSON-RPC.

    Attributes:
        id: what the answer is known by.
        method: its name.
        params: its parameters.
        size: of the whole request, in bytes.
    """

    id: RpcId
    method: str
    params: JsonObject
    size: int = 0


class JsonRpc:
    """The address of JSON-RPC.

    Args:
        handler: the methods.
        agent_at: the name of the agent that a request is for.
    """

    def __init__(self, handler: RunHandler, agent_at: Callable[[Request], Awaitable[str]]) -> None:
        self._handler = handler
        self._old = RequestHandler03(handler)
        self._agent_at = agent_at

    async def answer(self, request: Request) -> Response:
        """Answer a request."""
        call = RpcCall(None, "", {})
        try:
            call = await read_call(request)
            return await self.carry_out(request, call)
        except BadCall as bad:
            return told_error(bad.call.id, bad.error, is_old=is_old(bad.call.method))
        except HttpRefusal:
            raise
        except Exception as error:  # noqa: BLE001  # the edge: the caller is told what `failure_of` says
            return told_error(call.id, failure_of(error), is_old=is_old(call.method))

    async def carry_out(self, request: Request, call: RpcCall) -> Response:
        """Carry out a call.

        Raises:
            A2AError: why there is no answer; so does every other error.
        """
        agent = await self._agent_at(request)
        if call.method in METHODS or call.method in STREAMS:
            check_version(version_of(request), "1.0")
            context = context_of(asked_by(request, agent, "1.0"))
            if call.method in STREAMS:
                return await self._stream(call, context)
            method = METHODS[call.method]
            params = await parsed(method.params, call.params, call.size)
            result = await getattr(self._handler, method.name)(params, context)
            if call.method == "SendMessage":
                result = sent(result)
            return told_result(call.id, _told(result))
        if call.method in OLD_METHODS or call.method in OLD_STREAMS:
            check_version(version_of(request), "0.3")
            context = context_of(asked_by(request, agent, "0.3"))
            if call.method in OLD_STREAMS:
                return await self._old_stream(call, context)
            kind, name = OLD_METHODS[call.method]
            asked = await _old_request(kind, call)
            if call.method == "message/send":
                return told_result(call.id, _old_told(await self._old_send(asked, call, context)))
            return told_result(call.id, _old_told(await getattr(self._old, name)(asked, context)))
        raise MethodNotFoundError("This method is not known here.")

    async def _old_send(self, asked: Any, call: RpcCall, context: ServerCallContext) -> Any:  # noqa: ANN401  # pydantic
        answer = await self._handler.on_message_send(await _translated(asked, call), context)
        if isinstance(answer, pb.Task):
            return v03_conversions.to_compat_task(answer)
        return v03_conversions.to_compat_message(answer)

    async def _stream(self, call: RpcCall, context: ServerCallContext) -> Response:
        method = STREAMS[call.method]
        params = await parsed(method.params, call.params, call.size)
        events = getattr(self._handler, method.name)(params, context)
        first = await _first(events)

        def tell(told: Told) -> Json:
            return _result(call.id, MessageToDict(stream_response(told.event)))

        return event_stream(_events(first, events, tell, call.id, is_old=False), self._handler.tasks.api.clock)

    async def _old_stream(self, call: RpcCall, context: ServerCallContext) -> Response:
        asked = await _old_request(OLD_STREAMS[call.method], call)
        if call.method == "message/stream":
            events = self._handler.stream(await _translated(asked, call), context)
        else:
            events = self._handler.subscription(v03_conversions.to_core_subscribe_to_task_request(asked), context)
        first = await _first(events)

        def tell(told: Told) -> Json:
            answer = v03_conversions.to_compat_stream_response(stream_response(told.event), call.id)
            found: JsonObject = answer.model_dump(mode="json", by_alias=True, exclude_none=True)
            return found

        return event_stream(_events(first, events, tell, call.id, is_old=True), self._handler.tasks.api.clock)


async def read_call(request: Request) -> RpcCall:
    """Read a request of JSON-RPC.

    Raises:
        A2AError: it is none.
    """
    if not is_json(request):
        raise ContentTypeNotSupportedError("The body has to be JSON: send Content-Type application/json.")
    try:
        content = await request.body()
        body = await off_loop(TRANSLATED * len(content), read_json, content)
    except TooMuch as error:
        raise InvalidRequestError(str(error)) from None
    except ValueError:
        raise JSONParseError("The body is no JSON.") from None
    if not isinstance(body, dict):
        raise InvalidRequestError("A request is one JSON object.")
    id_, method, params = body.get("id"), body.get("method"), body.get("params")
    if isinstance(id_, bool) or not (id_ is None or isinstance(id_, str | int)):
        raise InvalidRequestError("id: a text or an integer is expected.")
    name, given = method if isinstance(method, str) else "", params if isinstance(params, dict) else {}
    call = RpcCall(id_, name, given, len(content))
    if body.get("jsonrpc") != "2.0" or not isinstance(method, str):
        raise BadCall(call, InvalidRequestError('A request has jsonrpc "2.0" and the name of a method.'))
    if params is not None and not isinstance(params, dict):
        raise BadCall(call, InvalidParamsError("params: an object is expected."))
    return call


class BadCall(Exception):
    """A request can not be carried out, and its answer carries the id of the request.

    Args:
        call: as far as it could be read.
        error: what is told.
    """

    def __init__(self, call: RpcCall, error: A2AError) -> None:
        super().__init__()
        self.call = call
        self.error = error


async def parsed(kind: type[ProtoMessage], params: JsonObject, size: int) -> ProtoMessage:
    """Parameters of a method of 1.0.

    Args:
        kind: of the parameters.
        params: as JSON.
        size: of the JSON text, in bytes.

    Raises:
        InvalidParamsError: they do not fit.
    """
    _check_parts(params)
    try:
        return await off_loop(TRANSLATED * size, ParseDict, params, kind(), ignore_unknown_fields=True)
    except (ParseError, ValueError, TypeError) as error:
        place = ".".join(_FIELD.findall(str(error))) or "params"
        raise InvalidParamsError(f"{place}: this does not fit {kind.DESCRIPTOR.name}.") from None


_FIELD = re.compile(r"Failed to parse (\w+) field")
"""How protobuf tells the way to what it can not read, from the outside to the inside."""


def sent(result: pb.Task | pb.Message) -> pb.SendMessageResponse:
    """The answer to a message, as 1.0 wraps it."""
    if isinstance(result, pb.Task):
        return pb.SendMessageResponse(task=result)
    return pb.SendMessageResponse(message=result)


def told_result(id_: RpcId, result: Json) -> Response:
    """The answer to a request."""
    return Response(msgspec.json.encode(_result(id_, result)), media_type=JSON)


def told_error(id_: RpcId, error: A2AError, *, is_old: bool) -> Response:
    """The answer to a request that failed."""
    return Response(msgspec.json.encode(_error(id_, error, is_old=is_old)), media_type=JSON)


def code_of(error: A2AError) -> int:
    """The code of an error."""
    return next(
        (JSON_RPC_ERROR_CODE_MAP[kind] for kind in type(error).__mro__ if kind in JSON_RPC_ERROR_CODE_MAP), _OWN
    )


_OWN = -32004
"""The code of errors that the specification has no word for: what is asked is not supported for this caller, or now."""


def _result(id_: RpcId, result: Json) -> JsonObject:
    return {"jsonrpc": "2.0", "id": id_, "result": result}


def _error(id_: RpcId, error: A2AError, *, is_old: bool) -> JsonObject:
    code = code_of(error)
    told: JsonObject = {"code": code if not is_old or code in _OLD_CODES else INTERNAL, "message": error.message}
    if not is_old:
        details: list[Json] = [*build_error_details(error)]
        told["data"] = details
    return {"jsonrpc": "2.0", "id": id_, "error": told}


def _told(result: object) -> Json:
    match result:
        case pb.ListTasksResponse():
            return list_to_json(result)
        case ProtoMessage():
            return MessageToDict(result)
        case _:
            return None


def list_to_json(response: pb.ListTasksResponse) -> JsonObject:
    """A list of tasks: its fields are always there."""
    told = MessageToDict(response)
    fields: JsonObject = {"tasks": [], "nextPageToken": "", "pageSize": 0, "totalSize": 0}
    return fields | told


def _check_parts(params: JsonObject) -> None:
    """Refuse a message with very many parts before they are looked at: the SDK takes long for each of them.

    Raises:
        InvalidParamsError: it has too many.
    """
    message = params.get("message")
    parts = message.get("parts") if isinstance(message, dict) else None
    if isinstance(parts, list) and len(parts) > PARTS_MAX:
        raise InvalidParamsError(TOO_MANY_PARTS)


async def _old_request(kind: type[Any], call: RpcCall) -> Any:  # noqa: ANN401  # pydantic models of the SDK
    _check_parts(call.params)
    id_, params = "" if call.id is None else call.id, call.params
    if not call.method.startswith("message/"):  # nobody reads it, and the SDK translates it on the event loop
        params = {name: value for name, value in params.items() if name != "metadata"}
    request: JsonObject = {"jsonrpc": "2.0", "id": id_, "method": call.method, "params": params}
    return await off_loop(TRANSLATED * call.size, _validated, kind, request)


async def _translated(asked: Any, call: RpcCall) -> pb.SendMessageRequest:  # noqa: ANN401  # a pydantic model
    """A message of 0.3 as one of 1.0."""
    return await off_loop(TRANSLATED * call.size, v03_conversions.to_core_send_message_request, asked)


def _validated(kind: type[Any], request: JsonObject) -> Any:  # noqa: ANN401  # pydantic models of the SDK
    try:
        return kind.model_validate(request)
    except ValidationError as error:
        raise InvalidParamsError(f"{_place_of(error)}: this does not fit this method of 0.3.") from None


def _place_of(error: ValidationError) -> str:
    """Where the first mistake is, such as `params.message.parts[0]`; the SDK's names of kinds of parts say nothing."""
    place = ""
    for step in error.errors(include_input=False, include_context=False)[0]["loc"]:
        if isinstance(step, str) and not step[:1].islower():
            break
        place += f"[{step}]" if isinstance(step, int) else f".{step}"
    return place.removeprefix(".")


def _old_told(result: Any) -> Json:  # noqa: ANN401  # pydantic models of the SDK
    if isinstance(result, list):
        return [_old_told(each) for each in result]
    if result is None:
        return None
    found: Json = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    return found


async def _first(events: AsyncGenerator[Told, None]) -> Told | None:
    """The first event. An error of the request is raised before the stream begins."""
    try:
        return await anext(events)
    except StopAsyncIteration:
        return None


async def _events(
    first: Told | None,
    events: AsyncGenerator[Told, None],
    tell: Callable[[Told], Json],
    id_: RpcId,
    *,
    is_old: bool,
) -> AsyncGenerator[tuple[Json, int], None]:
    async with aclosing(events):
        try:
            if first is not None:
                yield tell(first), first.number
            async for told in events:
                yield tell(told), told.number
        except Exception as error:  # noqa: BLE001  # the edge of a stream, as in `JsonRpc.answer`
            yield _error(id_, failure_of(error), is_old=is_old), -1
