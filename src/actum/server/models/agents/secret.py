"""The secret by which ids and names of one caller are of no use to another."""

from __future__ import annotations

from ....core.interfaces import Journal


class NameSecret:
    """The secret of a journal, which all processes share that use the journal.

    Args:
        journal: the journal.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._secret = b""

    async def get(self) -> bytes:
        """The secret."""
        if not self._secret:
            self._secret = await self._journal.sessions.secret()
        return self._secret
