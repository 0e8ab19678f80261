"""A2A since May 2025, in JSON: versions 0.2, 0.3 and 1.0, as a client writes and reads them. Pure.

A reader takes all three forms, also mixed, since servers mix them: `kind` beside the fields of 1.0, states in both
spellings, times without a zone, null in place of a field that is missing, bytes in both alphabets of base64, fields
that nobody knows, and parts of a kind that nobody knows, which are read as data. This file is the one place where such
differences are let pass. A writer sends exactly the form of one version.

The protocol of April 2025 is in `legacy`.

Source: A2A 1.0, sections 4 to 11; A2A 0.3.0, sections 6 and 7 (https://a2a-protocol.org).
"""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import Literal

from ...core.json import Json, JsonObject
from .model import (
    A2AArtifact,
    A2AArtifactUpdate,
    A2ABytes,
    A2AData,
    A2AEvent,
    A2ALink,
    A2AMessage,
    A2APart,
    A2AState,
    A2AStatus,
    A2AStatusUpdate,
    A2ATask,
    A2AText,
    read_timestamp,
)

LaterVersion = Literal["0.3", "1.0"]
"""The two forms: that of 1.0, and that of 0.3, which 0.2 has too."""

PARTS_MAX = 10_000
_STATES: dict[str, A2AState] = {
    "submitted": "submitted",
    "working": "working",
    "input-required": "input-required",
    "auth-required": "auth-required",
    "completed": "completed",
    "canceled": "canceled",
    "cancelled": "canceled",
    "failed": "failed",
    "rejected": "rejected",
}


class UnreadableAnswer(ValueError):
    """What a remote agent sent is not what A2A allows. The message says where, and quotes nothing."""


# Writing --------------------------------------------------------------------------------------------------------------


def encode_send(message: A2AMessage, version: LaterVersion, *, waits: bool) -> JsonObject:
    """The parameters of a message that is sent.

    Args:
        message: what is said.
        version: the form.
        waits: the answer may come when the task is over; else at once.
    """
    configuration: JsonObject = {"returnImmediately": not waits} if version == "1.0" else {"blocking": waits}
    return {"message": encode_message(message, version), "configuration": configuration}


def encode_message(message: A2AMessage, version: LaterVersion) -> JsonObject:
    """Write a message.

    >>> encode_message(A2AMessage(role="user", parts=(A2AText(text="Hi"),), id="m1"), "1.0")
    {'role': 'ROLE_USER', 'parts': [{'text': 'Hi'}], 'messageId': 'm1'}
    """
    is_new = version == "1.0"
    made: JsonObject = {} if is_new else {"kind": "message"}
    made |= {
        "role": f"ROLE_{message.role.upper()}" if is_new else message.role,
        "parts": [_new_part(each) if is_new else _old_part(each) for each in message.parts],
        "messageId": message.id,
    }
    said: dict[str, Json] = {
        "contextId": message.context_id,
        "taskId": message.task_id,
        "referenceTaskIds": list(message.references),
        "extensions": list(message.extensions),
        "metadata": message.metadata,
    }
    return made | {name: value for name, value in said.items() if value}


def _new_part(part: A2APart) -> JsonObject:
    made: JsonObject = {}
    match part:
        case A2AText():
            made = {"text": part.text}
        case A2ABytes():
            made = {"raw": b64encode(part.data).decode()}
        case A2ALink():
            made = {"url": part.url}
        case A2AData():
            made = {"data": part.data}
    said: dict[str, Json] = {"filename": part.name, "mediaType": part.media_type, "metadata": part.metadata}
    return made | {name: value for name, value in said.items() if value}


def _old_part(part: A2APart) -> JsonObject:
    made: JsonObject = {}
    match part:
        case A2AText():
            made = {"kind": "text", "text": part.text}
        case A2AData():
            made = {"kind": "data", "data": part.data if isinstance(part.data, dict) else {"value": part.data}}
        case A2ABytes() | A2ALink():
            told: dict[str, Json] = {"name": part.name, "mimeType": part.media_type}
            file: JsonObject = {name: value for name, value in told.items() if value}
            file |= {"uri": part.url} if isinstance(part, A2ALink) else {"bytes": b64encode(part.data).decode()}
            made = {"kind": "file", "file": file}
    return made | ({"metadata": part.metadata} if part.metadata else {})


# Reading --------------------------------------------------------------------------------------------------------------


def decode_event(value: Json) -> A2AEvent:
    """Read what a stream tells, or the answer to a message that was sent.

    Raises:
        UnreadableAnswer: it is no event of A2A.

    >>> decode_event({"message": {"role": "ROLE_AGENT", "parts": [{"text": "Hi"}], "messageId": "m2"}}).parts[0].text
    'Hi'
    """
    found = _object(value, "the event")
    for name in ("task", "message", "statusUpdate", "artifactUpdate", "status_update", "artifact_update"):
        # A message of 0.3 has no field of these names, and a status update has its message inside its status.
        if isinstance(found.get(name), dict) and "kind" not in found:
            return _EVENTS[name.replace("_u", "U")](_object(found[name], name))
    kind = _words(found, "kind")
    if kind in _KINDS:
        return _EVENTS[_KINDS[kind]](found)
    if "parts" in found and "role" in found:
        return decode_message(found)
    if "status" in found and "id" in found:
        return decode_task(found)
    if "status" in found:
        return _status_update(found)
    if "artifact" in found:
        return _artifact_update(found)
    raise UnreadableAnswer("it is neither a task, a message nor news of a task")


