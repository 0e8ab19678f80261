"""A conversation for a model that only reads and writes text: instructions, past calls and results as text.

How a call and a result are written is each dialect's; this is what they share. What was written of a past message stays
as it is: a run's history is not written anew at each step, see `Transcript.follow`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import structs

from ...core.call import MediaPart, TextPart, ToolCall
from ...core.message import (
    Message,
    Reply,
    SystemMessage,
    ToolMessage,
    Transcript,
    UserMessage,
)
from ...core.model import Request
from .wording import Language, describe_wishes

WriteReply = Callable[[Reply], Sequence[TextPart | MediaPart]]
"""Writes what the model said."""
WriteResult = Callable[[ToolMessage, ToolCall | None, bool], Iterable[TextPart | MediaPart]]
"""Writes a result, given its call and whether it is the first of its turn."""
Writers = tuple[WriteReply, WriteResult]


def instructions(request: Request, rules: str, language: Language) -> str:
    """What the model is told of its tools and of the request's wishes; empty where there are no tools."""
    if not request.tools:
        return ""
    wishes = describe_wishes(request, language)
    return "\n\n".join((rules, *wishes)) if wishes else rules


def as_text(messages: Sequence[Message], dialect: str, told: str, writers: Callable[[], Writers]) -> Sequence[Message]:
    """The messages with calls as text, and the results of a turn as one message in the user's role.

    A message of the user that follows the results is joined to them: many models refuse two in a row.

    Args:
        messages: the conversation.
        dialect: the name under which what was written is kept.
        told: the instructions; they stand behind the developer's, in one system message.
        writers: makes what writes a reply and a result. They get both in order, so they may remember what they wrote.
    """
    if isinstance(messages, Transcript):
        return messages.follow(dialect, told, lambda: _TextHistory(told, writers())).transcript
    history = _TextHistory(told, writers())
    history.extend(messages)
    return tuple(history.transcript)


class _TextHistory:
    """A conversation as text, written piece by piece."""

    def __init__(self, told: str, writers: Writers) -> None:
        self.transcript = Transcript()
        self._told = told
        self._writers = writers

    def extend(self, messages: Sequence[Message]) -> None:
        written = list(_written(messages, *self._writers))
        if self._told and not self.transcript:
            written = with_instructions(written, self._told)
        self.transcript.extend(written)


def with_instructions(messages: list[Message], told: str) -> list[Message]:
    """The messages with instructions behind the developer's, in one system message: many models take no second."""
    own: list[str] = []
    for message in messages:
        if not isinstance(message, SystemMessage):
            break
        own.append(message.text)
    return [SystemMessage("\n\n".join((*own, told))), *messages[len(own) :]]


def without_tools(request: Request, messages: Sequence[Message]) -> Request:
    """The request with other messages, and without what the messages now say in words."""
    schema = None if request.tools else request.output_schema
    return structs.replace(
        request, messages=messages, tools=(), tool_choice="auto", parallel_calls=None, output_schema=schema
    )


def _written(messages: Sequence[Message], reply_parts: WriteReply, result_parts: WriteResult) -> Iterator[Message]:
    calls: dict[str, ToolCall] = {}
    results: list[TextPart | MediaPart] = []
    for message in messages:
        match message:
            case ToolMessage():
                results += result_parts(message, calls.get(message.result.call_id), not results)
                continue
            case UserMessage():
                yield UserMessage((*results, *message.content)) if results else message
            case SystemMessage():
                if results:
                    yield UserMessage(tuple(results))
                yield message
            case Reply():
                if results:
                    yield UserMessage(tuple(results))
                calls = {call.id: call for call in message.calls}
                yield structs.replace(message, content=tuple(reply_parts(message)))
        results = []
    if results:
        yield UserMessage(tuple(results))
