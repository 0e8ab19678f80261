"""The transport that lets only ids of runs come out of the broker's queue.

Celery and its library kombu trust the broker. A message that is no JSON ends a worker, and a message with a strange
header takes up a place of the worker for good. A client that can write to the broker could stop all workers that way.
So a message is read here before Celery hears of it. The id of the run and the tag for the acknowledgement are taken out
of the message, and Celery gets a message that is made here of these two. A message in which they are not found is
dropped. That loses nothing: the list of tasks still says what is to be done.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable
from contextlib import suppress
from queue import Empty
from typing import NamedTuple
from uuid import uuid4

import msgspec
from kombu.transport import redis
from msgspec import Struct
from redis.connection import Connection

from ..core.json import JsonObject

log = logging.getLogger("actum.tasks")

NAME = "actum.attempt"
"""The name of our one Celery task."""
BODY_CHARACTERS_MAX = 16_384
"""A message with a longer body is none of ours."""
TURN_S = 10
"""Seconds for which a worker waits for the next message before it asks again. The broker gives a message to the worker
that has waited longest, so a worker that has just had a message comes last. Kombu asks again each second. Then chance
decides which worker has waited longest, and a worker whose settings do not fit a task can get its message every time.
"""


class TaskMessage(NamedTuple):
    """What is taken out of a message.

    Attributes:
        run_id: the task.
        tag: names the message when it is acknowledged.
    """

    run_id: str
    tag: str


class _Properties(Struct):
    delivery_tag: str


class _Raw(Struct):
    body: str
    properties: _Properties


def read_message(raw: object) -> TaskMessage | None:
    """What a message says; None where it is none of ours.

    Args:
        raw: the message, as it was decoded from JSON.
    """
    try:
        known = msgspec.convert(raw, _Raw)
        if len(known.body) > BODY_CHARACTERS_MAX:
            return None
        (run_id,), _, _ = msgspec.json.decode(
            base64.b64decode(known.body, validate=True), type=tuple[tuple[str], msgspec.Raw, msgspec.Raw]
        )
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return TaskMessage(run_id, known.properties.delivery_tag)


def message_for_celery(message: TaskMessage, queue: str) -> JsonObject:
    """The message that Celery gets, in version 2 of its protocol.

    Args:
        message: what was taken out of the message of the broker.
        queue: the queue from which the message came.
    """
    named = str(uuid4())
    body = msgspec.json.encode([[message.run_id], {}, {}])
    return {
        "body": base64.b64encode(body).decode(),
        "content-type": "application/json",
        "content-encoding": "utf-8",
        "headers": {"lang": "py", "task": NAME, "id": named, "root_id": named, "retries": 0, "timelimit": [None, None]},
        "properties": {
            "correlation_id": named,
            "delivery_tag": message.tag,
            "delivery_info": {"exchange": "", "routing_key": queue},
            "body_encoding": "base64",
        },
    }


class Channel(redis.Channel):  # type: ignore[misc]  # kombu has no types
    """A channel that hands out ids of runs, and nothing else."""

    _in_poll: Connection | None  # on which a message was asked for

    def basic_consume(
        self, queue: str, no_ack: bool, callback: Callable[[object], object], consumer_tag: str, **kwargs: object
    ) -> None:
        super().basic_consume(queue, no_ack, callback, consumer_tag, **kwargs)
        deliver = self.connection._callbacks[queue]  # the one place that all messages pass

        def deliver_ours(raw: object) -> object:
            message = read_message(raw)
            if message is None:
                log.error("a message of the broker is none of ours, and was dropped")
                return None
            return deliver(message_for_celery(message, queue))

        self.connection._callbacks[queue] = deliver_ours

    def _brpop_read(self, **options: object) -> object:
        try:
            return super()._brpop_read(**options)
        except (ValueError, TypeError, LookupError, RecursionError):  # of the parser; the message is out of the queue
            log.error("a message of the broker can not be read, and was dropped")
            raise Empty from None

    def close(self) -> None:
        """Close at once. A message that has come is given back. Kombu would wait for one that has not come, too."""
        waits = self._in_poll
        with suppress(*self.connection_errors):
            if waits and not waits.can_read(timeout=0):
                waits.disconnect()  # type: ignore[no-untyped-call]
                self._in_poll = None
        super().close()


class Transport(redis.Transport):  # type: ignore[misc]  # as above
    """The transport of Redis with our channel."""

    Channel = Channel
    brpop_timeout = TURN_S
