"""`Dispatcher`: has the tasks of the queue carried out. Each way to do so passes the tests of `tests/tasks`."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct


class DispatcherState(Struct, frozen=True, kw_only=True):
    """How a dispatcher does.

    Attributes:
        broker: of a dispatcher with a broker: whether the broker can be reached; None for a dispatcher without one.
        messages: how many messages wait in the broker; None where nobody knows.
    """

    broker: bool | None = None
    messages: int | None = None


class Dispatcher(Protocol):
    """Has tasks carried out. The list of tasks says which; a dispatcher keeps nothing that could not be lost."""

    def wake(self, run_id: str) -> None:
        """A task has come to the queue, or may go on: look soon. A word that is lost costs time alone."""

    async def run(self) -> None:
        """Carry out tasks until this is cancelled, or `close` is called."""

    async def look(self) -> DispatcherState:
        """How the dispatcher does, as of a few seconds ago. The answer comes within half a second."""

    async def close(self) -> None:
        """Begin nothing more, and let go of what is under way: another dispatcher, or this one later, goes on with it.
        The attempts that this interrupts do not count against `max_retries`.
        """
