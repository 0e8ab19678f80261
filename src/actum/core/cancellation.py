"""Cancelling: whose doing a `CancelledError` is, and work that does not stop when it is cancelled."""

from __future__ import annotations

import asyncio
import logging
import types
from collections.abc import Awaitable, Generator
from typing import Any, Generic, TypeVar

from msgspec import Struct

from .interfaces import Clock

log = logging.getLogger("actum.call")

T = TypeVar("T")

GRACE_S = 2.0
"""So many seconds work may take to clean up after it was cancelled."""

Steps = Generator[Any, Any, T]
"""Work, step by step: each step gives what the work waits for."""


def is_being_cancelled() -> bool:
    """Somebody cancels the running task; else a cancellation is the doing of what it called."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


class Waiting(Struct, Generic[T]):
    """Work that was begun and waits for something.

    Attributes:
        steps: the work.
        waits: what the work waits for.
    """

    steps: Steps[T]
    waits: object


def begin(work: Awaitable[T]) -> T | Waiting[T]:
    """Take the first step of work. Work that never waits is over with its first step, needs no time limit, and can not
    be cancelled.

    Returns:
        What the work returned; or the work that waits, for `finish`.

    Raises:
        RuntimeError: the work raised `GeneratorExit`, which would end more than the work.
    """
    steps: Steps[T] = work.__await__()
    try:
        return Waiting(steps, steps.send(None))
    except StopIteration as end:
        result: T = end.value
        return result
    except GeneratorExit as error:
        raise RuntimeError("GeneratorExit was raised") from error


@types.coroutine
def finish(work: Waiting[T], clock: Clock | None, name: str) -> Steps[T]:
    """Await the rest of work of others, which may ignore that it is cancelled.

    The work runs in the task of whoever awaits it. Work that goes on after it was cancelled has `GRACE_S` left, and is
    then closed where it waits; what it returns before that counts.

    Args:
        work: the work.
        clock: measures the grace; None for work that sees to its own end when it is cancelled, and is never closed.
        name: what the log calls the work.

    Raises:
        CancelledError: the work was cancelled, and ended so or was closed.
        RuntimeError: the work raised `GeneratorExit`, which would end more than the work.
    """
    steps, waits = work.steps, work.waits
    thrown: BaseException | None
    while True:
        try:
            yield waits
        except GeneratorExit:
            steps.close()
            raise
        except BaseException as error:  # noqa: BLE001 - the work hears of it
            thrown = error
        else:
            thrown = None
        try:
            waits = steps.send(None) if thrown is None else steps.throw(thrown)
        except StopIteration as end:
            result: T = end.value
            return result
        except GeneratorExit as error:
            raise RuntimeError("GeneratorExit was raised") from error
        if isinstance(thrown, asyncio.CancelledError) and clock is not None:
            return (yield from _in_grace(steps, waits, thrown, clock, name).__await__())


async def cancellable(work: Awaitable[T], clock: Clock, name: str) -> T:
    """Await work of others from its beginning; see `begin` and `finish`."""
    begun = begin(work)
    return await finish(begun, clock, name) if isinstance(begun, Waiting) else begun


async def _in_grace(steps: Steps[T], waits: object, cancelled: BaseException, clock: Clock, name: str) -> T:
    """The rest of work that goes on though it was cancelled."""
    grace = clock.timeout(GRACE_S)
    try:
        async with grace:
            return await _rest(steps, waits, grace)
    except (TimeoutError, asyncio.CancelledError):
        if not grace.expired():  # the work itself ended so
            raise
    log.warning("%s did not stop within %g s after it was cancelled, and was closed", name, GRACE_S)
    try:
        steps.close()
    except Exception as error:  # noqa: BLE001 - of what is closed nobody waits any more; the log hears of it
        log.warning("%s could not be closed: %s", name, type(error).__name__)
    raise cancelled


@types.coroutine
def _rest(steps: Steps[T], waits: object, grace: asyncio.Timeout) -> Steps[T]:
    """Go on with work that waits for something already, until it ends or the grace is over."""
    while True:
        thrown: BaseException | None = None
        try:
            yield waits
        except GeneratorExit:
            steps.close()
            raise
        except asyncio.CancelledError as error:
            if grace.expired():
                raise
            thrown = error
        except BaseException as error:  # noqa: BLE001 - the work hears of it
            thrown = error
        try:
            waits = steps.send(None) if thrown is None else steps.throw(thrown)
        except StopIteration as end:
            result: T = end.value
            return result
        except GeneratorExit as error:
            raise RuntimeError("GeneratorExit was raised") from error
