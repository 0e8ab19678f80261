"""A body that goes to the API that it came from: every byte of it, but for the model's name, where that is changed.

Pure. A stream is passed on event by event, and is read beside that, so that an error in it and an early end are known.
"""

from __future__ import annotations

import re

from ...core.errors import ModelError, ModelUnavailable
from ...core.json import Json, JsonProblem
from ..api.model_errors import read_json
from ..base import ApiDialect
from .one_field import with_field

_MODEL_OF_REQUEST = {"openai_chat": "model", "openai_responses": "model", "anthropic_messages": "model"}
"""Where a request names the model; at Gemini its address does."""

_MODEL_OF_ANSWER = {
    "openai_chat": (("model",),),
    "openai_responses": (("model",), ("response", "model")),
    "anthropic_messages": (("model",), ("message", "model")),
    "gemini_content": (("modelVersion",),),
}
"""Where an answer, or an event of a stream, names the model."""

_BLANK = b"\xef\xbb\xbf \t\r\n"
_END_OF_EVENT = re.compile(rb"(?>\r\n|\n|\r){2}")
_DATA = re.compile(rb"^data:[ ]?", re.MULTILINE)


def request_to_same(wire: bytes, api: str, model: str) -> bytes:
    """The request, for another model where one is named."""
    field = _MODEL_OF_REQUEST.get(api)
    return with_field(wire, [field], model, insert=True) if model and field else wire


def answer_to_same(wire: bytes, api: str, model: str) -> bytes:
    """The answer, or the data of an event, as if this model had answered."""
    for path in _MODEL_OF_ANSWER.get(api, ()) if model else ():
        wire = with_field(wire, path, model)
    return wire


def is_object(wire: bytes) -> bool:
    """Whether a body is a JSON object."""
    try:
        body: Json = read_json(wire)
    except JsonProblem:
        return False
    return isinstance(body, dict)


class SameApiStream:
    """Passes a stream on.

    Args:
        dialect: that the stream is in.
        api: the name of the API.
        model: to write in place of the one that answered; empty to leave it.

    Attributes:
        error: that the stream tells of an error, or broke off.
    """

    def __init__(self, dialect: ApiDialect, api: str, model: str) -> None:
        self.error: ModelError | None = None
        self._dialect = dialect
        self._api = api
        self._model = model
        self._decoder = dialect.decoder()
        self._began = False
        self._is_body = False
        self._line_feed_is_due = False
        self._pieces: list[bytes] = []

    def feed(self, chunk: bytes) -> bytes:
        """Take the next piece, and return the events that are whole by now."""
        self._pieces.append(chunk)
        ends_no_line = b"\n" not in chunk and b"\r" not in chunk
        if self._is_body or (self._began and ends_no_line and not self._line_feed_is_due):
            return b""
        rest = b"".join(self._pieces)
        if not self._began and (begin := rest.lstrip(_BLANK)):
            self._began, self._is_body = True, begin.startswith((b"{", b"["))
        self._pieces = [rest]
        return self._whole_events(rest, len(chunk)) if self._began and not self._is_body else b""

    def _whole_events(self, rest: bytes, new: int) -> bytes:
        """The events that are whole. The last `new` bytes have just come."""
        told, at = [], 0
        if self._line_feed_is_due and rest.startswith(b"\n"):  # of the line end that began with a CR
            told, at = [b"\n"], 1
        for end in _END_OF_EVENT.finditer(rest, max(at, len(rest) - new - 3)):
            told.append(self._event(rest[at : end.end()]))
            at = end.end()
        ends_with_cr = told[-1].endswith(b"\r") if told else self._line_feed_is_due
        self._line_feed_is_due = ends_with_cr and at == len(rest)
        self._pieces = [rest[at:]]
        return b"".join(told)

    def close(self) -> bytes:
        """The stream is at its end: return the rest, or, where it broke off, the event that says so."""
        rest, self._pieces = b"".join(self._pieces), []
        if self._is_body:
            self._hear(rest)
            self._end()
            return answer_to_same(rest, self._api, self._model)
        self._hear(rest)
        self._end()
        if self.error is None:
            return self._changed(rest)
        if self._told_of_error:
            return rest
        return _last_event(self._dialect.encoder().fail(self.error))  # in place of an event that is torn

    _told_of_error = False
    """The stream says itself that there is an error."""

    def _event(self, event: bytes) -> bytes:
        self._hear(event)
        return self._changed(event)

    def _hear(self, wire: bytes) -> None:
        if self.error is None:
            try:
                self._decoder.feed(wire)
            except ModelError as error:
                self.error, self._told_of_error = error, True

    def _end(self) -> None:
        if self.error is None:
            try:
                self._decoder.close()
            except ModelError as error:
                self.error, self._told_of_error = error, self._is_body
        if self.error is None and not self._decoder.ended:
            self.error = ModelUnavailable("the answer broke off")

    def _changed(self, event: bytes) -> bytes:
        """The event with the model's name changed; one whose data stand in several lines has none to change."""
        places = list(_DATA.finditer(event))
        if not self._model or len(places) != 1:
            return event
        begin = places[0].end()
        data = event[begin:].rstrip(b"\r\n")
        return event[:begin] + answer_to_same(data, self._api, self._model) + event[begin + len(data) :]


def _last_event(wire: bytes) -> bytes:
    """Without the events by which an answer begins: this one has begun."""
    return wire.rstrip(b"\n").rpartition(b"\n\n")[2] + b"\n\n"
