"""Cancelling: whose doing a `CancelledError` is, and work that does not stop when it is cancelled."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import types
from asyncio.tasks import _enter_task, _leave_task  # for task implementations of others, by the manual of asyncio
from collections.abc import Awaitable, Callable, Generator
from contextvars import Context, copy_context
from sys import getrefcount
from typing import Any, Generic, TypeVar, cast

from msgspec import Struct

from .interfaces import Clock

log = logging.getLogger("actum.call")

T = TypeVar("T")

GRACE_S = 2.0
"""Seconds that work may take to clean up after it was cancelled."""

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
        rest: what is left of the work.
    """

    rest: _Rest[T]

    @property
    def is_unwanted(self) -> bool:
        """Whether the task that waits for the work was cancelled since the work began."""
        return self.rest.is_unwanted


class _Rest(Generic[T]):
    """What is left of work after its first step, which its task does not take itself.

    Attributes:
        loop: the event loop.
        task: takes the other steps.
        references: how many there are to the task while nobody else has it.
        waiter: the task that waits for the work.
        before: how often this task had been cancelled when the work began.
        steps: the work; None where there is nothing left of it.
        waits: what the work waits for.
        context: the context variables of the work.
        clock, name: as for `finish`.
        is_taken: the task has taken its first step, and is of no use for other work.
    """

    __slots__ = (
        "before",
        "clock",
        "context",
        "is_taken",
        "loop",
        "name",
        "references",
        "steps",
        "task",
        "waiter",
        "waits",
    )

    task: asyncio.Task[T]
    waiter: asyncio.Task[Any]
    context: Context

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.references = 0
        self.before = 0
        self.steps: Steps[T] | None = None
        self.waits: object = None
        self.clock: Clock | None = None
        self.name = ""
        self.is_taken = False

    @property
    def is_unwanted(self) -> bool:
        """Whether the task that waits for the work was cancelled since the work began."""
        return self.waiter.cancelling() > self.before


class _Spare(threading.local):
    """The task of work that was over with its first step, for the next work in this thread."""

    rest: _Rest[Any] | None = None


_spare = _Spare()


def _new_rest(loop: asyncio.AbstractEventLoop) -> _Rest[Any]:
    """A task that has not begun. Where it gets no work that waits, it ends in the next turn of the event loop."""
    rest: _Rest[Any] = _Rest(loop)
    going_on = _go_on(rest)
    going_on.send(None)
    # `Task`, and not `create_task`: a factory of the program could begin the task at once.
    rest.task = asyncio.Task(going_on, loop=loop, name="work of others", context=Context())
    rest.references = getrefcount(rest.task)
    return rest


def begin(work: Awaitable[T], context: Context | None = None) -> T | Waiting[T]:
    """Take the first step of work of others, in the name of a task that belongs to the work alone.

    The work runs in a task of its own, so its effects on that task reach nobody else. A task group whose child fails
    leaves its task counted as cancelled, on Python 3.11 and 3.12 for ever. So if the task that waits for the work is
    cancelled, the cancellation came from outside. Work that never waits is over with its first step, needs no time
    limit, and can not be cancelled.

    Args:
        work: the work.
        context: the context variables of the work; a copy of those of the caller where it is left out.

    Returns:
        What the work returned; or the work that waits, for `finish`, which has to follow before anything else is
        waited for.

    Raises:
        RuntimeError: the work raised `GeneratorExit`, which would end more than the work.
    """
    loop = asyncio.get_running_loop()
    own = asyncio.current_task(loop)
    assert own is not None
    rest = _spare.rest
    # The task of earlier work is this work's alone where nobody has kept the task, as to cancel it later.
    if rest is None or rest.is_taken or rest.loop is not loop or getrefcount(rest.task) != rest.references:
        rest = _new_rest(loop)
    else:
        _spare.rest = None
    rest.waiter, rest.before = own, own.cancelling()
    rest.context = copy_context() if context is None else context
    task = rest.task
    _leave_task(loop, own)
    _enter_task(loop, task)
    try:
        begun = rest.context.run(_first_step, work, rest)
    finally:
        _leave_task(loop, task)
        _enter_task(loop, own)
        if rest.steps is None and not task.cancelling():
            _spare.rest = rest
    return begun


