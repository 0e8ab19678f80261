"""Streams that are open: each ends soon after the key, or the session, of its reader has ended.

A key is checked when a request comes. A stream of events may be read for hours after that, so one task looks again at
the keys of all open streams. A stream of a caller who showed no key ends when the first key was made. Only what a
client reads is ended: a call that is under way finishes, since nobody would know what it did. What a client reads is a
`GET`, and an answer whose door has set `ENDS_WITH_KEY` in the scope.

    streams = OpenStreams([stored_keys])
    async with streams.watched():                                        # as long as the server runs
        await streams.serve(app, identity, scope, receive, send)         # for each request
        async with streams.read_by(identity): ...                        # for a stream of another protocol

This file loads a web framework: import it only where a server is to run.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..core.clock import SystemClock
from ..core.errors import ActumError, JournalError
from ..core.identity import Identity
from ..core.interfaces import Clock
from .stored_keys import LOOK_S

log = logging.getLogger("actum.server")

ENDS_WITH_KEY = "actum.ends_with_key"
"""A door sets this key in the scope of a request that is no `GET` and whose answer is only read: to end the answer ends
nothing else."""


class Endings(Protocol):
    """Knows of one kind of key, or of sessions, which have ended. `StoredKeys` is one."""

    async def has_ended(self, identity: Identity) -> bool:
        """Whether the key or session of a client has ended since.

        Args:
            identity: the identity of the client; False where its key or session is of another kind.

        Raises:
            JournalError: nobody can tell now.
        """


class KeyEnded(ActumError):
    """The key, or the session, of a client has ended."""

    def __init__(self) -> None:
        super().__init__("the key has ended")


class OpenStreams:
    """What clients read at this moment.

    Args:
        endings: tell which keys and sessions have ended.
        wants_keys: tells whether keys are wanted now; where they are, what callers read ends that showed no key before.
            None where that can not change.
        clock: the time.
    """

    def __init__(
        self,
        endings: Sequence[Endings],
        *,
        wants_keys: Callable[[], Awaitable[bool]] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._endings = tuple(endings)
        self._wants_keys = wants_keys
        self._clock = clock or SystemClock()
        self._open: dict[_Stream | _Block, Identity | None] = {}

    def __len__(self) -> int:
        return sum(each.is_only_read for each in self._open)

    async def serve(
        self, app: ASGIApp, identity: Identity, scope: Scope, receive: Receive, send: Send, *, keyless: bool = False
    ) -> None:
        """Have a request answered; what a client reads ends with the client's key.

        Args:
            app: answers the request.
            identity: who makes the request.
            scope, receive, send: of the request, as ASGI has them.
            keyless: the caller showed no key, because none was wanted.
        """
        if not self._may_end(identity, keyless=keyless):
            await app(scope, receive, send)
            return
        stream = _Stream(scope, send)
        self._open[stream] = None if keyless else identity
        try:
            await stream.serve(app, scope, receive)
        finally:
            del self._open[stream]

    @asynccontextmanager
    async def read_by(self, identity: Identity, *, keyless: bool = False) -> AsyncIterator[None]:
        """A block in which somebody reads a stream; for protocols beside HTTP.

        Args:
            identity: who reads it.
            keyless: the reader showed no key, because none was wanted.

        Raises:
            KeyEnded: the key of the reader has ended, or a key is wanted now: the block was left.
        """
        if not self._may_end(identity, keyless=keyless):
            yield
            return
        block = _Block()
        self._open[block] = None if keyless else identity
        try:
            yield
        except asyncio.CancelledError:
            if not block.was_only_told_to_end():
                raise
            raise KeyEnded from None
        finally:
            del self._open[block]

    def _may_end(self, identity: Identity, *, keyless: bool) -> bool:
        return self._wants_keys is not None if keyless else bool(identity.key_id)

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """A block in which streams are ended whose keys have ended."""
        watching = asyncio.create_task(self._watch(), name="keys of open streams")
        try:
            yield
        finally:
            watching.cancel()
            await asyncio.wait([watching])

    async def _watch(self) -> None:
        while True:
            await self._clock.sleep(LOOK_S)
            ended: dict[Identity | None, bool] = {}
            for stream, identity in list(self._open.items()):
                if not stream.is_only_read:
                    continue
                if identity not in ended:
                    ended[identity] = await self._has_ended(identity)
                if ended[identity]:
                    stream.end()

    async def _has_ended(self, identity: Identity | None) -> bool:
        try:
            if identity is None:
                return self._wants_keys is not None and await self._wants_keys()
            return any([await each.has_ended(identity) for each in self._endings])
        except JournalError:  # nobody can tell whether the key is still valid
            whose = f"key {identity.key_id}" if identity is not None else "callers without a key"
            log.exception("the streams of %s are ended: the keys can not be read", whose)
            return True


class _Block:
    """A block of code that feeds a stream."""

    is_only_read = True

    def __init__(self) -> None:
        self._task = asyncio.current_task()
        self._is_told_to_end = False

    def end(self) -> None:
        """End the block."""
        if self._task is not None and not self._is_told_to_end:
            self._is_told_to_end = True
            self._task.cancel()

    def was_only_told_to_end(self) -> bool:
        """Whether nobody else has cancelled the block; then its task goes on behind the block."""
        return self._is_told_to_end and self._task is not None and self._task.uncancel() == 0


class _Stream:
    """One answer that a client reads."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope, self._send = scope, send
        self._task = asyncio.current_task()
        self._is_told_to_end = False
        self._has_begun = self._is_over = False

    @property
    def is_only_read(self) -> bool:
        """Whether to end the answer ends nothing else."""
        return self._scope["method"] == "GET" or ENDS_WITH_KEY in self._scope

    def end(self) -> None:
        """End the answer, unless it is over."""
        if self._task is not None and not self._is_told_to_end and not self._is_over:
            self._is_told_to_end = True
            self._task.cancel()

    async def serve(self, app: ASGIApp, scope: Scope, receive: Receive) -> None:
        try:
            await app(scope, receive, self._tell)
        except asyncio.CancelledError:
            if not self._is_told_to_end or self._task is None or self._task.uncancel() > 0:
                raise
            if not self._has_begun:
                await self._send({"type": "http.response.start", "status": 401, "headers": [(b"content-length", b"0")]})
            if not self._is_over:
                await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _tell(self, message: Message) -> None:
        self._has_begun = True
        self._is_over = message["type"] == "http.response.body" and not message.get("more_body", False)
        await self._send(message)
