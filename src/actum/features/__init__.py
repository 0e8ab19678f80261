"""What a feature is made of: operations, what they are asked and what they answer."""

from __future__ import annotations

from ..core.identity import Identity
from .operation import AnswerKind, ApiReply, ApiRequest, Application, Events, Handler, Operation, StreamEvent
from .refusal import Refusal, not_found

__all__ = [
    "AnswerKind",
    "ApiReply",
    "ApiRequest",
    "Application",
    "Events",
    "Handler",
    "Identity",
    "Operation",
    "Refusal",
    "StreamEvent",
    "not_found",
]
