"""The one thread that touches a journal's database, in the order in which it was asked.

It does whatever has come together in one transaction, so that writers who wait at the same time share one flush of the
disk (group commit). A transaction that failed is done again job by job, so that what is wrong with one job is told to
its owner and to nobody else.

A run whose record could not be written is *failed*: nothing more of it is written and everybody who asks hears of it,
until somebody claims the run anew and reads what is there. What nobody waits for (`put`) fails its run likewise, so it
is never lost in silence.

Knows nothing of records.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from msgspec import Struct

from ..core.errors import ActumError, JournalError
from .database import Database

T = TypeVar("T")


class _Anew(Exception):
    """The connection is a new one and some runs have failed with the old: see who is left."""


class Job(Struct, eq=False):
    """Something for the thread to do.

    Attributes:
        work: what to do; None to wait for what was given before. It may be done twice: the first time is undone then.
        tell: is told that it is done, or why it is not.
        run_id: the run that fails with it; empty for none.
        writes: whether it changes anything.
        durable: whether it is done only when it would survive a loss of power, with all that was given before.
        aside: whether it is no part of a transaction; it is done after those that were given before.
        alone: whether it has a transaction of its own; it is done after those that were given before.
    """

    work: Callable[[Database], None] | None
    tell: Callable[[Exception | None], None]
    run_id: str = ""
    writes: bool = False
    durable: bool = False
    aside: bool = False
    alone: bool = False


class Writer:
    """The thread, and what waits for it.

    Args:
        database: what it works on; nobody else may from here on.
        threaded: False for a database in memory, where nothing is waited for: each job is done at once by the thread
            that asks, one at a time.
    """

    def __init__(self, database: Database, *, threaded: bool = True) -> None:
        self.name = database.name
        self._database = database
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._turn = threading.RLock()
        self._failed: dict[str, JournalError] = {}
        self._lost: set[str] = set()
        self._loose: set[str] = set()
        self._closed = False
        self._process = os.getpid()
        self._thread: threading.Thread | None = None
        if threaded:
            self._thread = threading.Thread(target=self._work, name=f"journal {self.name}", daemon=True)
            self._thread.start()

    @property
    def closed(self) -> bool:
        """Whether it takes nothing any more."""
        return self._closed or self._is_fork

    def check(self, run_id: str = "") -> None:
        """Raise what is wrong with a run, if anything.

        Raises:
            JournalError: its record could not be written, the journal is closed, or this process is a fork of its own.
        """
        if self._closed:
            raise JournalError("the journal {name} is closed", name=self.name)
        if self._is_fork:
            raise JournalError(
                "the journal {name} was opened before this process was forked: open it anew", name=self.name
            )
        if run_id in self._failed:
            raise JournalError(str(self._failed[run_id]))

    @property
    def _is_fork(self) -> bool:
        """Whether this process is a fork, which has no threads but its own: nobody would ever answer."""
        return self._thread is not None and self._process != os.getpid()

    def pardon(self, run_id: str) -> None:
        """Let a failed run be written again: the caller has claimed it and is going to read what is there."""
        self._failed.pop(run_id, None)
        self._lost.discard(run_id)

    def put(
        self,
        work: Callable[[Database], None],
        run_id: str,
        tell: Callable[[Exception | None], None],
        *,
        alone: bool = False,
    ) -> None:
        """Have something written that nobody waits for; it fails its run."""
        self._give(Job(work, tell, run_id, writes=True, alone=alone))

    def put_aside(self, work: Callable[[Database], None]) -> None:
        """Have something done after all that was given before, outside of a transaction. Nobody hears when it fails."""
        self._give(Job(work, lambda error: None, aside=True))

    async def ask(
        self,
        work: Callable[[Database], T],
        *,
        run_id: str = "",
        writes: bool = False,
        durable: bool = False,
        aside: bool = False,
    ) -> T:
        """Have something done after all that was given before, and wait for what comes of it.

        Raises:
            JournalError: it could not be done.
        """
        self.check(run_id)
        if self._thread is None and not writes:
            return self._look(work, run_id)
        found: list[T] = []
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        tell = _settler(done, found) if self._thread is None else _teller(done, found)
        self._give(Job(_finder(work, found), tell, run_id, writes, durable, aside))
        return await done

    def _look(self, work: Callable[[Database], T], run_id: str) -> T:
        """What there is in a database in memory: nobody else writes to it meanwhile, so no transaction is begun."""
        with self._turn:
            try:
                return work(self._database)
            except ActumError:
                raise
            except Exception as error:
                raise self._told(run_id, error) from error

    def ask_now(self, work: Callable[[Database], T]) -> T:
        """The same, for a caller who can not be awaited; it blocks."""
        self.check()
        found: list[T] = []
        done: Future[None] = Future()

        def tell(error: Exception | None) -> None:
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(error)

        self._give(Job(_finder(work, found), tell))
        done.result()
        return found[0]

    async def sync(self, run_id: str) -> None:
        """Wait until all that was given before would survive a loss of power."""
        self.check(run_id)
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._give(Job(None, _teller(done, [None]), run_id, durable=True))
        await done

    async def close(self) -> None:
        """Do what is left and end.

        Raises:
            JournalError: the record of a run could not be written, and nobody has claimed that run since.
        """
        if self.closed:
            return
        self._closed = True
        if self._thread is not None:
            self._jobs.put(None)
            await asyncio.to_thread(self._thread.join)
        self._database.close()
        for run_id in self._lost:
            raise JournalError(str(self._failed[run_id]))

    def _give(self, job: Job) -> None:
        if self._thread is not None:
            self._jobs.put(job)
            return
        with self._turn:
            self._do_all([job])

    # In the thread --------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        stop = False
        while not stop:
            batch = [self._jobs.get()]
            while not self._jobs.empty():
                batch.append(self._jobs.get())
            stop = None in batch
            self._do_all([job for job in batch if job is not None])

    def _do_all(self, jobs: list[Job]) -> None:
        self._do([job for job in jobs if not (job.aside or job.alone)])
        for job in jobs:
            if job.aside:
                self._do_aside(job)
            elif job.alone:
                self._do([job])

    def _do(self, jobs: list[Job]) -> None:
        """Do jobs in one transaction, or, where that fails, each in its own; and tell."""
        alive = [job for job in jobs if not self._tell_if_failed(job)]
        if not alive:
            return
        try:
            self._transact(alive)
        except _Anew:
            self._database.rollback()
            self._do(alive)
        except Exception as error:  # noqa: BLE001  # the callers that wait for these jobs hear it, and their runs fail
            self._database.rollback()
            if len(alive) == 1 or self._database.is_outage(error):
                for job in alive:
                    self._fail(job, error)
            else:
                for job in alive:
                    self._do([job])
        else:
            for job in alive:
                job.tell(None)

    def _transact(self, jobs: list[Job]) -> None:
        writes = any(job.writes for job in jobs)
        durable = any(job.durable for job in jobs)
        # A commit that wrote nothing flushes nothing, though earlier commits may wait for it.
        flushes = durable and not writes and bool(self._loose)
        if not flushes and not any(job.work for job in jobs):
            return
        if self._database.begin(writes=writes or flushes, durable=durable) and self._loose:
            self._fail_loose()
            raise _Anew
        for job in jobs:
            if job.work is not None:
                job.work(self._database)
        if flushes:
            self._database.flush()
        self._database.commit()
        if durable:
            self._loose.clear()
        else:
            self._loose.update(job.run_id for job in jobs if job.writes and job.run_id)

    def _fail_loose(self) -> None:
        """The connection was lost before these runs had reached the disk; what they had written may be gone."""
        for run_id in self._loose:
            why = f"the journal {self.name} failed: the connection was lost before run {run_id} was on the disk"
            self._failed[run_id] = JournalError(why)
            self._lost.add(run_id)
        self._loose.clear()

    def _do_aside(self, job: Job) -> None:
        assert job.work is not None
        try:
            job.work(self._database)
        except Exception as error:  # noqa: BLE001  # the caller that waits for it hears of it
            job.tell(self._told(job.run_id, error))
        else:
            job.tell(None)

    def _tell_if_failed(self, job: Job) -> bool:
        failure = self._failed.get(job.run_id)
        if failure is not None:
            job.tell(JournalError(str(failure)))
        return failure is not None

    def _fail(self, job: Job, error: Exception) -> None:
        told = self._told(job.run_id, error)
        if job.run_id and isinstance(told, JournalError):
            self._failed[job.run_id] = told
            if not isinstance(error, self._database.conflict):
                self._lost.add(job.run_id)
        job.tell(told)

    def _told(self, run_id: str, error: Exception) -> ActumError:
        if isinstance(error, ActumError):
            return error
        if isinstance(error, self._database.conflict) and run_id:
            why = f"run {run_id} is written by another process too, or its last records were lost"
            return JournalError("the journal {name} failed: {why}", name=self.name, why=why)
        told = JournalError("the journal {name} failed: {why}", name=self.name, why=str(error).partition(chr(10))[0])
        told.__cause__ = error
        return told


def _finder(work: Callable[[Database], T], found: list[T]) -> Callable[[Database], None]:
    """Work that keeps what it found. It may be done twice: the last time counts."""

    def find(database: Database) -> None:
        found[:] = [work(database)]

    return find


def _settler(done: asyncio.Future[T], found: list[T]) -> Callable[[Exception | None], None]:
    """Settles a future with what was found; nothing happens where nobody waits for it any more."""

    def settle(error: Exception | None) -> None:
        if done.done():  # the waiting task was cancelled
            return
        if error is None:
            done.set_result(found[0])
        else:
            done.set_exception(error)

    return settle


def _teller(done: asyncio.Future[T], found: list[T]) -> Callable[[Exception | None], None]:
    """As `_settler`, for a thread beside that of the event loop."""
    loop, settle = done.get_loop(), _settler(done, found)

    def tell(error: Exception | None) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, error)

    return tell
