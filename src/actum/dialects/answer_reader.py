"""Finds the events of an answer that comes in pieces, or the whole body that came in their place. No I/O.

Endpoints answer a streaming request with a whole body and the other way round: the first byte tells which it is.
"""

from __future__ import annotations

from ..protocols.sse import SseReader

_BLANK = b"\xef\xbb\xbf \t\r\n"


class AnswerReader:
    """Takes the bytes of one answer in any cut.

    Attributes:
        began: something came that is not white space.
    """

    __slots__ = ("_body", "_sse", "began")

    def __init__(self) -> None:
        self.began = False
        self._sse = SseReader()
        self._body: list[bytes] | None = None

    def feed(self, chunk: bytes | str) -> list[bytes]:
        """Take the next piece and return the data of the events that are whole by it."""
        if isinstance(chunk, str):
            chunk = chunk.encode("utf-8", "replace")
        if not self.began:
            chunk = chunk.lstrip(_BLANK)
            if not chunk:
                return []
            self.began = True
            if chunk.startswith((b"{", b"[")):
                self._body = []
        if self._body is not None:
            self._body.append(chunk)
            return []
        return [event.data for event in self._sse.feed(chunk)]

    def close(self) -> tuple[bytes | None, list[bytes]]:
        """The input is at its end: return the body, if it is one, and the last events, which may have broken off."""
        body = None if self._body is None else b"".join(self._body)
        self._body = None
        return body, [event.data for event in self._sse.close()]