def _first_step(work: Awaitable[T], rest: _Rest[T]) -> T | Waiting[T]:
    steps: Steps[T] = work.__await__()
    try:
        rest.waits = steps.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    except GeneratorExit as error:
        raise RuntimeError("GeneratorExit was raised") from error
    rest.steps = steps
    return Waiting(rest)


async def _go_on(rest: _Rest[T]) -> T:
    """What the task of work carries out: nothing where the first step of the work was its last."""
    cancelled: BaseException | None = None
    try:
        await _until_told()
    except asyncio.CancelledError as error:
        # As a task that waits does: what it waits for is cancelled, and where that can not be, the task itself is.
        cancelled = None if asyncio.isfuture(rest.waits) and rest.waits.cancel() else error
    rest.is_taken = True
    if rest.steps is None:
        if _spare.rest is rest:
            _spare.rest = None
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
    task = work.rest.task
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
    waits, run = rest.waits, rest.context.run
    is_told = thrown is not None
    while True:
        if not is_told:
            try:
                yield waits
            except GeneratorExit:
                run(steps.close)
                raise
            except BaseException as error:  # noqa: BLE001 - the work hears of it
                thrown = error
            else:
                thrown = None
        is_told = False
        try:
            waits = run(steps.send, None) if thrown is None else run(steps.throw, thrown)
        except StopIteration as end:
            result: T = end.value
            return result
        except GeneratorExit as error:
            raise RuntimeError("GeneratorExit was raised") from error
        if isinstance(thrown, asyncio.CancelledError) and rest.clock is not None and rest.is_unwanted:
            return (yield from _in_grace(steps, waits, thrown, rest).__await__())


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
    begun: T | Waiting[T] | None = None
    try:
        begun = begin(work)
        return await finish(begun, None, name) if isinstance(begun, Waiting) else begun
    except asyncio.CancelledError as error:
        if isinstance(begun, Waiting) and begun.is_unwanted:
            raise
        raise RuntimeError(f"{name} cancelled itself") from error


async def _in_grace(steps: Steps[T], waits: object, cancelled: BaseException, rest: _Rest[T]) -> T:
    """The rest of work that goes on though it was cancelled."""
    assert rest.clock is not None
    grace, name, run = rest.clock.timeout(GRACE_S), rest.name, rest.context.run
    try:
        async with grace:
            return await _rest(steps, waits, grace, run)
    except (TimeoutError, asyncio.CancelledError):
        if not grace.expired():  # the work itself ended so
            raise
    log.warning("%s did not stop within %g s after it was cancelled, and was closed", name, GRACE_S)
    try:
        run(steps.close)
    except Exception as error:  # noqa: BLE001 - of what is closed nobody waits any more; the log hears of it
        log.warning("%s could not be closed: %s", name, type(error).__name__)
    raise cancelled


@types.coroutine
def _rest(steps: Steps[T], waits: object, grace: asyncio.Timeout, run: Callable[..., Any]) -> Steps[T]:
    """Go on with work that waits for something already, until it ends or the grace is over."""
    while True:
        thrown: BaseException | None = None
        try:
            yield waits
        except GeneratorExit:
            run(steps.close)
            raise
        except asyncio.CancelledError as error:
            if grace.expired():
                raise
            thrown = error
        except BaseException as error:  # noqa: BLE001 - the work hears of it
            thrown = error
        try:
            waits = run(steps.send, None) if thrown is None else run(steps.throw, thrown)
        except StopIteration as end:
            result: T = end.value
            return result
        except GeneratorExit as error:
            raise RuntimeError("GeneratorExit was raised") from error
