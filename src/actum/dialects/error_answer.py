"""Tells a client of a model API that there is no answer: as an HTTP answer, or as an event in mid-stream. Pure.

The status decides which exception an official client raises, and whether it asks again; in a stream, which began with
200, the API's own word for the status does, where it has one. What a client is told is the message of the error, which
our own code wrote; of an error that is not meant for the other side (the journal's, a bug) it learns nothing but that.
"""

from __future__ import annotations

import math

import msgspec
from msgspec import Struct

from ..core.errors import (
    ActumError,
    BudgetExceeded,
    CallError,
    CallTimeout,
    ContextOverflow,
    ModelError,
    ModelGarbled,
    ModelRejected,
    ModelUnavailable,
    PermissionDenied,
    RateLimited,
    RunFailed,
    Unavailable,
    UnknownName,
    UsageError,
)
from ..core.json import JsonObject

_STATUS: tuple[tuple[type[ActumError], int], ...] = (
    (UnknownName, 404),
    (UsageError, 400),
    (ModelRejected, 400),
    (ModelUnavailable, 503),
    (ModelGarbled, 502),
    (PermissionDenied, 403),
    (RateLimited, 429),
    (BudgetExceeded, 429),
    (Unavailable, 503),
    (CallTimeout, 504),
)
"""What an error means in HTTP, where it does not say so itself; all others 500."""

_OPENAI = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
_OPENAI_CODES = {401: "invalid_api_key", 429: "rate_limit_exceeded"}
_ANTHROPIC = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_GEMINI = {
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
    529: "UNAVAILABLE",
}


class ThreadsNotServed(UsageError):
    """A client of the Messages API wants its conversation stored and names the rest of it by an id. The official client
    knows this error by its code, and sends the whole conversation instead.

    Source: Messages API, `thread_unsupported_request`.
    """

    def __init__(self) -> None:
        super().__init__("thread: conversations are not stored here; send all messages, and no thread")


class NotStored(UnknownName):
    """A client of the Responses API names by its id what is not stored for this caller. Clients know this error by its
    field and its code.

    Args:
        message, values: as of every error.
        field: of the request, in which the id is.
        code: what OpenAI calls this error; empty where it has no name.
        status: of HTTP.

    Source: Responses API, `previous_response_not_found`.
    """

    def __init__(self, message: str, /, *, field: str, code: str = "", status: int = 404, **values: object) -> None:
        super().__init__(message, **values)
        self.field, self.code, self.status = field, code, status


def no_item(id_: str) -> NotStored:
    """There is no item of this id for the caller."""
    return NotStored(
        "Item with id {item_id!r} not found. Items are not persisted when `store` is set to false, and not for every "
        "model. Send the item itself in the place of its id, as clients do with `store` set to false.",
        field="input",
        item_id=id_[:100],
    )


def no_previous_response(id_: str) -> NotStored:
    """There is no response of this id for the caller."""
    return NotStored(
        "Previous response with id {response_id!r} not found. Responses are not persisted when `store` is set to "
        "false, and not for every model.",
        field="previous_response_id",
        code="previous_response_not_found",
        status=400,
        response_id=id_[:100],
    )


class ErrorAnswer(Struct, frozen=True):
    """An HTTP answer that says why there is none.

    Attributes:
        status: of HTTP, from 400 on.
        headers: content type, and when to come back.
        body: JSON.
    """

    status: int
    headers: dict[str, str]
    body: bytes


def error_answer(error: ActumError, body: JsonObject) -> ErrorAnswer:
    """The answer with this body."""
    headers = {"content-type": "application/json"}
    wait_s = _retry_after(error)
    if wait_s is not None:
        headers["retry-after"] = str(math.ceil(wait_s))  # RFC 9110 §10.2.3: whole seconds
    return ErrorAnswer(status_of(error), headers, msgspec.json.encode(body))


def status_of(error: ActumError) -> int:
    """The HTTP status that an error means: its own, where it is one of errors."""
    if isinstance(error, ModelError) and error.status is not None and 400 <= error.status < 600:
        return error.status
    if isinstance(error, NotStored):
        return error.status
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def openai_error(error: ActumError) -> JsonObject:
    """The value of `error` in OpenAI's APIs."""
    status = status_of(error)
    kind = _OPENAI.get(status, "server_error" if _is_ours(error, status) else "invalid_request_error")
    code = "context_length_exceeded" if isinstance(error, ContextOverflow) else _OPENAI_CODES.get(status)
    code = error.code if isinstance(error, RunFailed) else code
    if isinstance(error, NotStored):
        code, kind = error.code or None, "invalid_request_error"
        return {"message": _message(error), "type": kind, "param": error.field, "code": code}
    return {"message": _message(error), "type": kind, "param": None, "code": code}


def anthropic_error(error: ActumError) -> JsonObject:
    """The body of an error of the Messages API, which is an event of its stream too."""
    status = status_of(error)
    kind = _ANTHROPIC.get(status, "api_error" if _is_ours(error, status) else "invalid_request_error")
    said: JsonObject = {"type": kind, "message": _message(error)}
    if isinstance(error, ThreadsNotServed):
        said["details"] = {"error_code": "thread_unsupported_request", "unsupported": None}
    return {"type": "error", "error": said}


def gemini_error(error: ActumError) -> JsonObject:
    """The body of an error of the Gemini API. It says here when to come back, and the official client looks here."""
    status = status_of(error)
    kind = _GEMINI.get(status, "INTERNAL" if _is_ours(error, status) else "INVALID_ARGUMENT")
    said: JsonObject = {"code": status, "message": _message(error), "status": kind}
    wait_s = _retry_after(error)
    if wait_s is not None:
        said["details"] = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{wait_s:g}s"}]
    return {"error": said}


def ollama_error(error: ActumError) -> JsonObject:
    """The body of an error of Ollama's API, which is a line of its stream too."""
    return {"error": _message(error)}


def _is_ours(error: ActumError, status: int) -> bool:
    """Whether the fault is not the request's. The status of a run that failed only keeps clients from repeating it."""
    return status >= 500 or (isinstance(error, RunFailed) and status == 422)


def _message(error: ActumError) -> str:
    return str(error) if isinstance(error, ModelError | UsageError | CallError) else "internal error"


def _retry_after(error: ActumError) -> float | None:
    return error.retry_after if isinstance(error, ModelError | CallError) else None
