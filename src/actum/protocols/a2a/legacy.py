"""The A2A protocol of April 2025 (schema 0.1), translated to the values of `model` and back. Pure.

The client makes the ids of tasks, so a server keeps a table of them: an id here is whatever the other side of the
translation calls the task. A conversation is a `sessionId`, and an artifact has a number in place of an id.

What the old protocol can not say:

- `rejected` becomes `failed`, and `auth-required` becomes `input-required`.
- A `data` part holds an object by the schema; another JSON value is written as `{"value": ...}`. Readers take any
  value, since an example of the specification has an array.
- The name and the media type of a text or data part, extensions and references are dropped.

Readers take `kind` in place of `type`, null in place of a field that is not there, and times without a zone: all three
are sent by programs that are in use. Writers send none of them.

Source: `specification/json/a2a.json` of A2A 0.1.0 (2025-05-19), the same as that of 2025-03-25 but for `Task.history`.
"""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import Literal, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

from ...core.json import Json, JsonObject
from .model import (
    INTERRUPTED,
    TERMINAL,
    A2AArtifact,
    A2AArtifactUpdate,
    A2ABytes,
    A2AData,
    A2ALink,
    A2AMessage,
    A2APart,
    A2APushTarget,
    A2AState,
    A2AStatus,
    A2AStatusUpdate,
    A2ATask,
    A2AText,
    Role,
    read_timestamp,
    timestamp,
)

INVALID_REQUEST = -32600
UNKNOWN_METHOD = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
UNKNOWN_TASK = -32001
UNSUPPORTED = -32004

WireState = Literal["submitted", "working", "input-required", "completed", "canceled", "failed", "unknown"]

_SAID_AS: Mapping[A2AState, WireState] = {
    "submitted": "submitted",
    "working": "working",
    "input-required": "input-required",
    "auth-required": "input-required",
    "completed": "completed",
    "canceled": "canceled",
    "failed": "failed",
    "rejected": "failed",
    "unknown": "unknown",
}


class LegacyError(ValueError):
    """A request or an answer that is not what the protocol of April 2025 allows.

    Args:
        message: what is wrong and where. It quotes no more than a word of what the other side sent.
        code: of JSON-RPC.
    """

    def __init__(self, message: str, code: int = INVALID_PARAMS) -> None:
        self.code = code
        super().__init__(message)


# The wire -------------------------------------------------------------------------------------------------------------


class _WireText(Struct, frozen=True, tag_field="type", tag="text", omit_defaults=True):
    text: str
    metadata: JsonObject | None = None


class _FileContent(Struct, frozen=True, rename="camel", omit_defaults=True):
    name: str | None = None
    mime_type: str | None = None
    bytes: str | None = None
    uri: str | None = None


class _WireFile(Struct, frozen=True, tag_field="type", tag="file", omit_defaults=True):
    file: _FileContent
    metadata: JsonObject | None = None


class _WireData(Struct, frozen=True, tag_field="type", tag="data", omit_defaults=True):
    data: Json
    metadata: JsonObject | None = None


_WirePart = _WireText | _WireFile | _WireData


class _WireMessage(Struct, frozen=True, omit_defaults=True):
    role: Role
    parts: tuple[_WirePart, ...]
    metadata: JsonObject | None = None


class _WireStatus(Struct, frozen=True, omit_defaults=True):
    state: WireState
    message: _WireMessage | None = None
    timestamp: str | None = None


class _WireArtifact(Struct, frozen=True, rename="camel", omit_defaults=True):
    parts: tuple[_WirePart, ...]
    name: str | None = None
    description: str | None = None
    index: int | UnsetType = UNSET
    append: bool | None = None
    last_chunk: bool | None = None
    metadata: JsonObject | None = None


class _WireTask(Struct, frozen=True, rename="camel", omit_defaults=True):
    id: str
    status: _WireStatus
    session_id: str | None = None
    artifacts: tuple[_WireArtifact, ...] | None = None
    history: tuple[_WireMessage, ...] | None = None
    metadata: JsonObject | None = None


class _WireStatusEvent(Struct, frozen=True):
    id: str
    status: _WireStatus
    final: bool = False
    metadata: JsonObject | UnsetType | None = UNSET


