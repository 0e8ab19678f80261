"""The secret by which ids and names of one caller are of no use to another."""

from __future__ import annotations

import os

from ....core.interfaces import Journal
from ....core.session import KeepsSessions


class NameSecret:
    """The secret of a journal, which all its processes share; of a journal that keeps none, one of this process.

    Args:
        journal: the journal.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._secret = b""

    async def get(self) -> bytes:
        """The secret."""
        if not self._secret:
            journal = self._journal
            self._secret = await journal.sessions.secret() if isinstance(journal, KeepsSessions) else os.urandom(32)
        return self._secret
