"""The event-stream reader finds the same events however the bytes are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.protocols.sse import SseEvent, SseReader, sse

STREAMS = {
    "lf": (b"data: a\n\ndata: b\n\n", [SseEvent(b"a"), SseEvent(b"b")]),
    "crlf": (b"data: a\r\n\r\ndata: b\r\n\r\n", [SseEvent(b"a"), SseEvent(b"b")]),
    "cr": (b"data: a\r\rdata: b\r\r", [SseEvent(b"a"), SseEvent(b"b")]),
    "mixed line ends": (b"data: a\r\n\ndata: b\r\r\ndata: c\n\r\n", [SseEvent(b"a"), SseEvent(b"b"), SseEvent(b"c")]),
    "byte order mark": (b"\xef\xbb\xbfdata: a\n\n", [SseEvent(b"a")]),
    "comments": (b": hello\n\n:\ndata: a\n: in between\n\n", [SseEvent(b"a")]),
    "several data lines": (b"data: a\ndata\ndata:b\n\n", [SseEvent(b"a\n\nb")]),
    "one space only": (b"data:  a\n\n", [SseEvent(b" a")]),
    "a type, for one event": (b"event: error\ndata: a\n\ndata: b\n\n", [SseEvent(b"a", "error"), SseEvent(b"b")]),
    "a type without data": (b"event: ping\n\ndata: a\n\n", [SseEvent(b"a")]),
    "other fields": (b"id: 1\nretry: 5\nunknown: x\ndatax: y\ndata: a\n\n", [SseEvent(b"a")]),
    "no blank line at the end": (b"data: a\n\ndata: b\n", [SseEvent(b"a"), SseEvent(b"b")]),
    "no line end at the end": (b"data: a\n\ndata: b", [SseEvent(b"a"), SseEvent(b"b")]),
    "not ASCII": ("data: 北京 🌤\u2028\x85\n\n".encode(), [SseEvent("北京 🌤\u2028\x85".encode())]),
    "nothing": (b"\n\n\r\n", []),
}


@pytest.mark.parametrize(("wire", "events"), STREAMS.values(), ids=STREAMS)
def test_events_do_not_depend_on_the_cuts(wire: bytes, events: list[SseEvent]) -> None:
    assert read([wire]) == events
    assert read([wire[n : n + 1] for n in range(len(wire))]) == events
    for first in range(len(wire) + 1):
        for second in range(first, len(wire) + 1):
            assert read([wire[:first], wire[first:second], wire[second:]]) == events


LINES = [b"data: a", b"data:", b"event: x", b": c", b"\n", b"\r", b"\r\n", b"\xef\xbb\xbf"]
EVENTS = [b"data: a\n\n", b"event: x\ndata: b\n\n", b"event:  y\ndata: c\n\n", b"id: 1\ndata: d\n\n"]


@given(st.lists(st.sampled_from(LINES + EVENTS)))
def test_any_sequence_of_lines_reads_the_same_byte_by_byte(pieces: list[bytes]) -> None:
    wire = b"".join(pieces)
    assert read([wire[n : n + 1] for n in range(len(wire))]) == read([wire]) == read(pieces)


@given(
    st.lists(
        st.tuples(st.text().map(lambda t: "".join(t.split()).encode("utf-8", "replace")), st.sampled_from(["", "e"]))
    )
)
def test_what_is_written_is_read(said: list[tuple[bytes, str]]) -> None:
    wire = b"".join(sse(data, event) for data, event in said)
    assert read([wire]) == [SseEvent(data, event) for data, event in said]


def read(chunks: list[bytes]) -> list[SseEvent]:
    reader = SseReader()
    return [event for chunk in chunks for event in reader.feed(chunk)] + reader.close()
