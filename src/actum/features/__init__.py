"""What a feature is made of: operations, what they are asked and what they answer, and how they are typed."""

from __future__ import annotations

from ..core.definition import BadText, DefinitionChange, ReadDefinition, TextProblem
from ..core.identity import Identity
from ..core.stores import AddColumn, AddIndex, AddTable, RecordPlace, RecordView, RunView, Stores, Table, Transaction
from .command import AnswerText, Command, CommandFlag, CommandOption, FoundBy, ListColumn
from .definition import DefinitionKind
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
    "BadText",
    "Command",
    "CommandFlag",
    "CommandOption",
    "DefinitionChange",
    "DefinitionKind",
    "Events",
    "Feature",
    "FoundBy",
    "Handler",
    "Identity",
    "ListColumn",
    "Operation",
    "ReadDefinition",
    "RecordPlace",
    "RecordView",
    "Refusal",
    "RunView",
    "Stores",
    "StreamEvent",
    "Table",
    "TextProblem",
    "Transaction",
    "not_found",
]
