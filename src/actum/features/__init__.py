"""What a feature is made of: operations, what they are asked and what they answer, and how they are typed."""

from __future__ import annotations

from ..core.identity import Identity
from .command import AnswerText, Command, CommandOption, FoundBy, ListColumn
from .operation import AnswerKind, ApiReply, ApiRequest, Application, Events, Handler, Operation, StreamEvent
from .refusal import Refusal, not_found

__all__ = [
    "AnswerKind",
    "AnswerText",
    "ApiReply",
    "ApiRequest",
    "Application",
    "Command",
    "CommandOption",
    "Events",
    "FoundBy",
    "Handler",
    "Identity",
    "ListColumn",
    "Operation",
    "Refusal",
    "StreamEvent",
    "not_found",
]
