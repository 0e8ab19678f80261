"""`NewsAddress`: where a remote agent sends news of a task that outlives its call, so that a server of ours hears."""

from __future__ import annotations

import secrets

import msgspec

from ...core.interfaces import Clock, Journal
from ...core.kept_object import KeptObject, objects_of
from ...protocols.a2a.model import A2APushTarget
from ...protocols.a2a.news import KIND, OWNER, PATH, AwaitedNews, hash_of
from ...protocols.a2a.remote_agent import RemoteAgent


class NewsAddress:
    """Makes addresses for news.

    Args:
        public: the address of the server that takes news, as agents elsewhere reach it.
        clock: time.
    """

    def __init__(self, public: str, clock: Clock) -> None:
        self._public = public.rstrip("/")
        self._clock = clock

    async def open(self, journal: Journal, agent: RemoteAgent, *, ask_id: str, tenant: str) -> A2APushTarget:
        """An address for one question of a run, which the news answer.

        Raises:
            JournalError: it can not be kept.
        """
        named, token = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        awaited = AwaitedNews(
            ask_id=ask_id, tenant=tenant, token=hash_of(token), agent=agent.url, key_hosts=agent.key_hosts
        )
        payload = msgspec.json.encode(awaited)
        kept = KeptObject(id=hash_of(named), owner=OWNER, kind=KIND, at=self._clock.now(), payload=payload)
        await objects_of(journal).put(kept)
        return A2APushTarget(url=f"{self._public}{PATH}?task={named}", id=f"actum-{hash_of(named)[:16]}", token=token)
