"""Server-sent events (WHATWG HTML §9.2.6), read from bytes in any cut, and written. No I/O; knows not what events say.

The reader looks at each byte once. Lines end with LF, CR or CRLF; a byte order mark and comments are passed over.
Where it is more lenient than the standard: an event at the end of the stream counts although no blank line follows it,
because endpoints forget it. Not covered: `id` and `retry`, which are for reconnecting.
"""

from __future__ import annotations

from msgspec import Struct

BOM = b"\xef\xbb\xbf"


class SseEvent(Struct, frozen=True, gc=False):
    """One event.

    Attributes:
        data: its data lines joined by LF, not decoded.
        event: its type; empty when the stream does not name one.
    """

    data: bytes
    event: str = ""


class SseReader:
    r"""Finds the events in a stream that comes in pieces.

    >>> reader = SseReader()
    >>> reader.feed(b"data: 1\r"), reader.feed(b"\n\r\ndata: 2\n"), reader.close()
    ([], [SseEvent(data=b'1', event='')], [SseEvent(data=b'2', event='')])
    """

    __slots__ = ("_at_start", "_between", "_data", "_event", "_line_feed_is_due", "_name", "_name_line", "_tail")

    def __init__(self) -> None:
        self._at_start = True
        self._between = False
        self._line_feed_is_due = False
        self._tail: list[bytes] = []
        self._data: list[bytes] = []
        self._event = ""
        self._name_line = b"event:"
        self._name = ""

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Take the next piece and return the events that are whole by it."""
        # By far the most common piece is one event of one line; telling that is twice as fast as reading lines.
        if self._between and chunk.count(b"\n") == 2 and chunk.startswith(b"data: ") and chunk.endswith(b"\n\n"):
            if b"\r" not in chunk:
                return [SseEvent(chunk[6:-2])]
        elif not chunk:
            return []
        if self._line_feed_is_due:  # the CR before it has ended the line already
            self._line_feed_is_due = False
            chunk = chunk.removeprefix(b"\n")
        lines = chunk.splitlines()
        rest = lines.pop() if lines and not chunk.endswith((b"\n", b"\r")) else b""
        self._line_feed_is_due = chunk.endswith(b"\r")
        if lines and self._tail:
            lines[0] = b"".join((*self._tail, lines[0]))
            self._tail = []
        if rest:
            self._tail.append(rest)
        self._between = chunk.endswith(b"\n\n")
        return self._read(lines)

    def close(self) -> list[SseEvent]:
        """The stream is at its end: return what is left of it, which may have broken off anywhere."""
        return self._read([b"".join(self._tail), b""])

    def _read(self, lines: list[bytes]) -> list[SseEvent]:
        if lines and self._at_start:
            self._at_start = False
            lines[0] = lines[0].removeprefix(BOM)
        events: list[SseEvent] = []
        data, name = self._data, self._event
        for line in lines:
            if line.startswith(b"data: "):
                data.append(line[6:])
            elif not line:
                if data:
                    events.append(SseEvent(data[0] if len(data) == 1 else b"\n".join(data), name))
                    data.clear()
                name = ""
            elif line.startswith(b"event:"):
                if line != self._name_line:  # most often it is the one of the event before
                    self._name_line, self._name = line, line[6:].removeprefix(b" ").decode("utf-8", "replace")
                name = self._name
            elif line.startswith(b"data:"):
                data.append(line[5:])
            elif line == b"data":
                data.append(b"")
        self._event = name
        return events


def sse(data: bytes, event: str = "") -> bytes:
    r"""The bytes of one event.

    Args:
        data: one line, as JSON without line breaks is.
        event: its type; empty for none.

    >>> sse(b"[DONE]")
    b'data: [DONE]\n\n'
    """
    head = f"event: {event}\n".encode() if event else b""
    return b"%sdata: %s\n\n" % (head, data)
