"""The writer's thread: what shares a transaction, what reaches the disk, and who hears of what went wrong."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Self

import pytest

from actum.core.errors import JournalError
from actum.storage.database import Database, KeyChanges, Row
from actum.storage.writer import Writer

pytestmark = pytest.mark.row("C7")


class Told:
    """A database that writes down what it is told, in a word or two each; a statement `!x` fails.

    Attributes:
        gate: it does not begin before this is set.
        away: whether nothing works.
        is_new: whether it has just connected again.
    """

    name = "told"
    conflict = KeyError
    failure = LookupError
    types: Mapping[type, str] = MappingProxyType({})

    def __init__(self) -> None:
        self.said: list[str] = []
        self.gate = threading.Event()
        self.gate.set()
        self.begun = threading.Event()
        self.away = False
        self.is_new = False

    def begin(self, *, writes: bool, durable: bool) -> bool:
        self.begun.set()
        self.gate.wait()
        self.said.append(" ".join(["begin", *(["writes"] * writes), *(["durable"] * durable)]))
        if self.away:
            raise OSError("it is away")
        is_new, self.is_new = self.is_new, False
        return is_new

    def commit(self) -> None:
        self.said.append("commit")

    def rollback(self) -> None:
        self.said.append("rollback")

    def execute(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        if statement.startswith("!"):
            raise {"!conflict": KeyError, "!broken": ValueError}[statement](statement)
        self.said.append(statement)
        return []

    def flush(self) -> None:
        self.said.append("flush")

    def is_outage(self, error: Exception) -> bool:
        return self.away

    def close(self) -> None:
        self.said.append("close")

    def lock(self) -> None: ...

    def execute_many(self, statement: str, rows: Sequence[Sequence[object]]) -> None: ...

    def tables(self) -> set[str]:
        return set()

    def bytes_literal(self, value: bytes) -> str:
        return repr(value)

    def has_bytes(self, column: str) -> str:
        return column

    def version(self) -> int:
        return 0

    def set_version(self, version: int) -> None: ...

    def scrub(self, *, wait: bool = True) -> None: ...

    @property
    def is_shared(self) -> bool:
        return False

    def take(self, name: str) -> bool:
        self.said.append(f"take {name}")
        return True

    @property
    def session(self) -> int:
        return 0

    def holder_lives(self, name: str) -> bool:
        return True

    def release(self, name: str) -> None: ...

    def key_changes(self) -> KeyChanges:
        raise JournalError("keys are no part of these tests")

    def taken(self, names: Sequence[str]) -> set[str]:
        return set()


class Held:
    """A writer whose thread stands still while a test gives it what is to come together."""

    def __init__(self) -> None:
        self.database = Told()
        self.writer = Writer(self.database)

    async def __aenter__(self) -> Self:
        self.database.gate.clear()
        self.put("first", "r")
        await asyncio.to_thread(self.database.begun.wait)
        return self

    async def __aexit__(self, *raised: object) -> None:
        self.database.gate.set()

    def put(self, statement: str, run_id: str) -> None:
        def write(database: Database) -> None:
            database.execute(statement)

        self.writer.put(write, run_id, lambda error: None)


FIRST = ["begin writes", "first", "commit"]


async def test_what_came_together_shares_a_transaction_and_its_way_to_the_disk() -> None:
    async with Held() as held:
        held.put("a", "r")
        held.put("b", "s")
        waits = [asyncio.ensure_future(held.writer.sync(run)) for run in "rs"]
        await asyncio.sleep(0)
    await asyncio.gather(*waits)
    assert held.database.said == [*FIRST, "begin writes durable", "a", "b", "commit"]
    await held.writer.close()
    assert held.database.said[-1] == "close"


async def test_a_sync_takes_to_the_disk_what_was_committed_before_without_waiting() -> None:
    async with Held() as held:
        pass
    await held.writer.ask(lambda database: database.execute("look"))
    await held.writer.sync("r")
    assert held.database.said == [*FIRST, "begin", "look", "commit", "begin writes durable", "flush", "commit"]
    await held.writer.sync("r")
    assert held.database.said[-1] == "commit"
    assert held.database.said.count("flush") == 1
    await held.writer.close()


async def test_what_had_not_reached_the_disk_when_the_connection_was_lost_fails_its_run() -> None:
    async with Held() as held:
        pass
    await held.writer.ask(lambda database: database.execute("look"))
    held.database.is_new = True
    held.put("b", "s")
    with pytest.raises(JournalError, match="the connection was lost before run r was on the disk"):
        await held.writer.sync("r")
    await held.writer.sync("s")
    assert "b" in held.database.said
    held.writer.pardon("r")
    held.database.is_new = True  # nothing is loose: nobody need know
    await held.writer.ask(lambda database: database.execute("look"))
    await held.writer.close()


async def test_what_is_aside_is_done_after_the_transaction_that_came_before() -> None:
    async with Held() as held:
        held.put("a", "r")
        taking = asyncio.ensure_future(held.writer.ask(lambda database: database.take("n"), aside=True))
        await asyncio.sleep(0)
    assert await taking
    assert held.database.said == [*FIRST, "begin writes", "a", "commit", "take n"]
    await held.writer.close()


async def test_what_is_wrong_with_one_job_is_told_to_its_run_alone() -> None:
    async with Held() as held:
        held.put("a", "good")
        held.put("!conflict", "bad")
        held.put("b", "bad")
        waits = [asyncio.ensure_future(held.writer.sync(run)) for run in ("good", "bad")]
        await asyncio.sleep(0)
    good, bad = await asyncio.gather(*waits, return_exceptions=True)
    assert good is None
    assert "run bad is written by another process too" in str(bad)
    assert [said for said in held.database.said if said in ("a", "b")] == ["a", "a"]  # the first time was undone
    with pytest.raises(JournalError, match="run bad is written"):
        held.writer.check("bad")
    held.writer.check("good")
    held.writer.pardon("bad")
    held.writer.check("bad")
    await held.writer.close()


async def test_what_nobody_waited_for_and_could_not_be_written_is_told_in_the_end() -> None:
    async with Held() as held:
        held.put("!broken", "r")
    with pytest.raises(JournalError, match="the journal told failed: !broken"):
        await held.writer.close()


async def test_when_nothing_works_jobs_are_not_tried_one_by_one() -> None:
    async with Held() as held:
        for run in "abc":
            held.put(run, run)
        waits = [asyncio.ensure_future(held.writer.sync(run)) for run in "abc"]
        await asyncio.sleep(0)
        held.database.away = True
    failures = await asyncio.gather(*waits, return_exceptions=True)
    assert {str(failure) for failure in failures} == {"the journal told failed: it is away"}
    assert held.database.said.count("begin writes durable") == 1
    held.database.away = False
    for run in "rabc":
        held.writer.pardon(run)
    await held.writer.sync("a")
    await held.writer.close()


async def test_who_does_not_wait_any_more_disturbs_nobody() -> None:
    async with Held() as held:
        held.put("a", "r")
        gone, waits = [asyncio.ensure_future(held.writer.sync("r")) for _ in range(2)]
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
    await waits
    assert gone.cancelled()
    await held.writer.close()