def decode_task(value: Json) -> A2ATask:
    """Read a task.

    Raises:
        UnreadableAnswer: it is none.
    """
    found = _object(value, "the task")
    found = _object(found["task"], "the task") if isinstance(found.get("task"), dict) and "id" not in found else found
    return A2ATask(
        id=_text(found, "id"),
        context_id=_words(found, "contextId"),
        status=_status(found.get("status")),
        artifacts=tuple(_artifact(each) for each in _list(found, "artifacts")),
        history=tuple(decode_message(each) for each in _list(found, "history")),
        metadata=_map(found, "metadata"),
    )


def decode_message(value: Json) -> A2AMessage:
    """Read a message.

    Raises:
        UnreadableAnswer: it is none.
    """
    found = _object(value, "the message")
    role = _words(found, "role").lower().removeprefix("role_")
    return A2AMessage(
        role="user" if role == "user" else "agent",
        parts=tuple(_part(each) for each in _list(found, "parts")),
        id=_words(found, "messageId"),
        context_id=_words(found, "contextId"),
        task_id=_words(found, "taskId"),
        metadata=_map(found, "metadata"),
    )


def _status_update(found: JsonObject) -> A2AStatusUpdate:
    return A2AStatusUpdate(
        task_id=_words(found, "taskId"),
        context_id=_words(found, "contextId"),
        status=_status(found.get("status")),
        metadata=_map(found, "metadata"),
    )


def _artifact_update(found: JsonObject) -> A2AArtifactUpdate:
    return A2AArtifactUpdate(
        task_id=_words(found, "taskId"),
        context_id=_words(found, "contextId"),
        artifact=_artifact(found.get("artifact")),
        append=found.get("append") is True,
        last_chunk=found.get("lastChunk") is True,
        metadata=_map(found, "metadata"),
    )


_EVENTS: Mapping[str, Callable[[JsonObject], A2AEvent]] = {
    "task": decode_task,
    "message": decode_message,
    "statusUpdate": _status_update,
    "artifactUpdate": _artifact_update,
}
_KINDS = {
    "task": "task",
    "message": "message",
    "status-update": "statusUpdate",
    "artifact-update": "artifactUpdate",
}


def _status(value: Json) -> A2AStatus:
    found = _object(value, "the status")
    state = _words(found, "state").removeprefix("TASK_STATE_").lower().replace("_", "-")
    message = found.get("message")
    at = found.get("timestamp")
    return A2AStatus(
        state=_STATES.get(state, "unknown"),
        message=decode_message(message) if isinstance(message, dict) else None,
        at=read_timestamp(at) if isinstance(at, str) else None,
    )


def _artifact(value: Json) -> A2AArtifact:
    found = _object(value, "the artifact")
    return A2AArtifact(
        id=_words(found, "artifactId"),
        parts=tuple(_part(each) for each in _list(found, "parts")),
        name=_words(found, "name"),
        description=_words(found, "description"),
        metadata=_map(found, "metadata"),
    )


def _part(value: Json) -> A2APart:
    found = _object(value, "a part")
    metadata = _map(found, "metadata")
    file = found.get("file")
    if isinstance(file, dict):
        name, media_type = _words(file, "name"), _words(file, "mimeType")
        raw, url = file.get("bytes"), file.get("uri")
    else:
        name, media_type = _words(found, "filename"), _words(found, "mediaType")
        raw, url = found.get("raw"), found.get("url")
    if isinstance(found.get("text"), str):
        return A2AText(text=_words(found, "text"), name=name, media_type=media_type, metadata=metadata)
    if isinstance(raw, str):
        return A2ABytes(data=_bytes(raw), name=name, media_type=media_type, metadata=metadata)
    if isinstance(url, str):
        return A2ALink(url=url, name=name, media_type=media_type, metadata=metadata)
    if "data" in found:
        return A2AData(data=found["data"], name=name, media_type=media_type, metadata=metadata)
    if not found:
        raise UnreadableAnswer("a part is empty")
    return A2AData(data=found, metadata=metadata)  # of a kind that is not known here: the model is shown it as it came


def _bytes(text: str) -> bytes:
    try:
        plain = text.replace("-", "+").replace("_", "/")
        return b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise UnreadableAnswer("the bytes of a part are not base64") from None


def _object(value: Json, what: str) -> JsonObject:
    if not isinstance(value, dict):
        raise UnreadableAnswer(f"{what} is not an object")
    return value


def _text(found: JsonObject, name: str) -> str:
    value = found.get(name)
    if not isinstance(value, str) or not value:
        raise UnreadableAnswer(f"{name} is missing")
    return value


def _words(found: JsonObject, name: str) -> str:
    value = found.get(name)
    return value if isinstance(value, str) else ""


def _map(found: JsonObject, name: str) -> JsonObject:
    value = found.get(name)
    return value if isinstance(value, dict) else {}


def _list(found: JsonObject, name: str) -> list[Json]:
    value = found.get(name)
    if isinstance(value, list) and len(value) > PARTS_MAX:
        raise UnreadableAnswer(f"{name} has more than {PARTS_MAX} entries")
    return value if isinstance(value, list) else []
