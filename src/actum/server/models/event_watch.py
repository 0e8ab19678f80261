"""Reads a stream that is passed on: its events, whole; its usage; whether and why it came to its end. Pure.

Nearly every event goes through unread: a few bytes of it are looked for, and only the first event, and one that may
hold the usage, an error or the end of the answer, is decoded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec
from msgspec import Struct

from ...core.errors import ModelError, ModelGarbled
from ...core.json import Json, JsonProblem
from ...core.message import Usage
from ...dialects.api.model_errors import error_of_event, error_of_field, read_json
from ...dialects.api.token_count import count
from .answer_end import AnswerEnd

EVENT_BYTES_MAX = 16 * 1024 * 1024
"""An event that is longer, such as one with a picture, ends the stream."""

_END_OF_EVENT = re.compile(rb"(?>\r\n|\n|\r){2}")
_DATA = re.compile(rb"^data:[ ]?(.*)$", re.MULTILINE)
_USAGE = re.compile(rb'"usage(?:Metadata)?"\s*:\s*\{')
_ERROR = re.compile(rb'"error"\s*:\s*[{"]|"type"\s*:\s*"(?:error|response\.failed)"')
_END = re.compile(
    rb"^data: ?\[DONE\]|"
    rb'"type"\s*:\s*"(?:message_stop|response\.(?:completed|incomplete|failed))"|"finish_?[rR]eason"\s*:\s*"',
    re.MULTILINE,
)
_TEXT = rb'"\s*:\s*"((?>[^"\\]+|\\.)*+)"'
SAID_AS_DELTA = re.compile(rb'"delta' + _TEXT, re.DOTALL)
"""What a model says in a stream of Responses, which repeats each text when it is over."""
SAID_AS_TEXT = re.compile(
    rb'"(?:arguments|content|partial_json|reasoning|reasoning_content|refusal|text|thinking)' + _TEXT, re.DOTALL
)
"""What a model says in the streams of all other APIs, and in whole answers of all."""


class EventWatch:
    """Takes a stream piece by piece, and gives its whole events.

    Args:
        drops_usage: leave the event of a Chat stream out that has the usage and nothing else, since the client did not
            ask for that event.
        said_as: finds what the model says; None where nobody wants to know how much that is.

    Attributes:
        ended: whether the answer came to its own end.
        end: which model has answered, and why it stopped.
        error: the error that the stream told of.
        said_bytes: the bytes of what the model has said.
    """

    def __init__(self, *, drops_usage: bool = False, said_as: re.Pattern[bytes] | None = None) -> None:
        self._drops_usage = drops_usage
        self._said_as = said_as
        self.said_bytes = 0
        self._rest = bytearray()
        self._usages: list[bytes] = []
        self._has_begun = False
        self.ended = False
        self.end = AnswerEnd()
        self.error: ModelError | None = None

    def feed(self, piece: bytes) -> bytes:
        """The events that are whole by now.

        Raises:
            ModelGarbled: an event is too long.
        """
        if not self._rest and piece.endswith((b"\n\n", b"\r\n\r\n")):  # nearly always
            return self._look(piece)
        since = max(0, len(self._rest) - 3)  # no byte is looked at for each piece that comes after it
        self._rest += piece
        if len(self._rest) > EVENT_BYTES_MAX:
            raise ModelGarbled("an event of the stream is longer than {most} bytes", most=EVENT_BYTES_MAX)
        cut = _whole(self._rest, since)
        if not cut:
            return b""
        events = bytes(self._rest[:cut])
        del self._rest[:cut]
        return self._look(events)

    def close(self) -> bytes:
        """End the stream.

        Returns the rest, if it is an event that lacks only its last blank line. A torn event is dropped.
        """
        rest, self._rest = bytes(self._rest), bytearray()
        if not rest.strip():
            return b""
        for data in _data(rest):
            if data != b"[DONE]" and not isinstance(_json(data), dict):
                return b""
        return self._look(rest.rstrip(b"\r\n") + b"\n\n")

    @property
    def held(self) -> int:
        """How many bytes wait for the end of their event."""
        return len(self._rest)

    @property
    def usage(self) -> Usage:
        """The tokens that the stream has told of."""
        found = Usage()
        for event in self._usages:
            for data in _data(event):
                found = _later(found, usage_of(_json(data)))
        return found

    def _look(self, events: bytes) -> bytes:
        if self._said_as is not None:
            self.said_bytes += sum(map(len, self._said_as.findall(events)))
        if not self._has_begun and (first := next((each for each in _events(events) if _data(each)), b"")):
            self._has_begun = True
            self._read_end(first)
        if _END.search(events):
            self.ended = True
            for event in _events(events):
                if _END.search(event):
                    self._read_end(event)
        if self.error is None and _ERROR.search(events):
            self.error = _error_in(events)
        if _USAGE.search(events) is None:
            return events
        kept = []
        for event in _events(events):
            if _USAGE.search(event) is not None:
                self._usages = [*self._usages[:1], event]
                if not self.end.model or b'"stop_reason"' in event:  # some say the usage in each event
                    self._read_end(event)
                if self._drops_usage and _is_usage_alone(event):
                    continue
            kept.append(event)
        return b"".join(kept)

    def _read_end(self, event: bytes) -> None:
        for data in _data(event):
            self.end.read(data)


class _WholeAnswer(Struct):
    usage: Json = None
    usageMetadata: Json = None  # noqa: N815  # as Google writes it


_read_whole = msgspec.json.Decoder(_WholeAnswer).decode


def usage_of_answer(body: bytes) -> Usage | None:
    """The tokens that a whole answer tells of; None where the answer is not a JSON object."""
    try:
        found = _read_whole(body)
    except (ValueError, RecursionError):
        return None
    return usage_of({"usage": found.usage, "usageMetadata": found.usageMetadata})


def said_in_answer(body: bytes) -> int:
    """The bytes of what the model says in a whole answer."""
    return sum(map(len, SAID_AS_TEXT.findall(body)))


def usage_of(body: Json) -> Usage:
    """The tokens that an answer, or an event of a stream, tells of, in the form of any API.

    >>> usage_of({"usage": {"input_tokens": 5, "cache_read_input_tokens": 3, "output_tokens": 2}}).input_tokens
    8
    """
    if not isinstance(body, dict):
        return Usage()
    for inner in ("response", "message"):
        head = body.get(inner)
        if isinstance(head, dict):
            body = head
    google = body.get("usageMetadata")
    if isinstance(google, dict):
        thought = count(google.get("thoughtsTokenCount"))
        return Usage(
            count(google.get("promptTokenCount")) + count(google.get("toolUsePromptTokenCount")),
            count(google.get("candidatesTokenCount")) + thought,
            count(google.get("cachedContentTokenCount")),
            thought,
        )
    told = body.get("usage")
    if not isinstance(told, dict):
        return Usage()
    read, written = count(told.get("cache_read_input_tokens")), count(told.get("cache_creation_input_tokens"))
    cached = read or _inner(told, "prompt_tokens_details", "cached_tokens")
    thought = _inner(told, "completion_tokens_details", "reasoning_tokens")
    return Usage(
        count(told.get("prompt_tokens")) or count(told.get("input_tokens")) + read + written,
        count(told.get("completion_tokens")) or count(told.get("output_tokens")),
        cached or _inner(told, "input_tokens_details", "cached_tokens"),
        thought or _inner(told, "output_tokens_details", "reasoning_tokens"),
        cache_written_tokens=written
        or _inner(told, "prompt_tokens_details", "cache_write_tokens")
        or _inner(told, "input_tokens_details", "cache_write_tokens"),
    )


def _inner(told: Mapping[str, Json], group: str, name: str) -> int:
    details = told.get(group)
    return count(details.get(name)) if isinstance(details, dict) else 0


def _later(before: Usage, after: Usage) -> Usage:
    """What two events of a stream tell together: each counts from the beginning, and a later one may leave out what
    an earlier one said."""
    return Usage(
        max(before.input_tokens, after.input_tokens),
        max(before.output_tokens, after.output_tokens),
        max(before.cached_tokens, after.cached_tokens),
        max(before.reasoning_tokens, after.reasoning_tokens),
        cache_written_tokens=max(before.cache_written_tokens, after.cache_written_tokens),
    )


def _whole(held: bytearray, since: int) -> int:
    """Where the last whole event ends."""
    end = 0
    for found in _END_OF_EVENT.finditer(held, since):
        end = found.end()
    return end


def _events(events: bytes) -> Iterator[bytes]:
    at = 0
    for end in _END_OF_EVENT.finditer(events):
        yield events[at : end.end()]
        at = end.end()
    if at < len(events):
        yield events[at:]


def _data(event: bytes) -> list[bytes]:
    """The data of the events in these bytes."""
    plain = event.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return [b"\n".join(lines) for each in _events(plain) if (lines := _DATA.findall(each))]


def _json(data: bytes) -> Json:
    try:
        return read_json(data)
    except JsonProblem:
        return None


def _is_usage_alone(event: bytes) -> bool:
    found = [_json(data) for data in _data(event)]
    return len(found) == 1 and isinstance(found[0], dict) and found[0].get("choices") == []


def _error_in(events: bytes) -> ModelError | None:
    for data in _data(events):
        if _ERROR.search(data) is None:
            continue
        body = _json(data)
        head = body.get("response") if isinstance(body, dict) else None
        if isinstance(head, dict) and head.get("error"):
            return error_of_field(head["error"])
        try:
            if (error := error_of_event(data)) is not None:
                return error
        except JsonProblem:
            continue
    return None
