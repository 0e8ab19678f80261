"""PostgreSQL tells of each key that was added or revoked: a connection of its own that listens (`LISTEN actum_keys`).

A thread keeps the connection. The server's word is believed for as long as the server has answered within `FRESH_S`:
the thread asks it something small every `BEAT_S`, so that a connection which is dead without a sign is noticed, too.
While the connection is away, nobody can tell whether a key was revoked, and `number` says so. A new connection counts
as a change, since what was told meanwhile went unheard.
"""

from __future__ import annotations

import selectors
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...core.errors import JournalError

if TYPE_CHECKING:
    import psycopg

BEAT_S = 0.25
FRESH_S = 0.75
"""With this, and the time of a check, a revoked key is dead within a second, whatever became of the connection."""
ANEW_S = 0.5
"""Seconds that the thread waits before it connects again."""


class PostgresKeyChanges:
    """Watches the keys of a journal in PostgreSQL.

    Args:
        connect: makes a connection; raises JournalError where that fails.
        lost: the exception of a connection that was lost.
    """

    def __init__(self, connect: Callable[[], psycopg.Connection], lost: type[Exception]) -> None:
        self._connect = connect
        self._lost = lost
        self._number = 0
        self._heard_at = float("-inf")
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="keys of the journal", daemon=True)
        self._thread.start()

    def number(self, age_s: float = 0.0) -> int | None:
        return self._number if time.monotonic() - self._heard_at < FRESH_S else None

    def close(self) -> None:
        self._closed.set()
        self._thread.join()

    # In the thread ----------------------------------------------------------------------------------------------------

    def _listen(self) -> None:
        while not self._closed.is_set():
            try:
                with self._connect() as connection:
                    connection.add_notify_handler(lambda _: self._change())
                    connection.execute("LISTEN actum_keys")
                    self._change()
                    self._hear(connection)
            except (JournalError, self._lost, OSError, ValueError):  # a lost connection has no file to wait for
                self._heard_at = float("-inf")
                self._closed.wait(ANEW_S)

    def _hear(self, connection: psycopg.Connection) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(connection.fileno(), selectors.EVENT_READ)
            while not self._closed.is_set():
                asked_at = time.monotonic()
                connection.execute("SELECT 1")  # what was told before the answer has been handled with it
                self._heard_at = asked_at
                selector.select(BEAT_S)

    def _change(self) -> None:
        self._number += 1
