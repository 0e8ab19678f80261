"""`NewsAddress`: where a remote agent sends news of a task that outlives its call, so that a server of ours hears."""

from __future__ import annotations

import secrets
from typing import NamedTuple

import msgspec

from ...core.interfaces import Clock, Journal
from ...core.stored.kept_object import KeptObject
from ...protocols.a2a.model import A2APushTarget
from ...protocols.a2a.news import KEPT_S, KIND, OWNER, PATH, AwaitedNews, hash_of
from ...protocols.a2a.remote_agent import RemoteAgent

TARGET = "actum"
"""What the agent calls the address: a task has one, and a later address takes the place of the earlier one."""


class OpenedNews(NamedTuple):
    """An address for news.

    Attributes:
        kept_id: under which the address is kept.
        target: what the agent is told.
    """

    kept_id: str
    target: A2APushTarget


class NewsAddress:
    """Makes addresses for news.

    Args:
        public: the address of the server that takes news, as agents elsewhere reach it.
        clock: time.
    """

    def __init__(self, public: str, clock: Clock) -> None:
        self._public = public.rstrip("/")
        self._clock = clock

    async def open(self, journal: Journal, agent: RemoteAgent, *, ask_id: str, tenant: str) -> OpenedNews:
        """An address for one question of a run, which the news answer.

        Raises:
            JournalError: the address can not be kept.
            UsageError: too many addresses are kept.
        """
        objects, now = journal.objects, self._clock.now()
        await objects.expire(KIND, now - KEPT_S)
        named, token = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        awaited = AwaitedNews(
            ask_id=ask_id, tenant=tenant, token=hash_of(token), agent=agent.url, key_hosts=agent.key_hosts
        )
        payload = msgspec.json.encode(awaited)
        kept = KeptObject(id=hash_of(named), owner=OWNER, kind=KIND, at=now, payload=payload)
        await objects.put(kept)
        target = A2APushTarget(url=f"{self._public}{PATH}?task={named}", id=TARGET, token=token)
        return OpenedNews(kept.id, target)

    async def close(self, journal: Journal, kept_id: str) -> None:
        """Nobody waits for news at this address any more.

        Raises:
            JournalError: that can not be written down.
        """
        await journal.objects.delete(OWNER, kept_id)
