"""`capture_runs`: the runs that are begun or gone on with in a block, for tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from msgspec import Struct

from ..core.event import RunResult
from ..core.interfaces import Journal

_block: ContextVar[list[CapturedRun] | None] = ContextVar("actum_captured", default=None)


class CapturedRun(Struct, kw_only=True):
    """A run of a block.

    Attributes:
        run_id: its id.
        name: what made the run: an agent, or a server.
        journal: where the run is on record.
        result: how the run ended or paused; None where it raised an error.
        error: what the run raised; None where it has a result.
    """

    run_id: str
    name: str
    journal: Journal
    result: RunResult[object] | None = None
    error: BaseException | None = None


@contextmanager
def capture_runs() -> Iterator[list[CapturedRun]]:
    """A block whose runs are captured: those of agents and of direct calls, children too, in the order of their begin.

    Runs of asyncio tasks and threads that were begun in the block count. A run that is gone on with is captured once.

    >>> import asyncio
    >>> from actum import Agent
    >>> from actum.testing import TestModel, capture_runs
    >>> with capture_runs() as runs:
    ...     result = Agent(TestModel(text="Hello."), name="desk").run_sync("Hi")
    >>> [(run.name, run.result.text) for run in runs]
    [('desk', 'Hello.')]
    """
    found: list[CapturedRun] = []
    token = _block.set(found)
    try:
        yield found
    finally:
        _block.reset(token)


@contextmanager
def captured(run_id: str, name: str, journal: Journal) -> Iterator[CapturedRun | None]:
    """A block in which a run is carried out; None where nobody captures runs."""
    found = _block.get()
    if found is None:
        yield None
        return
    run = next((each for each in found if each.run_id == run_id), None)
    if run is None:
        run = CapturedRun(run_id=run_id, name=name, journal=journal)
        found.append(run)
    run.result = run.error = None
    try:
        yield run
    except BaseException as error:
        run.error = error
        raise
