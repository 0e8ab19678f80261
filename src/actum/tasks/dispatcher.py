"""`Dispatcher`: has the tasks of the queue carried out. Each way to do so passes the tests of `tests/tasks`."""

from __future__ import annotations

from typing import Protocol


class Dispatcher(Protocol):
    """Has tasks carried out. The list of tasks says which; a dispatcher keeps nothing that could not be lost."""

    def wake(self, run_id: str) -> None:
        """A task has come to the queue, or may go on: look soon. A word that is lost costs time alone."""

    async def run(self) -> None:
        """Carry out tasks until this is cancelled, or `close` is called."""

    async def close(self) -> None:
        """Begin nothing more, and let go of what is under way: another dispatcher, or this one later, goes on with it.
        The attempts that this interrupts do not count against `max_retries`.
        """
