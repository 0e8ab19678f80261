"""Reads the answer of any model API in any cut: finds the events of a stream, or the body that came in their place.

Endpoints answer a streaming request with a whole body and the other way round: the first byte tells which it is. What
an event says is for the `ApiAnswer` of the API. Pure.
"""

from __future__ import annotations

from typing import Protocol

from ...core.errors import ModelGarbled
from ...core.event import Delta
from ...core.json import JsonProblem
from ...core.message import Reply
from ...protocols.sse import SseReader
from ..base import ApiDecoder
from .draft import Draft

_BLANK = b"\xef\xbb\xbf \t\r\n"
_END = b"[DONE]"
"""Not JSON, and the last event of many streams, also where the API's own has another end."""


class ApiAnswer(Protocol):
    """An answer of one API, as it is read into a draft. Each may raise a `ModelError`.

    Attributes:
        KIND: what it should be, in a few words.
    """

    KIND: str
    draft: Draft

    def read_event(self, data: bytes) -> None:
        """Take the data of an event.

        Raises:
            JsonProblem: it is no JSON.
        """

    def read_body(self, body: bytes) -> None:
        """Take an answer that came as a whole.

        Raises:
            JsonProblem: it is no JSON.
        """

    def finish(self) -> None:
        """Nothing more will come: tell the calls that were not told."""

    @property
    def reply(self) -> Reply:
        """All that was said so far."""


class AnswerReader:
    """Reads one answer; see `base.ApiDecoder`."""

    def __init__(self, answer: ApiAnswer) -> None:
        self._answer = answer
        self._draft = answer.draft
        self._sse = SseReader()
        self._began = False
        self._body: list[bytes] | None = None

    @property
    def ended(self) -> bool:
        """The answer came to its own end."""
        return self._draft.ended

    @property
    def reply(self) -> Reply:
        """All that was said so far."""
        return self._answer.reply

    def feed(self, chunk: bytes | str) -> list[Delta]:
        """Take the next piece.

        Raises:
            ModelError: the stream tells of an error.
            ModelGarbled: an event that is not of this API.
        """
        if isinstance(chunk, str):
            chunk = chunk.encode("utf-8", "replace")
        if not self._began:
            chunk = chunk.lstrip(_BLANK)
            if not chunk:
                return []
            self._began = True
            if chunk.startswith((b"{", b"[")):
                self._body = []
        if self._body is not None:
            self._body.append(chunk)
            return []
        for event in self._sse.feed(chunk):
            self._read(event.data)
        return self._draft.take()

    def close(self) -> list[Delta]:
        """The input is at its end.

        Raises:
            ModelGarbled: what came is not an answer of this API.
        """
        if self._body is not None:
            body, self._body = b"".join(self._body), None
            try:
                self._answer.read_body(body)
            except JsonProblem:
                raise ModelGarbled("the endpoint's answer is no JSON, or broke off") from None
        for event in self._sse.close():
            self._read(event.data, may_be_torn=True)
        if self._began and not self._draft.understood:
            raise ModelGarbled("the endpoint's answer is neither {kind} nor a stream of it", kind=self._answer.KIND)
        self._answer.finish()
        self._draft.join_repeats()
        return self._draft.take()

    def _read(self, data: bytes, *, may_be_torn: bool = False) -> None:
        try:
            self._answer.read_event(data)
        except JsonProblem:
            if data.startswith(_END):
                self._draft.ended = self._draft.understood
            elif not may_be_torn:
                raise ModelGarbled("an event of the endpoint's stream is no JSON") from None


def read_whole(decoder: ApiDecoder, wire: bytes | str) -> Reply:
    """An answer that is all there; a recorded event stream will do as well.

    Raises:
        ModelGarbled: it is not an answer of this API.
    """
    if not wire.strip():
        raise ModelGarbled("the endpoint's answer is empty")
    decoder.feed(wire)
    decoder.close()
    return decoder.reply
