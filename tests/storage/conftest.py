"""Where a journal can live: in memory, in a file, on a PostgreSQL server. The server is a real one."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from actum.core.errors import JournalError
from actum.core.interfaces import Journal
from actum.journal.memory import MemoryJournal
from actum.storage.postgres import PostgresJournal
from actum.storage.sqlite import SQLiteJournal
from actum.testing import FakeClock
from tests.postgres import PostgresServer


class Store:
    """A place for one journal. `open` opens it as one more process would; all are closed in the end.

    Attributes:
        place: its file or address.
    """

    def __init__(self, place: str) -> None:
        self.place = place
        self.opened: list[Journal] = []

    def open(self, *, clock: FakeClock | None = None, key: bytes | None = None, older: bool = False) -> Journal:
        made: Journal
        clock = clock or FakeClock()
        if not self.place:
            made = MemoryJournal(clock, key=key)
        elif self.place.startswith("postgresql:"):
            made = PostgresJournal(self.place, now=clock.now, key=key, older=older)
        else:
            made = SQLiteJournal(self.place, now=clock.now, key=key, older=older)
        self.opened.append(made)
        return made

    async def close(self) -> None:
        for journal in self.opened:
            with contextlib.suppress(JournalError):  # a test that broke it has seen to that
                await journal.close()


PLACES: dict[str, Callable[[pytest.FixtureRequest], str]] = {
    "memory": lambda request: "",
    "sqlite": lambda request: str(request.getfixturevalue("tmp_path") / "folder" / "journal.db"),
    "postgres": lambda request: request.getfixturevalue("postgres").new_journal(),
}


@pytest.fixture(params=PLACES)
async def store(request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    """Each kind of journal."""
    made = Store(PLACES[request.param](request))
    yield made
    await made.close()


@pytest.fixture(params=["sqlite", "postgres"])
async def shared(request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    """Each kind that survives its process."""
    made = Store(PLACES[request.param](request))
    yield made
    await made.close()


@pytest.fixture
async def file(tmp_path: Path) -> AsyncIterator[Store]:
    """A file, for what is SQLite's own."""
    made = Store(str(tmp_path / "j.db"))
    yield made
    await made.close()


@pytest.fixture
async def database(postgres: PostgresServer) -> AsyncIterator[Store]:
    """A database, for what is PostgreSQL's own."""
    made = Store(postgres.new_database())
    yield made
    await made.close()
