"""Tells clients what has changed: the lists of tools, prompts and resources, and the resources that they listen to.

A client with a handshake is told on its connection, one without on the streams that it opened for that. Nobody tells
us: while somebody listens it is looked now and then, and only while the service is up. What a program changes itself
it can tell at once, by `publish`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp.shared.subscriptions import event_to_notification
from mcp_types import SubscriptionsListenRequestParams, SubscriptionsListenResult

from ...core.errors import ActumError
from ...core.interfaces import Clock
from ...core.json import JsonObject
from .client import connection_of

log = logging.getLogger("actum.mcp")

LOOK_S = 1.0
"""Seconds between two looks."""
FOLDERS_EVERY = 5
"""Which files there are is looked for at every fifth: a folder takes long to go through."""
TELL_S = 5.0
SUBSCRIBED_MAX = 1_000
"""The most addresses that one connection, or one stream, may listen to."""

Look = Callable[[ServerEvent], Awaitable[object]]
"""Reads the present state; another value means that it has changed."""


class Changes:
    """Who listens to what, and what it was when it was last looked at.

    Args:
        clock: for the time between two looks.
        look: looks.
        left: hears that somebody listens no more.
    """

    def __init__(self, clock: Clock, look: Look, left: Callable[[], None] = lambda: None) -> None:
        self._clock = clock
        self._look = look
        self._left = left
        self._bus = InMemorySubscriptionBus()
        self._listen = ListenHandler(self._bus)
        self._known: dict[ServerEvent, object] = {}
        self._connections: dict[Connection, set[str]] = {}
        self._streams: dict[object, tuple[str, ...]] = {}
        self._watcher: asyncio.Task[None] | None = None

    @property
    def listeners(self) -> int:
        """How many connections and streams are told of changes."""
        return len(self._connections) + len(self._streams)

    @property
    def watched(self) -> set[ServerEvent]:
        """The events that somebody listens to and whose present state is known: a change from here on is told."""
        return set(self._known)

    def start(self) -> None:
        """Look now and then from here on. Nothing happens where that was begun already."""
        if self._watcher is None or self._watcher.done():
            self._watcher = asyncio.create_task(self._watch(), name="mcp changes")

    def hang_up(self) -> None:
        """End the streams of those who listen without a handshake."""
        self._listen.close()

    async def stop(self) -> None:
        """Look no more, and end the streams of those who listen."""
        self.hang_up()
        if self._watcher is not None:
            self._watcher.cancel()
            await asyncio.wait([self._watcher])
            self._watcher = None

    def end(self) -> None:
        """Look no more: nobody listens, and nobody will."""
        if self._watcher is not None:
            self._watcher.cancel()
            self._watcher = None

    async def join(self, context: ServerRequestContext[Any, Any]) -> None:
        """A client with a handshake is there, and is told of changes until its connection ends."""
        connection = connection_of(context)
        if connection not in self._connections:
            self._connections[connection] = set()
            connection.exit_stack.callback(self._leave, connection)
            await self._note(())

    def _leave(self, connection: Connection) -> None:
        self._connections.pop(connection, None)
        self._left()

    async def subscribe(self, context: ServerRequestContext[Any, Any], uri: str) -> bool:
        """It listens to a resource; False when it listens to as many as it may."""
        await self.join(context)
        listening = self._connections[connection_of(context)]
        if len(listening) >= SUBSCRIBED_MAX and uri not in listening:
            return False
        listening.add(uri)
        await self._note([uri])
        return True

    def unsubscribe(self, context: ServerRequestContext[Any, Any], uri: str) -> None:
        """It does no more."""
        self._connections.get(connection_of(context), set()).discard(uri)

    async def listen(
        self, context: ServerRequestContext[Any, Any], params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Serve a stream of a client without a handshake, until it goes away."""
        stream, wanted = object(), tuple(params.notifications.resource_subscriptions or ())[:SUBSCRIBED_MAX]
        self._streams[stream] = wanted
        try:
            await self._note(wanted)
            return await self._listen(context, params)
        finally:
            del self._streams[stream]
            self._left()

    async def publish(self, event: ServerEvent) -> None:
        """Tell all who listen to this event."""
        await self._bus.publish(event)
        notification = event_to_notification(event, {}).model_dump(by_alias=True, mode="json", exclude_none=True)

        def wants(connection: Connection) -> bool:
            return not isinstance(event, ResourceUpdated) or event.uri in self._connections[connection]

        await self.tell(notification["method"], notification.get("params"), wants)

    async def tell(self, method: str, params: JsonObject | None, wants: Callable[[Connection], bool]) -> None:
        """Tell the clients with a handshake that want to hear this."""

        async def told(connection: Connection) -> None:
            with contextlib.suppress(TimeoutError):  # a client that does not read keeps nobody else waiting
                async with self._clock.timeout(TELL_S):
                    await connection.notify(method, params)

        await asyncio.gather(*[told(connection) for connection in self._connections if wants(connection)])

    async def _watch(self) -> None:
        rounds = 0
        while True:
            await self._clock.sleep(LOOK_S)
            rounds += 1
            for event in self._wanted(folders=rounds % FOLDERS_EVERY == 0):
                if await self._has_changed(event):
                    await self.publish(event)

    def _wanted(self, *, folders: bool) -> list[ServerEvent]:
        """What somebody listens to; what nobody does any more is forgotten."""
        if not self._connections and not self._streams:
            self._known.clear()
            return []
        addresses = {uri for several in (*self._connections.values(), *self._streams.values()) for uri in several}
        wanted: list[ServerEvent] = [
            ToolsListChanged(),
            PromptsListChanged(),
            *(ResourceUpdated(uri) for uri in sorted(addresses)),
        ]
        self._known = {
            event: stamp
            for event, stamp in self._known.items()
            if not isinstance(event, ResourceUpdated) or event.uri in addresses
        }
        return [*wanted, ResourcesListChanged()] if folders else wanted

    async def _has_changed(self, event: ServerEvent) -> bool:
        try:
            stamp = await self._look(event)
        except ActumError as error:  # a toolset that can not be reached now: its tools are what they were
            log.warning("%s could not be looked at: %s", type(event).__name__, error)
            return False
        known = self._known.setdefault(event, stamp)
        self._known[event] = stamp
        return known != stamp

    async def _note(self, addresses: Iterable[str]) -> None:
        """What is there when somebody begins to listen."""
        lists: list[ServerEvent] = [ToolsListChanged(), PromptsListChanged(), ResourcesListChanged()]
        events = [*lists, *map(ResourceUpdated, addresses)]
        for event in events:
            if event not in self._known:
                await self._has_changed(event)
