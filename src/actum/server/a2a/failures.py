"""What a caller is told of an error: a table of errors of A2A. No answer contains the text of an exception of other
code.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from a2a.utils.errors import (
    A2AError,
    InternalError,
    InvalidParamsError,
    TaskNotFoundError,
    UnsupportedOperationError,
)

from ...core.errors import (
    BudgetExceeded,
    Busy,
    LoopDetected,
    PermissionDenied,
    UnknownName,
    UsageError,
)
from ...features.refusal import Refusal
from ..refusal import HttpRefusal
from .answers import DoesNotAnswer

log = logging.getLogger("actum.server.a2a")

FINISHED = "The task has ended: it takes no more messages. Send a message without a task to begin a new task."
WORKING = "The task is being worked on: it takes a message when it waits for input."
BUSY = "Another task of this context is being worked on. Try again when it waits or has ended."


class NotAllowed(A2AError):
    """The caller may not use this agent, or may not do this."""

    message = "This key may not do this"


class ServerStops(A2AError):
    """The server is about to end."""

    message = "The server stops. Try again in a moment."


_TOLD: Sequence[tuple[type[Exception], type[A2AError], str]] = (
    (
        LoopDetected,
        UnsupportedOperationError,
        "This agent waits for this very task already: it can not be given the task again.",
    ),
    (BudgetExceeded, UnsupportedOperationError, "Agents stand too deep already, one under another."),
    (PermissionDenied, NotAllowed, "This user may not use this agent."),
    (UnknownName, TaskNotFoundError, ""),
    (Busy, UnsupportedOperationError, BUSY),
    (UsageError, InvalidParamsError, "The request can not be carried out as it is."),
)
"""What is told of each error; the first line that fits."""

_OF_REFUSAL: Mapping[int, tuple[type[A2AError], str]] = {
    403: (NotAllowed, ""),
    404: (TaskNotFoundError, ""),
    409: (UnsupportedOperationError, ""),
    503: (ServerStops, ""),
}


def failure_of(error: Exception) -> A2AError:
    """What a caller is told of an error; `InternalError` for all that nobody expected, which goes to the log.

    Args:
        error: what was raised while a request was answered.
    """
    if isinstance(error, A2AError):
        return error
    if isinstance(error, DoesNotAnswer):  # its words are for the caller
        return InvalidParamsError(str(error))
    if isinstance(error, Refusal | HttpRefusal):
        status = error.details.status if isinstance(error, Refusal) else error.status
        if status == 422 and isinstance(error, Refusal):  # its words are for the caller
            return InvalidParamsError(error.details.detail)
        kind, words = _OF_REFUSAL.get(status, (InternalError, ""))
        return kind(words or None)
    for known, kind, words in _TOLD:
        if isinstance(error, known):
            return kind(words or None)
    log.error("a request of A2A failed", exc_info=error)
    return InternalError()
