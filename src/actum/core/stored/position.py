"""How far several processes have come with a shared piece of work: a text by name, which the first process moves on."""

from __future__ import annotations

from typing import Protocol


class Positions(Protocol):
    """Positions by name, which all processes share that use the same database."""

    async def find(self, name: str) -> str | None:
        """The position; None where there is none.

        Raises:
            JournalError: it can not be read.
        """

    async def move(self, name: str, old: str | None, new: str) -> bool:
        """Move a position on.

        Args:
            name: of the position.
            old: where it was when it was read; None for a position that was not there.
            new: where it is now.

        Returns:
            False where somebody else has moved it since: nothing was changed.

        Raises:
            JournalError: it could not be written.
        """
