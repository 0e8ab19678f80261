"""A run as a stream of events, and a run in a program without an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from typing import TypeVar

from ..core.errors import UsageError
from ..core.event import CallProgress, ChildEvent, Event

T = TypeVar("T")

WAITING_MAX = 1_000
"""Where more events wait for their reader, progress of calls is left out: a tool decides how often it tells."""


def into(events: asyncio.Queue[Event | None]) -> Callable[[Event], None]:
    """What puts the events of a run into the queue of their reader."""

    def tell(event: Event) -> None:
        happened = event
        while isinstance(happened, ChildEvent):
            happened = happened.event
        if not (isinstance(happened, CallProgress) and events.qsize() >= WAITING_MAX):
            events.put_nowait(event)

    return tell


def both(emit: Callable[[Event], None], events: asyncio.Queue[Event | None] | None) -> Callable[[Event], None]:
    """What tells the events of a run to two who listen."""
    if events is None:
        return emit
    hear = into(events)

    def tell(event: Event) -> None:
        emit(event)
        hear(event)

    return tell


async def streamed(run: Callable[[Callable[[Event], None]], Awaitable[object]]) -> AsyncGenerator[Event, None]:
    """The events of a run, as they happen. Leaving the loop early cancels the run.

    Args:
        run: carries out the run, and tells its events to what it is given.
    """
    events: asyncio.Queue[Event | None] = asyncio.Queue()
    task = asyncio.ensure_future(run(into(events)))
    task.add_done_callback(lambda _: events.put_nowait(None))
    try:
        while (event := await events.get()) is not None:
            yield event
        await task
    finally:
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # the listener has left and does not want to hear of it


def without_loop(run: Callable[[], Coroutine[object, object, T]], name: str) -> T:
    """Carry out a run in a program that has no event loop.

    Raises:
        UsageError: there is a running event loop.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(run())
    raise UsageError("run_sync() was called inside a running event loop: use `await {name}.run(...)` there", name=name)