class _WireArtifactEvent(Struct, frozen=True, omit_defaults=True):
    id: str
    artifact: _WireArtifact
    metadata: JsonObject | None = None


class _WireAuthentication(Struct, frozen=True, omit_defaults=True):
    schemes: tuple[str, ...]
    credentials: str | None = None


class _WirePush(Struct, frozen=True, omit_defaults=True):
    url: str
    token: str | None = None
    authentication: _WireAuthentication | None = None


class _WireTaskPush(Struct, frozen=True, rename="camel"):
    id: str
    push_notification_config: _WirePush


class _SendParams(Struct, frozen=True, rename="camel", omit_defaults=True):
    id: str
    message: _WireMessage
    session_id: str | None = None
    push_notification: _WirePush | None = None
    history_length: int | None = None
    metadata: JsonObject | None = None


class _TaskParams(Struct, frozen=True, rename="camel", omit_defaults=True):
    id: str
    history_length: int | None = None
    metadata: JsonObject | None = None


class _Request(Struct, frozen=True):
    method: str
    jsonrpc: Literal["2.0"] = "2.0"
    id: int | str | None = None
    params: JsonObject | None = None


# Requests -------------------------------------------------------------------------------------------------------------


class LegacySend(Struct, frozen=True, kw_only=True):
    """`tasks/send` and `tasks/sendSubscribe`: begin a task, or say more to one.

    Attributes:
        task_id: made by the client.
        message: what the user says.
        session_id: the conversation; empty where the client leaves it to the server.
        streams: whether the client wants to hear what happens (`tasks/sendSubscribe`).
        push: where to send news; None for nowhere.
        history_length: how many messages of the history are wanted in the answer; None leaves that to the server.
        metadata: further data of a program.
    """

    task_id: str
    message: A2AMessage
    session_id: str = ""
    streams: bool = False
    push: A2APushTarget | None = None
    history_length: int | None = None
    metadata: JsonObject = {}


class LegacyGet(Struct, frozen=True, kw_only=True):
    """`tasks/get`: how far a task is; `history_length` as in `LegacySend`."""

    task_id: str
    history_length: int | None = None


class LegacyCancel(Struct, frozen=True, kw_only=True):
    """`tasks/cancel`: a task is to stop."""

    task_id: str


class LegacyResubscribe(Struct, frozen=True, kw_only=True):
    """`tasks/resubscribe`: hear again what happens in a task."""

    task_id: str


class LegacySetPush(Struct, frozen=True, kw_only=True):
    """`tasks/pushNotification/set`: send news of a task there."""

    task_id: str
    push: A2APushTarget


class LegacyGetPush(Struct, frozen=True, kw_only=True):
    """`tasks/pushNotification/get`: where news of a task are sent."""

    task_id: str


LegacyRequest = LegacySend | LegacyGet | LegacyCancel | LegacyResubscribe | LegacySetPush | LegacyGetPush
RequestId = int | str | None

METHODS = (
    "tasks/send",
    "tasks/sendSubscribe",
    "tasks/get",
    "tasks/cancel",
    "tasks/resubscribe",
    "tasks/pushNotification/set",
    "tasks/pushNotification/get",
)


def request_id(body: Json) -> RequestId:
    """The id that an answer carries; None where the body has none that can be used."""
    found = body.get("id") if isinstance(body, dict) else None
    return found if isinstance(found, str) or (isinstance(found, int) and not isinstance(found, bool)) else None


def decode_request(body: Json) -> LegacyRequest:
    """Read a request.

    Args:
        body: as parsed; depth and size were looked at before.

    Raises:
        LegacyError: it is no request, its method is unknown, or its parameters do not fit.

    >>> decode_request({"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": "t1"}})
    LegacyGet(task_id='t1', history_length=None)
    """
    asked = _convert(body, _Request, "the request", INVALID_REQUEST)
    if asked.method not in METHODS:
        raise LegacyError(f"unknown method; there are {', '.join(METHODS)}", UNKNOWN_METHOD)
    params: Json = asked.params or {}
    match asked.method:
        case "tasks/send" | "tasks/sendSubscribe":
            return _send(_convert(_by_type(params), _SendParams), streams=asked.method == "tasks/sendSubscribe")
        case "tasks/pushNotification/set":
            push = _convert(params, _WireTaskPush)
            return LegacySetPush(task_id=_named(push.id), push=_push(push.push_notification_config))
        case method:
            about = _convert(params, _TaskParams)
            task_id = _named(about.id)
            if method == "tasks/get":
                return LegacyGet(task_id=task_id, history_length=_length(about.history_length))
            if method == "tasks/cancel":
                return LegacyCancel(task_id=task_id)
            return (
                LegacyResubscribe(task_id=task_id) if method == "tasks/resubscribe" else LegacyGetPush(task_id=task_id)
            )


