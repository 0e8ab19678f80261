"""The call that is being carried out by the code that asks.

A tool's own code may begin runs, as by `await agent.run(...)`. Such a run is a child of the run whose call is carried
out, as the run of an agent that is a tool is: see `runs.below`. A context variable carries the call through `await`,
tasks, `asyncio.to_thread` and the threads in which plain functions run. The call is over for all of them as soon as it
has its outcome.

Threads that a tool starts by other means, and other processes, do not know of the call.
"""

from __future__ import annotations

import contextvars
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from .interfaces import Context

_CALL: ContextVar[Context | None] = ContextVar("actum_call", default=None)


def call_under_way() -> Context | None:
    """The call that the asking code carries out; None where it carries out none, or the call has its outcome."""
    context = _CALL.get()
    return None if context is None or context.has_outcome or context.journal is None else context


def inside(call: Context) -> contextvars.Context:
    """The context variables of the code that carries out a call: those of the caller, and the call."""
    variables = contextvars.copy_context()
    variables.run(_CALL.set, call)
    return variables


@contextmanager
def outside() -> Iterator[None]:
    """A block whose runs stand on their own, whatever code began it: for work that was accepted to be done later."""
    token = _CALL.set(None)
    try:
        yield
    finally:
        _CALL.reset(token)
