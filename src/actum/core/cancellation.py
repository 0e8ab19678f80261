"""Cancelling: whose doing a `CancelledError` is, and work that does not stop when it is cancelled."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import types
from asyncio.tasks import _enter_task, _leave_task  # for task implementations of others, by the manual of asyncio
from collections.abc import Awaitable, Generator
from contextvars import Context, copy_context
from typing import Any, Generic, TypeVar, cast

from msgspec import Struct

from .interfaces import Clock

log = logging.getLogger("actum.call")

T = TypeVar("T")

GRACE_S = 2.0
"""So many seconds work may take to clean up after it was cancelled."""

Steps = Generator[Any, Any, T]
"""Work, step by step: each step gives what the work waits for."""


def cancellations() -> int:
    """How many cancellations of the running task were asked for and not taken back. A number that has grown while the
    task waited for `finish` says that somebody outside of the work asked for one.
    """
    task = asyncio.current_task()
    return 0 if task is None else task.cancelling()


class Waiting(Struct, Generic[T], eq=False):
    """Work that was begun and waits for something.

    Attributes:
        task: the work's own task, which takes the next step.
        rest: what is left of the work, as the task knows it.
    """

    task: asyncio.Task[T]
    rest: _Rest[T]


class _Rest(Generic[T]):
    """What is left of work after its first step, which its task does not take itself.

    Attributes:
        steps: the work; None where there is nothing left of it.
        waits: what the work waits for.
        clock, name: as for `finish`.

    Args:
        waiter: the task that waits for the work.
    """

    __slots__ = ("_before", "_waiter", "clock", "name", "steps", "waits")

    def __init__(self, waiter: asyncio.Task[Any]) -> None:
        self._waiter = waiter
        self._before = waiter.cancelling()
        self.steps: Steps[T] | None = None
        self.waits: object = None
        self.clock: Clock | None = None
        self.name = ""

    @property
    def is_unwanted(self) -> bool:
        """Whoever waits for the work was cancelled since the work began."""
        return self._waiter.cancelling() > self._before


def begin(work: Awaitable[T], context: Context | None = None) -> T | Waiting[T]:
    """Take the first step of work of others, in the name of a task that belongs to the work alone.

    What the work does to its task, nobody else hears of: a task group whose child fails leaves the task it stands in
    counted as cancelled, on Python 3.11 and 3.12 for ever. So whoever waits for the work, and is cancelled, was
    cancelled from outside. Work that never waits is over with its first step, needs no time limit, and can not be
    cancelled.

    Args:
        work: the work.
        context: the context variables of the work; a copy of those of the caller where it is left out.

    Returns:
        What the work returned; or the work that waits, for `finish`, which has to follow before anything else is
        waited for.

    Raises:
        RuntimeError: the work raised `GeneratorExit`, which would end more than the work.
    """
    own, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert own is not None
    if context is None:
        context = copy_context()
    rest: _Rest[T] = _Rest(own)
    going_on = _go_on(rest)
    going_on.send(None)
    # `Task`, and not `create_task`: a factory of the program could begin the task at once.
    task = asyncio.Task(going_on, loop=loop, name="work of others", context=context)
    _leave_task(loop, own)
    _enter_task(loop, task)
    try:
        return context.run(_first_step, work, task, rest)
    finally:
        _leave_task(loop, task)
        _enter_task(loop, own)


def _first_step(work: Awaitable[T], task: asyncio.Task[T], rest: _Rest[T]) -> T | Waiting[T]:
    steps: Steps[T] = work.__await__()
    try:
        rest.waits = steps.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    except GeneratorExit as error:
        raise RuntimeError("GeneratorExit was raised") from error
    rest.steps = steps
    return Waiting(task, rest)


async def _go_on(rest: _Rest[T]) -> T:
    """What the task of work carries out: nothing where the first step of the work was its last."""
    cancelled: BaseException | None = None
    try:
        await _until_told()
    except asyncio.CancelledError as error:
        # As a task that waits does: what it waits for is cancelled, and where that can not be, the task itself is.
        cancelled = None if asyncio.isfuture(rest.waits) and rest.waits.cancel() else error
    if rest.steps is None:
        return cast("T", None)  # nobody waits for this task
    return await _finished(rest.steps, rest, cancelled)


@types.coroutine
def _until_told() -> Steps[None]:
    """Wait for the next step of the task."""
    yield


async def finish(work: Waiting[T], clock: Clock | None, name: str) -> T:
    """Await the rest of work of others, which may ignore that it is cancelled.

    Work that goes on after it was cancelled has `GRACE_S` left, and is then closed where it waits; what it returns
    before that counts.

    Args:
        work: the work.
        clock: measures the grace; None for work that sees to its own end when it is cancelled, and is never closed.
        name: what the log calls the work.

    Raises:
        CancelledError: the work was cancelled, and ended so or was closed. `cancellations` tells whether somebody
            outside of the work asked for that.
        RuntimeError: the work raised `GeneratorExit`, which would end more than the work.
    """
    work.rest.clock, work.rest.name = clock, name
    task = work.task
    try:
        return await task
    except GeneratorExit:  # nobody waits any more
        with contextlib.suppress(RuntimeError):  # the loop is closed, and nothing goes on in it
            task.cancel()
        raise
    finally:
        del task, work  # what the task raised holds on to this frame


@types.coroutine
def _finished(steps: Steps[T], rest: _Rest[T], thrown: BaseException | None) -> Steps[T]:
    """Go on with work that waits for something.

    Args:
        steps: the work.
        rest: what its task knows of it.
        thrown: what the work is told first, where it was cancelled already.
    """
    waits = rest.waits
    is_told = thrown is not None
    while True:
        if not is_told:
            try:
                yield waits
            except GeneratorExit:
                steps.close()
                raise
            except BaseException as error:  # noqa: BLE001 - the work hears of it
                thrown = error
            else:
                thrown = None
        is_told = False
        try:
            waits = steps.send(None) if thrown is None else steps.throw(thrown)
        except StopIteration as end:
            result: T = end.value
            return result
        except GeneratorExit as error:
            raise RuntimeError("GeneratorExit was raised") from error
        if isinstance(thrown, asyncio.CancelledError) and rest.clock is not None and rest.is_unwanted:
            return (yield from _in_grace(steps, waits, thrown, rest.clock, rest.name).__await__())


async def cancellable(work: Awaitable[T], clock: Clock | None, name: str, context: Context | None = None) -> T:
    """Await work of others from its beginning; see `begin` and `finish`."""
    begun = begin(work, context)
    return await finish(begun, clock, name) if isinstance(begun, Waiting) else begun


async def apart(work: Awaitable[T], name: str) -> T:
    """Await work of others that sees to its own end when it is cancelled.

    Args:
        work: the work.
        name: what the error calls the work.

    Raises:
        CancelledError: somebody outside of the work asked for it.
        RuntimeError: the work ended as cancelled, and nobody outside of it had asked for that.
    """
    before = cancellations()
    try:
        return await cancellable(work, None, name)
    except asyncio.CancelledError as error:
        if cancellations() > before:
            raise
        raise RuntimeError(f"{name} cancelled itself") from error


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