def encode_request(asked: LegacyRequest, id: int | str) -> JsonObject:
    """Write a request, as a client of this protocol sends it.

    >>> encode_request(LegacyCancel(task_id="t1"), 7)
    {'jsonrpc': '2.0', 'id': 7, 'method': 'tasks/cancel', 'params': {'id': 't1'}}
    """
    method, params = _params_of(asked)
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": _builtins(params)}


def _params_of(asked: LegacyRequest) -> tuple[str, Struct]:
    match asked:
        case LegacySend():
            params = _SendParams(
                asked.task_id,
                _wire_message(asked.message),
                asked.session_id or None,
                _wire_push(asked.push) if asked.push is not None else None,
                asked.history_length,
                asked.metadata or None,
            )
            return ("tasks/sendSubscribe" if asked.streams else "tasks/send"), params
        case LegacyGet():
            return "tasks/get", _TaskParams(asked.task_id, asked.history_length)
        case LegacyCancel():
            return "tasks/cancel", _TaskParams(asked.task_id)
        case LegacyResubscribe():
            return "tasks/resubscribe", _TaskParams(asked.task_id)
        case LegacySetPush():
            return "tasks/pushNotification/set", _WireTaskPush(asked.task_id, _wire_push(asked.push))
        case LegacyGetPush():
            return "tasks/pushNotification/get", _TaskParams(asked.task_id)


def _send(params: _SendParams, *, streams: bool) -> LegacySend:
    return LegacySend(
        task_id=_named(params.id),
        message=_message(params.message, "message"),
        session_id=params.session_id or "",
        streams=streams,
        push=_push(params.push_notification) if params.push_notification is not None else None,
        history_length=_length(params.history_length),
        metadata=params.metadata or {},
    )


def _named(task_id: str) -> str:
    if not task_id:
        raise LegacyError("params.id: the id of a task can not be empty")
    return task_id


def _length(said: int | None) -> int | None:
    if said is not None and said < 0:
        raise LegacyError("params.historyLength: a length can not be negative")
    return said


# Answers --------------------------------------------------------------------------------------------------------------


def encode_result(id: RequestId, result: Json) -> JsonObject:
    """The answer to a request."""
    return {"jsonrpc": "2.0", "id": id, "result": result}


def encode_error(id: RequestId, code: int, message: str) -> JsonObject:
    """The answer to a request that failed.

    >>> encode_error(1, UNKNOWN_TASK, "Task not found")["error"]
    {'code': -32001, 'message': 'Task not found'}
    """
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}


def encode_task(task: A2ATask, *, task_id: str, history_length: int | None = None) -> JsonObject:
    """Write a task.

    Args:
        task: the task.
        task_id: the id that its client gave it.
        history_length: how many of the latest messages are told; None for all, 0 for none.
    """
    history = task.history[-history_length:] if history_length else task.history
    wire = _WireTask(
        task_id,
        _wire_status(task.status),
        task.context_id or None,
        tuple(_wire_artifact(each, index) for index, each in enumerate(task.artifacts)) or None,
        (tuple(map(_wire_message, history)) or None) if history_length != 0 else None,
        task.metadata or None,
    )
    return _builtins(wire)


def decode_task(result: Json) -> A2ATask:
    """Read a task, as a client gets it.

    Raises:
        LegacyError: it is none.
    """
    wire = _convert(_by_type(result), _WireTask, "the task")
    return A2ATask(
        id=wire.id,
        context_id=wire.session_id or "",
        status=_status(wire.status),
        artifacts=tuple(_artifact(each, index) for index, each in enumerate(wire.artifacts or ())),
        history=tuple(_message(each, "history") for each in wire.history or ()),
        metadata=wire.metadata or {},
    )


