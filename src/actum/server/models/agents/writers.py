"""Writes an answer in the words of each API, whole and as a stream. Pure.

    API                 a call that was made here                      what waits for a person
    Chat Completions    a comment in the stream                        words that name the approval
    Responses           an item `mcp_call`                             an item `mcp_approval_request`
    Messages            blocks `mcp_tool_use` and `mcp_tool_result`    `mcp_tool_use` alone, and `pause_turn`
    Gemini              nothing: a comment ends its client             words that name the approval

The calls that the client is to make are told at the end, under ids that are made here.

    API                 at a limit, cancelled   waits for a person                failed, or not of the demanded form
    Chat Completions    `length`                `length`                          an error
    Responses           `incomplete`,           `completed` with the requests     an error and `response.failed`; asked
                        `cancelled`             for approval, or `incomplete`     for again, the status `failed`
    Messages            `max_tokens`            `pause_turn`                      an error
    Gemini              `MAX_TOKENS`, `OTHER`   `OTHER`                           an error

Where the agent cites, Chat Completions and Responses tell what each `[1]` of the text leads to: with a whole answer,
and in a stream where a text ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from ....core.call import TextPart, ToolCall
from ....core.errors import ActumError
from ....core.event import TextDelta
from ....core.json import Json, JsonObject, dumps
from ....core.message import Reply, ReplyPart
from ....core.run.pending import Pending
from ....dialects.api.anthropic.decoder import BLOCKS
from ....dialects.api.anthropic.encoder import MessagesEncoder
from ....dialects.api.openai_chat.dialect import OpenAiChat
from ....dialects.api.openai_responses.encoder import ResponsesEncoder
from ....dialects.base import ApiDialect, Encoder
from ....knowledge.citing.references import QuoteReference
from ..surface import MESSAGES, RESPONSES, Surface
from .annotations import annotations_of, message_annotations
from .answer import Ending, Piece, Said, ServerCall, told_call
from .failure import failure
from .ids import AnswerRef, approval_id, call_id, server_call_id

_encode = msgspec.json.Encoder().encode
BREAK = "\n\n"
"""Stands between two replies of the model where an API has one text for both."""


class AnswerWriter(Protocol):
    """Writes one answer, as a stream or whole."""

    @property
    def comments(self) -> bool:
        """Whether a comment may stand in the stream."""

    def begin(self) -> bytes:
        """What the stream begins with."""

    def piece(self, piece: Piece) -> bytes:
        """The bytes of a piece; may be empty."""

    def end(self, ending: Ending) -> bytes:
        """The end of the stream."""

    def fail(self, error: ActumError) -> bytes:
        """The end of the stream instead, where there is an error."""

    def whole(self, pieces: Sequence[Piece], ending: Ending) -> bytes:
        """The body of a whole answer."""


def open_writer(
    surface: Surface,
    dialect: ApiDialect,
    ref: AnswerRef,
    *,
    agent: str,
    model: str,
    created: int,
    usage: bool = True,
    fields: JsonObject | None = None,
) -> AnswerWriter:
    """The writer for a surface.

    Args:
        surface: the API that was asked.
        dialect: the dialect of the answer.
        ref: the answer.
        agent: the name of the agent.
        model: the name of the model, as the client wrote it.
        created: when the run began, in seconds since 1970.
        usage: whether a stream of Chat Completions ends with the tokens.
        fields: for the Responses API, fields that repeat what the request says.
    """
    if surface is RESPONSES:
        return ResponsesWriter(ref, agent=agent, model=model, created=created, fields=fields or {})
    if surface is MESSAGES:
        return MessagesWriter(ref, agent=agent, model=model)
    return PlainWriter(dialect, ref, model=model, created=created, usage=usage, comments=surface.comments)


class PlainWriter:
    """Writes for Chat Completions, Completions and Gemini, which have no words for calls that a server makes."""

    def __init__(
        self, dialect: ApiDialect, ref: AnswerRef, *, model: str, created: int, usage: bool, comments: bool
    ) -> None:
        id_ = f"chatcmpl-{ref.tail}" if comments else ref.tail
        self.comments = comments
        self._dialect = dialect
        self._created = created
        self._id = id_
        self._model = model
        self._said: list[str] = []
        self._other = "length" if comments else "other"
        self._encoder: Encoder
        if isinstance(dialect, OpenAiChat):
            self._encoder = dialect.encoder(id_=id_, model=model, created=created, include_usage=usage)
        else:
            self._encoder = dialect.encoder(id_=id_, model=model)

    def begin(self) -> bytes:
        """The stream begins with its first words; where a comment is allowed, one tells that the run has begun."""
        return comment("the run has begun") if self.comments else b""

    def piece(self, piece: Piece) -> bytes:
        match piece:
            case Said(text, begins):
                words = (BREAK if begins and self._said else "") + text
                self._said.append(words)
                return self._encoder.feed(TextDelta(words))
            case ServerCall() if self.comments:
                return comment(_encode(told_call(piece)).decode())
            case _:
                return b""

    def end(self, ending: Ending) -> bytes:
        last = last_words(ending)
        words = self.piece(Said(last, begins=True)) if last else b""
        return words + self._encoder.close(self._cited(self._reply(ending, ""), "".join(self._said), ending))

    def fail(self, error: ActumError) -> bytes:
        return self._encoder.fail(error)

    def whole(self, pieces: Sequence[Piece], ending: Ending) -> bytes:
        text = ""
        for piece in pieces:
            if isinstance(piece, Said):
                text += (BREAK if piece.begins and text else "") + piece.text
        last = last_words(ending)
        reply = self._reply(ending, text + (BREAK if text and last else "") + last)
        if isinstance(self._dialect, OpenAiChat):
            return self._dialect.encode_reply(self._cited(reply, reply.text, ending), created=self._created)
        return self._dialect.encode_reply(reply)

    def _cited(self, reply: Reply, text: str, ending: Ending) -> Reply:
        """The reply with the annotations of a text, where the API has them."""
        if not ending.references or not isinstance(self._dialect, OpenAiChat):
            return reply
        annotations: Json = message_annotations(text, ending.references)
        return msgspec.structs.replace(reply, extras={**reply.extras, "annotations": annotations})

    def _reply(self, ending: Ending, text: str) -> Reply:
        calls = [_client_call(ending.run_id, pending, "call") for pending in ending.calls]
        made = Reply.of(text, calls)
        finish = _finish(ending, self._other)
        return msgspec.structs.replace(made, finish_reason=finish, usage=ending.usage, model=self._model, id=self._id)


class MessagesWriter:
    """Writes for the Messages API."""

    comments = True

    def __init__(self, ref: AnswerRef, *, agent: str, model: str) -> None:
        self._agent = agent
        self._id = f"msg_{ref.tail}"
        self._model = model
        self._encoder = MessagesEncoder(id_=self._id, model=model)
        self._dialect = MESSAGES.dialect
        self._run_id = ref.run_id
        self._is_new = False

    def begin(self) -> bytes:
        return self._encoder.begin()

    def piece(self, piece: Piece) -> bytes:
        if isinstance(piece, Said):
            return self._encoder.feed(TextDelta(piece.text))
        return b"".join([self._encoder.show(block) for block in self._blocks(piece)])

    def end(self, ending: Ending) -> bytes:
        last = last_words(ending)
        words = self._encoder.feed(TextDelta(last)) if last else b""
        waiting = b"".join([self._encoder.show(block) for block in self._waiting(ending)])
        calls = [_client_call(ending.run_id, pending, "toolu") for pending in ending.calls]
        return words + waiting + self._encoder.close(self._reply(Reply(tuple(calls)), ending))

    def fail(self, error: ActumError) -> bytes:
        return self._encoder.fail(error)

    def whole(self, pieces: Sequence[Piece], ending: Ending) -> bytes:
        parts: list[ReplyPart | dict[str, object]] = []
        for piece in pieces:
            parts += [TextPart(piece.text)] if isinstance(piece, Said) else self._blocks(piece)
        if last := last_words(ending):
            parts.append(TextPart(last))
        parts += self._waiting(ending)
        parts += [_client_call(ending.run_id, pending, "toolu") for pending in ending.calls]
        content = tuple([part for part in parts if not isinstance(part, dict)])
        alone = {str(at): part for at, part in enumerate(parts) if isinstance(part, dict)}
        reply = Reply(content, extras=msgspec.to_builtins({BLOCKS: {"alone": alone}}) if alone else {})
        return self._dialect.encode_reply(self._reply(reply, ending))

    def _reply(self, reply: Reply, ending: Ending) -> Reply:
        finish = "pause_turn" if ending.how == "waits" else _finish(ending, "length")
        return msgspec.structs.replace(reply, finish_reason=finish, usage=ending.usage, model=self._model, id=self._id)

    def _blocks(self, made: ServerCall) -> list[dict[str, object]]:
        id_ = server_call_id(self._run_id, made.place, "mcptoolu")
        result = {
            "type": "mcp_tool_result",
            "tool_use_id": id_,
            "is_error": made.result.error is not None,
            "content": [{"type": "text", "text": made.result.text, "citations": []}],
        }
        return [self._use(id_, made.call), result]

    def _waiting(self, ending: Ending) -> list[dict[str, object]]:
        return [
            self._use(server_call_id(ending.run_id, place, "mcptoolu"), pending.call)
            for pending, place in ending.waiting
            if pending.call is not None
        ]

    def _use(self, id_: str, call: ToolCall) -> dict[str, object]:
        return {
            "type": "mcp_tool_use",
            "id": id_,
            "name": call.name,
            "server_name": self._agent,
            "input": call.arguments,
        }


class ResponsesWriter:
    """Writes for the Responses API."""

    comments = True

    def __init__(self, ref: AnswerRef, *, agent: str, model: str, created: int, fields: JsonObject) -> None:
        self._agent = agent
        self._run_id = ref.run_id
        self._encoder = ResponsesEncoder(id_=f"resp_{ref.tail}", model=model, created=created, fields=fields)

    def begin(self) -> bytes:
        return self._encoder.begin()

    def piece(self, piece: Piece) -> bytes:
        if isinstance(piece, Said):
            return self._encoder.feed(TextDelta(piece.text))
        told = self._annotated(piece.references)
        item = self._item(piece)
        arguments: JsonObject = {"arguments": item["arguments"]}
        how = "failed" if item["error"] else "completed"
        between: list[tuple[str, JsonObject]] = [
            ("response.mcp_call.in_progress", {}),
            ("response.mcp_call_arguments.delta", {"delta": item["arguments"]}),
            ("response.mcp_call_arguments.done", arguments),
            (f"response.mcp_call.{how}", {}),
        ]
        # Clients put the arguments together from the deltas, as they come from OpenAI: none stand at the beginning.
        begins = {**item, "arguments": "", "output": None, "error": None, "status": "in_progress"}
        return told + self._encoder.show(item, between, begins)

    def _annotated(self, references: Sequence[QuoteReference]) -> bytes:
        """Annotate what was told. An open text is about to end, and its annotations come before."""
        return self._encoder.annotate(lambda text: annotations_of(text, references)) if references else b""

    def end(self, ending: Ending) -> bytes:
        only_approvals = ending.how == "waits" and all(pending.kind == "approval" for pending, _ in ending.waiting)
        last = "" if only_approvals else last_words(ending)
        words = self._encoder.feed(TextDelta(last)) if last else b""
        words += self._annotated(ending.references)
        asked = b"".join([self._encoder.show(item) for item in self._asked(ending)])
        calls = [_client_call(ending.run_id, pending, "call") for pending in ending.calls]
        finish = "stop" if only_approvals else _finish(ending, "length")
        reply = Reply(tuple(calls), finish_reason=finish, usage=ending.usage)
        if ending.how == "cancelled":
            return words + asked + self._encoder.break_off("cancelled", reply)
        return words + asked + self._encoder.close(reply)

    def fail(self, error: ActumError) -> bytes:
        return self._encoder.fail(error) + self._encoder.break_off("failed", Reply(), str(error))

    def whole(self, pieces: Sequence[Piece], ending: Ending) -> bytes:
        for piece in pieces:
            self.piece(piece)
        if ending.how == "failed":
            self._encoder.feed(TextDelta(last_words(ending)))
            self._encoder.break_off("failed", Reply(usage=ending.usage), str(failure(ending)))
            return _encode(self._encoder.response)
        self.end(ending)
        response = self._encoder.response
        return _encode(response | {"status": "in_progress"} if ending.how == "running" else response)

    def _item(self, made: ServerCall) -> JsonObject:
        error = made.result.error
        return {
            "id": server_call_id(self._run_id, made.place),
            "type": "mcp_call",
            "approval_request_id": None,
            "arguments": dumps(made.call.arguments),
            "error": error.message if error is not None else None,
            "name": made.call.name,
            "output": None if error is not None else made.result.text,
            "server_label": self._agent,
            "status": "failed" if error is not None else "completed",
        }

    def _asked(self, ending: Ending) -> list[JsonObject]:
        return [
            {
                "id": approval_id(ending.run_id, pending.id),
                "type": "mcp_approval_request",
                "arguments": dumps(pending.call.arguments),
                "name": pending.call.name,
                "server_label": self._agent,
            }
            for pending, _ in ending.waiting
            if pending.kind == "approval" and pending.call is not None
        ]


def comment(text: str) -> bytes:
    """A comment in a stream of events, which no client takes for a part of the answer."""
    return b"".join([f": {line}\n".encode() for line in text.splitlines() or [""]]) + b"\n"


def last_words(ending: Ending) -> str:
    """What is said at the end of an answer beyond the model's words."""
    if ending.how != "waits":
        return ending.text
    asked = ", ".join([pending.id for pending, _ in ending.waiting])
    return f"{ending.text} [{asked}; {ending.run_id}]".strip()


def _client_call(run_id: str, pending: Pending, prefix: str) -> ToolCall:
    assert pending.call is not None
    return msgspec.structs.replace(pending.call, id=call_id(run_id, pending.id, prefix), signature="")


def _finish(ending: Ending, other: str) -> str:
    """Why an answer ends, in a word that the encoders know.

    Args:
        ending: how it ends.
        other: the word for an answer that was cut short, and not at a limit.
    """
    if ending.how == "stopped":
        return "content_filter" if ending.reason == "content_filter" else "length"
    return other if ending.is_cut else "stop"
