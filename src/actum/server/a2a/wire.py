"""Values of A2A and the messages of the official SDK, both ways. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping

from a2a.types import a2a_pb2 as pb
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Struct as ProtoStruct
from google.protobuf.struct_pb2 import Value as ProtoValue
from google.protobuf.timestamp_pb2 import Timestamp

from ...core.json import Json, JsonObject
from ...protocols.a2a.model import (
    A2AArtifact,
    A2AArtifactUpdate,
    A2ABytes,
    A2AData,
    A2AEvent,
    A2ALink,
    A2AMessage,
    A2APart,
    A2APushTarget,
    A2AState,
    A2AStatus,
    A2AStatusUpdate,
    A2ATask,
    A2AText,
)

STATES: Mapping[A2AState, pb.TaskState] = {
    "submitted": pb.TASK_STATE_SUBMITTED,
    "working": pb.TASK_STATE_WORKING,
    "completed": pb.TASK_STATE_COMPLETED,
    "failed": pb.TASK_STATE_FAILED,
    "canceled": pb.TASK_STATE_CANCELED,
    "input-required": pb.TASK_STATE_INPUT_REQUIRED,
    "auth-required": pb.TASK_STATE_AUTH_REQUIRED,
    "rejected": pb.TASK_STATE_REJECTED,
    "unknown": pb.TASK_STATE_UNSPECIFIED,
}
BY_NUMBER: Mapping[int, A2AState] = {number: state for state, number in STATES.items()}


# Out ------------------------------------------------------------------------------------------------------------------


def task_to_proto(task: A2ATask) -> pb.Task:
    """A task."""
    return pb.Task(
        id=task.id,
        context_id=task.context_id,
        status=_status(task.status),
        artifacts=[_artifact(each) for each in task.artifacts],
        history=[message_to_proto(each) for each in task.history],
        metadata=_struct(task.metadata),
    )


def event_to_proto(event: A2AEvent) -> pb.Task | pb.Message | pb.TaskStatusUpdateEvent | pb.TaskArtifactUpdateEvent:
    """What a stream tells."""
    match event:
        case A2ATask():
            return task_to_proto(event)
        case A2AMessage():
            return message_to_proto(event)
        case A2AStatusUpdate():
            return pb.TaskStatusUpdateEvent(
                task_id=event.task_id,
                context_id=event.context_id,
                status=_status(event.status),
                metadata=_struct(event.metadata),
            )
        case A2AArtifactUpdate():
            return pb.TaskArtifactUpdateEvent(
                task_id=event.task_id,
                context_id=event.context_id,
                artifact=_artifact(event.artifact),
                append=event.append,
                last_chunk=event.last_chunk,
                metadata=_struct(event.metadata),
            )


def stream_response(event: A2AEvent) -> pb.StreamResponse:
    """What a stream tells, as a stream of 1.0 wraps it."""
    told = event_to_proto(event)
    match told:
        case pb.Task():
            return pb.StreamResponse(task=told)
        case pb.Message():
            return pb.StreamResponse(message=told)
        case pb.TaskStatusUpdateEvent():
            return pb.StreamResponse(status_update=told)
        case _:
            return pb.StreamResponse(artifact_update=told)


def message_to_proto(message: A2AMessage) -> pb.Message:
    """A message."""
    return pb.Message(
        message_id=message.id,
        context_id=message.context_id,
        task_id=message.task_id,
        role=pb.ROLE_USER if message.role == "user" else pb.ROLE_AGENT,
        parts=[_part(each) for each in message.parts],
        metadata=_struct(message.metadata),
        extensions=message.extensions,
        reference_task_ids=message.references,
    )


def _status(status: A2AStatus) -> pb.TaskStatus:
    return pb.TaskStatus(
        state=STATES[status.state],
        message=message_to_proto(status.message) if status.message is not None else None,
        timestamp=_time(status.at) if status.at is not None else None,
    )


def _time(at: float) -> Timestamp:
    """To the millisecond, as the specification has it."""
    millis = round(at * 1000)
    return Timestamp(seconds=millis // 1000, nanos=millis % 1000 * 1_000_000)


def _artifact(artifact: A2AArtifact) -> pb.Artifact:
    return pb.Artifact(
        artifact_id=artifact.id,
        name=artifact.name,
        description=artifact.description,
        parts=[_part(each) for each in artifact.parts],
        metadata=_struct(artifact.metadata),
        extensions=artifact.extensions,
    )


def _part(part: A2APart) -> pb.Part:
    made = pb.Part(filename=part.name, media_type=part.media_type, metadata=_struct(part.metadata))
    match part:
        case A2AText():
            made.text = part.text
        case A2ABytes():
            made.raw = part.data
        case A2ALink():
            made.url = part.url
        case A2AData():
            made.data.CopyFrom(ParseDict(_finite(part.data), ProtoValue()))  # type: ignore[arg-type]  # any JSON
    return made


def _struct(value: JsonObject) -> ProtoStruct | None:
    return ParseDict({name: _finite(held) for name, held in value.items()}, ProtoStruct()) if value else None


def _finite(value: Json) -> Json:
    """A value without numbers that protobuf can not hold: a larger integer becomes a text."""
    if isinstance(value, dict):
        return {name: _finite(held) for name, held in value.items()}
    if isinstance(value, list):
        return [_finite(held) for held in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 1 << 53:
        return str(value)
    return value


# In -------------------------------------------------------------------------------------------------------------------


def message_of(proto: pb.Message) -> A2AMessage:
    """A message that somebody sent."""
    return A2AMessage(
        role="agent" if proto.role == pb.ROLE_AGENT else "user",
        parts=tuple(map(_part_of, proto.parts)),
        id=proto.message_id,
        context_id=proto.context_id,
        task_id=proto.task_id,
        references=tuple(proto.reference_task_ids),
        extensions=tuple(proto.extensions),
        metadata=json_of(proto.metadata) if proto.HasField("metadata") else {},
    )


def is_empty(part: pb.Part) -> bool:
    """Whether a part holds none of the things that a part can hold."""
    return part.WhichOneof("content") is None


def _part_of(part: pb.Part) -> A2APart:
    metadata = json_of(part.metadata) if part.HasField("metadata") else {}
    match part.WhichOneof("content"):
        case "raw":
            return A2ABytes(data=part.raw, name=part.filename, media_type=part.media_type, metadata=metadata)
        case "url":
            return A2ALink(url=part.url, name=part.filename, media_type=part.media_type, metadata=metadata)
        case "data":
            data = whole_numbers(MessageToDict(part.data))
            return A2AData(data=data, name=part.filename, media_type=part.media_type, metadata=metadata)
        case _:
            return A2AText(text=part.text, name=part.filename, media_type=part.media_type, metadata=metadata)


def json_of(proto: ProtoStruct) -> JsonObject:
    """A value of protobuf as JSON."""
    found = whole_numbers(MessageToDict(proto))
    return found if isinstance(found, dict) else {}


def whole_numbers(value: Json) -> Json:
    """A value in which a number without a fraction is an integer again: protobuf knows one kind of number."""
    if isinstance(value, dict):
        return {name: whole_numbers(held) for name, held in value.items()}
    if isinstance(value, list):
        return [whole_numbers(held) for held in value]
    if isinstance(value, float) and math.isfinite(value) and value.is_integer() and abs(value) < 1 << 53:
        return int(value)
    return value


def push_of(proto: pb.TaskPushNotificationConfig) -> A2APushTarget:
    """Where news are to be pushed."""
    scheme = proto.authentication.scheme
    return A2APushTarget(
        url=proto.url,
        id=proto.id,
        token=proto.token,
        schemes=(scheme,) if scheme else (),
        credentials=proto.authentication.credentials,
    )


def push_to_proto(task_id: str, target: A2APushTarget) -> pb.TaskPushNotificationConfig:
    """Where news are pushed, without the credentials."""
    known = pb.AuthenticationInfo(scheme=target.schemes[0]) if target.schemes else None
    return pb.TaskPushNotificationConfig(
        task_id=task_id, id=target.id, url=target.url, token=target.token, authentication=known
    )
