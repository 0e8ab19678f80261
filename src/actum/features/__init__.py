"""What a feature is made of: operations, what they are asked and what they answer, and how they are typed."""

from __future__ import annotations

from ..core.identity import Identity
from ..core.stores import AddColumn, AddIndex, AddTable, Stores, Table, Transaction
from .command import AnswerText, Command, CommandFlag, CommandOption, FoundBy, ListColumn
from .feature import Feature
from .operation import AnswerKind, ApiReply, ApiRequest, Application, Events, Handler, Operation, StreamEvent
from .refusal import Refusal, not_found

__all__ = [
    "AddColumn",
    "AddIndex",
    "AddTable",
    "AnswerKind",
    "AnswerText",
    "ApiReply",
    "ApiRequest",
    "Application",
    "Command",
    "CommandFlag",
    "CommandOption",
    "Events",
    "Feature",
    "FoundBy",
    "Handler",
    "Identity",
    "ListColumn",
    "Operation",
    "Refusal",
    "Stores",
    "StreamEvent",
    "Table",
    "Transaction",
    "not_found",
]