def encode_push(task_id: str, push: A2APushTarget) -> JsonObject:
    """Write where news of a task are sent, as the answer to both requests about it. Credentials are not told."""
    told = msgspec.structs.replace(push, credentials="")
    return _builtins(_WireTaskPush(task_id, _wire_push(told)))


# Streams --------------------------------------------------------------------------------------------------------------


class LegacyEventWriter:
    """Writes what happens in one task, for one stream of one client.

    Args:
        task_id: what the client calls the task.
        known: the ids of artifacts that the task has already, in the order in which they came: their numbers.

    Attributes:
        is_over: the last event was written, and the stream is to be closed.
    """

    def __init__(self, task_id: str, known: Sequence[str] = ()) -> None:
        self._task_id = task_id
        self._numbers = {artifact: number for number, artifact in enumerate(known)}
        self.is_over = False

    def encode(self, event: A2ATask | A2AMessage | A2AStatusUpdate | A2AArtifactUpdate) -> list[JsonObject]:
        """The events of the old protocol that tell of one event; none after the last one.

        A task becomes its artifacts and then its status. A message of an agent that makes no task becomes an artifact
        and a task that is completed.
        """
        if self.is_over:
            return []
        match event:
            case A2AStatusUpdate():
                return [self._status(event.status, event.metadata)]
            case A2AArtifactUpdate():
                return [self._artifact(event.artifact, event.metadata, append=event.append, last=event.last_chunk)]
            case A2ATask():
                artifacts = [self._artifact(each, {}, last=True) for each in event.artifacts]
                return [*artifacts, self._status(event.status, {})]
            case A2AMessage():
                answer = A2AArtifact(id=event.id or "answer", parts=event.parts)
                status = A2AStatus(state="completed", message=event)
                return [self._artifact(answer, {}, last=True), self._status(status, {})]

    def _status(self, status: A2AStatus, metadata: JsonObject) -> JsonObject:
        self.is_over = status.state in TERMINAL or status.state in INTERRUPTED
        return _builtins(_WireStatusEvent(self._task_id, _wire_status(status), self.is_over, metadata or UNSET))

    def _artifact(
        self, artifact: A2AArtifact, metadata: JsonObject, *, append: bool = False, last: bool = False
    ) -> JsonObject:
        number = self._numbers.setdefault(artifact.id, len(self._numbers))
        wire = _wire_artifact(artifact, number, append=append or None, last=last or None)
        return _builtins(_WireArtifactEvent(self._task_id, wire, metadata or None))


def decode_event(result: Json, context_id: str = "") -> A2AStatusUpdate | A2AArtifactUpdate:
    """Read one event of a stream, as a client gets it. The id of an artifact is its number.

    Args:
        result: of the answer that the event is.
        context_id: the conversation, which the event does not say.

    Raises:
        LegacyError: it is no event.
    """
    result = _by_type(result)
    if isinstance(result, dict) and result.get("artifact") is not None:
        piece = _convert(result, _WireArtifactEvent, "the event")
        return A2AArtifactUpdate(
            task_id=piece.id,
            context_id=context_id,
            artifact=_artifact(piece.artifact, 0),
            append=bool(piece.artifact.append),
            last_chunk=bool(piece.artifact.last_chunk),
            metadata=piece.metadata or {},
        )
    status = _convert(result, _WireStatusEvent, "the event")
    return A2AStatusUpdate(
        task_id=status.id,
        context_id=context_id,
        status=_status(status.status),
        metadata=status.metadata or {},
    )


# Values ---------------------------------------------------------------------------------------------------------------


def _wire_status(status: A2AStatus) -> _WireStatus:
    message = _wire_message(status.message) if status.message is not None else None
    return _WireStatus(_SAID_AS[status.state], message, timestamp(status.at) if status.at is not None else None)


def _status(wire: _WireStatus) -> A2AStatus:
    return A2AStatus(
        state=wire.state,
        message=_message(wire.message, "status.message") if wire.message is not None else None,
        at=read_timestamp(wire.timestamp) if wire.timestamp else None,
    )


def _wire_message(message: A2AMessage) -> _WireMessage:
    return _WireMessage(message.role, tuple(map(_wire_part, message.parts)), message.metadata or None)


