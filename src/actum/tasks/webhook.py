"""`WebhookSender`: tells addresses of the ends of tasks, until each message has arrived or a day has passed.

A message is signed as Standard Webhooks 1.0 wants it (`core.stored.webhook`). It goes through the guard of addresses,
and no redirect is followed. The body says the id and the state of the task. The receiver fetches the result,
unless the caller asked for it in the message.

Each process that serves may run a sender: a claim keeps two of them from sending the same message. A process that ends
between the answer of the receiver and the note of it sends the message again, with the same `webhook-id`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

import msgspec
from msgspec import UNSET

from ..core.errors import Busy, JournalError, UnknownName, UsageError
from ..core.interfaces import Clock, Journal
from ..core.json import Json, JsonObject
from ..core.process.tenant import acting_for
from ..core.run.task import Backoff
from ..core.stored.webhook import WebhookMessage, WebhookOutbox, signature
from ..core.user import User
from ..journal.recording import RunState
from ..policy.labels import Label
from ..policy.record_mask import reader_mask
from ..runs.other_values import as_seen
from ..transport.fetcher import Fetcher
from ..transport.http import HttpFailure
from .queue import RESULT_BYTES_MAX, TaskView, view_of

log = logging.getLogger("actum.tasks")

GIVEN_UP_S = 86_400.0
"""A message that has not arrived after this time is given up."""
KEPT_S = 30 * 86_400.0
"""A message that was given up is kept for so long,"""
DROP_S = 3_600.0
"""and those whose time is over are looked for once in this time."""
BACKOFF = Backoff(base=5.0, factor=2.0, cap=3600.0, jitter=0.2)
POLL_S = 1.0
AT_ONCE = 32
"""The most messages on their way at a time."""
ANSWER_BYTES_MAX = 64 * 1024
"""A longer answer of a receiver is not read to its end."""
SECONDS_MAX = 15.0
"""A receiver has to answer within this time."""

Secrets = Callable[[User], Sequence[str]]
"""The secrets that sign the messages of a user: one, or two while the secret is being changed."""


class WebhookSender:
    """Sends the messages of the outbox.

    Args:
        journal: where the tasks are on record; it has a list of tasks.
        fetcher: sends requests through the guard of addresses.
        secrets: the secrets of a user.
        clock: the time.
        labels: what the labels of values mean: an address is told what the user of the task may see, by the roles with
            which the task was begun.
        kept_s: a message that was given up is kept for so long, in seconds.

    Raises:
        UsageError: the journal has no list of tasks.
    """

    def __init__(
        self,
        journal: Journal,
        fetcher: Fetcher,
        secrets: Secrets,
        *,
        clock: Clock,
        labels: Mapping[str, Label],
        kept_s: float = KEPT_S,
    ) -> None:
        if journal.tasks is None:
            raise UsageError("a journal in memory has no tasks, and so nobody to tell of their ends")
        self._journal = journal
        self._outbox: WebhookOutbox = journal.tasks.outbox
        self._fetcher = fetcher
        self._secrets = secrets
        self._clock = clock
        self._labels = labels
        self._kept_s = kept_s
        self._dropped = -DROP_S
        self._jobs: dict[str, asyncio.Task[None]] = {}
        self._has_room = asyncio.Event()

    async def run(self) -> None:
        """Send messages until this is cancelled."""
        try:
            while True:
                self._has_room.clear()
                try:
                    await self._begin()
                except JournalError as error:
                    log.warning("the outbox of webhooks can not be read: %s", error)
                await self._pause()
        finally:
            jobs = list(self._jobs.values())
            for job in jobs:
                job.cancel()
            if jobs:
                await asyncio.wait(jobs)

    async def _begin(self) -> None:
        now = self._clock.now()
        for message in await self._outbox.due(now, limit=2 * AT_ONCE):
            if message.id in self._jobs or len(self._jobs) >= AT_ONCE:
                continue
            job = self._jobs[message.id] = asyncio.create_task(self._tried(message.id), name=f"webhook {message.id}")
            job.add_done_callback(partial(self._forget, message.id))
        if self._clock.monotonic() - self._dropped >= DROP_S:
            self._dropped = self._clock.monotonic()
            await self._outbox.drop(now - self._kept_s)

    async def _pause(self) -> None:
        """Wait until messages may be due, or until one that was on its way has made room for another."""
        if not self._jobs:
            await self._clock.sleep(POLL_S)
            return
        waits = {asyncio.ensure_future(self._clock.sleep(POLL_S)), asyncio.ensure_future(self._has_room.wait())}
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()

    def _forget(self, id: str, job: asyncio.Task[None]) -> None:
        self._jobs.pop(id, None)

    async def _tried(self, id: str) -> None:
        with suppress(Busy, JournalError):
            await self.send(id)
            self._has_room.set()  # not after a failure of ours: the same message would be tried again at once

    async def send(self, id: str) -> bool:
        """Try to send a message.

        Args:
            id: of the message.

        Returns:
            Whether it has arrived.

        Raises:
            Busy: another process sends it.
            JournalError: the outbox can not be read or written.
        """
        async with self._journal.claim(f"webhook {id}"):
            message = await self._outbox.find(id)
            if message is None or message.dead is not None:
                return False
            error, is_final = await self._post(message)
            now = self._clock.now()
            if not error:
                await self._outbox.sent(id)
                return True
            due = now + BACKOFF.delay_s(message.tries + 1, id)
            is_dead = is_final or due - message.queued > GIVEN_UP_S
            await self._outbox.failed(id, error, due=due, dead=now if is_dead else None)
            log.info("webhook %s: %s%s", id, error, ", given up" if is_dead else "")
            return False

    async def _post(self, message: WebhookMessage) -> tuple[str, bool]:
        """Send a message once.

        Returns:
            Why it did not arrive, empty where it did; and whether it never will.
        """
        secrets = [secret for secret in self._secrets(User(message.tenant, message.principal)) if secret]
        if not secrets:
            return "there is no secret to sign the message with", False
        body = await self._body(message)
        if body is None:
            return "the task is not on record any more", True
        at = int(self._clock.now())
        headers = {
            "content-type": "application/json",
            "user-agent": "actum",
            "webhook-id": message.id,
            "webhook-timestamp": str(at),
            "webhook-signature": signature(secrets, message.id, at, body),
        }
        try:
            with acting_for(message.tenant):
                answer = await self._fetcher.send(
                    "POST", message.address, headers=headers, body=body, redirects="none", head_only=True
                )
        except (HttpFailure, UsageError, ValueError) as failure:
            return f"{type(failure).__name__}: {failure}"[:300], False
        if 200 <= answer.status < 300:
            return "", False
        return f"the address answered {answer.status}", answer.status == 410

    async def _body(self, message: WebhookMessage) -> bytes | None:
        run_id = message.run_id
        try:
            entries = await self._journal.read(run_id)
            view = view_of(run_id, entries)
        except UnknownName:
            return None
        if view.line.options.webhook_result:
            started = RunState(entries[:1]).beginning()
            mask = reader_mask(self._labels, started.principal, started.roles)
            view = view_of(run_id, await as_seen(mask, self._journal, run_id, entries))
        return body_of(view, message)


def body_of(view: TaskView, message: WebhookMessage) -> bytes:
    """The body of a message: what happened, to which task, and the result where the caller asked for it."""
    data: JsonObject = {"task_id": view.line.run_id, "state": view.line.state}
    if view.line.options.webhook_result:
        told: JsonObject = {"result": _result(view), "error": view.line.error}
        if len(msgspec.json.encode(told)) <= RESULT_BYTES_MAX:
            data |= told
    return msgspec.json.encode({"type": f"task.{view.line.state}", "timestamp": message.queued, "data": data})


def _result(view: TaskView) -> Json:
    result = view.result
    if result is None:
        return view.text if view.line.state == "succeeded" else None
    if result.error is not None:
        return None
    return result.text if result.structured is UNSET else result.structured
