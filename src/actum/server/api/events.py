"""`EventStream`: an answer that is a stream of events, as server-sent events.

Source: HTML (server-sent events).
"""

from __future__ import annotations

import asyncio

import msgspec
from starlette.types import Receive, Scope, Send

from ...core.interfaces import Clock
from ...features.operation import Events

COMMENT_S = 15.0
"""Seconds without an event after which a comment is sent, so that no proxy takes the connection for a dead one."""
_HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]
_encode = msgspec.json.Encoder().encode


class Streams:
    """The streams that are open on this server."""

    def __init__(self) -> None:
        self._open: set[EventStream] = set()
        self._is_ending = False

    def opened(self, stream: EventStream) -> EventStream:
        """The stream, which is ended with the others."""
        stream.home = self._open
        if self._is_ending:
            stream.end()
        return stream

    def end(self) -> None:
        """End all streams: their clients come again, to another server or to this one when it is back."""
        self._is_ending = True
        for stream in list(self._open):
            stream.end()


class EventStream:
    """One stream of events for one client, as an ASGI app.

    Args:
        events: the events.
        clock: the time.

    Attributes:
        home: the streams that are open, this one among them while it is open.
    """

    def __init__(self, events: Events, clock: Clock) -> None:
        self._events = events
        self._clock = clock
        self._told_at = clock.monotonic()
        self._ending = asyncio.Event()
        self.home: set[EventStream] = set()

    def end(self) -> None:
        """Send no more events."""
        self._ending.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.home.add(self)
        try:
            await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            if scope["method"] == "HEAD":
                await send({"type": "http.response.body", "body": b""})
                return
            telling = asyncio.create_task(self._tell(send))
            keeping = asyncio.create_task(self._keep(send))
            leaving = asyncio.create_task(_until_gone(receive))
            ending = asyncio.create_task(self._ending.wait())
            tasks = (telling, keeping, leaving, ending)
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks)
            if leaving.cancelled():
                for task in (telling, keeping):
                    if not task.cancelled() and (error := task.exception()) is not None:
                        raise error  # cuts the stream: the client comes again
                last = b": the server stops\nretry: 1000\n\n" if self._ending.is_set() else b""
                await send({"type": "http.response.body", "body": last})
        except OSError:
            pass  # the client has gone
        finally:
            self.home.discard(self)

    async def _tell(self, send: Send) -> None:
        """Send the events as they come."""
        await send(_piece(b": open\n\n"))
        async for event in self._events:
            self._told_at = self._clock.monotonic()
            place = f"id: {event.id}\n" if event.id else ""
            told = f"{place}event: {event.name}\ndata: ".encode()
            await send(_piece(told + _encode(event.data) + b"\n\n"))

    async def _keep(self, send: Send) -> None:
        """Send a comment whenever nothing was sent for a while."""
        clock = self._clock
        while True:
            silent_s = clock.monotonic() - self._told_at
            if silent_s >= COMMENT_S:
                await send(_piece(b": still here\n\n"))
                self._told_at = clock.monotonic()
            else:
                await clock.sleep(COMMENT_S - silent_s)


def _piece(body: bytes) -> dict[str, object]:
    return {"type": "http.response.body", "body": body, "more_body": True}


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
