"""Messages that tell an address of the end of a task: the messages in the outbox, and how a message is signed.

The signature is that of Standard Webhooks 1.0: the headers `webhook-id`, `webhook-timestamp` and `webhook-signature`.
Source: github.com/standard-webhooks/standard-webhooks, "spec/standard-webhooks.md". Pure.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Iterable
from typing import Protocol

from msgspec import Struct

PREFIX = "whsec_"


class WebhookMessage(Struct, frozen=True, kw_only=True):
    """A message in the outbox.

    Attributes:
        id: the id of the message, the same at each try, by which the receiver sees doubles.
        run_id: the task.
        tenant, principal: the user of the task, which decides which secret signs the message.
        address: where the message goes.
        queued: when the task ended, in seconds since 1970.
        due: the next try begins then at the earliest.
        tries: how often it was tried.
        dead: since when it has been given up; None while it has not.
        error: why the latest try failed.
    """

    id: str
    run_id: str
    tenant: str
    principal: str
    address: str
    queued: float
    due: float
    tries: int = 0
    dead: float | None = None
    error: str = ""


class WebhookOutbox(Protocol):
    """The messages that are still to be sent, and those that were given up."""

    async def due(self, now: float, *, limit: int = 100, each: int = 4) -> list[WebhookMessage]:
        """The messages that are to be sent now, the oldest first.

        Args:
            now: seconds since 1970.
            limit: the most messages that are returned.
            each: the most messages of one user, so that a user whose address hangs delays nobody else.
        """

    async def find(self, id: str) -> WebhookMessage | None:
        """A message that is still in the outbox."""

    async def sent(self, id: str) -> None:
        """A message has arrived: it leaves the outbox."""

    async def failed(self, id: str, error: str, *, due: float, dead: float | None) -> None:
        """A try has failed.

        Args:
            id: the message.
            error: why.
            due: when the next try begins.
            dead: since when it is given up; None where it is tried again.
        """

    async def counts(self) -> tuple[int, int]:
        """How many messages wait, and how many were given up."""

    async def drop(self, dead_before: float) -> int:
        """Delete the messages that were given up before this time.

        Returns:
            How many were deleted.
        """


def message_id(run_id: str, ended: float) -> str:
    """The id of the message about the end of a task: another for each end of a task that was begun again.

    >>> message_id("run_1", 1790000000.25)
    'msg_run_1_1790000000250'
    """
    return f"msg_{run_id}_{int(ended * 1000)}"


def signature(secrets: Iterable[str], id: str, timestamp: int, body: bytes) -> str:
    """The value of `webhook-signature`: one signature for each secret, with spaces between them.

    Args:
        secrets: texts, or keys in Base64 behind `whsec_`.
        id: of the message.
        timestamp: when the message is sent, in whole seconds since 1970.
        body: the body.

    >>> signature(["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330,
    ...           b'{"test": 2432232314}')
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='
    """
    said = b"%s.%d." % (id.encode(), timestamp) + body
    return " ".join(
        "v1," + base64.b64encode(hmac.digest(key_of(secret), said, "sha256")).decode() for secret in secrets
    )


def key_of(secret: str) -> bytes:
    """The key that a secret stands for."""
    if secret.startswith(PREFIX):
        try:
            return base64.b64decode(secret.removeprefix(PREFIX), validate=True)
        except (binascii.Error, ValueError):
            pass
    return secret.encode()
