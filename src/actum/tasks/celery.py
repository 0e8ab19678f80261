"""Tasks on Celery: `CeleryDispatcher` puts due tasks into a broker, and `CeleryWorker` carries them out.

The list of tasks in the journal's database says what there is to do, and the claim of a run says who does it. A message
is the id of a run and nothing else, and nothing depends on it: a message that is lost is sent again, and one that comes
twice finds the claim taken or the task over. Due times stay in our list; Celery's own would run a task twice once its
visibility timeout has passed. See `docs/decisions/0019-celery-is-a-doorbell.md`.

This module needs the extra `actum[celery]`; `compose/task_worker.py` loads it.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError as Cancelled
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from celery import Celery
from celery.exceptions import Reject
from celery.signals import worker_ready
from celery.worker import WorkController, state
from celery.worker.request import Request
from kombu.utils.url import parse_url

from ..core.errors import Busy, JournalError, UsageError
from ..core.interfaces import Clock, Journal, TaskIndex
from ..core.run.task import TaskLine
from .celery_transport import NAME
from .children import TaskChildren
from .dispatcher import DispatcherState
from .ended_waits import WAKE_S, CanGoOn, EndedWaits
from .queue import TaskLimits
from .sweep import DROP_S, SWEEP_S, sweep

log = logging.getLogger("actum.tasks")

QUEUE = "actum"
"""The name of the queue in the broker."""
VISIBILITY_S = 7 * 86_400
"""Seconds after which an unacknowledged message comes again. This is longer than an attempt may sensibly take; a
message that comes again all the same ends at the claim of the run.
"""
AHEAD = 100
"""The most messages in the broker. A task that waits in the list keeps its turn and its priority; a message in the
broker has lost both.
"""
POLL_S = 1.0
MORE_S = 0.05
"""Seconds until the next look, where there may be more to send."""
SOON_S = 5.0
"""The age in seconds from which a message counts as lost, if its task still waits while the broker is empty."""
LATE_S = 60.0
"""The age in seconds from which a message is sent again, whatever the broker holds."""
BROKER_S = 5.0
"""Seconds that the broker may take for an answer."""
ASKED_S = 2.0
"""Seconds between two questions to the broker how many messages wait, however often somebody wants to know."""
ANSWER_S = 0.4
"""A question to the broker is waited for no longer than this."""
LEADER = "dispatcher tasks"
"""The claim of the one process that looks through the list of tasks. No id of a run holds a space."""


def celery_app(broker: str, *, visibility_s: float = VISIBILITY_S) -> Celery:
    """The settings of Celery, the same for those who send and those who receive.

    Args:
        broker: its address.
        visibility_s: the seconds after which an unacknowledged message comes again.
    """
    app = Celery("actum", broker=broker, set_as_current=False)
    app.conf.update(
        accept_content=["json"],
        task_serializer="json",
        task_default_queue=QUEUE,
        task_ignore_result=True,
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        worker_prefetch_multiplier=1,
        worker_enable_remote_control=False,  # a client that reaches the broker could end the workers
        worker_send_task_events=False,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,  # the claim keeps a second copy away
        broker_transport="actum.tasks.celery_transport:Transport",
        broker_use_ssl=_tls_of(broker),
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options={
            "visibility_timeout": visibility_s,
            "unacked_restore_throttle": 1,
            "socket_connect_timeout": BROKER_S,
            "socket_timeout": BROKER_S,  # without it a broker that hangs keeps the thread that sends for ever
        },
    )
    return app


def _tls_of(broker: str) -> dict[str, object] | None:
    """How a broker at an address with `rediss` is reached. Without a word kombu would believe any certificate.

    Args:
        broker: its address, whose query may say more, such as `?ssl_ca_certs=/etc/ssl/own.pem`.
    """
    if not broker.lower().startswith("rediss://"):
        return None
    said = parse_url(broker).get("ssl", {})
    return {"ssl_cert_reqs": ssl.CERT_REQUIRED, "ssl_check_hostname": True, **said}


class BrokerAway(UsageError):
    """The broker can not be reached. Tasks are accepted all the same, and wait."""


class Broker:
    """Sends messages. Celery blocks, so a thread does that.

    Args:
        app: of `celery_app`.
    """

    def __init__(self, app: Celery) -> None:
        self._app = app
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="broker")
        self._asking: asyncio.Task[None] | None = None
        self._asked = -math.inf
        self._known: int | None = None

    async def depth(self) -> int:
        """How many messages wait.

        Raises:
            BrokerAway: the broker can not be reached.
        """
        return await self._do(self._depth)

    async def last_depth(self) -> int | None:
        """How many messages waited when that was last asked; None where the broker can not be reached.

        A broker that hangs answers late. So the question is asked in the background, and the caller gets the last
        answer soon.
        """
        now = time.monotonic()
        if self._asking is None and now - self._asked >= ASKED_S:
            self._asking = asyncio.create_task(self._ask(), name="question to the broker")
        if self._asking is not None:
            await asyncio.wait([self._asking], timeout=ANSWER_S)
        return self._known

    async def _ask(self) -> None:
        try:
            self._known = await self.depth()
        except BrokerAway:
            self._known = None
        finally:
            self._asked, self._asking = time.monotonic(), None

    async def send(self, run_ids: Sequence[str]) -> None:
        """Send a message for each of these tasks.

        Raises:
            BrokerAway: the broker can not be reached; some messages may have been sent.
        """
        await self._do(lambda: self._send(run_ids))

    def close(self) -> None:
        """Let go of the connections."""
        if self._asking is not None:
            self._asking.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)
        with suppress(Exception):  # a connection that fails at its end is of no more use anyway
            self._app.close()

    async def _do(self, what: Callable[[], int]) -> int:
        try:
            async with asyncio.timeout(2 * BROKER_S):
                return await asyncio.get_running_loop().run_in_executor(self._thread, what)
        except Exception as error:  # of Celery, kombu or the client; the caller hears of it as `BrokerAway`
            raise BrokerAway("the broker can not be reached: {why}", why=str(error) or type(error).__name__) from error

    def _depth(self) -> int:
        with self._app.connection_or_acquire() as connection:
            connection.ensure_connection(max_retries=1, interval_start=0, interval_step=0)
            return int(connection.default_channel.client.llen(QUEUE))

    def _send(self, run_ids: Sequence[str]) -> int:
        with self._app.connection_or_acquire() as connection:
            connection.ensure_connection(max_retries=1, interval_start=0, interval_step=0)
            with self._app.amqp.Producer(connection) as producer:
                for run_id in run_ids:
                    self._app.send_task(NAME, args=(run_id,), producer=producer, retry=False)
        return len(run_ids)


class CeleryDispatcher:
    """A `Dispatcher` that puts tasks into a broker when they are due, for the workers.

    Any number of processes may have one. One of them, which holds a claim, looks through the list of tasks; the others
    send what they are woken for. Servers and workers have one each, so that tasks go on without any server.

    Args:
        journal: where tasks are on record; it has a list of tasks.
        broker: takes the messages.
        clock: the time.
        limits: how many tasks of one user or tenant may run at a time, and how long the list holds them.
        can_go_on: as for `EndedWaits`.

    Raises:
        UsageError: the journal has no list of tasks.
    """

    def __init__(
        self,
        journal: Journal,
        broker: Broker,
        *,
        clock: Clock,
        limits: TaskLimits | None = None,
        can_go_on: CanGoOn | None = None,
    ) -> None:
        self._journal = journal
        self._index = list_of(journal)
        self._broker = broker
        self._clock = clock
        self._limits = limits or TaskLimits()
        self._wanted: set[str] = set()
        self._sent: dict[Occasion, float] = {}
        self._looked_at: dict[str, float] = {}
        self._ended_waits = EndedWaits(journal, clock, can_go_on)
        self._woken = asyncio.Event()
        self._is_away = False
        self._is_closing = False

    def wake(self, run_id: str) -> None:
        self._wanted.add(run_id)
        self._woken.set()

    async def run(self) -> None:
        while not self._is_closing:
            try:
                async with self._journal.claim(LEADER):
                    await self._lead()
            except Busy:
                await self._follow()
            except JournalError as error:  # a database that is away comes back, and the claim went with it
                log.warning("the list of tasks can not be read: %s", error)
                await self._clock.sleep(POLL_S)

    async def close(self) -> None:
        self._is_closing = True
        self._woken.set()
        self._broker.close()

    async def look(self) -> DispatcherState:
        depth = await self._broker.last_depth()
        return DispatcherState(broker=depth is not None, messages=depth)

    # What is to be sent -----------------------------------------------------------------------------------------------

    async def _lead(self) -> None:
        """Look through the list of tasks, for all processes."""
        while not self._is_closing:
            self._woken.clear()
            self._wanted.clear()
            if self._is_time("sweep", SWEEP_S):
                await sweep(self._journal, self._index, self._clock)
            if self._is_time("wake", WAKE_S):
                await self._ended_waits.look()
            if self._is_time("drop", DROP_S):
                await self._index.drop(self._clock.now() - self._limits.kept_s)
            is_more = await self._send_due()
            due = await self._index.next_time()
            seconds = POLL_S if due is None else min(POLL_S, max(0.001, due - self._clock.now()))
            await self._sleep(MORE_S if is_more else seconds)

    async def _follow(self) -> None:
        """Send what this process is woken for, until it is time to see whether the leader is gone."""
        await self._sleep(POLL_S)
        wanted, self._wanted = self._wanted, set()
        self._woken.clear()
        lines = []
        for run_id in wanted:
            line = await self._index.find(run_id)
            if line is not None and is_due(line, self._clock.now()):
                lines.append(line)
        await self._send(lines)

    async def _send_due(self) -> bool:
        """Send what is due and is not on its way; whether there may be more."""
        now = self._clock.monotonic()
        self._sent = {each: at for each, at in self._sent.items() if now - at < LATE_S}
        recent = {each for each, at in self._sent.items() if now - at < SOON_S}
        limit = AHEAD + len(recent)
        lines = await self._index.next_due(
            self._clock.now(),
            limit=limit,
            running_max=self._limits.running,
            tenant_running_max=self._limits.running_tenant,
        )
        if len(lines) < limit:  # all that wait were seen: the others were begun
            waiting = {occasion_of(line) for line in lines}
            self._sent = {each: at for each, at in self._sent.items() if each in waiting}
        return await self._send([line for line in lines if occasion_of(line) not in recent])

    async def _send(self, lines: Sequence[TaskLine]) -> bool:
        """Send messages, as far as there is room in the broker; whether any was sent."""
        if not lines:
            return False
        try:
            is_alone = len(lines) == 1 and not self._sent  # nothing is on its way: the new task is not kept waiting
            depth = 0 if is_alone else await self._broker.depth()
            chosen = [line for line in lines if not depth or occasion_of(line) not in self._sent]
            chosen = chosen[: max(0, AHEAD - depth)]
            if chosen:
                await self._broker.send([line.run_id for line in chosen])
        except BrokerAway as error:
            if not self._is_away:
                log.warning("%s; tasks wait until it is back", error)
            self._is_away = True
            return False
        if self._is_away:
            log.warning("the broker is back")
        self._is_away = False
        now = self._clock.monotonic()
        self._sent.update((occasion_of(line), now) for line in chosen)
        return bool(chosen)

    def _is_time(self, what: str, seconds: float) -> bool:
        now = self._clock.monotonic()
        if now - self._looked_at.get(what, now - seconds) < seconds:
            return False
        self._looked_at[what] = now
        return True

    async def _sleep(self, seconds: float) -> None:
        sleep = asyncio.ensure_future(self._clock.sleep(seconds))
        woken = asyncio.ensure_future(self._woken.wait())
        try:
            await asyncio.wait([sleep, woken], return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleep.cancel()
            woken.cancel()


def list_of(journal: Journal) -> TaskIndex:
    """The list of tasks of a journal.

    Raises:
        UsageError: the journal is in memory, and has none.
    """
    if journal.tasks is None:
        raise UsageError("a journal in memory has no tasks for other processes: use a file or PostgreSQL")
    return journal.tasks


def is_due(line: TaskLine, now: float) -> bool:
    """Whether a task is to be begun now, by a process that is handed its id."""
    return line.state in ("queued", "retrying") and line.due <= now and not line.home


Occasion = tuple[str, float, int, str]


def occasion_of(line: TaskLine) -> Occasion:
    """What tells one beginning of a task from the next: the same task is sent again after a failed attempt."""
    return line.run_id, line.due, line.attempt, line.state


class CeleryWorker:
    """Carries out what comes from the broker, in child processes as the local dispatcher does.

    Celery itself runs in a thread, with a pool of threads that only wait: each hands its message to the event loop of
    this process. So Celery forks nothing, and what ends a child is the same for both dispatchers.

    Args:
        app: of `celery_app`.
        journal: where tasks are on record.
        children: carry tasks out.
        clock: the time.
        limits: how many tasks of one user or tenant may run at a time.

    Raises:
        UsageError: the journal has no list of tasks.
    """

    def __init__(
        self, app: Celery, journal: Journal, children: TaskChildren, *, clock: Clock, limits: TaskLimits | None = None
    ) -> None:
        self._app = app
        self._index = list_of(journal)
        self._children = children
        self._clock = clock
        self._limits = limits or TaskLimits()
        self._loop = asyncio.get_running_loop()
        self._jobs: dict[str, asyncio.Task[float]] = {}
        self._left: dict[str, float] = {}
        self._is_closing = False
        self._waker = Waker()
        app.task(self._receive, name=NAME, Request=_request_of(self._waker), ignore_result=True)

    async def run(self) -> None:
        """Carry out what comes, until `close` is called."""
        self._children.start(with_spare=True)
        worker = WorkController(
            app=self._app,
            pool="threads",
            concurrency=self._children.settings.workers,
            queues=[QUEUE],
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
            loglevel="WARNING",
        )
        worker_ready.connect(self._waker.attach, weak=False)
        try:
            await asyncio.to_thread(worker.start)
        finally:
            worker_ready.disconnect(self._waker.attach)
            self._waker.close()

    async def close(self) -> None:
        """Take no more, and let go of what is under way: its attempts do not count. Then `run` ends."""
        self._is_closing = True
        self._children.stop()
        state.should_stop = os.EX_OK
        self._waker.wake()
        jobs = list(self._jobs.values())
        if jobs and self._children.settings.drain_s:
            await asyncio.wait(jobs, timeout=self._children.settings.drain_s)
        for job in jobs:
            job.cancel()
        if jobs:
            await asyncio.wait(jobs)
        await self._children.close()

    def _receive(self, run_id: object) -> None:
        """Take a message; in a thread of Celery, which acknowledges the message when this returns."""
        if not isinstance(run_id, str):
            log.error("a message of the broker is no id of a task, and was dropped")
            return
        with suppress(Cancelled):
            if not asyncio.run_coroutine_threadsafe(self._carry_out(run_id), self._loop).result():
                raise Reject("the worker ends", requeue=True)

    async def _carry_out(self, run_id: str) -> bool:
        """Make an attempt at a task, if there is to be one; False where another worker is to have the message.

        A message that is dropped here loses nothing: the list of tasks still says what is to be done.
        """
        if self._is_closing:
            return False
        try:
            line = await self._index.find(run_id)
            now = self._clock.monotonic()
            self._left = {each: until for each, until in self._left.items() if until > now}
            if line is None or run_id in self._jobs or run_id in self._left or not is_due(line, self._clock.now()):
                log.debug("task %s: nothing is to be done", run_id)
                return True
            if await self._is_full(line):
                return True
        except JournalError as error:
            log.warning("the list of tasks can not be read: %s", error)
            return True
        if run_id in self._jobs or self._is_closing:
            return not self._is_closing
        job = self._jobs[run_id] = asyncio.create_task(self._children.carry_out(line), name=f"task {run_id}")
        try:
            await asyncio.wait([job])
        finally:
            del self._jobs[run_id]
        if job.cancelled():
            return True  # it was put back
        if (failure := job.exception()) is not None:
            log.error("task %s: %s", run_id, failure)
        elif job.result():
            self._left[run_id] = self._clock.monotonic() + job.result()
        return True

    async def _is_full(self, line: TaskLine) -> bool:
        """Whether this user or tenant already runs as many tasks as are allowed."""
        most, most_of_tenant = self._limits.running, self._limits.running_tenant
        if most is not None:
            counts = await self._index.counts(tenant=line.tenant, principal=line.principal, state="running")
            if counts.get("running", 0) >= most:
                return True
        if most_of_tenant is not None:
            counts = await self._index.counts(tenant=line.tenant, state="running")
            return counts.get("running", 0) >= most_of_tenant
        return False


class Waker:
    """Wakes the event loop of Celery, which sleeps up to a second after a thread has made room for the next message."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reads, self._writes = os.pipe()
        os.set_blocking(self._reads, False)
        os.set_blocking(self._writes, False)
        self._is_closed = False

    def attach(self, sender: Any, **_: object) -> None:  # noqa: ANN401  # Celery has no types
        """Be heard by the event loop of a worker that has just connected."""
        if (hub := getattr(sender, "hub", None)) is not None:
            hub.add_reader(self._reads, self._drain)

    def wake(self) -> None:
        """Wake the event loop; from any thread."""
        with self._lock, suppress(BlockingIOError):
            if not self._is_closed:
                os.write(self._writes, b".")

    def close(self) -> None:
        """Let go of the pipe."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                os.close(self._reads)
                os.close(self._writes)

    def _drain(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._reads, 4096)


def _request_of(waker: Waker) -> type:
    """The class of messages that wake the event loop of Celery after they were acknowledged."""

    class AckedRequest(Request):  # type: ignore[misc]  # Celery has no types
        def acknowledge(self) -> None:
            super().acknowledge()
            waker.wake()

        def reject(self, requeue: bool = False) -> None:
            super().reject(requeue)
            waker.wake()

    return AckedRequest