def _message(wire: _WireMessage, where: str) -> A2AMessage:
    parts = tuple(_part(each, f"{where}.parts[{index}]") for index, each in enumerate(wire.parts))
    return A2AMessage(role=wire.role, parts=parts, metadata=wire.metadata or {})


def _wire_artifact(
    artifact: A2AArtifact, index: int, *, append: bool | None = None, last: bool | None = None
) -> _WireArtifact:
    return _WireArtifact(
        tuple(map(_wire_part, artifact.parts)),
        artifact.name or None,
        artifact.description or None,
        index,
        append,
        last,
        artifact.metadata or None,
    )


def _artifact(wire: _WireArtifact, place: int) -> A2AArtifact:
    return A2AArtifact(
        id=str(place if wire.index is UNSET else wire.index),
        parts=tuple(_part(each, f"artifact.parts[{index}]") for index, each in enumerate(wire.parts)),
        name=wire.name or "",
        description=wire.description or "",
        metadata=wire.metadata or {},
    )


def _wire_part(part: A2APart) -> _WirePart:
    metadata = part.metadata or None
    match part:
        case A2AText():
            return _WireText(part.text, metadata)
        case A2ABytes():
            data = b64encode(part.data).decode()
            return _WireFile(_FileContent(part.name or None, part.media_type or None, data), metadata)
        case A2ALink():
            return _WireFile(_FileContent(part.name or None, part.media_type or None, None, part.url), metadata)
        case A2AData():
            return _WireData(part.data if isinstance(part.data, dict) else {"value": part.data}, metadata)


def _part(wire: _WirePart, where: str) -> A2APart:
    metadata = wire.metadata or {}
    match wire:
        case _WireText():
            return A2AText(text=wire.text, metadata=metadata)
        case _WireData():
            return A2AData(data=wire.data, metadata=metadata)
        case _WireFile():
            file = wire.file
            if (file.bytes is None) == (file.uri is None):
                raise LegacyError(f"{where}.file: give either bytes or uri")
            name, media_type = file.name or "", file.mime_type or ""
            if file.uri is not None:
                return A2ALink(url=file.uri, name=name, media_type=media_type, metadata=metadata)
            try:
                data = b64decode(file.bytes or "", validate=True)
            except (binascii.Error, ValueError):
                raise LegacyError(f"{where}.file.bytes: expected base64") from None
            return A2ABytes(data=data, name=name, media_type=media_type, metadata=metadata)


def _wire_push(push: A2APushTarget) -> _WirePush:
    known = _WireAuthentication(push.schemes, push.credentials or None) if push.schemes else None
    return _WirePush(push.url, push.token or None, known)


def _push(wire: _WirePush) -> A2APushTarget:
    known = wire.authentication
    return A2APushTarget(
        url=wire.url,
        token=wire.token or "",
        schemes=known.schemes if known is not None else (),
        credentials=(known.credentials or "") if known is not None else "",
    )


def _by_type(value: Json) -> Json:
    """The value with `type` wherever a part says `kind`, as programs of 0.2 and later write it."""
    if isinstance(value, list):
        return [_by_type(each) for each in value]
    if not isinstance(value, dict):
        return value
    made: JsonObject = {}
    for name, held in value.items():
        if name == "parts" and isinstance(held, list):
            made[name] = [_typed(each) for each in held]
        else:
            made[name] = held if name in ("metadata", "data") else _by_type(held)
    return made


def _typed(part: Json) -> Json:
    if isinstance(part, dict) and "type" not in part and "kind" in part:
        return {"type": part["kind"]} | {name: held for name, held in part.items() if name != "kind"}
    return part


Wire = TypeVar("Wire", bound=Struct)


def _convert(value: Json, kind: type[Wire], what: str = "params", code: int = INVALID_PARAMS) -> Wire:
    """A value of the wire.

    Raises:
        LegacyError: the value does not fit; the message says where.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        problem, _, where = str(error).partition(" - at `$")
        raise LegacyError(f"{what}{where.removesuffix('`')}: {problem}", code) from None


def _builtins(wire: Struct) -> JsonObject:
    made: JsonObject = msgspec.to_builtins(wire)
    return made
