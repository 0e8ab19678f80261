"""The items of an answer that is a stream: server-sent events, JSON lines, JSON text sequences (RFC 7464). Pure.

An item of JSON lines or of a sequence is the value itself. An event is an object with `data`, and `event` where the
stream names its type, as OpenAPI 3.2 section 4.14.3 has events; `data` that is JSON of an object or a list is opened.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from ...core.json import Json, JsonObject, JsonProblem, parse
from ..sse import SseEvent, SseReader

ITEM_BYTES_MAX = 1024 * 1024
"""A longer item is refused."""
EVENTS = "text/event-stream"
_SEQUENCE = "application/json-seq"
STREAMS = frozenset(
    {EVENTS, _SEQUENCE, "application/jsonl", "application/x-jsonl", "application/jsonlines", "application/x-jsonlines",
     "application/ndjson", "application/x-ndjson", "application/json-lines", "application/stream+json"}
)  # fmt: skip
"""The media types whose items can be read."""


class StreamItem(NamedTuple):
    """An item.

    Attributes:
        value: what it says; text where it is no JSON.
        source: its bytes.
        is_json: whether it is JSON, as the items of any stream but of events have to be.
    """

    value: Json
    source: bytes
    is_json: bool = True


class ItemReader(Protocol):
    """Finds items in a stream that comes in pieces."""

    def feed(self, chunk: bytes) -> list[StreamItem]:
        """Take the next piece, and return the items that are whole by it.

        Raises:
            LongItem: an item is longer than `ITEM_BYTES_MAX`.
        """

    def close(self) -> list[StreamItem]:
        """The stream is at its end: return what is left of it."""


class LongItem(ValueError):
    """An item of a stream is longer than `ITEM_BYTES_MAX`."""


def item_reader(media_type: str) -> ItemReader | None:
    """What reads the items of a stream of this type; None where the type is no stream.

    Args:
        media_type: without parameters, in small letters.

    >>> reader = item_reader("application/jsonl")
    >>> [item.value for item in reader.feed(b'{"a": 1}\\n[2') + reader.close()]
    [{'a': 1}, '[2']
    """
    if media_type == EVENTS:
        return _Events()
    if media_type in STREAMS:
        return _Values(b"\x1e" if media_type == _SEQUENCE else b"\n")
    return None


class _Events:
    def __init__(self) -> None:
        self._reader = SseReader()
        self._since = 0

    def feed(self, chunk: bytes) -> list[StreamItem]:
        found = self._reader.feed(chunk)
        self._since = len(chunk) if found else self._since + len(chunk)
        if self._since > ITEM_BYTES_MAX or any(len(event.data) > ITEM_BYTES_MAX for event in found):
            raise LongItem
        return [_of_event(event) for event in found]

    def close(self) -> list[StreamItem]:
        return [_of_event(event) for event in self._reader.close()]


class _Values:
    def __init__(self, between: bytes) -> None:
        self._between = between
        self._left: list[bytes] = []
        self._length = 0

    def feed(self, chunk: bytes) -> list[StreamItem]:
        first, *more = chunk.split(self._between)
        self._left.append(first)
        self._length += len(first)
        found: list[StreamItem] = []
        for part in more:
            found += self._take()
            self._left, self._length = [part], len(part)
        if self._length > ITEM_BYTES_MAX or any(len(item.source) > ITEM_BYTES_MAX for item in found):
            raise LongItem
        return found

    def close(self) -> list[StreamItem]:
        return self._take()

    def _take(self) -> list[StreamItem]:
        text = b"".join(self._left).strip()
        self._left, self._length = [], 0
        return [_item(text)] if text else []


def _item(source: bytes) -> StreamItem:
    try:
        return StreamItem(parse(source, keep_last=True)[0], source)
    except JsonProblem:
        return StreamItem(source.decode("utf-8", "replace"), source, is_json=False)


def _of_event(event: SseEvent) -> StreamItem:
    is_open = event.data.lstrip()[:1] in (b"{", b"[")
    data = _item(event.data).value if is_open else event.data.decode("utf-8", "replace")
    value: JsonObject = {"data": data}
    if event.event:
        value["event"] = event.event
    return StreamItem(value, event.data + event.event.encode())
